//! Scattered light: light of Sun, Earth and lamps that reaches a surface by way of others. Rays cover the hemisphere
//! with a density proportional to the cosine to the normal. Each ray leads to a surface that may itself see a random
//! point of the Sun, of the Earth and of a lamp. With more than one bounce the ray continues from there in the same
//! way, as a path. The expected value is the exact integral over all paths of up to that many bounces; longer paths
//! are left out, and so is earthlight where the Earth is a point. Facets are blurred here, or few rays would find
//! their glints. Only a few per cent of rays find sunlit ground, so single pixels are noisy.

use std::f32::consts::{PI, TAU};

use nalgebra::Vector3;

use super::chance::{stratified, unit};
use super::earthlight::any_earthlight;
use super::lamp::any_lamp_on;
use super::sunlight::sun_point;
use super::surface::{SURFACE_MIP, Surface, across, faces_openly, reflect, surface_at, trace_nearest};
use super::{Bands, FAR, SUN_BAND};
use crate::light::BOUNCES_MAX;
use crate::record::{CameraRecord, Records};

/// Lower limit of a cosine that divides.
pub(crate) const LEAST_COS: f32 = 1e-4;

/// Roughness of facets for scattered light.
pub(crate) const BLUR_ALPHA: f32 = 1.0;

/// Index of the first random number that scattering uses in a pixel; the Sun's disc uses those before.
pub(crate) const FIRST_NUMBER: u32 = 2;

/// Index of the first random number for bounces after the first in a pixel: four for each.
pub(crate) const FIRST_PATH_NUMBER: u32 = 0x2000;

/// Number of rays that a pixel gets of those of its 2 × 2 block: the two pixels of one diagonal come first, then those
/// of the other.
#[must_use]
pub fn rays_of_pixel(rays_of_four: u32, column: u32, row: u32) -> u32 {
    let place = ((column ^ row) & 1) * 2 + (row & 1);
    (rays_of_four + 3 - place) / 4
}

/// Radiance toward `viewer` of the light that other surfaces scatter onto this one, W/(m² sr), by `rays` rays of this
/// pixel. Each ray carries 4/`bounce_rays` of the light, so the mean over the four pixels is right.
#[must_use]
pub fn scattered(
    records: &Records<'_>,
    camera: &CameraRecord,
    surface: &Surface,
    viewer: &Vector3<f32>,
    [rays, seed]: [u32; 2],
) -> Bands {
    if rays == 0 {
        return Bands::zeros();
    }
    let shift = [unit(seed, FIRST_NUMBER), unit(seed, FIRST_NUMBER + 1)];
    // The mean over many pixels that images show knows no finer normals; on another device those would lead rays past
    // other edges.
    let surface = &Surface { normal: surface.even, least_alpha: BLUR_ALPHA, ..*surface };
    let mut sum = Bands::zeros();
    for index in 0..rays {
        let from = cosine_direction(&surface.normal, stratified(index, rays, shift));
        let arriving = path_radiance(records, camera, surface, from, [index, seed]);
        if arriving.sum() > 0.0 {
            let cosine = surface.normal.dot(&from).max(LEAST_COS);
            sum += arriving.component_mul(&reflect(records, surface, &from, viewer)) / cosine;
        }
    }
    sum * (PI * 4.0 / camera.bounce_rays as f32)
}

/// Radiance that reaches a surface from direction `from` along a path of as many surfaces as the camera's `bounces`,
/// W/(m² sr): the direct light on each surface, times what the surfaces before it reflect.
fn path_radiance(
    records: &Records<'_>,
    camera: &CameraRecord,
    surface: &Surface,
    mut from: Vector3<f32>,
    [index, seed]: [u32; 2],
) -> Bands {
    let mut surface = *surface;
    let mut passed = Bands::repeat(1.0);
    let mut radiance = Bands::zeros();
    let mut number = FIRST_NUMBER + 2 + 2 * index;
    for bounce in 1..=camera.bounces {
        let ray = surface.ray(from);
        let hit = trace_nearest(records, &ray, SURFACE_MIP);
        if hit.t >= FAR {
            break;
        }
        let other = Surface { least_alpha: BLUR_ALPHA, ..surface_at(records, &ray, &hit) };
        let back = -from;
        let even = [unit(seed, number), unit(seed, number + 1)];
        radiance += passed.component_mul(&own_light(records, camera, &other, &back, even));
        if bounce == camera.bounces {
            break;
        }
        number = FIRST_PATH_NUMBER + 4 * (index * BOUNCES_MAX + bounce);
        from = cosine_direction(&other.normal, [unit(seed, number + 2), unit(seed, number + 3)]);
        let cosine = other.normal.dot(&from).max(LEAST_COS);
        passed = passed.component_mul(&reflect(records, &other, &from, &back)) * (PI / cosine);
        surface = other;
    }
    radiance
}

/// Radiance toward `back` of the direct light on a surface, W/(m² sr), from the points of the Sun and of the Earth that
/// `even` selects and from a point of a lamp.
fn own_light(
    records: &Records<'_>,
    camera: &CameraRecord,
    surface: &Surface,
    back: &Vector3<f32>,
    even: [f32; 2],
) -> Bands {
    let sun = sun_point(records, even);
    let mut radiance = Bands::zeros();
    if faces_openly(records, surface, sun) {
        radiance = reflect(records, surface, &sun, back) * (SUN_BAND * records.globals.sun_irradiance);
    }
    if camera.earth_samples > 1 {
        radiance += any_earthlight(records, surface, back, even);
    }
    if records.lamps.is_empty() {
        return radiance;
    }
    // Selects the lamp by the finer digits of the first number.
    let which = (even[0] * 4096.0).fract();
    radiance + any_lamp_on(records, surface, back, [which, even[0], even[1]])
}

/// A direction above a surface, with a density proportional to the cosine to the normal.
fn cosine_direction(normal: &Vector3<f32>, even: [f32; 2]) -> Vector3<f32> {
    let [side, up] = across(normal);
    let (sin, cos) = (TAU * even[1]).sin_cos();
    let out = even[0].sqrt();
    (side * (out * cos) + up * (out * sin) + normal * (1.0 - even[0]).max(0.0).sqrt()).normalize()
}
