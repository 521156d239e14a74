//! The seam of two levels: over its outermost posts the finer level blends into the coarser one's bilinear surface, so
//! that there is no step at the edge.

use rayon::prelude::*;

use crate::level::Level;
use crate::sampler::Grid;

/// Width of the seam, in posts of the coarser level.
const SEAM_POSTS: usize = 4;

/// Width of a level's seam, in its own posts.
pub(crate) fn width_posts(level: &Level, coarse: &Level) -> usize {
    SEAM_POSTS * (coarse.spacing_m / level.spacing_m).round() as usize
}

/// Blends the outermost posts of a level into the surface of the coarser one.
pub(crate) fn join(level: &mut Level, coarse: &Level) {
    let grid = level.grid();
    let seam = width_posts(level, coarse);
    let last = grid.posts - 1;
    level.heights_m.par_chunks_mut(grid.posts).enumerate().for_each(|(row, heights)| {
        for (column, height) in heights.iter_mut().enumerate() {
            if is_on_seam([column, row], last, seam) {
                *height = weigh(grid, coarse, [column, row], last, seam, *height);
            }
        }
    });
}

/// Height of a post of a joined level whose own height is `height_m`, m.
pub(crate) fn joined_m(level: &Level, coarse: &Level, at: [usize; 2], height_m: f32) -> f32 {
    let (last, seam) = (level.posts - 1, width_posts(level, coarse));
    if is_on_seam(at, last, seam) { weigh(level.grid(), coarse, at, last, seam, height_m) } else { height_m }
}

fn is_on_seam(at: [usize; 2], last: usize, seam: usize) -> bool {
    depth(at, last) < seam
}

/// Number of posts to the level's nearest edge.
fn depth([column, row]: [usize; 2], last: usize) -> usize {
    column.min(last - column).min(row).min(last - row)
}

fn weigh(grid: Grid, coarse: &Level, at: [usize; 2], last: usize, seam: usize, height_m: f32) -> f32 {
    let Some(coarse_m) = coarse.height_m(grid.at_m(0, at[0]), grid.at_m(1, at[1])) else { return height_m };
    let weight = smoothstep(depth(at, last) as f64 / seam as f64);
    (coarse_m + weight * (f64::from(height_m) - coarse_m)) as f32
}

/// Smooth step from 0 at t = 0 to 1 at t = 1, with zero slope at both ends.
pub(crate) fn smoothstep(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
