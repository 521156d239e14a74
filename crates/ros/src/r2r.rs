//! The transport over the machine's own ROS 2 and whatever RMW it is set to,
//! through `r2r`'s raw publishers and subscribers. Needs a sourced ROS 2 at build
//! time (without one the code still type-checks with feature `r2r-doc-only`).
//! The domain is the one rcl reads from `ROS_DOMAIN_ID`.
//!
//! One thread spins the node and calls the sinks. rcl hands a node's own samples
//! back to its own subscriptions and `r2r` does not say who sent a sample, so an
//! own sample is told by its bytes and passed over once.
//!
//! Services are refused: `r2r` 0.9 serves those alone whose types it found when
//! it was built, and takes no CDR bytes for them.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt};
use r2r::{Node, PublisherUntyped, QosProfile};
use selene_base::SimTime;

use crate::cdr::Encoded;
use crate::qos::{Durability, Qos, Reliability, Topic};
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError};

/// Why there are no services.
const NO_SERVICES: &str =
    "the machine's ROS 2 is reached through r2r, which moves no raw requests; a build without the feature r2r does";
/// How long one spin waits for samples; it ends at the first one.
const SPIN: Duration = Duration::from_millis(10);
/// Own samples that may be on their way back on one topic; older ones are lost.
const ECHOES_MAX: usize = 64;

/// A node of the machine's ROS 2. Dropping it ends its thread; outlets and
/// subscriptions that outlive it do nothing.
pub struct R2r {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// None once the transport is dropped.
    node: Mutex<Option<Node>>,
    /// How many want the node; the spinning thread lets them go first.
    waiting: AtomicUsize,
    stopped: AtomicBool,
    ears: Mutex<BTreeMap<u64, Arc<Ear>>>,
    last_key: AtomicUsize,
}

/// A subscription and who listens.
struct Ear {
    topic: String,
    stream: Mutex<Pin<Box<dyn Stream<Item = Vec<u8>> + Send>>>,
    sink: Sink,
    echoes: Mutex<VecDeque<Encoded>>,
}

impl R2r {
    /// Starts node `node_name` in `namespace`.
    ///
    /// # Errors
    /// When rcl cannot be started or refuses a name.
    pub fn open(node_name: &str, namespace: &str) -> Result<Self, TransportError> {
        let refused = |what: String| TransportError::Open { middleware: "ROS 2".to_owned(), what };
        if node_name.contains('\0') || namespace.contains('\0') {
            return Err(refused("a node's name has no zero bytes".to_owned()));
        }
        let context = r2r::Context::create().map_err(|error| refused(error.to_string()))?;
        let node = Node::create(context, node_name, namespace).map_err(|error| refused(error.to_string()))?;
        let shared = Arc::new(Shared::new(node));
        let spinning = Arc::clone(&shared);
        let thread = thread::Builder::new().name("ros 2 spinner".to_owned()).spawn(move || spinning.spin());
        Ok(Self { shared, thread: Some(thread.map_err(|error| refused(error.to_string()))?) })
    }
}

impl Drop for R2r {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        let inside_a_sink = thread.thread().id() == thread::current().id();
        if !inside_a_sink && thread.join().is_err() {
            tracing::warn!("the ROS 2 spinner ended by a panic in a subscriber");
        }
        let ears = std::mem::take(&mut *lock(&self.shared.ears));
        drop(ears); // outside the lock: a sink may own subscriptions
        self.shared.with_node(|node| drop(node.take()));
    }
}

impl Shared {
    fn new(node: Node) -> Self {
        Self {
            node: Mutex::new(Some(node)),
            waiting: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            ears: Mutex::default(),
            last_key: AtomicUsize::new(0),
        }
    }

    fn with_node<T>(&self, act: impl FnOnce(&mut Option<Node>) -> T) -> T {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut node = lock(&self.node);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        act(&mut node)
    }

    /// Acts on the live node; rcl's refusal, or its end, becomes an error on `topic`.
    fn on_topic<T>(&self, topic: &Topic, act: impl FnOnce(&mut Node) -> r2r::Result<T>) -> Result<T, TransportError> {
        let endpoint = |what: String| TransportError::Endpoint { topic: topic.name.clone(), what };
        self.with_node(|node| match node {
            Some(node) => act(node).map_err(|error| endpoint(error.to_string())),
            None => Err(endpoint("the ROS 2 node has ended".to_owned())),
        })
    }

