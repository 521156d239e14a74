//! Programs whose words go to files: a wait for one of them ends at its deadline, and tells what it said so far.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::Running;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Tries until something is there, or the time is over.
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

/// A program that runs and is killed when the test ends.
pub(crate) struct Logged {
    name: String,
    pub(crate) running: Running,
    /// What it says, and what it complains of.
    files: [PathBuf; 2],
}

impl Logged {
    /// Starts it; its words go to files of its name in a folder.
    pub(crate) fn start(name: &str, folder: &Path, command: &mut Command) -> Self {
        let files = ["out", "err"].map(|ending| folder.join(format!("{name}.{ending}")));
        let [out, err] = files.each_ref().map(|file| File::create(file).expect("a log"));
        // Python would keep its words until it ends.
        command.stdout(out).stderr(err).env("PYTHONUNBUFFERED", "1");
        let child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), running: Running(child), files }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.running.0.id()
    }

    /// All that it said so far.
    pub(crate) fn said(&self) -> String {
        let [out, err] = self.files.each_ref().map(|file| {
            let bytes = std::fs::read(file).expect("a log");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        format!("{}:\n{out}{err}", self.name)
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.running.0.try_wait().expect("state")
    }

    /// How it ended; none while it still runs when the time is over.
    pub(crate) fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        within(limit, || self.ended())
    }

    /// What follows these words in the `nth` line (from 0) that begins with them; none where the time is over or the
    /// program ends without it.
    pub(crate) fn says_within(&mut self, words: &str, nth: usize, limit: Duration) -> Option<String> {
        let look = || {
            // Asked first: what it said before its end is in the file then.
            let has_ended = self.ended().is_some();
            let said = self.line(words, nth);
            (said.is_some() || has_ended).then_some(said)
        };
        within(limit, look).flatten()
    }

    fn line(&self, words: &str, nth: usize) -> Option<String> {
        let said = self.said();
        // A line that is not whole yet does not count.
        let whole = said.rfind('\n').map_or("", |end| &said[..end]);
        let mut lines = whole.lines().filter_map(|line| line.strip_prefix(words));
        lines.nth(nth).map(|rest| rest.trim().to_owned())
    }
}

/// Fails, with all that these said so far, unless `is_so`.
pub(crate) fn check(is_so: bool, what: &str, programs: &[&Logged]) {
    let said = || programs.iter().map(|program| program.said()).collect::<Vec<_>>().join("\n");
    assert!(is_so, "{what}\n{}", said());
}

/// A peer of a simulation comes to a good end in time, and the simulation still runs then.
pub(crate) fn peer_succeeds(peer: &mut Logged, limit: Duration, simulation: &mut Logged) {
    let status = peer.ends_within(limit);
    let what = match status {
        Some(status) => format!("the peer: {status}"),
        None => format!("the peer still runs after {} s", limit.as_secs()),
    };
    check(status.is_some_and(|status| status.success()), &what, &[&*peer, &*simulation]);
    println!("{}", peer.said());
    let ended = simulation.ended();
    check(ended.is_none(), "the simulation ended", &[&*simulation]);
}
