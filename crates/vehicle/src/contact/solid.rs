//! Convex shapes and the points where two of them touch. A wheel is a cylinder whose edges
//! are rounded by a tenth of its size: while it is no deeper than that in a rock, the normal
//! is that of the nearest points and turns smoothly as the wheel rolls over an edge. It
//! touches at its two rims, each by itself, and at the barrel between them where that is
//! deeper than either rim: a line contact has two end points, a stone under the middle has
//! one point, and the transition between the two is continuous.
//! Other shapes touch at the corners of their shared face.

use nalgebra::{Isometry3, Point3, UnitQuaternion, Vector3};
use parry3d_f64::math::{Pose as ParryPose, Rotation, Vector as ParryVector};
use parry3d_f64::query::ContactManifold;
use parry3d_f64::query::details::{contact_manifold_pfm_pfm, contact_support_map_support_map_with_params};
use parry3d_f64::query::gjk::{GJKResult, VoronoiSimplex};
use parry3d_f64::shape::{
    ConvexPolyhedron, Cuboid, Cylinder, PackedFeatureId, PolygonalFeature, PolygonalFeatureMap, SupportMap,
};
use selene_base::Pose;
use selene_terrain::RockShape;

use super::law::ContactPoint;
use crate::shape::Shape;

/// Rounding of a wheel's edges, share of the smaller of radius and half width.
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

    /// Distance of its farthest point from its origin.
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

/// Narrow phase: the points where two solids touch.
#[derive(Debug, Default)]
pub(crate) struct NarrowPhase {
    manifold: ContactManifold<(), ()>,
    pub(crate) touches: Vec<ContactPoint>,
}

impl NarrowPhase {
    /// Finds the points where `first` overlaps `second`. Returns whether there are any.
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
        // No warm start, so that the result depends only on the poses.
        self.manifold.local_n1 = ParryVector::ZERO;
        let first_from_second = parry_pose(&world_from_first.inv_mul(world_from_second));
        if let Solid::Wheel { core, rounding_m, .. } = first.solid {
            self.wheel(core, *rounding_m, world_from_first, second, &first_from_second);
            return !self.touches.is_empty();
        }
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
        self.drop_the_nearest_points();
        let normal = self.manifold.local_n1;
        for contact in std::mem::take(&mut self.manifold.points).iter().filter(|contact| contact.dist < 0.0) {
            self.add(world_from_first, contact.local_p1 + 0.5 * contact.dist * normal, normal, -contact.dist);
        }
        !self.touches.is_empty()
    }

    /// Contacts of a wheel's rims, and of its barrel where that is deeper than both.
    fn wheel(&mut self, core: &Cylinder, rounding_m: f64, wheel: &Pose, second: Scaled, wheel_from_second: &ParryPose) {
        let rounding_m = rounding_m + second.solid.rounding_m() * second.scale;
        let rim = Cylinder::new(0.0, core.radius);
        let mut deepest_m: f64 = 0.0;
        for side in [-core.half_height, core.half_height] {
            let offset = ParryVector::new(0.0, side, 0.0);
            let rim_from_second = wheel_from_second.append_translation(-offset);
            if let Some((point, normal, depth_m)) = overlap(&rim, &second, &rim_from_second, rounding_m) {
                deepest_m = deepest_m.max(depth_m);
                self.add(wheel, point + offset, normal, depth_m);
            }
        }
        if let Some((point, normal, depth_m)) = overlap(core, &second, wheel_from_second, rounding_m)
            && depth_m > deepest_m
        {
            self.add(wheel, point, normal, depth_m - deepest_m);
        }
    }

    /// Adds a touch given in the first solid's frame; the normal points out of that solid.
    fn add(&mut self, world_from_first: &Pose, point: ParryVector, normal: ParryVector, depth_m: f64) {
        let point_m = (world_from_first * Point3::from(vector(point))).coords;
        self.touches.push(ContactPoint { point_m, normal: world_from_first.rotation * -vector(normal), depth_m });
    }

    /// Parry adds the pair of nearest points to those of the shared face. Beside others it
    /// would count one of them twice, and another one as soon as the bodies tilt.
    fn drop_the_nearest_points(&mut self) {
        let points = &mut self.manifold.points;
        let is_nearest = points.last().is_some_and(|last| last.fid1 == PackedFeatureId::UNKNOWN);
        let [others @ .., _] = points.as_slice() else { return };
        if is_nearest && others.iter().any(|other| other.dist < 0.0) {
            points.pop();
        }
    }
}

/// Where two support maps, both rounded by `rounding_m` together, overlap most: the point
/// midway and the normal out of the first in its frame, and the depth.
fn overlap(
    first: &impl SupportMap,
    second: &Scaled,
    first_from_second: &ParryPose,
    rounding_m: f64,
) -> Option<(ParryVector, ParryVector, f64)> {
    let mut simplex = VoronoiSimplex::new();
    let nearest =
        contact_support_map_support_map_with_params(first_from_second, first, second, rounding_m, &mut simplex, None);
    let GJKResult::ClosestPoints(on_first, on_second, normal) = nearest else { return None };
    let depth_m = rounding_m - (on_second - on_first).dot(normal);
    (depth_m > 0.0).then(|| (0.5 * (on_first + on_second + rounding_m * normal), normal, depth_m))
}

fn vector(v: ParryVector) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}

fn parry_pose(pose: &Isometry3<f64>) -> ParryPose {
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    ParryPose::from_parts(ParryVector::new(t.x, t.y, t.z), Rotation::from_xyzw(q.x, q.y, q.z, q.w))
}
