//! Earthlight on a surface, by rays to points of the Earth's disc. The Earth is a Lambert sphere lit by the Sun, so
//! only the part of the disc between its lit limb and the terminator shines. With φ the latitude off the plane of Sun
//! and viewer, λ the longitude in this plane from the disc's centre and α the phase angle, the light of an element of
//! the sphere is proportional to cos³φ cos(λ − α) cos λ. Sample points are uniform in λ, where they have weights, and
//! have a density in φ proportional to the light. As for the Sun, a height field hides the disc from below, so no
//! samples are needed where the lowest point and the cone to the disc are unobstructed; the light then comes from the
//! disc's centre.

use std::f32::consts::PI;

use nalgebra::Vector3;

use super::bvh::cone_meets_instances;
use super::chance::{stratified, unit};
use super::sunlight::open_points;
use super::surface::{Surface, across, faces_openly, ground_beyond, reflect};
use super::{Bands, FAR};
use crate::light::SAMPLES_MAX;
use crate::record::Records;

/// Index of the first of the two random numbers that the Earth's disc uses in a pixel.
pub(crate) const FIRST_EARTH_NUMBER: u32 = 0x3000;

/// Sine of the phase angle below which the Earth counts as full or new and its sides as alike.
pub(crate) const LEAST_SIN: f32 = 1e-4;

/// Lower limit of the mean weight, which divides: that of a crescent thinner than half a degree.
pub(crate) const LEAST_MEAN: f32 = 1e-5;

/// A point of the Earth's lit part.
#[derive(Clone, Copy, Debug)]
pub struct EarthPoint {
    /// Unit vector toward the point.
    pub direction: Vector3<f32>,
    /// The point's light relative to the mean.
    pub weight: f32,
}

/// Radiance toward `viewer` of earthlight on a surface, W/(m² sr), by at most `samples` rays to the Earth's disc; with
/// one ray the Earth is a point.
#[must_use]
pub fn earthlight(records: &Records<'_>, surface: &Surface, viewer: &Vector3<f32>, [samples, seed]: [u32; 2]) -> Bands {
    let globals = &records.globals;
    if globals.earth_irradiance <= 0.0 {
        return Bands::zeros();
    }
    let earth = Vector3::from(globals.earth_direction);
    let seen = if samples <= 1 {
        EarthPoint { direction: earth, weight: f32::from(u8::from(faces_openly(records, surface, earth))) }
    } else {
        seen_part(records, surface, samples, seed)
    };
    if seen.weight <= 0.0 {
        return Bands::zeros();
    }
    let irradiance = Bands::from(globals.earth_bands) * (globals.earth_irradiance * seen.weight);
    irradiance.component_mul(&reflect(records, surface, &seen.direction, viewer))
}

/// Radiance toward `viewer`, W/(m² sr), of earthlight from the single point that `even` (0…1, 0…1) selects; its mean
/// over all points is the radiance of the whole Earth's light.
#[must_use]
pub fn any_earthlight(records: &Records<'_>, surface: &Surface, viewer: &Vector3<f32>, even: [f32; 2]) -> Bands {
    let globals = &records.globals;
    if globals.earth_irradiance <= 0.0 {
        return Bands::zeros();
    }
    let point = earth_point(records, even);
    if !faces_openly(records, surface, point.direction) {
        return Bands::zeros();
    }
    let irradiance = Bands::from(globals.earth_bands) * (globals.earth_irradiance * point.weight);
    irradiance.component_mul(&reflect(records, surface, &point.direction, viewer))
}

/// Fraction of earthlight that arrives, 0…1, as the weight, and its mean direction.
fn seen_part(records: &Records<'_>, surface: &Surface, samples: u32, seed: u32) -> EarthPoint {
    let earth = Vector3::from(records.globals.earth_direction);
    let radius = records.globals.earth_radius;
    let height = surface.normal.dot(&earth);
    let none = EarthPoint { direction: earth, weight: 0.0 };
    if height <= -radius {
        return none;
    }
    let up = across(&earth)[1];
    let cut = ground_beyond(records, surface, earth - up * radius, 0.0);
    let ground_cuts = cut < FAR;
    if ground_cuts && ground_beyond(records, surface, earth + up * radius, cut) < FAR {
        return none;
    }
    if !ground_cuts && height >= radius && !cone_meets_instances(records, &surface.ray(earth), radius) {
        return EarthPoint { direction: earth, weight: 1.0 };
    }
    sample_earth(records, surface, samples, seed, ground_cuts)
}

fn sample_earth(records: &Records<'_>, surface: &Surface, samples: u32, seed: u32, ground_cuts: bool) -> EarthPoint {
    let earth = Vector3::from(records.globals.earth_direction);
    let shift = [unit(seed, FIRST_EARTH_NUMBER), unit(seed, FIRST_EARTH_NUMBER + 1)];
    let count = samples.min(SAMPLES_MAX);
    let mut directions = [earth; SAMPLES_MAX as usize];
    let mut weights = [0.0; SAMPLES_MAX as usize];
    for index in 0..count {
        let point = earth_point(records, stratified(index, count, shift));
        directions[index as usize] = point.direction;
        weights[index as usize] = point.weight;
    }
    let directions = &directions[..count as usize];
    let open = open_points(records, surface, (earth, records.globals.earth_radius), directions, ground_cuts);
    let [mut seen, mut total] = [0.0_f32; 2];
    let mut toward = Vector3::zeros();
    for (index, (direction, weight)) in directions.iter().zip(weights).enumerate() {
        total += weight;
        if open >> index & 1 != 0 {
            seen += weight;
            toward += direction * weight;
        }
    }
    if seen <= 0.0 {
        return EarthPoint { direction: earth, weight: 0.0 };
    }
    // The whole disc is visible: use its centre, which has no noise.
    let direction = if seen < total { toward.normalize() } else { earth };
    EarthPoint { direction, weight: seen / total }
}

/// The point of the lit part that two uniform numbers of 0…1 select.
fn earth_point(records: &Records<'_>, even: [f32; 2]) -> EarthPoint {
    let globals = &records.globals;
    let earth = Vector3::from(globals.earth_direction);
    let sun = Vector3::from(globals.sun_from_earth);
    let cos = -sun.dot(&earth);
    let toward_limb = sun + earth * cos;
    let sin = toward_limb.norm();
    let side = if sin > LEAST_SIN { toward_limb / sin } else { across(&earth)[0] };
    let phase = sin.atan2(cos);
    let span = PI - phase;
    let longitude = phase - 0.5 * PI + span * even[0];
    // The integral of cos³ is sin φ − sin³ φ/3; its inverse trisects an angle.
    let sin_latitude = 2.0 * ((2.0 * even[1] - 1.0).asin() / 3.0).sin();
    let out = (1.0 - sin_latitude * sin_latitude).max(0.0).sqrt() * longitude.sin();
    let place = side * out + earth.cross(&side) * sin_latitude;
    let light = ((longitude - phase).cos() * longitude.cos()).max(0.0);
    let mean = (0.5 * (cos + sin / span.max(LEAST_SIN))).max(LEAST_MEAN);
    EarthPoint { direction: (earth + place * globals.earth_radius).normalize(), weight: light / mean }
}
