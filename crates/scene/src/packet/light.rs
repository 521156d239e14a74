//! Lights a packet of neighbouring surfaces: `kernel::sunlight`, `earthlight` and `surface` with one surface per lane;
//! in a penumbra, one ray to a point of the Sun's disc per lane. What few pixels need (the Earth's disc, materials other
//! than Hapke's, lamps) runs in the kernels pixel by pixel.

use fearless_simd::prelude::*;
use nalgebra::Vector3;

use super::ground::trace_heights;
use super::instances::{any_instance, cones_meet_instances, instances_hide};
use super::lanes::{
    Floats, Ints, LANES, Mask, Rays, Stored, Vectors, all, all_vector, bits_of, lanes_of, loaded, mask, stored,
    vector_of, vectors,
};
use super::sights::Sights;
use crate::kernel::bvh::Bundle;
use crate::kernel::chance::pixel_seed;
use crate::kernel::earthlight::earthlight;
use crate::kernel::hapke::reflected_by;
use crate::kernel::lamp::lamps_on;
use crate::kernel::sunlight::{Sunlight, disc_points, sun_points, sunlight_of};
use crate::kernel::surface::{GRAZING_COS, SURFACE_MIP, across, reflect};
use crate::kernel::trace::CameraHit;
use crate::kernel::{Bands, FAR, HAPKE, Ray, SUN_BAND};
use crate::light::SAMPLES_MAX;
use crate::real::{Real, along, dot, unit};
use crate::record::{CameraRecord, MaterialRecord, Records};

/// One surface per lane, with what lighting uses most in registers.
struct Surfaces<'a, S: Simd> {
    sights: &'a Sights,
    /// Lanes that have a surface.
    there: Mask<S>,
    normal: Vectors<S>,
    viewer: Vectors<S>,
    /// Start points of the rays that leave the surfaces.
    origin: Vectors<S>,
}

impl<'a, S: Simd> Surfaces<'a, S> {
    #[inline(always)]
    fn new(simd: S, sights: &'a Sights) -> Self {
        let [normal, viewer, origin] = [&sights.normal, &sights.viewer, &sights.origin].map(|v| loaded(simd, v));
        Self { sights, there: mask(simd, sights.there), normal, viewer, origin }
    }
}

/// The sunlight on each surface of a packet, as `sunlight::Sunlight`.
#[derive(Clone, Debug)]
pub(crate) struct Suns {
    /// Fraction of the Sun's light that arrives, 0…1; 0 in lanes without a surface.
    pub(crate) share: [f32; LANES],
    /// Mean direction of that light, unit.
    direction: Stored,
}

impl Suns {
    /// No light.
    pub(crate) const NONE: Self = Self { share: [0.0; LANES], direction: [[0.0; LANES]; 3] };

    /// Light from the Sun's centre.
    fn of_centre(sun: &Vector3<f32>, share: [f32; LANES]) -> Self {
        Self { share, direction: [[sun.x; LANES], [sun.y; LANES], [sun.z; LANES]] }
    }

    fn put(&mut self, lane: usize, light: &Sunlight) {
        self.share[lane] = light.share;
        for (numbers, number) in self.direction.iter_mut().zip(&light.direction) {
            numbers[lane] = *number;
        }
    }
}

/// The random seeds of a packet's pixels.
#[derive(Clone, Copy)]
pub(crate) struct Seeds {
    /// Seed of the frame.
    pub(crate) frame: u32,
    /// Column and row of the pixel in lane 0.
    pub(crate) first: [u32; 2],
}

impl Seeds {
    fn of(&self, lane: usize) -> u32 {
        pixel_seed(self.frame, self.first[0] + lane as u32, self.first[1])
    }
}

/// As `sunlight::sunlight`, for each surface of a packet.
pub(crate) fn sunlight<S: Simd>(simd: S, records: &Records<'_>, sights: &Sights, samples: u32, seeds: Seeds) -> Suns {
    let mut suns = simd.vectorize(
        #[inline(always)]
        || sunlight_on(simd, records, &Surfaces::new(simd, sights), samples, seeds),
    );
    for (share, open) in suns.share.iter_mut().zip(sights.open) {
        *share *= open;
    }
    suns
}

