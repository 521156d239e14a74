//! Tests of several rovers in one world: they collide, drive in each other's ruts, and the result
//! depends neither on threads nor on names.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use common::{Rover, drive, parsed, world, yard};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_sim::{Command, EntityId, Model, Snapshot, World};
use selene_terrain::{Edit, GroundPatch, Level, Node, Rock, RockShape, Ruts, Terrain, TileIndex};
use selene_vehicle::BodyTwist;
use selene_vehicle::contact::Collider;

/// Rounding of poses after seconds of driving in contact, m, by the order in which contacts are summed.
const ROUNDING_M: f64 = 1e-7;

fn pose(world: &World, name: &str) -> Pose {
    let id = world.model().rover_named(name).unwrap();
    world.state().rovers[&id].body.world_from_base
}

/// Three rovers: two whose paths cross and that touch, and one far off.
fn three_rovers(names: [&str; 3]) -> String {
    let [first, second, far] = names;
    let rovers = [
        Rover { name: first, file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: second, file: "rassor", start: [2.0, 0.2, 180.0], waypoints_m: &[[-3.0, 0.2]] },
        Rover { name: far, file: "viper", start: [-8.0, 6.0, 90.0], waypoints_m: &[[-8.0, 9.0]] },
    ];
    yard("lunar", &rovers, "")
}

/// A rover that catches up with a slower one and drives in its ruts, and one far off.
fn train(names: [&str; 3]) -> String {
    let [first, second, far] = names;
    let rovers = [
        Rover { name: first, file: "ex1", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: second, file: "ex1", start: [-0.95, 0.03, 0.0], waypoints_m: &[[3.0, 0.03]] },
        Rover { name: far, file: "viper", start: [-8.0, 6.0, 90.0], waypoints_m: &[[-8.0, 9.0]] },
    ];
    let text = yard("lunar", &rovers, "");
    let (before, from_second) = text.split_at(text.find(&format!("- name: {second}\n")).unwrap());
    before.to_owned() + &from_second.replacen("speed_m_s: 0.1", "speed_m_s: 0.3", 1)
}

/// Whether two rovers touch.
fn touch(world: &World, names: [&str; 2]) -> bool {
    let [first, second] = names.map(|name| world.model().rover_named(name).unwrap().0);
    let mut pairs = world.state().contacts.clone();
    let mut of_first = pairs.split_off(|party| party.is_of_rover(first));
    !of_first.split_off(|party| party.is_of_rover(second)).is_empty()
}

/// The rover whose base is nearest to a node that changed.
fn nearest(terrain: &Terrain, snapshot: &Snapshot, edit: &Edit) -> EntityId {
    let ([origin_x, origin_y], spacing_m) = (terrain.origin_m(), terrain.spacing_m());
    let Node { column, row } = edit.at();
    let (x, y) = (origin_x + f64::from(column) * spacing_m, origin_y + f64::from(row) * spacing_m);
    let away_m = |at: Pose| (at.translation.x - x).hypot(at.translation.y - y);
    let rovers = snapshot.rovers.iter().map(|rover| (away_m(rover.world_from_base()), rover.id));
    rovers.min_by(|(a, _), (b, _)| a.total_cmp(b)).unwrap().1
}

/// Steps some heartbeats; returns in how many of them a and b touched, and how many nodes two rovers pressed.
fn drive_and_watch(world: &mut World, heartbeats: usize) -> (usize, usize) {
    let (mut touching, mut pressed_by) = (0, BTreeMap::<Node, BTreeSet<EntityId>>::new());
    for _ in 0..heartbeats {
        let snapshot = world.heartbeat().unwrap();
        touching += usize::from(touch(world, ["a", "b"]));
        for edit in &snapshot.edits {
            let by = nearest(world.model().terrain(), &snapshot, edit);
            pressed_by.entry(edit.at()).or_default().insert(by);
        }
    }
    (touching, pressed_by.values().filter(|by| by.len() > 1).count())
}

