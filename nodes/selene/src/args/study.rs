//! What can be typed after `selene study`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
  selene study heading --method network what the small network makes of the same images, beside the detector
  selene study heading --training-images out/training --count 4000    images to train it on

F. Dubois et al., Finding the North on a Lunar Microrover (IAC-18-A3.IP.23): the rover drives its route at each elevation of \
the Sun, a detector looks for the Sun in images of 128 × 72 pixels with discs of 5 to 21 pixels, and the heading follows from \
the camera's place, gravity by the IMU and the ephemeris. Judged are the images in which the Sun is; it is found where the \
direction is within 5° of it. Written are heading.csv (every image, every disc) and heading.png. The network (80 × 45 pixels, \
fewer than 30 000 numbers) is judged where the Sun is just outside the frame too, up to 90° from the optical axis; network.csv \
has every image. tools/studies/heading_network/train.py trains it.";

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
    /// What looks for the Sun
    #[arg(long, value_enum, default_value_t = Method::Detector)]
    pub(crate) method: Method,
    /// The network's weights [default: config/network/sun_direction.safetensors]
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Folder for heading.csv, network.csv and heading.png; made if missing
    #[arg(long, value_name = "DIR", default_value = "out/heading")]
    pub(crate) out: PathBuf,
    /// Make images to train the network on instead, in this folder: 000000.png … and labels.csv; --seed is theirs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["full", "images", "sun", "method", "weights", "out"])]
    pub(crate) training_images: Option<PathBuf>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 4000, requires = "training_images")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: u32,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// What looks for the Sun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// The paper's detector
    Detector,
    /// The detector, and the small network beside it
    Network,
}
