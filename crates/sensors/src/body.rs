//! Sensors of a rover's own body: joint encoders, wheel odometry, joint torques, battery and temperature. They read
//! joints, links and the Sun, and trace no rays.
//!
//! Some of them count or integrate. Their memory is plain numbers (`SensorMemory`) at the end of a heartbeat and part
//! of the world's state: the simulation updates it with each heartbeat, and observers compute from it and from the
//! next heartbeat the readings that fall into that heartbeat, with the same function. So an observer that joins late
//! or resumes from a checkpoint gets the same bytes.

pub mod battery;
pub mod encoder;
pub mod odometry;
pub mod temperature;
pub mod torque;

use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use serde::{Deserialize, Serialize};

use crate::{Sample, Schedule, SensorSpec};
use battery::{Battery, BatteryReading};
use encoder::Encoders;
use odometry::{Odometer, OdometryReading, OdometryWheel};
use temperature::Thermometer;
use torque::TorqueSensor;

/// The memory of a sensor at the end of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SensorMemory {
    /// The sensor's name.
    pub name: String,
    /// A hash of the sensor's spec: the memory of a sensor with another spec is discarded.
    pub spec: u64,
    /// The numbers of the memory; their meaning depends on the kind of sensor.
    pub numbers: Vec<f64>,
}

/// Why a rover lacks what a sensor of its body needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// A name is not that of a movable joint.
    #[error("'{name}' is no joint of the rover that moves; it has {}", .known.join(", "))]
    Joint {
        /// The name in the sensor's file.
        name: String,
        /// Names of the movable joints.
        known: Vec<String>,
    },
    /// The rover's wheels do not determine its motion.
    #[error("the rover's wheels do not determine its motion; two or more are needed, at different sides")]
    Wheels,
}

/// The parts of a rover's design that body sensors need.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPlan {
    /// Names of the movable joints, in the order of the joint states.
    pub joints: Vec<String>,
    /// The wheels; they refer to their joints by index in `joints`.
    pub wheels: Vec<OdometryWheel>,
    /// Indices in `joints` of the motor-driven joints.
    pub motors: Vec<usize>,
}

impl BodyPlan {
    /// Indices in `joints` of the named joints; those that drive wheels if `names` is empty.
    ///
    /// # Errors
    /// When a name is not that of a movable joint: the error lists the movable joints.
    pub fn places(&self, names: &[String]) -> Result<Vec<usize>, BodyError> {
        if names.is_empty() {
            return Ok(self.wheels.iter().map(|wheel| wheel.drive).collect());
        }
        let place = |name: &String| {
            let known = self.joints.iter().position(|joint| joint == name);
            known.ok_or_else(|| BodyError::Joint { name: name.clone(), known: self.joints.clone() })
        };
        names.iter().map(place).collect()
    }
}

/// The poses and joint states of a rover at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Posture<'a> {
    /// Poses of all links in the map frame, the base first.
    pub world_from_links: &'a [Pose],
    /// Joint positions, rad or m.
    pub position: &'a [f64],
    /// Joint rates, rad/s or m/s.
    pub velocity: &'a [f64],
    /// Joint efforts, N m or N.
    pub effort: &'a [f64],
}

/// One heartbeat of a rover's body.
#[derive(Clone, Copy, Debug)]
pub struct BodyHeartbeat<'a> {
    /// The heartbeat includes the samples after this instant, up to and including `until`.
    pub after: SimTime,
    /// When it begins.
    pub from: SimTime,
    /// When it ends.
    pub until: SimTime,
    /// The body at its beginning. Memories must not depend on its efforts, because the world's state does not contain
    /// them.
    pub before: Posture<'a>,
    /// The body at its end.
    pub now: Posture<'a>,
    /// Unit vector toward the Sun at its end, map frame.
    pub sun: Vector3<f64>,
}

