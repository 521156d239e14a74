//! The transport over the machine's own ROS 2 and its RMW, through `r2r`'s raw publishers and subscribers and its
//! service types. It needs a sourced ROS 2 at build time (without one, the code still type-checks with feature
//! `r2r-doc-only`). The domain is the one that rcl reads from `ROS_DOMAIN_ID`.
//!
//! One thread spins the node and calls the sinks. rcl delivers a node's own samples to its own subscriptions, and `r2r`
//! does not give the sender of a sample; therefore an own sample is recognized by its bytes and skipped once.

mod publishers;
mod services;
mod types;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use r2r::{Node, QosProfile};

use self::publishers::R2rOutlet;

use crate::cdr::Encoded;
use crate::qos::{Durability, Qos, Reliability, Topic};
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError};

/// Longest wait of one spin for samples; it ends at the first one.
const SPIN: Duration = Duration::from_millis(10);
/// Maximum number of own samples on their way back on one topic; older ones are assumed lost.
const ECHOES_MAX: usize = 64;
/// How often the publishers that our subscriptions have are counted.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// A node of the machine's ROS 2. Dropping it ends its thread; outlets and subscriptions that outlive it do nothing.
pub struct R2r {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// `None` once the transport is dropped.
    node: Mutex<Option<Node>>,
    /// Number of threads that wait for the node; the spinning thread lets them go first.
    waiting: AtomicUsize,
    stopped: AtomicBool,
    attended: Mutex<BTreeMap<u64, Arc<dyn Polled>>>,
    last_key: AtomicUsize,
}

/// What the spinning thread polls: subscriptions, services and clients.
trait Polled: Send + Sync {
    /// Passes on everything that has arrived.
    fn attend(&self);

    /// Notes that an own sample of `topic` will come back.
    fn expect_echo(&self, _topic: &str, _message: &Encoded) {}

    /// Counts the publishers of the subscribed topic.
    fn count_publishers(&self, _node: &Node) {}

    /// Number of other publishers of `topic`; `None` if this is no subscription to it.
    fn publishers_of(&self, _topic: &str) -> Option<usize> {
        None
    }
}

/// A subscription and its sink.
struct PolledSubscription {
    topic: String,
    stream: Mutex<BoxStream<'static, Vec<u8>>>,
    sink: Sink,
    echoes: Mutex<VecDeque<Encoded>>,
    publishers: AtomicUsize,
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
        let attended = std::mem::take(&mut *lock(&self.shared.attended));
        drop(attended); // outside the lock: a sink may own subscriptions
        self.shared.with_node(|node| drop(node.take()));
    }
}

impl Shared {
    fn new(node: Node) -> Self {
        Self {
            node: Mutex::new(Some(node)),
            waiting: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            attended: Mutex::default(),
            last_key: AtomicUsize::new(0),
        }
    }

    fn with_node<T>(&self, act: impl FnOnce(&mut Option<Node>) -> T) -> T {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut node = lock(&self.node);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        act(&mut node)
    }

    /// Calls `act` with the live node; `refused` makes the error if rcl refuses or the node has ended.
    fn act<T>(
        &self,
        refused: impl Fn(String) -> TransportError,
        act: impl FnOnce(&mut Node) -> r2r::Result<T>,
    ) -> Result<T, TransportError> {
        self.with_node(|node| match node {
            Some(node) => act(node).map_err(|error| refused(error.to_string())),
            None => Err(refused("the ROS 2 node has ended".to_owned())),
        })
    }

    fn spin(&self) {
        let mut counted = Instant::now();
        while !self.stopped.load(Ordering::Relaxed) {
            while self.waiting.load(Ordering::SeqCst) > 0 {
                thread::yield_now();
            }
            if let Some(node) = lock(&self.node).as_mut() {
                node.spin_once(SPIN);
            }
            self.attended().iter().for_each(|attended| attended.attend());
            if counted.elapsed() >= COUNT_EVERY {
                counted = Instant::now();
                self.count_publishers();
            }
        }
    }

