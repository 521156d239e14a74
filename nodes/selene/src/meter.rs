//! A transport layer that counts messages and bytes of every topic on their way to another transport. A message that
//! the other transport cannot deliver is counted and logged, and the run goes on: one slow subscriber must not end it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use selene_base::SimTime;
use selene_ros::layer::Layer;
use selene_ros::rosgraph_msgs::Clock;
use selene_ros::transport::{Outlet, Subscription, Transport, TransportError, subscribe};
use selene_ros::{Encoded, Qos, Topic};

/// Counts the messages that pass to `inner`.
pub(crate) struct Meter {
    inner: Arc<dyn Transport>,
    counters: Mutex<BTreeMap<String, Arc<Counter>>>,
    times: Arc<Times>,
}

/// Simulated times, ns.
#[derive(Default)]
struct Times {
    /// Simulated time of the start or the last reset.
    began: AtomicI64,
    /// The latest stamp since then.
    latest: AtomicI64,
}

/// The topic of the clock: when its time goes back, the world was reset.
const CLOCK: &str = "/clock";

#[derive(Default)]
struct Counter {
    messages: AtomicU64,
    bytes: AtomicU64,
    refused: AtomicU64,
}

/// The traffic of a topic so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) messages: u64,
    /// Sum of their encoded sizes, bytes.
    pub(crate) bytes: u64,
    /// Messages that a transport could not deliver.
    pub(crate) refused: u64,
}

impl Meter {
    /// A meter of messages to `inner`, of a run that begins at simulated time zero.
    pub(crate) fn new(inner: Arc<dyn Transport>) -> Self {
        Self { inner, counters: Mutex::default(), times: Arc::default() }
    }

    /// The same meter for a run that begins at simulated time `time`.
    pub(crate) fn beginning_at(self, time: SimTime) -> Self {
        let [began, latest] = [time, time].map(|time| AtomicI64::new(time.nanos()));
        Self { times: Arc::new(Times { began, latest }), ..self }
    }

    /// Simulated time of the start or the last reset.
    pub(crate) fn began(&self) -> SimTime {
        SimTime::from_nanos(self.times.began.load(Ordering::Relaxed))
    }

    /// The latest stamp of any message since the start or the last reset.
    pub(crate) fn simulated(&self) -> SimTime {
        self.times.latest()
    }

    /// Takes the time from the clock of another process until the result is dropped: stamps alone do not tell of a reset.
    pub(crate) fn follow_clock(&self) -> Result<Subscription, TransportError> {
        let times = Arc::clone(&self.times);
        subscribe(self, CLOCK, Qos::clock(), move |Clock { clock }| times.tick(clock.into()))
    }

    /// A function that returns the same as `simulated` but does not keep the transport alive.
    pub(crate) fn clock(&self) -> impl Fn() -> SimTime + Send + Sync + use<> {
        let times = Arc::clone(&self.times);
        move || times.latest()
    }

    /// The traffic of each topic so far, by name.
    pub(crate) fn counts(&self) -> BTreeMap<String, Count> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |counter: &Counter| Count {
            messages: counter.messages.load(Ordering::Relaxed),
            bytes: counter.bytes.load(Ordering::Relaxed),
            refused: counter.refused.load(Ordering::Relaxed),
        };
        counters.iter().map(|(name, counter)| (name.clone(), read(counter))).collect()
    }
}

impl Times {
    fn latest(&self) -> SimTime {
        SimTime::from_nanos(self.latest.load(Ordering::Relaxed))
    }

    /// Takes a new time of the clock.
    fn tick(&self, now: SimTime) {
        if self.latest.swap(now.nanos(), Ordering::Relaxed) > now.nanos() {
            self.began.store(now.nanos(), Ordering::Relaxed);
        }
    }
}

impl Layer for Meter {
    fn inner(&self) -> &dyn Transport {
        self.inner.as_ref()
    }

    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let inner = self.inner.advertise(topic)?;
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = Arc::clone(counters.entry(topic.name.clone()).or_default());
        let is_clock = topic.name == CLOCK;
        Ok(Box::new(Metered { inner, counter, is_clock, times: Arc::clone(&self.times) }))
    }
}

