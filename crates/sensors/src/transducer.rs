//! A force or torque transducer: a bridge and its converter, one channel per axis. The bridge's zero offset is added to
//! the measured value, then white noise; the sum is clipped to the range (saturation) and rounded to whole steps of the
//! converter:
//!
//! y = r · round(sat(x + b + η) / r), η ~ N(0, σ²), sat to ±range; r = 0 means no rounding.
//!
//! Scale error, cross-talk between channels, drift with temperature and hysteresis are not modelled.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite, non_negative, positive};
use serde::Deserialize;

/// Added to range/step before rounding down, so that a range of a whole number of steps keeps its last one.
const STEP_ROUNDING: f64 = 1e-9;

/// Errors of one channel, in its quantity's SI unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TransducerSpec {
    /// Output without load.
    #[garde(custom(finite))]
    pub bias: f64,
    /// Standard deviation of the white noise of one sample.
    #[garde(custom(non_negative))]
    pub noise_sigma: f64,
    /// Measuring range: values beyond ± this are clipped.
    #[garde(custom(positive))]
    pub range: f64,
    /// Resolution: step between output values, at most the range; 0 for no rounding.
    #[garde(custom(non_negative), custom(at_most(self.range)))]
    pub resolution: f64,
}

impl TransducerSpec {
    /// The output for `value`, with one draw from N(0, 1). A value at the end of the range gives the last whole step
    /// within the range.
    #[must_use]
    pub fn measure(&self, value: f64, gaussian: f64) -> f64 {
        let held = (value + self.bias + self.noise_sigma * gaussian).clamp(-self.range, self.range);
        if self.resolution == 0.0 {
            return held;
        }
        let last_step = (self.range / self.resolution + STEP_ROUNDING).floor();
        (held / self.resolution).round().clamp(-last_step, last_step) * self.resolution
    }
}

/// A garde check: the resolution is at most the range.
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
        assert_eq!(BRIDGE.measure(3.0, 1.5), 6.5);
        assert_eq!(BRIDGE.measure(3.0, 9.0), 10.0);
        assert_eq!(BRIDGE.measure(-30.0, 0.0), -10.0);
    }

    #[test]
    fn a_range_of_whole_steps_can_be_written() {
        for [range, resolution] in [[500.0, 0.1], [20.0, 0.004], [900.0, 0.2], [0.3, 0.1]] {
            let bridge = TransducerSpec { bias: 0.0, noise_sigma: 0.0, range, resolution };
            assert!((bridge.measure(1e6, 0.0) - range).abs() < 1e-9 * range, "{range} by {resolution}");
        }
    }

    #[test]
    fn values_come_in_whole_steps_none_of_them_beyond_the_range() {
        let bridge = TransducerSpec { bias: 0.0, resolution: 0.75, ..BRIDGE };
        for tenths in -200_i32..=200 {
            let reported = bridge.measure(f64::from(tenths) / 10.0, 0.0);
            let steps = reported / 0.75;
            assert!((steps - steps.round()).abs() < 1e-12 && reported.abs() <= 10.0, "{tenths}: {reported}");
            if tenths.abs() <= 90 {
                assert!((reported - f64::from(tenths) / 10.0).abs() <= 0.375 + 1e-12, "{tenths}: {reported}");
            }
        }
    }
}
