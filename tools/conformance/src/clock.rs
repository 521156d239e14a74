//! Check of `/clock`: it stands or advances in steps of at most 10 ms, and never goes back.

use selene_base::SimTime;

use crate::finding::Finding;

/// The longest step of `/clock` allowed: 100 Hz.
const STEP_MAX: SimTime = SimTime::from_nanos(10_000_000);

/// A received message of `/clock`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockSample {
    /// Time of reception, s of wall time since the start.
    pub(crate) at_s: f64,
    pub(crate) time: SimTime,
}

/// Checks all received messages.
pub(crate) fn check(ticks: &[ClockSample]) -> Vec<Finding> {
    let steps = || ticks.windows(2).map(|pair| pair[1].time - pair[0].time);
    let back = steps().filter(|step| *step < SimTime::ZERO).count();
    let measured = format!("{} messages, {back} steps back", ticks.len());
    let expected = "messages of rosgraph_msgs/msg/Clock, never back";
    let order = Finding::new("/clock", back == 0 && !ticks.is_empty(), measured, expected);
    let expected = "at most 0.010 s: 100 Hz or more";
    let step = match step(ticks) {
        Some(step) => Finding::new("/clock step", step <= STEP_MAX, step.to_string(), expected),
        None => Finding::new("/clock step", false, "it stands", expected),
    };
    vec![order, step]
}

/// Median step of the clock, which a few lost messages do not change; `None` if it stands.
pub(crate) fn step(ticks: &[ClockSample]) -> Option<SimTime> {
    let steps = ticks.windows(2).map(|pair| pair[1].time - pair[0].time);
    let mut forward: Vec<SimTime> = steps.filter(|step| *step > SimTime::ZERO).collect();
    forward.sort_unstable();
    forward.get(forward.len() / 2).copied()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{ClockSample, check};
    use selene_base::SimTime;

    /// A clock of 200 Hz in real time with `count` messages.
    pub(crate) fn clock(count: i64) -> Vec<ClockSample> {
        let tick = |i: i64| ClockSample { at_s: i as f64 * 0.005, time: SimTime::from_nanos(5_000_000 * i) };
        (0..count).map(tick).collect()
    }

    fn failures(ticks: &[ClockSample]) -> usize {
        check(ticks).iter().filter(|finding| finding.is_failure()).count()
    }

    #[test]
    fn a_clock_goes_on_in_short_steps() {
        let mut ticks = clock(100);
        assert_eq!(failures(&ticks), 0);
        ticks.remove(7);
        let twice = ticks[20];
        ticks.insert(20, twice);
        assert_eq!(failures(&ticks), 0, "one lost, one twice");
    }

    #[test]
    fn one_that_goes_back_or_stands_or_leaps_or_is_silent_fails() {
        let mut back = clock(100);
        back.swap(4, 5);
        assert_eq!(failures(&back), 1);
        assert_eq!(failures(&[clock(2)[0]; 5]), 1, "it stands");
        let slow: Vec<ClockSample> = clock(100).into_iter().step_by(3).collect();
        assert_eq!(failures(&slow), 1, "15 ms a step");
        assert_eq!(failures(&[]), 2);
    }
}
