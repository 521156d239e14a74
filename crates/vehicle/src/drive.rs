//! A wheel's drive: a brushed DC motor's torque–speed line, from stall torque at
//! rest linearly to zero at the no-load speed (Chrono's VIPER model: 300 N m and
//! π rad/s), under a proportional speed controller `gain · (target − speed)`. The
//! line bounds the torque in the commanded direction, `stall (1 − speed / no-load)`; a
//! braking torque is bounded by the stall current, and both by the current limit.
//! The winding's time constant is left out. A wheel that stands is held by its
//! brake (`brake.rs`), not by its motor.
//!
//! The gear turns the motor `ratio` times as fast as the wheel and passes on a share
//! η of the power that enters it: with motor torque M the wheel gets `ratio M η`
//! when the motor drives and `ratio M / η` when the wheel drives the motor back, so
//! it never gives more than it takes. The controller knows its gear: η costs current
//! and bounds, not accuracy. The rotor's inertia, times ratio², is the joint's armature.
//!
//! Stall torque and no-load speed are the wheel's at full voltage, which fixes the
//! winding's resistance at one temperature (nothing warms up): electrical power is
//! the motor's `M ω_m` plus copper loss `M² · no-load speed / stall torque`, all on
//! the motor's shaft. Brush friction and iron losses are left out.
//!
//! The controller uses the speed at the step's end, which within one step
//! depends on the wheel's own inertia only, `speed' = speed + (torque + load) ·
//! step / inertia`; solved for the torque this is stable for any gain and step.

use crate::spec::DriveSpec;

/// Speed, external load and inertia of a wheel in a step.
#[derive(Clone, Copy, Debug)]
pub struct WheelLoad {
    /// Turn rate relative to the motor's mount, rad/s.
    pub speed_rad_s: f64,
    /// External torque about the axle, N m.
    pub load_nm: f64,
    /// Step over the inertia of wheel and rotor about the axle, s/(kg m²).
    pub step_per_inertia: f64,
}

/// A drive's power; negative when it flows from the wheel to the motor, or from the
/// motor to its supply.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DrivePower {
    /// Mechanical power to the wheel, W.
    pub mechanical_w: f64,
    /// Electrical power from the supply, W.
    pub electrical_w: f64,
}

/// The torque of a drive with the target rate `target_rad_s`, N m. An infinite target
/// gives the largest torque.
#[must_use]
pub fn torque_nm(drive: &DriveSpec, target_rad_s: f64, wheel: &WheelLoad) -> f64 {
    let speed_without_motor = wheel.speed_rad_s + wheel.load_nm * wheel.step_per_inertia;
    let gain = drive.velocity_gain_nm_s;
    let requested = gain / (1.0 + gain * wheel.step_per_inertia) * (target_rad_s - speed_without_motor);
    requested.min(most_torque_nm(drive, wheel.speed_rad_s)).max(-most_torque_nm(drive, -wheel.speed_rad_s))
}

/// Largest torque at a speed that is positive in the torque's direction, N m.
#[must_use]
pub fn most_torque_nm(drive: &DriveSpec, speed_rad_s: f64) -> f64 {
    let (driving, driven_back) = (drive.gear_efficiency, 1.0 / drive.gear_efficiency);
    let limit = match (drive.current_limit_a, drive.torque_constant_nm_a) {
        (Some(current_a), Some(constant)) => drive.gear_ratio * constant * current_a,
        _ => f64::INFINITY,
    };
    if speed_rad_s < 0.0 {
        return (drive.stall_torque_nm / driving).min(limit) * driven_back;
    }
    let line = drive.stall_torque_nm * (1.0 - speed_rad_s / drive.no_load_speed_rad_s).max(0.0);
    line.min(limit * driving)
}

/// Torque on the motor's shaft when the wheel has `torque_nm` at `speed_rad_s`, N m.
#[must_use]
pub fn motor_torque_nm(drive: &DriveSpec, torque_nm: f64, speed_rad_s: f64) -> f64 {
    let drives = torque_nm * speed_rad_s >= 0.0;
    let passed_on = if drives { 1.0 / drive.gear_efficiency } else { drive.gear_efficiency };
    torque_nm * passed_on / drive.gear_ratio
}

