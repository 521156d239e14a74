//! Impact craters: how many of each size, and what shape. Sizes follow the
//! cumulative law of the VIPER environment (synthterrain, NASA Ames), made
//! continuous at its knee. A fresh crater has synthterrain's rim-and-bowl polynomial
//! scaled to the depth over diameter of Stopar et al. (2017); ageing, a random
//! fraction, makes it shallower and turns it into the rounded bowl that downslope
//! diffusion leaves. Craters add up; later ones do not erase earlier ones.

use crate::level::Level;
use crate::site::CraterLaw;

/// Reach of a crater's profile in radii: beyond it the ground is untouched.
pub(crate) const REACH_RADII: f64 = 2.0;
/// Rim crest above the floor of the fresh polynomial, in diameters.
const FRESH_RELIEF: f64 = 0.036_822_095 + 0.228_809_953;
/// Rim crest above the floor of the worn shape, for a floor at −1.
const WORN_RELIEF: f64 = 1.100_6;
/// How much of its depth a crater has lost at degradation 1.
const DEPTH_LOST: f64 = 0.8;

/// One crater.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crater {
    /// Its centre, m.
    pub(crate) at_m: [f64; 2],
    /// Its diameter from rim to rim, m.
    pub(crate) diameter_m: f64,
    /// 0 fresh … 1 nearly worn away.
    pub(crate) degradation: f64,
}

impl CraterLaw {
    /// Craters per m² larger than `diameter_m`.
    pub(crate) fn density_m2(&self, diameter_m: f64) -> f64 {
        let below_knee = self.density_1m_km2 * 1e-6 * diameter_m.min(self.knee_m).powf(-self.slope);
        below_knee * (diameter_m / self.knee_m).max(1.0).powf(-self.slope_above_knee)
    }

    /// The diameter that `density_m2` craters per m² exceed: the law's inverse.
    pub(crate) fn diameter_m(&self, density_m2: f64) -> f64 {
        let at_knee = self.density_m2(self.knee_m);
        if density_m2 >= at_knee {
            (density_m2 / (self.density_1m_km2 * 1e-6)).powf(-1.0 / self.slope)
        } else {
            self.knee_m * (density_m2 / at_knee).powf(-1.0 / self.slope_above_knee)
        }
    }
}

impl Crater {
    pub(crate) fn radius_m(&self) -> f64 {
        self.diameter_m / 2.0
    }

    /// Height that the crater adds at `radii` times its radius from its centre, m.
    pub(crate) fn height_m(&self, radii: f64) -> f64 {
        let depth = depth_over_diameter(self.diameter_m) * (1.0 - DEPTH_LOST * self.degradation);
        // Crispness goes first: a rim is round long before the bowl is filled.
        let crisp = (1.0 - self.degradation).powi(2);
        let shape = crisp * fresh(radii) / FRESH_RELIEF + (1.0 - crisp) * worn(radii) / WORN_RELIEF;
        self.diameter_m * depth * shape
    }

    /// Adds the crater to a level.
    pub(crate) fn stamp(&self, level: &mut Level) {
        let grid = level.grid();
        let reach_m = REACH_RADII * self.radius_m();
        let span = |axis: usize| {
            let post = |m: f64| (m - grid.origin_m[axis]) / grid.spacing_m;
            let first = post(self.at_m[axis] - reach_m).ceil().max(0.0) as usize;
            let end = (post(self.at_m[axis] + reach_m).floor() + 1.0).clamp(0.0, grid.posts as f64) as usize;
            first.min(end)..end
        };
        let columns = span(0);
        for row in span(1) {
            let dy = grid.at_m(1, row) - self.at_m[1];
            for column in columns.clone() {
                let radii = (grid.at_m(0, column) - self.at_m[0]).hypot(dy) / self.radius_m();
                if radii < REACH_RADII {
                    level.heights_m[row * grid.posts + column] += self.height_m(radii) as f32;
                }
            }
        }
    }
}

/// Fresh depth over diameter (Stopar et al. 2017).
fn depth_over_diameter(diameter_m: f64) -> f64 {
    match diameter_m {
        d if d >= 400.0 => 0.21,
        d if d >= 200.0 => 0.17,
        d if d >= 100.0 => 0.15,
        d if d >= 40.0 => 0.13,
        d if d >= 10.0 => 0.11,
        _ => 0.10,
    }
}

/// Fresh height over diameter at `r` radii (synthterrain). The published rim is flat
/// from 0.98 to 1.02 radii and then drops by a step of 0.004 diameters; here it slopes down that much.
fn fresh(r: f64) -> f64 {
    const RIM: f64 = 0.036_822_095;
    let cubic = |[a, b, c, d]: [f64; 4], r: f64| a + r * (b + r * (c + r * d));
    let outside = |r| cubic([0.188_253_307, -0.187_050_452, 0.018_447_46, 0.015_056_47], r);
    match r {
        r if r <= 0.98 => cubic([-0.228_809_953, 0.227_533_882, 0.083_116_795, -0.039_499_407], r),
        r if r <= 1.02 => RIM + (outside(1.02) - RIM) * (r - 0.98) / 0.04,
        r if r <= 1.5 => outside(r),
        _ => 0.0,
    }
}

/// Worn height at `r` radii for a floor at −1: a smooth bowl with a low round rim
/// at 1.2 radii, faded out towards the reach.
fn worn(r: f64) -> f64 {
    let r2 = r * r;
    let fade = 1.0 - (r2 / (REACH_RADII * REACH_RADII)).powi(4);
    (1.3 * r2 - 1.0) * (-1.5 * r2).exp() * fade
}

#[cfg(test)]
mod tests {
    use super::{Crater, REACH_RADII, WORN_RELIEF, depth_over_diameter, worn};
    use crate::site::CraterLaw;

    const VIPER: CraterLaw = CraterLaw {
        density_1m_km2: 29_174.0,
        slope: 1.92,
        knee_m: 80.0,
        slope_above_knee: 2.389,
        diameter_min_m: 0.3,
        diameter_max_m: 600.0,
    };

    #[test]
    fn the_law_and_its_inverse_agree_on_both_sides_of_the_knee() {
        for diameter_m in [0.3, 10.0, 80.0, 300.0] {
            assert!((VIPER.diameter_m(VIPER.density_m2(diameter_m)) / diameter_m - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_fresh_crater_is_as_deep_as_published() {
        for diameter_m in [1.0, 12.0, 50.0, 150.0, 250.0, 500.0] {
            let crater = Crater { at_m: [0.0; 2], diameter_m, degradation: 0.0 };
            let depth_m = crater.height_m(0.98) - crater.height_m(0.0);
            assert!((depth_m / diameter_m - depth_over_diameter(diameter_m)).abs() < 1e-4);
        }
    }

    #[test]
    fn a_profile_meets_the_ground_without_a_step() {
        // The published polynomials leave steps of 1e-5 diameters.
        const STEP_DIAMETERS: f64 = 2e-5;
        for degradation in [0.0, 0.5, 1.0] {
            let crater = Crater { at_m: [0.0; 2], diameter_m: 10.0, degradation };
            for radii in [0.98, 1.02, 1.5, REACH_RADII] {
                let step_m = crater.height_m(radii + 1e-9) - crater.height_m(radii - 1e-9);
                assert!(step_m.abs() < STEP_DIAMETERS * 10.0, "{degradation} {radii}: {step_m}");
            }
        }
        let crest = (0..200).map(|i| worn(f64::from(i) / 100.0)).fold(f64::MIN, f64::max);
        assert!((crest + 1.0 - WORN_RELIEF).abs() < 0.01);
    }
}
