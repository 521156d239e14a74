//! Observers of ranging sensors other than lidars: radars, time-of-flight cameras, distance sensors. Each measures at
//! one instant, with all bodies at their poses at that instant; a measurement is traced when it is due, on the ground
//! as it is then. A rover without any keeps no scene.

mod clouds;
mod radar;
mod range_finder;
mod tof_camera;

use std::sync::Arc;

use selene_base::{Pose, SimTime};
use selene_sensors::{Sample, Schedule, SensorSpec, StageRow};
use selene_sim::{EntityId, Model, MountedSensor, RoverSetup, Snapshot};
use selene_terrain::Ruts;

use crate::ObserveError;
use crate::device::{Device, SteadyTracer};
use crate::history::History;
use crate::interval::Interval;
use crate::per_rover::PerRover;
use crate::recall::rover_span;
use crate::scene::TracedScene;
use crate::values::{Ranged, RangingSample, SensorId};

use radar::RadarObserver;
use range_finder::RangeFinderObserver;
use tof_camera::TofCameraObserver;

/// The ranging sensors of all rovers, except lidars.
#[derive(Debug)]
pub struct Ranging {
    device: Device,
    /// `None` for a rover without any.
    rovers: PerRover<Option<RoverRangers>>,
}

/// The ranging sensors of one rover.
struct RoverRangers {
    view: RangingContext,
    sensors: Vec<Ranger>,
}

/// The recent past, the scene and the tracer that the sensors of one rover share.
struct RangingContext {
    rover: EntityId,
    history: History,
    scene: TracedScene,
    tracer: SteadyTracer,
}

/// One ranging sensor.
#[derive(Debug)]
struct Ranger {
    sensor: SensorId,
    frame: String,
    schedule: Schedule,
    row: StageRow,
    looks_back: SimTime,
    has_truth: bool,
    kind: Kind,
    /// The same without noise; `None` if the noise cannot be switched off.
    quiet: Option<Kind>,
}

/// The observer of a ranging sensor, by kind.
#[derive(Debug)]
enum Kind {
    Radar(Box<RadarObserver>),
    TofCamera(Box<TofCameraObserver>),
    RangeFinder(Box<RangeFinderObserver>),
}

/// The measurement of a sensor, and that of a perfect one in its place.
struct RangedWithTruth {
    measured: Ranged,
    truth: Ranged,
}

impl Ranging {
    /// Sensors that trace on this device.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self { device, rovers: PerRover::on_ground() }
    }

    /// Processes the world's next interval and returns the measurements that are due in it, in the order of rovers
    /// and of each rover's sensors.
    ///
    /// # Errors
    /// When a scene cannot be built, a ray cannot be traced, or the scenario's SPICE kernels do not cover an instant.
    pub fn take(&mut self, interval: &Interval) -> Result<Vec<RangingSample>, ObserveError> {
        let Interval { model, previous, .. } = interval;
        self.rovers.follow(interval, |id, ruts| RoverRangers::new(model, id, previous, ruts, &self.device))?;
        let mut due = Vec::new();
        for of_rover in self.rovers.values_mut().flatten() {
            due.append(&mut of_rover.take(interval)?);
        }
        Ok(due)
    }
}

impl RoverRangers {
    fn new(
        model: &Arc<Model>,
        rover: EntityId,
        snapshot: &Snapshot,
        ruts: &Ruts,
        device: &Device,
    ) -> Result<Option<Self>, ObserveError> {
        let Some(setup) = model.rovers().get(&rover).map(|kind| kind.setup()) else { return Ok(None) };
        let sensors: Vec<Ranger> =
            setup.sensors.iter().filter_map(|sensor| Ranger::new(sensor, setup, rover)).collect();
        if sensors.is_empty() {
            return Ok(None);
        }
        let view = RangingContext {
            rover,
            history: History::new(rover_span(setup, model.scenario().heartbeat)),
            scene: TracedScene::new(model, rover, snapshot, ruts)?,
            tracer: device.tracer(),
        };
        Ok(Some(Self { view, sensors }))
    }

