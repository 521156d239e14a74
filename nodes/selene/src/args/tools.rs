//! Arguments of the commands that check, render and measure.

use std::path::PathBuf;

use clap::Args;
use selene_base::SimTime;

use super::values::{seconds, threads};
use super::{DeviceArgs, NetworkArgs, SoilDeviceArgs, WorldArgs};

pub(super) const CHECK_EXAMPLES: &str = "Examples:
  selene check config/*/*.yaml urdf/viper/viper.urdf
  selene check config/scenario/hadley.yaml --data DIR
  selene check mine.yaml --explain    every value of a scenario, also those that its file leaves out

The content of a file determines its kind. A refused file is reported with its line, the value and what is allowed; \
the exit status is then 2.";

/// Arguments of `selene check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Files to validate
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Folder with third-party data that some sites need [default: the environment's SELENE_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print every value of a scenario, and which of them are defaults
    #[arg(long)]
    pub(crate) explain: bool,
}

pub(super) const FIT_EXAMPLES: &str = "Example:
  selene fit runs.csv --out config/soil/my_sand.yaml --plot out/my_sand.png

Columns, by name: rim_speed_m_s (wheel rate times radius), slope_deg (downhill negative), slip, load_n, sinkage_m. slip, \
or load_n and sinkage_m, may be missing: what was not measured is that of --other. Coefficients are given with their 95 % \
confidence intervals. A table with gaps is refused with file and line.";

/// Arguments of `selene fit`.
#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// The measured runs
    #[arg(value_name = "FILE.csv")]
    pub(crate) file: PathBuf,
    /// The soil file to write
    #[arg(long, value_name = "SOIL.yaml")]
    pub(crate) out: Option<PathBuf>,
    /// The plot to write
    #[arg(long, value_name = "FILE.png")]
    pub(crate) plot: Option<PathBuf>,
    /// Name of the soil [default: the table's file name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Soil of the data-driven law that gives all values that are not fitted
    #[arg(long, value_name = "NAME|FILE", default_value = "tohoku_silica5_ex1")]
    pub(crate) other: String,
}

pub(super) const VALIDATE_EXAMPLES: &str = "Examples:
  selene validate               the figures beside their limits; nothing is written
  selene validate --out docs    also writes docs/validation.md and docs/images/validation_*.png
  selene validate --json        the figures as JSON

The exit status is 1 when a figure is not met. Selene has the means of the measured wheels and the reference curves. Trials one by one are read from DIR/wheel where \
--data DIR has that folder, other curves from --reference.";

/// Arguments of `selene validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Folder with third-party data [default: the environment's SELENE_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Folder with reference curves of other simulators [default: the environment's SELENE_REFERENCE, else Selene's
    /// own]
    #[arg(long, value_name = "DIR")]
    pub(crate) reference: Option<PathBuf>,
    /// Folder for validation.md and images/ [default: nothing is written]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const RENDER_EXAMPLES: &str = "Examples:
  selene render config/scenario/polar.yaml --camera navcam_left --at 5 --out out/view.png
  selene render config/scenario/viper_views.yaml --at 12 --out out/views    every camera, each to out/views/NAME.png

The rover follows the scenario's route until the requested instant; each image is the last one that its camera would \
publish until then, noise and ruts included.";

/// Arguments of `selene render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Name of one of the scenario's cameras [default: all of them]
    #[arg(long, value_name = "NAME")]
    pub(crate) camera: Option<String>,
    /// Simulated seconds since the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) at: SimTime,
    /// The PNG file to write; without --camera the folder for all images, made if missing
    #[arg(long, value_name = "FILE.png|DIR")]
    pub(crate) out: PathBuf,
    /// Begin on the driven ground that `selene run --save-ruts` left
    #[arg(long, value_name = "FILE")]
    pub(crate) ruts: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

pub(super) const HASH_EXAMPLES: &str = "Example:
  selene hash config/scenario/polar.yaml --for 5 --threads 4

The same scenario and seed give the same hash for any number of threads, in one process or in several in lockstep.";

/// Arguments of `selene hash`.
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
    /// Begin on the driven ground that `selene run --save-ruts` left
    #[arg(long, value_name = "FILE")]
    pub(crate) ruts: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) granular: SoilDeviceArgs,
}

pub(super) const CONFORMANCE_EXAMPLES: &str = "Examples:
  selene run & selene conformance
  selene conformance --for 30 --rover viper --json

Joins the ROS_DOMAIN_ID as a peer, waits 30 s at most for the first /clock, listens, and reports of each check what was \
measured and what is expected (docs/topics.md). Topics are those that /diagnostics lists; one that is listed and not received has another type or quality \
of service than expected. Services are called where they are served, getters alone. Let it run for several periods of \
the slowest sensor. Lines that begin with - could not be measured and are no failure. The exit status is 1 when a check \
fails.";

/// Arguments of `selene conformance`.
#[derive(Debug, Args)]
pub(crate) struct ConformanceArgs {
    /// Seconds to listen (wall time), after discovery
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds, default_value = "10", allow_negative_numbers = true)]
    pub(crate) duration: SimTime,
    /// Test only this rover's topics; `/` for topics without a namespace [default: all rovers]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) rover: Option<String>,
    /// Print the findings as a JSON list
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

pub(super) const BENCH_EXAMPLES: &str = "Examples:
  selene bench                          all figures beside their limits
  selene bench --json > figures.json    a list of {name, value, unit}; a note where infinite
  selene bench cpu_rays_per_s           one of them

Figures: viper_scm_2cm_wall_over_sim, viper_scm_1cm_wall_over_sim, curiosity_rocks_wall_over_sim, vehicles_per_core, hour_step_drift (an hour on 5 cm in \
2 ms steps), rut_bytes_per_node, rut_other_bytes_per_node (what memory grows by beside the ruts), cpu_rays_per_s, rays_per_s_flat, tile_256m_s, height_queries_per_s, site_20km_memory_bytes, terrain_stall_s, drive_frame_drift (5 km of ground), default_scenario_wall_over_sim, first_image_s, binary_bytes, peak_memory_bytes, console_ten_clients_cost (ten pages at its console), console_key_to_wheel_s, console_page_bytes, console_first_image_s (one page that drives), \
ten_vipers_2cm_wall_over_sim (one world), shared_vehicles_5cm (of one world, in real time), two_process_over_one (one world in two processes \
over one), free_ground_drift_m, free_pose_drift_m (two processes with --free and one, apart at the end), world_clone_s, world_clone_bytes, branch_first_heartbeat_s (of a copy), checkpoint_s, resume_s (after 100 m), image_640x360_p99_s, cpu_camera_640x360_fps, image_pipeline_over_tracing (every stage of developing), grains_drawn_fps, gpu_rays_per_s, gpu_camera_1280x720_fps, gpu_grains_drawn_fps (ten million), gpu_lidar_eight_os1_wall_over_sim (with a GPU, or when named), lidar_vlp16_wall_over_sim, lidar_hdl32e_wall_over_sim, lidar_os1_five_rays_over_one, imu_1khz_core_share, lockstep_overhead_s, hil_tick_p999_s, hil_tick_realtime_p999_s, scm_with_bulldozing_over_without, dust_overhead, crm_points_per_s, gpu_crm_points_per_s (1.3 million, with a GPU, or when named), gpu_crm_reading_over_steps, gpu_crm_reading_over_return (what a heartbeat reads of points on a GPU, over its steps, and over points that come back), crm_viper_wall_over_sim, rassor_dig_wall_over_sim, dem_grains_per_s, gpu_dem_grains_per_s (a million, with a GPU, or when named). _wall_over_sim is wall over simulated time: below 1 is faster than real time.";

/// Arguments of `selene bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Figures to measure [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print a JSON list instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::BENCH_EXAMPLES;

    #[test]
    fn the_help_names_every_figure() {
        let words: Vec<&str> = BENCH_EXAMPLES.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for name in selene_bench::names() {
            assert!(words.contains(&name), "{name}");
        }
    }
}
