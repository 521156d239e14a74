//! The seam of two levels: over its outermost posts the finer one turns into the
//! coarser one's bilinear surface, so that no step shows at the edge.

use rayon::prelude::*;

use crate::level::Level;

/// Width of the seam where a level turns into the coarser one, in posts of that one.
const SEAM_POSTS: usize = 4;

/// Turns the outermost posts of a level into the surface of the coarser one.
pub(crate) fn join(level: &mut Level, coarse: &Level) {
    let grid = level.grid();
    let seam = SEAM_POSTS * (coarse.spacing_m / level.spacing_m).round() as usize;
    let last = grid.posts - 1;
    level.heights_m.par_chunks_mut(grid.posts).enumerate().for_each(|(row, heights)| {
        let from_edge = |i: usize| i.min(last - i);
        for (column, height) in heights.iter_mut().enumerate() {
            let depth = from_edge(column).min(from_edge(row));
            if depth >= seam {
                continue;
            }
            if let Some(coarse_m) = coarse.height_m(grid.at_m(0, column), grid.at_m(1, row)) {
                let weight = smoothstep(depth as f64 / seam as f64);
                *height = (coarse_m + weight * (f64::from(*height) - coarse_m)) as f32;
            }
        }
    });
}

fn smoothstep(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
