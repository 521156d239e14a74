//! Lights a packet of neighbouring surfaces: `kernel::sunlight`, `earthlight` and `surface` with one surface per lane;
//! in a penumbra, one ray to a point of the Sun's disc per lane. What few pixels need (the Earth's disc, materials other
//! than Hapke's, lamps) runs in the kernels pixel by pixel.

use fearless_simd::prelude::*;
use nalgebra::Vector3;

use super::detail::{Details, Grounds, detailed};
use super::ground::{ground_normals, trace_heights};
use super::instances::{any_instance, cones_meet_instances, instances_hide};
use super::lanes::{
    Floats, Ints, LANES, Mask, Rays, Vectors, all, all_vector, bits_of, floats, lanes_of, mask, vector_of, vectors,
};
use crate::kernel::bvh::Bundle;
use crate::kernel::earthlight::earthlight;
use crate::kernel::hapke::reflected_by;
use crate::kernel::lamp::lamps_on;
use crate::kernel::sunlight::{Sunlight, disc_points, sun_points, sunlight_of};
use crate::kernel::surface::{GRAZING_COS, SURFACE_MIP, Surface, across, on_ground, reflect, surface_at};
use crate::kernel::trace::CameraHit;
use crate::kernel::{Bands, FAR, GROUND, HAPKE, Hit, Ray, SUN_BAND};
use crate::light::SAMPLES_MAX;
use crate::real::{Real, along, dot, unit};
use crate::record::{CameraRecord, LevelRecord, Records};

/// One surface per lane; the last lanes may be empty.
struct Surfaces<'a, S: Simd> {
    sights: [Option<&'a CameraHit>; LANES],
    /// Lanes that have a surface.
    there: Mask<S>,
    normal: Vectors<S>,
    viewer: Vectors<S>,
    /// Start points of the rays that leave the surfaces.
    origin: Vectors<S>,
}

/// The surface that each of a packet's camera rays has met.
#[inline(always)]
pub(crate) fn sights<S: Simd>(
    simd: S,
    records: &Records<'_>,
    camera: &CameraRecord,
    met: &[(Ray, Hit)],
) -> [Option<CameraHit>; LANES] {
    let Some(finest) = records.levels.first() else { return [None; LANES] };
    let at = |lane: usize| met.get(lane).filter(|(_, hit)| hit.t < FAR);
    let on_ground_at = |lane: usize| at(lane).filter(|(_, hit)| hit.instance == GROUND);
    let points: [Vector3<f32>; LANES] =
        std::array::from_fn(|lane| at(lane).map_or(Vector3::zeros(), |(ray, hit)| ray.origin + ray.direction * hit.t));
    let levels: [&LevelRecord; LANES] =
        std::array::from_fn(|lane| on_ground_at(lane).map_or(finest, |(_, hit)| &records.levels[hit.part as usize]));
    let any_ground = (0..LANES).any(|lane| on_ground_at(lane).is_some());
    let (normals, shades, opens) = if any_ground {
        let details = ground_details(simd, records, camera, met, &points, levels);
        (details.normal.map(|part| part.to_array()), details.shade.to_array(), details.open)
    } else {
        ([[0.0; LANES]; 3], [1.0; LANES], [1.0; LANES])
    };
    std::array::from_fn(|lane| {
        let (ray, hit) = at(lane)?;
        let surface = if hit.instance == GROUND {
            let plain = on_ground(points[lane], vector_of(&normals, lane), levels[lane]);
            Surface { shade: shades[lane], open: opens[lane], ..plain }
        } else {
            surface_at(records, ray, hit)
        };
        Some(CameraHit { t: hit.t, viewer: -ray.direction.normalize(), surface })
    })
}

