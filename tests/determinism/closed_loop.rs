//! Simulated time that waits for a client using topics only. The client answers from its own thread, as slowly and in
//! whatever order it likes, and every run gives the same state, the same messages and the same bag.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use selene_base::SimTime;
use selene_ros::bag::RecordOptions;
use selene_ros::diagnostic_msgs::DiagnosticArray;
use selene_ros::fanout::Fanout;
use selene_ros::in_process::InProcess;
use selene_ros::transport::{
    Caller, Outlet, Publisher, RequestSink, Sink, Subscription, Transport, TransportError, subscribe,
};
use selene_ros::{
    BagRecorder, Encoded, Qos, ServiceName, Topic, ackermann_msgs, decode, geometry_msgs, nav_msgs, rosgraph_msgs,
    std_msgs,
};
use selene_sim::{AwaitedTopic, Model};
use selene_simulation::{RunOutcome, RunStart};
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, model, options, scenario};

const SIMULATED: SimTime = SimTime::from_nanos(1_000_000_000);
const PERIOD: SimTime = SimTime::from_nanos(100_000_000);
const CMD_VEL: &str = "/cmd_vel";
const ACKERMANN: &str = "/ackermann_cmd";
/// Topics whose content depends on the wall clock or on a thread other than the simulation's.
const UNSETTLED: [&str; 4] = ["/diagnostics", "/ground_truth/rocks", "/ground_truth/map", "/ground_truth/occupancy"];

/// The default scenario, in which simulated time waits for these topics.
fn held_for(topics: &[&str], timeout: Duration) -> Arc<Model> {
    let mut scenario = scenario("polar", None);
    let awaited = |name: &&str| AwaitedTopic {
        name: (*name).to_owned(),
        type_name: None,
        period: PERIOD,
        lag: SimTime::ZERO,
        timeout,
        start_timeout: Duration::from_secs(60),
    };
    scenario.lockstep = topics.iter().map(awaited).collect();
    model(scenario)
}

/// A bag recorder for topics that simulated time alone determines.
struct DeterministicRecorder(BagRecorder);

impl Transport for DeterministicRecorder {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        if UNSETTLED.contains(&topic.name.as_str()) {
            InProcess::new().advertise(topic)
        } else {
            self.0.advertise(topic)
        }
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        self.0.subscribe(topic, sink)
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        self.0.serve(service, sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        self.0.client(service)
    }
}

/// Behaviour of the client that must not affect the result.
#[derive(Clone, Copy)]
struct ClientBehaviour {
    /// Order in which it answers on its topics.
    order: [&'static str; 2],
    /// Delay of an answer, by its number.
    hesitates: fn(u64) -> Duration,
}

const QUICK: ClientBehaviour = ClientBehaviour { order: [CMD_VEL, ACKERMANN], hesitates: |_| Duration::ZERO };
const SLOW: ClientBehaviour =
    ClientBehaviour { order: [ACKERMANN, CMD_VEL], hesitates: |n| Duration::from_millis(7 * (n % 3)) };

enum Received {
    Clock(SimTime),
    Odometry(Box<nav_msgs::Odometry>),
}

/// A client that drives by its odometry: a bend on one topic, backward on the other; the topic that is last by name
/// overrules the first.
struct Client {
    subscriptions: Vec<Subscription>,
    thread: JoinHandle<u64>,
}

impl Client {
    fn start(transport: &Arc<dyn Transport>, manner: ClientBehaviour) -> Self {
        let (sender, received) = channel();
        let (on_clock, on_odometry) = (sender.clone(), sender);
        let clock = move |reported: rosgraph_msgs::Clock| drop(on_clock.send(Received::Clock(reported.clock.into())));
        let odometry = move |reported| drop(on_odometry.send(Received::Odometry(Box::new(reported))));
        let subscriptions = vec![
            subscribe(transport.as_ref(), "/clock", Qos::clock(), clock).expect("clock"),
            subscribe(transport.as_ref(), "/ground_truth/odom", Qos::reliable(), odometry).expect("odometry"),
        ];
        let transport = Arc::clone(transport);
        Self { subscriptions, thread: std::thread::spawn(move || answer(&*transport, &received, manner)) }
    }

