//! Transport within the process: a message goes to every sink of its topic on the sender's thread, in order, before
//! `send` returns, so that nodes in one process are as deterministic as one program. Nothing is lost and nothing
//! blocks, so every publisher matches every subscriber. Only durability is honoured: a transient-local publisher keeps
//! its last `depth` messages for transient-local subscribers that join late, as in DDS. No lock is held while a sink
//! runs: a sink may publish, subscribe and unsubscribe. Services are in `services.rs`.

mod services;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use selene_base::SimTime;

use crate::cdr::Encoded;
use crate::qos::{Durability, Topic};
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError};
use services::Services;

/// The transport between the nodes of one process. Clones share their topics and services.
#[derive(Clone, Default)]
pub struct InProcess {
    topics: Arc<Mutex<BTreeMap<String, Weak<Channel>>>>,
    services: Services,
}

/// State shared by the publishers and subscribers of one topic; it exists as long as one of them does.
struct Channel {
    type_name: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The key given to the latest publisher or subscriber.
    last_key: u64,
    /// Number of messages kept for late subscribers so far.
    kept: u64,
    sinks: Arc<BTreeMap<u64, Arc<Sink>>>,
    /// The last messages of each publisher, each with its index among all kept ones.
    latched: BTreeMap<u64, VecDeque<(u64, Encoded)>>,
}

impl State {
    fn new_key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }

    /// Messages kept after the first `seen` ones, oldest first.
    fn kept_since(&self, seen: u64) -> Vec<(u64, Encoded)> {
        let fresh = self.latched.values().flatten().filter(|(place, _)| *place > seen);
        let mut fresh: Vec<_> = fresh.cloned().collect();
        fresh.sort_unstable_by_key(|(place, _)| *place);
        fresh
    }
}

impl Channel {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers the kept messages to `sink` and registers it. Messages that another thread sends meanwhile are
    /// delivered first, so that the sink gets all in order.
    fn enter(&self, sink: Sink, latched: bool) -> u64 {
        let sink = Arc::new(sink);
        let mut seen = 0;
        loop {
            let mut state = self.state();
            let missed = if latched { state.kept_since(seen) } else { Vec::new() };
            if missed.is_empty() {
                let key = state.new_key();
                Arc::make_mut(&mut state.sinks).insert(key, sink);
                return key;
            }
            drop(state);
            for (place, message) in &missed {
                sink(message);
                seen = *place;
            }
        }
    }
}

impl InProcess {
    /// A transport without topics.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn channel(&self, topic: &Topic) -> Result<Arc<Channel>, TransportError> {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = topics.get(&topic.name).and_then(Weak::upgrade) {
            return same_type(channel, topic);
        }
        topics.retain(|_, channel| channel.strong_count() > 0);
        let channel = Arc::new(Channel { type_name: topic.type_name, state: Mutex::default() });
        topics.insert(topic.name.clone(), Arc::downgrade(&channel));
        Ok(channel)
    }
}

fn same_type(channel: Arc<Channel>, topic: &Topic) -> Result<Arc<Channel>, TransportError> {
    if channel.type_name == topic.type_name {
        return Ok(channel);
    }
    Err(TransportError::TypeMismatch {
        topic: topic.name.clone(),
        carried: channel.type_name.to_owned(),
        requested: topic.type_name.to_owned(),
    })
}

impl Transport for InProcess {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let channel = self.channel(topic)?;
        let key = channel.state().new_key();
        let latched = topic.qos.durability == Durability::TransientLocal;
        let kept_max = if latched { topic.qos.depth.max(1) } else { 0 };
        Ok(Box::new(InProcessOutlet { channel, key, kept_max }))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        let channel = self.channel(topic)?;
        let key = channel.enter(sink, topic.qos.durability == Durability::TransientLocal);
        Ok(Subscription::guarded_by(SinkRegistration { channel, key }))
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        self.services.serve(service, sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        Ok(self.services.client(service))
    }
}

struct InProcessOutlet {
    channel: Arc<Channel>,
    key: u64,
    kept_max: usize,
}

impl InProcessOutlet {
    fn keep(&self, state: &mut State, message: &Encoded) {
        if self.kept_max == 0 {
            return;
        }
        state.kept += 1;
        let place = state.kept;
        let kept = state.latched.entry(self.key).or_default();
        kept.push_back((place, message.clone()));
        if kept.len() > self.kept_max {
            kept.pop_front();
        }
    }
}

impl Outlet for InProcessOutlet {
    fn send(&self, message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        let mut state = self.channel.state();
        self.keep(&mut state, message);
        let sinks = Arc::clone(&state.sinks);
        drop(state);
        for sink in sinks.values() {
            sink(message);
        }
        Ok(())
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.send(message, stamp)
    }
}

impl Drop for InProcessOutlet {
    fn drop(&mut self) {
        self.channel.state().latched.remove(&self.key);
    }
}

/// Registration of a sink in its channel; dropping it removes the sink.
struct SinkRegistration {
    channel: Arc<Channel>,
    key: u64,
}

