//! Publishers of one camera.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use selene_coherence::{NodeContext, NodeError, RemoteStages, SampleOutcome, qos_of};
use selene_observe::{CameraSample, SensorId};
use selene_ros::Message;
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image};
use selene_ros::transport::{Publisher, TransportError};
use selene_ros::vision_msgs::{Detection2DArray, Detection3DArray};
use selene_sensors::{CameraSpec, Encoding, StageRow, TruthImage};
use selene_sim::{EntityId, Model, RoverSetup};

use crate::messages;

/// The publishers of one camera.
pub(crate) struct CameraPublishers {
    own: RemoteStages<Image>,
    image: Publisher<Image>,
    rectified: Option<Publisher<Image>>,
    compressed: Option<Publisher<CompressedImage>>,
    info: Publisher<CameraInfo>,
    /// Truth images, in the order of `TruthSpec::images`.
    truth: Vec<TruthPublishers>,
    boxes_2d: Option<Publisher<Detection2DArray>>,
    boxes_3d: Option<Publisher<Detection3DArray>>,
}

/// The publishers of one truth image.
struct TruthPublishers {
    image: Publisher<Image>,
    info: Publisher<CameraInfo>,
}

/// The publishers of all cameras of a model.
pub(crate) fn of_model(
    context: &NodeContext,
    model: &Model,
) -> Result<BTreeMap<SensorId, CameraPublishers>, NodeError> {
    let mut all = BTreeMap::new();
    for rover in model.rovers().keys() {
        all.extend(of_rover(context, model, *rover)?);
    }
    Ok(all)
}

/// The publishers of one rover's cameras.
pub(crate) fn of_rover(
    context: &NodeContext,
    model: &Model,
    rover: EntityId,
) -> Result<BTreeMap<SensorId, CameraPublishers>, NodeError> {
    let Some(kind) = model.rovers().get(&rover) else { return Ok(BTreeMap::new()) };
    let open = |spec: &CameraSpec| {
        let sensor = SensorId { rover, name: spec.name.clone() };
        Ok((sensor, CameraPublishers::open(context, kind.setup(), spec)?))
    };
    kind.setup().cameras().map(|camera| open(camera.spec)).collect()
}

impl CameraPublishers {
    fn open(context: &NodeContext, setup: &RoverSetup, spec: &CameraSpec) -> Result<Self, NodeError> {
        let (transport, qos) = (context.links.public.as_ref(), qos_of(spec.qos));
        let topic = |suffix: &str| setup.topic(&format!("{}/{suffix}", spec.name));
        let image = |suffix: &str| Publisher::new(transport, &topic(suffix), qos);
        // Cameras with invalid stages are refused earlier, so that the default is never used.
        let encoding = spec.stages.encoding().unwrap_or(Encoding::Mono8);
        let rectified = spec.rectified.as_ref().map(|_| image(rectified_topic(encoding))).transpose()?;
        let truth = |kind: TruthImage| -> Result<TruthPublishers, TransportError> {
            Ok(TruthPublishers {
                image: image(kind.topic())?,
                info: Publisher::new(transport, &topic(&info_beside(kind.topic())), qos)?,
            })
        };
        let compressed = spec.compressed.map(|_| Publisher::new(transport, &topic("image_raw/compressed"), qos));
        let row = StageRow::new(&spec.name, spec.stages.augments(), setup.sensor_seed);
        Ok(Self {
            own: RemoteStages::open(transport, &setup.topic(&spec.name), row)?,
            image: image("image_raw")?,
            rectified,
            compressed: compressed.transpose()?,
            info: Publisher::new(transport, &topic("camera_info"), qos)?,
            truth: spec.truth.images().into_iter().map(truth).collect::<Result<_, _>>()?,
            boxes_2d: spec.truth.boxes_2d.then(|| Publisher::new(transport, &topic("detections"), qos)).transpose()?,
            boxes_3d: spec
                .truth
                .boxes_3d
                .then(|| Publisher::new(transport, &topic("detections_3d"), qos))
                .transpose()?,
        })
    }

    /// The topic of the raw images.
    pub(crate) fn image_topic(&self) -> &str {
        &self.image.topic().name
    }

    /// The stages that the images pass.
    pub(crate) fn row(&self) -> &StageRow {
        self.own.row()
    }

    /// Sends an image through the stages of other processes, then publishes it with all accompanying messages, which
    /// have the same stamp and frame.
    pub(crate) fn publish(&mut self, mut sample: CameraSample, stop: &AtomicBool) -> Result<SampleOutcome, NodeError> {
        let reported = |of: &CameraSample| messages::image(of.image.clone(), &of.frame, of.stamp);
        let stamp = sample.stamp;
        let outcome = self.own.finish(&mut sample, stamp, reported, messages::take_back, stop)?;
        if outcome == SampleOutcome::Published {
            self.publish_sample(sample)?;
        }
        Ok(outcome)
    }

    fn publish_sample(&self, sample: CameraSample) -> Result<(), NodeError> {
        let CameraSample { frame, stamp, image, rectified, compressed, calibration, truth, region, .. } = sample;
        let truth_info = messages::truth_info(&calibration, &frame, stamp);
        self.image.publish(&messages::image(image, &frame, stamp), stamp)?;
        self.info.publish(&messages::info_of(calibration, region, &frame, stamp), stamp)?;
        let rectified = rectified.map(|image| messages::image(image, &frame, stamp));
        publish_some(self.rectified.as_ref(), rectified.as_ref(), stamp)?;
        let compressed = compressed.map(|image| messages::compressed(image, &frame, stamp));
        publish_some(self.compressed.as_ref(), compressed.as_ref(), stamp)?;
        for (publishers, (_, image)) in self.truth.iter().zip(truth) {
            publishers.image.publish(&messages::image(image, &frame, stamp), stamp)?;
            publishers.info.publish(&truth_info, stamp)?;
        }
        let boxes_2d = sample.boxes_2d.map(|boxes| messages::boxes_2d(&boxes, &frame, stamp));
        publish_some(self.boxes_2d.as_ref(), boxes_2d.as_ref(), stamp)?;
        let boxes_3d = sample.boxes_3d.map(|boxes| messages::boxes_3d(&boxes, &frame, stamp));
        publish_some(self.boxes_3d.as_ref(), boxes_3d.as_ref(), stamp)
    }
}

/// The name that image_proc gives rectified images; those of a colour mosaic are in colour.
fn rectified_topic(raw: Encoding) -> &'static str {
    match raw {
        Encoding::Mono8 | Encoding::Mono16 => "image_rect",
        Encoding::Rgb8 | Encoding::Rgb16 | Encoding::Bayer8(_) | Encoding::Bayer16(_) => "image_rect_color",
    }
}

/// The calibration topic of an image, in the same namespace, where subscribers of images expect it.
fn info_beside(image: &str) -> String {
    let folder = image.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/camera_info")
}

fn publish_some<M: Message>(
    publisher: Option<&Publisher<M>>,
    message: Option<&M>,
    stamp: selene_base::SimTime,
) -> Result<(), NodeError> {
    match (publisher, message) {
        (Some(publisher), Some(message)) => Ok(publisher.publish(message, stamp)?),
        _ => Ok(()),
    }
}
