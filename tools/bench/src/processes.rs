//! One world in two simulation processes, compared with the same world in one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::BenchError;
use crate::setting::Setting;

/// Number of VIPERs, and their distance at the start, m.
const TEN: usize = 10;
const APART_M: f64 = 12.0;
/// Simulated seconds of a run.
const DURATION_S: &str = "10";

/// Ratio of wall time over simulated time of ten VIPERs on 2 cm nodes, in two processes that exchange every heartbeat
/// and in one.
pub(crate) fn two_over_one(setting: &Setting) -> Result<f64, BenchError> {
    let folder = std::env::temp_dir().join(format!("selene-bench-shared-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(BenchError::new)?;
    let factor = measure(setting, &folder);
    // A folder that cannot be removed does little harm.
    let _ = std::fs::remove_dir_all(&folder);
    factor
}

fn measure(setting: &Setting, folder: &Path) -> Result<f64, BenchError> {
    let file = folder.join("ten.yaml");
    std::fs::write(&file, scenario(setting)?).map_err(BenchError::new)?;
    let one = factor(start(setting, &file, None)?)?;
    let halves = [0..TEN / 2, TEN / 2..TEN].map(|half| half.map(name).collect::<Vec<_>>().join(","));
    let both = halves.each_ref().map(|own| start(setting, &file, Some(own)));
    let mut slower = 0.0;
    for process in both {
        slower = f64::max(slower, factor(process?)?);
    }
    Ok(slower / one)
}

fn name(i: usize) -> String {
    format!("rover_{i}")
}

/// A scenario in which all drive ahead and stay apart.
fn scenario(setting: &Setting) -> Result<String, BenchError> {
    let config: PathBuf = setting.config.canonicalize().map_err(BenchError::new)?;
    let config = config.display();
    let mut text = format!(
        "name: ten\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.0005\nheartbeat_s: 0.005\n\
         site: {config}/site/test_yard.yaml\nsoil: {config}/soil/lunar.yaml\nrovers:\n"
    );
    for i in 0..TEN {
        let [x_m, y_m] = [i % 4, i / 4].map(|k| (k as f64 - 1.5) * APART_M);
        let (name, to_m) = (name(i), x_m + 4.0);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "  - name: {name}\n    file: {config}/rover/viper.yaml\n    start: {{x_m: {x_m}, y_m: {y_m}, yaw_deg: 0}}\n    \
             route: {{speed_m_s: 0.15, waypoints_m: [[{to_m}, {y_m}]]}}\n"
        );
    }
    Ok(text)
}

fn start(setting: &Setting, file: &Path, own: Option<&String>) -> Result<Child, BenchError> {
    let mut command = Command::new(&setting.program);
    command.arg("simulation").arg("--scenario").arg(file).args(["--pace", "fast", "--for", DURATION_S, "--run"]);
    command.arg(format!("bench_{}", std::process::id()));
    if let Some(own) = own {
        command.args(["--own", own]);
    }
    let started = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    started.map_err(|error| BenchError::new(format!("a simulation cannot be started: {error}")))
}

/// Wall time over simulated time of a process: the inverse of the real-time factor in its summary.
fn factor(process: Child) -> Result<f64, BenchError> {
    let output = process.wait_with_output().map_err(BenchError::new)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let line = printed.lines().find_map(|line| line.trim().strip_prefix("real-time factor"));
    let factor = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let wall_over_simulated = factor.filter(|_| output.status.success()).map(|factor: f64| 1.0 / factor);
    wall_over_simulated.ok_or_else(|| BenchError::new(format!("a simulation failed: {printed}")))
}