impl Drop for SinkRegistration {
    fn drop(&mut self) {
        let mut state = self.channel.state();
        let removed = Arc::make_mut(&mut state.sinks).remove(&self.key);
        drop(state);
        drop(removed); // outside the lock: the sink may own outlets of this very topic
    }
}

#[cfg(test)]
mod tests {
    use super::InProcess;
    use crate::qos::Qos;
    use crate::std_msgs::{Float64, String as Text};
    use crate::transport::{Publisher, Subscription, TransportError, subscribe};
    use selene_base::SimTime;
    use std::sync::{Arc, Mutex, mpsc};

    fn number(data: f64) -> Float64 {
        Float64 { data }
    }

    fn publisher(transport: &InProcess, qos: Qos) -> Publisher<Float64> {
        Publisher::new(transport, "/depth", qos).unwrap()
    }

    fn listen(transport: &InProcess, qos: Qos) -> (Subscription, mpsc::Receiver<f64>) {
        let (tx, rx) = mpsc::channel();
        let on = move |message: Float64| tx.send(message.data).unwrap();
        (subscribe(transport, "/depth", qos, on).unwrap(), rx)
    }

    fn received(rx: &mpsc::Receiver<f64>) -> Vec<f64> {
        rx.try_iter().collect()
    }

    #[test]
    fn every_subscriber_has_the_message_when_publish_returns() {
        let transport = InProcess::new();
        let (_one, first) = listen(&transport, Qos::reliable());
        let (_two, second) = listen(&transport.clone(), Qos::sensor_data());
        let publisher = publisher(&transport, Qos::sensor_data());
        publisher.publish(&number(1.0), SimTime::ZERO).unwrap();
        publisher.publish(&number(2.0), SimTime::ZERO).unwrap();
        assert_eq!((received(&first), received(&second)), (vec![1.0, 2.0], vec![1.0, 2.0]));
        assert_eq!(publisher.sent(), 2);
    }

    #[test]
    fn a_dropped_subscription_receives_no_more() {
        let transport = InProcess::new();
        let publisher = publisher(&transport, Qos::reliable());
        let (subscription, rx) = listen(&transport, Qos::reliable());
        drop(subscription);
        publisher.publish(&number(1.0), SimTime::ZERO).unwrap();
        assert!(received(&rx).is_empty());
    }

    #[test]
    fn a_late_subscriber_gets_what_each_latching_publisher_said_last() {
        let transport = InProcess::new();
        let ground = publisher(&transport, Qos::latched());
        let mast = publisher(&transport, Qos::latched());
        ground.publish(&number(1.0), SimTime::ZERO).unwrap();
        mast.publish(&number(5.0), SimTime::ZERO).unwrap();
        ground.publish(&number(2.0), SimTime::ZERO).unwrap();
        let (_latched, late) = listen(&transport, Qos::latched());
        let (_volatile, indifferent) = listen(&transport, Qos::reliable());
        assert_eq!((received(&late), received(&indifferent)), (vec![5.0, 2.0], vec![]));
        drop(ground);
        let (_later, later) = listen(&transport, Qos::latched());
        assert_eq!(received(&later), vec![5.0]);
    }

    #[test]
    fn a_topic_carries_one_type_as_long_as_it_is_used() {
        let transport = InProcess::new();
        let publisher = publisher(&transport, Qos::reliable());
        let refused = Publisher::<Text>::new(&transport, "/depth", Qos::reliable()).err();
        let Some(TransportError::TypeMismatch { carried, requested, .. }) = refused else {
            panic!("must be refused: {refused:?}");
        };
        assert_eq!((carried.as_str(), requested.as_str()), ("std_msgs/msg/Float64", "std_msgs/msg/String"));
        drop(publisher);
        assert!(Publisher::<Text>::new(&transport, "/depth", Qos::reliable()).is_ok());
    }

    #[test]
    fn a_sink_may_publish_and_unsubscribe_from_inside() {
        let transport = InProcess::new();
        let echo: Publisher<Float64> = Publisher::new(&transport, "/echo", Qos::reliable()).unwrap();
        let own: Arc<Mutex<Option<Subscription>>> = Arc::default();
        let held = Arc::clone(&own);
        let on = move |message: Float64| {
            echo.publish(&message, SimTime::ZERO).unwrap();
            drop(held.lock().unwrap().take());
        };
        let subscription = subscribe(&transport, "/depth", Qos::reliable(), on).unwrap();
        *own.lock().unwrap() = Some(subscription);
        let (tx, rx) = mpsc::channel();
        let on = move |message: Float64| tx.send(message.data).unwrap();
        let _echoes = subscribe(&transport, "/echo", Qos::reliable(), on).unwrap();
        let publisher = publisher(&transport, Qos::reliable());
        publisher.publish(&number(1.0), SimTime::ZERO).unwrap();
        publisher.publish(&number(2.0), SimTime::ZERO).unwrap();
        assert_eq!(received(&rx), vec![1.0], "the second came after it unsubscribed");
    }
}
