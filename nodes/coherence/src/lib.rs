//! How several nodes see one world. The simulation publishes a `WorldState` each
//! heartbeat; a sensor node watches them in order, asks for terrain it missed (when
//! it joins late, is started again or the wire lost something), and acknowledges
//! each heartbeat when it has done all that the heartbeat asks of it, so that in
//! lockstep the simulation waits for it.
//!
//! A run has an id, and all topics that are between Selene's nodes alone are under it: two runs on one
//! domain do not meet. Before a node takes anything of a run, it compares the run's fingerprint with that of its
//! own scenario and ground.
//!
//! The same code serves nodes in one process and in several: only the transport
//! differs.

mod convert;
mod diagnostics;
mod entities;
mod links;
mod own_stages;
mod rovers;
mod run;
mod sensor_diagnostics;
mod terrain_parts;
mod watcher;
mod wire;

pub use convert::{from_vector, pose, to_point, to_pose, to_quaternion, to_vector, transform};
pub use diagnostics::{Diagnostics, DiagnosticsTopic, Severity};
pub use entities::{entities_from_message, entities_to_message};
pub use links::{Links, NodeContext};
pub use own_stages::{Outcome, OwnStages, is_question};
pub use rovers::RoversThere;
pub use run::{FoundRun, RUN_INFO, RunFinder, RunId, RunIdError, fingerprint_of, run_info};
pub use sensor_diagnostics::SensorDiagnostics;
pub use watcher::WorldWatcher;
pub use wire::{edits_from_message, edits_to_message, state_from_message, state_to_message, wheel_to_message};

use selene_ros::Qos;
use selene_ros::transport::TransportError;

/// Why a node had to stop.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A topic could not be opened.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The world could not go on.
    #[error(transparent)]
    World(#[from] selene_sim::WorldError),
    /// A state could not be saved or taken.
    #[error(transparent)]
    Checkpoint(#[from] selene_sim::CheckpointError),
    /// A state is not one that the world can go on from.
    #[error(transparent)]
    Resume(#[from] selene_sim::ResumeError),
    /// The system has no thread.
    #[error("{what}: no thread could be started: {error}")]
    Thread {
        /// For what.
        what: &'static str,
        /// Why.
        error: std::io::Error,
    },
    /// A clock that simulated time is to follow cannot be read.
    #[error("clock {clock} cannot be read: {error}")]
    Clock {
        /// The clock.
        clock: String,
        /// Why.
        error: std::io::Error,
    },
    /// The system does not let a thread be one of real time.
    #[error(
        "priority {priority} of real time is refused: {error} (it takes root, CAP_SYS_NICE, or a limit `rtprio`: `ulimit -r`)"
    )]
    Realtime {
        /// The priority that was asked for.
        priority: u8,
        /// Why.
        error: String,
    },
    /// A topic that simulated time is to wait for cannot be listened to as the scenario says.
    #[error("{scenario}: lockstep: topic {topic} {what}")]
    Lockstep {
        /// The scenario's file.
        scenario: String,
        /// The topic.
        topic: String,
        /// Why, and what is allowed.
        what: String,
    },
    /// What was added to the world cannot be read here.
    #[error("what was added to the world cannot be read here: {0}")]
    Entity(#[from] selene_sim::SpawnError),
    /// A sensor could not be observed.
    #[error(transparent)]
    Observe(#[from] selene_observe::ObserveError),
    /// The run that was asked for has another world than this node.
    #[error("run {run} is of another world: {difference}; start every node with the same scenario, seed and data")]
    OtherWorld {
        /// The run.
        run: RunId,
        /// Where the worlds differ.
        difference: selene_sim::Difference,
    },
    /// A rover that was to be simulated is not in the world.
    #[error("{option} {name}: there is no such rover; there are {known}")]
    NoSuchRover {
        /// What names it.
        option: &'static str,
        /// Its name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A world with granular soil is not shared between processes.
    #[error("granular window '{window}': a world with one cannot be shared; simulate all rovers in one process")]
    NotShared {
        /// The window.
        window: String,
    },
    /// Another process simulates a rover already.
    #[error("rover {rover} is simulated by process {process} of run {run} already; give each rover to one process")]
    RoverTaken {
        /// The rover.
        rover: String,
        /// Who has it.
        process: String,
        /// The run.
        run: RunId,
    },
    /// The others of a shared world went on without this process.
    #[error("process {process} was not heard of for so long that run {run} went on without it; its rovers stand there")]
    GivenUp {
        /// This process.
        process: String,
        /// The run.
        run: RunId,
    },
    /// Another process of a shared world is there and cannot be called.
    #[error(
        "process {process} of run {run} cannot be called ({why}); TCP connections must be allowed between the processes"
    )]
    OutOfReach {
        /// The other process.
        process: String,
        /// Why.
        why: String,
        /// The run.
        run: RunId,
    },
    /// Other processes of a shared world cannot be listened to.
    #[error("no TCP port can be opened for the other processes of this world: {error}")]
    SharedListener {
        /// Why.
        error: std::io::Error,
    },
    /// What another process of a shared world told cannot be read.
    #[error("what process {process} of a shared world told cannot be read ({what}); all must be of one version")]
    SharedWorld {
        /// Who told it.
        process: String,
        /// Why.
        what: String,
    },
    /// Somebody asked for the end before the world had begun.
    #[error("stopped while waiting for the other processes of run {run}")]
    Stopped {
        /// The run.
        run: RunId,
    },
    /// A recorded run cannot be told again.
    #[error("the recorded run cannot be told again: {what}")]
    Recorded {
        /// Why not, and what to do.
        what: String,
    },
    /// The simulation was started anew while this node watched it.
    #[error(
        "run {run} went from heartbeat {from} to {to} without a reset: it was started anew under the same id; start this node again too"
    )]
    SimulationRestarted {
        /// The run.
        run: RunId,
        /// The latest heartbeat.
        from: u64,
        /// The one that came after it.
        to: u64,
    },
}

/// Quality of service of terrain that was missed: reliable, with room for the parts of tens of
/// kilometres of ruts.
#[must_use]
pub fn terrain_qos() -> Qos {
    Qos { depth: 10_000, ..Qos::reliable() }
}

/// A sensor's quality of service as its file asks for it.
#[must_use]
pub fn qos_of(qos: selene_sensors::SensorQos) -> Qos {
    match qos {
        selene_sensors::SensorQos::SensorData => Qos::sensor_data(),
        selene_sensors::SensorQos::Reliable => Qos::reliable(),
    }
}
