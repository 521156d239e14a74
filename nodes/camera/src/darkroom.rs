//! Where images are made: the world of the last while, the scene, what traces it, and of each
//! camera what its next image takes from its last one.

use std::collections::BTreeMap;
use std::sync::Arc;

use selene_base::{Pose, SimTime};
use selene_coherence::{EngineRoom, History, Interval, NodeError, Stage};
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image};
use selene_ros::vision_msgs::{Detection2DArray, Detection3DArray};
use selene_scene::{CameraFrame, CameraView, Sighting, Tracer, TruthFrame, flow};
use selene_sensors::{CameraSpec, Pipeline, Rectifier, Sample, SensorSpec, SunSight, TruthImage};
use selene_sim::Scenario;
use selene_terrain::Ground;

use crate::{detections, messages, sun};

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
    /// Kept between images so that nothing is allocated anew.
    frame: CameraFrame,
    truth: TruthFrame,
    /// By the cameras' names.
    past: BTreeMap<String, Past>,
    /// By the names of the cameras that ask for rectified images.
    rectifiers: BTreeMap<String, Rectifier>,
}

/// What a camera's next image takes from its last one.
struct Past {
    /// How long that was exposed, s.
    exposure_s: f64,
    /// For flow.
    sighting: Option<Sighting>,
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
            frame: CameraFrame::default(),
            truth: TruthFrame::default(),
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
        let spec = pipeline.spec();
        let failed = |error: &dyn std::fmt::Display| fault(spec, error);
        let view = self.look(spec, link, sample)?;
        let sun = self.trace(pipeline, &view, sample)?;
        let scene = self.stage.scene();
        let developed = pipeline.develop(&self.frame, sun.as_ref(), sample.index).map_err(|error| failed(&error))?;
        let rectifier = self.rectifiers.get(&spec.name);
        let rectified = rectifier.and_then(|rectifier| rectifier.rectify(&developed));
        let compressed = spec.compressed.map(|compressed| compressed.compress(&developed)).transpose();
        let compressed = compressed.map_err(|error| failed(&error))?;
        let sighting = spec.truth.flow.then(|| Sighting::new(scene, &view));
        let past = Past { exposure_s: developed.exposure_s, sighting };
        let before = self.past.insert(spec.name.clone(), past);
        let boxes = spec.truth.boxes_2d || spec.truth.boxes_3d;
        let visible = if boxes { selene_scene::visible(&self.frame) } else { Vec::new() };
        let time = sample.instant;
        let images = spec.truth.images().into_iter();
        Ok(Exposure {
            image: messages::image(spec, developed, time),
            compressed: compressed.map(|(format, file)| messages::compressed(spec, format, file, time)),
            rectified: rectified.map(|image| messages::image(spec, image, time)),
            info: messages::info(spec, rectifier.map(Rectifier::rectification), time),
            truth: images.map(|image| self.truth_image(spec, image, before.as_ref(), time)).collect(),
            boxes_2d: spec.truth.boxes_2d.then(|| detections::in_image(spec, &visible, time)),
            boxes_3d: spec.truth.boxes_3d.then(|| detections::in_space(spec, &visible, scene, &view, time)),
        })
    }

    /// Traces all that an image takes; where the Sun is in sight, if the pipeline asks.
    fn trace(&mut self, pipeline: &Pipeline, view: &CameraView, sample: Sample) -> Result<Option<SunSight>, NodeError> {
        let spec = pipeline.spec();
        let Self { stage, room, frame, truth, .. } = self;
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

    fn truth_image(&self, spec: &CameraSpec, image: TruthImage, before: Option<&Past>, time: SimTime) -> Image {
        let back = || {
            let now = self.past.get(&spec.name).and_then(|past| past.sighting.as_ref());
            match (now, before.and_then(|past| past.sighting.as_ref())) {
                (Some(now), Some(before)) => flow(&self.frame, now, before),
                // The first image has none before it.
                _ => vec![[f32::NAN; 2]; self.frame.depth_m.len()],
            }
        };
        let data = match image {
            TruthImage::Depth(unit) => messages::depth(&self.frame.depth_m, unit),
            TruthImage::Segmentation => messages::shorts(&self.frame.class),
            TruthImage::Instances => messages::shorts(&self.frame.instance),
            TruthImage::Normals => messages::floats(self.truth.normal.as_flattened()),
            TruthImage::Albedo => messages::floats(&self.truth.albedo),
            TruthImage::SunVisibility => messages::floats(&self.truth.sun_share),
            TruthImage::Flow => messages::floats(back().as_flattened()),
        };
        messages::truth(spec, image, data, time)
    }
}

fn rectifiers(scenario: &Scenario) -> Result<BTreeMap<String, Rectifier>, NodeError> {
    let mut rectifiers = BTreeMap::new();
    for sensor in &scenario.sensors {
        let SensorSpec::Camera(spec) = sensor else { continue };
        if let Some(rectification) = scenario.rectification(spec).map_err(|what| fault(spec, &what))? {
            rectifiers.insert(spec.name.clone(), Rectifier::new(spec, rectification));
        }
    }
    Ok(rectifiers)
}

fn fault(spec: &CameraSpec, what: &dyn std::fmt::Display) -> NodeError {
    NodeError::Sensor { sensor: spec.name.clone(), what: what.to_string() }
}
