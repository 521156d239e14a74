//! Tests of moving entities to other places, and of giving them another motion.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Rover, config, drive, world, yard};
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, frames};
use selene_sim::{AllowedFolders, Entity, EntityId, Placement, Spawn, SpawnPlace, World};
use selene_vehicle::{Import, Packages, rover_file};

const FIRST: Entity = Entity::Rover(EntityId(1));
/// The id of a scenario's first loose rock.
const ROCK: Entity = Entity::Rock(7 << 29);
/// Maximum depth by which a rover sinks after it is set down, m.
const SETTLES_M: f64 = 0.03;

fn busy() -> World {
    let rovers = [
        Rover { name: "first", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "aside", file: "viper", start: [0.0, 5.0, 90.0], waypoints_m: &[] },
    ];
    let mut world = world(&yard("lunar", &rovers, "loose_rocks: [{ x_m: 4.0, y_m: -4.0, diameter_m: 0.8 }]"));
    drive(&mut world, 100);
    world
}

/// A rover of two wheels and a ball under its front that reaches 5 cm deeper than they do, imported from its URDF.
fn with_a_deep_ball(folder: &Path) -> PathBuf {
    let urdf = folder.join("found.urdf");
    let text = include_str!("../../../vehicle/tests/found.urdf");
    let plate = "<mesh filename=\"package://found_description/meshes/plate.stl\" scale=\"0.2 -0.2 1\"/>";
    let ball = "<child link=\"ball_caster_link\"/><origin xyz=\"0.2 0 -0.05\"/>";
    assert!(text.contains(plate) && text.contains(ball));
    let text = text.replace(plate, "<box size=\"0.2 0.2 0.02\"/>").replace(ball, &ball.replace("-0.05", "-0.13"));
    std::fs::write(&urdf, text).unwrap();
    let packages_as_written = &BTreeMap::new();
    let import = Import { name: "found", urdf: &urdf, urdf_as_written: Path::new("found.urdf"), packages_as_written };
    let rover = folder.join("found.yaml");
    std::fs::write(&rover, rover_file(&import, &Packages::default()).unwrap()).unwrap();
    rover
}

