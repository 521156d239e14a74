//! Drums as the points had them at the end of the last exchange. Bodies move by wrenches between two exchanges, and not
//! quite along the twists that the points were stepped with. A shell would so jump over soil beside it: here it goes on
//! from where it was left, by the little more that brings it to where its body will be.

use nalgebra::Isometry3;
use selene_crm::{Body, Drum, Point, Shape};
use serde::{Deserialize, Serialize};

/// The farthest that a drum goes in an exchange, over its radius.
const JUMP: f64 = 0.5;

/// The drums of a window, in the order of its bodies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shells {
    left: Vec<Left>,
}

/// A drum and where it was left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Left {
    number: u64,
    drum: Drum,
    /// In the grid's frame, m.
    pose: Isometry3<f64>,
}

impl Shells {
    /// Those of `bodies` (with their numbers, in the grid's frame) after `elapsed_s` along their twists.
    pub(crate) fn left_by<'a>(bodies: impl Iterator<Item = (u64, &'a Body)>, elapsed_s: f64) -> Self {
        let left = |(number, body): (u64, &Body)| match body.shape {
            Shape::Drum(drum) => Some(Left { number, drum, pose: body.moved(elapsed_s).pose }),
            _ => None,
        };
        Self { left: bodies.filter_map(left).collect() }
    }

    /// A body of the next `duration_s`, in the grid's frame: from where it was left to where its twist brings it.
    pub(crate) fn taken_up(&self, number: u64, body: Body, duration_s: f64) -> Body {
        let Some(left) = self.find(number) else { return body };
        let end = body.moved(duration_s).pose;
        let way = end.translation.vector - left.pose.translation.vector;
        // It was set down elsewhere: its soil stays where it was.
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

    /// Mass of the points in the cylinder that a drum fills, kg.
    pub(crate) fn load_kg(&self, number: u64, points: &[Point]) -> Option<f64> {
        let Left { drum, pose, .. } = self.find(number)?;
        let is_in = |point: &&Point| drum.holds(&pose.inverse_transform_point(&point.position_m.into()).coords);
        Some(points.iter().filter(is_in).map(Point::mass_kg).sum())
    }

    /// Whether a file's poses are numbers.
    pub(crate) fn are_sound(&self) -> bool {
        let numbers = |left: &Left| left.pose.to_homogeneous().iter().all(|number| number.is_finite());
        self.left.iter().all(numbers)
    }

    fn find(&self, number: u64) -> Option<&Left> {
        self.left.iter().find(|left| left.number == number)
    }
}
