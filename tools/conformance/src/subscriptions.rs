//! The collector: subscribes to topics by name and type, and stores what the checks need. All checks run afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use selene_base::SimTime;
use selene_ros::geometry_msgs::{QuaternionStamped, TwistStamped, Vector3Stamped, WrenchStamped};
use selene_ros::qos::Reliability;
use selene_ros::radar_msgs::RadarScan;
use selene_ros::selene_msgs::{WheelContact, WheelStates};
use selene_ros::sensor_msgs::{
    BatteryState, CameraInfo, CompressedImage, Image, Imu, JointState, LaserScan, MagneticField, NavSatFix,
    PointCloud2, Range, Temperature,
};
use selene_ros::transport::{Subscription, Transport, TransportError, subscribe};
use selene_ros::{Message, Qos, diagnostic_msgs, nav_msgs, rcl_interfaces, rosgraph_msgs, std_msgs, tf2_msgs};

use crate::clock::{self, ClockSample};
use crate::finding::Finding;
use crate::image::{check_calibrated, info_topic};
use crate::instrument::{check_truth, measured_topic};
use crate::kind::{Kind, TRUTH_RATE_HZ, offer};
use crate::rover;
use crate::sample::Sample;
use crate::stream::{self, Stream};
use crate::topics::{self, ExpectedTopic};
use crate::tree::{Source, Tree};

/// Deep enough for bursts of transforms while the thread is busy.
const TF: Qos = Qos { depth: 100, ..Qos::reliable() };
/// Deep enough for the static transforms of several processes.
const LATCHED: Qos = Qos { depth: 10, ..Qos::latched() };
const ODOMETRY: &str = "/ground_truth/odom";

/// Data received so far.
#[derive(Debug, Default)]
pub(crate) struct ReceivedData {
    pub(crate) ticks: Vec<ClockSample>,
    pub(crate) tree: Tree,
    /// Topics that `/diagnostics` names.
    pub(crate) reported: BTreeSet<String>,
    diagnostics: usize,
    log_lines: usize,
    /// URDF by rover.
    descriptions: BTreeMap<String, String>,
    streams: BTreeMap<String, Stream>,
}

/// Subscriptions that store what they receive.
pub(crate) struct Subscriptions<'a> {
    transport: &'a dyn Transport,
    received: Arc<Mutex<ReceivedData>>,
    begun: Instant,
}

impl<'a> Subscriptions<'a> {
    pub(crate) fn new(transport: &'a dyn Transport) -> Self {
        Self { transport, received: Arc::default(), begun: Instant::now() }
    }

    pub(crate) fn received(&self) -> MutexGuard<'_, ReceivedData> {
        lock(&self.received)
    }

    /// Subscribes to the topics that belong to the world.
    pub(crate) fn follow_world(&self) -> Result<Vec<Subscription>, TransportError> {
        let clock = |received: &mut ReceivedData, at_s: f64, message: rosgraph_msgs::Clock| {
            received.ticks.push(ClockSample { at_s, time: SimTime::from(message.clock) });
        };
        let tf = |source: Source| {
            move |received: &mut ReceivedData, at_s: f64, message: tf2_msgs::TFMessage| {
                received.tree.take(source, at_s, &message)
            }
        };
        let diagnostics = |received: &mut ReceivedData, _: f64, message: diagnostic_msgs::DiagnosticArray| {
            received.diagnostics += 1;
            received.reported.extend(topics::reported(&message).map(str::to_owned));
        };
        let log = |received: &mut ReceivedData, _: f64, _: rcl_interfaces::Log| received.log_lines += 1;
        Ok(vec![
            self.on("/clock", Qos { depth: 100, ..Qos::clock() }, clock)?,
            self.on("/tf", TF, tf(Source::Moving))?,
            self.on("/tf_static", LATCHED, tf(Source::Static))?,
            self.on("/diagnostics", Qos::reliable(), diagnostics)?,
            self.on("/rosout", Qos::rosout(), log)?,
        ])
    }

    /// Subscribes to a rover's description.
    pub(crate) fn follow_description(&self, rover: &str) -> Result<Subscription, TransportError> {
        let of = rover.to_owned();
        let on = move |received: &mut ReceivedData, _: f64, message: std_msgs::String| {
            received.descriptions.insert(of.clone(), message.data);
        };
        self.on(&format!("{rover}/robot_description"), Qos::latched(), on)
    }

    /// Subscribes to a topic whose messages have headers.
    pub(crate) fn follow(&self, topic: &str, kind: Kind) -> Result<Subscription, TransportError> {
        match kind {
            Kind::JointStates | Kind::Joints => self.follow_samples::<JointState>(topic, kind),
            Kind::Odometry | Kind::WheelOdometry => self.follow_samples::<nav_msgs::Odometry>(topic, kind),
            Kind::Wheels => self.follow_samples::<WheelStates>(topic, kind),
            Kind::Image | Kind::Depth | Kind::LidarImage => self.follow_samples::<Image>(topic, kind),
            Kind::Compressed => self.follow_samples::<CompressedImage>(topic, kind),
            Kind::CameraInfo => self.follow_samples::<CameraInfo>(topic, kind),
            Kind::Points => self.follow_samples::<PointCloud2>(topic, kind),
            Kind::Scan => self.follow_samples::<LaserScan>(topic, kind),
            Kind::Imu => self.follow_samples::<Imu>(topic, kind),
            Kind::MagneticField => self.follow_samples::<MagneticField>(topic, kind),
            Kind::Tilt | Kind::Direction => self.follow_samples::<Vector3Stamped>(topic, kind),
            Kind::Fix => self.follow_samples::<NavSatFix>(topic, kind),
            Kind::RadarScan => self.follow_samples::<RadarScan>(topic, kind),
            Kind::Range => self.follow_samples::<Range>(topic, kind),
            Kind::Velocity => self.follow_samples::<TwistStamped>(topic, kind),
            Kind::Battery => self.follow_samples::<BatteryState>(topic, kind),
            Kind::Temperature => self.follow_samples::<Temperature>(topic, kind),
            Kind::Attitude | Kind::AttitudeInMap => self.follow_samples::<QuaternionStamped>(topic, kind),
            Kind::Contact => self.follow_samples::<WheelContact>(topic, kind),
            Kind::Wrench => self.follow_samples::<WrenchStamped>(topic, kind),
        }
    }

    fn follow_samples<M: Sample>(&self, topic: &str, kind: Kind) -> Result<Subscription, TransportError> {
        let (received, begun, name) = (Arc::clone(&self.received), self.begun, topic.to_owned());
        let on = move |message: M| {
            let at_s = begun.elapsed().as_secs_f64();
            // Checked before locking, so that other subscriptions do not wait during the check of an image.
            let faults = message.faults(kind);
            lock(&received).streams.entry(name.clone()).or_default().take(at_s, &message, faults);
        };
        subscribe(self.transport, topic, kind.qos(), on)
    }

    fn on<M: Message>(
        &self,
        topic: &str,
        qos: Qos,
        take: impl Fn(&mut ReceivedData, f64, M) + Send + Sync + 'static,
    ) -> Result<Subscription, TransportError> {
        let (received, begun) = (Arc::clone(&self.received), self.begun);
        let on = move |message: M| take(&mut lock(&received), begun.elapsed().as_secs_f64(), message);
        subscribe(self.transport, topic, qos, on)
    }
}

