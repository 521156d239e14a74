//! Traces a packet of beams of ranging sensors: `kernel::trace::beam_return` with one beam per lane. Successive beams of
//! a scanner alternate between high and low, so beams are first sorted by slope: the beams of a packet then take
//! similar steps. A beam's result depends on the beam alone, so the order does not change it.

use fearless_simd::prelude::*;
use nalgebra::Vector3;

use super::ground::{ground_normals, trace_heights};
use super::instances::{Hits, trace_instances};
use super::lanes::{Ints, LANES, Rays, all, floats, mask, vector_of, vectors};
use crate::kernel::surface::{SENSOR_MIP, Surface, on_ground, surface_at};
use crate::kernel::trace::returned;
use crate::kernel::{FAR, GROUND, Hit, Ray};
use crate::record::{BeamRecord, LevelRecord, Records, ReturnRecord};

/// Traces beams, each at its own share of the time span; calls `put` with each return and its beam's index.
#[inline(always)]
pub(crate) fn beam_returns<S: Simd>(
    simd: S,
    records: &Records<'_>,
    beams: &[BeamRecord],
    mut put: impl FnMut(usize, &ReturnRecord),
) {
    let mut order: Vec<usize> = (0..beams.len()).collect();
    order.sort_by(|a, b| beams[*a].direction[2].total_cmp(&beams[*b].direction[2]));
    for numbers in order.chunks(LANES) {
        let packet: [BeamRecord; LANES] = std::array::from_fn(|lane| beams[*numbers.get(lane).unwrap_or(&numbers[0])]);
        let returns = packet_returns(simd, records, &packet, numbers.len());
        numbers.iter().zip(&returns).for_each(|(number, reported)| put(*number, reported));
    }
}

/// Traces the first `count` beams of a packet.
#[inline(always)]
fn packet_returns<S: Simd>(
    simd: S,
    records: &Records<'_>,
    beams: &[BeamRecord; LANES],
    count: usize,
) -> [ReturnRecord; LANES] {
    let rays = beams.map(|beam| Ray { origin: beam.origin.into(), direction: beam.direction.into() });
    let hits = nearest(simd, records, beams, &rays, count);
    let normals = normals(simd, records, &rays, &hits);
    std::array::from_fn(|lane| {
        let (ray, hit) = (&rays[lane], &hits[lane]);
        let surface = (hit.t < FAR).then(|| surface_of(records, ray, hit, &normals[lane], beams[lane].share));
        returned(records, ray, hit, surface.as_ref())
    })
}

#[inline(always)]
fn nearest<S: Simd>(
    simd: S,
    records: &Records<'_>,
    beams: &[BeamRecord; LANES],
    rays: &[Ray; LANES],
    count: usize,
) -> [Hit; LANES] {
    let lanes = Rays {
        origin: vectors(simd, |lane| rays[lane].origin),
        direction: vectors(simd, |lane| rays[lane].direction),
        shutter: floats(simd, |lane| beams[lane].share),
    };
    let active = mask(simd, (1 << count) - 1);
    let span = [&all(simd, 0.0), &all(simd, FAR)];
    let ground = trace_heights(simd, records, &lanes, span, &Ints::splat(simd, SENSOR_MIP as i32), &active);
    let ground = Hits { t: ground.t, instance: Ints::splat(simd, GROUND as i32), part: ground.level };
    let met = trace_instances(simd, records, &lanes, &ground, &active);
    let (t, instance, part) = (met.t.to_array(), met.instance.to_array(), met.part.to_array());
    std::array::from_fn(|lane| Hit { t: t[lane], instance: instance[lane] as u32, part: part[lane] as u32 })
}

/// Normals of the ground where beams met it; meaningless in other lanes.
#[inline(always)]
fn normals<S: Simd>(simd: S, records: &Records<'_>, rays: &[Ray; LANES], hits: &[Hit; LANES]) -> [Vector3<f32>; LANES] {
    let is_ground = |hit: &Hit| hit.t < FAR && hit.instance == GROUND;
    if !hits.iter().any(is_ground) {
        return [Vector3::zeros(); LANES];
    }
    let levels: [&LevelRecord; LANES] =
        std::array::from_fn(|lane| &records.levels[if is_ground(&hits[lane]) { hits[lane].part as usize } else { 0 }]);
    let place = |lane: usize, axis: usize| {
        if is_ground(&hits[lane]) { point(&rays[lane], &hits[lane])[axis] } else { 0.0 }
    };
    let [x, y] = [floats(simd, |lane| place(lane, 0)), floats(simd, |lane| place(lane, 1))];
    let normals = ground_normals(simd, records, levels, [&x, &y]).map(|part| part.to_array());
    std::array::from_fn(|lane| vector_of(&normals, lane))
}

fn surface_of(records: &Records<'_>, ray: &Ray, hit: &Hit, normal: &Vector3<f32>, share: f32) -> Surface {
    if hit.instance == GROUND {
        return on_ground(point(ray, hit), *normal, &records.levels[hit.part as usize]);
    }
    surface_at(&Records { shutter: share, ..*records }, ray, hit)
}

fn point(ray: &Ray, hit: &Hit) -> Vector3<f32> {
    ray.origin + ray.direction * hit.t
}