    fn attended(&self) -> Vec<Arc<dyn Polled>> {
        lock(&self.attended).values().cloned().collect()
    }

    fn count_publishers(&self) {
        if let Some(node) = lock(&self.node).as_ref() {
            self.attended().iter().for_each(|attended| attended.count_publishers(node));
        }
    }

    /// Notes that the own subscriptions of `topic` will get `message` back.
    fn expect_echo(&self, topic: &str, message: &Encoded) {
        lock(&self.attended).values().for_each(|attended| attended.expect_echo(topic, message));
    }
}

/// Has the spinning thread poll `attended` until the guard is dropped.
fn keep(shared: &Arc<Shared>, attended: Arc<dyn Polled>) -> PollRegistration {
    let key = shared.last_key.fetch_add(1, Ordering::Relaxed) as u64;
    lock(&shared.attended).insert(key, attended);
    PollRegistration { shared: Arc::downgrade(shared), key }
}

impl Polled for PolledSubscription {
    fn attend(&self) {
        while let Some(message) = self.next() {
            if !self.is_echo(&message) {
                (self.sink)(&message);
            }
        }
    }

    fn expect_echo(&self, topic: &str, message: &Encoded) {
        if self.topic != topic {
            return;
        }
        let mut echoes = lock(&self.echoes);
        echoes.push_back(message.clone());
        if echoes.len() > ECHOES_MAX {
            echoes.pop_front();
        }
    }

    fn count_publishers(&self, node: &Node) {
        let Ok(all) = node.get_publishers_info_by_topic(&self.topic, false) else { return };
        let own = (node.name().unwrap_or_default(), node.namespace().unwrap_or_default());
        let others = all.into_iter().filter(|one| (&one.node_name, &one.node_namespace) != (&own.0, &own.1));
        self.publishers.store(others.count(), Ordering::Relaxed);
    }

    fn publishers_of(&self, topic: &str) -> Option<usize> {
        (self.topic == topic).then(|| self.publishers.load(Ordering::Relaxed))
    }
}

impl PolledSubscription {
    fn next(&self) -> Option<Encoded> {
        let bytes = lock(&self.stream).next().now_or_never()?;
        bytes.map(Encoded::from_bytes)
    }

    /// Samples of one writer arrive in order, so that expected echoes older than the found one are lost.
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
        let make = |node: &mut Node| types::publisher(node, topic, profile(topic.qos));
        let publisher = self.shared.act(|what| endpoint_error(topic, what), make)?;
        Ok(Box::new(R2rOutlet::new(topic, publisher, &self.shared)))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        let make = |node: &mut Node| node.subscribe_raw(&topic.name, topic.type_name, profile(topic.qos));
        let stream = self.shared.act(|what| endpoint_error(topic, what), make)?;
        let (stream, publishers) = (Mutex::new(stream.boxed()), AtomicUsize::new(0));
        let polled =
            PolledSubscription { topic: topic.name.clone(), stream, sink, echoes: Mutex::default(), publishers };
        Ok(Subscription::guarded_by(keep(&self.shared, Arc::new(polled))))
    }

    fn publishers_of(&self, name: &str) -> Option<usize> {
        lock(&self.shared.attended).values().find_map(|attended| attended.publishers_of(name))
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        services::serve(&self.shared, service, sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        services::client(&self.shared, service)
    }
}

fn endpoint_error(topic: &Topic, what: String) -> TransportError {
    TransportError::Endpoint { topic: topic.name.clone(), what }
}

/// Registration of something polled; dropping it ends the stream, and with it rcl's subscription.
struct PollRegistration {
    shared: Weak<Shared>,
    key: u64,
}

impl Drop for PollRegistration {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            let attended = lock(&shared.attended).remove(&self.key);
            drop(attended); // outside the lock: a sink may own outlets
        }
    }
}
