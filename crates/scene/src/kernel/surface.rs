//! A point on a surface: where a ray met it, which way it faces, what stands between
//! it and a light, and what it sends on.

use std::f32::consts::PI;

use nalgebra::Vector3;

use super::bvh::{any_instance, part_normal, trace_instances};
use super::heights::{ground_normal, trace_heights};
use super::{Bands, FAR, GROUND, HAPKE, Hit, LAMBERT, Ray, hapke, principled};
use crate::record::{LevelRecord, MaterialRecord, Records};

/// Pyramid level where camera and lidar rays start: they leave from above ground.
pub const SENSOR_MIP: u32 = 7;

/// Pyramid level where rays start that leave from the ground.
pub const SURFACE_MIP: u32 = 0;

/// Viewer's least cosine: an interpolated normal may look away from a viewer who
/// still sees the surface.
pub(crate) const GRAZING_COS: f32 = 0.01;

/// The code of a hit on the ground; that of nothing is 0, and an instance's follows from its index.
pub(crate) const GROUND_CODE: u32 = 1;

/// A point on a surface.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Where it is, m.
    pub point: Vector3<f32>,
    /// Unit, toward the side the ray came from.
    pub normal: Vector3<f32>,
    /// How far from the surface rays start, m: above rounding and above the bulge of a
    /// cell under its interpolated normal.
    pub clearance: f32,
    /// Index of its material.
    pub material: u32,
    /// As in `InstanceRecord`.
    pub code: u32,
    /// Its albedo over its material's.
    pub shade: f32,
    /// Facets are taken at least this rough: 0 as they are.
    pub least_alpha: f32,
    /// The part of the Sun's light that relief too fine for rays lets through, 0…1.
    pub open: f32,
}

impl Surface {
    fn new(point: Vector3<f32>, normal: Vector3<f32>, clearance: f32, material: u32, code: u32) -> Self {
        Self { point, normal, clearance, material, code, shade: 1.0, least_alpha: 0.0, open: 1.0 }
    }

    /// A ray that leaves the surface.
    #[must_use]
    pub fn ray(&self, direction: Vector3<f32>) -> Ray {
        Ray { origin: self.point + self.normal * self.clearance, direction }
    }
}

/// The first thing that a ray meets.
#[must_use]
pub fn trace_nearest(records: &Records<'_>, ray: &Ray, start_mip: u32) -> Hit {
    let (t, level) = trace_heights(records, ray, FAR, start_mip);
    trace_instances(records, ray, Hit { t, instance: GROUND, part: level })
}

/// The surface that a ray has met.
#[must_use]
pub fn surface_at(records: &Records<'_>, ray: &Ray, hit: &Hit) -> Surface {
    let point = ray.origin + ray.direction * hit.t;
    if hit.instance == GROUND {
        let level = &records.levels[hit.part as usize];
        return on_ground(point, ground_normal(records, level, point.x, point.y), level);
    }
    let instance = &records.instances[hit.instance as usize];
    let outward = part_normal(records, ray, hit);
    let normal = if outward.dot(&ray.direction) > 0.0 { -outward } else { outward };
    Surface::new(point, normal, rounding(&point), instance.material, instance.code)
}

/// The ground's surface at a point of a level.
pub(crate) fn on_ground(point: Vector3<f32>, normal: Vector3<f32>, level: &LevelRecord) -> Surface {
    Surface::new(point, normal, rounding(&point) + 2e-3 * level.spacing, 0, GROUND_CODE)
}

/// More than what rounding moves a point by, m.
fn rounding(point: &Vector3<f32>) -> f32 {
    1e-4 + 1e-6 * (point.x.abs() + point.y.abs() + point.z.abs())
}

/// Where the ground stands between a surface and what lies in `direction`, or `FAR`;
/// looked for beyond `from` only.
#[must_use]
pub fn ground_beyond(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>, from: f32) -> f32 {
    let ray = surface.ray(direction);
    let beyond = Ray { origin: ray.origin + direction * from, direction };
    trace_heights(records, &beyond, records.ground_reach - from, SURFACE_MIP).0
}

/// Whether the ground stands between a surface and what lies in `direction`.
#[must_use]
pub fn ground_hides(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>) -> bool {
    ground_beyond(records, surface, direction, 0.0) < FAR
}

/// Whether an instance does.
#[must_use]
pub fn instance_hides(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>) -> bool {
    any_instance(records, &surface.ray(direction), FAR)
}

/// Whether a surface turns to `direction` and nothing at all stands between.
#[must_use]
pub fn faces_openly(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>) -> bool {
    surface.normal.dot(&direction) > 0.0
        && !ground_hides(records, surface, direction)
        && !instance_hides(records, surface, direction)
}

/// Radiance toward `viewer` per irradiance of a source in direction `source`, 1/sr, in
/// each band.
#[must_use]
pub fn reflect(records: &Records<'_>, surface: &Surface, source: &Vector3<f32>, viewer: &Vector3<f32>) -> Bands {
    let material: &MaterialRecord = &records.materials[surface.material as usize];
    let normal = &surface.normal;
    let tint = Bands::from(material.tint) * surface.shade;
    if material.kind == LAMBERT {
        return tint * (material.albedo / PI * normal.dot(source).max(0.0));
    }
    let turned_away = (GRAZING_COS - normal.dot(viewer)).max(0.0);
    let viewer = (viewer + normal * turned_away).normalize();
    if material.kind == HAPKE {
        return tint * hapke::reflected(material, normal, source, &viewer);
    }
    principled::reflected(material, normal, source, &viewer, [surface.least_alpha, surface.shade])
}

/// Two unit vectors across a unit vector: level, and as far up as can be.
#[must_use]
pub fn across(axis: &Vector3<f32>) -> [Vector3<f32>; 2] {
    let along = if axis.z.abs() < 0.999 { Vector3::z() } else { Vector3::x() };
    let side = along.cross(axis).normalize();
    [side, axis.cross(&side)]
}
