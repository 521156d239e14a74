//! Traces a packet of rays against the nested height levels: `kernel::heights` with one ray per lane. Each lane computes
//! the same steps and numbers as its ray would alone; all lanes step together until the last one has met the ground or
//! left.

use fearless_simd::prelude::*;

use super::lanes::{Floats, Ints, LANES, Mask, Rays, Vectors, all, bits_of, floats, ints, inverse, lanes_of};
use crate::kernel::FAR;
use crate::kernel::heights::{ENTRY_MIP, STILL, mip_max};
use crate::real::Real;
use crate::record::{LevelRecord, MIPS_MAX, Records};

/// Ray parameter at which each ray starts, and the mip of the level there.
#[derive(Clone, Copy)]
pub(crate) struct Starts<S: Simd> {
    pub(crate) t: Floats<S>,
    pub(crate) mip: Ints<S>,
}

/// Where each ray has met the ground.
#[derive(Clone, Copy)]
pub(crate) struct GroundHits<S: Simd> {
    /// Ray parameter; `FAR` where the ray met nothing.
    pub(crate) t: Floats<S>,
    pub(crate) level: Ints<S>,
}

/// Rays in a level's grid: positions in cells, heights in metres.
#[derive(Clone, Copy)]
struct GridRays<S: Simd> {
    x: Floats<S>,
    y: Floats<S>,
    z: Floats<S>,
    dx: Floats<S>,
    dy: Floats<S>,
    dz: Floats<S>,
    inverse_dx: Floats<S>,
    inverse_dy: Floats<S>,
}

/// As `heights::trace_heights_within` up to `t_max`, for the lanes in `active`.
pub(crate) fn trace_heights<S: Simd>(
    simd: S,
    records: &Records<'_>,
    rays: &Rays<S>,
    [start, t_max]: [&Floats<S>; 2],
    mip: &Ints<S>,
    active: &Mask<S>,
) -> GroundHits<S> {
    simd.vectorize(
        #[inline(always)]
        || nearest(simd, records, rays, [*start, *t_max], Starts { t: *start, mip: *mip }, *active),
    )
}

#[inline(always)]
fn nearest<S: Simd>(
    simd: S,
    records: &Records<'_>,
    rays: &Rays<S>,
    span: [Floats<S>; 2],
    starts: Starts<S>,
    active: Mask<S>,
) -> GroundHits<S> {
    let mut hits = GroundHits { t: all(simd, FAR), level: Ints::splat(simd, 0) };
    let mut open = active;
    let mut finer = level_interval(&records.levels[0], rays, span);
    let inward = open & (starts.t.below(finer[0]) | finer[1].at_most(starts.t));
    if inward.any_true() {
        open = trace_inward(simd, records, rays, span, starts, [open, inward], &mut hits);
    }
    for (index, level) in records.levels.iter().enumerate() {
        if open.all_false() {
            break;
        }
        let here = level_interval(level, rays, span);
        let from = if index > 0 { finer[0].below(finer[1]).select(here[0].most(finer[1]), here[0]) } else { here[0] };
        let t = march_level(simd, records, index, rays, [from, here[1]], starts, open);
        open = take(open, t, index, &mut hits);
        open &= !(here[0].below(here[1]) & span[1].at_most(here[1]));
        finer = here;
    }
    hits
}

/// As `heights::trace_inward`, for lanes that are both `open` and `inward`; returns the lanes without a hit.
#[inline(always)]
fn trace_inward<S: Simd>(
    simd: S,
    records: &Records<'_>,
    rays: &Rays<S>,
    span: [Floats<S>; 2],
    starts: Starts<S>,
    [mut open, inward]: [Mask<S>; 2],
    hits: &mut GroundHits<S>,
) -> Mask<S> {
    for index in (1..records.levels.len()).rev() {
        let here = level_interval(&records.levels[index], rays, span);
        let finer = level_interval(&records.levels[index - 1], rays, span);
        let until = here[1].least(finer[0]);
        let come = open & inward & finer[0].below(finer[1]);
        let t = march_level(simd, records, index, rays, [here[0], until], starts, come);
        open = take(open, t, index, hits);
    }
    open
}

