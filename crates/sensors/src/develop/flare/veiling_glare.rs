//! Veiling glare of the scene itself: the light of each block of pixels, at most 64 along a side, is spread over all
//! other blocks and interpolated linearly between the blocks' middles. Light that travels less than a block's width
//! stays with its pixel. What leaves a block is subtracted from it, so that light is conserved.

use std::f64::consts::PI;

use rayon::prelude::*;

use super::profile::PointSpread;
use crate::camera::Intrinsics;

/// The largest number of blocks along the longer side.
const BLOCKS: usize = 64;

/// The exchange of light between the blocks of one channel.
#[derive(Clone, Debug)]
pub(super) struct VeilingGlare {
    /// Side of a block, px.
    block: usize,
    /// Columns of the image.
    width: usize,
    columns: usize,
    rows: usize,
    /// Fraction of a block's light that a block at an offset of rows and columns from −(n − 1) to n − 1 receives.
    kernel: Vec<f32>,
    /// Fraction of its light that a pixel keeps.
    kept: f32,
}

impl VeilingGlare {
    pub(super) fn new(spread: &PointSpread, lens: Intrinsics, [width, height]: [usize; 2]) -> Self {
        let block = width.max(height).div_ceil(BLOCKS).max(1);
        let [columns, rows] = [width, height].map(|side| side.div_ceil(block).max(1));
        let [across, down] = [lens.fx_px, lens.fy_px].map(|focal_px| block as f64 / focal_px);
        let area = across * down;
        let share = |row: usize, column: usize| {
            let [dy, dx] = [row as f64 - (rows - 1) as f64, column as f64 - (columns - 1) as f64];
            let t2 = (dy * down).powi(2) + (dx * across).powi(2);
            if t2 > 0.0 { (area * spread.at(t2)) as f32 } else { 0.0 }
        };
        let kernel = (0..2 * rows - 1).flat_map(|row| (0..2 * columns - 1).map(move |column| (row, column)));
        let kernel = kernel.map(|(row, column)| share(row, column)).collect();
        Self { block, width, columns, rows, kernel, kept: 1.0 - spread.beyond((area / PI).sqrt()) as f32 }
    }

    /// The light that each block receives from the others; `is_source(row, column)` says which pixels emit.
    pub(super) fn received(&self, plane: &[f32], is_source: impl Fn(usize, usize) -> bool + Sync) -> Vec<f32> {
        let sent = self.sent(plane, is_source);
        let mut received = vec![0.0; sent.len()];
        received.par_chunks_mut(self.columns).enumerate().for_each(|(to, row)| {
            for (from, sent) in sent.chunks(self.columns).enumerate() {
                let kernel = &self.kernel[(self.rows - 1 + to - from) * (2 * self.columns - 1)..];
                for (at, light) in sent.iter().enumerate().filter(|(_, light)| **light > 0.0) {
                    let kernel = &kernel[self.columns - 1 - at..][..self.columns];
                    row.iter_mut().zip(kernel).for_each(|(sum, share)| *sum += light * share);
                }
            }
        });
        received
    }

    /// The mean light of each block.
    fn sent(&self, plane: &[f32], is_source: impl Fn(usize, usize) -> bool + Sync) -> Vec<f32> {
        let per_block = 1.0 / (self.block * self.block) as f32;
        let mut sent = vec![0.0; self.columns * self.rows];
        let strips = plane.par_chunks((self.width * self.block).max(1)).enumerate();
        sent.par_chunks_mut(self.columns).zip(strips).for_each(|(sums, (strip, pixels))| {
            for (line, values) in pixels.chunks(self.width).enumerate() {
                let row = strip * self.block + line;
                for (at, (sum, values)) in sums.iter_mut().zip(values.chunks(self.block)).enumerate() {
                    for (value, column) in values.iter().zip(at * self.block..) {
                        // Pixels that are NaN, infinite or negative emit nothing.
                        if *value > 0.0 && value.is_finite() && is_source(row, column) {
                            *sum += value * per_block;
                        }
                    }
                }
            }
        });
        sent
    }

    /// Applies the veil to a row: subtracts the light that it loses and adds the light that it receives.
    pub(super) fn spread(&self, received: &[f32], row: usize, values: &mut [f32]) {
        let (above, below, part) = between(row, self.block, self.rows);
        let [above, below] = [above, below].map(|line| &received[line * self.columns..][..self.columns]);
        let line: Vec<f32> = above.iter().zip(below).map(|(a, b)| a + part * (b - a)).collect();
        for (column, value) in values.iter_mut().enumerate() {
            let (left, right, part) = between(column, self.block, self.columns);
            *value = self.kept * *value + line[left] + part * (line[right] - line[left]);
        }
    }
}

/// The two blocks between whose middles a pixel lies, and the fraction of the way from the first to the second.
fn between(pixel: usize, block: usize, count: usize) -> (usize, usize, f32) {
    let last = count - 1;
    let at = ((pixel as f32 + 0.5) / block as f32 - 0.5).clamp(0.0, last as f32);
    let low = at as usize;
    (low, (low + 1).min(last), at - low as f32)
}

#[cfg(test)]
mod tests {
    use super::VeilingGlare;
    use crate::camera::Intrinsics;
    use crate::develop::flare::profile::{Lobe, PointSpread};

    const LENS: Intrinsics = Intrinsics { fx_px: 208.5, fy_px: 208.5, cx_px: 159.5, cy_px: 89.5 };
    const SIZE: [usize; 2] = [320, 180];

    fn spread() -> PointSpread {
        PointSpread(vec![Lobe::new(0.05, 0.02, 2.0)])
    }

    fn veiled(veil: &VeilingGlare, plane: &[f32]) -> Vec<f32> {
        let received = veil.received(plane, |_, _| true);
        let mut out = plane.to_vec();
        out.chunks_exact_mut(SIZE[0]).enumerate().for_each(|(row, values)| veil.spread(&received, row, values));
        out
    }

    #[test]
    fn a_bright_block_lights_the_others_by_the_lobes_and_loses_that_light() {
        let veil = VeilingGlare::new(&spread(), LENS, SIZE);
        let mut plane = vec![0.0; SIZE[0] * SIZE[1]];
        // One block of 5 × 5 px, its middle at (102, 52).
        for row in 50..55 {
            plane[row * SIZE[0] + 100..row * SIZE[0] + 105].fill(40.0);
        }
        let out = veiled(&veil, &plane);
        for (u, v) in [(162_usize, 52_usize), (102, 102), (202, 132)] {
            let t2 = ((u as f64 - 102.0).powi(2) + (v as f64 - 52.0).powi(2)) / 208.5_f64.powi(2);
            let expected = 40.0 * 25.0 / 208.5_f64.powi(2) * spread().at(t2);
            assert!((f64::from(out[v * SIZE[0] + u]) / expected - 1.0).abs() < 1e-3, "{u} {v}");
        }
        let lost = 1.0 - f64::from(out[52 * SIZE[0] + 102]) / 40.0;
        let expected = spread().beyond((25.0 / std::f64::consts::PI).sqrt() / 208.5);
        assert!((lost / expected - 1.0).abs() < 1e-3, "{lost} {expected}");
    }

    #[test]
    fn far_from_the_edges_even_light_stays_as_it_is_but_for_what_comes_from_outside() {
        let veil = VeilingGlare::new(&spread(), LENS, SIZE);
        let out = veiled(&veil, &vec![10.0; SIZE[0] * SIZE[1]]);
        let middle = out[90 * SIZE[0] + 160];
        let corner = out[0];
        assert!(middle < 10.0 && middle > 9.8 && corner < middle, "{middle} {corner}");
    }
}
