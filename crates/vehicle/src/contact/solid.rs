//! Convex shapes and where two of them touch. A wheel is a cylinder whose edges are
//! rounded by a tenth of its size: while it is no deeper than that in a rock, the normal
//! is that of the nearest points and turns smoothly as the wheel rolls over an edge.
//! Two faces, or a face and a wheel's barrel, touch at the corners of what they share.

use nalgebra::{Isometry3, Point3, UnitQuaternion, Vector3};
use parry3d_f64::math::{Pose as ParryPose, Rotation, Vector as ParryVector};
use parry3d_f64::query::ContactManifold;
use parry3d_f64::query::details::contact_manifold_pfm_pfm;
use parry3d_f64::shape::{ConvexPolyhedron, Cuboid, Cylinder, PolygonalFeature, PolygonalFeatureMap, SupportMap};
use selene_base::Pose;
use selene_terrain::RockShape;

use super::law::Touch;
use crate::shape::Shape;

/// Rounding of a wheel's edges, share of the lesser of radius and half width.
const WHEEL_ROUNDING: f64 = 0.1;

/// A convex shape about its own frame.
#[derive(Clone, Debug)]
pub(crate) enum Solid {
    /// Along y, shrunk by the rounding.
    Wheel {
        core: Cylinder,
        rounding_m: f64,
        reach_m: f64,
    },
    Box(Cuboid),
    /// Along y.
    Cylinder(Cylinder),
    Ball {
        radius_m: f64,
    },
    Hull {
        hull: ConvexPolyhedron,
        reach_m: f64,
    },
}

/// A solid at a scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled<'a> {
    pub(crate) solid: &'a Solid,
    pub(crate) scale: f64,
}

impl Solid {
    pub(crate) fn wheel(radius_m: f64, width_m: f64) -> Self {
        let rounding_m = WHEEL_ROUNDING * radius_m.min(0.5 * width_m);
        let core = Cylinder::new(0.5 * width_m - rounding_m, radius_m - rounding_m);
        Self::Wheel { core, rounding_m, reach_m: radius_m.hypot(0.5 * width_m) }
    }

    /// A link's shape, and the turn from the solid's frame to the shape's. A mesh counts as
    /// its convex hull; one that spans no volume as its bounding box.
    pub(crate) fn of_shape(shape: &Shape) -> (Self, UnitQuaternion<f64>) {
        let upright = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
        match shape {
            Shape::Box { size_m: [x, y, z] } => {
                (Self::Box(Cuboid::new(ParryVector::new(0.5 * x, 0.5 * y, 0.5 * z))), UnitQuaternion::identity())
            }
            Shape::Cylinder { radius_m, length_m } => {
                (Self::Cylinder(Cylinder::new(0.5 * length_m, *radius_m)), upright)
            }
            Shape::Sphere { radius_m } => (Self::Ball { radius_m: *radius_m }, UnitQuaternion::identity()),
            Shape::Mesh { vertices, .. } => (Self::of_corners(vertices), UnitQuaternion::identity()),
        }
    }

    fn of_corners(vertices: &[[f32; 3]]) -> Self {
        let corners: Vec<_> =
            vertices.iter().map(|&[x, y, z]| ParryVector::new(x.into(), y.into(), z.into())).collect();
        ConvexPolyhedron::from_convex_hull(&corners).map(Self::of_hull).unwrap_or_else(|| {
            let half = corners.iter().fold(ParryVector::ZERO, |most, corner| most.max(corner.abs()));
            Self::Box(Cuboid::new(half))
        })
    }

    /// A rock's shape at unit size.
    pub(crate) fn of_rock(shape: &RockShape) -> Self {
        let corners = shape.vertices.iter().map(|&[x, y, z]| ParryVector::new(x.into(), y.into(), z.into())).collect();
        ConvexPolyhedron::from_convex_mesh(corners, &shape.triangles)
            .map(Self::of_hull)
            .unwrap_or_else(|| Self::of_corners(&shape.vertices))
    }

    fn of_hull(hull: ConvexPolyhedron) -> Self {
        let reach_m = hull.points().iter().map(|p| p.length()).fold(0.0, f64::max);
        Self::Hull { hull, reach_m }
    }

