//! Special cases of a world in several simulation nodes: nodes of different worlds, nodes resumed from checkpoints, and
//! nodes that are not waited for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::ThreadPoolBuilder;
use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_sim::{Checkpoint, DrivenGround, Fingerprint, Model, Scenario};
use selene_simulation::{CheckpointOptions, Pace, RunOutcome, RunStart, SharedRovers, SimulationOptions, file_at};
use selene_terrain::{GroundPatch, Ruts, TileIndex};
use selene_tests::recording_transport::RecordingTransport;
use selene_tests::{context, model, options, scenario};

const HALVES: &[&[&str]] = &[&["viper"], &["ex1", "sorato"]];
const HALF_S: f64 = 0.6;
/// Duration of a run of nodes that do not wait, s. The rovers stand by half of it, so that all data arrive before the
/// end, even on a busy machine.
const FREE_S: f64 = 5.0;
/// Length of the routes in this run, m.
const FREE_ROUTE_M: f64 = 0.3;
/// Largest difference of a node's height, m, between nodes that do not wait and one process.
const RUTS_M: f64 = 1e-3;
/// Least share of rutted nodes within this difference.
const RUTS_SHARE: f64 = 0.99;

struct Node {
    model: Arc<Model>,
    begin: RunStart,
    options: SimulationOptions,
}

impl Node {
    fn of(model: &Arc<Model>, own: &[&str], simulated_s: f64) -> Self {
        let own = own.iter().map(|&name| name.to_owned()).collect();
        let shared = Some(SharedRovers { own, awaited: Vec::new(), is_free: false, address: None });
        let options = SimulationOptions { shared, ..options(SimTime::from_secs_f64(simulated_s), &[]) };
        Self { model: Arc::clone(model), begin: RunStart::Start(None), options }
    }

    fn run(self, recording: &RecordingTransport) -> Result<RunOutcome, NodeError> {
        let context = context(Arc::new(recording.clone()), &self.model);
        selene_simulation::run(&context, self.begin, &self.options, &AtomicBool::new(false))
    }
}

/// Runs all nodes at the same time, each on a thread of its own, like separate processes. In a shared thread pool,
/// images of other tests would block a node for seconds, until the others give it up.
fn run(nodes: Vec<Node>) -> Vec<Result<RunOutcome, NodeError>> {
    let recording = &RecordingTransport::default();
    std::thread::scope(|scope| {
        let start = |node: Node| {
            let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
            scope.spawn(move || pool.install(|| node.run(recording)))
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
    let messages: Vec<_> =
        run(nodes.collect()).into_iter().map(|ended| ended.expect_err("refused").to_string()).collect();
    // The node that ends first may leave the other waiting until it learns of it.
    assert!(messages.iter().any(|messages| messages.contains("seed: here 1, there 2")), "{messages:?}");
    assert!(messages.iter().any(|messages| messages.contains("seed: here 2, there 1")), "{messages:?}");
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
        Node { begin: RunStart::Resume(Box::new(checkpoint)), ..Node::of(&model, own, HALF_S) }
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
    nodes[1].begin = RunStart::Resume(Box::new(checkpoint));
    let messages: Vec<_> = run(nodes).into_iter().map(|ended| ended.expect_err("refused").to_string()).collect();
    assert!(messages.iter().any(|messages| messages.contains("where it begins: here")), "{messages:?}");
}

/// The convoy with short routes, straight ahead.
fn short_convoy() -> Scenario {
    let mut scenario = scenario("convoy", None);
    for rover in &mut scenario.rovers {
        let (from, route) = (rover.start, rover.route.as_mut().expect("a route"));
        let (sine, cosine) = from.yaw_rad.sin_cos();
        route.waypoints_m = vec![[from.x_m + FREE_ROUTE_M * cosine, from.y_m + FREE_ROUTE_M * sine]];
    }
    scenario
}

/// Number of nodes that differ from the untouched ground in at least one of two grounds, and how many of them agree
/// within `RUTS_M`.
fn rutted_and_agreeing(model: &Model, ruts: [&Ruts; 2]) -> (usize, usize) {
    let edits = || ruts.into_iter().flat_map(Ruts::edits);
    let tiles: BTreeSet<TileIndex> = edits().map(|edit| edit.tile_index()).collect();
    let grounds = ruts.map(|ruts| {
        let mut ground = GroundPatch::new(model.terrain(), &tiles);
        ground.borrow_from(&mut ruts.clone());
        ground
    });
    let untouched_m = |node| grounds[0].natural_height_m(node);
    let heights_m = |node| grounds.each_ref().map(|ground| ground.node_height_m(node));
    let nodes: BTreeSet<_> = edits().map(|edit| edit.at()).collect();
    let rutted = nodes.into_iter().filter(|&node| heights_m(node).iter().any(|&m| m != untouched_m(node)));
    let off_m = rutted.map(heights_m).map(|[ours_m, theirs_m]| (ours_m - theirs_m).abs());
    off_m.fold((0, 0), |(rutted, agreeing), off_m| (rutted + 1, agreeing + usize::from(off_m <= RUTS_M)))
}

#[test]
fn nodes_that_do_not_wait_keep_their_own_pace_and_share_the_ground() {
    let model = model(short_convoy());
    let folder = std::env::temp_dir().join(format!("selene-free-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let nodes = HALVES.iter().map(|own| {
        let mut node = Node::of(&model, own, FREE_S);
        node.options.pace = Pace::Times(1.0);
        node.options.save_ruts = Some(folder.join(own[0]));
        if let Some(shared) = &mut node.options.shared {
            shared.is_free = true;
        }
        node
    });
    for ended in run(nodes.collect()) {
        let outcome = ended.expect("runs");
        let way_m = |name: &str| outcome.distances_m.iter().find(|(of, _)| of == name).map_or(0.0, |(_, way_m)| *way_m);
        // The movement of the other node's rovers is visible here too.
        assert!(way_m("viper") > 0.05 && way_m("ex1") > 0.05 && way_m("sorato") > 0.02, "{:?}", outcome.distances_m);
    }
    let mut one = selene_tests::world(&model);
    while one.time() < SimTime::from_secs_f64(FREE_S) {
        one.heartbeat().expect("heartbeat");
    }
    let of = Fingerprint::of_ground(&model.scenario().site, model.scenario().seed, model.terrain());
    for own in HALVES {
        let ground = DrivenGround::load(&folder.join(own[0]), &of).expect("saved");
        let (rutted, agreeing) = rutted_and_agreeing(&model, [&ground.ruts, &one.state().ruts]);
        println!("{agreeing} of {rutted} rutted nodes agree with those of one process");
        assert!(rutted > 500, "{rutted} nodes are rutted");
        assert!(agreeing as f64 >= RUTS_SHARE * rutted as f64, "with {}: {agreeing} of {rutted} agree", own[0]);
    }
    std::fs::remove_dir_all(folder).expect("clean");
}