impl<'a> BodyHeartbeat<'a> {
    /// The elapsed fraction of the heartbeat at `instant`, 0 to 1.
    fn fraction(&self, instant: SimTime) -> f64 {
        let span_s = (self.until - self.from).secs_f64();
        if span_s > 0.0 { ((instant - self.from).secs_f64() / span_s).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Values of the body at `instant`, interpolated linearly between beginning and end.
    fn at(&self, instant: SimTime, of: impl Fn(&Posture<'a>) -> &'a [f64]) -> Vec<f64> {
        let share = self.fraction(instant);
        let between = |(before, now): (&f64, &f64)| before + (now - before) * share;
        of(&self.before).iter().zip(of(&self.now)).map(between).collect()
    }

    fn positions(&self, instant: SimTime) -> Vec<f64> {
        self.at(instant, |posture| posture.position)
    }
}

/// Positions and rates of rotary joints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointAngles {
    /// Angles, rad.
    pub position: Vec<f64>,
    /// Rates, rad/s.
    pub velocity: Vec<f64>,
}

/// A reading of a body sensor.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyReading {
    /// Angles and rates of encoders, in the order of the sensor's joints.
    Encoders(JointAngles),
    /// Pose and velocity by dead reckoning.
    Odometry(OdometryReading),
    /// Torques of joints, N m, in the order of the sensor's joints.
    Torques(Vec<f64>),
    /// Telemetry of a battery.
    Battery(BatteryReading),
    /// A temperature, °C.
    Temperature(f64),
}

/// A reading with its truth.
#[derive(Clone, Debug, PartialEq)]
pub struct BodySample {
    /// Index and instant of the sample.
    pub sample: Sample,
    /// The reading, with the sensor's errors.
    pub reported: BodyReading,
    /// The reading of a perfect sensor; `None` for odometry, because the rover's true odometry is always published.
    pub truth: Option<BodyReading>,
}

/// A sensor of a rover's body.
#[derive(Clone, Debug)]
pub struct BodySensor {
    name: String,
    spec: u64,
    schedule: Schedule,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Encoders(Encoders),
    Odometry(Odometer),
    Torques(TorqueSensor),
    Battery(Battery),
    Temperature(Thermometer),
}

impl BodySensor {
    /// A body sensor on the link of this index; `seed` is that of the rover's sensors. `None` for other kinds of
    /// sensors.
    ///
    /// # Errors
    /// When the rover lacks what the sensor needs: the error says what, and what there is.
    pub fn new(spec: &SensorSpec, link: usize, plan: &BodyPlan, seed: u64) -> Result<Option<Self>, BodyError> {
        let kind = match spec {
            SensorSpec::Encoders(spec) => Kind::Encoders(Encoders::new(spec.clone(), plan, seed)?),
            SensorSpec::Odometry(spec) => Kind::Odometry(Odometer::new(spec.clone(), plan, seed)?),
            SensorSpec::Torques(spec) => Kind::Torques(TorqueSensor::new(spec.clone(), plan, seed)?),
            SensorSpec::Battery(spec) => Kind::Battery(Battery::new(spec.clone(), plan, seed)),
            SensorSpec::Temperature(spec) => Kind::Temperature(Thermometer::new(spec.clone(), link, seed)),
            _ => return Ok(None),
        };
        let name = spec.header().name.to_owned();
        let schedule = spec.row(seed).schedule(spec.schedule());
        Ok(Some(Self { name, spec: hash(&format!("{spec:?}")), schedule, kind }))
    }

    /// The sensor's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its sampling schedule.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Names of the joints that it reads, in the order of its readings; empty if it reads no joints.
    #[must_use]
    pub fn joints(&self) -> &[String] {
        match &self.kind {
            Kind::Encoders(encoders) => encoders.names(),
            Kind::Torques(torques) => torques.names(),
            Kind::Odometry(_) | Kind::Battery(_) | Kind::Temperature(_) => &[],
        }
    }

    /// Processes a heartbeat: passes the readings that fall into it to `reported`, in order, and returns the memory at
    /// its end. `memories` are those at its beginning; without one of this sensor's name and spec the sensor starts
    /// anew.
    pub fn take(
        &self,
        memories: &[SensorMemory],
        beat: &BodyHeartbeat,
        reported: impl FnMut(BodySample),
    ) -> Option<SensorMemory> {
        let is_own = |memory: &&SensorMemory| memory.name == self.name && memory.spec == self.spec;
        let known = memories.iter().find(is_own).map(|memory| &memory.numbers[..]);
        let samples = self.schedule.measured_in(beat.after, beat.until);
        let numbers = match &self.kind {
            Kind::Encoders(encoders) => encoders.take(known, beat, samples, reported),
            Kind::Odometry(odometer) => odometer.take(known, beat, samples, reported),
            Kind::Battery(battery) => battery.take(known, beat, samples, reported),
            Kind::Temperature(thermometer) => thermometer.take(known, beat, samples, reported),
            Kind::Torques(torques) => {
                torques.take(beat, samples, reported);
                return None;
            }
        };
        Some(SensorMemory { name: self.name.clone(), spec: self.spec, numbers })
    }
}

/// The 64-bit FNV-1a hash.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
