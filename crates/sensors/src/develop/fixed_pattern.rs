//! The fixed pattern of a detector: each pixel's relative response, its offset without light, hot pixels and their dark
//! current, and dead pixels. It is drawn from streams of the camera's name and the scenario's seed, independent of the
//! frame.

use std::collections::BTreeSet;

use selene_base::random::{RngExt, stream_at};

use super::noise::NoiseSpec;
use crate::noise::gaussian;

/// The fixed pattern of one channel; a list is empty if the spec asks for none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FixedPattern {
    /// Response of each pixel relative to the mean.
    pub(super) gain: Vec<f32>,
    /// Fixed offset of each pixel, electrons.
    pub(super) offset_e: Vec<f32>,
    /// Indices of the hot pixels, ascending.
    pub(super) hot: Vec<usize>,
    /// Indices of the dead pixels, ascending.
    pub(super) dead: Vec<usize>,
}

impl FixedPattern {
    /// The fixed pattern of channel `channel` of a detector of `columns` by `rows` pixels.
    pub(super) fn new(spec: &NoiseSpec, name: &str, seed: u64, channel: usize, [columns, rows]: [usize; 2]) -> Self {
        let pixels = columns * rows;
        let draw = |what: &str| stream_at(seed, &format!("{name}/{what}"), channel as u64);
        let spread = |what: &str, sigma: f64, count: usize| -> Vec<f32> {
            let mut rng = draw(what);
            (0..if sigma > 0.0 { count } else { 0 }).map(|_| (sigma * gaussian(&mut rng)) as f32).collect()
        };
        let own = spread("pixel offsets", spec.offset_sigma_e, pixels);
        let of_rows = spread("row offsets", spec.row_fixed_sigma_e, rows);
        let of_columns = spread("column offsets", spec.column_fixed_sigma_e, columns);
        let at = |list: &[f32], i: usize| list.get(i).copied().unwrap_or(0.0);
        let any = !(own.is_empty() && of_rows.is_empty() && of_columns.is_empty());
        let offset = |i: usize| at(&own, i) + at(&of_rows, i / columns) + at(&of_columns, i % columns);
        let dead = some_of(spec.dead_pixels, pixels, &mut draw("dead pixels"));
        let hot = some_of(spec.hot_pixels, pixels, &mut draw("hot pixels"));
        Self {
            gain: spread("pixel gains", spec.gain_sigma, pixels).iter().map(|more| 1.0 + more).collect(),
            offset_e: if any { (0..pixels).map(offset).collect() } else { Vec::new() },
            hot: hot.difference(&dead).copied().collect(),
            dead: dead.into_iter().collect(),
        }
    }

    /// Columns of those pixels of `list` (ascending) that are in a row.
    pub(super) fn in_row(list: &[usize], row: usize, columns: usize) -> impl Iterator<Item = usize> + '_ {
        let [from, to] = [row, row + 1].map(|row| list.partition_point(|pixel| *pixel < row * columns));
        list[from..to].iter().map(move |pixel| pixel - row * columns)
    }
}

/// A random fraction of the pixels, rounded to a whole number of them.
fn some_of(share: f64, pixels: usize, rng: &mut impl RngExt) -> BTreeSet<usize> {
    let count = (share * pixels as f64).round() as usize;
    let mut chosen = BTreeSet::new();
    while chosen.len() < count.min(pixels) {
        chosen.insert(rng.random_range(0..pixels));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::FixedPattern;
    use crate::develop::noise::NoiseSpec;

    fn spec() -> NoiseSpec {
        NoiseSpec { gain_sigma: 0.01, offset_sigma_e: 4.0, hot_pixels: 1e-3, dead_pixels: 5e-4, ..NoiseSpec::default() }
    }

    #[test]
    fn a_detector_has_one_face_and_another_detector_another() {
        let face = |name, seed, channel| FixedPattern::new(&spec(), name, seed, channel, [200, 100]);
        assert_eq!(face("left", 1, 0), face("left", 1, 0));
        for other in [face("right", 1, 0), face("left", 2, 0), face("left", 1, 1)] {
            let left = face("left", 1, 0);
            assert!(left.gain != other.gain && left.offset_e != other.offset_e && left.hot != other.hot);
        }
    }

    #[test]
    fn as_many_pixels_are_hot_and_dead_as_the_shares_say_and_none_is_both() {
        let face = FixedPattern::new(&spec(), "left", 1, 0, [200, 100]);
        assert_eq!((face.hot.len(), face.dead.len()), (20, 10));
        let rows: usize = (0..100).map(|row| FixedPattern::in_row(&face.hot, row, 200).count()).sum();
        assert_eq!(rows, 20);
        assert!(face.hot.iter().all(|pixel| !face.dead.contains(pixel)));
        // The full share must not ask for more pixels than there are.
        let all = NoiseSpec { dead_pixels: 1.0, ..spec() };
        assert_eq!(FixedPattern::new(&all, "left", 1, 0, [20, 10]).dead.len(), 200);
    }

    #[test]
    fn nothing_requested_is_nothing_kept() {
        assert_eq!(FixedPattern::new(&NoiseSpec::default(), "left", 1, 0, [200, 100]), FixedPattern::default());
    }

    #[test]
    fn gains_and_offsets_have_their_spread() {
        const TOLERANCE: f64 = 0.05; // ten times 1/√(2n)
        let face = FixedPattern::new(&spec(), "left", 1, 0, [200, 100]);
        let sigma = |list: &[f32], mean: f64| {
            (list.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / list.len() as f64).sqrt()
        };
        assert!((sigma(&face.gain, 1.0) / 0.01 - 1.0).abs() < TOLERANCE);
        assert!((sigma(&face.offset_e, 0.0) / 4.0 - 1.0).abs() < TOLERANCE);
    }
}
