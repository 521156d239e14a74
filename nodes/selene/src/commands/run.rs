//! `selene run`: all nodes in one process, each on its own thread, in lockstep
//! over the in-process transport; DDS and the bag get the same bytes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, Scope, ScopedJoinHandle};

use selene_ros::BagRecorder;
use selene_ros::fanout::Fanout;
use selene_ros::in_process::InProcess;
use selene_ros::transport::Transport;
use selene_scene::Tracer;
use selene_sim::Scenario;
use selene_simulation::{NodeError, SimulationOptions};
use selene_terrain::Ground;

use crate::album::Album;
use crate::args::RunArgs;
use crate::commands::node;
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::output::print_line;
use crate::report::Report;
use crate::summary::{End, Summary};
use crate::{device, interrupt, middleware, places, progress, recording};

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
    args.ruts.save_ruts.iter().try_for_each(|file| places::check_writable("--save-ruts", file))?;
    let prepared = prepare(args, &stop)?;
    let scenario = Arc::clone(&prepared.scenario);
    let device = prepared.tracers[0].device();
    let neighbours = InProcess::new();
    let album = Album::open(&neighbours, &scenario, &prepared.ground).map_err(Fault::run)?;
    let report = args.report.then(|| Report::open(&neighbours, &scenario)).transpose()?;
    // Last of all that can be refused, so that a refusal leaves no empty bag.
    let recorder = recording::begin(args.record.as_deref())?;
    eprintln!("{} · tracing on: {device}", scenario.name);

    let meter = Meter::new(Arc::new(join(&neighbours, prepared.wire, recorder.as_ref())));
    let options = node::simulation_options(&args.pacing, &args.ruts, lockstep());
    let end = drive(&meter, &scenario, prepared.ground, prepared.tracers, &options, &stop);

    let mut summary = Summary::new(&scenario, &end, &meter);
    summary.row("began tracing on", device);
    let (slip, sinkage_m) = album.slip_and_sinkage();
    summary.row("mean slip", format!("{:.1} %", slip * 100.0));
    summary.row("deepest sinkage", format!("{:.1} mm", sinkage_m * 1000.0));
    summary.ruts(options.save_ruts.as_deref());
    let recorded = recording::end(recorder.as_ref(), &mut summary);
    let drawn = draw(&album, &args.out, &title(&scenario, &end, &meter), &mut summary);
    print_line(&summary);
    report.iter().zip(&end.outcome).for_each(|(report, outcome)| report.end(outcome));
    end.result().and(recorded).and(drawn)
}

/// Loads and opens everything; the slow parts beside one another, since the first
/// image is waited for.
fn prepare(args: &RunArgs, stop: &AtomicBool) -> Result<Prepared, Fault> {
    thread::scope(|scope| {
        let domain = if args.no_dds { None } else { Some(places::domain_id()?) };
        let wire = scope.spawn(move || domain.map(|domain| middleware::open(domain, "selene")).transpose());
        let device = args.device.device;
        let tracers = scope.spawn(move || Ok([device::open(device)?, device::open(device)?]));
        let scenario = places::load_driven(args.scenario.as_deref(), &args.world, args.ruts.ruts.as_deref())?;
        interrupt::check(stop)?;
        let ground = scenario.generate_ground().map_err(Fault::input)?;
        interrupt::check(stop)?;
        let prepared = Prepared { ground, scenario, tracers: joined(tracers)?, wire: joined(wire)? };
        interrupt::check(stop)?;
        Ok(prepared)
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
) -> End {
    let ended = AtomicBool::new(false);
    let [for_camera, for_lidar] = tracers;
    let (ground_of_camera, ground_of_lidar) = (ground.clone(), ground.clone());
    thread::scope(|scope| {
        let _ended = SetOnDrop::new(&ended);
        scope.spawn(|| progress::show(meter, options.duration, &ended));
        let camera = start(scope, stop, || selene_camera::run(meter, scenario, &ground_of_camera, for_camera, stop));
        let lidar = start(scope, stop, || selene_lidar::run(meter, scenario, &ground_of_lidar, for_lidar, stop));
        let navigation = start(scope, stop, || selene_navigation::run(meter, scenario, stop));
        let simulation = start(scope, stop, || selene_simulation::run(meter, scenario, ground, options, stop));
        let outcome = joined(simulation);
        End::new(outcome, joined(camera).and(joined(lidar)).and(joined(navigation)))
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
        let stop_others = SetOnDrop::new(stop);
        let done = node().map_err(Fault::run)?;
        stop_others.disarm();
        Ok(done)
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, Fault>>) -> Result<T, Fault> {
    thread.join().unwrap_or_else(|_| Err(Fault::run("a node ended unexpectedly: see the message above")))
}

fn title(scenario: &Scenario, end: &End, meter: &Meter) -> String {
    let simulated_s = end.simulated(meter).secs_f64();
    let driven = end.outcome.as_ref().map(|outcome| format!(" · {:.2} m driven", outcome.distance_m));
    let rover = &scenario.rover.spec().name;
    format!("{rover} · {} · {simulated_s:.1} s{}", scenario.name, driven.unwrap_or_default())
}

fn draw(album: &Album, out: &Path, title: &str, summary: &mut Summary) -> Result<(), Fault> {
    let mut fault = Ok(());
    for drawn in album.draw(out, title) {
        match drawn {
            Ok(path) => summary.row("picture", path.display().to_string()),
            Err(error) => {
                summary.row("picture missing", error.to_string());
                fault = Err(Fault::run(error));
            }
        }
    }
    fault
}