/// Stores the hits on a level; returns the lanes without a hit.
#[inline(always)]
fn take<S: Simd>(open: Mask<S>, t: Floats<S>, level: usize, hits: &mut GroundHits<S>) -> Mask<S> {
    let found = open & t.simd_lt(FAR);
    hits.t = found.select(t, hits.t);
    hits.level = found.select(Ints::splat(t.simd, level as i32), hits.level);
    open & !found
}

#[inline(always)]
fn level_interval<S: Simd>(level: &LevelRecord, rays: &Rays<S>, span: [Floats<S>; 2]) -> [Floats<S>; 2] {
    let [x, y] = [slab(level, rays, 0), slab(level, rays, 1)];
    [x[0].most(y[0]).most(span[0]), x[1].least(y[1]).least(span[1])]
}

/// Range of the ray parameter in which a coordinate lies between the sides of a level.
#[inline(always)]
fn slab<S: Simd>(level: &LevelRecord, rays: &Rays<S>, axis: usize) -> [Floats<S>; 2] {
    let side = level.cells as f32 * level.spacing;
    let low = rays.origin[axis].like(level.origin[axis]) - rays.origin[axis];
    let inverse = finite_inverse(rays.direction[axis]);
    let [a, b] = [low * inverse, (low + side) * inverse];
    [a.least(b), a.most(b)]
}

#[inline(always)]
fn finite_inverse<S: Simd>(x: Floats<S>) -> Floats<S> {
    inverse(x, STILL, 1.0 / STILL)
}

#[inline(always)]
fn below_top<S: Simd>(
    records: &Records<'_>,
    level: &LevelRecord,
    rays: &Rays<S>,
    [from, until]: [Floats<S>; 2],
) -> [Floats<S>; 2] {
    if level.top_mip == 0 {
        return [from, until];
    }
    let dz = rays.direction[2];
    let level_flight = dz.magnitude().simd_lt(STILL);
    let t = (dz.like(mip_max(records, level, level.top_mip, 0, 0)) - rays.origin[2]) / dz;
    let rises = dz.simd_gt(0.0);
    [(rises | level_flight).select(from, from.most(t)), (!rises | level_flight).select(until, until.least(t))]
}

/// As `heights::march_level`, for the lanes in `active`; `FAR` for all others.
#[inline(always)]
fn march_level<S: Simd>(
    simd: S,
    records: &Records<'_>,
    index: usize,
    rays: &Rays<S>,
    span: [Floats<S>; 2],
    starts: Starts<S>,
    active: Mask<S>,
) -> Floats<S> {
    let level = &records.levels[index];
    let [from, until] = below_top(records, level, rays, span);
    let active = active & from.below(until);
    if active.all_false() {
        return all(simd, FAR);
    }
    march(simd, records, level, rays, [from, until], starts, active)
}

fn march<S: Simd>(
    simd: S,
    records: &Records<'_>,
    level: &LevelRecord,
    rays: &Rays<S>,
    [from, until]: [Floats<S>; 2],
    starts: Starts<S>,
    active: Mask<S>,
) -> Floats<S> {
    simd.vectorize(
        #[inline(always)]
        || steps(&GridWalk::new(simd, records, level, grid_rays(level, rays), until), from, starts, active),
    )
}

/// What stays constant while rays step through a level.
struct GridWalk<'a, S: Simd> {
    simd: S,
    records: &'a Records<'a>,
    level: &'a LevelRecord,
    rays: GridRays<S>,
    until: Floats<S>,
    /// Index of the last cell, and the highest mip.
    last: Ints<S>,
    top_mip: Ints<S>,
    /// Index of each mip's first cell.
    firsts: [u32; MIPS_MAX],
    /// Whether x and y grow or stay along the ray, and whether z falls.
    up: [Mask<S>; 2],
    falls: Mask<S>,
}

