//! What a camera pixel and a lidar beam see: the nearest surface, and for the pixel the light on it: from the Sun's
//! disc, from the Earth (left out in full sunlight, which is more than a thousand times as bright), from lamps and from
//! other surfaces. With several samples per pixel the light is their mean, each with its own position in the pixel and
//! its own instant of the exposure; depth, class and scattered light are those of the pixel's centre at the middle of
//! its row's exposure.

use nalgebra::Vector3;

use super::chance::{pixel_seed, scramble, stratified_in_three, unit};
use super::detail::detailed;
use super::earthlight::earthlight;
use super::lamp::lamps_on;
use super::lens::lens_direction;
use super::motion::turned;
use super::scatter::{rays_of_pixel, scattered};
use super::sky::sky_radiance;
use super::sunlight::sunlight;
use super::surface::{SENSOR_MIP, Surface, reflect, surface_at, trace_nearest};
use super::{Bands, FAR, Hit, Ray, SUN_BAND};
use crate::record::{BeamRecord, CameraRecord, PixelRecord, Records, ReturnRecord};

/// Index of the first random number that shifts a pixel's samples; light uses those before.
pub(crate) const SHIFT_NUMBER: u32 = 4096;

/// Difference between the seeds of two samples.
pub(crate) const SEED_STEP: u32 = 0x9e37_79b9;

/// What a camera ray has met.
#[derive(Clone, Copy, Debug)]
pub struct CameraHit {
    /// Ray parameter, in units of the direction's length.
    pub t: f32,
    /// Unit vector back along the ray.
    pub viewer: Vector3<f32>,
    /// The surface with its detail.
    pub surface: Surface,
}

impl CameraHit {
    /// The surface that the camera's ray has met at `hit`; none where the ray met nothing.
    #[must_use]
    pub fn of(records: &Records<'_>, camera: &CameraRecord, ray: &Ray, hit: &Hit) -> Option<Self> {
        if hit.t >= FAR {
            return None;
        }
        let surface = detailed(records, camera, &ray.direction, hit, surface_at(records, ray, hit));
        Some(Self { t: hit.t, viewer: -ray.direction.normalize(), surface })
    }
}

/// What the pixel at (`column`, `row`) sees. The ray through its centre gives depth and class; with several samples per
/// pixel, separate rays give the light.
#[must_use]
pub fn camera_pixel(records: &Records<'_>, camera: &CameraRecord, column: u32, row: u32) -> PixelRecord {
    let middle = row_middle(camera, row);
    let records = &at_share(records, camera, middle);
    let ray = camera_ray(camera, middle, column as f32, row as f32);
    if ray.direction == Vector3::zeros() {
        return PixelRecord::NOTHING;
    }
    let hit = trace_nearest(records, &ray, SENSOR_MIP);
    let sight = CameraHit::of(records, camera, &ray, &hit);
    pixel_of(records, camera, [column, row], sight.as_ref())
}

/// The pixel whose central ray has met `sight`.
#[must_use]
pub fn pixel_of(
    records: &Records<'_>,
    camera: &CameraRecord,
    [column, row]: [u32; 2],
    sight: Option<&CameraHit>,
) -> PixelRecord {
    let seed = pixel_seed(camera.seed, column, row);
    let radiance = if camera.samples > 1 {
        sampled(records, camera, [column, row], seed)
    } else {
        arriving(records, camera, [column, row], sight, seed)
    };
    let Some(sight) = sight else { return PixelRecord { radiance: radiance.into(), ..PixelRecord::NOTHING } };
    let scattered = scattered_at(records, camera, [column, row], sight).into();
    PixelRecord { radiance: radiance.into(), depth: sight.t, code: sight.surface.code, scattered }
}

/// Light that other surfaces scatter onto what a pixel sees and from there toward the camera, W/(m² sr).
pub(crate) fn scattered_at(
    records: &Records<'_>,
    camera: &CameraRecord,
    [column, row]: [u32; 2],
    sight: &CameraHit,
) -> Bands {
    let rays = rays_of_pixel(camera.bounce_rays, column, row);
    let seed = pixel_seed(camera.seed, column, row);
    scattered(records, camera, &sight.surface, &sight.viewer, [rays, seed])
}

/// Mean radiance of a pixel's samples, W/(m² sr).
fn sampled(records: &Records<'_>, camera: &CameraRecord, [column, row]: [u32; 2], seed: u32) -> Bands {
    let middle = row_middle(camera, row);
    let mut sum = Bands::zeros();
    for index in 1..=camera.samples {
        let [x, y, share] = sample(camera, middle, seed, index - 1);
        let records = &at_share(records, camera, share);
        let ray = camera_ray(camera, share, column as f32 + x, row as f32 + y);
        if ray.direction == Vector3::zeros() {
            continue;
        }
        let hit = trace_nearest(records, &ray, SENSOR_MIP);
        let sight = CameraHit::of(records, camera, &ray, &hit);
        let seed = scramble(seed ^ index.wrapping_mul(SEED_STEP));
        sum += arriving(records, camera, [column, row], sight.as_ref(), seed);
    }
    sum / camera.samples as f32
}

