//! What can be typed after `selene study`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DeviceArgs, WorldArgs};

/// `selene study`.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Find the heading of a rover from the Sun in its side cameras
    #[command(after_long_help = HEADING_EXAMPLES)]
    Heading(StudyHeadingArgs),
}

const HEADING_EXAMPLES: &str = "Examples:
  selene study heading                  100 images a loop, table and pictures under out/heading
  selene study heading --full           as many images as the paper has: 3741, 707, 2298 and 354
  selene study heading my_loop.yaml --images 40 --sun 9.8,15

F. Dubois et al., Finding the North on a Lunar Microrover (IAC-18-A3.IP.23): the rover drives its route at each elevation of \
the Sun, a detector looks for the Sun in images of 128 × 72 pixels with discs of 5 to 21 pixels, and the heading follows from \
the camera's place, gravity by the IMU and the ephemeris. Judged are the images in which the Sun is; it is found where the \
direction is within 5° of it. Written are heading.csv (every image, every disc) and heading.png.";

/// `selene study heading`.
#[derive(Debug, Args)]
pub(crate) struct StudyHeadingArgs {
    /// A scenario of one rover with a route, cameras of 8 bits and an IMU [default: config/scenario/sorato_loop.yaml]
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<PathBuf>,
    /// Images of all cameras together on each loop
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) images: u32,
    /// As many images as the paper has
    #[arg(long, conflicts_with_all = ["images", "sun"])]
    pub(crate) full: bool,
    /// Elevations of the Sun, degrees [default: the paper's 21, 8.6, 9.8 and 15]
    #[arg(long, value_name = "DEG", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) sun: Vec<f64>,
    /// Folder for heading.csv and heading.png; made if missing
    #[arg(long, value_name = "DIR", default_value = "out/heading")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
