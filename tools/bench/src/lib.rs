//! Benchmarks of Selene: each figure is compared with its required value. `_wall_over_sim` in
//! a name is wall over simulated time, the inverse of the real-time factor that the program prints.

mod child;
mod client;
mod console;
mod convoy;
mod free;
mod grains;
mod granular;
mod hour;
mod images;
mod instruments;
mod land;
mod latency;
mod lidar;
mod loops;
mod page;
mod physics;
mod processes;
mod rays;
mod run_line;
mod setting;

use std::fmt::Display;

use serde::Serialize;

use child::ChildRun;
use convoy::StateCosts;
use free::Drift;
use granular::ReadingOver;
use hour::Hour;
use land::Drive;
use page::Page;

pub use run_line::RunLine;
pub use setting::{OpenGpu, OpenSoilDevice, OpenSpheresDevice, OpenWire, Setting};

/// Why a figure was not measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BenchError {
    /// There is no figure with this name.
    #[error(
        "{name}: no such figure; there are {known}; those of environments are measured by `python -m selene.bench`"
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// Names of all figures.
        known: String,
    },
    /// The measurement failed.
    #[error("{0}")]
    Failed(String),
}

impl BenchError {
    /// A failed measurement, with its reason.
    pub fn new(why: impl Display) -> Self {
        Self::Failed(why.to_string())
    }
}

/// A figure that can be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    ViperScm2cmWallOverSim,
    ViperScm1cmWallOverSim,
    ScmWithBulldozingOverWithout,
    CuriosityRocksWallOverSim,
    VehiclesPerCore,
    DustOverhead,
    HourStepDrift,
    RutBytesPerNode,
    RutOtherBytesPerNode,
    CpuRaysPerS,
    RaysPerSFlat,
    Tile256mS,
    HeightQueriesPerS,
    Site20kmMemoryBytes,
    TerrainStallS,
    DriveFrameDrift,
    DefaultScenarioWallOverSim,
    FirstImageS,
    BinaryBytes,
    PeakMemoryBytes,
    ConsoleTenClientsCost,
    ConsoleKeyToWheelS,
    ConsolePageBytes,
    ConsoleFirstImageS,
    Image640x360P99S,
    CpuCamera640x360Fps,
    ImagePipelineOverTracing,
    GrainsDrawnFps,
    GpuRaysPerS,
    GpuCamera1280x720Fps,
    GpuGrainsDrawnFps,
    GpuLidarEightOs1WallOverSim,
    LidarVlp16WallOverSim,
    LidarHdl32eWallOverSim,
    LidarOs1FiveRaysOverOne,
    TenVipers2cmWallOverSim,
    SharedVehicles5cm,
    TwoProcessOverOne,
    FreeGroundDriftM,
    FreePoseDriftM,
    WorldCloneS,
    WorldCloneBytes,
    BranchFirstHeartbeatS,
    CheckpointS,
    ResumeS,
    HilTickP999S,
    HilTickRealtimeP999S,
    LockstepOverheadS,
    Imu1khzCoreShare,
    CrmPointsPerS,
    CrmViperWallOverSim,
    RassorDigWallOverSim,
    GpuCrmPointsPerS,
    GpuCrmReadingOverSteps,
    GpuCrmReadingOverReturn,
    DemGrainsPerS,
    GpuDemGrainsPerS,
}

