//! The thread that does what is delayed when its time has come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

/// What is done at the other end of a link.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Leads to the thread, which ends with the last of its copies.
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

    /// Has `job` done at `due`.
    pub(super) fn put(&self, due: Duration, job: Job) {
        // The thread lives as long as this line.
        let _ = self.sender.send((due, job));
    }
}

/// A job, told from others by its time and then by its number.
struct Waiting {
    due: Duration,
    number: u64,
    job: Job,
}

impl Waiting {
    fn key(&self) -> (Duration, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

fn run(begun: Instant, arrived: &Receiver<(Duration, Job)>) {
    let mut waiting: BinaryHeap<Reverse<Waiting>> = BinaryHeap::new();
    let mut number = 0;
    loop {
        let next = match waiting.peek() {
            None => arrived.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(Reverse(first)) => arrived.recv_timeout(first.due.saturating_sub(begun.elapsed())),
        };
        match next {
            Ok((due, job)) => {
                number += 1;
                waiting.push(Reverse(Waiting { due, number, job }));
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
