//! A scenario: which rover stands where, on which site and soil, at what instant,
//! with which sensors and what to do. Files named in a scenario are relative to it.
//! Loading reads and checks every one of them, so that a run that starts has all it
//! needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use garde::Validate;
use selene_base::{InputError, SimTime, input};
use selene_sensors::SensorSpec;
use selene_sky::{Direction, KernelError, SiteSky, Star, StarError, Utc};
use selene_soil::{Soils, SoilsSpec};
use selene_terrain::{Ground, SiteSpec, TerrainError, WindowPlan};
use selene_vehicle::{RoverModel, VehicleError};
use serde::Deserialize;

use crate::loose::{self, LooseFromSiteSpec, LooseRockSpec};
use crate::route::RouteSpec;
use crate::saved_ruts::{RutsError, SavedRuts};
use crate::sensors;
use crate::sky::SkySpec;
use crate::world::BORDER_M;

/// A scenario's file.
#[derive(Clone, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSpec {
    /// What it is called.
    #[garde(length(min = 1, max = 100))]
    pub name: String,
    /// The instant at which simulated time is zero.
    #[garde(skip)]
    pub utc: Utc,
    /// Seed of every random stream.
    #[garde(skip)]
    pub seed: u64,
    /// Free-fall acceleration, m/s².
    #[garde(custom(input::within(0.0, 30.0)))]
    pub gravity_m_s2: f64,
    /// Physics step, s.
    #[garde(custom(input::within(0.000_05, 0.01)))]
    pub step_s: f64,
    /// Time between two snapshots of the world, s: a whole number of steps, at most
    /// 10 ms, since the clock is told with each.
    #[garde(custom(input::within(0.000_05, 0.01)), custom(whole_steps(&self.step_s)))]
    pub heartbeat_s: f64,
    /// The site's file.
    #[garde(skip)]
    pub site: PathBuf,
    /// The soil's file, or a default soil with areas of others.
    #[garde(dive)]
    pub soil: SoilsSpec,
    /// The rover.
    #[garde(dive)]
    pub rover: RoverPlacement,
    /// The sensors' files.
    #[garde(length(max = 64))]
    pub sensors: Vec<PathBuf>,
    /// Lamps that are not as bright at the start as the rover's file says.
    #[garde(dive, length(max = 16))]
    #[serde(default)]
    pub lamps: Vec<LampLevelSpec>,
    /// What the built-in driver follows when nobody drives.
    #[garde(dive)]
    pub route: Option<RouteSpec>,
    /// Loose rocks laid on the ground.
    #[garde(dive, length(max = 1000))]
    #[serde(default)]
    pub loose_rocks: Vec<LooseRockSpec>,
    /// Which of the site's own rocks are loose.
    #[garde(dive)]
    #[serde(default)]
    pub loose_from_site: Option<LooseFromSiteSpec>,
    /// Whether the run ends at the border of the site (`SiteSpec::side_m`), a square
    /// around the map's origin. Else the rover drives on: made-up ground has no end, and
    /// around measured ground it is made up.
    #[garde(skip)]
    #[serde(default)]
    pub end_at_site_border: bool,
    /// Kernels and stars.
    #[garde(dive)]
    #[serde(default)]
    pub sky: SkySpec,
}

/// How bright a lamp is at the start.
#[derive(Clone, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct LampLevelSpec {
    /// The lamp.
    #[garde(skip)]
    pub name: String,
    /// Part of its full flux, 0 (off) to 1.
    #[garde(custom(input::within(0.0, 1.0)))]
    pub level: f64,
}

/// Which rover, under what name, and where it starts.
#[derive(Clone, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct RoverPlacement {
    /// The rover's file.
    #[garde(skip)]
    pub file: PathBuf,
    /// Namespace of its topics; empty for none.
    #[garde(custom(ros_namespace))]
    #[serde(default)]
    pub namespace: String,
    /// Start, map x, m.
    #[garde(custom(input::finite))]
    pub x_m: f64,
    /// Start, map y, m.
    #[garde(custom(input::finite))]
    pub y_m: f64,
    /// Height above standing on the ground, m: above zero it is dropped.
    #[garde(custom(input::within(0.0, 100.0)))]
    #[serde(default)]
    pub z_m: f64,
    /// Heading from map x (east), counter-clockwise.
    #[garde(custom(input::within(-360.0, 360.0)))]
    pub yaw_deg: f64,
}

impl RoverPlacement {
    /// Takes over what the command line says instead, under the same rules.
    fn replace(&mut self, options: &LoadOptions) -> Result<(), InputError> {
        if let Some(namespace) = &options.namespace {
            self.namespace = namespace.trim_matches('/').to_owned();
        }
        let own = [&mut self.x_m, &mut self.y_m, &mut self.z_m, &mut self.yaw_deg];
        for (own, replaced) in own.into_iter().zip(options.start) {
            *own = replaced.unwrap_or(*own);
        }
        self.validate().map_err(|report| InputError::content(Path::new("command line"), report.to_string()))
    }
}

