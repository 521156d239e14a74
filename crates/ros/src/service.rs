//! Services: a client sends a request, a server answers it. A [`Service`] is a pair of messages; [`serve`] answers its
//! requests and [`Client`] sends them, over any [`Transport`].
//!
//! Nothing blocks: `answer` runs on the adapter's thread and may move its [`Reply`] to another one, and
//! [`Client::call`] returns the channel through which the response arrives. Requests and responses that do not decode
//! are dropped and counted; a dropped request gets no response, as in ROS 2.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use crate::cdr::{self, Encoded};
use crate::dropped::Dropped;
use crate::message::Message;
use crate::qos::{TopicError, checked_name};
use crate::transport::{Answer, Caller, Subscription, Transport, TransportError};

/// A ROS 2 service type: its request and response messages.
pub trait Service: 'static {
    /// The request message.
    type Request: Message;
    /// The response message.
    type Response: Message;
    /// Full name of the type, such as `std_srvs/srv/Trigger`.
    const TYPE_NAME: &'static str;
}

/// A service: its name and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceName {
    /// Full name, such as `/selene/spawn_entity`.
    pub name: String,
    /// Full name of the type, such as `simulation_interfaces/srv/SpawnEntity`.
    pub type_name: &'static str,
    /// Hash of the request's type ([`Message::TYPE_HASH`]).
    pub request_hash: &'static str,
    /// Hash of the response's type.
    pub response_hash: &'static str,
}

impl ServiceName {
    /// The service `name` of type `S`.
    ///
    /// # Errors
    /// When `name` is not a full ROS 2 name.
    pub fn new<S: Service>(name: impl Into<String>) -> Result<Self, TopicError> {
        let (request_hash, response_hash) = (S::Request::TYPE_HASH, S::Response::TYPE_HASH);
        Ok(Self { name: checked_name(name.into())?, type_name: S::TYPE_NAME, request_hash, response_hash })
    }

    /// An error of this service.
    pub(crate) fn refused(&self, what: impl ToString) -> TransportError {
        TransportError::Service { service: self.name.clone(), what: what.to_string() }
    }
}

/// Serves service `name` until the subscription is dropped. `answer` runs on the adapter's thread and must not block.
///
/// # Errors
/// When the name is not a ROS name, the process serves it already, or the middleware refuses.
pub fn serve<S: Service>(
    transport: &dyn Transport,
    name: &str,
    answer: impl Fn(S::Request, Reply<S>) + Send + Sync + 'static,
) -> Result<Subscription, TransportError> {
    let service = Arc::new(ServiceName::new::<S>(name)?);
    let undecodable = Arc::new(Dropped::new(name));
    let counter = Arc::clone(&undecodable);
    let of = Arc::clone(&service);
    let sink = move |request: &Encoded, back: Answer| match cdr::decode(request) {
        Ok(request) => answer(request, Reply { service: Arc::clone(&of), back, response: PhantomData }),
        Err(error) => _ = undecodable.add(error),
    };
    Ok(transport.serve(&service, Box::new(sink))?.counting(counter))
}

/// Sends the response to one request. If it is dropped without sending, the request gets no response.
#[must_use = "a request whose reply is dropped gets no response"]
pub struct Reply<S: Service> {
    service: Arc<ServiceName>,
    back: Answer,
    response: PhantomData<fn(&S::Response)>,
}

impl<S: Service> Reply<S> {
    /// Sends the response.
    ///
    /// # Errors
    /// When it cannot be encoded or sent.
    pub fn send(self, response: &S::Response) -> Result<(), TransportError> {
        let encoded = cdr::encode(response).map_err(|error| self.service.refused(error))?;
        (self.back)(&encoded)
    }
}

/// A client of one service.
pub struct Client<S: Service> {
    service: ServiceName,
    caller: Box<dyn Caller>,
    undecodable: Arc<Dropped>,
    calls: PhantomData<fn() -> S>,
}

impl<S: Service> Client<S> {
    /// Creates a client of service `name`, which need not be served yet.
    ///
    /// # Errors
    /// When the name is not a ROS name or the middleware refuses.
    pub fn new(transport: &dyn Transport, name: &str) -> Result<Self, TransportError> {
        let service = ServiceName::new::<S>(name)?;
        let caller = transport.client(&service)?;
        Ok(Self { service, caller, undecodable: Arc::new(Dropped::new(name)), calls: PhantomData })
    }

    /// Whether the service is served now.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.caller.is_served()
    }

    /// Sends `request`. The receiver gets the response, once. If the server sends none, nothing arrives; where that is
    /// known, the receiver is disconnected.
    ///
    /// # Errors
    /// When the service is not served now, or the request cannot be encoded or sent.
    pub fn call(&self, request: &S::Request) -> Result<Receiver<S::Response>, TransportError> {
        let encoded = cdr::encode(request).map_err(|error| self.service.refused(error))?;
        let (sender, receiver) = channel();
        let undecodable = Arc::clone(&self.undecodable);
        let on = move |response: &Encoded| match cdr::decode(response) {
            // The caller may have stopped waiting.
            Ok(response) => _ = sender.send(response),
            Err(error) => _ = undecodable.add(error),
        };
        self.caller.call(&encoded, Box::new(on))?;
        Ok(receiver)
    }
}

#[cfg(test)]
mod tests;
