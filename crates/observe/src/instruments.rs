//! Sensors whose reading is a value and not a picture: inertial units, position receivers and the like. What they
//! share is here: each is on one link of a rover, measures at the instants of its schedule, and hands over a lag
//! later. What a kind measures is in a file of its own.
//!
//! To add a kind:
//!
//! 1. its spec and model in `selene_sensors`, and a row in the table of `spec.rs` there;
//! 2. what it tells as a variant of `Measured`, in `values.rs`;
//! 3. a file beside this one with a struct that has `new(spec, link, setup)` and `measure(view, sample)`, which may
//!    keep nothing but what can be computed again; what it needs of the past is in `View::history`, as far back as
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
use crate::outbox::Outbox;
use crate::per_rover::PerRover;
use crate::position::PositionObserver;
use crate::recall::rover_span;
use crate::values::{Measured, Reading, SensorId};

/// The instruments of all rovers.
#[derive(Debug)]
pub struct Instruments {
    rovers: PerRover<OfRover>,
}

/// Those of one rover.
#[derive(Debug)]
struct OfRover {
    rover: EntityId,
    history: History,
    instruments: Vec<Instrument>,
}

/// One of them.
#[derive(Debug)]
struct Instrument {
    sensor: SensorId,
    frame: String,
    schedule: Schedule,
    row: StageRow,
    tells_truth: bool,
    kind: Kind,
    /// The same without noise, where that can be.
    quiet: Option<Kind>,
    outbox: Outbox<Reading>,
}

/// What it measures with.
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

/// What an instrument looks at when it measures.
pub(crate) struct View<'a> {
    /// The interval in which the sample's instant is.
    pub(crate) interval: &'a Interval,
    /// The time before, up to the interval's end.
    pub(crate) history: &'a History,
    /// The rover that carries it.
    pub(crate) rover: EntityId,
}

impl View<'_> {
    /// Pose of one of the rover's links in the map frame at an instant up to the interval's end; none where that
    /// is not known, or no longer.
    pub(crate) fn link_at(&self, link: usize, time: SimTime) -> Option<Pose> {
        self.history.reaches_back_to(time).then(|| self.history.link_at(self.rover, link, time))?
    }

    /// The acceleration of free fall, map axes.
    pub(crate) fn gravity_m_s2(&self) -> Vector3<f64> {
        Vector3::new(0.0, 0.0, -self.interval.model.scenario().gravity_m_s2)
    }
}

/// What an instrument measured, and what a perfect one at its place would have.
pub(crate) struct Told {
    pub(crate) measured: Measured,
    pub(crate) truth: Measured,
}

impl Kind {
    /// That of a sensor; none for those that look at the scene.
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
            // They look at the sky: see `sky_instruments`.
            SensorSpec::SunSensor(_) | SensorSpec::StarTracker(_) => None,
        }
    }

    /// What it tells of a sample; none where the rover was not there for as long as that takes.
    fn measure(&mut self, view: &View<'_>, sample: Sample) -> Option<Told> {
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
    /// Takes in the world's next interval; the readings that are due in it, in the order of rovers and of each
    /// one's sensors.
    pub fn take(&mut self, interval: &Interval) -> Vec<Reading> {
        let Ok(()) = self.rovers.follow(interval, |id, _| Ok::<_, Infallible>(OfRover::new(&interval.model, id)));
        self.rovers.values_mut().flat_map(|of_rover| of_rover.take(interval)).collect()
    }
}

impl OfRover {
    fn new(model: &Model, rover: EntityId) -> Self {
        let setup = model.rovers().get(&rover).map(|kind| kind.setup());
        let span = setup.map(|setup| rover_span(setup, model.scenario().heartbeat)).unwrap_or_default();
        let instruments = setup.map(|setup| instruments(setup, rover)).unwrap_or_default();
        Self { rover, history: History::new(span), instruments }
    }

    fn take(&mut self, interval: &Interval) -> Vec<Reading> {
        self.history.take(interval, self.rover);
        let view = View { interval, history: &self.history, rover: self.rover };
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
            tells_truth: sensor.spec.tells_truth(),
            kind,
            quiet,
            outbox: Outbox::default(),
        })
    };
    setup.sensors.iter().filter_map(instrument).collect()
}

impl Instrument {
    fn take(&mut self, view: &View<'_>) {
        for sample in self.schedule.measured_in(view.interval.after(), view.interval.next.time) {
            let setting = view.interval.setting(self.sensor.rover, &self.sensor.name, sample.instant);
            if !setting.enabled {
                continue;
            }
            let kind = self.quiet.as_mut().filter(|_| !setting.noise).unwrap_or(&mut self.kind);
            let told = kind.measure(view, sample);
            if let Some(Told { measured, truth }) = told.filter(|_| self.row.keeps(sample.index)) {
                let mut reading = Reading {
                    sensor: self.sensor.clone(),
                    frame: self.frame.clone(),
                    stamp: sample.instant,
                    index: sample.index,
                    measured,
                    truth: self.tells_truth.then_some(truth),
                };
                augment_as_set(&mut reading, &self.row, setting.noise);
                self.outbox.put(self.schedule.handed_over(sample), reading);
            }
        }
    }

    /// What leaves by the interval's end and was not told before the run was resumed.
    fn due(&mut self, interval: &Interval) -> impl Iterator<Item = Reading> {
        let schedule = self.schedule;
        let due = self.outbox.due(interval.next.time);
        due.filter(move |reading| {
            let sample = Sample { index: reading.index, instant: reading.stamp };
            !interval.was_told(schedule.handed_over(sample))
        })
    }
}
