//! Arguments of `selene rig`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values::{Names, Size, Sweep, grip, positive, positives, slip_angles, slips, slopes, whole};

/// Subcommands of `selene rig`.
#[derive(Debug, Subcommand)]
pub(crate) enum RigCommand {
    /// Drive one wheel over flat soil at a fixed slip; steady state as JSON, a sweep as CSV and plot
    #[command(after_long_help = WHEEL_EXAMPLES)]
    Wheel(Box<WheelArgs>),
    /// Press a rectangular plate into flat soil and lift it again; samples as CSV
    #[command(after_long_help = PLATE_EXAMPLES)]
    Plate(PlateArgs),
    /// Drive a rover up steeper and steeper slopes until it stalls; CSV and plot
    #[command(after_long_help = SLOPE_EXAMPLES)]
    Slope(SlopeArgs),
}

const WHEEL_EXAMPLES: &str = "Examples:
  selene rig wheel --soil lunar --radius 0.25 --width 0.2 --load 100 --omega 0.8 --slip 0.2 --gravity 1.62 --grid 0.01
  selene rig wheel --soil lunar,soft --load 100,175 --slip=-0.2:0.8:0.1 --out out/wheel

A single run prints {\"sinkage_m\", \"drawbar_n\", \"lateral_n\", \"normal_n\", \"torque_nm\"}: means over the end of the \
run. The drawbar force is positive where the wheel pulls; the torque is the soil's about the axle, negative where it \
resists the drive. A run is 7 s long; a wheel that has not settled by then is run up to ten times as long, and refused \
where it still has not.

--soil, --load, --slip, --slip-angle, --omega or --speed, and --gravity take one value, a list (0.1,0.2,0.5) or a range \
with its step (0:0.8:0.1, both ends). All combinations are run, on all cores; --out DIR leaves DIR/wheel.csv and \
DIR/wheel.png, and without a place to write to the CSV is printed.";

/// Arguments of `selene rig wheel`.
#[derive(Debug, Args)]
pub(crate) struct WheelArgs {
    /// Soils of config/soil by name, or soil files
    #[arg(long, value_name = "NAME|FILE,…")]
    pub(crate) soil: Names,
    /// Wheel radius, to the tips of its grousers, m
    #[arg(long, value_name = "M", default_value = "0.25", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) radius: f64,
    /// Wheel width, m
    #[arg(long, value_name = "M", default_value = "0.2", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) width: f64,
    /// Height of the grousers, m; below the radius
    #[arg(long, value_name = "M", requires = "grousers", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) grouser_height: Option<f64>,
    /// Number of grousers around the wheel
    #[arg(long, value_name = "N", requires = "grouser_height", value_parser = whole)]
    pub(crate) grousers: Option<u32>,
    /// Share of the soil's shear strength that the wheel's skin holds, 0 to 1: below 1 for a smooth wheel
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = grip, allow_negative_numbers = true)]
    pub(crate) grip: f64,
    /// Vertical load, N
    #[arg(long, value_name = "N,…", default_value = "100", value_parser = positives, allow_negative_numbers = true)]
    pub(crate) load: Sweep,
    /// Wheel rate, rad/s
    #[arg(long, value_name = "RAD/S,…", default_value = "0.8", value_parser = positives, allow_negative_numbers = true)]
    pub(crate) omega: Sweep,
    /// Speed of the rim (wheel rate times radius) instead of the wheel rate, m/s
    #[arg(long, value_name = "M/S,…", conflicts_with = "omega", value_parser = positives, allow_negative_numbers = true)]
    pub(crate) speed: Option<Sweep>,
    /// Slip ratio, above -1 and at most 1: 0 rolls freely, 1 spins on the spot
    #[arg(long, value_name = "RATIO,…", default_value = "0.2", value_parser = slips, allow_hyphen_values = true)]
    pub(crate) slip: Sweep,
    /// Angle from where the wheel points to where it goes, degrees, left positive
    #[arg(long, value_name = "DEG,…", default_value = "0", value_parser = slip_angles, allow_hyphen_values = true)]
    pub(crate) slip_angle: Sweep,
    /// Gravity, m/s²
    #[arg(long, value_name = "M/S²,…", default_value = "1.62", value_parser = positives, allow_negative_numbers = true)]
    pub(crate) gravity: Sweep,
    /// Distance between the soil's nodes, m; at most half of the width and a quarter of the radius
    #[arg(long, value_name = "M", default_value = "0.01", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) grid: f64,
    /// Let displaced soil pile up beside the rut
    #[arg(long)]
    pub(crate) bulldozing: bool,
    /// Folder for wheel.csv and wheel.png
    #[arg(long, value_name = "DIR", conflicts_with_all = ["csv", "plot"])]
    pub(crate) out: Option<PathBuf>,
    /// The CSV file to write
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// The plot to write
    #[arg(long, value_name = "FILE.png")]
    pub(crate) plot: Option<PathBuf>,
}

const PLATE_EXAMPLES: &str = "Example:
  selene rig plate --soil lunar --size 0.2x0.1 --speed 0.01 --depth 0.03 > plate.csv

Columns: time_s, sinkage_m (positive down), force_n (of the soil on the plate, positive up).";

/// Arguments of `selene rig plate`.
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
    /// Distance between the soil's nodes, m; at most a quarter of the plate's shorter side
    #[arg(long, value_name = "M", default_value = "0.01", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) grid: f64,
}

const SLOPE_EXAMPLES: &str = "Examples:
  selene rig slope config/rover/viper.yaml --soil lunar --out out/slope
  selene rig slope config/rover/sorato.yaml --soil dry_sand --gravity 9.81 --slope 0:30:2.5 --out out/sorato

Columns: slope_deg, speed_m_s (up the slope), slip and sinkage_m (means of the wheels), drive_torque_nm (mean of the \
wheels, at the wheel), stalled. The slopes are taken from the flattest to the steepest; the first on which the rover no \
longer advances is the last that is reported. A rover that still gains speed at the end is driven up to ten times as long, \
and refused where it still does.";

/// Arguments of `selene rig slope`.
#[derive(Debug, Args)]
pub(crate) struct SlopeArgs {
    /// The rover's file
    #[arg(value_name = "ROVER")]
    pub(crate) rover: PathBuf,
    /// A soil of config/soil by name, or a soil file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soil: String,
    /// Slopes, degrees: one, a list or a range with its step
    #[arg(long, value_name = "DEG,…", default_value = "0:40:2.5", value_parser = slopes, allow_hyphen_values = true)]
    pub(crate) slope: Sweep,
    /// Commanded speed, m/s [default: the rover's limit]
    #[arg(long, value_name = "M/S", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) speed: Option<f64>,
    /// Gravity, m/s²
    #[arg(long, value_name = "M/S²", default_value = "1.62", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) gravity: f64,
    /// Distance between the soil's nodes, m; at most half of the smallest wheel's width and a quarter of its radius
    #[arg(long, value_name = "M", default_value = "0.01", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) grid: f64,
    /// Physics step, s; at most 0.002
    #[arg(long, value_name = "S", default_value = "0.0005", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) step: f64,
    /// Folder for slope.csv and slope.png; without it the CSV is printed
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
