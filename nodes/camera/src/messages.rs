//! Images and camera_info as ROS messages: same stamp and frame for all that comes
//! from one exposure; depth by REP-118 (metres, infinite where nothing is seen).

use selene_base::SimTime;
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image, RegionOfInterest};
use selene_ros::std_msgs::Header;
use selene_scene::CameraFrame;
use selene_sensors::CameraSpec;

const IDENTITY: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

pub(crate) fn image(spec: &CameraSpec, developed: selene_sensors::Image, time: SimTime) -> Image {
    message(spec, developed.encoding.name(), developed.encoding.bytes_per_pixel(), developed.data, time)
}

pub(crate) fn compressed(spec: &CameraSpec, format: String, data: Vec<u8>, time: SimTime) -> CompressedImage {
    CompressedImage { header: Header::new(time, &spec.link), format, data }
}

pub(crate) fn depth(spec: &CameraSpec, frame: &CameraFrame, time: SimTime) -> Image {
    let bytes = frame.depth_m.iter().flat_map(|depth_m| depth_m.to_le_bytes()).collect();
    message(spec, "32FC1", 4, bytes, time)
}

pub(crate) fn segmentation(spec: &CameraSpec, frame: &CameraFrame, time: SimTime) -> Image {
    let bytes = frame.class.iter().flat_map(|class| class.to_le_bytes()).collect();
    message(spec, "16UC1", 2, bytes, time)
}

pub(crate) fn info(spec: &CameraSpec, time: SimTime) -> CameraInfo {
    let intrinsics = spec.intrinsics();
    CameraInfo {
        header: Header::new(time, &spec.link),
        height: spec.height,
        width: spec.width,
        distortion_model: spec.lens.distortion_model().to_owned(),
        d: spec.lens.distortion(),
        k: intrinsics.k(),
        r: IDENTITY,
        p: intrinsics.p(spec.stereo_baseline_m),
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
