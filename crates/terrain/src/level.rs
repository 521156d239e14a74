//! A regular square grid of heights. Between posts the surface is bilinear; wheels, rays and ground truth use the same
//! patch.

use nalgebra::Vector3;

use crate::sampler::Grid;

/// A grid of heights in the map frame, row-major (row = y, column = x).
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Position of post (0, 0): x east, y north, m.
    pub origin_m: [f64; 2],
    /// Distance between posts, m.
    pub spacing_m: f64,
    /// Posts along a side.
    pub posts: usize,
    /// Heights of the posts above the site's datum, m.
    pub heights_m: Vec<f32>,
}

/// A position within a cell of a level: the cell's lower-left post and the fractions across the cell.
#[derive(Clone, Copy, Debug)]
struct CellPosition {
    column: usize,
    row: usize,
    u: f64,
    v: f64,
}

impl Level {
    /// A level whose heights are `height_m(x, y)` at every post.
    pub fn sample(origin_m: [f64; 2], spacing_m: f64, posts: usize, height_m: impl Fn(f64, f64) -> f64) -> Self {
        let post = |i: usize| {
            let x = origin_m[0] + (i % posts) as f64 * spacing_m;
            let y = origin_m[1] + (i / posts) as f64 * spacing_m;
            height_m(x, y) as f32
        };
        Self { origin_m, spacing_m, posts, heights_m: (0..posts * posts).map(post).collect() }
    }

    /// Flat ground at height zero around the origin, with sides of `side_m`.
    #[must_use]
    pub fn flat(spacing_m: f64, side_m: f64) -> Self {
        let posts = (side_m / spacing_m).round().max(1.0) as usize + 1;
        let origin_m = [-0.5 * (posts - 1) as f64 * spacing_m; 2];
        Self { origin_m, spacing_m, posts, heights_m: vec![0.0; posts * posts] }
    }

    pub(crate) fn grid(&self) -> Grid {
        Grid { origin_m: self.origin_m, spacing_m: self.spacing_m, posts: self.posts }
    }

    /// Length of a side, m.
    #[must_use]
    pub fn side_m(&self) -> f64 {
        (self.posts - 1) as f64 * self.spacing_m
    }

    /// Map position of a post, m.
    #[must_use]
    pub fn post_xy_m(&self, column: usize, row: usize) -> [f64; 2] {
        [self.origin_m[0] + column as f64 * self.spacing_m, self.origin_m[1] + row as f64 * self.spacing_m]
    }

    /// Height of a post, m.
    #[must_use]
    pub fn post_m(&self, column: usize, row: usize) -> f64 {
        f64::from(self.heights_m[row * self.posts + column])
    }

    /// Whether (x, y) lies on the level.
    #[must_use]
    pub fn contains(&self, x: f64, y: f64) -> bool {
        self.in_cell(x, y).is_some()
    }

    /// Bilinear height at (x, y), m; none outside.
    #[must_use]
    pub fn height_m(&self, x: f64, y: f64) -> Option<f64> {
        let CellPosition { column, row, u, v } = self.in_cell(x, y)?;
        let low = self.post_m(column, row) * (1.0 - u) + self.post_m(column + 1, row) * u;
        let high = self.post_m(column, row + 1) * (1.0 - u) + self.post_m(column + 1, row + 1) * u;
        Some(low * (1.0 - v) + high * v)
    }

    /// Unit normal of the bilinear patch at (x, y), pointing up; none outside.
    #[must_use]
    pub fn normal(&self, x: f64, y: f64) -> Option<Vector3<f64>> {
        let CellPosition { column, row, u, v } = self.in_cell(x, y)?;
        let [a, b] = [self.post_m(column, row), self.post_m(column + 1, row)];
        let [c, d] = [self.post_m(column, row + 1), self.post_m(column + 1, row + 1)];
        let slope_x = ((b - a) * (1.0 - v) + (d - c) * v) / self.spacing_m;
        let slope_y = ((c - a) * (1.0 - u) + (d - b) * u) / self.spacing_m;
        Some(Vector3::new(-slope_x, -slope_y, 1.0).normalize())
    }

    fn in_cell(&self, x: f64, y: f64) -> Option<CellPosition> {
        let along = |value: f64, origin: f64| {
            let cells = (value - origin) / self.spacing_m;
            let cell = cells.floor();
            let last = (self.posts - 2) as f64;
            // The far edge belongs to the last cell.
            let cell = if cells == last + 1.0 { last } else { cell };
            (cell >= 0.0 && cell <= last).then_some((cell as usize, cells - cell))
        };
        let (column, u) = along(x, self.origin_m[0])?;
        let (row, v) = along(y, self.origin_m[1])?;
        Some(CellPosition { column, row, u, v })
    }
}

#[cfg(test)]
mod tests {
    use super::Level;

    /// Rounding of heights in `f32`: metre-sized heights are accurate to 1e-7 m.
    const STORED_HEIGHT_TOLERANCE_M: f64 = 1e-6;

    #[test]
    fn a_plane_is_met_exactly_with_its_normal() {
        let level = Level::sample([-1.0, -2.0], 0.25, 17, |x, y| 0.1 * x - 0.2 * y);
        for (x, y) in [(-1.0, -2.0), (0.3, 0.7), (3.0, 2.0), (2.99, 1.99)] {
            let h = level.height_m(x, y).expect("inside");
            assert!((h - (0.1 * x - 0.2 * y)).abs() < STORED_HEIGHT_TOLERANCE_M);
            let n = level.normal(x, y).expect("inside");
            assert!((n.x / n.z + 0.1).abs() < 1e-5 && (n.y / n.z - 0.2).abs() < 1e-5);
        }
    }

    #[test]
    fn outside_there_is_no_ground() {
        let level = Level::sample([0.0, 0.0], 1.0, 3, |_, _| 0.0);
        for (x, y) in [(-0.1, 1.0), (1.0, 2.1), (f64::NAN, 1.0), (f64::INFINITY, 1.0)] {
            assert!(level.height_m(x, y).is_none());
        }
    }
}
