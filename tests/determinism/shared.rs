//! One world in several simulation nodes: it is told once, the same bytes every time, and is that of one node
//! within what a heartbeat's delay does; who comes late catches up, who names another's rover is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_ros::transport::{Transport, subscribe};
use selene_ros::{Qos, rosgraph_msgs};
use selene_sim::{Model, World};
use selene_simulation::{Begin, Outcome, Pace, SharedRovers, SimulationOptions};
use selene_tests::witness::{Published, Witness};
use selene_tests::{context, model, options, scenario, world};

const SIMULATED: SimTime = SimTime::from_nanos(1_500_000_000);
/// Way of a rover in one process and in another, m: nobody touches anybody.
const WAY_M: f64 = 2e-3;

fn sharing(own: &[&str], awaited: &[&str], pace: Pace) -> SimulationOptions {
    let names = |of: &[&str]| of.iter().map(|&name| name.to_owned()).collect();
    let shared = Some(SharedRovers { own: names(own), awaited: names(awaited), is_free: false });
    SimulationOptions { shared, pace, ..options(SIMULATED, &[]) }
}

fn run(transport: &Witness, model: &Arc<Model>, options: &SimulationOptions) -> Result<Outcome, NodeError> {
    let context = context(Arc::new(transport.clone()), model);
    selene_simulation::run(&context, Begin::Start(None), options, &AtomicBool::new(false))
}

/// The convoy in two nodes: what each came to, and all that was published.
fn in_two(model: &Arc<Model>) -> ([Outcome; 2], Published) {
    let witness = Witness::default();
    let outcomes = std::thread::scope(|scope| {
        let nodes = [&["viper"][..], &["ex1", "sorato"]].map(|own| {
            let witness = &witness;
            scope.spawn(move || run(witness, model, &sharing(own, &[], Pace::Fast)).expect("runs"))
        });
        nodes.map(|node| node.join().expect("no panic"))
    });
    let mut published = witness.take();
    published.retain(|topic, _| !topic.contains("/shared_") && topic != "/diagnostics");
    (outcomes, published)
}

fn alone(model: &Arc<Model>) -> World {
    let mut world = world(model);
    while world.time() < SIMULATED {
        world.heartbeat().expect("heartbeat");
    }
    world
}

#[test]
fn a_world_in_two_nodes_is_told_once_the_same_every_time_and_is_that_of_one() {
    let model = model(scenario("convoy", None));
    let (outcomes, published) = in_two(&model);
    let (again, published_again) = in_two(&model);
    for (one, other) in outcomes.iter().zip(&again) {
        assert_eq!(one.state_hash, other.state_hash);
    }
    assert_eq!(published.keys().collect::<Vec<_>>(), published_again.keys().collect::<Vec<_>>());
    for (topic, messages) in published.iter().filter(|(topic, _)| *topic != "/tf" && *topic != "/tf_static") {
        assert!(messages == &published_again[topic], "{topic} is another in another run");
    }
    let states = &published["/selene/test/world_state"];
    assert_eq!(states.len() as i64, 1 + SIMULATED / model.scenario().heartbeat, "one leads and tells the world");
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
fn a_node_that_comes_late_gets_the_world_and_steps_its_rovers_from_then_on() {
    let model = model(scenario("convoy", None));
    let witness = Witness::default();
    let (joined, joins) = std::sync::mpsc::channel();
    let on_clock = move |clock: rosgraph_msgs::Clock| {
        if SimTime::from(clock.clock) >= SimTime::from_nanos(300_000_000) {
            let _ = joined.send(());
        }
    };
    let _clock = subscribe(&witness as &dyn Transport, "/clock", Qos::clock(), on_clock).expect("clock");
    let real_time = Pace::Times(1.0);
    let [first, late] = std::thread::scope(|scope| {
        let first = scope.spawn(|| run(&witness, &model, &sharing(&["viper"], &["viper"], real_time)).expect("runs"));
        joins.recv().expect("it runs");
        let late = sharing(&["ex1", "sorato"], &["viper"], real_time);
        let late = SimulationOptions { duration: Some(SimTime::from_secs_f64(1.0)), ..late };
        let (witness, model) = (&witness, &model);
        let late = scope.spawn(move || run(witness, model, &late).expect("runs"));
        [first, late].map(|node| node.join().expect("no panic"))
    });
    assert_eq!(first.simulated, SIMULATED);
    assert!(late.simulated > SimTime::from_secs_f64(1.3), "it began where the others were: {}", late.simulated);
    let way_m = |name: &str| late.distances_m.iter().find(|(of, _)| of == name).map_or(0.0, |(_, way_m)| *way_m);
    assert!(way_m("ex1") > 0.05 && way_m("sorato") > 0.02, "{:?}", late.distances_m);
}

#[test]
fn a_node_that_names_a_rover_of_another_or_none_is_refused() {
    let model = model(scenario("convoy", None));
    let witness = Witness::default();
    let refused = |own: &[&str]| {
        let node = run(&witness, &model, &sharing(own, &["viper"], Pace::Fast));
        node.expect_err("refused").to_string()
    };
    assert!(refused(&["curiosity"]).contains("--own curiosity") && refused(&["curiosity"]).contains("viper"));
    std::thread::scope(|scope| {
        let options = sharing(&["viper"], &["viper"], Pace::Times(1.0));
        let (told, runs) = std::sync::mpsc::channel();
        let on_clock = move |_: rosgraph_msgs::Clock| {
            let _ = told.send(());
        };
        let _clock = subscribe(&witness as &dyn Transport, "/clock", Qos::clock(), on_clock).expect("clock");
        let (node, model) = (&witness, &model);
        let first = scope.spawn(move || run(node, model, &options).expect("is not disturbed"));
        runs.recv().expect("it runs");
        let second = refused(&["viper", "ex1"]);
        assert!(second.contains("rover viper is simulated by process") && second.contains("run test"), "{second}");
        assert_eq!(first.join().expect("no panic").simulated, SIMULATED);
    });
}

/// Lets nodes that still wait go when a test has failed.
struct StopsAtTheEnd(Arc<AtomicBool>);

impl Drop for StopsAtTheEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn of_two_nodes_that_wait_with_the_same_rover_one_is_refused_and_the_world_begins_with_the_other() {
    let model = model(scenario("convoy", None));
    let (witness, stop) = (Witness::default(), StopsAtTheEnd(Arc::default()));
    let (tell, told) = channel();
    let begin = |own: &'static str| {
        let (context, options) =
            (context(Arc::new(witness.clone()), &model), sharing(&[own], &["viper", "ex1"], Pace::Fast));
        let (tell, stop) = (tell.clone(), Arc::clone(&stop.0));
        std::thread::spawn(move || {
            let outcome = selene_simulation::run(&context, Begin::Start(None), &options, &stop);
            let _ = tell.send(outcome.map(|outcome| outcome.simulated).map_err(|error| error.to_string()));
        });
    };
    let next = || told.recv_timeout(Duration::from_secs(120)).expect("a node ends");
    begin("viper");
    begin("viper");
    let refused = next().expect_err("the world cannot begin without ex1");
    assert!(refused.contains("rover viper is simulated by process") && refused.contains("run test"), "{refused}");
    begin("ex1");
    assert_eq!([next(), next()], [Ok(SIMULATED), Ok(SIMULATED)]);
}
