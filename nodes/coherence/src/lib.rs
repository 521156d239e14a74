//! How several nodes see one world. The simulation publishes a `WorldState` each
//! heartbeat; a sensor node watches them in order, asks for terrain it missed (when
//! it joins late, is started again or the wire lost something), and acknowledges
//! each heartbeat when it has done all that the heartbeat asks of it, so that in
//! lockstep the simulation waits for it.
//!
//! The same code serves nodes in one process and in several: only the transport
//! differs.

mod convert;
mod engine_room;
mod history;
mod outbox;
mod snapshot;
mod stage;
mod watcher;
mod wire;

pub use convert::{from_vector, pose, to_point, to_pose, to_quaternion, to_vector, transform};
pub use engine_room::EngineRoom;
pub use history::History;
pub use outbox::Outbox;
pub use stage::{Stage, instance_of_loose_rock};
pub use watcher::{Interval, WorldWatcher};
pub use wire::{edits_from_message, edits_to_message, state_from_message, state_to_message, wheel_to_message};

use selene_ros::Qos;
use selene_ros::transport::TransportError;

/// Snapshots of the world, one a heartbeat.
pub const WORLD_STATE: &str = "/selene/world_state";
/// Answers to terrain requests.
pub const TERRAIN_SNAPSHOT: &str = "/selene/terrain_snapshot";
/// Requests for terrain that was missed.
pub const TERRAIN_REQUEST: &str = "/selene/terrain_request";
/// Heartbeats that participants have dealt with.
pub const ACKNOWLEDGE: &str = "/selene/acknowledge";
/// What runs, and whether it has ended.
pub const RUN_INFO: &str = "/selene/run_info";

/// Why a node had to stop.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A topic could not be opened.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The world could not go on.
    #[error(transparent)]
    World(#[from] selene_sim::WorldError),
    /// Driven ground could not be saved.
    #[error(transparent)]
    Ruts(#[from] selene_sim::RutsError),
    /// The scene could not be built.
    #[error(transparent)]
    Scene(#[from] selene_scene::SceneError),
    /// The scenario's kernels do not cover an instant.
    #[error(transparent)]
    Sky(#[from] selene_sky::KernelError),
    /// The sensor could not be traced.
    #[error("{sensor}: {what}")]
    Sensor {
        /// Which sensor.
        sensor: String,
        /// Why, and what to do.
        what: String,
    },
    /// The simulation was started anew while this node watched it.
    #[error("the simulation was started anew; start this node again too")]
    SimulationRestarted,
    /// The simulation speaks of another rover than this node's scenario.
    #[error(
        "the simulation's rover has {theirs} links, this node's scenario {ours}; start every node with the same --scenario"
    )]
    OtherRover {
        /// Links in the simulation's snapshots.
        theirs: usize,
        /// Links of this node's rover.
        ours: usize,
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
pub fn qos_of(qos: selene_sensors::Qos) -> Qos {
    match qos {
        selene_sensors::Qos::SensorData => Qos::sensor_data(),
        selene_sensors::Qos::Reliable => Qos::reliable(),
    }
}