/// Each figure with its name, unit and requirement.
const FIGURES: &[(Name, &str, &str, Requirement)] = &[
    (Name::ViperScm2cmWallOverSim, "viper_scm_2cm_wall_over_sim", "wall/simulated", Requirement::AtMost(0.25)),
    (Name::ViperScm1cmWallOverSim, "viper_scm_1cm_wall_over_sim", "wall/simulated", Requirement::AtMost(0.5)),
    (Name::ScmWithBulldozingOverWithout, "scm_with_bulldozing_over_without", "", Requirement::AtMost(1.3)),
    (Name::CuriosityRocksWallOverSim, "curiosity_rocks_wall_over_sim", "wall/simulated", Requirement::AtMost(1.0)),
    (Name::VehiclesPerCore, "vehicles_per_core", "vehicles", Requirement::AtLeast(20.0)),
    (Name::DustOverhead, "dust_overhead", "of a run without", Requirement::AtMost(0.1)),
    (Name::HourStepDrift, "hour_step_drift", "", Requirement::AtMost(0.05)),
    (Name::RutBytesPerNode, "rut_bytes_per_node", "B", Requirement::AtMost(16.0)),
    (Name::RutOtherBytesPerNode, "rut_other_bytes_per_node", "B", Requirement::AtMost(1.0)),
    (Name::CpuRaysPerS, "cpu_rays_per_s", "1/s", Requirement::AtLeast(4e6)),
    (Name::RaysPerSFlat, "rays_per_s_flat", "1/s", Requirement::Beside("cpu_rays_per_s")),
    (Name::Tile256mS, "tile_256m_s", "s", Requirement::AtMost(1.0)),
    (Name::HeightQueriesPerS, "height_queries_per_s", "1/s", Requirement::AtLeast(5e6)),
    (Name::Site20kmMemoryBytes, "site_20km_memory_bytes", "B", Requirement::AtMost(1.5e9)),
    (Name::TerrainStallS, "terrain_stall_s", "s", Requirement::AtMost(0.01)),
    (Name::DriveFrameDrift, "drive_frame_drift", "", Requirement::AtMost(0.05)),
    (Name::DefaultScenarioWallOverSim, "default_scenario_wall_over_sim", "wall/simulated", Requirement::AtMost(1.0)),
    (Name::FirstImageS, "first_image_s", "s", Requirement::AtMost(2.0)),
    (Name::BinaryBytes, "binary_bytes", "B", Requirement::AtMost(60e6)),
    (Name::PeakMemoryBytes, "peak_memory_bytes", "B", Requirement::AtMost(1e9)),
    (Name::ConsoleTenClientsCost, "console_ten_clients_cost", "", Requirement::AtMost(0.05)),
    (Name::ConsoleKeyToWheelS, "console_key_to_wheel_s", "s", Requirement::AtMost(0.05)),
    (Name::ConsolePageBytes, "console_page_bytes", "B", Requirement::AtMost(1.5e6)),
    (Name::ConsoleFirstImageS, "console_first_image_s", "s", Requirement::AtMost(2.0)),
    (Name::Image640x360P99S, "image_640x360_p99_s", "s", Requirement::AtMost(0.020)),
    (Name::CpuCamera640x360Fps, "cpu_camera_640x360_fps", "1/s", Requirement::AtLeast(8.0)),
    (Name::ImagePipelineOverTracing, "image_pipeline_over_tracing", "", Requirement::AtMost(1.0)),
    (Name::GrainsDrawnFps, "grains_drawn_fps", "1/s", Requirement::AtLeast(3.0)),
    (Name::GpuRaysPerS, "gpu_rays_per_s", "1/s", Requirement::AtLeast(1e9)),
    (Name::GpuCamera1280x720Fps, "gpu_camera_1280x720_fps", "1/s", Requirement::AtLeast(500.0)),
    (Name::GpuGrainsDrawnFps, "gpu_grains_drawn_fps", "1/s", Requirement::AtLeast(60.0)),
    (
        Name::GpuLidarEightOs1WallOverSim,
        "gpu_lidar_eight_os1_wall_over_sim",
        "wall/simulated",
        Requirement::AtMost(1.0),
    ),
    (Name::LidarVlp16WallOverSim, "lidar_vlp16_wall_over_sim", "wall/simulated", Requirement::AtMost(0.3)),
    (Name::LidarHdl32eWallOverSim, "lidar_hdl32e_wall_over_sim", "wall/simulated", Requirement::AtMost(0.7)),
    (Name::LidarOs1FiveRaysOverOne, "lidar_os1_five_rays_over_one", "", Requirement::AtMost(5.0)),
    (Name::TenVipers2cmWallOverSim, "ten_vipers_2cm_wall_over_sim", "wall/simulated", Requirement::AtMost(0.6)),
    (Name::SharedVehicles5cm, "shared_vehicles_5cm", "vehicles", Requirement::AtLeast(100.0)),
    (Name::TwoProcessOverOne, "two_process_over_one", "of one process", Requirement::AtMost(1.2)),
    (Name::FreeGroundDriftM, "free_ground_drift_m", "m", Requirement::Nothing),
    (Name::FreePoseDriftM, "free_pose_drift_m", "m", Requirement::Nothing),
    (Name::WorldCloneS, "world_clone_s", "s", Requirement::AtMost(0.002)),
    (Name::WorldCloneBytes, "world_clone_bytes", "B", Requirement::AtMost(1e6)),
    (Name::BranchFirstHeartbeatS, "branch_first_heartbeat_s", "s", Requirement::Nothing),
    (Name::CheckpointS, "checkpoint_s", "s", Requirement::AtMost(0.2)),
    (Name::ResumeS, "resume_s", "s", Requirement::AtMost(0.2)),
    (Name::HilTickP999S, "hil_tick_p999_s", "s", Requirement::AtMost(0.0005)),
    (Name::HilTickRealtimeP999S, "hil_tick_realtime_p999_s", "s", Requirement::AtMost(0.0005)),
    (Name::LockstepOverheadS, "lockstep_overhead_s", "s", Requirement::AtMost(0.0003)),
    (Name::Imu1khzCoreShare, "imu_1khz_core_share", "of a core", Requirement::AtMost(0.01)),
    (Name::CrmPointsPerS, "crm_points_per_s", "1/s", Requirement::AtLeast(2e7)),
    (Name::GpuCrmPointsPerS, "gpu_crm_points_per_s", "1/s", Requirement::AtLeast(2e9)),
    (Name::GpuCrmReadingOverSteps, "gpu_crm_reading_over_steps", "", Requirement::Nothing),
    (Name::GpuCrmReadingOverReturn, "gpu_crm_reading_over_return", "", Requirement::AtMost(1.0)),
    (Name::CrmViperWallOverSim, "crm_viper_wall_over_sim", "wall/simulated", Requirement::AtMost(1.0)),
    (Name::RassorDigWallOverSim, "rassor_dig_wall_over_sim", "wall/simulated", Requirement::AtMost(4.0)),
    (Name::DemGrainsPerS, "dem_grains_per_s", "1/s", Requirement::Nothing),
    (Name::GpuDemGrainsPerS, "gpu_dem_grains_per_s", "1/s", Requirement::AtLeast(1e9)),
];

