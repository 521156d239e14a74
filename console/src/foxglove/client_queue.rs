//! The bounded queue of messages to one client. When a client reads too slowly, the oldest messages are dropped and
//! counted, first those of the topic that takes most bytes, so that images do not displace transforms. Publishers never
//! wait.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use selene_base::SimTime;
use selene_ros::Encoded;
use tokio::sync::Notify;

/// Greatest number of bytes that wait for a client; a single message may be larger.
pub(super) const BYTES_MAX: usize = 64 << 20;
/// Greatest number of messages of one topic that wait for a client: more than any topic latches.
pub(super) const MESSAGES_MAX: usize = 1024;

/// A message for a client.
pub(super) struct Queued {
    /// The client's id of the subscription.
    pub(super) subscription: u32,
    pub(super) stamp: SimTime,
    pub(super) message: Encoded,
}

/// The next item to write to a client.
pub(super) enum Next {
    /// The list of topics has changed.
    Topics,
    /// The newest time of the clock.
    Time(SimTime),
    Message(Queued),
}

/// The queue of one client.
#[derive(Default)]
pub(super) struct ClientQueue {
    waiting: Mutex<QueueState>,
    news: Notify,
}

#[derive(Default)]
struct QueueState {
    has_other_topics: bool,
    time: Option<SimTime>,
    /// Messages by their places in the order of arrival.
    messages: BTreeMap<u64, Queued>,
    shares: BTreeMap<u32, SubscriptionQueue>,
    last_place: u64,
    bytes: usize,
}

/// The waiting messages of one subscription: their places in the queue, and their bytes in sum.
#[derive(Default)]
struct SubscriptionQueue {
    places: VecDeque<u64>,
    bytes: usize,
}

impl ClientQueue {
    fn waiting(&self) -> MutexGuard<'_, QueueState> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the list of topics has changed.
    pub(super) fn report_topics(&self) {
        self.waiting().has_other_topics = true;
        self.news.notify_one();
    }

    /// Queues the present time; it replaces an earlier one that still waits.
    pub(super) fn send_time(&self, time: SimTime) {
        self.waiting().time = Some(time);
        self.news.notify_one();
    }

    /// Appends a message. Returns the number of messages dropped to make room.
    pub(super) fn put(&self, queued: Queued) -> u64 {
        let dropped = self.waiting().put(queued);
        self.news.notify_one();
        dropped
    }

    /// Drops the waiting messages of a subscription that has ended.
    pub(super) fn forget(&self, subscription: u32) {
        let mut waiting = self.waiting();
        while waiting.drop_oldest(subscription) {}
    }

    /// Waits for the next item to write. It is safe to cancel: no item is lost.
    pub(super) async fn next(&self) -> Next {
        loop {
            if let Some(next) = self.take() {
                return next;
            }
            self.news.notified().await;
        }
    }

    fn take(&self) -> Option<Next> {
        let mut waiting = self.waiting();
        if std::mem::take(&mut waiting.has_other_topics) {
            return Some(Next::Topics);
        }
        if let Some(time) = waiting.time.take() {
            return Some(Next::Time(time));
        }
        waiting.take_oldest().map(Next::Message)
    }
}

impl QueueState {
    fn put(&mut self, queued: Queued) -> u64 {
        let (subscription, bytes) = (queued.subscription, queued.message.bytes().len());
        self.last_place += 1;
        self.messages.insert(self.last_place, queued);
        self.bytes += bytes;
        let share = self.shares.entry(subscription).or_default();
        share.places.push_back(self.last_place);
        share.bytes += bytes;
        let is_long = share.places.len() > MESSAGES_MAX;
        u64::from(is_long && self.drop_oldest(subscription)) + self.shrink()
    }

    /// Drops messages of the topic that takes most bytes, until the rest fits.
    fn shrink(&mut self) -> u64 {
        let mut dropped = 0;
        while self.bytes > BYTES_MAX && self.messages.len() > 1 {
            let fullest =
                self.shares.iter().max_by_key(|(_, share)| share.bytes).map(|(subscription, _)| *subscription);
            if !fullest.is_some_and(|fullest| self.drop_oldest(fullest)) {
                break;
            }
            dropped += 1;
        }
        dropped
    }

