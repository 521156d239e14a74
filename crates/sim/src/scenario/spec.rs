//! The keys of a scenario's file.

use std::fmt::Display;
use std::path::PathBuf;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{self, YamlFile};
use selene_base::{InputError, SimTime};
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

/// Maximum number of rovers of one world.
pub(crate) const ROVERS_MAX: usize = 256;
/// Maximum number of sensors of one rover.
const SENSORS_MAX: usize = 64;
/// Maximum number of granular windows of one world.
const WINDOWS_MAX: usize = 16;
/// Maximum number of lamps of one rover.
const LAMPS_MAX: usize = 16;

/// A scenario's file. A single rover may be given in the short form, by `rover`, `sensors`, `lamps` and `route`;
/// several rovers by `rovers`.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSpec {
    /// Name of the scenario; by default that of its file.
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
    /// Time between two snapshots of the world, s: a whole number of steps, at most 10 ms, since the clock is published
    /// with each.
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
    /// Granular windows: areas whose soil becomes points as soon as something drives or digs there.
    #[garde(dive, length(max = WINDOWS_MAX))]
    #[serde(default)]
    pub granular: Vec<WindowSpec>,
    /// Crumbs that cameras and lidars see on the walls of ruts from close by; by default none.
    #[garde(dive)]
    #[serde(default)]
    pub crumbs: Option<CrumbsSpec>,
    /// Clods and pebbles that cameras and lidars see from close by; by default none.
    #[garde(dive)]
    #[serde(default)]
    pub pebbles: Option<PebblesSpec>,
    /// The one rover, in the short form.
    #[garde(dive)]
    #[serde(default)]
    pub rover: Option<SingleRoverSpec>,
    /// Files of the one rover's sensors, in the short form.
    #[garde(length(max = SENSORS_MAX))]
    #[serde(default)]
    pub sensors: Vec<PathBuf>,
    /// Levels of its lamps at the start, if they differ from the rover's file.
    #[garde(dive, length(max = LAMPS_MAX))]
    #[serde(default)]
    pub lamps: Vec<LampLevelSpec>,
    /// Route that the one rover follows until a command drives it.
    #[garde(dive)]
    pub route: Option<RouteSpec>,
    /// Scripted motions of the one rover's joints from the start of the run.
    #[garde(dive, length(max = MOTIONS_MAX))]
    #[serde(default)]
    pub motions: Vec<MotionSpec>,
    /// Topics for which simulated time waits: the one rover's, or with `rovers` any topics by their full names.
    #[garde(dive, length(max = AWAITED_MAX))]
    #[serde(default)]
    pub lockstep: Vec<LockstepSpec>,
    /// Several rovers, instead of the short form.
    #[garde(dive, length(max = ROVERS_MAX))]
    #[serde(default)]
    pub rovers: Vec<RoverEntrySpec>,
    /// Fixed objects: landers, masts, markers.
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
    /// Whether the run ends at the border of the site (`SiteSpec::side_m`), a square around the map's origin. Otherwise
    /// rovers drive on: procedural ground has no end, and it continues around measured ground.
    #[garde(skip)]
    #[serde(default)]
    pub end_at_site_border: bool,
    /// Kernels and stars of the sky.
    #[garde(dive)]
    #[serde(default)]
    pub sky: SkySpec,
}

/// The one rover of a scenario in the short form. The keys of its start are its own, because errors in a part that
/// serde flattens lose their line.
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
    /// Height above standing on the ground, m; if positive, the rover falls at the start.
    #[garde(custom(input::within(0.0, 100.0)))]
    #[serde(default)]
    pub z_m: f64,
    /// Heading from map x (east), degrees, counter-clockwise.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
}

/// One rover.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RoverEntrySpec {
    /// Its name, unique in the world: the prefix of its frames. None for the one rover of the short form, which has the
    /// name in its file.
    #[garde(inner(length(min = 1, max = 60), custom(ros_namespace)))]
    #[serde(deserialize_with = "given")]
    pub name: Option<String>,
    /// The rover's file.
    #[garde(skip)]
    pub file: PathBuf,
    /// Namespace of its topics; by default its name.
    #[garde(inner(custom(ros_namespace)))]
    #[serde(default)]
    pub namespace: Option<String>,
    /// Start position and heading.
    #[garde(dive)]
    pub start: StartSpec,
    /// The soil under its wheels, if it differs from the scenario's, for another soil law.
    #[garde(dive)]
    #[serde(default)]
    pub soil: Option<SoilsSpec>,
    /// Files of its sensors.
    #[garde(length(max = SENSORS_MAX))]
    #[serde(default)]
    pub sensors: Vec<PathBuf>,
    /// Levels of lamps at the start, if they differ from the rover's file.
    #[garde(dive, length(max = LAMPS_MAX))]
    #[serde(default)]
    pub lamps: Vec<LampLevelSpec>,
    /// Route that it follows until a command drives it.
    #[garde(dive)]
    #[serde(default)]
    pub route: Option<RouteSpec>,
    /// Scripted motions of its joints from the start of the run.
    #[garde(dive, length(max = MOTIONS_MAX))]
    #[serde(default)]
    pub motions: Vec<MotionSpec>,
    /// Its topics for which simulated time waits.
    #[garde(dive, length(max = AWAITED_MAX))]
    #[serde(default)]
    pub lockstep: Vec<LockstepSpec>,
    /// Its place in the scenario's file, such as `rovers[1]`; empty in the short form.
    #[garde(skip)]
    #[serde(skip)]
    pub(crate) at: String,
}

