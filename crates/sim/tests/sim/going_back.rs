//! Tests of partial resets: what goes back to the start and what stays.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Rover, config, drive, world, yard};
use selene_base::SimTime;
use selene_sim::{
    AllowedFolders, Command, Entity, EntityId, LooseRockSpec, ResetScope, Spawn, SpawnPlace, State, World,
};
use selene_vehicle::BodyTwist;

const FIRST: EntityId = EntityId(1);
const TIME: ResetScope = ResetScope { time: true, state: false, spawned: false };
const STATE: ResetScope = ResetScope { time: false, state: true, spawned: false };
const SPAWNED: ResetScope = ResetScope { time: false, state: false, spawned: true };

fn one() -> World {
    let first = Rover { name: "first", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[3.0, 0.0]] };
    world(&yard("lunar", &[first], "loose_rocks: [{ x_m: 2.0, y_m: -4.0, diameter_m: 0.2 }]"))
}

fn folders() -> AllowedFolders {
    AllowedFolders::new([config(), config().join("../urdf")])
}

fn second(x_m: f64, y_m: f64) -> Spawn {
    Spawn::Rover {
        name: "second".to_owned(),
        namespace: "second".to_owned(),
        file: config().join("rover/sorato.yaml"),
        sensors: Vec::new(),
        place: SpawnPlace { x_m, y_m, ..SpawnPlace::default() },
    }
}

/// A world that ran for a second, with one rover added.
fn ran() -> World {
    let mut world = one();
    world.spawn(&second(3.0, 3.0), &folders()).unwrap();
    drive(&mut world, 100);
    world
}

#[test]
fn time_goes_back_alone() {
    let mut world = ran();
    let before = world.state().clone();
    world.reset_in(TIME).unwrap();
    assert_eq!((world.time(), world.state().sequence, world.epoch()), (SimTime::ZERO, 0, 1));
    let after = world.state();
    assert!(after.ruts == before.ruts && after.rocks == before.rocks && after.spawned == before.spawned);
    assert_eq!(after.rovers[&FIRST].body, before.rovers[&FIRST].body);
    assert_eq!(after.terrain_sequence, before.terrain_sequence);
}

/// A command holds for half a second, whatever the clock does.
#[test]
fn commands_before_a_reset_of_time_hold_as_long_as_they_would_have() {
    let speeds = |resets: bool| {
        let mut world = one();
        drive(&mut world, 50);
        world.drive(FIRST, Command::Body(BodyTwist::arc(0.1, 0.0))).unwrap();
        drive(&mut world, 20);
        if resets {
            world.reset_in(TIME).unwrap();
        }
        let speed = |world: &World| world.state().rovers[&FIRST].body.base_twist.linear.x;
        (0..60)
            .map(|_| {
                drive(&mut world, 1);
                speed(&world)
            })
            .collect::<Vec<_>>()
    };
    let (plain, reset) = (speeds(false), speeds(true));
    assert_eq!(plain, reset);
    assert!(plain[0] > 0.02 && plain[59].abs() < 0.5 * plain[0], "{plain:?}");
}

#[test]
fn the_state_goes_back_and_what_was_added_with_it_stays() {
    let mut world = ran();
    world.remove(Entity::Rock(7 << 29)).unwrap();
    let (time, sequence) = (world.time(), world.state().sequence);
    world.reset_in(STATE).unwrap();
    assert_eq!((world.time(), world.state().sequence, world.epoch()), (time, sequence, 1));
    let mut fresh = one();
    fresh.spawn(&second(3.0, 3.0), &folders()).unwrap();
    assert!(world.state().ruts == fresh.state().ruts && world.state().rocks == fresh.state().rocks);
    for (id, rover) in &fresh.state().rovers {
        assert_eq!(world.state().rovers[id].body, rover.body, "rover {id}");
    }
    assert_eq!(world.state().rovers.len(), 2);
    let snapshot = world.first_snapshot().unwrap();
    assert_eq!((snapshot.epoch, snapshot.rovers.len(), snapshot.loose_rocks.len()), (1, 2, 1));
    drive(&mut world, 10);
}

