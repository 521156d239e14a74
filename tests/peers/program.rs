//! Helpers that run the `selene` program and the Python peers.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use selene_tests::{repository_file, root, skip_peer};

/// The longest duration of a test: one that hangs is reported by name and does not block all others.
const TURN_MAX: Duration = Duration::from_secs(600);

/// Held by each test while it runs: full runs side by side would slow each other down too much.
pub(crate) struct FullRunLock {
    _ended: Sender<()>,
    _turn: MutexGuard<'static, ()>,
}

/// Waits for this test's turn.
pub(crate) fn alone() -> FullRunLock {
    static TURN: Mutex<()> = Mutex::new(());
    // Builds the program before the test's time starts.
    let _ = program();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (ended, end) = channel();
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::spawn(move || {
        if end.recv_timeout(TURN_MAX) == Err(RecvTimeoutError::Timeout) {
            give_up(&test);
        }
    });
    FullRunLock { _ended: ended, _turn: turn }
}

/// Ends the test process and the programs that it started.
fn give_up(test: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{test} has not ended after {} s: it hangs", TURN_MAX.as_secs());
    let _ = Command::new("pkill").args(["-KILL", "-P", &std::process::id().to_string()]).status();
    std::process::exit(101);
}

/// The `selene` program, built in the same way as these tests.
pub(crate) fn selene() -> Command {
    let mut command = Command::new(program());
    command.current_dir(root()).stdin(Stdio::null());
    command
}

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "selene"]).current_dir(root());
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo").success(), "selene does not build");
        // target/<profile>/deps/peers-… → target/<profile>/selene
        let test = std::env::current_exe().expect("this test");
        test.ancestors().nth(2).expect("profile folder").join("selene")
    })
}

/// A Python program of `tests/peers`; `None`, with a message, if Python or its packages are missing.
pub(crate) fn peer(script: &str) -> Option<Command> {
    let Some(python) = std::env::var_os("SELENE_PEERS_PYTHON") else {
        skip_peer(
            "SELENE_PEERS_PYTHON names no Python with cyclonedds, rosbags, mcap-ros2-support, rasterio and opencv; tests/run.sh does",
        );
        return None;
    };
    let mut command = Command::new(python);
    command.arg(repository_file(&format!("tests/peers/{script}")));
    Some(command)
}

/// A child process that is killed when the test ends, in whatever way.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Waits until the process ends by itself; returns its output.
    pub(crate) fn output(&mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        if let Some(printed) = &mut self.0.stdout {
            printed.read_to_end(&mut stdout).expect("what it says");
        }
        if let Some(complained) = &mut self.0.stderr {
            complained.read_to_end(&mut stderr).expect("what it complains of");
        }
        Output { status: self.0.wait().expect("it ends"), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An empty folder for a test's files.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-peers-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("folder");
    folder
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8 path").to_owned()
}

/// Returns the program's output; fails with all that it printed unless it succeeded.
pub(crate) fn succeeded(what: &str, output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{printed}\n{complained}", output.status);
    printed
}
