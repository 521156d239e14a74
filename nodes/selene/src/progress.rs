//! Progress of a run on standard error: a few short lines with time, pace, distance, slip and images, and a bar if the
//! duration is known. On a terminal they are redrawn in place; elsewhere one short line is printed every ten seconds.
//! `--verbose` adds the rates of topics.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use selene_base::SimTime;
use selene_ros::bag::is_internal;

use crate::bar::{self, PLAIN_LINE};
use crate::meter::{Count, Meter};
use crate::run_report::{Drive, RunReport};
use crate::verbosity::Verbosity;

/// Interval at which live lines are redrawn (wall time).
const REDRAW: Duration = Duration::from_millis(250);
/// Greatest time over which the pace is averaged (wall time).
const PACE_SPAN: Duration = Duration::from_secs(10);
/// Simulated time until the first rates are shown.
const FIRST_SPAN: SimTime = SimTime::from_nanos(500_000_000);
/// Least simulated time over which later rates are averaged.
const RATE_SPAN: SimTime = SimTime::from_nanos(2_000_000_000);
/// Greatest length of a line: longer ones would be cut on a usual terminal.
const COLUMNS: usize = 78;
/// Templates with and without a known duration.
const BAR: &str = "[{bar:30}] {msg}";
const SPINNER: &str = "{spinner} {msg}";
/// Number of steps in the bar.
const BAR_STEPS: u64 = 1000;

/// Shows the progress of a run.
pub(crate) struct Progress<'a> {
    /// Counts the messages that the run publishes.
    pub(crate) meter: &'a Meter,
    /// Source of the rovers' distances and slip, if the process has one.
    pub(crate) drive: Option<&'a RunReport>,
    /// Folder in which the run's first image is saved as soon as there is one; `None` to save none.
    pub(crate) first_image_to: Option<&'a Path>,
    /// Simulated duration of the run, if it is known.
    pub(crate) duration: Option<SimTime>,
    pub(crate) verbosity: Verbosity,
}

impl Progress<'_> {
    /// Shows the progress until `ended` is set.
    pub(crate) fn show(&self, ended: &AtomicBool) {
        let live = bar::is_live(self.verbosity);
        let template = if self.duration.is_some() { BAR } else { SPINNER };
        let bar = bar::drawn(live, self.duration.map(|_| BAR_STEPS), template);
        let (mut pace, mut rates, mut printed) = (Pace::default(), Rates::default(), Instant::now());
        let mut first_image_to = self.first_image_to;
        while !ended.load(Ordering::Relaxed) {
            std::thread::sleep(REDRAW);
            first_image_to = first_image_to.filter(|folder| !self.saves_first(folder));
            let status = self.status(&mut pace);
            rates.update(self.meter);
            if live {
                self.redraw(&bar, &status, &rates);
            } else if printed.elapsed() >= PLAIN_LINE {
                printed = Instant::now();
                self.verbosity.note(self.plain(&status, &rates));
            }
        }
        // The run may be shorter than one round of the loop.
        first_image_to.into_iter().for_each(|folder| _ = self.saves_first(folder));
        bar.finish_and_clear();
    }

    /// Saves the first image in `folder` and prints its path. Returns whether there was one.
    fn saves_first(&self, folder: &Path) -> bool {
        let Some(saved) = self.drive.and_then(|drive| drive.save_first(folder)) else { return false };
        match saved {
            Ok(picture) => self.verbosity.wrote(&picture),
            Err(error) => tracing::warn!("{error}"),
        }
        true
    }

    fn status(&self, pace: &mut Pace) -> Status {
        let (began, now) = (self.meter.began(), self.meter.simulated());
        Status {
            began,
            now,
            duration: self.duration,
            factor: pace.factor(began, now, Instant::now()),
            drive: self.drive.map(RunReport::so_far),
            images: images(&self.meter.counts()),
        }
    }

    fn redraw(&self, bar: &ProgressBar, status: &Status, rates: &Rates) {
        if let Some(share) = status.share() {
            bar.set_position((share * BAR_STEPS as f64) as u64);
        }
        let mut message = format!("{}\n{}", status.time(), status.text());
        if self.verbosity == Verbosity::Verbose {
            message += &format!("\n{}", rates.lines());
        }
        bar.set_message(message);
        bar.tick();
    }

    fn plain(&self, status: &Status, rates: &Rates) -> String {
        let line = format!("{} · {}", status.time(), status.text());
        if self.verbosity == Verbosity::Verbose { format!("{line}\n{}", rates.lines()) } else { line }
    }
}

