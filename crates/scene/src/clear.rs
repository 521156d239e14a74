//! Finds where a whole bundle of rays is clear of the ground, once for all of its rays. The bundle advances in steps as
//! long as the pyramid cells that its cross-section is compared with. The cells double where its lowest ray passes
//! above the highest post under it and halve where it does not, down to the width of the cross-section.

use crate::kernel::bvh::Bundle;
use crate::kernel::heights::mip_max;
use crate::kernel::{FAR, least, most};
use crate::record::{LevelRecord, Records};

/// Limit of steps; after these nothing more is known to be clear.
const STEPS_MAX: u32 = 96;

/// Each side of a cross-section is widened by this fraction of a level's cell, to cover rounding.
const ROUNDING_CELLS: f32 = 0.01;

/// The ground is raised by this fraction of its height, to cover rounding.
const ROUNDING_HEIGHT: f32 = 1e-6;

/// A ray that comes near the ground starts this many mips above the cells that are as wide as the bundle: it still has
/// a few of those cells to cross, and descending a mip is cheap.
const MIPS_ABOVE: u32 = 2;

/// Lower bound of the horizontal speed, so that steps of nearly vertical rays stay finite.
const LEAST_SPEED: f32 = 1e-3;

/// A horizontal rectangle: lower and upper corner, m.
type Rectangle = [[f32; 2]; 2];

/// Ray parameter along a bundle and the side of the cells used there, m.
#[derive(Clone, Copy, Debug)]
struct Step {
    t: f32,
    side_m: f32,
}

/// Where the rays of a bundle first come near the ground.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Approach {
    /// No ray can meet the ground before this ray parameter; `FAR` where none ever does.
    pub(crate) t: f32,
    /// Distance between posts there, or more, m.
    pub(crate) spacing: f32,
    /// Mip of the finest level on which to start tracing.
    pub(crate) mip: u32,
}

/// The ray parameter up to which no ray of the bundle can meet the ground.
pub(crate) fn approach(records: &Records<'_>, bundle: &Bundle) -> Approach {
    let step = clear_before(records, bundle);
    let cells = (step.side_m * records.levels[0].inverse_spacing) as u32;
    Approach { t: step.t, spacing: spacing_at(records, bundle, step.t), mip: cells.max(1).ilog2() + MIPS_ABOVE }
}

/// Follows the bundle as long as it is clear of the ground; to `FAR` where it never comes near.
fn clear_before(records: &Records<'_>, bundle: &Bundle) -> Step {
    let fall = bundle.toward[0].z;
    let mut step = Step { t: 0.0, side_m: side_m(&records.levels[0]) };
    for _ in 0..STEPS_MAX {
        if leaves(records, bundle, step.t) {
            return Step { t: FAR, ..step };
        }
        let next = step.t + step.side_m / speed(bundle);
        let top = highest_within(records, bundle, [step.t, next], step.side_m);
        let [lowest, lowest_next] = [step.t, next].map(|t| bundle.from[0].z + t * fall);
        if least(lowest, lowest_next) > top {
            step = Step { t: next, side_m: 2.0 * step.side_m };
            continue;
        }
        if lowest > top {
            step.t += (top - lowest) / fall;
        }
        if step.side_m <= least_side(records, bundle, step.t) {
            break;
        }
        step.side_m *= 0.5;
    }
    step
}

/// The ray parameter after which no ray of the bundle can meet the ground; `FAR` where that is not known.
pub(crate) fn clear_after(records: &Records<'_>, bundle: &Bundle) -> f32 {
    let rise = bundle.toward[0].z;
    let summit = records.levels.iter().map(|level| top_of(records, level)).fold(f32::NEG_INFINITY, most);
    let mut blocked = 0.0;
    let mut step = Step { t: 0.0, side_m: least_side(records, bundle, 0.0) };
    for _ in 0..STEPS_MAX {
        let lowest = bundle.from[0].z + step.t * rise;
        if leaves(records, bundle, step.t) || (rise >= 0.0 && lowest > summit) {
            return blocked;
        }
        let next = step.t + step.side_m / speed(bundle);
        let top = highest_within(records, bundle, [step.t, next], step.side_m);
        if least(lowest, bundle.from[0].z + next * rise) > top {
            step = Step { t: next, side_m: 2.0 * step.side_m };
        } else if step.side_m > least_side(records, bundle, step.t) {
            step.side_m *= 0.5;
        } else {
            // Up to where the bundle has risen above the cell, plus a small step.
            let above = if rise > 0.0 { (top - bundle.from[0].z) / rise } else { next };
            step.t = least(next, most(above, step.t) + 0.01 * (next - step.t));
            blocked = step.t;
        }
    }
    FAR
}

