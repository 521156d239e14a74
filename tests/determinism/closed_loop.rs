//! Simulated time held for a client that knows topics only: it answers from a thread of its own, as slowly and in
//! whatever order it likes, and every run gives the same state, the same messages and the same bag.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use selene_base::SimTime;
use selene_ros::bag::RecordOptions;
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
use selene_simulation::{Begin, Outcome};
use selene_tests::witness::{Published, Witness};
use selene_tests::{context, model, options, scenario};

const SIMULATED: SimTime = SimTime::from_nanos(1_000_000_000);
const PERIOD: SimTime = SimTime::from_nanos(100_000_000);
const CMD_VEL: &str = "/cmd_vel";
const ACKERMANN: &str = "/ackermann_cmd";
/// What the wall clock or another thread than the simulation's decides.
const UNSETTLED: [&str; 4] = ["/diagnostics", "/ground_truth/rocks", "/ground_truth/map", "/ground_truth/occupancy"];

/// The default scenario, with simulated time held for these topics.
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

/// A bag of what is settled by simulated time alone.
struct Settled(BagRecorder);

impl Transport for Settled {
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

/// How the client behaves that should not matter.
#[derive(Clone, Copy)]
struct Manner {
    /// Which topic it answers on first.
    order: [&'static str; 2],
    /// How long it takes for an answer, by its number.
    hesitates: fn(u64) -> Duration,
}

const QUICK: Manner = Manner { order: [CMD_VEL, ACKERMANN], hesitates: |_| Duration::ZERO };
const SLOW: Manner = Manner { order: [ACKERMANN, CMD_VEL], hesitates: |n| Duration::from_millis(7 * (n % 3)) };

enum Heard {
    Clock(SimTime),
    Odometry(Box<nav_msgs::Odometry>),
}

/// A client that drives by where it is: a bend on one topic, backward on the other, of which the first by name is
/// overruled.
struct Client {
    ears: Vec<Subscription>,
    thread: JoinHandle<u64>,
}

impl Client {
    fn start(transport: &Arc<dyn Transport>, manner: Manner) -> Self {
        let (sender, heard) = channel();
        let (on_clock, on_odometry) = (sender.clone(), sender);
        let clock = move |told: rosgraph_msgs::Clock| drop(on_clock.send(Heard::Clock(told.clock.into())));
        let odometry = move |told| drop(on_odometry.send(Heard::Odometry(Box::new(told))));
        let ears = vec![
            subscribe(transport.as_ref(), "/clock", Qos::clock(), clock).expect("clock"),
            subscribe(transport.as_ref(), "/ground_truth/odom", Qos::reliable(), odometry).expect("odometry"),
        ];
        let transport = Arc::clone(transport);
        Self { ears, thread: std::thread::spawn(move || answer(&*transport, &heard, manner)) }
    }

    /// How many holds it answered.
    fn end(self) -> u64 {
        drop(self.ears);
        self.thread.join().expect("the client ends well")
    }
}

fn answer(transport: &dyn Transport, heard: &Receiver<Heard>, manner: Manner) -> u64 {
    let twists = Publisher::new(transport, CMD_VEL, Qos::reliable()).expect("cmd_vel");
    let cars = Publisher::new(transport, ACKERMANN, Qos::reliable()).expect("ackermann_cmd");
    let (mut latest, mut answered, mut answers) = (nav_msgs::Odometry::default(), SimTime::ZERO, 0);
    while let Ok(heard) = heard.recv() {
        let now = match heard {
            Heard::Odometry(odometry) => {
                latest = *odometry;
                continue;
            }
            Heard::Clock(now) => now,
        };
        if now % PERIOD != SimTime::ZERO || now <= answered {
            continue;
        }
        // The data of the held instant come before its clock.
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

/// A run with a client, recorded.
fn run(model: &Arc<Model>, manner: Manner, folder: &Path) -> (Outcome, Published, Vec<u8>) {
    let recorder = BagRecorder::create(&folder.join("bag"), RecordOptions::default()).expect("bag");
    let witness = Witness::default();
    let parts: Vec<Arc<dyn Transport>> = vec![Arc::new(witness.clone()), Arc::new(Settled(recorder.clone()))];
    let client = Client::start(&(Arc::new(witness.clone()) as Arc<dyn Transport>), manner);
    let context = context(Arc::new(Fanout::new(parts)), model);
    let stop = AtomicBool::new(false);
    let outcome = selene_simulation::run(&context, Begin::Start(None), &options(SIMULATED, &[]), &stop);
    assert_eq!(client.end(), 10);
    assert_eq!(recorder.finish().fault, None);
    let mut published = witness.take();
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
    // The rover obeys the topic that is last by name: it goes ahead.
    let (_, bytes) = published["/ground_truth/odom"].last().expect("odometry");
    let last: nav_msgs::Odometry = decode(&Encoded::from_bytes(bytes.clone())).expect("odometry");
    assert!(last.pose.pose.position.x > 0.02, "{last:?}");
    let clocks = &published["/clock"];
    assert!(clocks.windows(2).all(|pair| pair[0].0 < pair[1].0), "the clock goes on at holds too");
    folders.iter().for_each(|folder| std::fs::remove_dir_all(folder).expect("clean"));
}

/// A run in which something is sent whenever the clock is told, in the simulation's own thread.
fn run_with(
    model: &Arc<Model>,
    sends: impl Fn(SimTime, &Publisher<geometry_msgs::TwistStamped>) + Send + Sync + 'static,
) -> (Outcome, Published) {
    let (witness, stop) = (Witness::default(), AtomicBool::new(false));
    let commands = Publisher::new(&witness, CMD_VEL, Qos::reliable()).expect("cmd_vel");
    let on_clock = move |told: rosgraph_msgs::Clock| sends(told.clock.into(), &commands);
    let clock = subscribe(&witness, "/clock", Qos::clock(), on_clock).expect("clock");
    let context = context(Arc::new(witness.clone()), model);
    let outcome = selene_simulation::run(&context, Begin::Start(None), &options(SIMULATED, &[]), &stop);
    drop(clock);
    (outcome.expect("simulation"), witness.take())
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
    // Backward in between, which the answer of the next hold overrules.
    let (disturbed, _) = run_with(&model, move |now, commands| {
        let speed_m_s = if at_holds(now) { 0.2 } else { -0.2 };
        if at_holds(now) || now % PERIOD == SimTime::from_nanos(35_000_000) {
            commands.publish(&forward(now, speed_m_s), now).expect("sent");
        }
    });
    assert_eq!(expected.state_hash, disturbed.state_hash);
    assert_eq!((disturbed.holds.topics[0].holds, disturbed.holds.topics[0].timeouts), (10, 0));
}

#[test]
fn a_client_that_falls_silent_is_given_up_at_every_hold_and_counted() {
    let model = held_for(&[CMD_VEL], Duration::from_millis(50));
    let spoken = Mutex::new(0);
    let (outcome, published) = run_with(&model, move |now, commands| {
        let mut spoken = spoken.lock().expect("no panic");
        if now > SimTime::ZERO && now % PERIOD == SimTime::ZERO && *spoken < 4 {
            *spoken += 1;
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
    let refused = selene_simulation::run(&context, Begin::Start(None), &options(SIMULATED, &[]), &stop);
    let told = refused.expect_err("it has no type").to_string();
    assert!(["polar.yaml", "/plan", "give its type"].iter().all(|part| told.contains(part)), "{told}");
}
