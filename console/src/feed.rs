//! Feeds: subscriptions that keep only the newest message of a topic, undecoded. The publisher's thread replaces the
//! previous message and continues; readers decode it on their own threads. A subscription lasts while its feed is used.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use selene_ros::transport::{Subscription, Transport, TransportError};
use selene_ros::{Encoded, Message, Qos, Topic};
use tokio::sync::watch;

use crate::picture::Compressed;

/// The newest message of a topic.
#[derive(Clone, Debug)]
pub(crate) struct Newest {
    /// Number of the message since the feed was opened, from 1.
    pub(crate) number: u64,
    pub(crate) message: Encoded,
}

/// A subscription to a topic.
pub(crate) struct TopicFeed {
    newest: watch::Receiver<Option<Newest>>,
    /// Compressed pictures of its newest image.
    pub(crate) compressed: Compressed,
    _subscription: Subscription,
}

impl TopicFeed {
    /// Subscribes to `topic`.
    fn open(transport: &dyn Transport, topic: &Topic) -> Result<Self, TransportError> {
        let (sender, newest) = watch::channel(None);
        let numbers = AtomicU64::new(1);
        let sink = move |message: &Encoded| {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            // The previous message is freed after the exchange.
            drop(sender.send_replace(Some(Newest { number, message: message.clone() })));
        };
        let subscription = transport.subscribe(topic, Box::new(sink))?;
        Ok(Self { newest, compressed: Compressed::default(), _subscription: subscription })
    }

    /// The newest message, if any has arrived.
    pub(crate) fn newest(&self) -> Option<Newest> {
        self.newest.borrow().clone()
    }

    /// Waits until there is a message with a number above `after`, and returns the newest.
    pub(crate) async fn after(&self, after: u64) -> Option<Newest> {
        let mut newest = self.newest.clone();
        let is_new = |newest: &Option<Newest>| newest.as_ref().is_some_and(|newest| newest.number > after);
        newest.wait_for(is_new).await.ok()?.clone()
    }
}

/// The open feeds by topic name.
pub(crate) struct TopicFeeds {
    transport: Arc<dyn Transport>,
    open: Mutex<BTreeMap<String, Weak<TopicFeed>>>,
}

impl TopicFeeds {
    /// No feeds yet.
    pub(crate) fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, open: Mutex::default() }
    }

    /// The transport of the feeds.
    pub(crate) fn transport(&self) -> &dyn Transport {
        self.transport.as_ref()
    }

    /// The feed of topic `name` with messages `M`, shared by all who ask for it. It is open while someone keeps it.
    pub(crate) fn get<M: Message>(&self, name: &str, qos: Qos) -> Result<Arc<TopicFeed>, TransportError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = open.get(name).and_then(Weak::upgrade) {
            return Ok(feed);
        }
        open.retain(|_, feed| feed.strong_count() > 0);
        let feed = Arc::new(TopicFeed::open(self.transport.as_ref(), &Topic::new::<M>(name, qos)?)?);
        open.insert(name.to_owned(), Arc::downgrade(&feed));
        Ok(feed)
    }
}

#[cfg(test)]
mod tests {
    use super::TopicFeeds;
    use selene_base::SimTime;
    use selene_ros::in_process::InProcess;
    use selene_ros::transport::Publisher;
    use selene_ros::{Qos, decode, std_msgs::Float64};
    use std::sync::Arc;

    #[test]
    fn the_newest_message_replaces_those_before_and_a_dropped_feed_receives_no_more() {
        let bus = InProcess::new();
        let feeds = TopicFeeds::new(Arc::new(bus.clone()));
        let publisher = Publisher::new(&bus, "/depth", Qos::reliable()).unwrap();
        let feed = feeds.get::<Float64>("/depth", Qos::sensor_data()).unwrap();
        assert!(feed.newest().is_none());
        for data in [1.0, 2.0, 3.0] {
            publisher.publish(&Float64 { data }, SimTime::ZERO).unwrap();
        }
        let newest = feed.newest().expect("a message");
        assert_eq!((newest.number, decode::<Float64>(&newest.message).unwrap().data), (3, 3.0));
        assert!(Arc::ptr_eq(&feed, &feeds.get::<Float64>("/depth", Qos::sensor_data()).unwrap()));
        drop(feed);
        publisher.publish(&Float64 { data: 4.0 }, SimTime::ZERO).unwrap();
        assert!(feeds.get::<Float64>("/depth", Qos::sensor_data()).unwrap().newest().is_none());
    }
}