#[test]
fn rovers_that_meet_stop_each_other_and_never_pass_through() {
    let mut world = world(&three_rovers(["a", "b", "c"]));
    let start_m = 2.0;
    for _ in 0..100 {
        drive(&mut world, 10);
        let apart_m = (pose(&world, "b").translation.vector - pose(&world, "a").translation.vector).norm();
        // The wheels have a radius of 0.2 m and are 0.195 m ahead of the middle.
        assert!(apart_m > 0.75, "{apart_m} m apart at {}", world.time());
    }
    let gone_m = pose(&world, "a").translation.x;
    assert!(gone_m > 0.05 && gone_m < 0.5 * start_m, "it drove {gone_m} m and then stood against the other");
    assert!(world.state().rovers.values().all(|rover| rover.body.is_finite()));
}

/// The kinds of pieces with which rovers a and b touch during a drive; true for a wheel, false for a part of a body.
fn touching_kinds(text: &str, heartbeats: usize) -> BTreeSet<[bool; 2]> {
    let mut world = world(text);
    let ids = ["a", "b"].map(|name| world.model().rover_named(name).unwrap().0);
    let is_wheel = |party: &Collider| matches!(party, Collider::Wheel(..));
    let mut found = BTreeSet::new();
    for _ in 0..heartbeats {
        drive(&mut world, 1);
        for kinds in [[true, true], [true, false], [false, true], [false, false]] {
            let of = |i: usize| move |party: &Collider| party.is_of_rover(ids[i]) && is_wheel(party) == kinds[i];
            if !world.state().contacts.of(of(0)).of(of(1)).is_empty() {
                found.insert(kinds);
            }
        }
    }
    found
}

#[test]
fn wheels_and_bodies_of_rovers_touch_wheels_and_bodies() {
    let broadside = |start: [f64; 3], target_m: &'static [[f64; 2]]| {
        let rovers = [
            Rover { name: "a", file: "viper", start: [0.0, 0.0, 0.0], waypoints_m: &[] },
            Rover { name: "b", file: "rassor", start, waypoints_m: target_m },
        ];
        yard("lunar", &rovers, "")
    };
    let into_wheel = touching_kinds(&broadside([0.64, 2.1, -90.0], &[[0.64, -3.0]]), 2500);
    let into_body = touching_kinds(&broadside([0.0, 2.1, -90.0], &[[0.0, -3.0]]), 2500);
    let head_on = touching_kinds(&three_rovers(["a", "b", "c"]), 1000);
    let behind = touching_kinds(&train(["a", "b", "c"]), 500);
    println!("{into_wheel:?} {into_body:?} {head_on:?} {behind:?}");
    let all: BTreeSet<_> = [into_wheel, into_body, head_on, behind].into_iter().flatten().collect();
    for kinds in [[true, true], [true, false], [false, false]] {
        assert!(all.contains(&kinds), "a wheel: {kinds:?} is not among {all:?}");
    }
}

#[test]
fn neither_threads_nor_who_is_alone_change_a_bit() {
    let hash = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = world(&three_rovers(["a", "b", "c"]));
            drive(&mut world, 300);
            let (touching, _) = drive_and_watch(&mut world, 100);
            assert!(touching > 50, "two of them touch at the end, in {touching} of 100 heartbeats");
            world.state().hash()
        })
    };
    let alone = hash(1);
    assert_eq!([hash(2), hash(7)], [alone; 2]);
}

#[test]
fn a_far_rover_drives_as_if_it_were_alone() {
    let mut together = world(&three_rovers(["a", "b", "c"]));
    let alone = [Rover { name: "c", file: "viper", start: [-8.0, 6.0, 90.0], waypoints_m: &[[-8.0, 9.0]] }];
    let mut alone = world(&yard("lunar", &alone, ""));
    drive(&mut together, 200);
    drive(&mut alone, 200);
    assert_eq!(pose(&together, "c"), pose(&alone, "c"));
}

