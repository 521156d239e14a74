//! Handles Ctrl-C and the end of a terminal or service. The first signal requests a clean end. One Ctrl-C may arrive as
//! several signals: a terminal sends it to every process of the group, and `ros2 launch` sends it again. So signals
//! within a second of the first count as the same request; the next one after that ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::bar;
use crate::fault::Fault;

/// Exit status of a program that SIGINT ended, by the convention of shells.
const INTERRUPTED: i32 = 130;
/// Signals within this time after the first one are the same request.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// The meaning of a signal.
#[derive(Debug, PartialEq)]
enum Request {
    /// End cleanly.
    End,
    /// The same request as the first signal.
    Repeated,
    /// End at once.
    EndAtOnce,
}

/// The meaning of a signal by the time since the first one; `None` for the first itself.
fn request(since_first: Option<Duration>) -> Request {
    match since_first {
        None => Request::End,
        Some(passed) if passed < ONE_REQUEST => Request::Repeated,
        Some(_) => Request::EndAtOnce,
    }
}

/// Installs the signal handler. Returns a flag that the first signal sets.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, Fault> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let mut first: Option<Instant> = None;
    let on_signal = move || match request(first.map(|first| first.elapsed())) {
        Request::End => {
            first = Some(Instant::now());
            flag.store(true, Ordering::Relaxed);
            // A launcher that has ended closes the pipe; that must not keep the run from ending.
            let what = "ending; once more after a second to end at once";
            let _ = bar::print_above(|stderr| writeln!(stderr, "\n{what}"));
        }
        Request::Repeated => {}
        Request::EndAtOnce => std::process::exit(INTERRUPTED),
    };
    ctrlc::set_handler(on_signal).map_err(|e| Fault::run(format!("Ctrl-C cannot be watched for: {e}")))?;
    Ok(stop)
}

/// Whether the end was requested.
pub(crate) fn requested(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// Fails if the end was requested before the run began. Called between the slow parts of the preparation.
pub(crate) fn check(stop: &AtomicBool) -> Result<(), Fault> {
    if requested(stop) { Err(Fault::run("stopped by hand before the run began")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{Request, request};
    use std::time::Duration;

    #[test]
    fn signals_within_a_second_of_the_first_are_one_and_a_later_one_ends_at_once() {
        let after = |ms| request(Some(Duration::from_millis(ms)));
        assert_eq!(request(None), Request::End);
        assert_eq!([after(0), after(2), after(999)], [Request::Repeated, Request::Repeated, Request::Repeated]);
        assert_eq!([after(1000), after(60_000)], [Request::EndAtOnce, Request::EndAtOnce]);
    }
}
