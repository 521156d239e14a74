//! Any part of the land as rows of posts, ruts included. The mosaic visits the detail windows that it needs one after
//! the other, so that memory holds one of them and a band of rows.
//!
//! Posts are at integer multiples of their spacing from the map's origin. Heights come from the coarsest level with
//! posts at least as dense, away from its window's seam. On the finest level they include ruts; on a coarser one ruts
//! lower a post by their mean depth over its cell, so that their volume is kept.

use std::collections::BTreeMap;

use nalgebra::Vector3;

use crate::clipmap::Clipmap;
use crate::clipmap::windows::{ClipmapCentre, WindowPlan};
use crate::surface::rock::{Rock, RockShape};
use selene_dem::GeoTransform;

/// Most posts of a mosaic.
pub const MOSAIC_POSTS_MAX: usize = 64 << 20;
/// Most windows that a mosaic visits.
const WINDOWS_MAX: usize = 2000;
/// Fraction of a window's side that the mosaic uses; the rest allows for steps and seam.
const SHARE: f64 = 1.0 / 3.0;
/// Limit of the distance from the map's origin along each axis, m.
const MIDDLE_MAX_M: f64 = 1e6;
/// Relative difference below which two spacings count as equal.
const SAME: f64 = 1e-9;

/// The quantity that a mosaic gives for each post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MosaicLayer {
    /// Height of the soil, map z, m.
    Elevation,
    /// Angle between the soil and the horizontal, rad.
    Slope,
    /// Height of the top of a rock above the soil, m; 0 without a rock.
    Rocks,
}

/// Why a mosaic is refused: a parameter that is out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} {value}: {what}")]
pub struct MosaicError {
    /// Name of the parameter.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// What is allowed.
    pub what: String,
}

/// A square of the land, sampled at regular posts.
#[derive(Debug)]
pub struct Mosaic {
    clipmap: Clipmap,
    layer: MosaicLayer,
    level: usize,
    spacing_m: f64,
    /// Position of the west column and the north row, in multiples of the spacing.
    first: [i64; 2],
    posts: usize,
    /// Side of the block that one window provides, posts.
    block: usize,
    /// Mean depth of ruts at posts of a coarse level, m.
    depths_m: BTreeMap<[i64; 2], f64>,
    /// Most recent rows, and the number of the first of them.
    band: (usize, Vec<f32>),
}

impl Mosaic {
    /// A square of `side_m` around `middle_m` with posts `spacing_m` apart; by default the finest level's spacing.
    ///
    /// # Errors
    /// When it has too many posts or windows, is too far from the map's origin, or its posts are denser than the
    /// ground's.
    pub fn new(
        clipmap: Clipmap,
        layer: MosaicLayer,
        middle_m: [f64; 2],
        side_m: f64,
        spacing_m: Option<f64>,
    ) -> Result<Self, MosaicError> {
        let refuse = |field, value, what: String| Err(MosaicError { field, value, what });
        let finest_m = clipmap.finest().spacing_m;
        let spacing_m = spacing_m.unwrap_or(finest_m);
        if !(spacing_m.is_finite() && spacing_m >= finest_m * (1.0 - SAME)) {
            return refuse("spacing", spacing_m, format!("must be at least the finest level's {finest_m} m"));
        }
        let posts = (side_m / spacing_m).round();
        if !(posts >= 1.0 && posts * posts <= MOSAIC_POSTS_MAX as f64) {
            return refuse("side", side_m, format!("is {posts} posts of {spacing_m} m; must be 1 to 8192"));
        }
        if let Some(&value) = middle_m.iter().find(|m| !(-MIDDLE_MAX_M..MIDDLE_MAX_M).contains(*m)) {
            return refuse("middle", value, format!("must be within {MIDDLE_MAX_M} m of the map's origin"));
        }
        let coarsest = |level: &crate::level::Level| level.spacing_m <= spacing_m * (1.0 + SAME);
        let level = if layer == MosaicLayer::Rocks { 0 } else { clipmap.levels().filter(|l| coarsest(l)).count() - 1 };
        let window_m = clipmap.levels().nth(level).map_or(0.0, crate::level::Level::side_m);
        let block = ((SHARE * window_m / spacing_m).floor() as usize).max(1);
        let (posts, windows) = (posts as usize, (posts as usize).div_ceil(block).pow(2));
        if windows > WINDOWS_MAX {
            let what = format!("needs {windows} windows of detail; at most {WINDOWS_MAX} are made: take larger posts");
            return refuse("side", side_m, what);
        }
        let start = |m: f64, half: f64| ((m / spacing_m) + half).round() as i64;
        let half = 0.5 * (posts as f64 - 1.0);
        let first = [start(middle_m[0], -half), start(middle_m[1], half)];
        let band = (usize::MAX, Vec::new());
        let mut mosaic =
            Self { clipmap, layer, level, spacing_m, first, posts, block, depths_m: BTreeMap::new(), band };
        if level > 0 {
            mosaic.depths_m = mosaic.found_depths_m();
        }
        Ok(mosaic)
    }

