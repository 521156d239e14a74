//! What the tests share: where the repository and third-party data are, and worlds
//! to test on. The tests themselves are in the folders beside this one, by what they
//! compare with: equations, measurements, the other device, stored images, another
//! run, a foreign program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_sim::{LoadOptions, Scenario};

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

/// Says that a test was skipped for want of something this machine need not have.
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

/// A scenario of the repository.
///
/// # Panics
/// When it does not load.
#[must_use]
pub fn scenario(name: &str, data_dir: Option<PathBuf>) -> Arc<Scenario> {
    let path = repository_file(&format!("config/scenario/{name}.yaml"));
    let options = LoadOptions { data_dir, ..LoadOptions::default() };
    Arc::new(Scenario::load(&path, &options).unwrap_or_else(|error| panic!("{error}")))
}
