//! The camera node: traces every camera of the scenario at its own instants from the
//! world state it receives, develops the images and publishes them, raw and where asked
//! rectified and compressed, with their camera_info and the truth that is asked for, all from the same
//! rays. An image is developed while the next one is traced, and waited for when it is due. An
//! image whose exposure goes beyond the world known so far waits for the next snapshots.

mod darkroom;
mod detections;
mod developing;
mod messages;
mod negative;
mod sun;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use darkroom::{Darkroom, Exposure};
use developing::Developing;
use selene_base::SimTime;
pub use selene_coherence::NodeError;
use selene_coherence::{Interval, Outbox, WorldWatcher, qos_of};
use selene_ros::Message;
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image};
use selene_ros::transport::{Publisher, Transport};
use selene_ros::vision_msgs::{Detection2DArray, Detection3DArray};
use selene_scene::Tracer;
use selene_sensors::develop::DevelopError;
use selene_sensors::{CameraSpec, Encoding, OwnStages, Pipeline, Sample, Schedule, SensorSpec};
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
    let mut darkroom = Darkroom::new(scenario, ground, tracer)?;
    while let Some(interval) = watcher.next(stop)? {
        darkroom.take(&interval);
        for camera in &mut cameras {
            camera.take(&interval, &mut darkroom)?;
        }
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

struct Camera {
    pipeline: Arc<Pipeline>,
    link: usize,
    schedule: Schedule,
    /// Samples whose exposure has not ended.
    open: VecDeque<Sample>,
    /// The image that is developed meanwhile.
    developing: Option<Developing>,
    outbox: Outbox<(SimTime, Exposure)>,
    image: Publisher<Image>,
    rectified: Option<Publisher<Image>>,
    compressed: Option<Publisher<CompressedImage>>,
    info: Publisher<CameraInfo>,
    /// In the order of `TruthSpec::images`.
    truth: Vec<Publisher<Image>>,
    boxes_2d: Option<Publisher<Detection2DArray>>,
    boxes_3d: Option<Publisher<Detection3DArray>>,
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
        let image = |suffix: &str| Publisher::new(transport, &topic(suffix), qos);
        let truth = spec.truth;
        let rectified = rectified_topic(pipeline.encoding());
        Ok(Self {
            link,
            schedule,
            open: VecDeque::new(),
            developing: None,
            outbox: Outbox::default(),
            image: image("image_raw")?,
            rectified: spec.rectified.as_ref().map(|_| image(rectified)).transpose()?,
            compressed: spec
                .compressed
                .map(|_| Publisher::new(transport, &topic("image_raw/compressed"), qos))
                .transpose()?,
            info: Publisher::new(transport, &topic("camera_info"), qos)?,
            truth: truth.images().into_iter().map(|kind| image(kind.topic())).collect::<Result<_, _>>()?,
            boxes_2d: truth.boxes_2d.then(|| Publisher::new(transport, &topic("detections"), qos)).transpose()?,
            boxes_3d: truth.boxes_3d.then(|| Publisher::new(transport, &topic("detections_3d"), qos)).transpose()?,
            pipeline: Arc::new(pipeline),
        })
    }

    /// Takes the images that end in the interval and hands over those that are due.
    fn take(&mut self, interval: &Interval, darkroom: &mut Darkroom) -> Result<(), NodeError> {
        self.open.extend(self.schedule.measured_in(interval.after(), interval.next.time));
        while let Some(sample) = self.open.front().copied() {
            // The last image tells for how long the next one is exposed.
            self.finish(darkroom)?;
            if darkroom.exposed_at(self.pipeline.spec(), sample) > interval.next.time {
                break;
            }
            self.open.pop_front();
            let negative = darkroom.trace(&self.pipeline, self.link, sample)?;
            let rectifier = darkroom.rectifier(self.pipeline.spec());
            self.developing = Some(Developing::start(negative, Arc::clone(&self.pipeline), rectifier)?);
        }
        if self.developing.as_ref().is_some_and(|image| self.handed_over(image) <= interval.next.time) {
            self.finish(darkroom)?;
        }
        let due: Vec<_> = self.outbox.due(interval.next.time).collect();
        for (stamp, exposure) in due {
            self.publish(&exposure, stamp)?;
        }
        Ok(())
    }

    /// Waits for the image that is developed.
    fn finish(&mut self, darkroom: &mut Darkroom) -> Result<(), NodeError> {
        let Some(image) = self.developing.take() else { return Ok(()) };
        let (due, stamp) = (self.handed_over(&image), image.stamp());
        let developed = image.finish(self.pipeline.spec())?;
        let exposure = darkroom.keep(self.pipeline.spec(), developed);
        self.outbox.put(due, (stamp, exposure));
        Ok(())
    }

    fn handed_over(&self, image: &Developing) -> SimTime {
        self.schedule.handed_over(image.stamp())
    }

    fn publish(&self, exposure: &Exposure, stamp: SimTime) -> Result<(), NodeError> {
        self.image.publish(&exposure.image, stamp)?;
        self.info.publish(&exposure.info, stamp)?;
        publish_some(self.rectified.as_ref(), exposure.rectified.as_ref(), stamp)?;
        publish_some(self.compressed.as_ref(), exposure.compressed.as_ref(), stamp)?;
        for (publisher, image) in self.truth.iter().zip(&exposure.truth) {
            publisher.publish(image, stamp)?;
        }
        publish_some(self.boxes_2d.as_ref(), exposure.boxes_2d.as_ref(), stamp)?;
        publish_some(self.boxes_3d.as_ref(), exposure.boxes_3d.as_ref(), stamp)
    }
}

/// As image_proc names rectified images: those of a mosaic come out in colours.
fn rectified_topic(raw: Encoding) -> &'static str {
    match raw {
        Encoding::Mono8 | Encoding::Mono16 => "image_rect",
        Encoding::Rgb8 | Encoding::Rgb16 | Encoding::Bayer8(_) | Encoding::Bayer16(_) => "image_rect_color",
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
