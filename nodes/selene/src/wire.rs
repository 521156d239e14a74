//! The wire: messages to other processes. Whole frames (images and point clouds) are dropped and counted when they are
//! late for their reader or exceed the bandwidth of the link; commands, transforms, the clock and all else always pass.
//! Bags and the nodes of this process get everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_coherence::is_question;
use selene_ros::impaired::Impaired;
use selene_ros::layer::Layer;
use selene_ros::transport::{Outlet, Transport, TransportError};
use selene_ros::{Encoded, Topic};
use selene_simulation::Timeline;

use crate::args::{LateFrames, LinkArgs};
use crate::fault::Fault;

/// Types of messages that may be dropped.
const FRAMES: [&str; 3] = ["sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/PointCloud2"];
/// Greatest burst after a pause, as the time in which the link carries it.
const BURST: Duration = Duration::from_millis(100);

/// A transport to other processes that drops frames.
pub(crate) struct Wire {
    inner: Arc<dyn Transport>,
    gate: Arc<FrameFilter>,
}

/// Number of dropped frames of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DroppedFrames {
    /// Frames dropped because they were late.
    pub(crate) late: u64,
    /// Frames dropped because they exceeded the bandwidth.
    pub(crate) over_limit: u64,
}

impl Wire {
    /// A wire over `inner`, with the limits and impairments of the command line.
    pub(crate) fn open(inner: Arc<dyn Transport>, link: &LinkArgs, timeline: &Timeline) -> Result<Arc<Self>, Fault> {
        let inner: Arc<dyn Transport> = match &link.impair[..] {
            [] => inner,
            rules => Arc::new(Impaired::new(inner, rules.to_vec()).map_err(Fault::run)?),
        };
        let gate = FrameFilter {
            late_frames: link.late_frames,
            timeline: timeline.clone(),
            budget: link.bandwidth_limit.map(|limit_bytes_s| Mutex::new(TokenBucket::new(limit_bytes_s))),
            begun: Instant::now(),
            left_out: Mutex::default(),
        };
        Ok(Arc::new(Self { inner, gate: Arc::new(gate) }))
    }

    /// The frames dropped so far, by topic.
    pub(crate) fn left_out(&self) -> BTreeMap<String, DroppedFrames> {
        locked(&self.gate.left_out).clone()
    }
}

impl Layer for Wire {
    fn inner(&self) -> &dyn Transport {
        self.inner.as_ref()
    }

    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let inner = self.inner.advertise(topic)?;
        let is_frame = is_frame(topic);
        Ok(Box::new(WireOutlet { inner, topic: topic.name.clone(), is_frame, gate: Arc::clone(&self.gate) }))
    }
}

/// Whether messages of a topic may be dropped. Requests to sensor stages in other processes may not: the node waits
/// for their answers.
fn is_frame(topic: &Topic) -> bool {
    FRAMES.contains(&topic.type_name) && !is_question(&topic.name)
}

struct WireOutlet {
    inner: Box<dyn Outlet>,
    topic: String,
    is_frame: bool,
    gate: Arc<FrameFilter>,
}

impl Outlet for WireOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        // A message is sent once for each subscriber.
        let bytes = message.bytes().len() * self.inner.subscribers().unwrap_or(1);
        let passes = self.gate.passes(bytes, self.is_frame.then_some((self.topic.as_str(), stamp)));
        if passes { self.inner.send(message, stamp) } else { Ok(()) }
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.inner.repeat(message, stamp)
    }

    fn subscribers(&self) -> Option<usize> {
        self.inner.subscribers()
    }
}

/// Decides which messages pass.
struct FrameFilter {
    late_frames: LateFrames,
    timeline: Timeline,
    budget: Option<Mutex<TokenBucket>>,
    begun: Instant,
    left_out: Mutex<BTreeMap<String, DroppedFrames>>,
}

impl FrameFilter {
    /// Whether a message passes; `frame` is the topic and stamp if it is a frame.
    fn passes(&self, bytes: usize, frame: Option<(&str, SimTime)>) -> bool {
        if let Some((topic, stamp)) = frame
            && self.is_late(stamp)
        {
            locked(&self.left_out).entry(topic.to_owned()).or_default().late += 1;
            return false;
        }
        let Some(budget) = &self.budget else { return true };
        let has_room = locked(budget).takes(self.begun.elapsed(), bytes, frame.is_some());
        if let Some((topic, _)) = frame.filter(|_| !has_room) {
            locked(&self.left_out).entry(topic.to_owned()).or_default().over_limit += 1;
        }
        has_room
    }

