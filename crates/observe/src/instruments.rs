//! Observers of instruments, sensors whose reading is a small value rather than an image or a cloud: inertial units,
//! position receivers and the like. This module has what they share: each is on one link of a rover, measures at the
//! instants of its schedule, and publishes after a lag. Each kind has a file of its own.
//!
//! To add a kind:
//!
//! 1. its spec and model in `selene_sensors`, and a row in the table of `spec.rs` there;
//! 2. its measurement as a variant of `Measured`, in `values.rs`;
//! 3. a file beside this one with a struct that has `new(spec, link, setup)` and `measure(view, sample)`, which may
//!    keep nothing but what can be computed again; the past that it needs is in `MeasurementContext::history`, as far back as
//!    `SensorSpec::looks_back_s` says;
//! 4. a variant of `Kind` below with its two arms;
//! 5. its topics and messages in the navigation node.

use std::convert::Infallible;

use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use selene_sensors::{Sample, Schedule, SensorSpec, StageRow};
use selene_sim::{EntityId, Model, MountedSensor, RoverSetup};

use crate::augment::augment_as_set;
use crate::body::BodyObserver;
use crate::history::History;
use crate::imu::ImuObserver;
use crate::inclinometer::InclinometerObserver;
use crate::interval::Interval;
use crate::loads::{ContactObserver, ForceTorqueObserver};
use crate::magnetometer::MagnetometerObserver;
use crate::per_rover::PerRover;
use crate::position::PositionObserver;
use crate::publish_queue::PublishQueue;
use crate::recall::rover_span;
use crate::values::{Measured, Reading, SensorId};

/// The instruments of all rovers.
#[derive(Debug)]
pub struct Instruments {
    rovers: PerRover<RoverInstruments>,
}

/// The instruments of one rover.
#[derive(Debug)]
struct RoverInstruments {
    rover: EntityId,
    history: History,
    instruments: Vec<Instrument>,
}

/// One instrument.
#[derive(Debug)]
struct Instrument {
    sensor: SensorId,
    frame: String,
    schedule: Schedule,
    row: StageRow,
    has_truth: bool,
    kind: Kind,
    /// The same without noise; `None` if the noise is part of its memory.
    quiet: Option<Kind>,
    outbox: PublishQueue<Reading>,
}

/// The observer of an instrument, by kind.
#[derive(Debug)]
enum Kind {
    Imu(Box<ImuObserver>),
    Position(Box<PositionObserver>),
    Magnetometer(Box<MagnetometerObserver>),
    Inclinometer(Box<InclinometerObserver>),
    Body(Box<BodyObserver>),
    Contact(Box<ContactObserver>),
    ForceTorque(Box<ForceTorqueObserver>),
}

/// The data that an instrument measures from.
pub(crate) struct MeasurementContext<'a> {
    /// The interval that contains the sample's instant.
    pub(crate) interval: &'a Interval,
    /// The recent past, up to the interval's end.
    pub(crate) history: &'a History,
    /// The rover that carries it.
    pub(crate) rover: EntityId,
}

impl MeasurementContext<'_> {
    /// Pose of one of the rover's links in the map frame at an instant up to the interval's end; `None` if it is
    /// unknown or no longer in the history.
    pub(crate) fn link_at(&self, link: usize, time: SimTime) -> Option<Pose> {
        self.history.reaches_back_to(time).then(|| self.history.link_at(self.rover, link, time))?
    }

    /// The acceleration of free fall, map axes, m/s².
    pub(crate) fn gravity_m_s2(&self) -> Vector3<f64> {
        Vector3::new(0.0, 0.0, -self.interval.model.scenario().gravity_m_s2)
    }
}

/// The measurement of an instrument, and that of a perfect one in its place.
pub(crate) struct WithTruth {
    pub(crate) measured: Measured,
    pub(crate) truth: Measured,
}

impl Kind {
    /// The observer of a sensor; `None` for sensors that other modules observe.
    fn of(mounted: &MountedSensor, setup: &RoverSetup) -> Option<Self> {
        let MountedSensor { spec, link } = mounted;
        match spec {
            SensorSpec::Imu(spec) => Some(Self::Imu(Box::new(ImuObserver::new(spec, *link, setup)))),
            SensorSpec::Position(spec) => Some(Self::Position(Box::new(PositionObserver::new(spec, *link, setup)))),
            SensorSpec::Magnetometer(spec) => {
                Some(Self::Magnetometer(Box::new(MagnetometerObserver::new(spec, *link, setup))))
            }
            SensorSpec::Inclinometer(spec) => {
                Some(Self::Inclinometer(Box::new(InclinometerObserver::new(spec, *link, setup))))
            }
            SensorSpec::Encoders(_)
            | SensorSpec::Odometry(_)
            | SensorSpec::Torques(_)
            | SensorSpec::Battery(_)
            | SensorSpec::Temperature(_) => Some(Self::Body(Box::new(BodyObserver::new(mounted, setup)?))),
            SensorSpec::Contact(spec) => Some(Self::Contact(Box::new(ContactObserver::new(spec, *link, setup)))),
            SensorSpec::ForceTorque(spec) => {
                Some(Self::ForceTorque(Box::new(ForceTorqueObserver::new(spec, *link, setup))))
            }
            SensorSpec::Camera(_) | SensorSpec::Lidar(_) => None,
            // See `ranging`.
            SensorSpec::Radar(_) | SensorSpec::TofCamera(_) | SensorSpec::RangeFinder(_) => None,
            // See `sky_instruments`.
            SensorSpec::SunSensor(_) | SensorSpec::StarTracker(_) => None,
        }
    }

