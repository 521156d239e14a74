//! Contact of bodies with hard ground: points sampled over a shape against the ground's height
//! and normal, with the contact law's penalty and friction. Bumps narrower than the points'
//! spacing are missed.
//!
//! A body above the ground is not checked again before it could have fallen half of its
//! clearance.

use nalgebra::{Point3, Vector3};
use selene_base::{Twist, Wrench};
use selene_terrain::GroundPatch;
use serde::{Deserialize, Serialize};

use super::contact_body::ContactBody;
use super::law::{ContactPoint, Grip, Law, StiffnessShare};
use crate::shape::{Collision, Shape};

/// Largest distance between neighbouring points, m.
const SPACING_M: f64 = 0.1;
/// Friction coefficient of metal on regolith.
pub(crate) const FRICTION: f64 = 0.6;

/// One body's points, in its own frame.
#[derive(Clone, Debug, Default)]
pub struct FloorPoints {
    points_m: Vec<Vector3<f64>>,
    reach_m: f64,
    friction: f64,
}

/// Contact state of a body over hard ground.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloorMemory {
    /// Friction state of each touching point, by the point's index, in order.
    grips: Vec<(u32, Grip)>,
    /// Distance that the body may move before it can touch the ground, m.
    free_m: f64,
}

/// Points that touch in a step; holds no state.
#[derive(Clone, Debug, Default)]
pub(crate) struct FloorScratch {
    touching: Vec<u32>,
    touches: Vec<ContactPoint>,
}

impl FloorPoints {
    /// A body with these points.
    #[must_use]
    pub fn new(points_m: Vec<Vector3<f64>>) -> Self {
        let reach_m = points_m.iter().map(Vector3::norm).fold(0.0, f64::max);
        Self { points_m, reach_m, friction: FRICTION }
    }

    /// Points over the shapes of a link, about 10 cm apart, with the link's own friction if it has one.
    pub(crate) fn of(collisions: &[Collision], friction: Option<f64>) -> Self {
        let of_one = |collision: &Collision| {
            let place = |point: Vector3<f64>| (collision.link_from_shape * Point3::from(point)).coords;
            shape_points(&collision.shape).into_iter().map(place).collect::<Vec<_>>()
        };
        let points = Self::new(collisions.iter().flat_map(of_one).collect());
        Self { friction: friction.unwrap_or(FRICTION), ..points }
    }

    /// Whether a body that moved for a step is still too high to touch the ground; if not, the ground must be checked.
    pub(crate) fn is_free(&self, memory: &mut FloorMemory, motion: &Twist, dt_s: f64) -> bool {
        memory.free_m -= (motion.linear.norm() + motion.angular.norm() * self.reach_m) * dt_s;
        memory.free_m > 0.0
    }

    /// Depth of the deepest of a body's points below the ground, m; zero when all are above it.
    pub(crate) fn depth_m(&self, body: &ContactBody, ground: &GroundPatch) -> f64 {
        let depth_m = |point: &Vector3<f64>| {
            let point_m = body.world_from_body * Point3::from(*point);
            ground.height_m(point_m.x, point_m.y).map_or(0.0, |height_m| height_m - point_m.z)
        };
        self.points_m.iter().map(depth_m).fold(0.0, f64::max)
    }

    /// The ground's wrench on the body about its origin; none where it does not touch.
    pub(crate) fn push(
        &self,
        memory: &mut FloorMemory,
        scratch: &mut FloorScratch,
        body: &ContactBody,
        ground: &GroundPatch,
        dt_s: f64,
    ) -> Option<Wrench> {
        memory.free_m = 0.5 * self.find(scratch, body, ground);
        let before = std::mem::take(&mut memory.grips);
        if scratch.touches.is_empty() {
            return None;
        }
        let floor = ContactBody::fixed(body.world_from_body);
        let law = Law { first: body, second: &floor, friction: self.friction, dt_s };
        let share = StiffnessShare::of(&scratch.touches);
        let mut wrench = Wrench::default();
        for (&point, touch) in scratch.touching.iter().zip(&scratch.touches) {
            let mut grip = before.iter().find(|(of, _)| *of == point).map_or_else(Grip::default, |(_, grip)| *grip);
            if let Some(push) = law.point(touch, &share, &mut grip) {
                let part = push.about(&body.origin_m());
                wrench.force += part.force;
                wrench.torque += part.torque;
            }
            memory.grips.push((point, grip));
        }
        Some(wrench)
    }

