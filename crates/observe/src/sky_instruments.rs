//! Observers of Sun sensors and star trackers. They return `Reading`s like those of `instruments`, but can fail: when a
//! scenario's SPICE kernels do not cover an instant, or when a ray cannot be traced.
//!
//! A Sun sensor sees the part of the Sun that no ground, rock, object or part of a rover hides: by rays on the CPU
//! through the scene around its rover, as a camera's flare does (`sun_sight`). A rover without Sun sensors keeps no
//! scene.

use std::sync::Arc;

use selene_base::Pose;
use selene_sensors::{Sample, Schedule, SensorSpec, StageRow, StarTrackerSpec, SunSensorSpec};
use selene_sim::{EntityId, Model, MountedSensor, RoverSetup, Snapshot};
use selene_terrain::Ruts;

use crate::ObserveError;
use crate::augment::augment_as_set;
use crate::device::{Device, SteadyTracer};
use crate::history::History;
use crate::instruments::WithTruth;
use crate::interval::Interval;
use crate::per_rover::PerRover;
use crate::publish_queue::PublishQueue;
use crate::recall::rover_span;
use crate::scene::TracedScene;
use crate::star_tracker::star_view;
use crate::sun_sight::sun_share;
use crate::values::{Measured, Reading, SensorId};

/// The Sun sensors and star trackers of all rovers.
#[derive(Debug)]
pub struct SkyInstruments {
    /// `None` for a rover without any.
    rovers: PerRover<Option<RoverSkyInstruments>>,
}

/// The Sun sensors and star trackers of one rover.
#[derive(Debug)]
struct RoverSkyInstruments {
    rover: EntityId,
    history: History,
    /// `None` for a rover without Sun sensors.
    sight: Option<SunOcclusion>,
    instruments: Vec<SkyInstrument>,
}

/// The scene that can hide the Sun, and its tracer.
struct SunOcclusion {
    scene: TracedScene,
    tracer: SteadyTracer,
}

/// One Sun sensor or star tracker.
#[derive(Debug)]
struct SkyInstrument {
    sensor: SensorId,
    kind: Kind,
    /// The same without noise.
    quiet: Option<Kind>,
    link: usize,
    frame: String,
    seed: u64,
    schedule: Schedule,
    row: StageRow,
    has_truth: bool,
    outbox: PublishQueue<Reading>,
}

/// The spec, by kind.
#[derive(Clone, Debug)]
enum Kind {
    Sun(SunSensorSpec),
    Stars(StarTrackerSpec),
}

impl Default for SkyInstruments {
    fn default() -> Self {
        Self { rovers: PerRover::on_ground() }
    }
}

impl SkyInstruments {
    /// Processes the world's next interval and returns the readings that are due in it, in the order of rovers and of
    /// each rover's sensors.
    ///
    /// # Errors
    /// When a scene cannot be built, a ray cannot be traced, or the scenario's SPICE kernels do not cover an instant.
    pub fn take(&mut self, interval: &Interval) -> Result<Vec<Reading>, ObserveError> {
        let Interval { model, previous, .. } = interval;
        self.rovers.follow(interval, |id, ruts| RoverSkyInstruments::new(model, id, previous, ruts))?;
        let mut due = Vec::new();
        for of_rover in self.rovers.values_mut().flatten() {
            due.append(&mut of_rover.take(interval)?);
        }
        Ok(due)
    }
}

impl RoverSkyInstruments {
    fn new(model: &Arc<Model>, rover: EntityId, at: &Snapshot, ruts: &Ruts) -> Result<Option<Self>, ObserveError> {
        let Some(setup) = model.rovers().get(&rover).map(|kind| kind.setup()) else { return Ok(None) };
        let instruments = instruments(setup, rover);
        if instruments.is_empty() {
            return Ok(None);
        }
        let looks_at_sun = instruments.iter().any(|instrument| matches!(instrument.kind, Kind::Sun(_)));
        let sight = looks_at_sun.then(|| SunOcclusion::new(model, rover, at, ruts)).transpose()?;
        let history = History::new(rover_span(setup, model.scenario().heartbeat));
        Ok(Some(Self { rover, history, sight, instruments }))
    }

    fn take(&mut self, interval: &Interval) -> Result<Vec<Reading>, ObserveError> {
        self.history.take(interval, self.rover);
        if let Some(sight) = &mut self.sight {
            sight.scene.take(interval)?;
        }
        let mut due = Vec::new();
        for instrument in &mut self.instruments {
            instrument.take(interval, &self.history, self.sight.as_mut())?;
            due.extend(instrument.due(interval));
        }
        Ok(due)
    }
}

