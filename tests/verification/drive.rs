//! Driving the default scenario: the rover follows its route, obeys a command, and stands when commands end.

use selene_base::SimTime;
use selene_sim::{RoverEntityState, Snapshot, World};
use selene_tests::{ROVER, drive, rover, scenario};
use selene_vehicle::BodyTwist;

fn world() -> World {
    selene_tests::world(&selene_tests::model(scenario("polar", None)))
}

fn forward_m_s(snapshot: &Snapshot) -> f64 {
    rover(snapshot).body_twist().linear.x
}

fn state(world: &World) -> &RoverEntityState {
    &world.state().rovers[&ROVER]
}

/// Mean speed relative to the commanded one. A wheel without load slips by 0.02 to 0.03 (tests/validation, at zero
/// pull), and by 0.07 more or less on the five degrees that the start may slope.
const SPEED: std::ops::Range<f64> = 0.9..1.05;
/// Largest difference of the speed at any instant from the commanded one, relative to that: by the same figures, the slip
/// on 12 degrees. Craters as small as the rover add that much to the slope of the start for a moment.
const SWAY: f64 = 0.03 + 0.07 / 5.0 * 12.0;
/// Largest speed of a rover at rest, m/s: it creeps as the soil's shear settles.
const REST_M_S: f64 = 0.003;

#[test]
fn a_command_is_obeyed_and_silence_stops_the_rover() {
    let mut world = world();
    let backward = BodyTwist::arc(-0.15, 0.0);
    let driven = drive(&mut world, 4.0, Some(backward));
    let steady: Vec<_> = driven.iter().filter(|state| state.time > SimTime::from_secs_f64(2.0)).collect();
    for state in &steady {
        let twist = rover(state).body_twist();
        let speed = twist.linear.x / backward.forward_m_s;
        assert!((speed - 1.0).abs() < SWAY, "{speed} of what is commanded at {}", state.time);
        assert!(twist.linear.y.abs() < 0.05 && twist.angular.z.abs() < 0.05, "{twist:?} at {}", state.time);
    }
    let mean = steady.iter().map(|state| forward_m_s(state)).sum::<f64>() / steady.len() as f64;
    println!("{mean} m/s of {} commanded", backward.forward_m_s);
    assert!(SPEED.contains(&(mean / backward.forward_m_s)), "{mean} m/s");
    // The distance agrees with the integrated speed, within the pitch of the ground.
    let way_m = driven[1..].iter().map(forward_m_s).sum::<f64>() * 0.005;
    let moved = rover(&driven[0]).world_from_base().inverse() * rover(&driven[driven.len() - 1]).world_from_base();
    assert!((moved.translation.x - way_m).abs() < 0.01 && moved.translation.y.abs() < 0.05, "{moved} for {way_m} m");
    // The last command is held for half a second; coming to rest takes two seconds more.
    let silent = drive(&mut world, 4.0, None);
    for state in silent.iter().filter(|state| state.time > SimTime::from_secs_f64(6.5)) {
        assert!(forward_m_s(state).abs() < REST_M_S, "{} m/s at {}", forward_m_s(state), state.time);
    }
}

/// EX1's loop is 19.6 m long: 65 s at 0.3 m/s without slip; its slip is 0.03 to 0.06.
#[test]
fn a_loop_ends_where_it_begins() {
    let mut world = selene_tests::world(&selene_tests::model(scenario("ex1_loop", None)));
    let mut snapshot = world.heartbeat().expect("a heartbeat");
    while !world.routes_done() {
        let at = rover(&snapshot).world_from_base().translation;
        assert!(world.time() < SimTime::from_secs_f64(75.0), "is at {}, {} and not at the end", at.x, at.y);
        snapshot = world.heartbeat().expect("a heartbeat");
    }
    let at = rover(&snapshot).world_from_base().translation;
    assert!(at.x.hypot(at.y) < 0.3, "ended at {}, {}", at.x, at.y);
    assert!(world.time() > SimTime::from_secs_f64(65.0), "ended after {} s", world.time());
}

#[test]
fn the_route_is_followed_when_nobody_drives() {
    let mut world = world();
    let last = drive(&mut world, 10.0, None).pop().expect("a state");
    let at = rover(&last).world_from_base().translation;
    // The first leg of the route runs 4 m along x.
    assert!(at.x > 1.6 && at.y.abs() < 0.15, "at {}, {} m", at.x, at.y);
    let wheels = &rover(&last).wheels;
    assert!(wheels.iter().all(|wheel| wheel.sinkage_m < 0.05 && wheel.slip_ratio < 0.5), "{wheels:?}");
    assert!(!world.state().ruts.is_empty(), "no ruts");
}

