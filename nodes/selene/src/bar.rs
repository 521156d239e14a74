//! How far long work is. On a terminal a bar with what is left is redrawn in place; elsewhere a short line comes every
//! ten seconds, without control characters.

use std::fmt::Display;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::telling::Telling;

/// How often a plain line comes (wall time).
pub(crate) const PLAIN_LINE: Duration = Duration::from_secs(10);
/// How a bar of known length looks: `eta` is what is left.
const STYLE: &str = "{msg} [{bar:30}] {percent} %, {eta} left";

/// Whether lines may be redrawn in place.
pub(crate) fn is_live(telling: Telling) -> bool {
    telling != Telling::Quiet && std::io::stderr().is_terminal()
}

/// A bar that looks like `template`, or nothing where lines are not redrawn.
pub(crate) fn drawn(live: bool, length: Option<u64>, template: &str) -> ProgressBar {
    let style = || ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    match (live, length) {
        (false, _) => ProgressBar::hidden(),
        (true, Some(length)) => ProgressBar::new(length).with_style(style()),
        (true, None) => ProgressBar::new_spinner().with_style(style()),
    }
}

/// Work of a known number of steps.
pub(crate) struct Work {
    what: String,
    steps: u64,
    telling: Telling,
    bar: ProgressBar,
    done: Mutex<Done>,
}

struct Done {
    steps: u64,
    said: Instant,
}

impl Work {
    /// Work of `steps` steps, of which none is done.
    pub(crate) fn begin(telling: Telling, what: impl Into<String>, steps: u64) -> Self {
        let what = what.into();
        let bar = drawn(is_live(telling), Some(steps), STYLE).with_message(what.clone());
        bar.tick();
        Self { what, steps, telling, bar, done: Mutex::new(Done { steps: 0, said: Instant::now() }) }
    }

    /// Tells a line of what is done, above the bar.
    pub(crate) fn note(&self, text: impl Display) {
        self.bar.suspend(|| self.telling.note(text));
    }

    /// One more step is done; any thread may say so.
    pub(crate) fn step(&self) {
        self.reach(|done| done + 1);
    }

    /// So many steps are done.
    pub(crate) fn reached(&self, steps: u64) {
        self.reach(|_| steps);
    }

    fn reach(&self, to: impl FnOnce(u64) -> u64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.steps = to(done.steps).min(self.steps);
        self.bar.set_position(done.steps);
        if self.bar.is_hidden() && done.said.elapsed() >= PLAIN_LINE {
            done.said = Instant::now();
            self.telling.note(line(&self.what, done.steps, self.steps));
        }
    }
}

/// Leaves the terminal as it was.
impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn line(what: &str, done: u64, steps: u64) -> String {
    format!("{what}: {:.0} %", 100.0 * done as f64 / steps.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::{Work, line};
    use crate::telling::Telling;

    #[test]
    fn steps_of_several_threads_are_counted_and_no_more_than_there_are() {
        let work = Work::begin(Telling::Quiet, "slopes", 8);
        std::thread::scope(|scope| (0..5).for_each(|_| drop(scope.spawn(|| work.step()))));
        assert_eq!(work.done.lock().expect("no panic").steps, 5);
        work.reached(20);
        assert_eq!(work.done.lock().expect("no panic").steps, 8);
    }

    #[test]
    fn a_plain_line_has_the_share_that_is_done() {
        assert_eq!(line("slopes", 2, 8), "slopes: 25 %");
        assert_eq!(line("nothing", 0, 0), "nothing: 0 %");
    }
}