/// The progress of a run at an instant.
#[derive(Debug, Default)]
struct Status {
    /// Simulated time at the start: zero, or that of the checkpoint from which the run resumed.
    began: SimTime,
    now: SimTime,
    /// Simulated duration of the run, if it is known.
    duration: Option<SimTime>,
    /// Real-time factor: simulated time over wall time.
    factor: Option<f64>,
    drive: Option<Drive>,
    images: u64,
}

impl Status {
    /// Share of the duration that has passed, 0 to 1.
    fn share(&self) -> Option<f64> {
        let duration_s = self.duration?.secs_f64();
        Some(if duration_s > 0.0 { ((self.now - self.began).secs_f64() / duration_s).clamp(0.0, 1.0) } else { 1.0 })
    }

    fn time(&self) -> String {
        let of = self.duration.map(|all| format!(" of {:.0}", (self.began + all).secs_f64())).unwrap_or_default();
        format!("{:.1}{of} s simulated", self.now.secs_f64())
    }

    fn text(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.factor.map(|factor| format!("real-time factor {factor:.2}")));
        if let Some(Drive { distance_m, slip }) = self.drive {
            parts.push(format!("{distance_m:.2} m driven"));
            parts.extend(slip.map(|slip| format!("slip {:.1} %", 100.0 * slip)));
        }
        if self.images > 0 {
            parts.push(format!("{} images", self.images));
        }
        if parts.is_empty() { "getting ready".to_owned() } else { parts.join(" · ") }
    }
}

/// Number of camera images so far.
fn images(counts: &BTreeMap<String, Count>) -> u64 {
    let of_cameras = counts.iter().filter(|(topic, _)| topic.ends_with("/image_raw"));
    of_cameras.map(|(_, count)| count.messages).sum()
}

/// The recent pace. Start-up is not counted, since no simulated time passes in it.
#[derive(Default)]
struct Pace {
    seen: VecDeque<(Instant, SimTime)>,
}

impl Pace {
    /// Simulated time over recent wall time, in a run that began at `began`; `None` until two instants are known.
    fn factor(&mut self, began: SimTime, simulated: SimTime, now: Instant) -> Option<f64> {
        if self.seen.back().is_some_and(|(_, last)| simulated < *last) {
            // The world was reset.
            self.seen.clear();
        }
        if simulated > began {
            self.seen.push_back((now, simulated));
        }
        while self.seen.len() > 2 && self.seen.front().is_some_and(|(at, _)| now.duration_since(*at) > PACE_SPAN) {
            self.seen.pop_front();
        }
        let (at, from) = self.seen.front()?;
        let wall_s = now.duration_since(*at).as_secs_f64();
        (wall_s > 0.0).then(|| (simulated - *from).secs_f64() / wall_s)
    }
}

/// Recent rates of topics.
#[derive(Default)]
struct Rates {
    since: SimTime,
    counts: BTreeMap<String, Count>,
    hertz: BTreeMap<String, f64>,
}

impl Rates {
    fn update(&mut self, meter: &Meter) {
        let (began, now) = (meter.began(), meter.simulated());
        if self.since < began || self.since > now {
            // The run resumed from a checkpoint, or the world was reset.
            (self.since, self.counts) = (began, meter.counts());
        }
        let span = now - self.since;
        if span >= RATE_SPAN || (self.hertz.is_empty() && span >= FIRST_SPAN) {
            self.measure(meter.counts(), span.secs_f64());
            self.since = now;
        }
    }

    fn measure(&mut self, counts: BTreeMap<String, Count>, span_s: f64) {
        let before = std::mem::replace(&mut self.counts, counts);
        let rate = |(name, count): (&String, &Count)| {
            let earlier = before.get(name).map_or(0, |count| count.messages);
            (name.clone(), (count.messages - earlier) as f64 / span_s)
        };
        self.hertz = self.counts.iter().map(rate).collect();
    }

    /// Active topics with their rates, Hz in simulated time. Topics between nodes, under /selene, appear only in the
    /// summary.
    fn each(&self) -> Vec<String> {
        let alive = self.hertz.iter().filter(|(name, hertz)| **hertz > 0.0 && !is_internal(name));
        alive.map(|(name, hertz)| format!("{} {hertz:.0}", short(name))).collect()
    }

    /// The rates in lines of at most `COLUMNS` characters.
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

/// The topic's name without its first slash and the suffix `/image_raw`.
fn short(topic: &str) -> &str {
    topic.trim_start_matches('/').trim_end_matches("/image_raw")
}

#[cfg(test)]
mod tests {
    use super::{Count, Drive, Meter, Pace, Progress, Rates, SimTime, Status, Verbosity, images};
    use selene_ros::in_process::InProcess;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn at(time_s: f64) -> SimTime {
        SimTime::from_secs_f64(time_s)
    }

