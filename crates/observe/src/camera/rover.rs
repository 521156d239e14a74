//! The cameras of one rover: the scene around it, its tracers, and each camera's images in progress.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use selene_base::SimTime;
use selene_scene::{CameraFrame, TruthFrame};
use selene_sensors::{CameraSpec, OwnStages, Pipeline, Rectifier, Sample, Schedule, SensorSetting, StageRow};
use selene_sim::{EntityId, Model, Mounted, RoverSetup, Snapshot};
use selene_terrain::Ruts;

use crate::ObserveError;
use crate::camera::develop::Developed;
use crate::camera::longest_after;
use crate::camera::trace::{CameraContext, TracedFrame};
use crate::device::{Device, Devices, Tracers};
use crate::history::History;
use crate::interval::Interval;
use crate::publish_queue::PublishQueue;
use crate::recall::rover_span;
use crate::scene::{SceneGround, TracedScene};
use crate::values::{CameraSample, SensorId};

/// The cameras of one rover.
#[derive(Debug)]
pub struct RoverCameras {
    eye: CameraContext,
    cameras: Vec<Camera>,
}

/// One camera.
#[derive(Debug)]
struct Camera {
    /// The camera with the settings of its file.
    of_file: Arc<Mounting>,
    /// The camera with the settings of the current sample.
    lens: Arc<Mounting>,
    setting: SensorSetting,
    schedule: Schedule,
    /// Samples whose exposure has not ended, with the setting for each.
    open: VecDeque<(Sample, SensorSetting)>,
    developing: Option<Developing>,
    outbox: PublishQueue<CameraSample>,
    /// Buffers of developed images, for reuse.
    spare: Vec<(CameraFrame, TruthFrame)>,
}

/// A camera on its rover: everything that is the same from image to image.
#[derive(Debug)]
pub(crate) struct Mounting {
    pub(crate) sensor: SensorId,
    pub(crate) pipeline: Pipeline,
    pub(crate) link: usize,
    pub(crate) frame: String,
    /// Seed of its noise and its light.
    pub(crate) seed: u64,
    pub(crate) rectifier: Option<Arc<Rectifier>>,
    pub(crate) row: StageRow,
    /// Number of its tracer in the rover's `Tracers`.
    pub(crate) tracer: usize,
}

/// An image that is being developed in a thread of its own.
#[derive(Debug)]
struct Developing {
    sample: Sample,
    work: JoinHandle<Result<Developed, ObserveError>>,
}

impl RoverCameras {
    /// The cameras of a rover in a snapshot, on ground with the edits `ruts`.
    ///
    /// # Errors
    /// When the scene cannot be built, a camera's stages are invalid, or it names a device that does not exist.
    pub fn new(
        model: &Arc<Model>,
        rover: EntityId,
        snapshot: &Arc<Snapshot>,
        ruts: &Ruts,
        devices: &Devices,
        own: &OwnStages,
    ) -> Result<Self, ObserveError> {
        let scene = TracedScene::new(model, rover, snapshot, ruts)?;
        Self::in_scene(scene, model, rover, snapshot, devices, own)
    }

    /// The cameras of a rover in a snapshot, on a shared ground of the model's terrain, for many rovers in one
    /// process: traced on the CPU, see [`TracedScene::on`].
    ///
    /// # Errors
    /// As `new`.
    pub fn on(
        ground: SceneGround,
        model: &Arc<Model>,
        rover: EntityId,
        snapshot: &Arc<Snapshot>,
    ) -> Result<Self, ObserveError> {
        let scene = TracedScene::on(ground, model, rover, snapshot)?;
        Self::in_scene(scene, model, rover, snapshot, &Device::cpu().into(), &OwnStages::default())
    }

