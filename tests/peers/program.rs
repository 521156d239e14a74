//! The `selene` program and the Python peers.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use selene_tests::{repository_file, root, skip_peer};

/// The longest that a test may have its turn: one that hangs is told by name, and does not stop all others.
const TURN_MAX: Duration = Duration::from_secs(600);

/// Held by each test while it runs: whole runs side by side would starve one another.
pub(crate) struct Turn {
    _ended: Sender<()>,
    _turn: MutexGuard<'static, ()>,
}

/// Waits for this test's turn.
pub(crate) fn alone() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    // Built before the clock runs.
    let _ = program();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (ended, end) = channel();
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::spawn(move || {
        if end.recv_timeout(TURN_MAX) == Err(RecvTimeoutError::Timeout) {
            give_up(&test);
        }
    });
    Turn { _ended: ended, _turn: turn }
}

/// Ends these tests and the programs that they started.
fn give_up(test: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{test} has not ended after {} s: it hangs", TURN_MAX.as_secs());
    let _ = Command::new("pkill").args(["-KILL", "-P", &std::process::id().to_string()]).status();
    std::process::exit(101);
}

/// The program, built like these tests.
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

/// A foreign program of `tests/peers`; none (said) where Python or its packages are
/// not here.
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

/// A child that is killed when the test ends, however it ends.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// What it printed, once it has ended by itself.
    pub(crate) fn output(&mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        if let Some(said) = &mut self.0.stdout {
            said.read_to_end(&mut stdout).expect("what it says");
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

/// A fresh folder for a test's files.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-peers-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("folder");
    folder
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8 path").to_owned()
}

/// Fails with all that was printed unless the program succeeded.
pub(crate) fn succeeded(what: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}\n{complained}", output.status);
    said
}
