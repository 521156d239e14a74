//! The topics that clients can subscribe to: those that the process publishes, except those that only Selene's nodes
//! exchange. A message goes to the outbox of each client that subscribed to it, undecoded and uncopied. Messages that
//! publishers latch (transient local) are kept for clients that subscribe later.
//!
//! Locks are taken in this order: `State`, `LatchedState`, an outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selene_base::SimTime;
use selene_ros::bag::is_internal;
use selene_ros::qos::Durability;
use selene_ros::tap::{IgnoredOutlet, TapSink};
use selene_ros::transport::{Outlet, TransportError};
use selene_ros::{Encoded, Topic};

use super::client_queue::{ClientQueue, Queued};

/// The topic that gives clients the time.
const CLOCK: &str = "/clock";

/// All topics and all clients.
#[derive(Default)]
pub(super) struct Channels {
    state: Mutex<State>,
    dropped: AtomicU64,
}

#[derive(Default)]
struct State {
    last_channel: u64,
    last_client: u64,
    /// Channels by their ids.
    channels: BTreeMap<u64, Arc<Channel>>,
    clients: BTreeMap<u64, Arc<ClientQueue>>,
}

/// A topic that clients can subscribe to.
pub(super) struct Channel {
    /// Unique during a run.
    pub(super) id: u64,
    pub(super) topic: Topic,
    live: Mutex<LatchedState>,
}

#[derive(Default)]
struct LatchedState {
    last_publisher: u64,
    /// The latched messages of each publisher.
    publishers: BTreeMap<u64, VecDeque<LatchedMessage>>,
    /// Number of messages latched so far.
    kept: u64,
    hearers: Vec<Subscriber>,
}

/// A latched message.
struct LatchedMessage {
    /// Its number among the latched messages of the topic.
    number: u64,
    stamp: SimTime,
    message: Encoded,
}

/// A client's subscription to a channel.
struct Subscriber {
    client: u64,
    subscription: u32,
    outbox: Arc<ClientQueue>,
}

impl Subscriber {
    /// Queues a message for the client. Returns the number of messages dropped to make room.
    fn put(&self, stamp: SimTime, message: &Encoded) -> u64 {
        self.outbox.put(Queued { subscription: self.subscription, stamp, message: message.clone() })
    }
}

impl Channels {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of messages that slow clients missed.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Adds a client. Returns its number and its outbox, whose first item is the list of topics.
    pub(super) fn join(&self) -> (u64, Arc<ClientQueue>) {
        let mut state = self.state();
        state.last_client += 1;
        let outbox = Arc::new(ClientQueue::default());
        outbox.report_topics();
        let client = state.last_client;
        state.clients.insert(client, Arc::clone(&outbox));
        (client, outbox)
    }

    /// Removes a client and its subscriptions.
    pub(super) fn leave(&self, client: u64) {
        let mut state = self.state();
        state.clients.remove(&client);
        state.channels.values().for_each(|channel| channel.live().hearers.retain(|hearer| hearer.client != client));
    }

    /// The present channels, sorted by id.
    pub(super) fn all(&self) -> Vec<Arc<Channel>> {
        self.state().channels.values().cloned().collect()
    }

    /// Subscribes a client to channel `id` and queues what is latched there. Returns whether there is such a channel.
    pub(super) fn subscribe(&self, client: u64, subscription: u32, id: u64) -> bool {
        let state = self.state();
        let (Some(channel), Some(outbox)) = (state.channels.get(&id), state.clients.get(&client)) else { return false };
        let hearer = Subscriber { client, subscription, outbox: Arc::clone(outbox) };
        let mut live = channel.live();
        let dropped: u64 = live.latched().iter().map(|kept| hearer.put(kept.stamp, &kept.message)).sum();
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
        live.hearers.push(hearer);
        true
    }

    /// Ends a client's subscription to channel `id`.
    pub(super) fn unsubscribe(&self, client: u64, subscription: u32, id: u64) {
        let state = self.state();
        if let Some(channel) = state.channels.get(&id) {
            let is_it = |hearer: &Subscriber| (hearer.client, hearer.subscription) == (client, subscription);
            channel.live().hearers.retain(|hearer| !is_it(hearer));
        }
        if let Some(outbox) = state.clients.get(&client) {
            outbox.forget(subscription);
        }
    }

