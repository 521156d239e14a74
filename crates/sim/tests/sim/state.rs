//! Tests that the state is a value: it can be hashed, copied, saved and resumed, and nothing outside it
//! changes the future.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use common::{Rover, config, drive, world, yard};
use nalgebra::Vector3;
use selene_base::SimTime;
use selene_sensors::SensorSetting;
use selene_sim::{
    AllowedFolders, Command, Entity, EntityId, Inputs, JointCommand, JointTrajectory, LooseRockSpec, Scratch, Settings,
    Snapshot, Spawn, SpawnPlace, State, TrajectoryPoint, World,
};
use selene_soil::{DustParcel, KnownNode, NodeMemory, SoilMemory};
use selene_terrain::{Edit, Print, Ruts, TileIndex};
use selene_vehicle::{Ackermann, BodyTwist, DrivelineState};
use serde_json::Value;

const FIRST: EntityId = EntityId(1);

/// Parts that are empty in a small state: ground, soil memory and granular soil, whose changes have their own tests.
const EMPTY: [&str; 3] = ["/granular", "/ruts", "/soil"];
/// Names of the laws in a wheel's memory, the only texts in a state that cannot be replaced by any other text.
const LAWS: [&str; 6] = ["None", "Scm", "Data", "Rigid", "SlipMap", "Points"];

/// A rover that drives into a loose rock, beside another; hard ground away from both.
fn busy() -> World {
    let rovers = [
        Rover { name: "rear", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "aside", file: "viper", start: [0.0, 4.0, 90.0], waypoints_m: &[] },
    ];
    let rest = "loose_rocks: [{ x_m: 0.5, y_m: 0.3, diameter_m: 0.15 }]\n\
                objects: [{ name: mast, file: ../../urdf/lander/lander.urdf, x_m: 12, y_m: 12 }]";
    let soils = "soil: { default: ../soil/lunar.yaml, areas: [{ soil: ../soil/rigid.yaml, \
                 circle: { centre_m: [3, -3], radius_m: 1 } }] }";
    world(&yard("lunar", &rovers, rest).replace("soil: ../soil/lunar.yaml", soils))
}

/// Adds a rover that presses a drum on the ground, objects, and a rock on hard ground.
fn add_all(world: &mut World) {
    let folders = AllowedFolders::new([config(), config().join("../urdf")]);
    let place = |x_m, y_m| SpawnPlace { x_m, y_m, ..SpawnPlace::default() };
    let (name, file) = ("late".to_owned(), config().join("rover/rassor.yaml"));
    let sensors = ["imu", "battery"].map(|name| config().join(format!("sensor/{name}.yaml"))).to_vec();
    let rover = Spawn::Rover { name, namespace: "far".to_owned(), file, sensors, place: place(6.0, -6.0) };
    let (name, file) = ("lander".to_owned(), config().join("../urdf/lander/lander.urdf"));
    let lander = Spawn::Object { name, file, place: place(-7.0, -7.0) };
    let (shape, density_kg_m3) = (Some(0), 2700.0);
    let rock = LooseRockSpec { x_m: 3.0, y_m: -3.0, diameter_m: 0.2, shape, density_kg_m3, yaw_deg: 0.0 };
    let Entity::Rover(late) = world.spawn(&rover, &folders).unwrap() else { panic!("a rover") };
    world.spawn(&lander, &folders).unwrap();
    world.spawn(&Spawn::Rock { name: "stone".to_owned(), spec: rock }, &folders).unwrap();
    let urdf = "<robot name='post'><link name='post'><visual><geometry><sphere radius='0.1'/></geometry></visual>\
                </link></robot>";
    let post = Spawn::Described { name: "post".to_owned(), urdf: urdf.to_owned(), place: place(-7.0, 7.0) };
    world.spawn(&post, &folders).unwrap();
    let gone = LooseRockSpec { x_m: -3.0, y_m: 0.3, ..rock };
    let gone = world.spawn(&Spawn::Rock { name: "gone".to_owned(), spec: gone }, &folders).unwrap();
    world.remove(gone).unwrap();
    let lower = JointCommand { joint: "front_arm".to_owned(), target: -0.3 };
    world.drive(late, Command::Joint(lower)).unwrap();
}

