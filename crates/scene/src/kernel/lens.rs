//! The viewing direction of an image position, by the camera's lens: the inverse of `crate::lens` in `f32`. Polynomials
//! are inverted by Newton steps, first along the radius within a bracket, then in the plane for the tangential part.
//! Directions have a component of 1 along the axis for perspective lenses and length 1 for others; outside the field of
//! view they are zero.

use std::f32::consts::{FRAC_PI_2, PI};

use nalgebra::Vector3;

use crate::record::CameraRecord;

/// Lens models in `CameraRecord::lens`; any other number is the panorama.
pub(crate) const PINHOLE: u32 = 0;
pub(crate) const POLYNOMIALS: u32 = 1;
pub(crate) const FIELD_OF_VIEW: u32 = 2;
pub(crate) const EQUIDISTANT: u32 = 3;
pub(crate) const STEREOGRAPHIC: u32 = 4;

/// Most Newton steps along the radius; usually four are enough.
pub(crate) const RADIAL_STEPS: u32 = 24;

/// Newton steps in the plane: each squares the remaining error of the tangential part, which begins at about a
/// hundredth.
pub(crate) const PLANE_STEPS: u32 = 3;

/// Newton steps along the radius stop below this step.
pub(crate) const LAST_STEP: f32 = 1e-7;

/// Direction in the optical frame through an image position, pixels; zero outside the field of view.
#[must_use]
pub fn lens_direction(camera: &CameraRecord, column: f32, row: f32) -> Vector3<f32> {
    let x = (column - camera.principal[0]) * camera.inverse_focal[0];
    let y = (row - camera.principal[1]) * camera.inverse_focal[1];
    match camera.lens {
        PINHOLE => ahead(camera, x, y),
        POLYNOMIALS => without_polynomials(camera, x, y),
        FIELD_OF_VIEW => without_field_of_view(camera, x, y),
        EQUIDISTANT | STEREOGRAPHIC => fisheye(camera, x, y),
        _ => panorama(x, y),
    }
}

/// Direction from the tangents of its angles to the axis.
fn ahead(camera: &CameraRecord, x: f32, y: f32) -> Vector3<f32> {
    let seen = x * x + y * y <= camera.reach * camera.reach;
    if seen { Vector3::new(x, y, 1.0) } else { Vector3::zeros() }
}

fn without_polynomials(camera: &CameraRecord, x: f32, y: f32) -> Vector3<f32> {
    let radius = (x * x + y * y).sqrt();
    let edge = radial(camera, camera.reach)[0];
    let r = radial_inverse(camera, if radius < edge { radius } else { edge });
    let along = if radius > 0.0 { r / radius } else { 0.0 };
    let [mut u, mut v] = [x * along, y * along];
    let [p1, p2] = [camera.coefficients[0][3], camera.coefficients[1][3]];
    for _ in 0..PLANE_STEPS {
        let u2 = u * u + v * v;
        let [factor, slope] = factor(camera, u2);
        let miss_x = x - (u * factor + 2.0 * p1 * u * v + p2 * (u2 + 2.0 * u * u));
        let miss_y = y - (v * factor + p1 * (u2 + 2.0 * v * v) + 2.0 * p2 * u * v);
        let across = 2.0 * (u * v * slope + p1 * u + p2 * v);
        let along_x = factor + 2.0 * u * u * slope + 2.0 * p1 * v + 6.0 * p2 * u;
        let along_y = factor + 2.0 * v * v * slope + 6.0 * p1 * v + 2.0 * p2 * u;
        let inverse = 1.0 / (along_x * along_y - across * across);
        u += (along_y * miss_x - across * miss_y) * inverse;
        v += (along_x * miss_y - across * miss_x) * inverse;
    }
    ahead(camera, u, v)
}

/// Inverts the field-of-view model: tan θ = a tan(r/a).
fn without_field_of_view(camera: &CameraRecord, x: f32, y: f32) -> Vector3<f32> {
    let scale = camera.coefficients[0][0];
    let radius = (x * x + y * y).sqrt();
    if radius >= scale * FRAC_PI_2 {
        return Vector3::zeros();
    }
    let along = if radius > 0.0 { scale * (radius / scale).tan() / radius } else { 1.0 };
    ahead(camera, x * along, y * along)
}

fn fisheye(camera: &CameraRecord, x: f32, y: f32) -> Vector3<f32> {
    let radius = (x * x + y * y).sqrt();
    if camera.lens == EQUIDISTANT && radius > radial(camera, camera.reach)[0] {
        return Vector3::zeros();
    }
    let theta = if camera.lens == EQUIDISTANT { radial_inverse(camera, radius) } else { 2.0 * (0.5 * radius).atan() };
    if theta > camera.reach {
        return Vector3::zeros();
    }
    let along = if radius > 0.0 { theta.sin() / radius } else { 0.0 };
    Vector3::new(x * along, y * along, theta.cos())
}

/// Direction from longitude and latitude, rad; rows grow downward.
fn panorama(x: f32, y: f32) -> Vector3<f32> {
    if x.abs() > PI || y.abs() > FRAC_PI_2 {
        return Vector3::zeros();
    }
    Vector3::new(x.sin() * y.cos(), y.sin(), x.cos() * y.cos())
}

/// The radial factor at u = r² and its derivative with respect to u.
fn factor(camera: &CameraRecord, u: f32) -> [f32; 2] {
    let [a, b] = &camera.coefficients;
    let above = 1.0 + u * (a[0] + u * (a[1] + u * a[2]));
    let below = 1.0 + u * (b[0] + u * (b[1] + u * b[2]));
    let factor = above / below;
    let above_slope = a[0] + u * (2.0 * a[1] + u * 3.0 * a[2]);
    let below_slope = b[0] + u * (2.0 * b[1] + u * 3.0 * b[2]);
    [factor, (above_slope - factor * below_slope) / below]
}

/// Image radius in focal lengths at `r` (tan θ, or θ for fisheyes), and its derivative.
fn radial(camera: &CameraRecord, r: f32) -> [f32; 2] {
    let u = r * r;
    if camera.lens == POLYNOMIALS {
        let [factor, slope] = factor(camera, u);
        return [r * factor, factor + 2.0 * u * slope];
    }
    let k = &camera.coefficients[0];
    [
        r * (1.0 + u * (k[0] + u * (k[1] + u * (k[2] + u * k[3])))),
        1.0 + u * (3.0 * k[0] + u * (5.0 * k[1] + u * (7.0 * k[2] + u * 9.0 * k[3]))),
    ]
}

/// The `r` (tan θ, or θ for fisheyes) that has an image radius.
fn radial_inverse(camera: &CameraRecord, radius: f32) -> f32 {
    let [mut low, mut high] = [0.0, camera.reach];
    let mut at = if radius < high { radius } else { high };
    for _ in 0..RADIAL_STEPS {
        let [there, slope] = radial(camera, at);
        if there > radius {
            high = at;
        } else {
            low = at;
        }
        let step = at + (radius - there) / slope;
        let next = if step > low && step < high { step } else { 0.5 * (low + high) };
        let moved = (next - at).abs();
        at = next;
        if moved <= LAST_STEP * at {
            break;
        }
    }
    at
}
