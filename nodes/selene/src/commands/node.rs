//! The node commands: each runs one node in a process of its own, over DDS.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext, RunFinder, RunId};
use selene_observe::Devices;
use selene_ros::fanout::Fanout;
use selene_ros::transport::Transport;
use selene_sim::{Checkpoint, Fingerprint, Model, STATE_FILE};
use selene_simulation::{
    CheckpointOptions, ControlOptions, NodeError, Pace, RunStart, SharedRovers, SimulationOptions, Timeline,
};

use crate::args::{
    CheckpointArgs, NodeArgs, PaceArg, PacingArgs, RutsArgs, SimulationArgs, SoilDevice, TracingNodeArgs,
};
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::middleware::Network;
use crate::output::print_line;
use crate::progress::Progress;
use crate::remap::Remap;
use crate::ros_args::RosArgs;
use crate::rosout::Backlog;
use crate::summary::{Published, RunEnd, Summary};
use crate::traffic::{BANDWIDTH, Traffic};
use crate::verbosity::Verbosity;
use crate::wire::Wire;
use crate::{device, interrupt, own_services, parameters, places, recording, timing};

/// Name of the simulation's ROS node. Its services have this name, whichever process of a shared world leads.
const SIMULATION: &str = "selene_simulation";

/// Executes `selene simulation`.
pub(crate) fn simulation(
    args: &SimulationArgs,
    verbosity: Verbosity,
    ros: &RosArgs,
    log: Backlog,
) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    check_outputs(&args.ruts, &args.checkpoints)?;
    if args.pacing.start_paused && !args.own.is_empty() {
        return Err(Fault::input("--start-paused: a world that several processes share (--own) cannot be paused"));
    }
    let network = Network::requested(&args.node.network)?;
    let timeline = timing::timeline(&args.pacing)?;
    let model = places::load_model(args.node.scenario.as_deref(), &args.node.world, args.granular.soil_device)?;
    let names = ros.names(&node_name(&model, &args.own))?;
    let begin = begin(&model, &args.ruts, &args.checkpoints)?;
    let wire = Wire::open(network.join(&names)?, &args.link, &timeline)?;
    interrupt::check(&stop)?;
    let participants = args.participants.clone();
    let options = simulation_options(SIMULATION, &args.pacing, timeline, &args.ruts, &args.checkpoints, participants);
    let shared = SharedRovers {
        own: args.own.clone(),
        awaited: args.await_rovers.clone(),
        is_free: args.free,
        address: network.address(),
    };
    let options = SimulationOptions { shared: (!args.own.is_empty()).then_some(shared), ..options };
    options.settings.begin(&begin);
    let run = args.node.run.run.clone().unwrap_or_else(RunId::random);
    let parameters = parameters::of_simulation(&model, &run, &options);
    let parameters = ros.set(parameters, &names)?;
    let recorder = recording::begin(args.record.as_deref(), &args.recording)?;
    let mut parts: Vec<Arc<dyn Transport>> = vec![Arc::clone(&wire) as Arc<dyn Transport>];
    parts.extend(recorder.iter().map(|recorder| Remap::over(Arc::new(recorder.clone()), &names)));
    let began = reported(&begin).unwrap_or(SimTime::ZERO);
    let meter = Arc::new(Meter::new(Arc::new(Fanout::new(parts))).beginning_at(began));
    let rosout = log.publish(&meter, &names.logger())?;
    let served = own_services::serve(&meter, &names, parameters);
    let traffic = Traffic {
        status: BANDWIDTH.to_owned(),
        meter: Arc::clone(&meter),
        wire: Some(wire),
        limit_bytes_s: args.link.bandwidth_limit,
    };
    let context = context(&meter, run, model, None);
    let scenario = Arc::clone(context.model.scenario());
    let (run, domain) = (&context.links.run, network.domain_id());
    verbosity.note(format_args!("{} · simulation of run {run} on ROS domain {domain}", scenario.name));
    tracing::info!("run {run} of {} begins", scenario.name);

    let ended = AtomicBool::new(false);
    let progress = Progress { meter: &meter, drive: None, first_image_to: None, duration: options.duration, verbosity };
    let outcome = thread::scope(|scope| {
        let _ended = SetOnDrop::new(&ended);
        scope.spawn(|| progress.show(&ended));
        scope.spawn(|| traffic.report(&context.links, &ended));
        selene_simulation::run(&context, begin, &options, &stop)
    });
    // These must end before the bag.
    drop((served, rosout));
    let end = RunEnd::new(outcome.map_err(Fault::run), Ok(()));
    let mut summary = Summary::new(&scenario, &end, &traffic);
    summary.saved(&options);
    let recorded = recording::end(recorder.as_ref(), &mut summary);
    if end.has_begun(&traffic.meter) {
        print_line(summary);
    }
    end.result().and(recorded)
}

