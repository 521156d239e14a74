//! Tests of adding entities to a running world and removing them.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::path::{Path, PathBuf};

use common::{Rover, config, drive, world, yard};
use selene_sim::{
    AllowedFolders, Command, Entity, EntityId, JointCommand, LooseRockSpec, Recent, Spawn, SpawnPlace, State, World,
};
use selene_terrain::Ruts;
use selene_vehicle::BodyTwist;

const ROCK: LooseRockSpec =
    LooseRockSpec { x_m: 0.7, y_m: 0.3, diameter_m: 0.15, shape: None, density_kg_m3: 2700.0, yaw_deg: 0.0 };

fn at(x_m: f64, y_m: f64) -> SpawnPlace {
    SpawnPlace { x_m, y_m, ..SpawnPlace::default() }
}

fn rover(name: &str, place: SpawnPlace) -> Spawn {
    let sensors = vec![config().join("sensor/imu.yaml")];
    let (name, namespace) = (name.to_owned(), name.to_owned());
    Spawn::Rover { name, namespace, file: config().join("rover/sorato.yaml"), sensors, place }
}

fn lander(name: &str, place: SpawnPlace) -> Spawn {
    Spawn::Object { name: name.to_owned(), file: config().join("../urdf/lander/lander.urdf"), place }
}

fn rock(spec: LooseRockSpec) -> Spawn {
    Spawn::Rock { name: String::new(), spec }
}

fn folders() -> AllowedFolders {
    AllowedFolders::new([config(), config().join("../urdf")])
}

fn one() -> World {
    let first = Rover { name: "first", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[3.0, 0.0]] };
    world(&yard("lunar", &[first], ""))
}

#[test]
fn what_is_added_takes_part_and_what_is_taken_away_leaves_its_ruts() {
    let mut world = one();
    drive(&mut world, 50);
    let version = world.state().entities_version;
    let Entity::Rover(new) = world.spawn(&rover("new", at(3.0, 3.0)), &folders()).unwrap() else { panic!("a rover") };
    let mast = world.spawn(&lander("lander", at(-6.0, 5.0)), &folders()).unwrap();
    let Entity::Rock(stone) = world.spawn(&rock(ROCK), &folders()).unwrap() else { panic!("a rock") };
    assert_eq!(world.state().entities_version, version + 3);
    let lay = world.state().rocks[&stone].world_from_rock;
    for _ in 0..300 {
        world.drive(new, Command::Body(BodyTwist::arc(0.1, 0.0))).unwrap();
        drive(&mut world, 1);
    }
    assert!(world.state().rovers[&new].body.world_from_base.translation.x > 3.2, "the new one drives");
    assert!((world.state().rocks[&stone].world_from_rock.translation.vector - lay.translation.vector).norm() > 0.02);
    let snapshot = world.heartbeat().unwrap();
    assert_eq!((snapshot.rovers.len(), snapshot.objects.len(), snapshot.loose_rocks.len()), (2, 1, 1));

    let ruts = world.state().ruts.clone();
    for entity in [Entity::Rover(new), mast, Entity::Rock(stone)] {
        world.remove(entity).unwrap();
    }
    assert!(world.state().ruts == ruts);
    let snapshot = world.heartbeat().unwrap();
    assert_eq!((snapshot.rovers.len(), snapshot.objects.len(), snapshot.loose_rocks.len()), (1, 0, 0));
    assert_eq!(snapshot.entities_version, version + 6);
    let reported = world.drive(new, Command::Body(BodyTwist::REST)).unwrap_err().to_string();
    assert!(reported.contains("was removed"), "{reported}");
    assert!(world.remove(Entity::Rover(new)).is_err());
    // An id is never used twice.
    let again = world.spawn(&rover("new", at(3.0, -3.0)), &folders()).unwrap();
    assert_ne!(again, Entity::Rover(new));
}

#[test]
fn commands_for_a_removed_rover_are_refused_with_the_reason_also_if_another_has_its_name() {
    let mut world = one();
    let new = rover("new", at(3.0, 3.0));
    let Entity::Rover(gone) = world.spawn(&new, &folders()).unwrap() else { panic!("a rover") };
    drive(&mut world, 2);
    world.remove(Entity::Rover(gone)).unwrap();
    let Entity::Rover(there) = world.spawn(&new, &folders()).unwrap() else { panic!("a rover") };
    let hash = world.state().hash();
    let forward = || Command::Body(BodyTwist::arc(0.1, 0.0));
    let turn = Command::Joint(JointCommand { joint: "front_left_drive".to_owned(), target: 0.1 });
    for command in [forward(), turn] {
        let reported = world.drive(gone, command).unwrap_err().to_string();
        assert_eq!(reported, format!("there is no rover {gone}: it was removed, or never there"));
    }
    assert_eq!(world.state().hash(), hash, "nobody got a command");
    world.drive(there, forward()).unwrap();
    assert_ne!(world.state().hash(), hash);
}

