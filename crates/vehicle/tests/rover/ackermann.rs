//! A car's speed and steering angle become wheels that turn about its rear axle.

use crate::ground::{rover_model, viper};
use crate::platform::{Platform, WHEEL_M, platform};
use selene_vehicle::ackermann::{ackermann_targets, wheelbase_m};
use selene_vehicle::{Ackermann, AckermannState, RoverModel};

/// Sums of a few doubles of order 1.
const ROUNDING: f64 = 1e-12;

const PLACES: [[f64; 2]; 4] = [[1.8, 0.9], [1.8, -0.9], [-1.5, 0.9], [-1.5, -0.9]];

fn truck() -> RoverModel {
    platform(&Platform { places: &PLACES, steered: 2, ..Platform::default() })
}

fn at(speed_m_s: f64, steering_angle_rad: f64) -> AckermannState {
    AckermannState { speed_m_s, steering_angle_rad, ..AckermannState::default() }
}

#[test]
fn a_wheelbase_runs_from_the_fixed_axles_to_the_front() {
    assert!((wheelbase_m(&truck()).unwrap() - 3.3).abs() < ROUNDING);
    assert!((wheelbase_m(&viper()).unwrap() - 2.0 * 0.6418).abs() < ROUNDING, "all steered: from the rearmost axle");
    let curiosity = rover_model("curiosity");
    let [front, middle] = [0, 2].map(|wheel| curiosity.wheels()[wheel].centre_in_base_m.x);
    assert!((wheelbase_m(&curiosity).unwrap() - (front - middle)).abs() < ROUNDING);
    let places = &[[0.0, 0.4], [0.0, -0.4]];
    assert_eq!(wheelbase_m(&platform(&Platform { places, steered: 0, ..Platform::default() })), None);
}

#[test]
fn the_virtual_front_wheel_and_the_real_ones_point_about_one_centre() {
    for (speed, angle) in [(1.0, 0.3_f64), (-0.5, 0.2), (0.8, -0.35)] {
        let targets = ackermann_targets(&truck(), &at(speed, angle));
        let radius_m = 3.3 / angle.tan();
        for (i, [x, y]) in PLACES.into_iter().enumerate() {
            let steer = if i < 2 { (3.3 / (radius_m - y)).atan() } else { 0.0 };
            let rolled = speed * (radius_m - y) / radius_m / steer.cos() / WHEEL_M;
            assert!((targets.steer_rad[i] - steer).abs() < ROUNDING, "{angle} at {x}: {targets:?}");
            assert!((targets.rate_rad_s[i] - rolled).abs() < 1e-9, "{rolled} at {x}, {y}: {targets:?}");
        }
        assert!(!targets.limited);
    }
}

#[test]
fn a_car_that_stands_turns_its_front_wheels_all_the_same() {
    let (standing, rolling) = (ackermann_targets(&truck(), &at(0.0, 0.3)), ackermann_targets(&truck(), &at(1.0, 0.3)));
    assert_eq!(standing.steer_rad, rolling.steer_rad);
    assert!(standing.rate_rad_s.iter().all(|rate| *rate == 0.0));
}

#[test]
fn beyond_its_limits_a_car_is_slowed_or_steered_less_and_says_so() {
    let (fast, full) = (ackermann_targets(&truck(), &at(5.0, 0.1)), ackermann_targets(&truck(), &at(2.0, 0.1)));
    assert!(fast.limited && !full.limited);
    assert!(fast.rate_rad_s.iter().zip(&full.rate_rad_s).all(|(a, b)| (a - b).abs() < ROUNDING));
    let (bent, most) =
        (ackermann_targets(&viper(), &at(0.1, 0.9)), ackermann_targets(&viper(), &at(0.1, 30_f64.to_radians())));
    assert!(bent.limited && bent.steer_rad == most.steer_rad);
}

#[test]
fn speed_and_angle_change_at_once_where_no_rate_is_given() {
    let mut state = AckermannState::default();
    state.advance(&Ackermann { speed_m_s: 1.5, steering_angle_rad: -0.4, ..Ackermann::default() }, 0.0);
    assert_eq!((state.speed_m_s, state.steering_angle_rad), (1.5, -0.4));
}

#[test]
fn speed_and_angle_obey_their_rates() {
    let requested = Ackermann {
        speed_m_s: 1.0,
        steering_angle_rad: 0.4,
        steering_rate_rad_s: 0.2,
        acceleration_m_s2: 0.5,
        jerk_m_s3: 0.0,
    };
    let mut state = AckermannState::default();
    (0..100).for_each(|_| state.advance(&requested, 0.01));
    assert!((state.speed_m_s - 0.5).abs() < 1e-9 && (state.steering_angle_rad - 0.2).abs() < 1e-9, "{state:?}");
    (0..101).for_each(|_| state.advance(&requested, 0.01));
    assert_eq!((state.speed_m_s, state.steering_angle_rad), (1.0, 0.4));
    let stop = Ackermann { speed_m_s: 0.0, ..requested };
    (0..100).for_each(|_| state.advance(&stop, 0.01));
    assert!((state.speed_m_s - 0.5).abs() < 1e-9, "it slows at the same rate: {state:?}");
}

#[test]
fn a_jerk_limit_ramps_the_acceleration_and_ends_without_overshoot() {
    const DT_S: f64 = 0.005;
    let requested = Ackermann { speed_m_s: 1.0, acceleration_m_s2: 0.5, jerk_m_s3: 1.0, ..Ackermann::default() };
    let mut state = AckermannState::default();
    let mut steps = 0;
    while state.speed_m_s < 1.0 && steps < 2000 {
        let before = state;
        state.advance(&requested, DT_S);
        let jerk = (state.acceleration_m_s2 - before.acceleration_m_s2) / DT_S;
        assert!(jerk <= 1.0 + 1e-9 && state.acceleration_m_s2 <= 0.5 + 1e-9 && state.speed_m_s <= 1.0, "{state:?}");
        steps += 1;
    }
    // Up in 0.5 s, down in about 0.5 s, 1.5 s at full acceleration between.
    assert!((f64::from(steps) * DT_S - 2.5).abs() < 0.05, "{steps} steps");
}

#[test]
fn wheels_of_a_car_report_its_speed_and_angle() {
    for (model, speed, angle) in [(truck(), 1.0, 0.3), (truck(), -0.7, -0.2), ((*viper()).clone(), 0.1, 0.25)] {
        let targets = ackermann_targets(&model, &at(speed, angle));
        let reported = AckermannState::of_wheels(&model, &targets.rate_rad_s, &targets.steer_rad);
        assert!(
            (reported.speed_m_s - speed).abs() < 1e-9 && (reported.steering_angle_rad - angle).abs() < 1e-9,
            "{reported:?}"
        );
    }
}
