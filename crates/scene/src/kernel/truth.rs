//! Ground truth at the centre of a pixel in the middle of its row's exposure: the same ray that gives the pixel's depth
//! and class.

use nalgebra::Vector3;

use super::FAR;
use super::chance::pixel_seed;
use super::motion::turned;
use super::sunlight::sunlight;
use super::surface::{SENSOR_MIP, surface_at, trace_nearest};
use super::trace::{camera_ray, row_middle};
use crate::record::{CameraRecord, Records, TruthRecord};

/// Ground truth of what the pixel at (`column`, `row`) sees; all zero where it sees nothing.
#[must_use]
pub fn truth_pixel(records: &Records<'_>, camera: &CameraRecord, column: u32, row: u32) -> TruthRecord {
    let records = &Records { shutter: row_middle(camera, row), ..*records };
    let ray = camera_ray(camera, records.shutter, column as f32, row as f32);
    if ray.direction == Vector3::zeros() {
        return TruthRecord::NOTHING;
    }
    let hit = trace_nearest(records, &ray, SENSOR_MIP);
    if hit.t >= FAR {
        return TruthRecord::NOTHING;
    }
    let surface = surface_at(records, &ray, &hit);
    let seed = pixel_seed(camera.seed, column, row);
    TruthRecord {
        normal: in_optical(camera, records.shutter, &surface.normal).into(),
        albedo: records.materials[surface.material as usize].albedo,
        sun_share: sunlight(records, &surface, camera.sun_samples, seed).share,
        pad: [0; 3],
    }
}

/// Transforms a direction from the scene's frame to the optical frame.
fn in_optical(camera: &CameraRecord, share: f32, direction: &Vector3<f32>) -> Vector3<f32> {
    let rows = &camera.world_from_optical;
    let d = if camera.moves == 0 {
        *direction
    } else {
        turned(direction, camera.motion.axis, -share * camera.motion.angle)
    };
    let along = |axis: usize| rows[0][axis] * d.x + rows[1][axis] * d.y + rows[2][axis] * d.z;
    Vector3::new(along(0), along(1), along(2))
}
