//! What a camera pixel and a lidar beam see: the nearest surface, and for the pixel
//! the light on it, from the Sun's disc, from the Earth (a point for its shadows; left
//! out in full sunlight, a thousand times its own), from lamps and scattered once.

use nalgebra::Vector3;

use super::chance::pixel_seed;
use super::detail::detailed;
use super::lamp::lamps_on;
use super::scatter::{rays_of_pixel, scattered};
use super::sky::sky_radiance;
use super::sunlight::sunlight;
use super::surface::{SENSOR_MIP, Surface, faces_openly, reflect, surface_at, trace_nearest};
use super::{Bands, FAR, Ray, SUN_BAND};
use crate::record::{BeamRecord, CameraRecord, PixelRecord, Records, ReturnRecord};

/// What the pixel at (`column`, `row`) sees.
#[must_use]
pub fn camera_pixel(records: &Records<'_>, camera: &CameraRecord, column: u32, row: u32) -> PixelRecord {
    let ray = camera_ray(camera, column, row);
    let hit = trace_nearest(records, &ray, SENSOR_MIP);
    if hit.t >= FAR {
        let radiance = sky_radiance(records, camera, column, row);
        return PixelRecord { radiance: radiance.into(), depth: FAR, scattered: [0.0; 3], code: 0 };
    }
    let surface = detailed(records, camera, &ray.direction, &hit, surface_at(records, &ray, &hit));
    let viewer = -ray.direction.normalize();
    let seed = pixel_seed(camera.seed, column, row);
    let rays = [rays_of_pixel(camera.bounce_rays, column, row), camera.bounce_rays];
    PixelRecord {
        radiance: lit(records, camera, &surface, &viewer, seed).into(),
        depth: hit.t,
        scattered: scattered(records, &surface, &viewer, rays, seed).into(),
        code: surface.code,
    }
}

/// What a beam meets.
#[must_use]
pub fn beam_return(records: &Records<'_>, beam: &BeamRecord) -> ReturnRecord {
    let ray = Ray { origin: Vector3::from(beam.origin), direction: Vector3::from(beam.direction) };
    let hit = trace_nearest(records, &ray, SENSOR_MIP);
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
    let rows = &camera.world_from_optical;
    Ray {
        origin: Vector3::new(rows[0][3], rows[1][3], rows[2][3]),
        direction: camera_direction(camera, column as f32, row as f32),
    }
}

/// The direction through a place in the image, 1 along the optical axis.
#[must_use]
pub fn camera_direction(camera: &CameraRecord, column: f32, row: f32) -> Vector3<f32> {
    let x = (column - camera.principal[0]) * camera.inverse_focal[0];
    let y = (row - camera.principal[1]) * camera.inverse_focal[1];
    let along = |r: &[f32; 4]| r[0] * x + r[1] * y + r[2];
    let rows = &camera.world_from_optical;
    Vector3::new(along(&rows[0]), along(&rows[1]), along(&rows[2]))
}

/// Radiance of the own light of Sun, Earth and lamps toward the viewer, W/(m² sr).
fn lit(records: &Records<'_>, camera: &CameraRecord, surface: &Surface, viewer: &Vector3<f32>, seed: u32) -> Bands {
    let globals = &records.globals;
    let sun = sunlight(records, surface, camera.sun_samples, seed);
    let mut radiance = Bands::zeros();
    if sun.share > 0.0 {
        let irradiance = SUN_BAND * sun.share * globals.sun_irradiance;
        radiance = reflect(records, surface, &sun.direction, viewer) * irradiance;
    }
    let earth = Vector3::from(globals.earth_direction);
    if sun.share < 1.0 && globals.earth_irradiance > 0.0 && faces_openly(records, surface, earth) {
        let irradiance = Bands::from(globals.earth_bands) * globals.earth_irradiance;
        radiance += irradiance.component_mul(&reflect(records, surface, &earth, viewer));
    }
    if records.lamps.is_empty() {
        return radiance;
    }
    radiance + lamps_on(records, surface, viewer, [camera.sun_samples, seed], sun.share)
}
