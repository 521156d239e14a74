//! The commands that check, draw and measure.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use selene_base::SimTime;

use super::values::{Size, positive, seconds, threads};
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

/// `selene rig`.
#[derive(Debug, Subcommand)]
pub(crate) enum RigCommand {
    /// Drive one wheel over flat soil at a fixed slip; steady state as JSON
    #[command(after_long_help = WHEEL_EXAMPLES)]
    Wheel(WheelArgs),
    /// Press a rectangular plate into flat soil and lift it again; samples as CSV
    #[command(after_long_help = PLATE_EXAMPLES)]
    Plate(PlateArgs),
}

pub(super) const WHEEL_EXAMPLES: &str = "Example:
  selene rig wheel --soil lunar --radius 0.25 --width 0.2 --load 100 --omega 0.8 --slip 0.2 --gravity 1.62 --grid 0.01

Prints {\"sinkage_m\", \"drawbar_n\", \"normal_n\", \"torque_nm\"}: means over the end of the run. The drawbar force \
is positive where the wheel pulls; the torque is the soil's about the axle, negative where it resists the drive.";

/// `selene rig wheel`.
#[derive(Debug, Args)]
pub(crate) struct WheelArgs {
    /// A soil of config/soil by name, or a soil file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soil: String,
    /// Wheel radius, m
    #[arg(long, value_name = "M", default_value = "0.25", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) radius: f64,
    /// Wheel width, m
    #[arg(long, value_name = "M", default_value = "0.2", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) width: f64,
    /// Vertical load, N
    #[arg(long, value_name = "N", default_value = "100", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) load: f64,
    /// Wheel rate, rad/s
    #[arg(long, value_name = "RAD/S", default_value = "0.8", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) omega: f64,
    /// Slip ratio, -1 to 1: 0 rolls freely, 1 spins on the spot
    #[arg(long, value_name = "RATIO", default_value = "0.2", allow_negative_numbers = true)]
    pub(crate) slip: f64,
    /// Gravity, m/s²
    #[arg(long, value_name = "M/S²", default_value = "1.62", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) gravity: f64,
    /// Distance between the soil's nodes, m
    #[arg(long, value_name = "M", default_value = "0.01", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) grid: f64,
    /// Let displaced soil pile up beside the rut
    #[arg(long)]
    pub(crate) bulldozing: bool,
}

pub(super) const PLATE_EXAMPLES: &str = "Example:
  selene rig plate --soil lunar --size 0.2x0.1 --speed 0.01 --depth 0.03 > plate.csv

Columns: time_s, sinkage_m (positive down), force_n (of the soil on the plate, positive up).";

/// `selene rig plate`.
#[derive(Debug, Args)]
pub(crate) struct PlateArgs {
    /// A soil of config/soil by name, or a soil file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soil: String,
    /// Plate length and width, m
    #[arg(long, value_name = "LxW", default_value = "0.2x0.1")]
    pub(crate) size: Size,
    /// Speed down and up, m/s
    #[arg(long, value_name = "M/S", default_value = "0.01", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) speed: f64,
    /// Depth at which it turns back, m
    #[arg(long, value_name = "M", default_value = "0.03", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) depth: f64,
    /// Distance between the soil's nodes, m
    #[arg(long, value_name = "M", default_value = "0.01", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) grid: f64,
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