    /// Posts on a side.
    #[must_use]
    pub fn posts(&self) -> usize {
        self.posts
    }

    /// From pixels to map coordinates; rows go from north to south, and posts are the centres of pixels.
    #[must_use]
    pub fn transform(&self) -> GeoTransform {
        let [west, north] = [self.first[0] as f64 - 0.5, self.first[1] as f64 + 0.5].map(|at| at * self.spacing_m);
        GeoTransform::north_up(west, north, self.spacing_m, self.spacing_m)
    }

    /// Map position of a post, m.
    #[must_use]
    pub fn post_xy_m(&self, column: usize, row: usize) -> [f64; 2] {
        self.at(column, row).map(|at| at as f64 * self.spacing_m)
    }

    fn at(&self, column: usize, row: usize) -> [i64; 2] {
        [self.first[0] + column as i64, self.first[1] - row as i64]
    }

    /// Writes the values of a row, from west to east; NaN where there is no ground. Asking for rows in order is
    /// fastest.
    pub fn row(&mut self, row: usize, values: &mut [f32]) {
        let first = row / self.block * self.block;
        if self.band.0 != first {
            self.band = (first, self.made(first));
        }
        let start = (row - first) * self.posts;
        values.copy_from_slice(&self.band.1[start..start + self.posts]);
    }

    /// Makes the band of rows from `first` on that one line of detail windows provides.
    fn made(&mut self, first: usize) -> Vec<f32> {
        let rows = self.block.min(self.posts - first);
        let mut band = vec![f32::NAN; rows * self.posts];
        for west in (0..self.posts).step_by(self.block) {
            let columns = self.block.min(self.posts - west);
            let corners = [self.post_xy_m(west, first), self.post_xy_m(west + columns - 1, first + rows - 1)];
            go_near(&mut self.clipmap, [0, 1].map(|axis| 0.5 * (corners[0][axis] + corners[1][axis])));
            for row in 0..rows {
                for column in 0..columns {
                    band[row * self.posts + west + column] = self.value(west + column, first + row);
                }
            }
        }
        band
    }

    fn value(&self, column: usize, row: usize) -> f32 {
        let [x, y] = self.post_xy_m(column, row);
        let mut levels = self.clipmap.levels().skip(self.level);
        let value = match self.layer {
            MosaicLayer::Elevation => {
                let depth_m = self.depths_m.get(&self.at(column, row)).copied().unwrap_or(0.0);
                levels.find_map(|level| level.height_m(x, y)).map(|height_m| height_m - depth_m)
            }
            MosaicLayer::Slope => levels.find_map(|level| level.normal(x, y)).map(|n| n.x.hypot(n.y).atan2(n.z)),
            MosaicLayer::Rocks => levels.find_map(|level| level.height_m(x, y)).map(|soil_m| self.rock_m(x, y, soil_m)),
        };
        value.map_or(f32::NAN, |value| value as f32)
    }

    /// Height of the highest rock at a position above the soil, m.
    fn rock_m(&self, x: f64, y: f64, soil_m: f64) -> f64 {
        let shapes = self.clipmap.rock_shapes();
        let near = self.clipmap.rocks_near(x, y, 0.0);
        let tops = near.filter_map(|rock| top_m(rock, shapes.get(rock.shape)?, x, y));
        tops.map(|top_m| top_m - soil_m).fold(0.0, f64::max)
    }

