//! Pattern files: time and direction of each beam of a scan, line by line, as CSV with the header
//! `time_s,azimuth_deg,elevation_deg,channel`. Times count from the scan's start, never decrease and stay below the
//! scan's period; azimuths are degrees from x toward y, elevations degrees up. Lines that begin with # are comments.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::InputError;
use selene_base::input::read_bytes;
use serde::Deserialize;

use super::scanner::{FIRINGS_MAX, few_enough};

/// The largest pattern file allowed, bytes.
const BYTES_MAX: u64 = 96 << 20;
const HEADER: [&str; 4] = ["time_s", "azimuth_deg", "elevation_deg", "channel"];

/// Beams of a pattern file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PatternSpec {
    /// The CSV file, named relative to the sensor's file.
    #[garde(skip)]
    pub file: PathBuf,
    /// The beams read from the file.
    #[serde(skip)]
    #[garde(skip)]
    pub(super) beams: Arc<Vec<PatternBeam>>,
}

/// A line of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PatternBeam {
    pub(super) time_s: f64,
    pub(super) azimuth_deg: f64,
    pub(super) elevation_deg: f64,
    pub(super) channel: u16,
}

impl PatternSpec {
    /// Reads the file, for scans at `rate_hz` with `samples` rays per beam.
    ///
    /// # Errors
    /// When it is invalid: file, line, value and what is allowed.
    pub(super) fn read(&mut self, folder: &Path, rate_hz: f64, samples: u32) -> Result<(), InputError> {
        let path = folder.join(&self.file);
        let bytes = read_bytes(&path, BYTES_MAX)?;
        let refused = |what: String| InputError::content(&path, what);
        let text = String::from_utf8(bytes).map_err(|e| refused(format!("is not UTF-8: {e}")))?;
        let beams = parse(&text, 1.0 / rate_hz).map_err(refused)?;
        few_enough(beams.len(), samples).map_err(refused)?;
        self.beams = Arc::new(beams);
        Ok(())
    }
}

/// The beams of a pattern whose scan lasts `period_s`.
fn parse(text: &str, period_s: f64) -> Result<Vec<PatternBeam>, String> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let header = lines.next().map_or("", |(_, line)| line);
    if !header.split(',').map(str::trim).eq(HEADER) {
        return Err(format!("line 1: value '{header}' is not allowed: must be {}", HEADER.join(",")));
    }
    let mut beams: Vec<PatternBeam> = Vec::new();
    let mut before_s = 0.0;
    for (number, line) in lines {
        let beam = parse_line(line, [before_s, period_s]).map_err(|what| format!("line {number}: {what}"))?;
        if beams.len() == FIRINGS_MAX {
            return Err(format!("line {number}: at most {FIRINGS_MAX} beams are taken"));
        }
        before_s = beam.time_s;
        beams.push(beam);
    }
    if beams.is_empty() { Err("has no beams; at least one is wanted".to_owned()) } else { Ok(beams) }
}

/// The beam of a line, whose time must be at least `before_s` and less than `end_s`.
fn parse_line(line: &str, [before_s, end_s]: [f64; 2]) -> Result<PatternBeam, String> {
    let values: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time, azimuth, elevation, channel] = values[..] else {
        return Err(format!("has {} values; {} are wanted: {}", values.len(), HEADER.len(), HEADER.join(",")));
    };
    let time_s = number(HEADER[0], time)?;
    if time_s < before_s {
        return Err(format!("time_s: value {time} is not allowed: must be {before_s} or more, times never fall"));
    }
    if time_s >= end_s {
        return Err(format!("time_s: value {time} is not allowed: must be less than {end_s}, a scan's period"));
    }
    let azimuth_deg = number_within(HEADER[1], azimuth, [-360.0, 360.0])?;
    let elevation_deg = number_within(HEADER[2], elevation, [-90.0, 90.0])?;
    let refused = |_| format!("channel: value '{channel}' is not allowed: must be a whole number 0 to {}", u16::MAX);
    Ok(PatternBeam { time_s, azimuth_deg, elevation_deg, channel: u16::from_str(channel).map_err(refused)? })
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    let parsed = f64::from_str(text).ok().filter(|value| value.is_finite());
    parsed.ok_or_else(|| format!("{name}: value '{text}' is not allowed: must be a finite number"))
}

fn number_within(name: &str, text: &str, [least, most]: [f64; 2]) -> Result<f64, String> {
    let value = number(name, text)?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(format!("{name}: value {text} is not allowed: must be {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::{PatternBeam, parse};

    const GOOD: &str = "# two\ntime_s,azimuth_deg,elevation_deg,channel\n0,10,-5,0\n0.001, 20.5 ,5,3\n";

    #[test]
    fn a_pattern_is_read_line_by_line() {
        let second = PatternBeam { time_s: 0.001, azimuth_deg: 20.5, elevation_deg: 5.0, channel: 3 };
        let beams = parse(GOOD, 0.1).expect("good");
        assert!(beams.len() == 2 && beams[1] == second, "{beams:?}");
    }

    #[test]
    fn a_refused_pattern_is_reported_with_line_value_and_what_is_allowed() {
        for (from, to, parts) in [
            ("0.001,", "-0.001,", ["line 4", "time_s", "-0.001", "0 or more, times never fall"]),
            ("0.001,", "0.1,", ["line 4", "time_s", "0.1", "less than 0.1"]),
            ("0.001,", "nan,", ["line 4", "time_s", "nan", "finite"]),
            ("20.5", "400", ["line 4", "azimuth_deg", "400", "-360 to 360"]),
            (",5,3", ",91,3", ["line 4", "elevation_deg", "91", "-90 to 90"]),
            (",5,3", ",5,-1", ["line 4", "channel", "-1", "0 to 65535"]),
            (",5,3", ",5", ["line 4", "3 values", "4 are wanted", "channel"]),
            ("channel\n", "ring\n", ["line 1", "ring", "must be", "time_s,azimuth_deg,elevation_deg,channel"]),
        ] {
            assert_eq!(GOOD.matches(from).count(), 1, "{from}");
            let message = parse(&GOOD.replace(from, to), 0.1).expect_err("refused");
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
        assert!(parse("time_s,azimuth_deg,elevation_deg,channel\n", 0.1).expect_err("empty").contains("no beams"));
    }
}