/// Power of a drive that gives the wheel `torque_nm` at `speed_rad_s`.
#[must_use]
pub fn power(drive: &DriveSpec, torque_nm: f64, speed_rad_s: f64) -> DrivePower {
    let motor_nm = motor_torque_nm(drive, torque_nm, speed_rad_s);
    let motor_stall_nm = drive.stall_torque_nm / (drive.gear_ratio * drive.gear_efficiency);
    let copper_w = motor_nm * motor_nm * drive.gear_ratio * drive.no_load_speed_rad_s / motor_stall_nm;
    let electrical_w = motor_nm * drive.gear_ratio * speed_rad_s + copper_w;
    DrivePower { mechanical_w: torque_nm * speed_rad_s, electrical_w }
}

#[cfg(test)]
mod tests {
    use super::{DriveSpec, WheelLoad, most_torque_nm, motor_torque_nm, power, torque_nm};
    use std::f64::consts::PI;

    const DRIVE: DriveSpec = DriveSpec {
        stall_torque_nm: 300.0,
        no_load_speed_rad_s: PI,
        velocity_gain_nm_s: 5000.0,
        gear_ratio: 1.0,
        gear_efficiency: 1.0,
        rotor_inertia_kg_m2: 0.0,
        torque_constant_nm_a: None,
        current_limit_a: None,
        encoder_counts_per_turn: None,
        brake_torque_nm: None,
    };
    const GEARED: DriveSpec = DriveSpec {
        gear_ratio: 100.0,
        gear_efficiency: 0.8,
        torque_constant_nm_a: Some(0.1),
        current_limit_a: Some(10.0),
        ..DRIVE
    };
    /// Sums of a few doubles of order 1e4.
    const ROUNDING_NM: f64 = 1e-9;

    /// Torque on a wheel too heavy to change its speed within the step.
    fn torque(target: f64, speed_rad_s: f64) -> f64 {
        torque_nm(&DRIVE, target, &WheelLoad { speed_rad_s, load_nm: 0.0, step_per_inertia: 0.0 })
    }

    #[test]
    fn a_stalled_motor_gives_its_stall_torque_in_the_requested_direction() {
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

    #[test]
    fn the_current_limit_bounds_torque_by_what_the_gear_passes_on() {
        assert!((most_torque_nm(&GEARED, 0.1) - 100.0 * 0.1 * 10.0 * 0.8).abs() < ROUNDING_NM, "driving");
        assert!((most_torque_nm(&GEARED, -0.1) - 100.0 * 0.1 * 10.0 / 0.8).abs() < ROUNDING_NM, "driven back");
        assert!((motor_torque_nm(&GEARED, 80.0, 0.1) - 1.0).abs() < ROUNDING_NM);
        assert!((motor_torque_nm(&GEARED, -125.0, 0.1) + 1.0).abs() < ROUNDING_NM);
    }

    #[test]
    fn a_stalled_motor_takes_voltage_times_stall_current_and_gives_nothing() {
        let drive = DriveSpec { current_limit_a: None, ..GEARED };
        let stalled = power(&drive, 300.0, 0.0);
        assert_eq!(stalled.mechanical_w, 0.0);
        // V I = (k ω0) (M / k) on the motor's shaft.
        let (speed, torque) = (100.0 * PI, 300.0 / (100.0 * 0.8));
        assert!((stalled.electrical_w - speed * torque).abs() < ROUNDING_NM, "{}", stalled.electrical_w);
    }

    #[test]
    fn a_drive_takes_more_than_it_gives_whichever_way_power_flows() {
        for torque in [-280.0, -80.0, -1.0, 1.0, 80.0, 280.0] {
            for speed in [-3.0, -0.5, 0.0, 0.5, 3.0] {
                let power = power(&GEARED, torque, speed);
                assert!(power.electrical_w > power.mechanical_w, "{torque} N m at {speed} rad/s");
            }
        }
    }

    #[test]
    fn on_the_line_electrical_power_is_full_voltage_times_current() {
        // Current is proportional to M, voltage to the no-load speed: V I = M ω0 on the motor's shaft.
        for speed in [0.3, 1.0, 2.5] {
            let torque = most_torque_nm(&DRIVE, speed);
            assert!((power(&DRIVE, torque, speed).electrical_w - torque * PI).abs() < ROUNDING_NM);
        }
    }
}