/// Dust in flight and commands that hold at the start of a world have the same time left after a reset.
#[test]
fn what_a_restored_world_began_with_is_as_long_ago_after_a_reset_of_its_state() {
    let first = Rover { name: "first", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[] };
    let mut saved = world(&yard("lunar_dust", &[first], ""));
    saved.drive(FIRST, Command::Body(BodyTwist::arc(0.3, 0.0))).unwrap();
    drive(&mut saved, 40);
    let begun = saved.state();
    assert!(!begun.dust.parcels.is_empty());
    for (scope, later) in [(STATE, 20), (ResetScope { time: true, ..STATE }, 0)] {
        let mut world = World::resume(saved.model(), begun.clone(), &folders()).unwrap();
        drive(&mut world, 20);
        world.reset_in(scope).unwrap();
        let (state, later) = (world.state(), world.scenario().heartbeat * later);
        assert_eq!(state.time, begun.time + later);
        assert_eq!(state.dust.settled_ug, begun.dust.settled_ug);
        let flies = |of: &State| of.dust.parcels.iter().map(|of| (of.from, of.until)).collect::<Vec<_>>();
        let expected: Vec<_> = flies(begun).into_iter().map(|(from, until)| (from + later, until + later)).collect();
        assert_eq!(flies(state), expected);
        // The command holds for half a second, of which a tenth is left.
        drive(&mut world, 5);
        let rates_rad_s = &world.state().rovers[&FIRST].body.target_rate_rad_s;
        assert!(rates_rad_s.iter().all(|rate| rate.abs() > 0.1), "{rates_rad_s:?}");
    }
}

/// A restored world's start has an entity that was added before; it is removed, and an hour later forgotten.
#[test]
fn what_a_restored_world_began_with_is_there_again_even_if_it_was_forgotten() {
    let mut saved = one();
    let model = saved.model().clone();
    let entity = saved.spawn(&second(3.0, 3.0), &folders()).unwrap();
    let mut world = World::resume(&model, saved.state().clone(), &folders()).unwrap();
    world.remove(entity).unwrap();
    let removed = world.state().clone();
    let heartbeats = 360_000;
    let time = removed.time + world.scenario().heartbeat * heartbeats;
    world.set_state(State { time, sequence: removed.sequence + heartbeats as u64, ..removed });
    let spec =
        LooseRockSpec { x_m: -3.0, y_m: 0.3, diameter_m: 0.15, shape: None, density_kg_m3: 2700.0, yaw_deg: 0.0 };
    let stone = world.spawn(&Spawn::Rock { name: "stone".to_owned(), spec }, &folders()).unwrap();
    assert!(world.state().spawned.iter().all(|known| known.entity == stone));
    world.reset_in(STATE).unwrap();
    assert_eq!(world.entity_named("second"), Some(entity));
    assert_eq!(world.entity_named("stone"), Some(stone));
    let resumed = World::resume(&model, world.state().clone(), &folders()).unwrap();
    assert_eq!(resumed.entities(), world.entities());
}

#[test]
fn what_was_added_goes_and_all_else_stays() {
    let mut world = ran();
    let before = world.state().clone();
    world.reset_in(SPAWNED).unwrap();
    assert_eq!(world.entities().len(), 2, "the first rover and the rock");
    assert!(world.state().spawned.is_empty() && world.state().ruts == before.ruts);
    assert_eq!(world.time(), before.time);
    assert_eq!(world.state().rovers[&FIRST].body, before.rovers[&FIRST].body);
    // Its id and its name are free again.
    world.spawn(&second(3.0, -3.0), &folders()).unwrap();
    drive(&mut world, 10);
}

#[test]
fn what_was_added_where_something_begins_keeps_the_state_from_going_back() {
    let mut world = one();
    world
        .place(
            Entity::Rover(FIRST),
            &selene_sim::Placement { pose: Some(selene_base::Pose::translation(-5.0, -5.0, 0.0)), twist: None },
        )
        .unwrap();
    world.spawn(&second(0.0, 0.0), &folders()).unwrap();
    drive(&mut world, 5);
    let before = world.state().hash();
    let reported = world.reset_in(STATE).unwrap_err().to_string();
    assert!(reported.contains("inside"), "{reported}");
    assert_eq!((world.state().hash(), world.epoch()), (before, 0));
    world.reset_in(ResetScope { spawned: true, ..STATE }).unwrap();
    assert_eq!(world.entities().len(), 2);
}

#[test]
fn all_of_it_goes_back_whatever_was_done() {
    let mut world = ran();
    world
        .place(
            Entity::Rover(FIRST),
            &selene_sim::Placement { pose: Some(selene_base::Pose::translation(-5.0, -5.0, 0.0)), twist: None },
        )
        .unwrap();
    world.remove(Entity::Rock(7 << 29)).unwrap();
    world.reset_in(ResetScope::ALL).unwrap();
    assert_eq!(world.state().hash(), one().state().hash());
    let mut fresh = one();
    drive(&mut fresh, 50);
    drive(&mut world, 50);
    assert_eq!(world.state().hash(), fresh.state().hash());
}
