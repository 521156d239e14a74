//! Converts each kind of message to Rerun's types and logs it.

use rerun::{Boxes2D, CoordinateFrame, Points3D, Quaternion, Radius, RecordingStream, Scalars, Transform3D};
use selene_coherence::from_vector;
use selene_ros::geometry_msgs::TransformStamped;
use selene_ros::nav_msgs::Odometry;
use selene_ros::selene_msgs::{WheelStates, WorldState};
use selene_ros::sensor_msgs::{Image, PointCloud2};
use selene_ros::tf2_msgs::TFMessage;
use selene_ros::vision_msgs::Detection2DArray;
use selene_ros::{Message, Topic, decode};

use super::ground::Ground;
use super::{QueuedMessage, image};

/// The frame of the whole scene.
pub(super) const MAP: &str = "map";
/// `sensor_msgs/PointField` FLOAT32.
const FLOAT32: u8 = 7;
/// Radius of a point of a cloud, in pixels of the viewer.
const POINT_UI: f32 = 1.5;

/// Kinds of messages that are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Image,
    Points,
    Boxes,
    Frames,
    Odometry,
    Wheels,
    World,
}

impl Kind {
    /// The kind of a topic by its message type; `None` if it is not shown.
    pub(super) fn of(topic: &Topic) -> Option<Self> {
        match topic.type_name {
            Image::TYPE_NAME => Some(Self::Image),
            PointCloud2::TYPE_NAME => Some(Self::Points),
            Detection2DArray::TYPE_NAME => Some(Self::Boxes),
            TFMessage::TYPE_NAME => Some(Self::Frames),
            Odometry::TYPE_NAME => Some(Self::Odometry),
            WheelStates::TYPE_NAME => Some(Self::Wheels),
            WorldState::TYPE_NAME => Some(Self::World),
            _ => None,
        }
    }
}

/// Logs the axes and the frame of the whole file.
pub(super) fn begin(stream: &RecordingStream) -> Result<(), String> {
    stream.log_static("/", &rerun::ViewCoordinates::RIGHT_HAND_Z_UP()).map_err(reported)?;
    stream.log_static("/", &CoordinateFrame::new(MAP)).map_err(reported)
}

/// Logs a message, or returns why it cannot be shown.
pub(super) fn show(stream: &RecordingStream, ground: &mut Ground, arrived: &QueuedMessage) -> Result<(), String> {
    let path = arrived.topic.as_ref();
    match arrived.kind {
        Kind::Image => image::show(stream, path, &read(arrived)?),
        Kind::Points => points(stream, path, &read(arrived)?),
        Kind::Boxes => boxes(stream, path, &read(arrived)?),
        Kind::Frames => frames(stream, path, &read(arrived)?),
        Kind::Odometry => odometry(stream, path, &read(arrived)?),
        Kind::Wheels => wheels(stream, path, &read(arrived)?),
        Kind::World => ground.take(stream, arrived.stamp, &read(arrived)?),
    }
}

fn read<M: Message>(arrived: &QueuedMessage) -> Result<M, String> {
    decode(&arrived.message).map_err(|error| error.to_string())
}

/// An error of Rerun as text.
pub(super) fn reported(error: rerun::RecordingStreamError) -> String {
    error.to_string()
}

/// Logs a cloud in the frame of its sensor, without the points that are not finite.
fn points(stream: &RecordingStream, path: &str, cloud: &PointCloud2) -> Result<(), String> {
    let positions_m = positions_m(cloud).ok_or("a cloud without x, y and z as 32-bit floats")?;
    let points = Points3D::new(positions_m).with_radii([Radius::new_ui_points(POINT_UI)]);
    stream.log(path, &CoordinateFrame::new(cloud.header.frame_id.as_str())).map_err(reported)?;
    stream.log(path, &points).map_err(reported)
}

fn positions_m(cloud: &PointCloud2) -> Option<Vec<[f32; 3]>> {
    let offset = |name: &str| {
        let field = cloud.fields.iter().find(|field| field.name == name && field.datatype == FLOAT32)?;
        Some(field.offset as usize)
    };
    let offsets = [offset("x")?, offset("y")?, offset("z")?];
    let step = (cloud.point_step as usize).max(1);
    let number = |point: &[u8], offset: usize| Some(f32::from_le_bytes(*point.get(offset..)?.first_chunk()?));
    let position = |point: &[u8]| {
        let [x, y, z] = offsets.map(|offset| number(point, offset));
        Some([x?, y?, z?])
    };
    let all: Option<Vec<_>> = cloud.data.chunks_exact(step).map(position).collect();
    Some(all?.into_iter().filter(|position| position.iter().all(|m| m.is_finite())).collect())
}

