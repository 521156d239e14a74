//! A scenario: which rovers stand where, on which site and soil, at what instant,
//! with which sensors and what to do. Files named in a scenario are relative to it.
//! Loading reads and checks every one of them, so that a run that starts has all it
//! needs.

mod body_plan;
mod crumbs;
pub mod defaults;
mod lockstep;
mod loose;
mod motion;
mod names;
mod object;
mod other_rover;
mod pebbles;
mod rover;
mod sensors;
mod sky;
mod spec;
mod stereo;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garde::Validate;
use selene_base::input::{self, YamlFile};
use selene_base::{InputError, SimTime};
use selene_sky::{CatalogueStar, Direction, KernelError, SiteSky, StarError, Utc, UtcError};
use selene_soil::{Soils, SoilsSpec, WindowSpec};
use selene_terrain::{SiteSpec, Terrain, TerrainError, WindowPlan};
use selene_vehicle::VehicleError;

pub use crumbs::CrumbsSpec;
pub use lockstep::{AwaitedTopic, LockstepSpec};
pub(crate) use loose::{FIRST_LAID, from_site, laid, lay_rock, resting};
pub use loose::{LooseFromSiteSpec, LooseRockSetup, LooseRockSpec};
pub use motion::MotionSpec;
use names::Folders;
pub use object::ObjectSetup;
pub use other_rover::load_rover;
pub use pebbles::PebblesSpec;
pub use rover::{Mounted, MountedSensor, RoverSetup, Start};
use sensors::with_others;
pub(crate) use sensors::{load as load_sensors, refuse_sound_in_vacuum};
pub use sky::SkySpec;
pub use spec::{LampLevelSpec, ObjectSpec, RoverEntrySpec, ScenarioSpec, SingleRoverSpec, StartSpec};
pub use stereo::StereoError;

/// Folders to search and overrides to apply when a scenario is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Folder of third-party data that sites name.
    pub data_dir: Option<PathBuf>,
    /// Replaces the scenario's seed.
    pub seed: Option<u64>,
    /// Replaces the instant at which simulated time is zero.
    pub utc: Option<Utc>,
    /// Replaces the one rover by the rover of another file, with its own sensors.
    pub rover: Option<PathBuf>,
    /// Replaces the soil, everywhere and under every rover.
    pub soil: Option<PathBuf>,
    /// Folders of the configuration, first choice first, as absolute paths. A name in a scenario that is no file beside
    /// it is looked up there.
    pub configuration: Vec<PathBuf>,
    /// Replaces the namespace of the one rover's topics.
    pub namespace: Option<String>,
    /// Replaces the start of the one rover.
    pub start: StartOptions,
    /// Files of further sensors of the one rover; one with the name of a sensor of the scenario replaces that sensor.
    pub sensors: Vec<PathBuf>,
}

/// Overrides of a start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StartOptions {
    /// Map x, m.
    pub x_m: Option<f64>,
    /// Map y, m.
    pub y_m: Option<f64>,
    /// Height above standing on the ground, m.
    pub z_m: Option<f64>,
    /// Heading, degrees.
    pub yaw_deg: Option<f64>,
}

