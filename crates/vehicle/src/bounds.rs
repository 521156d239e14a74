//! Bounding boxes of shapes, along the axes of a frame.

use nalgebra::{Point3, Vector3};
use selene_base::Pose;

use crate::object::ObjectModel;
use crate::shape::{Link, Shape};

/// A box along the axes of a frame, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Its corner of least x, y and z.
    pub low_m: Vector3<f64>,
    /// Its corner of greatest x, y and z.
    pub high_m: Vector3<f64>,
}

impl Bounds {
    /// The smallest box about points; none without any.
    #[must_use]
    pub fn of_points(points: impl IntoIterator<Item = Vector3<f64>>) -> Option<Self> {
        points.into_iter().map(|point| Self { low_m: point, high_m: point }).reduce(Self::joined)
    }

    /// A box about a frame's origin with these half edges, m.
    #[must_use]
    pub fn of_half_edges(half_m: Vector3<f64>) -> Self {
        Self { low_m: -half_m, high_m: half_m }
    }

    /// The smallest box that holds both.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self { low_m: self.low_m.inf(&other.low_m), high_m: self.high_m.sup(&other.high_m) }
    }

    /// The smallest box along the axes of another frame that holds this one.
    #[must_use]
    pub fn seen_from(&self, other_from_this: &Pose) -> Self {
        let (middle_m, half_m) = ((self.low_m + self.high_m) / 2.0, (self.high_m - self.low_m) / 2.0);
        let turned = other_from_this.rotation.to_rotation_matrix().into_inner().abs() * half_m;
        let middle_m = other_from_this * Point3::from(middle_m);
        Self { low_m: middle_m.coords - turned, high_m: middle_m.coords + turned }
    }

    /// Whether two boxes have a point in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        (0..3).all(|axis| self.low_m[axis] <= other.high_m[axis] && other.low_m[axis] <= self.high_m[axis])
    }

    /// Whether the box and a ball have a point in common.
    #[must_use]
    pub fn meets_ball(&self, middle_m: &Vector3<f64>, radius_m: f64) -> bool {
        let nearest_m = middle_m.sup(&self.low_m).inf(&self.high_m);
        (nearest_m - middle_m).norm_squared() <= radius_m * radius_m
    }
}

impl Shape {
    /// The box about it, in its own frame.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        match self {
            Self::Box { size_m } => Bounds::of_half_edges(0.5 * Vector3::from(*size_m)),
            Self::Cylinder { radius_m, length_m } => {
                Bounds::of_half_edges(Vector3::new(*radius_m, *radius_m, 0.5 * length_m))
            }
            Self::Sphere { radius_m } => Bounds::of_half_edges(Vector3::repeat(*radius_m)),
            Self::Mesh { vertices, .. } => {
                let corners = vertices.iter().map(|vertex| Vector3::from(*vertex).cast::<f64>());
                // A mesh that was read has a triangle at least.
                Bounds::of_points(corners).unwrap_or_else(|| Bounds::of_half_edges(Vector3::zeros()))
            }
        }
    }
}

impl Link {
    /// The box about all its shapes, in its own frame; none for a frame alone.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        let visuals = self.visuals.iter().map(|visual| visual.shape.bounds().seen_from(&visual.link_from_shape));
        let collisions = self.collisions.iter().map(|of| of.shape.bounds().seen_from(&of.link_from_shape));
        visuals.chain(collisions).reduce(Bounds::joined)
    }
}

impl ObjectModel {
    /// The box about all its shapes, in its own frame; none for an object without any.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        let visuals = self.visuals.iter().map(|(pose, of)| of.shape.bounds().seen_from(&(pose * of.link_from_shape)));
        let collisions =
            self.collisions.iter().map(|(pose, of)| of.shape.bounds().seen_from(&(pose * of.link_from_shape)));
        visuals.chain(collisions).reduce(Bounds::joined)
    }
}

#[cfg(test)]
mod tests {
    use super::Bounds;
    use crate::shape::Shape;
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;

    #[test]
    fn a_box_that_is_turned_takes_the_room_of_its_corners() {
        let plank = Shape::Box { size_m: [2.0, 1.0, 0.5] }.bounds();
        let turn = UnitQuaternion::from_euler_angles(0.0, 0.0, std::f64::consts::FRAC_PI_4);
        let seen = plank.seen_from(&Pose::from_parts(Vector3::new(1.0, 2.0, 3.0).into(), turn));
        // Half of (2 + 1) times the sine of 45° along x and y.
        let half_m = Vector3::new(1.5 * 0.5_f64.sqrt(), 1.5 * 0.5_f64.sqrt(), 0.25);
        assert!((seen.high_m - Vector3::new(1.0, 2.0, 3.0) - half_m).norm() < 1e-12, "{seen:?}");
        assert!((seen.low_m - Vector3::new(1.0, 2.0, 3.0) + half_m).norm() < 1e-12, "{seen:?}");
    }

    #[test]
    fn boxes_and_balls_meet_where_they_have_a_point_in_common() {
        let cube = Bounds::of_half_edges(Vector3::repeat(1.0));
        let moved = |x: f64| cube.seen_from(&Pose::translation(x, 0.0, 0.0));
        assert!(cube.meets(&moved(1.9)) && !cube.meets(&moved(2.1)));
        // The corner is √3 away.
        assert!(cube.meets_ball(&Vector3::repeat(2.0), 1.74) && !cube.meets_ball(&Vector3::repeat(2.0), 1.73));
        assert!(cube.meets_ball(&Vector3::zeros(), 0.0));
    }

    #[test]
    fn a_mesh_takes_the_room_of_its_corners() {
        let vertices = vec![[0.0, 0.0, 0.0], [1.0, 0.0, -2.0], [0.0, 3.0, 0.0]];
        let bounds = Shape::Mesh { vertices, triangles: vec![[0, 1, 2]] }.bounds();
        assert_eq!((bounds.low_m, bounds.high_m), (Vector3::new(0.0, 0.0, -2.0), Vector3::new(1.0, 3.0, 0.0)));
    }
}