/// The name of the node that simulates these rovers: each process of a shared world has its own.
fn node_name(model: &Model, own: &[String]) -> String {
    // Unknown rovers are refused later, all at once.
    let rover = own.iter().find(|name| model.rover_named(name).is_some());
    rover.map_or_else(|| SIMULATION.to_owned(), |rover| format!("{SIMULATION}_{rover}"))
}

/// Executes `selene camera`.
pub(crate) fn camera(args: &TracingNodeArgs, verbosity: Verbosity, ros: &RosArgs, log: Backlog) -> Result<(), Fault> {
    tracing_node("camera", args, verbosity, (ros, log), device::check_cameras, selene_camera::run)
}

/// Executes `selene lidar`.
pub(crate) fn lidar(args: &TracingNodeArgs, verbosity: Verbosity, ros: &RosArgs, log: Backlog) -> Result<(), Fault> {
    tracing_node("lidar", args, verbosity, (ros, log), device::check_lidars, selene_lidar::run)
}

/// Executes `selene navigation`.
pub(crate) fn navigation(args: &NodeArgs, verbosity: Verbosity, ros: &RosArgs, log: Backlog) -> Result<(), Fault> {
    node("navigation", args, verbosity, (ros, log), |_| Ok(()), selene_navigation::run)
}

fn tracing_node(
    name: &str,
    args: &TracingNodeArgs,
    verbosity: Verbosity,
    ros: (&RosArgs, Backlog),
    check: fn(&Devices, &Model) -> Result<(), Fault>,
    run: fn(&NodeContext, Devices, &AtomicBool) -> Result<(), NodeError>,
) -> Result<(), Fault> {
    let devices = device::open(args.device.device)?;
    verbosity.note(format_args!("{name} · tracing on: {}", devices.usual().name()));
    let check = |model: &Model| check(&devices, model);
    node(name, &args.node, verbosity, ros, check, |context, stop| run(context, devices.clone(), stop))
}

/// Waits for a run of the node's world and runs the node in it; `check` may refuse the world before.
fn node(
    name: &str,
    args: &NodeArgs,
    verbosity: Verbosity,
    (ros, log): (&RosArgs, Backlog),
    check: impl FnOnce(&Model) -> Result<(), Fault>,
    run: impl FnOnce(&NodeContext, &AtomicBool) -> Result<(), NodeError>,
) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let network = Network::requested(&args.network)?;
    let model = places::load_model(args.scenario.as_deref(), &args.world, SoilDevice::Cpu)?;
    check(&model)?;
    let names = ros.names(&format!("selene_{name}"))?;
    let wire = network.join(&names)?;
    verbosity.note(format_args!("{} · {name} · waiting for the simulation", model.scenario().name));
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let mut finder = RunFinder::new(wire.as_ref()).map_err(Fault::run)?;
    let Some(found) = finder.find(args.run.run.as_ref(), &own, &stop).map_err(Fault::run)? else {
        // Ctrl-C while waiting is a clean end: the node has nothing to finish.
        return if interrupt::requested(&stop) { Ok(()) } else { Err(Fault::run("the ROS domain was left")) };
    };
    verbosity.note(format_args!("{} · {name} · in run {}", model.scenario().name, found.run));
    let parameters = ros.set(parameters::of_node(&model, &found.run), &names)?;
    let meter = Arc::new(Meter::new(wire));
    let _rosout = log.publish(&meter, &names.logger())?;
    let _served = own_services::serve(&meter, &names, parameters);
    tracing::info!("{name} in run {} of {}", found.run, model.scenario().name);
    let context = context(&meter, found.run, model, found.published_until);
    let _clock = meter.follow_clock().map_err(Fault::run)?;
    let traffic = Traffic {
        status: format!("{BANDWIDTH} of {name}"),
        meter: Arc::clone(&meter),
        wire: None,
        limit_bytes_s: None,
    };
    let over = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        let _over = SetOnDrop::new(&over);
        scope.spawn(|| traffic.report(&context.links, &over));
        run(&context, &stop).map_err(Fault::run)
    });
    print_line(Published(meter.counts()));
    ended
}

