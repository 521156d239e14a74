//! The table at the end of a run.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use selene_ros::bag::BagSummary;
use selene_sim::Scenario;
use selene_simulation::{Ending, Outcome};

use crate::meter::Count;

/// What a run came to, ready to be printed.
pub(crate) struct Summary {
    rows: Vec<(&'static str, String)>,
    topics: BTreeMap<String, Count>,
    simulated_s: f64,
}

impl Summary {
    /// What the simulation says of itself, and what its topics carried.
    pub(crate) fn new(scenario: &Scenario, outcome: &Outcome, topics: BTreeMap<String, Count>) -> Self {
        let simulated_s = outcome.simulated.secs_f64();
        let factor = outcome.wall_s / simulated_s.max(1e-9);
        let rows = vec![
            ("scenario", format!("{}, seed {}", scenario.name, scenario.seed)),
            ("ended", ending(outcome.ending).to_owned()),
            ("simulated", format!("{simulated_s:.3} s")),
            ("wall", format!("{:.3} s", outcome.wall_s)),
            ("real-time factor", format!("{factor:.3} (wall/simulated)")),
            ("distance", format!("{:.2} m", outcome.distance_m)),
            ("rover mass", format!("{:.1} kg", scenario.rover.mass_kg())),
            ("state hash", format!("{:016x}", outcome.state_hash)),
        ];
        Self { rows, topics, simulated_s }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, label: &'static str, value: impl Into<String>) {
        self.rows.push((label, value.into()));
    }

    /// Adds what the bag holds.
    pub(crate) fn bag(&mut self, bag: &BagSummary) {
        let messages: u64 = bag.messages.values().sum();
        let holds = format!("{}: {messages} messages, {}", bag.directory.display(), size(bag.bytes));
        self.row("bag", holds);
        if let Some(fault) = &bag.fault {
            self.row("bag fault", format!("{fault}; {} messages are not in it", bag.lost));
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (label, value) in &self.rows {
            writeln!(f, "  {label:<17} {value}")?;
        }
        let width = self.topics.keys().map(String::len).max().unwrap_or(0).max(5);
        writeln!(f, "\n  {:<width$} {:>9} {:>9} {:>11}", "topic", "messages", "Hz", "size")?;
        for (name, count) in self.topics.iter().filter(|(_, count)| count.messages > 0) {
            let hertz = count.messages as f64 / self.simulated_s.max(1e-9);
            let refused =
                if count.refused > 0 { format!("  {} not handed over", count.refused) } else { String::new() };
            writeln!(f, "  {name:<width$} {:>9} {hertz:>9.1} {:>11}{refused}", count.messages, size(count.bytes))?;
        }
        Ok(())
    }
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Duration => "the time asked for is over",
        Ending::RouteDone => "the route's end is reached",
        Ending::Stopped => "stopped by hand",
    }
}

/// Bytes as one reads them.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Summary};
    use std::collections::BTreeMap;

    #[test]
    fn every_topic_has_its_count_rate_and_losses() {
        let count = Count { messages: 4000, bytes: 1_280_000, refused: 7 };
        let topics = BTreeMap::from([("/imu/data".to_owned(), count)]);
        let text = Summary { rows: vec![("distance", "4.00 m".to_owned())], topics, simulated_s: 20.0 }.to_string();
        for part in ["distance", "4.00 m", "/imu/data", "4000", "200.0", "1280.0 kB", "7 not handed over"] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }
}
