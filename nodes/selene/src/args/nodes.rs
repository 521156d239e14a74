//! Arguments of `selene run` and of the node commands.

use std::path::PathBuf;

use clap::Args;

use super::{
    CheckpointArgs, ConsoleArgs, DeviceArgs, LinkArgs, NetworkArgs, PacingArgs, RecordingArgs, RunIdArgs, RutsArgs,
    SoilDeviceArgs, ViewersArgs, WorldArgs,
};

/// Names of the nodes for which `--participants` can make the simulation wait.
const PARTICIPANTS: [&str; 3] = [selene_camera::PARTICIPANT, selene_lidar::PARTICIPANT, selene_navigation::PARTICIPANT];

pub(super) const RUN_EXAMPLES: &str = "Examples:
  selene run --for 20 --record out/bag
  selene run --record out/bag --record-topics '^/navcam|^/tf' --record-max-size 500M
  selene run config/scenario/hadley.yaml --data DIR --pace fast --for 60 --no-dds
  selene run --save-ruts out/day1.state; selene run --ruts out/day1.state --x 4 --y 0
  selene run --foxglove                             watch it in Foxglove or Lichtblick: docs/foxglove_rerun.md
  selene run --for 10 --checkpoint-every 5 --checkpoint-dir out/states
  selene run --resume out/states/000010.000s.state --for 10

A rover obeys cmd_vel (geometry_msgs/TwistStamped: linear.x and linear.y in m/s, angular.z in rad/s) the moment someone publishes \
it and stops after 0.5 s without a command; until then it follows the scenario's route. At the end a summary is \
printed, and contact_sheet.png, path.png and wheels.png lie in the --out folder; first_image.png lies there from the first \
image on. Ctrl-C ends cleanly; a second Ctrl-C \
a second later or more ends at once.

The console's page (--console-control) and the service load_world switch to another scenario; what that writes gets a number \
(out_2, bag_2), and options about the first scenario do not hold for it: docs/topics.md, Another world.

A robot's computer in the loop: a scenario with `lockstep:` waits for its commands (config/scenario/sil.yaml); --clock-authority, \
--late-frames and --bandwidth-limit are for one on the network, --impair makes that network worse on purpose.";

/// Arguments of `selene run`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// The scenario file [default: config/scenario/polar.yaml]
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) granular: SoilDeviceArgs,
    #[command(flatten)]
    pub(crate) pacing: PacingArgs,
    /// Record every topic that this process publishes to a new rosbag2 folder (MCAP) for `ros2 bag play`
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) ruts: RutsArgs,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,
    #[command(flatten)]
    pub(crate) run: RunIdArgs,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Folder for the pictures; made if missing, pictures of an earlier run are replaced
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) console: ConsoleArgs,
    #[command(flatten)]
    pub(crate) viewers: ViewersArgs,
    /// Publish nothing over DDS: for machines without a usable network interface
    #[arg(long)]
    pub(crate) no_dds: bool,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Step only the world: no camera, lidar or other sensor
    #[arg(long)]
    pub(crate) no_sensors: bool,
    /// Draw no pictures at the end
    #[arg(long, conflicts_with = "out")]
    pub(crate) no_pictures: bool,
    /// Write the run's figures to this file, as JSON: time, distance, slip, sinkage, final poses, the state's hash
    #[arg(long, value_name = "FILE.json")]
    pub(crate) figures: Option<PathBuf>,
    /// Print the JSON lines that `selene bench` reads
    #[arg(long, hide = true)]
    pub(crate) report: bool,
}

pub(super) const SIMULATION_EXAMPLES: &str = "Example, four processes in lockstep (each in its own terminal):
  selene camera --scenario config/scenario/polar.yaml
  selene lidar --scenario config/scenario/polar.yaml
  selene navigation --scenario config/scenario/polar.yaml
  selene simulation --scenario config/scenario/polar.yaml --participants camera,lidar,navigation --for 20

One world in two simulation processes, in step with each other:
  selene simulation --scenario config/scenario/convoy.yaml --run convoy --own viper --for 20
  selene simulation --scenario config/scenario/convoy.yaml --run convoy --own ex1,sorato --for 20

Every node must be given the same scenario, --seed and --data; ruts of an earlier run (--ruts) and a checkpoint (--resume) \
are given to the simulation alone, from which the others request what they need. A node takes part in the first run of its own \
world on its ROS_DOMAIN_ID, or in the one that --run names. Without --participants the simulation runs freely and \
a slow sensor node leaves out frames; with it, simulated time waits for the nodes named.";

/// Arguments of `selene simulation`.
#[derive(Debug, Args)]
pub(crate) struct SimulationArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    pub(crate) granular: SoilDeviceArgs,
    #[command(flatten)]
    pub(crate) pacing: PacingArgs,
    /// Record what this node publishes (no camera, lidar, IMU or fix) to a new rosbag2 folder (MCAP)
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) ruts: RutsArgs,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
    /// Nodes that simulated time waits for, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = PARTICIPANTS)]
    pub(crate) participants: Vec<String>,
    /// Simulate only these rovers, by name, separated by commas; other processes of the same --run simulate the others
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "run")]
    pub(crate) own: Vec<String>,
    /// Rovers that must have a process before the world begins; others stand still until theirs joins [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "own")]
    pub(crate) await_rovers: Vec<String>,
    /// Do not wait for the other processes' heartbeats: each keeps its own pace, and no two runs are the same
    #[arg(long, requires = "own")]
    pub(crate) free: bool,
}

/// Arguments that every node command has.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The scenario file, the same for every node [default: config/scenario/polar.yaml]
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) run: RunIdArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

pub(super) const CAMERA_EXAMPLES: &str = "Example:
  selene camera --scenario config/scenario/polar.yaml --device cpu

Waits for a `selene simulation` of the same scenario on this ROS_DOMAIN_ID, requests the ruts made so far, and ends \
with it. May be stopped and started again at any time.";

pub(super) const LIDAR_EXAMPLES: &str = "Example:
  selene lidar --scenario config/scenario/polar.yaml --device cpu

Waits for a `selene simulation` of the same scenario on this ROS_DOMAIN_ID, requests the ruts made so far, and ends \
with it. May be stopped and started again at any time.";

pub(super) const NAVIGATION_EXAMPLES: &str = "Example:
  selene navigation --scenario config/scenario/polar.yaml

Waits for a `selene simulation` of the same scenario on this ROS_DOMAIN_ID and ends with it.";

/// Arguments of `selene camera` and `selene lidar`, which trace rays.
#[derive(Debug, Args)]
pub(crate) struct TracingNodeArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
