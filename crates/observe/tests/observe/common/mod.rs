//! Shared by the tests of observers: RASSOR on the test yard.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_sim::{LoadOptions, Scenario, World};

pub(crate) fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

/// A world whose scenario has these lines for its rover.
pub(crate) fn world(of_rover: &str) -> World {
    let text = format!(
        "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: ../site/test_yard.yaml\nsoil: ../soil/lunar.yaml\n{of_rover}"
    );
    let path = config().join("scenario/test.yaml");
    let scenario = Scenario::parse(&text, &path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    World::new(Arc::new(scenario)).unwrap_or_else(|e| panic!("{e}"))
}
