//! The commands that check, draw and measure.

use std::path::PathBuf;

use clap::Args;
use selene_base::SimTime;

use super::values::{seconds, threads};
use super::{DeviceArgs, WorldArgs};

pub(super) const CHECK_EXAMPLES: &str = "Examples:
  selene check config/*/*.yaml urdf/viper/viper.urdf
  selene check config/scenario/hadley.yaml --data DIR

What a file is, is told by its content. A file that is refused is told with its line, the value and what is allowed; \
the exit status is then 2.";

/// `selene check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Files to validate
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Folder with third-party data that some sites need [default: the environment's SELENE_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

pub(super) const RENDER_EXAMPLES: &str = "Example:
  selene render config/scenario/polar.yaml --camera navcam_left --at 5 --out out/view.png

The rover follows the scenario's route until the instant asked for; the image is the one that the camera would publish \
then, noise and ruts included.";

/// `selene render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Name of one of the scenario's cameras
    #[arg(long, value_name = "NAME")]
    pub(crate) camera: String,
    /// Simulated seconds since the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) at: SimTime,
    /// The PNG file to write
    #[arg(long, value_name = "FILE.png")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

pub(super) const HASH_EXAMPLES: &str = "Example:
  selene hash config/scenario/polar.yaml --for 5 --threads 4

The same scenario and seed give the same hash for any number of threads, in one process or in several in lockstep.";

/// `selene hash`.
#[derive(Debug, Args)]
pub(crate) struct HashArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Simulated seconds to run
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) duration: SimTime,
    /// Threads to compute with [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
}

pub(super) const BENCH_EXAMPLES: &str = "Examples:
  selene bench                          all figures beside what is asked of them
  selene bench --json > figures.json    a list of {name, value, unit}; a note where infinite
  selene bench cpu_rays_per_s           one of them

Figures: viper_scm_2cm_rtf, cpu_rays_per_s, default_scenario_rtf, first_image_s, binary_bytes, peak_memory_bytes, \
image_640x360_p99_s. Real-time factors are wall time over simulated time: below 1 is faster than real time.";

/// `selene bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Figures to measure [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print a JSON list instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}
