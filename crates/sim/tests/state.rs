//! The state is a value: it can be hashed, copied, saved and gone on with, and nothing outside it
//! changes the future.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::{Rover, drive, world, yard};
use selene_base::SimTime;
use selene_sim::{
    AllowedFolders, Command, EntityId, Inputs, JointCommand, JointTrajectory, LooseRockSpec, Scratch, Spawn, State,
    TrajectoryPoint, World,
};
use selene_soil::{KnownNode, NodeMemory};
use selene_vehicle::{Ackermann, BodyTwist};
use serde_json::Value;

const FIRST: EntityId = EntityId(1);

/// A rover that drives into a loose rock, beside another.
fn busy() -> World {
    let rovers = [
        Rover { name: "rear", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "aside", file: "viper", start: [0.0, 4.0, 90.0], waypoints_m: &[] },
    ];
    let rest = "loose_rocks: [{ x_m: 0.5, y_m: 0.3, diameter_m: 0.15 }]\n\
                objects: [{ name: mast, file: ../../urdf/lander/lander.urdf, x_m: 12, y_m: 12 }]";
    world(&yard("lunar", &rovers, rest))
}

/// All that a driver can be told, so that no part of its state is empty.
fn tell_all(world: &mut World) {
    let joint = |joint: &str, target| JointCommand { joint: joint.to_owned(), target };
    let point =
        |secs: f64| TrajectoryPoint { time: SimTime::from_secs_f64(secs), positions: vec![0.1], velocities: vec![0.0] };
    let trajectory =
        JointTrajectory { start: None, joints: vec!["rear_arm".to_owned()], points: vec![point(0.1), point(30.0)] };
    let car = Ackermann { speed_m_s: 0.1, ..Ackermann::default() };
    let commands = [
        (FIRST, Command::Trajectory(trajectory)),
        (FIRST, Command::Body(BodyTwist::arc(0.1, 0.1))),
        (FIRST, Command::Joint(joint("front_arm", 0.2))),
        (FIRST, Command::Joint(joint("no_such_joint", 0.2))),
        (EntityId(2), Command::Ackermann(car)),
    ];
    for (rover, command) in commands {
        world.drive(rover, command).unwrap();
    }
}

/// A state of which no part is empty.
fn full() -> State {
    let mut world = busy();
    drive(&mut world, 300);
    let rock = LooseRockSpec { x_m: 3.0, y_m: -3.0, diameter_m: 0.2, shape: None, density_kg_m3: 2700.0, yaw_deg: 0.0 };
    world.spawn(&Spawn::Rock(rock), &AllowedFolders::default()).unwrap();
    tell_all(&mut world);
    drive(&mut world, 5);
    world.state().clone()
}

/// Changes the leaf number `index` of a tree to something near; false where there are fewer.
fn flip(value: &mut Value, index: &mut usize) -> bool {
    match value {
        Value::Object(map) => map.values_mut().any(|value| flip(value, index)),
        Value::Array(list) => list.iter_mut().any(|value| flip(value, index)),
        // What is not there has no other value of its own.
        Value::Null => false,
        leaf if *index == 0 => {
            *leaf = flipped(leaf);
            true
        }
        _ => {
            *index -= 1;
            false
        }
    }
}

fn flipped(leaf: &Value) -> Value {
    match leaf {
        Value::Bool(value) => (!value).into(),
        Value::Number(number) if number.is_i64() => (number.as_i64().unwrap() ^ 1).into(),
        Value::Number(number) if number.is_u64() => (number.as_u64().unwrap() ^ 1).into(),
        Value::Number(number) => f64::from_bits(number.as_f64().unwrap().to_bits() ^ 1).into(),
        Value::String(text) => format!("{text}x").into(),
        other => panic!("{other} is no leaf"),
    }
}

#[test]
fn the_first_snapshot_after_a_reset_is_the_very_first_one() {
    let mut world = busy();
    let first = world.first_snapshot().unwrap();
    drive(&mut world, 50);
    world.reset();
    assert_eq!(world.first_snapshot().unwrap(), first);
}

