//! The camera node: traces every camera of the scenario at its own instants from the
//! world state it receives, develops the images and publishes them with their
//! camera_info, depth and segmentation, all from the same rays.

mod messages;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
pub use selene_coherence::NodeError;
use selene_coherence::{Interval, Outbox, Stage, WorldWatcher, qos_of};
use selene_ros::sensor_msgs::{CameraInfo, Image};
use selene_ros::transport::{Publisher, Transport};
use selene_scene::{CameraFrame, Tracer};
use selene_sensors::{CameraSpec, Sample, Schedule, SensorSpec, develop};
use selene_sim::Scenario;
use selene_terrain::Ground;

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
    let links = scenario.rover.links().len();
    let mut cameras = open_cameras(transport, scenario)?;
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
    /// Traces and develops what `spec`'s camera on link `link` sees at `sample`.
    ///
    /// # Errors
    /// When nothing can be traced.
    pub fn expose(
        &mut self,
        spec: &CameraSpec,
        link: usize,
        interval: &Interval,
        sample: Sample,
    ) -> Result<Exposure, NodeError> {
        let (previous, next) = (&interval.previous, &interval.next);
        self.stage.move_to(previous, next, sample.instant)?;
        let view = spec.frame_view(previous.link_at(next, link, sample.instant), self.seed, sample.index);
        self.tracer
            .camera(self.stage.scene(), &view, &mut self.frame)
            .map_err(|error| NodeError::Sensor { sensor: spec.name.clone(), what: error.to_string() })?;
        let developed = develop(spec, &self.frame, self.seed, sample.index);
        Ok(Exposure {
            image: messages::image(spec, developed, sample.instant),
            info: messages::info(spec, sample.instant),
            depth: spec.depth.then(|| messages::depth(spec, &self.frame, sample.instant)),
            segmentation: spec.segmentation.then(|| messages::segmentation(spec, &self.frame, sample.instant)),
        })
    }
}

struct Camera {
    spec: CameraSpec,
    link: usize,
    schedule: Schedule,
    outbox: Outbox<(SimTime, Exposure)>,
    image: Publisher<Image>,
    info: Publisher<CameraInfo>,
    depth: Option<Publisher<Image>>,
    segmentation: Option<Publisher<Image>>,
}

fn open_cameras(transport: &dyn Transport, scenario: &Scenario) -> Result<Vec<Camera>, NodeError> {
    let mut cameras = Vec::new();
    for sensor in &scenario.sensors {
        if let SensorSpec::Camera(spec) = sensor {
            let link = scenario.link_index(&spec.link);
            cameras.push(Camera::open(transport, scenario, spec, sensor.schedule(), link)?);
        }
    }
    Ok(cameras)
}

impl Camera {
    fn open(
        transport: &dyn Transport,
        scenario: &Scenario,
        spec: &CameraSpec,
        schedule: Schedule,
        link: usize,
    ) -> Result<Self, NodeError> {
        let qos = qos_of(spec.qos);
        let topic = |suffix: &str| scenario.topic(&format!("{}/{suffix}", spec.name));
        let truth =
            |wanted: bool, suffix: &str| wanted.then(|| Publisher::new(transport, &topic(suffix), qos)).transpose();
        Ok(Self {
            link,
            schedule,
            outbox: Outbox::default(),
            image: Publisher::new(transport, &topic("image_raw"), qos)?,
            info: Publisher::new(transport, &topic("camera_info"), qos)?,
            depth: truth(spec.depth, "depth/image_rect_raw")?,
            segmentation: truth(spec.segmentation, "segmentation/image")?,
            spec: spec.clone(),
        })
    }

    /// Takes the images that fall into the interval and hands over those that are due.
    fn take(&mut self, interval: &Interval, darkroom: &mut Darkroom) -> Result<(), NodeError> {
        for sample in self.schedule.measured_in(interval.after(), interval.next.time) {
            let exposure = darkroom.expose(&self.spec, self.link, interval, sample)?;
            self.outbox.put(self.schedule.handed_over(sample.instant), (sample.instant, exposure));
        }
        for (stamp, exposure) in self.outbox.due(interval.next.time) {
            self.image.publish(&exposure.image, stamp)?;
            self.info.publish(&exposure.info, stamp)?;
            publish_some(self.depth.as_ref(), exposure.depth.as_ref(), stamp)?;
            publish_some(self.segmentation.as_ref(), exposure.segmentation.as_ref(), stamp)?;
        }
        Ok(())
    }
}

fn publish_some(publisher: Option<&Publisher<Image>>, image: Option<&Image>, stamp: SimTime) -> Result<(), NodeError> {
    match (publisher, image) {
        (Some(publisher), Some(image)) => Ok(publisher.publish(image, stamp)?),
        _ => Ok(()),
    }
}
