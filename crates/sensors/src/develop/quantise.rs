//! Quantisation: converts the signal to whole numbers of 8, 10, 12, 14 or 16 bits, clipped at both ends. 8 bits are
//! stored in bytes, more in words of 16 bits, in which 10 to 14 bits are aligned low (0 to 2^bits − 1, as from raw
//! frame grabbers) or high (times 2^(16 − bits), as viewers expect). Without a response before it, one number is one
//! electron.

use garde::Validate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::plate::Quantity;
use super::shot::RowWork;

/// Bit depths allowed.
const BITS: [u32; 5] = [8, 10, 12, 14, 16];

/// `quantise`: signal to whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct QuantiseSpec {
    /// Bit depth: 8, 10, 12, 14 or 16.
    #[garde(custom(bits_known))]
    pub bits: u32,
    /// Alignment of 10 to 14 bits in a word.
    #[garde(skip)]
    #[serde(default)]
    pub align: BitAlignment,
}

/// Alignment in a word of 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BitAlignment {
    /// The low bits.
    #[default]
    Low,
    /// The high bits; the rest are zero.
    High,
}

fn bits_known(bits: &u32, (): &()) -> garde::Result {
    if BITS.contains(bits) {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {bits} is not allowed: must be 8, 10, 12, 14 or 16")))
}

impl QuantiseSpec {
    /// The highest number before alignment.
    #[must_use]
    pub fn highest(&self) -> f64 {
        f64::from((1_u32 << self.bits) - 1)
    }

    pub(super) fn rows(self, from: Quantity) -> RowWork<'static> {
        let highest = self.highest() as f32;
        let scale = if from == Quantity::Electrons { 1.0 } else { highest };
        let step =
            if self.bits > 8 && self.align == BitAlignment::High { (1_u32 << (16 - self.bits)) as f32 } else { 1.0 };
        Box::new(move |_, _, values| {
            for value in values {
                // NaN becomes 0.
                let number = (*value * scale + 0.5).floor();
                *value = if number > 0.0 { number.min(highest) * step } else { 0.0 };
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{BITS, BitAlignment, QuantiseSpec};
    use crate::develop::plate::Quantity;

    fn quantised(bits: u32, align: BitAlignment, signal: f32) -> f32 {
        let mut values = [signal];
        QuantiseSpec { bits, align }.rows(Quantity::Signal)(0, 0, &mut values);
        values[0]
    }

    #[test]
    fn numbers_are_whole_within_half_a_step_and_stop_at_both_ends() {
        for bits in BITS {
            let highest = 2.0_f32.powi(bits as i32) - 1.0;
            for k in 0..1000 {
                let signal = k as f32 / 999.0;
                let number = quantised(bits, BitAlignment::Low, signal);
                assert!((number - signal * highest).abs() <= 0.505 && number.fract() == 0.0, "{bits} {signal}");
            }
            let ends = [-0.3, f32::NAN, 1.2, f32::INFINITY].map(|signal| quantised(bits, BitAlignment::Low, signal));
            assert_eq!(ends, [0.0, 0.0, highest, highest]);
        }
    }

    #[test]
    fn twelve_bits_at_the_high_end_of_a_word_are_sixteen_times_those_at_the_low_end() {
        for signal in [0.0, 0.123, 0.5, 1.0] {
            assert_eq!(quantised(12, BitAlignment::High, signal), 16.0 * quantised(12, BitAlignment::Low, signal));
            assert_eq!(quantised(8, BitAlignment::High, signal), quantised(8, BitAlignment::Low, signal));
        }
    }
}
