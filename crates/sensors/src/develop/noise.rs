//! Noise of a detector (LUNAR eq. 6–7), electrons to electrons: μ = y g + D t, D the dark current and that of hot
//! pixels, g a pixel's own response; Y = μ + N(0, G² μ) + N(0, σ²) for shot noise and read-out, plus each pixel's
//! fixed offset and offsets of whole rows and columns, fixed or drawn for each frame. Dead pixels are 0. Dark current
//! doubles every `dark_doubling_k`: D(T) = D(reference) 2^((T − reference)/doubling), the rule of thumb of data
//! sheets (6 to 8 K for silicon).

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use serde::Deserialize;

use super::fixed_pattern::FixedPattern;
use super::shot::{RowStreams, RowWork};
use crate::noise::gaussian;

/// `noise`: noise of the detector; effects whose keys are left out are off.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct NoiseSpec {
    /// G: factor on shot noise; 1 is physical.
    #[garde(custom(within(0.0, 100.0)))]
    pub shot_gain: f64,
    /// Standard deviation of read-out noise, electrons.
    #[garde(custom(non_negative))]
    pub read_sigma_e: f64,
    /// Dark current at `dark_reference_k`, electrons per second.
    #[garde(custom(non_negative))]
    pub dark_current_e_per_s: f64,
    /// Temperature at which dark currents are given, K.
    #[garde(custom(within(50.0, 500.0)))]
    pub dark_reference_k: f64,
    /// Temperature rise that doubles dark currents, K.
    #[garde(custom(positive))]
    pub dark_doubling_k: f64,
    /// Temperature of the detector, K.
    #[garde(custom(within(50.0, 500.0)))]
    pub temperature_k: f64,
    /// Fraction of hot pixels, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub hot_pixels: f64,
    /// Dark current of hot pixels at `dark_reference_k`, electrons per second.
    #[garde(custom(non_negative))]
    pub hot_current_e_per_s: f64,
    /// Fraction of dead pixels, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub dead_pixels: f64,
    /// Relative standard deviation of pixels' response (PRNU).
    #[garde(custom(within(0.0, 0.5)))]
    pub gain_sigma: f64,
    /// Standard deviation of pixels' fixed offsets (DSNU), electrons.
    #[garde(custom(non_negative))]
    pub offset_sigma_e: f64,
    /// Standard deviation of rows' fixed offsets, electrons.
    #[garde(custom(non_negative))]
    pub row_fixed_sigma_e: f64,
    /// Standard deviation of columns' fixed offsets, electrons.
    #[garde(custom(non_negative))]
    pub column_fixed_sigma_e: f64,
    /// Standard deviation of rows' offsets drawn for each frame, electrons.
    #[garde(custom(non_negative))]
    pub row_sigma_e: f64,
    /// Standard deviation of columns' offsets drawn for each frame, electrons.
    #[garde(custom(non_negative))]
    pub column_sigma_e: f64,
}

impl Default for NoiseSpec {
    fn default() -> Self {
        Self {
            shot_gain: 1.0,
            read_sigma_e: 0.0,
            dark_current_e_per_s: 0.0,
            dark_reference_k: 293.15,
            dark_doubling_k: 6.0,
            temperature_k: 293.15,
            hot_pixels: 0.0,
            hot_current_e_per_s: 0.0,
            dead_pixels: 0.0,
            gain_sigma: 0.0,
            offset_sigma_e: 0.0,
            row_fixed_sigma_e: 0.0,
            column_fixed_sigma_e: 0.0,
            row_sigma_e: 0.0,
            column_sigma_e: 0.0,
        }
    }
}

impl NoiseSpec {
    /// Ratio of dark currents at the detector's temperature to those at the reference temperature.
    #[must_use]
    pub fn dark_factor(&self) -> f64 {
        ((self.temperature_k - self.dark_reference_k) / self.dark_doubling_k).exp2()
    }
}

/// A detector's noise, with its fixed pattern drawn.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    spec: NoiseSpec,
    columns: usize,
    /// Fixed pattern of each channel.
    patterns: Vec<FixedPattern>,
}

/// Dark electrons of an exposure: in every pixel, and in addition in a hot one.
#[derive(Clone, Copy)]
struct DarkElectrons {
    all_e: f64,
    hot_e: f32,
}

