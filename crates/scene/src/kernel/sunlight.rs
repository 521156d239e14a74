//! How much of the Sun a surface sees. A height field hides a disc from below, so a
//! free view of the disc's lowest point means that the ground hides nothing of it, and
//! a hidden highest point that it hides all; only between the two, where an instance
//! comes near or where the surface's own plane cuts the disc, the disc is sampled by
//! its brightness. A silhouette that slopes by σ is then taken to begin
//! 1 − cos σ of a radius late.

use std::f32::consts::TAU;

use nalgebra::Vector3;

use super::FAR;
use super::bvh::{cone_meets_instances, instances_hide};
use super::chance::{stratified, unit};
use super::surface::{Surface, across, faces_openly, ground_beyond, ground_hides};
use crate::light::SAMPLES_MAX;
use crate::record::Records;

/// 1/(α + 2) of the limb darkening's exponent α.
pub(crate) const LIMB_ROOT: f32 = (1.0 / (crate::light::LIMB_EXPONENT + 2.0)) as f32;

/// The Sun's light on a surface.
#[derive(Clone, Copy, Debug)]
pub struct Sunlight {
    /// The part of it that arrives, 0…1.
    pub share: f32,
    /// Where that part comes from, in the mean; unit.
    pub direction: Vector3<f32>,
}

/// The Sun's light on a surface, by at most `samples` rays to its disc, and past its own relief.
#[must_use]
pub fn sunlight(records: &Records<'_>, surface: &Surface, samples: u32, seed: u32) -> Sunlight {
    let seen = disc_light(records, surface, samples, seed);
    Sunlight { share: seen.share * surface.open, ..seen }
}

/// The same without that relief.
fn disc_light(records: &Records<'_>, surface: &Surface, samples: u32, seed: u32) -> Sunlight {
    let sun = Vector3::from(records.globals.sun_direction);
    let radius = records.globals.sun_radius;
    let sun_height = surface.normal.dot(&sun);
    if samples <= 1 {
        return Sunlight { share: f32::from(u8::from(faces_openly(records, surface, sun))), direction: sun };
    }
    if sun_height <= -radius {
        return Sunlight { share: 0.0, direction: sun };
    }
    let up = across(&sun)[1];
    let cut = ground_beyond(records, surface, sun - up * radius, 0.0);
    let ground_cuts = cut < FAR;
    // What is free below is free above: the highest point is cut beyond, if at all.
    if ground_cuts && ground_beyond(records, surface, sun + up * radius, cut) < FAR {
        return Sunlight { share: 0.0, direction: sun };
    }
    if !ground_cuts && sun_height >= radius && !cone_meets_instances(records, &surface.ray(sun), radius) {
        return Sunlight { share: 1.0, direction: sun };
    }
    sample_disc(records, surface, samples, seed, ground_cuts)
}

/// The Sun's light by rays to points of its disc, past ground where that cuts it.
pub(crate) fn sample_disc(
    records: &Records<'_>,
    surface: &Surface,
    samples: u32,
    seed: u32,
    ground_cuts: bool,
) -> Sunlight {
    let points = sun_points(records, samples, seed);
    let points = &points[..disc_points(samples)];
    let disc = (Vector3::from(records.globals.sun_direction), records.globals.sun_radius);
    sunlight_of(records, points, open_points(records, surface, disc, points, ground_cuts))
}

/// How many points of a disc stand for it.
pub(crate) fn disc_points(samples: u32) -> usize {
    samples.min(SAMPLES_MAX) as usize
}

/// Points of the Sun's disc, as many as `disc_points` says.
pub(crate) fn sun_points(records: &Records<'_>, samples: u32, seed: u32) -> [Vector3<f32>; SAMPLES_MAX as usize] {
    let shift = [unit(seed, 0), unit(seed, 1)];
    let count = disc_points(samples) as u32;
    let mut points = [Vector3::zeros(); SAMPLES_MAX as usize];
    for index in 0..count {
        points[index as usize] = sun_point(records, stratified(index, count, shift));
    }
    points
}

/// Which points of a disc, of which its middle and its radius are known, a surface sees, as bits from the lowest on.
pub(crate) fn open_points(
    records: &Records<'_>,
    surface: &Surface,
    (middle, radius): (Vector3<f32>, f32),
    points: &[Vector3<f32>],
    ground_cuts: bool,
) -> u32 {
    let hidden = instances_hide(records, &surface.ray(middle), radius, points);
    let mut open = 0;
    for (index, point) in points.iter().enumerate() {
        let faces = hidden >> index & 1 == 0 && surface.normal.dot(point) > 0.0;
        if faces && !(ground_cuts && ground_hides(records, surface, *point)) {
            open |= 1 << index;
        }
    }
    open
}

/// The light of a disc of which the `open` points are seen.
pub(crate) fn sunlight_of(records: &Records<'_>, points: &[Vector3<f32>], open: u32) -> Sunlight {
    let mut seen = 0;
    let mut toward = Vector3::zeros();
    for (_, point) in points.iter().enumerate().filter(|(index, _)| open >> index & 1 != 0) {
        seen += 1;
        toward += point;
    }
    // A whole disc without noise: from its centre.
    let partly = seen > 0 && seen < points.len();
    let direction = if partly { toward.normalize() } else { Vector3::from(records.globals.sun_direction) };
    Sunlight { share: seen as f32 / points.len() as f32, direction }
}

/// The direction of a point of the Sun's disc: of two even numbers of 0…1, so that
/// bright parts come as much more often as they are brighter.
#[must_use]
pub fn sun_point(records: &Records<'_>, even: [f32; 2]) -> Vector3<f32> {
    let sun = Vector3::from(records.globals.sun_direction);
    let [side, up] = across(&sun);
    // Light within μ of the limb's edge goes as μ^(α + 2).
    let mu = (1.0 - even[0]).powf(LIMB_ROOT);
    let radius = records.globals.sun_radius * (1.0 - mu * mu).max(0.0).sqrt();
    let (sin, cos) = (TAU * even[1]).sin_cos();
    (sun + side * (radius * cos) + up * (radius * sin)).normalize()
}
