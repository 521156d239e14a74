//! Tests of the watcher with messages that arrive late, twice, out of order or not at all.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_observe::Interval;
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{
    AllowedFolders, Entity, EntityId, LoadOptions, Model, RoverSnapshot, Scenario, Snapshot, Spawn, SpawnPlace,
    Spawned, World,
};
use selene_terrain::{Edit, Print};

use super::{BEHIND_MAX, WorldWatcher};
use crate::NodeError;
use crate::entities::entities_to_message;
use crate::links::{Links, NodeContext};
use crate::run::{RUN_INFO, RunId};
use crate::wire::{edits_to_message, state_to_message};

static ON: AtomicBool = AtomicBool::new(false);

/// A scripted simulation, and a participant that watches it.
struct ScriptedSimulation {
    bus: InProcess,
    links: Links,
    states: Publisher<selene_msgs::WorldState>,
    terrain: Publisher<selene_msgs::TerrainSnapshot>,
    entities: Publisher<selene_msgs::EntityTable>,
    info: Publisher<selene_msgs::RunInfo>,
    requests: Arc<Mutex<u32>>,
    acknowledged: Arc<Mutex<Vec<u64>>>,
    watcher: WorldWatcher,
    _subscriptions: [Subscription; 2],
}

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

fn model() -> Arc<Model> {
    let path = config().join("scenario/curiosity_rocks.yaml");
    let scenario = Scenario::load(&path, &LoadOptions::default()).expect("good");
    Arc::new(Model::new(Arc::new(scenario)).expect("made"))
}

fn context(links: &Links, folders: &AllowedFolders) -> NodeContext {
    NodeContext { links: links.clone(), model: model(), folders: folders.clone(), published_until: None }
}

impl ScriptedSimulation {
    fn new() -> Self {
        Self::in_folders(&AllowedFolders::new([config()]))
    }

    /// A simulation whose participant reads files of added entities from these folders.
    fn in_folders(folders: &AllowedFolders) -> Self {
        let bus = InProcess::new();
        let internal = Arc::new(bus.clone());
        let links = Links { public: internal.clone(), internal, run: RunId::random() };
        let (requests, acknowledged) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (counted, noted) = (Arc::clone(&requests), Arc::clone(&acknowledged));
        let on_request = move |_: selene_msgs::TerrainRequest| *counted.lock().expect("lock") += 1;
        let on_acknowledge = move |m: selene_msgs::Acknowledge| noted.lock().expect("lock").push(m.sequence);
        Self {
            states: Publisher::new(&bus, &links.world_state(), Qos::state()).expect("topic"),
            terrain: Publisher::new(&bus, &links.terrain_snapshot(), Qos::reliable()).expect("topic"),
            entities: Publisher::new(&bus, &links.entities(), Qos::latched()).expect("topic"),
            info: Publisher::new(&bus, RUN_INFO, Qos::latched()).expect("topic"),
            requests,
            acknowledged,
            watcher: WorldWatcher::new(&context(&links, folders), "test").expect("watcher"),
            _subscriptions: [
                subscribe(&bus, &links.terrain_request(), Qos::reliable(), on_request).expect("topic"),
                subscribe(&bus, &links.acknowledge(), Qos::state(), on_acknowledge).expect("topic"),
            ],
            bus,
            links,
        }
    }

    fn publish_state(&self, state: &Snapshot) {
        self.publish_of(&self.links.run, state);
    }

    fn publish_of(&self, run: &RunId, state: &Snapshot) {
        self.states.publish(&state_to_message(run, state, |_| ""), state.time).expect("sent");
    }

    /// Publishes terrain in two parts, the second one first.
    fn publish_terrain(&self, terrain_sequence: u64, edits: &[Edit]) {
        self.publish_terrain_of(0, terrain_sequence, edits);
    }

    fn publish_terrain_of(&self, epoch: u32, terrain_sequence: u64, edits: &[Edit]) {
        let (first, second) = edits.split_at(edits.len() / 2);
        for (part, edits) in [(1, second), (0, first)] {
            let terrain_edits = edits_to_message(edits);
            let message = selene_msgs::TerrainSnapshot { epoch, terrain_sequence, part, parts: 2, terrain_edits };
            self.terrain.publish(&message, SimTime::ZERO).expect("published");
        }
    }

    fn finish(&self) {
        let run = self.links.run.to_string();
        let message = selene_msgs::RunInfo { run, finished: true, ..Default::default() };
        self.info.publish(&message, SimTime::ZERO).expect("published");
    }

    /// The end of the next interval, as its sequence number, and the interval's edits; `None` at the run's end.
    fn next(&mut self) -> Option<(u64, Vec<Edit>)> {
        let interval = self.watcher.next(&ON).expect("no fault")?;
        Some((interval.next.sequence, interval.edits))
    }
}

