//! The topics that clients can subscribe to: those that the process publishes, as a bag gets them, all but what Selene's
//! nodes tell one another. A message goes to the outbox of each client that subscribed to it, undecoded and uncopied.
//! What publishers latch is kept for clients that subscribe later.
//!
//! Locks are taken in this order: `State`, `Live`, an outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selene_base::SimTime;
use selene_ros::bag::is_internal;
use selene_ros::qos::Durability;
use selene_ros::tap::{PassedOver, Taker};
use selene_ros::transport::{Outlet, TransportError};
use selene_ros::{Encoded, Topic};

use super::outbox::{Outbox, Queued};

/// What tells the time.
const CLOCK: &str = "/clock";

/// All topics, and who is there.
#[derive(Default)]
pub(super) struct Channels {
    state: Mutex<State>,
    dropped: AtomicU64,
}

#[derive(Default)]
struct State {
    last_channel: u32,
    last_client: u64,
    /// By number.
    channels: BTreeMap<u32, Arc<Channel>>,
    clients: BTreeMap<u64, Arc<Outbox>>,
}

/// A topic.
pub(super) struct Channel {
    /// Given once in a run.
    pub(super) id: u32,
    pub(super) topic: Topic,
    live: Mutex<Live>,
}

#[derive(Default)]
struct Live {
    last_publisher: u64,
    /// By publisher, what it latched.
    publishers: BTreeMap<u64, VecDeque<Kept>>,
    /// How many messages were latched.
    kept: u64,
    hearers: Vec<Hearer>,
}

/// A message that is latched.
struct Kept {
    /// Which one of its topic.
    number: u64,
    stamp: SimTime,
    message: Encoded,
}

/// A subscription.
struct Hearer {
    client: u64,
    subscription: u32,
    outbox: Arc<Outbox>,
}

impl Hearer {
    /// Hands it a message; how many were dropped for it.
    fn put(&self, stamp: SimTime, message: &Encoded) -> u64 {
        self.outbox.put(Queued { subscription: self.subscription, stamp, message: message.clone() })
    }
}

impl Channels {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Messages that slow clients did not get.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// A client comes: its number, and where its messages wait. It is to be told of the topics first.
    pub(super) fn join(&self) -> (u64, Arc<Outbox>) {
        let mut state = self.state();
        state.last_client += 1;
        let outbox = Arc::new(Outbox::default());
        outbox.tell_topics();
        let client = state.last_client;
        state.clients.insert(client, Arc::clone(&outbox));
        (client, outbox)
    }

    /// A client goes.
    pub(super) fn leave(&self, client: u64) {
        let mut state = self.state();
        state.clients.remove(&client);
        state.channels.values().for_each(|channel| channel.live().hearers.retain(|hearer| hearer.client != client));
    }

    /// The topics that there are now, by number.
    pub(super) fn all(&self) -> Vec<Arc<Channel>> {
        self.state().channels.values().cloned().collect()
    }

    /// A client subscribes to channel `id`; whether there is such a topic. It gets what is latched.
    pub(super) fn subscribe(&self, client: u64, subscription: u32, id: u32) -> bool {
        let state = self.state();
        let (Some(channel), Some(outbox)) = (state.channels.get(&id), state.clients.get(&client)) else { return false };
        let hearer = Hearer { client, subscription, outbox: Arc::clone(outbox) };
        let mut live = channel.live();
        let dropped: u64 = live.latched().iter().map(|kept| hearer.put(kept.stamp, &kept.message)).sum();
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
        live.hearers.push(hearer);
        true
    }

    /// A client's subscription to channel `id` ends.
    pub(super) fn unsubscribe(&self, client: u64, subscription: u32, id: u32) {
        let state = self.state();
        if let Some(channel) = state.channels.get(&id) {
            let is_it = |hearer: &Hearer| (hearer.client, hearer.subscription) == (client, subscription);
            channel.live().hearers.retain(|hearer| !is_it(hearer));
        }
        if let Some(outbox) = state.clients.get(&client) {
            outbox.forget(subscription);
        }
    }

    fn tick(&self, time: SimTime) {
        self.state().clients.values().for_each(|outbox| outbox.tell_time(time));
    }

    /// The channel of a topic and the number of its new publisher.
    fn enter(&self, topic: &Topic) -> Result<(Arc<Channel>, u64), TransportError> {
        let mut state = self.state();
        let known = state.channels.values().find(|channel| channel.topic.name == topic.name).cloned();
        let channel = match known {
            Some(channel) if channel.topic.type_name == topic.type_name => channel,
            Some(channel) => {
                let (carried, asked) = (channel.topic.type_name.to_owned(), topic.type_name.to_owned());
                return Err(TransportError::TypeMismatch { topic: topic.name.clone(), carried, asked });
            }
            None => state.add(topic),
        };
        let publisher = channel.live().publisher();
        Ok((channel, publisher))
    }

    /// A publisher is gone, and with the last one the topic.
    fn exit(&self, channel: &Channel, publisher: u64) {
        let mut state = self.state();
        let is_last = {
            let mut live = channel.live();
            live.publishers.remove(&publisher);
            live.publishers.is_empty()
        };
        if is_last {
            state.channels.remove(&channel.id);
            state.tell_topics();
        }
    }
}

impl State {
    fn add(&mut self, topic: &Topic) -> Arc<Channel> {
        self.last_channel += 1;
        let channel = Arc::new(Channel { id: self.last_channel, topic: topic.clone(), live: Mutex::default() });
        self.channels.insert(channel.id, Arc::clone(&channel));
        self.tell_topics();
        channel
    }

    fn tell_topics(&self) {
        self.clients.values().for_each(|outbox| outbox.tell_topics());
    }
}

impl Channel {
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody a message, and keeps it if it is latched; how many messages were dropped for it.
    fn tell(&self, publisher: u64, message: &Encoded, stamp: SimTime) -> u64 {
        let mut live = self.live();
        if self.topic.qos.durability == Durability::TransientLocal {
            live.keep(publisher, self.topic.qos.depth.max(1), stamp, message);
        }
        live.hearers.iter().map(|hearer| hearer.put(stamp, message)).sum()
    }
}

impl Live {
    fn publisher(&mut self) -> u64 {
        self.last_publisher += 1;
        self.publishers.insert(self.last_publisher, VecDeque::new());
        self.last_publisher
    }

    fn keep(&mut self, publisher: u64, depth: usize, stamp: SimTime, message: &Encoded) {
        self.kept += 1;
        let kept = self.publishers.entry(publisher).or_default();
        kept.push_back(Kept { number: self.kept, stamp, message: message.clone() });
        if kept.len() > depth {
            kept.pop_front();
        }
    }

    /// All that is latched, oldest first.
    fn latched(&self) -> Vec<&Kept> {
        let mut all: Vec<_> = self.publishers.values().flatten().collect();
        all.sort_unstable_by_key(|kept| kept.number);
        all
    }
}

impl Taker for Channels {
    fn advertise(self: Arc<Self>, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        if is_internal(&topic.name) {
            return Ok(Box::new(PassedOver));
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
        let dropped = self.channel.tell(self.publisher, message, stamp);
        self.channels.dropped.fetch_add(dropped, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for ChannelOutlet {
    fn drop(&mut self) {
        self.channels.exit(&self.channel, self.publisher);
    }
}
