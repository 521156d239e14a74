//! Point spread function of stray light: a sum of lobes, and a table of the sum for fast lookup.

use std::f64::consts::PI;

/// Greatest distance of stray light from its image, focal lengths: 90° for a stereographic lens.
const OUT: f64 = 2.0;
/// Number of table entries: linear interpolation between them is within 1e-3 of the lobes.
const STEPS: usize = 4096;

/// A lobe: share n (1 + t²/l²)^(−s/2), with n such that its integral within `OUT` is the whole share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lobe {
    share: f64,
    radius: f64,
    slope: f64,
}

/// A sum of lobes.
#[derive(Clone, Debug)]
pub(super) struct PointSpread(pub(super) Vec<Lobe>);

/// A table of a sum of lobes over (t² + t₀²)^(1/4), whose steps are fine near the image and coarse far from it.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    soft2: f32,
    from: f32,
    steps_per_unit: f32,
    values: Vec<f32>,
}

impl Lobe {
    pub(super) fn new(share: f64, radius: f64, slope: f64) -> Self {
        Self { share, radius, slope }
    }

    /// ∫ 2π t (1 + t²/l²)^(−s/2) dt from 0 to `out`.
    fn volume(&self, out: f64) -> f64 {
        let (grown, power) = (1.0 + (out / self.radius).powi(2), 1.0 - self.slope / 2.0);
        let integral = if power.abs() < 1e-9 { grown.ln() } else { (grown.powf(power) - 1.0) / power };
        PI * self.radius * self.radius * integral
    }

    /// Fraction of the light per square focal length at t² = `t2`.
    pub(super) fn at(&self, t2: f64) -> f64 {
        self.share / self.volume(OUT) * (1.0 + t2 / (self.radius * self.radius)).powf(-self.slope / 2.0)
    }

    /// Fraction of the light that goes farther than `t`.
    fn beyond(&self, t: f64) -> f64 {
        self.share * (1.0 - self.volume(t.min(OUT)) / self.volume(OUT))
    }
}

impl PointSpread {
    /// Fraction of the light per square focal length at t² = `t2`.
    pub(super) fn at(&self, t2: f64) -> f64 {
        self.0.iter().map(|lobe| lobe.at(t2)).sum()
    }

    /// Fraction of the light that goes farther than `t`.
    pub(super) fn beyond(&self, t: f64) -> f64 {
        self.0.iter().map(|lobe| lobe.beyond(t)).sum()
    }
}

impl Profile {
    /// The table up to the distance `out`. It flattens within `soft`, the Sun's disc, where the flare stays finite
    /// because the Sun's own image is far brighter.
    pub(super) fn new(spread: &PointSpread, soft: f64, out: f64) -> Self {
        let [from, to] = [soft * soft, soft * soft + out * out].map(|t2| t2.sqrt().sqrt());
        let step = (to - from) / (STEPS - 1) as f64;
        let value = |k: usize| spread.at((from + step * k as f64).powi(4)) as f32;
        Self {
            soft2: (soft * soft) as f32,
            from: from as f32,
            steps_per_unit: (1.0 / step) as f32,
            values: (0..STEPS).map(value).collect(),
        }
    }

    /// Adds the profile times `peak`, centred at column `u`, to a row that is `down` focal lengths from the centre; a
    /// column is `per_px` focal lengths.
    pub(super) fn add(&self, peak: f64, [u, down]: [f64; 2], per_px: f64, values: &mut [f32]) {
        let [peak, u, per_px] = [peak as f32, u as f32, per_px as f32];
        let y2 = (down * down) as f32 + self.soft2;
        for (column, value) in values.iter_mut().enumerate() {
            let right = (column as f32 - u) * per_px;
            let at = ((right * right + y2).sqrt().sqrt() - self.from) * self.steps_per_unit;
            let low = (at as usize).min(STEPS - 2);
            let part = (at - low as f32).clamp(0.0, 1.0);
            let [a, b] = [self.values[low], self.values[low + 1]];
            *value += peak * (a + part * (b - a));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lobe, OUT, PointSpread, Profile};
    use std::f64::consts::PI;

    #[test]
    fn a_lobe_has_its_share_whatever_its_slope() {
        const STEP: f64 = 1e-4;
        for slope in [0.0, 1.5, 2.0, 3.0, 5.0] {
            let lobe = Lobe::new(0.03, 0.05, slope);
            let rings = (0..(OUT / STEP) as usize).map(|k| (k as f64 + 0.5) * STEP);
            let sum: f64 = rings.clone().map(|t| 2.0 * PI * t * STEP * lobe.at(t * t)).sum();
            let far: f64 = rings.filter(|t| *t > 0.2).map(|t| 2.0 * PI * t * STEP * lobe.at(t * t)).sum();
            assert!((sum / 0.03 - 1.0).abs() < 1e-3, "{slope}: {sum}");
            assert!((far / lobe.beyond(0.2) - 1.0).abs() < 1e-2, "{slope}: {far}");
        }
    }

    #[test]
    fn diffraction_has_the_tail_of_airys_pattern() {
        // λ/(π³ D t³) for λ/D = 2e-3.
        let lobe = Lobe::new(1.0, 2.0 * 2e-3 / (PI * PI), 3.0);
        for t in [0.05_f64, 0.2, 1.0] {
            let expected = 2e-3 / (PI.powi(3) * t.powi(3));
            assert!((lobe.at(t * t) / expected - 1.0).abs() < 1e-3, "{t}");
        }
    }

    #[test]
    fn the_table_is_read_as_the_lobes() {
        const TABLE: f64 = 1e-3; // straight lines between numbers
        let spread = PointSpread(vec![Lobe::new(1.0, 4e-4, 3.0), Lobe::new(0.01, 2e-3, 2.0)]);
        let (soft, per_px): (f64, f64) = (5e-3, 1.0 / 208.5);
        let profile = Profile::new(&spread, soft, 4.0);
        let mut row = vec![0.0; 700];
        profile.add(2.0, [3.25, 0.1], per_px, &mut row);
        for (column, value) in row.iter().enumerate() {
            let right = (column as f64 - 3.25) * per_px;
            let expected = 2.0 * spread.at(right * right + 0.01 + soft * soft);
            assert!((f64::from(*value) / expected - 1.0).abs() < TABLE, "{column}: {value} {expected}");
        }
    }
}