    fn in_scene(
        scene: TracedScene,
        model: &Arc<Model>,
        rover: EntityId,
        snapshot: &Arc<Snapshot>,
        devices: &Devices,
        own: &OwnStages,
    ) -> Result<Self, ObserveError> {
        let setup = model.rovers().get(&rover).map(|kind| kind.setup().clone());
        let setup = setup.ok_or_else(|| ObserveError::of(&format!("rover {rover}"), &"is not there"))?;
        let span = rover_span(&setup, model.scenario().heartbeat);
        let mut tracers = Tracers::default();
        let mount = |of: Mounted<'_, CameraSpec>| {
            let tracer = tracers.add(devices, &of.spec.name, of.spec.device.as_deref())?;
            Mounting::new(rover, &setup, of, own, tracer).map(Camera::new)
        };
        let cameras = setup.cameras().map(mount).collect::<Result<_, _>>()?;
        let mut history = History::new(span);
        if snapshot.rover(rover).is_some() {
            history.push(Arc::clone(snapshot));
        }
        Ok(Self { eye: CameraContext::new(rover, history, scene, tracers), cameras })
    }

    /// Processes the world's next interval and returns the images that are due in it.
    ///
    /// # Errors
    /// When an image cannot be traced or developed.
    pub fn take(&mut self, interval: &Interval) -> Result<Vec<CameraSample>, ObserveError> {
        self.eye.take(interval)?;
        let mut due = Vec::new();
        for camera in &mut self.cameras {
            camera.take(interval, &mut self.eye)?;
            let (schedule, lens) = (camera.schedule, &camera.lens);
            let sample = |of: &CameraSample| Sample { index: of.index, instant: of.stamp };
            let is_new = |of: &CameraSample| {
                lens.row.keeps(of.index) && !interval.was_reported(schedule.handed_over(sample(of)))
            };
            due.extend(camera.outbox.due(interval.next.time).filter(is_new));
        }
        Ok(due)
    }

    /// Processes the world's next interval without taking images, for callers that request images with `expose`.
    ///
    /// # Errors
    /// When shapes of new entities do not fit into a scene.
    pub fn see(&mut self, interval: &Interval) -> Result<(), ObserveError> {
        self.eye.take(interval)
    }

    /// Traces and develops the image `sample.index` that a camera takes at `sample.instant`, with the settings of its
    /// file. The observer must have processed the world up to the end of the exposure. Flow refers to the camera's
    /// last image.
    ///
    /// # Errors
    /// When the rover has no such camera, one of its stages runs in another process, or the image cannot be traced or
    /// developed.
    pub fn expose(&mut self, camera: &str, sample: Sample) -> Result<CameraSample, ObserveError> {
        let found = self.cameras.iter_mut().find(|of| of.lens.sensor.name == camera);
        let camera = found.ok_or_else(|| ObserveError::of(camera, &"the rover has no such camera"))?;
        if let Some(own) = camera.lens.row.own().next() {
            let why = "is done by another process over topics, and there are none here; run the nodes, or leave it out";
            return Err(camera.lens.fault(&format!("stages: own: '{}' {why}", own.name)));
        }
        let traced = self.eye.trace(&camera.lens, sample, camera.spare.pop())?;
        Ok(camera.keep(traced.develop(&camera.lens)?))
    }

    /// The latest end of the exposure of an image, whatever its camera meters; the sample's instant if the rover has
    /// no such camera.
    #[must_use]
    pub fn exposed_at(&self, camera: &str, sample: Sample) -> SimTime {
        let found = self.cameras.iter().find(|of| of.lens.sensor.name == camera);
        sample.instant + found.map_or(SimTime::ZERO, |of| longest_after(of.lens.spec()))
    }

    /// The devices in use, as text for people.
    #[must_use]
    pub fn device(&self) -> String {
        self.eye.device()
    }

    /// The recent past of the world.
    #[must_use]
    pub fn history(&self) -> &History {
        self.eye.history()
    }
}

impl Mounting {
    fn new(
        rover: EntityId,
        setup: &RoverSetup,
        Mounted { spec, link }: Mounted<'_, CameraSpec>,
        own: &OwnStages,
        tracer: usize,
    ) -> Result<Self, ObserveError> {
        let failed = |error: &dyn std::fmt::Display| ObserveError::of(&spec.name, error);
        let rectification = setup.rectification(spec).map_err(|error| failed(&error))?;
        Ok(Self {
            sensor: SensorId { rover, name: spec.name.clone() },
            pipeline: Pipeline::with(spec, setup.sensor_seed, own).map_err(|error| failed(&error))?,
            link,
            frame: setup.frame(&spec.link),
            seed: setup.sensor_seed,
            rectifier: rectification.map(|rectification| Arc::new(Rectifier::new(spec, rectification))),
            tracer,
            row: StageRow::new(&spec.name, spec.stages.augments(), setup.sensor_seed),
        })
    }

