//! The place where the rover starts: the map's origin, at height zero. It is level on a procedural site and has the
//! data's slope otherwise. Each level's own tilt there is determined once from the posts around the origin, and
//! subtracted from every piece of that level near enough.

use crate::level::Level;

/// Radius around the start within which a level's own tilt is removed, in posts.
const LEVEL_START_POSTS: f64 = 50.0;
/// Posts each way from which a level's own tilt is determined.
const REACH_POSTS: usize = 8;

/// The plane that touches a level at the map's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    height_m: f64,
    slope: [f64; 2],
}

impl Plane {
    pub(crate) const LEVEL: Self = Self { height_m: 0.0, slope: [0.0, 0.0] };

    /// Height of the middle post, which is at the origin, and mean slope over `reach` posts each way.
    pub(crate) fn at_middle(level: &Level, reach: usize) -> Self {
        let middle = level.posts / 2;
        let run_m = 2.0 * reach as f64 * level.spacing_m;
        let slope_x = (level.post_m(middle + reach, middle) - level.post_m(middle - reach, middle)) / run_m;
        let slope_y = (level.post_m(middle, middle + reach) - level.post_m(middle, middle - reach)) / run_m;
        Self { height_m: level.post_m(middle, middle), slope: [slope_x, slope_y] }
    }
}

/// How a level is bent around the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartCorrection {
    found: Plane,
    wanted: Plane,
}

impl StartCorrection {
    /// A bend that makes a level touch `wanted` at the origin, which is the middle of `around`.
    pub(crate) fn new(around: &Level, wanted: Plane) -> Self {
        Self { found: Plane::at_middle(around, REACH_POSTS.min(around.posts / 4)), wanted }
    }

    /// Bends the posts of a piece of the level that are near the start.
    pub(crate) fn apply(&self, level: &mut Level) {
        let grid = level.grid();
        let radius_m = LEVEL_START_POSTS * grid.spacing_m;
        let tilt = [0, 1].map(|axis| self.found.slope[axis] - self.wanted.slope[axis]);
        for (row, heights) in level.heights_m.chunks_mut(grid.posts).enumerate() {
            let y = grid.at_m(1, row);
            if y.abs() >= radius_m {
                continue;
            }
            for (column, height) in heights.iter_mut().enumerate() {
                let x = grid.at_m(0, column);
                let weight = (1.0 - (x * x + y * y) / (radius_m * radius_m)).max(0.0).powi(2);
                let lift_m = self.found.height_m - self.wanted.height_m + tilt[0] * x + tilt[1] * y;
                *height -= (weight * lift_m) as f32;
            }
        }
    }
}