/// Figures that come from the hour's drive.
const HOURS: [Name; 3] = [Name::HourStepDrift, Name::RutBytesPerNode, Name::RutOtherBytesPerNode];

/// Figures of a GPU in hardware.
const OF_GPU: [Name; 8] = [
    Name::GpuRaysPerS,
    Name::GpuCamera1280x720Fps,
    Name::GpuGrainsDrawnFps,
    Name::GpuLidarEightOs1WallOverSim,
    Name::GpuCrmPointsPerS,
    Name::GpuCrmReadingOverSteps,
    Name::GpuCrmReadingOverReturn,
    Name::GpuDemGrainsPerS,
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Requirement {
    AtMost(f64),
    AtLeast(f64),
    /// Reported for comparison with another figure.
    Beside(&'static str),
    /// Reported without a requirement.
    Nothing,
}

/// A measured figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Name of the figure.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// A remark on the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    #[serde(skip)]
    required: Requirement,
}

/// Represents infinity in JSON, which lacks it: above any limit.
const INFINITE_IN_JSON: f64 = f64::MAX;

/// Measurements that several figures share, made once.
#[derive(Default)]
struct Measured {
    child: Option<ChildRun>,
    hour: Option<Hour>,
    drive: Option<Drive>,
    page: Option<Page>,
    state: Option<StateCosts>,
    free: Option<Drift>,
}

/// Measures the named figures, or all that this machine can give. Calls `begin` with each name before its measurement,
/// and `end` with the result.
///
/// # Errors
/// When a name is unknown, or a figure cannot be measured.
pub fn measure(
    names: &[String],
    setting: &Setting,
    begin: impl Fn(&str),
    mut end: impl FnMut(&Figure),
) -> Result<Vec<Figure>, BenchError> {
    let chosen = choose(names)?;
    let mut measured = Measured::default();
    // Measured first: memory that other figures freed would hide the growth over the hour.
    if chosen.iter().any(|(name, ..)| HOURS.contains(name)) {
        begin("an hour of driving");
        measured.hour = Some(hour::measure(setting)?);
    }
    // Asked only now, for the same reason: it loads the drivers.
    let is_possible = |name: Name| !OF_GPU.contains(&name) || !names.is_empty() || (setting.has_gpu)();
    let mut figures = Vec::new();
    for (name, text, unit, required) in chosen.into_iter().filter(|(name, ..)| is_possible(*name)) {
        begin(text);
        let figure = Figure::new(text, value(name, setting, &mut measured)?, unit, required);
        end(&figure);
        figures.push(figure);
    }
    Ok(figures)
}

/// Names of all figures.
pub fn names() -> impl Iterator<Item = &'static str> {
    FIGURES.iter().map(|(_, text, ..)| *text)
}

fn choose(names: &[String]) -> Result<Vec<(Name, &'static str, &'static str, Requirement)>, BenchError> {
    if names.is_empty() {
        return Ok(FIGURES.to_vec());
    }
    let find = |name: &String| {
        let known = || self::names().collect::<Vec<_>>().join(", ");
        let figure = FIGURES.iter().find(|(_, text, _, _)| text == name).copied();
        figure.ok_or_else(|| BenchError::Unknown { name: name.clone(), known: known() })
    };
    names.iter().map(find).collect()
}

