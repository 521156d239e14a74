//! When a sensor samples and publishes: sample k is measured at phase + k/rate, plus optional jitter, and published
//! `lag` later, stamped with the instant of measurement (SENSOR §3.3). Instants are whole nanoseconds computed from k
//! itself, so a rate whose period is not a whole number of nanoseconds (30 Hz) neither drifts nor loses a sample,
//! whatever the heartbeat.

use selene_base::SimTime;
use selene_base::random::{RngExt, stream_at};

/// Rates are held in whole microhertz.
const MICROHERTZ: f64 = 1e6;
/// Nanoseconds × microhertz in one sample period.
const PERIOD_UNITS: i128 = 1_000_000_000_000_000;

/// A sample: its index since the start of the scenario, and its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// 0, 1, 2…: also the index of the sample's random stream.
    pub index: u64,
    /// When it is measured.
    pub instant: SimTime,
}

/// A sensor's rate, phase and lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    rate_uhz: i128,
    phase: SimTime,
    lag: SimTime,
    /// Jitter of publication: its largest value and the seed of each sample's draw.
    jitter: (SimTime, u64),
    /// Jitter of measurement after k/rate: its largest value and the seed of each sample's draw.
    unevenness: (SimTime, u64),
}

impl Schedule {
    /// Samples at `rate_hz` (rounded to the nearest microhertz, at least one) from `phase` on, published `lag` later.
    #[must_use]
    pub fn new(rate_hz: f64, phase: SimTime, lag: SimTime) -> Self {
        let rate_uhz = (rate_hz * MICROHERTZ).round() as i128;
        let even = (SimTime::ZERO, 0);
        Self { rate_uhz: rate_uhz.max(1), phase, lag, jitter: even, unevenness: even }
    }

    /// The same schedule with each publication delayed by a uniform draw from 0 to `longest`. Data stay in their
    /// order if `longest` is at most a period.
    #[must_use]
    pub fn with_jitter(self, seed: u64, longest: SimTime) -> Self {
        Self { jitter: (longest, seed), ..self }
    }

    /// The same schedule with each measurement delayed by a uniform draw from 0 to `longest`. Samples stay in their
    /// order if `longest` is less than a period.
    #[must_use]
    pub fn with_uneven_instants(self, seed: u64, longest: SimTime) -> Self {
        Self { unevenness: (longest, seed), ..self }
    }

    /// When sample `index` is measured.
    #[must_use]
    pub fn instant(&self, index: u64) -> SimTime {
        let since_phase = i128::from(index) * PERIOD_UNITS / self.rate_uhz;
        let even = self.phase + SimTime::from_nanos(i64::try_from(since_phase).unwrap_or(i64::MAX));
        even + drawn(self.unevenness, "uneven instants", index)
    }

    /// When a sample is published.
    #[must_use]
    pub fn handed_over(&self, sample: Sample) -> SimTime {
        sample.instant + self.lag + drawn(self.jitter, "rate jitter", sample.index)
    }

    /// The longest time from a measurement to its publication.
    #[must_use]
    pub fn longest_lag(&self) -> SimTime {
        self.lag + self.jitter.0
    }

    /// The samples measured in (after, until]. The first sample of phase zero is at
    /// `SimTime::ZERO`: to have it, begin with an `after` below zero.
    pub fn measured_in(&self, after: SimTime, until: SimTime) -> impl Iterator<Item = Sample> + use<> {
        let schedule = *self;
        (schedule.first_after(after - schedule.unevenness.0)..)
            .map(move |index| Sample { index, instant: schedule.instant(index) })
            .skip_while(move |sample| sample.instant <= after)
            .take_while(move |sample| sample.instant <= until)
    }

    /// The samples that are published in (after, until].
    pub fn due_in(&self, after: SimTime, until: SimTime) -> impl Iterator<Item = Sample> + use<> {
        let schedule = *self;
        let is_due = move |sample: &Sample| {
            let due = schedule.handed_over(*sample);
            after < due && due <= until
        };
        self.measured_in(after - self.longest_lag(), until - self.lag).filter(is_due)
    }

