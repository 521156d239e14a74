//! Traces a ray against the nested height levels. On each level it traverses the pyramid of maxima: where the ray stays
//! above a coarse cell's highest post it skips the whole cell, else it descends; in a single cell it intersects the
//! bilinear patch exactly (a quadratic in t). After Tevs et al. 2008, "Maximum mipmaps for fast, accurate, and scalable
//! dynamic height field rendering".

use nalgebra::Vector3;

use super::{FAR, Ray, least, most};
use crate::record::{LevelRecord, Records};

/// Mip at which rays that enter a level from outside start.
pub(crate) const ENTRY_MIP: u32 = 7;

/// A direction component below this counts as zero.
pub(crate) const STILL: f32 = 1e-20;

/// Ray parameter at which a ray starts, and the mip of the level there.
#[derive(Clone, Copy)]
struct Start {
    t: f32,
    mip: u32,
}

/// A ray in a level's grid: horizontal positions in cells, heights in metres.
struct GridRay {
    x: f32,
    y: f32,
    z: f32,
    dx: f32,
    dy: f32,
    dz: f32,
    inverse_dx: f32,
    inverse_dy: f32,
}

/// The nearest hit on the ground within (0, `t_max`): ray parameter and level, or `FAR`. A ray whose origin is on a
/// level starts at the mip `start_mip`.
#[must_use]
pub fn trace_heights(records: &Records<'_>, ray: &Ray, t_max: f32, start_mip: u32) -> (f32, u32) {
    trace_heights_within(records, ray, [0.0, t_max], start_mip)
}

/// As `trace_heights`, for a ray that is known to be above ground before the given range of t. Visits the levels in the
/// ray's order: from outside through the coarse levels into the finest, then out again.
#[must_use]
pub fn trace_heights_within(records: &Records<'_>, ray: &Ray, span: [f32; 2], start_mip: u32) -> (f32, u32) {
    let start = Start { t: span[0], mip: start_mip };
    let mut finer = level_interval(&records.levels[0], ray, span);
    if finer[0] > start.t || finer[1] <= start.t {
        let hit = trace_inward(records, ray, span, start);
        if hit.0 < FAR {
            return hit;
        }
    }
    for (index, level) in records.levels.iter().enumerate() {
        let here = level_interval(level, ray, span);
        let from = if index > 0 && finer[0] < finer[1] { most(here[0], finer[1]) } else { here[0] };
        let t = march_level(records, level, ray, [from, here[1]], start);
        if t < FAR {
            return (t, index as u32);
        }
        if here[0] < here[1] && here[1] >= span[1] {
            return (FAR, 0);
        }
        finer = here;
    }
    (FAR, 0)
}

/// The nearest hit on the part of each level before the ray reaches the next finer level.
fn trace_inward(records: &Records<'_>, ray: &Ray, span: [f32; 2], start: Start) -> (f32, u32) {
    for index in (1..records.levels.len()).rev() {
        let here = level_interval(&records.levels[index], ray, span);
        let finer = level_interval(&records.levels[index - 1], ray, span);
        if finer[0] < finer[1] {
            let until = least(here[1], finer[0]);
            let t = march_level(records, &records.levels[index], ray, [here[0], until], start);
            if t < FAR {
                return (t, index as u32);
            }
        }
    }
    (FAR, 0)
}

/// Range of t in which the ray is above or below the level's rectangle, clipped to `span`.
fn level_interval(level: &LevelRecord, ray: &Ray, span: [f32; 2]) -> [f32; 2] {
    let side = level.cells as f32 * level.spacing;
    let x = slab_interval(level.origin[0] - ray.origin.x, side, ray.direction.x);
    let y = slab_interval(level.origin[1] - ray.origin.y, side, ray.direction.y);
    [most(most(x[0], y[0]), span[0]), least(least(x[1], y[1]), span[1])]
}

/// Range of t in which a coordinate that changes at `rate` lies between `low` and `low + side`.
fn slab_interval(low: f32, side: f32, rate: f32) -> [f32; 2] {
    let inverse = finite_inverse(rate);
    let a = low * inverse;
    let b = (low + side) * inverse;
    [least(a, b), most(a, b)]
}

