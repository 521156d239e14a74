//! `selene bench`: the figures that the README states, each beside what is asked
//! of it. Real-time factors are wall time over simulated time.

mod child;
mod hour;
mod images;
mod land;
mod latency;
mod physics;
mod rays;

use serde::Serialize;

use crate::args::BenchArgs;
use crate::fault::Fault;
use crate::output::print_line;
use child::ChildRun;
use hour::Hour;
use land::Drive;

/// A figure that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    ViperScm2cmRtf,
    ViperScm1cmRtf,
    CuriosityRocksRtf,
    VehiclesPerCore,
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
    DefaultScenarioRtf,
    FirstImageS,
    BinaryBytes,
    PeakMemoryBytes,
    Image640x360P99S,
    CpuCamera640x360Fps,
    ImagePipelineOverTracing,
}

/// Name, unit and what is asked.
const FIGURES: [(Name, &str, &str, Asked); 21] = [
    (Name::ViperScm2cmRtf, "viper_scm_2cm_rtf", "wall/simulated", Asked::AtMost(0.25)),
    (Name::ViperScm1cmRtf, "viper_scm_1cm_rtf", "wall/simulated", Asked::AtMost(0.5)),
    (Name::CuriosityRocksRtf, "curiosity_rocks_rtf", "wall/simulated", Asked::AtMost(1.0)),
    (Name::VehiclesPerCore, "vehicles_per_core", "vehicles", Asked::AtLeast(20.0)),
    (Name::HourStepDrift, "hour_step_drift", "", Asked::AtMost(0.05)),
    (Name::RutBytesPerNode, "rut_bytes_per_node", "B", Asked::AtMost(16.0)),
    (Name::RutOtherBytesPerNode, "rut_other_bytes_per_node", "B", Asked::AtMost(1.0)),
    (Name::CpuRaysPerS, "cpu_rays_per_s", "1/s", Asked::AtLeast(4e6)),
    (Name::RaysPerSFlat, "rays_per_s_flat", "1/s", Asked::Beside("cpu_rays_per_s")),
    (Name::Tile256mS, "tile_256m_s", "s", Asked::AtMost(1.0)),
    (Name::HeightQueriesPerS, "height_queries_per_s", "1/s", Asked::AtLeast(5e6)),
    (Name::Site20kmMemoryBytes, "site_20km_memory_bytes", "B", Asked::AtMost(1.5e9)),
    (Name::TerrainStallS, "terrain_stall_s", "s", Asked::AtMost(0.01)),
    (Name::DriveFrameDrift, "drive_frame_drift", "", Asked::AtMost(0.05)),
    (Name::DefaultScenarioRtf, "default_scenario_rtf", "wall/simulated", Asked::AtMost(1.0)),
    (Name::FirstImageS, "first_image_s", "s", Asked::AtMost(2.0)),
    (Name::BinaryBytes, "binary_bytes", "B", Asked::AtMost(60e6)),
    (Name::PeakMemoryBytes, "peak_memory_bytes", "B", Asked::AtMost(1e9)),
    (Name::Image640x360P99S, "image_640x360_p99_s", "s", Asked::AtMost(0.020)),
    (Name::CpuCamera640x360Fps, "cpu_camera_640x360_fps", "1/s", Asked::AtLeast(8.0)),
    (Name::ImagePipelineOverTracing, "image_pipeline_over_tracing", "", Asked::AtMost(1.0)),
];

/// Figures of the hour's drive.
const HOURS: [Name; 3] = [Name::HourStepDrift, Name::RutBytesPerNode, Name::RutOtherBytesPerNode];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    AtMost(f64),
    AtLeast(f64),
    /// Told to be compared with another.
    Beside(&'static str),
}

/// A measured figure, as `--json` prints it.
#[derive(Serialize)]
struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// What stands for an infinite value in JSON, which has none: above any limit.
const INFINITE_IN_JSON: f64 = f64::MAX;

/// Measures and prints the figures asked for.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), Fault> {
    let chosen = choose(&args.names)?;
    let mut child = None;
    // First of all: memory that other figures have freed would hide what an hour grows by.
    let hour = if chosen.iter().any(|(name, ..)| HOURS.contains(name)) { Some(drive_an_hour()?) } else { None };
    let mut drive = None;
    let mut figures = Vec::new();
    for (name, text, unit, asked) in chosen {
        eprintln!("measuring {text} …");
        let value = measure(name, &mut child, hour, &mut drive)?;
        if !args.json {
            print_line(format_args!("  {text:<24} {:>12} {unit:<15} {}", number(value), asked.text(value)));
        }
        figures.push(Figure::new(text, value, unit));
    }
    if args.json {
        print_line(serde_json::to_string_pretty(&figures).map_err(Fault::run)?);
    }
    Ok(())
}