fn lock(received: &Mutex<ReceivedData>) -> MutexGuard<'_, ReceivedData> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReceivedData {
    /// Checks the data of the world, of each topic and of each rover.
    pub(crate) fn check(&self, wanted: &BTreeMap<String, ExpectedTopic>, rovers: &BTreeSet<String>) -> Vec<Finding> {
        let mut findings = clock::check(&self.ticks);
        findings.extend(self.check_world());
        for (topic, wanted) in wanted {
            findings.extend(self.check_topic(topic, *wanted));
        }
        let is_in_tf = |topic: &String| wanted.get(topic).is_none_or(|wanted| wanted.kind.is_in_tf());
        let streams = self.streams.iter().filter(|(topic, _)| is_in_tf(topic)).map(|(_, stream)| stream);
        let named: BTreeSet<String> = streams.flat_map(|stream| &stream.frames).cloned().collect();
        findings.extend(self.tree.check(&named));
        findings.extend(rovers.iter().flat_map(|rover| self.check_rover(rover)));
        findings
    }

    fn check_world(&self) -> [Finding; 2] {
        let of = |topic: &str, count: usize, type_name: &str, qos: Qos| {
            Finding::new(topic, count > 0, format!("{count} messages"), offer(type_name, qos))
        };
        [
            of("/diagnostics", self.diagnostics, diagnostic_msgs::DiagnosticArray::TYPE_NAME, Qos::reliable()),
            of("/rosout", self.log_lines, rcl_interfaces::Log::TYPE_NAME, Qos::rosout()),
        ]
    }

    fn check_topic(&self, topic: &str, wanted: ExpectedTopic) -> Vec<Finding> {
        let silent = Stream::default();
        let received = self.streams.get(topic).or(wanted.is_due.then_some(&silent));
        let Some(stream) = received else { return Vec::new() };
        let mut findings = stream.check(topic, wanted.kind, &self.ticks);
        if matches!(wanted.kind, Kind::Image | Kind::Depth) {
            let info = self.streams.get(&info_topic(topic)).unwrap_or(&silent);
            findings.push(check_calibrated(topic, stream, info));
        }
        if let Some(sensor) = measured_topic(topic) {
            let measured = self.streams.get(&sensor).unwrap_or(&silent);
            findings.push(check_truth(topic, stream, measured, wanted.kind));
        }
        findings
    }

    fn check_rover(&self, rover: &str) -> Vec<Finding> {
        let silent = Stream::default();
        let of = |topic: &str| self.streams.get(&format!("{rover}{topic}")).unwrap_or(&silent);
        let (odometry, joints) = (of(ODOMETRY), of("/joint_states"));
        let base = odometry.names.first().map_or("", String::as_str);
        let urdf = self.descriptions.get(rover).map(String::as_str);
        let mut findings = rover::check_description(rover, urdf, joints, base, &self.tree);
        findings.push(rover::check_odometry(rover, odometry, &self.tree));
        let (moves, step) = (self.tree.moving(base), clock::step(&self.ticks));
        let what = format!("/tf of {base:?}");
        findings.push(stream::stamps(&what, moves, &self.ticks));
        findings.push(stream::rate(&what, moves, Some(TRUTH_RATE_HZ), Reliability::Reliable, step));
        findings
    }
}