#[test]
fn what_cannot_be_added_is_refused_and_nothing_changes() {
    let mut world = one();
    drive(&mut world, 20);
    let elsewhere = Spawn::Object {
        name: "x".to_owned(),
        file: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"),
        place: at(5.0, 5.0),
    };
    let gone = Spawn::Object { name: "x".to_owned(), file: config().join("no_such.stl"), place: at(5.0, 5.0) };
    let huge = rock(LooseRockSpec { diameter_m: 50.0, ..ROCK });
    let shapeless = rock(LooseRockSpec { shape: Some(9999), ..ROCK });
    let nowhere = rock(LooseRockSpec { x_m: f64::NAN, ..ROCK });
    let buried = rock(LooseRockSpec { x_m: 0.1, y_m: 0.0, diameter_m: 1.5, ..ROCK });
    for (spawn, part) in [
        (rover("first", at(3.0, 3.0)), "'first': is taken"),
        (rover("two words", at(3.0, 3.0)), "letters, digits and _"),
        (rover("new", at(f64::INFINITY, 3.0)), "off the ground"),
        (rover("new", at(0.3, 0.2)), "inside"),
        (rover("new", SpawnPlace { z_m: f64::NAN, ..at(3.0, 3.0) }), "finite"),
        (lander("new", at(0.9, 0.9)), "inside"),
        (elsewhere, "outside the folders"),
        (gone, "no_such.stl"),
        (huge, "50"),
        (shapeless, "9999"),
        (nowhere, "off the ground"),
        (buried, "inside"),
    ] {
        let before = world.state().hash();
        let reported = world.spawn(&spawn, &folders()).unwrap_err().to_string();
        assert!(reported.contains(part), "{reported}");
        assert_eq!(world.state().hash(), before, "{reported}");
        drive(&mut world, 1);
    }
}

#[test]
fn a_world_with_what_was_added_goes_on_from_its_state() {
    let mut world = one();
    drive(&mut world, 20);
    let model = world.model().clone();
    world.spawn(&rover("new", at(3.0, 3.0)), &folders()).unwrap();
    world.spawn(&lander("lander", at(-6.0, 5.0)), &folders()).unwrap();
    world.spawn(&rock(ROCK), &folders()).unwrap();
    drive(&mut world, 50);
    let bytes = postcard::to_allocvec(world.state()).unwrap();
    let state: State = postcard::from_bytes(&bytes).unwrap();
    let mut resumed = World::resume(&model, state.clone(), &folders()).unwrap();
    drive(&mut world, 100);
    drive(&mut resumed, 100);
    assert_eq!(world.state().hash(), resumed.state().hash());

    let reported = World::resume(&model, state.clone(), &AllowedFolders::default()).map(drop).unwrap_err().to_string();
    assert!(reported.contains("outside the folders"), "{reported}");
    for (what, spoil) in [
        (
            "rover first",
            Box::new(|state: &mut State| state.rovers.get_mut(&EntityId(1)).unwrap().wheels.truncate(1))
                as Box<dyn Fn(&mut State)>,
        ),
        ("rover first", Box::new(|state| state.rovers.get_mut(&EntityId(1)).unwrap().body.joints[0] = [f64::NAN; 2])),
        ("heartbeat", Box::new(|state| state.sequence += 1)),
        ("no object 77", Box::new(|state| assert!(state.objects.insert(EntityId(77))))),
        ("given twice", Box::new(|state| state.next_entity = EntityId(1))),
    ] {
        let mut spoilt = state.clone();
        spoil(&mut spoilt);
        let reported = World::resume(&model, spoilt, &folders()).map(drop).unwrap_err().to_string();
        assert!(reported.contains(what), "{reported}");
    }
}

#[test]
fn a_world_that_goes_on_knows_what_was_removed_again() {
    let mut world = one();
    let model = world.model().clone();
    let Entity::Rover(new) = world.spawn(&rover("new", at(3.0, 3.0)), &folders()).unwrap() else { panic!("a rover") };
    drive(&mut world, 1);
    world.remove(Entity::Rover(new)).unwrap();
    let resumed = World::resume(&model, world.state().clone(), &folders()).unwrap();
    assert!(!resumed.state().rovers.contains_key(&new));
    assert!(resumed.model().rovers().contains_key(&new), "snapshots of the time before have it");
}

