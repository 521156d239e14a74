//! Rigid shapes in their own frame: solids as signed distances (exact outside, negative inside), and shells.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

use crate::drum::Drum;
use crate::wheel::Wheel;

/// A shape about the origin of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum BodyShape {
    /// A ball.
    Sphere {
        /// Its radius, m.
        radius_m: f64,
    },
    /// A box.
    Cuboid {
        /// Half of its sides, m.
        half_m: [f64; 3],
    },
    /// A cylinder along z.
    Cylinder {
        /// Its radius, m.
        radius_m: f64,
        /// Half of its length, m.
        half_length_m: f64,
    },
    /// A wheel with grousers, its axle along z.
    Wheel(Wheel),
    /// A bucket drum along z: a thin shell that can hold soil.
    Drum(Drum),
}

impl BodyShape {
    /// Half sizes, m; each must be above zero.
    pub(crate) fn sizes_m(&self) -> [f64; 3] {
        match *self {
            Self::Sphere { radius_m } => [radius_m; 3],
            Self::Cuboid { half_m } => half_m,
            Self::Cylinder { radius_m, half_length_m } | Self::Drum(Drum { radius_m, half_length_m, .. }) => {
                [radius_m, radius_m, half_length_m]
            }
            Self::Wheel(Wheel { rim_m, half_length_m, .. }) => [rim_m, rim_m, half_length_m],
        }
    }

    /// What is wrong with the shape beside its sizes; `None` if it is valid.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::Drum(drum) => drum.fault(),
            Self::Wheel(wheel) => wheel.fault(),
            Self::Sphere { .. } | Self::Cuboid { .. } | Self::Cylinder { .. } => None,
        }
    }

    /// Whether it is a shell, with soil on both sides of its surfaces.
    #[must_use]
    pub fn is_shell(&self) -> bool {
        matches!(self, Self::Drum(_))
    }

    /// Radius of a wheel, to the tips of its grousers, m; `None` where it is neither a cylinder nor a wheel.
    #[must_use]
    pub fn wheel_radius_m(&self) -> Option<f64> {
        match *self {
            Self::Cylinder { radius_m, .. } => Some(radius_m),
            Self::Wheel(Wheel { rim_m, height_m, .. }) => Some(rim_m + height_m),
            Self::Sphere { .. } | Self::Cuboid { .. } | Self::Drum(_) => None,
        }
    }

    /// A solid whose surface lies `by_m` further in, but no size of which is less than `least` of its own; a shell stays
    /// as it is.
    #[must_use]
    pub fn smaller(&self, by_m: f64, least: f64) -> Self {
        let less = |size_m: f64| (size_m - by_m).max(least * size_m);
        match *self {
            Self::Sphere { radius_m } => Self::Sphere { radius_m: less(radius_m) },
            Self::Cuboid { half_m } => Self::Cuboid { half_m: half_m.map(less) },
            Self::Cylinder { radius_m, half_length_m } => {
                Self::Cylinder { radius_m: less(radius_m), half_length_m: less(half_length_m) }
            }
            Self::Wheel(wheel) => Self::Wheel(Wheel {
                rim_m: less(wheel.rim_m),
                half_length_m: less(wheel.half_length_m),
                thickness_m: 2.0 * less(0.5 * wheel.thickness_m),
                ..wheel
            }),
            Self::Drum(drum) => Self::Drum(drum),
        }
    }

    /// Radius of the sphere about the origin that encloses the shape, m.
    #[must_use]
    pub fn bounding_radius_m(&self) -> f64 {
        match *self {
            Self::Sphere { radius_m } => radius_m,
            Self::Cuboid { half_m } => Vector3::from(half_m).norm(),
            Self::Cylinder { radius_m, half_length_m } | Self::Drum(Drum { radius_m, half_length_m, .. }) => {
                // Sizes are within 1e-6 to 1e4 m; `hypot` is several times slower.
                (radius_m * radius_m + half_length_m * half_length_m).sqrt()
            }
            Self::Wheel(wheel) => wheel.bounding_radius_m(),
        }
    }

    /// Distance of `at` (in the shape's frame, m) from the shape's surface, and the outward unit normal there; `None`
    /// for a shell, which has no inside.
    #[must_use]
    pub fn distance(&self, at: &Vector3<f64>) -> Option<(f64, Vector3<f64>)> {
        Some(match *self {
            Self::Sphere { radius_m } => (at.norm() - radius_m, unit_or_up(*at)),
            Self::Cuboid { half_m } => distance_to_box(at, half_m),
            Self::Cylinder { radius_m, half_length_m } => distance_to_cylinder(at, radius_m, half_length_m),
            Self::Wheel(wheel) => wheel.distance(at),
            Self::Drum(_) => return None,
        })
    }
}

