//! One world in two processes that do not wait for each other (`--free`), compared with the same world in one process:
//! the differences of ground and rovers once all have come to rest. The second rover crosses the ruts of the first
//! about a second after they were made, so delays between the processes matter.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use selene_base::SimTime;
use selene_sim::{Checkpoint, Fingerprint, LoadOptions, Model, Scenario, State};
use selene_simulation::file_at;
use selene_terrain::GroundPatch;

use crate::BenchError;
use crate::setting::Setting;

/// Simulated seconds of the run: both rovers have stood still for some of them.
const SIMULATED_S: i64 = 26;
/// The square in which both drive: its centre, map x and y, and half its side, m.
const MIDDLE_M: [f64; 2] = [1.5, 0.0];
const REACH_M: f64 = 5.0;

/// Differences between two free processes and a single one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drift {
    /// The largest difference of a ground post's height, m.
    pub(crate) ground_m: f64,
    /// The largest distance between a rover's origins, m.
    pub(crate) pose_m: f64,
}

/// Runs both worlds, the free one in real time.
pub(crate) fn drift(setting: &Setting) -> Result<Drift, BenchError> {
    let folder = std::env::temp_dir().join(format!("selene-bench-free-{}", std::process::id()));
    let drift = measure(setting, &folder);
    // A folder that cannot be removed does little harm.
    let _ = std::fs::remove_dir_all(&folder);
    drift
}

fn measure(setting: &Setting, folder: &Path) -> Result<Drift, BenchError> {
    std::fs::create_dir_all(folder).map_err(BenchError::new)?;
    let file = folder.join("crossing.yaml");
    std::fs::write(&file, scenario(setting)?).map_err(BenchError::new)?;
    let scenario = Scenario::load(&file, &LoadOptions::default()).map_err(BenchError::new)?;
    let model = Model::new(Arc::new(scenario)).map_err(BenchError::new)?;
    let one = Running::start(setting, folder, &file, None)?.end(&model)?;
    let both = ["a", "b"].map(|own| Running::start(setting, folder, &file, Some(own)));
    let (mut ground_m, mut pose_m) = (0.0, 0.0);
    for process in both {
        let state = process?.end(&model)?;
        ground_m = f64::max(ground_m, ground_apart_m(&model, &state, &one));
        pose_m = f64::max(pose_m, rovers_apart_m(&state, &one));
    }
    Ok(Drift { ground_m, pose_m })
}

/// A scenario in which `a` drives east, and `b` north behind it.
fn scenario(setting: &Setting) -> Result<String, BenchError> {
    let config: PathBuf = setting.config.canonicalize().map_err(BenchError::new)?;
    let config = config.display();
    Ok(format!(
        "name: crossing\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: {config}/site/test_yard.yaml\nsoil: {config}/soil/lunar.yaml\nrovers:\n  \
         - name: a\n    file: {config}/rover/rassor.yaml\n    start: {{x_m: -0.9, y_m: 0, yaw_deg: 0}}\n    \
         route: {{speed_m_s: 0.3, waypoints_m: [[4, 0]]}}\n  \
         - name: b\n    file: {config}/rover/rassor.yaml\n    start: {{x_m: 0.2, y_m: -3.2, yaw_deg: 90}}\n    \
         route: {{speed_m_s: 0.3, waypoints_m: [[0.2, 3]]}}\n"
    ))
}

/// A running simulation, and the folder in which it saves its final state.
struct Running {
    process: Child,
    folder: PathBuf,
}

impl Running {
    /// Starts a single process, or, with `own`, one of two that do not wait for each other.
    fn start(setting: &Setting, folder: &Path, file: &Path, own: Option<&str>) -> Result<Self, BenchError> {
        let folder = folder.join(own.unwrap_or("one"));
        std::fs::create_dir_all(&folder).map_err(BenchError::new)?;
        let simulated_s = SIMULATED_S.to_string();
        let mut command = Command::new(&setting.program);
        command.arg("simulation").arg("--scenario").arg(file).args(["--for", simulated_s.as_str()]);
        command.args(["--checkpoint-every", simulated_s.as_str(), "--checkpoint-dir"]).arg(&folder);
        let run = format!("free_{}", std::process::id());
        match own {
            Some(own) => command.args(["--pace", "real-time", "--free", "--own", own, "--run", run.as_str()]),
            None => command.args(["--pace", "fast"]),
        };
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = started.map_err(|error| BenchError::new(format!("a simulation cannot be started: {error}")))?;
        Ok(Self { process, folder })
    }

    /// Waits for the end; returns the final state.
    fn end(mut self, model: &Model) -> Result<State, BenchError> {
        let status = self.process.wait().map_err(BenchError::new)?;
        if !status.success() {
            return Err(BenchError::new(format!("a simulation failed: {status}")));
        }
        let of = Fingerprint::of(model.scenario(), model.terrain());
        let end = SimTime::from_nanos(SIMULATED_S * 1_000_000_000);
        Ok(Checkpoint::load(&file_at(&self.folder, end), &of).map_err(BenchError::new)?.state)
    }
}

fn ground_apart_m(model: &Model, one: &State, other: &State) -> f64 {
    let patch = |state: &State| GroundPatch::of_square(model.terrain(), &state.ruts, MIDDLE_M, REACH_M);
    let (one, other) = (patch(one), patch(other));
    let square = [-REACH_M, REACH_M].map(|reach_m| MIDDLE_M.map(|middle_m| middle_m + reach_m));
    let apart_m = |node| (one.node_height_m(node) - other.node_height_m(node)).abs();
    one.nodes_within(square, 0).map_or(f64::NAN, |within| within.nodes().map(apart_m).fold(0.0, f64::max))
}

fn rovers_apart_m(one: &State, other: &State) -> f64 {
    let both = one.rovers.iter().filter_map(|(id, rover)| Some((rover, other.rovers.get(id)?)));
    let apart = both
        .map(|(a, b)| (a.body.world_from_base.translation.vector - b.body.world_from_base.translation.vector).norm());
    apart.fold(0.0, f64::max)
}
