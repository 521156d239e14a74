//! The interface through which messages are sent and received: CDR bytes by topic, type and QoS, and requests and
//! responses by service. A message is encoded once, and the same bytes go to the network, the bag and subscribers in
//! the process. These adapters implement it: [`InProcess`](crate::in_process::InProcess), `Dds`, `R2r`, the bag
//! recorder, and [`Fanout`](crate::fanout::Fanout), which joins several of them. A [`Layer`](crate::layer::Layer) on
//! top of one changes part of its behaviour.
//!
//! A sink runs on its adapter's thread and should pass the message on and return. Bytes that do not decode are dropped
//! and counted, never passed on. Messages are published by [`Publisher`] and received by [`subscribe`]; services are
//! served by [`serve`](crate::service::serve) and called by [`Client`](crate::service::Client).

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use selene_base::SimTime;

use crate::cdr::{self, CdrError, Encoded};
use crate::dropped::Dropped;
use crate::message::Message;
use crate::qos::{Qos, Topic, TopicError};
use crate::service::ServiceName;

/// An error of a transport, with advice on what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The name of the topic or service is not a ROS name.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A topic is used with two message types.
    #[error("topic {topic}: already carries {carried}, not {requested}; rename one of the two topics")]
    TypeMismatch {
        /// The topic's name.
        topic: String,
        /// The type in use.
        carried: String,
        /// The requested type.
        requested: String,
    },
    /// The middleware cannot be started.
    #[error("{middleware}: cannot be opened: {what}; choose another ROS_DOMAIN_ID or run with --no-dds")]
    Open {
        /// The middleware and its domain.
        middleware: String,
        /// The reason.
        what: String,
    },
    /// A publisher or subscription cannot be created.
    #[error("topic {topic}: no publisher or subscription could be made: {what}")]
    Endpoint {
        /// The topic's name.
        topic: String,
        /// The reason.
        what: String,
    },
    /// A message cannot be encoded.
    #[error("topic {topic}: a message cannot be encoded: {source}")]
    Encode {
        /// The topic's name.
        topic: String,
        /// The encoder's error.
        source: CdrError,
    },
    /// A message could not be sent; later ones may be.
    #[error("topic {topic}: a message was not sent: {what}")]
    Send {
        /// The topic's name.
        topic: String,
        /// The reason.
        what: String,
    },
    /// A service cannot be served or called, or a request or response not sent.
    #[error("service {service}: {what}")]
    Service {
        /// The service's name.
        service: String,
        /// The reason.
        what: String,
    },
    /// A call to a service that nobody serves.
    #[error("service {service}: nobody answers it now; start the node that does, or call again when it is there")]
    NotServed {
        /// The service's name.
        service: String,
    },
}

/// Receives each message of a subscription, on the adapter's thread.
pub type Sink = Box<dyn Fn(&Encoded) + Send + Sync>;

/// Receives each request of a service with the function that sends its response, on the adapter's thread.
pub type RequestSink = Box<dyn Fn(&Encoded, Answer) + Send + Sync>;

/// Sends the response to one request; if it is dropped unused, there is no response.
pub type Answer = Box<dyn FnOnce(&Encoded) -> Result<(), TransportError> + Send>;

/// Receives the response to one request, on the adapter's thread; dropped unused when it is known that none will come.
pub type ResponseSink = Box<dyn FnOnce(&Encoded) + Send>;

/// Moves encoded messages between publishers and subscriptions, clients and servers.
pub trait Transport: Send + Sync {
    /// Creates a publisher on `topic`; dropping the outlet closes it.
    ///
    /// # Errors
    /// When the topic carries another type or the middleware refuses.
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError>;

    /// Passes every message of `topic` to `sink` until the subscription is dropped.
    ///
    /// # Errors
    /// When the topic carries another type or the middleware refuses.
    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError>;

    /// Number of publishers outside this process that match our subscription to topic `name`; `None` if the transport
    /// does not know, or nothing here subscribes.
    fn publishers_of(&self, _name: &str) -> Option<usize> {
        None
    }

    /// Passes every request of `service` to `sink` until the subscription is dropped.
    ///
    /// # Errors
    /// When the process serves the service already or the middleware refuses.
    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError>;

    /// Creates a client of `service`, which need not be served yet.
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
    /// When it cannot be sent; the outlet stays usable.
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError>;

