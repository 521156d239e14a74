//! Access to `r2r`'s own types, for what it does not move as raw bytes: requests, responses and the feedback of
//! actions. The machine's RMW converts these types to and from CDR. They exist for packages that were sourced when the
//! program was built; the build script lists them (`build/r2r.rs`).

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use r2r::{Client, Node, Publisher, PublisherUntyped, QosProfile, ServiceRequest};
use r2r::{WrappedServiceTypeSupport, WrappedTypesupport};

use crate::cdr::Encoded;
use crate::qos::Topic;

include!(concat!(env!("OUT_DIR"), "/r2r_types.rs"));

/// A publisher of one type.
pub(super) trait TypedPublisher: Send {
    fn send_message(&self, message: &Encoded) -> r2r::Result<()>;

    /// Removes the publisher from the node.
    fn end(self: Box<Self>, node: &mut Node);
}

/// Creates a publisher of `topic`.
pub(super) fn publisher(node: &mut Node, topic: &Topic, qos: QosProfile) -> r2r::Result<Box<dyn TypedPublisher>> {
    match feedback(topic.type_name) {
        Some(of_type) => (of_type.publisher)(node, &topic.name, qos),
        None => Ok(Box::new(node.create_publisher_untyped(&topic.name, topic.type_name, qos)?)),
    }
}

/// Functions for one message type.
struct MessageType {
    publisher: fn(&mut Node, &str, QosProfile) -> r2r::Result<Box<dyn TypedPublisher>>,
}

impl MessageType {
    #[cfg_attr(feature = "r2r-doc-only", expect(dead_code, reason = "r2r then has no action that Selene serves"))]
    fn of<T: WrappedTypesupport + 'static>() -> Self {
        Self { publisher: |node, topic, qos| Ok(Box::new(node.create_publisher::<T>(topic, qos)?)) }
    }
}

impl TypedPublisher for PublisherUntyped {
    fn send_message(&self, message: &Encoded) -> r2r::Result<()> {
        self.publish_raw(message.bytes())
    }

    fn end(self: Box<Self>, node: &mut Node) {
        node.destroy_publisher_untyped(*self);
    }
}

impl<T: WrappedTypesupport + 'static> TypedPublisher for Publisher<T> {
    fn send_message(&self, message: &Encoded) -> r2r::Result<()> {
        self.publish(&T::from_serialized_bytes(message.bytes())?)
    }

    fn end(self: Box<Self>, node: &mut Node) {
        node.destroy_publisher(*self);
    }
}

/// A request, and the function that sends its response.
pub(super) type TypedRequest = (Encoded, Box<dyn FnOnce(&Encoded) -> r2r::Result<()> + Send>);
/// The requests of a service; an error if one cannot be converted to CDR.
pub(super) type Requests = BoxStream<'static, r2r::Result<TypedRequest>>;
/// The response of a call, once it arrives.
pub(super) type Response = BoxFuture<'static, r2r::Result<Encoded>>;

/// Functions for one service type.
pub(super) struct ServiceType {
    pub(super) serve: fn(&mut Node, &str, QosProfile) -> r2r::Result<Requests>,
    pub(super) client: fn(&mut Node, &str, QosProfile) -> r2r::Result<Box<dyn TypedClient>>,
}

impl ServiceType {
    /// The service type with this name, if `r2r` was built with it.
    pub(super) fn named(type_name: &str) -> Option<Self> {
        service(type_name)
    }

    fn of<T>() -> Self
    where
        T: WrappedServiceTypeSupport + 'static,
        T::Response: Send,
    {
        Self {
            serve: |node, name, qos| Ok(node.create_service::<T>(name, qos)?.map(requested).boxed()),
            client: |node, name, qos| Ok(Box::new(node.create_client::<T>(name, qos)?)),
        }
    }
}

fn requested<T: WrappedServiceTypeSupport + 'static>(request: ServiceRequest<T>) -> r2r::Result<TypedRequest> {
    let bytes = request.message.to_serialized_bytes()?;
    let respond = move |response: &Encoded| request.respond(T::Response::from_serialized_bytes(response.bytes())?);
    Ok((Encoded::with_room(bytes), Box::new(respond)))
}

/// A client of one type.
pub(super) trait TypedClient: Send + Sync {
    fn call(&self, request: &Encoded) -> r2r::Result<Response>;

    /// Becomes ready in the next spin in which the service is served.
    fn served(&self) -> r2r::Result<BoxFuture<'static, r2r::Result<()>>>;
}

impl<T> TypedClient for Client<T>
where
    T: WrappedServiceTypeSupport + 'static,
    T::Response: Send,
{
    fn call(&self, request: &Encoded) -> r2r::Result<Response> {
        let response = self.request(&T::Request::from_serialized_bytes(request.bytes())?)?;
        let encoded = |response: r2r::Result<T::Response>| response?.to_serialized_bytes().map(Encoded::with_room);
        Ok(response.map(encoded).boxed())
    }

    fn served(&self) -> r2r::Result<BoxFuture<'static, r2r::Result<()>>> {
        Ok(Node::is_available(self)?.boxed())
    }
}
