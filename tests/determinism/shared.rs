//! One world in several simulation nodes: it is published once, with the same bytes every time, and equals the world of
//! one node within the effect of a heartbeat's delay. A node that joins late catches up; a node that claims another's
//! rover is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use rayon::ThreadPoolBuilder;
use selene_base::{SimTime, frames};
use selene_coherence::NodeError;
use selene_ros::transport::{Publisher, Transport, subscribe};
use selene_ros::{Encoded, Qos, decode, rosgraph_msgs, selene_msgs, tf2_msgs};
use selene_sim::{DrivenGround, Fingerprint, Model, World};
use selene_simulation::{Pace, RunOutcome, RunStart, SharedRovers, SimulationOptions};
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, model, options, scenario, world};

const SIMULATED: SimTime = SimTime::from_nanos(1_500_000_000);
/// Largest difference between a rover's path in one process and in two, m; no rovers touch.
const WAY_M: f64 = 2e-3;
/// Topics on which both nodes publish: their order within an instant is undefined.
const OF_BOTH: [&str; 2] = ["/tf", "/tf_static"];
/// Number of heartbeats that a simulation in lockstep runs ahead of a participant that has only acknowledged the first.
const WINDOW: i64 = 100;
/// Timeout for anything that a test waits for, in wall time.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn sharing(own: &[&str], awaited: &[&str], pace: Pace) -> SimulationOptions {
    let names = |of: &[&str]| of.iter().map(|&name| name.to_owned()).collect();
    let shared = Some(SharedRovers { own: names(own), awaited: names(awaited), is_free: false, address: None });
    SimulationOptions { shared, pace, ..options(SIMULATED, &[]) }
}

/// Runs a node in a thread pool of its own, like a process: in a shared pool, images would block it for seconds.
pub(crate) fn run(
    transport: &RecordingTransport,
    model: &Arc<Model>,
    options: &SimulationOptions,
) -> Result<RunOutcome, NodeError> {
    let context = context(Arc::new(transport.clone()), model);
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| selene_simulation::run(&context, RunStart::Start(None), options, &AtomicBool::new(false)))
}

/// Runs the convoy in two nodes for `duration`; returns the outcome of each, and all that was published.
fn in_two(model: &Arc<Model>, duration: SimTime) -> ([RunOutcome; 2], Published) {
    let recording = RecordingTransport::default();
    let outcomes = std::thread::scope(|scope| {
        let nodes = [&["viper"][..], &["ex1", "sorato"]].map(|own| {
            let recording = &recording;
            let options = SimulationOptions { duration: Some(duration), ..sharing(own, &[], Pace::Fast) };
            scope.spawn(move || run(recording, model, &options).expect("runs"))
        });
        nodes.map(|node| node.join().expect("no panic"))
    });
    let mut published = recording.take();
    published.retain(|topic, _| !topic.contains("/shared_") && topic != "/diagnostics");
    (outcomes, published)
}

/// Messages published on a topic.
pub(crate) fn reported(published: &Published, topic: &str) -> Vec<(SimTime, Vec<u8>)> {
    let mut messages = published[topic].clone();
    if OF_BOTH.contains(&topic) {
        messages.sort();
    }
    messages
}

fn alone(model: &Arc<Model>) -> World {
    let mut world = world(model);
    while world.time() < SIMULATED {
        world.heartbeat().expect("heartbeat");
    }
    world
}

#[test]
fn a_world_in_two_nodes_is_published_once_the_same_every_time_and_is_that_of_one() {
    let model = model(scenario("convoy", None));
    let (outcomes, published) = in_two(&model, SIMULATED);
    let (again, published_again) = in_two(&model, SIMULATED);
    for (one, other) in outcomes.iter().zip(&again) {
        assert_eq!(one.state_hash, other.state_hash);
    }
    assert_eq!(published.keys().collect::<Vec<_>>(), published_again.keys().collect::<Vec<_>>());
    assert!(OF_BOTH.iter().all(|topic| published.contains_key(*topic)), "transforms are published");
    for topic in published.keys() {
        assert!(reported(&published, topic) == reported(&published_again, topic), "{topic} is another in another run");
    }
    let states = &published["/selene/test/world_state"];
    assert_eq!(states.len() as i64, 1 + SIMULATED / model.scenario().heartbeat, "one leads and publishes the world");
    assert_eq!(published["/clock"].len(), states.len());
    assert!(published.contains_key("/ex1/joint_states") && published.contains_key("/viper/joint_states"));

    let alone = alone(&model);
    for outcome in &outcomes {
        assert_eq!(outcome.simulated, SIMULATED);
        for (name, way_m) in &outcome.distances_m {
            let id = model.rover_named(name).expect("there");
            let from = model.scenario().rover(name).expect("there").start;
            let at = alone.state().rovers[&id].body.world_from_base.translation;
            let there_m = (at.x - from.x_m).hypot(at.y - from.y_m);
            assert!((way_m - there_m).abs() < 0.01 + WAY_M, "{name}: {way_m} m, alone {there_m} m");
        }
    }
}

