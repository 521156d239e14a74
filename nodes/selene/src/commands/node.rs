//! The node commands: one node a process, over DDS.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use selene_coherence::{Links, NodeContext, RunFinder, RunId};
use selene_observe::Device;
use selene_ros::fanout::Fanout;
use selene_ros::transport::Transport;
use selene_sim::{Checkpoint, Fingerprint, Model, STATE_FILE};
use selene_simulation::{Begin, Changes, CheckpointOptions, NodeError, Pace, SharedRovers, SimulationOptions};

use crate::args::{CheckpointArgs, NodeArgs, PaceArg, PacingArgs, RutsArgs, SimulationArgs, TracingNodeArgs};
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::output::print_line;
use crate::summary::{End, Summary};
use crate::{device, interrupt, middleware, places, progress, recording};

/// `selene simulation`.
pub(crate) fn simulation(args: &SimulationArgs) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    check_outputs(&args.ruts, &args.checkpoints)?;
    let model = places::load_model(args.node.scenario.as_deref(), &args.node.world)?;
    let begin = begin(&model, &args.ruts, &args.checkpoints)?;
    let wire = middleware::open(places::domain_id()?, "selene_simulation")?;
    interrupt::check(&stop)?;
    let recorder = recording::begin(args.record.as_deref())?;
    let mut parts: Vec<Arc<dyn Transport>> = vec![wire];
    parts.extend(recorder.iter().map(|recorder| Arc::new(recorder.clone()) as Arc<dyn Transport>));
    let meter = Arc::new(Meter::new(Arc::new(Fanout::new(parts))));
    let options = simulation_options(&args.pacing, &args.ruts, &args.checkpoints, args.participants.clone());
    let shared = SharedRovers { own: args.own.clone(), awaited: args.await_rovers.clone(), is_free: args.free };
    let options = SimulationOptions { shared: (!args.own.is_empty()).then_some(shared), ..options };
    let context = context(&meter, args.node.run.run.clone().unwrap_or_else(RunId::random), model, None);
    let scenario = Arc::clone(context.model.scenario());
    let (run, domain) = (&context.links.run, places::domain_id()?);
    eprintln!("{} · simulation of run {run} on ROS domain {domain}", scenario.name);

    let ended = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let _ended = SetOnDrop::new(&ended);
        scope.spawn(|| progress::show(&meter, options.duration, &ended));
        selene_simulation::run(&context, begin, &options, &stop)
    });
    let end = End::new(outcome.map_err(Fault::run), Ok(()));
    let mut summary = Summary::new(&scenario, &end, &meter);
    summary.saved(&options);
    let recorded = recording::end(recorder.as_ref(), &mut summary);
    print_line(summary);
    end.result().and(recorded)
}

/// `selene camera`.
pub(crate) fn camera(args: &TracingNodeArgs) -> Result<(), Fault> {
    tracing_node("camera", args, selene_camera::run)
}

/// `selene lidar`.
pub(crate) fn lidar(args: &TracingNodeArgs) -> Result<(), Fault> {
    tracing_node("lidar", args, selene_lidar::run)
}

/// `selene navigation`.
pub(crate) fn navigation(args: &NodeArgs) -> Result<(), Fault> {
    node("navigation", args, selene_navigation::run)
}

fn tracing_node(
    name: &str,
    args: &TracingNodeArgs,
    run: fn(&NodeContext, Device, &AtomicBool) -> Result<(), NodeError>,
) -> Result<(), Fault> {
    let device = device::open(args.device.device)?;
    eprintln!("{name} · tracing on: {}", device.name());
    node(name, &args.node, |context, stop| run(context, device, stop))
}

/// Runs a node in the run of its world, once there is one.
fn node(
    name: &str,
    args: &NodeArgs,
    run: impl FnOnce(&NodeContext, &AtomicBool) -> Result<(), NodeError>,
) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let model = places::load_model(args.scenario.as_deref(), &args.world)?;
    let wire = middleware::open(places::domain_id()?, &format!("selene_{name}"))?;
    interrupt::check(&stop)?;
    eprintln!("{} · {name} · waiting for the simulation", model.scenario().name);
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let mut finder = RunFinder::new(wire.as_ref()).map_err(Fault::run)?;
    let Some(found) = finder.find(args.run.run.as_ref(), &own, &stop).map_err(Fault::run)? else {
        return interrupt::check(&stop);
    };
    eprintln!("{} · {name} · in run {}", model.scenario().name, found.run);
    let context = context(&Arc::new(Meter::new(wire)), found.run, model, found.told_until);
    run(&context, &stop).map_err(Fault::run)
}

/// What a node over one transport is given.
fn context(
    transport: &Arc<Meter>,
    run: RunId,
    model: Arc<Model>,
    told_until: Option<selene_base::SimTime>,
) -> NodeContext {
    let transport: Arc<dyn Transport> = Arc::clone(transport) as _;
    let links = Links { public: Arc::clone(&transport), internal: transport, run };
    NodeContext { links, folders: places::allowed_folders(model.scenario()), model, told_until }
}

/// What a run begins with.
pub(crate) fn begin(model: &Model, ruts: &RutsArgs, checkpoints: &CheckpointArgs) -> Result<Begin, Fault> {
    let Some(file) = &checkpoints.resume else {
        return Ok(Begin::Start(places::load_ruts(ruts.ruts.as_deref(), model)?));
    };
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let checkpoint = Checkpoint::load(file, &own).map_err(|error| Fault::input(format!("--resume {error}")))?;
    Ok(Begin::Resume(Box::new(checkpoint)))
}

/// Refuses, before anything is run, places where its results could not be written.
pub(crate) fn check_outputs(ruts: &RutsArgs, checkpoints: &CheckpointArgs) -> Result<(), Fault> {
    ruts.save_ruts.iter().try_for_each(|file| places::check_writable("--save-ruts", file, &STATE_FILE))?;
    checkpoints.checkpoint_dir.iter().try_for_each(|folder| places::check_folder("--checkpoint-dir", folder))
}

/// What the simulation is told.
pub(crate) fn simulation_options(
    pacing: &PacingArgs,
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
        duration: pacing.duration,
        participants,
        twist_unstamped: pacing.twist_unstamped,
        save_ruts: ruts.save_ruts.clone(),
        checkpoints: checkpoint_every
            .zip(checkpoint_dir.clone())
            .map(|(every, folder)| CheckpointOptions { every, folder }),
        shared: None,
        changes: Changes::default(),
    }
}
