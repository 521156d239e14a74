//! The default scenario, driven: the route is followed, a command is obeyed, and a
//! rover that is no longer driven stands.

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

/// Slip on soft ground, and what is left of the sway after setting off.
const SPEED_TOLERANCE: f64 = 0.2;
/// A rover at rest creeps less than this, m/s: the soil's shear settles.
const REST_M_S: f64 = 0.003;

#[test]
fn a_command_is_obeyed_and_silence_stops_the_rover() {
    let mut world = world();
    let backward = BodyTwist::arc(-0.15, 0.0);
    let driven = drive(&mut world, 4.0, Some(backward));
    for state in driven.iter().filter(|state| state.time > SimTime::from_secs_f64(2.0)) {
        let speed = forward_m_s(state);
        assert!((speed / backward.forward_m_s - 1.0).abs() < SPEED_TOLERANCE, "{speed} m/s at {}", state.time);
    }
    // Half a second of holding the last command, two to come to rest.
    let silent = drive(&mut world, 4.0, None);
    for state in silent.iter().filter(|state| state.time > SimTime::from_secs_f64(6.5)) {
        assert!(forward_m_s(state).abs() < REST_M_S, "{} m/s at {}", forward_m_s(state), state.time);
    }
}

#[test]
fn the_route_is_followed_when_nobody_drives() {
    let mut world = world();
    let last = drive(&mut world, 10.0, None).pop().expect("a state");
    let at = rover(&last).world_from_base().translation;
    // The first leg runs 4 m along x.
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
fn told_to_turn_on_the_spot_the_rover_steers_first_and_stays_where_it_is() {
    /// Half a wheel's width: what is skidded in a tenth of a turn.
    const STAYS_M: f64 = 0.1;
    let mut world = world();
    drive(&mut world, 2.0, Some(BodyTwist::REST));
    let states = drive(&mut world, 6.0, Some(BodyTwist::arc(0.0, 0.15)));
    let start = rover(&states[0]).world_from_base();
    for state in &states {
        let moved = rover(state).world_from_base().translation.vector - start.translation.vector;
        assert!(moved.xy().norm() < STAYS_M, "{} m off at {}", moved.xy().norm(), state.time);
        // At 30° off the wheels stand; at 25°, a third of a second on, they turn at a fifth.
        let rolls = rover(state).wheels.iter().any(|wheel| wheel.rate_rad_s.abs() > 0.1);
        assert!(!rolls || state.time > SimTime::from_secs_f64(2.1), "wheels roll at {}", state.time);
    }
    let turned = selene_base::frames::yaw_rad(&rover(&states[states.len() - 1]).world_from_base())
        - selene_base::frames::yaw_rad(&start);
    assert!(turned > 0.15, "turned {turned} rad");
}