/// Where to look and what to change when a scenario is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Folder of third-party data that sites name.
    pub data_dir: Option<PathBuf>,
    /// Replaces the scenario's seed.
    pub seed: Option<u64>,
    /// Replaces the instant at which simulated time is zero.
    pub utc: Option<Utc>,
    /// Replaces the namespace of the rover's topics.
    pub namespace: Option<String>,
    /// Replace the start: map x, y and height above standing in m, heading in degrees.
    pub start: [Option<f64>; 4],
    /// File of driven ground to begin with.
    pub ruts: Option<PathBuf>,
}

/// A scenario with everything it names, loaded and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called.
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
    /// Its sky.
    pub sky: SiteSky,
    /// Its stars, brightest first; none where the scenario names no catalogue.
    pub stars: Arc<[Star]>,
    /// The soils.
    pub soils: Soils,
    /// The rover.
    pub rover: Arc<RoverModel>,
    /// Namespace of its topics; empty for none.
    pub namespace: String,
    /// Start: map x, y and height above standing in m, heading in rad.
    pub start: [f64; 4],
    /// Its sensors.
    pub sensors: Vec<SensorSpec>,
    /// The route, if any.
    pub route: Option<RouteSpec>,
    /// Loose rocks laid on the ground; ground made by others must have them too.
    pub loose_rocks: Vec<LooseRockSpec>,
    /// Which of the site's own rocks are loose.
    pub loose_from_site: Option<LooseFromSiteSpec>,
    /// Whether the run ends at the border of the site.
    pub end_at_site_border: bool,
    /// Driven ground that the run begins with.
    pub ruts: Option<Arc<SavedRuts>>,
    ruts_file: PathBuf,
    file: PathBuf,
    site_file: PathBuf,
    data_dir: Option<PathBuf>,
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A file is missing or refused.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The rover is refused.
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
    /// The driven ground is refused.
    #[error(transparent)]
    Ruts(#[from] RutsError),
}

impl Scenario {
    /// Reads a scenario and every file it names.
    ///
    /// # Errors
    /// With file, line, value and what is allowed.
    pub fn load(path: &Path, options: &LoadOptions) -> Result<Self, ScenarioError> {
        let mut spec: ScenarioSpec = input::load_yaml(path)?;
        spec.rover.replace(options)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let near = |file: &PathBuf| folder.join(file);
        let seed = options.seed.unwrap_or(spec.seed);
        let utc = options.utc.unwrap_or(spec.utc);
        let site_file = near(&spec.site);
        let site: SiteSpec = input::load_yaml(&site_file)?;
        let mut rover = RoverModel::load(&near(&spec.rover.file))?;
        light_lamps(&mut rover, &spec.lamps, path)?;
        let sensors = sensors::load(&spec.sensors, folder, &mut rover)?;
        let (sky, stars) = spec.sky.load(&site, utc, path, options.data_dir.as_deref())?;
        let mut scenario = Self {
            name: spec.name,
            seed,
            utc,
            gravity_m_s2: spec.gravity_m_s2,
            step: SimTime::from_secs_f64(spec.step_s),
            heartbeat: SimTime::from_secs_f64(spec.heartbeat_s),
            sky,
            stars: stars.into(),
            site,
            soils: Soils::load(&spec.soil, folder, seed)?,
            rover: Arc::new(rover),
            namespace: spec.rover.namespace,
            start: [spec.rover.x_m, spec.rover.y_m, spec.rover.z_m, spec.rover.yaw_deg.to_radians()],
            sensors,
            route: spec.route,
            loose_rocks: spec.loose_rocks,
            loose_from_site: spec.loose_from_site,
            end_at_site_border: spec.end_at_site_border,
            ruts: None,
            ruts_file: PathBuf::new(),
            file: path.to_owned(),
            site_file,
            data_dir: options.data_dir.clone(),
        };
        scenario.refuse_repeated_names(path)?;
        scenario.refuse_places_off_the_site(path)?;
        scenario.refuse_cameras_that_are_no_pair(path)?;
        if let Some(file) = &options.ruts {
            scenario.begin_with(SavedRuts::load(file)?, file)?;
        }
        Ok(scenario)
    }

    /// Begins with driven ground; `file` is named in errors.
    ///
    /// # Errors
    /// When it is that of another site, seed or set of levels.
    pub fn begin_with(&mut self, ruts: SavedRuts, file: &Path) -> Result<(), RutsError> {
        ruts.check_site(&self.site, self.seed, file)?;
        (self.ruts, self.ruts_file) = (Some(Arc::new(ruts)), file.to_owned());
        Ok(())
    }

    /// Makes the site's ground, with the ruts that the run begins with: the slow part of a start.
    ///
    /// # Errors
    /// When the site's elevation data are missing or refused, or the ruts are of other ground.
    pub fn generate_ground(&self) -> Result<Ground, ScenarioError> {
        let mut ground = self.site_ground()?;
        let [x, y, ..] = self.start;
        ground.go_to(x, y);
        loose::lay(&mut ground, self.loose_from_site.as_ref(), &self.loose_rocks, &self.file)?;
        Ok(ground)
    }

