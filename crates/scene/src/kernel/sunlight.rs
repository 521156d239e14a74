//! How much of the Sun a surface sees. A height field hides a disc from below: when the disc's lowest point is visible,
//! the ground hides nothing of it, and when the highest point is hidden, the ground hides all of it. The disc is
//! sampled, in proportion to its brightness, only between these cases, where an instance comes near or where the
//! surface's own plane cuts the disc. A silhouette that slopes by σ then begins to hide the Sun 1 − cos σ of a radius
//! late.

use std::f32::consts::TAU;

use nalgebra::Vector3;

use super::FAR;
use super::bvh::{cone_meets_instances, instances_hide};
use super::chance::{stratified, unit};
use super::surface::{Surface, across, faces_openly, ground_beyond, ground_hides};
use crate::light::SAMPLES_MAX;
use crate::record::Records;

/// 1/(α + 2) with the exponent α of the limb darkening.
pub(crate) const LIMB_ROOT: f32 = (1.0 / (crate::light::LIMB_EXPONENT + 2.0)) as f32;

/// The sunlight on a surface.
#[derive(Clone, Copy, Debug)]
pub struct Sunlight {
    /// Fraction of the Sun's light that arrives, 0…1.
    pub share: f32,
    /// Mean direction of that light, unit.
    pub direction: Vector3<f32>,
}

/// The sunlight on a surface, by at most `samples` rays to the Sun's disc, including the shadow of relief too fine for
/// rays.
#[must_use]
pub fn sunlight(records: &Records<'_>, surface: &Surface, samples: u32, seed: u32) -> Sunlight {
    let seen = disc_light(records, surface, samples, seed);
    Sunlight { share: seen.share * surface.open, ..seen }
}

/// As `sunlight`, without the shadow of relief too fine for rays.
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
    // When the lowest point is visible, so is the highest; and ground that hides the highest is beyond `cut`.
    if ground_cuts && ground_beyond(records, surface, sun + up * radius, cut) < FAR {
        return Sunlight { share: 0.0, direction: sun };
    }
    if !ground_cuts && sun_height >= radius && !cone_meets_instances(records, &surface.ray(sun), radius) {
        return Sunlight { share: 1.0, direction: sun };
    }
    sample_disc(records, surface, samples, seed, ground_cuts)
}

/// The sunlight by rays to points of the Sun's disc; rays are traced against the ground where it cuts the disc.
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

/// Number of points that represent a disc.
pub(crate) fn disc_points(samples: u32) -> usize {
    samples.min(SAMPLES_MAX) as usize
}

/// Directions of `disc_points` points of the Sun's disc.
pub(crate) fn sun_points(records: &Records<'_>, samples: u32, seed: u32) -> [Vector3<f32>; SAMPLES_MAX as usize] {
    let shift = [unit(seed, 0), unit(seed, 1)];
    let count = disc_points(samples) as u32;
    let mut points = [Vector3::zeros(); SAMPLES_MAX as usize];
    for index in 0..count {
        points[index as usize] = sun_point(records, stratified(index, count, shift));
    }
    points
}

/// Which points of a disc, given by its centre and radius, a surface sees, as bits from the lowest on.
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

/// The light of a disc whose `open` points are visible.
pub(crate) fn sunlight_of(records: &Records<'_>, points: &[Vector3<f32>], open: u32) -> Sunlight {
    let mut seen = 0;
    let mut toward = Vector3::zeros();
    for (_, point) in points.iter().enumerate().filter(|(index, _)| open >> index & 1 != 0) {
        seen += 1;
        toward += point;
    }
    // The whole disc is visible: use its centre, which has no noise.
    let partly = seen > 0 && seen < points.len();
    let direction = if partly { toward.normalize() } else { Vector3::from(records.globals.sun_direction) };
    Sunlight { share: seen as f32 / points.len() as f32, direction }
}

/// Direction of a point of the Sun's disc that two uniform numbers of 0…1 select, with a density proportional to
/// brightness.
#[must_use]
pub fn sun_point(records: &Records<'_>, even: [f32; 2]) -> Vector3<f32> {
    let sun = Vector3::from(records.globals.sun_direction);
    let [side, up] = across(&sun);
    // The share of light from the limb up to μ is μ^(α + 2).
    let mu = (1.0 - even[0]).powf(LIMB_ROOT);
    let radius = records.globals.sun_radius * (1.0 - mu * mu).max(0.0).sqrt();
    let (sin, cos) = (TAU * even[1]).sin_cos();
    (sun + side * (radius * cos) + up * (radius * sin)).normalize()
}
