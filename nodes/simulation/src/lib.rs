//! The simulation node: steps the world heartbeat by heartbeat at the asked pace,
//! publishes /clock, TF, state and truth, takes driving commands, and answers those
//! who missed terrain. In lockstep it never runs more than a window of heartbeats
//! ahead of the slowest declared participant, and it holds for the topics that the
//! scenario names. It is controlled over the services of `simulation_interfaces`.

mod changes;
mod checkpoints;
mod clock;
mod command_inputs;
mod control;
mod diagnostics;
mod going;
mod histogram;
mod holds;
mod loading;
mod lockstep;
mod loops;
mod maps;
mod node;
mod pace;
mod publishers;
mod realtime;
mod retell;
mod rover_publishers;
mod settings;
mod sharing;
mod terrain;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_coherence::NodeContext;
pub use selene_coherence::NodeError;
use selene_sim::{Checkpoint, DrivenGround, Fingerprint, World};

pub use changes::{Answer, Change, ChangeError, Changes};
pub use checkpoints::{CheckpointOptions, file_at};
pub use clock::ClockAuthority;
pub use control::ControlOptions;
pub use going::RunState;
pub use histogram::Histogram;
pub use holds::{HoldCounts, HoldReport};
pub use loading::{OfferedScenario, WorldRequest, Worlds};
use node::Node;
pub use pace::{Pace, PaceReport, Pacer, Tick, Timeline};
pub use realtime::RealtimePriority;
pub use retell::{RecordedRun, Retold, Told, retell};
pub use settings::LiveSettings;
pub use sharing::SharedRovers;

/// How a run goes; by default as fast as it can to the end of the routes, with nobody to wait for, and nothing saved.
#[derive(Clone, Debug, Default)]
pub struct SimulationOptions {
    /// How fast simulated time passes.
    pub pace: Pace,
    /// By which clock.
    pub timeline: Timeline,
    /// The priority of the thread that keeps the pace among those of real time; none is an ordinary thread.
    pub realtime_priority: Option<RealtimePriority>,
    /// How long to run, simulated time; else until the end of the routes.
    pub duration: Option<SimTime>,
    /// Participants that the simulation waits for (lockstep); empty runs free.
    pub participants: Vec<String>,
    /// Take `cmd_vel` as Twist, not TwistStamped.
    pub twist_unstamped: bool,
    /// Where the driven ground is saved at the end, however the run ends.
    pub save_ruts: Option<PathBuf>,
    /// Checkpoints on the way.
    pub checkpoints: Option<CheckpointOptions>,
    /// Which rovers this process simulates of a world that several share; none where it simulates all.
    pub shared: Option<SharedRovers>,
    /// What somebody in this process asks of the world while it runs.
    pub changes: Changes,
    /// What somebody sets of sensors, lamps and sky while it runs; of a world that several share nothing can be.
    pub settings: LiveSettings,
    /// How others ask.
    pub control: ControlOptions,
}

/// What a run begins with.
#[derive(Clone, Debug)]
pub enum Begin {
    /// The scenario's start, perhaps on ground that was driven before.
    Start(Option<DrivenGround>),
    /// Where another run was.
    Resume(Box<Checkpoint>),
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The asked time is over.
    Duration,
    /// Every built-in driver reached its last waypoint.
    RouteDone,
    /// Somebody asked it to stop, by a signal or by a service.
    Stopped,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Simulated time at the end.
    pub simulated: SimTime,
    /// Simulated time at the first heartbeat, or after the last reset: that of the checkpoint where one was resumed.
    pub since: SimTime,
    /// Wall time from there on, without the time in which it was paused, s.
    pub wall_s: f64,
    /// Hash of the world's state at the end.
    pub state_hash: u64,
    /// Way of each rover's `base_link` over the ground, by its name, m.
    pub distances_m: Vec<(String, f64)>,
    /// Why it ended.
    pub ending: Ending,
    /// How well it kept its pace.
    pub pace: PaceReport,
    /// What came of holding for the scenario's topics.
    pub holds: HoldReport,
    /// Bytes that all other processes of a shared world together were told; none where the world is not shared.
    pub told_bytes: Option<u64>,
}

/// Runs the context's world until its end, `options.duration` or `stop`.
///
/// # Errors
/// When a topic cannot be opened, the world cannot go on, or its ruts or a checkpoint cannot be saved.
pub fn run(
    context: &NodeContext,
    begin: Begin,
    options: &SimulationOptions,
    stop: &AtomicBool,
) -> Result<Outcome, NodeError> {
    let mut node = Node::new(context, begin, options, stop)?;
    options.realtime_priority.map_or(Ok(()), RealtimePriority::take)?;
    let ended = node.drive(options, stop);
    let ended = node.finish(ended);
    // However it ended; why it failed matters more than that its ground could not be saved.
    let saved = options.save_ruts.as_ref().map_or(Ok(()), |file| save_ground(node.world(), file));
    let (ending, wall_s) = ended?;
    saved?;
    Ok(Outcome {
        simulated: node.world().time(),
        since: node.since(),
        wall_s,
        state_hash: node.world().hash(),
        distances_m: node.distances_m(),
        ending,
        pace: node.pace(),
        holds: node.holds(),
        told_bytes: node.told_bytes(),
    })
}

fn save_ground(world: &World, file: &Path) -> Result<(), NodeError> {
    let (scenario, terrain) = (world.scenario(), world.model().terrain());
    let ground = Fingerprint::of_ground(&scenario.site, scenario.seed, terrain);
    Ok(DrivenGround::of(world.state()).save(file, &ground)?)
}