/// The snapshot of heartbeat `sequence`; every heartbeat makes one edit.
fn state(sequence: u64) -> Snapshot {
    Snapshot {
        time: SimTime::from_nanos(sequence as i64 * 5_000_000),
        sequence,
        terrain_sequence: sequence,
        rovers: vec![RoverSnapshot { id: EntityId(1), ..RoverSnapshot::default() }],
        edits: vec![edit(sequence)],
        sun_direction: Vector3::x(),
        ..Snapshot::default()
    }
}

fn edit(sequence: u64) -> Edit {
    Edit { tile: [0, 0], node: sequence as u16, print: Print::NONE, height_m: sequence as f32 }
}

#[test]
fn from_the_start_every_heartbeat_comes_once_with_all_edits() {
    let mut simulation = ScriptedSimulation::new();
    (0..3).for_each(|sequence| simulation.publish_state(&state(sequence)));
    simulation.publish_state(&state(2));
    simulation.finish();
    assert_eq!(simulation.next(), Some((1, vec![edit(0), edit(1)])));
    assert_eq!(simulation.next(), Some((2, vec![edit(2)])));
    assert_eq!(simulation.next(), None);
    assert_eq!(*simulation.requests.lock().expect("lock"), 0);
    // The watcher itself acknowledges only the first snapshot, which ends no interval; the repeated one was still held.
    assert_eq!(*simulation.acknowledged.lock().expect("lock"), [0]);
}

#[test]
fn a_late_joiner_gets_the_terrain_it_missed_before_anything_else() {
    let mut simulation = ScriptedSimulation::new();
    simulation.publish_state(&state(7));
    simulation.publish_state(&state(8));
    // Terrain is only accepted after a request for it.
    assert!(simulation.watcher.next_held().expect("requests").is_none());
    while let Ok(event) = simulation.watcher.events.try_recv() {
        simulation.watcher.take(event).expect("taken");
    }
    assert!(simulation.watcher.next_held().expect("requests").is_none());
    assert_eq!(*simulation.requests.lock().expect("lock"), 1);
    let all: Vec<Edit> = (0..8).map(edit).collect();
    simulation.publish_terrain(8, &all);
    simulation.publish_state(&state(9));
    simulation.finish();
    assert_eq!(simulation.next(), Some((8, [all, vec![edit(8)]].concat())));
    assert_eq!(simulation.next(), Some((9, vec![edit(9)])));
    assert_eq!(simulation.next(), None);
}

#[test]
fn a_snapshot_that_comes_after_newer_terrain_is_passed_over() {
    let mut simulation = ScriptedSimulation::new();
    simulation.publish_state(&state(5));
    while let Ok(event) = simulation.watcher.events.try_recv() {
        simulation.watcher.take(event).expect("taken");
    }
    assert!(simulation.watcher.next_held().expect("requests").is_none());
    let all: Vec<Edit> = (0..8).map(edit).collect();
    simulation.publish_terrain(8, &all);
    // Sent before the terrain, but on another topic, so that they arrive later.
    simulation.publish_state(&state(6));
    simulation.publish_state(&state(7));
    simulation.publish_state(&state(8));
    simulation.finish();
    assert_eq!(simulation.next(), Some((8, [all, vec![edit(8)]].concat())));
    assert_eq!(simulation.next(), None);
}

#[test]
fn a_run_that_ends_without_the_missing_terrain_ends_the_node() {
    let mut simulation = ScriptedSimulation::new();
    simulation.publish_state(&state(5));
    simulation.finish();
    assert_eq!(simulation.next(), None);
}

#[test]
fn a_participant_far_behind_leaves_out_samples_but_no_edit() {
    let mut simulation = ScriptedSimulation::new();
    let last = BEHIND_MAX as u64 + 50;
    (0..=last).for_each(|sequence| simulation.publish_state(&state(sequence)));
    simulation.finish();
    let (first, edits) = simulation.next().expect("an interval");
    assert!(first > 1 && edits.len() as u64 == first + 1, "{first} {}", edits.len());
    let mut seen = edits;
    while let Some((_, edits)) = simulation.next() {
        seen.extend(edits);
    }
    assert_eq!(seen, (0..=last).map(edit).collect::<Vec<_>>());
}

#[test]
fn a_simulation_started_anew_is_noticed() {
    let mut simulation = ScriptedSimulation::new();
    simulation.publish_state(&state(0));
    simulation.publish_state(&state(1));
    simulation.publish_state(&state(2));
    assert_eq!(simulation.next().map(|(sequence, _)| sequence), Some(1));
    assert_eq!(simulation.next().map(|(sequence, _)| sequence), Some(2));
    simulation.publish_state(&state(1));
    assert!(matches!(simulation.watcher.next(&ON), Err(NodeError::SimulationRestarted { from: 2, to: 1, .. })));
}

