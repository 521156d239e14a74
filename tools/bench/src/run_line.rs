//! Messages from a run in a separate process to the benchmark: one JSON object per line on standard output.

use serde::{Deserialize, Serialize};

/// A message of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunLine {
    /// The first camera image was published.
    FirstImage,
    /// State of the first rover's wheels.
    Wheels {
        /// Rate of the fastest wheel, rad/s.
        fastest_rad_s: f64,
    },
    /// The run has ended.
    End {
        /// Simulated time, s.
        simulated_s: f64,
        /// Wall time, s.
        wall_s: f64,
        /// Peak memory of the process, bytes; 0 where the system does not report it.
        peak_memory_bytes: u64,
    },
}

impl RunLine {
    /// The message at the end of this process's run.
    #[must_use]
    pub fn end(simulated_s: f64, wall_s: f64) -> Self {
        Self::End { simulated_s, wall_s, peak_memory_bytes: memory_bytes("VmHWM:") }
    }

    /// Parses a line of text; `None` if it is not a message.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The message as a line of text.
    #[must_use]
    pub fn text(&self) -> String {
        // Serialising plain data cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A size of this process that the system reports under `key` (Linux; 0 elsewhere), bytes.
pub(crate) fn memory_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::RunLine;

    #[test]
    fn lines_are_read_back_and_other_text_is_none() {
        for line in [RunLine::FirstImage, RunLine::Wheels { fastest_rad_s: 0.25 }, RunLine::end(10.0, 4.5)] {
            assert_eq!(RunLine::parse(&line.text()), Some(line));
        }
        assert_eq!(RunLine::parse("  scenario   polar"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_had_some_memory() {
        assert!(
            matches!(RunLine::end(0.0, 0.0), RunLine::End { peak_memory_bytes, .. } if peak_memory_bytes > 1 << 20)
        );
    }
}
