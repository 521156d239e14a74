//! Poses as they are asked for: in a frame that the simulator knows.

use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, frames};
use selene_coherence::from_vector;
use selene_ros::geometry_msgs;

use crate::node::Node;

/// How far the norm of an attitude may be from one.
const NORM_TOLERANCE: f64 = 1e-2;
/// What the default frame is called in `simulation_interfaces`.
const WORLD: &str = "world";

/// Where a frame is on the map: `map`, `world` or none, a rover's `odom` or root link, or an entity by its name.
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

/// A pose in a frame, on the map.
pub(super) fn on_map(node: &Node, frame_id: &str, asked: &geometry_msgs::Pose) -> Result<Pose, String> {
    Ok(frame(node, frame_id)? * pose(asked)?)
}

/// A velocity that is seen from a frame, in the map's axes.
pub(super) fn twist_on_map(node: &Node, frame_id: &str, asked: &geometry_msgs::Twist) -> Result<Twist, String> {
    let turn = frame(node, frame_id)?.rotation;
    Ok(Twist { linear: turn * from_vector(&asked.linear), angular: turn * from_vector(&asked.angular) })
}

/// What there is to say of a pose where something stands that was to be at another: of what is set down on the
/// ground x, y and heading count.
pub(super) fn note(asked: &Pose, stands: &Pose) -> String {
    let is_near =
        (asked.translation.z - stands.translation.z).abs() < 1e-2 && asked.rotation.angle_to(&stands.rotation) < 1e-2;
    if is_near {
        return String::new();
    }
    format!("it stands on the ground, at z = {:.3} m: of the pose x, y and heading count", stands.translation.z)
}

fn pose(asked: &geometry_msgs::Pose) -> Result<Pose, String> {
    let geometry_msgs::Pose { position: at, orientation: q } = asked;
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

    fn asked(w: f64, x: f64) -> geometry_msgs::Pose {
        let position = geometry_msgs::Point { x, y: 2.0, z: 3.0 };
        geometry_msgs::Pose { position, orientation: geometry_msgs::Quaternion { x: 0.0, y: 0.0, z: 0.0, w } }
    }

    #[test]
    fn a_pose_is_finite_and_its_attitude_a_turn() {
        let read = pose(&asked(0.995, 1.0)).expect("near enough");
        assert_eq!((read.translation.x, read.rotation.angle()), (1.0, 0.0));
        for (w, x, part) in [
            (0.0, 1.0, "norm 0"),
            (f64::NAN, 1.0, "norm NaN"),
            (2.0, 1.0, "norm 2"),
            (1.0, f64::INFINITY, "(inf, 2, 3)"),
        ] {
            let told = pose(&asked(w, x)).expect_err("no pose");
            assert!(told.contains(part), "{part} is not in: {told}");
        }
    }

    #[test]
    fn what_stands_where_it_was_asked_for_needs_no_note() {
        let at = Pose::translation(1.0, 2.0, 0.5);
        assert!(note(&at, &at).is_empty());
        assert!(note(&at, &Pose::translation(1.0, 2.0, -0.25)).contains("z = -0.250 m"));
    }
}
