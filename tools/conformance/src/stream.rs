//! Checks of a topic with headers, from data kept of each message: stamps, frames, faults. Stamps must increase and not
//! be ahead of `/clock`, and they must lie on a grid at the sensor's own rate. Best-effort messages may be lost, so
//! gaps are reported but are not failures.

use std::collections::{BTreeMap, BTreeSet};

use selene_base::SimTime;
use selene_ros::qos::Reliability;

use crate::clock::{self, ClockSample};
use crate::finding::{Faults, Finding};
use crate::kind::Kind;
use crate::sample::Sample;

/// A message may arrive before its clock message by this time, s of wall time: they take different paths.
const CLOCK_LAG_S: f64 = 1.0;
/// Largest time that a stamp may be ahead of the clock even then, since the clock's last messages may be lost.
const AHEAD_MAX: SimTime = SimTime::from_nanos(50_000_000);
/// Fewest messages for measuring a rate.
const RATE_FROM: usize = 4;
/// Largest deviation of a stamp from its grid, as a fraction of the period, in addition to a step of the clock.
const JITTER_MAX: f64 = 0.01;
/// One in this many reliable messages may be missing.
const RELIABLE_LOSS: i64 = 20;

/// Time of reception and stamp of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reception {
    /// Time of reception, s of wall time since the start.
    pub(crate) at_s: f64,
    pub(crate) stamp: SimTime,
}

/// Frame and size of an image or of its calibration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) frame: String,
    pub(crate) size_px: [u32; 2],
}

/// Data kept of a topic's messages.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) arrivals: Vec<Reception>,
    pub(crate) frames: BTreeSet<String>,
    /// Shapes of images or their calibration, by stamp.
    pub(crate) shapes: BTreeMap<SimTime, Shape>,
    /// Joints of a joint state or the child frame of odometry, from the last message.
    pub(crate) names: Vec<String>,
    pub(crate) faults: Faults,
}

impl Stream {
    /// Adds a message received at `at_s`, with its faults.
    pub(crate) fn take<M: Sample>(&mut self, at_s: f64, message: &M, faults: Vec<String>) {
        let header = message.header();
        let stamp = SimTime::from(header.stamp);
        self.arrivals.push(Reception { at_s, stamp });
        self.faults.extend(faults);
        self.names = message.names();
        if !header.frame_id.is_empty() {
            self.frames.insert(header.frame_id.clone());
        }
        if let Some(size_px) = message.size_px() {
            self.shapes.insert(stamp, Shape { frame: header.frame_id.clone(), size_px });
        }
    }

    /// Runs all checks of a single topic.
    pub(crate) fn check(&self, topic: &str, kind: Kind, ticks: &[ClockSample]) -> Vec<Finding> {
        if self.arrivals.is_empty() {
            return vec![Finding::new(topic, false, "nothing was received", kind.offer())];
        }
        let good = format!("{} messages", self.arrivals.len());
        let content = self.faults.finding(topic, good, kind.good());
        let rate = rate(topic, &self.arrivals, kind.rate_hz(), kind.qos().reliability, clock::step(ticks));
        vec![content, stamps(topic, &self.arrivals, ticks), rate]
    }
}

/// Checks that stamps increase and are not ahead of the clock.
pub(crate) fn stamps(topic: &str, arrivals: &[Reception], ticks: &[ClockSample]) -> Finding {
    let back = arrivals.windows(2).filter(|pair| pair[1].stamp <= pair[0].stamp).count();
    let ahead = arrivals.iter().filter(|arrival| is_ahead(arrival, ticks)).count();
    let measured = format!("{back} of {} not after the last, {ahead} ahead of /clock", arrivals.len());
    Finding::new(format!("{topic} stamps"), back + ahead == 0, measured, "increasing, none ahead")
}

fn is_ahead(arrival: &Reception, ticks: &[ClockSample]) -> bool {
    let received = ticks.partition_point(|tick| tick.at_s <= arrival.at_s + CLOCK_LAG_S);
    ticks[..received].last().is_some_and(|tick| arrival.stamp > tick.time + AHEAD_MAX)
}

/// Checks that stamps lie on a grid: that of `rate_hz` if given, else their own.
pub(crate) fn rate(
    topic: &str,
    arrivals: &[Reception],
    rate_hz: Option<f64>,
    reliability: Reliability,
    clock_step: Option<SimTime>,
) -> Finding {
    let what = format!("{topic} rate");
    let rate = rate_hz.map_or("a steady rate".to_owned(), |rate| format!("{rate} Hz"));
    let expected = match reliability {
        Reliability::Reliable => format!("{rate}, 1 in {RELIABLE_LOSS} missing at most"),
        Reliability::BestEffort => format!("{rate}; gaps are allowed"),
    };
    let Some(grid) = Grid::of(arrivals, rate_hz).filter(|_| arrivals.len() >= RATE_FROM) else {
        return Finding::not_measured(what, format!("{} messages", arrivals.len()), expected);
    };
    let tolerance_s = clock_step.unwrap_or(SimTime::ZERO).secs_f64() + JITTER_MAX * grid.period_s;
    let sent = arrivals.len() as i64 + grid.missing;
    let enough = reliability == Reliability::BestEffort || grid.missing * RELIABLE_LOSS <= sent;
    let Grid { period_s, jitter_s, missing } = grid;
    let measured = format!("{:.3} Hz, {missing} of {sent} missing, jitter {:.3} ms", 1.0 / period_s, 1e3 * jitter_s);
    Finding::new(what, jitter_s <= tolerance_s && enough, measured, expected)
}

