//! The light on eight neighbouring surfaces: `kernel::sunlight`, `earthlight` and `surface` with the
//! surfaces in lanes. What few pixels need (a disc's points in a penumbra, materials that are not
//! Hapke's, lamps) the kernels do, pixel by pixel.

use fearless_simd::prelude::*;
use nalgebra::Vector3;

use super::ground::{ground_normals, trace_heights};
use super::instances::{any_instance, cones_meet_instances};
use super::lanes::{
    Floats, Ints, LANES, Mask, Rays, Vectors, all, all_vector, bits_of, floats, lanes_of, mask, vector_of, vectors,
};
use crate::kernel::bvh::Bundle;
use crate::kernel::detail::detailed;
use crate::kernel::earthlight::earthlight;
use crate::kernel::hapke::reflected_by;
use crate::kernel::lamp::lamps_on;
use crate::kernel::sunlight::{Sunlight, sample_disc};
use crate::kernel::surface::{GRAZING_COS, SURFACE_MIP, Surface, across, on_ground, reflect, surface_at};
use crate::kernel::trace::Sight;
use crate::kernel::{Bands, FAR, GROUND, HAPKE, Hit, Ray, SUN_BAND};
use crate::real::{Real, along, dot, unit};
use crate::record::{CameraRecord, LevelRecord, Records};

/// Surfaces in lanes; the last lanes may have none.
struct Surfaces<'a, S: Simd> {
    sights: [Option<&'a Sight>; LANES],
    /// Which lanes have one.
    there: Mask<S>,
    normal: Vectors<S>,
    viewer: Vectors<S>,
    /// Where rays leave them.
    origin: Vectors<S>,
}

/// What each of up to eight rays of a camera has met.
pub(crate) fn sights<S: Simd>(
    simd: S,
    records: &Records<'_>,
    camera: &CameraRecord,
    met: &[(Ray, Hit)],
) -> [Option<Sight>; LANES] {
    let Some(finest) = records.levels.first() else { return [None; LANES] };
    let at = |lane: usize| met.get(lane).filter(|(_, hit)| hit.t < FAR);
    let on_ground_at = |lane: usize| at(lane).filter(|(_, hit)| hit.instance == GROUND);
    let points: [Vector3<f32>; LANES] =
        std::array::from_fn(|lane| at(lane).map_or(Vector3::zeros(), |(ray, hit)| ray.origin + ray.direction * hit.t));
    let levels: [&LevelRecord; LANES] =
        std::array::from_fn(|lane| on_ground_at(lane).map_or(finest, |(_, hit)| &records.levels[hit.part as usize]));
    let [x, y] = [0, 1].map(|axis| floats(simd, |lane| points[lane][axis]));
    let any_ground = (0..LANES).any(|lane| on_ground_at(lane).is_some());
    let normals = if any_ground {
        ground_normals(simd, records, levels, [&x, &y]).map(|part| part.to_array())
    } else {
        [[0.0; LANES]; 3]
    };
    std::array::from_fn(|lane| {
        let (ray, hit) = at(lane)?;
        let surface = if hit.instance == GROUND {
            on_ground(points[lane], vector_of(&normals, lane), levels[lane])
        } else {
            surface_at(records, ray, hit)
        };
        let surface = detailed(records, camera, &ray.direction, hit, surface);
        Some(Sight { t: hit.t, viewer: -ray.direction.normalize(), surface })
    })
}

impl<'a, S: Simd> Surfaces<'a, S> {
    #[inline(always)]
    fn new(simd: S, sights: [Option<&'a Sight>; LANES]) -> Self {
        let bits = (0..LANES).map(|lane| u32::from(sights[lane].is_some()) << lane).sum();
        let each = |of: fn(&Sight) -> Vector3<f32>| vectors(simd, |lane| sights[lane].map_or(Vector3::zeros(), of));
        let normal = each(|sight| sight.surface.normal);
        let point = each(|sight| sight.surface.point);
        let clearance = floats(simd, |lane| sights[lane].map_or(0.0, |sight| sight.surface.clearance));
        let viewer = each(|sight| sight.viewer);
        Self { sights, there: mask(simd, bits), normal, viewer, origin: along(point, normal, clearance) }
    }

    fn surface(&self, lane: usize) -> Option<&'a Surface> {
        self.sights[lane].map(|sight| &sight.surface)
    }
}

