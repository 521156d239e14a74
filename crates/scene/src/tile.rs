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
use crate::kernel::sky::sky_radiance;
use crate::kernel::surface::SENSOR_MIP;
use crate::kernel::trace::{at_share, camera_ray, pixel_of, row_middle, scattered_at};
use crate::kernel::{Bands, FAR, GROUND, least, most};
use crate::packet::ground::trace_heights;
use crate::packet::instances::{Hits, trace_instances};
use crate::packet::lanes::{
    Floats, Ints, LANES, Mask, Rays, Stored, Vectors, all, all_vector, bits_of, loaded, mask, stored,
};
use crate::packet::light::{Seeds, Suns, lit, sunlight};
use crate::packet::sights::{Sights, sights};
use crate::real::Real;
use crate::record::{CameraRecord, NodeRecord, PixelRecord, Records};

/// Columns of a tile; one row is a packet.
pub(crate) const TILE_COLUMNS: usize = LANES;

/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 8;

/// With more instances than this, a ray is faster with the tree of all instances.
const MOST_LEAVES: usize = 12;

/// Rays start this many cells before where they may meet the ground: a ray leaves a cell within one, and a half covers
/// rounding.
const CELLS_BEFORE: f32 = 1.5;

/// Directions are widened by this much of their length, more than the rounding of box tests.
const ROUNDING: f32 = 1e-5;

/// The pixels of a row of a tile, their central rays, what these have met and the sunlight there: a packet with one pixel
/// per lane. The last lanes may be empty.
#[derive(Clone, Debug)]
struct Row {
    /// Column and row of the pixel in lane 0.
    first: [u32; 2],
    /// Number of pixels.
    count: usize,
    /// Bits of the lanes where the lens sees anything, lane 0 in the lowest.
    seeing: u32,
    origin: Stored,
    direction: Stored,
    t: [f32; LANES],
    instance: [i32; LANES],
    part: [i32; LANES],
    sights: Sights,
    suns: Suns,
}

/// Buffers for tracing a tile, reused from one tile to the next.
#[derive(Debug)]
pub(crate) struct TileTracer {
    /// Vector instructions of the processor.
    level: Level,
    rows: Vec<Row>,
    leaves: Vec<NodeRecord>,
    leaves_before_earth: Vec<NodeRecord>,
}

impl TileTracer {
    /// A tracer that uses the given vector instructions.
    pub(crate) fn new(level: Level) -> Self {
        Self { level, rows: Vec::new(), leaves: Vec::new(), leaves_before_earth: Vec::new() }
    }

    /// Traces the pixels in `places` (columns and rows); calls `put` with the column, row and record of each.
    pub(crate) fn trace(
        &mut self,
        records: &Records<'_>,
        camera: &CameraRecord,
        [columns, rows]: [Range<u32>; 2],
        put: impl FnMut([u32; 2], &PixelRecord),
    ) {
        self.rows.clear();
        self.rows.extend(rows.map(|row| Row::new(camera, &columns, row)));
        dispatch!(self.level, simd => self.meet(simd, records, camera));
        if camera.samples > 1 {
            self.put_sampled(records, camera, put);
        } else {
            dispatch!(self.level, simd => self.shine(simd, records, camera));
            self.put_lit(records, camera, put);
        }
    }

    /// Finds what the rays meet.
    #[inline(always)]
    fn meet<S: Simd>(&mut self, simd: S, records: &Records<'_>, camera: &CameraRecord) {
        let bundle = self.bundle(simd);
        self.meet_ground(simd, records, &bundle);
        self.meet_instances(simd, records, camera, &bundle);
    }

    /// The bundle of all rays of the tile.
    #[inline(always)]
    fn bundle<S: Simd>(&self, simd: S) -> Bundle {
        let [mut from, mut toward] = [Span::none(simd), Span::none(simd)];
        for row in &self.rows {
            let seeing = mask(simd, row.seeing);
            from.include(&loaded(simd, &row.origin), seeing);
            toward.include(&loaded(simd, &row.direction), seeing);
        }
        Bundle::new(from.sides(0.0), toward.sides(ROUNDING))
    }

    #[inline(always)]
    fn meet_ground<S: Simd>(&mut self, simd: S, records: &Records<'_>, bundle: &Bundle) {
        let near = approach(records, bundle);
        if near.t >= FAR {
            return;
        }
        for row in &mut self.rows {
            let rays = row.rays(simd, records.shutter);
            // Starts a cell earlier, so that the entry point into each cell is the same as for a ray traced from its
            // origin.
            let [x, y, _] = rays.direction;
            let before = all(simd, CELLS_BEFORE * near.spacing) / x.magnitude().most(y.magnitude());
            let start = (all(simd, near.t) - before).most(all(simd, 0.0));
            let mip =
                start.simd_gt(0.0).select(Ints::splat(simd, near.mip as i32), Ints::splat(simd, SENSOR_MIP as i32));
            let hits = trace_heights(simd, records, &rays, [&start, &all(simd, FAR)], &mip, &mask(simd, row.seeing));
            (row.t, row.part) = (hits.t.to_array(), hits.level.to_array());
        }
    }

