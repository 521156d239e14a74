//! The summary table printed at the end of a run.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use selene_base::SimTime;
use selene_ros::bag::BagSummary;
use selene_sim::Scenario;
use selene_simulation::{EndReason, HoldReport, PaceReport, RunOutcome, SimulationOptions, file_at};

use crate::fault::Fault;
use crate::meter::{Count, Meter};
use crate::places;
use crate::traffic::Traffic;

/// How a run ended: with an outcome, a fault, or both if a sensor failed.
pub(crate) struct RunEnd {
    /// The outcome that the simulation reports.
    pub(crate) outcome: Option<RunOutcome>,
    /// The fault of the first node that failed.
    pub(crate) fault: Option<Fault>,
}

impl RunEnd {
    /// The end of a run from the results of its simulation and its sensors.
    pub(crate) fn new(simulation: Result<RunOutcome, Fault>, sensors: Result<(), Fault>) -> Self {
        let (outcome, failed) = match simulation {
            Ok(outcome) => (Some(outcome), None),
            Err(fault) => (None, Some(fault)),
        };
        // If a sensor failed, that stopped the simulation: its fault comes first.
        Self { outcome, fault: sensors.err().or(failed) }
    }

    /// Simulated time at the end; the latest stamp if the simulation failed.
    pub(crate) fn simulated(&self, meter: &Meter) -> SimTime {
        self.outcome.as_ref().map_or_else(|| meter.simulated(), |outcome| outcome.simulated)
    }

    /// Whether the world made any heartbeat.
    pub(crate) fn has_begun(&self, meter: &Meter) -> bool {
        self.outcome.is_some() || meter.simulated() > meter.began()
    }

    /// The result of the run, for the exit status.
    pub(crate) fn result(self) -> Result<(), Fault> {
        self.fault.map_or(Ok(()), Err)
    }
}

/// The table of a run's results, ready to print.
pub(crate) struct Summary {
    rows: Vec<(&'static str, String)>,
    topics: BTreeMap<String, Count>,
    /// Simulated time at the end.
    simulated: SimTime,
    /// Simulated time since the start or the last reset, s.
    span_s: f64,
}

impl Summary {
    /// The results of a run and the traffic of its topics. A run that failed has no ending; if its simulation failed,
    /// it has no outcome either.
    pub(crate) fn new(scenario: &Scenario, end: &RunEnd, traffic: &Traffic) -> Self {
        let simulated = end.simulated(&traffic.meter);
        let ended = end.outcome.as_ref().filter(|_| end.fault.is_none());
        let mut rows = vec![
            ("scenario", format!("{}, seed {}", scenario.name, scenario.seed)),
            ("ended", ended.map_or("it failed: see the message", |outcome| ending(outcome.ending)).to_owned()),
            ("simulated", spans(traffic.meter.began(), simulated)),
        ];
        for rover in &scenario.rovers {
            rows.push(("rover mass", format!("{}: {:.1} kg", rover.name, rover.model.mass_kg())));
        }
        rows.extend(end.outcome.iter().flat_map(figures));
        for (topic, left_out) in traffic.left_out() {
            let reported = format!("{topic}: {} late, {} over the limit", left_out.late, left_out.over_limit);
            rows.push(("frames left out", reported));
        }
        let span_s = (simulated - traffic.meter.began()).secs_f64();
        Self { rows, topics: traffic.meter.counts(), simulated, span_s }
    }

    pub(crate) fn row(&mut self, label: &'static str, value: impl Into<String>) {
        self.rows.push((label, value.into()));
    }

    /// Adds the files in which the world was saved.
    pub(crate) fn saved(&mut self, options: &SimulationOptions) {
        let saved = options.save_ruts.as_ref().and_then(|file| Some((file, std::fs::metadata(file).ok()?.len())));
        if let Some((file, bytes)) = saved {
            self.row("ruts", format!("{}: {}", places::whole(file).display(), size(bytes)));
        }
        if let Some(checkpoints) = &options.checkpoints {
            let last = file_at(&checkpoints.folder, self.simulated);
            self.row("last checkpoint", places::whole(&last).display().to_string());
        }
    }