/// Spacing of the finest level that contains the whole cross-section at t, else of the widest level, m.
fn spacing_at(records: &Records<'_>, bundle: &Bundle, t: f32) -> f32 {
    let has = |level: &&LevelRecord| is_within(level, in_cells(level, section(bundle, t)));
    records.levels.iter().find(has).or(records.levels.last()).map_or(0.0, |level| level.spacing)
}

/// Largest horizontal displacement of any ray per unit of t, m.
fn speed(bundle: &Bundle) -> f32 {
    let [low, high] = bundle.toward;
    [low.x, low.y, high.x, high.y].into_iter().fold(LEAST_SPEED, |speed, rate| most(speed, rate.abs()))
}

/// Bounding rectangle of the bundle's rays at t.
fn section(bundle: &Bundle, t: f32) -> Rectangle {
    let at = |side: usize| [0, 1].map(|axis| bundle.from[side][axis] + t * bundle.toward[side][axis]);
    [at(0), at(1)]
}

/// Least side of the cells at t, m: the larger side of the cross-section, at least two cells of the finest level.
fn least_side(records: &Records<'_>, bundle: &Bundle, t: f32) -> f32 {
    let [low, high] = section(bundle, t);
    most(most(high[0] - low[0], high[1] - low[1]), 2.0 * records.levels[0].spacing)
}

/// Whether all rays are outside the widest level and move away from it.
fn leaves(records: &Records<'_>, bundle: &Bundle, t: f32) -> bool {
    let Some(widest) = records.levels.last() else { return true };
    let [low, high] = section(bundle, t);
    (0..2).any(|axis| {
        let [first, last] = [widest.origin[axis], widest.origin[axis] + side_m(widest)];
        (low[axis] > last && bundle.toward[0][axis] >= 0.0) || (high[axis] < first && bundle.toward[1][axis] <= 0.0)
    })
}

/// Height of the highest post under the bundle between two ray parameters, m; −∞ outside all levels.
fn highest_within(records: &Records<'_>, bundle: &Bundle, [t, next]: [f32; 2], cell_m: f32) -> f32 {
    let [a, b] = [section(bundle, t), section(bundle, next)];
    let swept = [[0, 1].map(|axis| least(a[0][axis], b[0][axis])), [0, 1].map(|axis| most(a[1][axis], b[1][axis]))];
    let mut top = f32::NEG_INFINITY;
    for level in records.levels {
        let rectangle = in_cells(level, swept);
        if is_outside(level, rectangle) {
            continue;
        }
        top = most(top, highest_on(records, level, rectangle, cell_m));
        if is_within(level, rectangle) {
            break;
        }
    }
    // −∞ outside all levels: no rounding to cover.
    if top.is_finite() { top + ROUNDING_HEIGHT * top.abs() } else { top }
}

/// A rectangle in the cell coordinates of a level, slightly widened.
fn in_cells(level: &LevelRecord, [low, high]: Rectangle) -> Rectangle {
    let grid =
        |place: [f32; 2], by: f32| [0, 1].map(|axis| (place[axis] - level.origin[axis]) * level.inverse_spacing + by);
    [grid(low, -ROUNDING_CELLS), grid(high, ROUNDING_CELLS)]
}

fn is_outside(level: &LevelRecord, [low, high]: Rectangle) -> bool {
    let cells = level.cells as f32;
    low[0] > cells || low[1] > cells || high[0] < 0.0 || high[1] < 0.0
}

fn is_within(level: &LevelRecord, [low, high]: Rectangle) -> bool {
    let cells = level.cells as f32;
    low[0] >= 0.0 && low[1] >= 0.0 && high[0] <= cells && high[1] <= cells
}

/// Height of the highest post in a rectangle of cells of a level, m, read from mip cells of about `cell_m`.
fn highest_on(records: &Records<'_>, level: &LevelRecord, [low, high]: Rectangle, cell_m: f32) -> f32 {
    if level.top_mip == 0 {
        return f32::INFINITY;
    }
    let wanted = ((cell_m * level.inverse_spacing) as u32).clamp(2, level.cells);
    let mip = wanted.next_power_of_two().trailing_zeros().min(level.top_mip);
    let last = level.cells - 1;
    let cell = |coordinate: f32| (most(coordinate, 0.0) as u32).min(last) >> mip;
    let mut top = f32::NEG_INFINITY;
    for y in cell(low[1])..=cell(high[1]) {
        for x in cell(low[0])..=cell(high[0]) {
            top = most(top, mip_max(records, level, mip, x, y));
        }
    }
    top
}