/// The start of a rover.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct StartSpec {
    /// Map x, m.
    #[garde(custom(input::finite))]
    pub x_m: f64,
    /// Map y, m.
    #[garde(custom(input::finite))]
    pub y_m: f64,
    /// Height above standing on the ground, m; if positive, the rover falls at the start.
    #[garde(custom(input::within(0.0, 100.0)))]
    #[serde(default)]
    pub z_m: f64,
    /// Heading from map x (east), degrees, counter-clockwise.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
}

/// A fixed object.
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
    /// Rotation about the vertical, from map x (east), degrees, counter-clockwise.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub yaw_deg: f64,
    /// Then the rotation about its own y axis, degrees; positive turns the x axis downward.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub pitch_deg: f64,
    /// Then the rotation about its own x axis, degrees.
    #[garde(custom(input::within(-360.0, 360.0)))]
    #[serde(default)]
    pub roll_deg: f64,
    /// Reflectance of the whole object; by default paint in the colours of its file. Hapke's parameters that are left
    /// out are those of rock.
    #[garde(dive)]
    #[serde(default)]
    pub material: Option<ReflectanceSpec>,
}

/// Level of a lamp at the start.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LampLevelSpec {
    /// Name of the lamp.
    #[garde(skip)]
    pub name: String,
    /// Fraction of its full flux, 0 (off) to 1.
    #[garde(custom(input::within(0.0, 1.0)))]
    pub level: f64,
}

impl ScenarioSpec {
    /// Its rovers, given in the short form or as a list; `file` is that of the scenario.
    pub(crate) fn rovers_in_full(&self, file: &YamlFile) -> Result<Vec<RoverEntrySpec>, InputError> {
        let refuse = |what: &str| Err(file.refusal("rovers", what));
        match (&self.rover, &self.rovers[..]) {
            (None, []) => Err(InputError::content(file.path(), "has no rover: give `rover` or `rovers`")),
            (Some(rover), []) => Ok(vec![self.in_full(rover)]),
            (Some(_), _) => refuse("stand beside `rover`; one of the two is allowed"),
            (None, _) if !self.sensors.is_empty() || !self.lamps.is_empty() || self.is_reported() => refuse(
                "`sensors`, `lamps`, `route` and `motions` beside it belong to none of the rovers: put them into an \
                 entry",
            ),
            (None, rovers) => {
                let entry = |(i, rover): (usize, &RoverEntrySpec)| RoverEntrySpec {
                    at: format!("rovers[{i}]"),
                    ..rover.clone()
                };
                Ok(rovers.iter().enumerate().map(entry).collect())
            }
        }
    }

    /// Whether the scenario has a route or motions outside of `rovers`.
    fn is_reported(&self) -> bool {
        self.route.is_some() || !self.motions.is_empty()
    }

    /// The one rover of the short form, with the scenario's sensors, lamps, route, motions and awaited topics.
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
            at: String::new(),
        }
    }

    /// Topics for which simulated time waits and that belong to no rover's entry.
    pub(crate) fn lockstep_of_world(&self) -> &[LockstepSpec] {
        if self.rover.is_some() { &[] } else { &self.lockstep }
    }
}

impl RoverEntrySpec {
    /// The place of one of its keys in the scenario's file. In the short form `namespace` and the start are in `rover`, the
    /// rest beside it.
    pub(crate) fn place(&self, key: &str) -> String {
        match (self.at.as_str(), key) {
            ("", "namespace") => format!("rover.{key}"),
            ("", _) => key.to_owned(),
            (at, _) => format!("{at}.{key}"),
        }
    }

    /// The place of its start.
    pub(crate) fn start_place(&self) -> String {
        if self.at.is_empty() { "rover".to_owned() } else { self.place("start") }
    }

    /// A refusal of one of its keys.
    pub(crate) fn refusal(&self, scenario: &YamlFile, key: &str, what: impl Display) -> InputError {
        scenario.refusal(&self.place(key), what)
    }
}

/// Reads the name of a rover in a list, where it must be given.
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