    /// The site's ground around the map's origin, all its rocks fixed, with the ruts that the run
    /// begins with.
    ///
    /// # Errors
    /// As `generate_ground`.
    pub fn site_ground(&self) -> Result<Ground, ScenarioError> {
        let mut ground = Ground::generate(&self.site, &self.site_file, self.data_dir.as_deref(), self.seed)?;
        if let Some(ruts) = &self.ruts {
            ruts.put_on(&mut ground, &self.ruts_file)?;
        }
        Ok(ground)
    }

    /// Where the Sun stands at a simulated time.
    ///
    /// # Errors
    /// When the scenario's kernels do not cover it.
    pub fn sun(&self, time: SimTime) -> Result<Direction, KernelError> {
        self.sky.sun(self.utc.after(time))
    }

    /// Density of a loose rock of `ground`, kg/m³. The scenario's own rocks are the last.
    #[must_use]
    pub fn density_kg_m3(&self, ground: &Ground, id: u32) -> f64 {
        let loose = ground.loose_rocks();
        let own = loose.len().saturating_sub(self.loose_rocks.len());
        let place = loose.iter().position(|rock| rock.id == id).and_then(|place| place.checked_sub(own));
        place.and_then(|place| self.loose_rocks.get(place)).map_or(loose::DENSITY_KG_M3, |rock| rock.density_kg_m3)
    }

    /// The index of a sensor's link among the rover's links. That it is one was checked
    /// when the scenario was loaded; another name gives the base.
    #[must_use]
    pub fn link_index(&self, name: &str) -> usize {
        self.rover.link_index(name).unwrap_or_default()
    }

    /// A topic of the rover: `name` under its namespace, or as it is when it begins
    /// with a slash.
    #[must_use]
    pub fn topic(&self, name: &str) -> String {
        match (name.starts_with('/'), self.namespace.as_str()) {
            (true, _) => name.to_owned(),
            (false, "") => format!("/{name}"),
            (false, namespace) => format!("/{namespace}/{name}"),
        }
    }

    /// The start and the waypoints must be where windows of detailed ground can be, loose
    /// rocks on the window around the start.
    fn refuse_places_off_the_site(&self, path: &Path) -> Result<(), InputError> {
        let plan = WindowPlan::of(&self.site);
        let reach_m = 0.5 * self.site.levels.first().map_or(0.0, |finest| finest.side_m) - BORDER_M;
        let place = plan.place_of(self.start[0], self.start[1]);
        let middle_m = place.map(|steps| f64::from(steps) * plan.step_m());
        let start = [self.start[0], self.start[1]];
        let waypoints = self.route.iter().flat_map(|route| route.waypoints_m.iter().map(|at| ("waypoint", *at)));
        for (what, [x, y]) in std::iter::once(("start", start)).chain(waypoints) {
            let at_home = x.abs() < reach_m && y.abs() < reach_m;
            if !at_home && !plan.has(plan.place_of(x, y)) {
                let told = format!(
                    "{what} ({x}, {y}) m is too far from 0: tiles of this site's finest level are numbered for some {:.0} km each way",
                    plan.reach_m() / 1000.0
                );
                return Err(InputError::content(path, told));
            }
        }
        for rock in &self.loose_rocks {
            let apart_m = (rock.x_m - middle_m[0]).abs().max((rock.y_m - middle_m[1]).abs());
            if apart_m > reach_m {
                let told = format!(
                    "loose rock ({}, {}) m is off the detailed ground around the start; x and y must be within {reach_m:.1} m of ({:.1}, {:.1})",
                    rock.x_m, rock.y_m, middle_m[0], middle_m[1]
                );
                return Err(InputError::content(path, told));
            }
        }
        Ok(())
    }

    fn refuse_repeated_names(&self, path: &Path) -> Result<(), InputError> {
        let mut names: Vec<&str> = self.sensors.iter().map(SensorSpec::name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                Err(InputError::content(path, format!("two sensors are named '{}'; names must differ", pair[0])))
            }
            None => Ok(()),
        }
    }
}

fn light_lamps(rover: &mut RoverModel, levels: &[LampLevelSpec], path: &Path) -> Result<(), InputError> {
    for LampLevelSpec { name, level } in levels {
        if !rover.set_lamp_level(name, *level) {
            let names: Vec<&str> = rover.lamps().iter().map(|lamp| lamp.spec.name.as_str()).collect();
            let what = format!("lamps: '{name}' is no lamp of the rover; it has {}", names.join(", "));
            return Err(InputError::content(path, what));
        }
    }
    Ok(())
}

fn whole_steps(step_s: &f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    let step = SimTime::from_secs_f64(*step_s);
    move |&heartbeat_s, ()| {
        let whole = step > SimTime::ZERO && SimTime::from_secs_f64(heartbeat_s) % step == SimTime::ZERO;
        if whole && heartbeat_s > 0.0 {
            return Ok(());
        }
        Err(garde::Error::new(format!("value {heartbeat_s} is not allowed: must be a whole number of steps of step_s")))
    }
}

fn ros_namespace(name: &str, (): &()) -> garde::Result {
    let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if starts_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(garde::Error::new(format!(
        "value '{name}' is not allowed: must be letters, digits and _, not beginning with a digit"
    )))
}
