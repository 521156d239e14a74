//! Options for the connection to other processes, and the clock that a run follows.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use selene_ros::impaired::Impairment;
use selene_simulation::ClockAuthority;

use super::values;

/// Default lateness above which `--late-frames drop` drops a frame, s.
const LATE_S: f64 = 0.2;
/// Greatest lateness that can be set, s.
const LATE_MAX_S: f64 = 3600.0;

/// Options of the wire, the connection to other processes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LinkArgs {
    /// Drop images and clouds that exceed this many bytes a second on the wire; everything else passes
    #[arg(long, value_name = "BYTES_S", value_parser = values::positive, allow_negative_numbers = true)]
    pub(crate) bandwidth_limit: Option<f64>,
    /// `send` or `drop` images and clouds that leave more than 0.2 s of wall time late (`drop:SECONDS`: more than that)
    #[arg(long, value_name = "POLICY", default_value = "send")]
    pub(crate) late_frames: LateFrames,
    /// Impair topics on the wire, for tests, such as '/cmd_vel:delay_ms=30,jitter_ms=5,loss=0.01,seed=1'; the topics
    /// are a regular expression; may be given several times, the first rule about a topic counts
    #[arg(long, value_name = "RULE")]
    pub(crate) impair: Vec<Impairment>,
}

impl LinkArgs {
    /// Whether any option differs from its default.
    pub(crate) fn is_given(&self) -> bool {
        let Self { bandwidth_limit, late_frames, impair } = self;
        bandwidth_limit.is_some() || *late_frames != LateFrames::Send || !impair.is_empty()
    }
}

/// Treatment of late frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum LateFrames {
    /// Late frames are sent.
    #[default]
    Send,
    /// Frames that are later than this are dropped (wall time).
    Drop(Duration),
}

impl FromStr for LateFrames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("must be send, drop or drop:SECONDS, from 0 to {LATE_MAX_S}");
        let late_s = match text {
            "send" => return Ok(Self::Send),
            "drop" => LATE_S,
            _ => text.strip_prefix("drop:").and_then(|late_s| late_s.parse().ok()).ok_or_else(wrong)?,
        };
        let fits = (0.0..=LATE_MAX_S).contains(&late_s);
        if fits { Ok(Self::Drop(Duration::from_secs_f64(late_s))) } else { Err(wrong()) }
    }
}

/// Parses the clock that a run follows.
pub(super) fn clock_authority(text: &str) -> Result<ClockAuthority, String> {
    match (text, text.strip_prefix("ptp:")) {
        ("simulation", _) => Ok(ClockAuthority::Simulation),
        ("wall", _) => Ok(ClockAuthority::Wall),
        (_, Some(device)) if !device.is_empty() => Ok(ClockAuthority::Ptp(PathBuf::from(device))),
        _ => Err("must be simulation, wall or ptp:DEVICE, such as ptp:/dev/ptp0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockAuthority, LateFrames, LinkArgs, clock_authority};
    use std::time::Duration;

    #[test]
    fn late_frames_are_sent_or_dropped_from_some_lateness_on() {
        let drop = |ms| Ok(LateFrames::Drop(Duration::from_millis(ms)));
        assert_eq!(
            ["send", "drop", "drop:0", "drop:1.5"].map(str::parse),
            [Ok(LateFrames::Send), drop(200), drop(0), drop(1500)]
        );
        for bad in ["", "keep", "drop:", "drop:-1", "drop:NaN", "drop:1e9", "drop:x"] {
            assert!(bad.parse::<LateFrames>().is_err_and(|reported| reported.contains("drop:SECONDS")), "{bad}");
        }
    }

    #[test]
    fn a_clock_is_a_word_or_a_device() {
        assert_eq!(clock_authority("wall"), Ok(ClockAuthority::Wall));
        assert_eq!(clock_authority("ptp:/dev/ptp1"), Ok(ClockAuthority::Ptp("/dev/ptp1".into())));
        for bad in ["", "ptp", "ptp:", "gps", "Wall"] {
            assert!(clock_authority(bad).is_err_and(|reported| reported.contains("ptp:/dev/ptp0")), "{bad}");
        }
    }

    #[test]
    fn the_network_is_not_limited_by_default() {
        assert!(!LinkArgs::default().is_given());
        assert!(LinkArgs { bandwidth_limit: Some(1e6), ..LinkArgs::default() }.is_given());
    }
}