/// Detail of the ground where rays have met it; meaningless in other lanes.
#[inline(always)]
fn ground_details<S: Simd>(
    simd: S,
    records: &Records<'_>,
    camera: &CameraRecord,
    met: &[(Ray, Hit)],
    points: &[Vector3<f32>; LANES],
    levels: [&LevelRecord; LANES],
) -> Details<S> {
    let met = |lane: usize| met.get(lane).unwrap_or(&met[0]);
    let place = [floats(simd, |lane| points[lane].x), floats(simd, |lane| points[lane].y)];
    let grounds = Grounds {
        direction: vectors(simd, |lane| met(lane).0.direction),
        t: floats(simd, |lane| met(lane).1.t),
        place,
        spacing: floats(simd, |lane| levels[lane].spacing),
        on_finest: std::array::from_fn(|lane| is_on_finest(&met(lane).1)),
        normal: ground_normals(simd, records, levels, [&place[0], &place[1]]),
    };
    detailed(simd, records, camera, &grounds)
}

/// Whether a ray has met the ground on its finest level.
fn is_on_finest(hit: &Hit) -> bool {
    hit.t < FAR && hit.instance == GROUND && hit.part == 0
}

impl<'a, S: Simd> Surfaces<'a, S> {
    #[inline(always)]
    fn new(simd: S, sights: [Option<&'a CameraHit>; LANES]) -> Self {
        let bits = (0..LANES).map(|lane| u32::from(sights[lane].is_some()) << lane).sum();
        let normal = vectors(simd, |lane| sights[lane].map_or(Vector3::zeros(), |sight| sight.surface.normal));
        let point = vectors(simd, |lane| sights[lane].map_or(Vector3::zeros(), |sight| sight.surface.point));
        let clearance = floats(simd, |lane| sights[lane].map_or(0.0, |sight| sight.surface.clearance));
        let viewer = vectors(simd, |lane| sights[lane].map_or(Vector3::zeros(), |sight| sight.viewer));
        Self { sights, there: mask(simd, bits), normal, viewer, origin: along(point, normal, clearance) }
    }

    fn surface(&self, lane: usize) -> Option<&'a Surface> {
        self.sights[lane].map(|sight| &sight.surface)
    }
}

/// As `sunlight::sunlight`, for each surface of a packet.
pub(crate) fn sunlight<S: Simd>(
    simd: S,
    records: &Records<'_>,
    sights: [Option<&CameraHit>; LANES],
    samples: u32,
    seeds: [u32; LANES],
) -> [Sunlight; LANES] {
    let mut lights = simd.vectorize(
        #[inline(always)]
        || sunlight_on(simd, records, &Surfaces::new(simd, sights), samples, seeds),
    );
    for (light, sight) in lights.iter_mut().zip(sights) {
        light.share *= sight.map_or(1.0, |sight| sight.surface.open);
    }
    lights
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
    if partial != 0 {
        sample_discs(simd, records, surfaces, [partial, ground_cuts], (samples, seeds), &mut lights);
    }
    lights
}

/// Three bit masks: lanes that see the Sun's whole disc, lanes where the ground cuts the disc, and lanes that may see a
/// part of it.
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
    [bits_of(whole), bits_of(ground_cuts), bits_of(lit & !dark & !whole)]
}

/// A ray from a surface to a point of the Sun's disc.
struct DiscRay {
    /// Lane of the surface.
    lane: usize,
    /// Number and direction of the point.
    point: usize,
    direction: Vector3<f32>,
}

/// As `sunlight::sample_disc` for the surfaces in `partial`; the rays of several surfaces share a packet.
#[inline(always)]
fn sample_discs<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    [partial, ground_cuts]: [u32; 2],
    (samples, seeds): (u32, [u32; LANES]),
    lights: &mut [Sunlight; LANES],
) {
    let count = disc_points(samples);
    let mut discs = [[Vector3::zeros(); SAMPLES_MAX as usize]; LANES];
    let mut rays = Vec::with_capacity(LANES * count);
    for lane in lanes_of(partial) {
        discs[lane] = sun_points(records, samples, seeds[lane]);
        let points = discs[lane][..count].iter().enumerate();
        rays.extend(points.map(|(point, &direction)| DiscRay { lane, point, direction }));
    }
    let mut open = [0; LANES];
    for rays in rays.chunks(LANES) {
        for number in lanes_of(open_rays(simd, records, surfaces, rays, ground_cuts)) {
            open[rays[number].lane] |= 1 << rays[number].point;
        }
    }
    for lane in lanes_of(partial) {
        lights[lane] = sunlight_of(records, &discs[lane][..count], open[lane]);
    }
}

