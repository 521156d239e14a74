//! The YAML that turns a URDF into a rover: which links are wheels and what moves
//! them. Everything here is validated on reading; degrees appear only in keys that
//! say so.

use std::path::PathBuf;

use garde::Validate;
use selene_base::input::{positive, within};
use serde::Deserialize;

/// The smallest radius and width of a wheel, m: half a node of soil.
const WHEEL_M_MIN: f64 = 0.01;
/// The largest, m: several times that of any rover.
const WHEEL_M_MAX: f64 = 5.0;

/// A rover, as `config/rover/*.yaml` has it.
#[derive(Clone, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct RoverSpec {
    /// Name, for people.
    #[garde(length(min = 1))]
    pub name: String,
    /// The URDF, relative to this YAML file.
    #[garde(skip)]
    pub urdf: PathBuf,
    /// The wheels, in the order that commands and results use.
    #[garde(length(min = 2, max = 16), dive)]
    pub wheels: Vec<WheelSpec>,
    /// The drive motor, one a wheel.
    #[garde(dive)]
    pub drive: DriveSpec,
    /// The steering servo, one a steered wheel.
    #[garde(dive)]
    pub steering: SteeringSpec,
    /// The suspension's spring and damper, one a sprung wheel.
    #[garde(dive)]
    pub suspension: SuspensionSpec,
    /// What a body command is limited to.
    #[garde(dive)]
    pub limits: LimitsSpec,
}

/// One wheel.
#[derive(Clone, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct WheelSpec {
    /// Name, for topics and tables.
    #[garde(length(min = 1))]
    pub name: String,
    /// Continuous joint that turns the wheel; its axis is y of the wheel's link.
    #[garde(skip)]
    pub drive_joint: String,
    /// Revolute joint that steers it, when it is steered.
    #[garde(skip)]
    #[serde(default)]
    pub steer_joint: Option<String>,
    /// Prismatic joint that springs it, when it is sprung.
    #[garde(skip)]
    #[serde(default)]
    pub suspension_joint: Option<String>,
    /// Radius to the grousers' tips, m; 0.01 to 5.
    #[garde(custom(within(WHEEL_M_MIN, WHEEL_M_MAX)))]
    pub radius_m: f64,
    /// Width, m; 0.01 to 5.
    #[garde(custom(within(WHEEL_M_MIN, WHEEL_M_MAX)))]
    pub width_m: f64,
}

/// A drive motor; see [`crate::drive`].
#[derive(Clone, Copy, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Torque at rest, N m.
    #[garde(custom(positive))]
    pub stall_torque_nm: f64,
    /// Speed without load, rad/s.
    #[garde(custom(positive))]
    pub no_load_speed_rad_s: f64,
    /// Torque for one rad/s of speed error, N m s/rad.
    #[garde(custom(positive))]
    pub velocity_gain_nm_s: f64,
}

/// A steering servo: a spring and damper about a rate-limited target.
#[derive(Clone, Copy, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct SteeringSpec {
    /// Largest angle either way, degrees.
    #[garde(custom(within(0.0, 89.0)))]
    pub limit_deg: f64,
    /// Largest rate, degrees/s.
    #[garde(custom(positive))]
    pub rate_deg_s: f64,
    /// Stiffness, N m/rad.
    #[garde(custom(positive))]
    pub stiffness_nm: f64,
    /// Damping, N m s/rad.
    #[garde(custom(positive))]
    pub damping_nm_s: f64,
}

/// A suspension's spring and damper.
#[derive(Clone, Copy, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct SuspensionSpec {
    /// Stiffness, N/m.
    #[garde(custom(positive))]
    pub stiffness_n_m: f64,
    /// Damping, N s/m.
    #[garde(custom(positive))]
    pub damping_n_s_m: f64,
}

/// What a body command is limited to.
#[derive(Clone, Copy, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct LimitsSpec {
    /// Largest speed, m/s.
    #[garde(custom(positive))]
    pub speed_m_s: f64,
    /// Largest turn rate, rad/s.
    #[garde(custom(positive))]
    pub turn_rate_rad_s: f64,
}
