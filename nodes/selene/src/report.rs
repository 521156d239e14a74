//! What `selene bench` wants to know of a run in a process of its own: one JSON
//! object a line on standard output.

use std::sync::Once;

use selene_coherence::qos_of;
use selene_ros::sensor_msgs;
use selene_ros::transport::{Subscription, Transport, subscribe};
use selene_sensors::SensorSpec;
use selene_sim::Scenario;
use selene_simulation::Outcome;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::output::print_line;

/// A line of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first camera image is out.
    FirstImage,
    /// The run is over.
    End {
        /// Simulated time, s.
        simulated_s: f64,
        /// Wall time, s.
        wall_s: f64,
        /// The most memory the process had, bytes; 0 where the system does not tell.
        peak_memory_bytes: u64,
    },
}

/// Reports a run.
pub(crate) struct Report {
    _subscriptions: Vec<Subscription>,
}

impl Report {
    /// Reports the first image of any of the scenario's cameras.
    pub(crate) fn open(transport: &dyn Transport, scenario: &Scenario) -> Result<Self, Fault> {
        static FIRST: Once = Once::new();
        let mut subscriptions = Vec::new();
        for sensor in &scenario.sensors {
            if let SensorSpec::Camera(spec) = sensor {
                let topic = scenario.topic(&format!("{}/image_raw", spec.name));
                let on = |_: sensor_msgs::Image| FIRST.call_once(|| print(&Line::FirstImage));
                subscriptions.push(subscribe(transport, &topic, qos_of(spec.qos), on).map_err(Fault::run)?);
            }
        }
        Ok(Self { _subscriptions: subscriptions })
    }

    /// Reports the run's end.
    pub(crate) fn end(&self, outcome: &Outcome) {
        print(&Line::End {
            simulated_s: outcome.simulated.secs_f64(),
            wall_s: outcome.wall_s,
            peak_memory_bytes: peak_memory_bytes(),
        });
    }
}

/// The line that `text` is, if it is one.
pub(crate) fn parse(text: &str) -> Option<Line> {
    serde_json::from_str(text).ok()
}

fn print(line: &Line) {
    print_line(serde_json::to_string(line).unwrap_or_default());
}

/// The largest resident set this process had (Linux; 0 elsewhere).
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::{Line, parse, peak_memory_bytes};

    #[test]
    fn lines_are_read_back_and_other_text_is_none() {
        let end = Line::End { simulated_s: 10.0, wall_s: 4.5, peak_memory_bytes: 7 };
        for line in [Line::FirstImage, end] {
            let text = serde_json::to_string(&line).expect("plain data");
            assert_eq!(parse(&text), Some(line));
        }
        assert_eq!(parse("  scenario   polar"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_had_some_memory() {
        assert!(peak_memory_bytes() > 1 << 20);
    }
}