pub(crate) fn distance_to_box(at: &Vector3<f64>, half_m: [f64; 3]) -> (f64, Vector3<f64>) {
    from_excess(at, at.abs() - Vector3::from(half_m))
}

pub(crate) fn distance_to_cylinder(at: &Vector3<f64>, radius_m: f64, half_length_m: f64) -> (f64, Vector3<f64>) {
    let across = at.xy().norm();
    let radial = unit_or_up(Vector3::new(at.x, at.y, 0.0));
    let excess = Vector3::new(across - radius_m, f64::NEG_INFINITY, at.z.abs() - half_length_m);
    let (distance, normal) = from_excess(&Vector3::new(across, 0.0, at.z), excess);
    (distance, radial * normal.x + Vector3::z() * normal.z)
}

/// Distance and normal from the distances, m, by which `at` is beyond each pair of faces.
fn from_excess(at: &Vector3<f64>, excess: Vector3<f64>) -> (f64, Vector3<f64>) {
    if excess.max() > 0.0 {
        let outside = excess.sup(&Vector3::zeros());
        let normal = outside.zip_map(at, |length, side| length * side.signum());
        return (outside.norm(), normal.normalize());
    }
    let nearest = excess.imax();
    let mut normal = Vector3::zeros();
    normal[nearest] = at[nearest].signum();
    (excess[nearest], normal)
}

fn unit_or_up(along: Vector3<f64>) -> Vector3<f64> {
    along.try_normalize(0.0).unwrap_or_else(Vector3::z)
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::BodyShape;

    #[test]
    fn distances_are_those_to_faces_and_edges() {
        let cuboid = BodyShape::Cuboid { half_m: [1.0, 2.0, 3.0] };
        let cylinder = BodyShape::Cylinder { radius_m: 1.0, half_length_m: 2.0 };
        let ball = BodyShape::Sphere { radius_m: 2.0 };
        let diagonal = [0.5_f64.sqrt(), 0.0, 0.5_f64.sqrt()];
        for (shape, at, distance, normal) in [
            (cuboid, [0.5, 0.0, 0.0], -0.5, [1.0, 0.0, 0.0]),
            (cuboid, [2.0, 0.0, -4.0], 2.0_f64.sqrt(), [0.5_f64.sqrt(), 0.0, -(0.5_f64.sqrt())]),
            (cylinder, [0.0, -0.8, 0.0], -0.2, [0.0, -1.0, 0.0]),
            (cylinder, [0.0, 0.1, 2.5], 0.5, [0.0, 0.0, 1.0]),
            (cylinder, [2.0, 0.0, 3.0], 2.0_f64.sqrt(), diagonal),
            (ball, [0.0, 0.0, -1.0], -1.0, [0.0, 0.0, -1.0]),
        ] {
            let (found, along) = shape.distance(&Vector3::from(at)).expect("a solid");
            assert!((found - distance).abs() < 1e-12, "{shape:?} at {at:?}: {found} is not {distance}");
            assert!((along - Vector3::from(normal)).norm() < 1e-12, "{shape:?} at {at:?}: {along}");
        }
    }
}
