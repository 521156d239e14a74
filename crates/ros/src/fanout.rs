//! Several transports as one: a message goes to all of them, and a subscription receives from all of them. If one fails, the
//! others still get the message. A service is served on all of them; a call goes to the first one on which the service
//! is served.

use std::sync::Arc;

use selene_base::SimTime;

use crate::cdr::Encoded;
use crate::qos::Topic;
use crate::service::ServiceName;
use crate::transport::{
    Answer, Caller, Outlet, RequestSink, ResponseSink, Sink, Subscription, Transport, TransportError,
};

/// A transport that passes everything to each of its parts, in their order.
pub struct Fanout {
    parts: Vec<Arc<dyn Transport>>,
}

impl Fanout {
    /// Joins `parts`.
    #[must_use]
    pub fn new(parts: Vec<Arc<dyn Transport>>) -> Self {
        Self { parts }
    }
}

impl Transport for Fanout {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let outlets: Result<_, _> = self.parts.iter().map(|part| part.advertise(topic)).collect();
        Ok(Box::new(FanoutOutlet { outlets: outlets? }))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        let sink = Arc::new(sink);
        let one = |part: &Arc<dyn Transport>| {
            let sink = Arc::clone(&sink);
            part.subscribe(topic, Box::new(move |message| sink(message)))
        };
        let subscriptions: Result<Vec<_>, _> = self.parts.iter().map(one).collect();
        Ok(Subscription::guarded_by(subscriptions?))
    }

    /// The sum over all parts that know their publishers.
    fn publishers_of(&self, name: &str) -> Option<usize> {
        self.parts.iter().filter_map(|part| part.publishers_of(name)).reduce(|all, more| all + more)
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        let sink = Arc::new(sink);
        let one = |part: &Arc<dyn Transport>| {
            let sink = Arc::clone(&sink);
            part.serve(service, Box::new(move |request: &Encoded, back: Answer| sink(request, back)))
        };
        let served: Result<Vec<_>, _> = self.parts.iter().map(one).collect();
        Ok(Subscription::guarded_by(served?))
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        let callers: Result<_, _> = self.parts.iter().map(|part| part.client(service)).collect();
        Ok(Box::new(FanoutCaller { service: service.name.clone(), callers: callers? }))
    }
}

struct FanoutCaller {
    service: String,
    callers: Vec<Box<dyn Caller>>,
}

impl Caller for FanoutCaller {
    fn is_served(&self) -> bool {
        self.callers.iter().any(|caller| caller.is_served())
    }

    fn call(&self, request: &Encoded, on: ResponseSink) -> Result<(), TransportError> {
        match self.callers.iter().find(|caller| caller.is_served()) {
            Some(caller) => caller.call(request, on),
            None => Err(TransportError::NotServed { service: self.service.clone() }),
        }
    }
}

struct FanoutOutlet {
    outlets: Vec<Box<dyn Outlet>>,
}

impl Outlet for FanoutOutlet {
    /// Tries every part; returns the first error after all have been tried.
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let each = self.outlets.iter().map(|outlet| outlet.send(message, stamp));
        each.fold(Ok(()), Result::and)
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.outlets.iter().map(|outlet| outlet.repeat(message, stamp)).fold(Ok(()), Result::and)
    }

    /// The sum over all parts that know their subscribers.
    fn subscribers(&self) -> Option<usize> {
        self.outlets.iter().filter_map(|outlet| outlet.subscribers()).reduce(|all, more| all + more)
    }
}

#[cfg(test)]
mod tests {
    use super::Fanout;
    use crate::bag::{BagRecorder, RecordOptions};
    use crate::cdr::Encoded;
    use crate::in_process::InProcess;
    use crate::qos::{Qos, Topic};
    use crate::service::{Client, Reply, ServiceName, serve};
    use crate::std_msgs::Float64;
    use crate::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
    use crate::transport::{
        Caller, Outlet, Publisher, RequestSink, Sink, Subscription, Transport, TransportError, subscribe,
    };
    use selene_base::SimTime;
    use std::sync::{Arc, mpsc};

    /// A transport whose every send fails.
    struct Broken(&'static str);

    impl Transport for Broken {
        fn advertise(&self, _topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
            Ok(Box::new(Broken(self.0)))
        }
        fn subscribe(&self, _topic: &Topic, _sink: Sink) -> Result<Subscription, TransportError> {
            Ok(Subscription::inert())
        }
        fn serve(&self, service: &ServiceName, _sink: RequestSink) -> Result<Subscription, TransportError> {
            Err(service.refused(self.0))
        }
        fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
            Err(service.refused(self.0))
        }
    }

    impl Outlet for Broken {
        fn send(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
            Err(TransportError::Send { topic: "/depth".to_owned(), what: self.0.to_owned() })
        }
    }

