//! Poses of TF frames in `map`, from the newest transform of each frame to its parent. Transforms are not interpolated
//! in time, so everything is placed by the present pose of its frame.

use std::collections::BTreeMap;

use nalgebra::{Quaternion, Translation3, UnitQuaternion};
use selene_base::{Pose, frames};
use selene_ros::geometry_msgs;
use selene_ros::tf2_msgs::TFMessage;

/// Upper limit of frames, more than any scenario has; further frames are left out.
const FRAMES_MAX: usize = 4096;
/// Greatest number of frames between a frame and `map`; the limit also ends loops.
const DEPTH_MAX: usize = 64;
/// Quaternions with a smaller norm are invalid.
const QUATERNION_MIN: f64 = 1e-6;

/// The frames by name.
#[derive(Default)]
pub(crate) struct Tree {
    frames: BTreeMap<String, Placed>,
}

struct Placed {
    parent: String,
    parent_from_frame: Pose,
}

impl Tree {
    /// Adds the transforms of a message; those that are not finite are left out.
    pub(crate) fn take(&mut self, message: TFMessage) {
        for transform in message.transforms {
            let geometry_msgs::Transform { translation: t, rotation } = transform.transform;
            let Some(parent_from_frame) = pose([t.x, t.y, t.z], &rotation) else { continue };
            let is_taken = self.frames.len() < FRAMES_MAX || self.frames.contains_key(&transform.child_frame_id);
            if is_taken {
                let placed = Placed { parent: transform.header.frame_id, parent_from_frame };
                self.frames.insert(transform.child_frame_id, placed);
            }
        }
    }

    /// The pose of `frame` in `map`; `None` if no chain of transforms connects them.
    pub(crate) fn map_from(&self, frame: &str) -> Option<Pose> {
        let (mut map_from, mut at) = (Pose::identity(), frame);
        for _ in 0..DEPTH_MAX {
            if at == frames::MAP {
                return Some(map_from);
            }
            let placed = self.frames.get(at)?;
            map_from = placed.parent_from_frame * map_from;
            at = &placed.parent;
        }
        None
    }

    /// Each frame and its parent.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        self.frames.iter().map(|(name, placed)| (name.as_str(), placed.parent.as_str()))
    }
}

/// A pose from a position and a quaternion, if all their numbers are finite.
pub(crate) fn pose(at: [f64; 3], turned: &geometry_msgs::Quaternion) -> Option<Pose> {
    let quaternion = Quaternion::new(turned.w, turned.x, turned.y, turned.z);
    let is_finite = at.iter().chain(quaternion.coords.iter()).all(|value| value.is_finite());
    let rotation = UnitQuaternion::try_new(quaternion, QUATERNION_MIN).filter(|_| is_finite)?;
    Some(Pose::from_parts(Translation3::from(at), rotation))
}

/// The pose in a message, if all its numbers are finite.
pub(crate) fn pose_of(message: &geometry_msgs::Pose) -> Option<Pose> {
    let at = &message.position;
    pose([at.x, at.y, at.z], &message.orientation)
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use selene_base::SimTime;
    use selene_ros::geometry_msgs::{Quaternion, Transform, TransformStamped, Vector3};
    use selene_ros::std_msgs::Header;
    use selene_ros::tf2_msgs::TFMessage;

    fn reported(parent: &str, child: &str, x: f64, yaw_rad: f64) -> TFMessage {
        let (z, w) = (0.5 * yaw_rad).sin_cos();
        let transform =
            Transform { translation: Vector3 { x, y: 0.0, z: 0.0 }, rotation: Quaternion { x: 0.0, y: 0.0, z, w } };
        let header = Header::new(SimTime::ZERO, parent);
        TFMessage { transforms: vec![TransformStamped { header, child_frame_id: child.to_owned(), transform }] }
    }

    #[test]
    fn a_frame_stands_where_its_parents_put_it() {
        let mut tree = Tree::default();
        tree.take(reported("map", "base", 2.0, std::f64::consts::FRAC_PI_2));
        tree.take(reported("base", "mast", 3.0, 0.0));
        let mast = tree.map_from("mast").expect("placed").translation.vector;
        assert!((mast - nalgebra::Vector3::new(2.0, 3.0, 0.0)).norm() < 1e-12, "{mast}");
    }

    #[test]
    fn loops_loose_ends_and_no_numbers_stand_nowhere() {
        let mut tree = Tree::default();
        tree.take(reported("b", "a", 1.0, 0.0));
        tree.take(reported("a", "b", 1.0, 0.0));
        tree.take(reported("map", "c", f64::NAN, 0.0));
        assert!(["a", "c", "unknown"].iter().all(|frame| tree.map_from(frame).is_none()));
    }
}
