//! A scenario's file.

use std::path::{Path, PathBuf};

use garde::Validate;
use schemars::JsonSchema;
use selene_base::{InputError, SimTime, input};
use selene_sky::Utc;
use selene_soil::{SoilsSpec, WindowSpec};
use selene_terrain::ReflectanceSpec;
use serde::{Deserialize, Deserializer};

use crate::driving::RouteSpec;
use crate::scenario::crumbs::CrumbsSpec;
use crate::scenario::defaults;
use crate::scenario::lockstep::{AWAITED_MAX, LockstepSpec};
use crate::scenario::loose::{LooseFromSiteSpec, LooseRockSpec};
use crate::scenario::motion::{MOTIONS_MAX, MotionSpec};
use crate::scenario::pebbles::PebblesSpec;
use crate::scenario::sky::SkySpec;

/// Rovers of one world at most.
pub(crate) const ROVERS_MAX: usize = 256;
/// Sensors of one rover at most.
const SENSORS_MAX: usize = 64;
/// Granular windows of one world at most.
const WINDOWS_MAX: usize = 16;
/// Lamps of one rover at most.
const LAMPS_MAX: usize = 16;

/// A scenario's file. One rover may be given in short, by `rover`, `sensors`, `lamps` and
/// `route`; several by `rovers`.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSpec {
    /// What it is called; as its file where none is given.
    #[garde(inner(length(min = 1, max = 100)))]
    #[serde(default)]
    pub name: Option<String>,
    /// The instant at which simulated time is zero.
    #[garde(skip)]
    #[serde(default)]
    pub utc: Option<Utc>,
    /// Seed of every random stream.
    #[garde(skip)]
    #[serde(default = "defaults::seed")]
    pub seed: u64,
    /// Free-fall acceleration, m/s².
    #[garde(custom(input::within(0.0, 30.0)))]
    #[serde(default = "defaults::gravity_m_s2")]
    pub gravity_m_s2: f64,
    /// Physics step, s.
    #[garde(custom(input::within(0.000_05, 0.01)))]
    #[serde(default = "defaults::step_s")]
    pub step_s: f64,
    /// Time between two snapshots of the world, s: a whole number of steps, at most
    /// 10 ms, since the clock is told with each.
    #[garde(custom(input::within(0.000_05, 0.01)), custom(whole_steps(&self.step_s)))]
    #[serde(default = "defaults::heartbeat_s")]
    pub heartbeat_s: f64,
    /// The site's file, or its name in the configuration.
    #[garde(skip)]
    pub site: PathBuf,
    /// The soil's file or name, or a default soil with areas of others.
    #[garde(dive)]
    #[serde(default = "defaults::soil")]
    pub soil: SoilsSpec,
    /// Where soil becomes points as soon as something drives or digs there.
    #[garde(dive, length(max = WINDOWS_MAX))]
    #[serde(default)]
    pub granular: Vec<WindowSpec>,
    /// How cameras and lidars see the walls of ruts from close by: as the height field alone where none are given.
    #[garde(dive)]
    #[serde(default)]
    pub crumbs: Option<CrumbsSpec>,
    /// Clods and pebbles that cameras and lidars see from close by: none where none are given.
    #[garde(dive)]
    #[serde(default)]
    pub pebbles: Option<PebblesSpec>,
    /// The one rover, in short.
    #[garde(dive)]
    #[serde(default)]
    pub rover: Option<SingleRoverSpec>,
    /// Its sensors' files.
    #[garde(length(max = SENSORS_MAX))]
    #[serde(default)]
    pub sensors: Vec<PathBuf>,
    /// Its lamps that are not as bright at the start as the rover's file says.
    #[garde(dive, length(max = LAMPS_MAX))]
    #[serde(default)]
    pub lamps: Vec<LampLevelSpec>,
    /// What its built-in driver follows when nobody drives.
    #[garde(dive)]
    pub route: Option<RouteSpec>,
    /// What its joints do by themselves from the run's begin on.
    #[garde(dive, length(max = MOTIONS_MAX))]
    #[serde(default)]
    pub motions: Vec<MotionSpec>,
    /// Topics that simulated time waits for: the one rover's, or beside `rovers` any by their full names.
    #[garde(dive, length(max = AWAITED_MAX))]
    #[serde(default)]
    pub lockstep: Vec<LockstepSpec>,
    /// Rovers.
    #[garde(dive, length(max = ROVERS_MAX))]
    #[serde(default)]
    pub rovers: Vec<RoverEntrySpec>,
    /// Objects that stand fast: landers, mast, markers.
    #[garde(dive, length(max = 100))]
    #[serde(default)]
    pub objects: Vec<ObjectSpec>,
    /// Loose rocks laid on the ground.
    #[garde(dive, length(max = 1000))]
    #[serde(default)]
    pub loose_rocks: Vec<LooseRockSpec>,
    /// Which of the site's own rocks are loose.
    #[garde(dive)]
    #[serde(default)]
    pub loose_from_site: Option<LooseFromSiteSpec>,
    /// Whether the run ends at the border of the site (`SiteSpec::side_m`), a square
    /// around the map's origin. Else rovers drive on: made-up ground has no end, and
    /// around measured ground it is made up.
    #[garde(skip)]
    #[serde(default)]
    pub end_at_site_border: bool,
    /// Kernels and stars.
    #[garde(dive)]
    #[serde(default)]
    pub sky: SkySpec,
}

