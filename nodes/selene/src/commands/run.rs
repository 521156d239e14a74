//! `selene run`: all nodes in one process, each on its own thread, in lockstep over the in-process transport; DDS and
//! the bag get the same bytes. On a request for another world, all nodes end and new ones start in it (`worlds`); the
//! process stays on its ROS domain, and the addresses of its console do not change.

mod worlds;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::thread::{self, Scope, ScopedJoinHandle};

use selene_base::SimTime;
use selene_base::output::PNG;
use selene_coherence::{Links, NodeContext, RunId};
use selene_console::{ConsoleOptions, ListeningSocket, Token};
use selene_observe::Devices;
use selene_ros::BagRecorder;
use selene_ros::fanout::Fanout;
use selene_ros::in_process::InProcess;
use selene_ros::parameters::Parameters;
use selene_ros::transport::Transport;
use selene_sim::{Model, Scenario};
use selene_simulation::{NodeError, RunOutcome, RunStart, SimulationOptions, Timeline, WorldRequest, Worlds};
use selene_terrain::Ruts;

use crate::announcement::Announcement;
use crate::args::{LinkArgs, RunArgs};
use crate::bench_lines::BenchLines;
use crate::commands::viewers::{self, Viewers};
use crate::commands::{console, node};
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::middleware::Network;
use crate::output::print_line;
use crate::progress::Progress;
use crate::remap::{Names, Remap};
use crate::ros_args::RosArgs;
use crate::rosout::Backlog;
use crate::run_report::{self, RunReport};
use crate::summary::{RunEnd, Summary};
use crate::traffic::{BANDWIDTH, Traffic};
use crate::verbosity::Verbosity;
use crate::wire::Wire;
use crate::{device, figures, interrupt, own_services, parameters, places, recording, timing};
use worlds::{LoadedWorld, Loader, offered};

/// Default name of the process as a ROS node.
const NODE: &str = "selene";

/// What a process loads and opens before simulated time begins.
struct Prepared {
    model: Arc<Model>,
    begin: RunStart,
    devices: Devices,
    wire: Option<Arc<dyn Transport>>,
}

/// The state of the process that stays when one world replaces another.
struct Process<'a> {
    /// The arguments of the command line.
    typed: &'a RunArgs,
    ros: &'a RosArgs,
    names: Names,
    devices: Devices,
    /// The transport to other processes; each world wraps it with the limits and impairments of the command line.
    wire: Option<Arc<dyn Transport>>,
    token: Option<Token>,
    console: Option<ListeningSocket>,
    foxglove: Option<ListeningSocket>,
    log: Backlog,
    verbosity: Verbosity,
    stop: Arc<AtomicBool>,
}

/// Runs a scenario to its end and writes pictures and a summary; then runs the next world, if one was requested.
pub(crate) fn run(args: &RunArgs, verbosity: Verbosity, ros: &RosArgs, log: Backlog) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    check_outputs(args)?;
    viewers::check(&args.viewers)?;
    timing::timeline(&args.pacing)?;
    let names = ros.names(NODE)?;
    let Prepared { model, begin, devices, wire } = prepare(args, &names, &stop)?;
    check_link(wire.is_some(), &args.link)?;
    check_pictures(args, model.scenario())?;
    let process = Process {
        typed: args,
        ros,
        names,
        devices,
        wire,
        token: console::token(args.console.console_control)?,
        console: console::listening_socket(&args.console)?,
        foxglove: viewers::listening_socket(&args.viewers)?,
        log,
        verbosity,
        stop,
    };
    process.run(LoadedWorld { args: args.clone(), number: 1, model, begin })
}

