//! `r2r`'s own types, for what it does not move as raw bytes: requests, responses and the feedback of actions. Its
//! types turn to CDR and back by the machine's RMW. They are there for packages that were sourced when the program was
//! built; the build script names them (`build/r2r.rs`).

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use r2r::{Client, Node, Publisher, PublisherUntyped, QosProfile, ServiceRequest};
use r2r::{WrappedServiceTypeSupport, WrappedTypesupport};

use crate::cdr::Encoded;
use crate::qos::Topic;

include!(concat!(env!("OUT_DIR"), "/r2r_types.rs"));

/// A publisher of one type.
pub(super) trait Speaker: Send {
    fn say(&self, message: &Encoded) -> r2r::Result<()>;

    /// Takes the publisher out of the node.
    fn end(self: Box<Self>, node: &mut Node);
}

/// Makes a publisher of `topic`.
pub(super) fn speaker(node: &mut Node, topic: &Topic, qos: QosProfile) -> r2r::Result<Box<dyn Speaker>> {
    match feedback(topic.type_name) {
        Some(of_type) => (of_type.speaker)(node, &topic.name, qos),
        None => Ok(Box::new(node.create_publisher_untyped(&topic.name, topic.type_name, qos)?)),
    }
}

/// What a message's type can do.
struct MessageType {
    speaker: fn(&mut Node, &str, QosProfile) -> r2r::Result<Box<dyn Speaker>>,
}

impl MessageType {
    #[cfg_attr(feature = "r2r-doc-only", expect(dead_code, reason = "r2r then has no action that Selene serves"))]
    fn of<T: WrappedTypesupport + 'static>() -> Self {
        Self { speaker: |node, topic, qos| Ok(Box::new(node.create_publisher::<T>(topic, qos)?)) }
    }
}

impl Speaker for PublisherUntyped {
    fn say(&self, message: &Encoded) -> r2r::Result<()> {
        self.publish_raw(message.bytes())
    }

    fn end(self: Box<Self>, node: &mut Node) {
        node.destroy_publisher_untyped(*self);
    }
}

impl<T: WrappedTypesupport + 'static> Speaker for Publisher<T> {
    fn say(&self, message: &Encoded) -> r2r::Result<()> {
        self.publish(&T::from_serialized_bytes(message.bytes())?)
    }

    fn end(self: Box<Self>, node: &mut Node) {
        node.destroy_publisher(*self);
    }
}

/// One request and what sends its response.
pub(super) type Asked = (Encoded, Box<dyn FnOnce(&Encoded) -> r2r::Result<()> + Send>);
/// The requests of a service; an error where one has no CDR.
pub(super) type Requests = BoxStream<'static, r2r::Result<Asked>>;
/// The response to come.
pub(super) type Response = BoxFuture<'static, r2r::Result<Encoded>>;

/// What a service's type can do.
pub(super) struct ServiceType {
    pub(super) serve: fn(&mut Node, &str, QosProfile) -> r2r::Result<Requests>,
    pub(super) client: fn(&mut Node, &str, QosProfile) -> r2r::Result<Box<dyn Asking>>,
}

impl ServiceType {
    /// That with this name, if `r2r` was built with it.
    pub(super) fn named(type_name: &str) -> Option<Self> {
        service(type_name)
    }

    fn of<T>() -> Self
    where
        T: WrappedServiceTypeSupport + 'static,
        T::Response: Send,
    {
        Self {
            serve: |node, name, qos| Ok(node.create_service::<T>(name, qos)?.map(asked).boxed()),
            client: |node, name, qos| Ok(Box::new(node.create_client::<T>(name, qos)?)),
        }
    }
}

fn asked<T: WrappedServiceTypeSupport + 'static>(request: ServiceRequest<T>) -> r2r::Result<Asked> {
    let bytes = request.message.to_serialized_bytes()?;
    let respond = move |response: &Encoded| request.respond(T::Response::from_serialized_bytes(response.bytes())?);
    Ok((Encoded::with_room(bytes), Box::new(respond)))
}

/// A client of one type.
pub(super) trait Asking: Send + Sync {
    fn ask(&self, request: &Encoded) -> r2r::Result<Response>;

    /// Becomes ready in the next spin in which somebody answers.
    fn served(&self) -> r2r::Result<BoxFuture<'static, r2r::Result<()>>>;
}

impl<T> Asking for Client<T>
where
    T: WrappedServiceTypeSupport + 'static,
    T::Response: Send,
{
    fn ask(&self, request: &Encoded) -> r2r::Result<Response> {
        let response = self.request(&T::Request::from_serialized_bytes(request.bytes())?)?;
        let encoded = |response: r2r::Result<T::Response>| response?.to_serialized_bytes().map(Encoded::with_room);
        Ok(response.map(encoded).boxed())
    }

    fn served(&self) -> r2r::Result<BoxFuture<'static, r2r::Result<()>>> {
        Ok(Node::is_available(self)?.boxed())
    }
}
