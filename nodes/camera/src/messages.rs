//! Images and camera_info as ROS messages: same stamp and frame for all that comes
//! from one exposure.

use selene_base::SimTime;
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image, RegionOfInterest};
use selene_ros::std_msgs::Header;
use selene_sensors::{CameraSpec, DepthUnit, Rectification, TruthImage};

pub(crate) fn image(spec: &CameraSpec, developed: selene_sensors::Image, time: SimTime) -> Image {
    message(spec, developed.encoding.name(), developed.encoding.bytes_per_pixel(), developed.data, time)
}

pub(crate) fn compressed(spec: &CameraSpec, format: String, data: Vec<u8>, time: SimTime) -> CompressedImage {
    CompressedImage { header: Header::new(time, &spec.link), format, data }
}

/// A truth image of these bytes.
pub(crate) fn truth(spec: &CameraSpec, image: TruthImage, data: Vec<u8>, time: SimTime) -> Image {
    message(spec, image.encoding(), image.bytes_per_pixel(), data, time)
}

/// Depth as REP-118 has it: in metres infinite where nothing is seen, in millimetres 0 there
/// and beyond what 16 bits hold.
pub(crate) fn depth(depth_m: &[f32], unit: DepthUnit) -> Vec<u8> {
    match unit {
        DepthUnit::Metres => floats(depth_m),
        DepthUnit::Millimetres => {
            let millimetres = |depth_m: &f32| {
                let rounded = (depth_m * 1000.0).round();
                if rounded <= f32::from(u16::MAX) { rounded as u16 } else { 0 }
            };
            shorts(&depth_m.iter().map(millimetres).collect::<Vec<_>>())
        }
    }
}

pub(crate) fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn shorts(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// K and D are the raw image's, R and P the rectified one's, if any.
pub(crate) fn info(spec: &CameraSpec, rectified: Option<&Rectification>, time: SimTime) -> CameraInfo {
    let rectification = rectified.copied().unwrap_or_else(|| Rectification::alone(spec));
    CameraInfo {
        header: Header::new(time, &spec.link),
        height: spec.height,
        width: spec.width,
        distortion_model: spec.lens.distortion_model().to_owned(),
        d: spec.lens.distortion(),
        k: spec.intrinsics().k(),
        r: rectification.r(),
        p: rectification.p(),
        binning_x: 0,
        binning_y: 0,
        roi: RegionOfInterest::default(),
    }
}

fn message(spec: &CameraSpec, encoding: &str, bytes_per_pixel: usize, data: Vec<u8>, time: SimTime) -> Image {
    Image {
        header: Header::new(time, &spec.link),
        height: spec.height,
        width: spec.width,
        encoding: encoding.to_owned(),
        is_bigendian: 0,
        step: spec.width * bytes_per_pixel as u32,
        data,
    }
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