#[test]
fn a_rover_whose_body_reaches_below_its_wheels_starts_on_the_ground_and_is_not_thrown() {
    let folder = std::env::temp_dir().join(format!("selene-deep-ball-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let rover = with_a_deep_ball(&folder);
    for soil in ["lunar", "rigid"] {
        let rovers = [Rover { name: "found", file: "sorato", start: [0.0, 0.0, 0.0], waypoints_m: &[] }];
        let text = yard(soil, &rovers, "").replace("../rover/sorato.yaml", rover.to_str().unwrap());
        let mut world = world(&text);
        let mut up = f64::INFINITY;
        let start_m = world.pose(FIRST).unwrap().translation.z;
        for _ in 0..300 {
            drive(&mut world, 1);
            let pose = world.pose(FIRST).unwrap();
            up = f64::min(up, (pose.rotation * Vector3::z()).z);
            assert!(pose.translation.z < start_m + 0.01, "it rises by {} m", pose.translation.z - start_m);
        }
        assert!(up > 0.9, "{soil}: it tilts by {} degrees", up.acos().to_degrees());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn at(x: f64, y: f64, yaw_rad: f64) -> Placement {
    let turn = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
    Placement { pose: Some(Pose::from_parts(Vector3::new(x, y, 99.0).into(), turn)), twist: None }
}

#[test]
fn a_rover_that_is_put_elsewhere_stands_there_at_rest_and_goes_on() {
    let mut world = busy();
    let angles = world.state().rovers[&EntityId(1)].body.joints.clone();
    world.place(FIRST, &at(-4.0, -3.0, 1.0)).unwrap();
    let pose = world.pose(FIRST).unwrap();
    assert_eq!([pose.translation.x, pose.translation.y], [-4.0, -3.0]);
    assert!((frames::yaw_rad(&pose) - 1.0).abs() < 0.05, "the ground leans a little");
    assert_eq!(world.twist(FIRST), Some(Twist::default()));
    assert_eq!(world.state().rovers[&EntityId(1)].body.joints[0][0], angles[0][0], "a wheel keeps its angle");
    drive(&mut world, 1);
    let now = world.pose(FIRST).unwrap();
    assert!((now.translation.vector - pose.translation.vector).norm() < SETTLES_M, "{pose} became {now}");
    drive(&mut world, 200);
    let now = world.pose(FIRST).unwrap();
    assert!((now.translation.vector - pose.translation.vector).norm() > 0.02, "it goes on to its waypoint");
}

#[test]
fn where_it_comes_from_changes_nothing_of_what_a_rover_that_was_put_somewhere_is() {
    let (mut one, mut other) = (busy(), busy());
    one.place(FIRST, &at(-5.0, -5.0, 2.0)).unwrap();
    one.place(FIRST, &at(-4.0, -3.0, 1.0)).unwrap();
    other.place(FIRST, &at(-4.0, -3.0, 1.0)).unwrap();
    assert_eq!(one.state().hash(), other.state().hash());
}

#[test]
fn what_is_commanded_to_move_moves() {
    let mut world = busy();
    let twist = Twist { linear: Vector3::new(0.0, 0.0, 1.0), angular: Vector3::zeros() };
    for entity in [FIRST, ROCK] {
        let before = world.pose(entity).unwrap();
        world.place(entity, &Placement { pose: None, twist: Some(twist) }).unwrap();
        drive(&mut world, 10);
        let now = world.pose(entity).unwrap();
        assert!(now.translation.z > before.translation.z + 0.05, "{before} became {now}");
    }
}

#[test]
fn a_rock_lies_as_it_is_turned() {
    let mut world = busy();
    let turn = UnitQuaternion::from_euler_angles(1.0, -0.5, 2.0);
    let pose = Pose::from_parts(Vector3::new(-3.0, -3.0, 0.0).into(), turn);
    world.place(ROCK, &Placement { pose: Some(pose), twist: None }).unwrap();
    let now = world.pose(ROCK).unwrap();
    assert!(now.rotation.angle_to(&turn) < 1e-9);
    let low_m = world.bounds(ROCK).unwrap().seen_from(&now).low_m.z;
    let ground_m = world.ground_height_m(-3.0, -3.0).unwrap();
    // The axis-aligned box about its rotated box is larger than the rock.
    assert!((ground_m - 0.4..ground_m + 0.05).contains(&low_m), "{low_m} m, the ground {ground_m} m");
}

#[test]
fn what_cannot_be_put_somewhere_stays_where_it_is() {
    let mut world = busy();
    let folders = AllowedFolders::new([config(), config().join("../urdf")]);
    let lander = Spawn::Object {
        name: "lander".to_owned(),
        file: config().join("../urdf/lander/lander.urdf"),
        place: SpawnPlace { x_m: -9.0, y_m: 9.0, ..SpawnPlace::default() },
    };
    let lander = world.spawn(&lander, &folders).unwrap();
    let fast = Placement {
        pose: None,
        twist: Some(Twist { linear: Vector3::new(30.0, 0.0, 0.0), angular: Vector3::zeros() }),
    };
    let wild = Placement {
        pose: None,
        twist: Some(Twist { linear: Vector3::zeros(), angular: Vector3::new(f64::NAN, 0.0, 0.0) }),
    };
    for (entity, placement, part) in [
        (FIRST, at(0.0, 5.0, 0.0), "inside"),
        (FIRST, at(4.0, -4.0, 0.0), "inside"),
        (ROCK, at(0.0, 5.0, 0.0), "inside"),
        (FIRST, at(f64::NAN, 5.0, 0.0), "off the ground"),
        (FIRST, at(1e7, 5.0, 0.0), "off the ground"),
        (FIRST, fast, "speed of 30"),
        (ROCK, wild, "turn rate of NaN"),
        (lander, at(5.0, 5.0, 0.0), "stands fast"),
        (Entity::Rover(EntityId(99)), at(5.0, 5.0, 0.0), "there is no rover 99"),
        (Entity::Rock(3), at(5.0, 5.0, 0.0), "there is no rock 3"),
        (Entity::Object(EntityId(98)), at(5.0, 5.0, 0.0), "there is no object 98"),
    ] {
        let before = world.state().hash();
        let reported = world.place(entity, &placement).unwrap_err().to_string();
        assert!(reported.contains(part), "{part} is not in: {reported}");
        assert_eq!(world.state().hash(), before, "{reported}");
    }
}

#[test]
fn a_rover_takes_the_room_of_its_wheels_and_body() {
    let world = busy();
    let bounds = world.bounds(Entity::Rover(EntityId(2))).unwrap();
    let size_m = bounds.high_m - bounds.low_m;
    // VIPER's wheels are 1.28 m apart and 0.5 m high, its mast ends at 2.5 m.
    for (axis, range) in [1.3..4.0, 1.3..4.0, 2.0..4.0].into_iter().enumerate() {
        assert!(range.contains(&size_m[axis]), "{size_m}");
    }
}