#[test]
fn a_change_of_any_part_of_the_state_changes_its_hash() {
    let state = full();
    let hash = state.hash();
    // Ground and soil memory are packed: their own changes are tried below.
    let small = State { ruts: Default::default(), soil: Default::default(), ..state.clone() };
    let tree = serde_json::to_value(&small).unwrap();
    let (mut changed, mut index) = (0, 0);
    loop {
        let (mut other, mut left) = (tree.clone(), index);
        if !flip(&mut other, &mut left) {
            break;
        }
        index += 1;
        // What no type takes (a name of a variant, say) is no state.
        let Ok(mut other) = serde_json::from_value::<State>(other) else { continue };
        (other.ruts, other.soil) = (state.ruts.clone(), state.soil.clone());
        assert_ne!(other.hash(), hash, "leaf {}", index - 1);
        changed += 1;
    }
    assert!(changed > 300 && changed > index * 9 / 10, "{changed} of {index}");
}

#[test]
fn no_part_of_the_state_is_left_out_of_its_hash() {
    let state = full();
    let small = State { ruts: Default::default(), soil: Default::default(), ..state };
    let mut keys = BTreeSet::new();
    collect_keys(&serde_json::to_value(&small).unwrap(), &mut keys);
    // What is printed has every field; what is hashed is what is written.
    let printed = format!("{small:#?}");
    let fields = printed.lines().filter_map(|line| line.trim().split_once(": ").map(|(name, _)| name.to_owned()));
    let is_name = |name: &String| name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
    let is_number = |name: &String| name.chars().all(|c| c.is_ascii_digit());
    let left_out: BTreeSet<_> =
        fields.filter(|name| is_name(name) && !is_number(name) && !keys.contains(name)).collect();
    // The one part of a type that is written as that part.
    let known = ["pairs", "tiles"].map(str::to_owned);
    let left_out: Vec<_> = left_out.iter().filter(|name| !known.contains(name)).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.insert(key.clone());
                collect_keys(value, keys);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect_keys(value, keys)),
        _ => {}
    }
}

#[test]
fn ground_and_soil_memory_are_hashed_to_the_last_bit() {
    let state = full();
    let mut edit = state.ruts.edits().nth(100).unwrap();
    edit.height_m = f32::from_bits(edit.height_m.to_bits() ^ 1);
    let mut dug = state.clone();
    dug.ruts.apply(&[edit]);
    assert_ne!(dug.hash(), state.hash());
    let node = state.soil.nodes().nth(100).unwrap();
    let mut remembered = state.clone();
    remembered.soil.apply(&[node]);
    assert_eq!(remembered.hash(), state.hash(), "the same again is no change");
    for number in 0..4 {
        let mut bits = node.memory.bits();
        bits[number] ^= 1;
        let [initial, plastic, x, y] = bits;
        let memory = NodeMemory::new(f32::from_bits(initial), f32::from_bits(plastic), [x as i32, y as i32]);
        remembered.soil.apply(&[KnownNode { memory, ..node }]);
        assert_ne!(remembered.hash(), state.hash(), "number {number} of a node");
        remembered.soil.apply(&[node]);
        assert_eq!(remembered.hash(), state.hash());
    }
}

#[test]
fn nothing_outside_the_state_changes_the_future() {
    let mut world = busy();
    drive(&mut world, 150);
    tell_all(&mut world);
    drive(&mut world, 1);
    let model = world.model().clone();
    let (mut kept, mut fresh) = (world.state().clone(), world.state().clone());
    let mut scratch = Scratch::default();
    let lay = kept.rocks.clone();
    for heartbeat in 0..150 {
        let after = model.step(&mut kept, &Inputs::NONE, &mut scratch).unwrap();
        // Another process: what was saved, and nothing at hand.
        let mut saved: State = postcard::from_bytes(&postcard::to_allocvec(&fresh).unwrap()).unwrap();
        let afresh = model.step(&mut saved, &Inputs::NONE, &mut Scratch::default()).unwrap();
        assert!(after == afresh, "snapshots of heartbeat {heartbeat} differ");
        assert_eq!(kept.hash(), saved.hash(), "heartbeat {heartbeat}");
        fresh = saved;
    }
    assert!(kept.rocks != lay, "a rock is pushed");
}