fn value(name: Name, setting: &Setting, measured: &mut Measured) -> Result<f64, BenchError> {
    let of_hour = |of: fn(Hour) -> f64| measured.hour.map_or(f64::NAN, of);
    Ok(match name {
        Name::ViperScm2cmWallOverSim => physics::wall_over_simulated(setting)?,
        Name::ViperScm1cmWallOverSim => physics::fine_wall_over_simulated(setting)?,
        Name::ScmWithBulldozingOverWithout => physics::bulldozing_over_without(setting)?,
        Name::CuriosityRocksWallOverSim => physics::rocks_wall_over_simulated(setting)?,
        Name::VehiclesPerCore => physics::vehicles_per_core(setting)?,
        Name::DustOverhead => physics::dust_overhead(setting)?,
        Name::HourStepDrift => of_hour(|hour| hour.step_drift),
        Name::RutBytesPerNode => of_hour(|hour| hour.rut_bytes_per_node),
        Name::RutOtherBytesPerNode => of_hour(|hour| hour.other_bytes_per_node),
        Name::CpuRaysPerS => rays::rays_per_s(setting)?,
        Name::RaysPerSFlat => rays::flat_rays_per_s(setting)?,
        Name::Tile256mS => land::tile_256m_s(setting)?,
        Name::HeightQueriesPerS => land::height_queries_per_s(setting)?,
        Name::Site20kmMemoryBytes => measured.drive(setting)?.memory_bytes,
        Name::TerrainStallS => measured.drive(setting)?.stall_s,
        Name::DriveFrameDrift => measured.drive(setting)?.frame_drift,
        Name::DefaultScenarioWallOverSim => child::run_once(&mut measured.child, setting)?.wall_over_simulated(),
        Name::FirstImageS => child::run_once(&mut measured.child, setting)?.first_image_s,
        Name::BinaryBytes => child::binary_bytes(setting)?,
        Name::PeakMemoryBytes => child::run_once(&mut measured.child, setting)?.peak_memory_bytes,
        Name::ConsoleTenClientsCost => child::console_cost(&mut measured.child, setting)?,
        Name::ConsoleKeyToWheelS => measured.page(setting)?.key_to_wheel_s,
        Name::ConsolePageBytes => measured.page(setting)?.bytes,
        Name::ConsoleFirstImageS => measured.page(setting)?.first_image_s,
        Name::Image640x360P99S => latency::p99_s(setting)?,
        Name::CpuCamera640x360Fps => images::frames_per_s(setting)?,
        Name::ImagePipelineOverTracing => images::pipeline_over_tracing(setting)?,
        Name::GrainsDrawnFps => grains::frames_per_s()?,
        Name::GpuRaysPerS => rays::gpu_rays_per_s(setting)?,
        Name::GpuCamera1280x720Fps => images::gpu_frames_per_s(setting)?,
        Name::GpuGrainsDrawnFps => grains::gpu_frames_per_s(setting)?,
        Name::GpuLidarEightOs1WallOverSim => lidar::eight_os1_on_gpu(setting)?,
        Name::LidarVlp16WallOverSim => lidar::vlp16_wall_over_simulated(setting)?,
        Name::LidarHdl32eWallOverSim => lidar::hdl32e_wall_over_simulated(setting)?,
        Name::LidarOs1FiveRaysOverOne => lidar::five_rays_over_one(setting)?,
        Name::TenVipers2cmWallOverSim => convoy::ten_vipers(setting)?,
        Name::SharedVehicles5cm => convoy::shared_vehicles(setting)?,
        Name::TwoProcessOverOne => processes::two_over_one(setting)?,
        Name::FreeGroundDriftM => measured.free(setting)?.ground_m,
        Name::FreePoseDriftM => measured.free(setting)?.pose_m,
        Name::WorldCloneS => measured.state(setting)?.clone_s,
        Name::WorldCloneBytes => measured.state(setting)?.clone_bytes,
        Name::BranchFirstHeartbeatS => measured.state(setting)?.first_heartbeat_s,
        Name::CheckpointS => measured.state(setting)?.checkpoint_s,
        Name::ResumeS => measured.state(setting)?.resume_s,
        Name::HilTickP999S => loops::tick_p999_s()?,
        Name::HilTickRealtimeP999S => loops::tick_realtime_p999_s()?,
        Name::LockstepOverheadS => loops::overhead_s(setting)?,
        Name::Imu1khzCoreShare => instruments::imu_1khz_core_share(setting)?,
        Name::CrmPointsPerS => granular::points_per_s(setting)?,
        Name::GpuCrmPointsPerS => granular::gpu_points_per_s(setting)?,
        Name::GpuCrmReadingOverSteps => granular::gpu_reading(setting, ReadingOver::Steps)?,
        Name::GpuCrmReadingOverReturn => granular::gpu_reading(setting, ReadingOver::Return)?,
        Name::CrmViperWallOverSim => granular::viper_wall_over_sim(setting)?,
        Name::RassorDigWallOverSim => granular::rassor_wall_over_sim(setting)?,
        Name::DemGrainsPerS => granular::grains_per_s()?,
        Name::GpuDemGrainsPerS => granular::gpu_grains_per_s(setting)?,
    })
}