/// The part of a range of t in which the ray is below the level's highest post.
fn below_top(records: &Records<'_>, level: &LevelRecord, ray: &Ray, [from, until]: [f32; 2]) -> [f32; 2] {
    if level.top_mip == 0 || ray.direction.z.abs() < STILL {
        return [from, until];
    }
    let t = (mip_max(records, level, level.top_mip, 0, 0) - ray.origin.z) / ray.direction.z;
    if ray.direction.z > 0.0 { [from, least(until, t)] } else { [most(from, t), until] }
}

/// The first hit on one level for t in `[from, until]`, or `FAR`. An empty range gives `FAR`: coarse levels have one
/// for a ray that starts on a finer level, where the ray may be below the coarse surface.
fn march_level(records: &Records<'_>, level: &LevelRecord, ray: &Ray, span: [f32; 2], start: Start) -> f32 {
    let [from, until] = below_top(records, level, ray, span);
    if from >= until {
        return FAR;
    }
    let r = grid_ray(level, ray);
    let last = level.cells - 1;
    let [up_x, up_y] = [u32::from(r.dx >= 0.0), u32::from(r.dy >= 0.0)];
    let mut t = from;
    let mut mip = level.top_mip.min(if from > start.t { ENTRY_MIP } else { start.mip });
    let mut x = cell_of(r.x + t * r.dx, 0, last);
    let mut y = cell_of(r.y + t * r.dy, 0, last);
    loop {
        let [cx, cy] = [x >> mip, y >> mip];
        let t_x = (((cx + up_x) << mip) as f32 - r.x) * r.inverse_dx;
        let t_y = (((cy + up_y) << mip) as f32 - r.y) * r.inverse_dy;
        let t_exit = most(least(least(t_x, t_y), until), t);
        let lowest = r.z + r.dz * if r.dz < 0.0 { t_exit } else { t };
        if mip > 0 {
            if lowest <= mip_max(records, level, mip, cx, cy) {
                mip -= 1;
                continue;
            }
        } else {
            let hit = hit_cell(records, level, &r, [x, y], [t, t_exit], lowest);
            if hit < FAR {
                return hit;
            }
        }
        if t_exit >= until {
            return FAR;
        }
        t = t_exit;
        // Both coordinates by selection: branch prediction cannot tell by which side a ray leaves.
        let along_x = t_x < t_y;
        x = if along_x { neighbour(cx, up_x, mip) } else { cell_within(r.x + t * r.dx, cx, mip, last) };
        y = if along_x { cell_within(r.y + t * r.dy, cy, mip, last) } else { neighbour(cy, up_y, mip) };
        if x > last || y > last {
            return FAR;
        }
        let crossed = ((x >> mip) ^ cx | (y >> mip) ^ cy) > 1;
        mip += u32::from(crossed & (mip < level.top_mip));
    }
}

fn grid_ray(level: &LevelRecord, ray: &Ray) -> GridRay {
    let dx = ray.direction.x * level.inverse_spacing;
    let dy = ray.direction.y * level.inverse_spacing;
    GridRay {
        x: (ray.origin.x - level.origin[0]) * level.inverse_spacing,
        y: (ray.origin.y - level.origin[1]) * level.inverse_spacing,
        z: ray.origin.z,
        dx,
        dy,
        dz: ray.direction.z,
        inverse_dx: finite_inverse(dx),
        inverse_dy: finite_inverse(dy),
    }
}

/// 1/x, or a large number where x is nearly zero.
fn finite_inverse(x: f32) -> f32 {
    if x.abs() < STILL { 1.0 / STILL } else { 1.0 / x }
}

/// Cell index of a grid coordinate, clamped to `low` and `high`.
fn cell_of(coordinate: f32, low: u32, high: u32) -> u32 {
    (most(coordinate, 0.0) as u32).clamp(low, high)
}

/// The cell that a coordinate enters as it leaves a mip cell; a huge index when it leaves the level below zero.
#[inline(always)]
fn neighbour(mip_cell: u32, up: u32, mip: u32) -> u32 {
    ((mip_cell + up) << mip).wrapping_sub(1 - up)
}

/// Cell index of a grid coordinate, clamped to a mip cell.
#[inline(always)]
fn cell_within(coordinate: f32, mip_cell: u32, mip: u32, last: u32) -> u32 {
    let low = mip_cell << mip;
    cell_of(coordinate, low, last.min(low + (1 << mip) - 1))
}

/// Highest post in a mip cell, m.
pub(crate) fn mip_max(records: &Records<'_>, level: &LevelRecord, mip: u32, cx: u32, cy: u32) -> f32 {
    let side = ((level.cells - 1) >> mip) + 1;
    let first = level.mips.as_flattened()[mip as usize];
    records.heights[(first + cy * side + cx) as usize]
}

