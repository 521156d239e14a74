//! Finds and loads inputs: scenarios, configuration files by name, third-party data, the ROS domain. The user's own
//! files take precedence over installed ones, and these over those that are compiled in.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::output::{self, FileKind};
use selene_base::{compiled, input};
use selene_sim::{
    AllowedFolders, DrivenGround, Fingerprint, LoadOptions, Model, Scenario, ScenarioError, StartOptions,
};

use crate::args::{SchemaKind, SoilDevice, WorldArgs};
use crate::fault::Fault;
use crate::{device, key_faults, overrides, shipped};

/// The scenario that runs by default.
const DEFAULT_SCENARIO: &str = "scenario/polar.yaml";
/// The folder of the ROS package selene, below its install prefix.
const SHARE: &str = "share/selene";
/// Greatest ROS domain whose ports fit 16 bits.
const DOMAIN_ID_MAX: u16 = 232;

/// Loads the scenario `file`, or the default one.
pub(crate) fn load_scenario(file: Option<&Path>, world: &WorldArgs) -> Result<Arc<Scenario>, Fault> {
    load_scenario_with(file, world, &[])
}

/// [`load_scenario`] with further sensors on its only rover, which replace those of the same name.
pub(crate) fn load_scenario_with(
    file: Option<&Path>,
    world: &WorldArgs,
    sensors: &[PathBuf],
) -> Result<Arc<Scenario>, Fault> {
    let file = match file {
        Some(file) => scenario_file(file)?,
        None => config_file(DEFAULT_SCENARIO)?,
    };
    let options = load_options(world, sensors)?;
    if world.set.is_empty() {
        let reported = |error: ScenarioError| key_faults::add(error.to_string(), SchemaKind::Scenario, &file);
        return Scenario::load(&file, &options).map(Arc::new).map_err(|error| Fault::input(reported(error)));
    }
    let text = overrides::apply(&file, &world.set)?;
    let loaded = Scenario::parse(&text, &file, &options).map(Arc::new);
    loaded.map_err(|error| Fault::input(format!("{error}\n{}", overrides::NOTE)))
}

/// The file of a scenario: a path, or a name in the configuration.
fn scenario_file(named: &Path) -> Result<PathBuf, Fault> {
    match named.to_str() {
        Some(name) if named.extension().is_none() && named.components().count() == 1 => {
            named_file("scenario", "scenario", name)
        }
        _ => Ok(configured(&["scenario"], named)),
    }
}

/// Resolves a name to a file: a file of that name if there is one, else the first of these kinds in the configuration,
/// else the name unchanged.
pub(crate) fn configured(kinds: &[&str], named: &Path) -> PathBuf {
    let known = || kinds.iter().find_map(|kind| config_file(&format!("{kind}/{}.yaml", named.display())).ok());
    let is_name = named.extension().is_none() && !named.is_file();
    is_name.then(known).flatten().unwrap_or_else(|| named.to_owned())
}

/// The options with which a scenario is loaded; `sensors` are added to its only rover.
pub(crate) fn load_options(world: &WorldArgs, sensors: &[PathBuf]) -> Result<LoadOptions, Fault> {
    Ok(LoadOptions {
        data_dir: data_dir(world.data.as_deref())?,
        seed: world.seed,
        utc: world.utc,
        rover: world.rover.as_deref().map(|name| rover_file("--rover", name)).transpose()?,
        soil: world.soil.as_deref().map(|name| soil_file("--soil", name)).transpose()?,
        configuration: config_dirs(),
        namespace: world.namespace.clone(),
        start: StartOptions { x_m: world.x, y_m: world.y, z_m: world.z, yaw_deg: world.yaw },
        sensors: sensors.iter().map(|sensor| configured(&["sensor"], sensor)).collect(),
    })
}

/// Builds the model of a scenario, including its ground; `soil` steps its granular soil.
pub(crate) fn load_model(file: Option<&Path>, world: &WorldArgs, soil: SoilDevice) -> Result<Arc<Model>, Fault> {
    model_of(load_scenario(file, world)?, soil)
}

