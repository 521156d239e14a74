//! Messages that have arrived and wait to be taken: of each topic the newest `WAITING_MAX`. Older ones are dropped and
//! counted, so that a flood of messages, also during a hold, takes bounded memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ReceivedMessage;

/// Maximum number of waiting messages of one topic: more than any sender of commands leaves between two holds.
pub(super) const WAITING_MAX: usize = 256;

/// Waiting messages by topic, numbered in the order of their arrival.
#[derive(Default)]
pub(super) struct Arrivals {
    last: u64,
    topics: BTreeMap<Arc<str>, VecDeque<(u64, ReceivedMessage)>>,
    /// Number of dropped messages by topic.
    dropped: BTreeMap<Arc<str>, u64>,
}

impl Arrivals {
    /// Adds a message, in place of the topic's oldest one if too many wait.
    pub(super) fn put(&mut self, message: ReceivedMessage) {
        self.last += 1;
        let topic = Arc::clone(&message.topic);
        let waiting = self.topics.entry(Arc::clone(&topic)).or_default();
        waiting.push_back((self.last, message));
        if waiting.len() > WAITING_MAX {
            waiting.pop_front();
            *self.dropped.entry(topic).or_default() += 1;
        }
    }

    /// Takes the messages of all topics that `takes` accepts, in the order of arrival.
    pub(super) fn take(&mut self, takes: impl Fn(&str) -> bool) -> Vec<ReceivedMessage> {
        let all = std::mem::take(&mut self.topics).into_iter();
        let (taken, left): (BTreeMap<_, _>, BTreeMap<_, _>) = all.partition(|(topic, _)| takes(topic));
        self.topics = left;
        let mut taken: Vec<_> = taken.into_values().flatten().collect();
        taken.sort_unstable_by_key(|(number, _)| *number);
        taken.into_iter().map(|(_, message)| message).collect()
    }

    /// Moves all messages of `newer` that `is_kept` accepts to the end of this, and adds its counts.
    pub(super) fn absorb(&mut self, mut newer: Self, mut is_kept: impl FnMut(&ReceivedMessage) -> bool) {
        for message in newer.take(|_| true) {
            if is_kept(&message) {
                self.put(message);
            }
        }
        for (topic, dropped) in newer.dropped {
            *self.dropped.entry(topic).or_default() += dropped;
        }
    }

    /// Number of messages of a topic that were dropped.
    pub(super) fn dropped(&self, topic: &str) -> u64 {
        self.dropped.get(topic).copied().unwrap_or_default()
    }

    /// Number of messages of all topics that were dropped.
    pub(super) fn dropped_in_all(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Messages on their way from the middleware's threads to the node's.
#[derive(Default)]
pub(super) struct Mailbox {
    arrivals: Mutex<Arrivals>,
    came: Condvar,
}

impl Mailbox {
    pub(super) fn put(&self, message: ReceivedMessage) {
        self.arrivals().put(message);
        self.came.notify_one();
    }

    /// Takes everything.
    pub(super) fn take_all(&self) -> Arrivals {
        std::mem::take(&mut *self.arrivals())
    }

    /// Waits for a message, at most for `longest` (wall time); returns whether there is one.
    pub(super) fn wait(&self, longest: Duration) -> bool {
        let arrivals = self.arrivals();
        let is_empty = |arrivals: &mut Arrivals| arrivals.topics.is_empty();
        let waited = self.came.wait_timeout_while(arrivals, longest, is_empty);
        let (arrivals, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !arrivals.topics.is_empty()
    }

    /// The messages are consistent even if a thread panicked while holding the lock.
    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Mailbox, WAITING_MAX};
    use crate::command_inputs::ReceivedMessage;
    use selene_base::SimTime;
    use std::time::Duration;

    fn message(topic: &str, number: usize) -> ReceivedMessage {
        let stamp = SimTime::from_nanos(i64::try_from(number).expect("small"));
        ReceivedMessage { topic: topic.into(), stamp: Some(stamp), command: None }
    }

    fn named(messages: &[ReceivedMessage]) -> Vec<(&str, i64)> {
        messages.iter().map(|message| (&*message.topic, message.stamp.map_or(0, SimTime::nanos))).collect()
    }

    #[test]
    fn messages_are_taken_by_topic_in_the_order_of_arrival() {
        let mut arrivals = Arrivals::default();
        for (number, topic) in ["/b", "/a", "/b", "/c"].into_iter().enumerate() {
            arrivals.put(message(topic, number));
        }
        assert_eq!(named(&arrivals.take(|topic| topic != "/b")), [("/a", 1), ("/c", 3)]);
        arrivals.put(message("/a", 4));
        assert_eq!(named(&arrivals.take(|_| true)), [("/b", 0), ("/b", 2), ("/a", 4)]);
        assert_eq!(arrivals.dropped_in_all(), 0);
    }

    #[test]
    fn of_a_flood_the_newest_are_kept_and_the_rest_is_counted_and_other_topics_lose_nothing() {
        let mailbox = Mailbox::default();
        assert!(!mailbox.wait(Duration::ZERO));
        mailbox.put(message("/calm", 7));
        (0..WAITING_MAX + 3).for_each(|number| mailbox.put(message("/flood", number)));
        assert!(mailbox.wait(Duration::ZERO));
        let mut waiting = Arrivals::default();
        waiting.absorb(mailbox.take_all(), |_| true);
        // The same bound holds for what was taken from the mailbox and still waits.
        mailbox.put(message("/flood", WAITING_MAX + 3));
        waiting.absorb(mailbox.take_all(), |_| true);
        assert_eq!(["/calm", "/flood", "/none"].map(|topic| waiting.dropped(topic)), [0, 4, 0]);
        assert_eq!(waiting.dropped_in_all(), 4);
        let taken = waiting.take(|_| true);
        assert_eq!(taken.len(), WAITING_MAX + 1);
        assert_eq!(named(&taken)[..2], [("/calm", 7), ("/flood", 4)]);
    }

    #[test]
    fn what_is_not_kept_is_looked_at_once_and_not_counted_as_dropped() {
        let mailbox = Mailbox::default();
        (0..3).for_each(|number| mailbox.put(message("/joint_states", number)));
        let (mut waiting, mut seen) = (Arrivals::default(), 0);
        waiting.absorb(mailbox.take_all(), |_| {
            seen += 1;
            false
        });
        assert_eq!((seen, waiting.take(|_| true).len(), waiting.dropped_in_all()), (3, 0, 0));
    }
}
