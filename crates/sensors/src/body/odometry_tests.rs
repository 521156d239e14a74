//! Dead reckoning of wheels that roll without slip, and how its covariance grows.

use super::{Odometer, OdometryReading, OdometrySpec, OdometryWheel, UncertaintySpec};
use crate::body::{BodyHeartbeat, BodyPlan, BodyReading, Posture};
use crate::{Sample, SensorQos};
use nalgebra::{Vector2, Vector3};
use selene_base::{Pose, SimTime};
use std::f64::consts::{FRAC_PI_2, TAU};

const RADIUS_M: f64 = 0.25;
const CENTRES_M: [[f64; 2]; 4] = [[0.6, 0.5], [0.6, -0.5], [-0.6, 0.5], [-0.6, -0.5]];
/// Sampling period at 50 Hz.
const PERIOD_S: f64 = 0.02;

/// Joints 0 to 3 drive, 4 to 7 steer. Wheels on the right have their axes the other way around.
fn plan(is_steered: bool) -> BodyPlan {
    let wheel = |(i, centre_m): (usize, [f64; 2])| OdometryWheel {
        centre_m,
        radius_m: RADIUS_M,
        drive: i,
        drive_sign: if centre_m[1] > 0.0 { 1.0 } else { -1.0 },
        steer: is_steered.then_some((4 + i, 1.0)),
    };
    let joints = (0..8).map(|i| format!("joint_{i}")).collect();
    BodyPlan { joints, wheels: CENTRES_M.into_iter().enumerate().map(wheel).collect(), motors: Vec::new() }
}

fn spec() -> OdometrySpec {
    OdometrySpec {
        name: "odom".into(),
        link: "base_link".into(),
        rate_hz: 1.0 / PERIOD_S,
        lag_s: 0.0,
        qos: SensorQos::Reliable,
        stages: crate::Augments::default(),
        ticks_per_turn: 100_000,
        missed_tick_probability: 0.0,
        radius_scale: 1.0,
        turn_scale: 1.0,
        uncertainty: UncertaintySpec {
            along_m_per_sqrt_m: 0.03,
            across_m_per_sqrt_m: 0.02,
            heading_rad_per_sqrt_m: 0.01,
            heading_rad_per_sqrt_rad: 0.02,
            unmeasured_variance: 1e6,
        },
    }
}

/// The last of `samples` readings with constant drive rates (positive forward) and headings of the wheels; the memory
/// is passed on as numbers.
fn roll(odometer: &Odometer, start: Pose, samples: u64, rates: [f64; 4], headings: [f64; 4]) -> OdometryReading {
    let joints = |index: u64| -> Vec<f64> {
        let angle = |(wheel, rate): (&OdometryWheel, f64)| wheel.drive_sign * rate * PERIOD_S * index as f64;
        odometer.wheels.iter().zip(rates).map(angle).chain(headings).collect()
    };
    let (mut numbers, mut last) = (None, None);
    for index in 1..=samples {
        let time = |index: u64| SimTime::from_nanos(20_000_000 * index as i64);
        let (from, until) = (time(index - 1), time(index));
        let (before, now, links) = (joints(index - 1), joints(index), [start]);
        let body = |position| Posture { world_from_links: &links, position, velocity: &[], effort: &[] };
        let beat =
            BodyHeartbeat { after: from, from, until, before: body(&before), now: body(&now), sun: Vector3::z() };
        let sample = std::iter::once(Sample { index, instant: until });
        let next = odometer.take(numbers.as_deref(), &beat, sample, |read| {
            if let BodyReading::Odometry(reported) = read.reported {
                last = Some(reported);
            }
        });
        numbers = Some(next);
    }
    last.expect("a reading")
}

fn heading(pose: &Pose) -> f64 {
    let ahead = pose.rotation * Vector3::x();
    ahead.y.atan2(ahead.x)
}

/// Arc length of one tick of a wheel, m: the resolution of odometry.
const TICK_M: f64 = TAU * RADIUS_M / 100_000.0;

#[test]
fn straight_on_it_lays_its_way_along_its_true_first_heading() {
    let start = Pose::new(Vector3::new(3.0, -2.0, 0.7), Vector3::z() * FRAC_PI_2);
    for is_steered in [false, true] {
        let odometer = Odometer::new(spec(), &plan(is_steered), 1).expect("wheels");
        let reported = roll(&odometer, start, 500, [0.8; 4], [0.0; 4]);
        let way_m = 0.8 * RADIUS_M * 10.0;
        let expected = start.translation.vector + Vector3::y() * way_m;
        // Rounding down makes the sides differ by a tick, because their axes are opposite: a heading error of a tick
        // per metre.
        assert!((reported.odom_from_base.translation.vector - expected).norm() < 2.0 * way_m * TICK_M, "{reported:?}");
        assert!(
            (reported.twist - Vector3::new(0.8 * RADIUS_M, 0.0, 0.0)).norm() < 2.0 * TICK_M / PERIOD_S,
            "{reported:?}"
        );
    }
}

