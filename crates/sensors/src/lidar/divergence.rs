//! Beam divergence: a beam is traced by several rays in a fixed pattern. A single ray is the beam's axis; more rays
//! are the axis and rings about it. With R rings, ring k is at the fraction k/(R + ½) of the beam's half-angle and
//! represents the annulus that extends half a ring spacing inside and outside of it; the axis represents the disc
//! within the first annulus. A ray's weight is its part of the area, times e^(−2ρ²) at the fraction ρ of the
//! half-angle for a Gaussian beam, whose divergence is that between the points of 1/e² of its peak. Weights are
//! normalised to a sum of 1.

use std::f64::consts::TAU;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_scene::RayOfBeam;
use serde::Deserialize;

use crate::spec::count_within;

/// The largest number of rays of one beam.
const SAMPLES_MAX: usize = 256;
/// The largest number of rays of the first ring; ring k has k times as many.
const FIRST_RING: usize = 8;

/// Width of a beam.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DivergenceSpec {
    /// Full angle along the azimuth, mrad, 0 to 200.
    #[garde(custom(within(0.0, 200.0)))]
    pub horizontal_mrad: f64,
    /// Full angle along the elevation, mrad, 0 to 200.
    #[garde(custom(within(0.0, 200.0)))]
    pub vertical_mrad: f64,
    /// Rays of one beam, 1 to 256; 1 without divergence.
    #[garde(custom(sample_count(self.horizontal_mrad + self.vertical_mrad)))]
    pub samples: u32,
    /// Intensity profile of the beam.
    #[garde(skip)]
    #[serde(default)]
    pub profile: BeamProfile,
}

/// Intensity profile of a beam.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeamProfile {
    /// Gaussian, with 1/e² of the central intensity at the edge.
    #[default]
    Gaussian,
    /// Uniform.
    Uniform,
}

impl Default for DivergenceSpec {
    /// A ray without width.
    fn default() -> Self {
        Self { horizontal_mrad: 0.0, vertical_mrad: 0.0, samples: 1, profile: BeamProfile::Gaussian }
    }
}

impl DivergenceSpec {
    /// The rays of a beam, the axis first.
    pub(crate) fn rays(&self) -> Vec<RayOfBeam> {
        let around = self.samples.saturating_sub(1) as usize;
        let counts = ring_counts(around);
        let step = 1.0 / (counts.len() as f64 + 0.5);
        let mut rays = vec![RayOfBeam { off_axis: [0.0; 2], weight: 0.25 * step * step }];
        for (number, count) in (1..).zip(counts) {
            let share = number as f64 * step;
            let weight = 2.0 * number as f64 * step * step * self.density(share) / count as f64;
            rays.extend((0..count).map(|i| RayOfBeam { off_axis: self.off_axis(share, number, i, count), weight }));
        }
        let sum: f64 = rays.iter().map(|ray| ray.weight).sum();
        rays.iter_mut().for_each(|ray| ray.weight /= sum);
        rays
    }

    /// Light per area at a fraction of the half-angle, relative to the centre.
    fn density(&self, share: f64) -> f64 {
        match self.profile {
            BeamProfile::Gaussian => (-2.0 * share * share).exp(),
            BeamProfile::Uniform => 1.0,
        }
    }

    /// Every other ring is rotated by half the spacing of its rays.
    fn off_axis(&self, share: f64, ring: usize, ray: usize, count: usize) -> [f64; 2] {
        let turn = TAU * (ray as f64 + 0.5 * (ring % 2) as f64) / count as f64;
        let half = |full_mrad: f64| (0.5e-3 * full_mrad).tan() * share;
        [half(self.horizontal_mrad) * turn.cos(), half(self.vertical_mrad) * turn.sin()]
    }
}

/// Number of rays of each ring: proportional to its radius, the remainder in the outermost.
fn ring_counts(rays: usize) -> Vec<usize> {
    let rings = (1..).find(|rings| FIRST_RING * rings * (rings + 1) / 2 >= rays).unwrap_or(1);
    if rays == 0 {
        return Vec::new();
    }
    let shares = rings * (rings + 1) / 2;
    let mut counts: Vec<usize> = (1..=rings).map(|ring| rays * ring / shares).collect();
    let given: usize = counts.iter().sum();
    if let Some(outermost) = counts.last_mut() {
        *outermost += rays - given;
    }
    counts.retain(|count| *count > 0);
    counts
}

/// A garde check: the number of rays of a beam of this width, mrad.
fn sample_count(width_mrad: f64) -> impl FnOnce(&u32, &()) -> garde::Result {
    move |samples, ()| {
        count_within(1, SAMPLES_MAX, *samples as usize)?;
        if *samples > 1 && width_mrad == 0.0 {
            let why = "must be 1 where horizontal_mrad and vertical_mrad are 0: all rays would be one";
            return Err(garde::Error::new(format!("value {samples} is not allowed: {why}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BeamProfile, DivergenceSpec};

    fn wide(samples: u32, profile: BeamProfile) -> DivergenceSpec {
        DivergenceSpec { horizontal_mrad: 4.0, vertical_mrad: 2.0, samples, profile }
    }

    #[test]
    fn one_ray_is_the_axis_and_nine_of_an_even_beam_weigh_the_same() {
        let one = wide(1, BeamProfile::Gaussian).rays();
        assert!(one.len() == 1 && one[0].off_axis == [0.0; 2] && one[0].weight == 1.0);
        let nine = wide(9, BeamProfile::Uniform).rays();
        assert!(nine.len() == 9 && nine.iter().all(|ray| (ray.weight - 1.0 / 9.0).abs() < 1e-12), "{nine:?}");
    }

    #[test]
    fn any_number_of_rays_is_within_the_beam_and_has_all_of_its_light_about_the_axis() {
        for profile in [BeamProfile::Gaussian, BeamProfile::Uniform] {
            for samples in 1..=256 {
                let rays = wide(samples, profile).rays();
                assert_eq!(rays.len(), samples as usize);
                let inside = |[h, v]: [f64; 2]| (h / 2e-3_f64.tan()).hypot(v / 1e-3_f64.tan()) <= 1.0;
                assert!(rays.iter().all(|ray| ray.weight > 0.0 && inside(ray.off_axis)), "{samples}");
                assert!((rays.iter().map(|ray| ray.weight).sum::<f64>() - 1.0).abs() < 1e-12);
                let mean: f64 = rays.iter().map(|ray| ray.weight * ray.off_axis[0]).sum();
                // A ring with few rays need not be centred on the axis.
                assert!(samples < 4 || mean.abs() < 1e-9, "{samples}: {mean}");
            }
        }
    }

    #[test]
    fn the_second_moment_is_that_of_the_profile() {
        // Variance along an axis: ρ²/4 for a uniform disc; for a Gaussian e^(−2ρ²) cut off at 1,
        // (1 − 3 e^−2)/(1 − e^−2)/4 of ρ².
        let cut = (1.0 - 3.0 * (-2.0_f64).exp()) / (1.0 - (-2.0_f64).exp()) / 4.0;
        for (profile, expected) in [(BeamProfile::Uniform, 0.25), (BeamProfile::Gaussian, cut)] {
            let rays = wide(225, profile).rays();
            let moment: f64 = rays.iter().map(|ray| ray.weight * (ray.off_axis[0] / 2e-3).powi(2)).sum();
            assert!((moment / expected - 1.0).abs() < 0.02, "{profile:?}: {moment} and not {expected}");
        }
    }
}
