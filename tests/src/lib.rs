//! Helpers that the tests share: the paths of the repository and of third-party data, and worlds to test on. The tests
//! themselves are in the folders beside this one, by the reference they compare with: equations, measurements, the
//! other device, stored images, another run, a foreign program.

pub mod control_client;
pub mod footprint;
pub mod recording_transport;
mod skip;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext};
use selene_ros::transport::Transport;
use selene_sim::{AllowedFolders, Command, EntityId, LoadOptions, Model, RoverSnapshot, Scenario, Snapshot, World};
use selene_simulation::SimulationOptions;
use selene_vehicle::BodyTwist;

pub use skip::{skip_data, skip_peer};

/// Id of the first rover of a scenario.
pub const ROVER: EntityId = EntityId(1);

/// Root folder of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Path of a file of the repository.
#[must_use]
pub fn repository_file(name: &str) -> PathBuf {
    root().join(name)
}

/// The folder of third-party data, if this machine has it (`SELENE_DATA`).
#[must_use]
pub fn data_dir() -> Option<PathBuf> {
    std::env::var_os("SELENE_DATA").map(PathBuf::from).filter(|dir| dir.is_dir())
}

/// Loads a scenario of the repository by name.
///
/// # Panics
/// When the scenario does not load.
#[must_use]
pub fn scenario(name: &str, data_dir: Option<PathBuf>) -> Scenario {
    let path = repository_file(&format!("config/scenario/{name}.yaml"));
    let options = LoadOptions { data_dir, ..LoadOptions::default() };
    Scenario::load(&path, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Builds the model of a scenario.
///
/// # Panics
/// When its ground cannot be built.
#[must_use]
pub fn model(scenario: Scenario) -> Arc<Model> {
    Arc::new(Model::new(Arc::new(scenario)).unwrap_or_else(|error| panic!("{error}")))
}

/// Creates the world of a model at time zero.
///
/// # Panics
/// When a rover cannot be placed.
#[must_use]
pub fn world(model: &Arc<Model>) -> World {
    World::begin(Arc::clone(model), None).unwrap_or_else(|error| panic!("{error}"))
}

/// Steps for `seconds`, sending `command` to the first rover before every heartbeat; returns all snapshots.
///
/// # Panics
/// When a heartbeat fails.
pub fn drive(world: &mut World, seconds: f64, command: Option<BodyTwist>) -> Vec<Snapshot> {
    let end = world.time() + SimTime::from_secs_f64(seconds);
    let mut snapshots = Vec::new();
    while world.time() < end {
        command.into_iter().for_each(|command| world.drive(ROVER, Command::Body(command)).expect("the rover is there"));
        snapshots.push(world.heartbeat().unwrap_or_else(|error| panic!("{error}")));
    }
    snapshots
}

/// The first rover in a snapshot.
///
/// # Panics
/// When the snapshot lacks it.
#[must_use]
pub fn rover(snapshot: &Snapshot) -> &RoverSnapshot {
    snapshot.rover(ROVER).expect("the first rover is there")
}

/// Context for the nodes of one run over `transport`.
///
/// # Panics
/// Never: the run's id is valid.
#[must_use]
pub fn context(transport: Arc<dyn Transport>, model: &Arc<Model>) -> NodeContext {
    let run = "test".parse().expect("an id");
    let links = Links { public: Arc::clone(&transport), internal: transport, run };
    let folders = AllowedFolders::new([repository_file("config"), repository_file("urdf")]);
    NodeContext { links, model: Arc::clone(model), folders, published_until: None }
}

/// Options of a run of this duration, as fast as possible, in lockstep with these participants.
#[must_use]
pub fn options(duration: SimTime, participants: &[&str]) -> SimulationOptions {
    let participants = participants.iter().map(|&name| name.to_owned()).collect();
    SimulationOptions { duration: Some(duration), participants, ..SimulationOptions::default() }
}
