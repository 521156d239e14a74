//! Twists become wheel targets whose axles meet where the rover should turn about.

use std::f64::consts::PI;

use crate::ground::{rover_model, viper};
use crate::platform::{Platform, platform};
use nalgebra::Vector2;
use selene_vehicle::{BodyTwist, RoverModel, WheelTargets, wheel_targets};

/// Sums of a few doubles of order 1.
const ROUNDING: f64 = 1e-12;
const LIMIT_RAD: f64 = PI / 6.0;

fn targets(speed_m_s: f64, turn_rate_rad_s: f64) -> WheelTargets {
    wheel_targets(&viper(), &BodyTwist::arc(speed_m_s, turn_rate_rad_s), &[0.0; 4])
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
    let targets = wheel_targets(&viper(), &BodyTwist::REST, &held);
    assert!(all_near(&targets.rate_rad_s, [0.0; 4]) && all_near(&targets.steer_rad, held));
}

#[test]
fn a_command_beyond_the_limits_is_scaled_and_keeps_its_arc() {
    let (wanted, limited) = (targets(2.0, 0.4), targets(0.2, 0.04));
    assert!(all_near(&wanted.steer_rad, limited.steer_rad.clone().try_into().unwrap()));
    assert!(all_near(&wanted.rate_rad_s, limited.rate_rad_s.clone().try_into().unwrap()));
}

