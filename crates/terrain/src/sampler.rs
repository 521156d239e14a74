//! Samples a grid at the posts of another with separable 4 × 4 cubic kernels: one refines a coarser level (Catmull–Rom:
//! passes through the posts), the other smooths random lattices (B-spline: no overshoot, no visible cells).

use std::borrow::Cow;

/// Positions of the posts of a square grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Position of post (0, 0), m.
    pub(crate) origin_m: [f64; 2],
    /// Distance between posts, m.
    pub(crate) spacing_m: f64,
    /// Posts along a side.
    pub(crate) posts: usize,
}

impl Grid {
    pub(crate) fn side_m(&self) -> f64 {
        (self.posts - 1) as f64 * self.spacing_m
    }

    /// Position of post `index` along an axis (0 = x, 1 = y), m.
    pub(crate) fn at_m(&self, axis: usize, index: usize) -> f64 {
        self.origin_m[axis] + index as f64 * self.spacing_m
    }
}

/// A cubic kernel; it gives four weights at a fraction of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    CatmullRom,
    BSpline,
}

impl Kernel {
    fn weights(self, t: f64) -> [f32; 4] {
        let [t2, t3] = [t * t, t * t * t];
        let weights = match self {
            Self::CatmullRom => {
                [2.0 * t2 - t - t3, 2.0 - 5.0 * t2 + 3.0 * t3, t + 4.0 * t2 - 3.0 * t3, t3 - t2].map(|w| w / 2.0)
            }
            Self::BSpline => {
                [(1.0 - t).powi(3), 4.0 - 6.0 * t2 + 3.0 * t3, 1.0 + 3.0 * (t + t2 - t3), t3].map(|w| w / 6.0)
            }
        };
        weights.map(|w| w as f32)
    }
}

/// The first of four consecutive source posts, and their weights.
#[derive(Clone, Copy, Debug)]
struct FilterTap {
    first: usize,
    weights: [f32; 4],
}

/// A source grid, and the taps of every column and row of a target grid.
#[derive(Debug)]
pub(crate) struct Sampler<'a> {
    values: Cow<'a, [f32]>,
    width: usize,
    columns: Vec<FilterTap>,
    rows: Vec<FilterTap>,
}

impl<'a> Sampler<'a> {
    /// Samples `values` on `source` at the posts of `target`, which should lie at least one cell inside; nearer the
    /// edge the kernel uses the last four posts.
    pub(crate) fn new(values: impl Into<Cow<'a, [f32]>>, source: Grid, target: Grid, kernel: Kernel) -> Self {
        let taps = |axis| (0..target.posts).map(|i| tap(target.at_m(axis, i), source, axis, kernel)).collect();
        Self { values: values.into(), width: source.posts, columns: taps(0), rows: taps(1) }
    }

    /// Adds the samples of target row `row` to `out`; `scratch` is a buffer reused between rows.
    pub(crate) fn add_row(&self, row: usize, out: &mut [f32], scratch: &mut Vec<f32>) {
        let FilterTap { first, weights: [a, b, c, d] } = self.rows[row];
        let source = |k: usize| self.values[(first + k) * self.width..(first + k + 1) * self.width].iter();
        scratch.clear();
        let blended = source(0).zip(source(1)).zip(source(2).zip(source(3)));
        scratch.extend(blended.map(|((p, q), (r, s))| a * p + b * q + c * r + d * s));
        for (height, tap) in out.iter_mut().zip(&self.columns) {
            let near = &scratch[tap.first..tap.first + 4];
            *height += tap.weights.iter().zip(near).map(|(w, h)| w * h).sum::<f32>();
        }
    }

    /// Adds the samples of every row to a whole target grid.
    pub(crate) fn add_all(&self, out: &mut [f32]) {
        let mut scratch = Vec::new();
        for (row, heights) in out.chunks_mut(self.columns.len()).enumerate() {
            self.add_row(row, heights, &mut scratch);
        }
    }
}

fn tap(at_m: f64, source: Grid, axis: usize, kernel: Kernel) -> FilterTap {
    let cells = (at_m - source.origin_m[axis]) / source.spacing_m;
    let cell = cells.floor().clamp(1.0, source.posts as f64 - 3.0);
    FilterTap { first: cell as usize - 1, weights: kernel.weights(cells - cell) }
}

#[cfg(test)]
mod tests {
    use super::{Grid, Kernel, Sampler};

    const COARSE: Grid = Grid { origin_m: [-4.0, -4.0], spacing_m: 1.0, posts: 9 };
    const FINE: Grid = Grid { origin_m: [-2.0, -2.0], spacing_m: 0.25, posts: 17 };
    /// Rounding of `f32` heights and weights.
    const SINGLE_TOLERANCE_M: f64 = 1e-5;

    fn sampled(kernel: Kernel, height_m: impl Fn(f64, f64) -> f64) -> Vec<f32> {
        let at = |i: usize| height_m(COARSE.at_m(0, i % 9), COARSE.at_m(1, i / 9)) as f32;
        let values: Vec<f32> = (0..81).map(at).collect();
        let mut out = vec![0.0; 17 * 17];
        Sampler::new(values, COARSE, FINE, kernel).add_all(&mut out);
        out
    }

    #[test]
    fn refining_reproduces_a_quadric_exactly() {
        let quadric = |x: f64, y: f64| 1.0 + 0.3 * x - 0.2 * y + 0.1 * x * x - 0.05 * x * y;
        for (i, &h) in sampled(Kernel::CatmullRom, quadric).iter().enumerate() {
            let exact = quadric(FINE.at_m(0, i % 17), FINE.at_m(1, i / 17));
            assert!((f64::from(h) - exact).abs() < SINGLE_TOLERANCE_M);
        }
    }

    #[test]
    fn smoothing_keeps_a_plane() {
        let plane = |x: f64, y: f64| 0.3 * x - 0.2 * y;
        for (i, &h) in sampled(Kernel::BSpline, plane).iter().enumerate() {
            let exact = plane(FINE.at_m(0, i % 17), FINE.at_m(1, i / 17));
            assert!((f64::from(h) - exact).abs() < SINGLE_TOLERANCE_M);
        }
    }
}
