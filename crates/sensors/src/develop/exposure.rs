//! Auto exposure: the exposure time, and the gain if the longest time is not enough, that bring a percentile of the
//! lit ground to a given fraction of the full scale. Lit means above 5 % of the ground's 99th percentile, so that a
//! frame that is mostly shadow, as usual under a polar Sun, still shows its lit relief. The rover's own parts do not
//! count, because glinting foil would leave the ground black. Each frame is metered by itself.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_scene::{CameraFrame, Class};
use serde::Deserialize;

use super::bands;

/// Approximate number of metered pixels, evenly spaced.
const METERED_PIXELS: usize = 8192;
const LIT_SHARE: f32 = 0.05;

/// How auto exposure meters; may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct MeteringSpec {
    /// Target signal of the lit ground, as a fraction of the full scale.
    #[garde(custom(within(0.01, 0.99)))]
    pub target: f64,
    /// Percentile of the lit ground's brightness that is brought to `target`, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub percentile: f64,
    /// The shortest exposure, s.
    #[garde(custom(within(0.0, 10.0)))]
    pub shortest_s: f64,
    /// Largest factor on the ISO number once the exposure is the longest.
    #[garde(custom(within(1.0, 1e4)))]
    pub gain_max: f64,
}

impl Default for MeteringSpec {
    fn default() -> Self {
        Self { target: 0.6, percentile: 0.9, shortest_s: 0.0, gain_max: 1.0 }
    }
}

/// Exposure time, s, and gain of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exposure {
    pub(super) exposure_s: f64,
    pub(super) gain: f64,
}

impl MeteringSpec {
    /// The exposure of a frame. `electrons_per_s` are those of a pixel under an irradiance of 1 W/m² behind f/1,
    /// `wanted_e` the target electrons at gain 1, `longest_s` the longest exposure.
    pub(super) fn meter(&self, frame: &CameraFrame, electrons_per_s: f64, wanted_e: f64, longest_s: f64) -> Exposure {
        let rate = self.lit_ground(frame) * electrons_per_s;
        if rate * longest_s <= wanted_e {
            // Too dark for the target: the longest exposure, and the gain that reaches it or the largest.
            let gain = if rate > 0.0 { (wanted_e / (rate * longest_s)).min(self.gain_max) } else { self.gain_max };
            return Exposure { exposure_s: longest_s, gain };
        }
        Exposure { exposure_s: (wanted_e / rate).max(self.shortest_s), gain: 1.0 }
    }

    /// The percentile of the lit ground, as irradiance behind f/1 in all bands together, W/m²; that of the rover if
    /// there is no ground in the frame, 0 if there is neither.
    fn lit_ground(&self, frame: &CameraFrame) -> f64 {
        // An odd stride, so that samples do not stay in the same columns.
        let stride = (frame.class.len() / METERED_PIXELS) | 1;
        let metered = || (0..frame.class.len()).step_by(stride);
        let light = |i| Some(bands(frame, i).iter().sum()).filter(|l: &f32| l.is_finite());
        let of = |class: &dyn Fn(u16) -> bool| metered().filter(|i| class(frame.class[*i])).filter_map(light).collect();
        let mut ground: Vec<f32> = of(&|class| class != Class::Sky as u16 && class != Class::Rover as u16);
        if ground.is_empty() {
            ground = of(&|class| class == Class::Rover as u16);
        }
        ground.sort_unstable_by(f32::total_cmp);
        let lit_above = LIT_SHARE * percentile(&ground, 0.99);
        let lit = &ground[ground.partition_point(|l| *l <= lit_above)..];
        f64::from(percentile(lit, self.percentile))
    }
}

/// A percentile of sorted values; 0 for none.
fn percentile(sorted: &[f32], fraction: f64) -> f32 {
    let at = (sorted.len() as f64 * fraction) as usize;
    sorted.get(at).or(sorted.last()).copied().unwrap_or(0.0)
}
