//! Conversion of poses and vectors to ROS messages and back.

use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_ros::geometry_msgs;

/// A vector as a message.
#[must_use]
pub fn to_vector(v: &Vector3<f64>) -> geometry_msgs::Vector3 {
    geometry_msgs::Vector3 { x: v.x, y: v.y, z: v.z }
}

/// A vector from a message.
#[must_use]
pub fn from_vector(v: &geometry_msgs::Vector3) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}

/// A position as a message.
#[must_use]
pub fn to_point(v: &Vector3<f64>) -> geometry_msgs::Point {
    geometry_msgs::Point { x: v.x, y: v.y, z: v.z }
}

/// An attitude as a message.
#[must_use]
pub fn to_quaternion(q: &UnitQuaternion<f64>) -> geometry_msgs::Quaternion {
    geometry_msgs::Quaternion { x: q.i, y: q.j, z: q.k, w: q.w }
}

/// A pose as a message.
#[must_use]
pub fn to_pose(p: &Pose) -> geometry_msgs::Pose {
    geometry_msgs::Pose { position: to_point(&p.translation.vector), orientation: to_quaternion(&p.rotation) }
}

/// A pose from a message. The attitude is kept bit for bit, so that nodes in other processes see exactly the pose that
/// was sent.
#[must_use]
pub fn pose(p: &geometry_msgs::Pose) -> Pose {
    let q = &p.orientation;
    let rotation = UnitQuaternion::new_unchecked(Quaternion::new(q.w, q.x, q.y, q.z));
    Pose::from_parts(Translation3::new(p.position.x, p.position.y, p.position.z), rotation)
}

/// A pose as a transform message.
#[must_use]
pub fn transform(p: &Pose) -> geometry_msgs::Transform {
    geometry_msgs::Transform { translation: to_vector(&p.translation.vector), rotation: to_quaternion(&p.rotation) }
}
