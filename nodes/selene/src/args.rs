//! The command line: declares commands, options and their help texts. `commands` executes them.

mod bag;
mod calibrate;
mod campaign;
mod console;
mod import;
mod library;
mod link;
mod nodes;
mod rig;
mod sky;
mod study;
mod terrain;
mod tools;
mod values;
mod viewers;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use selene_base::SimTime;
use selene_coherence::RunId;
use selene_simulation::{ClockAuthority, RealtimePriority};
use selene_sky::Utc;

use crate::overrides::Override;

pub(crate) use bag::{
    BagCommand, BagInfoArgs, BagPlayArgs, BagRerenderArgs, BagVerifyArgs, CompressionArg, MetadataArg, RecordingArgs,
};
pub(crate) use calibrate::{CalibrateCameraArgs, CalibrateCommand};
pub(crate) use campaign::{CampaignArgs, CampaignCommand, CampaignRunArgs};
pub(crate) use console::{ConsoleArgs, ConsoleCommandArgs};
pub(crate) use import::ImportArgs;
pub(crate) use library::{
    CompletionsArgs, ListArgs, ListedKind, ManArgs, NewCommand, NewScenarioArgs, SchemaArgs, SchemaKind,
};
pub(crate) use link::{LateFrames, LinkArgs};
pub(crate) use nodes::{NodeArgs, RunArgs, SimulationArgs, TracingNodeArgs};
pub(crate) use rig::{PlateArgs, RigCommand, SlopeArgs, WheelArgs};
pub(crate) use sky::SkyArgs;
pub(crate) use study::{
    DriverArg, Method, StudyCommand, StudyConvoyArgs, StudyHeadingArgs, StudyScalingArgs, TerrainArg,
};
pub(crate) use terrain::{
    CropArgs, ExportArgs, HeightArg, InfoArgs, LayerArg, PreviewArgs, SampleArgs, SourceArgs, TerrainCommand,
};
pub(crate) use tools::{BenchArgs, CheckArgs, ConformanceArgs, FitArgs, HashArgs, RenderArgs, ValidateArgs};
pub(crate) use values::{PACE_MAX, PACE_MIN, PaceArg};
pub(crate) use viewers::ViewersArgs;

const ABOUT: &str = "Rovers on the Moon, for ROS 2: one process steps vehicle, soil and light, and everything leaves \
as ordinary ROS 2 topics.

Without a command, selene runs its default scenario: VIPER drives its route over a polar site until the route's end \
or Ctrl-C, and pictures and a summary are left under out/. Neither ROS, a GPU nor a network is needed.";

