//! The simpler noise of SENSOR eq. 3–4: Gaussian with σ² = σ1² I + σ2², I the signal. Signal to signal; an
//! alternative to `noise`, which works on electrons.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

use super::shot::{RowStreams, RowWork};
use crate::noise::gaussian;

/// `intensity_noise`: signal-dependent Gaussian noise, as fractions of the full scale.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct IntensityNoiseSpec {
    /// σ1: part that grows with the square root of the signal, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub sigma1: f64,
    /// σ2: constant part, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub sigma2: f64,
}

impl IntensityNoiseSpec {
    pub(super) fn rows(self, chance: &RowStreams) -> RowWork<'_> {
        Box::new(move |channel, row, values| {
            let mut rng = chance.of_row(channel, row);
            for value in values {
                let variance = self.sigma1.powi(2) * f64::from(value.max(0.0)) + self.sigma2.powi(2);
                *value += (variance.sqrt() * gaussian(&mut rng)) as f32;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::IntensityNoiseSpec;
    use crate::develop::shot::RowStreams;

    #[test]
    fn the_variance_is_a_line_over_the_signal() {
        const SAMPLES: usize = 40_000;
        const TOLERANCE: f64 = 0.035; // five times √(2/n)
        let spec = IntensityNoiseSpec { sigma1: 0.05, sigma2: 0.02 };
        for (index, signal) in [0.0, 0.2, 0.9].into_iter().enumerate() {
            let chance = RowStreams::new(1, "a camera", index as u64);
            let mut values = vec![signal as f32; SAMPLES];
            spec.rows(&chance)(0, 0, &mut values);
            let variance = values.iter().map(|v| (f64::from(*v) - signal).powi(2)).sum::<f64>() / SAMPLES as f64;
            let expected = 0.05_f64.powi(2) * signal + 0.02_f64.powi(2);
            assert!((variance / expected - 1.0).abs() < TOLERANCE, "{variance} {expected}");
        }
    }
}
