//! What a participant sees when messages come late, twice, out of order or not at all.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{
    AllowedFolders, Entity, EntityId, LoadOptions, Model, RoverSnapshot, Scenario, Snapshot, Spawn, SpawnPlace, World,
};
use selene_terrain::{Edit, Print};

use super::{BEHIND_MAX, WorldWatcher};
use crate::NodeError;
use crate::entities::entities_to_message;
use crate::links::{Links, NodeContext};
use crate::run::{RUN_INFO, RunId};
use crate::wire::{edits_to_message, state_to_message};

static ON: AtomicBool = AtomicBool::new(false);

/// A simulation that says what a test wants, and a participant that watches it.
struct Talk {
    bus: InProcess,
    links: Links,
    states: Publisher<selene_msgs::WorldState>,
    terrain: Publisher<selene_msgs::TerrainSnapshot>,
    entities: Publisher<selene_msgs::EntityTable>,
    info: Publisher<selene_msgs::RunInfo>,
    requests: Arc<Mutex<u32>>,
    acknowledged: Arc<Mutex<Vec<u64>>>,
    watcher: WorldWatcher,
    _ears: [Subscription; 2],
}

fn config() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

fn model() -> Arc<Model> {
    let path = config().join("scenario/curiosity_rocks.yaml");
    let scenario = Scenario::load(&path, &LoadOptions::default()).expect("good");
    Arc::new(Model::new(Arc::new(scenario)).expect("made"))
}

fn context(links: &Links) -> NodeContext {
    NodeContext { links: links.clone(), model: model(), folders: AllowedFolders::new([config()]), told_until: None }
}

impl Talk {
    fn new() -> Self {
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
            watcher: WorldWatcher::new(&context(&links), "test").expect("watcher"),
            _ears: [
                subscribe(&bus, &links.terrain_request(), Qos::reliable(), on_request).expect("topic"),
                subscribe(&bus, &links.acknowledge(), Qos::state(), on_acknowledge).expect("topic"),
            ],
            bus,
            links,
        }
    }

    fn say(&self, state: &Snapshot) {
        self.say_of(&self.links.run, state);
    }

    fn say_of(&self, run: &RunId, state: &Snapshot) {
        self.states.publish(&state_to_message(run, state, |_| ""), state.time).expect("said");
    }

    /// Tells terrain in two parts, the second one first.
    fn tell_terrain(&self, terrain_sequence: u64, edits: &[Edit]) {
        self.tell_terrain_of(0, terrain_sequence, edits);
    }

    fn tell_terrain_of(&self, epoch: u32, terrain_sequence: u64, edits: &[Edit]) {
        let (first, second) = edits.split_at(edits.len() / 2);
        for (part, edits) in [(1, second), (0, first)] {
            let terrain_edits = edits_to_message(edits);
            let message = selene_msgs::TerrainSnapshot { epoch, terrain_sequence, part, parts: 2, terrain_edits };
            self.terrain.publish(&message, SimTime::ZERO).expect("told");
        }
    }

    fn finish(&self) {
        let run = self.links.run.to_string();
        let message = selene_msgs::RunInfo { run, finished: true, ..Default::default() };
        self.info.publish(&message, SimTime::ZERO).expect("told");
    }

    /// Sequence of the next interval's end and its edits; none at the run's end.
    fn next(&mut self) -> Option<(u64, Vec<Edit>)> {
        let interval = self.watcher.next(&ON).expect("no fault")?;
        Some((interval.next.sequence, interval.edits))
    }
}

/// The snapshot of heartbeat `sequence`, each of which makes one edit.
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
    let mut talk = Talk::new();
    (0..3).for_each(|sequence| talk.say(&state(sequence)));
    talk.say(&state(2));
    talk.finish();
    assert_eq!(talk.next(), Some((1, vec![edit(0), edit(1)])));
    assert_eq!(talk.next(), Some((2, vec![edit(2)])));
    assert_eq!(talk.next(), None);
    assert_eq!(*talk.requests.lock().expect("lock"), 0);
    // The first snapshot begins no interval, the repeated one was known.
    assert_eq!(*talk.acknowledged.lock().expect("lock"), [0]);
}

