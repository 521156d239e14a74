//! Measures a wheel: how far the shapes of its link, and of links fixed to it, reach around and along its axle.
//! Collision shapes count where there are any, else visual ones.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use nalgebra::{Point3, Unit, Vector3};
use selene_base::Pose;

use crate::shape::{Joint, Link, Shape};

/// Points on each end of a cylinder.
const RING: usize = 64;
/// How much the two widths across the axle of something round may differ, as a share.
const ROUND: f64 = 0.1;

/// Extent of shapes around an axle through their link's origin, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) radius_m: f64,
    /// Ends along the axis.
    pub(super) along_m: [f64; 2],
    /// Whether it is as wide as it is high, and no box.
    pub(super) is_round: bool,
}

impl Extent {
    pub(super) fn width_m(&self) -> f64 {
        self.along_m[1] - self.along_m[0]
    }

    pub(super) fn middle_m(&self) -> f64 {
        0.5 * (self.along_m[0] + self.along_m[1])
    }

    /// Extent of a link around `axis`; none where it has no shape.
    pub(super) fn of(link: usize, axis: &Unit<Vector3<f64>>, links: &[Link], joints: &[Joint]) -> Option<Self> {
        let parts = fixed_to(link, joints);
        let collisions: Vec<_> = parts
            .iter()
            .flat_map(|(part, pose)| {
                links[*part].collisions.iter().map(move |of| (pose * of.link_from_shape, &of.shape))
            })
            .collect();
        let seen = || {
            let of_part = |(part, pose): (&usize, &Pose)| {
                let pose = *pose;
                links[*part].visuals.iter().map(move |of| (pose * of.link_from_shape, &of.shape))
            };
            parts.iter().flat_map(of_part).collect::<Vec<_>>()
        };
        let shapes = if collisions.is_empty() { seen() } else { collisions };
        shapes.into_iter().map(|(pose, shape)| Self::of_shape(shape, &pose, axis)).reduce(Self::joined)
    }

    fn of_shape(shape: &Shape, pose: &Pose, axis: &Unit<Vector3<f64>>) -> Self {
        if let Shape::Sphere { radius_m } = shape {
            let centre = pose.translation.vector;
            let along = centre.dot(axis);
            let off_m = (centre - axis.into_inner() * along).norm();
            return Self { radius_m: off_m + radius_m, along_m: [along - radius_m, along + radius_m], is_round: true };
        }
        let points: Vec<_> = points(shape).into_iter().map(|point| (pose * Point3::from(point)).coords).collect();
        let range = |direction: &Vector3<f64>| {
            let reaches = points.iter().map(|point| point.dot(direction));
            reaches.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| [low.min(at), high.max(at)])
        };
        let across = axis.cross(&least_along(axis)).normalize();
        let widths_m = [across, axis.cross(&across)].map(|direction| range(&direction)).map(|[low, high]| high - low);
        let off_m = |point: &Vector3<f64>| (point - axis.into_inner() * point.dot(axis)).norm();
        Self {
            radius_m: points.iter().map(off_m).fold(0.0, f64::max),
            along_m: range(axis),
            is_round: !matches!(shape, Shape::Box { .. })
                && (widths_m[0] - widths_m[1]).abs() <= ROUND * widths_m[0].max(widths_m[1]),
        }
    }

    fn joined(self, other: Self) -> Self {
        let ([low, high], [other_low, other_high]) = (self.along_m, other.along_m);
        Self {
            radius_m: self.radius_m.max(other.radius_m),
            along_m: [low.min(other_low), high.max(other_high)],
            is_round: self.is_round || other.is_round,
        }
    }
}

/// A link and those that are fixed to it, in tree order, with their poses in it.
fn fixed_to(link: usize, joints: &[Joint]) -> BTreeMap<usize, Pose> {
    let mut parts = BTreeMap::from([(link, Pose::identity())]);
    // Joints are in tree order: parents come first.
    for joint in joints.iter().filter(|joint| !joint.moves()) {
        if let Some(pose) = parts.get(&joint.parent).copied() {
            parts.insert(joint.child, pose * joint.parent_from_child_at_zero);
        }
    }
    parts
}

/// The frame's axis along which a direction has its smallest component.
fn least_along(direction: &Vector3<f64>) -> Vector3<f64> {
    let mut axis = Vector3::zeros();
    axis[direction.abs().imin()] = 1.0;
    axis
}

/// Points that a shape lies within, in its own frame.
fn points(shape: &Shape) -> Vec<Vector3<f64>> {
    match shape {
        Shape::Box { size_m } => {
            let side = |corner: usize, axis: usize| if corner >> axis & 1 == 0 { -0.5 } else { 0.5 };
            let corner = |corner| Vector3::from_fn(|axis, _| side(corner, axis) * size_m[axis]);
            (0..8).map(corner).collect()
        }
        Shape::Cylinder { radius_m, length_m } => {
            let point = |end: f64, i: usize| {
                let (sin, cos) = (TAU * i as f64 / RING as f64).sin_cos();
                Vector3::new(radius_m * cos, radius_m * sin, 0.5 * end * length_m)
            };
            (0..RING).flat_map(|i| [point(-1.0, i), point(1.0, i)]).collect()
        }
        // The caller handles spheres.
        Shape::Sphere { radius_m } => vec![Vector3::x() * *radius_m],
        Shape::Mesh { vertices, .. } => vertices.iter().map(|vertex| Vector3::from(*vertex).cast()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::Extent;
    use crate::shape::Shape;
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;
    use std::f64::consts::FRAC_PI_2;

    fn about_y(shape: &Shape, at: Vector3<f64>, roll_rad: f64) -> Extent {
        let turn = UnitQuaternion::from_euler_angles(roll_rad, 0.0, 0.0);
        Extent::of_shape(shape, &Pose::from_parts(at.into(), turn), &Vector3::y_axis())
    }

    #[test]
    fn a_cylinder_on_its_axle_is_round_and_one_across_is_not() {
        let tyre = Shape::Cylinder { radius_m: 0.2, length_m: 0.05 };
        let lying = about_y(&tyre, Vector3::new(0.0, 0.1, 0.0), FRAC_PI_2);
        assert!((lying.radius_m - 0.2).abs() < 1e-12 && (lying.width_m() - 0.05).abs() < 1e-12, "{lying:?}");
        assert!((lying.middle_m() - 0.1).abs() < 1e-12 && lying.is_round, "{lying:?}");
        assert!(!about_y(&tyre, Vector3::zeros(), 0.0).is_round);
    }

    #[test]
    fn a_box_is_never_round_and_a_ball_always_is() {
        let cube = about_y(&Shape::Box { size_m: [0.2; 3] }, Vector3::zeros(), 0.0);
        assert!(!cube.is_round && (cube.radius_m - 0.1 * 2.0_f64.sqrt()).abs() < 1e-12, "{cube:?}");
        let ball = about_y(&Shape::Sphere { radius_m: 0.1 }, Vector3::new(0.0, 0.3, 0.4), 0.0);
        assert!(ball.is_round && (ball.radius_m - 0.5).abs() < 1e-12 && (ball.along_m[0] - 0.2).abs() < 1e-12);
    }
}