/// Current position of each ray: the mip cell that contains the cell `x`, `y`.
#[derive(Clone, Copy)]
struct RayCells<S: Simd> {
    t: Floats<S>,
    mip: Ints<S>,
    x: Ints<S>,
    y: Ints<S>,
}

/// Where rays leave their mip cells.
#[derive(Clone, Copy)]
struct Exits<S: Simd> {
    t: Floats<S>,
    /// Ray parameter at the cell's side across x, and across y.
    t_x: Floats<S>,
    t_y: Floats<S>,
    /// The mip cell's first cell of the level, and its side in such cells.
    low_x: Ints<S>,
    low_y: Ints<S>,
    size: Ints<S>,
}

#[inline(always)]
fn steps<S: Simd>(walk: &GridWalk<'_, S>, from: Floats<S>, starts: Starts<S>, mut active: Mask<S>) -> Floats<S> {
    let simd = walk.simd;
    let none = Ints::splat(simd, 0);
    let mut hit = all(simd, FAR);
    let mut ray_cells = walk.enter(from, starts);
    loop {
        let exits = walk.exits(&ray_cells);
        let lowest = walk.rays.z + walk.rays.dz * walk.falls.select(exits.t, ray_cells.t);
        let in_cell = ray_cells.mip.simd_eq(none);
        let descends = walk.descends(&ray_cells, lowest, active & !in_cell);
        let cells = active & in_cell;
        if cells.any_true() {
            let RayCells { t, x, y, .. } = ray_cells;
            let met = hit_cells(walk.records, walk.level, &walk.rays, [x, y], [t, exits.t], lowest, cells);
            let found = cells & met.simd_lt(FAR);
            hit = found.select(met, hit);
            active &= !found;
        }
        let moves = active & !descends;
        active &= !(moves & walk.until.at_most(exits.t));
        active &= !walk.leave(&mut ray_cells, &exits, descends, moves & active);
        if active.all_false() {
            return hit;
        }
    }
}

impl<'a, S: Simd> GridWalk<'a, S> {
    #[inline(always)]
    fn new(simd: S, records: &'a Records<'a>, level: &'a LevelRecord, rays: GridRays<S>, until: Floats<S>) -> Self {
        let zero = all(simd, 0.0);
        Self {
            simd,
            records,
            level,
            rays,
            until,
            last: Ints::splat(simd, level.cells as i32 - 1),
            top_mip: Ints::splat(simd, level.top_mip as i32),
            firsts: std::array::from_fn(|mip| level.mips[mip / 4][mip % 4]),
            up: [zero.at_most(rays.dx), zero.at_most(rays.dy)],
            falls: rays.dz.below(zero),
        }
    }

    #[inline(always)]
    fn enter(&self, from: Floats<S>, starts: Starts<S>) -> RayCells<S> {
        let (r, none) = (&self.rays, Ints::splat(self.simd, 0));
        let mip = starts.t.below(from).select(Ints::splat(self.simd, ENTRY_MIP as i32), starts.mip).min(self.top_mip);
        let x = cell_of(r.x + from * r.dx, none, self.last);
        let y = cell_of(r.y + from * r.dy, none, self.last);
        RayCells { t: from, mip, x, y }
    }

    #[inline(always)]
    fn exits(&self, ray_cells: &RayCells<S>) -> Exits<S> {
        let (r, none) = (&self.rays, Ints::splat(self.simd, 0));
        let size = Ints::splat(self.simd, 1) << ray_cells.mip;
        let [low_x, low_y] = [ray_cells.x & -size, ray_cells.y & -size];
        let t_x = ((low_x + self.up[0].select(size, none)).to_float::<Floats<S>>() - r.x) * r.inverse_dx;
        let t_y = ((low_y + self.up[1].select(size, none)).to_float::<Floats<S>>() - r.y) * r.inverse_dy;
        let t = t_x.least(t_y).least(self.until).most(ray_cells.t);
        Exits { t, t_x, t_y, low_x, low_y, size }
    }

