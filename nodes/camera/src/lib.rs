//! The camera node: traces every camera of the scenario at its own instants from the
//! world state it receives, develops the images and publishes them, raw and where asked
//! compressed, with their camera_info, depth and segmentation, all from the same rays.

mod messages;
mod sun;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
pub use selene_coherence::NodeError;
use selene_coherence::{Interval, Outbox, Stage, WorldWatcher, qos_of};
use selene_ros::Message;
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image};
use selene_ros::transport::{Publisher, Transport};
use selene_scene::{CameraFrame, Tracer};
use selene_sensors::develop::DevelopError;
use selene_sensors::{CameraSpec, OwnStages, Pipeline, Sample, Schedule, SensorSpec};
use selene_sim::Scenario;
use selene_terrain::Ground;

pub use sun::in_sight as sun_in_sight;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "camera";

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened or nothing can be traced.
pub fn run(
    transport: &dyn Transport,
    scenario: &Arc<Scenario>,
    ground: &Ground,
    tracer: Box<dyn Tracer>,
    stop: &AtomicBool,
) -> Result<(), NodeError> {
    run_with(transport, scenario, ground, tracer, stop, &OwnStages::new())
}

/// As `run`, with stages of one's own for cameras whose YAML names them.
///
/// # Errors
/// As `run`, and when a camera names a stage that is not known.
pub fn run_with(
    transport: &dyn Transport,
    scenario: &Arc<Scenario>,
    ground: &Ground,
    tracer: Box<dyn Tracer>,
    stop: &AtomicBool,
    own: &OwnStages,
) -> Result<(), NodeError> {
    let links = scenario.rover.links().len();
    let mut cameras = open_cameras(transport, scenario, own)?;
    let mut watcher = WorldWatcher::new(transport, PARTICIPANT, links)?;
    let stage = Stage::new(scenario, ground)?;
    let mut darkroom = Darkroom { stage, tracer, frame: CameraFrame::default(), seed: scenario.seed };
    while let Some(interval) = watcher.next(stop)? {
        darkroom.stage.take_ground(&interval);
        for camera in &mut cameras {
            camera.take(&interval, &mut darkroom)?;
        }
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

/// One image of one camera, with all that is published beside it.
pub struct Exposure {
    /// The developed image.
    pub image: Image,
    /// The same as a JPEG or PNG file.
    pub compressed: Option<CompressedImage>,
    /// How it was projected.
    pub info: CameraInfo,
    /// Depth along the optical axis, 32FC1, m.
    pub depth: Option<Image>,
    /// Semantic classes, 16UC1.
    pub segmentation: Option<Image>,
}

/// What all cameras share.
pub struct Darkroom {
    /// The scene.
    pub stage: Stage,
    /// What traces it.
    pub tracer: Box<dyn Tracer>,
    /// Kept between images so that nothing is allocated anew.
    pub frame: CameraFrame,
    /// The scenario's seed.
    pub seed: u64,
}

impl Darkroom {
    /// Traces and develops what the pipeline's camera on link `link` sees at `sample`.
    ///
    /// # Errors
    /// When nothing can be traced or developed.
    pub fn expose(
        &mut self,
        pipeline: &Pipeline,
        link: usize,
        interval: &Interval,
        sample: Sample,
    ) -> Result<Exposure, NodeError> {
        let spec = pipeline.spec();
        let failed =
            |error: &dyn std::fmt::Display| NodeError::Sensor { sensor: spec.name.clone(), what: error.to_string() };
        let (previous, next) = (&interval.previous, &interval.next);
        self.stage.move_to(previous, next, sample.instant)?;
        let view = spec.frame_view(previous.link_at(next, link, sample.instant), self.seed, sample.index);
        self.tracer.camera(self.stage.scene(), &view, &mut self.frame).map_err(|e| failed(&e))?;
        let sun = if pipeline.wants_sun() {
            sun::in_sight(self.tracer.as_mut(), self.stage.scene(), &view).map_err(|e| failed(&e))?
        } else {
            None
        };
        let developed = pipeline.develop(&self.frame, sun.as_ref(), sample.index).map_err(|e| failed(&e))?;
        let compressed = spec.compressed.map(|compressed| compressed.compress(&developed)).transpose();
        Ok(Exposure {
            compressed: compressed
                .map_err(|e| failed(&e))?
                .map(|(format, file)| messages::compressed(spec, format, file, sample.instant)),
            image: messages::image(spec, developed, sample.instant),
            info: messages::info(spec, sample.instant),
            depth: spec.depth.then(|| messages::depth(spec, &self.frame, sample.instant)),
            segmentation: spec.segmentation.then(|| messages::segmentation(spec, &self.frame, sample.instant)),
        })
    }
}

struct Camera {
    pipeline: Pipeline,
    link: usize,
    schedule: Schedule,
    outbox: Outbox<(SimTime, Exposure)>,
    image: Publisher<Image>,
    compressed: Option<Publisher<CompressedImage>>,
    info: Publisher<CameraInfo>,
    depth: Option<Publisher<Image>>,
    segmentation: Option<Publisher<Image>>,
}

fn open_cameras(transport: &dyn Transport, scenario: &Scenario, own: &OwnStages) -> Result<Vec<Camera>, NodeError> {
    let mut cameras = Vec::new();
    for sensor in &scenario.sensors {
        if let SensorSpec::Camera(spec) = sensor {
            let link = scenario.link_index(&spec.link);
            let pipeline = Pipeline::with(spec, scenario.seed, own).map_err(|error| refused(spec, &error))?;
            cameras.push(Camera::open(transport, scenario, pipeline, sensor.schedule(), link)?);
        }
    }
    Ok(cameras)
}

fn refused(spec: &CameraSpec, error: &DevelopError) -> NodeError {
    NodeError::Sensor { sensor: spec.name.clone(), what: error.to_string() }
}

impl Camera {
    fn open(
        transport: &dyn Transport,
        scenario: &Scenario,
        pipeline: Pipeline,
        schedule: Schedule,
        link: usize,
    ) -> Result<Self, NodeError> {
        let spec = pipeline.spec();
        let qos = qos_of(spec.qos);
        let topic = |suffix: &str| scenario.topic(&format!("{}/{suffix}", spec.name));
        let truth =
            |wanted: bool, suffix: &str| wanted.then(|| Publisher::new(transport, &topic(suffix), qos)).transpose();
        Ok(Self {
            link,
            schedule,
            outbox: Outbox::default(),
            image: Publisher::new(transport, &topic("image_raw"), qos)?,
            compressed: spec
                .compressed
                .map(|_| Publisher::new(transport, &topic("image_raw/compressed"), qos))
                .transpose()?,
            info: Publisher::new(transport, &topic("camera_info"), qos)?,
            depth: truth(spec.depth, "depth/image_rect_raw")?,
            segmentation: truth(spec.segmentation, "segmentation/image")?,
            pipeline,
        })
    }

    /// Takes the images that fall into the interval and hands over those that are due.
    fn take(&mut self, interval: &Interval, darkroom: &mut Darkroom) -> Result<(), NodeError> {
        for sample in self.schedule.measured_in(interval.after(), interval.next.time) {
            let exposure = darkroom.expose(&self.pipeline, self.link, interval, sample)?;
            self.outbox.put(self.schedule.handed_over(sample.instant), (sample.instant, exposure));
        }
        for (stamp, exposure) in self.outbox.due(interval.next.time) {
            self.image.publish(&exposure.image, stamp)?;
            self.info.publish(&exposure.info, stamp)?;
            publish_some(self.compressed.as_ref(), exposure.compressed.as_ref(), stamp)?;
            publish_some(self.depth.as_ref(), exposure.depth.as_ref(), stamp)?;
            publish_some(self.segmentation.as_ref(), exposure.segmentation.as_ref(), stamp)?;
        }
        Ok(())
    }
}

fn publish_some<M: Message>(
    publisher: Option<&Publisher<M>>,
    message: Option<&M>,
    stamp: SimTime,
) -> Result<(), NodeError> {
    match (publisher, message) {
        (Some(publisher), Some(message)) => Ok(publisher.publish(message, stamp)?),
        _ => Ok(()),
    }
}
