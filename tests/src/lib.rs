//! What the tests share: where the repository and third-party data are, and worlds
//! to test on. The tests themselves are in the folders beside this one, by what they
//! compare with: equations, measurements, the other device, stored images, another
//! run, a foreign program.

pub mod asker;
pub mod witness;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext};
use selene_ros::transport::Transport;
use selene_sim::{AllowedFolders, Command, EntityId, LoadOptions, Model, RoverSnapshot, Scenario, Snapshot, World};
use selene_simulation::SimulationOptions;
use selene_vehicle::BodyTwist;

/// The first rover of a scenario.
pub const ROVER: EntityId = EntityId(1);

/// The repository's root.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A file of the repository.
#[must_use]
pub fn repository_file(name: &str) -> PathBuf {
    root().join(name)
}

/// The folder of third-party data, if this machine has it (`SELENE_DATA`).
#[must_use]
pub fn data_dir() -> Option<PathBuf> {
    std::env::var_os("SELENE_DATA").map(PathBuf::from).filter(|dir| dir.is_dir())
}

/// Says that a test was skipped for want of something this machine need not have, such as network namespaces.
pub fn skip(why: &str) {
    // Straight to the terminal: a passing test's own output is not shown.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Says that a foreign program is not here; fails where `SELENE_REQUIRE_PEERS` asks
/// for every peer.
///
/// # Panics
/// When every peer is required.
pub fn skip_peer(why: &str) {
    assert!(std::env::var_os("SELENE_REQUIRE_PEERS").is_none(), "a peer is required here: {why}");
    skip(why);
}

/// Says that third-party data are not here; fails where `SELENE_REQUIRE_DATA` asks for them.
///
/// # Panics
/// When data are required.
pub fn skip_data(why: &str) {
    assert!(std::env::var_os("SELENE_REQUIRE_DATA").is_none(), "data are required here: {why}");
    skip(why);
}

/// A scenario of the repository.
///
/// # Panics
/// When it does not load.
#[must_use]
pub fn scenario(name: &str, data_dir: Option<PathBuf>) -> Scenario {
    let path = repository_file(&format!("config/scenario/{name}.yaml"));
    let options = LoadOptions { data_dir, ..LoadOptions::default() };
    Scenario::load(&path, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The world of a scenario.
///
/// # Panics
/// When its ground cannot be made.
#[must_use]
pub fn model(scenario: Scenario) -> Arc<Model> {
    Arc::new(Model::new(Arc::new(scenario)).unwrap_or_else(|error| panic!("{error}")))
}

/// A model's world at time zero.
///
/// # Panics
/// When a rover cannot stand.
#[must_use]
pub fn world(model: &Arc<Model>) -> World {
    World::begin(Arc::clone(model), None).unwrap_or_else(|error| panic!("{error}"))
}

/// Steps for `seconds`, telling the first rover `command` before every heartbeat; all snapshots.
///
/// # Panics
/// When the world cannot go on.
pub fn drive(world: &mut World, seconds: f64, command: Option<BodyTwist>) -> Vec<Snapshot> {
    let end = world.time() + SimTime::from_secs_f64(seconds);
    let mut snapshots = Vec::new();
    while world.time() < end {
        command.into_iter().for_each(|command| world.drive(ROVER, Command::Body(command)).expect("the rover is there"));
        snapshots.push(world.heartbeat().unwrap_or_else(|error| panic!("{error}")));
    }
    snapshots
}

/// The first rover of a snapshot.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn rover(snapshot: &Snapshot) -> &RoverSnapshot {
    snapshot.rover(ROVER).expect("the first rover is there")
}

/// What nodes of one run over `transport` are given.
///
/// # Panics
/// Never: the run's id is one.
#[must_use]
pub fn context(transport: Arc<dyn Transport>, model: &Arc<Model>) -> NodeContext {
    let run = "test".parse().expect("an id");
    let links = Links { public: Arc::clone(&transport), internal: transport, run };
    let folders = AllowedFolders::new([repository_file("config"), repository_file("urdf")]);
    NodeContext { links, model: Arc::clone(model), folders, told_until: None }
}

/// A run as fast as it goes for so long, in lockstep with these participants.
#[must_use]
pub fn options(duration: SimTime, participants: &[&str]) -> SimulationOptions {
    let participants = participants.iter().map(|&name| name.to_owned()).collect();
    SimulationOptions { duration: Some(duration), participants, ..SimulationOptions::default() }
}