    /// Adds the contents of the bag.
    pub(crate) fn bag(&mut self, bag: &BagSummary) {
        self.row("bag", bag_holds(bag));
        for pattern in &bag.unmatched {
            self.row("bag filter", format!("'{pattern}' matched none of the topics"));
        }
        if let Some(fault) = &bag.fault {
            self.row("bag fault", format!("{fault}; {} messages are not in it", bag.lost));
        }
    }
}

/// The messages that a sensor node has published, ready to print.
pub(crate) struct Published(pub(crate) BTreeMap<String, Count>);

impl Display for Published {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let width = topic_width(&self.0);
        writeln!(f, "  {:<width$} {:>9} {:>11}", "topic", "messages", "size")?;
        for (name, count) in self.0.iter().filter(|(_, count)| count.messages > 0) {
            writeln!(f, "  {name:<width$} {:>9} {:>11}{}", count.messages, size(count.bytes), refused(count))?;
        }
        Ok(())
    }
}

/// Width of a column of topics.
fn topic_width(topics: &BTreeMap<String, Count>) -> usize {
    topics.keys().map(String::len).max().unwrap_or(0).max(5)
}

/// What a transport could not deliver, in words.
fn refused(count: &Count) -> String {
    if count.refused > 0 { format!("  {} not handed over", count.refused) } else { String::new() }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (label, value) in &self.rows {
            writeln!(f, "  {label:<17} {value}")?;
        }
        let width = topic_width(&self.topics);
        writeln!(f, "\n  {:<width$} {:>9} {:>9} {:>11}", "topic", "messages", "Hz", "size")?;
        for (name, count) in self.topics.iter().filter(|(_, count)| count.messages > 0) {
            let hertz = count.messages as f64 / self.span_s.max(1e-9);
            let (bytes, refused) = (size(count.bytes), refused(count));
            writeln!(f, "  {name:<width$} {:>9} {hertz:>9.1} {bytes:>11}{refused}", count.messages)?;
        }
        Ok(())
    }
}

fn figures(outcome: &RunOutcome) -> Vec<(&'static str, String)> {
    let factor = (outcome.simulated - outcome.since).secs_f64() / outcome.wall_s.max(1e-9);
    let distance = |(name, m): &(String, f64)| ("distance", format!("{name}: {m:.2} m"));
    let mut figures = vec![
        ("wall", format!("{:.3} s", outcome.wall_s)),
        ("real-time factor", format!("{factor:.3} (simulated over wall)")),
    ];
    figures.extend(pace(&outcome.pace).map(|reported| ("pace", reported)));
    figures.extend(holds(&outcome.holds).into_iter().map(|reported| ("lockstep", reported)));
    figures.extend(outcome.distances_m.iter().map(distance));
    if let Some(exchange) = &outcome.exchange {
        let work_us = 1e6 * exchange.work_each_s();
        figures.push(("sent to others", format!("{} B", exchange.sent_bytes)));
        figures.push(("exchange", format!("{work_us:.1} µs a heartbeat, without waiting")));
    }
    figures.push(("state hash", format!("{:016x}", outcome.state_hash)));
    figures
}

/// The simulated time of a run, in words.
fn spans(began: SimTime, ended: SimTime) -> String {
    let span_s = (ended - began).secs_f64();
    if began == SimTime::ZERO {
        return format!("{span_s:.3} s");
    }
    format!("{span_s:.3} s, from {:.3} to {:.3}", began.secs_f64(), ended.secs_f64())
}

/// How well the pace was kept, in words; `None` if the run had no pace.
fn pace(pace: &PaceReport) -> Option<String> {
    let PaceReport { jitter, missed, forgiven, .. } = pace;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let (on_time, late) = (jitter.count(), missed.count());
    (on_time + late > 0).then(|| {
        let within_ms = ms(jitter.within(0.999));
        let latest_ms = ms(missed.longest());
        format!(
            "{on_time} heartbeats on time, 99.9 % within {within_ms:.2} ms; {late} late, by up to {latest_ms:.1} ms; \
             {forgiven} lags forgiven"
        )
    })
}

