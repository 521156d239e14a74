//! `selene run`: all nodes in one process, each on its own thread, in lockstep
//! over the in-process transport; DDS and the bag get the same bytes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

use selene_ros::BagRecorder;
use selene_ros::fanout::Fanout;
use selene_ros::in_process::InProcess;
use selene_ros::transport::Transport;
use selene_scene::Tracer;
use selene_sim::Scenario;
use selene_simulation::{NodeError, Outcome, SimulationOptions};
use selene_terrain::Ground;

use crate::album::Album;
use crate::args::RunArgs;
use crate::commands::node;
use crate::fault::Fault;
use crate::meter::Meter;
use crate::output::print_line;
use crate::report::Report;
use crate::summary::Summary;
use crate::{device, interrupt, middleware, places, progress};

/// All that a run needs before simulated time begins.
struct Prepared {
    scenario: Arc<Scenario>,
    ground: Ground,
    tracers: [Box<dyn Tracer>; 2],
    wire: Option<Arc<dyn Transport>>,
}

/// Runs a scenario to its end and leaves pictures and a summary.
pub(crate) fn run(args: &RunArgs) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let prepared = prepare(args)?;
    // Last of all that can be refused, so that a refusal leaves no empty bag.
    let recorder = node::recorder(args.pacing.record.as_deref())?;
    let scenario = Arc::clone(&prepared.scenario);
    let device = prepared.tracers[0].device();
    eprintln!("{} · tracing on: {device}", scenario.name);

    let neighbours = InProcess::new();
    let album = Album::open(&neighbours, &scenario, &prepared.ground).map_err(Fault::run)?;
    let report = args.report.then(|| Report::open(&neighbours, &scenario)).transpose()?;
    let meter = Meter::new(Arc::new(join(&neighbours, prepared.wire, recorder.as_ref())));
    let options = node::simulation_options(&args.pacing, lockstep());
    let outcome = drive(&meter, &scenario, prepared.ground, prepared.tracers, &options, &stop)?;

    let mut summary = Summary::new(&scenario, &outcome, meter.counts());
    summary.row("tracing on", device);
    let (slip, sinkage_m) = album.slip_and_sinkage();
    summary.row("mean slip", format!("{:.1} %", slip * 100.0));
    summary.row("deepest sinkage", format!("{:.1} mm", sinkage_m * 1000.0));
    let bag = recorder.map(|recorder| recorder.finish());
    bag.iter().for_each(|bag| summary.bag(bag));
    let drawn = draw(&album, args, &scenario, &outcome, &mut summary);
    print_line(&summary);
    report.iter().for_each(|report| report.end(&outcome));
    drawn
}

/// Loads and opens everything; the slow parts beside one another, since the first
/// image is waited for.
fn prepare(args: &RunArgs) -> Result<Prepared, Fault> {
    thread::scope(|scope| {
        let domain = if args.no_dds { None } else { Some(places::domain_id()?) };
        let wire = scope.spawn(move || domain.map(|domain| middleware::open(domain, "selene")).transpose());
        let device = args.device.device;
        let tracers = scope.spawn(move || Ok([device::open(device)?, device::open(device)?]));
        let scenario = places::load_scenario(args.scenario.as_deref(), &args.world)?;
        let ground = scenario.generate_ground().map_err(Fault::input)?;
        Ok(Prepared { ground, scenario, tracers: joined(tracers)?, wire: joined(wire)? })
    })
}

/// In-process first, so that nobody outside hears of a message before the nodes.
fn join(neighbours: &InProcess, wire: Option<Arc<dyn Transport>>, recorder: Option<&BagRecorder>) -> Fanout {
    let mut parts: Vec<Arc<dyn Transport>> = vec![Arc::new(neighbours.clone())];
    parts.extend(wire);
    parts.extend(recorder.map(|recorder| Arc::new(recorder.clone()) as Arc<dyn Transport>));
    Fanout::new(parts)
}

fn lockstep() -> Vec<String> {
    [selene_camera::PARTICIPANT, selene_lidar::PARTICIPANT, selene_navigation::PARTICIPANT].map(str::to_owned).to_vec()
}

/// Runs the nodes until the simulation's end. A node that fails ends the run.
fn drive(
    meter: &Meter,
    scenario: &Arc<Scenario>,
    ground: Ground,
    tracers: [Box<dyn Tracer>; 2],
    options: &SimulationOptions,
    stop: &AtomicBool,
) -> Result<Outcome, Fault> {
    let ended = AtomicBool::new(false);
    let [for_camera, for_lidar] = tracers;
    let (ground_of_camera, ground_of_lidar) = (ground.clone(), ground.clone());
    thread::scope(|scope| {
        scope.spawn(|| progress::show(meter, options.duration, &ended));
        let camera = start(scope, stop, || selene_camera::run(meter, scenario, &ground_of_camera, for_camera, stop));
        let lidar = start(scope, stop, || selene_lidar::run(meter, scenario, &ground_of_lidar, for_lidar, stop));
        let navigation = start(scope, stop, || selene_navigation::run(meter, scenario, stop));
        let simulation = start(scope, stop, || selene_simulation::run(meter, scenario, ground, options, stop));
        let outcome = joined(simulation);
        let sensors = [joined(camera), joined(lidar), joined(navigation)];
        ended.store(true, Ordering::Relaxed);
        // A sensor that failed is why the simulation was stopped: it comes first.
        sensors.into_iter().collect::<Result<Vec<()>, _>>()?;
        outcome
    })
}

/// Starts a node on its own thread; when it fails, however it fails, all others
/// are asked to stop.
fn start<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    stop: &'scope AtomicBool,
    node: impl FnOnce() -> Result<T, NodeError> + Send + 'scope,
) -> ScopedJoinHandle<'scope, Result<T, Fault>> {
    scope.spawn(move || {
        let mut all_well = StopOnDrop { stop, armed: true };
        let result = node().map_err(Fault::run);
        all_well.armed = result.is_err();
        result
    })
}

struct StopOnDrop<'a> {
    stop: &'a AtomicBool,
    armed: bool,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, Fault>>) -> Result<T, Fault> {
    thread.join().unwrap_or_else(|_| Err(Fault::run("a node ended unexpectedly: see the message above")))
}

fn draw(
    album: &Album,
    args: &RunArgs,
    scenario: &Scenario,
    outcome: &Outcome,
    summary: &mut Summary,
) -> Result<(), Fault> {
    let (simulated_s, distance_m) = (outcome.simulated.secs_f64(), outcome.distance_m);
    let rover = &scenario.rover.spec().name;
    let title = format!("{rover} · {} · {simulated_s:.1} s · {distance_m:.2} m driven", scenario.name);
    let mut fault = Ok(());
    for drawn in album.draw(Path::new(&args.out), &title) {
        match drawn {
            Ok(path) => summary.row("picture", path.display().to_string()),
            Err(error) => fault = Err(Fault::run(error)),
        }
    }
    fault
}
