use super::{KEPT, RemoteStages, StageState, is_question};
use selene_base::SimTime;
use selene_ros::in_process::InProcess;
use selene_ros::layer::Layer;
use selene_ros::std_msgs::Header;
use selene_ros::transport::{Outlet, Publisher, Subscription, Transport, TransportError, subscribe};
use selene_ros::{Encoded, Qos, Topic, sensor_msgs::Temperature};
use selene_sensors::{AugmentSpec, Augments, OwnTopicSpec, StageRow};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

fn reading(second: i32, temperature: f64) -> Temperature {
    let header = Header::new(SimTime::from_sec_nanosec(second, 0), "plate");
    Temperature { header, temperature, variance: 0.0 }
}

fn out(bus: &InProcess) -> Publisher<Temperature> {
    Publisher::new(bus, "/plate/stages/halve/out", Qos::reliable()).expect("out")
}

/// A stage that halves the temperatures of even seconds; for odd ones it answers with the stamp of the second before.
fn answer(bus: &InProcess) -> Subscription {
    let out = out(bus);
    let halve = move |given: Temperature| {
        let second = given.header.stamp.sec / 2 * 2;
        out.publish(&reading(second, 0.5 * given.temperature), SimTime::ZERO).expect("published");
    };
    subscribe(bus, "/plate/stages/halve/in", Qos::reliable(), halve).expect("in")
}

/// A row with one stage, whose first answer is waited for until `start_ends`.
fn stages(transport: &dyn Transport, start_ends: &'static OnceLock<Instant>) -> RemoteStages<Temperature> {
    let own = AugmentSpec::Own(OwnTopicSpec { name: "halve".to_owned(), timeout_s: 0.02 });
    let row = StageRow::new("plate", Augments(vec![own]), 1);
    let mut stages = RemoteStages::open(transport, "/plate", row).expect("topics");
    stages.stages[0].start_ends = start_ends;
    stages
}

/// A deadline for first answers, this much later than now.
fn ends_in(later: Duration) -> &'static OnceLock<Instant> {
    Box::leak(Box::new(OnceLock::from(Instant::now() + later)))
}

/// The answer to a reading of 10 °C.
fn pass(stages: &mut RemoteStages<Temperature>, second: i32, stop: bool) -> Option<f64> {
    let stamp = SimTime::from_sec_nanosec(second, 0);
    let passed = stages.pass(reading(second, 10.0), stamp, &AtomicBool::new(stop)).expect("sent");
    passed.map(|reported| reported.temperature)
}

#[test]
fn what_comes_back_with_the_same_stamp_goes_on_and_what_does_not_is_lost() {
    let bus = InProcess::new();
    let _other = answer(&bus);
    let mut stages = stages(&bus, ends_in(Duration::from_secs(30)));
    // Second 1 gets an answer with another stamp; 2 is not waited for, and its answer is read when 4 is sent.
    let temperatures = [0, 1, 2, 4].map(|second| pass(&mut stages, second, false));
    assert_eq!(temperatures, [Some(5.0), None, None, Some(5.0)]);
}

#[test]
fn who_goes_away_is_waited_for_once() {
    let bus = InProcess::new();
    let other = answer(&bus);
    let mut stages = stages(&bus, ends_in(Duration::from_secs(30)));
    assert_eq!(pass(&mut stages, 0, false), Some(5.0));
    assert_eq!(stages.stages[0].wait_max(), Duration::from_millis(20));
    drop(other);
    assert_eq!(pass(&mut stages, 2, false), None);
    assert_eq!(stages.stages[0].wait_max(), Duration::ZERO);
}

#[test]
fn all_stages_wait_together_for_the_first_answers() {
    let bus = InProcess::new();
    let start_ends: &'static OnceLock<Instant> = Box::leak(Box::new(OnceLock::new()));
    let [first, mut second] = [0, 1].map(|_| stages(&bus, start_ends));
    let [begun, left] = [&first, &second].map(|of| of.stages[0].wait_max());
    assert!(begun == super::START_TIMEOUT && left <= begun);
    second.stages[0].start_ends = ends_in(Duration::ZERO);
    assert_eq!(pass(&mut second, 0, false), None);
    assert_eq!(second.stages[0].standing, StageState::Silent);
}

#[test]
fn a_run_that_ends_waits_for_nobody() {
    let mut stages = stages(&InProcess::new(), ends_in(Duration::from_secs(3600)));
    assert_eq!(pass(&mut stages, 0, true), None);
    assert_eq!(stages.stages[0].standing, StageState::New);
}

#[test]
fn unrequested_answers_neither_pile_up_nor_hold_the_node() {
    let bus = InProcess::new();
    let mut stages = stages(&bus, ends_in(Duration::from_millis(50)));
    let out = out(&bus);
    let publish_one = || out.publish(&reading(7, 0.0), SimTime::ZERO).expect("published");
    (0..10 * KEPT).for_each(|_| publish_one());
    assert_eq!(stages.stages[0].answers.try_iter().count(), KEPT);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                publish_one();
            }
        });
        let passed = pass(&mut stages, 0, false);
        ended.store(true, Ordering::Relaxed);
        assert_eq!(passed, None);
    });
}

/// A transport whose topic has a subscriber only from the second query on.
struct LateSubscriber {
    bus: InProcess,
    repeats: Arc<AtomicUsize>,
}

struct LateOutlet {
    looks: AtomicUsize,
    repeats: Arc<AtomicUsize>,
}

impl Layer for LateSubscriber {
    fn inner(&self) -> &dyn Transport {
        &self.bus
    }

    fn advertise(&self, _topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        Ok(Box::new(LateOutlet { looks: AtomicUsize::new(0), repeats: Arc::clone(&self.repeats) }))
    }
}

impl Outlet for LateOutlet {
    fn send(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        Ok(())
    }

    fn repeat(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        self.repeats.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn subscribers(&self) -> Option<usize> {
        Some(self.looks.fetch_add(1, Ordering::Relaxed).min(1))
    }
}

#[test]
fn a_request_is_repeated_to_new_subscribers() {
    let late = LateSubscriber { bus: InProcess::new(), repeats: Arc::default() };
    let mut stages = stages(&late, ends_in(3 * super::LOOK_AGAIN));
    assert_eq!(pass(&mut stages, 0, false), None);
    assert_eq!(late.repeats.load(Ordering::Relaxed), 1);
}

#[test]
fn questions_are_known_by_their_topics() {
    let known = ["/cam/stages/halve/in", "/rover_1/cam/stages/halve/in"];
    let others = ["/cam/stages/halve/out", "/cam/image_raw", "/cam/stages/in", "/in", ""];
    assert!(known.into_iter().all(is_question) && !others.into_iter().any(is_question));
}
