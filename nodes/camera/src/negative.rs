//! An image that has been traced and not yet developed, with all that developing takes: nothing
//! of it is the darkroom's, so that the next image is traced meanwhile.

use std::sync::Arc;

use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_ros::sensor_msgs::Image;
use selene_ros::vision_msgs::{Detection2DArray, Detection3DArray};
use selene_scene::{CameraFrame, Sighting, TruthFrame, flow};
use selene_sensors::{CameraSpec, Pipeline, Rectifier, Sample, SunSight, TruthImage};

use crate::darkroom::{Exposure, fault};
use crate::messages;

/// A traced image.
pub(crate) struct Negative {
    pub(crate) sample: Sample,
    pub(crate) frame: CameraFrame,
    pub(crate) truth: TruthFrame,
    pub(crate) sun: Option<SunSight>,
    /// Of this image and of the one before, for flow.
    pub(crate) sightings: [Option<Arc<Sighting>>; 2],
    pub(crate) boxes_2d: Option<Detection2DArray>,
    pub(crate) boxes_3d: Option<Detection3DArray>,
}

/// What became of a negative.
pub(crate) struct Developed {
    pub(crate) exposure: Exposure,
    /// For how long it was exposed, s.
    pub(crate) exposure_s: f64,
    /// The negative's buffers, free for another.
    pub(crate) spare: (CameraFrame, TruthFrame),
}

impl Negative {
    /// The image with what is published beside it.
    pub(crate) fn develop(self, pipeline: &Pipeline, rectifier: Option<&Rectifier>) -> Result<Developed, NodeError> {
        let spec = pipeline.spec();
        let failed = |error: &dyn std::fmt::Display| fault(spec, error);
        let time = self.sample.instant;
        let developed = pipeline.develop(&self.frame, self.sun.as_ref(), self.sample.index);
        let developed = developed.map_err(|error| failed(&error))?;
        let exposure_s = developed.exposure_s;
        let rectified = rectifier.and_then(|rectifier| rectifier.rectify(&developed));
        let compressed = spec.compressed.map(|compressed| compressed.compress(&developed)).transpose();
        let compressed = compressed.map_err(|error| failed(&error))?;
        let exposure = Exposure {
            image: messages::image(spec, developed, time),
            compressed: compressed.map(|(format, file)| messages::compressed(spec, format, file, time)),
            rectified: rectified.map(|image| messages::image(spec, image, time)),
            info: messages::info(spec, rectifier.map(Rectifier::rectification), time),
            truth: spec.truth.images().into_iter().map(|image| self.truth_image(spec, image, time)).collect(),
            boxes_2d: self.boxes_2d,
            boxes_3d: self.boxes_3d,
        };
        Ok(Developed { exposure, exposure_s, spare: (self.frame, self.truth) })
    }

    fn truth_image(&self, spec: &CameraSpec, image: TruthImage, time: SimTime) -> Image {
        let back = || match &self.sightings {
            [Some(now), Some(before)] => flow(&self.frame, now, before),
            // The first image has none before it.
            _ => vec![[f32::NAN; 2]; self.frame.depth_m.len()],
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