impl Process<'_> {
    /// Runs the first world and all that replace it. Returns the first fault; a node that fails ends the process.
    fn run(&self, first: LoadedWorld) -> Result<(), Fault> {
        let (mut next, mut result) = (Some(first), Ok(()));
        while let Some(world) = next.take() {
            let ended = self.run_world(world, &mut next);
            result = result.and(ended);
            next = next.filter(|_| !interrupt::requested(&self.stop));
        }
        result
    }

    /// Runs a world to its end, and puts the world that replaces it, if any, into `next`.
    fn run_world(&self, world: LoadedWorld, next: &mut Option<LoadedWorld>) -> Result<(), Fault> {
        let Self { names, devices, verbosity, .. } = self;
        let LoadedWorld { args, number, model, begin } = world;
        let scenario = Arc::clone(model.scenario());
        let name = devices.usual().name();
        let timeline = timing::timeline(&args.pacing)?;
        let wire = self.wire.clone().map(|wire| Wire::open(wire, &args.link, &timeline)).transpose()?;
        let neighbours = InProcess::new();
        let lines = args.report.then(|| BenchLines::open(&neighbours, &scenario, &args)).transpose()?;
        let (options, requested) = options(&args, timeline, &scenario);
        let run = args.run.run.clone().unwrap_or_else(RunId::random);
        options.settings.begin(&begin);
        let parameters = self.parameters(number, parameters::of_simulation(&model, &run, &options))?;
        let console = self.console.as_ref().map(ListeningSocket::again).transpose().map_err(Fault::run)?;
        let foxglove = self.foxglove.as_ref().map(ListeningSocket::again).transpose().map_err(Fault::run)?;
        // After everything that can be refused, so that a refusal leaves no empty bag.
        let recorder = recording::begin(args.record.as_deref(), &args.recording)?;
        let viewers = Viewers::begin(&args.viewers, foxglove, &run, &model, ruts_of(&begin))?;
        let taps = taps(recorder.as_ref(), &viewers, names);
        let domain = wire.as_ref().and_then(|_| places::domain_id().ok());
        verbosity.note(Announcement { scenario: &scenario, args: &args, tracer: &name, domain });

        let all = Arc::new(join(&neighbours, wire.clone(), &taps));
        let meter = Arc::new(Meter::new(all).beginning_at(node::reported(&begin).unwrap_or(SimTime::ZERO)));
        let rosout = self.log.publish(&meter, &names.logger())?;
        let served = own_services::serve(&meter, names, parameters);
        let traffic = Traffic {
            status: BANDWIDTH.to_owned(),
            meter: Arc::clone(&meter),
            wire,
            limit_bytes_s: args.link.bandwidth_limit,
        };
        tracing::info!("run {run} of {} begins, tracing on {name}", scenario.name);
        let public: Arc<dyn Transport> = Arc::clone(&meter) as _;
        // The recorder takes internal topics only if an option enables it.
        let links = Links { public, internal: Arc::new(join(&neighbours, None, &taps)), run };
        let report = RunReport::open(&links, &model, ruts_of(&begin)).map_err(Fault::run)?;
        let context = NodeContext {
            links,
            folders: places::allowed_folders(&scenario),
            published_until: node::reported(&begin),
            model,
        };
        let watched = self.console_options(&options);
        // The console publishes to the nodes and the bag only: over the wire too, each message would arrive twice.
        let watch = |listening_socket| console::begin(listening_socket, Arc::clone(&context.links.internal), &watched);
        let console = console.map(watch).transpose()?;
        let (drive, first_image_to) = (Some(&report), (!args.no_pictures).then_some(args.out.as_path()));
        let progress =
            Progress { meter: &meter, drive, first_image_to, duration: options.duration, verbosity: *verbosity };
        let sensing = sensing(&args);
        let nodes =
            Nodes { context: &context, traffic: &traffic, devices, options: &options, sensing, stop: &self.stop };
        let (end, then) = nodes.run(begin, &progress, self.loader(&args, number, &options, requested));
        *next = then;
        let refused = console.as_ref().and_then(console::refused);
        // These must end before the bag.
        drop((console, served, rosout));

        let refused = refused.map(|reported| ("console refused", reported));
        let then = next.as_ref().map(|next| ("switches to", next.model.scenario().name.clone()));
        let rows = [("began tracing on", name)].into_iter().chain(refused).chain(then).collect();
        let (recorder, options) = (recorder.as_ref(), &options);
        let over = EndedRun { args: &args, scenario: &scenario, options, traffic: &traffic, report: &report, recorder };
        over.conclude(end, rows, viewers, lines.as_ref())
    }

    /// Applies the ROS arguments to the parameters, in the first world only: other worlds may have other parameters.
    fn parameters(&self, number: u32, parameters: Parameters) -> Result<Parameters, Fault> {
        if number == 1 { self.ros.set(parameters, &self.names) } else { Ok(parameters) }
    }

    /// The options of the run's console.
    fn console_options(&self, options: &SimulationOptions) -> ConsoleOptions {
        ConsoleOptions {
            token: self.token.clone(),
            control_nodes: vec![options.control.node.clone().unwrap_or_else(|| self.names.full())],
            parameters_nodes: vec![self.names.full()],
            twist_unstamped: options.twist_unstamped,
        }
    }

    /// The loader of the world that replaces this one.
    fn loader<'b>(
        &'b self,
        present: &'b RunArgs,
        number: u32,
        options: &'b SimulationOptions,
        requested: Receiver<WorldRequest>,
    ) -> Loader<'b> {
        Loader {
            typed: self.typed,
            present,
            number,
            devices: &self.devices,
            has_wire: self.wire.is_some(),
            requested,
            changes: &options.changes,
        }
    }
}

