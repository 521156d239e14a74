//! The print of the last wheel that pressed a post, in addition to its depth: the wheel's heading, the post's phase
//! between the prints of two grousers, and the distance between these prints. It takes two bytes and depends only on
//! the wheel's state as it pressed; nothing is random.
//!
//! Bit 15: pressed. Bits 11 to 14: distance between prints in [`Print::PITCH_STEP_M`], rounded; 0 without prints. Bits
//! 6 to 10: heading in 32nds of a turn from x to y. Bits 0 to 5: phase in 64ths of a turn; it is 0 in the middle of a
//! print and grows along the heading. Every post has its own phase, so rounding errors of heading and distance add up
//! over one post's spacing only.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// Bit that is set in every print.
const PRESSED: u16 = 1 << 15;
/// Largest distance between prints, in steps of `PITCH_STEP_M`.
const PITCHES: f64 = 15.0;

/// The print that a wheel left on a post.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Print(u16);

impl Print {
    /// No print: no wheel has pressed the post since its soil last moved.
    pub const NONE: Self = Self(0);
    /// Step of the distance between prints, m.
    pub const PITCH_STEP_M: f64 = 0.01;
    /// Pressed, without prints of grousers.
    pub const SMOOTH: Self = Self(PRESSED);

    /// The print of grousers `pitch_m` apart on a wheel with the heading `heading_rad`, counted from x to y;
    /// `phase_rad` is 0 in the middle of a print and grows along the heading. Smooth where the pitch is too small or
    /// too large to store, or a number is not finite.
    #[must_use]
    pub fn of_grousers(heading_rad: f64, phase_rad: f64, pitch_m: f64) -> Self {
        let steps = (pitch_m / Self::PITCH_STEP_M).round();
        if !((1.0..=PITCHES).contains(&steps) && heading_rad.is_finite() && phase_rad.is_finite()) {
            return Self::SMOOTH;
        }
        // In integers: the remainder of two floats is a loop over their bits.
        let turn =
            |rad: f64, parts: u16| ((rad / TAU * f64::from(parts)).round() as i64).rem_euclid(parts.into()) as u16;
        Self(PRESSED | (steps as u16) << 11 | turn(heading_rad, 32) << 6 | turn(phase_rad, 64))
    }

    /// The bits of the print; 0 for none.
    #[must_use]
    pub fn bits(self) -> u16 {
        self.0
    }

    /// The print with these bits; `NONE` where the bit for pressed is not set.
    #[must_use]
    pub fn from_bits(bits: u16) -> Self {
        if bits & PRESSED == 0 { Self::NONE } else { Self(bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::Print;
    use std::f64::consts::{FRAC_PI_2, TAU};

    #[test]
    fn a_print_reports_heading_phase_and_pitch_in_steps() {
        assert_eq!(Print::of_grousers(FRAC_PI_2, 0.25 * TAU, 0.063).bits(), 1 << 15 | 6 << 11 | 8 << 6 | 16);
        assert_eq!(Print::of_grousers(-FRAC_PI_2, -0.25 * TAU, 0.15).bits(), 1 << 15 | 15 << 11 | 24 << 6 | 48);
        // An angle that rounds to a whole turn becomes 0.
        assert_eq!(Print::of_grousers(TAU - 1e-9, TAU - 1e-9, 0.01).bits(), 1 << 15 | 1 << 11);
    }

    #[test]
    fn what_cannot_be_stored_is_smooth_and_bits_without_a_wheel_are_none() {
        for [heading, phase, pitch] in
            [[0.0, 0.0, 0.0], [0.0, 0.0, 0.3], [0.0, 0.0, f64::NAN], [f64::INFINITY, 0.0, 0.05], [0.0, f64::NAN, 0.05]]
        {
            assert_eq!(Print::of_grousers(heading, phase, pitch), Print::SMOOTH, "{heading} {phase} {pitch}");
        }
        assert_eq!(Print::from_bits(0x7fff), Print::NONE);
        assert_eq!(Print::from_bits(0xffff).bits(), 0xffff);
        assert_eq!(Print::default(), Print::NONE);
    }
}
