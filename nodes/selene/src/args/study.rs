//! Arguments of `selene study`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DeviceArgs, WorldArgs};

/// Subcommands of `selene study`.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Find the heading of a rover from the Sun in its side cameras
    #[command(after_long_help = HEADING_EXAMPLES)]
    Heading(Box<StudyHeadingArgs>),
    /// Drive convoys of trucks between obstacles: one leads and three follow
    #[command(after_long_help = CONVOY_EXAMPLES)]
    Convoy(StudyConvoyArgs),
    /// Run one world with one process per vehicle, and print how time and bytes grow
    #[command(after_long_help = SCALING_EXAMPLES)]
    Scaling(StudyScalingArgs),
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

/// Arguments of `selene study heading`.
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
    /// How the Sun is found
    #[arg(long, value_enum, default_value_t = Method::Detector)]
    pub(crate) method: Method,
    /// The network's weights [default: config/network/sun_direction.safetensors]
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Folder for heading.csv, network.csv and heading.png; made if missing
    #[arg(long, value_name = "DIR", default_value = "out/heading")]
    pub(crate) out: PathBuf,
    /// Make images to train the network on instead, in this folder: 000000.png … and labels.csv; --seed seeds them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["full", "images", "sun", "method", "weights", "out"])]
    pub(crate) training_images: Option<PathBuf>,
    /// Number of training images
    #[arg(long, value_name = "N", default_value_t = 4000, requires = "training_images")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: u32,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Choices of `--method`: how the Sun is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// The paper's detector
    Detector,
    /// The detector, and the small network beside it
    Network,
}

const CONVOY_EXAMPLES: &str = "Examples:
  selene study convoy                                  four courses on rigid ground, hard and soft soil; under out/convoy
  selene study convoy --full                           the paper's 128 courses
  selene study convoy --courses 8 --terrain rigid
  selene study convoy --driver plain                   the plain controller alone, which takes no images
  selene study convoy --weights out/follower.safetensors    followers that you trained

A. Young et al., Enabling Artificial Intelligence Studies in Off-Road Mobility Through Physics-Based Simulation of \
Multiagent Scenarios (2022): on each course of 100 × 100 m with 34 round obstacles a truck drives the shortest path that a particle \
swarm finds, and three trucks follow, each knowing where the one ahead is, its own heading, the closing speed and, where it was \
trained, an image of 80 × 45 pixels. Each course is driven twice, by a plain controller and by a trained follower, which have lines \
of their own in the table. Written are convoy.csv (every truck of every course), convoy.png, and each course with its scenario. \
tools/studies/convoy_follower/train.py trains a follower.";

/// Arguments of `selene study convoy`.
#[derive(Debug, Args)]
pub(crate) struct StudyConvoyArgs {
    /// Number of courses
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) courses: u64,
    /// The first course's number
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) first: u64,
    /// As many courses as the paper has
    #[arg(long, conflicts_with = "courses")]
    pub(crate) full: bool,
    /// Kinds of ground, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_enum, value_delimiter = ',')]
    pub(crate) terrain: Vec<TerrainArg>,
    /// Seed of the courses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Weights of the trained follower [default: config/network/convoy_follower.safetensors]
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Drivers of the followers, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_enum, value_delimiter = ',')]
    pub(crate) driver: Vec<DriverArg>,
    /// Folder for table, chart and courses; made if missing
    #[arg(long, value_name = "DIR", default_value = "out/convoy")]
    pub(crate) out: PathBuf,
    /// Write the courses' scenarios without driving them
    #[arg(long, conflicts_with = "driver")]
    pub(crate) courses_only: bool,
}

/// Choices of `--terrain`: kinds of ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TerrainArg {
    /// Rigid ground
    Rigid,
    /// Hard soil, silt-like
    Hard,
    /// Soft soil, snow-like
    Soft,
}

/// Choices of `--driver`: what drives the followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriverArg {
    /// The plain controller
    Plain,
    /// The trained follower
    Learned,
}

const SCALING_EXAMPLES: &str = "Examples:
  selene study scaling                         1, 2, 4 and 8 processes, on rigid ground and on hard soil
  selene study scaling --processes 1,2 --for 2

The weak scaling of A. Young et al. (2022), figure 5: a truck more for each process of one shared world, nodes 5 cm apart, steps of \
2 ms, an exchange each 10 ms. All processes run on this machine, so beyond its cores they share them. Bytes are counted by the \
processes themselves. From them, and from the time in which a process encodes, decodes and merges, follows what 128 vehicles would \
send over 1 Gbit/s, and which part of each 10 ms they would work for the exchange.";

/// Arguments of `selene study scaling`.
#[derive(Debug, Args)]
pub(crate) struct StudyScalingArgs {
    /// Numbers of processes, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,4,8", value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(crate) processes: Vec<u64>,
    /// Simulated seconds of each run
    #[arg(long = "for", value_name = "SECONDS", value_parser = super::values::seconds, default_value = "5", allow_negative_numbers = true)]
    pub(crate) duration: selene_base::SimTime,
    /// Folder for scaling.csv, scaling.png and the scenarios; made if missing
    #[arg(long, value_name = "DIR", default_value = "out/scaling")]
    pub(crate) out: PathBuf,
}