    fn tick(&self, time: SimTime) {
        self.state().clients.values().for_each(|outbox| outbox.send_time(time));
    }

    /// Adds a publisher of a topic. Returns the topic's channel and the publisher's number.
    fn enter(&self, topic: &Topic) -> Result<(Arc<Channel>, u64), TransportError> {
        let mut state = self.state();
        let known = state.channels.values().find(|channel| channel.topic.name == topic.name).cloned();
        let channel = match known {
            Some(channel) if channel.topic.type_name == topic.type_name => channel,
            Some(channel) => {
                let (carried, requested) = (channel.topic.type_name.to_owned(), topic.type_name.to_owned());
                return Err(TransportError::TypeMismatch { topic: topic.name.clone(), carried, requested });
            }
            None => state.add(topic),
        };
        let publisher = channel.live().publisher();
        Ok((channel, publisher))
    }

    /// Removes a publisher, and the channel with its last one.
    fn exit(&self, channel: &Channel, publisher: u64) {
        let mut state = self.state();
        let is_last = {
            let mut live = channel.live();
            live.publishers.remove(&publisher);
            live.publishers.is_empty()
        };
        if is_last {
            state.channels.remove(&channel.id);
            state.report_topics();
        }
    }
}

impl State {
    fn add(&mut self, topic: &Topic) -> Arc<Channel> {
        self.last_channel += 1;
        let channel = Arc::new(Channel { id: self.last_channel, topic: topic.clone(), live: Mutex::default() });
        self.channels.insert(channel.id, Arc::clone(&channel));
        self.report_topics();
        channel
    }

    fn report_topics(&self) {
        self.clients.values().for_each(|outbox| outbox.report_topics());
    }
}

impl Channel {
    fn live(&self) -> MutexGuard<'_, LatchedState> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message for all subscribers, and keeps it if it is latched. Returns the number of messages dropped.
    fn deliver(&self, publisher: u64, message: &Encoded, stamp: SimTime) -> u64 {
        let mut live = self.live();
        if self.topic.qos.durability == Durability::TransientLocal {
            live.keep(publisher, self.topic.qos.depth.max(1), stamp, message);
        }
        live.hearers.iter().map(|hearer| hearer.put(stamp, message)).sum()
    }
}

impl LatchedState {
    fn publisher(&mut self) -> u64 {
        self.last_publisher += 1;
        self.publishers.insert(self.last_publisher, VecDeque::new());
        self.last_publisher
    }

    fn keep(&mut self, publisher: u64, depth: usize, stamp: SimTime, message: &Encoded) {
        self.kept += 1;
        let kept = self.publishers.entry(publisher).or_default();
        kept.push_back(LatchedMessage { number: self.kept, stamp, message: message.clone() });
        if kept.len() > depth {
            kept.pop_front();
        }
    }

    /// All latched messages, oldest first.
    fn latched(&self) -> Vec<&LatchedMessage> {
        let mut all: Vec<_> = self.publishers.values().flatten().collect();
        all.sort_unstable_by_key(|kept| kept.number);
        all
    }
}

impl TapSink for Channels {
    fn advertise(self: Arc<Self>, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        if is_internal(&topic.name) {
            return Ok(Box::new(IgnoredOutlet));
        }
        let (channel, publisher) = self.enter(topic)?;
        let is_clock = topic.name == CLOCK;
        Ok(Box::new(ChannelOutlet { channels: self, channel, publisher, is_clock }))
    }
}

struct ChannelOutlet {
    channels: Arc<Channels>,
    channel: Arc<Channel>,
    publisher: u64,
    is_clock: bool,
}

impl Outlet for ChannelOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        if stamp < SimTime::ZERO {
            let what = format!("Foxglove takes no stamp before zero, but this one is {stamp}");
            return Err(TransportError::Send { topic: self.channel.topic.name.clone(), what });
        }
        if self.is_clock {
            self.channels.tick(stamp);
        }
        let dropped = self.channel.deliver(self.publisher, message, stamp);
        self.channels.dropped.fetch_add(dropped, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for ChannelOutlet {
    fn drop(&mut self) {
        self.channels.exit(&self.channel, self.publisher);
    }
}