/// The results of waiting for topics: a line for each topic and one for all.
fn holds(holds: &HoldReport) -> Vec<String> {
    let of = |topic: &selene_simulation::HoldCounts| {
        format!("{}: {} holds, {} in vain", topic.topic, topic.holds, topic.timeouts)
    };
    let mut reported: Vec<String> = holds.topics.iter().map(of).collect();
    if !reported.is_empty() {
        reported.push(format!("held {:.3} s in all, {:.3} s at most", holds.held_s, holds.longest_s));
    }
    reported
}

fn ending(ending: EndReason) -> &'static str {
    match ending {
        EndReason::Duration => "the requested time is over",
        EndReason::RouteDone => "every route's end is reached",
        EndReason::Stopped => "stopped by hand",
    }
}

/// The path and size of a bag, in words.
pub(crate) fn bag_holds(bag: &BagSummary) -> String {
    let messages: u64 = bag.messages.values().sum();
    let files = if bag.files > 1 { format!(" in {} files", bag.files) } else { String::new() };
    format!("{}: {messages} messages, {}{files}", places::whole(&bag.directory).display(), size(bag.bytes))
}

/// A number of bytes with a readable unit.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        BagSummary, Count, EndReason, Fault, HoldReport, PaceReport, RunEnd, RunOutcome, Summary, holds, pace,
    };
    use selene_base::SimTime;
    use selene_simulation::HoldCounts;
    use std::collections::BTreeMap;

    #[test]
    fn every_topic_has_its_count_rate_and_losses() {
        let count = Count { messages: 4000, bytes: 1_280_000, refused: 7 };
        let topics = BTreeMap::from([("/imu/data".to_owned(), count)]);
        let text = Summary {
            rows: vec![("distance", "4.00 m".to_owned())],
            topics,
            simulated: SimTime::from_secs_f64(25.0),
            span_s: 20.0,
        }
        .to_string();
        for part in ["distance", "4.00 m", "/imu/data", "4000", "200.0", "1280.0 kB", "7 not handed over"] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }

    #[test]
    fn pace_and_holds_are_reported_where_there_were_any() {
        assert_eq!((pace(&PaceReport::default()), holds(&HoldReport::default())), (None, Vec::new()));
        let counts = HoldCounts { topic: "/cmd_vel".to_owned(), holds: 250, timeouts: 3, of_another_clock: 0 };
        let reported = holds(&HoldReport { topics: vec![counts], held_s: 7.5, longest_s: 2.0 });
        assert_eq!(reported, ["/cmd_vel: 250 holds, 3 in vain", "held 7.500 s in all, 2.000 s at most"]);
    }

    #[test]
    fn a_filter_that_matched_nothing_is_reported() {
        let unmatched = vec!["radar".to_owned()];
        let bag = BagSummary { files: 3, bytes: 2_000_000, unmatched, ..BagSummary::default() };
        let mut summary = Summary { rows: Vec::new(), topics: BTreeMap::new(), simulated: SimTime::ZERO, span_s: 1.0 };
        summary.bag(&bag);
        let text = summary.to_string();
        for part in ["0 messages, 2000.0 kB in 3 files", "'radar' matched none of the topics"] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }

    #[test]
    fn a_failed_sensor_comes_before_what_it_made_of_the_simulation() {
        let outcome = || RunOutcome {
            simulated: SimTime::ZERO,
            since: SimTime::ZERO,
            wall_s: 1.0,
            state_hash: 0,
            distances_m: Vec::new(),
            ending: EndReason::Stopped,
            pace: PaceReport::default(),
            holds: HoldReport::default(),
            exchange: None,
        };
        assert!(RunEnd::new(Ok(outcome()), Ok(())).result().is_ok());
        let both = RunEnd::new(Err(Fault::run("simulation")), Err(Fault::run("camera")));
        assert!(both.outcome.is_none() && both.fault.is_some_and(|fault| format!("{fault:?}").contains("camera")));
        let sensor = RunEnd::new(Ok(outcome()), Err(Fault::run("camera")));
        assert!(sensor.outcome.is_some() && sensor.result().is_err());
    }
}
