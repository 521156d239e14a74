//! Light of Sun and lamps that reaches a surface by way of one other: rays over the hemisphere,
//! denser toward the normal as the cosine, each to a surface that may itself see a
//! random point of the Sun and of a lamp. The mean over chance is the one-bounce integral itself;
//! further bounces and scattered earthshine are left out. Facets are blurred here, or
//! few rays would find their glints. A few per cent of rays
//! find sunlit ground, so single pixels are noisy.

use std::f32::consts::{PI, TAU};

use nalgebra::Vector3;

use super::chance::{stratified, unit};
use super::lamp::any_lamp_on;
use super::sunlight::sun_point;
use super::surface::{SURFACE_MIP, Surface, across, faces_openly, reflect, surface_at, trace_nearest};
use super::{Bands, FAR, SUN_BAND};
use crate::record::Records;

/// A cosine to divide by.
pub(crate) const LEAST_COS: f32 = 1e-4;

/// Facets are this rough for scattered light.
pub(crate) const BLUR_ALPHA: f32 = 1.0;

/// First of a pixel's numbers that scattering takes; the Sun's disc takes those before.
pub(crate) const FIRST_NUMBER: u32 = 2;

/// Rays that a pixel has of those of its square of two by two: first come both
/// pixels of one diagonal, then those of the other.
#[must_use]
pub fn rays_of_pixel(rays_of_four: u32, column: u32, row: u32) -> u32 {
    let place = ((column ^ row) & 1) * 2 + (row & 1);
    (rays_of_four + 3 - place) / 4
}

/// Radiance toward `viewer` of the light that other surfaces scatter onto this
/// one, W/(m² sr), by `rays` of this pixel, each standing for 4/`rays_of_four` of the
/// light: right in the mean over the four pixels.
#[must_use]
pub fn scattered(
    records: &Records<'_>,
    surface: &Surface,
    viewer: &Vector3<f32>,
    [rays, rays_of_four]: [u32; 2],
    seed: u32,
) -> Bands {
    if rays == 0 {
        return Bands::zeros();
    }
    let shift = [unit(seed, FIRST_NUMBER), unit(seed, FIRST_NUMBER + 1)];
    let surface = &Surface { least_alpha: BLUR_ALPHA, ..*surface };
    let mut sum = Bands::zeros();
    for index in 0..rays {
        let from = cosine_direction(&surface.normal, stratified(index, rays, shift));
        let number = FIRST_NUMBER + 2 + 2 * index;
        let even = [unit(seed, number), unit(seed, number + 1)];
        let arriving = lit_radiance(records, surface, from, even);
        if arriving.sum() > 0.0 {
            let cosine = surface.normal.dot(&from).max(LEAST_COS);
            sum += arriving.component_mul(&reflect(records, surface, &from, viewer)) / cosine;
        }
    }
    sum * (PI * 4.0 / rays_of_four as f32)
}

/// Radiance that comes to a surface from the one in direction `from`, lit by the point of
/// the Sun that `even` names and by a point of a lamp.
fn lit_radiance(records: &Records<'_>, surface: &Surface, from: Vector3<f32>, even: [f32; 2]) -> Bands {
    let ray = surface.ray(from);
    let hit = trace_nearest(records, &ray, SURFACE_MIP);
    if hit.t >= FAR {
        return Bands::zeros();
    }
    let other = Surface { least_alpha: BLUR_ALPHA, ..surface_at(records, &ray, &hit) };
    let back = -from;
    let sun = sun_point(records, even);
    let mut radiance = Bands::zeros();
    if faces_openly(records, &other, sun) {
        radiance = reflect(records, &other, &sun, &back) * (SUN_BAND * records.globals.sun_irradiance);
    }
    if records.lamps.is_empty() {
        return radiance;
    }
    // Which lamp: by what the first number leaves of finer steps.
    let which = (even[0] * 4096.0).fract();
    radiance + any_lamp_on(records, &other, &back, [which, even[0], even[1]])
}

/// A direction over a surface, as often as its cosine is great.
fn cosine_direction(normal: &Vector3<f32>, even: [f32; 2]) -> Vector3<f32> {
    let [side, up] = across(normal);
    let (sin, cos) = (TAU * even[1]).sin_cos();
    let out = even[0].sqrt();
    (side * (out * cos) + up * (out * sin) + normal * (1.0 - even[0]).max(0.0).sqrt()).normalize()
}
