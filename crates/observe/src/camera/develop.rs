//! Development of a traced image into the published data: the developed image, rectified and compressed if requested,
//! its calibration and its truth.

use selene_scene::{CameraFrame, TruthFrame, flow};
use selene_sensors::{CameraSpec, DepthUnit, Rectification, Rectifier, TruthImage};

use crate::ObserveError;
use crate::augment::augment;
use crate::camera::rover::Mounting;
use crate::camera::trace::TracedFrame;
use crate::values::{CameraCalibration, CameraSample, CompressedImage, Image};

/// A developed image, and the buffers of its trace.
#[derive(Debug)]
pub(crate) struct Developed {
    pub(crate) sample: CameraSample,
    /// The buffers, free for another image.
    pub(crate) spare: (CameraFrame, TruthFrame),
}

impl TracedFrame {
    /// Develops the image and everything published beside it.
    pub(crate) fn develop(self, lens: &Mounting) -> Result<Developed, ObserveError> {
        let spec = lens.spec();
        let developed = lens.pipeline.develop(&self.frame, self.sun.as_ref(), self.sample.index);
        let developed = developed.map_err(|error| lens.fault(&error))?;
        let (exposure_s, gain) = (developed.exposure_s, developed.gain);
        let rectified = lens.rectifier.as_ref().and_then(|rectifier| rectifier.rectify(&developed));
        let compressed = spec.compressed.map(|compressed| compressed.compress(&developed)).transpose();
        let compressed = compressed.map_err(|error| lens.fault(&error))?;
        let truth = spec.truth.images().into_iter().map(|image| (image, self.truth_image(spec, image)));
        let mut sample = CameraSample {
            sensor: lens.sensor.clone(),
            frame: lens.frame.clone(),
            stamp: self.sample.instant,
            index: self.sample.index,
            exposure_s,
            gain,
            rectified: rectified.map(plain),
            compressed: compressed.map(|(format, data)| CompressedImage { format, data }),
            image: plain(developed),
            region: None,
            calibration: calibration(spec, lens.rectifier.as_deref().map(Rectifier::rectification)),
            truth: truth.collect(),
            sun: self.sun,
            boxes_2d: self.boxes_2d,
            boxes_3d: self.boxes_3d,
        };
        augment(&mut sample, &lens.row, 0);
        Ok(Developed { sample, spare: (self.frame, self.truth) })
    }

    fn truth_image(&self, spec: &CameraSpec, image: TruthImage) -> Image {
        let back = || match &self.sightings {
            [Some(now), Some(before)] => flow(&self.frame, now, before),
            // The first image has no previous one.
            _ => vec![[f32::NAN; 2]; self.frame.depth_m.len()],
        };
        let data = match image {
            TruthImage::Depth(unit) => depth(&self.frame.depth_m, unit),
            TruthImage::Segmentation => bytes(&self.frame.class, |code| code.to_le_bytes()),
            TruthImage::Instances => bytes(&self.frame.instance, |number| number.to_le_bytes()),
            TruthImage::Normals => floats(self.truth.normal.as_flattened()),
            TruthImage::Albedo => floats(&self.truth.albedo),
            TruthImage::SunVisibility => floats(&self.truth.sun_share),
            TruthImage::Flow => floats(back().as_flattened()),
        };
        let (encoding, pixel_bytes) = (image.encoding(), image.bytes_per_pixel());
        Image { width: spec.width, height: spec.height, encoding, pixel_bytes, data }
    }
}

fn plain(developed: selene_sensors::DevelopedImage) -> Image {
    let selene_sensors::DevelopedImage { width, height, encoding, data, .. } = developed;
    Image { width, height, encoding: encoding.name(), pixel_bytes: encoding.bytes_per_pixel(), data }
}

/// The calibration: K and D of the raw image, R and P of the rectified one, if any.
fn calibration(spec: &CameraSpec, rectified: Option<&Rectification>) -> CameraCalibration {
    let rectification = rectified.copied().unwrap_or_else(|| Rectification::alone(spec));
    CameraCalibration {
        width: spec.width,
        height: spec.height,
        distortion_model: spec.lens.distortion_model(),
        d: spec.lens.distortion(),
        k: spec.intrinsics().k(),
        r: rectification.r(),
        p: rectification.p(),
    }
}

/// Depth as in REP-118: in metres, infinite where nothing is seen; in millimetres, 0 there and beyond the range of 16
/// bits.
fn depth(depth_m: &[f32], unit: DepthUnit) -> Vec<u8> {
    match unit {
        DepthUnit::Metres => floats(depth_m),
        DepthUnit::Millimetres => bytes(depth_m, |depth_m| {
            let rounded = (depth_m * 1000.0).round();
            let millimetres = if rounded <= f32::from(u16::MAX) { rounded as u16 } else { 0 };
            millimetres.to_le_bytes()
        }),
    }
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    bytes(numbers, |number| number.to_le_bytes())
}

fn bytes<T: Copy, const N: usize>(numbers: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    numbers.iter().flat_map(|number| of(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::depth;
    use selene_sensors::DepthUnit;

    #[test]
    fn millimetres_are_rounded_and_0_where_16_bits_do_not_reach() {
        let bytes = depth(&[1.2344, 65.535, 65.536, f32::INFINITY], DepthUnit::Millimetres);
        let millimetres: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        assert_eq!(millimetres, [1234, 65_535, 0, 0]);
        assert_eq!(depth(&[1.5], DepthUnit::Metres), 1.5_f32.to_le_bytes());
    }
}