    /// How far its farthest point is from its origin.
    pub(crate) fn reach_m(&self) -> f64 {
        match self {
            Self::Wheel { reach_m, .. } => *reach_m,
            Self::Box(cuboid) => cuboid.half_extents.length(),
            Self::Cylinder(cylinder) => cylinder.radius.hypot(cylinder.half_height),
            Self::Ball { radius_m } => *radius_m,
            Self::Hull { reach_m, .. } => *reach_m,
        }
    }

    fn rounding_m(&self) -> f64 {
        match self {
            Self::Wheel { rounding_m, .. } => *rounding_m,
            Self::Ball { radius_m } => *radius_m,
            Self::Box(_) | Self::Cylinder(_) | Self::Hull { .. } => 0.0,
        }
    }
}

impl SupportMap for Scaled<'_> {
    fn local_support_point(&self, dir: ParryVector) -> ParryVector {
        let unit = match self.solid {
            Solid::Wheel { core, .. } => core.local_support_point(dir),
            Solid::Box(cuboid) => cuboid.local_support_point(dir),
            Solid::Cylinder(cylinder) => cylinder.local_support_point(dir),
            Solid::Ball { .. } => ParryVector::ZERO,
            Solid::Hull { hull, .. } => hull.local_support_point(dir),
        };
        unit * self.scale
    }
}

impl PolygonalFeatureMap for Scaled<'_> {
    fn local_support_feature(&self, dir: ParryVector, feature: &mut PolygonalFeature) {
        self.local_support_feature_toward(dir, ParryVector::ZERO, feature);
    }

    fn local_support_feature_toward(&self, dir: ParryVector, hint: ParryVector, feature: &mut PolygonalFeature) {
        match self.solid {
            Solid::Wheel { core, .. } => core.local_support_feature_toward(dir, hint / self.scale, feature),
            Solid::Box(cuboid) => cuboid.local_support_feature(dir, feature),
            Solid::Cylinder(cylinder) => cylinder.local_support_feature_toward(dir, hint / self.scale, feature),
            Solid::Ball { .. } => feature.num_vertices = 1,
            Solid::Hull { hull, .. } => hull.local_support_feature(dir, feature),
        }
        feature.vertices.iter_mut().for_each(|vertex| *vertex *= self.scale);
    }
}

/// Where two solids touch.
#[derive(Debug, Default)]
pub(crate) struct Narrow {
    manifold: ContactManifold<(), ()>,
    pub(crate) touches: Vec<Touch>,
}

impl Narrow {
    /// Finds the points where `first` overlaps `second`; whether there are any.
    pub(crate) fn touch(
        &mut self,
        first: Scaled,
        world_from_first: &Pose,
        second: Scaled,
        world_from_second: &Pose,
    ) -> bool {
        self.touches.clear();
        let apart = world_from_first.translation.vector - world_from_second.translation.vector;
        let reach_m = first.solid.reach_m() * first.scale + second.solid.reach_m() * second.scale;
        if apart.norm_squared() > reach_m * reach_m {
            return false;
        }
        self.manifold.points.clear();
        // No warm start: the result depends on the poses alone.
        self.manifold.local_n1 = ParryVector::ZERO;
        let first_from_second = parry_pose(&world_from_first.inv_mul(world_from_second));
        let rounding = |scaled: &Scaled| scaled.solid.rounding_m() * scaled.scale;
        contact_manifold_pfm_pfm(
            &first_from_second,
            &first,
            rounding(&first),
            None,
            &second,
            rounding(&second),
            None,
            0.0,
            &mut self.manifold,
        );
        let normal = world_from_first.rotation * -vector(self.manifold.local_n1);
        for contact in self.manifold.points.iter().filter(|contact| contact.dist < 0.0) {
            let on_first = vector(contact.local_p1) + 0.5 * contact.dist * vector(self.manifold.local_n1);
            let point_m = (world_from_first * Point3::from(on_first)).coords;
            self.touches.push(Touch { point_m, normal, depth_m: -contact.dist });
        }
        !self.touches.is_empty()
    }
}

fn vector(v: ParryVector) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}

fn parry_pose(pose: &Isometry3<f64>) -> ParryPose {
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    ParryPose::from_parts(ParryVector::new(t.x, t.y, t.z), Rotation::from_xyzw(q.x, q.y, q.z, q.w))
}
