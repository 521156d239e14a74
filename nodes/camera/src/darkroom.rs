//! Where images are made: the world of the last while, the scene, what traces it, and of each
//! camera what its next image takes from its last one.

use std::collections::BTreeMap;
use std::sync::Arc;

use selene_base::{Pose, SimTime};
use selene_coherence::{EngineRoom, History, Interval, NodeError, Stage};
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image};
use selene_ros::vision_msgs::{Detection2DArray, Detection3DArray};
use selene_scene::{CameraFrame, CameraView, Sighting, Tracer, TruthFrame};
use selene_sensors::{CameraSpec, Pipeline, Rectifier, Sample, SensorSpec, SunSight};
use selene_sim::Scenario;
use selene_terrain::Ground;

use crate::negative::{Developed, Negative};
use crate::{detections, sun};

/// One image of one camera, with all that is published beside it.
pub struct Exposure {
    /// The developed image.
    pub image: Image,
    /// The same as a pinhole would have taken it.
    pub rectified: Option<Image>,
    /// The developed image as a JPEG or PNG file.
    pub compressed: Option<CompressedImage>,
    /// How it was projected.
    pub info: CameraInfo,
    /// The truth images that its camera asks for, in the order of `TruthSpec::images`.
    pub truth: Vec<Image>,
    /// Boxes around what is visible, in the image.
    pub boxes_2d: Option<Detection2DArray>,
    /// Boxes of what is visible, in the optical frame.
    pub boxes_3d: Option<Detection3DArray>,
}

/// What all cameras share.
pub struct Darkroom {
    stage: Stage,
    room: EngineRoom,
    seed: u64,
    history: History,
    /// Of developed images, so that nothing is allocated anew.
    spare: Vec<(CameraFrame, TruthFrame)>,
    /// By the cameras' names.
    past: BTreeMap<String, Past>,
    /// By the names of the cameras that ask for rectified images.
    rectifiers: BTreeMap<String, Arc<Rectifier>>,
}

/// What a camera's next image takes from its last one.
struct Past {
    /// How long that was exposed, s.
    exposure_s: f64,
    /// For flow.
    sighting: Option<Arc<Sighting>>,
}

impl Darkroom {
    /// A darkroom for the cameras of a scenario, its scene on `ground`.
    ///
    /// # Errors
    /// When the rover's shapes do not fit into a scene, or two cameras are no pair.
    pub fn new(scenario: &Arc<Scenario>, ground: &Ground, tracer: Box<dyn Tracer>) -> Result<Self, NodeError> {
        let span = |sensor: &SensorSpec| match sensor {
            SensorSpec::Camera(spec) => {
                let slowest = spec.shutter(spec.exposure_s);
                slowest.opens_before() + slowest.closes_after()
            }
            SensorSpec::Lidar(_) | SensorSpec::Imu(_) | SensorSpec::Position(_) => SimTime::ZERO,
        };
        let longest = scenario.sensors.iter().map(span).max().unwrap_or(SimTime::ZERO);
        Ok(Self {
            stage: Stage::new(scenario, ground)?,
            room: EngineRoom::new(tracer),
            seed: scenario.seed,
            // An image is made within a heartbeat of its end.
            history: History::new(longest + scenario.heartbeat + scenario.heartbeat),
            spare: Vec::new(),
            past: BTreeMap::new(),
            rectifiers: rectifiers(scenario)?,
        })
    }

    /// Takes in the world's next interval.
    pub fn take(&mut self, interval: &Interval) {
        self.stage.take_ground(interval);
        if !self.history.reaches_back_to(interval.previous.time) {
            self.history.push(interval.previous.clone());
        }
        self.history.push(interval.next.clone());
    }

    /// What it traces on now, for people to read.
    #[must_use]
    pub fn device(&self) -> String {
        self.room.device()
    }

    /// When the world must be known for an image: where its last row ends.
    #[must_use]
    pub fn exposed_at(&self, spec: &CameraSpec, sample: Sample) -> SimTime {
        sample.instant + spec.shutter(self.exposure_s(spec)).closes_after()
    }

    /// For how long the next image is exposed as far as motion is concerned, s: as the last
    /// one where the camera meters it, since the next is metered only when it is seen.
    fn exposure_s(&self, spec: &CameraSpec) -> f64 {
        self.past.get(&spec.name).map_or(spec.exposure_s, |past| past.exposure_s)
    }

    /// Traces and develops what the pipeline's camera on link `link` sees at `sample`, whose
    /// exposure the world that was taken in must cover. Before the first snapshot the world
    /// rests.
    ///
    /// # Errors
    /// When nothing can be traced or developed, or no snapshot was taken in.
    pub fn expose(&mut self, pipeline: &Pipeline, link: usize, sample: Sample) -> Result<Exposure, NodeError> {
        let negative = self.trace(pipeline, link, sample)?;
        let rectifier = self.rectifier(pipeline.spec());
        let developed = negative.develop(pipeline, rectifier.as_deref())?;
        Ok(self.keep(pipeline.spec(), developed))
    }

