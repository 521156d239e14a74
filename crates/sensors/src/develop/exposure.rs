//! Auto exposure: the time, and where that does not do the gain, that puts a percentile of
//! the lit ground at a share of the full scale. Lit means above 5 % of the ground's 99th
//! percentile, so that a frame which is mostly shadow, as they are under a polar Sun, still
//! shows its lit relief. The rover's own parts do not count: foil that glints would leave the
//! ground black. Each frame is metered by itself.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_scene::{CameraFrame, Class};
use serde::Deserialize;

use super::bands;

/// Auto exposure looks at about this many pixels, evenly spread.
const METERED_PIXELS: usize = 8192;
const LIT_SHARE: f32 = 0.05;

/// How auto exposure meters; may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct MeteringSpec {
    /// Signal that the lit ground shall have, share of the full scale.
    #[garde(custom(within(0.01, 0.99)))]
    pub target: f64,
    /// Which of the lit ground's brightness is put there, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub percentile: f64,
    /// The shortest exposure, s.
    #[garde(custom(within(0.0, 10.0)))]
    pub shortest_s: f64,
    /// What the ISO number may be multiplied by once the exposure is the longest.
    #[garde(custom(within(1.0, 1e4)))]
    pub gain_max: f64,
}

impl Default for MeteringSpec {
    fn default() -> Self {
        Self { target: 0.6, percentile: 0.9, shortest_s: 0.0, gain_max: 1.0 }
    }
}

/// How a frame is exposed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exposure {
    pub(super) exposure_s: f64,
    pub(super) gain: f64,
}

impl MeteringSpec {
    /// For electrons of a pixel a second under an irradiance of 1 W/m² behind f/1, of which
    /// `wanted_e` are wanted at gain 1; `longest_s` at the longest.
    pub(super) fn meter(&self, frame: &CameraFrame, electrons_per_s: f64, wanted_e: f64, longest_s: f64) -> Exposure {
        let rate = self.lit_ground(frame) * electrons_per_s;
        if rate * longest_s <= wanted_e {
            // In the dark, as bright as it gets.
            let gain = if rate > 0.0 { (wanted_e / (rate * longest_s)).min(self.gain_max) } else { self.gain_max };
            return Exposure { exposure_s: longest_s, gain };
        }
        Exposure { exposure_s: (wanted_e / rate).max(self.shortest_s), gain: 1.0 }
    }

    /// The lit ground's percentile, as irradiance behind f/1 in the bands together; the rover's
    /// where there is no ground in the frame, 0 where neither is.
    fn lit_ground(&self, frame: &CameraFrame) -> f64 {
        // An odd stride, so that it does not keep to one set of columns.
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

/// Of sorted values; 0 when there is none.
fn percentile(sorted: &[f32], fraction: f64) -> f32 {
    let at = (sorted.len() as f64 * fraction) as usize;
    sorted.get(at).or(sorted.last()).copied().unwrap_or(0.0)
}