#[test]
fn swapping_names_and_places_in_the_list_changes_nothing_beyond_rounding() {
    let mut one = world(&train(["a", "b", "c"]));
    let mut other = world(&train(["b", "a", "c"]));
    // The list in another order, with the same names.
    let mut text = train(["a", "b", "c"]);
    let list = text.split_off(text.find("rovers:").unwrap());
    let entries: Vec<_> = list.split("  - ").skip(1).collect();
    let turned: Vec<_> = entries.iter().rev().map(|entry| format!("  - {entry}")).collect();
    let mut turned = world(&format!("{text}rovers:\n{}", turned.concat()));
    for world in [&mut one, &mut other, &mut turned] {
        let (touching, shared) = drive_and_watch(world, 500);
        assert!(touching > 100, "one pushes the other in {touching} heartbeats");
        assert!(shared > 100, "{shared} nodes were pressed by two");
    }
    for (name, renamed) in [("a", "b"), ("b", "a"), ("c", "c")] {
        let apart_m = pose(&one, name).translation.vector - pose(&other, renamed).translation.vector;
        assert!(apart_m.norm() < ROUNDING_M, "{name}: {apart_m:?}");
    }
    for name in ["a", "b", "c"] {
        let apart_m = pose(&one, name).translation.vector - pose(&turned, name).translation.vector;
        assert!(apart_m.norm() < ROUNDING_M, "{name}: {apart_m:?}");
    }
    let heights = |world: &World| world.state().ruts.edits().map(|edit| f64::from(edit.height_m)).collect::<Vec<_>>();
    let [one, other, turned] = [heights(&one), heights(&other), heights(&turned)];
    assert!(one.len() == other.len() && one.len() == turned.len());
    let worst = one.iter().zip(&other).chain(one.iter().zip(&turned)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < ROUNDING_M, "ruts differ by {worst} m");
}

#[test]
fn a_rover_on_a_soil_of_its_own_sinks_as_that_says_and_the_other_does_not_notice() {
    let rovers = [
        Rover { name: "west", file: "viper", start: [-5.0, 0.0, 180.0], waypoints_m: &[[-9.0, 0.0]] },
        Rover { name: "east", file: "viper", start: [5.0, 0.0, 0.0], waypoints_m: &[[9.0, 0.0]] },
    ];
    let same = yard("lunar", &rovers, "");
    let own = same.replace("  - name: east\n", "  - name: east\n    soil: ../soil/rigid.yaml\n");
    let [mut same, mut own] = [same.as_str(), own.as_str()].map(world);
    let sinkage_m = |world: &mut World| {
        drive(world, 200);
        let wheels = world.heartbeat().unwrap().rover(EntityId(2)).unwrap().wheels.clone();
        wheels.iter().map(|wheel| wheel.sinkage_m).sum::<f64>() / wheels.len() as f64
    };
    let [soft_m, hard_m] = [sinkage_m(&mut same), sinkage_m(&mut own)];
    assert!(soft_m > 4e-3 && hard_m < 2e-3, "{soft_m} m in soil, {hard_m} m on hard ground");
    assert!(same.state().rovers[&EntityId(1)] == own.state().rovers[&EntityId(1)], "the other one is another");
    let is_west = |edit: &Edit| edit.tile[0] < 0;
    let west = |world: &World| world.state().ruts.edits().filter(is_west).collect::<Vec<_>>();
    assert!(west(&same) == west(&own) && !west(&own).is_empty(), "the other one leaves other ruts");
    assert!(own.state().ruts.edits().all(|edit| is_west(&edit)), "hard ground keeps its shape");
    assert!(same.state().ruts.edits().any(|edit| !is_west(&edit)));
}