    #[inline(always)]
    fn meet_instances<S: Simd>(&mut self, simd: S, records: &Records<'_>, camera: &CameraRecord, bundle: &Bundle) {
        let farthest = self.rows.iter().flat_map(|row| &row.t[..row.count]).copied().fold(0.0, most);
        let few = leaves_met(records, bundle, farthest, MOST_LEAVES, &mut self.leaves);
        let near = if few { Records { instance_nodes: &self.leaves, ..*records } } else { *records };
        for row in &mut self.rows {
            let near = at_share(&near, camera, row_middle(camera, row.first[1]));
            let (rays, seeing) = (row.rays(simd, near.shutter), mask(simd, row.seeing));
            let mut hits = row.hits(simd);
            if !near.instance_nodes.is_empty() {
                hits = trace_instances(simd, &near, &rays, &hits, &seeing);
            }
            row.sights = sights(simd, &near, camera, (&rays, &hits), seeing);
        }
    }

    /// Computes the sunlight.
    #[inline(always)]
    fn shine<S: Simd>(&mut self, simd: S, records: &Records<'_>, camera: &CameraRecord) {
        let before_sun = before_sun(simd, records, &self.rows, &mut self.leaves);
        for row in &mut self.rows {
            let before_sun = at_share(&before_sun, camera, row_middle(camera, row.first[1]));
            row.suns = sunlight(simd, &before_sun, &row.sights, camera.sun_samples, row.seeds(camera));
        }
    }

    /// Outputs pixels that are lit along one ray each.
    fn put_lit(&mut self, records: &Records<'_>, camera: &CameraRecord, mut put: impl FnMut([u32; 2], &PixelRecord)) {
        let (rows, leaves) = (&self.rows, &mut self.leaves_before_earth);
        let before_earth = dispatch!(self.level, simd => before_earth(simd, records, rows, leaves));
        for row in rows {
            let share = row_middle(camera, row.first[1]);
            let [records, before_earth] = [records, &before_earth].map(|records| at_share(records, camera, share));
            let (both, lighted, seeds) = ([&records, &before_earth], (&row.sights, &row.suns), row.seeds(camera));
            let light = dispatch!(self.level, simd => lit(simd, both, camera, lighted, seeds));
            for lane in 0..row.count {
                put(row.place(lane), &row.pixel(&records, camera, lane, &light));
            }
        }
    }

    /// Outputs pixels that use several rays each.
    fn put_sampled(&self, records: &Records<'_>, camera: &CameraRecord, mut put: impl FnMut([u32; 2], &PixelRecord)) {
        for row in &self.rows {
            let records = at_share(records, camera, row_middle(camera, row.first[1]));
            for lane in 0..row.count {
                let place = row.place(lane);
                let sees = row.seeing >> lane & 1 != 0;
                let sampled = || pixel_of(&records, camera, place, row.sights.hit(lane).as_ref());
                put(place, &if sees { sampled() } else { PixelRecord::NOTHING });
            }
        }
    }
}

impl Row {
    /// A row with the rays through the pixels' centres.
    fn new(camera: &CameraRecord, columns: &Range<u32>, row: u32) -> Self {
        let mut new = Self {
            first: [columns.start, row],
            count: columns.len(),
            seeing: 0,
            origin: [[0.0; LANES]; 3],
            direction: [[0.0; LANES]; 3],
            t: [FAR; LANES],
            instance: [GROUND as i32; LANES],
            part: [0; LANES],
            sights: Sights::NONE,
            suns: Suns::NONE,
        };
        let middle = row_middle(camera, row);
        for (lane, column) in columns.clone().enumerate() {
            let ray = camera_ray(camera, middle, column as f32, row as f32);
            new.seeing |= u32::from(ray.direction != Vector3::zeros()) << lane;
            for axis in 0..3 {
                new.origin[axis][lane] = ray.origin[axis];
                new.direction[axis][lane] = ray.direction[axis];
            }
        }
        new
    }

    #[inline(always)]
    fn rays<S: Simd>(&self, simd: S, shutter: f32) -> Rays<S> {
        let [origin, direction] = [loaded(simd, &self.origin), loaded(simd, &self.direction)];
        Rays { origin, direction, shutter: all(simd, shutter) }
    }

    #[inline(always)]
    fn hits<S: Simd>(&self, simd: S) -> Hits<S> {
        let [instance, part] = [self.instance.simd_into(simd), self.part.simd_into(simd)];
        Hits { t: self.t.simd_into(simd), instance, part }
    }

    fn seeds(&self, camera: &CameraRecord) -> Seeds {
        Seeds { frame: camera.seed, first: self.first }
    }

