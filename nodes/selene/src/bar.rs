//! Progress of long work. On a terminal, a bar with the remaining time is redrawn in place; elsewhere a short line
//! without control characters is printed every ten seconds.

use std::fmt::{Display, Write};
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::verbosity::Verbosity;

/// Interval between plain lines (wall time).
pub(crate) const PLAIN_LINE: Duration = Duration::from_secs(10);
/// Template of a bar of known length.
const STYLE: &str = "{msg} [{bar:30}] {percent} %{left}";
/// The bar on the terminal.
static LIVE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Whether lines are redrawn in place.
pub(crate) fn is_live(verbosity: Verbosity) -> bool {
    verbosity != Verbosity::Quiet && std::io::stderr().is_terminal()
}

/// A bar of this template; hidden if lines are not redrawn.
pub(crate) fn drawn(live: bool, length: Option<u64>, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("left", left);
    let bar = match (live, length) {
        (false, _) => return ProgressBar::hidden(),
        (true, Some(length)) => ProgressBar::new(length).with_style(style),
        (true, None) => ProgressBar::new_spinner().with_style(style),
    };
    *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    bar
}

/// The remaining time, once something is done.
fn left(state: &ProgressState, to: &mut dyn Write) {
    if state.pos() > 0 {
        // Writing to a string does not fail.
        let _ = write!(to, ", {} s left", state.eta().as_secs());
    }
}

/// Prints to standard error above the bar on the terminal, if there is one: nothing else may write there.
pub(crate) fn print_above(print: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let print = || print(&mut io::stderr());
    match live {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Writes lines of the log above the bar.
pub(crate) struct AboveBar;

impl io::Write for AboveBar {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        print_above(|stderr| stderr.write_all(line)).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Work of a known number of steps.
pub(crate) struct Work {
    what: String,
    steps: u64,
    verbosity: Verbosity,
    bar: ProgressBar,
    done: Mutex<Done>,
}

struct Done {
    steps: u64,
    printed: Instant,
}

impl Work {
    /// Work of `steps` steps, of which none is done.
    pub(crate) fn begin(verbosity: Verbosity, what: impl Into<String>, steps: u64) -> Self {
        let what = what.into();
        let bar = drawn(is_live(verbosity), Some(steps), STYLE).with_message(what.clone());
        bar.tick();
        Self { what, steps, verbosity, bar, done: Mutex::new(Done { steps: 0, printed: Instant::now() }) }
    }

    /// Prints a line above the bar.
    pub(crate) fn note(&self, text: impl Display) {
        self.verbosity.note(text);
    }

    /// Counts one more step as done; any thread may call it.
    pub(crate) fn step(&self) {
        self.reach(|done| done + 1);
    }

    /// Sets the number of steps that are done.
    pub(crate) fn reached(&self, steps: u64) {
        self.reach(|_| steps);
    }

    fn reach(&self, to: impl FnOnce(u64) -> u64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.steps = to(done.steps).min(self.steps);
        self.bar.set_position(done.steps);
        if self.bar.is_hidden() && done.printed.elapsed() >= PLAIN_LINE {
            done.printed = Instant::now();
            self.verbosity.note(line(&self.what, done.steps, self.steps));
        }
    }
}

/// Removes the bar from the terminal.
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
    use crate::verbosity::Verbosity;

    #[test]
    fn steps_of_several_threads_are_counted_and_no_more_than_there_are() {
        let work = Work::begin(Verbosity::Quiet, "slopes", 8);
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