    /// Sends a message again, to subscribers that may have missed it. Outlets that keep or count messages have it
    /// already and do nothing.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    fn repeat(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        Ok(())
    }

    /// Number of subscribers in other processes that a message goes to now; `None` if that is unknown.
    fn subscribers(&self) -> Option<usize> {
        None
    }
}

/// The client end of a service.
pub trait Caller: Send + Sync {
    /// Whether the service is served now.
    fn is_served(&self) -> bool;

    /// Sends `request` without waiting; `on` receives its response.
    ///
    /// # Errors
    /// When the service is not served now, the server is of another type, or the request cannot be sent; the caller
    /// stays usable.
    fn call(&self, request: &Encoded, on: ResponseSink) -> Result<(), TransportError>;
}

/// A live subscription or service; dropping it closes it. A delivery in progress on another thread may still complete
/// after the drop.
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription {
    _guard: Box<dyn Any + Send + Sync>,
    undecodable: Option<Arc<Dropped>>,
}

impl Subscription {
    /// A subscription that ends by dropping `guard`.
    pub fn guarded_by(guard: impl Any + Send + Sync) -> Self {
        Self { _guard: Box::new(guard), undecodable: None }
    }

    /// The same subscription, with the counter of what did not decode.
    pub(crate) fn counting(self, undecodable: Arc<Dropped>) -> Self {
        Self { undecodable: Some(undecodable), ..self }
    }

    /// Number of messages or requests that were dropped because they did not decode.
    #[must_use]
    pub fn undecodable(&self) -> u64 {
        self.undecodable.as_ref().map_or(0, |undecodable| undecodable.count())
    }

    /// A subscription that never delivers, for transports that only receive.
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
    /// Creates a publisher on topic `name`.
    ///
    /// # Errors
    /// When the name is not a ROS name, the topic carries another type, or the middleware refuses.
    pub fn new(transport: &dyn Transport, name: &str, qos: Qos) -> Result<Self, TransportError> {
        let topic = Topic::new::<M>(name, qos)?;
        let outlet = transport.advertise(&topic)?;
        Ok(Self { topic, outlet, sent: AtomicU64::new(0), message: PhantomData })
    }

    /// Encodes `message` once and sends it with its simulated `stamp`.
    ///
    /// # Errors
    /// When it cannot be encoded or sent; the publisher stays usable.
    pub fn publish(&self, message: &M, stamp: SimTime) -> Result<(), TransportError> {
        self.outlet.send(&self.encoded(message)?, stamp)?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sends `message` again to subscribers that may have missed it; bags and counters already have it.
    ///
    /// # Errors
    /// Those of [`Self::publish`].
    pub fn repeat(&self, message: &M, stamp: SimTime) -> Result<(), TransportError> {
        self.outlet.repeat(&self.encoded(message)?, stamp)
    }

    fn encoded(&self, message: &M) -> Result<Encoded, TransportError> {
        cdr::encode(message).map_err(|source| TransportError::Encode { topic: self.topic.name.clone(), source })
    }

    /// Number of subscribers in other processes that a message goes to now; `None` if that is unknown.
    #[must_use]
    pub fn subscribers(&self) -> Option<usize> {
        self.outlet.subscribers()
    }

    /// The topic's name, type and quality of service.
    #[must_use]
    pub fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Number of messages sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// Subscribes to topic `name`; `on` receives each decoded message on the adapter's thread. Bytes that do not decode are
/// dropped and counted ([`Subscription::undecodable`]).
///
/// # Errors
/// When the name is not a ROS name, the topic carries another type, or the middleware refuses.
pub fn subscribe<M: Message>(
    transport: &dyn Transport,
    name: &str,
    qos: Qos,
    on: impl Fn(M) + Send + Sync + 'static,
) -> Result<Subscription, TransportError> {
    let topic = Topic::new::<M>(name, qos)?;
    let undecodable = Arc::new(Dropped::new(&topic.name));
    let counter = Arc::clone(&undecodable);
    let sink = move |encoded: &Encoded| match cdr::decode(encoded) {
        Ok(message) => on(message),
        Err(error) => _ = undecodable.add(error),
    };
    Ok(transport.subscribe(&topic, Box::new(sink))?.counting(counter))
}