/// The one rover of a scenario in short: the keys of its start are its own, since of a part that serde
/// flattens, wrong values would lose their lines.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SingleRoverSpec {
    /// The rover's file, or its name in the configuration.
    #[garde(skip)]
    pub file: PathBuf,
    /// Namespace of its topics; empty for none.
    #[garde(custom(ros_namespace))]
    #[serde(default)]
    pub namespace: String,
    /// Start, map x, m.
    #[garde(custom(input::finite))]
    #[serde(default)]
    pub x_m: f64,
    /// Start, map y, m.
    #[garde(custom(input::finite))]
    #[serde(default)]
    pub y_m: f64,
    /// Height above standing on the ground, m: above zero it is dropped.
    #[garde(custom(input::within(0.0, 100.0)))]
    #[serde(default)]
    pub z_m: f64,
    /// Heading from map x (east), counter-clockwise.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
}

/// One rover.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RoverEntrySpec {
    /// Its name, unique in the world: the prefix of its frames. None for the one rover of a scenario in
    /// short, which is called as in its file.
    #[garde(inner(length(min = 1, max = 60), custom(ros_namespace)))]
    #[serde(deserialize_with = "given")]
    pub name: Option<String>,
    /// The rover's file.
    #[garde(skip)]
    pub file: PathBuf,
    /// Namespace of its topics; its name where none is given.
    #[garde(inner(custom(ros_namespace)))]
    #[serde(default)]
    pub namespace: Option<String>,
    /// Where it starts.
    #[garde(dive)]
    pub start: StartSpec,
    /// The soil under its own wheels, where it is not the scenario's: another law for another rover.
    #[garde(dive)]
    #[serde(default)]
    pub soil: Option<SoilsSpec>,
    /// Its sensors' files.
    #[garde(length(max = SENSORS_MAX))]
    #[serde(default)]
    pub sensors: Vec<PathBuf>,
    /// Lamps that are not as bright at the start as the rover's file says.
    #[garde(dive, length(max = LAMPS_MAX))]
    #[serde(default)]
    pub lamps: Vec<LampLevelSpec>,
    /// What its built-in driver follows when nobody drives.
    #[garde(dive)]
    #[serde(default)]
    pub route: Option<RouteSpec>,
    /// What its joints do by themselves from the run's begin on.
    #[garde(dive, length(max = MOTIONS_MAX))]
    #[serde(default)]
    pub motions: Vec<MotionSpec>,
    /// Topics of it that simulated time waits for.
    #[garde(dive, length(max = AWAITED_MAX))]
    #[serde(default)]
    pub lockstep: Vec<LockstepSpec>,
}

