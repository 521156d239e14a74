//! A wheel's encoder: it measures the wheel's angle in whole counts, rounded down, and
//! its rate by the difference of two angles. Without a resolution it is exact.

use std::f64::consts::TAU;

/// The angle that an encoder with `counts_per_turn` measures, rad.
#[must_use]
pub fn quantised_rad(angle_rad: f64, counts_per_turn: Option<u32>) -> f64 {
    let count = |counts: u32| (angle_rad * f64::from(counts) / TAU).floor() * TAU / f64::from(counts);
    counts_per_turn.map_or(angle_rad, count)
}

/// Rates between two readings that are `interval_s` apart, rad/s.
#[must_use]
pub fn rates_rad_s(before_rad: &[f64], after_rad: &[f64], interval_s: f64) -> Vec<f64> {
    before_rad.iter().zip(after_rad).map(|(before, after)| (after - before) / interval_s).collect()
}

#[cfg(test)]
mod tests {
    use super::{quantised_rad, rates_rad_s};
    use std::f64::consts::TAU;

    #[test]
    fn an_angle_is_measured_in_whole_counts_below_it() {
        let count = TAU / 100.0;
        assert_eq!(quantised_rad(2.7 * count, Some(100)), 2.0 * count);
        assert_eq!(quantised_rad(-0.3 * count, Some(100)), -count);
        assert_eq!(quantised_rad(0.123, None), 0.123);
    }

    #[test]
    fn a_rate_is_within_a_count_of_the_true_one() {
        let readings = [0.50, 0.58].map(|angle| [quantised_rad(angle, Some(1000))]);
        let rate = rates_rad_s(&readings[0], &readings[1], 0.1)[0];
        assert!((rate - 0.8).abs() <= TAU / 1000.0 / 0.1, "{rate}");
    }
}
