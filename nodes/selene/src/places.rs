//! Where things are: the scenario, soils by name, third-party data, the DDS domain.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::output::{self, FileKind};
use selene_sim::{AllowedFolders, DrivenGround, Fingerprint, LoadOptions, Model, Scenario, StartOptions};

use crate::args::WorldArgs;
use crate::fault::Fault;

/// The scenario that runs when none is named.
const DEFAULT_SCENARIO: &str = "scenario/polar.yaml";
/// The highest ROS domain whose ports fit 16 bits.
const DOMAIN_ID_MAX: u16 = 232;

/// Reads the scenario `file`, or the default one.
pub(crate) fn load_scenario(file: Option<&Path>, world: &WorldArgs) -> Result<Arc<Scenario>, Fault> {
    let file = match file {
        Some(file) => file.to_owned(),
        None => config_file(DEFAULT_SCENARIO)?,
    };
    let options = LoadOptions {
        data_dir: data_dir(world.data.as_deref())?,
        seed: world.seed,
        utc: world.utc,
        namespace: world.namespace.clone(),
        start: StartOptions { x_m: world.x, y_m: world.y, z_m: world.z, yaw_deg: world.yaw },
    };
    Scenario::load(&file, &options).map(Arc::new).map_err(Fault::input)
}

/// The world of a scenario, its ground included.
pub(crate) fn load_model(file: Option<&Path>, world: &WorldArgs) -> Result<Arc<Model>, Fault> {
    model_of(load_scenario(file, world)?)
}

/// The world of a scenario that is loaded.
pub(crate) fn model_of(scenario: Arc<Scenario>) -> Result<Arc<Model>, Fault> {
    Model::new(scenario).map(Arc::new).map_err(Fault::input)
}

/// The driven ground of `--ruts`, if there is such a file.
pub(crate) fn load_ruts(file: Option<&Path>, model: &Model) -> Result<Option<DrivenGround>, Fault> {
    let (scenario, terrain) = (model.scenario(), model.terrain());
    let ground = || Fingerprint::of_ground(&scenario.site, scenario.seed, terrain);
    let driven = file.map(|file| DrivenGround::load(file, &ground())).transpose();
    driven.map_err(|error| Fault::input(format!("--ruts {error}")))
}

/// Where files of what is added while a world runs may lie: beside the scenario, and in the configuration.
pub(crate) fn allowed_folders(scenario: &Scenario) -> AllowedFolders {
    let beside = scenario.file().parent().map(Path::to_owned);
    AllowedFolders::new(beside.into_iter().chain(config_dir().ok()))
}

/// Refuses a file, named after `option`, that could not be written.
pub(crate) fn check_writable(option: &str, file: &Path, kind: &FileKind) -> Result<(), Fault> {
    output::check(file, kind).map_err(|error| Fault::input(format!("{option} {error}")))
}

/// Makes the folder named after `option` if it is not there, and refuses one that cannot be written to.
pub(crate) fn check_folder(option: &str, folder: &Path) -> Result<(), Fault> {
    let refuse = |what: &dyn std::fmt::Display| Fault::input(format!("{option} {}: {what}", folder.display()));
    std::fs::create_dir_all(folder).map_err(|error| refuse(&format_args!("cannot be made: {error}")))?;
    let probe = folder.join(format!(".selene-{}", std::process::id()));
    let written = std::fs::write(&probe, []).and_then(|()| std::fs::remove_file(&probe));
    written.map_err(|error| refuse(&format_args!("cannot be written to: {error}")))
}

/// The folder of third-party data: as asked, else as the environment says. Refuses what was asked for if it is no
/// folder.
pub(crate) fn data_dir(asked: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    check_is_folder("--data", asked)?;
    let asked = asked.map(Path::to_owned);
    Ok(asked.or_else(|| env::var_os("SELENE_DATA").filter(|value| !value.is_empty()).map(PathBuf::from)))
}

/// Refuses what was asked for with `option` if it is no folder.
pub(crate) fn check_is_folder(option: &str, asked: Option<&Path>) -> Result<(), Fault> {
    match asked {
        Some(folder) if !folder.is_dir() => Err(Fault::input(format!("{option} {}: is no folder", folder.display()))),
        _ => Ok(()),
    }
}

/// The file of soil `name`, as typed after `option`: a file if there is one of that
/// name, else a soil of the configuration folder.
pub(crate) fn soil_file(option: &str, name: &str) -> Result<PathBuf, Fault> {
    let file = Path::new(name);
    if file.is_file() {
        return Ok(file.to_owned());
    }
    if let Ok(file) = config_file(&format!("soil/{name}.yaml")) {
        return Ok(file);
    }
    let known = config_file("soil").map(|folder| stems(&folder)).unwrap_or_default();
    Err(Fault::input(format!("{option} {name}: neither a file nor a soil of config/soil: {}", known.join(", "))))
}

/// The ROS domain of the environment; 0 when it says nothing.
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

/// A file or folder of the configuration: under the current folder or one of
/// those above it, else beside the program, else where it was built.
fn config_file(name: &str) -> Result<PathBuf, Fault> {
    let here = env::current_dir().unwrap_or_default();
    let program = env::current_exe().unwrap_or_default();
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let roots = here.ancestors().chain(program.ancestors().skip(1)).chain([built.as_path()]);
    let found = roots.map(|root| root.join("config").join(name)).find(|file| file.exists());
    found.map(|file| short(&here, &file)).ok_or_else(|| {
        Fault::input(format!(
            "config/{name}: not found here or beside the program; name the file, or run in the repository"
        ))
    })
}

fn short(here: &Path, file: &Path) -> PathBuf {
    file.strip_prefix(here).unwrap_or(file).to_owned()
}

fn stems(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let stem = |path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut stems: Vec<_> = entries.filter_map(|entry| stem(entry.path())).collect();
    stems.sort();
    stems
}
