//! Keeps the last messages of every latched publisher: each new file of a bag begins with them, so that it can be
//! played alone.

use std::collections::{BTreeMap, VecDeque};

use crate::cdr::Encoded;

/// A publisher of a latched topic, and the number of messages that it keeps.
#[derive(Clone, Copy)]
pub(super) struct LatchedPublisher {
    pub(super) publisher: u64,
    pub(super) depth: usize,
}

/// A kept message.
#[derive(Clone)]
pub(super) struct LatchedMessage {
    /// Number of its topic.
    pub(super) topic: usize,
    pub(super) sequence: u32,
    pub(super) stamp_ns: u64,
    pub(super) message: Encoded,
}

/// All kept messages.
#[derive(Default)]
pub(super) struct LatchedMessages {
    /// Messages by publisher, each with its index among all that arrived.
    kept: BTreeMap<u64, VecDeque<(u64, LatchedMessage)>>,
    came: u64,
}

impl LatchedMessages {
    /// Keeps a message; drops the publisher's oldest one if it has too many.
    pub(super) fn keep(&mut self, latch: LatchedPublisher, kept: LatchedMessage) {
        self.came += 1;
        let own = self.kept.entry(latch.publisher).or_default();
        own.push_back((self.came, kept));
        if own.len() > latch.depth {
            own.pop_front();
        }
    }

    /// Drops the messages of a publisher that has been closed, as middlewares do.
    pub(super) fn forget(&mut self, publisher: u64) {
        self.kept.remove(&publisher);
    }

    /// All messages in order of arrival.
    pub(super) fn all(&self) -> Vec<LatchedMessage> {
        let mut all: Vec<_> = self.kept.values().flatten().collect();
        all.sort_unstable_by_key(|(came, _)| *came);
        all.into_iter().map(|(_, kept)| kept.clone()).collect()
    }
}
