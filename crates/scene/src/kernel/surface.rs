//! Points on surfaces: position and orientation where a ray met one, what lies between it and a light, and the light it
//! reflects.

use std::f32::consts::PI;

use nalgebra::{Vector2, Vector3};

use super::bvh::{any_instance, part_normal, trace_instances};
use super::heights::{ground_normal, trace_heights};
use super::{Bands, FAR, GROUND, HAPKE, Hit, LAMBERT, Ray, hapke, principled};
use crate::real::Real;
use crate::record::{LevelRecord, MaterialRecord, Records};

/// Mip at which camera and lidar rays start, because they leave from above the ground.
pub const SENSOR_MIP: u32 = 7;

/// Mip at which rays from the ground start.
pub const SURFACE_MIP: u32 = 0;

/// Lower limit of the viewer's cosine: an interpolated normal may face away from a viewer who still sees the surface.
pub(crate) const GRAZING_COS: f32 = 0.01;

/// Code of a hit on the ground; the sky's is 0, and an instance's follows from its index.
pub(crate) const GROUND_CODE: u32 = 1;

/// A point on a surface, with its shading.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Position in the scene's frame, m.
    pub point: Vector3<f32>,
    /// Unit normal, toward the side that the ray came from.
    pub normal: Vector3<f32>,
    /// The same without detail finer than the grid.
    pub even: Vector3<f32>,
    /// Distance from the surface at which rays start, m: more than rounding and than the bulge of a cell under its
    /// interpolated normal.
    pub clearance: f32,
    /// Index of the material.
    pub material: u32,
    /// Code of the surface, as in `InstanceRecord`.
    pub code: u32,
    /// Albedo relative to the material's.
    pub shade: f32,
    /// Lower limit of the facets' roughness; 0 leaves it unchanged.
    pub least_alpha: f32,
    /// Fraction of sunlight that passes relief too fine for rays, 0…1.
    pub open: f32,
}

impl Surface {
    fn new(point: Vector3<f32>, normal: Vector3<f32>, clearance: f32, material: u32, code: u32) -> Self {
        Self { point, normal, even: normal, clearance, material, code, shade: 1.0, least_alpha: 0.0, open: 1.0 }
    }

    /// A ray that leaves the surface in a direction.
    #[must_use]
    pub fn ray(&self, direction: Vector3<f32>) -> Ray {
        Ray { origin: self.point + self.normal * self.clearance, direction }
    }
}

/// The first hit of a ray on ground or instances.
#[must_use]
pub fn trace_nearest(records: &Records<'_>, ray: &Ray, start_mip: u32) -> Hit {
    let (t, level) = trace_heights(records, ray, FAR, start_mip);
    trace_instances(records, ray, Hit { t, instance: GROUND, part: level })
}

/// The surface that a ray has hit.
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
    Surface::new(point, normal, rounding(point.into()), instance.material, instance.code)
}

/// The ground's surface at a point of a level.
pub(crate) fn on_ground(point: Vector3<f32>, normal: Vector3<f32>, level: &LevelRecord) -> Surface {
    Surface::new(point, normal, ground_clearance(point.into(), level.spacing), 0, GROUND_CODE)
}

/// Distance from the ground at which rays start, m, at a point of a level with posts `spacing` apart.
#[inline(always)]
pub(crate) fn ground_clearance<R: Real>(point: [R; 3], spacing: R) -> R {
    rounding(point) + spacing * 2e-3
}

/// Upper bound of the rounding error of a point, m.
#[inline(always)]
fn rounding<R: Real>([x, y, z]: [R; 3]) -> R {
    (x.magnitude() + y.magnitude() + z.magnitude()) * 1e-6 + 1e-4
}

/// Ray parameter at which ground hides what lies in `direction`, or `FAR`; only ground beyond `from` counts.
#[must_use]
pub fn ground_beyond(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>, from: f32) -> f32 {
    let ray = surface.ray(direction);
    let beyond = Ray { origin: ray.origin + direction * from, direction };
    trace_heights(records, &beyond, records.ground_reach - from, SURFACE_MIP).0
}

/// Whether the ground hides what lies in `direction`.
#[must_use]
pub fn ground_hides(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>) -> bool {
    ground_beyond(records, surface, direction, 0.0) < FAR
}

/// Whether an instance hides what lies in `direction`.
#[must_use]
pub fn instance_hides(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>) -> bool {
    any_instance(records, &surface.ray(direction), FAR)
}

/// Whether a surface faces `direction` and neither ground nor an instance is in between.
#[must_use]
pub fn faces_openly(records: &Records<'_>, surface: &Surface, direction: Vector3<f32>) -> bool {
    surface.normal.dot(&direction) > 0.0
        && !ground_hides(records, surface, direction)
        && !instance_hides(records, surface, direction)
}

/// Radiance toward `viewer` per irradiance of a source in direction `source`, 1/sr, in each band.
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

/// The ground's unit normal where it has this slope along x and y in addition.
pub(crate) fn tilted(n: Vector3<f32>, slope: Vector2<f32>) -> Vector3<f32> {
    Vector3::new(n.x - slope.x * n.z, n.y - slope.y * n.z, n.z).normalize()
}

/// Two unit vectors perpendicular to a unit vector: a horizontal one, and the one that points up most.
#[must_use]
pub fn across(axis: &Vector3<f32>) -> [Vector3<f32>; 2] {
    let along = if axis.z.abs() < 0.999 { Vector3::z() } else { Vector3::x() };
    let side = along.cross(axis).normalize();
    [side, axis.cross(&side)]
}
