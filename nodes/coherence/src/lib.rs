//! Keeps the nodes of a run in agreement about one world. The simulation publishes a `WorldState` each heartbeat. A
//! sensor node watches them in order, requests terrain edits that it missed (after joining late, a restart or a lost
//! message), and acknowledges each heartbeat when it has done all work for it, so that in lockstep the simulation waits
//! for it.
//!
//! A run has an id, which prefixes all topics between Selene's own nodes, so that two runs on one domain do not
//! interfere. Before a node uses any data of a run, it compares the run's fingerprint with that of its own scenario and
//! ground.
//!
//! The same code serves nodes in one process and in several processes; only the transport differs.

mod convert;
mod diagnostics;
mod entities;
mod links;
mod remote_stages;
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
pub use remote_stages::{RemoteStages, SampleOutcome, is_question};
pub use rovers::CurrentRovers;
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
    /// The world could not be stepped.
    #[error(transparent)]
    World(#[from] selene_sim::WorldError),
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] selene_sim::CheckpointError),
    /// A checkpoint is not one from which the world can be resumed.
    #[error(transparent)]
    Resume(#[from] selene_sim::ResumeError),
    /// A thread could not be started.
    #[error("{what}: no thread could be started: {error}")]
    Thread {
        /// The thread's purpose.
        what: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// A clock that simulated time is to follow cannot be read.
    #[error("clock {clock} cannot be read: {error}")]
    Clock {
        /// The clock's name or device file.
        clock: String,
        /// The error on reading it.
        error: std::io::Error,
    },
    /// The system refuses to give a thread a real-time priority.
    #[error(
        "priority {priority} of real time is refused: {error} (it takes root, CAP_SYS_NICE, or a limit `rtprio`: `ulimit -r`)"
    )]
    Realtime {
        /// The requested `SCHED_FIFO` priority.
        priority: u8,
        /// The system's error.
        error: String,
    },
    /// An awaited topic cannot be subscribed to in the way that the scenario asks for.
    #[error("{scenario}: lockstep: topic {topic} {what}")]
    Lockstep {
        /// The scenario's file.
        scenario: String,
        /// The topic's name.
        topic: String,
        /// What is wrong, and what is allowed.
        what: String,
    },
    /// An entity that was added to the world cannot be read by this node.
    #[error("what was added to the world cannot be read here: {0}")]
    Entity(#[from] selene_sim::SpawnError),
    /// A sensor could not be observed.
    #[error(transparent)]
    Observe(#[from] selene_observe::ObserveError),
    /// The world of the wanted run differs from this node's.
    #[error("run {run} is of another world: {difference}; start every node with the same scenario, seed and data")]
    OtherWorld {
        /// The run's id.
        run: RunId,
        /// Where the worlds differ.
        difference: selene_sim::Difference,
    },
    /// An option names a rover that is not in the world.
    #[error("{option} {name}: there is no such rover; there are {known}")]
    UnknownRover {
        /// The command-line option.
        option: &'static str,
        /// The name that it gives.
        name: String,
        /// The names of all rovers in the world.
        known: String,
    },
    /// A world with a granular soil window cannot be shared between processes.
    #[error("granular window '{window}': a world with one cannot be shared; simulate all rovers in one process")]
    NotShared {
        /// The window's name.
        window: String,
    },
    /// Another process already simulates a rover of this one.
    #[error("rover {rover} is simulated by process {process} of run {run} already; give each rover to one process")]
    RoverTaken {
        /// The rover's name.
        rover: String,
        /// The other process's name.
        process: String,
        /// The run's id.
        run: RunId,
    },
    /// The other processes of a shared world went on without this one.
    #[error("process {process} sent nothing for so long that run {run} went on without it; its rovers stand there")]
    GivenUp {
        /// This process's name.
        process: String,
        /// The run's id.
        run: RunId,
    },
    /// Another process of a shared world is alive but cannot be connected to.
    #[error(
        "process {process} of run {run} cannot be called ({why}); TCP connections must be allowed between the processes"
    )]
    OutOfReach {
        /// The other process's name.
        process: String,
        /// The error on connecting to it.
        why: String,
        /// The run's id.
        run: RunId,
    },
    /// No port can be opened for the other processes of a shared world.
    #[error("no TCP port can be opened for the other processes of this world: {error}")]
    SharedListener {
        /// The system's error.
        error: std::io::Error,
    },
    /// A message from another process of a shared world cannot be decoded.
    #[error("what process {process} of a shared world sent cannot be read ({what}); all must be of one version")]
    SharedWorld {
        /// The other process's name.
        process: String,
        /// The decoding error.
        what: String,
    },
    /// This process was stopped before its world had begun.
    #[error("stopped while waiting for the other processes of run {run}")]
    Stopped {
        /// The run's id.
        run: RunId,
    },
    /// A recorded run cannot be replayed.
    #[error("the recorded run cannot be replayed: {what}")]
    Recorded {
        /// The reason, and what to do.
        what: String,
    },
    /// The simulation was restarted while this node watched it.
    #[error(
        "run {run} went from heartbeat {from} to {to} without a reset: it was started anew under the same id; start this node again too"
    )]
    SimulationRestarted {
        /// The run's id.
        run: RunId,
        /// Sequence number of the latest heartbeat.
        from: u64,
        /// Sequence number of the heartbeat that arrived after it.
        to: u64,
    },
}

/// Quality of service of terrain snapshots: reliable, with a queue for the parts of tens of kilometres of ruts.
#[must_use]
pub fn terrain_qos() -> Qos {
    Qos { depth: 10_000, ..Qos::reliable() }
}

/// The quality of service that a sensor's file asks for.
#[must_use]
pub fn qos_of(qos: selene_sensors::SensorQos) -> Qos {
    match qos {
        selene_sensors::SensorQos::SensorData => Qos::sensor_data(),
        selene_sensors::SensorQos::Reliable => Qos::reliable(),
    }
}