/// Builds the model of a loaded scenario.
pub(crate) fn model_of(scenario: Arc<Scenario>, soil: SoilDevice) -> Result<Arc<Model>, Fault> {
    let soil_device = device::open_for_soil(soil)?;
    let model = Model::new(scenario).map_err(Fault::input)?;
    Ok(Arc::new(match soil_device {
        None => model,
        Some(device) => model.with_soil_device(device),
    }))
}

/// Refuses a world whose sensors have stages in other processes: for commands that reach no other process.
pub(crate) fn check_answerable(model: &Model) -> Result<(), Fault> {
    let setups = model.rovers().values().map(|kind| kind.setup());
    for sensor in setups.flat_map(|setup| &setup.sensors) {
        if let Some(own) = sensor.spec.augments().own().next() {
            let (sensor, own) = (sensor.spec.header().name, &own.name);
            let why = "is done by another process over topics, and there are none here; run the nodes, or leave it out";
            return Err(Fault::input(format!("sensor {sensor}: stages: own: '{own}' {why}")));
        }
    }
    Ok(())
}

/// Loads the driven ground of `--ruts`, if it was given.
pub(crate) fn load_ruts(file: Option<&Path>, model: &Model) -> Result<Option<DrivenGround>, Fault> {
    let (scenario, terrain) = (model.scenario(), model.terrain());
    let ground = || Fingerprint::of_ground(&scenario.site, scenario.seed, terrain);
    let driven = file.map(|file| DrivenGround::load(file, &ground())).transpose();
    driven.map_err(|error| Fault::input(format!("--ruts {error}")))
}

/// The folders from which files may be spawned into a running world: that of the scenario, the configuration, and the
/// folder `urdf` beside the configuration.
pub(crate) fn allowed_folders(scenario: &Scenario) -> AllowedFolders {
    let beside = scenario.file().parent().map(Path::to_owned);
    // `colcon build --symlink-install` makes the configuration's files links to those of the repository.
    let file = config_file(DEFAULT_SCENARIO).ok().and_then(|file| file.canonicalize().ok());
    let linked = file.and_then(|file| file.ancestors().nth(2).map(Path::to_owned));
    let configs: Vec<_> = config_dir().ok().into_iter().chain(linked).collect();
    let urdfs: Vec<_> = configs.iter().map(|config| config.join("../urdf")).collect();
    AllowedFolders::new(beside.into_iter().chain(configs).chain(urdfs))
}

/// Refuses a file, given after `option`, that could not be written.
pub(crate) fn check_writable(option: &str, file: &Path, kind: &FileKind) -> Result<(), Fault> {
    output::check(file, kind).map_err(|error| Fault::input(format!("{option} {error}")))
}

/// Creates the folder given after `option` if it is missing, and refuses one that is not writable.
pub(crate) fn check_folder(option: &str, folder: &Path) -> Result<(), Fault> {
    let refuse = |what: &dyn std::fmt::Display| Fault::input(format!("{option} {}: {what}", folder.display()));
    std::fs::create_dir_all(folder).map_err(|error| refuse(&format_args!("cannot be made: {error}")))?;
    let probe = folder.join(format!(".selene-{}", std::process::id()));
    let written = std::fs::write(&probe, []).and_then(|()| std::fs::remove_file(&probe));
    written.map_err(|error| refuse(&format_args!("cannot be written to: {error}")))
}

/// The folder of third-party data: as given, else SELENE_DATA of the environment. Refuses a given path that is no
/// folder.
pub(crate) fn data_dir(requested: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    check_is_folder("--data", requested)?;
    let requested = requested.map(Path::to_owned);
    Ok(requested.or_else(|| env::var_os("SELENE_DATA").filter(|value| !value.is_empty()).map(PathBuf::from)))
}

