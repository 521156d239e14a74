//! Boxes as `vision_msgs`: one detection an instance, its class by name, its number in
//! instance images as its id.

use selene_base::SimTime;
use selene_coherence::{to_pose, to_vector};
use selene_ros::geometry_msgs::PoseWithCovariance;
use selene_ros::std_msgs::Header;
use selene_ros::vision_msgs::{
    BoundingBox2D, BoundingBox3D, Detection2D, Detection2DArray, Detection3D, Detection3DArray, ObjectHypothesis,
    ObjectHypothesisWithPose, Point2D, Pose2D,
};
use selene_scene::{CameraView, Class, Scene, Visible};
use selene_sensors::CameraSpec;

/// The smallest boxes that hold what is visible of each instance: from the outer edges of its
/// pixels, (0, 0) being the centre of the first.
pub(crate) fn in_image(spec: &CameraSpec, visible: &[Visible], time: SimTime) -> Detection2DArray {
    let header = Header::new(time, &spec.link);
    let detection = |seen: &Visible| {
        let middle = |[first, last]: [u32; 2]| 0.5 * (f64::from(first) + f64::from(last));
        let size = |[first, last]: [u32; 2]| f64::from(last - first + 1);
        let position = Point2D { x: middle(seen.columns), y: middle(seen.rows) };
        Detection2D {
            header: header.clone(),
            results: vec![hypothesis(seen, PoseWithCovariance::default())],
            bbox: BoundingBox2D {
                center: Pose2D { position, theta: 0.0 },
                size_x: size(seen.columns),
                size_y: size(seen.rows),
            },
            id: seen.instance.to_string(),
        }
    };
    Detection2DArray { detections: visible.iter().map(detection).collect(), header: header.clone() }
}

/// The boxes of the meshes of which something is visible, along the meshes' own axes, in the
/// optical frame at the stamp.
pub(crate) fn in_space(
    spec: &CameraSpec,
    visible: &[Visible],
    scene: &Scene,
    view: &CameraView,
    time: SimTime,
) -> Detection3DArray {
    let header = Header::new(time, &spec.link);
    let optical_from_world = view.world_from_optical.inverse();
    let detection = |seen: &Visible| {
        let solid = scene.solid(seen.instance)?;
        let center = to_pose(&(optical_from_world * solid.world_from_centre));
        let pose = PoseWithCovariance { pose: center, ..PoseWithCovariance::default() };
        Some(Detection3D {
            header: header.clone(),
            results: vec![hypothesis(seen, pose)],
            bbox: BoundingBox3D { center, size: to_vector(&solid.size_m.into()) },
            id: seen.instance.to_string(),
        })
    };
    Detection3DArray { detections: visible.iter().filter_map(detection).collect(), header: header.clone() }
}

fn hypothesis(seen: &Visible, pose: PoseWithCovariance) -> ObjectHypothesisWithPose {
    let class_id = Class::name_of(seen.class).to_owned();
    ObjectHypothesisWithPose { hypothesis: ObjectHypothesis { class_id, score: 1.0 }, pose }
}

#[cfg(test)]
mod tests {
    use super::in_image;
    use selene_base::SimTime;
    use selene_scene::Visible;
    use selene_sensors::SensorSpec;
    use std::path::Path;

    #[test]
    fn a_box_of_one_pixel_is_one_pixel_wide_about_its_centre() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor/navcam_left.yaml");
        let Ok(SensorSpec::Camera(spec)) = SensorSpec::load(&path) else { panic!("a camera") };
        let seen = Visible { instance: 65_534, class: 3, columns: [7, 7], rows: [2, 5], pixels: 3 };
        let boxes = in_image(&spec, &[seen], SimTime::ZERO);
        let found = &boxes.detections[0];
        assert_eq!((found.bbox.center.position.x, found.bbox.size_x), (7.0, 1.0));
        assert_eq!((found.bbox.center.position.y, found.bbox.size_y), (3.5, 4.0));
        assert_eq!((found.id.as_str(), found.results[0].hypothesis.class_id.as_str()), ("65534", "rover"));
        assert_eq!(found.header.frame_id, spec.link);
    }
}
