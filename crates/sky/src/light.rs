//! Brightness of Sun and Earth. The Sun's disc darkens toward its limb by the power law
//! of Hestroffer and Magnan (1998, A&A 333, 338); the part of its light above a straight horizon
//! is one integral. The Earth is a Lambert sphere: no clouds, no oceans, no glint.

use std::f64::consts::FRAC_PI_2;

use nalgebra::Vector3;
use selene_base::lambert_phase;

use crate::AU_M;

/// Total solar irradiance at one astronomical unit (Kopp and Lean 2011).
pub(crate) const SOLAR_CONSTANT_W_M2: f64 = 1361.0;
/// Exponent of limb darkening at 550 nm: −0.023 + 0.292 / λ in µm (the source's fit of
/// 416 to 1099 nm).
const LIMB_EXPONENT: f64 = -0.023 + 0.292 / 0.55;
/// Intervals of Simpson's rule over the disc, for an error of 1e-8.
const INTERVALS: usize = 64;
/// The Earth's mean radius, m.
const EARTH_MEAN_RADIUS_M: f64 = 6_371_000.0;
/// The Earth's Bond albedo (NASA Earth fact sheet); the geometric albedo of a Lambert sphere
/// is two thirds of it.
const EARTH_BOND_ALBEDO: f64 = 0.294;
/// The Earth's geometric albedo in visible light (same source; V = −3.99 at 1 au,
/// Mallama and Hilton 2018).
const EARTH_VISIBLE_GEOMETRIC_ALBEDO: f64 = 0.434;

/// The Sun's irradiance at `distance_m` on a surface that faces it, W/m²
/// (inverse square from 1361 W/m² at one astronomical unit).
#[must_use]
pub fn solar_irradiance_w_m2(distance_m: f64) -> f64 {
    SOLAR_CONSTANT_W_M2 * (AU_M / distance_m).powi(2)
}

/// Radiance of the Sun's disc at `radius` from its centre (1 at the limb), relative to the mean
/// over the disc: I = μ^α with μ = √(1 − r²), 550 nm; 0 outside.
#[must_use]
pub fn limb_darkening(radius: f64) -> f64 {
    let mu_squared = 1.0 - radius * radius;
    let mean = 2.0 / (LIMB_EXPONENT + 2.0);
    if mu_squared > 0.0 { mu_squared.powf(0.5 * LIMB_EXPONENT) / mean } else { 0.0 }
}

/// The share of the Sun's light that comes over a straight horizon when the centre of the disc
/// is `above` it, in radii of the disc: 0 from −1 downwards, 1 from 1 upwards. A
/// strip of the disc at height y sends (1 − y²)^((α + 1)/2); with y = sin t the integral
/// is that of cos^(α + 2).
#[must_use]
pub fn visible_fraction(above: f64) -> f64 {
    if above >= 1.0 {
        return 1.0;
    }
    if above > 0.0 {
        return 1.0 - visible_fraction(-above);
    }
    if above <= -1.0 || above.is_nan() {
        return 0.0;
    }
    0.5 * strips(above.asin()) / strips(0.0)
}

