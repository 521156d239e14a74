//! Actuators and springs of joints in a rover's YAML: drives, steering, suspensions,
//! passive joints, servos and couplings.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite, non_negative, positive, positive_to, within};
use serde::Deserialize;

/// Smallest accepted efficiency of a gear; worm gears have more.
const EFFICIENCY_MIN: f64 = 0.01;
/// Largest stiffness, damping, torque or load, in SI units: a thousand times those of
/// the shipped rovers. With the largest numbers that a file can hold, forces would not be finite.
pub(super) const STIFFEST: f64 = 1e9;
/// Largest angle of a limit, degrees: ten turns.
const LIMIT_DEG: f64 = 3600.0;

/// A drive motor with its gear; see [`crate::drive`]. The defaults give a motor directly
/// on the axle, without rotor inertia, gear losses or current limit.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Torque on the wheel at rest, at full voltage, N m.
    #[garde(custom(positive))]
    pub stall_torque_nm: f64,
    /// Speed of the wheel without load, at full voltage, rad/s.
    #[garde(custom(positive))]
    pub no_load_speed_rad_s: f64,
    /// Torque for one rad/s of speed error, N m s/rad.
    #[garde(custom(positive))]
    pub velocity_gain_nm_s: f64,
    /// Turns of the motor for one of the wheel.
    #[garde(custom(positive))]
    #[serde(default = "one")]
    pub gear_ratio: f64,
    /// Share of the power that the gear passes on, either way; 0.01 to 1.
    #[garde(custom(within(EFFICIENCY_MIN, 1.0)))]
    #[serde(default = "one")]
    pub gear_efficiency: f64,
    /// Inertia of the motor's rotor about its own shaft, kg m².
    #[garde(custom(non_negative))]
    #[serde(default)]
    pub rotor_inertia_kg_m2: f64,
    /// Torque of the motor for each ampere, N m/A.
    #[garde(inner(custom(positive)))]
    #[serde(default)]
    pub torque_constant_nm_a: Option<f64>,
    /// Largest current, A; needs `torque_constant_nm_a`.
    #[garde(inner(custom(positive)), custom(needs(self.torque_constant_nm_a, "torque_constant_nm_a")))]
    #[serde(default)]
    pub current_limit_a: Option<f64>,
    /// Torque that the parking brake holds, N m at the wheel; by default the stall torque, zero for
    /// a drive without a brake.
    #[garde(inner(custom(non_negative)))]
    #[serde(default)]
    pub brake_torque_nm: Option<f64>,
    /// Counts of the wheel's encoder for one turn of the wheel; without it positions
    /// are exact.
    #[garde(inner(range(min = 1)))]
    #[serde(default)]
    pub encoder_counts_per_turn: Option<u32>,
}

impl DriveSpec {
    /// Torque that the parking brake holds, N m at the wheel.
    #[must_use]
    pub fn brake_torque_nm(&self) -> f64 {
        self.brake_torque_nm.unwrap_or(self.stall_torque_nm)
    }
}

/// A steering servo: a spring and damper about a rate-limited target.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SteeringSpec {
    /// Largest angle either way, degrees.
    #[garde(custom(within(0.0, 89.0)))]
    pub limit_deg: f64,
    /// Largest rate, degrees/s.
    #[garde(custom(positive))]
    pub rate_deg_s: f64,
    /// Stiffness, N m/rad.
    #[garde(custom(positive_to(STIFFEST)))]
    pub stiffness_nm: f64,
    /// Damping, N m s/rad.
    #[garde(custom(positive_to(STIFFEST)))]
    pub damping_nm_s: f64,
}

impl SteeringSpec {
    /// The servo of a rover whose wheels are not steered.
    pub const NONE: Self = Self { limit_deg: 0.0, rate_deg_s: 1.0, stiffness_nm: 1.0, damping_nm_s: 1.0 };

    pub(super) fn none() -> Self {
        Self::NONE
    }
}

/// A suspension: spring and damper on a joint that moves the wheel up and down, and the other effects of the linkage
/// that the joint represents (double wishbones, for example). The defaults give a spring on the wheel itself that keeps
/// the wheel upright and straight. Travel is along the joint, whose axis may lean outward for the linkage's roll centre.
/// Camber and toe are those of the wheel at the ground, linear in the travel; the linkage's reaction to driving and
/// braking is not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SuspensionSpec {
    /// Stiffness of the spring, N/m.
    #[garde(custom(positive_to(STIFFEST)))]
    pub stiffness_n_m: f64,
    /// Damping of the damper, N s/m.
    #[garde(custom(positive_to(STIFFEST)))]
    pub damping_n_s_m: f64,
    /// Travel of spring and damper over that of the wheel, 0.05 to 2: stiffness and damping at the wheel are multiplied
    /// by its square.
    #[garde(custom(within(0.05, 2.0)))]
    #[serde(default = "one")]
    pub motion_ratio: f64,
    /// Camber with the joint at zero, degrees; positive where the wheel's top leans outward. −10 to 10.
    #[garde(custom(within(-10.0, 10.0)))]
    #[serde(default)]
    pub camber_deg: f64,
    /// Change of camber for each metre of compression, degrees/m; −100 to 100.
    #[garde(custom(within(-100.0, 100.0)))]
    #[serde(default)]
    pub camber_gain_deg_m: f64,
    /// Toe with the joint at zero, degrees; positive where the wheel points inward. −10 to 10.
    #[garde(custom(within(-10.0, 10.0)))]
    #[serde(default)]
    pub toe_deg: f64,
    /// Change of toe for each metre of compression, degrees/m; −100 to 100.
    #[garde(custom(within(-100.0, 100.0)))]
    #[serde(default)]
    pub toe_gain_deg_m: f64,
}

