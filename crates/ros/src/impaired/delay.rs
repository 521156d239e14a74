//! The thread that runs delayed jobs when they are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

/// The delivery of a message at the other end of a link.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Handle of the thread, which ends with the last clone.
#[derive(Clone)]
pub(super) struct DelayLine {
    begun: Instant,
    sender: Sender<(Duration, Job)>,
}

impl DelayLine {
    pub(super) fn start() -> io::Result<Self> {
        let (sender, arrived) = channel();
        let begun = Instant::now();
        thread::Builder::new().name("impaired wire".to_owned()).spawn(move || run(begun, &arrived))?;
        Ok(Self { begun, sender })
    }

    /// Wall time since the line began.
    pub(super) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Runs `job` at `due`, wall time since the line began.
    pub(super) fn put(&self, due: Duration, job: Job) {
        // The thread lives as long as this handle, so that sending cannot fail.
        let _ = self.sender.send((due, job));
    }
}

/// A delayed job, ordered by its due time and then by its number.
struct DelayedJob {
    due: Duration,
    number: u64,
    job: Job,
}

impl DelayedJob {
    fn key(&self) -> (Duration, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for DelayedJob {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for DelayedJob {}

impl PartialOrd for DelayedJob {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DelayedJob {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

fn run(begun: Instant, arrived: &Receiver<(Duration, Job)>) {
    let mut waiting: BinaryHeap<Reverse<DelayedJob>> = BinaryHeap::new();
    let mut number = 0;
    loop {
        let next = match waiting.peek() {
            None => arrived.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(Reverse(first)) => arrived.recv_timeout(first.due.saturating_sub(begun.elapsed())),
        };
        match next {
            Ok((due, job)) => {
                number += 1;
                waiting.push(Reverse(DelayedJob { due, number, job }));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while waiting.peek().is_some_and(|Reverse(first)| first.due <= begun.elapsed()) {
            if let Some(Reverse(first)) = waiting.pop() {
                (first.job)();
            }
        }
    }
}
