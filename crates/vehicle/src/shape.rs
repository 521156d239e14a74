//! Plain data of a rover's tree: links with inertia, looks and contact shapes, and
//! joints between them. Names, frames and units are those of URDF (metres, radians,
//! kilograms); every transform says its direction.

use nalgebra::{Matrix3, Unit, Vector3};
use selene_base::Pose;

/// One link: a frame that may have mass and looks.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name, also the frame's name in TF.
    pub name: String,
    /// Mass and inertia; a link without them is a frame only.
    pub inertial: Option<Inertial>,
    /// Shapes that cameras and lidars see.
    pub visuals: Vec<Visual>,
    /// Shapes that touch ground and rocks; a wheel's tread is not among them.
    pub collisions: Vec<Collision>,
    /// Index of the joint it hangs from; `None` for the root.
    pub joint: Option<usize>,
}

/// Mass and inertia of a link.
#[derive(Clone, Copy, Debug)]
pub struct Inertial {
    /// Centre of mass and the axes that the inertia is given in.
    pub link_from_com: Pose,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Inertia about the centre of mass in those axes, kg m².
    pub inertia_kg_m2: Matrix3<f64>,
}

/// One visible shape of a link.
#[derive(Clone, Debug)]
pub struct Visual {
    /// Where the shape's own frame lies.
    pub link_from_shape: Pose,
    /// The shape.
    pub shape: Shape,
    /// Name of the material, empty when it has none.
    pub material: String,
    /// Colour, each 0…1; opaque light grey when the URDF gives none.
    pub rgba: [f64; 4],
}

/// One shape of a link that ground and rocks meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Collision {
    /// Where the shape's own frame lies.
    pub link_from_shape: Pose,
    /// The shape.
    pub shape: Shape,
}

/// A shape, centred on its frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A box by its full edges, m.
    Box {
        /// Edges along x, y, z, m.
        size_m: [f64; 3],
    },
    /// A cylinder along z.
    Cylinder {
        /// Radius, m.
        radius_m: f64,
        /// Length along z, m.
        length_m: f64,
    },
    /// A sphere.
    Sphere {
        /// Radius, m.
        radius_m: f64,
    },
    /// Triangles of a mesh file.
    Mesh {
        /// Corner positions, scaled, m.
        vertices: Vec<[f32; 3]>,
        /// Corners of each triangle.
        triangles: Vec<[u32; 3]>,
    },
}

/// How a joint moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Not at all.
    Fixed,
    /// About its axis, within limits.
    Revolute,
    /// About its axis, without end.
    Continuous,
    /// Along its axis, within limits.
    Prismatic,
}

/// A joint between two links.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Name.
    pub name: String,
    /// Its line in the URDF, from 1; 0 where it is not from there.
    pub line: u32,
    /// How it moves.
    pub kind: JointKind,
    /// Index of the parent link.
    pub parent: usize,
    /// Index of the child link.
    pub child: usize,
    /// The child's frame when the joint is at zero.
    pub parent_from_child_at_zero: Pose,
    /// Axis in the child's frame.
    pub axis: Unit<Vector3<f64>>,
    /// Lower and upper limit (rad or m), for revolute and prismatic joints. They
    /// are reported, not enforced: a suspension's spring is its stop.
    pub limits: Option<[f64; 2]>,
    /// Largest torque or force (N m or N) that the URDF states; reported, not enforced.
    pub effort_max: Option<f64>,
    /// Largest speed (rad/s or m/s) that the URDF states; reported, not enforced.
    pub speed_max: Option<f64>,
    /// The joint whose position determines its own, if there is one.
    pub mimic: Option<Mimic>,
}

/// A joint that follows another: `position = multiplier · leader's position + offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct Mimic {
    /// The leader's name.
    pub joint: String,
    /// Position for one unit of the leader's.
    pub multiplier: f64,
    /// Position where the leader stands at zero, rad or m.
    pub offset: f64,
}

impl Joint {
    /// Whether it has a degree of freedom.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.kind != JointKind::Fixed
    }
}

impl Shape {
    /// Distance of its farthest point from its frame's origin, m.
    #[must_use]
    pub fn reach_m(&self) -> f64 {
        match self {
            Self::Box { size_m } => 0.5 * Vector3::from(*size_m).norm(),
            Self::Cylinder { radius_m, length_m } => radius_m.hypot(0.5 * length_m),
            Self::Sphere { radius_m } => *radius_m,
            Self::Mesh { vertices, .. } => {
                vertices.iter().map(|v| Vector3::from(*v).cast::<f64>().norm()).fold(0.0, f64::max)
            }
        }
    }
}
