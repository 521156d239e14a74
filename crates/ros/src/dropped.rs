//! Counts what was dropped of one topic or service and logs it at most once a second: a flood of invalid messages must
//! not flood the log too. Only the log depends on wall time.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum interval between two lines in the log (wall time).
const LOG_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Dropped {
    /// Name of the topic or service.
    of: String,
    count: AtomicU64,
    /// When it was last logged.
    logged: Mutex<Option<Instant>>,
}

impl Dropped {
    pub(crate) fn new(of: &str) -> Self {
        Self { of: of.to_owned(), count: AtomicU64::new(0), logged: Mutex::default() }
    }

    /// Counts one more and logs why if it is due; returns the count.
    pub(crate) fn add(&self, why: impl Display) -> u64 {
        let dropped = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if self.is_due(Instant::now()) {
            tracing::warn!(of = self.of, dropped, "dropped: {why}");
        }
        dropped
    }

    /// How many were dropped so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether to log at `now`.
    fn is_due(&self, now: Instant) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = logged.is_none_or(|logged| now.saturating_duration_since(logged) >= LOG_EVERY);
        if is_due {
            *logged = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::{Dropped, LOG_EVERY};
    use std::time::Instant;

    #[test]
    fn everything_dropped_is_counted_from_any_thread() {
        let dropped = Dropped::new("/depth");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| _ = dropped.add("garbage")));
            }
        });
        assert_eq!(dropped.add("the last"), 101);
        assert_eq!(dropped.count(), 101);
    }

    #[test]
    fn it_is_logged_at_once_and_then_once_a_second() {
        let (dropped, now) = (Dropped::new("/depth"), Instant::now());
        let due = [0, 1, 9, 10, 11, 19, 20].map(|tenths| dropped.is_due(now + LOG_EVERY * tenths / 10));
        assert_eq!(due, [true, false, false, true, false, false, true]);
    }
}
