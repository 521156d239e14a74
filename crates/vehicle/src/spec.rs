//! The rover's YAML file, which assigns roles to a URDF's joints: its wheels, and the actuators,
//! springs and servos of its joints ([`actuators`]). All values are validated on reading; degrees
//! appear only in keys that say so.

mod actuators;
mod driveline;
mod drum;
mod looks;
mod tyre;

use std::collections::BTreeMap;
use std::path::PathBuf;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite_array, positive, within};
use serde::Deserialize;

pub use actuators::{CouplingSpec, DriveSpec, PassiveSpec, ServoKind, ServoSpec, SteeringSpec, SuspensionSpec};
pub use driveline::{AxleSpec, ConverterSpec, DrivelineSpec, EngineSpec, GearboxSpec};
pub use drum::DrumSpec;
pub use looks::{FinishSpec, LampSpec};
pub use tyre::{TyreCurveSpec, TyreDirectionSpec, TyreSpec, TyreTrailSpec, TyreTrailsSpec};

/// Smallest radius and width of a wheel, m: half the spacing of the soil's nodes.
const WHEEL_M_MIN: f64 = 0.01;
/// Largest radius and width of a wheel, m: several times that of any rover.
const WHEEL_M_MAX: f64 = 5.0;

/// A rover, as `config/rover/*.yaml` has it.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RoverSpec {
    /// Name, for people.
    #[garde(length(min = 1))]
    pub name: String,
    /// The URDF, relative to this YAML file.
    #[garde(skip)]
    pub urdf: PathBuf,
    /// Folders of ROS packages that the URDF's `package://` URIs name, relative to this YAML file.
    #[garde(length(max = 64))]
    #[serde(default)]
    pub packages: BTreeMap<String, PathBuf>,
    /// The wheels, in the order that commands and results use.
    #[garde(length(min = 2, max = 16), dive)]
    pub wheels: Vec<WheelSpec>,
    /// The drive motor of each wheel without its own.
    #[garde(dive)]
    pub drive: DriveSpec,
    /// An engine in place of the motors; `drive` then gives only encoder, parking brake and top speed.
    #[garde(dive)]
    #[serde(default)]
    pub driveline: Option<DrivelineSpec>,
    /// The pneumatic tyre of each wheel without its own; a wheel without a tyre is rigid.
    #[garde(dive)]
    #[serde(default)]
    pub tyre: Option<TyreSpec>,
    /// The steering servo of each steered wheel.
    #[garde(dive)]
    #[serde(default = "SteeringSpec::none")]
    pub steering: SteeringSpec,
    /// The suspension of each sprung wheel without its own.
    #[garde(dive)]
    #[serde(default)]
    pub suspension: Option<SuspensionSpec>,
    /// Joints that swing by themselves.
    #[garde(dive)]
    #[serde(default)]
    pub passive: Vec<PassiveSpec>,
    /// Servos on joints that are not wheels'.
    #[garde(dive)]
    #[serde(default)]
    pub servos: Vec<ServoSpec>,
    /// Joints that are held at zero, as if they were fixed: a gripper's fingers, an arm that is not used. Those that
    /// mimic them are held with them.
    #[garde(length(max = 1000))]
    #[serde(default)]
    pub held: Vec<String>,
    /// Joints that mirror others.
    #[garde(dive)]
    #[serde(default)]
    pub couplings: Vec<CouplingSpec>,
    /// Bucket drums, which take in granular soil.
    #[garde(length(max = 8), dive)]
    #[serde(default)]
    pub drums: Vec<DrumSpec>,
    /// Links whose collision shapes have a friction of their own on the ground: a ball caster, a skid.
    #[garde(length(max = 100), dive)]
    #[serde(default)]
    pub ground_friction: Vec<FrictionSpec>,
    /// Lamps.
    #[garde(length(max = 16), dive)]
    #[serde(default)]
    pub lamps: Vec<LampSpec>,
    /// Finishes of the URDF's materials; those not named are paint without much gloss.
    #[garde(length(max = 100), dive)]
    #[serde(default)]
    pub finishes: Vec<FinishSpec>,
    /// Limits of a body command.
    #[garde(dive)]
    pub limits: LimitsSpec,
    /// Files of the sensors that it carries unless a scenario names others, relative to this YAML file.
    #[garde(length(max = 64))]
    #[serde(default)]
    pub sensors: Vec<PathBuf>,
}