    /// Collects the touching points. Returns the smallest clearance of all points, m; zero when one touches.
    fn find(&self, scratch: &mut FloorScratch, body: &ContactBody, ground: &GroundPatch) -> f64 {
        scratch.touching.clear();
        scratch.touches.clear();
        let mut clearance_m = f64::INFINITY;
        for (index, point) in self.points_m.iter().enumerate() {
            let point_m = (body.world_from_body * Point3::from(*point)).coords;
            let Some(height_m) = ground.height_m(point_m.x, point_m.y) else { continue };
            if point_m.z >= height_m {
                clearance_m = clearance_m.min(point_m.z - height_m);
                continue;
            }
            clearance_m = 0.0;
            let normal = ground.normal(point_m.x, point_m.y).unwrap_or_else(Vector3::z);
            scratch.touching.push(index as u32);
            scratch.touches.push(ContactPoint { point_m, normal, depth_m: (height_m - point_m.z) * normal.z });
        }
        if clearance_m.is_finite() { clearance_m } else { 0.0 }
    }
}

fn shape_points(shape: &Shape) -> Vec<Vector3<f64>> {
    match shape {
        Shape::Box { size_m } => box_points(*size_m),
        Shape::Cylinder { radius_m, length_m } => {
            rings((0..=steps(*length_m)).map(|i| (*radius_m, along(*length_m, i, steps(*length_m)))))
        }
        Shape::Sphere { radius_m } => {
            let bands = steps(std::f64::consts::PI * radius_m).max(4);
            let angle = move |i: usize| std::f64::consts::PI * i as f64 / bands as f64;
            rings((0..=bands).map(move |i| (radius_m * angle(i).sin(), -radius_m * angle(i).cos())))
        }
        Shape::Mesh { vertices, .. } => vertices.iter().map(|v| Vector3::from(*v).cast()).collect(),
    }
}

fn steps(length_m: f64) -> usize {
    (length_m / SPACING_M).ceil().max(1.0) as usize
}

fn along(length_m: f64, i: usize, steps: usize) -> f64 {
    length_m * (i as f64 / steps as f64 - 0.5)
}

fn box_points(size_m: [f64; 3]) -> Vec<Vector3<f64>> {
    let [x, y, z] = size_m.map(steps);
    let is_end = |i: usize, last: usize| i == 0 || i == last;
    let is_surface = |i: usize, j: usize, k: usize| is_end(i, x) || is_end(j, y) || is_end(k, z);
    let mut points = Vec::new();
    for (i, j, k) in (0..=x).flat_map(|i| (0..=y).flat_map(move |j| (0..=z).map(move |k| (i, j, k)))) {
        if is_surface(i, j, k) {
            points.push(Vector3::new(along(size_m[0], i, x), along(size_m[1], j, y), along(size_m[2], k, z)));
        }
    }
    points
}

/// Circles about z by (radius, height).
fn rings(circles: impl Iterator<Item = (f64, f64)>) -> Vec<Vector3<f64>> {
    let ring = |(radius_m, z): (f64, f64)| {
        let count = steps(std::f64::consts::TAU * radius_m).max(8);
        (0..count).map(move |i| {
            let (sin, cos) = (std::f64::consts::TAU * i as f64 / count as f64).sin_cos();
            Vector3::new(radius_m * cos, radius_m * sin, z)
        })
    };
    circles.flat_map(ring).collect()
}
