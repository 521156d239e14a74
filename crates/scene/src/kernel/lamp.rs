//! Lamplight on a surface: irradiance from the inverse square of the distance, the lamp's profile over the angle to its
//! axis and the surface's cosine. A lamp that looks small from the surface takes one shadow ray, a larger one takes one
//! to each of several points. A lamp too faint compared with the other light costs only a distance.

use nalgebra::Vector3;

use super::bvh::any_instance;
use super::chance::{stratified, unit};
use super::heights::trace_heights;
use super::surface::{SURFACE_MIP, Surface, reflect};
use super::{Bands, FAR};
use crate::light::SAMPLES_MAX;
use crate::record::{LampRecord, Records};

/// Lamps with less than this irradiance at best are skipped, W/m²: a ten-thousandth of the full Earth's light.
pub(crate) const FAINTEST: f32 = 1e-5;

/// Lamps with less than this fraction of the sunlight present are skipped, too.
pub(crate) const FAINTEST_OF_SUN: f32 = 1e-4;

/// A lamp whose half diagonal is below this fraction of its distance is a point.
pub(crate) const SMALL: f32 = 2e-3;

/// Shadow rays stop this fraction of the distance before the lamp.
pub(crate) const BEFORE: f32 = 1e-4;

/// Lower limit of the squared distance to a lamp, m².
pub(crate) const NEAREST2: f32 = 1e-8;

/// Index of the first random number that lamps use in a pixel: two for each lamp.
pub(crate) const FIRST_LAMP_NUMBER: u32 = 0x1000;

/// Light that one point of a lamp sends to a place.
#[derive(Clone, Copy, Debug)]
pub struct Lamplight {
    /// Irradiance on a surface that faces the point, W/m².
    pub irradiance: Bands,
    /// Distance to the point, m.
    pub distance: f32,
    /// Unit vector toward the point.
    pub direction: Vector3<f32>,
}

/// Light at `place` from the point of the lamp's face that `even` (0…1, 0…1) selects.
#[must_use]
pub fn lamplight(lamp: &LampRecord, place: &Vector3<f32>, even: [f32; 2]) -> Lamplight {
    let across = Vector3::from(lamp.side) * (2.0 * even[0] - 1.0);
    let along = Vector3::from(lamp.up) * (2.0 * even[1] - 1.0);
    let way = Vector3::from(lamp.position) + across + along - place;
    let distance2 = way.norm_squared().max(NEAREST2);
    let distance = distance2.sqrt();
    let direction = way / distance;
    let cosine = -direction.dot(&Vector3::from(lamp.axis));
    let fall = ((cosine - lamp.cos_outer) * lamp.inverse_fall).clamp(0.0, 1.0);
    let irradiance = Bands::from(lamp.intensity) * (fall.powf(lamp.falloff) / distance2);
    Lamplight { irradiance, distance, direction }
}

/// Radiance toward `viewer` of all lamps' light on a surface, W/(m² sr), by at most `samples` rays to each lamp;
/// `sun_share` is the fraction of sunlight that arrives as well.
#[must_use]
pub fn lamps_on(
    records: &Records<'_>,
    surface: &Surface,
    viewer: &Vector3<f32>,
    [samples, seed]: [u32; 2],
    sun_share: f32,
) -> Bands {
    let faintest = FAINTEST.max(FAINTEST_OF_SUN * sun_share * records.globals.sun_irradiance);
    let mut sum = Bands::zeros();
    for (lamp, number) in records.lamps.iter().zip((FIRST_LAMP_NUMBER..).step_by(2)) {
        let distance2 = (Vector3::from(lamp.position) - surface.point).norm_squared();
        if lamp.peak < faintest * distance2 {
            continue;
        }
        let small = lamp.radius * lamp.radius < SMALL * SMALL * distance2;
        let count = if small { 1 } else { samples.clamp(1, SAMPLES_MAX) };
        let shift = [unit(seed, number), unit(seed, number + 1)];
        let mut of_lamp = Bands::zeros();
        for index in 0..count {
            let even = if count == 1 { [0.5, 0.5] } else { stratified(index, count, shift) };
            of_lamp += reflected_light(records, surface, viewer, lamp, even);
        }
        sum += of_lamp / count as f32;
    }
    sum
}

/// Radiance toward `viewer`, W/(m² sr), from a point of one randomly chosen lamp, times the number of lamps: its mean
/// is the radiance of all lamps' light.
#[must_use]
pub fn any_lamp_on(records: &Records<'_>, surface: &Surface, viewer: &Vector3<f32>, chance: [f32; 3]) -> Bands {
    let count = records.lamps.len();
    let index = ((chance[0] * count as f32) as usize).min(count.max(1) - 1);
    records.lamps.get(index).map_or(Bands::zeros(), |lamp| {
        reflected_light(records, surface, viewer, lamp, [chance[1], chance[2]]) * count as f32
    })
}

fn reflected_light(
    records: &Records<'_>,
    surface: &Surface,
    viewer: &Vector3<f32>,
    lamp: &LampRecord,
    even: [f32; 2],
) -> Bands {
    let light = lamplight(lamp, &surface.point, even);
    if light.irradiance.sum() <= 0.0 || surface.normal.dot(&light.direction) <= 0.0 {
        return Bands::zeros();
    }
    let ray = surface.ray(light.direction);
    let until = light.distance * (1.0 - BEFORE) - surface.clearance;
    if trace_heights(records, &ray, until, SURFACE_MIP).0 < FAR || any_instance(records, &ray, until) {
        return Bands::zeros();
    }
    light.irradiance.component_mul(&reflect(records, surface, &light.direction, viewer))
}
