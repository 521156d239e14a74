//! What a camera pixel and a lidar beam see: the nearest surface, and for the
//! pixel the Sun's light on it if nothing stands between. The Sun is a point here;
//! its disc is a later refinement. Light scattered by other ground is one small
//! constant irradiance.

use std::f32::consts::PI;

use nalgebra::Vector3;

use super::bvh::{any_instance, trace_instances, triangle_normal};
use super::heights::{ground_normal, trace_heights};
use super::{FAR, GROUND, Hit, Ray, hapke};
use crate::record::{BeamRecord, CameraRecord, MaterialRecord, PixelRecord, Records, ReturnRecord};

/// Pyramid level where camera and lidar rays start: they leave from above ground.
const SENSOR_MIP: u32 = 7;

/// Pyramid level where shadow rays start: they leave from the ground.
const SHADOW_MIP: u32 = 0;

/// Viewer's least cosine: an interpolated normal may look away from a viewer who
/// still sees the surface.
const GRAZING_COS: f32 = 0.01;

/// The code of a hit on the ground: `Class::Ground`, instance 0.
const GROUND_CODE: u32 = 1;

/// A point on a surface.
struct Surface {
    point: Vector3<f32>,
    /// Unit, toward the side the ray came from.
    normal: Vector3<f32>,
    /// How far from the surface a shadow ray starts, m: above rounding and above
    /// the bulge of a cell under its interpolated normal.
    clearance: f32,
    material: u32,
    code: u32,
}

/// What the pixel at (`column`, `row`) sees.
#[must_use]
pub fn camera_pixel(records: &Records<'_>, camera: &CameraRecord, column: u32, row: u32) -> PixelRecord {
    let ray = camera_ray(camera, column, row);
    let hit = trace_nearest(records, &ray);
    if hit.t >= FAR {
        return PixelRecord { radiance: 0.0, depth: FAR, code: 0 };
    }
    let surface = surface_at(records, &ray, &hit);
    PixelRecord { radiance: shade(records, &ray, &surface), depth: hit.t, code: surface.code }
}

/// What a beam meets.
#[must_use]
pub fn beam_return(records: &Records<'_>, beam: &BeamRecord) -> ReturnRecord {
    let ray = Ray { origin: Vector3::from(beam.origin), direction: Vector3::from(beam.direction) };
    let hit = trace_nearest(records, &ray);
    if hit.t >= FAR {
        return ReturnRecord { range: FAR, cos_incidence: 0.0, reflectance: 0.0, code: 0 };
    }
    let surface = surface_at(records, &ray, &hit);
    ReturnRecord {
        range: hit.t,
        cos_incidence: (-surface.normal.dot(&ray.direction)).clamp(0.0, 1.0),
        reflectance: records.materials[surface.material as usize].albedo,
        code: surface.code,
    }
}

/// The ray through a pixel's centre, one metre along the optical axis a unit of t.
fn camera_ray(camera: &CameraRecord, column: u32, row: u32) -> Ray {
    let x = (column as f32 - camera.principal[0]) * camera.inverse_focal[0];
    let y = (row as f32 - camera.principal[1]) * camera.inverse_focal[1];
    let rows = &camera.world_from_optical;
    let along = |r: &[f32; 4]| r[0] * x + r[1] * y + r[2];
    Ray {
        origin: Vector3::new(rows[0][3], rows[1][3], rows[2][3]),
        direction: Vector3::new(along(&rows[0]), along(&rows[1]), along(&rows[2])),
    }
}

fn trace_nearest(records: &Records<'_>, ray: &Ray) -> Hit {
    let (t, level) = trace_heights(records, ray, FAR, SENSOR_MIP);
    trace_instances(records, ray, Hit { t, instance: GROUND, part: level })
}

fn surface_at(records: &Records<'_>, ray: &Ray, hit: &Hit) -> Surface {
    let point = ray.origin + ray.direction * hit.t;
    let rounding = 1e-4 + 1e-6 * (point.x.abs() + point.y.abs() + point.z.abs());
    if hit.instance == GROUND {
        let level = &records.levels[hit.part as usize];
        let normal = ground_normal(records, level, point.x, point.y);
        let clearance = rounding + 2e-3 * level.spacing;
        return Surface { point, normal, clearance, material: 0, code: GROUND_CODE };
    }
    let instance = &records.instances[hit.instance as usize];
    let outward = triangle_normal(records, hit.instance, hit.part);
    let normal = if outward.dot(&ray.direction) > 0.0 { -outward } else { outward };
    Surface { point, normal, clearance: rounding, material: instance.material, code: instance.code }
}

/// Radiance of a surface toward the ray's origin, W/(m² sr).
fn shade(records: &Records<'_>, ray: &Ray, surface: &Surface) -> f32 {
    let material = &records.materials[surface.material as usize];
    let globals = &records.globals;
    let ambient = material.albedo / PI * globals.ambient_irradiance;
    let sun = Vector3::from(globals.sun_direction);
    if surface.normal.dot(&sun) <= 0.0 || in_shadow(records, surface, sun) {
        return ambient;
    }
    let viewer = -ray.direction.normalize();
    ambient + globals.sun_irradiance * reflect(material, &surface.normal, &sun, &viewer)
}

fn in_shadow(records: &Records<'_>, surface: &Surface, sun: Vector3<f32>) -> bool {
    let ray = Ray { origin: surface.point + surface.normal * surface.clearance, direction: sun };
    trace_heights(records, &ray, FAR, SHADOW_MIP).0 < FAR || any_instance(records, &ray, FAR)
}

/// Radiance per irradiance of a source `sun`-ward, 1/sr.
fn reflect(material: &MaterialRecord, normal: &Vector3<f32>, sun: &Vector3<f32>, viewer: &Vector3<f32>) -> f32 {
    if material.kind == 0 {
        return material.albedo / PI * normal.dot(sun);
    }
    let turned_away = (GRAZING_COS - normal.dot(viewer)).max(0.0);
    hapke::reflected(material, normal, sun, &(viewer + normal * turned_away).normalize())
}
