//! Several transports as one: what is sent goes to all of them, and a
//! subscription hears all of them. One that fails does not keep a message from
//! the others.

use std::sync::Arc;

use selene_base::SimTime;

use crate::cdr::Encoded;
use crate::qos::Topic;
use crate::transport::{Outlet, Sink, Subscription, Transport, TransportError};

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
}

struct FanoutOutlet {
    outlets: Vec<Box<dyn Outlet>>,
}

impl Outlet for FanoutOutlet {
    /// Tries every part; the first error is told after all have been tried.
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let each = self.outlets.iter().map(|outlet| outlet.send(message, stamp));
        each.fold(Ok(()), Result::and)
    }
}

#[cfg(test)]
mod tests {
    use super::Fanout;
    use crate::cdr::Encoded;
    use crate::in_process::InProcess;
    use crate::qos::{Qos, Topic};
    use crate::std_msgs::Float64;
    use crate::transport::{Outlet, Publisher, Sink, Subscription, Transport, TransportError, subscribe};
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
    }

    impl Outlet for Broken {
        fn send(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
            Err(TransportError::Send { topic: "/depth".to_owned(), what: self.0.to_owned() })
        }
    }

    #[test]
    fn all_are_tried_and_the_first_failure_is_told() {
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

    #[test]
    fn a_subscription_hears_every_part() {
        let (left, right) = (InProcess::new(), InProcess::new());
        let fanout = Fanout::new(vec![Arc::new(left.clone()), Arc::new(right.clone())]);
        let (tx, rx) = mpsc::channel();
        let on = move |message: Float64| tx.send(message.data).unwrap();
        let subscription = subscribe(&fanout, "/depth", Qos::reliable(), on).unwrap();
        let say = |transport: &InProcess, data| {
            let publisher = Publisher::new(transport, "/depth", Qos::reliable()).unwrap();
            publisher.publish(&Float64 { data }, SimTime::ZERO).unwrap();
        };
        say(&left, 1.0);
        say(&right, 2.0);
        drop(subscription);
        say(&left, 3.0);
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), vec![1.0, 2.0]);
    }
}