/// A world that has ended, with all that its summary needs.
struct EndedRun<'a> {
    args: &'a RunArgs,
    scenario: &'a Scenario,
    options: &'a SimulationOptions,
    traffic: &'a Traffic,
    report: &'a RunReport,
    recorder: Option<&'a BagRecorder>,
}

impl EndedRun<'_> {
    /// Closes its files, draws its pictures and prints its summary, to which `rows` are added.
    fn conclude(
        &self,
        end: RunEnd,
        rows: Vec<(&'static str, String)>,
        viewers: Viewers,
        lines: Option<&BenchLines>,
    ) -> Result<(), Fault> {
        let Self { args, scenario, options, traffic, report, recorder } = *self;
        let mut summary = Summary::new(scenario, &end, traffic);
        rows.into_iter().for_each(|(label, reported)| summary.row(label, reported));
        let (slip, sinkage_m) = report.slip_and_sinkage();
        summary.row("mean slip", format!("{:.1} %", slip * 100.0));
        summary.row("deepest sinkage", format!("{:.1} mm", sinkage_m * 1000.0));
        summary.saved(options);
        let shown = viewers.end(&mut summary);
        let recorded = recording::end(recorder, &mut summary);
        // A run that failed at its start has nothing to show; its fault tells why.
        let has_begun = end.has_begun(&traffic.meter);
        let drawn =
            if has_begun { draw(report, args, &title(scenario, &end, &traffic.meter), &mut summary) } else { Ok(()) };
        let reported = figures::write(args.figures.as_deref(), end.outcome.as_ref(), report);
        if has_begun {
            print_line(&summary);
        }
        lines.into_iter().zip(&end.outcome).for_each(|(lines, outcome)| lines.end(outcome));
        end.result().and(recorded).and(shown).and(drawn).and(reported)
    }
}

/// Refuses outputs that could not be written, before the run begins.
fn check_outputs(args: &RunArgs) -> Result<(), Fault> {
    if !args.no_pictures {
        places::check_folder("--out", &args.out)?;
    }
    figures::check(args.figures.as_deref())?;
    node::check_outputs(&args.ruts, &args.checkpoints)
}

/// Refuses pictures that would replace a file of another kind, before the run begins.
fn check_pictures(args: &RunArgs, scenario: &Scenario) -> Result<(), Fault> {
    if args.no_pictures {
        return Ok(());
    }
    let mut files = run_report::picture_files(scenario).into_iter();
    files.try_for_each(|file| places::check_writable("--out", &args.out.join(file), &PNG))
}