    fn counts(messages: u64) -> BTreeMap<String, Count> {
        let count = |messages| Count { messages, bytes: 0, refused: 0 };
        BTreeMap::from([("/imu/data".to_owned(), count(messages)), ("/silent".to_owned(), count(3))])
    }

    #[test]
    fn a_status_is_two_short_lines() {
        let drive = Some(Drive { distance_m: 2.414, slip: Some(0.041) });
        let (began, duration) = (SimTime::ZERO, Some(at(60.0)));
        let status = Status { began, now: at(12.34), duration, factor: Some(1.02), drive, images: 312 };
        assert_eq!(status.time(), "12.3 of 60 s simulated");
        assert_eq!(status.text(), "real-time factor 1.02 · 2.41 m driven · slip 4.1 % · 312 images");
        assert!(status.share().is_some_and(|share| (share - 12.34 / 60.0).abs() < 1e-9));
        let standing = Status { drive: Some(Drive { distance_m: 0.0, slip: None }), ..Status::default() };
        assert_eq!((standing.time().as_str(), standing.share()), ("0.0 s simulated", None));
        assert_eq!(standing.text(), "0.00 m driven");
        assert_eq!(Status::default().text(), "getting ready");
        assert_eq!(Status { duration: Some(SimTime::ZERO), ..Status::default() }.share(), Some(1.0));
    }

    #[test]
    fn the_pace_is_simulated_over_wall_time_without_what_was_before() {
        let begin = Instant::now();
        let after = |wall_s| begin + Duration::from_secs(wall_s);
        let mut pace = Pace::default();
        let mut factor = |simulated_s, wall_s| pace.factor(at(100.0), at(simulated_s), after(wall_s));
        // Start-up, then a run that resumes at 100 s and goes at twice real time.
        assert_eq!(factor(100.0, 0), None);
        assert_eq!(factor(101.0, 30), None);
        assert_eq!(factor(109.0, 34), Some(2.0));
        // It is paused: old times no longer count.
        assert_eq!(factor(109.0, 40), Some(0.8));
        assert_eq!(factor(109.0, 50), Some(0.0));
        // A reset.
        let mut factor = |simulated_s, wall_s| pace.factor(SimTime::ZERO, at(simulated_s), after(wall_s));
        assert_eq!(factor(1.0, 51), None);
        assert_eq!(factor(2.0, 52), Some(1.0));
    }

    #[test]
    fn a_resumed_run_counts_from_its_checkpoint() {
        let status = Status { began: at(5.0), now: at(7.0), duration: Some(at(6.0)), ..Status::default() };
        assert_eq!(status.time(), "7.0 of 11 s simulated");
        assert!(status.share().is_some_and(|share| (share - 1.0 / 3.0).abs() < 1e-9));
        let meter = Meter::new(Arc::new(InProcess::new())).beginning_at(at(5.0));
        let progress = Progress {
            meter: &meter,
            drive: None,
            first_image_to: None,
            duration: Some(at(6.0)),
            verbosity: Verbosity::Usual,
        };
        let begun = progress.status(&mut Pace::default());
        assert_eq!((begun.time().as_str(), begun.factor), ("5.0 of 11 s simulated", None));
        // Rates count the messages of this run, in its own time.
        let mut rates = Rates::default();
        rates.update(&meter);
        assert_eq!(rates.since, at(5.0));
    }

    #[test]
    fn images_are_those_of_cameras() {
        let topics = ["/navcam/image_raw", "/hazcam/image_raw", "/navcam/camera_info", "/navcam/depth"];
        let counts = topics.map(|topic| (topic.to_owned(), Count { messages: 4, bytes: 0, refused: 0 }));
        assert_eq!(images(&counts.into()), 8);
    }

    #[test]
    fn rates_are_of_the_last_span_and_silent_topics_are_left_out() {
        let mut rates = Rates::default();
        rates.measure(counts(100), 1.0);
        rates.measure(counts(500), 2.0);
        assert_eq!(rates.lines(), "Hz · imu/data 200");
    }

    #[test]
    fn no_live_line_is_wider_than_a_terminal() {
        let hertz = (0..30).map(|i| (format!("/camera_{i}/image_raw"), 4.0)).collect();
        let rates = Rates { hertz, ..Rates::default() };
        assert!(rates.lines().lines().all(|line| line.chars().count() <= super::COLUMNS), "{}", rates.lines());
        assert_eq!(rates.lines().matches("camera_").count(), 30);
    }
}