    /// Which of the lanes `above`, in cells of higher mips, come as low as the highest post there.
    #[inline(always)]
    fn descends(&self, ray_cells: &RayCells<S>, lowest: Floats<S>, above: Mask<S>) -> Mask<S> {
        if above.all_false() {
            return above;
        }
        // Lanes in single cells read the mip above too; their result is masked out.
        let one = Ints::splat(self.simd, 1);
        let at = ray_cells.mip.max(one);
        let index = (ray_cells.y >> at) * ((self.last >> at) + 1) + (ray_cells.x >> at);
        let [at, index] = [at.to_array(), index.to_array()];
        let top = floats(self.simd, |lane| {
            self.records.heights[(self.firsts[at[lane] as usize % MIPS_MAX] + index[lane] as u32) as usize]
        });
        above & lowest.at_most(top)
    }

    /// Moves the lanes of `descends` to the mip below and those of `moves` to the next cell; returns which of the
    /// latter have left the level.
    #[inline(always)]
    fn leave(&self, ray_cells: &mut RayCells<S>, exits: &Exits<S>, descends: Mask<S>, moves: Mask<S>) -> Mask<S> {
        let (r, none, back) = (&self.rays, Ints::splat(self.simd, 0), Ints::splat(self.simd, -1));
        let Exits { t_x, t_y, low_x, low_y, size, .. } = *exits;
        // As in the kernel, both coordinates by selection.
        let t = moves.select(exits.t, ray_cells.t);
        let along_x = t_x.below(t_y);
        let last_x = self.last.min(low_x + size - 1);
        let last_y = self.last.min(low_y + size - 1);
        let [up_x, up_y] = self.up;
        let next_x = along_x.select(low_x + up_x.select(size, back), cell_of(r.x + t * r.dx, low_x, last_x));
        let next_y = along_x.select(cell_of(r.y + t * r.dy, low_y, last_y), low_y + up_y.select(size, back));
        // The sign bit is set where a coordinate is before the first cell or beyond the last.
        let outside = moves & ((next_x | next_y) | ((self.last - next_x) | (self.last - next_y))).simd_lt(none);
        let moves = moves & !outside;
        let crossed = ((next_x ^ ray_cells.x) | (next_y ^ ray_cells.y)).simd_ge(size + size);
        let rises = moves & crossed & ray_cells.mip.simd_lt(self.top_mip);
        let mip = descends.select(ray_cells.mip - 1, rises.select(ray_cells.mip + 1, ray_cells.mip));
        *ray_cells = RayCells { t, mip, x: moves.select(next_x, ray_cells.x), y: moves.select(next_y, ray_cells.y) };
        outside
    }
}

#[inline(always)]
fn grid_rays<S: Simd>(level: &LevelRecord, rays: &Rays<S>) -> GridRays<S> {
    let dx = rays.direction[0] * level.inverse_spacing;
    let dy = rays.direction[1] * level.inverse_spacing;
    GridRays {
        x: (rays.origin[0] - level.origin[0]) * level.inverse_spacing,
        y: (rays.origin[1] - level.origin[1]) * level.inverse_spacing,
        z: rays.origin[2],
        dx,
        dy,
        dz: rays.direction[2],
        inverse_dx: finite_inverse(dx),
        inverse_dy: finite_inverse(dy),
    }
}

/// Cell indices of coordinates, clamped to `low` and `high`.
#[inline(always)]
fn cell_of<S: Simd>(coordinate: Floats<S>, low: Ints<S>, high: Ints<S>) -> Ints<S> {
    // 1e9 is beyond any grid but fits an integer.
    let coordinate = coordinate.most(coordinate.like(0.0)).least(coordinate.like(1e9));
    coordinate.to_int::<Ints<S>>().max(low).min(high)
}