    #[test]
    fn all_are_tried_and_the_first_failure_is_reported() {
        let sound = InProcess::new();
        let (tx, rx) = mpsc::channel();
        let on = move |message: Float64| tx.send(message.data).unwrap();
        let _subscription = subscribe(&sound, "/depth", Qos::reliable(), on).unwrap();
        let parts: Vec<Arc<dyn Transport>> = vec![Arc::new(Broken("one")), Arc::new(sound), Arc::new(Broken("two"))];
        let publisher = Publisher::new(&Fanout::new(parts), "/depth", Qos::reliable()).unwrap();
        let error = publisher.publish(&Float64 { data: 3.0 }, SimTime::ZERO).expect_err("one part is broken");
        assert!(error.to_string().contains("one"), "{error}");
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), vec![3.0]);
    }

    /// A transport whose topics have this many publishers elsewhere.
    struct PublishersElsewhere(usize);

    impl Transport for PublishersElsewhere {
        fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
            InProcess::new().advertise(topic)
        }
        fn subscribe(&self, _topic: &Topic, _sink: Sink) -> Result<Subscription, TransportError> {
            Ok(Subscription::inert())
        }
        fn publishers_of(&self, _name: &str) -> Option<usize> {
            Some(self.0)
        }
        fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
            InProcess::new().serve(service, sink)
        }
        fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
            InProcess::new().client(service)
        }
    }

    #[test]
    fn publishers_elsewhere_are_those_of_the_parts_that_know() {
        let of = |parts| Fanout::new(parts).publishers_of("/cmd_vel");
        assert_eq!(of(vec![Arc::new(InProcess::new())]), None);
        assert_eq!(
            of(vec![Arc::new(InProcess::new()), Arc::new(PublishersElsewhere(2)), Arc::new(PublishersElsewhere(1))]),
            Some(3)
        );
    }

    #[test]
    fn repeated_messages_reach_subscribers_and_no_bag() {
        let folder = std::env::temp_dir().join(format!("selene-repeat-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (bus, bag) = (InProcess::new(), BagRecorder::create(&folder, RecordOptions::default()).unwrap());
        let (tx, rx) = mpsc::channel();
        let on = move |message: Float64| tx.send(message.data).unwrap();
        let _subscription = subscribe(&bus, "/depth", Qos::reliable(), on).unwrap();
        let fanout = Fanout::new(vec![Arc::new(bus), Arc::new(bag.clone())]);
        let publisher = Publisher::new(&fanout, "/depth", Qos::reliable()).unwrap();
        publisher.publish(&Float64 { data: 1.0 }, SimTime::ZERO).unwrap();
        publisher.repeat(&Float64 { data: 1.0 }, SimTime::ZERO).unwrap();
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), vec![1.0, 1.0]);
        assert_eq!((bag.finish().messages["/depth"], publisher.sent()), (1, 1));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_subscription_receives_every_part() {
        let (left, right) = (InProcess::new(), InProcess::new());
        let fanout = Fanout::new(vec![Arc::new(left.clone()), Arc::new(right.clone())]);
        let (tx, rx) = mpsc::channel();
        let on = move |message: Float64| tx.send(message.data).unwrap();
        let subscription = subscribe(&fanout, "/depth", Qos::reliable(), on).unwrap();
        let publish_on = |transport: &InProcess, data| {
            let publisher = Publisher::new(transport, "/depth", Qos::reliable()).unwrap();
            publisher.publish(&Float64 { data }, SimTime::ZERO).unwrap();
        };
        publish_on(&left, 1.0);
        publish_on(&right, 2.0);
        drop(subscription);
        publish_on(&left, 3.0);
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), vec![1.0, 2.0]);
    }

    fn answer(transport: &dyn Transport, who: &'static str) -> Subscription {
        let on = move |request: SetBoolRequest, reply: Reply<SetBool>| {
            reply.send(&SetBoolResponse { success: request.data, message: who.to_owned() }).unwrap();
        };
        serve::<SetBool>(transport, "/switch", on).unwrap()
    }

    fn call(client: &Client<SetBool>) -> Option<String> {
        let answered = client.call(&SetBoolRequest { data: true }).ok()?;
        Some(answered.try_recv().unwrap().message)
    }

    #[test]
    fn a_service_is_served_on_every_part_and_called_on_the_first_that_has_it() {
        let (left, right) = (InProcess::new(), InProcess::new());
        let fanout = Fanout::new(vec![Arc::new(left.clone()), Arc::new(right.clone())]);
        let client = Client::new(&fanout, "/switch").unwrap();
        assert_eq!((client.is_served(), call(&client)), (false, None));
        let on_right = answer(&right, "right");
        assert_eq!(call(&client).as_deref(), Some("right"));
        let on_left = answer(&left, "left");
        assert_eq!(call(&client).as_deref(), Some("left"));
        drop((on_left, on_right));
        let _served = answer(&fanout, "both");
        for part in [&left, &right] {
            assert_eq!(call(&Client::new(part, "/switch").unwrap()).as_deref(), Some("both"));
        }
    }

    #[test]
    fn a_part_that_cannot_serve_is_reported() {
        let parts: Vec<Arc<dyn Transport>> = vec![Arc::new(InProcess::new()), Arc::new(Broken("no services here"))];
        let fanout = Fanout::new(parts);
        let refused = serve::<SetBool>(&fanout, "/switch", |_, _| ()).err().expect("one part refuses");
        assert_eq!(refused.to_string(), "service /switch: no services here");
    }
}