    /// Drops a subscription's oldest message. Returns whether there was one.
    fn drop_oldest(&mut self, subscription: u32) -> bool {
        let place = self.shares.get(&subscription).and_then(|share| share.places.front().copied());
        place.and_then(|place| self.remove(place)).is_some()
    }

    fn take_oldest(&mut self) -> Option<Queued> {
        let place = *self.messages.first_key_value()?.0;
        self.remove(place)
    }

    /// Removes a message that is the oldest of its subscription.
    fn remove(&mut self, place: u64) -> Option<Queued> {
        let queued = self.messages.remove(&place)?;
        let bytes = queued.message.bytes().len();
        self.bytes -= bytes;
        if let Some(share) = self.shares.get_mut(&queued.subscription) {
            share.places.pop_front();
            share.bytes -= bytes;
            if share.places.is_empty() {
                self.shares.remove(&queued.subscription);
            }
        }
        Some(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, ClientQueue, MESSAGES_MAX, Next, Queued};
    use selene_base::SimTime;
    use selene_ros::Encoded;

    fn queued(subscription: u32, stamp: i64, bytes: usize) -> Queued {
        let message = Encoded::from_bytes(vec![0; bytes]);
        Queued { subscription, stamp: SimTime::from_nanos(stamp), message }
    }

    /// Subscription and stamp of each waiting message.
    fn taken(outbox: &ClientQueue) -> Vec<(u32, i64)> {
        let message = |next| match next {
            Next::Message(queued) => (queued.subscription, queued.stamp.nanos()),
            Next::Topics | Next::Time(_) => panic!("no message"),
        };
        std::iter::from_fn(|| outbox.take()).map(message).collect()
    }

    #[test]
    fn messages_come_out_in_the_order_in_which_they_went_in() {
        let outbox = ClientQueue::default();
        let order = [(7, 1), (9, 2), (7, 3), (8, 3)];
        let dropped: u64 = order.iter().map(|(subscription, stamp)| outbox.put(queued(*subscription, *stamp, 8))).sum();
        assert_eq!((dropped, taken(&outbox)), (0, order.to_vec()));
    }

    #[test]
    fn what_holds_most_is_dropped_first_and_the_oldest_of_it() {
        let outbox = ClientQueue::default();
        outbox.put(queued(1, 0, 100));
        let dropped: Vec<u64> = (1..=9).map(|stamp| outbox.put(queued(2, stamp, BYTES_MAX / 8))).collect();
        // Eight of them fill it to the last byte, so with the small message seven fit.
        assert_eq!(dropped, [0, 0, 0, 0, 0, 0, 0, 1, 1]);
        let left: Vec<_> = [(1, 0)].into_iter().chain((3..=9).map(|stamp| (2, stamp))).collect();
        assert_eq!(taken(&outbox), left);
        assert_eq!(outbox.put(queued(3, 1, BYTES_MAX + 1)), 0, "one that waits alone is kept");
    }

    #[test]
    fn a_topic_has_so_many_messages_and_a_subscription_that_ended_has_none() {
        let outbox = ClientQueue::default();
        let dropped: u64 = (0..MESSAGES_MAX as i64 + 5).map(|stamp| outbox.put(queued(1, stamp, 1))).sum();
        outbox.put(queued(2, 0, 1));
        assert_eq!(dropped, 5);
        outbox.forget(1);
        assert_eq!(taken(&outbox), [(2, 0)]);
    }

    #[test]
    fn only_the_newest_time_is_sent_and_before_messages() {
        let outbox = ClientQueue::default();
        outbox.put(queued(1, 3, 1));
        [1, 2, 3].map(SimTime::from_nanos).into_iter().for_each(|time| outbox.send_time(time));
        outbox.report_topics();
        assert!(matches!(outbox.take(), Some(Next::Topics)));
        assert!(matches!(outbox.take(), Some(Next::Time(time)) if time.nanos() == 3));
        assert_eq!(taken(&outbox), [(1, 3)]);
    }
}