#[test]
fn what_was_removed_an_hour_ago_is_forgotten_when_something_is_added() {
    let post = described("post", &urdf("<cylinder radius='0.1' length='2'/>"));
    let mut world = one();
    let model = world.model().clone();
    let gone = world.spawn(&post, &folders()).unwrap();
    let stays = world.spawn(&lander("lander", at(-6.0, 5.0)), &folders()).unwrap();
    world.remove(gone).unwrap();
    for (waited_s, expected) in [(3599, vec![gone, stays]), (3600, vec![stays])] {
        let (begun, heartbeats) = (world.state().clone(), 100 * waited_s);
        let time = begun.time + world.scenario().heartbeat * heartbeats;
        let state = State { time, sequence: begun.sequence + heartbeats as u64, ..begun };
        let mut later = World::resume(&model, state, &folders()).unwrap();
        let new = later.spawn(&post, &folders()).unwrap();
        let known: Vec<_> = later.state().spawned.iter().map(|known| known.entity).collect();
        assert_eq!(known, [expected.clone(), vec![new]].concat(), "after {waited_s} s");
        assert_eq!(later.state().removed.is_empty(), !expected.contains(&gone), "after {waited_s} s");
        assert!(World::resume(&model, later.state().clone(), &folders()).is_ok());
    }
}

#[test]
fn an_entity_for_which_no_id_is_left_is_refused() {
    let begun = one();
    let last = State { next_entity: EntityId::LAST, next_rock: Entity::LAST_ROCK, ..begun.state().clone() };
    let mut world = World::resume(begun.model(), last, &folders()).unwrap();
    let added = world.spawn(&lander("lander", at(-6.0, 5.0)), &folders()).unwrap();
    let stone = world.spawn(&rock(ROCK), &folders()).unwrap();
    assert_eq!([added, stone], [Entity::Object(EntityId::LAST), Entity::Rock(Entity::LAST_ROCK)]);
    let another = rock(LooseRockSpec { x_m: -3.0, ..ROCK });
    for (spawn, ids) in [(rover("new", at(3.0, 3.0)), "all 262143 ids"), (another, "all 268435455 ids")] {
        let reported = world.spawn(&spawn, &folders()).unwrap_err().to_string();
        assert!(reported.contains(ids), "{reported}");
    }
}

/// A state with such a path could neither be saved nor hashed.
#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_path_is_no_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = std::env::temp_dir().join(format!("selene-spawn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(OsStr::from_bytes(b"\xff.urdf"));
    std::fs::copy(config().join("../urdf/lander/lander.urdf"), &file).unwrap();
    let spawn = Spawn::Object { name: "lander".to_owned(), file, place: at(-6.0, 5.0) };
    let refused = one().spawn(&spawn, &AllowedFolders::new([folder.clone()]));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(refused.unwrap_err().to_string().contains("UTF-8"));
}

fn described(name: &str, urdf: &str) -> Spawn {
    Spawn::Described { name: name.to_owned(), urdf: urdf.to_owned(), place: at(5.0, 5.0) }
}

/// The URDF of an object with one link of this geometry.
fn urdf(geometry: &str) -> String {
    let shape = format!("<geometry>{geometry}</geometry>");
    format!("<robot name='it'><link name='it'><visual>{shape}</visual><collision>{shape}</collision></link></robot>")
}

#[test]
fn an_object_that_a_text_describes_stands_there_and_in_every_copy_of_the_world() {
    let mut world = one();
    let model = world.model().clone();
    let meshed = urdf("<mesh filename='lander/body.stl'/>");
    let post = urdf("<cylinder radius='0.1' length='2'/>");
    let entity = world.spawn(&described("post", &post), &folders()).unwrap();
    let bounds = world.bounds(entity).unwrap();
    assert_eq!([bounds.low_m.z, bounds.high_m.z], [-1.0, 1.0]);
    drive(&mut world, 1);
    let resumed = World::resume(&model, world.state().clone(), &folders()).unwrap();
    assert_eq!(resumed.bounds(entity), Some(bounds));
    let reported = one().spawn(&described("lander", &meshed), &folders()).map(drop).unwrap_err().to_string();
    assert!(reported.contains("lander/body.stl"), "{reported}");
}

