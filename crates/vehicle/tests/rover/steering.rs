//! Twists become wheel targets whose axles meet where the rover should turn about.

use std::f64::consts::PI;

use crate::ground::viper;
use nalgebra::Vector2;
use selene_vehicle::{WheelTargets, wheel_targets};

/// Sums of a few doubles of order 1.
const ROUNDING: f64 = 1e-12;
const LIMIT_RAD: f64 = PI / 6.0;

fn targets(speed_m_s: f64, turn_rate_rad_s: f64) -> WheelTargets {
    wheel_targets(&viper(), speed_m_s, turn_rate_rad_s, &[0.0; 4])
}

fn all_near(values: &[f64], expected: [f64; 4]) -> bool {
    values.iter().zip(expected).all(|(a, b)| (a - b).abs() < ROUNDING)
}

#[test]
fn straight_ahead_all_wheels_roll_at_speed_over_radius() {
    assert!(all_near(&targets(0.1, 0.0).rate_rad_s, [0.4; 4]));
    assert!(all_near(&targets(-0.1, 0.0).rate_rad_s, [-0.4; 4]));
    assert!(all_near(&targets(0.1, 0.0).steer_rad, [0.0; 4]));
}

#[test]
fn on_an_arc_every_axle_passes_through_the_centre_and_every_wheel_rolls_its_own_arc() {
    let (speed, turn) = (0.15, 0.05);
    let centre = Vector2::new(0.0, speed / turn);
    let targets = targets(speed, turn);
    for (i, wheel) in viper().wheels().iter().enumerate() {
        let to_centre = centre - wheel.centre_in_base_m.xy();
        let heading = Vector2::new(targets.steer_rad[i].cos(), targets.steer_rad[i].sin());
        assert!(heading.dot(&to_centre).abs() < ROUNDING, "{}", wheel.name);
        assert!((targets.rate_rad_s[i] * wheel.radius_m - turn * to_centre.norm()).abs() < ROUNDING, "{}", wheel.name);
    }
}

#[test]
fn the_tightest_arc_puts_the_inner_wheels_at_their_limit() {
    let radius_m = 0.6098 + 0.6418 / LIMIT_RAD.tan();
    let targets = targets(0.1, 0.1 / radius_m);
    assert!((targets.steer_rad[0] - LIMIT_RAD).abs() < ROUNDING && (targets.steer_rad[2] + LIMIT_RAD).abs() < ROUNDING);
    assert!(targets.steer_rad[1] > 0.0 && targets.steer_rad[1] < LIMIT_RAD);
}

#[test]
fn a_point_turn_steers_to_the_limits_and_rolls_left_and_right_oppositely() {
    let targets = targets(0.0, 0.1);
    assert!(all_near(&targets.steer_rad, [-LIMIT_RAD, LIMIT_RAD, LIMIT_RAD, -LIMIT_RAD]));
    let along = 0.1 * (0.6098 * LIMIT_RAD.cos() + 0.6418 * LIMIT_RAD.sin()) / 0.25;
    assert!(all_near(&targets.rate_rad_s, [-along, along, -along, along]));
}

#[test]
fn at_rest_the_wheels_stop_and_keep_their_angle() {
    let held = [0.1, -0.2, 0.3, 0.0];
    let targets = wheel_targets(&viper(), 0.0, 0.0, &held);
    assert!(all_near(&targets.rate_rad_s, [0.0; 4]) && all_near(&targets.steer_rad, held));
}

#[test]
fn a_command_beyond_the_limits_is_scaled_and_keeps_its_arc() {
    let (wanted, limited) = (targets(2.0, 0.4), targets(0.2, 0.04));
    assert!(all_near(&wanted.steer_rad, limited.steer_rad.clone().try_into().unwrap()));
    assert!(all_near(&wanted.rate_rad_s, limited.rate_rad_s.clone().try_into().unwrap()));
}

#[test]
fn only_a_command_that_is_scaled_or_beyond_the_servos_is_told_as_limited() {
    for (speed, turn) in [(0.1, 0.0), (-0.2, 0.0), (0.15, 0.05), (0.0, 0.0)] {
        assert!(!targets(speed, turn).limited, "{speed} {turn}");
    }
    for (speed, turn) in [(0.21, 0.0), (2.0, 0.4), (0.0, 0.1), (0.05, 0.1)] {
        assert!(targets(speed, turn).limited, "{speed} {turn}");
    }
}

#[test]
fn a_command_that_is_not_finite_is_rest() {
    for (speed, turn) in [(f64::NAN, 0.0), (0.1, f64::INFINITY), (f64::NEG_INFINITY, f64::NAN)] {
        assert_eq!(targets(speed, turn), WheelTargets::rest(4));
    }
}
