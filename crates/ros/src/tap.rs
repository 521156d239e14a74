//! A transport that only receives: published messages go to a [`TapSink`]; it delivers nothing and serves no services. As
//! a part of a [`Fanout`](crate::fanout::Fanout) it gets what the other parts get.

use std::sync::Arc;

use crate::cdr::Encoded;
use crate::qos::Topic;
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, ResponseSink, Sink, Subscription, Transport, TransportError};

/// Receives what publishers send.
pub trait TapSink: Send + Sync {
    /// Like [`Transport::advertise`].
    ///
    /// # Errors
    /// Those of [`Transport::advertise`].
    fn advertise(self: Arc<Self>, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError>;
}

/// The transport that passes everything to a taker.
pub struct Tap<T>(pub Arc<T>);

impl<T: TapSink> Transport for Tap<T> {
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
        Ok(Box::new(UnservedClient { service: service.name.clone() }))
    }
}

/// A client of a service that nobody serves.
struct UnservedClient {
    service: String,
}

impl Caller for UnservedClient {
    fn is_served(&self) -> bool {
        false
    }

    fn call(&self, _request: &Encoded, _on: ResponseSink) -> Result<(), TransportError> {
        Err(TransportError::NotServed { service: self.service.clone() })
    }
}

/// An outlet for topics that a taker ignores.
pub struct IgnoredOutlet;

impl Outlet for IgnoredOutlet {
    fn send(&self, _message: &Encoded, _stamp: selene_base::SimTime) -> Result<(), TransportError> {
        Ok(())
    }
}