    /// Mean depth of ruts over the cells of a coarse level's posts, m, by post.
    fn found_depths_m(&self) -> BTreeMap<[i64; 2], f64> {
        let mut depths_m = BTreeMap::new();
        let undriven = self.clipmap.terrain().map(|terrain| Clipmap::at(terrain, [0, 0]));
        let Some(mut undriven) = undriven else { return depths_m };
        let finest_m = undriven.finest().spacing_m;
        let share = (finest_m / self.spacing_m).powi(2);
        let last = self.posts as i64 - 1;
        for edit in self.clipmap.ruts().edits() {
            let node = edit.at();
            let [x, y] = [node.column, node.row].map(|post| f64::from(post) * finest_m);
            let [column, row] = [x, y].map(|m| (m / self.spacing_m).round() as i64);
            let is_inside =
                (0..=last).contains(&(column - self.first[0])) && (0..=last).contains(&(self.first[1] - row));
            if !is_inside {
                continue;
            }
            go_where_detailed(&mut undriven, [x, y]);
            let Some(before_m) = undriven.finest().height_m(x, y) else { continue };
            *depths_m.entry([column, row]).or_default() += (before_m - f64::from(edit.height_m)) * share;
        }
        depths_m
    }
}

/// Moves to the windows nearest to a position.
fn go_near(clipmap: &mut Clipmap, at_m: [f64; 2]) {
    if let Some(centre) = clipmap.terrain().and_then(|terrain| terrain.plan()).map(|plan| nearest(plan, at_m)) {
        clipmap.go_to_centre(centre);
    }
}

/// Moves to other windows only where the position is not well inside the finest one.
fn go_where_detailed(clipmap: &mut Clipmap, at_m: [f64; 2]) {
    let finest = clipmap.finest();
    let margin_m = 0.5 * (1.0 - SHARE) * finest.side_m() * 0.5;
    let is_inside = (0..2).all(|axis| {
        let along_m = at_m[axis] - finest.origin_m[axis];
        along_m > margin_m && along_m < finest.side_m() - margin_m
    });
    if !is_inside {
        go_near(clipmap, at_m);
    }
}

/// The centre with windows that is nearest to a position.
fn nearest(plan: &WindowPlan, [x, y]: [f64; 2]) -> ClipmapCentre {
    let inward = |steps: i32| std::iter::successors(Some(steps), |&steps| (steps != 0).then(|| steps - steps.signum()));
    let [column, row] = plan.centre_of(x, y);
    let along = |steps: i32, centre: fn(i32) -> ClipmapCentre| {
        inward(steps).find(|&steps| plan.has(centre(steps))).unwrap_or(0)
    };
    [along(column, |steps| [steps, 0]), along(row, |steps| [0, steps])]
}

/// Height of the top of a rock at a position, m; none beside the rock.
fn top_m(rock: &Rock, shape: &RockShape, x: f64, y: f64) -> Option<f64> {
    let corner = |i: u32| {
        let arm = Vector3::from(shape.vertices[i as usize]).cast::<f64>() * rock.radius_m;
        rock.world_from_rock.translation.vector + rock.world_from_rock.rotation * arm
    };
    let over = |triangle: &[u32; 3]| height_over_m(triangle.map(corner), x, y);
    shape.triangles.iter().filter_map(over).reduce(f64::max)
}

/// Height of a triangle at a position, m; none beside it or where the triangle is vertical.
fn height_over_m([a, b, c]: [Vector3<f64>; 3], x: f64, y: f64) -> Option<f64> {
    let cross = |p: Vector3<f64>, q: Vector3<f64>, u: f64, v: f64| (q.x - p.x) * (v - p.y) - (q.y - p.y) * (u - p.x);
    let area = cross(a, b, c.x, c.y);
    let weights = [cross(b, c, x, y), cross(c, a, x, y), cross(a, b, x, y)].map(|part| part / area);
    let is_over = weights.iter().all(|weight| (0.0..=1.0).contains(weight));
    is_over.then(|| weights[0] * a.z + weights[1] * b.z + weights[2] * c.z)
}

#[cfg(test)]
mod tests {
    use super::{Mosaic, MosaicLayer, height_over_m};
    use crate::clipmap::Clipmap;
    use crate::site::spec::LevelSpec;
    use crate::surface::tile::{Edit, Node};
    use crate::terrain::Terrain;
    use nalgebra::Vector3;
    use std::sync::Arc;

    fn hills(x: f64, y: f64) -> f64 {
        0.3 * (0.4 * x).sin() * (0.3 * y).cos()
    }

    fn endless() -> Clipmap {
        let levels = [(0.05, 16.0), (0.4, 64.0)].map(|(spacing_m, side_m)| LevelSpec { spacing_m, side_m });
        Clipmap::around(&Arc::new(Terrain::of_formula(&levels, hills)), 0.0, 0.0)
    }