#[test]
fn transforms_of_two_nodes_are_one_tree_from_the_map_on() {
    let model = model(scenario("convoy", None));
    let (_, published) = in_two(&model, SimTime::from_secs_f64(0.1));
    let mut parents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, bytes) in OF_BOTH.iter().flat_map(|topic| &published[*topic]) {
        let message: tf2_msgs::TFMessage = decode(&Encoded::from_bytes(bytes.clone())).expect("transforms");
        for transform in message.transforms {
            parents.entry(transform.child_frame_id).or_default().insert(transform.header.frame_id);
        }
    }
    for (child, of) in &parents {
        assert_eq!(of.len(), 1, "{child} has parents {of:?}");
        let above = |frame: &String| parents.get(frame).and_then(BTreeSet::first).cloned();
        let last = std::iter::successors(Some(child.clone()), above).take(1 + parents.len()).last();
        assert_eq!(last.as_deref(), Some(frames::MAP), "{child} hangs on something else than the map");
    }
    for rover in &model.scenario().rovers {
        let base = format!("{}/{}", rover.name, frames::BASE_LINK);
        assert!(parents.contains_key(&base), "there is no {base}");
        let missing = rover.model.links().iter().map(|link| rover.frame(&link.name));
        let missing: Vec<_> = missing.filter(|frame| !parents.contains_key(frame)).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", rover.name);
    }
}

/// Runs the convoy in two nodes, the second of which joins while the first waits for a participant; returns the outcome
/// of each. Both end at the same heartbeat and save their ground, as `first` and `late`.
fn one_late(model: &Arc<Model>, folder: &Path) -> [RunOutcome; 2] {
    let (recording, heartbeat) = (RecordingTransport::default(), model.scenario().heartbeat);
    let transport: &dyn Transport = &recording;
    let (clock_reported, clock) = channel();
    // Ignores a closed channel: the receiver is no longer used once the late node has joined.
    let on_clock =
        move |clock: rosgraph_msgs::Clock| clock_reported.send(SimTime::from(clock.clock)).unwrap_or_default();
    let _clock = subscribe(transport, "/clock", Qos::clock(), on_clock).expect("clock");
    let (member_reported, members) = channel();
    let on_member = move |member: selene_msgs::SharedMember| drop(member_reported.send(member.rovers));
    let _members = subscribe(transport, "/selene/test/shared_members", Qos::latched(), on_member).expect("members");
    let participant = Publisher::<selene_msgs::Acknowledge>::new(transport, "/selene/test/acknowledge", Qos::state());
    let participant = participant.expect("participant");
    let acknowledge = |sequence: u64| {
        let message = selene_msgs::Acknowledge { participant: "test".to_owned(), sequence, ..Default::default() };
        participant.publish(&message, SimTime::ZERO).expect("published");
    };
    let saving = |own: &[&str], name: &str, duration: SimTime| SimulationOptions {
        duration: Some(duration),
        save_ruts: Some(folder.join(name)),
        participants: vec!["test".to_owned()],
        ..sharing(own, &["viper"], Pace::Fast)
    };
    let first = saving(&["viper"], "first", SIMULATED);
    // The late node begins in the state after the heartbeat that follows the wait. It may miss the acknowledgement.
    let late = saving(&["ex1", "sorato"], "late", SIMULATED - heartbeat * (WINDOW + 2));
    std::thread::scope(|scope| {
        let (recording, first, late) = (&recording, &first, &late);
        let first = scope.spawn(move || run(recording, model, first).expect("runs"));
        let _ = clock.recv_timeout(TIMEOUT);
        acknowledge(0);
        while clock.recv_timeout(TIMEOUT).is_ok_and(|time| time < heartbeat * (WINDOW + 1)) {}
        let late = scope.spawn(move || run(recording, model, late).expect("runs"));
        // When the late node announces itself for the second time, the first one has received it once.
        for _ in 0..2 {
            while members.recv_timeout(TIMEOUT).is_ok_and(|rovers| rovers.contains(&1)) {}
        }
        acknowledge(u64::MAX);
        [first, late].map(|node| node.join().expect("no panic"))
    })
}

