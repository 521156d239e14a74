//! Replaces the world of a running process. A requested world is loaded and checked while the present one runs, and
//! replaces it only if nothing is refused: then the present world ends as by the service that ends a run, and new nodes
//! start.
//!
//! Options about the first scenario and its ground (`--seed`, `--rover`, `--set`, `--ruts`, `--resume`, `--run` …) do
//! not apply to another one. Outputs get a number, so that nothing of an earlier world is overwritten.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use selene_base::input;
use selene_observe::Devices;
use selene_sim::{Model, World};
use selene_simulation::{Change, ChangeError, Changes, OfferedScenario, RunStart, RunState, WorldRequest};

use super::{check_outputs, check_pictures};
use crate::args::{CheckpointArgs, RunArgs, RunIdArgs, RutsArgs, ViewersArgs, WorldArgs};
use crate::commands::{list, viewers};
use crate::fault::Fault;
use crate::overrides::Override;
use crate::{device, places, recording};

/// Interval between checks for the end of the run (wall time).
const POLL: Duration = Duration::from_millis(50);
/// Time for a response to be sent before its service ends (wall time).
const ANSWER_LEAVES: Duration = Duration::from_millis(200);
/// Greatest size of a file that is examined, bytes, and greatest number of files in a folder.
const BYTES_MAX: u64 = 4 << 20;
const FILES_MAX: usize = 200;
/// The key of a scenario's site. Every scenario has it, and no other kind of file does.
const SITE: &str = "site";

/// A world that is loaded and checked.
pub(super) struct LoadedWorld {
    /// The arguments as they apply to this world.
    pub(super) args: RunArgs,
    /// Number of this world in the process, from 1.
    pub(super) number: u32,
    pub(super) model: Arc<Model>,
    pub(super) begin: RunStart,
}

/// Loads a requested world while another one runs.
pub(super) struct Loader<'a> {
    /// The arguments of the command line.
    pub(super) typed: &'a RunArgs,
    /// The arguments as they apply to the running world, and its number.
    pub(super) present: &'a RunArgs,
    pub(super) number: u32,
    pub(super) devices: &'a Devices,
    /// Whether the process is connected to others.
    pub(super) has_wire: bool,
    pub(super) requested: Receiver<WorldRequest>,
    /// The queue of changes, with which the running world is ended.
    pub(super) changes: &'a Changes,
}

impl Loader<'_> {
    /// Waits for requests and answers them. Returns the world that replaces the running one; `None` if the run ends
    /// without a replacement.
    pub(super) fn next(self, ended: &AtomicBool) -> Option<LoadedWorld> {
        while !ended.load(Ordering::Relaxed) {
            let request = match self.requested.recv_timeout(POLL) {
                Ok(request) => request,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return None,
            };
            match self.load(request.file()) {
                Ok(world) => {
                    let scenario = world.model.scenario();
                    tracing::info!("switching to {}", scenario.name);
                    request.accept(scenario);
                    self.end_present(ended);
                    return Some(world);
                }
                Err(fault) => request.refuse_file(&fault.to_string()),
            }
        }
        None
    }

    /// Ends the running world, if it has not ended by itself meanwhile.
    fn end_present(&self, ended: &AtomicBool) {
        thread::sleep(ANSWER_LEAVES);
        let quit = || self.changes.request(Change::Enter(RunState::Quitting));
        // A full queue refuses at once: try again.
        while matches!(quit().try_recv(), Ok(Err(ChangeError::Full))) && !ended.load(Ordering::Relaxed) {
            thread::sleep(POLL);
        }
    }

    /// Loads a scenario, or the present one on another site, with all checks that a run makes before it begins.
    fn load(&self, file: &Path) -> Result<LoadedWorld, Fault> {
        let number = self.number + 1;
        let (scenario, world) = world_of(file, self.typed, self.present)?;
        let args = numbered_args(self.typed, number, scenario, world);
        let model = places::load_model(args.scenario.as_deref(), &args.world, args.granular.soil_device)?;
        device::check(self.devices, &model)?;
        if !self.has_wire {
            places::check_answerable(&model)?;
        }
        // Only the start of a world shows whether its rovers can stand at their start places.
        drop(World::begin(Arc::clone(&model), None).map_err(Fault::input)?);
        recording::check(args.record.as_deref())?;
        viewers::check(&args.viewers)?;
        check_outputs(&args)?;
        check_pictures(&args, model.scenario())?;
        Ok(LoadedWorld { args, number, model, begin: RunStart::Start(None) })
    }
}