/// As `sunlight::sunlight`, on each surface of a packet.
pub(crate) fn sunlight<S: Simd>(
    simd: S,
    records: &Records<'_>,
    sights: [Option<&Sight>; LANES],
    samples: u32,
    seeds: [u32; LANES],
) -> [Sunlight; LANES] {
    simd.vectorize(
        #[inline(always)]
        || sunlight_on(simd, records, &Surfaces::new(simd, sights), samples, seeds),
    )
}

#[inline(always)]
fn sunlight_on<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    samples: u32,
    seeds: [u32; LANES],
) -> [Sunlight; LANES] {
    let sun = Vector3::from(records.globals.sun_direction);
    if samples <= 1 {
        let open = bits_of(faces_openly(simd, records, surfaces, sun, surfaces.there));
        return std::array::from_fn(|lane| Sunlight { share: (open >> lane & 1) as f32, direction: sun });
    }
    let mut lights = [Sunlight { share: 0.0, direction: sun }; LANES];
    let [whole, ground_cuts, partial] = disc(simd, records, surfaces, sun);
    for lane in lanes_of(whole) {
        lights[lane].share = 1.0;
    }
    for lane in lanes_of(partial) {
        if let Some(surface) = surfaces.surface(lane) {
            lights[lane] = sample_disc(records, surface, samples, seeds[lane], ground_cuts >> lane & 1 != 0);
        }
    }
    lights
}

/// Bits of the lanes that see the Sun's whole disc, of those where the ground cuts it, and of those
/// that may see a part of it.
#[inline(always)]
fn disc<S: Simd>(simd: S, records: &Records<'_>, surfaces: &Surfaces<'_, S>, sun: Vector3<f32>) -> [u32; 3] {
    let radius = records.globals.sun_radius;
    let sun_height = dot(surfaces.normal, all_vector(simd, sun.into()));
    let lit = surfaces.there & !sun_height.at_most(all(simd, -radius));
    let up = across(&sun)[1];
    let cut = ground_beyond(simd, records, surfaces, sun - up * radius, all(simd, 0.0), lit);
    let ground_cuts = lit & cut.simd_lt(FAR);
    let beyond = ground_beyond(simd, records, surfaces, sun + up * radius, cut, ground_cuts);
    let dark = ground_cuts & beyond.simd_lt(FAR);
    let clear = lit & !ground_cuts & sun_height.simd_ge(radius);
    let cone = Bundle::cone(&Ray { origin: Vector3::zeros(), direction: sun }, radius);
    let near = cones_meet_instances(simd, records, &surfaces.origin, &cone, &clear);
    let whole = clear & !near;
    [whole, ground_cuts, lit & !dark & !whole].map(bits_of)
}

/// As `surface::ground_beyond`, of the lanes of a mask.
#[inline(always)]
fn ground_beyond<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    direction: Vector3<f32>,
    from: Floats<S>,
    lanes: Mask<S>,
) -> Floats<S> {
    if lanes.all_false() {
        return all(simd, FAR);
    }
    let direction = all_vector(simd, direction.into());
    let rays = Rays { origin: along(surfaces.origin, direction, from), direction };
    let t_max = all(simd, records.ground_reach) - from;
    let mip = Ints::splat(simd, SURFACE_MIP as i32);
    trace_heights(simd, records, &rays, [&all(simd, 0.0), &t_max], &mip, &lanes).t
}

/// As `surface::faces_openly`, of the lanes of a mask.
#[inline(always)]
fn faces_openly<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    direction: Vector3<f32>,
    lanes: Mask<S>,
) -> Mask<S> {
    let toward = all_vector(simd, direction.into());
    let facing = lanes & dot(surfaces.normal, toward).simd_gt(0.0);
    let ground = ground_beyond(simd, records, surfaces, direction, all(simd, 0.0), facing);
    let open = facing & !ground.simd_lt(FAR);
    if open.all_false() {
        return open;
    }
    open & !any_instance(simd, records, &Rays { origin: surfaces.origin, direction: toward }, &open)
}