/// As `sunlight::open_points`, for one ray per lane: which rays nothing hides, as bits from the lowest on. The ground is
/// traced for surfaces where it cuts the disc.
#[inline(always)]
fn open_rays<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    rays: &[DiscRay],
    ground_cuts: u32,
) -> u32 {
    let ray = |number: usize| rays.get(number).unwrap_or(&rays[0]);
    let [origins, normals] = [surfaces.origin, surfaces.normal].map(|v| v.map(|part| part.to_array()));
    let origin = vectors(simd, |number| vector_of(&origins, ray(number).lane));
    let normal = vectors(simd, |number| vector_of(&normals, ray(number).lane));
    let direction = vectors(simd, |number| ray(number).direction);
    let cut =
        (0..rays.len()).filter(|number| ground_cuts >> rays[*number].lane & 1 != 0).fold(0, |cut, n| cut | 1 << n);
    let faces = mask(simd, (1 << rays.len()) - 1) & dot(normal, direction).simd_gt(0.0);
    let middle = Ray { origin: Vector3::zeros(), direction: records.globals.sun_direction.into() };
    let cone = Bundle::cone(&middle, records.globals.sun_radius);
    let rays = Rays { origin, direction, shutter: all(simd, records.shutter) };
    let seen = faces & !instances_hide(simd, records, &rays, &cone, &faces);
    let met = ground_met(simd, records, origin, direction, all(simd, 0.0), seen & mask(simd, cut));
    bits_of(seen & !met.simd_lt(FAR))
}

/// As `surface::ground_beyond`, for the lanes in `lanes`.
#[inline(always)]
fn ground_beyond<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    direction: Vector3<f32>,
    from: Floats<S>,
    lanes: Mask<S>,
) -> Floats<S> {
    ground_met(simd, records, surfaces.origin, all_vector(simd, direction.into()), from, lanes)
}

/// The same for rays with any origins and directions.
#[inline(always)]
fn ground_met<S: Simd>(
    simd: S,
    records: &Records<'_>,
    origin: Vectors<S>,
    direction: Vectors<S>,
    from: Floats<S>,
    lanes: Mask<S>,
) -> Floats<S> {
    if lanes.all_false() {
        return all(simd, FAR);
    }
    let rays = Rays { origin: along(origin, direction, from), direction, shutter: all(simd, records.shutter) };
    let t_max = all(simd, records.ground_reach) - from;
    let mip = Ints::splat(simd, SURFACE_MIP as i32);
    trace_heights(simd, records, &rays, [&all(simd, 0.0), &t_max], &mip, &lanes).t
}

/// As `surface::faces_openly`, for the lanes in `lanes`.
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
    let rays = Rays { origin: surfaces.origin, direction: toward, shutter: all(simd, records.shutter) };
    open & !any_instance(simd, records, &rays, &open)
}

/// As `trace::lit`: radiance toward the camera from direct light of Sun, Earth and lamps, for surfaces with the given
/// sunlight.
pub(crate) fn lit<S: Simd>(
    simd: S,
    records: [&Records<'_>; 2],
    camera: &CameraRecord,
    sights: [Option<&CameraHit>; LANES],
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
            let Some(CameraHit { viewer, surface, .. }) = sight else { continue };
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
            let Some(CameraHit { viewer, surface, .. }) = surfaces.sights[lane] else { continue };
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

/// As `surface::reflect` toward the viewers, for the lanes in `lanes`; zero for all others.
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

/// Hapke's reflectance of one material toward the viewers, 1/sr.
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