/// Logs boxes of an image, px, below the camera's `image_raw`.
fn boxes(stream: &RecordingStream, path: &str, array: &Detection2DArray) -> Result<(), String> {
    let centre = |at: &selene_ros::vision_msgs::Point2D| [at.x as f32, at.y as f32];
    let centres = array.detections.iter().map(|of| centre(&of.bbox.center.position));
    let sizes = array.detections.iter().map(|of| [of.bbox.size_x as f32, of.bbox.size_y as f32]);
    let label = |of: &selene_ros::vision_msgs::Detection2D| {
        of.results.first().map_or_else(|| "unknown".to_owned(), |result| result.hypothesis.class_id.clone())
    };
    let shown = Boxes2D::from_centers_and_sizes(centres, sizes).with_labels(array.detections.iter().map(label));
    stream.log(in_image(path), &shown).map_err(reported)
}

/// The entity of a camera's boxes, below its image so that a view of the image shows them:
/// `/navcam/image_raw/detections`.
fn in_image(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((camera, name)) => format!("{camera}/image_raw/{name}"),
        None => path.to_owned(),
    }
}

/// Logs each frame relative to its parent, as an entity of its own: Rerun connects frames by their names.
fn frames(stream: &RecordingStream, path: &str, message: &TFMessage) -> Result<(), String> {
    message.transforms.iter().try_for_each(|of| {
        let entity = format!("{path}/{}", of.child_frame_id);
        let shown = transform(of);
        // Frames of /tf_static are valid from the beginning.
        let is_static = path.ends_with("tf_static");
        stream.log_with_static(entity, is_static, &shown).map_err(reported)
    })
}

fn transform(of: &TransformStamped) -> Transform3D {
    let (to, turn) = (&of.transform.translation, &of.transform.rotation);
    let rotation = Quaternion::from_xyzw([turn.x, turn.y, turn.z, turn.w].map(|part| part as f32));
    Transform3D::from_translation_rotation([to.x, to.y, to.z].map(|m| m as f32), rotation)
        .with_child_frame(of.child_frame_id.as_str())
        .with_parent_frame(of.header.frame_id.as_str())
}

fn odometry(stream: &RecordingStream, path: &str, odometry: &Odometry) -> Result<(), String> {
    let speed_m_s = from_vector(&odometry.twist.twist.linear).norm();
    plot(stream, &format!("{path}/speed_m_s"), speed_m_s)
}

/// Logs the wheels' quantities, grouped by quantity.
fn wheels(stream: &RecordingStream, path: &str, message: &WheelStates) -> Result<(), String> {
    message.wheels.iter().try_for_each(|wheel| {
        [("slip", wheel.slip_ratio), ("sinkage_m", wheel.sinkage), ("torque_n_m", wheel.drive_torque)]
            .into_iter()
            .try_for_each(|(quantity, value)| plot(stream, &format!("{path}/{quantity}/{}", wheel.name), value))
    })
}

fn plot(stream: &RecordingStream, path: &str, value: f64) -> Result<(), String> {
    stream.log(path, &Scalars::new([value])).map_err(reported)
}

#[cfg(test)]
mod tests {
    use super::{Kind, in_image, positions_m};
    use selene_ros::sensor_msgs::{Image, PointCloud2, PointField};
    use selene_ros::{Qos, Topic, std_msgs};

    #[test]
    fn kinds_follow_from_the_types_of_messages() {
        let image = Topic::new::<Image>("/x", Qos::reliable()).expect("a topic");
        let number = Topic::new::<std_msgs::Float64>("/x", Qos::reliable()).expect("a topic");
        assert_eq!([Kind::of(&image), Kind::of(&number)], [Some(Kind::Image), None]);
        assert_eq!(in_image("/viper/navcam/detections"), "/viper/navcam/image_raw/detections");
    }

    #[test]
    fn points_that_are_nowhere_are_left_out_and_other_clouds_refused() {
        let field = |name: &str, offset| PointField { name: name.to_owned(), offset, datatype: 7, count: 1 };
        let values = [1.0, 2.0, 3.0, f32::NAN, 0.0, 0.0];
        let mut cloud = PointCloud2 {
            fields: vec![field("x", 0), field("y", 4), field("z", 8)],
            point_step: 12,
            data: values.into_iter().flat_map(f32::to_le_bytes).collect(),
            ..PointCloud2::default()
        };
        assert_eq!(positions_m(&cloud), Some(vec![[1.0, 2.0, 3.0]]));
        cloud.fields.pop();
        assert_eq!(positions_m(&cloud), None);
    }
}
