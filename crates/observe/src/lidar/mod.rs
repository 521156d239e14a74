//! Observers of lidars. Each beam starts at its own instant from the sensor's pose at that instant and meets all
//! bodies at their poses at that instant; a scan is traced when it is due, on the ground as it is then.

mod layout;
mod views;

use std::sync::Arc;

use selene_base::SimTime;
use selene_scene::{Receiver, Scene};
use selene_sensors::lidar::{SceneOverTime, SelfHits};
use selene_sensors::{Lidar, LidarPoint, LidarSpec, Sample, Schedule, StageRow};
use selene_sim::{EntityId, Model, Mounted, Snapshot};
use selene_terrain::Ruts;

use crate::ObserveError;
use crate::augment::augment;
use crate::device::{Devices, Tracers};
use crate::history::History;
use crate::instance::parts_of;
use crate::interval::Interval;
use crate::per_rover::PerRover;
use crate::recall::rover_span;
use crate::scene::TracedScene;
use crate::values::{LidarSample, SensorId};

/// The lidars of all rovers.
#[derive(Debug)]
pub struct Lidars {
    devices: Devices,
    /// `None` for a rover without lidars.
    rovers: PerRover<Option<RoverLidars>>,
}

/// The lidars of one rover.
struct RoverLidars {
    rover: EntityId,
    history: History,
    scene: TracedScene,
    tracers: Tracers,
    lidars: Vec<MountedLidar>,
}

/// One lidar.
struct MountedLidar {
    /// Number of its tracer in the rover's `Tracers`.
    tracer: usize,
    sensor: SensorId,
    lidar: Lidar,
    /// The same without noise, made on first use.
    quiet: Option<Lidar>,
    link: usize,
    frame: String,
    seed: u64,
    /// Schedule of scan starts; a scan is due when it is complete and its lag has passed.
    schedule: Schedule,
    row: StageRow,
    /// The lidar's receiver, which ignores the rover's own parts if that is wanted.
    receiver: Receiver,
    points: Vec<LidarPoint>,
}

impl Lidars {
    /// Lidars that trace on these devices.
    #[must_use]
    pub fn new(devices: impl Into<Devices>) -> Self {
        Self { devices: devices.into(), rovers: PerRover::on_ground() }
    }

    /// Processes the world's next interval and returns the scans that are due in it, in the order of rovers and of
    /// each rover's lidars.
    ///
    /// # Errors
    /// When a scene cannot be built or a scan cannot be traced.
    pub fn take(&mut self, interval: &Interval) -> Result<Vec<LidarSample>, ObserveError> {
        let Interval { model, previous, .. } = interval;
        self.rovers.follow(interval, |id, ruts| RoverLidars::new(model, id, previous, ruts, &self.devices))?;
        let mut due = Vec::new();
        for lidars in self.rovers.values_mut().flatten() {
            due.append(&mut lidars.take(interval)?);
        }
        Ok(due)
    }
}