/// Where something starts or stands.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct StartSpec {
    /// Map x, m.
    #[garde(custom(input::finite))]
    pub x_m: f64,
    /// Map y, m.
    #[garde(custom(input::finite))]
    pub y_m: f64,
    /// Height above standing on the ground, m: above zero it is dropped.
    #[garde(custom(input::within(0.0, 100.0)))]
    #[serde(default)]
    pub z_m: f64,
    /// Heading from map x (east), counter-clockwise.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
}

/// An object that stands fast.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ObjectSpec {
    /// Its name, unique in the world.
    #[garde(length(min = 1, max = 60), custom(ros_namespace))]
    pub name: String,
    /// A URDF whose joints are all fixed, or a mesh file (stl, obj, dae) in metres.
    #[garde(skip)]
    pub file: PathBuf,
    /// Map x, m.
    #[garde(custom(input::finite))]
    pub x_m: f64,
    /// Map y, m.
    #[garde(custom(input::finite))]
    pub y_m: f64,
    /// Height of its origin above the ground under it, m.
    #[garde(custom(input::within(-100.0, 1000.0)))]
    #[serde(default)]
    pub z_m: f64,
    /// How it is turned about the vertical, from map x (east), counter-clockwise.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
    /// How it is then turned about its own y, its x axis downward.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub pitch_deg: f64,
    /// How it is then turned about its own x.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub roll_deg: f64,
    /// What all of it does with light; without it, paint of the file's colours. Hapke's parameters that are left
    /// out are rock's.
    #[garde(dive)]
    #[serde(default)]
    pub material: Option<ReflectanceSpec>,
}

/// How bright a lamp is at the start.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LampLevelSpec {
    /// The lamp.
    #[garde(skip)]
    pub name: String,
    /// Part of its full flux, 0 (off) to 1.
    #[garde(custom(input::within(0.0, 1.0)))]
    pub level: f64,
}

impl ScenarioSpec {
    /// Its rovers, given in short or as a list; `path` is named in errors.
    pub(crate) fn rovers_in_full(&self, path: &Path) -> Result<Vec<RoverEntrySpec>, InputError> {
        let refuse = |what: &str| Err(InputError::content(path, what));
        match (&self.rover, &self.rovers[..]) {
            (None, []) => refuse("has no rover: give `rover` or `rovers`"),
            (Some(rover), []) => Ok(vec![self.in_full(rover)]),
            (Some(_), _) => refuse("has `rover` and `rovers`; one of the two is allowed"),
            (None, _) if !self.sensors.is_empty() || !self.lamps.is_empty() || self.is_told() => refuse(
                "`sensors`, `lamps`, `route` and `motions` beside `rovers` belong to none of them: put them into an \
                 entry of `rovers`",
            ),
            (None, rovers) => Ok(rovers.to_vec()),
        }
    }

    /// Whether something is to be done that names no rover.
    fn is_told(&self) -> bool {
        self.route.is_some() || !self.motions.is_empty()
    }

    /// The one rover, given in short, with what the scenario says of it.
    fn in_full(&self, rover: &SingleRoverSpec) -> RoverEntrySpec {
        let SingleRoverSpec { file, namespace, x_m, y_m, z_m, yaw_deg } = rover.clone();
        RoverEntrySpec {
            name: None,
            file,
            namespace: Some(namespace),
            start: StartSpec { x_m, y_m, z_m, yaw_deg },
            soil: None,
            sensors: self.sensors.clone(),
            lamps: self.lamps.clone(),
            route: self.route.clone(),
            motions: self.motions.clone(),
            lockstep: self.lockstep.clone(),
        }
    }

    /// Topics that simulated time waits for and that no rover's entry names.
    pub(crate) fn lockstep_of_world(&self) -> &[LockstepSpec] {
        if self.rover.is_some() { &[] } else { &self.lockstep }
    }
}

/// The name in a list of rovers, where none may be without.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
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

pub(crate) fn ros_namespace(name: &str, (): &()) -> garde::Result {
    let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if starts_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(garde::Error::new(format!(
        "value '{name}' is not allowed: must be letters, digits and _, not beginning with a digit"
    )))
}
