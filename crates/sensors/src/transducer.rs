//! A force or torque bridge and its converter, one channel an axis: what is measured is shifted by the bridge's
//! zero, gets white noise, is held at the ends of the range (saturation) and told in whole steps of the
//! converter, in this order:
//!
//! y = r · round(sat(x + b + η) / r), η ~ N(0, σ²), sat to ±range; r = 0 tells every value.
//!
//! Scale error, cross-talk between channels, drift with temperature and hysteresis are not modelled.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite, non_negative, positive};
use serde::Deserialize;

/// Rounding of range over step: a range of a whole number of steps keeps its last one.
const STEP_ROUNDING: f64 = 1e-9;

/// Errors of a channel, in its quantity's SI unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TransducerSpec {
    /// What it tells when nothing loads it.
    #[garde(custom(finite))]
    pub bias: f64,
    /// Standard deviation of the white noise of one sample.
    #[garde(custom(non_negative))]
    pub noise_sigma: f64,
    /// The largest magnitude that it tells; more is told as this much.
    #[garde(custom(positive))]
    pub range: f64,
    /// The step between values that it tells; 0 for none. At most the range.
    #[garde(custom(non_negative), custom(at_most(self.range)))]
    pub resolution: f64,
}

impl TransducerSpec {
    /// What it tells of `value`, with one draw from N(0, 1). A value at the end of the range is told as the last
    /// whole step within it.
    #[must_use]
    pub fn tell(&self, value: f64, gaussian: f64) -> f64 {
        let held = (value + self.bias + self.noise_sigma * gaussian).clamp(-self.range, self.range);
        if self.resolution == 0.0 {
            return held;
        }
        let last_step = (self.range / self.resolution + STEP_ROUNDING).floor();
        (held / self.resolution).round().clamp(-last_step, last_step) * self.resolution
    }
}

/// A garde check: a step that the range has room for.
fn at_most(range: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |resolution, ()| {
        if *resolution <= range {
            return Ok(());
        }
        Err(garde::Error::new(format!("value {resolution} is not allowed: must be at most the range ({range})")))
    }
}

#[cfg(test)]
mod tests {
    use super::TransducerSpec;

    const BRIDGE: TransducerSpec = TransducerSpec { bias: 0.5, noise_sigma: 2.0, range: 10.0, resolution: 0.0 };

    #[test]
    fn bias_and_noise_add_and_the_range_holds() {
        assert_eq!(BRIDGE.tell(3.0, 1.5), 6.5);
        assert_eq!(BRIDGE.tell(3.0, 9.0), 10.0);
        assert_eq!(BRIDGE.tell(-30.0, 0.0), -10.0);
    }

    #[test]
    fn a_range_of_whole_steps_can_be_told() {
        for [range, resolution] in [[500.0, 0.1], [20.0, 0.004], [900.0, 0.2], [0.3, 0.1]] {
            let bridge = TransducerSpec { bias: 0.0, noise_sigma: 0.0, range, resolution };
            assert!((bridge.tell(1e6, 0.0) - range).abs() < 1e-9 * range, "{range} by {resolution}");
        }
    }

    #[test]
    fn values_come_in_whole_steps_none_of_them_beyond_the_range() {
        let bridge = TransducerSpec { bias: 0.0, resolution: 0.75, ..BRIDGE };
        for tenths in -200_i32..=200 {
            let told = bridge.tell(f64::from(tenths) / 10.0, 0.0);
            let steps = told / 0.75;
            assert!((steps - steps.round()).abs() < 1e-12 && told.abs() <= 10.0, "{tenths}: {told}");
            if tenths.abs() <= 90 {
                assert!((told - f64::from(tenths) / 10.0).abs() <= 0.375 + 1e-12, "{tenths}: {told}");
            }
        }
    }
}