/// As `heights::hit_cell`, for the lanes in `cells`.
#[inline(always)]
fn hit_cells<S: Simd>(
    records: &Records<'_>,
    level: &LevelRecord,
    r: &GridRays<S>,
    [x, y]: [Ints<S>; 2],
    [enter, leave]: [Floats<S>; 2],
    lowest: Floats<S>,
    cells: Mask<S>,
) -> Floats<S> {
    let simd = lowest.simd;
    let far = all(simd, FAR);
    let [h00, h10, h01, h11] = posts(simd, records, level, [x, y], cells);
    let low_enough = lowest.at_most(h00.most(h10).most(h01.most(h11)));
    if (cells & low_enough).all_false() {
        return far;
    }
    let zero = all(simd, 0.0);
    let u = r.x - x.to_float::<Floats<S>>() + enter * r.dx;
    let v = r.y - y.to_float::<Floats<S>>() + enter * r.dy;
    let [b, c, e] = [h10 - h00, h01 - h00, h11 - h10 - h01 + h00];
    let f0 = r.z + enter * r.dz - (h00 + b * u + c * v + e * u * v);
    let f1 = r.dz - (b * r.dx + c * r.dy + e * (u * r.dy + v * r.dx));
    let f2 = -e * r.dx * r.dy;
    let s = first_root(f0, f1, f2);
    let met = s.at_most(leave - enter).select(enter + s, far);
    low_enough.select(f0.at_most(zero).select(enter, met), far)
}

#[inline(always)]
fn first_root<S: Simd>(f0: Floats<S>, f1: Floats<S>, f2: Floats<S>) -> Floats<S> {
    let [zero, far] = [f0.like(0.0), f0.like(FAR)];
    let discriminant = f1 * f1 - f2 * 4.0 * f0;
    let root = discriminant.root();
    let falling = f0 * 2.0 / (root - f1);
    let turning = (f1 + root) * -0.5 / f2;
    let s = f1.below(zero).select(falling, f2.below(zero).select(turning, far));
    discriminant.below(zero).select(far, s)
}

/// Heights of the four posts of each of the `cells`, m: (0,0), (1,0), (0,1), (1,1); zero in other lanes.
#[inline(always)]
fn posts<S: Simd>(
    simd: S,
    records: &Records<'_>,
    level: &LevelRecord,
    [x, y]: [Ints<S>; 2],
    cells: Mask<S>,
) -> [Floats<S>; 4] {
    let stride = level.cells as usize + 1;
    let index = (y * (stride as i32) + x).to_array();
    let mut posts = [[0.0; LANES]; 4];
    for lane in lanes_of(bits_of(cells)) {
        let low = level.heights as usize + index[lane] as usize;
        let block = &records.heights[low..low + stride + 2];
        [posts[0][lane], posts[1][lane]] = [block[0], block[1]];
        [posts[2][lane], posts[3][lane]] = [block[stride], block[stride + 1]];
    }
    [posts[0].simd_into(simd), posts[1].simd_into(simd), posts[2].simd_into(simd), posts[3].simd_into(simd)]
}

/// Unit normals of the ground, as `heights::ground_normal`, each on its lane's level.
pub(crate) fn ground_normals<S: Simd>(
    simd: S,
    records: &Records<'_>,
    levels: [&LevelRecord; LANES],
    place: [&Floats<S>; 2],
) -> Vectors<S> {
    simd.vectorize(
        #[inline(always)]
        || normals(simd, records, levels, [*place[0], *place[1]]),
    )
}

#[inline(always)]
fn normals<S: Simd>(
    simd: S,
    records: &Records<'_>,
    levels: [&LevelRecord; LANES],
    place: [Floats<S>; 2],
) -> Vectors<S> {
    let inverse_spacing = floats(simd, |lane| levels[lane].inverse_spacing);
    let last = ints(simd, |lane| levels[lane].cells as i32 - 1);
    let none = Ints::splat(simd, 0);
    let gx = (place[0] - floats(simd, |lane| levels[lane].origin[0])) * inverse_spacing;
    let gy = (place[1] - floats(simd, |lane| levels[lane].origin[1])) * inverse_spacing;
    let [x, y] = [cell_of(gx, none, last), cell_of(gy, none, last)];
    let [u, v] = [within_cell(gx, x), within_cell(gy, y)];
    let around = around(&Posts { simd, records, levels, cells: last + 1 }, x, y);
    let low = mix(around.slope(0, 0, inverse_spacing), around.slope(1, 0, inverse_spacing), u);
    let high = mix(around.slope(0, 1, inverse_spacing), around.slope(1, 1, inverse_spacing), u);
    let slope = mix(low, high, v);
    crate::real::unit([-slope[0], -slope[1], all(simd, 1.0)])
}