#[test]
fn a_text_reaches_no_file_outside_allowed_folders_and_not_many_inside() {
    let many = "<visual><geometry><mesh filename='m.obj'/></geometry></visual>".repeat(70);
    let many = format!("<robot name='it'><link name='it'>{many}</link></robot>");
    let folder = std::env::temp_dir().join(format!("selene-text-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("m.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
        .unwrap();
    let allowed = AllowedFolders::new([folder.clone()]);
    let good = one().spawn(&described("good", &urdf("<mesh filename='m.obj'/>")), &allowed).map(drop);
    let outside = config().join("../urdf/lander").canonicalize().unwrap();
    let report = |urdf: &str| one().spawn(&described("bad", urdf), &allowed).map(drop).unwrap_err().to_string();
    let reported = [
        (report(&urdf("<mesh filename='../../etc/passwd'/>")), "that may be used"),
        (report(&urdf(&format!("<mesh filename='file://{}'/>", outside.display()))), "outside the folders"),
        (report(&many), "one too many"),
        (report(&format!("<robot name='it'><!-- {} --></robot>", "x".repeat(5 << 20))), "bytes together"),
        (report("no XML"), "not XML"),
        (report(&urdf("<sphere radius='1e9'/>")), "at most 50 m"),
    ];
    std::fs::remove_dir_all(&folder).unwrap();
    good.unwrap();
    for (reported, part) in reported {
        assert!(reported.contains(part), "{part} is not in: {reported}");
    }
}

/// A box of 1 m about its origin, as a mesh.
const CUBE: &str = "v -.5 -.5 -.5\nv .5 -.5 -.5\nv .5 .5 -.5\nv -.5 .5 -.5\nv -.5 -.5 .5\nv .5 -.5 .5\nv .5 .5 .5\n\
    v -.5 .5 .5\nf 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

#[test]
fn a_mesh_file_added_to_a_running_world_holds_a_rover_until_it_is_taken_away() {
    let folder = std::env::temp_dir().join(format!("selene-mesh-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("cube.obj");
    std::fs::write(&file, CUBE).unwrap();
    let mut world = one();
    drive(&mut world, 20);
    let model = world.model().clone();
    let cube = Spawn::Object { name: "cube".to_owned(), file: file.clone(), place: at(2.2, 0.0) };
    let refused = world.spawn(&cube, &folders()).unwrap_err().to_string();
    let allowed = AllowedFolders::new([folder.clone()]);
    let entity = world.spawn(&cube, &allowed).unwrap();
    let resumed = World::resume(&model, world.state().clone(), &allowed).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(refused.contains("outside the folders"), "{refused}");
    assert_eq!(resumed.bounds(entity), world.bounds(entity));
    let front_m = |world: &World| world.state().rovers[&EntityId(1)].body.world_from_base.translation.x;
    drive(&mut world, 2500);
    let held_m = front_m(&world);
    assert!((0.1..1.5).contains(&held_m), "the rover came as far as {held_m} m");
    world.remove(entity).unwrap();
    drive(&mut world, 1000);
    assert!(front_m(&world) > held_m + 0.3, "it stays at {} m", front_m(&world));
}

/// Writes files of a rover with two sensors and of objects into a folder; returns the entities that are made from them.
fn of_files(folder: &Path) -> [Spawn; 4] {
    let text = |file: &str| std::fs::read_to_string(config().join(file)).unwrap();
    let meshed = urdf("<mesh filename='cube.obj'/>");
    let mounted = "  link: base_link\n  mount: {at_m: [0.1, 0, 0.2], rpy_deg: [0, 10, 0]}\n";
    for (name, text) in [
        ("rover.yaml", text("rover/sorato.yaml").replace("../../urdf/sorato/sorato.urdf", "rover.urdf")),
        ("rover.urdf", text("../urdf/sorato/sorato.urdf")),
        ("imu.yaml", text("sensor/imu.yaml")),
        ("lidar.yaml", text("sensor/lidar.yaml").replace("  link: lidar\n", mounted)),
        ("object.urdf", meshed.clone()),
        ("cube.obj", CUBE.to_owned()),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let (name, place) = ("new".to_owned(), at(5.0, 5.0));
    let object = |file: &str| Spawn::Object { name: name.clone(), file: folder.join(file), place };
    let rover = Spawn::Rover {
        name: name.clone(),
        namespace: name.clone(),
        file: folder.join("rover.yaml"),
        sensors: ["imu.yaml", "lidar.yaml"].map(|file| folder.join(file)).to_vec(),
        place,
    };
    [rover, object("cube.obj"), object("object.urdf"), described("new", &meshed)]
}

#[test]
fn an_entity_whose_file_was_changed_is_refused_by_its_name_while_it_is_there() {
    let folder = std::env::temp_dir().join(format!("selene-changed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (begun, allowed) = (one(), AllowedFolders::new([folder.clone()]));
    let [rover, cube, object, text] = of_files(&folder);
    let corner = ("v .5 .5 .5\n", "v .5 .5 .6\n");
    for (spawn, changed, (was, is), named) in [
        (&rover, "rover.urdf", ("</robot>", "</robot> <!-- another one -->"), "rover.yaml"),
        (&rover, "imu.yaml", ("2.62e-5", "2.63e-5"), "imu.yaml"),
        (&rover, "lidar.yaml", ("at_m: [0.1", "at_m: [0.2"), "lidar.yaml"),
        (&cube, "cube.obj", corner, "cube.obj"),
        (&object, "cube.obj", corner, "object.urdf"),
        (&text, "cube.obj", corner, "cube.obj"),
    ] {
        let mut world = begun.branch().unwrap();
        let entity = world.spawn(spawn, &allowed).unwrap();
        let with_it = Recent { snapshots: vec![world.heartbeat().unwrap()], ruts_before: Ruts::default() };
        let resumed = |world: &World| World::resume(begun.model(), world.state().clone(), &allowed);
        assert_eq!(resumed(&world).unwrap().state().hash(), world.state().hash());
        let file = folder.join(changed);
        let before = std::fs::read_to_string(&file).unwrap();
        let after = before.replacen(was, is, 1);
        assert_ne!(after, before, "{changed} is changed");
        std::fs::write(&file, after).unwrap();
        let reported = resumed(&world).map(drop).unwrap_err().to_string();
        for part in [format!("{named}: ").as_str(), "cannot be read again", "differs from what the world was given"] {
            assert!(reported.contains(part), "{part} is not in: {reported}");
        }
        world.remove(entity).unwrap();
        assert!(!resumed(&world).unwrap().model().knows(entity), "nobody needs it any more");
        let looked_back = World::resume_with(begun.model(), world.state().clone(), &with_it, &allowed).map(drop);
        assert!(looked_back.unwrap_err().to_string().contains(named), "sensors that look back need it");
        std::fs::write(&file, before).unwrap();
        assert!(resumed(&world).unwrap().model().knows(entity));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn rocks_have_names_and_rovers_namespaces_of_their_own() {
    let mut world = one();
    let stone = Spawn::Rock { name: "stone".to_owned(), spec: ROCK };
    let elsewhere = LooseRockSpec { x_m: -3.0, ..ROCK };
    let entity = world.spawn(&stone, &folders()).unwrap();
    let numbered = world.spawn(&rock(elsewhere), &folders()).unwrap();
    let Entity::Rock(number) = numbered else { panic!("a rock") };
    assert_eq!(world.entity_named("stone"), Some(entity));
    assert_eq!(world.entity_named(&format!("rock_{number}")), Some(numbered));
    assert_eq!(world.entity_named("first"), Some(Entity::Rover(EntityId(1))));
    assert_eq!(world.entities().len(), 3);
    assert_eq!(world.entity_named("nobody"), None);

    let inside = |namespace: &str| {
        let Spawn::Rover { name, file, sensors, place, .. } = rover("new", at(3.0, 3.0)) else { panic!("a rover") };
        Spawn::Rover { name, namespace: namespace.to_owned(), file, sensors, place }
    };
    for (spawn, part) in [
        (Spawn::Rock { name: "stone".to_owned(), spec: elsewhere }, "is taken"),
        (inside("first"), "that of another rover"),
        (inside("a//b"), "is not allowed"),
        (inside("1st"), "is not allowed"),
    ] {
        let reported = world.spawn(&spawn, &folders()).unwrap_err().to_string();
        assert!(reported.contains(part), "{reported}");
    }
    world.spawn(&inside("moon/team_2"), &folders()).unwrap();
}

/// An entity that is refused leaves nothing behind for the next one, which gets its id.
#[test]
fn a_rover_that_is_added_after_another_was_refused_is_its_own() {
    let (mut world, mut other) = (one(), one());
    let viper = Spawn::Rover {
        name: "new".to_owned(),
        namespace: "new".to_owned(),
        file: config().join("rover/viper.yaml"),
        sensors: Vec::new(),
        place: at(0.3, 0.2),
    };
    world.spawn(&viper, &folders()).unwrap_err();
    for world in [&mut world, &mut other] {
        world.spawn(&rover("new", at(3.0, 3.0)), &folders()).unwrap();
        drive(world, 20);
    }
    assert_eq!(world.state().hash(), other.state().hash());
}
