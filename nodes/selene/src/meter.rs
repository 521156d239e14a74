//! A transport that counts: messages and bytes of every topic on their way to
//! another transport. A message that the other transport cannot hand over is
//! counted and traced, and the run goes on: one slow subscriber must not end it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use selene_base::SimTime;
use selene_ros::layer::Layer;
use selene_ros::transport::{Outlet, Transport, TransportError};
use selene_ros::{Encoded, Topic};

/// Counts what passes through to `inner`.
pub(crate) struct Meter {
    inner: Arc<dyn Transport>,
    counters: Mutex<BTreeMap<String, Arc<Counter>>>,
    times: Arc<Times>,
}

/// Simulated times, ns.
#[derive(Default)]
struct Times {
    /// Where the run began or the clock last went back to.
    began: AtomicI64,
    /// The latest stamp since then.
    latest: AtomicI64,
}

/// What tells the time, also that it went back.
const CLOCK: &str = "/clock";

#[derive(Default)]
struct Counter {
    messages: AtomicU64,
    bytes: AtomicU64,
    refused: AtomicU64,
}

/// What a topic has carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Messages sent.
    pub(crate) messages: u64,
    /// Their size, encoded, bytes.
    pub(crate) bytes: u64,
    /// Messages that some transport could not hand over.
    pub(crate) refused: u64,
}

impl Meter {
    /// Counts what goes to `inner`, from the scenario's start on.
    pub(crate) fn new(inner: Arc<dyn Transport>) -> Self {
        Self { inner, counters: Mutex::default(), times: Arc::default() }
    }

    /// The same of a run that begins at `time`.
    pub(crate) fn beginning_at(self, time: SimTime) -> Self {
        let [began, latest] = [time, time].map(|time| AtomicI64::new(time.nanos()));
        Self { times: Arc::new(Times { began, latest }), ..self }
    }

    /// Where the run began or the clock last went back to.
    pub(crate) fn began(&self) -> SimTime {
        SimTime::from_nanos(self.times.began.load(Ordering::Relaxed))
    }

    /// The latest stamp that any message had since the clock last went back.
    pub(crate) fn simulated(&self) -> SimTime {
        self.times.latest()
    }

    /// Tells what `simulated` does, and keeps no transport alive.
    pub(crate) fn clock(&self) -> impl Fn() -> SimTime + Send + Sync + use<> {
        let times = Arc::clone(&self.times);
        move || times.latest()
    }

    /// What each topic has carried so far, by name.
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

    /// The clock tells `now`.
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
            // Said once a topic; the summary tells how many.
            if self.counter.refused.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!("{error}; the run goes on");
            }
        }
        Ok(())
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        // It was counted when it was sent; who misses it again is told it once more.
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

    struct Deaf;

    impl Transport for Deaf {
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

    impl Outlet for Deaf {
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
        // Four bytes of CDR header and eight of number.
        assert_eq!(count, Count { messages: 3, bytes: 36, refused: 0 });
        assert_eq!(simulated, SimTime::from_secs_f64(3.0));
    }

    #[test]
    fn time_goes_back_with_the_clock_alone() {
        let at = SimTime::from_secs_f64;
        let meter = Meter::new(Arc::new(InProcess::new())).beginning_at(at(4.0));
        let clock = Publisher::new(&meter, "/clock", Qos::clock()).unwrap();
        let data = Publisher::new(&meter, "/a", Qos::reliable()).unwrap();
        let tell = |time_s: f64| clock.publish(&rosgraph_msgs::Clock { clock: at(time_s).into() }, at(time_s)).unwrap();
        tell(5.0);
        data.publish(&std_msgs::Float64 { data: 0.0 }, at(3.0)).unwrap();
        assert_eq!((meter.began(), meter.simulated()), (at(4.0), at(5.0)));
        tell(0.0);
        assert_eq!((meter.began(), meter.simulated()), (SimTime::ZERO, SimTime::ZERO));
    }

    #[test]
    fn what_cannot_be_handed_over_is_counted_and_ends_nothing() {
        let (count, _) = count_of_three(Arc::new(Deaf));
        assert_eq!((count.messages, count.refused), (3, 3));
    }
}
