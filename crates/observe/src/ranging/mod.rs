//! Ranging sensors that are no lidars: radars, time-of-flight cameras, sensors of one distance. Each measures at one
//! instant, where all bodies then were; a measurement is traced when it is due, on the ground as it lies then. A rover
//! without any keeps no scene.

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

/// The ranging sensors of all rovers that are no lidars.
#[derive(Debug)]
pub struct Ranging {
    device: Device,
    /// None for a rover without any.
    rovers: PerRover<Option<OfRover>>,
}

/// Those of one rover.
struct OfRover {
    view: View,
    sensors: Vec<Ranger>,
}

/// What the sensors of one rover look with.
struct View {
    rover: EntityId,
    history: History,
    scene: TracedScene,
    tracer: SteadyTracer,
}

/// One of them.
#[derive(Debug)]
struct Ranger {
    sensor: SensorId,
    frame: String,
    schedule: Schedule,
    row: StageRow,
    looks_back: SimTime,
    tells_truth: bool,
    kind: Kind,
    /// The same without noise, where that can be.
    quiet: Option<Kind>,
}

/// What it measures with.
#[derive(Debug)]
enum Kind {
    Radar(Box<RadarObserver>),
    TofCamera(Box<TofCameraObserver>),
    RangeFinder(Box<RangeFinderObserver>),
}

/// What is measured, and what a perfect sensor at its place would have.
struct Told {
    measured: Ranged,
    truth: Ranged,
}

impl Ranging {
    /// Sensors that trace on a device.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self { device, rovers: PerRover::on_ground() }
    }

    /// Takes in the world's next interval; the measurements that are due in it, in the order of rovers and of each
    /// one's sensors.
    ///
    /// # Errors
    /// When a scene cannot be built, a ray not be traced, or the scenario's kernels do not cover an instant.
    pub fn take(&mut self, interval: &Interval) -> Result<Vec<RangingSample>, ObserveError> {
        let Interval { model, previous, .. } = interval;
        self.rovers.follow(interval, |id, ruts| OfRover::new(model, id, previous, ruts, &self.device))?;
        let mut due = Vec::new();
        for of_rover in self.rovers.values_mut().flatten() {
            due.append(&mut of_rover.take(interval)?);
        }
        Ok(due)
    }
}

impl OfRover {
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
        let view = View {
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
                // A node that joined later leaves out what began before.
                let is_known = self.view.history.reaches_back_to(sample.instant - sensor.looks_back);
                let setting = self.view.history.setting(self.view.rover, &sensor.sensor.name, sample.instant);
                let is_due = sensor.row.keeps(sample.index) && !interval.was_told(sensor.schedule.handed_over(sample));
                if is_known && setting.enabled && is_due {
                    due.push(sensor.measure(&mut self.view, sample, setting.noise)?);
                }
            }
        }
        Ok(due)
    }
}

impl std::fmt::Debug for OfRover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OfRover").field("rover", &self.view.rover).finish_non_exhaustive()
    }
}

impl View {
    /// Pose of the link of a sensor of this name at an instant.
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
            tells_truth: mounted.spec.tells_truth(),
        })
    }

    fn measure(&mut self, view: &mut View, sample: Sample, noise: bool) -> Result<RangingSample, ObserveError> {
        view.scene.move_to(&view.history, sample.instant)?;
        let what = format!("the measurement of {} at {}", self.sensor.name, sample.instant);
        let told = match self.quiet.as_mut().filter(|_| !noise).unwrap_or(&mut self.kind) {
            Kind::Radar(radar) => radar.measure(view, sample, &what),
            Kind::TofCamera(camera) => camera.measure(view, sample, &what),
            Kind::RangeFinder(finder) => finder.measure(view, sample, &what),
        };
        let Told { measured, truth } = told?;
        Ok(RangingSample {
            sensor: self.sensor.clone(),
            frame: self.frame.clone(),
            stamp: sample.instant,
            index: sample.index,
            measured,
            truth: self.tells_truth.then_some(truth),
        })
    }
}

impl Kind {
    /// That of a sensor; none for those that are observed elsewhere.
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
