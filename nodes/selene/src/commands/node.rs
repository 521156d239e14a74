//! The node commands: one node a process, over DDS.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use selene_ros::fanout::Fanout;
use selene_ros::transport::Transport;
use selene_scene::Tracer;
use selene_sim::Scenario;
use selene_simulation::{NodeError, Pace, SimulationOptions};
use selene_terrain::Ground;

use crate::args::{NodeArgs, PaceArg, PacingArgs, RutsArgs, SimulationArgs, TracingNodeArgs};
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::output::print_line;
use crate::summary::{End, Summary};
use crate::{device, interrupt, middleware, places, progress, recording};

/// `selene simulation`.
pub(crate) fn simulation(args: &SimulationArgs) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    args.ruts.save_ruts.iter().try_for_each(|file| places::check_writable("--save-ruts", file))?;
    let ruts = args.ruts.ruts.as_deref();
    let scenario = places::load_driven(args.node.scenario.as_deref(), &args.node.world, ruts)?;
    let wire = middleware::open(places::domain_id()?, "selene_simulation")?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    interrupt::check(&stop)?;
    let recorder = recording::begin(args.record.as_deref())?;
    let mut parts: Vec<Arc<dyn Transport>> = vec![wire];
    parts.extend(recorder.iter().map(|recorder| Arc::new(recorder.clone()) as Arc<dyn Transport>));
    let meter = Meter::new(Arc::new(Fanout::new(parts)));
    let options = simulation_options(&args.pacing, &args.ruts, args.participants.clone());
    eprintln!("{} · simulation on ROS domain {}", scenario.name, places::domain_id()?);

    let ended = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let _ended = SetOnDrop::new(&ended);
        scope.spawn(|| progress::show(&meter, options.duration, &ended));
        selene_simulation::run(&meter, &scenario, ground, &options, &stop)
    });
    let end = End::new(outcome.map_err(Fault::run), Ok(()));
    let mut summary = Summary::new(&scenario, &end, &meter);
    summary.ruts(options.save_ruts.as_deref());
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
    let stop = interrupt::watch()?;
    let scenario = places::load_scenario(args.scenario.as_deref(), &args.world)?;
    let wire = middleware::open(places::domain_id()?, "selene_navigation")?;
    eprintln!("{} · navigation · waiting for the simulation", scenario.name);
    selene_navigation::run(&Meter::new(wire), &scenario, &stop).map_err(Fault::run)
}

type TracingNode = fn(&dyn Transport, &Arc<Scenario>, &Ground, Box<dyn Tracer>, &AtomicBool) -> Result<(), NodeError>;

fn tracing_node(name: &str, args: &TracingNodeArgs, node: TracingNode) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let scenario = places::load_scenario(args.node.scenario.as_deref(), &args.node.world)?;
    let tracer = device::open(args.device.device)?;
    let wire = middleware::open(places::domain_id()?, &format!("selene_{name}"))?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    interrupt::check(&stop)?;
    eprintln!("{} · {name} · tracing on: {} · waiting for the simulation", scenario.name, tracer.device());
    node(&Meter::new(wire), &scenario, &ground, tracer, &stop).map_err(Fault::run)
}

/// What the simulation is told.
pub(crate) fn simulation_options(pacing: &PacingArgs, ruts: &RutsArgs, participants: Vec<String>) -> SimulationOptions {
    let pace = match pacing.pace {
        PaceArg::RealTime => Pace::Times(1.0),
        PaceArg::Fast => Pace::Fast,
        PaceArg::Times(factor) => Pace::Times(factor),
    };
    SimulationOptions {
        pace,
        duration: pacing.duration,
        participants,
        twist_unstamped: pacing.twist_unstamped,
        save_ruts: ruts.save_ruts.clone(),
    }
}