impl SunOcclusion {
    fn new(model: &Arc<Model>, rover: EntityId, at: &Snapshot, ruts: &Ruts) -> Result<Self, ObserveError> {
        Ok(Self { scene: TracedScene::new(model, rover, at, ruts)?, tracer: Device::cpu().tracer() })
    }
}

impl std::fmt::Debug for SunOcclusion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sight").field(&self.tracer.device()).finish()
    }
}

fn instruments(setup: &RoverSetup, rover: EntityId) -> Vec<SkyInstrument> {
    let instrument = |MountedSensor { spec, link }: &MountedSensor| {
        let row = spec.row(setup.sensor_seed);
        Some(SkyInstrument {
            sensor: SensorId { rover, name: spec.header().name.to_owned() },
            kind: Kind::of(spec)?,
            quiet: spec.without_noise().as_ref().and_then(Kind::of),
            link: *link,
            frame: setup.frame(spec.header().link),
            seed: setup.sensor_seed,
            schedule: row.schedule(spec.schedule()),
            row,
            has_truth: spec.has_truth(),
            outbox: PublishQueue::default(),
        })
    };
    setup.sensors.iter().filter_map(instrument).collect()
}

impl Kind {
    /// The kind of a sensor; `None` for sensors that do not look at the sky.
    fn of(spec: &SensorSpec) -> Option<Self> {
        match spec {
            SensorSpec::SunSensor(spec) => Some(Self::Sun(spec.clone())),
            SensorSpec::StarTracker(spec) => Some(Self::Stars(spec.clone())),
            _ => None,
        }
    }
}

impl SkyInstrument {
    fn take(
        &mut self,
        interval: &Interval,
        history: &History,
        mut sight: Option<&mut SunOcclusion>,
    ) -> Result<(), ObserveError> {
        for sample in self.schedule.measured_in(interval.after(), interval.next.time) {
            let setting = interval.setting(self.sensor.rover, &self.sensor.name, sample.instant);
            if !setting.enabled {
                continue;
            }
            let kind = self.quiet.as_ref().filter(|_| !setting.noise).unwrap_or(&self.kind);
            let reported = match (kind, sight.as_deref_mut()) {
                (Kind::Sun(spec), Some(sight)) => self.sun(spec, interval, history, sight, sample)?,
                (Kind::Sun(_), None) => None,
                (Kind::Stars(spec), _) => self.stars(spec, interval, sample)?,
            };
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
        Ok(())
    }

    /// The reading of a Sun sensor; `None` if one of the snapshots lacks its rover.
    fn sun(
        &self,
        spec: &SunSensorSpec,
        interval: &Interval,
        history: &History,
        sight: &mut SunOcclusion,
        sample: Sample,
    ) -> Result<Option<WithTruth>, ObserveError> {
        let Interval { previous, next, .. } = interval;
        let Some(pose) = previous.link_at(next, self.sensor.rover, self.link, sample.instant) else { return Ok(None) };
        let scenario = interval.model.scenario();
        let instant = sample.instant + interval.sky_offset(sample.instant);
        let towards = pose.rotation.inverse() * scenario.sun(instant)?.unit_enu;
        // No ray is needed for a Sun that is behind the sensor.
        let share = if spec.sees(&towards) { self.share_in_sight(&pose, history, sight, sample)? } else { 0.0 };
        let reported = spec.read(&towards, share, self.seed, sample);
        let measured = reported.map_or(Measured::Nothing, Measured::SunDirection);
        Ok(Some(WithTruth { measured, truth: Measured::SunDirection(towards) }))
    }

    fn share_in_sight(
        &self,
        pose: &Pose,
        history: &History,
        SunOcclusion { scene, tracer }: &mut SunOcclusion,
        sample: Sample,
    ) -> Result<f64, ObserveError> {
        scene.move_to(history, sample.instant)?;
        let name = &self.sensor.name;
        let place_m = pose.translation.vector;
        let share = tracer.trace(name, |tracer| sun_share(tracer, scene.scene(), place_m));
        share.map_err(|error| ObserveError::of(name, &error))
    }

    /// The reading of a star tracker; `None` if one of the snapshots lacks its rover.
    fn stars(
        &self,
        spec: &StarTrackerSpec,
        interval: &Interval,
        sample: Sample,
    ) -> Result<Option<WithTruth>, ObserveError> {
        let Some(view) = star_view(interval, self.sensor.rover, self.link, sample.instant)? else { return Ok(None) };
        let reported = spec.read(&view, self.seed, sample);
        let measured = reported.map_or(Measured::Nothing, Measured::StarAttitude);
        Ok(Some(WithTruth { measured, truth: Measured::StarAttitude(view.exact()) }))
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
