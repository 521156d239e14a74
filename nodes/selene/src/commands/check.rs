//! `selene check`: validates input files. The kind of a file follows from its top-level keys, else from its folder;
//! that of a URDF from its extension.

mod explain;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use selene_base::input::load_yaml;
use selene_campaign::Plan;
use selene_learn::Course;
use selene_sensors::{CameraSpec, Pipeline, SensorSpec};
use selene_sim::{LoadOptions, Model, Scenario, ScenarioError, load_rover};
use selene_soil::{Law, SoilSpec};
use selene_terrain::{SiteSpec, Terrain, TerrainError};
use selene_vehicle::{Packages, incomplete_inertias, read_urdf};

use crate::args::{CheckArgs, SchemaKind};
use crate::fault::Fault;
use crate::output::print_line;
use crate::{key_faults, places};

/// Greatest size of a file whose kind is determined, bytes.
const BYTES_MAX: u64 = 16 << 20;
/// The seed for checking files that have none of their own.
const SEED: u64 = 1;
/// Note on a valid file whose elevation data were not checked.
const NOT_LOOKED_AT: &str = " (its elevation file was not looked at: no --data DIR)";

/// Kinds of input files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Scenario,
    Rover,
    Soil,
    Sensor,
    Site,
    Learning,
    Campaign,
    Urdf,
}

/// Top-level keys of sensors' files.
const SENSORS: [&str; 18] = [
    "camera",
    "lidar",
    "radar",
    "tof_camera",
    "range_finder",
    "imu",
    "position",
    "magnetometer",
    "inclinometer",
    "encoders",
    "odometry",
    "joint_torques",
    "battery",
    "temperature",
    "sun_sensor",
    "star_tracker",
    "contact",
    "force_torque",
];

/// Each kind with its folder under config/ and top-level keys that no other kind has.
const KINDS: [(Kind, &str, &[&str]); 7] = [
    // Before scenarios, some of whose keys it has too.
    (Kind::Learning, "learning", &["task", "control_s", "episode_s"]),
    (Kind::Scenario, "scenario", &["site", "rover", "rovers", "route", "heartbeat_s", "utc"]),
    (Kind::Rover, "rover", &["urdf", "wheels", "suspension", "steering"]),
    (Kind::Soil, "soil", &["law", "bulldozing"]),
    (Kind::Sensor, "sensor", &SENSORS),
    (Kind::Site, "site", &["elevation", "levels", "latitude_deg", "craters"]),
    (Kind::Campaign, "campaign", &["scenarios"]),
];

/// Checks every file and prints the result of each; fails if one is refused.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Fault> {
    let data_dir = places::data_dir(args.data.as_deref())?;
    let options = LoadOptions { data_dir, configuration: places::config_dirs(), ..LoadOptions::default() };
    let mut refusals = Vec::new();
    for file in &args.files {
        match kind_of(file).and_then(|kind| Ok((kind, check_one(kind, file, &options)?))) {
            Ok((kind, note)) => {
                print_line(format_args!("{}: {kind:?}, OK{note}", file.display()));
                if args.explain && kind == Kind::Scenario {
                    refusals.extend(explain::explain(file, &options).err());
                }
            }
            Err(refusal) => refusals.push(with_keys(refusal, file)),
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(Fault::input(refusals.join("\n\n"))) }
}

/// Adds all missing and unknown keys of a file to its refusal.
fn with_keys(refusal: String, file: &Path) -> String {
    match kind_of(file).ok().and_then(Kind::schema) {
        Some(schema) => key_faults::add(refusal, schema, file),
        None => refusal,
    }
}

impl Kind {
    /// The schema of this kind, if it has one.
    fn schema(self) -> Option<SchemaKind> {
        match self {
            Self::Scenario => Some(SchemaKind::Scenario),
            Self::Rover => Some(SchemaKind::Rover),
            Self::Soil => Some(SchemaKind::Soil),
            Self::Sensor => Some(SchemaKind::Sensor),
            Self::Site => Some(SchemaKind::Site),
            Self::Learning => Some(SchemaKind::Learning),
            Self::Campaign => Some(SchemaKind::Campaign),
            Self::Urdf => None,
        }
    }
}

/// Determines the kind of a file.
pub(crate) fn kind_of(file: &Path) -> Result<Kind, String> {
    if file.extension().is_some_and(|extension| extension == "urdf" || extension == "xacro") {
        return Ok(Kind::Urdf);
    }
    let bytes = selene_base::input::read_bytes(file, BYTES_MAX).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    let by_keys = KINDS.iter().find(|(_, _, keys)| keys.iter().any(|key| has_key(&text, key)));
    let found = by_keys.or_else(|| KINDS.iter().find(|(_, name, _)| folder == *name));
    found.map(|(kind, _, _)| *kind).ok_or_else(|| {
        let what = "is no scenario, rover, soil, sensor, site, learning or campaign file: it has none of their top-level \
                    keys";
        format!("{}: {what} (such as site, urdf, law, camera, elevation)", file.display())
    })
}

/// Whether YAML `text` has `key` at its top level.
fn has_key(text: &str, key: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')))
}