impl SuspensionSpec {
    /// Stiffness and damping at the wheel, N/m and N s/m.
    #[must_use]
    pub fn at_wheel(&self) -> [f64; 2] {
        [self.stiffness_n_m, self.damping_n_s_m].map(|of_spring| of_spring * self.motion_ratio * self.motion_ratio)
    }

    /// Camber and toe of a wheel that is `travel_m` up, rad.
    #[must_use]
    pub fn camber_and_toe_rad(&self, travel_m: f64) -> [f64; 2] {
        let [camber_deg, toe_deg] =
            [self.camber_deg + self.camber_gain_deg_m * travel_m, self.toe_deg + self.toe_gain_deg_m * travel_m];
        [camber_deg.to_radians(), toe_deg.to_radians()]
    }

    /// Whether it changes the camber or toe of its wheel.
    pub(crate) fn leans(&self) -> bool {
        [self.camber_deg, self.camber_gain_deg_m, self.toe_deg, self.toe_gain_deg_m].iter().any(|part| *part != 0.0)
    }
}

/// A revolute or continuous joint that swings by itself: a rocker, a bogie, a trailing arm.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PassiveSpec {
    /// The joint.
    #[garde(skip)]
    pub joint: String,
    /// Damping, N m s/rad.
    #[garde(custom(within(0.0, STIFFEST)))]
    pub damping_nm_s: f64,
    /// Stiffness of a spring about zero, N m/rad; none by default.
    #[garde(custom(within(0.0, STIFFEST)))]
    #[serde(default)]
    pub stiffness_nm: f64,
    /// Lowest and highest angle, degrees: stiff, damped stops.
    #[garde(inner(custom(rising_deg)))]
    #[serde(default)]
    pub limit_deg: Option<[f64; 2]>,
}

/// Kind of a servo's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServoKind {
    /// An angle, of a revolute joint.
    Position,
    /// A rate, of a continuous joint.
    Rate,
}

/// A servo on a joint that is not a wheel's.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ServoSpec {
    /// Name, for topics and tables; that of the joint by default.
    #[garde(inner(length(min = 1)))]
    #[serde(default)]
    pub name: Option<String>,
    /// The joint.
    #[garde(skip)]
    pub joint: String,
    /// Kind of its target.
    #[garde(skip)]
    pub kind: ServoKind,
    /// Lowest and highest angle, degrees; a servo by position needs it.
    #[garde(inner(custom(rising_deg)))]
    #[serde(default)]
    pub limit_deg: Option<[f64; 2]>,
    /// Largest rate, degrees/s.
    #[garde(custom(positive))]
    pub rate_deg_s: f64,
    /// Torque for one radian of error, N m/rad; a servo by position needs it.
    #[garde(inner(custom(positive_to(STIFFEST))))]
    #[serde(default)]
    pub stiffness_nm: Option<f64>,
    /// Torque for one rad/s (of error, for a servo by rate), N m s/rad.
    #[garde(custom(positive_to(STIFFEST)))]
    pub damping_nm_s: f64,
    /// Largest torque, N m.
    #[garde(custom(positive_to(STIFFEST)))]
    pub torque_nm: f64,
}

/// A joint whose position is `ratio` times that of another: a differential.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CouplingSpec {
    /// The joint.
    #[garde(skip)]
    pub joint: String,
    /// The joint that it mirrors.
    #[garde(skip)]
    pub mirrors: String,
    /// Position of the joint for one unit of the other's.
    #[garde(custom(finite), custom(not_zero))]
    pub ratio: f64,
}

fn one() -> f64 {
    1.0
}

fn needs(other: Option<f64>, name: &str) -> impl FnOnce(&Option<f64>, &()) -> garde::Result {
    move |value, ()| match (value, other) {
        (Some(value), None) => Err(garde::Error::new(format!("value {value} is not allowed: it needs {name}"))),
        _ => Ok(()),
    }
}

fn not_zero(value: &f64, (): &()) -> garde::Result {
    if *value == 0.0 { Err(garde::Error::new("value 0 is not allowed: must not be zero")) } else { Ok(()) }
}

fn rising_deg(limit: &[f64; 2], (): &()) -> garde::Result {
    let [lowest, highest] = *limit;
    if -LIMIT_DEG <= lowest && lowest < highest && highest <= LIMIT_DEG {
        return Ok(());
    }
    let allowed = format!("must be the lowest and then the highest angle, within ±{LIMIT_DEG}");
    Err(garde::Error::new(format!("value [{lowest}, {highest}] is not allowed: {allowed}")))
}