    fn take(&mut self, interval: &Interval) -> Result<Vec<RangingSample>, ObserveError> {
        self.view.history.take(interval, self.view.rover);
        self.view.scene.take(interval)?;
        let mut due = Vec::new();
        for sensor in &mut self.sensors {
            for sample in sensor.schedule.due_in(interval.after(), interval.next.time) {
                // A node that joined later leaves out measurements that began before.
                let is_known = self.view.history.reaches_back_to(sample.instant - sensor.looks_back);
                let setting = self.view.history.setting(self.view.rover, &sensor.sensor.name, sample.instant);
                let is_due =
                    sensor.row.keeps(sample.index) && !interval.was_reported(sensor.schedule.handed_over(sample));
                if is_known && setting.enabled && is_due {
                    due.push(sensor.measure(&mut self.view, sample, setting.noise)?);
                }
            }
        }
        Ok(due)
    }
}

impl std::fmt::Debug for RoverRangers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OfRover").field("rover", &self.view.rover).finish_non_exhaustive()
    }
}

impl RangingContext {
    /// Pose of the link of the sensor `name` at an instant, map frame.
    fn link_at(&self, name: &str, link: usize, time: SimTime) -> Result<Pose, ObserveError> {
        let pose = self.history.link_at(self.rover, link, time);
        pose.ok_or_else(|| ObserveError::of(name, &"its rover is in no snapshot of that time"))
    }
}

impl Ranger {
    fn new(mounted: &MountedSensor, setup: &RoverSetup, rover: EntityId) -> Option<Self> {
        let (header, row) = (mounted.spec.header(), mounted.spec.row(setup.sensor_seed));
        let quiet = mounted.spec.without_noise().map(|spec| MountedSensor { spec, ..*mounted });
        Some(Self {
            kind: Kind::of(mounted, setup.sensor_seed)?,
            quiet: quiet.and_then(|mounted| Kind::of(&mounted, setup.sensor_seed)),
            sensor: SensorId { rover, name: header.name.to_owned() },
            frame: setup.frame(header.link),
            schedule: row.schedule(mounted.spec.schedule()),
            row,
            looks_back: SimTime::from_secs_f64(mounted.spec.looks_back_s()),
            has_truth: mounted.spec.has_truth(),
        })
    }

    fn measure(
        &mut self,
        view: &mut RangingContext,
        sample: Sample,
        noise: bool,
    ) -> Result<RangingSample, ObserveError> {
        view.scene.move_to(&view.history, sample.instant)?;
        let what = format!("the measurement of {} at {}", self.sensor.name, sample.instant);
        let reported = match self.quiet.as_mut().filter(|_| !noise).unwrap_or(&mut self.kind) {
            Kind::Radar(radar) => radar.measure(view, sample, &what),
            Kind::TofCamera(camera) => camera.measure(view, sample, &what),
            Kind::RangeFinder(finder) => finder.measure(view, sample, &what),
        };
        let RangedWithTruth { measured, truth } = reported?;
        Ok(RangingSample {
            sensor: self.sensor.clone(),
            frame: self.frame.clone(),
            stamp: sample.instant,
            index: sample.index,
            measured,
            truth: self.has_truth.then_some(truth),
        })
    }
}

impl Kind {
    /// The observer of a sensor; `None` for sensors that other modules observe.
    fn of(MountedSensor { spec, link }: &MountedSensor, seed: u64) -> Option<Self> {
        match spec {
            SensorSpec::Radar(spec) => Some(Self::Radar(Box::new(RadarObserver::new(spec, *link, seed)))),
            SensorSpec::TofCamera(spec) => Some(Self::TofCamera(Box::new(TofCameraObserver::new(spec, *link, seed)))),
            SensorSpec::RangeFinder(spec) => {
                Some(Self::RangeFinder(Box::new(RangeFinderObserver::new(spec, *link, seed))))
            }
            _ => None,
        }
    }
}