/// Grid of stamps, in simulated s.
struct Grid {
    period_s: f64,
    /// Largest deviation of a step from a whole number of periods.
    jitter_s: f64,
    /// Number of messages missing in between.
    missing: i64,
}

impl Grid {
    fn of(arrivals: &[Reception], rate_hz: Option<f64>) -> Option<Self> {
        let steps = arrivals.windows(2).map(|pair| (pair[1].stamp - pair[0].stamp).secs_f64());
        let forward: Vec<f64> = steps.filter(|step| *step > 0.0).collect();
        let period_s = rate_hz.map(|rate| 1.0 / rate).or_else(|| own_period_s(&forward))?;
        let periods = |step: f64| (step / period_s).round().max(1.0);
        let off = forward.iter().map(|step| (step - periods(*step) * period_s).abs());
        let missing = forward.iter().map(|step| periods(*step) as i64 - 1).sum();
        Some(Self { period_s, jitter_s: off.fold(0.0, f64::max), missing })
    }
}

/// Median of the steps over which no message is missing.
fn own_period_s(steps_s: &[f64]) -> Option<f64> {
    let least = steps_s.iter().copied().reduce(f64::min)?;
    let mut single: Vec<f64> = steps_s.iter().copied().filter(|step| *step < 1.5 * least).collect();
    single.sort_unstable_by(f64::total_cmp);
    single.get(single.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::{Reception, Stream, rate, stamps};
    use crate::clock::tests::clock;
    use crate::finding::Outcome;
    use crate::kind::Kind;
    use selene_base::SimTime;
    use selene_ros::qos::Reliability;

    const CLOCK_STEP: Option<SimTime> = Some(SimTime::from_nanos(5_000_000));

    /// Messages that arrive in real time, with these stamps, ms.
    fn arrivals(stamps_ms: impl IntoIterator<Item = i64>) -> Vec<Reception> {
        let arrival = |ms: i64| Reception { at_s: ms as f64 * 1e-3, stamp: SimTime::from_nanos(ms * 1_000_000) };
        stamps_ms.into_iter().map(arrival).collect()
    }

    fn rate_of(stamps_ms: impl IntoIterator<Item = i64>, rate_hz: Option<f64>, reliability: Reliability) -> Outcome {
        rate("/a", &arrivals(stamps_ms), rate_hz, reliability, CLOCK_STEP).outcome
    }

    #[test]
    fn stamps_that_increase_behind_the_clock_are_good() {
        assert!(!stamps("/a", &arrivals((0..50).map(|i| 20 * i)), &clock(200)).is_failure());
        // The last messages of the clock were lost.
        assert!(!stamps("/a", &arrivals([1010]), &clock(200)).is_failure());
    }

    #[test]
    fn stamps_that_stand_go_back_or_are_of_another_clock_fail() {
        for bad in [vec![0, 20, 20], vec![0, 40, 20]] {
            assert!(stamps("/a", &arrivals(bad), &clock(200)).is_failure());
        }
        let ahead = [Reception { at_s: 0.5, stamp: SimTime::from_secs_f64(1.7e9) }];
        assert!(stamps("/a", &ahead, &clock(200)).is_failure());
    }

    #[test]
    fn a_rate_is_that_of_the_grid_which_gaps_leave_as_it_is() {
        let steady = || (0..60).map(|i| 200 * i);
        assert_eq!(rate_of(steady(), None, Reliability::BestEffort), Outcome::Ok);
        assert_eq!(rate_of(steady().filter(|ms| ms % 3 != 0), None, Reliability::BestEffort), Outcome::Ok);
        assert_eq!(rate_of(steady().filter(|ms| ms % 3 != 0), Some(5.0), Reliability::Reliable), Outcome::Failed);
        assert_eq!(rate_of(steady(), Some(50.0), Reliability::Reliable), Outcome::Failed);
        assert_eq!(rate_of(steady().take(3), None, Reliability::Reliable), Outcome::NotMeasured);
    }

    #[test]
    fn stamps_off_their_grid_fail() {
        assert_eq!(rate_of((0..60).map(|i| 200 * i + i % 2), None, Reliability::BestEffort), Outcome::Ok);
        assert_eq!(rate_of((0..60).map(|i| 200 * i + 40 * (i % 2)), None, Reliability::BestEffort), Outcome::Failed);
    }

    #[test]
    fn silence_fails_with_what_was_expected() {
        let findings = Stream::default().check("/imu/data", Kind::Imu, &clock(10));
        assert!(findings.len() == 1 && findings[0].is_failure());
        assert!(findings[0].expected.contains("sensor_msgs/msg/Imu"), "{}", findings[0]);
    }
}
