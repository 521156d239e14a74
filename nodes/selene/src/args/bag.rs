//! Arguments of `selene bag`, and options of recordings.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use selene_base::SimTime;
use selene_ros::bag::TopicPattern;

use super::values::seconds;
use super::{DeviceArgs, NetworkArgs, WorldArgs};

/// Least size at which a bag is split, bytes, as in rosbag2.
const SPLIT_BYTES_MIN: f64 = 1024.0;
/// Greatest size at which a bag is split, bytes: a petabyte.
const SPLIT_BYTES_MAX: f64 = 1e15;
/// Least and greatest rate of `selene bag play`.
const RATE_MIN: f64 = 0.001;
const RATE_MAX: f64 = 1000.0;

/// Options of a recording.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RecordingArgs {
    /// Record only topics whose names this regular expression matches anywhere; may be given several times
    #[arg(long, value_name = "REGEX", requires = "record")]
    pub(crate) record_topics: Vec<TopicPattern>,
    /// Leave out topics whose names this regular expression matches; may be given several times
    #[arg(long, value_name = "REGEX", requires = "record")]
    pub(crate) record_exclude: Vec<TopicPattern>,
    /// Record also the snapshots that Selene's nodes exchange (/selene/…), which `selene bag rerender` needs
    #[arg(long, requires = "record")]
    pub(crate) record_internal: bool,
    /// Begin a new file before one has more than this many bytes of messages; k, M and G are thousands, millions,
    /// billions
    #[arg(long, value_name = "BYTES", value_parser = bytes, requires = "record")]
    pub(crate) record_max_size: Option<u64>,
    /// Begin a new file after this many simulated seconds
    #[arg(long, value_name = "SECONDS", value_parser = span, requires = "record", allow_negative_numbers = true)]
    pub(crate) record_max_duration: Option<SimTime>,
    /// How chunks of messages are compressed [default: zstd-fast]
    #[arg(long, value_enum, value_name = "HOW", requires = "record")]
    pub(crate) record_compression: Option<CompressionArg>,
    /// Which metadata.yaml is written [default: that of ROS_DISTRO; if it is not set humble, which every later ROS 2
    /// reads too]
    #[arg(long, value_enum, value_name = "VERSION", requires = "record")]
    pub(crate) record_metadata: Option<MetadataArg>,
}

/// Choices of `--record-compression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionArg {
    /// Not at all, as `ros2 bag record` without a preset
    None,
    /// Zstandard at its own level
    Zstd,
    /// Zstandard with the least work
    ZstdFast,
    /// Zstandard with the most work: small and slow
    ZstdMax,
}

/// Choices of `--record-metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetadataArg {
    /// Version 5
    Humble,
    /// Version 9, as Jazzy and later write it
    Current,
}

const INFO_EXAMPLES: &str = "Examples:
  selene bag info out/bag
  selene bag info out/bag/bag_1.mcap --json

Bags of any recorder that writes MCAP are read, also without metadata.yaml and after a kill in mid-recording.";

const VERIFY_EXAMPLES: &str = "Example:
  selene bag verify out/bag

Every message must decode as its type (where Selene knows it), stamps of a topic must not go back, an image must have \
its camera_info, transforms must form one tree, and indexes, counts and metadata.yaml must match the content. What is \
wrong is listed, and the exit status is 1.";

const PLAY_EXAMPLES: &str = "Examples:
  selene bag play out/bag
  selene bag play out/bag --topics '^/navcam|^/tf' --rate 0.5 --loop
  selene bag play out/bag --start-at 12 --clock

Messages go out with the quality of service that they were recorded with, as far apart as they were recorded. Topics \
between Selene's own nodes are never played. With --start-at the last latched messages from before come first.";

const RERENDER_EXAMPLES: &str = "Examples:
  selene run --for 20 --record out/drive --record-internal
  selene bag rerender out/drive config/scenario/polar.yaml --out out/wide --sensor config/sensor/hazcam.yaml

The scenario must be the recorded one but for its sensors: same site, seed, rovers and start. --seed, --utc and the like \
are given as they were to the run. The new bag has all that follows from the recorded snapshots: clock, transforms, joint \
states, truth, and what the scenario's cameras, lidars, inertial units and position receivers sense.";

/// Subcommands of `selene bag`.
#[derive(Debug, Subcommand)]
pub(crate) enum BagCommand {
    /// Print duration, size, topics, types, counts and quality of service
    #[command(after_long_help = INFO_EXAMPLES)]
    Info(BagInfoArgs),
    /// Check every message, index and count
    #[command(after_long_help = VERIFY_EXAMPLES)]
    Verify(BagVerifyArgs),
    /// Publish the recorded messages
    #[command(after_long_help = PLAY_EXAMPLES)]
    Play(BagPlayArgs),
    /// Run other sensors over a recorded drive
    #[command(after_long_help = RERENDER_EXAMPLES)]
    Rerender(Box<BagRerenderArgs>),
}