/// Loads the file as a run would. Returns a note on what could not be checked and what other programs refuse.
fn check_one(kind: Kind, file: &Path, options: &LoadOptions) -> Result<String, String> {
    match kind {
        Kind::Scenario => return check_scenario(file, options).map(str::to_owned),
        Kind::Rover => {
            let (rover, _) = load_rover(file).map_err(|e| e.to_string())?;
            return note_of_inertias(rover.urdf_text(), file);
        }
        Kind::Soil => {
            let spec = SoilSpec::load(file).map_err(|e| e.to_string())?;
            Law::try_from(&spec).map(drop).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        Kind::Sensor => return check_sensor(file),
        Kind::Site => return check_site(file, options.data_dir.as_deref()).map(str::to_owned),
        Kind::Learning => drop(Course::load(file, options).map_err(|e| e.to_string())?),
        Kind::Campaign => drop(Plan::load(file).map_err(|e| e.to_string())?),
        Kind::Urdf => {
            let (_, _, text) = read_urdf(file, &Packages::new(BTreeMap::new())).map_err(|e| e.to_string())?;
            return note_of_inertias(&text, file);
        }
    }
    Ok(String::new())
}

/// Note on a URDF that is valid here, but whose mass robot_state_publisher and RViz would ignore.
fn note_of_inertias(urdf_text: &str, file: &Path) -> Result<String, String> {
    let lines = incomplete_inertias(urdf_text, file).map_err(|e| e.to_string())?;
    if lines.is_empty() {
        return Ok(String::new());
    }
    let lines: Vec<_> = lines.iter().map(u32::to_string).collect();
    Ok(format!(
        " (<inertia> in line {} of the URDF lacks some of ixx, ixy, ixz, iyy, iyz, izz: 0 here, but ROS 2 drops the \
         whole <inertial>; give all six)",
        lines.join(", ")
    ))
}

fn check_sensor(file: &Path) -> Result<String, String> {
    let sensor = SensorSpec::load(file).map_err(|e| e.to_string())?;
    if let SensorSpec::Camera(camera) = &sensor {
        check_stages(camera, SEED, file)?;
    }
    let names: Vec<_> = sensor.augments().own().map(|own| own.name.clone()).collect();
    if names.is_empty() {
        return Ok(String::new());
    }
    let refusal = "nodes request it over topics; `selene render`, which has none, refuses";
    Ok(format!(" (stages of another process: {}: {refusal})", names.join(", ")))
}

/// Checks that this program has a camera's stages: a user's own stages exist only in a program that the user builds.
fn check_stages(camera: &CameraSpec, seed: u64, file: &Path) -> Result<(), String> {
    Pipeline::new(camera, seed).map(drop).map_err(|error| format!("{}: {error}", file.display()))
}

/// Checks a site including its ground, as for a scenario.
fn check_site(file: &Path, data_dir: Option<&Path>) -> Result<&'static str, String> {
    let site: SiteSpec = load_yaml(file).map_err(|e| e.to_string())?;
    match Terrain::load(&site, file, data_dir, SEED) {
        Ok(_) => Ok(""),
        Err(TerrainError::NoDataDirectory { .. }) => Ok(NOT_LOOKED_AT),
        // These errors name only the elevation file.
        Err(error @ (TerrainError::Elevation(_) | TerrainError::Decode { .. })) => {
            Err(format!("{}: elevation: {error}", file.display()))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Checks a scenario including its ground, the start of its rovers and the stages of their cameras. Third-party data
/// without a folder for them are no fault of the file.
fn check_scenario(file: &Path, options: &LoadOptions) -> Result<&'static str, String> {
    let scenario = Scenario::load(file, options).map_err(|error| error.to_string())?;
    for rover in &scenario.rovers {
        rover.cameras().try_for_each(|camera| check_stages(camera.spec, rover.sensor_seed, file))?;
    }
    match Model::new(Arc::new(scenario)) {
        Ok(model) => {
            let reported = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            model.start(None).map(|_| "").map_err(|error| reported(&error))
        }
        Err(ScenarioError::Terrain(TerrainError::NoDataDirectory { .. })) => Ok(NOT_LOOKED_AT),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, Kind, has_key, kind_of};
    use std::path::Path;

    #[test]
    fn only_top_level_keys_count() {
        let text = "# urdf: in a comment\nname: x\nrover:\n  urdf: y\n";
        assert!(has_key(text, "rover") && !has_key(text, "urdf") && !has_key(text, "nam"));
    }

    #[test]
    fn every_file_of_the_configuration_is_what_its_folder_says() {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let folders = KINDS.iter().map(|(kind, folder, _)| (*kind, *folder)).chain([(Kind::Sensor, "sensor/lidar")]);
        for (kind, folder) in folders {
            let entries = std::fs::read_dir(config.join(folder)).expect("a folder").flatten();
            for file in entries.map(|entry| entry.path()).filter(|path| path.is_file()) {
                assert_eq!(kind_of(&file), Ok(kind), "{}", file.display());
            }
        }
        assert_eq!(kind_of(Path::new("no/such/file.urdf")), Ok(Kind::Urdf));
        assert!(kind_of(Path::new("no/such/file.yaml")).is_err_and(|e| e.contains("no/such/file.yaml")));
    }
}