#[test]
fn commands_that_are_not_finite_or_too_fast_are_counted() {
    let mut world = world();
    let nan = BodyTwist::arc(f64::NAN, f64::INFINITY);
    drive(&mut world, 0.1, Some(nan));
    assert_eq!(state(&world).driver.refused(), 20);
    assert!(state(&world).driver.last_refusal().expect("a reason").contains("NaN"));
    drive(&mut world, 0.05, Some(BodyTwist::arc(10.0, 0.0)));
    assert_eq!(state(&world).driver.limited(), 10);
}

#[test]
fn commanded_to_turn_on_the_spot_the_rover_steers_first_and_stays_where_it_is() {
    /// Half a wheel's width: the distance skidded in a tenth of a turn.
    const STAYS_M: f64 = 0.1;
    /// Resistance of the soil to a wheel's motion across, relative to that along. A wheel that moves across is held by
    /// the soil's shear, as along, and pushes soil before its side. So most of the range is above 1.
    const LEAST_STIFFER: f64 = 0.4;
    const MOST_STIFFER: f64 = 5.0;
    let mut world = world();
    drive(&mut world, 2.0, Some(BodyTwist::REST));
    let states = drive(&mut world, 6.0, Some(BodyTwist::arc(0.0, 0.15)));
    let start = rover(&states[0]).world_from_base();
    for state in &states {
        let moved = rover(state).world_from_base().translation.vector - start.translation.vector;
        assert!(moved.xy().norm() < STAYS_M, "{} m off at {}", moved.xy().norm(), state.time);
        // Wheels do not turn while the steering is 30° off; at 25°, a third of a second later, they turn at a fifth of
        // their speed.
        let rolls = rover(state).wheels.iter().any(|wheel| wheel.rate_rad_s.abs() > 0.1);
        assert!(!rolls || state.time > SimTime::from_secs_f64(2.1), "wheels roll at {}", state.time);
    }
    let turned = selene_base::frames::yaw_rad(&rover(&states[states.len() - 1]).world_from_base())
        - selene_base::frames::yaw_rad(&start);
    let even = turned_on_even_ground_rad();
    let range = [MOST_STIFFER, LEAST_STIFFER].map(|stiffer| turned_over_even(stiffer, short_rad()));
    println!("turned {turned} rad, {even} rad where the ground gives way alike along and across");
    assert!((range[0]..range[1]).contains(&(turned / even)), "turned {turned} rad of {even}: not within {range:?}");
}

/// Angle from a wheel at its stop, 30°, to the tangent of its circle.
fn short_rad() -> f64 {
    way_rad() - 30_f64.to_radians()
}

/// Angle from straight ahead to the tangent of a wheel's circle about the rover's middle.
fn way_rad() -> f64 {
    0.6418_f64.atan2(0.6098)
}

/// Turn relative to that on soil which resists alike along and across a wheel. A wheel that is δ short of its tangent
/// rolls at Ω and goes by v along the tangent; it slips by Ω − v cos δ along and by v sin δ across. With a resistance of
/// κ across for 1 along, the moment of both is zero at v = Ω cos δ / (cos² δ + κ sin² δ).
fn turned_over_even(stiffer: f64, short_rad: f64) -> f64 {
    1.0 / (short_rad.cos().powi(2) + stiffer * short_rad.sin().powi(2))
}

/// Angle, rad, turned in 6 s at 0.15 rad/s where soil yields equally along and across. Wheels steer at 15°/s to their
/// stops at 30°, 16.5° short of the tangent of their circle, and roll at the current share of 0.15 r cos 16.5°; each
/// moves by the component of its rim speed along that tangent (crates/vehicle/tests/rover/driving.rs).
fn turned_on_even_ground_rad() -> f64 {
    let turned_in = |ms: u32| {
        let steer_deg = (15.0 * 1e-3 * f64::from(ms)).min(30.0);
        let rim = (steer_deg / 25.0).min(1.0) * short_rad().cos();
        0.15 * 1e-3 * rim * (way_rad() - steer_deg.to_radians()).cos()
    };
    (0..6000).map(turned_in).sum()
}