    fn is_late(&self, stamp: SimTime) -> bool {
        match self.late_frames {
            LateFrames::Send => false,
            LateFrames::Drop(after) => self.timeline.lateness(stamp).is_some_and(|late| late > after),
        }
    }
}

/// A token bucket: the bytes that a link can still carry. It fills at the limit, up to the bytes of one `BURST`.
/// Messages may overdraw it; a frame passes while anything is left, so that the mean rate stays below the limit and a
/// frame larger than a burst can pass. The caller passes the time in.
struct TokenBucket {
    limit_bytes_s: f64,
    left_bytes: f64,
    filled: Duration,
}

impl TokenBucket {
    fn new(limit_bytes_s: f64) -> Self {
        Self { limit_bytes_s, left_bytes: limit_bytes_s * BURST.as_secs_f64(), filled: Duration::ZERO }
    }

    /// Accepts a message at `now`, unless it is a frame and nothing is left. Returns whether it was accepted.
    fn takes(&mut self, now: Duration, bytes: usize, is_frame: bool) -> bool {
        let fresh = self.limit_bytes_s * now.saturating_sub(self.filled).as_secs_f64();
        self.left_bytes = (self.left_bytes + fresh).min(self.limit_bytes_s * BURST.as_secs_f64());
        self.filled = self.filled.max(now);
        let has_room = !is_frame || bytes == 0 || self.left_bytes > 0.0;
        if has_room {
            self.left_bytes -= bytes as f64;
        }
        has_room
    }
}