/// As `trace::lit`: radiance of the own light of Sun, Earth and lamps toward the camera, of surfaces
/// on which the Sun shines so.
pub(crate) fn lit<S: Simd>(
    simd: S,
    records: [&Records<'_>; 2],
    camera: &CameraRecord,
    sights: [Option<&Sight>; LANES],
    suns: &[Sunlight; LANES],
    seeds: [u32; LANES],
) -> [Bands; LANES] {
    simd.vectorize(
        #[inline(always)]
        || lit_surfaces(simd, records, camera, &Surfaces::new(simd, sights), suns, seeds),
    )
}

#[inline(always)]
fn lit_surfaces<S: Simd>(
    simd: S,
    [records, before_earth]: [&Records<'_>; 2],
    camera: &CameraRecord,
    surfaces: &Surfaces<'_, S>,
    suns: &[Sunlight; LANES],
    seeds: [u32; LANES],
) -> [Bands; LANES] {
    let globals = &records.globals;
    let of = |shines: fn(f32) -> bool| {
        let lanes = (0..LANES).map(|lane| u32::from(shines(suns[lane].share)) << lane).sum();
        surfaces.there & mask(simd, lanes)
    };
    let mut radiance = reflected(simd, records, surfaces, suns.map(|sun| sun.direction), of(|share| share > 0.0));
    for (radiance, sun) in radiance.iter_mut().zip(suns) {
        *radiance *= SUN_BAND * sun.share * globals.sun_irradiance;
    }
    let shaded = of(|share| share < 1.0);
    add_earthlight(simd, [records, before_earth], camera, surfaces, shaded, seeds, &mut radiance);
    if !records.lamps.is_empty() {
        for (lane, sight) in surfaces.sights.iter().enumerate() {
            let Some(Sight { viewer, surface, .. }) = sight else { continue };
            radiance[lane] += lamps_on(records, surface, viewer, [camera.sun_samples, seeds[lane]], suns[lane].share);
        }
    }
    radiance
}

#[inline(always)]
fn add_earthlight<S: Simd>(
    simd: S,
    [records, before_earth]: [&Records<'_>; 2],
    camera: &CameraRecord,
    surfaces: &Surfaces<'_, S>,
    shaded: Mask<S>,
    seeds: [u32; LANES],
    radiance: &mut [Bands; LANES],
) {
    let globals = &records.globals;
    if globals.earth_irradiance <= 0.0 || shaded.all_false() {
        return;
    }
    if camera.earth_samples > 1 {
        for lane in lanes_of(bits_of(shaded)) {
            let Some(Sight { viewer, surface, .. }) = surfaces.sights[lane] else { continue };
            radiance[lane] += earthlight(records, surface, viewer, [camera.earth_samples, seeds[lane]]);
        }
        return;
    }
    let earth = Vector3::from(globals.earth_direction);
    let open = faces_openly(simd, before_earth, surfaces, earth, shaded);
    let irradiance = Bands::from(globals.earth_bands) * globals.earth_irradiance;
    let earthlit = reflected(simd, records, surfaces, [earth; LANES], open);
    for lane in lanes_of(bits_of(open)) {
        radiance[lane] += irradiance.component_mul(&earthlit[lane]);
    }
}

/// As `surface::reflect` toward the viewers, of the lanes of a mask; nothing for all others.
#[inline(always)]
fn reflected<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    sources: [Vector3<f32>; LANES],
    lanes: Mask<S>,
) -> [Bands; LANES] {
    let mut reflected = [Bands::zeros(); LANES];
    let mut left = bits_of(lanes);
    while let Some(first) = lanes_of(left).next().and_then(|lane| surfaces.surface(lane)) {
        let alike = |lane: &usize| surfaces.surface(*lane).is_some_and(|surface| surface.material == first.material);
        let group = lanes_of(left).filter(alike).fold(0_u32, |bits, lane| bits | 1 << lane);
        left &= !group;
        let material = &records.materials[first.material as usize];
        let factors = if material.kind == HAPKE {
            hapke(simd, records, surfaces, &sources, first.material)
        } else {
            [0.0; LANES]
        };
        for lane in lanes_of(group) {
            let (Some(surface), Some(sight)) = (surfaces.surface(lane), surfaces.sights[lane]) else { continue };
            reflected[lane] = if material.kind == HAPKE {
                Bands::from(material.tint) * surface.shade * factors[lane]
            } else {
                reflect(records, surface, &sources[lane], &sight.viewer)
            };
        }
    }
    reflected
}

/// Hapke's reflectance of one material toward the viewers.
#[inline(always)]
fn hapke<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    sources: &[Vector3<f32>; LANES],
    material: u32,
) -> [f32; LANES] {
    let material = &records.materials[material as usize];
    let normal = surfaces.normal;
    let turned_away = (all(simd, GRAZING_COS) - dot(normal, surfaces.viewer)).most(all(simd, 0.0));
    let viewer = unit(along(surfaces.viewer, normal, turned_away));
    let source = vectors(simd, |lane| sources[lane]);
    reflected_by(material, [normal, source, viewer]).to_array()
}