const EXAMPLES: &str = "Examples:
  selene                                             the default scenario, in real time
  selene run --for 20 --record out/bag               20 simulated seconds, recorded for `ros2 bag play`
  selene run --console                               watch it in a browser
  selene bag info out/bag                            what is in it
  selene run config/scenario/convoy.yaml             three rovers in one world
  selene run config/scenario/hadley.yaml --data DIR  the same drive on real ground
  selene list                                        scenarios, rovers, sites, soils and sensors
  selene new scenario mine; selene run mine.yaml     a scenario of your own
  selene check config/*/*.yaml                       are my files right?

Drive it yourself while it runs:
  ros2 topic pub -r 10 /cmd_vel geometry_msgs/msg/TwistStamped '{twist: {linear: {x: 0.1}}}'

Arguments of ROS go to run and the nodes: --ros-args -r FROM:=TO -p NAME:=VALUE --params-file FILE --

Environment: ROS_DOMAIN_ID (0 to 232, default 0), ROS_AUTOMATIC_DISCOVERY_RANGE (SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT), \
ROS_LOCALHOST_ONLY (1: as LOCALHOST), RMW_IMPLEMENTATION (rmw_fastrtps_cpp, rmw_fastrtps_dynamic_cpp, \
rmw_cyclonedds_cpp or unset), ROS_DISTRO (whose metadata a bag has), SELENE_DATA (as --data), RUST_LOG (what is logged, \
default warn), NO_COLOR (no colours).
Exit status: 0 when all went well, 1 when a run failed, 2 when the arguments or an input file were refused.";

/// The parsed command line.
#[derive(Debug, Parser)]
#[command(name = "selene", version, about = "Rovers on the Moon, for ROS 2", long_about = ABOUT)]
#[command(after_long_help = EXAMPLES, after_help = "`selene help COMMAND` shows more, with examples.")]
pub(crate) struct CommandLine {
    /// The command; `run` with the default scenario if none is given.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) verbosity: VerbosityArgs,
}

/// Verbosity.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct VerbosityArgs {
    /// Print more: the rates of topics during a run, and informative lines of the log
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Print nothing but results, addresses to connect to, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

/// The commands of `selene`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario in one process: simulation, cameras, lidar and navigation
    #[command(after_long_help = nodes::RUN_EXAMPLES)]
    Run(RunArgs),
    /// Step the world and publish its state: the simulation node alone
    #[command(after_long_help = nodes::SIMULATION_EXAMPLES)]
    Simulation(SimulationArgs),
    /// Render the scenario's cameras from the world state on DDS: the camera node alone
    #[command(after_long_help = nodes::CAMERA_EXAMPLES)]
    Camera(TracingNodeArgs),
    /// Scan with the scenario's lidars from the world state on DDS: the lidar node alone
    #[command(after_long_help = nodes::LIDAR_EXAMPLES)]
    Lidar(TracingNodeArgs),
    /// Sample inertial units, position fixes and the other instruments from the world state on DDS: the navigation node
    /// alone
    #[command(after_long_help = nodes::NAVIGATION_EXAMPLES)]
    Navigation(NodeArgs),
    /// Serve a page in a browser that shows a running simulation, over DDS
    #[command(after_long_help = console::EXAMPLES)]
    Console(ConsoleCommandArgs),
    /// List scenarios, rovers, sites, soils and sensors, each with a line
    #[command(after_long_help = library::LIST_EXAMPLES)]
    List(ListArgs),
    /// Create a file of your own
    #[command(subcommand)]
    New(NewCommand),
    /// Print the JSON Schemas of scenario, rover, soil, sensor and site files, for editors
    #[command(after_long_help = library::SCHEMA_EXAMPLES)]
    Schema(SchemaArgs),
    /// Print a script with which a shell completes Selene's commands
    #[command(after_long_help = library::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    #[command(after_long_help = library::MAN_EXAMPLES)]
    Man(ManArgs),
    /// Validate scenario, rover, soil, sensor, site (YAML) and URDF files
    #[command(after_long_help = tools::CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Make a rover file from any URDF or xacro, with guesses to check and a picture
    #[command(after_long_help = import::EXAMPLES)]
    Import(ImportArgs),
    /// Render one camera image of a scenario at one instant to a PNG file
    #[command(after_long_help = tools::RENDER_EXAMPLES)]
    Render(RenderArgs),
    /// Print where Sun and Earth are above a place, at an instant or over time
    #[command(after_long_help = sky::EXAMPLES)]
    Sky(SkyArgs),
    /// Test rigs for wheels and soil: a single wheel, a pressed plate, a rover on slopes
    #[command(subcommand)]
    Rig(RigCommand),
    /// Look at elevation files (GeoTIFF, PDS3, PDS4, ISIS, ASCII grid, PNG, NumPy); export a site's ground
    #[command(subcommand)]
    Terrain(TerrainCommand),
    /// Inspect, verify or play a recorded bag, or run other sensors over its drive
    #[command(subcommand)]
    Bag(BagCommand),
    /// Fit a soil of the data-driven law to measured slip and sinkage
    #[command(after_long_help = tools::FIT_EXAMPLES)]
    Fit(FitArgs),
    /// Fit sensors to their own measurements
    #[command(subcommand)]
    Calibrate(CalibrateCommand),
    /// Compare wheels and soil with measurements and with other simulators
    #[command(after_long_help = tools::VALIDATE_EXAMPLES)]
    Validate(ValidateArgs),
    /// Reproduce published studies, with figures beside the papers'
    #[command(subcommand)]
    Study(StudyCommand),
    /// Run many scenarios, seeds and values, and make one table of the results
    #[command(after_long_help = campaign::EXAMPLES)]
    Campaign(CampaignArgs),
    /// Print the hash of the world's state after some simulated time
    #[command(after_long_help = tools::HASH_EXAMPLES)]
    Hash(HashArgs),
    /// Test a live Selene over ROS 2: topics, types, QoS, frames, stamps, rates, images, services
    #[command(after_long_help = tools::CONFORMANCE_EXAMPLES)]
    Conformance(ConformanceArgs),
    /// Measure the figures of docs/performance.md
    #[command(after_long_help = tools::BENCH_EXAMPLES)]
    Bench(BenchArgs),
}

/// Options that define a world, the same for every node.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WorldArgs {
    /// Folder with third-party data that some sites need [default: the environment's SELENE_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Replace the scenario's seed: other craters, rocks and noise
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Replace the instant at which simulated time is zero, such as 2026-11-21T12:00:00Z: another Sun, another Earth
    #[arg(long, value_name = "UTC")]
    pub(crate) utc: Option<Utc>,
    /// Replace the only rover, by a name of config/rover or a file: it carries the sensors that its own file names
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) rover: Option<String>,
    /// Replace the scenario's soil everywhere, by a name of config/soil or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soil: Option<String>,
    /// Replace any value of the scenario's file, such as route.speed_m_s=0.1 or sensors.0=imu; may be given several
    /// times
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
    /// Replace the namespace of the topics of a scenario's only rover; `/` for none
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Replace where the only rover starts: map x (east), m
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) x: Option<f64>,
    /// Replace where the only rover starts: map y (north), m
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) y: Option<f64>,
    /// Drop the only rover from this height above its stance on the ground, m
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) z: Option<f64>,
    /// Replace the only rover's heading: degrees from x (east), counter-clockwise
    #[arg(long, value_name = "DEG", allow_negative_numbers = true)]
    pub(crate) yaw: Option<f64>,
}

/// Pace, duration and clock of simulated time, and how the run is controlled.
#[derive(Clone, Debug, Args)]
pub(crate) struct PacingArgs {
    /// Simulated seconds to run, after those of a checkpoint [default: until the routes' end or Ctrl-C]
    #[arg(long = "for", value_name = "SECONDS", value_parser = values::seconds, allow_negative_numbers = true)]
    pub(crate) duration: Option<SimTime>,
    /// `real-time`, `fast` (as fast as possible, no frame lost) or a factor from 0.001 to 1000 (4: four simulated
    /// seconds a second)
    #[arg(long, value_name = "PACE", default_value = "real-time", allow_negative_numbers = true)]
    pub(crate) pace: PaceArg,
    /// Clock that a run in real time follows: `simulation` (lost time stays lost), `wall` (UTC of this machine) or
    /// `ptp:DEVICE` (a network card's hardware clock, such as ptp:/dev/ptp0); with the last two a late run catches up
    #[arg(long, value_name = "CLOCK", default_value = "simulation", value_parser = link::clock_authority)]
    pub(crate) clock_authority: ClockAuthority,
    /// Keep the pace in a real-time thread (SCHED_FIFO) of this priority, 1 to 99; needs root, CAP_SYS_NICE or a limit
    /// `rtprio`
    #[arg(long, value_name = "N")]
    pub(crate) realtime_priority: Option<RealtimePriority>,
    /// Expect cmd_vel as geometry_msgs/Twist instead of TwistStamped
    #[arg(long)]
    pub(crate) twist_unstamped: bool,
    /// Begin paused: simulated time waits for the service set_simulation_state or for steps
    #[arg(long)]
    pub(crate) start_paused: bool,
    /// Serve the services of simulation_interfaces at the root too (/spawn_entity), not only under the node's name
    #[arg(long)]
    pub(crate) control_at_root: bool,
}

/// Saving and resuming of checkpoints.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CheckpointArgs {
    /// Save the whole state every SECONDS simulated seconds, and at the end
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds, requires = "checkpoint_dir", allow_negative_numbers = true)]
    pub(crate) checkpoint_every: Option<SimTime>,
    /// Folder for checkpoints; made if missing
    #[arg(long, value_name = "DIR", requires = "checkpoint_every")]
    pub(crate) checkpoint_dir: Option<PathBuf>,
    /// Resume from a checkpoint of the same scenario, seed and data
    #[arg(long, value_name = "FILE", conflicts_with = "ruts")]
    pub(crate) resume: Option<PathBuf>,
}

/// The id of a run.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunIdArgs {
    /// The run's name among the runs of a ROS domain: letters, digits and _
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<RunId>,
}

/// Discovery over the network.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NetworkArgs {
    /// Discover only nodes on this machine, whatever ROS_AUTOMATIC_DISCOVERY_RANGE says
    #[arg(long, conflicts_with = "interface")]
    pub(crate) localhost_only: bool,
    /// Use only one network interface, by its name or an IPv4 address of it [default: all]
    #[arg(long, value_name = "NAME_OR_ADDRESS")]
    pub(crate) interface: Option<String>,
}

/// Driven ground: loading it from an earlier run, and saving it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RutsArgs {
    /// Begin on the driven ground of an earlier run, which had the same site and seed, or of a checkpoint
    #[arg(long, value_name = "FILE")]
    pub(crate) ruts: Option<PathBuf>,
    /// Save the driven ground at the end, also of a failed run; replaces the file, which may be that of --ruts
    #[arg(long, value_name = "FILE")]
    pub(crate) save_ruts: Option<PathBuf>,
}

/// The device that traces rays.
#[derive(Clone, Debug, Args)]
pub(crate) struct DeviceArgs {
    /// Device that traces rays: a GPU if a real one is found, a GPU or nothing (software Vulkan counts), or the CPU
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub(crate) device: Device,
}

/// The device that steps granular soil.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct SoilDeviceArgs {
    /// Device that steps granular soil: the CPU, or a GPU (software Vulkan counts), whose results differ by rounding
    #[arg(long, value_enum, default_value_t = SoilDevice::Cpu)]
    pub(crate) soil_device: SoilDevice,
}

/// Choices of `--soil-device`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SoilDevice {
    /// All CPU cores: the same bytes on every machine
    #[default]
    Cpu,
    /// A GPU, also a software Vulkan device; refused when there is none
    Gpu,
}

/// Choices of `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// A real GPU if there is one, else the CPU
    Auto,
    /// A GPU, also a software Vulkan device; refused when there is none, replaced by the CPU if it fails later
    Gpu,
    /// All CPU cores
    Cpu,
}