/// A snapshot of a world that was reset once.
fn reset(sequence: u64) -> Snapshot {
    Snapshot { epoch: 1, ..state(sequence) }
}

#[test]
fn a_world_that_was_reset_is_watched_from_its_beginning() {
    let mut simulation = ScriptedSimulation::new();
    (0..=2).for_each(|sequence| simulation.publish_state(&state(sequence)));
    assert_eq!(simulation.next(), Some((1, vec![edit(0), edit(1)])));
    (0..=1).for_each(|sequence| simulation.publish_state(&reset(sequence)));
    simulation.finish();
    // The remaining snapshots from before the reset are dropped.
    assert_eq!(simulation.next(), Some((1, vec![edit(0), edit(1)])));
    assert_eq!(simulation.next(), None);
    assert_eq!(*simulation.acknowledged.lock().expect("lock"), [0, 0], "the first snapshot, twice");
}

#[test]
fn ground_and_rovers_of_before_a_reset_are_not_taken_for_those_of_after() {
    let mut simulation = ScriptedSimulation::new();
    let added = [seventh()];
    simulation.entities.publish(&entities_to_message(0, 1, &added), SimTime::ZERO).expect("published");
    // The ground of this snapshot has edits, so the watcher requests them.
    simulation.publish_state(&reset(5));
    while let Ok(event) = simulation.watcher.events.try_recv() {
        simulation.watcher.take(event).expect("taken");
    }
    assert!(simulation.watcher.next_held().expect("requests").is_none());
    simulation.publish_terrain_of(0, 9, &[edit(90)]);
    simulation.entities.publish(&entities_to_message(0, 2, &added), SimTime::ZERO).expect("published");
    let all: Vec<Edit> = (0..5).map(edit).collect();
    simulation.publish_terrain_of(1, 5, &all);
    simulation.publish_state(&reset(6));
    simulation.finish();
    let interval = simulation.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!((interval.next.epoch, interval.next.sequence), (1, 6));
    assert_eq!(interval.edits, (0..7).map(edit).collect::<Vec<_>>());
    assert!(!interval.model.rovers().contains_key(&EntityId(7)), "it was added before the reset");
}

#[test]
fn what_was_added_after_a_reset_may_be_received_first() {
    let mut simulation = ScriptedSimulation::new();
    simulation.publish_state(&state(3));
    let added = [seventh()];
    simulation.entities.publish(&entities_to_message(1, 1, &added), SimTime::ZERO).expect("published");
    simulation.publish_state(&state(4));
    let with_second = |sequence| Snapshot { entities_version: 1, ..reset(sequence) };
    simulation.publish_state(&with_second(0));
    simulation.publish_state(&with_second(1));
    simulation.finish();
    let interval = simulation.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!((interval.next.epoch, interval.next.sequence), (1, 1));
    assert!(interval.model.rovers().contains_key(&EntityId(7)));
}

#[test]
fn a_simulation_of_before_a_reset_is_another_one() {
    let mut simulation = ScriptedSimulation::new();
    (0..=1).for_each(|sequence| simulation.publish_state(&reset(sequence)));
    assert_eq!(simulation.next().map(|(sequence, _)| sequence), Some(1));
    simulation.publish_state(&state(7));
    assert!(matches!(simulation.watcher.next(&ON), Err(NodeError::SimulationRestarted { from: 1, to: 7, .. })));
}

fn second() -> Spawn {
    let place = SpawnPlace { x_m: 4.0, y_m: 4.0, ..SpawnPlace::default() };
    let file = config().join("rover/sorato.yaml");
    Spawn::Rover { name: "second".to_owned(), namespace: "second".to_owned(), file, sensors: Vec::new(), place }
}

/// The second rover as a world has it that adds it, with the number 7.
fn seventh() -> Spawned {
    let mut world = World::begin(model(), None).expect("begins");
    world.spawn(&second(), &AllowedFolders::new([config()])).expect("room");
    Spawned { entity: Entity::Rover(EntityId(7)), ..world.state().spawned[0].clone() }
}

#[test]
fn what_is_added_is_known_before_it_is_seen() {
    let mut simulation = ScriptedSimulation::new();
    simulation.publish_state(&state(0));
    let with_second = |sequence| Snapshot { entities_version: 1, ..state(sequence) };
    simulation.publish_state(&with_second(1));
    while let Ok(event) = simulation.watcher.events.try_recv() {
        simulation.watcher.take(event).expect("taken");
    }
    assert!(simulation.watcher.next_held().expect("waits").is_none(), "what was added is not published yet");
    let table = entities_to_message(0, 1, &[seventh()]);
    simulation.entities.publish(&table, SimTime::ZERO).expect("published");
    simulation.finish();
    let interval = simulation.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!(interval.model.rovers()[&EntityId(7)].setup().name, "second");
    assert!(simulation.next().is_none());
}

