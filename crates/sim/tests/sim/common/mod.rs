//! Small worlds for tests: rovers of `config/rover` on the test yard.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_sim::{LoadOptions, Scenario, ScenarioError, World};

pub fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

/// A rover of a scenario: its name, its file in `config/rover`, its start (x, m, y, m, heading, degrees) and
/// the waypoints of its route.
pub struct Rover<'a> {
    pub name: &'a str,
    pub file: &'a str,
    pub start: [f64; 3],
    pub waypoints_m: &'a [[f64; 2]],
}

/// A scenario on the test yard with steps of 1 ms and heartbeats of 10 ms; its `rest` is further YAML keys.
pub fn yard(soil: &str, rovers: &[Rover], rest: &str) -> String {
    let mut text = format!(
        "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: ../site/test_yard.yaml\nsoil: ../soil/{soil}.yaml\n{rest}\nrovers:\n"
    );
    for Rover { name, file, start: [x_m, y_m, yaw_deg], waypoints_m } in rovers {
        let start = format!("{{ x_m: {x_m}, y_m: {y_m}, yaw_deg: {yaw_deg} }}");
        writeln!(text, "  - name: {name}\n    file: ../rover/{file}.yaml\n    start: {start}").unwrap();
        if !waypoints_m.is_empty() {
            writeln!(text, "    route: {{ speed_m_s: 0.1, waypoints_m: {waypoints_m:?} }}").unwrap();
        }
    }
    text
}

pub fn parsed(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, &config().join("scenario/test.yaml"), &LoadOptions::default())
}

pub fn world(text: &str) -> World {
    World::new(Arc::new(parsed(text).unwrap_or_else(|e| panic!("{e}")))).unwrap_or_else(|e| panic!("{e}"))
}

pub fn drive(world: &mut World, heartbeats: usize) {
    for _ in 0..heartbeats {
        world.heartbeat().unwrap_or_else(|e| panic!("{e}"));
    }
}
