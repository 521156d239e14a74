//! Phase function of a sphere that is lit from one side.

use std::f64::consts::PI;

/// Brightness of a Lambert sphere at a phase angle, rad, relative to full phase:
/// (sin g + (π − g) cos g)/π (Russell 1916).
#[must_use]
pub fn lambert_phase(phase_angle_rad: f64) -> f64 {
    (phase_angle_rad.sin() + (PI - phase_angle_rad) * phase_angle_rad.cos()) / PI
}

#[cfg(test)]
mod tests {
    use super::lambert_phase;
    use std::f64::consts::{FRAC_PI_2, PI};

    #[test]
    fn a_lambert_sphere_is_full_at_0_dark_at_180_and_1_over_pi_at_quarter() {
        for (angle, expected) in [(0.0, 1.0), (FRAC_PI_2, 1.0 / PI), (PI, 0.0)] {
            assert!((lambert_phase(angle) - expected).abs() < 1e-15, "{angle}");
        }
    }
}