/// The scenario and world arguments for a file: a scenario as it is written; for a site, the present scenario on it.
fn world_of(file: &Path, typed: &RunArgs, present: &RunArgs) -> Result<(Option<PathBuf>, WorldArgs), Fault> {
    if is_scenario(file)? {
        let world = WorldArgs { data: typed.world.data.clone(), ..WorldArgs::default() };
        return Ok((Some(file.to_owned()), world));
    }
    let mut world = present.world.clone();
    world.set.retain(|set| !set.is_of(SITE));
    world.set.push(Override::of_text(SITE, file.to_string_lossy()));
    Ok((present.scenario.clone(), world))
}

/// The arguments of the command line as they apply to world `number` of the process.
fn numbered_args(typed: &RunArgs, number: u32, scenario: Option<PathBuf>, world: WorldArgs) -> RunArgs {
    let place = |path: &Option<PathBuf>| path.as_deref().map(|path| numbered(path, number));
    RunArgs {
        scenario,
        world,
        record: place(&typed.record),
        ruts: RutsArgs { ruts: None, save_ruts: place(&typed.ruts.save_ruts) },
        checkpoints: CheckpointArgs {
            checkpoint_dir: place(&typed.checkpoints.checkpoint_dir),
            resume: None,
            ..typed.checkpoints.clone()
        },
        run: RunIdArgs::default(),
        out: numbered(&typed.out, number),
        viewers: ViewersArgs { rerun: place(&typed.viewers.rerun), ..typed.viewers.clone() },
        figures: place(&typed.figures),
        ..typed.clone()
    }
}

