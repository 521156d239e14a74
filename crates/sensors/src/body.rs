//! Sensors of a rover's own body: wheel encoders, odometry from them, torques of joints, battery and temperature. They
//! read joints, links and the Sun, and no ray.
//!
//! Some of them count or integrate. What they remember is plain numbers (`SensorMemory`) at the end of a heartbeat, a
//! part of the world's state: the simulation carries it on with each heartbeat, and observers make from it and from
//! the next heartbeat the readings that fall into that one, by the same function. So who joins late, or goes on from
//! a checkpoint, reads the same bytes.

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

/// What a sensor remembers at the end of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SensorMemory {
    /// The sensor's name.
    pub name: String,
    /// A hash of the sensor's spec: with another one it begins anew.
    pub spec: u64,
    /// What the sensor's kind makes of it.
    pub numbers: Vec<f64>,
}

/// Why a rover has not what a sensor of its body needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// A name is no joint that moves.
    #[error("joints: '{name}' is no joint of the rover that moves; it has {}", .known.join(", "))]
    Joint {
        /// As the sensor's file has it.
        name: String,
        /// The joints that move.
        known: Vec<String>,
    },
    /// Its wheels leave a motion of the rover undetermined.
    #[error("odometry: the rover's wheels do not tell its motion; two or more are needed, at different sides")]
    Wheels,
}

/// What sensors must know of a rover's build.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPlan {
    /// Names of the joints that move, in the order in which their states are told.
    pub joints: Vec<String>,
    /// The wheels; their joints by their place in `joints`.
    pub wheels: Vec<OdometryWheel>,
    /// Places in `joints` of those that a motor moves.
    pub motors: Vec<usize>,
}

impl BodyPlan {
    /// Places of joints by their names; those that drive wheels where none is named.
    ///
    /// # Errors
    /// When a name is no joint that moves: the name and those that there are.
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

/// A rover's body at an instant.
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

/// A heartbeat as a rover's body has it.
#[derive(Clone, Copy, Debug)]
pub struct Beat<'a> {
    /// Samples later than this, up to and with `until`, belong to it.
    pub after: SimTime,
    /// When it begins.
    pub from: SimTime,
    /// When it ends.
    pub until: SimTime,
    /// The body at its beginning. Memories must not depend on its efforts: a state does not have them.
    pub before: Posture<'a>,
    /// The body at its end.
    pub now: Posture<'a>,
    /// Toward the Sun at its end, unit, map frame.
    pub sun: Vector3<f64>,
}

impl<'a> Beat<'a> {
    /// How much of the heartbeat has passed at `instant`, 0 to 1.
    fn fraction(&self, instant: SimTime) -> f64 {
        let span_s = (self.until - self.from).secs_f64();
        if span_s > 0.0 { ((instant - self.from).secs_f64() / span_s).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Numbers of the body at `instant`, between those at the beginning and at the end.
    fn at(&self, instant: SimTime, of: impl Fn(&Posture<'a>) -> &'a [f64]) -> Vec<f64> {
        let share = self.fraction(instant);
        let between = |(before, now): (&f64, &f64)| before + (now - before) * share;
        of(&self.before).iter().zip(of(&self.now)).map(between).collect()
    }

    fn positions(&self, instant: SimTime) -> Vec<f64> {
        self.at(instant, |posture| posture.position)
    }
}

/// Positions and rates of joints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointAngles {
    /// rad.
    pub position: Vec<f64>,
    /// rad/s.
    pub velocity: Vec<f64>,
}

/// What a sensor of the body reads.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyReading {
    /// Of wheel encoders, in the order of the sensor's joints.
    Encoders(JointAngles),
    /// Of dead reckoning.
    Odometry(OdometryReading),
    /// Torques of joints, N m, in the order of the sensor's joints.
    Torques(Vec<f64>),
    /// Of a battery.
    Battery(BatteryReading),
    /// A temperature, °C.
    Temperature(f64),
}

/// A reading, and what a perfect sensor would have read, where there is such a thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Number and instant.
    pub sample: Sample,
    /// What it tells.
    pub told: BodyReading,
    /// The truth; none of dead reckoning, beside which the rover's true odometry is told anyway.
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
    /// A sensor on the link of this index of a rover; `seed` is that of the rover's sensors. None for a sensor of
    /// another kind.
    ///
    /// # Errors
    /// When the rover has not what the sensor needs: what, and what there is.
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

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When it reads.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Names of the joints that it reads, in the order of its readings; none where it reads no joints.
    #[must_use]
    pub fn joints(&self) -> &[String] {
        match &self.kind {
            Kind::Encoders(encoders) => encoders.names(),
            Kind::Torques(torques) => torques.names(),
            Kind::Odometry(_) | Kind::Battery(_) | Kind::Temperature(_) => &[],
        }
    }

    /// Takes in a heartbeat: gives `told` the readings that fall into it, in order, and returns what is remembered
    /// at its end. `memories` are those at its beginning; a sensor that is not among them as it is now begins anew.
    pub fn take(&self, memories: &[SensorMemory], beat: &Beat, told: impl FnMut(Read)) -> Option<SensorMemory> {
        let is_own = |memory: &&SensorMemory| memory.name == self.name && memory.spec == self.spec;
        let known = memories.iter().find(is_own).map(|memory| &memory.numbers[..]);
        let samples = self.schedule.measured_in(beat.after, beat.until);
        let numbers = match &self.kind {
            Kind::Encoders(encoders) => encoders.take(known, beat, samples, told),
            Kind::Odometry(odometer) => odometer.take(known, beat, samples, told),
            Kind::Battery(battery) => battery.take(known, beat, samples, told),
            Kind::Temperature(thermometer) => thermometer.take(known, beat, samples, told),
            Kind::Torques(torques) => {
                torques.take(beat, samples, told);
                return None;
            }
        };
        Some(SensorMemory { name: self.name.clone(), spec: self.spec, numbers })
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