#[test]
fn only_a_command_that_is_scaled_or_beyond_the_servos_is_reported_as_limited() {
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

/// A square rover whose four wheels all steer far enough for anything.
fn crawler() -> RoverModel {
    platform(&Platform {
        places: &[[0.5, 0.4], [0.5, -0.4], [-0.5, 0.4], [-0.5, -0.4]],
        steered: 4,
        ..Platform::default()
    })
}

/// A truck: two steered wheels in front, a fixed axle at x = −1.5 m.
fn truck() -> RoverModel {
    platform(&Platform {
        places: &[[1.8, 0.9], [1.8, -0.9], [-1.5, 0.9], [-1.5, -0.9]],
        steered: 2,
        ..Platform::default()
    })
}

/// Nothing steers; `track_factor` as given.
fn skidder(track_factor: f64) -> RoverModel {
    let places = &[[0.3, 0.25], [0.3, -0.25], [-0.2, 0.25], [-0.2, -0.25]];
    platform(&Platform { places, steered: 0, track_factor, ..Platform::default() })
}

/// How far the axle line of each wheel passes from `centre`, and how far off its rim's
/// speed is from the turn rate times the distance.
fn misses(model: &RoverModel, targets: &WheelTargets, centre: Vector2<f64>, turn: f64) -> f64 {
    let miss = |(i, wheel): (usize, &selene_vehicle::Wheel)| {
        let arm = wheel.centre_in_base_m.xy() - centre;
        let heading = Vector2::new(targets.steer_rad[i].cos(), targets.steer_rad[i].sin());
        let velocity = Vector2::new(-arm.y, arm.x) * turn;
        let rolled = heading * (targets.rate_rad_s[i] * wheel.radius_m);
        heading.dot(&arm).abs().max((rolled - velocity).norm())
    };
    model.wheels().iter().enumerate().map(miss).fold(0.0, f64::max)
}

#[test]
fn any_motion_of_a_fully_steered_rover_has_all_axles_meet_in_its_centre() {
    let model = crawler();
    for (forward_m_s, left_m_s, turn_rad_s) in [(0.3, 0.0, 0.2), (0.3, 0.2, 0.3), (-0.2, 0.1, -0.2), (0.0, 0.0, 0.5)] {
        let twist = BodyTwist { forward_m_s, left_m_s, turn_rad_s };
        let targets = wheel_targets(&model, &twist, &[0.0; 4]);
        // v + ω × c = 0.
        let centre = Vector2::new(-left_m_s, forward_m_s) / turn_rad_s;
        assert!(misses(&model, &targets, centre, turn_rad_s) < ROUNDING, "{twist:?} {targets:?}");
        assert!(!targets.limited, "{twist:?}");
    }
}

#[test]
fn crabbing_puts_all_wheels_parallel_at_one_rate() {
    let twist = BodyTwist { forward_m_s: 0.3, left_m_s: 0.4, turn_rad_s: 0.0 };
    let targets = wheel_targets(&crawler(), &twist, &[0.0; 4]);
    assert!(all_near(&targets.steer_rad, [0.4_f64.atan2(0.3); 4]) && all_near(&targets.rate_rad_s, [0.5 / 0.2; 4]));
    let back = BodyTwist { forward_m_s: -0.3, left_m_s: -0.4, turn_rad_s: 0.0 };
    let targets = wheel_targets(&crawler(), &back, &[0.0; 4]);
    assert!(all_near(&targets.steer_rad, [0.4_f64.atan2(0.3); 4]) && all_near(&targets.rate_rad_s, [-0.5 / 0.2; 4]));
}

#[test]
fn a_point_turn_of_a_fully_steered_rover_rolls_every_wheel_round_the_middle() {
    let targets = wheel_targets(&crawler(), &BodyTwist::arc(0.0, 0.5), &[0.0; 4]);
    let (angle, rate) = (0.5_f64.atan2(0.4), 0.5 * 0.5_f64.hypot(0.4) / 0.2);
    assert!(all_near(&targets.steer_rad, [-angle, angle, angle, -angle]), "{targets:?}");
    assert!(all_near(&targets.rate_rad_s, [-rate, rate, -rate, rate]), "{targets:?}");
}

#[test]
fn straight_sideways_a_wheel_takes_the_end_of_its_range_that_is_nearer() {
    let limit = 85_f64.to_radians();
    for (held, side) in [(0.3, 1.0), (-0.3, -1.0)] {
        let left = BodyTwist { forward_m_s: 0.0, left_m_s: 0.4, turn_rad_s: 0.0 };
        let targets = wheel_targets(&crawler(), &left, &[held; 4]);
        assert!(all_near(&targets.steer_rad, [side * limit; 4]) && targets.limited, "{targets:?}");
        assert!(all_near(&targets.rate_rad_s, [side * 0.4 * limit.sin() / 0.2; 4]), "{targets:?}");
    }
}

#[test]
fn a_truck_turns_about_a_point_on_its_rear_axle() {
    let (speed, turn) = (1.0, 0.15);
    let targets = wheel_targets(&truck(), &BodyTwist::arc(speed, turn), &[0.0; 4]);
    assert!(misses(&truck(), &targets, Vector2::new(-1.5, speed / turn), turn) < ROUNDING, "{targets:?}");
    assert!(!targets.limited);
}

#[test]
fn curiosity_turns_about_a_point_on_its_middle_axle_also_on_the_spot() {
    let model = rover_model("curiosity");
    let middle_x_m = model.wheels()[2].centre_in_base_m.x;
    for (speed, turn) in [(0.1, 0.05), (-0.05, 0.04), (0.0, 0.05)] {
        let targets = wheel_targets(&model, &BodyTwist::arc(speed, turn), &[0.0; 6]);
        assert!(misses(&model, &targets, Vector2::new(middle_x_m, speed / turn), turn) < ROUNDING, "{targets:?}");
        assert!(!targets.limited, "{speed} {turn}");
    }
}

#[test]
fn a_sideways_motion_that_fixed_wheels_do_not_allow_is_left_out_and_reported() {
    for model in [truck(), skidder(1.0), (*rover_model("curiosity")).clone()] {
        let held = vec![0.0; model.wheels().len()];
        let crab = BodyTwist { forward_m_s: 0.1, left_m_s: 0.05, turn_rad_s: 0.0 };
        let (crabbed, straight) =
            (wheel_targets(&model, &crab, &held), wheel_targets(&model, &BodyTwist::arc(0.1, 0.0), &held));
        assert!(crabbed.limited && !straight.limited);
        assert_eq!((crabbed.rate_rad_s, crabbed.steer_rad), (straight.rate_rad_s, straight.steer_rad));
    }
    let round_the_rear_axle = BodyTwist { forward_m_s: 1.0, left_m_s: 0.15 * 1.5, turn_rad_s: 0.15 };
    assert!(!wheel_targets(&truck(), &round_the_rear_axle, &[0.0; 4]).limited);
}

#[test]
fn a_skid_steered_rover_turns_by_the_difference_of_its_sides() {
    for track_factor in [1.0, 1.6] {
        let targets = wheel_targets(&skidder(track_factor), &BodyTwist::arc(0.2, 0.4), &[0.0; 4]);
        let [left, right] = [-1.0, 1.0].map(|side| (0.2 + side * 0.4 * 0.25 * track_factor) / 0.2);
        assert!(all_near(&targets.rate_rad_s, [left, right, left, right]), "{targets:?}");
        assert!(all_near(&targets.steer_rad, [0.0; 4]) && !targets.limited);
    }
}

#[test]
fn a_motion_too_fast_for_a_motor_is_slowed_as_a_whole() {
    let model = platform(&Platform { no_load_speed_rad_s: 2.0, ..Platform::default() });
    let requested = wheel_targets(&model, &BodyTwist::arc(0.5, 0.5), &[0.0; 4]);
    let slower = wheel_targets(&model, &BodyTwist::arc(0.2, 0.2), &[0.0; 4]);
    let fastest = requested.rate_rad_s.iter().copied().fold(0.0, f64::max);
    assert!(requested.limited && !slower.limited && (fastest - 2.0).abs() < ROUNDING, "{requested:?}");
    assert!(all_near(&requested.steer_rad, slower.steer_rad.clone().try_into().unwrap()));
    let share = requested.rate_rad_s[0] / slower.rate_rad_s[0];
    assert!(requested.rate_rad_s.iter().zip(&slower.rate_rad_s).all(|(a, b)| (a / b - share).abs() < ROUNDING));
}

#[test]
fn wheels_wait_for_steers_that_point_elsewhere() {
    let requested = wheel_targets(&crawler(), &BodyTwist::arc(0.0, 0.5), &[0.0; 4]);
    let share = |off_deg: f64| {
        let mut waiting = requested.clone();
        let now: Vec<_> = requested.steer_rad.iter().map(|angle| angle - off_deg.to_radians()).collect();
        waiting.wait_for_steers(&crawler(), &now);
        assert_eq!(waiting.steer_rad, requested.steer_rad);
        let shares: Vec<_> = waiting.rate_rad_s.iter().zip(&requested.rate_rad_s).map(|(a, b)| a / b).collect();
        assert!(shares.iter().all(|share| (share - shares[0]).abs() < ROUNDING), "{shares:?}");
        shares[0]
    };
    for (off_deg, expected) in [(0.0, 1.0), (4.9, 1.0), (17.5, 0.5), (30.1, 0.0), (-51.0, 0.0)] {
        assert!((share(off_deg) - expected).abs() < 1e-6, "{off_deg}");
    }
    let mut fixed = wheel_targets(&skidder(1.0), &BodyTwist::arc(0.1, 0.0), &[0.0; 4]);
    fixed.wait_for_steers(&skidder(1.0), &[1.0; 4]);
    assert!(all_near(&fixed.rate_rad_s, [0.5; 4]), "a wheel without a steer has nothing to wait for");
}