#[test]
fn what_was_removed_again_is_known_in_the_snapshots_that_have_it() {
    let mut simulation = ScriptedSimulation::new();
    let mut world = World::begin(model(), None).expect("begins");
    let publish_one = |simulation: &ScriptedSimulation, world: &World, sequence| {
        let (version, spawned) = (world.state().entities_version, &world.state().spawned);
        simulation.entities.publish(&entities_to_message(0, version, spawned), SimTime::ZERO).expect("published");
        simulation.publish_state(&Snapshot { entities_version: version, ..state(sequence) });
    };
    publish_one(&simulation, &world, 0);
    let added = world.spawn(&second(), &AllowedFolders::new([config()])).expect("room");
    publish_one(&simulation, &world, 1);
    world.remove(added).expect("there");
    publish_one(&simulation, &world, 2);
    simulation.finish();
    // All these messages arrive before the first interval is taken.
    let interval = simulation.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!(interval.next.sequence, 1);
    let Entity::Rover(id) = added else { panic!("a rover") };
    assert!(interval.model.rovers().contains_key(&id), "it was there then");
    assert_eq!(simulation.next().map(|(sequence, _)| sequence), Some(2));
}

/// What a watcher gives after an object was added and its mesh changed, with snapshots in which the object is or is not;
/// and the mesh.
fn after_a_change(name: &str, is_there: bool) -> (Result<Option<Interval>, NodeError>, PathBuf) {
    let folder = std::env::temp_dir().join(format!("selene-watcher-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let mesh = folder.join("post.obj");
    std::fs::write(&mesh, TETRAHEDRON).expect("written");
    let folders = AllowedFolders::new([folder.clone()]);
    let mut world = World::begin(model(), None).expect("begins");
    let place = SpawnPlace { x_m: 4.0, y_m: 4.0, ..SpawnPlace::default() };
    let post = Spawn::Object { name: "post".to_owned(), file: mesh.clone(), place };
    world.spawn(&post, &folders).expect("room");
    std::fs::write(&mesh, TETRAHEDRON.replace("v 0 0 1", "v 0 0 1.5")).expect("written");

    let mut simulation = ScriptedSimulation::in_folders(&folders);
    let table = entities_to_message(0, 1, &world.state().spawned);
    simulation.entities.publish(&table, SimTime::ZERO).expect("published");
    let objects = world.first_snapshot().expect("a snapshot").objects;
    for sequence in 0..2 {
        let objects = if is_there { objects.clone() } else { Vec::new() };
        simulation.publish_state(&Snapshot { entities_version: 1, objects, ..state(sequence) });
    }
    simulation.finish();
    let next = simulation.watcher.next(&ON);
    std::fs::remove_dir_all(&folder).expect("clean");
    (next, mesh)
}

const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

#[test]
fn an_object_whose_mesh_was_changed_after_it_was_added_ends_the_node_that_needs_it() {
    let (next, mesh) = after_a_change("needed", true);
    let reported = next.map(|_| "an interval").expect_err("refused").to_string();
    let name = mesh.file_name().expect("a name").to_string_lossy().into_owned();
    for part in ["cannot be read here", &name, "differs from what the world was given"] {
        assert!(reported.contains(part), "{part} is not in: {reported}");
    }
}

#[test]
fn a_changed_file_of_what_was_removed_before_ends_nobody() {
    let (next, _) = after_a_change("removed", false);
    assert_eq!(next.expect("no fault").expect("an interval").next.sequence, 1);
}

#[test]
fn another_run_is_not_received() {
    let mut simulation = ScriptedSimulation::new();
    let elsewhere = Links { run: RunId::random(), ..simulation.links.clone() };
    let others = Publisher::new(&simulation.bus, &elsewhere.world_state(), Qos::state()).expect("topic");
    let info = Publisher::new(&simulation.bus, RUN_INFO, Qos::latched()).expect("topic");
    simulation.publish_state(&state(0));
    others.publish(&state_to_message(&elsewhere.run, &state(5), |_| ""), SimTime::ZERO).expect("sent");
    simulation.publish_of(&elsewhere.run, &state(6));
    let ended = selene_msgs::RunInfo { run: elsewhere.run.to_string(), finished: true, ..Default::default() };
    info.publish(&ended, SimTime::ZERO).expect("published");
    simulation.publish_state(&state(1));
    assert_eq!(simulation.next().map(|(sequence, _)| sequence), Some(1));
    simulation.finish();
    assert_eq!(simulation.next(), None);
}