/// A scenario with everything it names, loaded and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// The instant at which simulated time is zero.
    pub utc: Utc,
    /// Free-fall acceleration, m/s².
    pub gravity_m_s2: f64,
    /// Physics step.
    pub step: SimTime,
    /// Time between snapshots.
    pub heartbeat: SimTime,
    /// The site.
    pub site: SiteSpec,
    /// The sky over the site.
    pub sky: SiteSky,
    /// Its stars, brightest first; empty if the scenario names no catalogue.
    pub stars: Arc<[CatalogueStar]>,
    /// The soils.
    pub soils: Soils,
    /// Granular windows, in the order of the file.
    pub granular: Vec<WindowSpec>,
    /// Crumbs along ruts, as sensors see them.
    pub crumbs: Option<CrumbsSpec>,
    /// Clods and pebbles, as sensors see them.
    pub pebbles: Option<PebblesSpec>,
    /// The rovers, in the order of the file.
    pub rovers: Vec<RoverSetup>,
    /// Fixed objects, in the order of the file.
    pub objects: Vec<ObjectSetup>,
    /// Loose rocks laid on the ground.
    pub loose_rocks: Vec<LooseRockSpec>,
    /// Which of the site's own rocks are loose.
    pub loose_from_site: Option<LooseFromSiteSpec>,
    /// Whether the run ends at the border of the site.
    pub end_at_site_border: bool,
    /// Topics that simulated time waits for.
    pub lockstep: Vec<AwaitedTopic>,
    /// The files of its sky.
    pub sky_files: SkySpec,
    pub(crate) file: YamlFile,
    pub(crate) site_file: PathBuf,
    pub(crate) data_dir: Option<PathBuf>,
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A file is missing or refused.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A rover or an object is refused.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// The ground cannot be made.
    #[error(transparent)]
    Terrain(#[from] TerrainError),
    /// The kernels are refused or do not cover the start.
    #[error(transparent)]
    Kernels(#[from] KernelError),
    /// The stars are refused.
    #[error(transparent)]
    Stars(#[from] StarError),
}

impl Scenario {
    /// Reads a scenario and every file it names.
    ///
    /// # Errors
    /// When a file is missing or refused; the error names file, line, value and what is allowed.
    pub fn load(path: &Path, options: &LoadOptions) -> Result<Self, ScenarioError> {
        Self::of_file(YamlFile::read(path)?, options)
    }

    /// Reads a scenario from `text`, as if it were the file `path`.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn parse(text: &str, path: &Path, options: &LoadOptions) -> Result<Self, ScenarioError> {
        Self::of_file(YamlFile::of_text(path, text), options)
    }

    fn of_file(file: YamlFile, options: &LoadOptions) -> Result<Self, ScenarioError> {
        let mut spec: ScenarioSpec = file.parse()?;
        let path = file.path();
        let folder = path.parent().unwrap_or(Path::new(""));
        let (configuration, replaced) = (&options.configuration, &options.replaced()[..]);
        Folders { scenario: folder, configuration, replaced }.find_all(&mut spec, &file)?;
        options.replace_soil(&mut spec)?;
        let mut entries = spec.rovers_in_full(&file)?;
        options.replace(&mut entries, &file)?;
        let seed = options.seed.unwrap_or(spec.seed);
        let utc = options.utc.or(spec.utc).map_or_else(|| defaults::UTC.parse(), Ok);
        let utc: Utc = utc.map_err(|error: UtcError| file.refusal("utc", error))?;
        let site_file = folder.join(&spec.site);
        let site: SiteSpec = input::load_yaml(&site_file)?;
        let rovers = entries.iter().map(|rover| RoverSetup::load(rover, folder, &file, seed));
        let rovers = rovers.collect::<Result<Vec<_>, _>>()?;
        entries.iter().zip(&rovers).try_for_each(|(entry, rover)| {
            refuse_sound_in_vacuum(&rover.sensors, spec.gravity_m_s2)
                .map_err(|what| entry.refusal(&file, "sensors", what))
        })?;
        let lockstep = lockstep::awaited(spec.lockstep_of_world(), &entries, &rovers, &file)?;
        let objects = spec.objects.iter().map(|object| ObjectSetup::load(object, folder));
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        let (sky, stars) = spec.sky.load(&site, utc, &file, options.data_dir.as_deref())?;
        let scenario = Self {
            name: spec.name.unwrap_or_else(|| name_of(path)),
            seed,
            utc,
            gravity_m_s2: spec.gravity_m_s2,
            step: SimTime::from_secs_f64(spec.step_s),
            heartbeat: SimTime::from_secs_f64(spec.heartbeat_s),
            sky,
            stars: stars.into(),
            site,
            soils: Soils::load(&spec.soil, folder, seed)?,
            granular: spec.granular,
            crumbs: spec.crumbs,
            pebbles: spec.pebbles,
            rovers,
            objects,
            loose_rocks: spec.loose_rocks,
            loose_from_site: spec.loose_from_site,
            end_at_site_border: spec.end_at_site_border,
            lockstep,
            sky_files: spec.sky,
            file,
            site_file,
            data_dir: options.data_dir.clone(),
        };
        scenario.refuse_repeated_names(&entries)?;
        scenario.refuse_repeated_windows()?;
        scenario.refuse_places_off_the_site(&entries)?;
        Ok(scenario)
    }

    /// The scenario's file.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.file.path()
    }

    /// A refusal of a part of its file that does not fit the rest: of `place`, as in `granular[1]`.
    pub(crate) fn refusal(&self, place: &str, what: impl Display) -> InputError {
        self.file.refusal(place, what)
    }

    /// The file of its site.
    #[must_use]
    pub fn site_file(&self) -> &Path {
        &self.site_file
    }

    /// The site's undisturbed ground.
    ///
    /// # Errors
    /// When the site's elevation data are missing or refused.
    pub fn terrain(&self) -> Result<Terrain, ScenarioError> {
        Ok(Terrain::load(&self.site, &self.site_file, self.data_dir.as_deref(), self.seed)?)
    }

    /// The rover of this name.
    #[must_use]
    pub fn rover(&self, name: &str) -> Option<&RoverSetup> {
        self.rovers.iter().find(|rover| rover.name == name)
    }

    /// Position of the Sun at a simulated time.
    ///
    /// # Errors
    /// When the scenario's kernels do not cover it.
    pub fn sun(&self, time: SimTime) -> Result<Direction, KernelError> {
        self.sky.sun(self.utc.after(time))
    }

    /// Refuses starts, waypoints, objects and rocks beyond the numbered tiles of the finest level. `entries` are those
    /// of the rovers.
    fn refuse_places_off_the_site(&self, entries: &[RoverEntrySpec]) -> Result<(), InputError> {
        let plan = WindowPlan::of(&self.site);
        let refuse_off = |[x, y]: [f64; 2], place: &dyn Fn() -> String| {
            if plan.has(plan.centre_of(x, y)) {
                return Ok(());
            }
            let what = format!(
                "({x}, {y}) m is too far from 0: tiles of this site's finest level are numbered for some {:.0} km each way",
                plan.reach_m() / 1000.0
            );
            Err(self.refusal(&place(), what))
        };
        for (entry, rover) in entries.iter().zip(&self.rovers) {
            refuse_off([rover.start.x_m, rover.start.y_m], &|| entry.start_place())?;
            for (i, at) in rover.route.iter().flat_map(|route| &route.waypoints_m).enumerate() {
                refuse_off(*at, &|| entry.place(&format!("route.waypoints_m[{i}]")))?;
            }
        }
        for (i, object) in self.objects.iter().enumerate() {
            refuse_off([object.x_m, object.y_m], &|| format!("objects[{i}]"))?;
        }
        for (i, rock) in self.loose_rocks.iter().enumerate() {
            refuse_off([rock.x_m, rock.y_m], &|| format!("loose_rocks[{i}]"))?;
        }
        Ok(())
    }

    /// Refuses granular windows with the same name.
    fn refuse_repeated_windows(&self) -> Result<(), InputError> {
        let mut known = BTreeSet::new();
        match self.granular.iter().enumerate().find(|(_, window)| !known.insert(&window.name)) {
            Some((i, window)) => {
                let what = format!("two windows are named '{}'; names must differ", window.name);
                Err(self.refusal(&format!("granular[{i}].name"), what))
            }
            None => Ok(()),
        }
    }

    /// Refuses rovers or objects with the same name, and rovers with the same namespace.
    fn refuse_repeated_names(&self, entries: &[RoverEntrySpec]) -> Result<(), InputError> {
        let rovers = entries.iter().zip(&self.rovers).map(|(entry, rover)| (entry.place("name"), &rover.name));
        let objects = self.objects.iter().enumerate().map(|(i, object)| (format!("objects[{i}].name"), &object.name));
        let mut known = BTreeSet::new();
        if let Some((place, name)) = rovers.chain(objects).find(|&(_, name)| !known.insert(name)) {
            return Err(self.refusal(&place, format!("two rovers or objects are named '{name}'; names must differ")));
        }
        let mut known = BTreeSet::new();
        match entries.iter().zip(&self.rovers).find(|(_, rover)| !known.insert(&rover.namespace)) {
            Some((entry, rover)) => {
                let what = format!("two rovers have the namespace '{}'; namespaces must differ", rover.namespace);
                Err(self.refusal(&entry.place("namespace"), what))
            }
            None => Ok(()),
        }
    }
}