#[test]
fn a_node_that_comes_late_gets_the_world_and_steps_its_rovers_from_then_on() {
    let model = model(scenario("convoy", None));
    let folder = std::env::temp_dir().join(format!("selene-late-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let [first, late] = one_late(&model, &folder);
    assert_eq!([first.simulated, late.simulated], [SIMULATED; 2], "both end at one heartbeat");
    let of = Fingerprint::of_ground(&model.scenario().site, model.scenario().seed, model.terrain());
    let [ground, of_late] = ["first", "late"].map(|name| DrivenGround::load(&folder.join(name), &of).expect("saved"));
    std::fs::remove_dir_all(&folder).expect("clean");
    assert!(ground == of_late, "the two have different ground");
    // VIPER, which drove alone at first, is west of the origin; Sorato is more than 6.4 m east of it.
    for (who, there) in [("viper", -1), ("sorato", 5)] {
        assert!(ground.ruts.edits().any(|edit| edit.tile[0] == there), "{who} left no ruts");
    }
    let way_m = |name: &str| late.distances_m.iter().find(|(of, _)| of == name).map_or(0.0, |(_, way_m)| *way_m);
    assert!(way_m("ex1") > 0.05 && way_m("sorato") > 0.02, "{:?}", late.distances_m);
}

#[test]
fn a_node_that_names_a_rover_of_another_or_none_is_refused() {
    let model = model(scenario("convoy", None));
    let recording = RecordingTransport::default();
    let refused = |own: &[&str]| {
        let node = run(&recording, &model, &sharing(own, &["viper"], Pace::Fast));
        node.expect_err("refused").to_string()
    };
    assert!(refused(&["curiosity"]).contains("--own curiosity") && refused(&["curiosity"]).contains("viper"));
    std::thread::scope(|scope| {
        let options = sharing(&["viper"], &["viper"], Pace::Times(1.0));
        let (reported, runs) = std::sync::mpsc::channel();
        let on_clock = move |_: rosgraph_msgs::Clock| {
            let _ = reported.send(());
        };
        let _clock = subscribe(&recording as &dyn Transport, "/clock", Qos::clock(), on_clock).expect("clock");
        let (node, model) = (&recording, &model);
        let first = scope.spawn(move || run(node, model, &options).expect("is not disturbed"));
        runs.recv().expect("it runs");
        let second = refused(&["viper", "ex1"]);
        assert!(second.contains("rover viper is simulated by process") && second.contains("run test"), "{second}");
        assert_eq!(first.join().expect("no panic").simulated, SIMULATED);
    });
}

/// Stops nodes that are still waiting when a test fails.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn of_two_nodes_that_wait_with_the_same_rover_one_is_refused_and_the_world_begins_with_the_other() {
    let model = model(scenario("convoy", None));
    let (recording, stop) = (RecordingTransport::default(), StopOnDrop(Arc::default()));
    let (sender, reported) = channel();
    let begin = |own: &'static str| {
        let (context, options) =
            (context(Arc::new(recording.clone()), &model), sharing(&[own], &["viper", "ex1"], Pace::Fast));
        let (sender, stop) = (sender.clone(), Arc::clone(&stop.0));
        std::thread::spawn(move || {
            let outcome = selene_simulation::run(&context, RunStart::Start(None), &options, &stop);
            let _ = sender.send(outcome.map(|outcome| outcome.simulated).map_err(|error| error.to_string()));
        });
    };
    let next = || reported.recv_timeout(Duration::from_secs(120)).expect("a node ends");
    begin("viper");
    begin("viper");
    let refused = next().expect_err("the world cannot begin without ex1");
    assert!(refused.contains("rover viper is simulated by process") && refused.contains("run test"), "{refused}");
    begin("ex1");
    assert_eq!([next(), next()], [Ok(SIMULATED), Ok(SIMULATED)]);
}