    /// The same camera with a setting applied.
    fn set_to(&self, setting: &SensorSetting) -> Self {
        Self {
            sensor: self.sensor.clone(),
            pipeline: self.pipeline.set_to(setting),
            frame: self.frame.clone(),
            rectifier: self.rectifier.clone(),
            row: self.row.clone(),
            ..*self
        }
    }

    pub(crate) fn spec(&self) -> &CameraSpec {
        self.pipeline.spec()
    }

    pub(crate) fn fault(&self, what: &dyn std::fmt::Display) -> ObserveError {
        ObserveError::of(&self.sensor.name, what)
    }
}

impl Camera {
    fn new(lens: Mounting) -> Self {
        let of_file = Arc::new(lens);
        Self {
            schedule: of_file.row.schedule(of_file.spec().schedule()),
            lens: Arc::clone(&of_file),
            of_file,
            setting: SensorSetting::default(),
            open: VecDeque::new(),
            developing: None,
            outbox: PublishQueue::default(),
            spare: Vec::new(),
        }
    }

    fn due(&self, sample: Sample) -> SimTime {
        self.schedule.handed_over(sample)
    }

    /// Traces the images whose exposure ends in the interval, and starts their development.
    fn take(&mut self, interval: &Interval, eye: &mut CameraContext) -> Result<(), ObserveError> {
        let SensorId { rover, name } = &self.of_file.sensor;
        let measured = self.schedule.measured_in(interval.after(), interval.next.time);
        self.open.extend(measured.map(|sample| (sample, interval.setting(*rover, name, sample.instant))));
        while let Some((sample, setting)) = self.open.front().copied() {
            self.set_to(setting);
            if sample.instant + longest_after(self.lens.spec()) > interval.next.time {
                break;
            }
            self.open.pop_front();
            if !setting.enabled {
                eye.forget(&self.lens);
                continue;
            }
            if !self.is_wanted(sample, interval) || !eye.knows(&self.lens, sample) {
                continue;
            }
            let traced = eye.trace(&self.lens, sample, self.spare.pop())?;
            self.finish()?;
            self.developing = Some(Developing::start(traced, Arc::clone(&self.lens))?);
        }
        if self.developing.as_ref().is_some_and(|image| self.due(image.sample) <= interval.next.time) {
            self.finish()?;
        }
        Ok(())
    }

    fn set_to(&mut self, setting: SensorSetting) {
        if self.setting == setting {
            return;
        }
        self.setting = setting;
        let is_of_file = setting == SensorSetting::default();
        self.lens = if is_of_file { Arc::clone(&self.of_file) } else { Arc::new(self.of_file.set_to(&setting)) };
    }

    /// Whether an image is still needed: for publication, or for the flow from it to the next one.
    fn is_wanted(&self, sample: Sample, interval: &Interval) -> bool {
        let is_reported = self.lens.row.keeps(sample.index) && !interval.was_reported(self.due(sample));
        is_reported || self.lens.spec().truth.flow
    }

    /// Waits for the image that is being developed.
    fn finish(&mut self) -> Result<(), ObserveError> {
        let Some(image) = self.developing.take() else { return Ok(()) };
        let due = self.due(image.sample);
        let developed = image.work.join().unwrap_or_else(|_| Err(self.lens.fault(&"developing broke off")))?;
        let sample = self.keep(developed);
        self.outbox.put(due, sample);
        Ok(())
    }

    /// Keeps the buffers for the next image.
    fn keep(&mut self, developed: Developed) -> CameraSample {
        self.spare.push(developed.spare);
        developed.sample
    }
}

impl Developing {
    fn start(traced: TracedFrame, lens: Arc<Mounting>) -> Result<Self, ObserveError> {
        let (sample, of) = (traced.sample, Arc::clone(&lens));
        let work = Builder::new().name("developing".into()).spawn(move || traced.develop(&lens));
        Ok(Self { sample, work: work.map_err(|error| of.fault(&error))? })
    }
}