    /// The least index whose instant before jitter is later than `after`. An instant is the floor of an exact time t,
    /// and floor(t) > a means t ≥ a + 1 for whole a.
    fn first_after(&self, after: SimTime) -> u64 {
        let next_ns = i128::from((after - self.phase).nanos()) + 1;
        let product = next_ns.max(0) * self.rate_uhz;
        let index = (product + PERIOD_UNITS - 1) / PERIOD_UNITS;
        u64::try_from(index).unwrap_or(u64::MAX)
    }
}

/// The uniform draw from 0 to `longest` for a sample.
fn drawn((longest, seed): (SimTime, u64), of: &str, index: u64) -> SimTime {
    if longest == SimTime::ZERO {
        return SimTime::ZERO;
    }
    SimTime::from_nanos(stream_at(seed, of, index).random_range(0..=longest.nanos()))
}

#[cfg(test)]
mod tests {
    use super::{Sample, Schedule};
    use selene_base::SimTime;
    use selene_base::random::{RngExt, stream};

    const BEFORE_START: SimTime = SimTime::from_nanos(-1);

    fn gather(schedule: &Schedule, heartbeats: impl Iterator<Item = SimTime>) -> Vec<Sample> {
        let mut before = BEFORE_START;
        let mut samples = Vec::new();
        for now in heartbeats {
            samples.extend(schedule.measured_in(before, now));
            before = now;
        }
        samples
    }

    #[test]
    fn thirty_hertz_gives_thirty_samples_in_every_second_for_an_hour() {
        let schedule = Schedule::new(30.0, SimTime::ZERO, SimTime::ZERO);
        for second in 0..3600 {
            let before = SimTime::from_sec_nanosec(second, 0) + BEFORE_START;
            let last = SimTime::from_sec_nanosec(second + 1, 0) + BEFORE_START;
            assert_eq!(schedule.measured_in(before, last).count(), 30, "second {second}");
        }
        assert_eq!(schedule.instant(30 * 3600), SimTime::from_sec_nanosec(3600, 0));
    }

    #[test]
    fn no_heartbeat_loses_or_doubles_a_sample() {
        let mut rng = stream(1, "schedule test");
        for _ in 0..200 {
            let rate_hz = rng.random_range(0.3..1000.0);
            let phase = SimTime::from_nanos(rng.random_range(0..50_000_000));
            let uneven = SimTime::from_secs_f64(rng.random_range(0.0..0.5) / rate_hz);
            let schedule = Schedule::new(rate_hz, phase, SimTime::ZERO).with_uneven_instants(rng.random(), uneven);
            let beats: Vec<SimTime> = (0..rng.random_range(1..400))
                .scan(SimTime::ZERO, |now, _| {
                    *now += SimTime::from_nanos(rng.random_range(1..40_000_000));
                    Some(*now)
                })
                .collect();
            let samples = gather(&schedule, beats.iter().copied());
            let end = beats[beats.len() - 1];
            let expected: Vec<Sample> = (0..)
                .map(|index| Sample { index, instant: schedule.instant(index) })
                .take_while(|s| s.instant <= end)
                .collect();
            assert_eq!(samples, expected, "{rate_hz} Hz");
        }
    }

    #[test]
    fn a_sample_on_the_heartbeat_belongs_to_the_span_that_ends_there() {
        let schedule = Schedule::new(200.0, SimTime::ZERO, SimTime::ZERO);
        let (a, b) = (SimTime::from_nanos(5_000_000), SimTime::from_nanos(10_000_000));
        let indices = |from, to| schedule.measured_in(from, to).map(|s| s.index).collect::<Vec<_>>();
        assert_eq!(indices(SimTime::ZERO, a), [1]);
        assert_eq!(indices(a, b), [2]);
    }

    #[test]
    fn lag_delays_the_hand_over_and_leaves_the_stamp() {
        let lag = SimTime::from_nanos(12_000_000);
        let schedule = Schedule::new(100.0, SimTime::ZERO, lag);
        let due: Vec<Sample> =
            schedule.due_in(SimTime::from_nanos(20_000_000), SimTime::from_nanos(22_000_000)).collect();
        assert_eq!(due, [Sample { index: 1, instant: SimTime::from_nanos(10_000_000) }]);
        assert_eq!(schedule.handed_over(due[0]), SimTime::from_nanos(22_000_000));
    }
}
