//! The port through which messages leave and enter: CDR bytes by topic, type and
//! QoS, and requests and responses by service. A message is encoded once, and the
//! same bytes go to the wire, the bag and the neighbour in the process. The
//! adapters behind the port are closed in number:
//! [`InProcess`](crate::in_process::InProcess), `Dds`, `R2r`, the bag recorder,
//! and [`Fanout`](crate::fanout::Fanout), which joins several of them. What lies
//! over one of them and changes a part is a [`Layer`](crate::layer::Layer).
//!
//! A sink runs on its adapter's thread and should hand over and return; bytes
//! that do not decode are dropped and counted, never passed on. Messages are
//! published by [`Publisher`] and taken by [`subscribe`], services answered by
//! [`serve`](crate::service::serve) and called by [`Client`](crate::service::Client).

use std::any::Any;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use selene_base::SimTime;

use crate::cdr::{self, CdrError, Encoded};
use crate::dropped::Dropped;
use crate::message::Message;
use crate::qos::{Qos, Topic, TopicError};
use crate::service::ServiceName;

/// What a transport cannot do, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The name of the topic or service is not a ROS name.
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
    /// A service cannot be served or called, or a request or response not sent.
    #[error("service {service}: {what}")]
    Service {
        /// The service.
        service: String,
        /// Why.
        what: String,
    },
    /// A service is called that nobody answers.
    #[error("service {service}: nobody answers it now; start the node that does, or call again when it is there")]
    NotServed {
        /// The service.
        service: String,
    },
}

/// Takes each message of a subscription, on the adapter's thread.
pub type Sink = Box<dyn Fn(&Encoded) + Send + Sync>;

/// Takes each request of a service and the way back to who sent it, on the
/// adapter's thread.
pub type RequestSink = Box<dyn Fn(&Encoded, Answer) + Send + Sync>;

/// Sends the response of one request; dropped unused, there is no response.
pub type Answer = Box<dyn FnOnce(&Encoded) -> Result<(), TransportError> + Send>;

/// Takes the response of one request, on the adapter's thread; dropped unused
/// when it is known that none will come.
pub type ResponseSink = Box<dyn FnOnce(&Encoded) + Send>;

/// Moves encoded messages between publishers and subscriptions, clients and servers.
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

    /// How many publishers outside this process reach our subscription to topic `name`; none where the transport
    /// does not know, or nobody here subscribes.
    fn publishers_of(&self, _name: &str) -> Option<usize> {
        None
    }

    /// Hands every request of `service` to `sink` until the subscription is dropped.
    ///
    /// # Errors
    /// When the service is served here already or the middleware refuses.
    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError>;

    /// Announces a client of `service`, which need not be served yet.
    ///
    /// # Errors
    /// When the middleware refuses.
    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError>;
}

/// The sending end of a publisher.
pub trait Outlet: Send + Sync {
    /// Sends `message`, made at simulated time `stamp`, without waiting for anyone.
    ///
    /// # Errors
    /// When it cannot be handed over; the outlet stays usable.
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError>;

    /// Sends again what was sent before, to subscribers that may have missed it. What keeps or counts messages
    /// has it already and does nothing.
    ///
    /// # Errors
    /// As `send`.
    fn repeat(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        Ok(())
    }

    /// How many subscribers a message goes to now, of those in other processes; none where that is not known.
    fn subscribers(&self) -> Option<usize> {
        None
    }
}

/// The asking end of a service.
pub trait Caller: Send + Sync {
    /// Whether somebody answers the service now.
    fn is_served(&self) -> bool;

    /// Sends `request` without waiting; `on` takes its response.
    ///
    /// # Errors
    /// When nobody answers the service now, the server is of another type, or the
    /// request cannot be handed over; the caller stays usable.
    fn call(&self, request: &Encoded, on: ResponseSink) -> Result<(), TransportError>;
}

/// A live subscription or service; dropping it ends it. A delivery under way on
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
        self.outlet.send(&self.encoded(message)?, stamp)?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sends `message` again to subscribers that may have missed it; bags and counters have it already.
    ///
    /// # Errors
    /// As `publish`.
    pub fn repeat(&self, message: &M, stamp: SimTime) -> Result<(), TransportError> {
        self.outlet.repeat(&self.encoded(message)?, stamp)
    }

    fn encoded(&self, message: &M) -> Result<Encoded, TransportError> {
        cdr::encode(message).map_err(|source| TransportError::Encode { topic: self.topic.name.clone(), source })
    }

    /// How many subscribers in other processes a message goes to now; none where that is not known.
    #[must_use]
    pub fn subscribers(&self) -> Option<usize> {
        self.outlet.subscribers()
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
/// thread. Bytes that do not decode are dropped and counted.
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
    let undecodable = Dropped::new(&topic.name);
    let sink = move |encoded: &Encoded| match cdr::decode(encoded) {
        Ok(message) => on(message),
        Err(error) => _ = undecodable.add(error),
    };
    transport.subscribe(&topic, Box::new(sink))
}
