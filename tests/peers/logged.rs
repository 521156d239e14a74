//! Programs whose output goes to files: waiting for a line ends at a deadline, and then shows the output so far.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::Running;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Polls `look` until it returns a value or the time is over.
fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        let found = look();
        if found.is_some() || Instant::now() > end {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// A running program, killed when the test ends.
pub(crate) struct Logged {
    name: String,
    pub(crate) running: Running,
    /// Files with its standard output and its standard error.
    files: [PathBuf; 2],
}

impl Logged {
    /// Starts a program; its output goes to files named after it in a folder.
    pub(crate) fn start(name: &str, folder: &Path, command: &mut Command) -> Self {
        let files = ["out", "err"].map(|ending| folder.join(format!("{name}.{ending}")));
        let [out, err] = files.each_ref().map(|file| File::create(file).expect("a log"));
        // Python would buffer its output until it ends.
        command.stdout(out).stderr(err).env("PYTHONUNBUFFERED", "1");
        let child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), running: Running(child), files }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.running.0.id()
    }

    /// All its output so far.
    pub(crate) fn printed(&self) -> String {
        let [out, err] = self.files.each_ref().map(|file| {
            let bytes = std::fs::read(file).expect("a log");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        format!("{}:\n{out}{err}", self.name)
    }

    /// Its exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.running.0.try_wait().expect("state")
    }

    /// Waits for its exit status; `None` if it still runs at the deadline.
    pub(crate) fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        within(limit, || self.ended())
    }

    /// Waits for the `nth` line (from 0) that begins with `words`, and returns the rest of it; `None` at the deadline,
    /// or if the program ends without it.
    pub(crate) fn prints_within(&mut self, words: &str, nth: usize, limit: Duration) -> Option<String> {
        let look = || {
            // Checked first: all output before its end is then in the file.
            let has_ended = self.ended().is_some();
            let printed = self.line(words, nth);
            (printed.is_some() || has_ended).then_some(printed)
        };
        within(limit, look).flatten()
    }

    /// Waits for a line that contains `words`, and returns it; `None` at the deadline.
    pub(crate) fn says_within(&self, words: &str, limit: Duration) -> Option<String> {
        let look = || {
            let printed = self.printed();
            let whole = printed.rfind('\n').map_or("", |end| &printed[..end]);
            whole.lines().find(|line| line.contains(words)).map(str::to_owned)
        };
        within(limit, look)
    }

    fn line(&self, words: &str, nth: usize) -> Option<String> {
        let printed = self.printed();
        // Ignores a line that is not complete yet.
        let whole = printed.rfind('\n').map_or("", |end| &printed[..end]);
        let mut lines = whole.lines().filter_map(|line| line.strip_prefix(words));
        lines.nth(nth).map(|rest| rest.trim().to_owned())
    }
}

/// Fails with the output of `programs` so far, unless `is_so`.
pub(crate) fn check(is_so: bool, what: &str, programs: &[&Logged]) {
    let printed = || programs.iter().map(|program| program.printed()).collect::<Vec<_>>().join("\n");
    assert!(is_so, "{what}\n{}", printed());
}

/// Checks that a peer of a simulation succeeds in time, and that the simulation still runs then.
pub(crate) fn peer_succeeds(peer: &mut Logged, limit: Duration, simulation: &mut Logged) {
    let status = peer.ends_within(limit);
    let what = match status {
        Some(status) => format!("the peer: {status}"),
        None => format!("the peer still runs after {} s", limit.as_secs()),
    };
    check(status.is_some_and(|status| status.success()), &what, &[&*peer, &*simulation]);
    println!("{}", peer.printed());
    let ended = simulation.ended();
    check(ended.is_none(), "the simulation ended", &[&*simulation]);
}