/// Gives every kind of command, so that no part of a driver's state is empty.
fn report_all(world: &mut World) {
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

fn parcel(from: SimTime) -> DustParcel {
    DustParcel {
        by: [1, 3],
        from,
        until: from + SimTime::from_nanos(200_000_000),
        place_m: Vector3::new(1.0, 2.0, 0.5),
        velocity_m_s: Vector3::new(0.1, -0.2, 0.3),
        mass_ug: 7,
        cross_section_m2: 1e-7,
        deviation_m: 0.02,
        spreading_m_s: 0.05,
    }
}

/// A state of which no part is empty.
fn full() -> State {
    static FULL: OnceLock<State> = OnceLock::new();
    let make = || {
        let mut world = busy();
        add_all(&mut world);
        drive(&mut world, 300);
        report_all(&mut world);
        drive(&mut world, 5);
        // A wheel that pushes a rock loses contact now and then.
        for _ in 0..300 {
            if !world.state().contacts.is_empty() {
                break;
            }
            drive(&mut world, 1);
        }
        let mut state = world.state().clone();
        state.sky_offset = SimTime::from_nanos(3_600_000_000_000);
        state.dust.parcels.push(parcel(state.time));
        state.dust.settled_ug.push((TileIndex { row: 1, column: -2 }, -7));
        let camera = SensorSetting { exposure_s: Some(0.004), auto_exposure: Some(false), ..SensorSetting::default() };
        let first = state.rovers.get_mut(&FIRST).unwrap();
        first.settings.insert("camera".to_owned(), camera);
        let engine = DrivelineState { engine_rad_s: 80.0, gear: 1, shift_wait_s: 0.5, pedal_integral: 0.1 };
        first.body.driveline = Some(engine);
        state
    };
    FULL.get_or_init(make).clone()
}

/// The state without ground and soil memory, which are packed and have no fields in a JSON tree.
fn small(state: State) -> State {
    State { ruts: Default::default(), soil: Default::default(), ..state }
}

/// Every part of a tree with its path (a JSON pointer), the whole first.
pub(crate) fn parts<'a>(whole: &'a Value, at: &str) -> Vec<(String, &'a Value)> {
    let within: Vec<(String, &Value)> = match whole {
        Value::Object(map) => map.iter().flat_map(|(key, value)| parts(value, &format!("{at}/{key}"))).collect(),
        Value::Array(list) => {
            list.iter().enumerate().flat_map(|(i, value)| parts(value, &format!("{at}/{i}"))).collect()
        }
        _ => Vec::new(),
    };
    std::iter::once((at.to_owned(), whole)).chain(within).collect()
}

