//! Figures of a whole run: the default scenario in a separate process, as fast as possible, with DDS. Times are
//! measured here, from the start of that process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::BenchError;
use crate::console;
use crate::run_line::RunLine;
use crate::setting::Setting;

/// Simulated seconds of the run.
const DURATION_S: &str = "10";

/// Figures of the run.
pub(crate) struct ChildRun {
    pub(crate) first_image_s: f64,
    pub(crate) peak_memory_bytes: f64,
    simulated_s: f64,
    wall_s: f64,
}

impl ChildRun {
    pub(crate) fn wall_over_simulated(&self) -> f64 {
        self.wall_s / self.simulated_s
    }
}

/// The run that an earlier figure has made, or else a new one.
pub(crate) fn run_once<'a>(run: &'a mut Option<ChildRun>, setting: &Setting) -> Result<&'a ChildRun, BenchError> {
    let measured = match run.take() {
        Some(measured) => measured,
        None => measure(setting, Console::None)?,
    };
    Ok(run.insert(measured))
}

/// Whether clients watch the run's console.
#[derive(Clone, Copy, PartialEq)]
enum Console {
    None,
    Watched,
}

/// Fraction by which a run takes longer while ten clients watch its console.
pub(crate) fn console_cost(run: &mut Option<ChildRun>, setting: &Setting) -> Result<f64, BenchError> {
    let alone = run_once(run, setting)?.wall_over_simulated();
    Ok(measure(setting, Console::Watched)?.wall_over_simulated() / alone - 1.0)
}

/// Size of the `selene` program, bytes.
pub(crate) fn binary_bytes(setting: &Setting) -> Result<f64, BenchError> {
    let size = std::fs::metadata(&setting.program)
        .map_err(|e| BenchError::new(format!("this program cannot be looked at: {e}")))?;
    Ok(size.len() as f64)
}

fn measure(setting: &Setting, console: Console) -> Result<ChildRun, BenchError> {
    let folder = std::env::temp_dir().join(format!("selene-bench-{}", std::process::id()));
    let begun = Instant::now();
    let mut command = Command::new(&setting.program);
    command.args(["run", "--report", "--pace", "fast", "--for", DURATION_S, "--out"]).arg(&folder);
    if console == Console::Watched {
        command.arg("--console=127.0.0.1:0").stderr(Stdio::piped());
    }
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|e| BenchError::new(format!("a run cannot be started: {e}")))?;
    let watchers = child.stderr.take().map(console::watch);
    let received = listen(&mut child, begun);
    let pictures = watchers.map(|watchers| watchers.join().unwrap_or(0));
    let status = child.wait().map_err(|e| BenchError::new(format!("the run was lost: {e}")))?;
    // The run's pictures are not needed; a failure to remove them does little harm.
    let _ = std::fs::remove_dir_all(&folder);
    if pictures == Some(0) {
        return Err(BenchError::new("the pages at the console saw no picture"));
    }
    match received {
        Some(run) if status.success() => Ok(run),
        _ => Err(BenchError::new(format!("the run of the default scenario failed ({status}): see its message above"))),
    }
}

fn listen(child: &mut Child, begun: Instant) -> Option<ChildRun> {
    let mut first_image_s = None;
    let mut end = None;
    for text in BufReader::new(child.stdout.take()?).lines().map_while(Result::ok) {
        match RunLine::parse(&text) {
            Some(RunLine::FirstImage) => first_image_s = Some(begun.elapsed().as_secs_f64()),
            Some(line @ RunLine::End { .. }) => end = Some(line),
            Some(RunLine::Wheels { .. }) | None => {}
        }
    }
    let RunLine::End { simulated_s, wall_s, peak_memory_bytes } = end? else { return None };
    let peak_memory_bytes = peak_memory_bytes as f64;
    Some(ChildRun { first_image_s: first_image_s?, peak_memory_bytes, simulated_s, wall_s })
}