    /// The measurement at a sample; `None` if the rover did not exist for the whole time of the measurement.
    fn measure(&mut self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        match self {
            Self::Imu(imu) => imu.measure(view, sample),
            Self::Position(position) => position.measure(view, sample),
            Self::Magnetometer(magnetometer) => magnetometer.measure(view, sample),
            Self::Inclinometer(inclinometer) => inclinometer.measure(view, sample),
            Self::Body(body) => body.measure(view, sample),
            Self::Contact(contact) => contact.measure(view, sample),
            Self::ForceTorque(force_torque) => force_torque.measure(view, sample),
        }
    }
}

impl Default for Instruments {
    fn default() -> Self {
        Self { rovers: PerRover::without_ground() }
    }
}

impl Instruments {
    /// Processes the world's next interval and returns the readings that are due in it, in the order of rovers and of
    /// each rover's sensors.
    pub fn take(&mut self, interval: &Interval) -> Vec<Reading> {
        let Ok(()) =
            self.rovers.follow(interval, |id, _| Ok::<_, Infallible>(RoverInstruments::new(&interval.model, id)));
        self.rovers.values_mut().flat_map(|of_rover| of_rover.take(interval)).collect()
    }
}

impl RoverInstruments {
    fn new(model: &Model, rover: EntityId) -> Self {
        let setup = model.rovers().get(&rover).map(|kind| kind.setup());
        let span = setup.map(|setup| rover_span(setup, model.scenario().heartbeat)).unwrap_or_default();
        let instruments = setup.map(|setup| instruments(setup, rover)).unwrap_or_default();
        Self { rover, history: History::new(span), instruments }
    }

    fn take(&mut self, interval: &Interval) -> Vec<Reading> {
        self.history.take(interval, self.rover);
        let view = MeasurementContext { interval, history: &self.history, rover: self.rover };
        let mut due = Vec::new();
        for instrument in &mut self.instruments {
            instrument.take(&view);
            due.extend(instrument.due(interval));
        }
        due
    }
}

fn instruments(setup: &RoverSetup, rover: EntityId) -> Vec<Instrument> {
    let instrument = |sensor: &MountedSensor| {
        let kind = Kind::of(sensor, setup)?;
        let quiet = sensor.spec.without_noise().and_then(|spec| Kind::of(&MountedSensor { spec, ..*sensor }, setup));
        let (header, row) = (sensor.spec.header(), sensor.spec.row(setup.sensor_seed));
        Some(Instrument {
            sensor: SensorId { rover, name: header.name.to_owned() },
            frame: setup.frame(&setup.model.links()[sensor.link].name),
            schedule: row.schedule(sensor.spec.schedule()),
            row,
            has_truth: sensor.spec.has_truth(),
            kind,
            quiet,
            outbox: PublishQueue::default(),
        })
    };
    setup.sensors.iter().filter_map(instrument).collect()
}

impl Instrument {
    fn take(&mut self, view: &MeasurementContext<'_>) {
        for sample in self.schedule.measured_in(view.interval.after(), view.interval.next.time) {
            let setting = view.interval.setting(self.sensor.rover, &self.sensor.name, sample.instant);
            if !setting.enabled {
                continue;
            }
            let kind = self.quiet.as_mut().filter(|_| !setting.noise).unwrap_or(&mut self.kind);
            let reported = kind.measure(view, sample);
            if let Some(WithTruth { measured, truth }) = reported.filter(|_| self.row.keeps(sample.index)) {
                let mut reading = Reading {
                    sensor: self.sensor.clone(),
                    frame: self.frame.clone(),
                    stamp: sample.instant,
                    index: sample.index,
                    measured,
                    truth: self.has_truth.then_some(truth),
                };
                augment_as_set(&mut reading, &self.row, setting.noise);
                self.outbox.put(self.schedule.handed_over(sample), reading);
            }
        }
    }

    /// The readings that are due by the interval's end and were not published before the run was resumed.
    fn due(&mut self, interval: &Interval) -> impl Iterator<Item = Reading> {
        let schedule = self.schedule;
        let due = self.outbox.due(interval.next.time);
        due.filter(move |reading| {
            let sample = Sample { index: reading.index, instant: reading.stamp };
            !interval.was_reported(schedule.handed_over(sample))
        })
    }
}