fn top_of(records: &Records<'_>, level: &LevelRecord) -> f32 {
    if level.top_mip == 0 { f32::INFINITY } else { mip_max(records, level, level.top_mip, 0, 0) }
}

fn side_m(level: &LevelRecord) -> f32 {
    level.cells as f32 * level.spacing
}

#[cfg(test)]
mod tests {
    use super::{approach, clear_after};
    use crate::kernel::bvh::Bundle;
    use crate::kernel::heights::trace_heights;
    use crate::kernel::{FAR, Ray};
    use crate::light::Sun;
    use crate::scene::Scene;
    use nalgebra::Vector3;
    use selene_terrain::{Clipmap, Level};

    /// Sample count along each axis of origins and of directions.
    const STEPS: usize = 3;

    fn scene() -> Scene {
        let height = |x: f64, y: f64| 0.4 * (0.9 * x).sin() * (0.7 * y).cos() + 0.03 * (11.0 * x + 7.0 * y).sin();
        let level = |spacing: f64, posts: usize| {
            let corner = -0.5 * spacing * (posts - 1) as f64;
            Level::sample([corner, corner], spacing, posts, height)
        };
        let sun = Sun { direction_to_sun: Vector3::z(), irradiance_w_m2: 1.0, angular_radius_rad: 0.0 };
        Scene::new(&Clipmap::new(vec![level(0.05, 101), level(0.4, 77), level(2.0, 60)], Vec::new(), Vec::new()), sun)
    }

    /// Rays from the corners, edges and middles of the bundle.
    fn rays(bundle: &Bundle) -> Vec<Ray> {
        let part = |number: usize, digit: u32| (number / STEPS.pow(digit) % STEPS) as f32 / (STEPS - 1) as f32;
        let mix = |[a, b]: [Vector3<f32>; 2], n: usize, digit: u32| {
            Vector3::from_fn(|axis, _| a[axis] + (b[axis] - a[axis]) * part(n, digit + axis as u32))
        };
        let ray = |n: usize| Ray { origin: mix(bundle.from, n, 0), direction: mix(bundle.toward, n, 3) };
        (0..STEPS.pow(6)).map(ray).collect()
    }

    fn bundle(from: [f32; 3], width_m: f32, toward: [f32; 3], spread: f32) -> Bundle {
        let about = |v: [f32; 3], by: f32| [Vector3::from(v).add_scalar(-by), Vector3::from(v).add_scalar(by)];
        Bundle::new(about(from, width_m), about(toward, spread))
    }

    #[test]
    fn no_ray_of_a_bundle_meets_ground_before_the_bundle_comes_near_it() {
        let scene = scene();
        let records = scene.records();
        let [mut near, mut sky] = [0, 0];
        for number in 0..200 {
            let turn = 0.37 * number as f32;
            let fall = 0.25 * (0.11 * number as f32).sin() - 0.2;
            // A third of the bundles start outside the widest level.
            let from = [3.0 * (1.3 * turn).cos(), 70.0 * (0.7 * turn).sin(), 1.5];
            let bundle = bundle(from, 0.0, [turn.cos(), turn.sin(), fall], 0.004);
            let clear = approach(&records, &bundle).t;
            let hits = rays(&bundle).iter().map(|ray| trace_heights(&records, ray, FAR, 7).0).fold(FAR, f32::min);
            assert!(hits >= clear, "met at {hits}, not before {clear}: {number}");
            near += usize::from(hits < FAR && clear > 0.8 * hits);
            sky += usize::from(clear >= FAR);
        }
        assert!(near > 60 && sky > 20, "{near} come near, {sky} go to the sky");
    }

    #[test]
    fn no_ray_of_a_bundle_meets_ground_after_the_bundle_is_clear() {
        let scene = scene();
        let records = scene.records();
        let [mut freed, mut met] = [0, 0];
        for number in 0..200 {
            let turn = 0.37 * number as f32;
            let from = [3.0 * (1.3 * turn).cos(), 30.0 * (0.7 * turn).sin(), 0.1];
            let bundle = bundle(from, 0.05, [turn.cos(), turn.sin(), 0.05 + 0.001 * number as f32], 0.005);
            let after = clear_after(&records, &bundle);
            for ray in rays(&bundle) {
                let beyond = Ray { origin: ray.origin + ray.direction * after.min(1e6), ..ray };
                assert!(trace_heights(&records, &beyond, FAR, 0).0 >= FAR, "{number} beyond {after}");
                met += usize::from(trace_heights(&records, &ray, FAR, 0).0 < FAR);
            }
            freed += usize::from(after < 8.0);
        }
        assert!(freed > 100 && met > 1000, "{freed} bundles are soon free, {met} rays meet ground");
    }
}
