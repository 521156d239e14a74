//! Dust on the lens: soft round spots at positions fixed by the camera's name and the scenario's seed. A spot removes
//! the fraction o = opacity · (1 − (r/R)²)² of the light that passes it (a grain on the front element is far out of
//! focus: its shadow is a blob without an edge). Where the Sun shines on the lens, it scatters the fraction `scatter`
//! of the sunlight that it removes, spread over the half space: o · scatter · E cos θ/π, times π/4 as irradiance
//! behind f/1. Irradiance to irradiance. Radii are drawn uniformly between 0.5 and 1.5 times the mean.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::random::{RngExt, stream};
use serde::Deserialize;

use super::SunSight;
use super::shot::RowWork;

/// `dust`: spots on the lens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct LensDustSpec {
    /// Number of spots.
    #[garde(range(max = 1000))]
    pub spots: u32,
    /// Mean radius, as a fraction of the image's width.
    #[garde(custom(within(0.001, 0.5)))]
    pub radius: f64,
    /// Largest fraction of light that a spot's middle removes; each is drawn uniformly from a quarter of it upward.
    #[garde(custom(within(0.0, 1.0)))]
    pub opacity: f64,
    /// Fraction of the removed sunlight that is scattered into the image.
    #[garde(custom(within(0.0, 1.0)))]
    pub scatter: f64,
}

impl Default for LensDustSpec {
    fn default() -> Self {
        Self { spots: 12, radius: 0.02, opacity: 0.25, scatter: 0.03 }
    }
}

/// The dust on one lens.
#[derive(Clone, Debug)]
pub(super) struct Dust {
    columns: usize,
    /// Fraction of light that each pixel loses, 0 to 1.
    opacity: Vec<f32>,
    scatter: f64,
}

impl Dust {
    pub(super) fn new(spec: LensDustSpec, name: &str, seed: u64, [columns, rows]: [usize; 2]) -> Self {
        let mut rng = stream(seed, &format!("{name}/dust"));
        let mut dust = Self { columns, opacity: vec![0.0; columns * rows], scatter: spec.scatter };
        for _ in 0..spec.spots {
            let [u, v] = [columns, rows].map(|side| rng.random_range(0.0..side as f64));
            let radius = spec.radius * columns as f64 * rng.random_range(0.5..1.5);
            let opacity = spec.opacity * rng.random_range(0.25..1.0);
            dust.lay([u, v], radius, opacity);
        }
        dust
    }

    fn lay(&mut self, [u, v]: [f64; 2], radius: f64, opacity: f64) {
        let rows = self.opacity.len() / self.columns.max(1);
        let near = |at: f64, side: usize| {
            let reach = |edge: f64| (edge.max(0.0) as usize).min(side);
            reach((at - radius).floor())..reach((at + radius).ceil() + 1.0)
        };
        for row in near(v, rows) {
            for column in near(u, self.columns) {
                let out2 = ((column as f64 - u).powi(2) + (row as f64 - v).powi(2)) / radius.powi(2);
                let taken = opacity * (1.0 - out2).max(0.0).powi(2);
                // Overlapping spots: each removes from the light that the other leaves.
                let all = &mut self.opacity[row * self.columns + column];
                *all = 1.0 - (1.0 - *all) * (1.0 - taken as f32);
            }
        }
    }

    pub(super) fn rows<'a>(&'a self, sun: Option<&SunSight>, channels: usize) -> RowWork<'a> {
        let on_lens_w_m2 = sun.map_or(0.0, SunSight::on_lens_w_m2) / channels as f64;
        let glow = (self.scatter * on_lens_w_m2 / 4.0) as f32;
        Box::new(move |_, row, values| {
            let opacity = &self.opacity[row * self.columns..];
            values.iter_mut().zip(opacity).for_each(|(value, o)| *value += o * (glow - *value));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Dust, LensDustSpec};
    use crate::develop::SunSight;

    const SIZE: [usize; 2] = [200, 120];

    fn seen(dust: &Dust, light: f32, sun: Option<&SunSight>) -> Vec<f32> {
        let mut values = vec![light; SIZE[0] * SIZE[1]];
        let work = dust.rows(sun, 1);
        values.chunks_exact_mut(SIZE[0]).enumerate().for_each(|(row, values)| work(0, row, values));
        drop(work);
        values
    }

    #[test]
    fn spots_dim_by_their_profile_and_leave_the_rest_alone() {
        let spec = LensDustSpec { spots: 0, scatter: 0.0, ..LensDustSpec::default() };
        let mut dust = Dust::new(spec, "a camera", 1, SIZE);
        dust.lay([80.0, 50.0], 10.0, 0.4);
        let values = seen(&dust, 2.0, None);
        let at = |column: usize, row: usize| f64::from(values[row * SIZE[0] + column]);
        for (column, row, expected) in [(80, 50, 1.2), (85, 50, 2.0 - 0.8 * 0.5625), (80, 60, 2.0), (100, 50, 2.0)] {
            assert!((at(column, row) - expected).abs() < 1e-6, "{column} {row}: {}", at(column, row));
        }
    }

    #[test]
    fn a_lens_keeps_its_dust_and_another_lens_has_other_dust() {
        let dust = |name, seed| seen(&Dust::new(LensDustSpec::default(), name, seed, SIZE), 1.0, None);
        assert_eq!(dust("left", 1), dust("left", 1));
        assert!(dust("left", 1) != dust("right", 1) && dust("left", 1) != dust("left", 2));
        assert!(dust("left", 1).iter().all(|value| *value > 0.0 && *value <= 1.0));
    }

    #[test]
    fn in_the_dark_spots_glow_where_the_sun_shines_on_the_lens() {
        let spec = LensDustSpec { spots: 0, scatter: 0.2, ..LensDustSpec::default() };
        let mut dust = Dust::new(spec, "a camera", 1, SIZE);
        dust.lay([80.0, 50.0], 10.0, 0.4);
        let sun = SunSight { at_px: [0.0, 0.0], irradiance_w_m2: 1000.0, cos_axis: 0.5 };
        let middle = f64::from(seen(&dust, 0.0, Some(&sun))[50 * SIZE[0] + 80]);
        // 0.4 of 500 W/m², 0.2 of that into the half space, π/4 of the radiance.
        let expected = 0.4 * 0.2 * 1000.0 * 0.5 / std::f64::consts::PI * std::f64::consts::FRAC_PI_4;
        assert!((middle / expected - 1.0).abs() < 1e-6, "{middle} {expected}");
        assert!(seen(&dust, 0.0, None).iter().all(|value| *value == 0.0));
    }
}