/// Heights of the four posts of a cell, m: (0,0), (1,0), (0,1), (1,1).
fn cell_posts(records: &Records<'_>, level: &LevelRecord, x: u32, y: u32) -> [f32; 4] {
    let stride = level.cells + 1;
    let low = (level.heights + y * stride + x) as usize;
    let high = low + stride as usize;
    let [low, high] = [&records.heights[low..low + 2], &records.heights[high..high + 2]];
    [low[0], low[1], high[0], high[1]]
}

/// Hit on one cell's bilinear patch for t in `[enter, leave]`, or `FAR`. A ray that enters below the patch hits there,
/// so that levels join without cracks.
fn hit_cell(
    records: &Records<'_>,
    level: &LevelRecord,
    r: &GridRay,
    [x, y]: [u32; 2],
    [enter, leave]: [f32; 2],
    lowest: f32,
) -> f32 {
    let [h00, h10, h01, h11] = cell_posts(records, level, x, y);
    if lowest > most(most(h00, h10), most(h01, h11)) {
        return FAR;
    }
    let u = r.x - x as f32 + enter * r.dx;
    let v = r.y - y as f32 + enter * r.dy;
    let [b, c, e] = [h10 - h00, h01 - h00, h11 - h10 - h01 + h00];
    // Height of the ray above the patch: f0 + f1 s + f2 s², s = t − enter.
    let f0 = r.z + enter * r.dz - (h00 + b * u + c * v + e * u * v);
    let f1 = r.dz - (b * r.dx + c * r.dy + e * (u * r.dy + v * r.dx));
    let f2 = -e * r.dx * r.dy;
    if f0 <= 0.0 {
        return enter;
    }
    let s = first_root(f0, f1, f2);
    if s <= leave - enter { enter + s } else { FAR }
}

/// The smallest positive root of f0 + f1 s + f2 s² for f0 > 0, or `FAR`.
fn first_root(f0: f32, f1: f32, f2: f32) -> f32 {
    let discriminant = f1 * f1 - 4.0 * f2 * f0;
    if discriminant < 0.0 {
        return FAR;
    }
    let root = discriminant.sqrt();
    if f1 < 0.0 {
        return 2.0 * f0 / (root - f1);
    }
    if f2 < 0.0 { -0.5 * (f1 + root) / f2 } else { FAR }
}

/// Upward unit normal of the ground at (x, y) in the scene's frame, m; interpolated between the posts' normals so that
/// shading does not reveal the cells.
#[must_use]
pub fn ground_normal(records: &Records<'_>, level: &LevelRecord, x: f32, y: f32) -> Vector3<f32> {
    let gx = (x - level.origin[0]) * level.inverse_spacing;
    let gy = (y - level.origin[1]) * level.inverse_spacing;
    let cx = cell_of(gx, 0, level.cells - 1);
    let cy = cell_of(gy, 0, level.cells - 1);
    let u = (gx - cx as f32).clamp(0.0, 1.0);
    let v = (gy - cy as f32).clamp(0.0, 1.0);
    let mix = |a: [f32; 2], b: [f32; 2], k: f32| [a[0] + (b[0] - a[0]) * k, a[1] + (b[1] - a[1]) * k];
    let low = mix(post_slope(records, level, cx, cy), post_slope(records, level, cx + 1, cy), u);
    let high = mix(post_slope(records, level, cx, cy + 1), post_slope(records, level, cx + 1, cy + 1), u);
    let slope = mix(low, high, v);
    Vector3::new(-slope[0], -slope[1], 1.0).normalize()
}

/// Slope at a post along x and y, from differences with the neighbouring posts.
fn post_slope(records: &Records<'_>, level: &LevelRecord, x: u32, y: u32) -> [f32; 2] {
    let post = |x: u32, y: u32| records.heights[(level.heights + y * (level.cells + 1) + x) as usize];
    let [x0, x1] = [x.max(1) - 1, (x + 1).min(level.cells)];
    let [y0, y1] = [y.max(1) - 1, (y + 1).min(level.cells)];
    [
        (post(x1, y) - post(x0, y)) * level.inverse_spacing / (x1 - x0) as f32,
        (post(x, y1) - post(x, y0)) * level.inverse_spacing / (y1 - y0) as f32,
    ]
}