/// Position of a coordinate within its cell, 0…1.
#[inline(always)]
fn within_cell<S: Simd>(coordinate: Floats<S>, cell: Ints<S>) -> Floats<S> {
    let within = coordinate - cell.to_float::<Floats<S>>();
    within.most(within.like(0.0)).least(within.like(1.0))
}

#[inline(always)]
fn mix<S: Simd>(a: [Floats<S>; 2], b: [Floats<S>; 2], k: Floats<S>) -> [Floats<S>; 2] {
    [a[0] + (b[0] - a[0]) * k, a[1] + (b[1] - a[1]) * k]
}

/// Access to posts, each on its lane's level.
#[derive(Clone, Copy)]
struct Posts<'a, S: Simd> {
    simd: S,
    records: &'a Records<'a>,
    levels: [&'a LevelRecord; LANES],
    cells: Ints<S>,
}

/// The posts of a cell and those beside them, m; at the border of a level the outermost posts stand for those beyond.
struct Around<S: Simd> {
    /// Two rows of four posts, of which the inner ones are the cell's.
    rows: [[Floats<S>; 4]; 2],
    /// The two posts below the cell, and the two above.
    below: [Floats<S>; 2],
    above: [Floats<S>; 2],
    /// 1 over the number of cells across which differences at the cell's posts are taken, along x and along y.
    share_x: [Floats<S>; 2],
    share_y: [Floats<S>; 2],
}

#[inline(always)]
fn around<S: Simd>(posts: &Posts<'_, S>, x: Ints<S>, y: Ints<S>) -> Around<S> {
    let one = Ints::splat(posts.simd, 1);
    let [x0, x2, x3] = [x.max(one) - 1, x + 1, (x + 2).min(posts.cells)];
    let [y0, y2, y3] = [y.max(one) - 1, y + 1, (y + 2).min(posts.cells)];
    let low = [posts.height(x0, y), posts.height(x, y), posts.height(x2, y), posts.height(x3, y)];
    let high = [posts.height(x0, y2), posts.height(x, y2), posts.height(x2, y2), posts.height(x3, y2)];
    Around {
        rows: [low, high],
        below: [posts.height(x, y0), posts.height(x2, y0)],
        above: [posts.height(x, y3), posts.height(x2, y3)],
        share_x: [share(x2 - x0), share(x3 - x)],
        share_y: [share(y2 - y0), share(y3 - y)],
    }
}

/// 1 over one or two cells.
#[inline(always)]
fn share<S: Simd>(cells: Ints<S>) -> Floats<S> {
    cells.simd_gt(1).select(all(cells.simd, 0.5), all(cells.simd, 1.0))
}

impl<S: Simd> Posts<'_, S> {
    #[inline(always)]
    fn height(&self, x: Ints<S>, y: Ints<S>) -> Floats<S> {
        let index = (y * (self.cells + 1) + x).to_array();
        floats(self.simd, |lane| self.records.heights[self.levels[lane].heights as usize + index[lane] as usize])
    }
}

impl<S: Simd> Around<S> {
    /// Slope at a post of the cell, from differences with the neighbouring posts.
    #[inline(always)]
    fn slope(&self, east: usize, north: usize, inverse_spacing: Floats<S>) -> [Floats<S>; 2] {
        let row = &self.rows[north];
        let [below, above] = [
            if north == 0 { self.below[east] } else { self.rows[0][east + 1] },
            if north == 0 { self.rows[1][east + 1] } else { self.above[east] },
        ];
        let along_x = (row[east + 2] - row[east]) * inverse_spacing;
        [along_x * self.share_x[east], (above - below) * inverse_spacing * self.share_y[north]]
    }
}
