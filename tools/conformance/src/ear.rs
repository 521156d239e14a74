//! The collector: subscribes by name and type and keeps what the checks need. Everything is judged later.

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

use crate::clock::{self, Tick};
use crate::finding::Finding;
use crate::image::{check_calibrated, info_topic};
use crate::instrument::{check_truth, measured_topic};
use crate::kind::{Kind, TRUTH_RATE_HZ, offer};
use crate::rover;
use crate::sample::Sample;
use crate::stream::{self, Stream};
use crate::topics::{self, Wanted};
use crate::tree::{Source, Tree};

/// Transforms come faster than a busy thread may take them.
const TF: Qos = Qos { depth: 100, ..Qos::reliable() };
/// Several processes may each have their static transforms.
const LATCHED: Qos = Qos { depth: 10, ..Qos::latched() };
const ODOMETRY: &str = "/ground_truth/odom";

/// What was heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) ticks: Vec<Tick>,
    pub(crate) tree: Tree,
    /// Topics that `/diagnostics` tells.
    pub(crate) told: BTreeSet<String>,
    diagnostics: usize,
    log_lines: usize,
    /// By rover.
    descriptions: BTreeMap<String, String>,
    streams: BTreeMap<String, Stream>,
}

/// Subscriptions that fill what was heard.
pub(crate) struct Ear<'a> {
    transport: &'a dyn Transport,
    heard: Arc<Mutex<Heard>>,
    begun: Instant,
}

impl<'a> Ear<'a> {
    pub(crate) fn new(transport: &'a dyn Transport) -> Self {
        Self { transport, heard: Arc::default(), begun: Instant::now() }
    }

    pub(crate) fn heard(&self) -> MutexGuard<'_, Heard> {
        lock(&self.heard)
    }

    /// Listens to what belongs to the world.
    pub(crate) fn follow_world(&self) -> Result<Vec<Subscription>, TransportError> {
        let clock = |heard: &mut Heard, at_s: f64, message: rosgraph_msgs::Clock| {
            heard.ticks.push(Tick { at_s, time: SimTime::from(message.clock) });
        };
        let tf = |source: Source| {
            move |heard: &mut Heard, at_s: f64, message: tf2_msgs::TFMessage| heard.tree.take(source, at_s, &message)
        };
        let diagnostics = |heard: &mut Heard, _: f64, message: diagnostic_msgs::DiagnosticArray| {
            heard.diagnostics += 1;
            heard.told.extend(topics::told(&message).map(str::to_owned));
        };
        let log = |heard: &mut Heard, _: f64, _: rcl_interfaces::Log| heard.log_lines += 1;
        Ok(vec![
            self.on("/clock", Qos { depth: 100, ..Qos::clock() }, clock)?,
            self.on("/tf", TF, tf(Source::Moving))?,
            self.on("/tf_static", LATCHED, tf(Source::Static))?,
            self.on("/diagnostics", Qos::reliable(), diagnostics)?,
            self.on("/rosout", Qos::rosout(), log)?,
        ])
    }

    /// Listens to a rover's description.
    pub(crate) fn follow_description(&self, rover: &str) -> Result<Subscription, TransportError> {
        let of = rover.to_owned();
        let on = move |heard: &mut Heard, _: f64, message: std_msgs::String| {
            heard.descriptions.insert(of.clone(), message.data);
        };
        self.on(&format!("{rover}/robot_description"), Qos::latched(), on)
    }

    /// Listens to a topic with headers.
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
        let (heard, begun, name) = (Arc::clone(&self.heard), self.begun, topic.to_owned());
        let on = move |message: M| {
            let at_s = begun.elapsed().as_secs_f64();
            // Nobody waits for the lock while an image is looked at.
            let faults = message.faults(kind);
            lock(&heard).streams.entry(name.clone()).or_default().take(at_s, &message, faults);
        };
        subscribe(self.transport, topic, kind.qos(), on)
    }

    fn on<M: Message>(
        &self,
        topic: &str,
        qos: Qos,
        take: impl Fn(&mut Heard, f64, M) + Send + Sync + 'static,
    ) -> Result<Subscription, TransportError> {
        let (heard, begun) = (Arc::clone(&self.heard), self.begun);
        let on = move |message: M| take(&mut lock(&heard), begun.elapsed().as_secs_f64(), message);
        subscribe(self.transport, topic, qos, on)
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heard {
    /// Judges all of it: of the world, of each topic and of each rover.
    pub(crate) fn check(&self, wanted: &BTreeMap<String, Wanted>, rovers: &BTreeSet<String>) -> Vec<Finding> {
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

    fn check_topic(&self, topic: &str, wanted: Wanted) -> Vec<Finding> {
        let silent = Stream::default();
        let heard = self.streams.get(topic).or(wanted.is_due.then_some(&silent));
        let Some(stream) = heard else { return Vec::new() };
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
