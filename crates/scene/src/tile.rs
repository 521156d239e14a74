//! Traces tiles of neighbouring pixels on the CPU. Neighbouring rays have nearly the same direction, and so do the rays
//! from what they see to the Sun. A tile therefore determines once which instances its rays may meet, where they first
//! come near the ground and from where on the shadow rays stay above it. The kernels then test only those. No ray
//! misses anything, so the picture equals that of `camera_pixel` bit for bit. A row of a tile is a packet (`packet`).
//! On a GPU every pixel works alone.

use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};
use nalgebra::Vector3;

use crate::clear::{approach, clear_after};
use crate::kernel::bvh::{Bundle, leaves_met};
use crate::kernel::chance::pixel_seed;
use crate::kernel::sky::sky_radiance;
use crate::kernel::sunlight::Sunlight;
use crate::kernel::surface::SENSOR_MIP;
use crate::kernel::trace::{CameraHit, at_share, camera_ray, pixel_of, pixel_without_light, row_middle};
use crate::kernel::{FAR, GROUND, Hit, Ray, most};
use crate::packet::ground::trace_heights;
use crate::packet::instances::{Hits, trace_instances};
use crate::packet::lanes::{LANES, Rays, all, floats, ints, mask, vectors};
use crate::packet::light::{lit, sights, sunlight};
use crate::record::{CameraRecord, NodeRecord, PixelRecord, Records};

/// Columns of a tile; one row is a packet.
pub(crate) const TILE_COLUMNS: usize = LANES;

/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 64 / LANES;

/// With more instances than this, a ray is faster with the tree of all instances.
const MOST_LEAVES: usize = 12;

/// Rays start this many cells before where they may meet the ground: a ray leaves a cell within one, and a half covers
/// rounding.
const CELLS_BEFORE: f32 = 1.5;

/// Directions are widened by this much of their length, more than the rounding of box tests.
const ROUNDING: f32 = 1e-5;

/// A pixel's central ray, what it has met and the sunlight there.
#[derive(Clone, Copy, Debug)]
struct PixelRay {
    place: [u32; 2],
    seed: u32,
    ray: Ray,
    hit: Hit,
    sight: Option<CameraHit>,
    sun: Sunlight,
}

/// Buffers for tracing a tile, reused from one tile to the next.
#[derive(Debug)]
pub(crate) struct TileTracer {
    /// Vector instructions of the processor.
    level: Level,
    /// The pixels of the tile, row by row.
    looks: Vec<PixelRay>,
    leaves: Vec<NodeRecord>,
    leaves_before_earth: Vec<NodeRecord>,
}

impl TileTracer {
    /// A tracer that uses the given vector instructions.
    pub(crate) fn new(level: Level) -> Self {
        Self { level, looks: Vec::new(), leaves: Vec::new(), leaves_before_earth: Vec::new() }
    }

    /// Traces the pixels in `places` (columns and rows); calls `put` with the column, row and record of each.
    pub(crate) fn trace(
        &mut self,
        records: &Records<'_>,
        camera: &CameraRecord,
        places: [Range<u32>; 2],
        put: impl FnMut([u32; 2], &PixelRecord),
    ) {
        self.look(camera, places);
        dispatch!(self.level, simd => self.meet(simd, records, camera));
        if camera.samples > 1 {
            self.put_sampled(records, camera, put);
        } else {
            dispatch!(self.level, simd => self.shine(simd, records, camera));
            self.put_lit(records, camera, put);
        }
    }

    /// Prepares the rays through the pixels' centres.
    fn look(&mut self, camera: &CameraRecord, [columns, rows]: [Range<u32>; 2]) {
        self.looks.clear();
        for row in rows {
            let middle = row_middle(camera, row);
            self.looks.extend(columns.clone().map(|column| {
                let ray = camera_ray(camera, middle, column as f32, row as f32);
                let hit = Hit { t: FAR, instance: GROUND, part: 0 };
                let sun = Sunlight { share: 0.0, direction: Vector3::zeros() };
                PixelRay {
                    place: [column, row],
                    seed: pixel_seed(camera.seed, column, row),
                    ray,
                    hit,
                    sight: None,
                    sun,
                }
            }));
        }
    }

    /// Finds what the rays meet.
    #[inline(always)]
    fn meet<S: Simd>(&mut self, simd: S, records: &Records<'_>, camera: &CameraRecord) {
        let bundle = self.bundle();
        self.meet_ground(simd, records, &bundle);
        self.meet_instances(simd, records, camera, &bundle);
    }

    /// The bundle of all rays of the tile.
    fn bundle(&self) -> Bundle {
        let rays = self.looks.iter().filter(|look| look.sees()).map(|look| look.ray);
        let from = span(rays.clone().map(|ray| ray.origin), 0.0);
        Bundle::new(from, span(rays.map(|ray| ray.direction), ROUNDING))
    }