fn is_empty(part: &Value) -> bool {
    match part {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

pub(crate) fn is_leaf(part: &Value) -> bool {
    !(part.is_object() || part.is_array() || part.is_null())
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_digit())
}

/// A path without its numbers: the same for all things of a kind.
pub(crate) fn kind_of(place: &str) -> String {
    let names: Vec<_> = place.split('/').map(|name| if is_number(name) { "*" } else { name }).collect();
    names.join("/")
}

/// A value that differs slightly from a leaf.
fn flipped(leaf: &Value) -> Value {
    match leaf {
        Value::Bool(value) => (!value).into(),
        Value::Number(number) if number.is_i64() => (number.as_i64().unwrap() ^ 1).into(),
        Value::Number(number) if number.is_u64() => (number.as_u64().unwrap() ^ 1).into(),
        Value::Number(number) => f64::from_bits(number.as_f64().unwrap().to_bits() ^ 1).into(),
        Value::String(law) if LAWS.contains(&law.as_str()) => (if law == "Rigid" { "Scm" } else { "Rigid" }).into(),
        Value::String(text) => format!("{text}x").into(),
        other => panic!("{other} is no leaf"),
    }
}

fn hash_of(tree: Value, changed: &str) -> u64 {
    serde_json::from_value::<State>(tree).unwrap_or_else(|error| panic!("{changed}: {error}")).hash()
}

#[test]
fn a_command_is_a_part_of_the_state_at_once_and_a_copy_obeys_it_too() {
    let rover = Rover { name: "viper", file: "viper", start: [0.0, 0.0, 0.0], waypoints_m: &[] };
    let mut original = world(&yard("lunar", &[rover], ""));
    let before = original.state().hash();
    original.drive(FIRST, Command::Body(BodyTwist::arc(0.1, 0.0))).unwrap();
    assert_ne!(original.state().hash(), before, "the hash has the command");
    let state = original.state().clone();
    let mut copy = World::resume(original.model(), state, &AllowedFolders::default()).unwrap();
    drive(&mut original, 100);
    drive(&mut copy, 100);
    assert!(original.state().rovers[&FIRST].body.world_from_base.translation.x > 0.01, "it drives");
    assert_eq!(copy.state().hash(), original.state().hash());
}

#[test]
fn the_first_snapshot_after_a_reset_is_the_very_first_one() {
    let mut world = busy();
    let first = world.first_snapshot().unwrap();
    drive(&mut world, 50);
    world.reset();
    // Only the number of resets differs.
    assert_eq!(world.first_snapshot().unwrap(), Snapshot { epoch: 1, ..first });
}

#[test]
fn a_change_of_any_part_of_the_state_changes_its_hash() {
    let state = small(full());
    let (hash, tree) = (state.hash(), serde_json::to_value(&state).unwrap());
    assert_eq!(hash_of(tree.clone(), "nothing"), hash);
    let leaves: Vec<_> = parts(&tree, "").into_iter().filter(|(_, part)| is_leaf(part)).collect();
    for (place, leaf) in &leaves {
        let mut other = tree.clone();
        *other.pointer_mut(place).unwrap() = flipped(leaf);
        assert_ne!(hash_of(other, place), hash, "{place}");
    }
    assert!(leaves.len() > 400, "{} leaves", leaves.len());
}

#[test]
fn a_change_of_any_number_by_which_the_state_knows_something_changes_its_hash() {
    let state = small(full());
    let (hash, tree) = (state.hash(), serde_json::to_value(&state).unwrap());
    let mut changed = Vec::new();
    for (place, map) in parts(&tree, "").into_iter().filter_map(|(place, part)| Some((place, part.as_object()?))) {
        // Fields of structs and variants of enums have names.
        for key in map.keys().filter(|key| is_number(key)) {
            let mut other = tree.clone();
            let map = other.pointer_mut(&place).and_then(Value::as_object_mut).unwrap();
            let value = map.remove(key).unwrap();
            let another = (key.parse::<u32>().unwrap() ^ 256).to_string();
            assert!(map.insert(another, value).is_none(), "{place}/{key}");
            assert_ne!(hash_of(other, &place), hash, "{place}/{key}");
            changed.push(place.clone());
        }
    }
    changed.sort();
    assert_eq!(changed, ["/rocks", "/rocks", "/rovers", "/rovers", "/rovers"]);
}

#[test]
fn nothing_of_the_state_that_is_tried_is_empty() {
    let tree = serde_json::to_value(small(full())).unwrap();
    let (empty, there): (Vec<_>, Vec<_>) = parts(&tree, "").into_iter().partition(|(_, part)| is_empty(part));
    let there: BTreeSet<_> = there.iter().map(|(place, _)| kind_of(place)).collect();
    let empty: BTreeSet<_> = empty.iter().map(|(place, _)| kind_of(place)).collect();
    let never: Vec<_> = empty.difference(&there).collect();
    assert_eq!(never, EMPTY.iter().collect::<Vec<_>>());
}

#[test]
fn no_part_of_the_state_is_left_out_of_its_hash() {
    let small = small(full());
    let mut keys = BTreeSet::new();
    collect_keys(&serde_json::to_value(&small).unwrap(), &mut keys);
    // `Debug` output has every field, whereas the hash has only the serialised ones.
    let printed = format!("{small:#?}");
    let fields = printed.lines().filter_map(|line| line.trim().split_once(": ").map(|(name, _)| name.to_owned()));
    let is_name = |name: &String| name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
    let left_out: BTreeSet<_> =
        fields.filter(|name| is_name(name) && !is_number(name) && !keys.contains(name)).collect();
    // Types that are serialised as their only field.
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

/// Edits that differ from this one in a bit of one field. Without `..`, so that a new field is tried too.
fn other_edits(edit: Edit) -> Vec<Edit> {
    let Edit { tile: [column, row], node, print, height_m } = edit;
    let printed = (0..16).map(|bit| edit.with_print(Print::from_bits(print.bits() ^ (1 << bit))));
    let elsewhere = [[column ^ 1, row], [column, row ^ 1]].map(|tile| Edit { tile, ..edit });
    let beside = Edit { node: node ^ 1, ..edit };
    let higher = Edit { height_m: f32::from_bits(height_m.to_bits() ^ 1), ..edit };
    printed.chain(elsewhere).chain([beside, higher]).collect()
}

#[test]
fn ruts_and_prints_of_wheels_are_hashed_to_the_last_bit() {
    let state = full();
    let edit = state.ruts.edits().find(|edit| edit.print != Print::NONE).unwrap();
    let hash = |edit: Edit| {
        let mut ruts = Ruts::default();
        ruts.apply(&[edit]);
        State { ruts, ..state.clone() }.hash()
    };
    let mut hashes = BTreeSet::from([state.hash(), hash(edit)]);
    for other in other_edits(edit) {
        assert!(hashes.insert(hash(other)), "{other:?} is like another one");
    }
    // One post of thousands.
    let mut dug = state.clone();
    for other in other_edits(edit).into_iter().filter(|other| (other.tile, other.node) == (edit.tile, edit.node)) {
        dug.ruts.apply(&[other]);
        assert_ne!(dug.hash(), state.hash(), "{other:?}");
        dug.ruts.apply(&[edit]);
        assert_eq!(dug.hash(), state.hash());
    }
}

/// Memories that differ from this one in a bit of one number.
fn other_memories(memory: NodeMemory) -> [NodeMemory; 4] {
    [0, 1, 2, 3].map(|number| {
        let mut bits = memory.bits();
        bits[number] ^= 1;
        let [initial, plastic, x, y] = bits;
        NodeMemory::new(f32::from_bits(initial), f32::from_bits(plastic), [x as i32, y as i32])
    })
}

/// The tiles beside this one.
fn other_tiles(tile: TileIndex) -> [TileIndex; 2] {
    let TileIndex { row, column } = tile;
    [TileIndex { row: row ^ 1, column }, TileIndex { row, column: column ^ 1 }]
}

#[test]
fn the_memory_and_the_crumbs_of_soil_are_hashed_to_the_last_bit() {
    let state = full();
    let node = state.soil.nodes().nth(100).unwrap();
    let hash = |node: KnownNode, crumbs_m3: (TileIndex, f64)| {
        let mut soil = SoilMemory::default();
        soil.apply(&[node]);
        soil.apply_crumbs(&[crumbs_m3]);
        State { soil, ..state.clone() }.hash()
    };
    // Without `..`, so that a new field is tried too.
    let KnownNode { tile, within, memory } = node;
    let crumbs_m3: f64 = 1e-9;
    let mut hashes = BTreeSet::from([state.hash(), hash(node, (tile, crumbs_m3))]);
    let remembered = other_memories(memory).map(|memory| KnownNode { memory, ..node });
    let elsewhere = other_tiles(tile).map(|tile| KnownNode { tile, ..node });
    for other in remembered.into_iter().chain(elsewhere).chain([KnownNode { within: within ^ 1, ..node }]) {
        assert!(hashes.insert(hash(other, (tile, crumbs_m3))), "{other:?} is like another one");
    }
    let more = (tile, f64::from_bits(crumbs_m3.to_bits() ^ 1));
    for other in other_tiles(tile).map(|tile| (tile, crumbs_m3)).into_iter().chain([more]) {
        assert!(hashes.insert(hash(node, other)), "crumbs {other:?} are like others");
    }
    // One node of thousands.
    let mut changed = state.clone();
    for memory in other_memories(memory) {
        changed.soil.apply(&[KnownNode { memory, ..node }]);
        assert_ne!(changed.hash(), state.hash(), "{memory:?}");
        changed.soil.apply(&[node]);
        assert_eq!(changed.hash(), state.hash(), "the same again is no change");
    }
}

#[test]
fn nothing_outside_the_state_changes_the_future() {
    let mut world = busy();
    drive(&mut world, 150);
    report_all(&mut world);
    drive(&mut world, 1);
    let model = world.model().clone();
    let (mut kept, mut fresh) = (world.state().clone(), world.state().clone());
    let mut scratch = Scratch::default();
    let lay = kept.rocks.clone();
    for heartbeat in 0..150 {
        let after = model.step(&mut kept, &Inputs::NONE, &mut scratch).unwrap();
        // Like another process, with the saved state and empty working memory.
        let mut saved: State = postcard::from_bytes(&postcard::to_allocvec(&fresh).unwrap()).unwrap();
        let afresh = model.step(&mut saved, &Inputs::NONE, &mut Scratch::default()).unwrap();
        assert!(after == afresh, "snapshots of heartbeat {heartbeat} differ");
        assert_eq!(kept.hash(), saved.hash(), "heartbeat {heartbeat}");
        fresh = saved;
    }
    assert!(kept.rocks != lay, "a rock is pushed");
}

/// Two rovers on a soil; the first one, at the origin, has a loose rock in its way.
struct Pair {
    soil: &'static str,
    files: [&'static str; 2],
    second_start: [f64; 3],
    second_goal_m: [f64; 2],
}

const PAIRS: [Pair; 3] = [
    Pair { soil: "rigid", files: ["rassor", "viper"], second_start: [0.0, 4.0, 90.0], second_goal_m: [0.0, 8.0] },
    Pair {
        soil: "slip_map_lunar",
        files: ["rassor", "viper"],
        second_start: [0.0, 4.0, 90.0],
        second_goal_m: [0.0, 8.0],
    },
    Pair {
        soil: "tohoku_silica5_ex1",
        files: ["ex1", "ex1"],
        second_start: [-1.0, 0.0, 0.0],
        second_goal_m: [4.0, 0.0],
    },
];

#[test]
fn a_copy_goes_on_alike_with_fresh_working_memory_on_ground_without_scm() {
    for Pair { soil, files: [first, second], second_start, second_goal_m } in PAIRS {
        let goals = [second_goal_m];
        let rovers = [
            Rover { name: "first", file: first, start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
            Rover { name: "second", file: second, start: second_start, waypoints_m: &goals },
        ];
        let world = world(&yard(soil, &rovers, "loose_rocks: [{ x_m: 0.55, y_m: 0.27, diameter_m: 0.15 }]"));
        let step = |state: &mut State, scratch: &mut Scratch, heartbeats: usize| {
            for _ in 0..heartbeats {
                world.model().step(state, &Inputs::NONE, scratch).unwrap();
            }
        };
        let (mut kept, mut scratch) = (world.state().clone(), Scratch::default());
        let lay = kept.rocks.clone();
        step(&mut kept, &mut scratch, 150);
        let mut copy = kept.clone();
        step(&mut kept, &mut scratch, 100);
        step(&mut copy, &mut Scratch::default(), 100);
        assert_eq!(copy.hash(), kept.hash(), "{soil}");
        assert!(kept.rovers[&FIRST].body.world_from_base.translation.x > 0.01, "{soil}: it drives");
        assert!(kept.rocks != lay, "{soil}: the rock settles or is pushed");
    }
}

#[test]
fn soil_that_slides_goes_on_alike_from_what_was_saved_and_on_any_number_of_threads() {
    let rovers = [
        Rover { name: "rear", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "aside", file: "viper", start: [0.0, 4.0, 90.0], waypoints_m: &[[0.0, 8.0]] },
    ];
    let world = || world(&yard("lunar_flow", &rovers, ""));
    let after = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = world();
            drive(&mut world, 150);
            world.state().hash()
        })
    };
    let alone = after(1);
    assert_eq!(after(3), alone);
    let begun = world();
    let mut saved = postcard::to_allocvec(begun.state()).unwrap();
    let mut unsettled = 0;
    for _ in 0..150 {
        let mut state: State = postcard::from_bytes(&saved).unwrap();
        begun.model().step(&mut state, &Inputs::NONE, &mut Scratch::default()).unwrap();
        unsettled += state.soil.nodes().filter(|node| node.memory.is_unsettled()).count();
        saved = postcard::to_allocvec(&state).unwrap();
    }
    assert!(unsettled > 0, "some soil still slides when it is saved");
    let state: State = postcard::from_bytes(&saved).unwrap();
    assert_eq!(state.hash(), alone);
}

#[test]
fn settings_are_checked_kept_and_forgotten_with_their_world() {
    let mut world = busy();
    add_all(&mut world);
    let late = world.model().rover_named("late").unwrap();
    let quiet = SensorSetting { noise: false, ..SensorSetting::default() };
    let set = |rover, sensor: &str, setting| Settings {
        sky_offset: SimTime::from_nanos(60_000_000_000),
        sensors: [((rover, sensor.to_owned()), setting)].into(),
    };
    let exposed = SensorSetting { exposure_s: Some(0.1), ..SensorSetting::default() };
    for (wrong, why) in [
        (set(EntityId(99), "imu", quiet), "no rover 99"),
        (set(late, "sonar", quiet), "no sensor \"sonar\""),
        (set(late, "imu", exposed), "only cameras"),
        (set(late, "battery", quiet), "counts or integrates"),
    ] {
        let (hash, error) = (world.state().hash(), world.set(&wrong).unwrap_err().to_string());
        assert!(error.contains(why) && world.state().hash() == hash, "{error}");
    }
    let (hash, sun) = (world.state().hash(), world.first_snapshot().unwrap().sun_direction);
    world.set(&set(late, "imu", quiet)).unwrap();
    assert_ne!(world.state().hash(), hash);
    let reported = world.heartbeat().unwrap();
    assert_eq!(reported.setting(late, "imu"), quiet);
    assert_eq!(reported.setting(late, "battery"), SensorSetting::default());
    assert!(reported.sun_direction.angle(&sun) > 1e-6, "the Sun moves 0.008 degrees in a minute");
    // A setting that is taken back leaves no trace.
    let hash_of_set = world.state().hash();
    world.set(&Settings::default()).unwrap();
    assert_eq!(world.state().settings(), Settings::default());
    assert_ne!(world.state().hash(), hash_of_set);
    world.set(&set(late, "imu", quiet)).unwrap();
    assert_eq!(world.state().hash(), hash_of_set);
    // The settings of a rover are removed with it.
    world.remove(Entity::Rover(late)).unwrap();
    assert!(world.state().settings().sensors.is_empty());
    world.reset();
    assert_eq!(world.state().settings(), Settings::default());
    // The settings at the start of a world are there after a reset.
    let begun = Settings { sky_offset: SimTime::from_nanos(1), ..Settings::default() };
    world.begin_with(&begun).unwrap();
    world.set(&Settings::default()).unwrap();
    world.reset();
    assert_eq!(world.state().settings(), begun);
}
