//! Reads poses and twists of requests in any frame that the simulator knows, and converts them to the map frame.

use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, frames};
use selene_coherence::from_vector;
use selene_ros::geometry_msgs;

use crate::node::Node;

/// Maximum deviation of a quaternion's norm from 1.
const NORM_TOLERANCE: f64 = 1e-2;
/// Name of the default frame in `simulation_interfaces`.
const WORLD: &str = "world";

/// Pose of a frame on the map. It is `map`, `world` or empty, a rover's `odom` or root link, or an entity's name.
pub(super) fn frame(node: &Node, frame_id: &str) -> Result<Pose, String> {
    if ["", frames::MAP, WORLD].contains(&frame_id) {
        return Ok(Pose::identity());
    }
    let world = node.world();
    for (id, kind) in world.model().rovers() {
        let Some(rover) = world.state().rovers.get(id) else { continue };
        if frame_id == kind.setup().frame(frames::ODOM) {
            return Ok(Pose::identity());
        }
        if frame_id == kind.setup().base_frame() {
            return Ok(rover.body.world_from_base);
        }
    }
    let pose = world.entity_named(frame_id).and_then(|entity| world.pose(entity));
    pose.ok_or_else(|| {
        format!("frame '{frame_id}' is not known: map, a rover's odom or root link and names of entities are allowed")
    })
}

/// Converts a pose from a frame to the map.
pub(super) fn on_map(node: &Node, frame_id: &str, requested: &geometry_msgs::Pose) -> Result<Pose, String> {
    Ok(frame(node, frame_id)? * pose(requested)?)
}

/// Rotates a twist from a frame's axes to the map's.
pub(super) fn twist_on_map(node: &Node, frame_id: &str, requested: &geometry_msgs::Twist) -> Result<Twist, String> {
    let turn = frame(node, frame_id)?.rotation;
    Ok(Twist { linear: turn * from_vector(&requested.linear), angular: turn * from_vector(&requested.angular) })
}

/// Note for the client if an entity stands elsewhere than requested: of a pose on the ground, only x, y and heading are
/// used.
pub(super) fn note(requested: &Pose, stands: &Pose) -> String {
    let is_near = (requested.translation.z - stands.translation.z).abs() < 1e-2
        && requested.rotation.angle_to(&stands.rotation) < 1e-2;
    if is_near {
        return String::new();
    }
    format!("it stands on the ground, at z = {:.3} m: of the pose x, y and heading count", stands.translation.z)
}

fn pose(requested: &geometry_msgs::Pose) -> Result<Pose, String> {
    let geometry_msgs::Pose { position: at, orientation: q } = requested;
    let (at, q) = (Vector3::new(at.x, at.y, at.z), Quaternion::new(q.w, q.x, q.y, q.z));
    if !at.iter().all(|m| m.is_finite()) {
        return Err(format!("position ({}, {}, {}) m must be finite", at.x, at.y, at.z));
    }
    let norm = q.norm();
    let is_turn = norm.is_finite() && (norm - 1.0).abs() < NORM_TOLERANCE;
    if !is_turn {
        return Err(format!("orientation has the norm {norm}; a quaternion of norm 1 is allowed"));
    }
    Ok(Pose::from_parts(Translation3::from(at), UnitQuaternion::from_quaternion(q)))
}

#[cfg(test)]
mod tests {
    use super::{note, pose};
    use selene_base::Pose;
    use selene_ros::geometry_msgs;

    fn requested(w: f64, x: f64) -> geometry_msgs::Pose {
        let position = geometry_msgs::Point { x, y: 2.0, z: 3.0 };
        geometry_msgs::Pose { position, orientation: geometry_msgs::Quaternion { x: 0.0, y: 0.0, z: 0.0, w } }
    }

    #[test]
    fn a_pose_is_finite_and_its_attitude_a_turn() {
        let read = pose(&requested(0.995, 1.0)).expect("near enough");
        assert_eq!((read.translation.x, read.rotation.angle()), (1.0, 0.0));
        for (w, x, part) in [
            (0.0, 1.0, "norm 0"),
            (f64::NAN, 1.0, "norm NaN"),
            (2.0, 1.0, "norm 2"),
            (1.0, f64::INFINITY, "(inf, 2, 3)"),
        ] {
            let reported = pose(&requested(w, x)).expect_err("no pose");
            assert!(reported.contains(part), "{part} is not in: {reported}");
        }
    }

    #[test]
    fn what_stands_where_it_was_requested_needs_no_note() {
        let at = Pose::translation(1.0, 2.0, 0.5);
        assert!(note(&at, &at).is_empty());
        assert!(note(&at, &Pose::translation(1.0, 2.0, -0.25)).contains("z = -0.250 m"));
    }
}
