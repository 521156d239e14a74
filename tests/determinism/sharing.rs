//! Ends of a world in several simulation nodes: who is of another world, who goes on from a checkpoint, who is
//! not waited for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::ThreadPoolBuilder;
use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_sim::{Checkpoint, Fingerprint, Model};
use selene_simulation::{Begin, CheckpointOptions, Outcome, Pace, SharedRovers, SimulationOptions, file_at};
use selene_tests::witness::Witness;
use selene_tests::{context, model, options, scenario};

const HALVES: &[&[&str]] = &[&["viper"], &["ex1", "sorato"]];
const HALF_S: f64 = 0.6;

struct Node {
    model: Arc<Model>,
    begin: Begin,
    options: SimulationOptions,
}

impl Node {
    fn of(model: &Arc<Model>, own: &[&str], simulated_s: f64) -> Self {
        let own = own.iter().map(|&name| name.to_owned()).collect();
        let shared = Some(SharedRovers { own, awaited: Vec::new(), is_free: false, address: None });
        let options = SimulationOptions { shared, ..options(SimTime::from_secs_f64(simulated_s), &[]) };
        Self { model: Arc::clone(model), begin: Begin::Start(None), options }
    }

    fn run(self, witness: &Witness) -> Result<Outcome, NodeError> {
        let context = context(Arc::new(witness.clone()), &self.model);
        selene_simulation::run(&context, self.begin, &self.options, &AtomicBool::new(false))
    }
}

/// All nodes at the same time, each on a thread of its own as processes are: other tests' images would keep one that
/// has the threads of all waiting for seconds, until it is given up.
fn run(nodes: Vec<Node>) -> Vec<Result<Outcome, NodeError>> {
    let witness = &Witness::default();
    std::thread::scope(|scope| {
        let start = |node: Node| {
            let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
            scope.spawn(move || pool.install(|| node.run(witness)))
        };
        let running: Vec<_> = nodes.into_iter().map(start).collect();
        running.into_iter().map(|node| node.join().expect("no panic")).collect()
    })
}

#[test]
fn nodes_of_two_worlds_refuse_each_other_and_say_what_differs() {
    let nodes = [1, 2].into_iter().zip(HALVES).map(|(seed, own)| {
        let mut scenario = scenario("convoy", None);
        scenario.seed = seed;
        Node::of(&model(scenario), own, 1.0)
    });
    let said: Vec<_> = run(nodes.collect()).into_iter().map(|ended| ended.expect_err("refused").to_string()).collect();
    // Who ends first may leave the other waiting until it hears of it.
    assert!(said.iter().any(|said| said.contains("seed: here 1, there 2")), "{said:?}");
    assert!(said.iter().any(|said| said.contains("seed: here 2, there 1")), "{said:?}");
}

#[test]
fn nodes_that_go_on_from_their_checkpoints_come_to_the_same_world() {
    let model = model(scenario("convoy", None));
    let whole = run(HALVES.iter().map(|own| Node::of(&model, own, 2.0 * HALF_S)).collect());
    let folders: Vec<PathBuf> = (0..HALVES.len())
        .map(|i| std::env::temp_dir().join(format!("selene-sharing-{}-{i}", std::process::id())))
        .collect();
    let half = SimTime::from_secs_f64(HALF_S);
    let first = HALVES.iter().zip(&folders).map(|(own, folder)| {
        std::fs::create_dir_all(folder).expect("folder");
        let mut node = Node::of(&model, own, HALF_S);
        node.options.checkpoints = Some(CheckpointOptions { every: half, folder: folder.clone() });
        node
    });
    run(first.collect()).into_iter().for_each(|ended| assert_eq!(ended.expect("runs").simulated, half));
    let of = Fingerprint::of(model.scenario(), model.terrain());
    let second = HALVES.iter().zip(&folders).map(|(own, folder)| {
        let checkpoint = Checkpoint::load(&file_at(folder, half), &of).expect("checkpoint");
        Node { begin: Begin::Resume(Box::new(checkpoint)), ..Node::of(&model, own, HALF_S) }
    });
    let resumed = run(second.collect());
    for (whole, resumed) in whole.into_iter().zip(resumed) {
        assert_eq!(whole.expect("runs").state_hash, resumed.expect("runs").state_hash);
    }
    folders.iter().for_each(|folder| std::fs::remove_dir_all(folder).expect("clean"));
}

#[test]
fn nodes_that_begin_at_different_heartbeats_refuse_each_other() {
    let model = model(scenario("convoy", None));
    let mut world = selene_tests::world(&model);
    world.heartbeat().expect("heartbeat");
    let checkpoint = Checkpoint { state: world.state().clone(), recent: Default::default() };
    let mut nodes: Vec<_> = HALVES.iter().map(|own| Node::of(&model, own, 1.0)).collect();
    nodes[1].begin = Begin::Resume(Box::new(checkpoint));
    let said: Vec<_> = run(nodes).into_iter().map(|ended| ended.expect_err("refused").to_string()).collect();
    assert!(said.iter().any(|said| said.contains("where it begins: here")), "{said:?}");
}

#[test]
fn nodes_that_do_not_wait_keep_their_own_pace_and_share_the_ground() {
    let model = model(scenario("convoy", None));
    let nodes = HALVES.iter().map(|own| {
        // Long enough that on a busy machine, too, most parts arrive before the end.
        let mut node = Node::of(&model, own, 3.0);
        node.options.pace = Pace::Times(1.0);
        if let Some(shared) = &mut node.options.shared {
            shared.is_free = true;
        }
        node
    });
    for ended in run(nodes.collect()) {
        let outcome = ended.expect("runs");
        let way_m = |name: &str| outcome.distances_m.iter().find(|(of, _)| of == name).map_or(0.0, |(_, way_m)| *way_m);
        // What the other node's rovers did is seen here, until the last parts that were under way.
        assert!(way_m("viper") > 0.05 && way_m("ex1") > 0.05 && way_m("sorato") > 0.02, "{:?}", outcome.distances_m);
    }
}