/// Arguments of `selene bag info`.
#[derive(Debug, Args)]
pub(crate) struct BagInfoArgs {
    /// The bag's folder, or one MCAP file
    #[arg(value_name = "BAG")]
    pub(crate) bag: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `selene bag verify`.
#[derive(Debug, Args)]
pub(crate) struct BagVerifyArgs {
    /// The bag's folder, or one MCAP file
    #[arg(value_name = "BAG")]
    pub(crate) bag: PathBuf,
}

/// Arguments of `selene bag play`.
#[derive(Debug, Args)]
pub(crate) struct BagPlayArgs {
    /// The bag's folder, or one MCAP file
    #[arg(value_name = "BAG")]
    pub(crate) bag: PathBuf,
    /// Recorded seconds played per second, from 0.001 to 1000
    #[arg(long, value_name = "X", default_value = "1", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) rate: f64,
    /// Begin again at the end
    #[arg(long = "loop")]
    pub(crate) looped: bool,
    /// Play only topics whose names this regular expression matches anywhere; may be given several times
    #[arg(long, value_name = "REGEX")]
    pub(crate) topics: Vec<TopicPattern>,
    /// Begin this many recorded seconds after the bag's first message
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) start_at: SimTime,
    /// Publish /clock at 100 Hz of recorded time in place of the recorded one
    #[arg(long)]
    pub(crate) clock: bool,
    /// Seconds to wait before the first message, so that subscribers find the topics
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) delay: SimTime,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

/// Arguments of `selene bag rerender`.
#[derive(Debug, Args)]
pub(crate) struct BagRerenderArgs {
    /// The recorded bag, with the run's internal topics
    #[arg(value_name = "BAG")]
    pub(crate) bag: PathBuf,
    /// The scenario, which differs from the recorded one only in its sensors
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Folder of the new bag
    #[arg(long, value_name = "BAG2")]
    pub(crate) out: PathBuf,
    /// A further sensor of the only rover, or one in place of the scenario's with its name; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) sensor: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Parses a size in bytes, such as 500M.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [('k', 1e3), ('M', 1e6), ('G', 1e9)];
    let text = text.trim();
    let with_unit = units.into_iter().find_map(|(letter, unit)| Some((text.strip_suffix(letter)?, unit)));
    let (number, unit) = with_unit.unwrap_or((text, 1.0));
    let bytes = number.parse::<f64>().map(|number| number * unit);
    let fits = bytes.ok().filter(|bytes| (SPLIT_BYTES_MIN..=SPLIT_BYTES_MAX).contains(bytes));
    fits.map(|bytes| bytes as u64)
        .ok_or_else(|| "must be bytes from 1024 to 1e15, with k, M or G if need be, such as 500M".to_owned())
}

/// Parses a span of simulated time above 0 s.
fn span(text: &str) -> Result<SimTime, String> {
    let span = seconds(text)?;
    if span > SimTime::ZERO { Ok(span) } else { Err("must be more than 0 s".to_owned()) }
}

/// Parses the rate at which a bag is played.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.trim().parse().ok().filter(|rate| (RATE_MIN..=RATE_MAX).contains(rate));
    rate.ok_or_else(|| format!("must be a factor from {RATE_MIN} to {RATE_MAX} (2: twice as fast as recorded)"))
}

#[cfg(test)]
mod tests {
    use super::{bytes, rate, span};
    use selene_base::SimTime;

    #[test]
    fn sizes_have_units() {
        assert_eq!(["1024", "2k", "1.5M", " 3G"].map(bytes), [Ok(1024), Ok(2000), Ok(1_500_000), Ok(3_000_000_000)]);
        for bad in ["", "M", "1000", "1023", "2x", "-5M", "NaN", "inf", "1e7G", "2 K"] {
            assert!(bytes(bad).is_err_and(|refusal| refusal.contains("such as 500M")), "{bad}");
        }
    }

    #[test]
    fn files_cover_some_time_and_rates_are_within_their_bounds() {
        assert_eq!(span("0.5"), Ok(SimTime::from_nanos(500_000_000)));
        assert!(["0", "-1", "NaN", "1e-12"].iter().all(|bad| span(bad).is_err()));
        assert_eq!([rate("0.001"), rate("1000")], [Ok(0.001), Ok(1000.0)]);
        assert!(["", "0", "-1", "1001", "NaN"].iter().all(|bad| rate(bad).is_err()));
    }
}
