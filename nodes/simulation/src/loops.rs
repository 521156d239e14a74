//! Diagnostics of the run's timing, on `/diagnostics`: the pace against a clock, and holds for topics.

use std::time::Duration;

use selene_coherence::{Diagnostics, DiagnosticsTopic, Severity};

use crate::histogram::Histogram;
use crate::holds::HoldReport;
use crate::pace::PaceReport;

/// Diagnostics of the pace; `None` if no heartbeat was paced.
pub(crate) fn of_pace(topic: &DiagnosticsTopic, pace: &PaceReport) -> Option<Diagnostics> {
    let is_paced = pace.jitter.count() + pace.missed.count() > 0;
    is_paced.then(|| with_pace(topic.status("pace"), pace))
}

/// Diagnostics of holds; `None` if the run waits for no topic.
pub(crate) fn of_holds(topic: &DiagnosticsTopic, holds: &HoldReport) -> Option<Diagnostics> {
    let is_held = !holds.topics.is_empty();
    is_held.then(|| with_holds(topic.status("lockstep"), holds))
}

fn with_pace(mut status: Diagnostics, pace: &PaceReport) -> Diagnostics {
    if let Some(at_s) = pace.clock_at_zero_s {
        status.value("clock_at_zero_s", format_args!("{at_s:.9}"));
    }
    add_histogram(&mut status, "jitter", &pace.jitter);
    add_histogram(&mut status, "deadline_missed", &pace.missed);
    let missed = pace.missed.count();
    if missed > 0 {
        let latest_ms = 1e3 * pace.missed.longest().as_secs_f64();
        let what =
            format!("{missed} heartbeats came late, by up to {latest_ms:.0} ms: the machine does not keep this pace");
        status.raise(Severity::Warning, what);
    }
    status
}

/// Adds a histogram: its 99.9 % bound, longest duration and bin counts.
fn add_histogram(status: &mut Diagnostics, name: &str, histogram: &Histogram) {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    status.value(format!("{name}_p999_us"), format_args!("{:.1}", us(histogram.within(0.999))));
    status.value(format!("{name}_longest_us"), format_args!("{:.1}", us(histogram.longest())));
    for (bin, count) in histogram.bins() {
        status.value(format!("{name}_{bin}"), count);
    }
}

fn with_holds(mut status: Diagnostics, holds: &HoldReport) -> Diagnostics {
    status.value("held_s", format_args!("{:.6}", holds.held_s));
    status.value("longest_hold_s", format_args!("{:.6}", holds.longest_s));
    for of in &holds.topics {
        status.value(format!("holds {}", of.topic), of.holds);
        status.value(format!("timeouts {}", of.topic), of.timeouts);
        status.value(format!("stamps_of_another_clock {}", of.topic), of.of_another_clock);
        if of.timeouts > 0 {
            let what = format!("simulated time was held {} times in vain for {}", of.timeouts, of.topic);
            status.raise(Severity::Warning, what);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::{Diagnostics, HoldReport, PaceReport, with_holds, with_pace};
    use crate::holds::HoldCounts;
    use selene_ros::diagnostic_msgs::DiagnosticStatus;
    use std::time::Duration;

    fn empty() -> Diagnostics {
        Diagnostics::new("test", &"polar".parse().expect("an id"))
    }

    fn value<'a>(status: &'a DiagnosticStatus, key: &str) -> Option<&'a str> {
        status.values.iter().find(|pair| pair.key == key).map(|pair| pair.value.as_str())
    }

    #[test]
    fn jitter_and_missed_instants_are_reported_by_bins_and_warned_of() {
        let mut pace = PaceReport { clock_at_zero_s: Some(1.5), ..PaceReport::default() };
        pace.jitter.add(Duration::from_micros(40));
        assert_eq!(with_pace(empty(), &pace).finish().level, DiagnosticStatus::OK);
        pace.missed.add(Duration::from_micros(700));
        let reported = with_pace(empty(), &pace).finish();
        assert_eq!(reported.level, DiagnosticStatus::WARN);
        for (key, expected) in [
            ("jitter_up_to_50_us", "1"),
            ("jitter_p999_us", "50.0"),
            ("deadline_missed_up_to_1000_us", "1"),
            ("deadline_missed_longest_us", "700.0"),
            ("clock_at_zero_s", "1.500000000"),
        ] {
            assert_eq!(value(&reported, key), Some(expected), "{key}");
        }
    }

    #[test]
    fn holds_are_reported_by_topic_and_timeouts_warned_of() {
        let counts = HoldCounts { topic: "/cmd_vel".to_owned(), holds: 9, timeouts: 2, of_another_clock: 0 };
        let holds = HoldReport { topics: vec![counts], held_s: 4.0, longest_s: 2.0 };
        let reported = with_holds(empty(), &holds).finish();
        assert_eq!((reported.level, value(&reported, "timeouts /cmd_vel")), (DiagnosticStatus::WARN, Some("2")));
        assert_eq!(value(&reported, "longest_hold_s"), Some("2.000000"));
        assert!(reported.message.contains("2 times in vain for /cmd_vel"), "{}", reported.message);
    }
}
