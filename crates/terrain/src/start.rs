//! The place where the rover starts: the middle post of every level, at height zero,
//! level on a procedural site and on the data's slope otherwise.

use crate::level::Level;

/// Radius around the start over which a level's own tilt is taken out, in posts.
const LEVEL_START_POSTS: f64 = 50.0;

/// The plane that touches a level at the map origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    height_m: f64,
    slope: [f64; 2],
}

impl Plane {
    pub(crate) const LEVEL: Self = Self { height_m: 0.0, slope: [0.0, 0.0] };

    /// Height at the middle post and mean slope over `reach` posts each way.
    pub(crate) fn at_origin(level: &Level, reach: usize) -> Self {
        let middle = level.posts / 2;
        let run_m = 2.0 * reach as f64 * level.spacing_m;
        let slope_x = (level.post_m(middle + reach, middle) - level.post_m(middle - reach, middle)) / run_m;
        let slope_y = (level.post_m(middle, middle + reach) - level.post_m(middle, middle - reach)) / run_m;
        Self { height_m: level.post_m(middle, middle), slope: [slope_x, slope_y] }
    }
}

/// Bends a level that is `found` at the start so that it touches `wanted` there.
pub(crate) fn bend(level: &mut Level, found: Plane, wanted: Plane) {
    let radius_m = LEVEL_START_POSTS * level.spacing_m;
    let grid = level.grid();
    for (row, heights) in level.heights_m.chunks_mut(grid.posts).enumerate() {
        let y = grid.at_m(1, row);
        if y.abs() >= radius_m {
            continue;
        }
        for (column, height) in heights.iter_mut().enumerate() {
            let x = grid.at_m(0, column);
            let weight = (1.0 - (x * x + y * y) / (radius_m * radius_m)).max(0.0).powi(2);
            let tilt_m = (found.slope[0] - wanted.slope[0]) * x + (found.slope[1] - wanted.slope[1]) * y;
            *height -= (weight * (found.height_m - wanted.height_m + tilt_m)) as f32;
        }
    }
}