struct Metered {
    inner: Box<dyn Outlet>,
    counter: Arc<Counter>,
    is_clock: bool,
    times: Arc<Times>,
}

impl Outlet for Metered {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.counter.messages.fetch_add(1, Ordering::Relaxed);
        self.counter.bytes.fetch_add(message.bytes().len() as u64, Ordering::Relaxed);
        if self.is_clock {
            self.times.tick(stamp);
        } else {
            self.times.latest.fetch_max(stamp.nanos(), Ordering::Relaxed);
        }
        if let Err(error) = self.inner.send(message, stamp) {
            // Logged once for each topic; the summary has the number.
            if self.counter.refused.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!("{error}; the run goes on");
            }
        }
        Ok(())
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        // The message was counted when it was first sent; a subscriber that misses it again gets another repetition.
        let _ = self.inner.repeat(message, stamp);
        Ok(())
    }

    fn subscribers(&self) -> Option<usize> {
        self.inner.subscribers()
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Meter};
    use selene_base::SimTime;
    use selene_ros::in_process::InProcess;
    use selene_ros::transport::{
        Caller, Outlet, Publisher, RequestSink, Sink, Subscription, Transport, TransportError,
    };
    use selene_ros::{Encoded, Qos, ServiceName, Topic, rosgraph_msgs, std_msgs};
    use std::sync::Arc;

    struct NoSubscriber;

    impl Transport for NoSubscriber {
        fn advertise(&self, _: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
            Ok(Box::new(Self))
        }
        fn subscribe(&self, _: &Topic, _: Sink) -> Result<Subscription, TransportError> {
            Ok(Subscription::inert())
        }
        fn serve(&self, _: &ServiceName, _: RequestSink) -> Result<Subscription, TransportError> {
            Ok(Subscription::inert())
        }
        fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
            Err(TransportError::NotServed { service: service.name.clone() })
        }
    }

    impl Outlet for NoSubscriber {
        fn send(&self, _: &Encoded, _: SimTime) -> Result<(), TransportError> {
            Err(TransportError::Send { topic: "/a".to_owned(), what: "queue full".to_owned() })
        }
    }

    fn count_of_three(inner: Arc<dyn Transport>) -> (Count, SimTime) {
        let meter = Meter::new(inner);
        let publisher = Publisher::new(&meter, "/a", Qos::reliable()).unwrap();
        for second in 1..=3 {
            publisher.publish(&std_msgs::Float64 { data: 0.0 }, SimTime::from_secs_f64(f64::from(second))).unwrap();
        }
        (meter.counts()["/a"].clone(), meter.simulated())
    }

    #[test]
    fn messages_bytes_and_the_latest_stamp_are_counted() {
        let (count, simulated) = count_of_three(Arc::new(InProcess::new()));
        // Each message has four bytes of CDR header and an eight-byte number.
        assert_eq!(count, Count { messages: 3, bytes: 36, refused: 0 });
        assert_eq!(simulated, SimTime::from_secs_f64(3.0));
    }

    #[test]
    fn time_goes_back_with_the_clock_alone() {
        let at = SimTime::from_secs_f64;
        let meter = Meter::new(Arc::new(InProcess::new())).beginning_at(at(4.0));
        let clock = Publisher::new(&meter, "/clock", Qos::clock()).unwrap();
        let data = Publisher::new(&meter, "/a", Qos::reliable()).unwrap();
        let publish_clock =
            |time_s: f64| clock.publish(&rosgraph_msgs::Clock { clock: at(time_s).into() }, at(time_s)).unwrap();
        publish_clock(5.0);
        data.publish(&std_msgs::Float64 { data: 0.0 }, at(3.0)).unwrap();
        assert_eq!((meter.began(), meter.simulated()), (at(4.0), at(5.0)));
        publish_clock(0.0);
        assert_eq!((meter.began(), meter.simulated()), (SimTime::ZERO, SimTime::ZERO));
    }

    #[test]
    fn what_cannot_be_handed_over_is_counted_and_ends_nothing() {
        let (count, _) = count_of_three(Arc::new(NoSubscriber));
        assert_eq!((count.messages, count.refused), (3, 3));
    }
}