    /// Stops the client and returns the number of holds that it answered.
    fn end(self) -> u64 {
        drop(self.subscriptions);
        self.thread.join().expect("the client ends well")
    }
}

fn answer(transport: &dyn Transport, received: &Receiver<Received>, manner: ClientBehaviour) -> u64 {
    let twists = Publisher::new(transport, CMD_VEL, Qos::reliable()).expect("cmd_vel");
    let cars = Publisher::new(transport, ACKERMANN, Qos::reliable()).expect("ackermann_cmd");
    let (mut latest, mut answered, mut answers) = (nav_msgs::Odometry::default(), SimTime::ZERO, 0);
    while let Ok(received) = received.recv() {
        let now = match received {
            Received::Odometry(odometry) => {
                latest = *odometry;
                continue;
            }
            Received::Clock(now) => now,
        };
        if now % PERIOD != SimTime::ZERO || now <= answered {
            continue;
        }
        // The data of the held instant arrive before its clock message.
        assert_eq!(SimTime::from(latest.header.stamp), now);
        std::thread::sleep((manner.hesitates)(answers));
        for topic in manner.order {
            match topic {
                CMD_VEL => twists.publish(&twist(&latest, now), now).expect("sent"),
                _ => cars.publish(&car(now), now).expect("sent"),
            }
        }
        (answered, answers) = (now, answers + 1);
    }
    answers
}

fn twist(odometry: &nav_msgs::Odometry, now: SimTime) -> geometry_msgs::TwistStamped {
    let at = &odometry.pose.pose.position;
    let linear = geometry_msgs::Vector3 { x: 0.15 + 0.05 * (9.0 * at.x).sin(), ..Default::default() };
    let angular = geometry_msgs::Vector3 { z: 0.02 * (7.0 * at.y).cos(), ..Default::default() };
    let twist = geometry_msgs::Twist { linear, angular };
    geometry_msgs::TwistStamped { header: std_msgs::Header::new(now, "base_link"), twist }
}

fn car(now: SimTime) -> ackermann_msgs::AckermannDriveStamped {
    let drive = ackermann_msgs::AckermannDrive { speed: -0.1, ..Default::default() };
    ackermann_msgs::AckermannDriveStamped { header: std_msgs::Header::new(now, "base_link"), drive }
}

/// Runs the model with a client; returns the outcome, the published messages and the bag.
fn run(model: &Arc<Model>, manner: ClientBehaviour, folder: &Path) -> (RunOutcome, Published, Vec<u8>) {
    let recorder = BagRecorder::create(&folder.join("bag"), RecordOptions::default()).expect("bag");
    let recording = RecordingTransport::default();
    let parts: Vec<Arc<dyn Transport>> =
        vec![Arc::new(recording.clone()), Arc::new(DeterministicRecorder(recorder.clone()))];
    let client = Client::start(&(Arc::new(recording.clone()) as Arc<dyn Transport>), manner);
    let context = context(Arc::new(Fanout::new(parts)), model);
    let stop = AtomicBool::new(false);
    let outcome = selene_simulation::run(&context, RunStart::Start(None), &options(SIMULATED, &[]), &stop);
    assert_eq!(client.end(), 10);
    assert_eq!(recorder.finish().fault, None);
    let mut published = recording.take();
    published.retain(|topic, _| !UNSETTLED.contains(&topic.as_str()));
    (outcome.expect("simulation"), published, std::fs::read(folder.join("bag/bag_0.mcap")).expect("a bag"))
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-closed-loop-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("folder");
    folder
}

#[test]
fn a_client_that_is_waited_for_gives_the_same_bytes_however_slow_it_is_and_in_whatever_order_it_answers() {
    let model = held_for(&[CMD_VEL, ACKERMANN], Duration::from_secs(60));
    let folders = ["quick", "slow"].map(folder);
    let (quick, published, bag) = run(&model, QUICK, &folders[0]);
    let (slow, published_slowly, bag_of_slow) = run(&model, SLOW, &folders[1]);
    assert_eq!(quick.state_hash, slow.state_hash);
    assert!(published.keys().eq(published_slowly.keys()));
    for (topic, messages) in &published {
        assert!(*messages == published_slowly[topic], "{topic} is another in another run");
    }
    assert!(!bag.is_empty() && bag == bag_of_slow, "the bags differ");
    for topic in &quick.holds.topics {
        assert_eq!((topic.holds, topic.timeouts), (10, 0), "{}", topic.topic);
    }
    // The rover obeys the topic that is last by name, so it moves forward.
    let (_, bytes) = published["/ground_truth/odom"].last().expect("odometry");
    let last: nav_msgs::Odometry = decode(&Encoded::from_bytes(bytes.clone())).expect("odometry");
    assert!(last.pose.pose.position.x > 0.02, "{last:?}");
    let clocks = &published["/clock"];
    assert!(clocks.windows(2).all(|pair| pair[0].0 < pair[1].0), "the clock goes on at holds too");
    folders.iter().for_each(|folder| std::fs::remove_dir_all(folder).expect("clean"));
}

/// Runs the model and calls `sends` at each clock message, in the simulation's own thread.
fn run_with(
    model: &Arc<Model>,
    sends: impl Fn(SimTime, &Publisher<geometry_msgs::TwistStamped>) + Send + Sync + 'static,
) -> (RunOutcome, Published) {
    let (recording, stop) = (RecordingTransport::default(), AtomicBool::new(false));
    let commands = Publisher::new(&recording, CMD_VEL, Qos::reliable()).expect("cmd_vel");
    let on_clock = move |reported: rosgraph_msgs::Clock| sends(reported.clock.into(), &commands);
    let clock = subscribe(&recording, "/clock", Qos::clock(), on_clock).expect("clock");
    let context = context(Arc::new(recording.clone()), model);
    let outcome = selene_simulation::run(&context, RunStart::Start(None), &options(SIMULATED, &[]), &stop);
    drop(clock);
    (outcome.expect("simulation"), recording.take())
}

fn forward(now: SimTime, speed_m_s: f64) -> geometry_msgs::TwistStamped {
    let linear = geometry_msgs::Vector3 { x: speed_m_s, ..Default::default() };
    let twist = geometry_msgs::Twist { linear, ..Default::default() };
    geometry_msgs::TwistStamped { header: std_msgs::Header::new(now, "base_link"), twist }
}

#[test]
fn a_command_that_comes_between_holds_takes_effect_at_the_next_one() {
    let model = held_for(&[CMD_VEL], Duration::from_secs(60));
    let at_holds = |now: SimTime| now > SimTime::ZERO && now % PERIOD == SimTime::ZERO;
    let (expected, _) = run_with(&model, move |now, commands| {
        if at_holds(now) {
            commands.publish(&forward(now, 0.2), now).expect("sent");
        }
    });
    // Backward commands between holds, which the answer at the next hold overrules.
    let (disturbed, _) = run_with(&model, move |now, commands| {
        let speed_m_s = if at_holds(now) { 0.2 } else { -0.2 };
        if at_holds(now) || now % PERIOD == SimTime::from_nanos(35_000_000) {
            commands.publish(&forward(now, speed_m_s), now).expect("sent");
        }
    });
    assert_eq!(expected.state_hash, disturbed.state_hash);
    assert_eq!((disturbed.holds.topics[0].holds, disturbed.holds.topics[0].timeouts), (10, 0));
}

/// Number of outdated commands at each hold, and how many of each hold's commands are dropped: 256 wait at most.
const FLOOD: usize = 300;
const DROPPED: u64 = 45;

#[test]
fn of_a_flood_during_holds_the_newest_commands_are_taken_and_the_rest_is_dropped_and_counted() {
    let model = held_for(&[CMD_VEL], Duration::from_secs(60));
    let is_hold = |now: SimTime| now > SimTime::ZERO && now % PERIOD == SimTime::ZERO;
    let (expected, _) = run_with(&model, move |now, commands| {
        if is_hold(now) {
            commands.publish(&forward(now, 0.2), now).expect("sent");
        }
    });
    let (flooded, published) = run_with(&model, move |now, commands| {
        if is_hold(now) {
            let outdated = forward(SimTime::from_nanos(1), -0.2);
            (0..FLOOD).for_each(|_| commands.publish(&outdated, now).expect("sent"));
            commands.publish(&forward(now, 0.2), now).expect("sent");
        }
    });
    assert_eq!(expected.state_hash, flooded.state_hash);
    assert_eq!((flooded.holds.topics[0].holds, flooded.holds.topics[0].timeouts), (10, 0));
    let dropped: u64 = diagnosed(&published, "messages_dropped /cmd_vel").parse().expect("a number");
    assert!(dropped >= DROPPED && dropped.is_multiple_of(DROPPED), "{dropped} were dropped");
}

/// A value of the last diagnostics.
fn diagnosed(published: &Published, key: &str) -> String {
    let (_, bytes) = published["/diagnostics"].last().expect("diagnostics");
    let last: DiagnosticArray = decode(&Encoded::from_bytes(bytes.clone())).expect("diagnostics");
    let mut values = last.status.into_iter().flat_map(|status| status.values);
    values.find(|value| value.key == key).map_or_else(|| panic!("no {key}"), |value| value.value)
}

#[test]
fn a_client_that_falls_silent_is_given_up_at_every_hold_and_counted() {
    let model = held_for(&[CMD_VEL], Duration::from_millis(50));
    let sent = Mutex::new(0);
    let (outcome, published) = run_with(&model, move |now, commands| {
        let mut sent = sent.lock().expect("no panic");
        if now > SimTime::ZERO && now % PERIOD == SimTime::ZERO && *sent < 4 {
            *sent += 1;
            commands.publish(&forward(now, 0.1), now).expect("sent");
        }
    });
    assert_eq!((outcome.simulated, published[CMD_VEL].len()), (SIMULATED, 4));
    let counts = &outcome.holds.topics[0];
    assert_eq!((counts.holds, counts.timeouts), (10, 6));
    assert!(outcome.holds.held_s >= 0.3, "{:?}", outcome.holds);
}

#[test]
fn a_topic_whose_type_is_not_known_is_refused_with_file_and_topic() {
    let model = held_for(&["/plan"], Duration::from_secs(1));
    let context = context(Arc::new(InProcess::new()), &model);
    let stop = AtomicBool::new(false);
    let refused = selene_simulation::run(&context, RunStart::Start(None), &options(SIMULATED, &[]), &stop);
    let reported = refused.expect_err("it has no type").to_string();
    assert!(["polar.yaml", "/plan", "give its type"].iter().all(|part| reported.contains(part)), "{reported}");
}