/// Default name of a scenario: that of its file.
fn name_of(path: &Path) -> String {
    path.file_stem().map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

impl LoadOptions {
    /// Kinds of names in a scenario that the command line replaces: another rover comes with sensors of its own.
    fn replaced(&self) -> Vec<&'static str> {
        let soil = self.soil.iter().map(|_| "soil");
        soil.chain(self.rover.iter().flat_map(|_| ["rover", "sensor"])).collect()
    }

    fn replace_soil(&self, spec: &mut ScenarioSpec) -> Result<(), InputError> {
        let Some(soil) = &self.soil else { return Ok(()) };
        // Absolute, since paths in a scenario are relative to it.
        let file = std::path::absolute(soil).map_err(|e| InputError::content(soil, e.to_string()))?;
        spec.soil = SoilsSpec::uniform(file);
        spec.rovers.iter_mut().for_each(|rover| rover.soil = None);
        Ok(())
    }

    /// Applies the overrides of the command line to the one rover, and validates it as in a file.
    fn replace(&self, rovers: &mut [RoverEntrySpec], file: &YamlFile) -> Result<(), InputError> {
        let Self { rover: other, namespace, start, sensors, .. } = self;
        let is_requested = other.is_some() || namespace.is_some() || *start != StartOptions::default();
        if !is_requested && sensors.is_empty() {
            return Ok(());
        }
        let count = rovers.len();
        let [rover] = rovers else {
            let what = format!("there are {count}: a rover, start, namespace or sensor on the command line is for one");
            return Err(file.refusal("rovers", what));
        };
        let folder = file.path().parent().unwrap_or(Path::new(""));
        if let Some(file) = other {
            other_rover::put(file, rover, folder)?;
        }
        rover.sensors = with_others(&rover.sensors, sensors, folder)?;
        start.replace(&mut rover.start);
        if let Some(name) = namespace {
            rover.namespace = Some(name.trim_matches('/').to_owned());
        }
        rover.validate().map_err(|report| InputError::content(Path::new("command line"), report.to_string()))
    }
}

impl StartOptions {
    fn replace(&self, start: &mut StartSpec) {
        let own = [&mut start.x_m, &mut start.y_m, &mut start.z_m, &mut start.yaw_deg];
        for (own, replaced) in own.into_iter().zip([self.x_m, self.y_m, self.z_m, self.yaw_deg]) {
            *own = replaced.unwrap_or(*own);
        }
    }
}
