//! Histograms of durations, such as the jitter of heartbeats. All runs share the same bins, so that they can be
//! compared and added.

use std::time::Duration;

/// Upper bounds of the bins, µs; a last bin holds longer durations.
const BOUNDS_US: [u64; 9] = [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000];

/// Counts of durations by their length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BOUNDS_US.len() + 1],
    longest: Duration,
}

impl Histogram {
    pub(crate) fn add(&mut self, span: Duration) {
        let bin = BOUNDS_US.iter().position(|bound_us| span <= Duration::from_micros(*bound_us));
        self.counts[bin.unwrap_or(BOUNDS_US.len())] += 1;
        self.longest = self.longest.max(span);
    }

    /// Number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The longest duration; zero if there are none.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// The upper bound of the first bin up to which at least this share (0 to 1) of all durations lies. If none reaches
    /// it, the longest duration; zero if there are none.
    #[must_use]
    pub fn within(&self, share: f64) -> Duration {
        if self.count() == 0 {
            return Duration::ZERO;
        }
        let needed = (share * self.count() as f64).ceil() as u64;
        let mut so_far = 0;
        for (count, bound_us) in self.counts.iter().zip(BOUNDS_US) {
            so_far += count;
            if so_far >= needed {
                return Duration::from_micros(bound_us);
            }
        }
        self.longest
    }

    /// Name and count of each bin, shortest first: `up_to_50_us`, …, `beyond_100000_us`.
    pub fn bins(&self) -> impl Iterator<Item = (String, u64)> {
        let names = BOUNDS_US.iter().map(|bound_us| format!("up_to_{bound_us}_us"));
        let beyond = BOUNDS_US.last().map(|bound_us| format!("beyond_{bound_us}_us"));
        names.chain(beyond).zip(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;
    use std::time::Duration;

    #[test]
    fn times_are_counted_up_to_and_with_a_bins_bound() {
        let mut histogram = Histogram::default();
        for us in [0, 50, 51, 500, 100_000, 100_001] {
            histogram.add(Duration::from_micros(us));
        }
        let bins: Vec<_> = histogram.bins().filter(|(_, count)| *count > 0).collect();
        let expected = [
            ("up_to_50_us", 2),
            ("up_to_100_us", 1),
            ("up_to_500_us", 1),
            ("up_to_100000_us", 1),
            ("beyond_100000_us", 1),
        ];
        assert_eq!(bins, expected.map(|(name, count)| (name.to_owned(), count)));
        assert_eq!((histogram.count(), histogram.bins().count()), (6, 10));
        assert_eq!(histogram.longest(), Duration::from_micros(100_001));
    }

    #[test]
    fn a_share_is_within_the_first_bound_that_has_it() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.within(0.999), Duration::ZERO);
        (0..999).for_each(|_| histogram.add(Duration::from_micros(40)));
        histogram.add(Duration::from_millis(300));
        assert_eq!(histogram.within(0.999), Duration::from_micros(50));
        assert_eq!(histogram.within(1.0), Duration::from_millis(300));
    }
}