    fn spin(&self) {
        while !self.stopped.load(Ordering::Relaxed) {
            while self.waiting.load(Ordering::SeqCst) > 0 {
                thread::yield_now();
            }
            if let Some(node) = lock(&self.node).as_mut() {
                node.spin_once(SPIN);
            }
            let ears: Vec<_> = lock(&self.ears).values().cloned().collect();
            ears.iter().for_each(|ear| ear.hear());
        }
    }

    /// The own subscriptions of `topic` will get `message` back.
    fn expect_echo(&self, topic: &str, message: &Encoded) {
        for ear in lock(&self.ears).values().filter(|ear| ear.topic == topic) {
            let mut echoes = lock(&ear.echoes);
            echoes.push_back(message.clone());
            if echoes.len() > ECHOES_MAX {
                echoes.pop_front();
            }
        }
    }
}

impl Ear {
    fn hear(&self) {
        while let Some(message) = self.next() {
            if !self.is_echo(&message) {
                (self.sink)(&message);
            }
        }
    }

    fn next(&self) -> Option<Encoded> {
        let bytes = lock(&self.stream).next().now_or_never()?;
        bytes.map(Encoded::from_bytes)
    }

    /// Samples of one writer come in order: what was sent before a match is lost.
    fn is_echo(&self, message: &Encoded) -> bool {
        let mut echoes = lock(&self.echoes);
        let found = echoes.iter().position(|echo| echo == message);
        if let Some(index) = found {
            echoes.drain(..=index);
        }
        found.is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn profile(qos: Qos) -> QosProfile {
    let profile = QosProfile::default().keep_last(qos.depth);
    let profile = match qos.reliability {
        Reliability::BestEffort => profile.best_effort(),
        Reliability::Reliable => profile.reliable(),
    };
    match qos.durability {
        Durability::Volatile => profile.volatile(),
        Durability::TransientLocal => profile.transient_local(),
    }
}

impl Transport for R2r {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let make = |node: &mut Node| node.create_publisher_untyped(&topic.name, topic.type_name, profile(topic.qos));
        let publisher = self.shared.on_topic(topic, make)?;
        let shared = Arc::downgrade(&self.shared);
        Ok(Box::new(R2rOutlet { topic: topic.name.clone(), publisher: Mutex::new(Some(publisher)), shared }))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        let make = |node: &mut Node| node.subscribe_raw(&topic.name, topic.type_name, profile(topic.qos));
        let stream = Mutex::new(Box::pin(self.shared.on_topic(topic, make)?) as _);
        let ear = Ear { topic: topic.name.clone(), stream, sink, echoes: Mutex::default() };
        let key = self.shared.last_key.fetch_add(1, Ordering::Relaxed) as u64;
        lock(&self.shared.ears).insert(key, Arc::new(ear));
        Ok(Subscription::guarded_by(Heard { shared: Arc::downgrade(&self.shared), key }))
    }

    fn serve(&self, service: &ServiceName, _sink: RequestSink) -> Result<Subscription, TransportError> {
        Err(service.refused(NO_SERVICES))
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        Err(service.refused(NO_SERVICES))
    }
}

struct R2rOutlet {
    topic: String,
    publisher: Mutex<Option<PublisherUntyped>>,
    shared: Weak<Shared>,
}

impl Outlet for R2rOutlet {
    fn send(&self, message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        shared.expect_echo(&self.topic, message);
        let sent = lock(&self.publisher).as_ref().map_or(Ok(()), |publisher| publisher.publish_raw(message.bytes()));
        sent.map_err(|error| TransportError::Send { topic: self.topic.clone(), what: error.to_string() })
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.send(message, stamp)
    }
}

impl Drop for R2rOutlet {
    fn drop(&mut self) {
        let Some(publisher) = lock(&self.publisher).take() else { return };
        if let Some(shared) = self.shared.upgrade() {
            shared.with_node(|node| node.as_mut().map(|node| node.destroy_publisher_untyped(publisher)));
        }
    }
}

/// A subscription's place among the ears; dropping it ends the stream, and rcl's
/// subscription with it.
struct Heard {
    shared: Weak<Shared>,
    key: u64,
}

impl Drop for Heard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            let ear = lock(&shared.ears).remove(&self.key);
            drop(ear); // outside the lock: a sink may own outlets
        }
    }
}