#[test]
fn tiles_on_which_two_rovers_stand_exist_once() {
    let north = || Rover { name: "north", file: "ex1", start: [0.6, 1.0, 0.0], waypoints_m: &[] };
    let south = || Rover { name: "south", file: "ex1", start: [0.6, 0.2, 0.0], waypoints_m: &[] };
    let [both, north, south] = [vec![north(), south()], vec![north()], vec![south()]].map(|rovers| {
        let mut world = world(&yard("lunar", &rovers, ""));
        drive(&mut world, 50);
        world
    });
    let tiles = |world: &World| world.state().soil.nodes().map(|node| node.tile).collect::<BTreeSet<TileIndex>>();
    let (all, apart) = (tiles(&both), [tiles(&north), tiles(&south)]);
    assert!(apart[0].intersection(&apart[1]).next().is_some(), "both stand on one tile");
    let union: BTreeSet<TileIndex> = apart[0].union(&apart[1]).copied().collect();
    assert_eq!(all, union);
    assert_eq!(both.state().soil.tile_count(), all.len());
    let bytes = |world: &World| world.state().ruts.bytes() + world.state().soil.bytes();
    assert!(bytes(&both) < bytes(&north) + bytes(&south), "{} bytes", bytes(&both));
    // Windows of detail for viewers at the same place are shared too.
    let terrain = both.model().terrain();
    let windows = both.state().rovers.values().map(|rover| terrain.windows(rover.clipmap_centre).unwrap());
    let levels: Vec<_> = windows.map(|windows| windows.levels().to_vec()).collect();
    assert!(levels[0].len() > 1 && levels[0].iter().zip(&levels[1]).all(|(a, b)| Arc::ptr_eq(a, b)));
}

#[test]
fn a_rover_in_anothers_ruts_presses_less_than_on_fresh_soil() {
    let leader = || Rover { name: "leader", file: "viper", start: [0.0, 0.0, 0.0], waypoints_m: &[[5.0, 0.0]] };
    let follower = |y: f64| Rover { name: "follower", file: "viper", start: [-3.0, y, 0.0], waypoints_m: &[] };
    let follow = |y: f64| {
        let mut world = world(&yard("soft", &[leader(), follower(y)], ""));
        drive(&mut world, 4000);
        let id = world.model().rover_named("follower").unwrap();
        let before = world.state().ruts.clone();
        for _ in 0..2500 {
            world.drive(id, Command::Body(BodyTwist::arc(0.15, 0.0))).unwrap();
            drive(&mut world, 1);
        }
        pressed_m(&world, &before, y)
    };
    let [fresh_m, rutted_m] = [follow(6.0), follow(0.0)];
    assert!(rutted_m < 0.5 * fresh_m && fresh_m > 0.005, "{rutted_m} m in ruts, {fresh_m} m on fresh soil");
}

/// Depth by which the ground sank in a band about y, 0 < x < 0.4 m: the mean of the deepest quarter, m.
fn pressed_m(world: &World, before: &Ruts, y: f64) -> f64 {
    let patch = |ruts: &Ruts| GroundPatch::of_square(world.model().terrain(), ruts, [0.2, y], 1.5);
    let (was, is) = (patch(before), patch(&world.state().ruts));
    let places = (0..20).flat_map(|i| (-50..50).map(move |j| [f64::from(i) * 0.02, f64::from(j) * 0.02]));
    let mut down_m: Vec<_> =
        places.map(|[x, aside]| was.height_m(x, y + aside).unwrap() - is.height_m(x, y + aside).unwrap()).collect();
    down_m.sort_by(f64::total_cmp);
    let deepest = &down_m[down_m.len() * 3 / 4..];
    deepest.iter().sum::<f64>() / deepest.len() as f64
}