/// Locks a mutex; a panic of another thread leaves it usable.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{
        BURST, DroppedFrames, Encoded, LateFrames, LinkArgs, Outlet, TokenBucket, Topic, TransportError, Wire,
        WireOutlet, is_frame, locked,
    };
    use selene_base::SimTime;
    use selene_ros::in_process::InProcess;
    use selene_ros::transport::{Publisher, Transport, subscribe};
    use selene_ros::{Qos, sensor_msgs, std_msgs};
    use selene_simulation::{Pace, Pacer, Timeline};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    const FRAME_BYTES: usize = 1000;

    /// How many frames pass in ten seconds, at a hundred frames a second beside `other_bytes_s` of other messages.
    fn frames_that_pass(limit_bytes_s: f64, other_bytes_s: usize) -> usize {
        let mut budget = TokenBucket::new(limit_bytes_s);
        let frame = |tick: u64| {
            let now = Duration::from_millis(10 * tick);
            assert!(budget.takes(now, other_bytes_s / 100, false), "what is no frame always passes");
            budget.takes(now, FRAME_BYTES, true)
        };
        (0..1000).map(frame).filter(|passes| *passes).count()
    }

    #[test]
    fn frames_pass_at_the_rate_of_what_the_others_leave() {
        assert_eq!(frames_that_pass(1e9, 1000), 1000);
        for (limit_bytes_s, other_bytes_s, expected) in [(50_000.0, 0, 500), (50_000.0, 20_000, 300), (500.0, 0, 5)] {
            let passed = frames_that_pass(limit_bytes_s, other_bytes_s);
            // One burst at the start, and one frame that overdraws.
            let burst = (limit_bytes_s * 0.1) as usize / FRAME_BYTES + 1;
            assert!((expected..=expected + burst).contains(&passed), "{passed} at {limit_bytes_s} bytes/s");
        }
        // If other messages exceed the limit, one frame passes on the initial burst.
        assert_eq!(frames_that_pass(10_000.0, 20_000), 1);
    }

    #[test]
    fn a_frame_without_subscribers_passes_a_full_link() {
        let mut budget = TokenBucket::new(10_000.0);
        let passes = [FRAME_BYTES, FRAME_BYTES, 0].map(|bytes| budget.takes(Duration::ZERO, bytes, true));
        assert_eq!(passes, [true, false, true]);
    }

    /// How many of ten images and of ten numbers arrive, and how many images were dropped.
    fn carried(link: &LinkArgs, timeline: &Timeline) -> ([u64; 2], DroppedFrames) {
        let bus = InProcess::new();
        let wire = Wire::open(Arc::new(bus.clone()), link, timeline).expect("a wire");
        let received = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let [images, numbers] = received.each_ref().map(Arc::clone);
        let on_image = move |_: sensor_msgs::Image| _ = images.fetch_add(1, Ordering::Relaxed);
        let on_number = move |_: std_msgs::Float64| _ = numbers.fetch_add(1, Ordering::Relaxed);
        let _subscriptions = [
            subscribe(&bus, "/cam/image_raw", Qos::sensor_data(), on_image).expect("topic"),
            subscribe(&bus, "/mast_pan/command", Qos::reliable(), on_number).expect("topic"),
        ];
        let transport: &dyn Transport = &*wire;
        let image = Publisher::new(transport, "/cam/image_raw", Qos::sensor_data()).expect("topic");
        let number = Publisher::new(transport, "/mast_pan/command", Qos::reliable()).expect("topic");
        let message = sensor_msgs::Image { data: vec![0; FRAME_BYTES], ..Default::default() };
        for _ in 0..10 {
            image.publish(&message, SimTime::ZERO).expect("taken");
            number.publish(&std_msgs::Float64 { data: 0.5 }, SimTime::ZERO).expect("taken");
        }
        let left_out = wire.left_out().get("/cam/image_raw").copied().unwrap_or_default();
        (received.map(|count| count.load(Ordering::Relaxed)), left_out)
    }

    #[test]
    fn frames_alone_are_left_out_and_counted() {
        assert_eq!(carried(&LinkArgs::default(), &Timeline::default()), ([10, 10], DroppedFrames::default()));
        // A burst of a tenth of a byte: the first frame overdraws it for 1000 s.
        let narrow = LinkArgs { bandwidth_limit: Some(1.0), ..LinkArgs::default() };
        let left_out = DroppedFrames { late: 0, over_limit: 9 };
        assert_eq!(carried(&narrow, &Timeline::default()), ([1, 10], left_out));
    }

    #[test]
    fn a_request_to_a_stage_of_another_process_is_no_frame() {
        let is_frame = |name| is_frame(&Topic::new::<sensor_msgs::Image>(name, Qos::reliable()).expect("a name"));
        assert_eq!(["/cam/image_raw", "/cam/stages/darken/in"].map(is_frame), [true, false]);
    }

    /// An outlet that accepts everything and has this many subscribers.
    struct Subscribers(usize);

    impl Outlet for Subscribers {
        fn send(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
            Ok(())
        }

        fn subscribers(&self) -> Option<usize> {
            Some(self.0)
        }
    }

    /// How many of ten frames pass at once over a link whose burst is two and a half frames.
    fn passed_to(subscribers: usize) -> u64 {
        let limit = 2.5 * FRAME_BYTES as f64 / BURST.as_secs_f64();
        let link = LinkArgs { bandwidth_limit: Some(limit), ..LinkArgs::default() };
        let wire = Wire::open(Arc::new(InProcess::new()), &link, &Timeline::default()).expect("a wire");
        // It does not fill again while the test runs.
        locked(wire.gate.budget.as_ref().expect("a limit")).filled = Duration::from_secs(3600);
        let (inner, topic) = (Box::new(Subscribers(subscribers)), "/cam/image_raw".to_owned());
        let outlet = WireOutlet { inner, topic, is_frame: true, gate: Arc::clone(&wire.gate) };
        let message = Encoded::from_bytes(vec![0; FRAME_BYTES]);
        (0..10).for_each(|_| outlet.send(&message, SimTime::ZERO).expect("taken"));
        10 - wire.left_out().get("/cam/image_raw").map_or(0, |left_out| left_out.over_limit)
    }

    #[test]
    fn a_message_to_several_counts_several_times_and_one_without_subscribers_does_not() {
        assert_eq!([0, 1, 3].map(passed_to), [10, 3, 1]);
    }

    #[test]
    fn frames_that_are_late_on_the_timeline_are_dropped() {
        let drop = LinkArgs { late_frames: LateFrames::Drop(Duration::from_millis(20)), ..LinkArgs::default() };
        // Without a pace nothing is late.
        assert_eq!(carried(&drop, &Timeline::default()), ([10, 10], DroppedFrames::default()));
        let timeline = Timeline::default();
        let mut pacer = Pacer::new(Pace::Times(1.0), &timeline);
        for time in [SimTime::ZERO, SimTime::from_nanos(25_000_000)] {
            pacer.wait_for(time, || {}).expect("a clock");
        }
        // A frame stamped zero was due 25 ms ago.
        assert_eq!(carried(&drop, &timeline), ([0, 10], DroppedFrames { late: 10, over_limit: 0 }));
    }
}
