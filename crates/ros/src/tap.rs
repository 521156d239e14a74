//! A transport that only takes: what is published through it goes to a [`Taker`], nothing comes back, and nobody
//! answers services on it. Joined to others by [`Fanout`](crate::fanout::Fanout) it gets what they get.

use std::sync::Arc;

use crate::cdr::Encoded;
use crate::qos::Topic;
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, ResponseSink, Sink, Subscription, Transport, TransportError};

/// Takes what publishers send.
pub trait Taker: Send + Sync {
    /// As [`Transport::advertise`].
    ///
    /// # Errors
    /// As there.
    fn advertise(self: Arc<Self>, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError>;
}

/// The transport of a taker.
pub struct Tap<T>(pub Arc<T>);

impl<T: Taker> Transport for Tap<T> {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        Arc::clone(&self.0).advertise(topic)
    }

    fn subscribe(&self, _topic: &Topic, _sink: Sink) -> Result<Subscription, TransportError> {
        Ok(Subscription::inert())
    }

    fn serve(&self, _service: &ServiceName, _sink: RequestSink) -> Result<Subscription, TransportError> {
        Ok(Subscription::inert())
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        Ok(Box::new(Unserved { service: service.name.clone() }))
    }
}

/// A client that nobody answers.
struct Unserved {
    service: String,
}

impl Caller for Unserved {
    fn is_served(&self) -> bool {
        false
    }

    fn call(&self, _request: &Encoded, _on: ResponseSink) -> Result<(), TransportError> {
        Err(TransportError::NotServed { service: self.service.clone() })
    }
}

/// An outlet of a topic that a taker passes over.
pub struct PassedOver;

impl Outlet for PassedOver {
    fn send(&self, _message: &Encoded, _stamp: selene_base::SimTime) -> Result<(), TransportError> {
        Ok(())
    }
}