impl Noise {
    pub(super) fn new(spec: NoiseSpec, name: &str, seed: u64, channels: usize, size: [usize; 2]) -> Self {
        let patterns = (0..channels).map(|channel| FixedPattern::new(&spec, name, seed, channel, size)).collect();
        Self { spec, columns: size[0], patterns }
    }

    pub(super) fn rows<'a>(&'a self, chance: &'a RowStreams, exposure_s: f64) -> RowWork<'a> {
        let time = exposure_s * self.spec.dark_factor();
        let dark = DarkElectrons {
            all_e: self.spec.dark_current_e_per_s * time,
            hot_e: (self.spec.hot_current_e_per_s * time) as f32,
        };
        let anew = self.columns_anew_e(chance);
        Box::new(move |channel, row, values| {
            let mut offset_e = dark.all_e;
            if self.spec.row_sigma_e > 0.0 {
                offset_e += self.spec.row_sigma_e * gaussian(&mut chance.of_lines("rows", channel, row));
            }
            self.collect(channel, row, dark.hot_e, values);
            self.read(channel, row, [offset_e, dark.all_e], chance, values);
            add(values, &anew[channel]);
            FixedPattern::in_row(&self.patterns[channel].dead, row, self.columns).for_each(|i| values[i] = 0.0);
        })
    }

    /// Offsets of columns in this frame, by channel; empty without such noise.
    fn columns_anew_e(&self, chance: &RowStreams) -> Vec<Vec<f32>> {
        let count = if self.spec.column_sigma_e > 0.0 { self.columns } else { 0 };
        let of_channel = |channel| {
            let mut rng = chance.of_lines("columns", channel, 0);
            (0..count).map(|_| (self.spec.column_sigma_e * gaussian(&mut rng)) as f32).collect()
        };
        (0..self.patterns.len()).map(of_channel).collect()
    }

    /// Applies each pixel's response and adds the dark current of hot pixels; `read` adds the dark current of all
    /// pixels.
    fn collect(&self, channel: usize, row: usize, hot_e: f32, values: &mut [f32]) {
        let pattern = &self.patterns[channel];
        let own = pattern.gain.iter().skip(row * self.columns);
        values.iter_mut().zip(own).for_each(|(value, gain)| *value *= gain);
        FixedPattern::in_row(&pattern.hot, row, self.columns).for_each(|i| values[i] += hot_e);
    }

    /// Adds shot and read-out noise in one draw (variances add), and the noiseless offsets; `dark_e` is the part of
    /// them that contributes to shot noise.
    fn read(&self, channel: usize, row: usize, [offset_e, dark_e]: [f64; 2], chance: &RowStreams, values: &mut [f32]) {
        let [shot_gain2, read_variance_e2] = [self.spec.shot_gain.powi(2), self.spec.read_sigma_e.powi(2)];
        if shot_gain2 > 0.0 || read_variance_e2 > 0.0 {
            let mut rng = chance.of_row(channel, row);
            for value in values.iter_mut() {
                let e = f64::from(*value);
                let variance = shot_gain2 * (e + dark_e).max(0.0) + read_variance_e2;
                *value = (e + offset_e + variance.sqrt() * gaussian(&mut rng)) as f32;
            }
        } else {
            values.iter_mut().for_each(|value| *value += offset_e as f32);
        }
        let fixed = self.patterns[channel].offset_e.get(row * self.columns..).unwrap_or(&[]);
        add(values, fixed);
    }
}

fn add(values: &mut [f32], more: &[f32]) {
    values.iter_mut().zip(more).for_each(|(value, more)| *value += more);
}

#[cfg(test)]
mod tests {
    use super::{Noise, NoiseSpec};
    use crate::develop::shot::RowStreams;

    const SIZE: [usize; 2] = [400, 100];

    /// A uniformly lit frame, row by row in one list.
    fn frame(spec: NoiseSpec, light_e: f32, exposure_s: f64, index: u64) -> Vec<f32> {
        let noise = Noise::new(spec, "a camera", 5, 1, SIZE);
        let chance = RowStreams::new(5, "a camera", index);
        let mut values = vec![light_e; SIZE[0] * SIZE[1]];
        let work = noise.rows(&chance, exposure_s);
        values.chunks_exact_mut(SIZE[0]).enumerate().for_each(|(row, values)| work(0, row, values));
        drop(work);
        values
    }