    /// The hills with a trench along y = 1 m, 0.1 m deep and three posts wide.
    fn trenched() -> Clipmap {
        let mut clipmap = endless();
        let nodes = (-120..120).flat_map(|column| (19..22).map(move |row| Node { column, row }));
        let height_m = |node: Node| hills(f64::from(node.column) * 0.05, f64::from(node.row) * 0.05) - 0.1;
        let edits: Vec<_> = nodes.map(|node| Edit::of(node, height_m(node) as f32)).collect();
        clipmap.apply(&edits);
        clipmap
    }

    fn values(mosaic: &mut Mosaic) -> Vec<(f64, f64, f64)> {
        let mut row = vec![0.0; mosaic.posts()];
        let mut values = Vec::new();
        for line in 0..mosaic.posts() {
            mosaic.row(line, &mut row);
            for (column, &value) in row.iter().enumerate() {
                let [x, y] = mosaic.post_xy_m(column, line);
                values.push((x, y, f64::from(value)));
            }
        }
        values
    }

    /// Rounding of heights in `f32`.
    const STORED_M: f64 = 1e-6;

    #[test]
    fn posts_far_beyond_the_first_window_have_the_lands_heights_and_the_trench_is_in_them() {
        let mut mosaic = Mosaic::new(trenched(), MosaicLayer::Elevation, [10.0, 1.0], 40.0, None).expect("a mosaic");
        assert_eq!(mosaic.posts(), 800);
        let mut in_trench = 0;
        for (x, y, height_m) in values(&mut mosaic) {
            let depth_m = hills(x, y) - height_m;
            let is_trench = (y - 1.0).abs() < 0.06 && (-6.02..5.97).contains(&x);
            in_trench += usize::from(is_trench);
            let expected_m = if is_trench { 0.1 } else { 0.0 };
            assert!((depth_m - expected_m).abs() < STORED_M, "{depth_m} m at {x}, {y}");
        }
        assert_eq!(in_trench, 240 * 3);
    }

    #[test]
    fn a_coarse_mosaic_keeps_the_volume_of_the_ruts() {
        let mut mosaic =
            Mosaic::new(trenched(), MosaicLayer::Elevation, [0.0, 0.0], 40.0, Some(0.4)).expect("a mosaic");
        let missing_m3: f64 = values(&mut mosaic).iter().map(|(x, y, m)| (hills(*x, *y) - m) * 0.16).sum();
        let trench_m3 = 0.1 * 240.0 * 3.0 * 0.05_f64.powi(2);
        assert!((missing_m3 - trench_m3).abs() < 1e-4 * trench_m3 + 1e4 * 0.16 * 1e-8, "{missing_m3} {trench_m3}");
    }

    #[test]
    fn slopes_are_those_of_the_hills() {
        let mut mosaic = Mosaic::new(endless(), MosaicLayer::Slope, [30.0, -9.0], 6.0, None).expect("a mosaic");
        for (x, y, slope_rad) in values(&mut mosaic) {
            let rise = [0.12 * (0.4 * x).cos() * (0.3 * y).cos(), -0.09 * (0.4 * x).sin() * (0.3 * y).sin()];
            // Error of bilinear patches of 5 cm on hills of 15 m.
            assert!((slope_rad.tan() - rise[0].hypot(rise[1])).abs() < 2e-3, "{slope_rad} at {x}, {y}");
        }
    }

    #[test]
    fn absurd_squares_are_refused() {
        let reported = |side_m, spacing_m| {
            Mosaic::new(endless(), MosaicLayer::Elevation, [0.0; 2], side_m, spacing_m)
                .expect_err("refused")
                .to_string()
        };
        assert!(reported(1e9, None).contains("1 to 8192"));
        assert!(reported(f64::NAN, None).contains("side NaN"));
        assert!(reported(10.0, Some(0.01)).contains("finest level's 0.05"));
        assert!(reported(400.0, None).contains("windows"));
        assert!(Mosaic::new(endless(), MosaicLayer::Elevation, [f64::NAN, 0.0], 1.0, None).is_err());
    }

    #[test]
    fn a_triangle_is_met_from_above_where_it_is() {
        let corners = [Vector3::new(0.0, 0.0, 1.0), Vector3::new(2.0, 0.0, 3.0), Vector3::new(0.0, 2.0, 1.0)];
        assert_eq!(height_over_m(corners, 0.5, 0.5), Some(1.5));
        assert_eq!(height_over_m(corners, 1.5, 1.5), None);
        assert_eq!(height_over_m([corners[0], corners[0], corners[1]], 0.5, 0.0), None);
    }
}