    #[inline(always)]
    fn meet_ground<S: Simd>(&mut self, simd: S, records: &Records<'_>, bundle: &Bundle) {
        let near = approach(records, bundle);
        if near.t >= FAR {
            return;
        }
        for looks in self.looks.chunk_by_mut(same_row) {
            // Starts a cell earlier, so that the entry point into each cell is the same as for a ray traced from its
            // origin.
            let from: [f32; LANES] = std::array::from_fn(|lane| {
                let Some(d) = looks.get(lane).map(|look| look.ray.direction) else { return 0.0 };
                most(near.t - CELLS_BEFORE * near.spacing / most(d.x.abs(), d.y.abs()), 0.0)
            });
            let mip = ints(simd, |lane| (if from[lane] > 0.0 { near.mip } else { SENSOR_MIP }) as i32);
            let [start, far] = [floats(simd, |lane| from[lane]), all(simd, FAR)];
            let rays = rays_of(simd, records, looks);
            let hits = trace_heights(simd, records, &rays, [&start, &far], &mip, &mask(simd, seeing(looks)));
            for (look, (t, level)) in looks.iter_mut().zip(hits.t.to_array().into_iter().zip(hits.level.to_array())) {
                (look.hit.t, look.hit.part) = (t, level as u32);
            }
        }
    }

    #[inline(always)]
    fn meet_instances<S: Simd>(&mut self, simd: S, records: &Records<'_>, camera: &CameraRecord, bundle: &Bundle) {
        let farthest = self.looks.iter().map(|look| look.hit.t).fold(0.0, most);
        let few = leaves_met(records, bundle, farthest, MOST_LEAVES, &mut self.leaves);
        let near = if few { Records { instance_nodes: &self.leaves, ..*records } } else { *records };
        for looks in self.looks.chunk_by_mut(same_row) {
            let near = at_share(&near, camera, row_middle(camera, looks[0].place[1]));
            if !near.instance_nodes.is_empty() {
                meet_packet(simd, &near, looks);
            }
            let mut met: [(Ray, Hit); LANES] = [(looks[0].ray, Hit { t: FAR, instance: GROUND, part: 0 }); LANES];
            met.iter_mut().zip(&*looks).for_each(|(met, look)| *met = (look.ray, look.hit));
            let sights = sights(simd, &near, camera, &met);
            looks.iter_mut().zip(sights).for_each(|(look, sight)| look.sight = sight);
        }
    }

    /// Computes the sunlight, and which instances may hide the Earth where the Sun is not fully visible.
    #[inline(always)]
    fn shine<S: Simd>(&mut self, simd: S, records: &Records<'_>, camera: &CameraRecord) {
        let before_sun = before_sun(records, &self.looks, &mut self.leaves);
        for looks in self.looks.chunk_by_mut(same_row) {
            let before_sun = at_share(&before_sun, camera, row_middle(camera, looks[0].place[1]));
            let suns = sunlight(simd, &before_sun, sights_of(looks), camera.sun_samples, seeds_of(looks));
            looks.iter_mut().zip(suns).for_each(|(look, sun)| look.sun = sun);
        }
    }

    /// Outputs pixels that are lit along one ray each.
    fn put_lit(&mut self, records: &Records<'_>, camera: &CameraRecord, mut put: impl FnMut([u32; 2], &PixelRecord)) {
        let before_earth = before_earth(records, &self.looks, &mut self.leaves_before_earth);
        for looks in self.looks.chunk_by(same_row) {
            let share = row_middle(camera, looks[0].place[1]);
            let [records, before_earth] = [records, &before_earth].map(|records| at_share(records, camera, share));
            let mut suns = [looks[0].sun; LANES];
            suns.iter_mut().zip(looks).for_each(|(sun, look)| *sun = look.sun);
            let (sights, seeds) = (sights_of(looks), seeds_of(looks));
            let light =
                dispatch!(self.level, simd => lit(simd, [&records, &before_earth], camera, sights, &suns, seeds));
            for (look, light) in looks.iter().zip(light) {
                let mut pixel = pixel_without_light(&records, camera, look.place, look.sight.as_ref());
                if look.sight.is_some() {
                    pixel.radiance = light.into();
                } else if look.sees() {
                    pixel.radiance = sky_radiance(&records, camera, look.place[0], look.place[1]).into();
                }
                put(look.place, &pixel);
            }
        }
    }

    /// Outputs pixels that use several rays each.
    fn put_sampled(&self, records: &Records<'_>, camera: &CameraRecord, mut put: impl FnMut([u32; 2], &PixelRecord)) {
        for looks in self.looks.chunk_by(same_row) {
            let records = at_share(records, camera, row_middle(camera, looks[0].place[1]));
            for look in looks {
                let pixel = if look.sees() {
                    pixel_of(&records, camera, look.place, look.sight.as_ref())
                } else {
                    PixelRecord::NOTHING
                };
                put(look.place, &pixel);
            }
        }
    }
}

