//! The last messages of every latched publisher: each new file of a bag begins with them, so that it can be
//! played by itself.

use std::collections::{BTreeMap, VecDeque};

use crate::cdr::Encoded;

/// A publisher of a latched topic, and how many messages it keeps.
#[derive(Clone, Copy)]
pub(super) struct Latch {
    pub(super) publisher: u64,
    pub(super) depth: usize,
}

/// A message that is kept.
#[derive(Clone)]
pub(super) struct Kept {
    /// Number of its topic.
    pub(super) topic: usize,
    pub(super) sequence: u32,
    pub(super) stamp_ns: u64,
    pub(super) message: Encoded,
}

/// All that is kept.
#[derive(Default)]
pub(super) struct Latched {
    /// By publisher, each message with its place among all that came.
    kept: BTreeMap<u64, VecDeque<(u64, Kept)>>,
    came: u64,
}

impl Latched {
    /// Keeps a message in place of the publisher's oldest.
    pub(super) fn keep(&mut self, latch: Latch, kept: Kept) {
        self.came += 1;
        let own = self.kept.entry(latch.publisher).or_default();
        own.push_back((self.came, kept));
        if own.len() > latch.depth {
            own.pop_front();
        }
    }

    /// Forgets what a publisher said that is gone, as middlewares do.
    pub(super) fn forget(&mut self, publisher: u64) {
        self.kept.remove(&publisher);
    }

    /// All messages in the order in which they came.
    pub(super) fn all(&self) -> Vec<Kept> {
        let mut all: Vec<_> = self.kept.values().flatten().collect();
        all.sort_unstable_by_key(|(came, _)| *came);
        all.into_iter().map(|(_, kept)| kept.clone()).collect()
    }
}