#[inline(always)]
fn sunlight_on<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    samples: u32,
    seeds: Seeds,
) -> Suns {
    let sun = Vector3::from(records.globals.sun_direction);
    let [zero, one] = [all(simd, 0.0), all(simd, 1.0)];
    if samples <= 1 {
        let open = faces_openly(simd, records, surfaces, sun, surfaces.there);
        return Suns::of_centre(&sun, open.select(one, zero).to_array());
    }
    let [whole, ground_cuts, partial] = disc(simd, records, surfaces, sun);
    let mut suns = Suns::of_centre(&sun, mask(simd, whole).select(one, zero).to_array());
    if partial != 0 {
        sample_discs(simd, records, surfaces, [partial, ground_cuts], (samples, seeds), &mut suns);
    }
    suns
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
    (samples, seeds): (u32, Seeds),
    suns: &mut Suns,
) {
    let count = disc_points(samples);
    let mut discs = [[Vector3::zeros(); SAMPLES_MAX as usize]; LANES];
    let mut rays = Vec::with_capacity(LANES * count);
    for lane in lanes_of(partial) {
        discs[lane] = sun_points(records, samples, seeds.of(lane));
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
        suns.put(lane, &sunlight_of(records, &discs[lane][..count], open[lane]));
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
    let origin = vectors(simd, |number| vector_of(&surfaces.sights.origin, ray(number).lane));
    let normal = vectors(simd, |number| vector_of(&surfaces.sights.normal, ray(number).lane));
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

/// As `trace::lit`: radiance toward the camera from direct light of Sun, Earth and lamps, in each band, for surfaces
/// with the given sunlight.
pub(crate) fn lit<S: Simd>(
    simd: S,
    records: [&Records<'_>; 2],
    camera: &CameraRecord,
    (sights, suns): (&Sights, &Suns),
    seeds: Seeds,
) -> Stored {
    let mut radiance = simd.vectorize(
        #[inline(always)]
        || sunlit_and_earthlit(simd, records, camera, &Surfaces::new(simd, sights), suns),
    );
    let [records, _] = records;
    if records.globals.earth_irradiance > 0.0 && camera.earth_samples > 1 {
        add(&mut radiance, sights, |lane, CameraHit { viewer, surface, .. }| {
            let shaded = suns.share[lane] < 1.0;
            shaded.then(|| earthlight(records, surface, viewer, [camera.earth_samples, seeds.of(lane)]))
        });
    }
    if !records.lamps.is_empty() {
        add(&mut radiance, sights, |lane, CameraHit { viewer, surface, .. }| {
            Some(lamps_on(records, surface, viewer, [camera.sun_samples, seeds.of(lane)], suns.share[lane]))
        });
    }
    radiance
}

/// Adds light on the surfaces, one by one.
fn add(radiance: &mut Stored, sights: &Sights, light: impl Fn(usize, &CameraHit) -> Option<Bands>) {
    for lane in lanes_of(sights.there) {
        let Some(light) = sights.hit(lane).and_then(|sight| light(lane, &sight)) else { continue };
        radiance.iter_mut().zip(&light).for_each(|(radiance, light)| radiance[lane] += light);
    }
}

/// Light of the Sun, and of the Earth unless its disc is sampled.
#[inline(always)]
fn sunlit_and_earthlit<S: Simd>(
    simd: S,
    [records, before_earth]: [&Records<'_>; 2],
    camera: &CameraRecord,
    surfaces: &Surfaces<'_, S>,
    suns: &Suns,
) -> Stored {
    let globals = &records.globals;
    let share: Floats<S> = suns.share.simd_into(simd);
    let sunlit = surfaces.there & share.simd_gt(0.0);
    let [red, green, blue] = reflected(simd, records, surfaces, loaded(simd, &suns.direction), sunlit);
    let irradiance = share * SUN_BAND * globals.sun_irradiance;
    let radiance = [red * irradiance, green * irradiance, blue * irradiance];
    let shaded = surfaces.there & share.simd_lt(1.0);
    if globals.earth_irradiance <= 0.0 || camera.earth_samples > 1 || shaded.all_false() {
        return stored(&radiance);
    }
    let earth = Vector3::from(globals.earth_direction);
    let open = faces_openly(simd, before_earth, surfaces, earth, shaded);
    let earthlit = reflected(simd, records, surfaces, all_vector(simd, earth.into()), open);
    let irradiance = Bands::from(globals.earth_bands) * globals.earth_irradiance;
    let band = |band: usize| open.select(radiance[band] + earthlit[band] * irradiance[band], radiance[band]);
    stored(&[band(0), band(1), band(2)])
}

/// As `surface::reflect` toward the viewers, for the lanes in `lanes`; zero for all others.
#[inline(always)]
fn reflected<S: Simd>(
    simd: S,
    records: &Records<'_>,
    surfaces: &Surfaces<'_, S>,
    sources: Vectors<S>,
    lanes: Mask<S>,
) -> Vectors<S> {
    let mut reflected = all_vector(simd, [0.0; 3]);
    let materials = &surfaces.sights.material;
    let mut left = bits_of(lanes);
    while let Some(first) = lanes_of(left).next() {
        let number = materials[first];
        let group = lanes_of(left).filter(|lane| materials[*lane] == number).fold(0_u32, |bits, lane| bits | 1 << lane);
        left &= !group;
        let material = &records.materials[number as usize];
        let of_group = if material.kind == HAPKE {
            hapke(simd, material, surfaces, sources)
        } else {
            one_by_one(simd, records, surfaces.sights, &sources, group)
        };
        let group = mask(simd, group);
        reflected = [0, 1, 2].map(|band| group.select(of_group[band], reflected[band]));
    }
    reflected
}

/// As `surface::reflect`, surface by surface for the lanes in `lanes`.
fn one_by_one<S: Simd>(
    simd: S,
    records: &Records<'_>,
    sights: &Sights,
    sources: &Vectors<S>,
    lanes: u32,
) -> Vectors<S> {
    let sources = stored(sources);
    let mut reflected = [Bands::zeros(); LANES];
    for lane in lanes_of(lanes) {
        let Some(CameraHit { viewer, surface, .. }) = sights.hit(lane) else { continue };
        reflected[lane] = reflect(records, &surface, &vector_of(&sources, lane), &viewer);
    }
    vectors(simd, |lane| reflected[lane])
}

/// Hapke's reflectance of one material toward the viewers in each band, 1/sr.
#[inline(always)]
fn hapke<S: Simd>(simd: S, material: &MaterialRecord, surfaces: &Surfaces<'_, S>, sources: Vectors<S>) -> Vectors<S> {
    let normal = surfaces.normal;
    let turned_away = (all(simd, GRAZING_COS) - dot(normal, surfaces.viewer)).most(all(simd, 0.0));
    let viewer = unit(along(surfaces.viewer, normal, turned_away));
    let factor = reflected_by(material, [normal, sources, viewer]);
    let shade: Floats<S> = surfaces.sights.shade.simd_into(simd);
    let [red, green, blue] = material.tint;
    [shade * red * factor, shade * green * factor, shade * blue * factor]
}