impl RoverLidars {
    fn new(
        model: &Arc<Model>,
        rover: EntityId,
        snapshot: &Snapshot,
        ruts: &Ruts,
        devices: &Devices,
    ) -> Result<Option<Self>, ObserveError> {
        let setup = model.rovers().get(&rover).map(|kind| kind.setup());
        let Some(setup) = setup.filter(|setup| setup.lidars().next().is_some()) else { return Ok(None) };
        let mut tracers = Tracers::default();
        let mount = |of: Mounted<'_, LidarSpec>| -> Result<_, ObserveError> {
            let tracer = tracers.add(devices, &of.spec.name, of.spec.device.as_deref())?;
            let lidar = Lidar::new(of.spec.clone());
            let row = StageRow::new(&of.spec.name, of.spec.stages.clone(), setup.sensor_seed);
            Ok(MountedLidar {
                tracer,
                sensor: SensorId { rover, name: of.spec.name.clone() },
                link: of.link,
                frame: setup.frame(&of.spec.link),
                seed: setup.sensor_seed,
                schedule: row.schedule(lidar.schedule()),
                row,
                receiver: receiver(&lidar, rover),
                points: Vec::new(),
                quiet: None,
                lidar,
            })
        };
        let lidars = setup.lidars().map(mount).collect::<Result<_, _>>()?;
        Ok(Some(Self {
            rover,
            history: History::new(rover_span(setup, model.scenario().heartbeat)),
            scene: TracedScene::new(model, rover, snapshot, ruts)?,
            tracers,
            lidars,
        }))
    }

    fn take(&mut self, interval: &Interval) -> Result<Vec<LidarSample>, ObserveError> {
        self.history.take(interval, self.rover);
        self.scene.take(interval)?;
        let mut due = Vec::new();
        for lidar in &mut self.lidars {
            for sample in lidar.schedule.due_in(interval.after(), interval.next.time) {
                // A node that joined in the middle of a scan leaves that scan out instead of publishing half of it.
                let is_known = self.history.reaches_back_to(sample.instant);
                let setting = self.history.setting(self.rover, &lidar.sensor.name, sample.instant);
                let is_due =
                    lidar.row.keeps(sample.index) && !interval.was_reported(lidar.schedule.handed_over(sample));
                if is_known && setting.enabled && is_due {
                    let (scene, tracers) = (&mut self.scene, &mut self.tracers);
                    due.push(lidar.scan(sample, setting.noise, &self.history, scene, tracers)?);
                }
            }
        }
        Ok(due)
    }
}

impl MountedLidar {
    fn scan(
        &mut self,
        sample: Sample,
        noise: bool,
        history: &History,
        scene: &mut TracedScene,
        tracers: &mut Tracers,
    ) -> Result<LidarSample, ObserveError> {
        let Self { sensor, lidar, quiet, link, seed, receiver, points, tracer, .. } = self;
        let rover = sensor.rover;
        let lidar: &Lidar =
            if noise { lidar } else { quiet.get_or_insert_with(|| Lidar::new(lidar.spec().without_noise())) };
        let what = format!("the scan of {} at {}", sensor.name, sample.instant);
        let scan = lidar.scan(sample.instant);
        scene.show_grains(history, sample.instant)?;
        let mut scene = SweptScene { scene, history };
        let pose_at = |time| history.link_at(rover, *link, time);
        // A scan is one unit of work: if the device fails in it, the whole scan is traced again.
        let traced = tracers
            .of(*tracer)
            .trace(&what, |tracer| scan.trace(tracer, &mut scene, receiver, pose_at, [*seed, sample.index]));
        let traced = traced.map_err(|error| ObserveError::of(&sensor.name, &error))?;
        let unknown = || ObserveError::of(&sensor.name, &"its rover is in no snapshot of that time");
        *points = traced.ok_or_else(unknown)?;
        Ok(self.sample(sample))
    }

    /// The sample made from the points of a scan.
    fn sample(&self, Sample { instant, index }: Sample) -> LidarSample {
        let (lidar, points) = (&self.lidar, &self.points);
        let mut sample = LidarSample {
            sensor: self.sensor.clone(),
            frame: self.frame.clone(),
            stamp: instant,
            index,
            cloud: layout::cloud(lidar.spec().layout, lidar.spec().truth, points),
            images: views::images(lidar, points),
            planar: views::planar(lidar, instant, points),
        };
        augment(&mut sample, &self.row, 0);
        sample
    }
}

/// A scene whose bodies move as in a history.
struct SweptScene<'a> {
    scene: &'a mut TracedScene,
    history: &'a History,
}

impl SceneOverTime for SweptScene<'_> {
    fn during(&mut self, span: [SimTime; 2]) -> &Scene {
        self.scene.sweep(self.history, span);
        self.scene.scene()
    }
}

/// The receiver of a rover's lidar.
fn receiver(lidar: &Lidar, rover: EntityId) -> Receiver {
    let ignores = (lidar.spec().self_hits == SelfHits::Drop).then(|| parts_of(rover));
    Receiver { ignores, ..lidar.receiver().clone() }
}

impl std::fmt::Debug for RoverLidars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoverLidars").field("rover", &self.rover).finish_non_exhaustive()
    }
}
