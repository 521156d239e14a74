//! Poses of drums in the granular soil at the end of the last exchange. Between two exchanges bodies move by wrenches,
//! not exactly along the twists with which the points were stepped, so a shell placed at its body would jump over soil
//! beside it. Here each shell continues from its last pose, with a twist that brings it to its body's next pose.

use nalgebra::Isometry3;
use selene_crm::{Body, BodyShape, Drum, PlacedDrum};
use serde::{Deserialize, Serialize};

/// Longest distance that a drum moves in an exchange, over its radius.
const JUMP: f64 = 0.5;

/// The drums of a window, in the order of its bodies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shells {
    left: Vec<TrackedDrum>,
}

/// A drum and its last pose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TrackedDrum {
    number: u64,
    drum: Drum,
    /// Pose of the drum at the end of the last exchange, grid's frame, m.
    pose: Isometry3<f64>,
}

impl TrackedDrum {
    fn placed(&self) -> PlacedDrum {
        PlacedDrum { drum: self.drum, pose: self.pose }
    }
}

impl Shells {
    /// The drums among `bodies` (with their numbers, in the grid's frame) after `elapsed_s` along their twists.
    pub(crate) fn left_by<'a>(bodies: impl Iterator<Item = (u64, &'a Body)>, elapsed_s: f64) -> Self {
        let left = |(number, body): (u64, &Body)| match body.shape {
            BodyShape::Drum(drum) => Some(TrackedDrum { number, drum, pose: body.moved(elapsed_s).pose }),
            _ => None,
        };
        Self { left: bodies.filter_map(left).collect() }
    }

    /// A body for the next `duration_s`, in the grid's frame: it starts at the drum's last pose and moves to the pose
    /// that its own twist leads to.
    pub(crate) fn taken_up(&self, number: u64, body: Body, duration_s: f64) -> Body {
        let Some(left) = self.find(number) else { return body };
        let end = body.moved(duration_s).pose;
        let way = end.translation.vector - left.pose.translation.vector;
        // The drum was set down elsewhere: its soil stays where it was.
        if way.norm() > JUMP * left.drum.radius_m {
            return body;
        }
        Body {
            pose: left.pose,
            velocity_m_s: way / duration_s,
            angular_velocity_rad_s: (end.rotation * left.pose.rotation.inverse()).scaled_axis() / duration_s,
            ..body
        }
    }

    /// Numbers of the drums.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.left.iter().map(|left| left.number)
    }

    /// All drums at their last poses.
    pub(crate) fn placed(&self) -> Vec<PlacedDrum> {
        self.left.iter().map(TrackedDrum::placed).collect()
    }

    /// The drum with this number at its last pose.
    pub(crate) fn placed_drum(&self, number: u64) -> Option<PlacedDrum> {
        self.find(number).map(TrackedDrum::placed)
    }

    /// Whether all poses, which a file may hold, are finite.
    pub(crate) fn are_sound(&self) -> bool {
        let numbers = |left: &TrackedDrum| left.pose.to_homogeneous().iter().all(|number| number.is_finite());
        self.left.iter().all(numbers)
    }

    fn find(&self, number: u64) -> Option<&TrackedDrum> {
        self.left.iter().find(|left| left.number == number)
    }
}