#[test]
fn a_late_joiner_gets_the_terrain_it_missed_before_anything_else() {
    let mut talk = Talk::new();
    talk.say(&state(7));
    talk.say(&state(8));
    // Answers in advance are not taken: they must follow a request.
    assert!(talk.watcher.next_held().expect("asks").is_none());
    while let Ok(event) = talk.watcher.events.try_recv() {
        talk.watcher.take(event).expect("taken");
    }
    assert!(talk.watcher.next_held().expect("asks").is_none());
    assert_eq!(*talk.requests.lock().expect("lock"), 1);
    let all: Vec<Edit> = (0..8).map(edit).collect();
    talk.tell_terrain(8, &all);
    talk.say(&state(9));
    talk.finish();
    assert_eq!(talk.next(), Some((8, [all, vec![edit(8)]].concat())));
    assert_eq!(talk.next(), Some((9, vec![edit(9)])));
    assert_eq!(talk.next(), None);
}

#[test]
fn a_snapshot_that_comes_after_newer_terrain_is_passed_over() {
    let mut talk = Talk::new();
    talk.say(&state(5));
    while let Ok(event) = talk.watcher.events.try_recv() {
        talk.watcher.take(event).expect("taken");
    }
    assert!(talk.watcher.next_held().expect("asks").is_none());
    let all: Vec<Edit> = (0..8).map(edit).collect();
    talk.tell_terrain(8, &all);
    // These left before the terrain did, but on another topic.
    talk.say(&state(6));
    talk.say(&state(7));
    talk.say(&state(8));
    talk.finish();
    assert_eq!(talk.next(), Some((8, [all, vec![edit(8)]].concat())));
    assert_eq!(talk.next(), None);
}

#[test]
fn a_run_that_ends_without_the_missing_terrain_ends_the_node() {
    let mut talk = Talk::new();
    talk.say(&state(5));
    talk.finish();
    assert_eq!(talk.next(), None);
}

#[test]
fn a_participant_far_behind_leaves_out_samples_but_no_edit() {
    let mut talk = Talk::new();
    let last = BEHIND_MAX as u64 + 50;
    (0..=last).for_each(|sequence| talk.say(&state(sequence)));
    talk.finish();
    let (first, edits) = talk.next().expect("an interval");
    assert!(first > 1 && edits.len() as u64 == first + 1, "{first} {}", edits.len());
    let mut seen = edits;
    while let Some((_, edits)) = talk.next() {
        seen.extend(edits);
    }
    assert_eq!(seen, (0..=last).map(edit).collect::<Vec<_>>());
}

#[test]
fn a_simulation_started_anew_is_noticed() {
    let mut talk = Talk::new();
    talk.say(&state(0));
    talk.say(&state(1));
    talk.say(&state(2));
    assert_eq!(talk.next().map(|(sequence, _)| sequence), Some(1));
    assert_eq!(talk.next().map(|(sequence, _)| sequence), Some(2));
    talk.say(&state(1));
    assert!(matches!(talk.watcher.next(&ON), Err(NodeError::SimulationRestarted { from: 2, to: 1, .. })));
}

/// A snapshot of a world that was reset once.
fn reset(sequence: u64) -> Snapshot {
    Snapshot { epoch: 1, ..state(sequence) }
}

#[test]
fn a_world_that_was_reset_is_watched_from_its_beginning() {
    let mut talk = Talk::new();
    (0..=2).for_each(|sequence| talk.say(&state(sequence)));
    assert_eq!(talk.next(), Some((1, vec![edit(0), edit(1)])));
    (0..=1).for_each(|sequence| talk.say(&reset(sequence)));
    talk.finish();
    // What is left of before the reset is void, and all begins anew.
    assert_eq!(talk.next(), Some((1, vec![edit(0), edit(1)])));
    assert_eq!(talk.next(), None);
    assert_eq!(*talk.acknowledged.lock().expect("lock"), [0, 0], "the first snapshot, twice");
}

#[test]
fn ground_and_rovers_of_before_a_reset_are_not_taken_for_those_of_after() {
    let mut talk = Talk::new();
    let added = [(Entity::Rover(EntityId(7)), second())];
    talk.entities.publish(&entities_to_message(0, 1, &added), SimTime::ZERO).expect("told");
    // Its ground was driven: the watcher asks.
    talk.say(&reset(5));
    while let Ok(event) = talk.watcher.events.try_recv() {
        talk.watcher.take(event).expect("taken");
    }
    assert!(talk.watcher.next_held().expect("asks").is_none());
    talk.tell_terrain_of(0, 9, &[edit(90)]);
    talk.entities.publish(&entities_to_message(0, 2, &added), SimTime::ZERO).expect("told");
    let all: Vec<Edit> = (0..5).map(edit).collect();
    talk.tell_terrain_of(1, 5, &all);
    talk.say(&reset(6));
    talk.finish();
    let interval = talk.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!((interval.next.epoch, interval.next.sequence), (1, 6));
    assert_eq!(interval.edits, (0..7).map(edit).collect::<Vec<_>>());
    assert!(!interval.model.rovers().contains_key(&EntityId(7)), "it was added before the reset");
}

