//! The simulation node: steps the world in heartbeats (equal spans of simulated time) at the requested pace, publishes
//! /clock, TF, state and ground truth, takes driving commands, and answers nodes that missed terrain edits. In lockstep
//! it never runs more than a window of heartbeats ahead of the slowest declared participant, and it holds for the
//! topics that the scenario names. It is controlled over the services of `simulation_interfaces`.

mod changes;
mod checkpoints;
mod clock;
mod command_inputs;
mod control;
mod diagnostics;
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
mod replay;
mod rover_publishers;
mod run_control;
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
pub use histogram::Histogram;
pub use holds::{HoldCounts, HoldReport};
pub use loading::{OfferedScenario, WorldRequest, Worlds};
use node::Node;
pub use pace::{HeartbeatTiming, Pace, PaceReport, Pacer, Timeline};
pub use realtime::RealtimePriority;
pub use replay::{RecordedMessage, RecordedRun, ReplayResult, replay};
pub use run_control::RunState;
pub use settings::LiveSettings;
pub use sharing::{ExchangeReport, SharedRovers};

/// Options of a run. The default runs as fast as it can to the end of the routes, waits for nobody and saves nothing.
#[derive(Clone, Debug, Default)]
pub struct SimulationOptions {
    /// How fast simulated time passes.
    pub pace: Pace,
    /// The clock that simulated time follows.
    pub timeline: Timeline,
    /// The real-time priority of the thread that keeps the pace; `None` leaves it an ordinary thread.
    pub realtime_priority: Option<RealtimePriority>,
    /// How long to run, in simulated time; `None` runs until the end of the routes.
    pub duration: Option<SimTime>,
    /// Participants that the simulation waits for (lockstep); if empty, it runs free.
    pub participants: Vec<String>,
    /// Whether `cmd_vel` is a Twist instead of a TwistStamped.
    pub twist_unstamped: bool,
    /// File in which the driven ground is saved at the end, however the run ends.
    pub save_ruts: Option<PathBuf>,
    /// When and where checkpoints are written during the run.
    pub checkpoints: Option<CheckpointOptions>,
    /// The rovers that this process simulates if several processes share the world; `None` if it simulates all.
    pub shared: Option<SharedRovers>,
    /// Changes of the running world that this process requests.
    pub changes: Changes,
    /// Settings of sensors, lamps and sky that can be changed during the run; they cannot be changed in a shared world.
    pub settings: LiveSettings,
    /// How other processes can control the run.
    pub control: ControlOptions,
}

/// The state from which a run begins.
#[derive(Clone, Debug)]
pub enum RunStart {
    /// The scenario's start, perhaps on ground that was driven before.
    Start(Option<DrivenGround>),
    /// The state of another run, from its checkpoint.
    Resume(Box<Checkpoint>),
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The requested duration is over.
    Duration,
    /// Every built-in driver reached its last waypoint.
    RouteDone,
    /// A signal or a service call stopped it.
    Stopped,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Simulated time at the end.
    pub simulated: SimTime,
    /// Simulated time at the first heartbeat or after the last reset; a resumed run begins at its checkpoint's time.
    pub since: SimTime,
    /// Wall time since then without pauses, s.
    pub wall_s: f64,
    /// Hash of the world's state at the end.
    pub state_hash: u64,
    /// Horizontal distance that each rover's `base_link` travelled, by the rover's name, m.
    pub distances_m: Vec<(String, f64)>,
    /// Why the run ended.
    pub ending: EndReason,
    /// How well the run kept its pace.
    pub pace: PaceReport,
    /// Holds, timeouts and wall time spent holding for the scenario's topics.
    pub holds: HoldReport,
    /// What was exchanged with the other processes of a shared world; `None` if the world is not shared.
    pub exchange: Option<ExchangeReport>,
}

/// Runs the context's world until its end, `options.duration` or `stop`.
///
/// # Errors
/// When a topic cannot be opened, the world cannot go on, or its ruts or a checkpoint cannot be saved.
pub fn run(
    context: &NodeContext,
    begin: RunStart,
    options: &SimulationOptions,
    stop: &AtomicBool,
) -> Result<RunOutcome, NodeError> {
    let mut node = Node::new(context, begin, options, stop)?;
    options.realtime_priority.map_or(Ok(()), RealtimePriority::take)?;
    let ended = node.drive(options, stop);
    let ended = node.finish(ended);
    // The ground is saved however the run ended, but the run's own error is reported first.
    let saved = options.save_ruts.as_ref().map_or(Ok(()), |file| save_ground(node.world(), file));
    let (ending, wall_s, state_hash) = ended?;
    saved?;
    Ok(RunOutcome {
        simulated: node.world().time(),
        since: node.since(),
        wall_s,
        state_hash,
        distances_m: node.distances_m(),
        ending,
        pace: node.pace(),
        holds: node.holds(),
        exchange: node.exchange(),
    })
}

fn save_ground(world: &World, file: &Path) -> Result<(), NodeError> {
    let (scenario, terrain) = (world.scenario(), world.model().terrain());
    let ground = Fingerprint::of_ground(&scenario.site, scenario.seed, terrain);
    Ok(DrivenGround::of(world.state()).save(file, &ground)?)
}
