//! The topics of a sensor, by its kind, and the conversion of its readings to their messages. If a sensor's file asks
//! for the ground truth, the same topics exist under `ground_truth/`, with the readings of a perfect sensor, which pass
//! no stages. Stages of other processes receive the messages of a sensor's first topic.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_coherence::{RemoteStages, SampleOutcome, qos_of};
use selene_observe::{Measured, Reading};
use selene_ros::Message;
use selene_ros::std_msgs::Header;
use selene_ros::transport::{Publisher, Transport, TransportError};
use selene_sensors::{SensorSpec, StageRow};
use selene_sim::RoverSetup;

use crate::messages;

/// Opens the topics of a sensor; empty for sensors that other nodes publish. A new kind of sensor is one arm: its
/// topics below its name, each with the function of `messages.rs` that converts its reading.
fn topics(of: &TopicContext<'_>, spec: &SensorSpec) -> Result<Vec<OpenTopic>, TransportError> {
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
    /// Topics of measured data, at least one.
    measured: Vec<OpenTopic>,
    truth: Vec<OpenTopic>,
    row: StageRow,
}

/// An open topic of any type.
struct OpenTopic {
    name: String,
    publish: Publish,
}

/// Publishes a reading, if it contains data for this topic.
type Publish = Box<dyn FnMut(Header, &Measured, SimTime, &AtomicBool) -> Result<SampleOutcome, TransportError>>;

/// What is needed to open the topics of a sensor.
struct TopicContext<'a> {
    transport: &'a dyn Transport,
    setup: &'a RoverSetup,
    spec: &'a SensorSpec,
    /// Prefix of the sensor's name: empty, or `ground_truth/`.
    prefix: &'static str,
    /// The sensor's stages, if some are in other processes, until its first topic has taken them.
    row: Cell<Option<StageRow>>,
}

impl TopicContext<'_> {
    fn topic<M: Message>(
        &self,
        end: &str,
        message: fn(Header, &Measured) -> Option<M>,
    ) -> Result<OpenTopic, TransportError> {
        let header = self.spec.header();
        let name = self.setup.topic(&format!("{}{}/{end}", self.prefix, header.name));
        let publisher = Publisher::<M>::new(self.transport, &name, qos_of(header.qos))?;
        let own = self.row.take().map(|row| RemoteStages::open(self.transport, &self.setup.topic(header.name), row));
        let mut own = own.transpose()?;
        let publish = move |header: Header, measured: &Measured, stamp: SimTime, stop: &AtomicBool| {
            let Some(message) = message(header, measured) else { return Ok(SampleOutcome::Nothing) };
            let passed = match &mut own {
                Some(own) => own.pass(message, stamp, stop)?,
                None => Some(message),
            };
            let Some(message) = passed else { return Ok(SampleOutcome::Unanswered) };
            publisher.publish(&message, stamp)?;
            Ok(SampleOutcome::Published)
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
        let under = |prefix, row| topics(&TopicContext { transport, setup, spec, prefix, row: Cell::new(row) }, spec);
        let truth = if spec.has_truth() { under("ground_truth/", None)? } else { Vec::new() };
        let measured = under("", row.own().next().is_some().then(|| row.clone()))?;
        Ok((!measured.is_empty()).then_some(Self { measured, truth, row }))
    }

    /// The stages that the readings pass.
    pub(crate) fn row(&self) -> &StageRow {
        &self.row
    }

    /// The name of the sensor's first topic.
    pub(crate) fn name(&self) -> &str {
        self.measured.first().map_or("", |topic| &topic.name)
    }

    /// Publishes a reading and its ground truth; returns the outcome on the first topic. A reading that is lost there
    /// is published on no topic.
    pub(crate) fn publish(&mut self, reading: &Reading, stop: &AtomicBool) -> Result<SampleOutcome, TransportError> {
        let header = || Header::new(reading.stamp, &reading.frame);
        let mut first = SampleOutcome::Nothing;
        for (at, topic) in self.measured.iter_mut().enumerate() {
            let outcome = (topic.publish)(header(), &reading.measured, reading.stamp, stop)?;
            if outcome == SampleOutcome::Unanswered {
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