/// Loads and opens everything, the slow parts in parallel: the user waits for the first image.
fn prepare(args: &RunArgs, names: &Names, stop: &AtomicBool) -> Result<Prepared, Fault> {
    thread::scope(|scope| {
        let network = if args.no_dds { None } else { Some(Network::requested(&args.network)?) };
        let wire = scope.spawn(move || network.map_or(Ok(None), |network| network.open(names)));
        let requested = args.device.device;
        let devices = scope.spawn(move || device::open(requested));
        let scenario = places::load_scenario(args.scenario.as_deref(), &args.world)?;
        interrupt::check(stop)?;
        let model = places::model_of(scenario, args.granular.soil_device)?;
        interrupt::check(stop)?;
        let begin = node::begin(&model, &args.ruts, &args.checkpoints)?;
        let devices = joined(devices)?;
        device::check(&devices, &model)?;
        let wire = joined(wire)?;
        if wire.is_none() {
            places::check_answerable(&model)?;
        }
        let prepared = Prepared { model, begin, devices, wire };
        interrupt::check(stop)?;
        Ok(prepared)
    })
}

/// The ruts on which a run begins.
fn ruts_of(begin: &RunStart) -> Ruts {
    match begin {
        RunStart::Start(driven) => driven.as_ref().map(|driven| driven.ruts.clone()).unwrap_or_default(),
        RunStart::Resume(checkpoint) => checkpoint.state.ruts.clone(),
    }
}

/// Refuses options about the wire if there is none.
fn check_link(has_wire: bool, link: &LinkArgs) -> Result<(), Fault> {
    if !has_wire && link.is_given() {
        let reported = "--bandwidth-limit, --late-frames and --impair are about the wire: with --no-dds, or with \
                    ROS_AUTOMATIC_DISCOVERY_RANGE=OFF, there is none";
        return Err(Fault::input(reported));
    }
    Ok(())
}

/// The options of the simulation, and the receiver of requests for another world.
fn options(args: &RunArgs, timeline: Timeline, scenario: &Scenario) -> (SimulationOptions, Receiver<WorldRequest>) {
    let present = scenario.file().to_owned();
    let (worlds, requested) = Worlds::offering(move || offered(&present));
    let waited_for = lockstep(sensing(args));
    let mut options = node::simulation_options(NODE, &args.pacing, timeline, &args.ruts, &args.checkpoints, waited_for);
    options.control.worlds = Some(worlds);
    (options, requested)
}

/// Joins the transports. The in-process one is first, so that the nodes get each message before other processes.
fn join(neighbours: &InProcess, wire: Option<Arc<Wire>>, taps: &[Arc<dyn Transport>]) -> Fanout {
    let mut parts: Vec<Arc<dyn Transport>> = vec![Arc::new(neighbours.clone())];
    parts.extend(wire.map(|wire| wire as Arc<dyn Transport>));
    parts.extend_from_slice(taps);
    Fanout::new(parts)
}

/// The transports that only receive: the bag and the viewers, with the remapped names.
fn taps(recorder: Option<&BagRecorder>, viewers: &Viewers, names: &Names) -> Vec<Arc<dyn Transport>> {
    let recorder = recorder.map(|recorder| Arc::new(recorder.clone()) as Arc<dyn Transport>);
    recorder.into_iter().chain(viewers.taps()).map(|tap| Remap::over(tap, names)).collect()
}

/// The sensor nodes that run beside the simulation.
#[derive(Clone, Copy)]
pub(crate) enum Sensing {
    Camera,
    Lidar,
    Navigation,
}

impl Sensing {
    pub(crate) const ALL: [Self; 3] = [Self::Camera, Self::Lidar, Self::Navigation];

