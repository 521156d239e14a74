//! What a person sees while a run goes on: simulated time, the real-time factor
//! and the rate of each topic. On a terminal the lines are redrawn in place;
//! elsewhere a plain line appears every few seconds.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use selene_base::SimTime;
use selene_ros::bag::is_internal;

use crate::meter::{Count, Meter};

/// How often the live lines are redrawn (wall time).
const REDRAW: Duration = Duration::from_millis(250);
/// How often a plain line appears (wall time).
const PLAIN_LINE: Duration = Duration::from_secs(5);
/// The first rates come after this much simulated time.
const FIRST_SPAN: SimTime = SimTime::from_nanos(500_000_000);
/// Rates are means over at least this much simulated time.
const RATE_SPAN: SimTime = SimTime::from_nanos(2_000_000_000);

/// Lines longer than this would be cut on a usual terminal.
const COLUMNS: usize = 78;

/// Shows the progress of the run that `meter` counts, which goes on for `duration`, until `ended` is set.
pub(crate) fn show(meter: &Meter, duration: Option<SimTime>, ended: &AtomicBool) {
    let live = std::io::stderr().is_terminal();
    let bar = if live { ProgressBar::new_spinner().with_style(style()) } else { ProgressBar::hidden() };
    let mut rates = Rates::default();
    let mut said = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        std::thread::sleep(REDRAW);
        let line = rates.update(meter, duration);
        if live {
            bar.set_message(format!("{line}\n{}", rates.lines()));
            bar.tick();
        } else if said.elapsed() >= PLAIN_LINE {
            said = Instant::now();
            eprintln!("{line} · {}", rates.text());
        }
    }
    bar.finish_and_clear();
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Rates over the last while.
#[derive(Default)]
struct Rates {
    /// When time began to pass.
    begun: Option<Instant>,
    since: SimTime,
    counts: BTreeMap<String, Count>,
    hertz: BTreeMap<String, f64>,
}

impl Rates {
    fn update(&mut self, meter: &Meter, duration: Option<SimTime>) -> String {
        let (began, now) = (meter.began(), meter.simulated());
        if self.since < began || self.since > now {
            // Another run's time comes before, or the world was reset.
            (self.since, self.counts, self.begun) = (began, meter.counts(), None);
        }
        if now > began && self.begun.is_none() {
            self.begun = Some(Instant::now());
        }
        let span = now - self.since;
        if span >= RATE_SPAN || (self.hertz.is_empty() && span >= FIRST_SPAN) {
            self.measure(meter.counts(), span.secs_f64());
            self.since = now;
        }
        let wall_s = self.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        line(Span { began, now, duration }, wall_s)
    }

    fn measure(&mut self, counts: BTreeMap<String, Count>, span_s: f64) {
        let before = std::mem::replace(&mut self.counts, counts);
        let rate = |(name, count): (&String, &Count)| {
            let earlier = before.get(name).map_or(0, |count| count.messages);
            (name.clone(), (count.messages - earlier) as f64 / span_s)
        };
        self.hertz = self.counts.iter().map(rate).collect();
    }

    /// Topics that are alive, with their rates in Hz of simulated time. What nodes
    /// tell one another under /selene is left to the summary.
    fn each(&self) -> Vec<String> {
        let alive = self.hertz.iter().filter(|(name, hertz)| **hertz > 0.0 && !is_internal(name));
        alive.map(|(name, hertz)| format!("{} {hertz:.0}", short(name))).collect()
    }

    /// The rates in one line.
    fn text(&self) -> String {
        let each = self.each();
        if each.is_empty() { "no messages yet".to_owned() } else { format!("Hz: {}", each.join(", ")) }
    }

    /// The rates in lines of at most `COLUMNS`.
    fn lines(&self) -> String {
        let mut lines = vec!["Hz".to_owned()];
        for rate in self.each() {
            let line = lines.last().map_or(0, |line| line.chars().count());
            if line + rate.len() + 3 > COLUMNS {
                lines.push("  ".to_owned());
            }
            if let Some(line) = lines.last_mut() {
                *line += &format!(" · {rate}");
            }
        }
        lines.join("\n")
    }
}

/// The simulated time that a run went through.
struct Span {
    /// Where it began: the scenario's start, or the checkpoint that it goes on from.
    began: SimTime,
    now: SimTime,
    /// How long it goes on after it began, where that is known.
    duration: Option<SimTime>,
}

/// Where the clock stands and where it will end, and how fast this run came there.
fn line(span: Span, wall_s: f64) -> String {
    let Span { began, now, duration } = span;
    let of = duration.map(|all| format!(" of {:.0}", (began + all).secs_f64())).unwrap_or_default();
    let factor = if now > began { wall_s / (now - began).secs_f64() } else { 0.0 };
    format!("simulated {:.1}{of} s · real-time factor {factor:.2} (wall/simulated)", now.secs_f64())
}

/// The topic without what most of them share.
fn short(topic: &str) -> &str {
    topic.trim_start_matches('/').trim_end_matches("/image_raw")
}

#[cfg(test)]
mod tests {
    use super::{Count, Meter, Rates, Span, line};
    use selene_base::SimTime;
    use selene_ros::in_process::InProcess;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn counts(messages: u64) -> BTreeMap<String, Count> {
        let count = |messages| Count { messages, bytes: 0, refused: 0 };
        BTreeMap::from([("/imu/data".to_owned(), count(messages)), ("/silent".to_owned(), count(3))])
    }

    #[test]
    fn rates_are_of_the_last_span_and_silent_topics_are_left_out() {
        let mut rates = Rates::default();
        rates.measure(counts(100), 1.0);
        rates.measure(counts(500), 2.0);
        assert_eq!(rates.text(), "Hz: imu/data 200");
        assert_eq!(rates.lines(), "Hz · imu/data 200");
    }

    #[test]
    fn a_resumed_run_counts_from_its_checkpoint() {
        let at = SimTime::from_secs_f64;
        let told = line(Span { began: at(5.0), now: at(7.0), duration: Some(at(6.0)) }, 1.0);
        assert_eq!(told, "simulated 7.0 of 11 s · real-time factor 0.50 (wall/simulated)");
        let meter = Meter::new(Arc::new(InProcess::new())).beginning_at(at(5.0));
        let (mut rates, told) = (Rates::default(), "simulated 5.0 of 11 s · real-time factor 0.00 (wall/simulated)");
        assert_eq!(rates.update(&meter, Some(at(6.0))), told);
        // Rates are of what this run has sent, in its own time.
        assert_eq!(rates.since, at(5.0));
    }

    #[test]
    fn no_live_line_is_wider_than_a_terminal() {
        let hertz = (0..30).map(|i| (format!("/camera_{i}/image_raw"), 4.0)).collect();
        let rates = Rates { hertz, ..Rates::default() };
        assert!(rates.lines().lines().all(|line| line.chars().count() <= super::COLUMNS), "{}", rates.lines());
        assert_eq!(rates.lines().matches("camera_").count(), 30);
    }
}
