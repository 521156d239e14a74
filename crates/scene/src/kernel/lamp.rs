//! Light of lamps on a surface: irradiance by the inverse square of the distance, the
//! profile of the angle to the lamp's axis and the surface's cosine, with one shadow ray
//! to a lamp that is small from there and one to each of several points of a larger one.
//! A lamp too faint for what other light there is costs one distance.

use nalgebra::Vector3;

use super::bvh::any_instance;
use super::chance::{stratified, unit};
use super::heights::trace_heights;
use super::surface::{SURFACE_MIP, Surface, reflect};
use super::{Bands, FAR};
use crate::light::SAMPLES_MAX;
use crate::record::{LampRecord, Records};

/// Lamps that give less than this at their best are left out, W/m²: a ten-thousandth of
/// the full Earth's light.
pub(crate) const FAINTEST: f32 = 1e-5;

/// And those that give less than this part of the Sun's light that is there.
pub(crate) const FAINTEST_OF_SUN: f32 = 1e-4;

/// A lamp whose half diagonal is below this part of its distance is a point.
pub(crate) const SMALL: f32 = 2e-3;

/// Shadow rays end this part of the way before the lamp.
pub(crate) const BEFORE: f32 = 1e-4;

/// Square of the distance that a lamp is taken to be away at least, m².
pub(crate) const NEAREST2: f32 = 1e-8;

/// First of a pixel's numbers that lamps take: two each.
pub(crate) const FIRST_LAMP_NUMBER: u32 = 0x1000;

/// Light of a point of a lamp at a place.
#[derive(Clone, Copy, Debug)]
pub struct Lamplight {
    /// On a surface that faces it, W/m².
    pub irradiance: Bands,
    /// How far it is, m.
    pub distance: f32,
    /// Toward the lamp's point, unit.
    pub direction: Vector3<f32>,
}

/// Light at `place` of the point of the lamp's face that `even` (0…1, 0…1) names.
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

/// Radiance toward `viewer` of all lamps' light on a surface, W/(m² sr), by at most
/// `samples` rays to each; `sun_share` of the Sun is there as well.
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

/// Radiance toward `viewer` of the light of a point of one lamp, picked by chance among
/// all, times their number: their sum in the mean.
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
