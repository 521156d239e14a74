//! `selene run`: all nodes in one process, each on its own thread, in lockstep
//! over the in-process transport; DDS and the bag get the same bytes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, Scope, ScopedJoinHandle};

use selene_coherence::{Links, NodeContext, RunId};
use selene_observe::Device;
use selene_ros::BagRecorder;
use selene_ros::fanout::Fanout;
use selene_ros::in_process::InProcess;
use selene_ros::transport::Transport;
use selene_sim::{Model, Scenario};
use selene_simulation::{Begin, NodeError, SimulationOptions};
use selene_terrain::Ruts;

use crate::args::RunArgs;
use crate::bench_lines::BenchLines;
use crate::commands::node;
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::output::print_line;
use crate::run_report::RunReport;
use crate::summary::{End, Summary};
use crate::{device, interrupt, middleware, places, progress, recording};

/// All that a run needs before simulated time begins.
struct Prepared {
    model: Arc<Model>,
    begin: Begin,
    device: Device,
    wire: Option<Arc<dyn Transport>>,
}

/// Runs a scenario to its end and leaves pictures and a summary.
pub(crate) fn run(args: &RunArgs) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    places::check_folder("--out", &args.out)?;
    node::check_outputs(&args.ruts, &args.checkpoints)?;
    let Prepared { model, begin, device, wire } = prepare(args, &stop)?;
    let scenario = Arc::clone(model.scenario());
    let name = device.name();
    let neighbours = InProcess::new();
    let lines = args.report.then(|| BenchLines::open(&neighbours, &scenario)).transpose()?;
    // Last of all that can be refused, so that a refusal leaves no empty bag.
    let recorder = recording::begin(args.record.as_deref())?;
    eprintln!("{} · tracing on: {name}", scenario.name);

    let meter = Arc::new(Meter::new(Arc::new(join(&neighbours, wire, recorder.as_ref()))));
    let run = args.run.run.clone().unwrap_or_else(RunId::random);
    let public: Arc<dyn Transport> = Arc::clone(&meter) as _;
    let links = Links { public, internal: Arc::new(neighbours), run };
    let report = RunReport::open(&links, &model, ruts_of(&begin)).map_err(Fault::run)?;
    let context = NodeContext { links, folders: places::allowed_folders(&scenario), told_until: told(&begin), model };
    let options = node::simulation_options(&args.pacing, &args.ruts, &args.checkpoints, lockstep());
    let end = drive(&context, begin, &meter, &device, &options, &stop);

    let mut summary = Summary::new(&scenario, &end, &meter);
    summary.row("began tracing on", name);
    let (slip, sinkage_m) = report.slip_and_sinkage();
    summary.row("mean slip", format!("{:.1} %", slip * 100.0));
    summary.row("deepest sinkage", format!("{:.1} mm", sinkage_m * 1000.0));
    summary.saved(&options);
    let recorded = recording::end(recorder.as_ref(), &mut summary);
    let drawn = draw(&report, &args.out, &title(&scenario, &end, &meter), &mut summary);
    print_line(&summary);
    lines.iter().zip(&end.outcome).for_each(|(lines, outcome)| lines.end(outcome));
    end.result().and(recorded).and(drawn)
}

/// Loads and opens everything; the slow parts beside one another, since the first
/// image is waited for.
fn prepare(args: &RunArgs, stop: &AtomicBool) -> Result<Prepared, Fault> {
    thread::scope(|scope| {
        let domain = if args.no_dds { None } else { Some(places::domain_id()?) };
        let wire = scope.spawn(move || domain.map(|domain| middleware::open(domain, "selene")).transpose());
        let asked = args.device.device;
        let device = scope.spawn(move || device::open(asked));
        let scenario = places::load_scenario(args.scenario.as_deref(), &args.world)?;
        interrupt::check(stop)?;
        let model = places::model_of(scenario)?;
        interrupt::check(stop)?;
        let begin = node::begin(&model, &args.ruts, &args.checkpoints)?;
        let prepared = Prepared { model, begin, device: joined(device)?, wire: joined(wire)? };
        interrupt::check(stop)?;
        Ok(prepared)
    })
}

/// The ground that a run begins on.
fn ruts_of(begin: &Begin) -> Ruts {
    match begin {
        Begin::Start(driven) => driven.as_ref().map(|driven| driven.ruts.clone()).unwrap_or_default(),
        Begin::Resume(checkpoint) => checkpoint.state.ruts.clone(),
    }
}

/// Until when data were told before this run.
fn told(begin: &Begin) -> Option<selene_base::SimTime> {
    match begin {
        Begin::Start(_) => None,
        Begin::Resume(checkpoint) => Some(checkpoint.state.time),
    }
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
    context: &NodeContext,
    begin: Begin,
    meter: &Meter,
    device: &Device,
    options: &SimulationOptions,
    stop: &AtomicBool,
) -> End {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let _ended = SetOnDrop::new(&ended);
        scope.spawn(|| progress::show(meter, options.duration, &ended));
        let camera = start(scope, stop, || selene_camera::run(context, device.clone(), stop));
        let lidar = start(scope, stop, || selene_lidar::run(context, device.clone(), stop));
        let navigation = start(scope, stop, || selene_navigation::run(context, stop));
        let simulation = start(scope, stop, || selene_simulation::run(context, begin, options, stop));
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
    let distances = end.outcome.iter().flat_map(|outcome| outcome.distances_m.iter().map(|(_, m)| *m));
    let driven = format!("{:.2} m driven", distances.sum::<f64>());
    let rovers = match &scenario.rovers[..] {
        [rover] => rover.model.spec().name.clone(),
        several => format!("{} rovers", several.len()),
    };
    format!("{rovers} · {} · {simulated_s:.1} s · {driven}", scenario.name)
}

fn draw(report: &RunReport, out: &Path, title: &str, summary: &mut Summary) -> Result<(), Fault> {
    let mut fault = Ok(());
    for drawn in report.draw(out, title) {
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