/// One wheel.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct WheelSpec {
    /// Name, for topics and tables.
    #[garde(length(min = 1))]
    pub name: String,
    /// What turns the wheel; its motor by default.
    #[garde(skip)]
    #[serde(default)]
    pub role: WheelRole,
    /// Continuous joint that turns the wheel; its axis points to the body's left or right.
    #[garde(skip)]
    pub drive_joint: String,
    /// Revolute joint that steers it, when it is steered; its axis points up or down.
    #[garde(skip)]
    #[serde(default)]
    pub steer_joint: Option<String>,
    /// Joint about which a free wheel swivels by itself, when it is a caster's; its axis points up or down.
    #[garde(skip)]
    #[serde(default)]
    pub swivel_joint: Option<String>,
    /// Prismatic joint that springs it, when it is sprung.
    #[garde(skip)]
    #[serde(default)]
    pub suspension_joint: Option<String>,
    /// Its centre in the frame of its link, m; the link's origin by default.
    #[garde(custom(finite_array))]
    #[serde(default)]
    pub centre_m: [f64; 3],
    /// Radius to the grousers' tips, m; 0.01 to 5.
    #[garde(custom(within(WHEEL_M_MIN, WHEEL_M_MAX)))]
    pub radius_m: f64,
    /// Width, m; 0.01 to 5.
    #[garde(custom(within(WHEEL_M_MIN, WHEEL_M_MAX)))]
    pub width_m: f64,
    /// Height of the grousers within the radius, m; below the radius.
    #[garde(custom(within(0.0, self.radius_m)))]
    #[serde(default)]
    pub grouser_height_m: f64,
    /// Number of grousers.
    #[garde(range(max = 1000))]
    #[serde(default)]
    pub grousers: u32,
    /// This wheel's own drive motor in place of the rover's.
    #[garde(dive)]
    #[serde(default)]
    pub drive: Option<DriveSpec>,
    /// This wheel's own suspension in place of the rover's.
    #[garde(dive)]
    #[serde(default)]
    pub suspension: Option<SuspensionSpec>,
    /// This wheel's own tyre in place of the rover's.
    #[garde(dive)]
    #[serde(default)]
    pub tyre: Option<TyreSpec>,
}

/// What turns a wheel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WheelRole {
    /// Its motor turns it, and its brake holds it at rest.
    #[default]
    Driven,
    /// Only the ground turns it: a caster or a trailing wheel. It takes no command and has no encoder.
    Free,
}

/// Friction of a link's collision shapes on the ground.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct FrictionSpec {
    /// The link.
    #[garde(skip)]
    pub link: String,
    /// Friction over normal force, 0 to 2.
    #[garde(custom(within(0.0, 2.0)))]
    pub friction: f64,
}

/// Limits of a body command, and the track factor of skid steering.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LimitsSpec {
    /// Largest speed, m/s.
    #[garde(custom(positive))]
    pub speed_m_s: f64,
    /// Largest turn rate, rad/s.
    #[garde(custom(positive))]
    pub turn_rate_rad_s: f64,
    /// Effective track over the geometric one, for a rover that turns by skidding; 0.5
    /// to 5, 1 by default.
    #[garde(custom(within(0.5, 5.0)))]
    #[serde(default = "geometric_track")]
    pub track_factor: f64,
}

fn geometric_track() -> f64 {
    1.0
}