    fn mean_and_sigma(values: &[f32]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        (mean, (values.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn mean_and_variance_are_those_of_light_dark_current_and_read_out() {
        const SIGMA_TOLERANCE: f64 = 0.02; // 40 000 samples: 0.35 % is one sigma
        let spec = NoiseSpec {
            shot_gain: 1.3,
            read_sigma_e: 9.0,
            dark_current_e_per_s: 50.0,
            temperature_k: 293.15 + 12.0,
            ..NoiseSpec::default()
        };
        for (light_e, exposure_s) in [(0.0, 0.5), (300.0, 0.1), (5000.0, 2.0)] {
            let (mean, sigma) = mean_and_sigma(&frame(spec, light_e, exposure_s, 0));
            // Two doublings of 6 K.
            let expected = f64::from(light_e) + 50.0 * 4.0 * exposure_s;
            let expected_sigma = (1.3_f64.powi(2) * expected + 81.0).sqrt();
            assert!((mean - expected).abs() < 5.0 * expected_sigma / 200.0, "{mean} {expected}");
            assert!((sigma / expected_sigma - 1.0).abs() < SIGMA_TOLERANCE, "{sigma} {expected_sigma}");
        }
    }

    #[test]
    fn the_pattern_stays_from_frame_to_frame_and_the_rest_does_not() {
        let silent = NoiseSpec { shot_gain: 0.0, ..NoiseSpec::default() };
        let fixed = NoiseSpec {
            gain_sigma: 0.02,
            offset_sigma_e: 3.0,
            row_fixed_sigma_e: 2.0,
            column_fixed_sigma_e: 2.0,
            hot_pixels: 0.01,
            hot_current_e_per_s: 900.0,
            dead_pixels: 0.01,
            ..silent
        };
        assert_eq!(frame(fixed, 500.0, 0.1, 1), frame(fixed, 500.0, 0.1, 2));
        for anew in [NoiseSpec { row_sigma_e: 2.0, ..silent }, NoiseSpec { column_sigma_e: 2.0, ..silent }] {
            assert_ne!(frame(anew, 500.0, 0.1, 1), frame(anew, 500.0, 0.1, 2));
        }
    }

    #[test]
    fn lines_have_one_offset_each_of_the_spread_requested() {
        const TOLERANCE: f64 = 0.25; // 100 rows: 7 % is one sigma
        let silent = NoiseSpec { shot_gain: 0.0, ..NoiseSpec::default() };
        for (spec, down) in [
            (NoiseSpec { row_sigma_e: 2.0, ..silent }, SIZE[0]),
            (NoiseSpec { row_fixed_sigma_e: 2.0, ..silent }, SIZE[0]),
            (NoiseSpec { column_sigma_e: 2.0, ..silent }, 1),
            (NoiseSpec { column_fixed_sigma_e: 2.0, ..silent }, 1),
        ] {
            let values = frame(spec, 0.0, 0.1, 3);
            let lines: Vec<f32> = (0..100).map(|line| values[line * down]).collect();
            let along = if down == 1 { SIZE[0] } else { 1 };
            assert!((0..100).all(|line| values[line * down] == values[line * down + along]), "{spec:?}");
            assert!((mean_and_sigma(&lines).1 / 2.0 - 1.0).abs() < TOLERANCE, "{spec:?}");
        }
    }

    #[test]
    fn hot_pixels_glow_with_time_and_dead_ones_are_black_in_any_light() {
        let spec = NoiseSpec {
            shot_gain: 0.0,
            hot_pixels: 1e-3,
            hot_current_e_per_s: 2000.0,
            dead_pixels: 2e-3,
            ..NoiseSpec::default()
        };
        for exposure_s in [0.1, 1.0] {
            let values = frame(spec, 40.0, exposure_s, 0);
            let count = |e: f64| values.iter().filter(|v| (f64::from(**v) - e).abs() < 1e-3).count();
            assert_eq!((count(40.0 + 2000.0 * exposure_s), count(0.0), count(40.0)), (40, 80, 40_000 - 120));
        }
    }
}
