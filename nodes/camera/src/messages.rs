//! Conversion of camera samples to ROS messages. All messages from one exposure have the same stamp and frame. Bounding
//! boxes are `vision_msgs` detections, one for each instance: its class by name, and as id its number in instance
//! images.

use selene_base::SimTime;
use selene_coherence::{to_pose, to_vector};
use selene_observe::{Box2d, Box3d, CameraCalibration, CameraSample};
use selene_ros::geometry_msgs::PoseWithCovariance;
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image, RegionOfInterest};
use selene_ros::std_msgs::Header;
use selene_ros::vision_msgs::{
    BoundingBox2D, BoundingBox3D, Detection2D, Detection2DArray, Detection3D, Detection3DArray, ObjectHypothesis,
    ObjectHypothesisWithPose, Point2D, Pose2D,
};
use selene_scene::Class;
use selene_sensors::augment::RegionSpec;

pub(crate) fn image(image: selene_observe::Image, frame: &str, stamp: SimTime) -> Image {
    Image {
        header: Header::new(stamp, frame),
        height: image.height,
        width: image.width,
        encoding: image.encoding.to_owned(),
        is_bigendian: 0,
        step: image.row_bytes() as u32,
        data: image.data,
    }
}

/// Takes over another process's answer for an image; returns false if its size, encoding or byte order differs.
pub(crate) fn take_back(sample: &mut CameraSample, answer: Image) -> bool {
    let image = &mut sample.image;
    let is_of_its_size = [answer.width, answer.height, answer.step]
        == [image.width, image.height, image.row_bytes() as u32]
        && answer.data.len() == image.data.len();
    let fits = is_of_its_size && answer.encoding == image.encoding && answer.is_bigendian == 0;
    if fits {
        image.data = answer.data;
    }
    fits
}

pub(crate) fn compressed(image: selene_observe::CompressedImage, frame: &str, stamp: SimTime) -> CompressedImage {
    CompressedImage { header: Header::new(stamp, frame), format: image.format, data: image.data }
}

pub(crate) fn info(calibration: CameraCalibration, frame: &str, stamp: SimTime) -> CameraInfo {
    let CameraCalibration { width, height, distortion_model, d, k, r, p } = calibration;
    CameraInfo {
        header: Header::new(stamp, frame),
        height,
        width,
        distortion_model: distortion_model.to_owned(),
        d,
        k,
        r,
        p,
        binning_x: 0,
        binning_y: 0,
        roi: RegionOfInterest::default(),
    }
}

/// Like `info`, for an image of which only a region is published.
pub(crate) fn info_of(
    calibration: CameraCalibration,
    region: Option<RegionSpec>,
    frame: &str,
    stamp: SimTime,
) -> CameraInfo {
    let roi = region.map_or_else(RegionOfInterest::default, |region| {
        let RegionSpec { x_offset, y_offset, width, height } = region;
        RegionOfInterest { x_offset, y_offset, height, width, do_rectify: false }
    });
    CameraInfo { roi, ..info(calibration, frame, stamp) }
}

/// The calibration of truth images. They have the raw image's pixels, so K and D are the raw image's; R and P, which
/// describe the rectified image of a stereo pair, do not apply to them.
pub(crate) fn truth_info(calibration: &CameraCalibration, frame: &str, stamp: SimTime) -> CameraInfo {
    let [fx, _, cx, _, fy, cy, ..] = calibration.k;
    let raw = CameraCalibration {
        r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p: [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        ..calibration.clone()
    };
    info(raw, frame, stamp)
}

pub(crate) fn boxes_2d(boxes: &[Box2d], frame: &str, stamp: SimTime) -> Detection2DArray {
    let header = Header::new(stamp, frame);
    let detection = |seen: &Box2d| {
        let [x, y] = seen.centre_px;
        let [size_x, size_y] = seen.size_px;
        Detection2D {
            header: header.clone(),
            results: vec![hypothesis(seen.class, PoseWithCovariance::default())],
            bbox: BoundingBox2D { center: Pose2D { position: Point2D { x, y }, theta: 0.0 }, size_x, size_y },
            id: seen.instance.to_string(),
        }
    };
    Detection2DArray { detections: boxes.iter().map(detection).collect(), header: header.clone() }
}

pub(crate) fn boxes_3d(boxes: &[Box3d], frame: &str, stamp: SimTime) -> Detection3DArray {
    let header = Header::new(stamp, frame);
    let detection = |seen: &Box3d| {
        let center = to_pose(&seen.optical_from_centre);
        let pose = PoseWithCovariance { pose: center, ..PoseWithCovariance::default() };
        Detection3D {
            header: header.clone(),
            results: vec![hypothesis(seen.class, pose)],
            bbox: BoundingBox3D { center, size: to_vector(&seen.size_m) },
            id: seen.instance.to_string(),
        }
    };
    Detection3DArray { detections: boxes.iter().map(detection).collect(), header: header.clone() }
}

fn hypothesis(class: u16, pose: PoseWithCovariance) -> ObjectHypothesisWithPose {
    let class_id = Class::name_of(class).to_owned();
    ObjectHypothesisWithPose { hypothesis: ObjectHypothesis { class_id, score: 1.0 }, pose }
}

#[cfg(test)]
mod tests {
    use super::boxes_2d;
    use selene_base::SimTime;
    use selene_observe::Box2d;

    #[test]
    fn a_box_has_its_class_by_name_and_its_instance_as_id() {
        let seen = Box2d { class: 3, instance: 0xF000_1000, centre_px: [7.0, 3.5], size_px: [1.0, 4.0] };
        let boxes = boxes_2d(&[seen], "a/camera", SimTime::ZERO);
        let found = &boxes.detections[0];
        assert_eq!((found.bbox.center.position.x, found.bbox.size_y), (7.0, 4.0));
        assert_eq!((found.id.as_str(), found.results[0].hypothesis.class_id.as_str()), ("4026535936", "rover"));
        assert_eq!((found.header.frame_id.as_str(), boxes.header.frame_id.as_str()), ("a/camera", "a/camera"));
    }
}