#[test]
fn what_was_added_after_a_reset_may_be_heard_of_first() {
    let mut talk = Talk::new();
    talk.say(&state(3));
    let added = [(Entity::Rover(EntityId(7)), second())];
    talk.entities.publish(&entities_to_message(1, 1, &added), SimTime::ZERO).expect("told");
    talk.say(&state(4));
    let with_second = |sequence| Snapshot { entities_version: 1, ..reset(sequence) };
    talk.say(&with_second(0));
    talk.say(&with_second(1));
    talk.finish();
    let interval = talk.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!((interval.next.epoch, interval.next.sequence), (1, 1));
    assert!(interval.model.rovers().contains_key(&EntityId(7)));
}

#[test]
fn a_simulation_of_before_a_reset_is_another_one() {
    let mut talk = Talk::new();
    (0..=1).for_each(|sequence| talk.say(&reset(sequence)));
    assert_eq!(talk.next().map(|(sequence, _)| sequence), Some(1));
    talk.say(&state(7));
    assert!(matches!(talk.watcher.next(&ON), Err(NodeError::SimulationRestarted { from: 1, to: 7, .. })));
}

fn second() -> Spawn {
    let place = SpawnPlace { x_m: 4.0, y_m: 4.0, ..SpawnPlace::default() };
    let file = config().join("rover/sorato.yaml");
    Spawn::Rover { name: "second".to_owned(), namespace: "second".to_owned(), file, sensors: Vec::new(), place }
}

#[test]
fn what_is_added_is_known_before_it_is_seen() {
    let mut talk = Talk::new();
    talk.say(&state(0));
    let with_second = |sequence| Snapshot { entities_version: 1, ..state(sequence) };
    talk.say(&with_second(1));
    while let Ok(event) = talk.watcher.events.try_recv() {
        talk.watcher.take(event).expect("taken");
    }
    assert!(talk.watcher.next_held().expect("waits").is_none(), "nobody said yet what was added");
    let table = entities_to_message(0, 1, &[(Entity::Rover(EntityId(7)), second())]);
    talk.entities.publish(&table, SimTime::ZERO).expect("told");
    talk.finish();
    let interval = talk.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!(interval.model.rovers()[&EntityId(7)].setup().name, "second");
    assert!(talk.next().is_none());
}

#[test]
fn what_was_removed_again_is_known_in_the_snapshots_that_have_it() {
    let mut talk = Talk::new();
    let mut world = World::begin(model(), None).expect("begins");
    let tell = |talk: &Talk, world: &World, sequence| {
        let (version, spawned) = (world.state().entities_version, &world.state().spawned);
        talk.entities.publish(&entities_to_message(0, version, spawned), SimTime::ZERO).expect("told");
        talk.say(&Snapshot { entities_version: version, ..state(sequence) });
    };
    tell(&talk, &world, 0);
    let added = world.spawn(&second(), &AllowedFolders::new([config()])).expect("room");
    tell(&talk, &world, 1);
    world.remove(added).expect("there");
    tell(&talk, &world, 2);
    talk.finish();
    // All of that is heard before the first interval is taken.
    let interval = talk.watcher.next(&ON).expect("no fault").expect("an interval");
    assert_eq!(interval.next.sequence, 1);
    let Entity::Rover(id) = added else { panic!("a rover") };
    assert!(interval.model.rovers().contains_key(&id), "it was there then");
    assert_eq!(talk.next().map(|(sequence, _)| sequence), Some(2));
}

#[test]
fn another_run_is_not_heard() {
    let mut talk = Talk::new();
    let elsewhere = Links { run: RunId::random(), ..talk.links.clone() };
    let others = Publisher::new(&talk.bus, &elsewhere.world_state(), Qos::state()).expect("topic");
    let info = Publisher::new(&talk.bus, RUN_INFO, Qos::latched()).expect("topic");
    talk.say(&state(0));
    others.publish(&state_to_message(&elsewhere.run, &state(5), |_| ""), SimTime::ZERO).expect("said");
    talk.say_of(&elsewhere.run, &state(6));
    let ended = selene_msgs::RunInfo { run: elsewhere.run.to_string(), finished: true, ..Default::default() };
    info.publish(&ended, SimTime::ZERO).expect("told");
    talk.say(&state(1));
    assert_eq!(talk.next().map(|(sequence, _)| sequence), Some(1));
    talk.finish();
    assert_eq!(talk.next(), None);
}