#[test]
fn worlds_that_cannot_begin_are_refused_with_the_reason() {
    let rover = |name, start| Rover { name, file: "rassor", start, waypoints_m: &[] };
    let twins = [rover("a", [0.0, 0.0, 0.0]), rover("a", [3.0, 0.0, 0.0])];
    let reported = parsed(&yard("lunar", &twins, "")).map(drop).unwrap_err().to_string();
    assert!(reported.contains("test.yaml") && reported.contains("named 'a'; names must differ"), "{reported}");
    let spaces = yard("lunar", &[rover("a", [0.0, 0.0, 0.0]), rover("b", [3.0, 0.0, 0.0])], "");
    let spaces = spaces.replace("    file:", "    namespace: one\n    file:");
    let reported = parsed(&spaces).map(drop).unwrap_err().to_string();
    assert!(reported.contains("test.yaml") && reported.contains("namespace"), "{reported}");

    let start = |rovers: &[Rover], rest: &str| {
        let scenario = parsed(&yard("lunar", rovers, rest)).unwrap();
        World::new(scenario.into()).map(drop).unwrap_err().to_string()
    };
    let reported = start(&[rover("a", [0.0, 0.0, 0.0]), rover("b", [0.2, 0.1, 30.0])], "");
    assert!(reported.contains("rover a") && reported.contains("rover b") && reported.contains("inside"), "{reported}");
    let rock = "loose_rocks: [{ x_m: 3.0, y_m: 0.0, diameter_m: 0.6 }]";
    let reported = start(&[rover("a", [3.0, 0.0, 0.0])], rock);
    assert!(reported.contains("rover a") && reported.contains("rock") && reported.contains("inside"), "{reported}");
    let lander = "objects: [{ name: lander, file: ../../urdf/lander/lander.urdf, x_m: 3, y_m: 0, yaw_deg: 45 }]";
    let reported = start(&[rover("a", [1.9, 0.0, 0.0])], lander);
    assert!(
        reported.contains("rover a") && reported.contains("object lander") && reported.contains("inside"),
        "{reported}"
    );
}

#[test]
fn a_rover_that_starts_in_a_rock_of_the_ground_is_refused_with_the_rock() {
    // A cube of 0.58 m about a point 0.2 m up.
    let corner = |i: u32| Vector3::new(i & 1, i >> 1 & 1, i >> 2 & 1).cast::<f64>();
    let cube = RockShape::hull(&(0..8).map(corner).collect::<Vec<_>>()).unwrap();
    let begin = |x_m: f64| {
        let rover = Rover { name: "a", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[] };
        let scenario = parsed(&yard("lunar", &[rover], "")).unwrap();
        let rock = Rock { id: 7, shape: 0, world_from_rock: Pose::translation(x_m, 0.0, 0.2), radius_m: 0.5 };
        let level = Level::sample([-8.0, -8.0], 0.02, 801, |_, _| 0.0);
        let model = Model::on(Arc::new(scenario), Terrain::of_level(level, vec![rock], vec![cube.clone()])).unwrap();
        World::begin(Arc::new(model), None).map(drop).map_err(|error| error.to_string())
    };
    let reported = begin(0.0).unwrap_err();
    assert!(reported.contains("rover a") && reported.contains("rock 7") && reported.contains("inside"), "{reported}");
    assert_eq!(begin(3.0), Ok(()));
}

#[test]
fn a_rover_is_stopped_by_an_object() {
    let lander = "objects: [{ name: lander, file: ../../urdf/lander/lander.urdf, x_m: 3, y_m: 0, yaw_deg: 45 }]";
    let rover = Rover { name: "a", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[6.0, 0.0]] };
    let mut world = world(&yard("lunar", &[rover], lander));
    drive(&mut world, 2500);
    let at = pose(&world, "a").translation;
    // A footpad of 0.17 m is on the rover's path, 1.27 m from the lander's middle.
    assert!(at.x > 0.6 && at.x < 3.0 - 1.27 - 0.17 - 0.3, "{at}");
}

#[test]
fn a_command_for_nobody_is_refused() {
    let mut world = world(&three_rovers(["a", "b", "c"]));
    let reported = world.drive(EntityId(99), Command::Body(BodyTwist::REST)).unwrap_err().to_string();
    assert!(reported.contains("no rover 99"), "{reported}");
}

#[test]
fn a_world_says_whose_wheels_are_small_for_its_grid() {
    let rovers = ["viper", "ex1"].map(|file| Rover { name: file, file, start: [0.0, 0.0, 0.0], waypoints_m: &[] });
    let coarse = |rover| yard("lunar", &[rover], "").replace("test_yard", "learning_hill");
    let remarks = rovers.map(|rover| world(&coarse(rover)).model().remarks());
    assert!(remarks[0].is_empty(), "{remarks:?}");
    assert!(
        matches!(&remarks[1][..], [reported] if reported.contains("'ex1'") && reported.contains("0.025 m")),
        "{remarks:?}"
    );
}
