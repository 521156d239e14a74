//! The port through which messages leave and enter: CDR bytes by topic, type and
//! QoS. A message is encoded once, and the same bytes go to the wire, the bag and
//! the neighbour in the process. The adapters behind the port are closed in
//! number: [`InProcess`](crate::in_process::InProcess), `Dds`, `R2r`, the bag
//! recorder, and [`Fanout`](crate::fanout::Fanout), which joins several of them.
//!
//! A sink runs on its adapter's thread and should hand over and return; bytes
//! that do not decode are dropped and traced, never passed on.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use selene_base::SimTime;

use crate::cdr::{self, CdrError, Encoded};
use crate::message::Message;
use crate::qos::{Qos, Topic, TopicError};

/// What a transport cannot do, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The topic's name is not a ROS name.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A topic is used with two message types.
    #[error("topic {topic}: already carries {carried}, not {asked}; rename one of the two topics")]
    TypeMismatch {
        /// The topic.
        topic: String,
        /// The type in use.
        carried: String,
        /// The type asked for.
        asked: String,
    },
    /// The middleware cannot be started.
    #[error("{middleware}: cannot be opened: {what}; choose another ROS_DOMAIN_ID or run with --no-dds")]
    Open {
        /// Which middleware, on which domain.
        middleware: String,
        /// Why.
        what: String,
    },
    /// A publisher or subscription cannot be made.
    #[error("topic {topic}: no publisher or subscription could be made: {what}")]
    Endpoint {
        /// The topic.
        topic: String,
        /// Why.
        what: String,
    },
    /// A message cannot be encoded.
    #[error("topic {topic}: a message cannot be encoded: {source}")]
    Encode {
        /// The topic.
        topic: String,
        /// Why.
        source: CdrError,
    },
    /// A message could not be handed over; the next one may be.
    #[error("topic {topic}: a message was not sent: {what}")]
    Send {
        /// The topic.
        topic: String,
        /// Why.
        what: String,
    },
}

/// Takes each message of a subscription, on the adapter's thread.
pub type Sink = Box<dyn Fn(&Encoded) + Send + Sync>;

/// Moves encoded messages between publishers and subscriptions.
pub trait Transport: Send + Sync {
    /// Announces a publisher on `topic`; it is gone when the outlet is dropped.
    ///
    /// # Errors
    /// When the topic carries another type or the middleware refuses.
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError>;

    /// Hands every message of `topic` to `sink` until the subscription is dropped.
    ///
    /// # Errors
    /// When the topic carries another type or the middleware refuses.
    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError>;
}

/// The sending end of a publisher.
pub trait Outlet: Send + Sync {
    /// Sends `message`, made at simulated time `stamp`, without waiting for anyone.
    ///
    /// # Errors
    /// When it cannot be handed over; the outlet stays usable.
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError>;
}

/// A live subscription; dropping it unsubscribes. A delivery under way on
/// another thread may still end after the drop.
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription {
    _guard: Box<dyn Any + Send + Sync>,
}

impl Subscription {
    /// A subscription that ends by dropping `guard`.
    pub fn guarded_by(guard: impl Any + Send + Sync) -> Self {
        Self { _guard: Box::new(guard) }
    }

    /// A subscription that never delivers, for transports that only take.
    pub fn inert() -> Self {
        Self::guarded_by(())
    }
}

/// A publisher of one message type.
pub struct Publisher<M> {
    topic: Topic,
    outlet: Box<dyn Outlet>,
    sent: AtomicU64,
    message: PhantomData<fn(&M)>,
}

impl<M: Message> Publisher<M> {
    /// Announces topic `name`.
    ///
    /// # Errors
    /// When the name is not a ROS name, the topic carries another type, or the
    /// middleware refuses.
    pub fn new(transport: &dyn Transport, name: &str, qos: Qos) -> Result<Self, TransportError> {
        let topic = Topic::new::<M>(name, qos)?;
        let outlet = transport.advertise(&topic)?;
        Ok(Self { topic, outlet, sent: AtomicU64::new(0), message: PhantomData })
    }

    /// Encodes `message` once and sends it with its simulated `stamp`.
    ///
    /// # Errors
    /// When it cannot be encoded or handed over; the publisher stays usable.
    pub fn publish(&self, message: &M, stamp: SimTime) -> Result<(), TransportError> {
        let encoded =
            cdr::encode(message).map_err(|source| TransportError::Encode { topic: self.topic.name.clone(), source })?;
        self.outlet.send(&encoded, stamp)?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The topic.
    #[must_use]
    pub fn topic(&self) -> &Topic {
        &self.topic
    }

    /// How many messages have been sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// Subscribes to topic `name`; `on` takes each decoded message on the adapter's
/// thread. Bytes that do not decode are dropped and traced with their count.
///
/// # Errors
/// When the name is not a ROS name, the topic carries another type, or the
/// middleware refuses.
pub fn subscribe<M: Message>(
    transport: &dyn Transport,
    name: &str,
    qos: Qos,
    on: impl Fn(M) + Send + Sync + 'static,
) -> Result<Subscription, TransportError> {
    let topic = Topic::new::<M>(name, qos)?;
    let undecodable = AtomicU64::new(0);
    let of = topic.name.clone();
    let sink = move |encoded: &Encoded| match cdr::decode(encoded) {
        Ok(message) => on(message),
        Err(error) => {
            let dropped = undecodable.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(topic = of, dropped, "message dropped: {error}");
        }
    };
    transport.subscribe(&topic, Box::new(sink))
}
