//! Counts what was dropped of one topic or service and says so at the 1st, 2nd,
//! 4th, 8th … time: a flood of garbage must not flood the log too, and a library
//! has no clock to space its words by.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Dropped {
    /// The topic or service.
    of: String,
    count: AtomicU64,
}

impl Dropped {
    pub(crate) fn new(of: &str) -> Self {
        Self { of: of.to_owned(), count: AtomicU64::new(0) }
    }

    /// One more was dropped, and why; gives how many there have been.
    pub(crate) fn add(&self, why: impl Display) -> u64 {
        let dropped = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if dropped.is_power_of_two() {
            tracing::warn!(of = self.of, dropped, "dropped: {why}");
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::Dropped;

    #[test]
    fn everything_dropped_is_counted_from_any_thread() {
        let dropped = Dropped::new("/depth");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| _ = dropped.add("garbage")));
            }
        });
        assert_eq!(dropped.add("the last"), 101);
    }
}
