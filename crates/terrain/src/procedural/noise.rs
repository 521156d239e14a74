//! Fractal relief: a sum of octaves, each a random lattice smoothed by the cubic B-spline. The lattice spacings shrink
//! by a non-integer ratio and have random shifts, so that their lines never coincide. The deviation of an octave
//! follows a power law of its wavelength whose Hurst exponent changes at one metre: about 0.95 at hectometres
//! (Rosenburg et al. 2011, highlands) and 0.5 to 0.7 below a metre (Helfenstein and Shepard 1999).
//!
//! A lattice value is a hash of seed, octave and lattice cell, so the relief does not depend on the order, the window
//! or the threads that evaluate it.

use crate::sampler::{Grid, Kernel, Sampler};
use crate::site::spec::ReliefSpec;

/// Ratio of each octave's lattice spacing to the next finer one's.
const LACUNARITY: f64 = 1.9;
/// Standard deviation of a uniform lattice in −1…1 after B-spline smoothing: the square root of the variance 1/3 times
/// the kernel's mean square 151/315 once per axis.
const LATTICE_DEVIATION: f64 = 0.276_76;

/// One octave of the relief.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Octave {
    /// Distance between lattice points, m.
    pub(crate) lattice_m: f64,
    /// Standard deviation of the octave's heights, m.
    pub(crate) deviation_m: f64,
    index: u32,
}

/// The octaves whose lattice spacing is at least `lattice_min_m` and less than `lattice_below_m`.
pub(crate) fn octaves(relief: &ReliefSpec, lattice_min_m: f64, lattice_below_m: f64) -> Vec<Octave> {
    let lattice = |index: u32| relief.wavelength_max_m / 2.0 / LACUNARITY.powi(index as i32);
    (0..)
        .map(|index| (index, lattice(index)))
        .take_while(|&(_, lattice_m)| lattice_m >= lattice_min_m)
        .filter(|&(_, lattice_m)| lattice_m < lattice_below_m)
        .map(|(index, lattice_m)| Octave { lattice_m, deviation_m: deviation_m(relief, 2.0 * lattice_m), index })
        .collect()
}

fn deviation_m(relief: &ReliefSpec, wavelength_m: f64) -> f64 {
    let hurst = if wavelength_m < 1.0 { relief.hurst_below_1m } else { relief.hurst_above_1m };
    relief.deviation_at_1m_m * wavelength_m.powf(hurst)
}

impl Octave {
    /// A sampler of the octave at the posts of `grid`.
    pub(crate) fn sampler(&self, seed: u64, grid: Grid) -> Sampler<'static> {
        let key = mix(seed as u32 ^ mix((seed >> 32) as u32 ^ mix(self.index)));
        let [shift_x, shift_y] = [unit(mix(key ^ 1)), unit(mix(key ^ 2))].map(f64::from);
        let cell = |along_m: f64, shift: f64| along_m / self.lattice_m + shift;
        let [x0, y0] = grid.origin_m;
        let first = [cell(x0, shift_x).floor() as i64 - 1, cell(y0, shift_y).floor() as i64 - 1];
        let size = (grid.side_m() / self.lattice_m).ceil() as usize + 5;
        let values = lattice(key, first, size, (self.deviation_m / LATTICE_DEVIATION) as f32);
        let origin_m = [(first[0] as f64 - shift_x) * self.lattice_m, (first[1] as f64 - shift_y) * self.lattice_m];
        let source = Grid { origin_m, spacing_m: self.lattice_m, posts: size };
        Sampler::new(values, source, grid, Kernel::BSpline)
    }
}

fn lattice(key: u32, first: [i64; 2], size: usize, amplitude: f32) -> Vec<f32> {
    let value = |column: i64, row_key: u32| (2.0 * unit(mix(row_key ^ column as u32)) - 1.0) * amplitude;
    let row = |row: i64| {
        let row_key = mix(key ^ mix(row as u32));
        (0..size as i64).map(move |column| value(first[0] + column, row_key))
    };
    (0..size as i64).flat_map(|j| row(first[1] + j)).collect()
}

/// A bijective hash of 32 bits (the "lowbias32" constants of C. Wellons).
fn mix(mut x: u32) -> u32 {
    x = x.wrapping_add(0x9e37_79b9);
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// The upper 24 bits as a fraction in 0…1.
fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 / (1 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::{Octave, octaves};
    use crate::sampler::Grid;
    use crate::site::spec::ReliefSpec;

    const RELIEF: ReliefSpec =
        ReliefSpec { wavelength_max_m: 1000.0, deviation_at_1m_m: 0.05, hurst_above_1m: 0.95, hurst_below_1m: 0.6 };

    fn heights(octave: Octave, grid: Grid) -> Vec<f32> {
        let mut heights = vec![0.0; grid.posts * grid.posts];
        octave.sampler(3, grid).add_all(&mut heights);
        heights
    }

    #[test]
    fn octaves_of_neighbouring_bands_are_all_used_once() {
        let all = octaves(&RELIEF, 0.02, f64::INFINITY);
        let mut parts = octaves(&RELIEF, 5.0, f64::INFINITY);
        parts.extend(octaves(&RELIEF, 0.3, 5.0));
        parts.extend(octaves(&RELIEF, 0.02, 0.3));
        assert_eq!(all, parts);
    }

    #[test]
    fn an_octave_has_the_deviation_it_states() {
        // 250² lattice cells: the sample deviation is accurate to about a percent.
        const SAMPLE_TOLERANCE: f64 = 0.03;
        let octave = octaves(&RELIEF, 0.2, 0.5)[0];
        let heights = heights(octave, Grid { origin_m: [-50.0, 20.0], spacing_m: 0.21, posts: 500 });
        let mean_square = heights.iter().map(|&h| f64::from(h).powi(2)).sum::<f64>() / heights.len() as f64;
        assert!((mean_square.sqrt() / octave.deviation_m - 1.0).abs() < SAMPLE_TOLERANCE);
    }

    #[test]
    fn a_place_has_the_same_relief_in_every_window() {
        // Rounding of the kernel's `f32` weights.
        const WINDOW_TOLERANCE_M: f32 = 1e-6;
        let octave = octaves(&RELIEF, 0.2, 0.5)[0];
        let wide = heights(octave, Grid { origin_m: [-4.0, -4.0], spacing_m: 0.125, posts: 65 });
        let narrow = heights(octave, Grid { origin_m: [-1.0, 0.0], spacing_m: 0.125, posts: 9 });
        for row in 0..9 {
            for column in 0..9 {
                let difference = narrow[row * 9 + column] - wide[(row + 32) * 65 + column + 24];
                assert!(difference.abs() < WINDOW_TOLERANCE_M);
            }
        }
    }
}
