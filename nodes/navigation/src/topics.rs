//! The topics of a sensor: which there are, by kind, and how a reading becomes the message on each. Where the
//! sensor's file asks for the truth, the same topics are open once more under `ground_truth/`, with the readings
//! of a perfect sensor, which pass no stages. Stages of other processes get the messages of a sensor's first topic.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_coherence::{Outcome, OwnStages, qos_of};
use selene_observe::{Measured, Reading};
use selene_ros::Message;
use selene_ros::std_msgs::Header;
use selene_ros::transport::{Publisher, Transport, TransportError};
use selene_sensors::{SensorSpec, StageRow};
use selene_sim::RoverSetup;

use crate::messages;

/// A new kind is one arm: its topics below its name, and for each the function of `messages.rs` that makes a
/// message of its reading. None for sensors that other nodes publish.
fn topics(of: &Opening<'_>, spec: &SensorSpec) -> Result<Vec<OpenTopic>, TransportError> {
    match spec {
        SensorSpec::Imu(_) => Ok(vec![of.topic("data", messages::imu)?]),
        SensorSpec::Magnetometer(_) => Ok(vec![of.topic("mag", messages::magnetic_field)?]),
        SensorSpec::Inclinometer(_) => Ok(vec![of.topic("tilt", messages::tilt)?]),
        SensorSpec::Position(position) => {
            let fix = of.topic("fix", messages::fix)?;
            let velocity = position.velocity.map(|_| of.topic("vel", messages::velocity)).transpose()?;
            Ok(std::iter::once(fix).chain(velocity).collect())
        }
        SensorSpec::Encoders(_) => Ok(vec![of.topic("joint_states", messages::joints)?]),
        SensorSpec::Odometry(_) => Ok(vec![of.topic("odom", messages::odometry)?]),
        SensorSpec::Torques(_) => Ok(vec![of.topic("joint_torques", messages::joints)?]),
        SensorSpec::Battery(_) => Ok(vec![of.topic("state", messages::battery)?]),
        SensorSpec::Temperature(_) => Ok(vec![of.topic("temperature", messages::temperature)?]),
        SensorSpec::SunSensor(_) => Ok(vec![of.topic("direction", messages::sun_direction)?]),
        SensorSpec::StarTracker(_) => Ok(vec![
            of.topic("attitude", messages::attitude_in_icrf)?,
            of.topic("attitude_in_map", messages::attitude_in_map)?,
        ]),
        SensorSpec::Contact(_) => Ok(vec![of.topic("contact", messages::contact)?]),
        SensorSpec::ForceTorque(_) => Ok(vec![of.topic("wrench", messages::wrench)?]),
        SensorSpec::Camera(_) | SensorSpec::Lidar(_) => Ok(Vec::new()),
        SensorSpec::Radar(_) | SensorSpec::TofCamera(_) | SensorSpec::RangeFinder(_) => Ok(Vec::new()),
    }
}

/// The open topics of one sensor.
pub(crate) struct SensorTopics {
    /// One at least.
    measured: Vec<OpenTopic>,
    truth: Vec<OpenTopic>,
    row: StageRow,
}

/// An open topic of any type.
struct OpenTopic {
    name: String,
    publish: Publish,
}

/// Publishes a reading, if there is something for this topic in it.
type Publish = Box<dyn FnMut(Header, &Measured, SimTime, &AtomicBool) -> Result<Outcome, TransportError>>;

/// What is needed to open the topics of a sensor.
struct Opening<'a> {
    transport: &'a dyn Transport,
    setup: &'a RoverSetup,
    spec: &'a SensorSpec,
    /// What names begin with.
    prefix: &'static str,
    /// The row with stages of other processes, until the sensor's first topic has taken it.
    row: Cell<Option<StageRow>>,
}

impl Opening<'_> {
    fn topic<M: Message>(
        &self,
        end: &str,
        message: fn(Header, &Measured) -> Option<M>,
    ) -> Result<OpenTopic, TransportError> {
        let header = self.spec.header();
        let name = self.setup.topic(&format!("{}{}/{end}", self.prefix, header.name));
        let publisher = Publisher::<M>::new(self.transport, &name, qos_of(header.qos))?;
        let own = self.row.take().map(|row| OwnStages::open(self.transport, &self.setup.topic(header.name), row));
        let mut own = own.transpose()?;
        let publish = move |header: Header, measured: &Measured, stamp: SimTime, stop: &AtomicBool| {
            let Some(message) = message(header, measured) else { return Ok(Outcome::Nothing) };
            let passed = match &mut own {
                Some(own) => own.pass(message, stamp, stop)?,
                None => Some(message),
            };
            let Some(message) = passed else { return Ok(Outcome::Unanswered) };
            publisher.publish(&message, stamp)?;
            Ok(Outcome::Published)
        };
        Ok(OpenTopic { name, publish: Box::new(publish) })
    }
}

impl SensorTopics {
    /// Opens the topics of a sensor; none for sensors that other nodes publish.
    pub(crate) fn open(
        transport: &dyn Transport,
        setup: &RoverSetup,
        spec: &SensorSpec,
    ) -> Result<Option<Self>, TransportError> {
        let row = spec.row(setup.sensor_seed);
        let under = |prefix, row| topics(&Opening { transport, setup, spec, prefix, row: Cell::new(row) }, spec);
        let truth = if spec.tells_truth() { under("ground_truth/", None)? } else { Vec::new() };
        let measured = under("", row.own().next().is_some().then(|| row.clone()))?;
        Ok((!measured.is_empty()).then_some(Self { measured, truth, row }))
    }

    /// The stages that its readings pass.
    pub(crate) fn row(&self) -> &StageRow {
        &self.row
    }

    /// The name of the first of them.
    pub(crate) fn name(&self) -> &str {
        self.measured.first().map_or("", |topic| &topic.name)
    }

    /// Publishes a reading, and the truth beside it; what became of it on its first topic. A reading that is lost
    /// there is told on none.
    pub(crate) fn publish(&mut self, reading: &Reading, stop: &AtomicBool) -> Result<Outcome, TransportError> {
        let header = || Header::new(reading.stamp, &reading.frame);
        let mut first = Outcome::Nothing;
        for (at, topic) in self.measured.iter_mut().enumerate() {
            let outcome = (topic.publish)(header(), &reading.measured, reading.stamp, stop)?;
            if outcome == Outcome::Unanswered {
                return Ok(outcome);
            }
            if at == 0 {
                first = outcome;
            }
        }
        if let Some(truth) = &reading.truth {
            for topic in &mut self.truth {
                (topic.publish)(header(), truth, reading.stamp, stop)?;
            }
        }
        Ok(first)
    }
}