impl PixelRay {
    /// Whether the lens sees anything at this pixel.
    fn sees(&self) -> bool {
        self.ray.direction != Vector3::zeros()
    }
}

fn same_row(a: &PixelRay, b: &PixelRay) -> bool {
    a.place[1] == b.place[1]
}

/// Bit mask of the looks of a row that see anything, from the lowest bit on.
fn seeing(looks: &[PixelRay]) -> u32 {
    looks.iter().enumerate().map(|(lane, look)| u32::from(look.sees()) << lane).sum()
}

/// The rays of a row, one per lane.
#[inline(always)]
fn rays_of<S: Simd>(simd: S, records: &Records<'_>, looks: &[PixelRay]) -> Rays<S> {
    let ray = |lane: usize| looks.get(lane).unwrap_or(&looks[0]).ray;
    let [origin, direction] = [vectors(simd, |lane| ray(lane).origin), vectors(simd, |lane| ray(lane).direction)];
    Rays { origin, direction, shutter: all(simd, records.shutter) }
}

fn sights_of(looks: &[PixelRay]) -> [Option<&CameraHit>; LANES] {
    std::array::from_fn(|lane| looks.get(lane).and_then(|look| look.sight.as_ref()))
}

fn seeds_of(looks: &[PixelRay]) -> [u32; LANES] {
    std::array::from_fn(|lane| looks.get(lane).map_or(0, |look| look.seed))
}

/// Updates the hits of a row with the nearest instances.
#[inline(always)]
fn meet_packet<S: Simd>(simd: S, records: &Records<'_>, looks: &mut [PixelRay]) {
    let hit = |lane: usize| looks.get(lane).unwrap_or(&looks[0]).hit;
    let hits = Hits {
        t: floats(simd, |lane| hit(lane).t),
        instance: ints(simd, |lane| hit(lane).instance as i32),
        part: ints(simd, |lane| hit(lane).part as i32),
    };
    let hits = trace_instances(simd, records, &rays_of(simd, records, looks), &hits, &mask(simd, seeing(looks)));
    let (t, instance, part) = (hits.t.to_array(), hits.instance.to_array(), hits.part.to_array());
    for (lane, look) in looks.iter_mut().enumerate() {
        look.hit = Hit { t: t[lane], instance: instance[lane] as u32, part: part[lane] as u32 };
    }
}

/// The records reduced to instances that may stand between the visible points and the Sun, unless these are too many.
fn before_sun<'a>(records: &Records<'a>, looks: &[PixelRay], leaves: &'a mut Vec<NodeRecord>) -> Records<'a> {
    let globals = &records.globals;
    before(records, looks, |_| true, (globals.sun_direction, globals.sun_radius), leaves)
}

/// The same for the Earth's centre, for points that do not see the whole Sun.
fn before_earth<'a>(records: &Records<'a>, looks: &[PixelRay], leaves: &'a mut Vec<NodeRecord>) -> Records<'a> {
    if records.globals.earth_irradiance <= 0.0 {
        return *records;
    }
    before(records, looks, |look| look.sun.share < 1.0, (records.globals.earth_direction, 0.0), leaves)
}

/// The records reduced to instances that may stand between the selected points and a light of an angular radius.
fn before<'a>(
    records: &Records<'a>,
    looks: &[PixelRay],
    counts: impl Fn(&&PixelRay) -> bool,
    (direction, radius): ([f32; 3], f32),
    leaves: &'a mut Vec<NodeRecord>,
) -> Records<'a> {
    let toward = Vector3::from(direction);
    let mut origins = looks
        .iter()
        .filter(counts)
        .filter_map(|look| look.sight.as_ref())
        .map(|sight| sight.surface.ray(toward).origin)
        .peekable();
    if origins.peek().is_none() {
        return *records;
    }
    let bundle = Bundle::new(span(origins, 0.0), span([toward], radius + ROUNDING));
    let ground_reach = clear_after(records, &bundle);
    let few = leaves_met(records, &bundle, FAR, MOST_LEAVES, leaves);
    Records { instance_nodes: if few { leaves } else { records.instance_nodes }, ground_reach, ..*records }
}

/// The smallest and the largest component along each axis, widened by `margin` on both sides.
fn span(vectors: impl IntoIterator<Item = Vector3<f32>>, margin: f32) -> [Vector3<f32>; 2] {
    let none = [Vector3::repeat(f32::INFINITY), Vector3::repeat(f32::NEG_INFINITY)];
    let [low, high] = vectors.into_iter().fold(none, |[low, high], v| [low.inf(&v), high.sup(&v)]);
    [low.add_scalar(-margin), high.add_scalar(margin)]
}