#[test]
fn steered_wheels_on_a_circle_close_it() {
    // A turn about a point 2 m to the left: each wheel heads across its own radius.
    let centre = Vector2::new(0.0, 2.0);
    let turn_rate = TAU / 20.0;
    let odometer = Odometer::new(spec(), &plan(true), 1).expect("wheels");
    let arm = |at: [f64; 2]| centre - Vector2::from(at);
    let headings = CENTRES_M.map(|at| (-arm(at).x).atan2(arm(at).y));
    let rates = CENTRES_M.map(|at| arm(at).norm() * turn_rate / RADIUS_M);
    let half = roll(&odometer, Pose::identity(), 500, rates, headings);
    assert!((half.odom_from_base.translation.vector - Vector3::new(0.0, 4.0, 0.0)).norm() < 1e-3, "{half:?}");
    let whole = roll(&odometer, Pose::identity(), 1000, rates, headings);
    assert!(whole.odom_from_base.translation.vector.norm() < 1e-3, "{whole:?}");
    assert!(heading(&whole.odom_from_base).abs() < 1e-3);
    assert!((whole.twist.z - turn_rate).abs() < 1e-2, "{whole:?}");
}

#[test]
fn a_skidding_rover_turns_by_the_difference_of_its_sides_times_its_scale() {
    // Left backward, right forward: the turn rate is 2 R w / track without slip.
    let (rate, track_m) = (0.4, 1.0);
    for turn_scale in [1.0, 0.7] {
        let odometer = Odometer::new(OdometrySpec { turn_scale, ..spec() }, &plan(false), 1).expect("wheels");
        let reported = roll(&odometer, Pose::identity(), 100, [-rate, rate, -rate, rate], [0.0; 4]);
        let expected = turn_scale * 2.0 * RADIUS_M * rate / track_m * 100.0 * PERIOD_S;
        assert!((heading(&reported.odom_from_base) - expected).abs() < 4.0 * TICK_M / track_m, "{reported:?}");
        assert!(reported.odom_from_base.translation.vector.norm() < 1e-3, "{reported:?}");
    }
}

#[test]
fn the_covariance_grows_with_the_way_as_configured() {
    // Straight along x by d: var x = s_along^2 d, var heading = s_h^2 d, var y = s_across^2 d + s_h^2 d^3/3.
    let odometer = Odometer::new(spec(), &plan(true), 1).expect("wheels");
    for samples in [250, 1000] {
        let reported = roll(&odometer, Pose::identity(), samples, [0.8; 4], [0.0; 4]);
        let d = 0.8 * RADIUS_M * PERIOD_S * samples as f64;
        let p = reported.pose_covariance;
        let expected = [0.03_f64.powi(2) * d, 0.02_f64.powi(2) * d + 0.01_f64.powi(2) * d.powi(3) / 3.0, 1e-4 * d];
        for (axis, expected) in expected.into_iter().enumerate() {
            // The tolerance covers the discrete sum and whole ticks.
            assert!((p[(axis, axis)] / expected - 1.0).abs() < 0.01, "{axis}: {p} after {d} m, not {expected}");
        }
    }
}

#[test]
fn missed_ticks_shorten_the_way_by_their_share() {
    // 1 % of 4 * 127 324 ticks: one sigma of the share is 0.014 %; five sigma.
    let odometer = Odometer::new(OdometrySpec { missed_tick_probability: 0.01, ..spec() }, &plan(true), 1);
    let reported = roll(&odometer.expect("wheels"), Pose::identity(), 500, [0.8; 4], [0.0; 4]);
    let share = reported.odom_from_base.translation.vector.norm() / (0.8 * RADIUS_M * 10.0);
    assert!((share - 0.99).abs() < 7e-4, "{share}");
}

#[test]
fn wheels_in_one_line_give_no_turn_and_are_refused() {
    let mut plan = plan(false);
    plan.wheels.iter_mut().for_each(|wheel| wheel.centre_m[1] = 0.0);
    let refusal = Odometer::new(spec(), &plan, 1).expect_err("refused").to_string();
    assert!(refusal.contains("different sides"), "{refusal}");
}