fn choose(names: &[String]) -> Result<Vec<(Name, &'static str, &'static str, Asked)>, Fault> {
    if names.is_empty() {
        return Ok(FIGURES.to_vec());
    }
    let find = |name: &String| {
        let known = || FIGURES.map(|(_, text, _, _)| text).join(", ");
        let figure = FIGURES.iter().find(|(_, text, _, _)| text == name).copied();
        figure.ok_or_else(|| Fault::input(format!("{name}: no such figure; there are {}", known())))
    };
    names.iter().map(find).collect()
}

/// The hour that several figures share.
fn drive_an_hour() -> Result<Hour, Fault> {
    eprintln!("driving for an hour …");
    hour::measure()
}

fn measure(
    name: Name,
    child: &mut Option<ChildRun>,
    hour: Option<Hour>,
    drive: &mut Option<Drive>,
) -> Result<f64, Fault> {
    let of_hour = |of: fn(Hour) -> f64| hour.map_or(f64::NAN, of);
    Ok(match name {
        Name::ViperScm2cmRtf => physics::real_time_factor()?,
        Name::ViperScm1cmRtf => physics::fine_real_time_factor()?,
        Name::CuriosityRocksRtf => physics::rocks_real_time_factor()?,
        Name::VehiclesPerCore => physics::vehicles_per_core()?,
        Name::HourStepDrift => of_hour(|hour| hour.step_drift),
        Name::RutBytesPerNode => of_hour(|hour| hour.rut_bytes_per_node),
        Name::RutOtherBytesPerNode => of_hour(|hour| hour.other_bytes_per_node),
        Name::CpuRaysPerS => rays::rays_per_s()?,
        Name::RaysPerSFlat => rays::flat_rays_per_s()?,
        Name::Tile256mS => land::tile_256m_s()?,
        Name::HeightQueriesPerS => land::height_queries_per_s()?,
        Name::Site20kmMemoryBytes => drive_once(drive)?.memory_bytes,
        Name::TerrainStallS => drive_once(drive)?.stall_s,
        Name::DriveFrameDrift => drive_once(drive)?.frame_drift,
        Name::DefaultScenarioRtf => child::run_once(child)?.real_time_factor(),
        Name::FirstImageS => child::run_once(child)?.first_image_s,
        Name::BinaryBytes => child::binary_bytes()?,
        Name::PeakMemoryBytes => child::run_once(child)?.peak_memory_bytes,
        Name::Image640x360P99S => latency::p99_s()?,
        Name::CpuCamera640x360Fps => images::frames_per_s()?,
        Name::ImagePipelineOverTracing => images::pipeline_over_tracing()?,
    })
}

/// The 5 km that three figures share.
fn drive_once(drive: &mut Option<Drive>) -> Result<Drive, Fault> {
    match *drive {
        Some(drive) => Ok(drive),
        None => Ok(*drive.insert(land::drive()?)),
    }
}

impl Figure {
    fn new(name: &'static str, value: f64, unit: &'static str) -> Self {
        if value.is_finite() {
            return Self { name, value, unit, note: None };
        }
        Self { name, value: INFINITE_IN_JSON, unit, note: Some("infinite: something was lost on the way") }
    }
}

impl Asked {
    fn text(self, value: f64) -> String {
        let (met, limit) = match self {
            Self::AtMost(limit) => (value <= limit, format!("≤ {}", number(limit))),
            Self::AtLeast(limit) => (value >= limit, format!("≥ {}", number(limit))),
            Self::Beside(other) => return format!("beside {other}"),
        };
        format!("asked {limit:<9} {}", if met { "met" } else { "NOT MET" })
    }
}

fn number(value: f64) -> String {
    if value.abs() >= 1e5 { format!("{value:.3e}") } else { format!("{value:.4}") }
}

#[cfg(test)]
mod tests {
    use super::{Asked, FIGURES, Figure, choose, number};

    #[test]
    fn figures_are_chosen_by_name_and_unknown_names_are_told_with_the_known_ones() {
        assert_eq!(choose(&[]).expect("all").len(), FIGURES.len());
        assert_eq!(choose(&["binary_bytes".to_owned()]).expect("one")[0].1, "binary_bytes");
        assert!(choose(&["speed".to_owned()]).is_err());
    }

    #[test]
    fn a_figure_is_met_on_the_right_side_of_its_limit() {
        assert!(Asked::AtMost(1.0).text(1.0).ends_with(" met"));
        assert!(Asked::AtMost(1.0).text(1.1).ends_with("NOT MET"));
        assert!(Asked::AtLeast(4e6).text(5e6).ends_with(" met"));
    }

    #[test]
    fn an_infinite_figure_is_not_met_and_is_a_large_number_with_a_note_in_json() {
        assert!(Asked::AtMost(0.02).text(f64::INFINITY).ends_with("NOT MET"));
        assert_eq!(number(f64::INFINITY), "inf");
        let json = serde_json::to_value(Figure::new("x", f64::INFINITY, "s")).expect("plain data");
        assert!(json["value"].as_f64().is_some_and(|value| value > 1e300) && json["note"].is_string(), "{json}");
        let json = serde_json::to_value(Figure::new("x", 0.5, "s")).expect("plain data");
        assert!(json["value"] == 0.5 && json.get("note").is_none(), "{json}");
    }
}