/// The integral of cos^(α + 2) from −π/2 to `end_rad`.
fn strips(end_rad: f64) -> f64 {
    let step = (end_rad + FRAC_PI_2) / INTERVALS as f64;
    let value = |i: usize| (i as f64 * step).sin().max(0.0).powf(LIMB_EXPONENT + 2.0);
    let weight = |i: usize| {
        if i == 0 || i == INTERVALS {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    (0..=INTERVALS).map(|i| weight(i) * value(i)).sum::<f64>() * step / 3.0
}

/// The Earth's phase and the light that it sends to a site under it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarthLight {
    /// Unit vector from the Earth's centre to the Sun, east, north, up of the site: a
    /// point of the disc with outward normal n is lit by n · this, dark where negative.
    pub sun_from_earth_enu: Vector3<f64>,
    /// Phase angle, rad: between Sun and site, seen from the Earth; 0 is full Earth, π new Earth.
    pub phase_angle_rad: f64,
    /// The lit share of the disc's area.
    pub lit_fraction: f64,
    /// Reflected sunlight of all wavelengths on a surface that faces the Earth, W/m².
    /// The heat that the Earth radiates (about as much) is not in it.
    pub irradiance_w_m2: f64,
    /// The irradiance of sunlight that is as bright to the eye, W/m²: for a camera of visible
    /// light that counts the Sun as 1361 W/m². It is larger than `irradiance_w_m2`, because the
    /// Earth reflects visible light better than infrared.
    pub sunlike_irradiance_w_m2: f64,
}

impl EarthLight {
    /// Takes the vectors from the Earth to the Sun and from the site to the Earth, m, in east, north, up of the site.
    pub(crate) fn new(sun_from_earth_m: &Vector3<f64>, earth_from_site_m: &Vector3<f64>) -> Self {
        let phase_angle_rad = sun_from_earth_m.angle(&-earth_from_site_m);
        let sunlit_w_m2 = solar_irradiance_w_m2(sun_from_earth_m.norm());
        let disc = (EARTH_MEAN_RADIUS_M / earth_from_site_m.norm()).powi(2);
        let full_w_m2 = sunlit_w_m2 * disc * lambert_phase(phase_angle_rad);
        Self {
            sun_from_earth_enu: sun_from_earth_m.normalize(),
            phase_angle_rad,
            lit_fraction: 0.5 * (1.0 + phase_angle_rad.cos()),
            irradiance_w_m2: 2.0 / 3.0 * EARTH_BOND_ALBEDO * full_w_m2,
            sunlike_irradiance_w_m2: EARTH_VISIBLE_GEOMETRIC_ALBEDO * full_w_m2,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, PI};

    use nalgebra::Vector3;

    use super::{EarthLight, limb_darkening, solar_irradiance_w_m2, visible_fraction};
    use crate::AU_M;

    const EARTH_MOON_M: f64 = 384_400_000.0;

    #[test]
    fn sunlight_falls_with_the_square_of_the_distance() {
        assert!((solar_irradiance_w_m2(AU_M) - 1361.0).abs() < 1e-9);
        assert!((solar_irradiance_w_m2(2.0 * AU_M) - 340.25).abs() < 1e-9);
    }

    #[test]
    fn the_disc_sheds_its_mean_and_darkens_as_observed() {
        // Rings of equal width: ∫ I 2r dr = 1; the root in the law at the limb makes the sum 1e-4 off.
        const RINGS: usize = 20_000;
        let ring = |i: usize| (i as f64 + 0.5) / RINGS as f64;
        let mean: f64 = (0..RINGS).map(|i| limb_darkening(ring(i)) * 2.0 * ring(i) / RINGS as f64).sum();
        assert!((mean - 1.0).abs() < 1e-4, "{mean}");
        // Allen's Astrophysical Quantities (Cox 2000, 14.7), 550 nm: 0.30 + 0.93 μ − 0.23 μ²,
        // itself a fit good to 2 % there.
        for mu in [0.3_f64, 0.5, 0.7, 0.9] {
            let observed = 0.30 + 0.93 * mu - 0.23 * mu * mu;
            let ours = limb_darkening((1.0 - mu * mu).sqrt()) / limb_darkening(0.0);
            assert!((ours - observed).abs() < 0.02, "{mu}: {ours} {observed}");
        }
        assert_eq!(limb_darkening(1.0), 0.0);
    }

    #[test]
    fn a_horizon_hides_the_share_that_a_sum_over_the_disc_gives() {
        const CELLS: i32 = 1000;
        for above in [-0.9, -0.5, -0.1, 0.0, 0.3, 0.8] {
            let (mut seen, mut all) = (0.0, 0.0);
            for cell in 0..CELLS * CELLS {
                let at = |k: i32| (f64::from(k) + 0.5) / f64::from(CELLS) * 2.0 - 1.0;
                let (x, y) = (at(cell % CELLS), at(cell / CELLS));
                let radiance = limb_darkening(x.hypot(y));
                all += radiance;
                seen += if y > -above { radiance } else { 0.0 };
            }
            // A row of cells is a five-hundredth of the disc's radius.
            assert!((visible_fraction(above) - seen / all).abs() < 2e-3, "{above}");
        }
    }

    #[test]
    fn sunrise_goes_from_nothing_to_all_and_is_half_in_the_middle() {
        let steps: Vec<f64> = (-12..=12).map(|i| visible_fraction(f64::from(i) / 10.0)).collect();
        assert!(steps.is_sorted() && steps[0] == 0.0 && steps[24] == 1.0);
        assert!((visible_fraction(0.0) - 0.5).abs() < 1e-12);
        assert!((visible_fraction(0.4) + visible_fraction(-0.4) - 1.0).abs() < 1e-12);
        assert_eq!(visible_fraction(f64::NAN), 0.0);
    }

    fn earth_light(phase_angle_rad: f64) -> EarthLight {
        let toward_sun = Vector3::new(phase_angle_rad.cos(), phase_angle_rad.sin(), 0.0);
        EarthLight::new(&(toward_sun * AU_M), &Vector3::new(-EARTH_MOON_M, 0.0, 0.0))
    }

    #[test]
    fn the_full_earth_sheds_half_of_what_was_computed_for_sunlight_and_heat_together() {
        // Glenar et al. 2019 (Icarus 321, 841): 0.15 W/m² near full, "with comparable
        // contributions from solar reflectance and thermal emission".
        let full = earth_light(0.0);
        assert!((full.irradiance_w_m2 - 0.075).abs() < 0.005, "{}", full.irradiance_w_m2);
    }

    #[test]
    fn the_full_earth_is_as_bright_to_the_eye_as_its_magnitude() {
        // Mallama and Hilton 2018: V = −3.99 at 1 au from Sun and observer, full; the
        // Sun's V is −26.76 (Willmer 2018).
        let magnitude = -3.99 + 5.0 * (EARTH_MOON_M / AU_M).log10();
        let expected_w_m2 = 1361.0 * 10.0_f64.powf(-0.4 * (magnitude + 26.76));
        let ours_w_m2 = earth_light(0.0).sunlike_irradiance_w_m2;
        assert!((ours_w_m2 / expected_w_m2 - 1.0).abs() < 0.02, "{ours_w_m2} {expected_w_m2}");
    }

    #[test]
    fn phases_are_those_of_a_lambert_sphere() {
        let half = earth_light(FRAC_PI_2);
        assert!((half.lit_fraction - 0.5).abs() < 1e-12 && (half.phase_angle_rad - FRAC_PI_2).abs() < 1e-12);
        assert!((half.irradiance_w_m2 * PI - earth_light(0.0).irradiance_w_m2).abs() < 1e-12);
    }
}