    /// Column and row of a pixel.
    fn place(&self, lane: usize) -> [u32; 2] {
        [self.first[0] + lane as u32, self.first[1]]
    }

    /// The pixel of a lane, with the light on its surface.
    fn pixel(&self, records: &Records<'_>, camera: &CameraRecord, lane: usize, light: &Stored) -> PixelRecord {
        let [column, row] = self.place(lane);
        if self.seeing >> lane & 1 == 0 {
            return PixelRecord::NOTHING;
        }
        if self.sights.there >> lane & 1 == 0 {
            return PixelRecord { radiance: sky_radiance(records, camera, column, row).into(), ..PixelRecord::NOTHING };
        }
        let scattered = if camera.bounce_rays == 0 {
            Bands::zeros()
        } else {
            let sight = self.sights.hit(lane);
            sight.map_or(Bands::zeros(), |sight| scattered_at(records, camera, [column, row], &sight))
        };
        PixelRecord {
            radiance: [light[0][lane], light[1][lane], light[2][lane]],
            depth: self.sights.t[lane],
            code: self.sights.code[lane],
            scattered: scattered.into(),
        }
    }
}

/// The records reduced to instances that may stand between the visible points and the Sun, unless these are too many.
#[inline(always)]
fn before_sun<'a, S: Simd>(
    simd: S,
    records: &Records<'a>,
    rows: &[Row],
    leaves: &'a mut Vec<NodeRecord>,
) -> Records<'a> {
    let globals = &records.globals;
    let every = all(simd, f32::INFINITY);
    before(simd, records, (rows, every), (globals.sun_direction, globals.sun_radius), leaves)
}

/// The same for the Earth's centre, for points that do not see the whole Sun.
#[inline(always)]
fn before_earth<'a, S: Simd>(
    simd: S,
    records: &Records<'a>,
    rows: &[Row],
    leaves: &'a mut Vec<NodeRecord>,
) -> Records<'a> {
    if records.globals.earth_irradiance <= 0.0 {
        return *records;
    }
    before(simd, records, (rows, all(simd, 1.0)), (records.globals.earth_direction, 0.0), leaves)
}

/// The records reduced to instances that may stand between a light of an angular radius and the points whose share of
/// sunlight is below a limit.
#[inline(always)]
fn before<'a, S: Simd>(
    simd: S,
    records: &Records<'a>,
    (rows, below): (&[Row], Floats<S>),
    (direction, radius): ([f32; 3], f32),
    leaves: &'a mut Vec<NodeRecord>,
) -> Records<'a> {
    let mut from = Span::none(simd);
    let mut any = 0;
    for row in rows {
        let share: Floats<S> = row.suns.share.simd_into(simd);
        let counts = mask(simd, row.sights.there) & share.simd_lt(below);
        any |= bits_of(counts);
        from.include(&loaded(simd, &row.sights.origin), counts);
    }
    if any == 0 {
        return *records;
    }
    let toward = Vector3::from(direction);
    let margin = radius + ROUNDING;
    let bundle = Bundle::new(from.sides(0.0), [toward.add_scalar(-margin), toward.add_scalar(margin)]);
    let ground_reach = clear_after(records, &bundle);
    let few = leaves_met(records, &bundle, FAR, MOST_LEAVES, leaves);
    Records { instance_nodes: if few { leaves } else { records.instance_nodes }, ground_reach, ..*records }
}

/// The smallest and the largest component along each axis, lane by lane.
struct Span<S: Simd> {
    low: Vectors<S>,
    high: Vectors<S>,
}

impl<S: Simd> Span<S> {
    #[inline(always)]
    fn none(simd: S) -> Self {
        Self { low: all_vector(simd, [f32::INFINITY; 3]), high: all_vector(simd, [f32::NEG_INFINITY; 3]) }
    }

    /// Includes the vectors of the lanes in `lanes`.
    #[inline(always)]
    fn include(&mut self, v: &Vectors<S>, lanes: Mask<S>) {
        for ((&v, low), high) in v.iter().zip(&mut self.low).zip(&mut self.high) {
            *low = lanes.select(v, *low).least(*low);
            *high = lanes.select(v, *high).most(*high);
        }
    }

    /// Those of all lanes, widened by `margin` on both sides.
    #[inline(always)]
    fn sides(&self, margin: f32) -> [Vector3<f32>; 2] {
        let [low, high] = [stored(&self.low), stored(&self.high)];
        let least = |axis: usize| low[axis].into_iter().fold(f32::INFINITY, least);
        let most = |axis: usize| high[axis].into_iter().fold(f32::NEG_INFINITY, most);
        [
            Vector3::new(least(0), least(1), least(2)).add_scalar(-margin),
            Vector3::new(most(0), most(1), most(2)).add_scalar(margin),
        ]
    }
}
