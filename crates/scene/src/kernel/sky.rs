//! Radiance of the sky in a pixel whose ray meets nothing: the discs of the Sun and the Earth, averaged over points of
//! the pixel, so that discs of few pixels, or less than one, keep their light. Stars are points and are added later.

use nalgebra::Vector3;

use super::surface::across;
use super::trace::camera_direction;
use super::{Bands, SUN_BAND};
use crate::record::{CameraRecord, Records};

/// Sample points along each side of a pixel.
pub(crate) const POINTS: u32 = 8;

/// Exponent α of the Sun's limb darkening.
pub(crate) const LIMB_EXPONENT: f32 = crate::light::LIMB_EXPONENT as f32;

/// Mean radiance of the sky in a pixel, in each band, W/(m² sr).
#[must_use]
pub fn sky_radiance(records: &Records<'_>, camera: &CameraRecord, column: u32, row: u32) -> Bands {
    let globals = &records.globals;
    let centre = camera_direction(camera, records.shutter, column as f32, row as f32).normalize();
    let reach = camera.pixel_reach;
    let near = |axis: [f32; 3], radius: f32| (centre - Vector3::from(axis)).norm() < radius + reach;
    if !near(globals.sun_direction, globals.sun_radius) && !near(globals.earth_direction, globals.earth_radius) {
        return Bands::zeros();
    }
    let mut sum = Bands::zeros();
    for point in 0..POINTS * POINTS {
        let along = |k: u32| (k as f32 + 0.5) / POINTS as f32 - 0.5;
        let [x, y] = [column as f32 + along(point % POINTS), row as f32 + along(point / POINTS)];
        let direction = camera_direction(camera, records.shutter, x, y);
        if direction != Vector3::zeros() {
            sum += disc_radiance(records, &direction.normalize());
        }
    }
    sum / (POINTS * POINTS) as f32
}

/// Radiance of the Earth, or of the Sun behind it, in a direction, W/(m² sr).
fn disc_radiance(records: &Records<'_>, direction: &Vector3<f32>) -> Bands {
    let globals = &records.globals;
    let earth = Vector3::from(globals.earth_direction);
    let [side, up] = across(&earth);
    let [x, y, out2] = on_disc(direction, &earth, &side, &up, globals.earth_radius);
    if out2 < 1.0 {
        let normal = side * x + up * y - earth * (1.0 - out2).sqrt();
        let lit = normal.dot(&Vector3::from(globals.sun_from_earth)).max(0.0);
        return Bands::from(globals.earth_bands) * (globals.earth_radiance * lit);
    }
    let sun = Vector3::from(globals.sun_direction);
    let [side, up] = across(&sun);
    let out2 = on_disc(direction, &sun, &side, &up, globals.sun_radius)[2];
    // 1 − out² is μ².
    let limb = if out2 < 1.0 { (1.0 - out2).powf(0.5 * LIMB_EXPONENT) } else { 0.0 };
    Bands::repeat(SUN_BAND * globals.sun_radiance * limb)
}

/// Position on a disc in units of its radius, and the squared distance from its centre; above 1 outside the disc.
fn on_disc(
    direction: &Vector3<f32>,
    axis: &Vector3<f32>,
    side: &Vector3<f32>,
    up: &Vector3<f32>,
    radius: f32,
) -> [f32; 3] {
    if radius <= 0.0 || direction.dot(axis) <= 0.0 {
        return [0.0, 0.0, 2.0];
    }
    let [x, y] = [direction.dot(side) / radius, direction.dot(up) / radius];
    [x, y, x * x + y * y]
}
