//! A wheel's drive: a brushed DC motor's torque–speed line, from stall torque at
//! rest linearly to nothing at the no-load speed (Chrono's VIPER model: 300 N m and
//! π rad/s), under a proportional speed controller `gain · (target − speed)`. The
//! line bounds the torque in the asked direction, `stall (1 − speed / no-load)`; a
//! braking torque is bounded by the stall torque. The winding's time constant and
//! any brake are left out: on a slope a stopped rover creeps at load torque / gain.
//!
//! The controller looks at the speed at the step's end, which within one step
//! depends on the wheel's own inertia only, `speed' = speed + (torque + load) ·
//! step / inertia`; solved for the torque this is stable for any gain and step.

use crate::spec::DriveSpec;

/// What a wheel undergoes during a step, beside its motor.
#[derive(Clone, Copy, Debug)]
pub struct WheelLoad {
    /// Turn rate relative to the motor's mount, rad/s.
    pub speed_rad_s: f64,
    /// Outer torque about the axle, N m.
    pub load_nm: f64,
    /// Step over the wheel's inertia about its axle, s/(kg m²).
    pub step_per_inertia: f64,
}

/// The torque of a drive that should turn at `target_rad_s`, N m. An infinite target
/// asks for all there is.
#[must_use]
pub fn torque_nm(drive: &DriveSpec, target_rad_s: f64, wheel: &WheelLoad) -> f64 {
    let speed_without_motor = wheel.speed_rad_s + wheel.load_nm * wheel.step_per_inertia;
    let gain = drive.velocity_gain_nm_s;
    let asked = gain / (1.0 + gain * wheel.step_per_inertia) * (target_rad_s - speed_without_motor);
    asked.min(most_torque_nm(drive, wheel.speed_rad_s)).max(-most_torque_nm(drive, -wheel.speed_rad_s))
}

/// The most torque at a speed counted in the direction of the torque, N m.
#[must_use]
pub fn most_torque_nm(drive: &DriveSpec, speed_rad_s: f64) -> f64 {
    let fraction = 1.0 - speed_rad_s / drive.no_load_speed_rad_s;
    drive.stall_torque_nm * fraction.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::{DriveSpec, WheelLoad, most_torque_nm, torque_nm};
    use std::f64::consts::PI;

    const DRIVE: DriveSpec = DriveSpec { stall_torque_nm: 300.0, no_load_speed_rad_s: PI, velocity_gain_nm_s: 5000.0 };
    /// Sums of a few doubles of order 1e4.
    const ROUNDING_NM: f64 = 1e-9;

    /// Torque on a wheel too heavy to change its speed within the step.
    fn torque(target: f64, speed_rad_s: f64) -> f64 {
        torque_nm(&DRIVE, target, &WheelLoad { speed_rad_s, load_nm: 0.0, step_per_inertia: 0.0 })
    }

    #[test]
    fn a_stalled_motor_gives_its_stall_torque_in_the_asked_direction() {
        assert!((torque(PI, 0.0) - 300.0).abs() < ROUNDING_NM);
        assert!((torque(-PI, 0.0) + 300.0).abs() < ROUNDING_NM);
        assert!((torque(f64::INFINITY, 0.0) - 300.0).abs() < ROUNDING_NM);
    }

    #[test]
    fn torque_falls_linearly_to_nothing_at_the_no_load_speed() {
        assert!((torque(9.0, PI / 2.0) - 150.0).abs() < ROUNDING_NM);
        assert!(torque(9.0, PI).abs() < ROUNDING_NM);
        assert_eq!(torque(9.0, 4.0), 0.0);
        assert!((most_torque_nm(&DRIVE, PI / 4.0) - 225.0).abs() < ROUNDING_NM);
    }

    #[test]
    fn near_its_target_torque_is_gain_times_the_speed_error() {
        assert!((torque(0.8, 0.79) - 50.0).abs() < ROUNDING_NM);
        assert!((torque(0.0, 0.01) + 50.0).abs() < ROUNDING_NM);
        assert_eq!(torque(0.0, 0.0), 0.0);
    }

    #[test]
    fn braking_is_bounded_by_the_stall_torque_at_any_speed() {
        for speed in [1.0, 10.0, 1e6, 1e300] {
            assert!((torque(0.0, speed) + 300.0).abs() < ROUNDING_NM, "{speed}");
        }
    }

    #[test]
    fn a_light_wheel_reaches_its_target_without_overshoot_in_long_steps() {
        let step_per_inertia = 2e-3 / 0.35;
        let mut speed_rad_s = 0.0;
        for _ in 0..2000 {
            let torque = torque_nm(&DRIVE, 0.8, &WheelLoad { speed_rad_s, load_nm: -20.0, step_per_inertia });
            speed_rad_s += (torque - 20.0) * step_per_inertia;
            assert!(speed_rad_s <= 0.8);
        }
        assert!((speed_rad_s - (0.8 - 20.0 / 5000.0)).abs() < 1e-9, "droop is load / gain: {speed_rad_s}");
    }
}
