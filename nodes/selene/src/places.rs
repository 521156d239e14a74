//! Where things are: the scenario, soils by name, third-party data, the DDS domain.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_sim::{LoadOptions, Scenario};

use crate::args::WorldArgs;
use crate::fault::Fault;

/// The scenario that runs when none is named.
const DEFAULT_SCENARIO: &str = "scenario/polar.yaml";
/// The highest ROS domain whose ports fit 16 bits.
const DOMAIN_ID_MAX: u16 = 232;

/// Reads the scenario `file`, or the default one.
pub(crate) fn load_scenario(file: Option<&Path>, world: &WorldArgs) -> Result<Arc<Scenario>, Fault> {
    load_driven(file, world, None)
}

/// Reads the scenario `file`, or the default one, to begin on the driven ground of a file of `ruts`.
pub(crate) fn load_driven(file: Option<&Path>, world: &WorldArgs, ruts: Option<&Path>) -> Result<Arc<Scenario>, Fault> {
    let file = match file {
        Some(file) => file.to_owned(),
        None => config_file(DEFAULT_SCENARIO)?,
    };
    let options = LoadOptions {
        data_dir: data_dir(world.data.as_deref()),
        seed: world.seed,
        utc: world.utc,
        namespace: world.namespace.clone(),
        start: [world.x, world.y, world.z, world.yaw],
        ruts: ruts.map(Path::to_owned),
    };
    Scenario::load(&file, &options).map(Arc::new).map_err(Fault::input)
}

/// Refuses a file, named after `option`, that cannot be written since its folder is not there.
pub(crate) fn check_writable(option: &str, file: &Path) -> Result<(), Fault> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let what = if file.is_dir() {
        "is a folder; name a file"
    } else if folder.is_dir() {
        return Ok(());
    } else {
        "its folder does not exist; make it first"
    };
    Err(Fault::input(format!("{option} {}: {what}", file.display())))
}

/// The folder of third-party data: as asked, else as the environment says.
pub(crate) fn data_dir(asked: Option<&Path>) -> Option<PathBuf> {
    let asked = asked.map(Path::to_owned);
    asked.or_else(|| env::var_os("SELENE_DATA").filter(|value| !value.is_empty()).map(PathBuf::from))
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

/// The file of the scenario called `name`.
pub(crate) fn scenario_file(name: &str) -> Result<PathBuf, Fault> {
    config_file(&format!("scenario/{name}.yaml"))
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
