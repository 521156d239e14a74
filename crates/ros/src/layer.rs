//! A transport on top of another one that changes part of its behaviour. A layer implements only the methods that it
//! changes; all others pass straight through.

use crate::qos::Topic;
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError};

/// A layer on top of another transport. Every layer is a [`Transport`]; each method calls the one of the transport
/// below unless the layer overrides it.
pub trait Layer: Send + Sync {
    /// The transport below.
    fn inner(&self) -> &dyn Transport;

    /// Like [`Transport::advertise`].
    ///
    /// # Errors
    /// Those of [`Transport::advertise`].
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        self.inner().advertise(topic)
    }

    /// Like [`Transport::subscribe`].
    ///
    /// # Errors
    /// Those of [`Transport::subscribe`].
    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        self.inner().subscribe(topic, sink)
    }

    /// Like [`Transport::publishers_of`].
    fn publishers_of(&self, name: &str) -> Option<usize> {
        self.inner().publishers_of(name)
    }

    /// Like [`Transport::serve`].
    ///
    /// # Errors
    /// Those of [`Transport::serve`].
    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        self.inner().serve(service, sink)
    }

    /// Like [`Transport::client`].
    ///
    /// # Errors
    /// Those of [`Transport::client`].
    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        self.inner().client(service)
    }
}

impl<L: Layer> Transport for L {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        Layer::advertise(self, topic)
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        Layer::subscribe(self, topic, sink)
    }

    fn publishers_of(&self, name: &str) -> Option<usize> {
        Layer::publishers_of(self, name)
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        Layer::serve(self, service, sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        Layer::client(self, service)
    }
}

#[cfg(test)]
mod tests {
    use super::Layer;
    use crate::in_process::InProcess;
    use crate::qos::{Qos, Topic};
    use crate::service::{Client, Reply, ServiceName, serve};
    use crate::std_msgs::Float64;
    use crate::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
    use crate::transport::{
        Caller, Outlet, Publisher, RequestSink, Sink, Subscription, Transport, TransportError, subscribe,
    };
    use selene_base::SimTime;
    use std::sync::mpsc;

    /// A process whose every topic has seven other publishers.
    struct SevenPublishers(InProcess);

    impl Transport for SevenPublishers {
        fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
            self.0.advertise(topic)
        }
        fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
            self.0.subscribe(topic, sink)
        }
        fn publishers_of(&self, _name: &str) -> Option<usize> {
            Some(7)
        }
        fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
            self.0.serve(service, sink)
        }
        fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
            self.0.client(service)
        }
    }

    /// A layer that changes nothing.
    struct PassThrough(SevenPublishers);

    impl Layer for PassThrough {
        fn inner(&self) -> &dyn Transport {
            &self.0
        }
    }

    #[test]
    fn what_a_layer_does_not_implement_is_done_by_the_transport_below() {
        let bus = InProcess::new();
        let clear = PassThrough(SevenPublishers(bus.clone()));
        let (sender, received) = mpsc::channel();
        let on = move |message: Float64| sender.send(message.data).unwrap();
        let _through = subscribe(&clear, "/depth", Qos::reliable(), on).unwrap();
        for (side, data) in [(&bus as &dyn Transport, 1.0), (&clear as &dyn Transport, 2.0)] {
            let publisher = Publisher::new(side, "/depth", Qos::reliable()).unwrap();
            publisher.publish(&Float64 { data }, SimTime::ZERO).unwrap();
        }
        assert_eq!(received.try_iter().collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(Layer::publishers_of(&clear, "/depth"), Some(7));
        assert_eq!(Transport::publishers_of(&clear, "/depth"), Some(7));
    }

    #[test]
    fn services_go_through_a_layer() {
        let bus = InProcess::new();
        let clear = PassThrough(SevenPublishers(bus.clone()));
        let on = |request: SetBoolRequest, reply: Reply<SetBool>| {
            reply.send(&SetBoolResponse { success: request.data, message: String::new() }).unwrap();
        };
        let _served = serve::<SetBool>(&clear, "/switch", on).unwrap();
        for side in [&clear as &dyn Transport, &bus as &dyn Transport] {
            let client = Client::<SetBool>::new(side, "/switch").unwrap();
            assert!(client.call(&SetBoolRequest { data: true }).unwrap().try_recv().unwrap().success);
        }
    }
}