/// The context of a node whose topics are all on one transport.
fn context(transport: &Arc<Meter>, run: RunId, model: Arc<Model>, published_until: Option<SimTime>) -> NodeContext {
    let transport: Arc<dyn Transport> = Arc::clone(transport) as _;
    let links = Links { public: Arc::clone(&transport), internal: transport, run };
    NodeContext { links, folders: places::allowed_folders(model.scenario()), model, published_until }
}

/// The start of a run: a checkpoint, or the scenario with the ruts of an earlier run.
pub(crate) fn begin(model: &Model, ruts: &RutsArgs, checkpoints: &CheckpointArgs) -> Result<RunStart, Fault> {
    let Some(file) = &checkpoints.resume else {
        return Ok(RunStart::Start(places::load_ruts(ruts.ruts.as_deref(), model)?));
    };
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let checkpoint = Checkpoint::load(file, &own).map_err(|error| Fault::input(format!("--resume {error}")))?;
    Ok(RunStart::Resume(Box::new(checkpoint)))
}

/// Simulated time up to which an earlier run has published data; `None` unless the run resumes from a checkpoint.
pub(crate) fn reported(begin: &RunStart) -> Option<SimTime> {
    match begin {
        RunStart::Start(_) => None,
        RunStart::Resume(checkpoint) => Some(checkpoint.state.time),
    }
}

/// Refuses outputs that could not be written, before the run begins.
pub(crate) fn check_outputs(ruts: &RutsArgs, checkpoints: &CheckpointArgs) -> Result<(), Fault> {
    ruts.save_ruts.iter().try_for_each(|file| places::check_writable("--save-ruts", file, &STATE_FILE))?;
    checkpoints.checkpoint_dir.iter().try_for_each(|folder| places::check_folder("--checkpoint-dir", folder))
}

/// The options of the simulation in the node of this name.
pub(crate) fn simulation_options(
    node: &str,
    pacing: &PacingArgs,
    timeline: Timeline,
    ruts: &RutsArgs,
    checkpoints: &CheckpointArgs,
    participants: Vec<String>,
) -> SimulationOptions {
    let pace = match pacing.pace {
        PaceArg::RealTime => Pace::Times(1.0),
        PaceArg::Fast => Pace::Fast,
        PaceArg::Times(factor) => Pace::Times(factor),
    };
    let CheckpointArgs { checkpoint_every, checkpoint_dir, .. } = checkpoints;
    SimulationOptions {
        pace,
        timeline,
        realtime_priority: pacing.realtime_priority,
        duration: pacing.duration,
        participants,
        twist_unstamped: pacing.twist_unstamped,
        save_ruts: ruts.save_ruts.clone(),
        checkpoints: checkpoint_every
            .zip(checkpoint_dir.clone())
            .map(|(every, folder)| CheckpointOptions { every, folder }),
        control: ControlOptions {
            node: Some(format!("/{node}")),
            at_root: pacing.control_at_root,
            starts_paused: pacing.start_paused,
            worlds: None,
        },
        ..SimulationOptions::default()
    }
}