    /// How the camera's images are rectified, if they are.
    pub(crate) fn rectifier(&self, spec: &CameraSpec) -> Option<Arc<Rectifier>> {
        self.rectifiers.get(&spec.name).cloned()
    }

    /// The first half of `expose`: what the camera sees, not yet developed. The camera's last image
    /// must have been kept.
    pub(crate) fn trace(&mut self, pipeline: &Pipeline, link: usize, sample: Sample) -> Result<Negative, NodeError> {
        let spec = pipeline.spec();
        let view = self.look(spec, link, sample)?;
        let (mut frame, mut truth) = self.spare.pop().unwrap_or_default();
        let sun = self.trace_all(pipeline, &view, sample, &mut frame, &mut truth)?;
        let scene = self.stage.scene();
        let boxes = spec.truth.boxes_2d || spec.truth.boxes_3d;
        let visible = if boxes { selene_scene::visible(&frame) } else { Vec::new() };
        let time = sample.instant;
        let boxes_2d = spec.truth.boxes_2d.then(|| detections::in_image(spec, &visible, time));
        let boxes_3d = spec.truth.boxes_3d.then(|| detections::in_space(spec, &visible, scene, &view, time));
        let now = spec.truth.flow.then(|| Arc::new(Sighting::new(scene, &view)));
        let past = Past { exposure_s: self.exposure_s(spec), sighting: now.clone() };
        let before = self.past.insert(spec.name.clone(), past).and_then(|past| past.sighting);
        Ok(Negative { sample, frame, truth, sun, sightings: [now, before], boxes_2d, boxes_3d })
    }

    /// Keeps what the camera's next image takes from this one: how long it was exposed; its buffers.
    pub(crate) fn keep(&mut self, spec: &CameraSpec, developed: Developed) -> Exposure {
        self.spare.push(developed.spare);
        if let Some(past) = self.past.get_mut(&spec.name) {
            past.exposure_s = developed.exposure_s;
        }
        developed.exposure
    }

    /// Traces all that an image takes; where the Sun is in sight, if the pipeline asks.
    fn trace_all(
        &mut self,
        pipeline: &Pipeline,
        view: &CameraView,
        sample: Sample,
        frame: &mut CameraFrame,
        truth: &mut TruthFrame,
    ) -> Result<Option<SunSight>, NodeError> {
        let spec = pipeline.spec();
        let Self { stage, room, .. } = self;
        let scene = stage.scene();
        let traced = room.trace(&format!("the image of {} at {}", spec.name, sample.instant), |tracer| {
            tracer.camera(scene, view, frame)?;
            if spec.truth.asks_surfaces() {
                tracer.truth(scene, view, truth)?;
            }
            pipeline.wants_sun().then(|| sun::in_sight(tracer, scene, view)).transpose()
        });
        traced.map(Option::flatten).map_err(|error| fault(spec, &error))
    }

    /// Brings the scene to the sample's span and returns the camera in it.
    fn look(&mut self, spec: &CameraSpec, link: usize, sample: Sample) -> Result<CameraView, NodeError> {
        let shutter = spec.shutter(self.exposure_s(spec));
        let span = [sample.instant - shutter.opens_before(), sample.instant + shutter.closes_after()];
        let unknown = || fault(spec, &"no snapshot of the world was taken in");
        let pose = |time| -> Result<Pose, NodeError> { self.history.link_at(link, time).ok_or_else(unknown) };
        let (stamp, ends) = (pose(sample.instant)?, [pose(span[0])?, pose(span[1])?]);
        self.stage.move_through(&self.history, span, sample.instant)?;
        Ok(CameraView { sweep: shutter.sweep(ends), ..spec.frame_view(stamp, self.seed, sample.index) })
    }
}

fn rectifiers(scenario: &Scenario) -> Result<BTreeMap<String, Arc<Rectifier>>, NodeError> {
    let mut rectifiers = BTreeMap::new();
    for sensor in &scenario.sensors {
        let SensorSpec::Camera(spec) = sensor else { continue };
        if let Some(rectification) = scenario.rectification(spec).map_err(|what| fault(spec, &what))? {
            rectifiers.insert(spec.name.clone(), Arc::new(Rectifier::new(spec, rectification)));
        }
    }
    Ok(rectifiers)
}

pub(crate) fn fault(spec: &CameraSpec, what: &dyn std::fmt::Display) -> NodeError {
    NodeError::Sensor { sensor: spec.name.clone(), what: what.to_string() }
}
