//! Observers of sensors of rovers' own bodies: their readings follow from their memories in the earlier snapshot and
//! from the body's motion since.

use selene_base::{SimTime, frames};
use selene_sensors::{BodyReading, BodySample, BodySensor, Sample, SensorSpec};
use selene_sim::{MountedSensor, RoverSetup};

use crate::instruments::{MeasurementContext, WithTruth};
use crate::values::{JointSample, Measured, OdometrySample, TemperatureSample};

/// The observer of one body sensor.
#[derive(Debug)]
pub(crate) struct BodyObserver {
    sensor: BodySensor,
    odom_frame: String,
    base_frame: String,
    temperature_variance_k2: f64,
    /// End of the interval that `reads` belongs to.
    until: Option<SimTime>,
    reads: Vec<BodySample>,
}

impl BodyObserver {
    /// The observer of a body sensor; `None` for other kinds of sensors.
    pub(crate) fn new(mounted: &MountedSensor, setup: &RoverSetup) -> Option<Self> {
        let temperature_variance_k2 = match &mounted.spec {
            SensorSpec::Temperature(spec) => spec.white_sigma_c.powi(2),
            _ => 0.0,
        };
        Some(Self {
            sensor: setup.body_sensor(mounted)?,
            odom_frame: setup.frame(frames::ODOM),
            base_frame: setup.base_frame(),
            temperature_variance_k2,
            until: None,
            reads: Vec::new(),
        })
    }

    pub(crate) fn measure(&mut self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        let until = view.interval.next.time;
        if self.until.replace(until) != Some(until) {
            self.reads = self.reads_in(view).unwrap_or_default();
        }
        let read = self.reads.iter().find(|read| read.sample == sample)?;
        let truth = read.truth.as_ref().unwrap_or(&read.reported);
        Some(WithTruth {
            measured: self.measured(&read.reported, self.temperature_variance_k2),
            truth: self.measured(truth, 0.0),
        })
    }

    /// All readings of an interval; `None` if a snapshot lacks the rover.
    fn reads_in(&self, view: &MeasurementContext<'_>) -> Option<Vec<BodySample>> {
        let (previous, next) = (&view.interval.previous, &view.interval.next);
        let mut reads = Vec::new();
        self.sensor.take(&previous.rover(view.rover)?.memories, &previous.beat(next, view.rover)?, |read| {
            reads.push(read);
        });
        Some(reads)
    }

    fn measured(&self, reading: &BodyReading, temperature_variance_k2: f64) -> Measured {
        let names = || self.sensor.joints().to_vec();
        match reading {
            BodyReading::Encoders(angles) => Measured::Joints(JointSample {
                names: names(),
                position: angles.position.clone(),
                velocity: angles.velocity.clone(),
                effort: Vec::new(),
            }),
            BodyReading::Torques(effort) => {
                Measured::Joints(JointSample { names: names(), effort: effort.clone(), ..JointSample::default() })
            }
            BodyReading::Odometry(reading) => Measured::Odometry(OdometrySample {
                odom_frame: self.odom_frame.clone(),
                base_frame: self.base_frame.clone(),
                reading: reading.clone(),
            }),
            BodyReading::Battery(reading) => Measured::Battery(*reading),
            BodyReading::Temperature(celsius) => {
                Measured::Temperature(TemperatureSample { celsius: *celsius, variance_k2: temperature_variance_k2 })
            }
        }
    }
}