/// Radiance along one ray, W/(m² sr), from the surface that it has met or from the sky.
fn arriving(
    records: &Records<'_>,
    camera: &CameraRecord,
    [column, row]: [u32; 2],
    sight: Option<&CameraHit>,
    seed: u32,
) -> Bands {
    match sight {
        Some(CameraHit { viewer, surface, .. }) => lit(records, camera, surface, viewer, seed),
        None => sky_radiance(records, camera, column, row),
    }
}

/// The records with the time set to a share of the span.
#[must_use]
pub fn at_share<'a>(records: &Records<'a>, camera: &CameraRecord, share: f32) -> Records<'a> {
    if camera.moves == 0 { *records } else { Records { shutter: share, ..*records } }
}

/// A sample's offset from the pixel's centre, pixels, and its share of the time span.
fn sample(camera: &CameraRecord, middle: f32, seed: u32, index: u32) -> [f32; 3] {
    let shift = [0, 1, 2].map(|i| unit(seed, SHIFT_NUMBER + i));
    let [x, y, time] = stratified_in_three(index, camera.samples, shift);
    [x - 0.5, y - 0.5, middle + camera.exposure_share * (time - 0.5)]
}

/// Share of the time span at the middle of a row's exposure; 0 where nothing moves.
#[must_use]
pub fn row_middle(camera: &CameraRecord, row: u32) -> f32 {
    0.5 * camera.exposure_share + camera.row_share * row as f32
}

/// What a beam meets, at the beam's share of the time span.
#[must_use]
pub fn beam_return(records: &Records<'_>, beam: &BeamRecord) -> ReturnRecord {
    let at_share;
    let records = if records.motions.is_empty() {
        records
    } else {
        at_share = Records { shutter: beam.share, ..*records };
        &at_share
    };
    let ray = Ray { origin: Vector3::from(beam.origin), direction: Vector3::from(beam.direction) };
    let hit = trace_nearest(records, &ray, SENSOR_MIP);
    let surface = (hit.t < FAR).then(|| surface_at(records, &ray, &hit));
    returned(records, &ray, &hit, surface.as_ref())
}

/// The return of a beam that has met `hit` on a surface, if any.
pub(crate) fn returned(records: &Records<'_>, ray: &Ray, hit: &Hit, surface: Option<&Surface>) -> ReturnRecord {
    let Some(surface) = surface else {
        return ReturnRecord { range: FAR, cos_incidence: 0.0, reflectance: 0.0, code: 0 };
    };
    ReturnRecord {
        range: hit.t,
        cos_incidence: (-surface.normal.dot(&ray.direction)).clamp(0.0, 1.0),
        reflectance: records.materials[surface.material as usize].albedo,
        code: surface.code,
    }
}

/// The ray through an image position at a share of the time span; its t equals the depth.
#[must_use]
pub fn camera_ray(camera: &CameraRecord, share: f32, column: f32, row: f32) -> Ray {
    let rows = &camera.world_from_optical;
    let origin = Vector3::new(rows[0][3], rows[1][3], rows[2][3]);
    Ray {
        origin: if camera.moves == 0 { origin } else { origin + Vector3::from(camera.motion.shift) * share },
        direction: camera_direction(camera, share, column, row),
    }
}

/// Direction through an image position at a share of the time span, scene's frame, with the length that
/// `lens_direction` gives.
#[must_use]
pub fn camera_direction(camera: &CameraRecord, share: f32, column: f32, row: f32) -> Vector3<f32> {
    let d = lens_direction(camera, column, row);
    let along = |r: &[f32; 4]| r[0] * d.x + r[1] * d.y + r[2] * d.z;
    let rows = &camera.world_from_optical;
    let direction = Vector3::new(along(&rows[0]), along(&rows[1]), along(&rows[2]));
    if camera.moves == 0 {
        return direction;
    }
    turned(&direction, camera.motion.axis, share * camera.motion.angle)
}

/// Radiance toward the viewer from direct light of Sun, Earth and lamps, W/(m² sr).
fn lit(records: &Records<'_>, camera: &CameraRecord, surface: &Surface, viewer: &Vector3<f32>, seed: u32) -> Bands {
    let globals = &records.globals;
    let sun = sunlight(records, surface, camera.sun_samples, seed);
    let mut radiance = Bands::zeros();
    if sun.share > 0.0 {
        let irradiance = SUN_BAND * sun.share * globals.sun_irradiance;
        radiance = reflect(records, surface, &sun.direction, viewer) * irradiance;
    }
    if sun.share < 1.0 {
        radiance += earthlight(records, surface, viewer, [camera.earth_samples, seed]);
    }
    if records.lamps.is_empty() {
        return radiance;
    }
    radiance + lamps_on(records, surface, viewer, [camera.sun_samples, seed], sun.share)
}
