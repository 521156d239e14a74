//! Bodies on hard ground: points sampled over a shape against the ground's height and
//! normal, with the contact law's penalty and friction. Finer bumps than the points'
//! spacing slip between them.
//!
//! A body above the ground is not looked at again before it could have come down half
//! of its clearance.

use nalgebra::{Point3, Vector3};
use selene_base::Wrench;
use selene_terrain::Ground;

use super::body::Body;
use super::law::{Grip, Law, Share, Touch};
use crate::shape::{Collision, Shape};

/// Farthest that two neighbouring points are apart, m.
const SPACING_M: f64 = 0.1;
/// Metal on regolith.
pub(crate) const FRICTION: f64 = 0.6;

/// One body's points over the ground and what they remember.
#[derive(Clone, Debug, Default)]
pub struct Floor {
    points_m: Vec<Vector3<f64>>,
    reach_m: f64,
    grips: Vec<Grip>,
    /// The body is free for as long as it has not moved this far, m.
    free_m: f64,
    touching: Vec<usize>,
    touches: Vec<Touch>,
}

impl Floor {
    /// A body with these points, in its own frame.
    #[must_use]
    pub fn new(points_m: Vec<Vector3<f64>>) -> Self {
        let reach_m = points_m.iter().map(Vector3::norm).fold(0.0, f64::max);
        Self { grips: vec![Grip::default(); points_m.len()], points_m, reach_m, ..Self::default() }
    }

    /// The ground's wrench on the body about its origin, and whether it touches.
    pub fn push(&mut self, body: &Body, ground: &Ground, dt_s: f64) -> Option<Wrench> {
        self.free_m -= (body.linear_m_s.norm() + body.angular_rad_s.norm() * self.reach_m) * dt_s;
        if self.free_m > 0.0 {
            return None;
        }
        let clearance_m = self.find(body, ground);
        self.free_m = 0.5 * clearance_m;
        if self.touches.is_empty() {
            return None;
        }
        let floor = Body::fixed(body.world_from_body);
        let law = Law { first: body, second: &floor, friction: FRICTION, dt_s };
        let share = Share::of(&self.touches);
        let mut wrench = Wrench::default();
        for (&point, touch) in self.touching.iter().zip(&self.touches) {
            if let Some(push) = law.point(touch, &share, &mut self.grips[point]) {
                let part = push.about(&body.origin_m());
                wrench.force += part.force;
                wrench.torque += part.torque;
            }
        }
        Some(wrench)
    }

    /// Fills `touches`; the least clearance of all points, zero when one touches.
    fn find(&mut self, body: &Body, ground: &Ground) -> f64 {
        self.touching.clear();
        self.touches.clear();
        let mut clearance_m = f64::INFINITY;
        for (index, point) in self.points_m.iter().enumerate() {
            let point_m = (body.world_from_body * Point3::from(*point)).coords;
            let Some(height_m) = ground.height_m(point_m.x, point_m.y) else { continue };
            if point_m.z >= height_m {
                clearance_m = clearance_m.min(point_m.z - height_m);
                self.grips[index] = Grip::default();
                continue;
            }
            clearance_m = 0.0;
            let normal = ground.normal(point_m.x, point_m.y).unwrap_or_else(Vector3::z);
            self.touching.push(index);
            self.touches.push(Touch { point_m, normal, depth_m: (height_m - point_m.z) * normal.z });
        }
        if clearance_m.is_finite() { clearance_m } else { 0.0 }
    }

    /// What its points remember, for state hashes.
    pub fn memory(&self) -> impl Iterator<Item = f64> {
        self.grips.iter().flat_map(Grip::numbers)
    }
}

/// Points over the shapes of a link, in the link's frame, about 10 cm apart.
#[must_use]
pub fn floor_points(collisions: &[Collision]) -> Vec<Vector3<f64>> {
    let of_one = |collision: &Collision| {
        let place = |point: Vector3<f64>| (collision.link_from_shape * Point3::from(point)).coords;
        shape_points(&collision.shape).into_iter().map(place).collect::<Vec<_>>()
    };
    collisions.iter().flat_map(of_one).collect()
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