/// The output path of world `number` in place of `path`, such as `bag_2` or `run_2.json`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let Some(stem) = path.file_stem() else { return path.join(number.to_string()) };
    let mut name = stem.to_owned();
    name.push(format!("_{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Whether a YAML file is a scenario.
fn is_scenario(file: &Path) -> Result<bool, Fault> {
    let bytes = input::read_bytes(file, BYTES_MAX).map_err(Fault::input)?;
    let read: Result<serde_json::Value, _> = serde_yaml::from_slice(&bytes);
    let value = read.map_err(|error| Fault::input(format!("{}: {error}", file.display())))?;
    Ok(value.get(SITE).is_some())
}

/// The scenarios that can replace `present`: those of the configuration, and those in the folder of `present`.
pub(super) fn offered(present: &Path) -> Vec<OfferedScenario> {
    let whole = |file: PathBuf| file.canonicalize().unwrap_or(file);
    let configured = places::files_of("scenario").into_iter().map(|(name, file)| (whole(file), name));
    let mut found: BTreeMap<PathBuf, String> = configured.collect();
    for file in beside(present).into_iter().map(whole) {
        let name = file.file_stem().and_then(OsStr::to_str).map(str::to_owned);
        if let Some(name) = name.filter(|_| !found.contains_key(&file) && is_scenario(&file).unwrap_or(false)) {
            found.insert(file, name);
        }
    }
    let scenario = |(file, name): (PathBuf, String)| OfferedScenario { description: list::about(&file), name, file };
    let mut scenarios: Vec<_> = found.into_iter().map(scenario).collect();
    scenarios.sort_by(|one, other| one.name.cmp(&other.name));
    scenarios
}

/// The YAML files in the folder of a scenario, including itself.
fn beside(present: &Path) -> Vec<PathBuf> {
    let folder = present.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_yaml = |file: &PathBuf| file.extension().is_some_and(|own| own == "yaml" || own == "yml");
    let mut files: Vec<_> = entries.filter(is_yaml).collect();
    files.sort();
    files.truncate(FILES_MAX);
    files
}

#[cfg(test)]
mod tests {
    use super::{RunArgs, WorldArgs, is_scenario, numbered, numbered_args, offered, world_of};
    use crate::args::{Command, CommandLine};
    use crate::places;
    use clap::Parser;
    use std::path::{Path, PathBuf};

    fn config(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(name)
    }

    fn typed(words: &[&str]) -> RunArgs {
        let typed = CommandLine::parse_from([&["selene", "run"][..], words].concat());
        let Some(Command::Run(args)) = typed.command else { panic!("a run") };
        args
    }

    #[test]
    fn what_a_later_world_writes_has_its_number() {
        for (path, expected) in
            [("out", "out_2"), ("a/bag", "a/bag_2"), ("run.json", "run_2.json"), ("../..", "../../2"), (".", "./2")]
        {
            assert_eq!(numbered(Path::new(path), 2), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn options_of_the_first_scenario_do_not_hold_for_the_next_and_those_of_the_process_do() {
        let words = ["--seed", "7", "--ruts", "a.state", "--save-ruts", "a.state", "--run", "first", "--for", "9"];
        let typed = typed(&[&words[..], &["--no-dds", "--out", "pictures", "--record", "bag"]].concat());
        let next = numbered_args(&typed, 2, Some(config("scenario/sorato.yaml")), WorldArgs::default());
        assert!(next.world.seed.is_none() && next.ruts.ruts.is_none() && next.run.run.is_none());
        assert_eq!(next.ruts.save_ruts.as_deref(), Some(Path::new("a_2.state")));
        assert_eq!((next.out.as_path(), next.record.as_deref()), (Path::new("pictures_2"), Some(Path::new("bag_2"))));
        assert!(next.no_dds && next.pacing.duration == typed.pacing.duration && next.pacing.duration.is_some());
    }

    #[test]
    fn on_another_site_the_present_scenario_goes_on_with_what_was_typed_of_it() {
        let typed = typed(&[&config("scenario/sorato.yaml").to_string_lossy(), "--seed", "7"]);
        let mut present = typed.clone();
        for site in ["mare", "plain"] {
            let file = config(&format!("site/{site}.yaml")).canonicalize().expect("a file");
            (present.scenario, present.world) = world_of(&file, &typed, &present).expect("a world");
            let scenario = places::load_scenario(present.scenario.as_deref(), &present.world).expect("a scenario");
            assert_eq!((scenario.site.name.as_str(), scenario.name.as_str(), scenario.seed), (site, "sorato", 7));
            assert_eq!(present.world.set.len(), 1);
        }
        let other = config("scenario/ex1.yaml").canonicalize().expect("a file");
        let (scenario, world) = world_of(&other, &typed, &present).expect("a world");
        assert!(scenario == Some(other) && world.seed.is_none() && world.set.is_empty());
    }

    #[test]
    fn scenarios_are_distinguished_from_other_files_and_those_of_the_configuration_are_offered_once() {
        assert!(is_scenario(&config("scenario/polar.yaml")).expect("a file"));
        for other in ["site/polar.yaml", "rover/viper.yaml", "soil/lunar.yaml"] {
            assert!(!is_scenario(&config(other)).expect("a file"), "{other}");
        }
        assert!(is_scenario(&config("scenario/no.yaml")).is_err());
        let offered = offered(&config("scenario/polar.yaml"));
        let file = config("scenario/polar.yaml").canonicalize().expect("a file");
        let polar: Vec<_> = offered.iter().filter(|scenario| scenario.file == file).collect();
        assert!(
            matches!(&polar[..], [polar] if polar.file.is_absolute() && !polar.description.is_empty()),
            "{polar:?}"
        );
        assert!(offered.iter().any(|scenario| scenario.name == "sorato"));
    }
}