/// Refuses a path given after `option` that is no folder.
pub(crate) fn check_is_folder(option: &str, requested: Option<&Path>) -> Result<(), Fault> {
    match requested {
        Some(folder) if !folder.is_dir() => Err(Fault::input(format!("{option} {}: is no folder", folder.display()))),
        _ => Ok(()),
    }
}

/// The file of rover `name`, which was given after `option`.
pub(crate) fn rover_file(option: &str, name: &str) -> Result<PathBuf, Fault> {
    named_file(option, "rover", name)
}

/// The file of site `name`, which was given after `option`.
pub(crate) fn site_file(option: &str, name: &str) -> Result<PathBuf, Fault> {
    named_file(option, "site", name)
}

/// The file of soil `name`, which was given after `option`.
pub(crate) fn soil_file(option: &str, name: &str) -> Result<PathBuf, Fault> {
    named_file(option, "soil", name)
}

/// The file that was given as `name` after `option`: a file of that name if there is one, else the one of this name in
/// folder `kind` (`soil`, `rover`, `site`) of the configuration.
fn named_file(option: &str, kind: &str, name: &str) -> Result<PathBuf, Fault> {
    let file = Path::new(name);
    if file.is_file() {
        return Ok(file.to_owned());
    }
    if let Ok(file) = config_file(&format!("{kind}/{name}.yaml")) {
        return Ok(file);
    }
    let known = files_of(kind).into_keys().collect::<Vec<_>>().join(", ");
    Err(Fault::input(format!("{option} {name}: neither a file nor a {kind} of config/{kind}: {known}")))
}

/// All files of a kind by name, such as `viper` or `lidar/vlp16`. Of several with the same name, the one that takes
/// precedence.
pub(crate) fn files_of(kind: &str) -> BTreeMap<String, PathBuf> {
    let mut files = BTreeMap::new();
    for config in config_dirs() {
        for (name, file) in named_files(&config.join(kind), "") {
            files.entry(name).or_insert(file);
        }
    }
    files
}

/// The ROS domain of the environment; 0 if it is not set.
pub(crate) fn domain_id() -> Result<u16, Fault> {
    let Some(text) = env::var_os("ROS_DOMAIN_ID").filter(|value| !value.is_empty()) else { return Ok(0) };
    let text = text.to_string_lossy();
    let domain = text.trim().parse().ok().filter(|domain| *domain <= DOMAIN_ID_MAX);
    domain
        .ok_or_else(|| Fault::input(format!("ROS_DOMAIN_ID={text}: must be a whole number from 0 to {DOMAIN_ID_MAX}")))
}

/// The folder of the configuration.
pub(crate) fn config_dir() -> Result<PathBuf, Fault> {
    config_file("soil").map(|soils| soils.parent().map(Path::to_owned).unwrap_or_default())
}

/// The path of a file or folder of the configuration, such as `soil/lunar.yaml`.
pub(crate) fn config_file(name: &str) -> Result<PathBuf, Fault> {
    let here = env::current_dir().unwrap_or_default();
    let mut files = config_roots().into_iter().map(|root| root.join("config").join(name));
    let found = files.find(|file| file.exists() || shipped::has(file));
    found.map(|file| short(&here, &file)).ok_or_else(|| {
        Fault::input(format!(
            "config/{name}: found neither here, beside the program, in a sourced ROS workspace nor in the program; name \
             the file"
        ))
    })
}

/// The existing folders of the configuration, in order of precedence.
pub(crate) fn config_dirs() -> Vec<PathBuf> {
    let folders = config_roots().into_iter().map(|root| root.join("config"));
    folders.filter(|folder| folder.is_dir() || shipped::has(folder)).collect()
}

fn config_roots() -> Vec<PathBuf> {
    let here = env::current_dir().unwrap_or_default();
    let program = env::current_exe().unwrap_or_default();
    let prefixes = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    roots(&here, &program, &prefixes)
}