impl Measured {
    /// The drive of 5 km, which three figures share.
    fn drive(&mut self, setting: &Setting) -> Result<Drive, BenchError> {
        match self.drive {
            Some(drive) => Ok(drive),
            None => Ok(*self.drive.insert(land::drive(setting)?)),
        }
    }

    /// The page of a run, which three figures share.
    fn page(&mut self, setting: &Setting) -> Result<Page, BenchError> {
        match self.page {
            Some(page) => Ok(page),
            None => Ok(*self.page.insert(page::measure(setting)?)),
        }
    }

    /// The run in free processes, which two figures share.
    fn free(&mut self, setting: &Setting) -> Result<Drift, BenchError> {
        match self.free {
            Some(drift) => Ok(drift),
            None => Ok(*self.free.insert(free::drift(setting)?)),
        }
    }

    /// The world after 100 m, which five figures share.
    fn state(&mut self, setting: &Setting) -> Result<StateCosts, BenchError> {
        match self.state {
            Some(costs) => Ok(costs),
            None => Ok(*self.state.insert(convoy::state_costs(setting)?)),
        }
    }
}

impl Figure {
    fn new(name: &'static str, value: f64, unit: &'static str, required: Requirement) -> Self {
        if value.is_finite() {
            return Self { name, value, unit, note: None, required };
        }
        Self { name, value: INFINITE_IN_JSON, unit, note: Some("infinite: something was lost on the way"), required }
    }

    /// The figure with its requirement, as a line of a table.
    #[must_use]
    pub fn line(&self) -> String {
        let value = if self.note.is_some() { f64::INFINITY } else { self.value };
        format!("  {:<24} {:>12} {:<15} {}", self.name, number(value), self.unit, self.required.text(value))
    }
}

impl Requirement {
    fn text(self, value: f64) -> String {
        let (met, limit) = match self {
            Self::AtMost(limit) => (value <= limit, format!("≤ {}", number(limit))),
            Self::AtLeast(limit) => (value >= limit, format!("≥ {}", number(limit))),
            Self::Beside(other) => return format!("beside {other}"),
            Self::Nothing => return String::new(),
        };
        format!("required {limit:<9} {}", if met { "met" } else { "NOT MET" })
    }
}

fn number(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-3..1e5).contains(&value.abs());
    if is_plain { format!("{value:.4}") } else { format!("{value:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::{FIGURES, Figure, Requirement, choose, number};

    #[test]
    fn figures_are_chosen_by_name_and_unknown_names_are_reported_with_the_known_ones() {
        assert_eq!(choose(&[]).expect("all").len(), FIGURES.len());
        assert_eq!(choose(&["binary_bytes".to_owned()]).expect("one")[0].1, "binary_bytes");
        assert!(choose(&["speed".to_owned()]).is_err());
    }

    #[test]
    fn a_figure_is_met_on_the_right_side_of_its_limit() {
        assert!(Requirement::AtMost(1.0).text(1.0).ends_with(" met"));
        assert!(Requirement::AtMost(1.0).text(1.1).ends_with("NOT MET"));
        assert!(Requirement::AtLeast(4e6).text(5e6).ends_with(" met"));
    }

    #[test]
    fn an_infinite_figure_is_not_met_and_is_a_large_number_with_a_note_in_json() {
        assert!(Requirement::AtMost(0.02).text(f64::INFINITY).ends_with("NOT MET"));
        assert_eq!([f64::INFINITY, 0.0, 0.0003, 0.02].map(number), ["inf", "0.0000", "3.000e-4", "0.0200"]);
        let json =
            serde_json::to_value(Figure::new("x", f64::INFINITY, "s", Requirement::AtMost(1.0))).expect("plain data");
        assert!(json["value"].as_f64().is_some_and(|value| value > 1e300) && json["note"].is_string(), "{json}");
        let json = serde_json::to_value(Figure::new("x", 0.5, "s", Requirement::AtMost(1.0))).expect("plain data");
        assert!(json["value"] == 0.5 && json.get("note").is_none(), "{json}");
    }
}
