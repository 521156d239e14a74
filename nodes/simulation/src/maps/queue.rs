//! Work that waits for the thread that makes maps. Intervals of the world come first, so that a map shows the world as
//! it stands. Then rovers take turns, so that many requests for one do not delay those for another. Each rover may have
//! a few waiting requests; a further one is refused at once, counted and logged, and no caller ever blocks.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use selene_observe::Interval;
use selene_ros::selene_msgs::MapRequest;
use selene_sim::EntityId;

/// Maximum number of waiting requests for one rover: some ten seconds of work for the largest maps.
const WAITING_MAX: usize = 8;
/// Minimum interval between two log messages about refusals (wall time).
const LOG_EVERY: Duration = Duration::from_secs(1);

/// The thread's next piece of work.
pub(super) enum Work {
    /// Apply an interval of the world.
    Follow(Interval),
    /// Make the maps that a request for a rover asks for.
    Answer(EntityId, MapRequest),
    /// End the thread.
    End,
}

/// Numbers of requests that wait and that were refused so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestCounts {
    pub(crate) waiting: usize,
    pub(crate) refused: u64,
}

/// The queue through which the node and map subscribers give work to the thread.
#[derive(Default)]
pub(super) struct MapQueue {
    pending: Mutex<Pending>,
    come: Condvar,
    /// Signalled when the thread has finished a piece of work.
    dealt: Condvar,
}

#[derive(Default)]
struct Pending {
    intervals: VecDeque<Interval>,
    /// Waiting requests by rover, in the order of their turns; no rover's list is empty.
    requests: VecDeque<(EntityId, VecDeque<MapRequest>)>,
    refused: u64,
    logged: Option<Instant>,
    /// Whether the thread is applying an interval.
    is_following: bool,
    is_closed: bool,
}

impl MapQueue {
    /// Adds the world's next interval.
    pub(super) fn follow(&self, interval: Interval) {
        self.pending().intervals.push_back(interval);
        self.come.notify_one();
    }

    /// Adds a request, or refuses it if the rover has too many.
    pub(super) fn request(&self, rover: EntityId, request: MapRequest) {
        if self.pending().put(rover, request) {
            self.come.notify_one();
        } else {
            self.refuse(&format_args!("{WAITING_MAX} wait already: request again when they are answered"));
        }
    }

    /// Counts a refused request, and logs why unless a refusal was logged recently.
    pub(super) fn refuse(&self, why: &dyn std::fmt::Display) {
        let mut pending = self.pending();
        pending.refused += 1;
        let (refused, is_due) = (pending.refused, pending.is_log_due(Instant::now()));
        drop(pending);
        if is_due {
            tracing::warn!(refused, "map_request refused: {why}");
        }
    }

    /// Ends the thread's work: it still applies all intervals, but begins no further map.
    pub(super) fn close(&self) {
        let mut pending = self.pending();
        pending.is_closed = true;
        pending.requests.clear();
        drop(pending);
        self.come.notify_one();
    }

    /// Waits for the next piece of work; marks the one taken before as done.
    pub(super) fn next(&self) -> Work {
        let mut pending = self.pending();
        pending.is_following = false;
        self.dealt.notify_all();
        loop {
            if let Some(work) = pending.take() {
                return work;
            }
            pending = self.come.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits at most `timeout` until all intervals are applied; returns whether they are.
    pub(super) fn await_followed(&self, timeout: Duration) -> bool {
        let is_behind = |pending: &mut Pending| pending.is_following || !pending.intervals.is_empty();
        let waited = self.dealt.wait_timeout_while(self.pending(), timeout, is_behind);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    pub(super) fn counts(&self) -> RequestCounts {
        let pending = self.pending();
        let waiting = pending.requests.iter().map(|(_, of_rover)| of_rover.len()).sum();
        RequestCounts { waiting, refused: pending.refused }
    }

    /// The queue is consistent even if a thread panicked while holding the lock.
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    /// Returns whether there was room; a closed queue drops the request and returns true.
    fn put(&mut self, rover: EntityId, request: MapRequest) -> bool {
        if self.is_closed {
            return true;
        }
        match self.requests.iter_mut().find(|(of, _)| *of == rover) {
            Some((_, waiting)) if waiting.len() >= WAITING_MAX => return false,
            Some((_, waiting)) => waiting.push_back(request),
            None => self.requests.push_back((rover, VecDeque::from([request]))),
        }
        true
    }

    fn take(&mut self) -> Option<Work> {
        if let Some(interval) = self.intervals.pop_front() {
            self.is_following = true;
            return Some(Work::Follow(interval));
        }
        if let Some((rover, mut waiting)) = self.requests.pop_front() {
            let request = waiting.pop_front();
            if !waiting.is_empty() {
                self.requests.push_back((rover, waiting));
            }
            return request.map(|request| Work::Answer(rover, request));
        }
        self.is_closed.then_some(Work::End)
    }

    fn is_log_due(&mut self, now: Instant) -> bool {
        let is_due = self.logged.is_none_or(|logged| now.duration_since(logged) >= LOG_EVERY);
        if is_due {
            self.logged = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::{LOG_EVERY, MapQueue, Pending, RequestCounts, WAITING_MAX, Work};
    use selene_ros::selene_msgs::MapRequest;
    use selene_sim::EntityId;
    use std::time::{Duration, Instant};

    const FIRST: EntityId = EntityId(1);
    const SECOND: EntityId = EntityId(2);

    fn request(length_x: f64) -> MapRequest {
        MapRequest { length_x, ..MapRequest::default() }
    }

    /// Rover and length of each request in the order in which they are answered.
    fn answered(queue: &MapQueue) -> Vec<(EntityId, f64)> {
        let next = || match queue.pending().take() {
            Some(Work::Answer(rover, request)) => Some((rover, request.length_x)),
            _ => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_flood_for_one_rover_is_bounded_counted_and_keeps_no_other_waiting() {
        let queue = MapQueue::default();
        (0..100).for_each(|i| queue.request(FIRST, request(f64::from(i))));
        queue.request(SECOND, request(0.5));
        let refused = 100 - WAITING_MAX as u64;
        assert_eq!(queue.counts(), RequestCounts { waiting: WAITING_MAX + 1, refused });
        let order = answered(&queue);
        assert_eq!(order[..3], [(FIRST, 0.0), (SECOND, 0.5), (FIRST, 1.0)]);
        assert_eq!(order.len(), WAITING_MAX + 1);
        assert_eq!(queue.counts(), RequestCounts { waiting: 0, refused });
    }

    #[test]
    fn at_the_end_no_map_is_begun() {
        let queue = MapQueue::default();
        queue.request(FIRST, request(1.0));
        queue.close();
        queue.request(FIRST, request(2.0));
        assert!(matches!(queue.next(), Work::End));
        assert_eq!(queue.counts(), RequestCounts::default());
    }

    #[test]
    fn a_map_that_is_made_keeps_nobody_waiting_who_waits_for_the_world() {
        let queue = MapQueue::default();
        assert!(queue.await_followed(Duration::ZERO));
        queue.request(FIRST, request(1.0));
        assert!(matches!(queue.next(), Work::Answer(..)));
        assert!(queue.await_followed(Duration::ZERO));
    }

    #[test]
    fn refusals_are_logged_once_a_while() {
        let (mut pending, start) = (Pending::default(), Instant::now());
        let due = [0, 1, 999, 1000, 1500, 2000].map(|ms| pending.is_log_due(start + Duration::from_millis(ms)));
        assert_eq!(LOG_EVERY, Duration::from_secs(1));
        assert_eq!(due, [true, false, false, true, false, true]);
    }
}