/// Folders that may contain `config`, in order of precedence: the current folder `here` and those above it, those above
/// the `program` and the package that it is installed with, the sourced ROS workspaces (`prefixes`, the value of
/// AMENT_PREFIX_PATH), the source tree that it was built from, and the program itself.
fn roots(here: &Path, program: &Path, prefixes: &OsStr) -> Vec<PathBuf> {
    let above_program = program.ancestors().skip(1).flat_map(|folder| [folder.to_owned(), folder.join(SHARE)]);
    let sourced = env::split_paths(prefixes).map(|prefix| prefix.join(SHARE));
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("")).to_owned();
    let compiled_in = PathBuf::from(compiled::FOLDER);
    here.ancestors().map(Path::to_owned).chain(above_program).chain(sourced).chain([built, compiled_in]).collect()
}

/// The absolute path of a file, for messages.
pub(crate) fn whole(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

fn short(here: &Path, file: &Path) -> PathBuf {
    file.strip_prefix(here).unwrap_or(file).to_owned()
}

/// The YAML files of a folder and its subfolders, by `prefix` and their names without extension.
fn named_files(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files = Vec::new();
    for path in entries.chain(shipped::entries(folder)) {
        let Some(stem) = path.file_stem().and_then(OsStr::to_str) else { continue };
        let name = format!("{prefix}{stem}");
        if path.extension().is_none() {
            files.extend(named_files(&path, &format!("{name}/")));
        } else if path.extension().is_some_and(|extension| extension == "yaml") && input::is_file(&path) {
            files.push((name, path));
        }
    }
    files
}

#[cfg(all(test, unix))]
mod tests {
    use super::{LoadOptions, Scenario, compiled, named_files, roots};
    use std::collections::BTreeSet;
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn the_configuration_is_sought_here_beside_the_program_and_in_sourced_workspaces() {
        let roots = roots(Path::new("/home/me"), Path::new("/ws/lib/selene/selene"), OsStr::new("/ws:/opt/ros/jazzy"));
        let place = |folder: &str| roots.iter().position(|root| root == Path::new(folder)).expect(folder);
        let order = ["/home/me", "/ws/lib/selene", "/ws/share/selene", "/opt/ros/jazzy/share/selene"].map(place);
        assert!(order.is_sorted(), "{roots:?}");
        let [.., built, compiled_in] = &roots[..] else { panic!("{roots:?}") };
        assert!(built.join("config/scenario/polar.yaml").is_file());
        assert_eq!(compiled_in, Path::new(compiled::FOLDER));
    }

    #[test]
    fn the_compiled_in_rover_of_a_scenario_keeps_the_scenarios_sensors_when_it_is_requested() {
        crate::shipped::provide();
        let config = Path::new(compiled::FOLDER).join("config");
        let sensors = |rover: Option<&str>| {
            let rover = rover.map(|name| config.join(format!("rover/{name}.yaml")));
            let options = LoadOptions { rover, configuration: vec![config.clone()], ..LoadOptions::default() };
            let loaded = Scenario::load(&config.join("scenario/polar.yaml"), &options).expect("a scenario");
            loaded.rovers[0].sensors.iter().map(|sensor| sensor.spec.header().name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(sensors(Some("viper")), sensors(None));
        assert_ne!(sensors(Some("sorato")), sensors(None));
    }

    #[test]
    fn files_have_the_name_that_they_are_requested_by() {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let mut named = named_files(&config.join("sensor"), "");
        named.sort();
        for name in ["imu", "lidar/vlp16"] {
            let file = config.join(format!("sensor/{name}.yaml"));
            assert!(named.contains(&(name.to_owned(), file)), "{named:?}");
        }
        crate::shipped::provide();
        let compiled_in = named_files(&Path::new(compiled::FOLDER).join("config/sensor"), "");
        let names = |files: Vec<(String, _)>| files.into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
        assert_eq!(names(compiled_in), names(named), "what is compiled in is what is there");
    }
}