    /// Its name as a participant in lockstep.
    fn participant(self) -> &'static str {
        match self {
            Self::Camera => selene_camera::PARTICIPANT,
            Self::Lidar => selene_lidar::PARTICIPANT,
            Self::Navigation => selene_navigation::PARTICIPANT,
        }
    }

    /// Runs the node until the run's end or `stop`.
    pub(crate) fn run(self, context: &NodeContext, devices: &Devices, stop: &AtomicBool) -> Result<(), NodeError> {
        match self {
            Self::Camera => selene_camera::run(context, devices.clone(), stop),
            Self::Lidar => selene_lidar::run(context, devices.clone(), stop),
            Self::Navigation => selene_navigation::run(context, stop),
        }
    }
}

/// Names of the nodes that the simulation waits for.
pub(crate) fn lockstep(nodes: &[Sensing]) -> Vec<String> {
    nodes.iter().map(|node| node.participant().to_owned()).collect()
}

/// The sensor nodes of this run.
fn sensing(args: &RunArgs) -> &'static [Sensing] {
    if args.no_sensors { &[] } else { &Sensing::ALL }
}

/// The nodes of a run, and what they share.
struct Nodes<'a> {
    context: &'a NodeContext,
    traffic: &'a Traffic,
    devices: &'a Devices,
    options: &'a SimulationOptions,
    sensing: &'static [Sensing],
    stop: &'a AtomicBool,
}

impl Nodes<'_> {
    /// Runs the nodes until the simulation ends. Returns how it ended, and the world that replaces this one, if any. A
    /// node that fails ends the run.
    fn run(&self, begin: RunStart, progress: &Progress<'_>, loader: Loader<'_>) -> (RunEnd, Option<LoadedWorld>) {
        let Self { context, traffic, devices, options, sensing, stop } = *self;
        let ended = &AtomicBool::new(false);
        thread::scope(|scope| {
            let has_ended = SetOnDrop::new(ended);
            scope.spawn(|| progress.show(ended));
            scope.spawn(|| traffic.report(&context.links, ended));
            let next = scope.spawn(move || loader.next(ended));
            let sense = |node: &'static Sensing| start(scope, stop, move || node.run(context, devices, stop));
            let sensing: Vec<_> = sensing.iter().map(sense).collect();
            let simulation = start(scope, stop, || selene_simulation::run(context, begin, options, stop));
            let outcome = joined(simulation);
            let end = RunEnd::new(outcome, sensing.into_iter().map(joined).fold(Ok(()), Result::and));
            drop(has_ended);
            // A panic of the loader has been printed, and the run went on without it.
            (end, next.join().unwrap_or_default())
        })
    }
}

/// Starts a node on its own thread. When it fails or panics, all others are stopped.
pub(crate) fn start<'scope, 'env, T: Send + 'scope>(
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

/// Joins a node's thread and returns its result.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, Fault>>) -> Result<T, Fault> {
    thread.join().unwrap_or_else(|_| Err(Fault::run("a node ended unexpectedly: see the message above")))
}

fn title(scenario: &Scenario, end: &RunEnd, meter: &Meter) -> String {
    let simulated_s = end.simulated(meter).secs_f64();
    let total_m = |outcome: &RunOutcome| outcome.distances_m.iter().map(|(_, m)| *m).sum::<f64>();
    let driven = end.outcome.as_ref().map(|outcome| format!(" · {:.2} m driven", total_m(outcome))).unwrap_or_default();
    let rovers = match &scenario.rovers[..] {
        [rover] => rover.model.spec().name.clone(),
        several => format!("{} rovers", several.len()),
    };
    format!("{rovers} · {} · {simulated_s:.1} s{driven}", scenario.name)
}

fn draw(report: &RunReport, args: &RunArgs, title: &str, summary: &mut Summary) -> Result<(), Fault> {
    let mut fault = Ok(());
    if args.no_pictures {
        return fault;
    }
    for drawn in report.draw(&args.out, title) {
        match drawn {
            Ok(path) => summary.row("picture", places::whole(&path).display().to_string()),
            Err(error) => {
                summary.row("picture missing", error.to_string());
                fault = Err(Fault::run(error));
            }
        }
    }
    fault
}
