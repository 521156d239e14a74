//! From a body twist to wheel targets by Ackermann geometry on every wheel: a wheel
//! whose contact moves at `v = (speed − turn · y, turn · x)` points along `v`
//! (turned by half a turn when that is nearer) and rolls at its length over the
//! radius, so that all axles meet in the instantaneous centre of rotation.
//!
//! VIPER's joints stop at ±30° in Chrono's model, so a centre nearer than 1.72 m
//! cannot be reached; a point turn would need 46°. Each wheel then points as near
//! to its direction as it may and rolls with the part of `v` along its heading: the
//! rest is skid, symmetric left and right, so the rover still turns where it is
//! asked to, with some scrubbing. A reachable arc is followed without scrubbing.

use nalgebra::Vector2;

use crate::model::RoverModel;

/// Below this a commanded velocity of a wheel is rest, m/s.
const REST_M_S: f64 = 1e-6;

/// What the wheels should do, in the order of [`RoverModel::wheels`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WheelTargets {
    /// Turn rate of each wheel, rad/s, forward positive.
    pub rate_rad_s: Vec<f64>,
    /// Steering angle of each wheel, rad, left positive.
    pub steer_rad: Vec<f64>,
    /// Whether they are less than what was asked: the command was beyond the rover's
    /// limits and scaled down, or a steered wheel should point beyond its servo's limit.
    pub limited: bool,
}

impl WheelTargets {
    /// Wheels at rest and straight.
    #[must_use]
    pub fn rest(wheels: usize) -> Self {
        Self { rate_rad_s: vec![0.0; wheels], steer_rad: vec![0.0; wheels], limited: false }
    }
}

/// Targets for a body that should move forward at `speed_m_s` and turn left at
/// `turn_rate_rad_s`. A command beyond the rover's limits is scaled down as a
/// whole, which keeps its arc. A zero command holds `steer_now_rad`: wheels that
/// stop do not turn on the spot. A command that is not finite is taken as zero.
#[must_use]
pub fn wheel_targets(model: &RoverModel, speed_m_s: f64, turn_rate_rad_s: f64, steer_now_rad: &[f64]) -> WheelTargets {
    let (speed, turn, limited) = within_limits(model, speed_m_s, turn_rate_rad_s);
    let limit = model.spec().steering.limit_deg.to_radians();
    let mut targets = WheelTargets { limited, ..WheelTargets::default() };
    for (i, wheel) in model.wheels().iter().enumerate() {
        let at = wheel.centre_in_base_m.xy();
        let velocity = Vector2::new(speed - turn * at.y, turn * at.x);
        let held = steer_now_rad.get(i).copied().unwrap_or(0.0);
        let limit = if wheel.steer_joint.is_some() { limit } else { 0.0 };
        let wanted = if velocity.norm() < REST_M_S { None } else { Some(nearest_heading(velocity)) };
        let steer = wanted.map_or(held, |heading| heading.clamp(-limit, limit));
        targets.limited |= wheel.steer_joint.is_some() && wanted.is_some_and(|heading| heading.abs() > limit);
        let along = velocity.dot(&Vector2::new(steer.cos(), steer.sin()));
        targets.steer_rad.push(steer);
        targets.rate_rad_s.push(along / wheel.radius_m);
    }
    targets
}

/// Speed and turn rate that the rover may have, and whether that is less than asked.
fn within_limits(model: &RoverModel, speed: f64, turn: f64) -> (f64, f64, bool) {
    if !(speed.is_finite() && turn.is_finite()) {
        return (0.0, 0.0, false);
    }
    let limits = model.spec().limits;
    let excess = (speed.abs() / limits.speed_m_s).max(turn.abs() / limits.turn_rate_rad_s).max(1.0);
    (speed / excess, turn / excess, excess > 1.0)
}

/// Direction of the axis along `velocity`, −90° to 90°.
fn nearest_heading(velocity: Vector2<f64>) -> f64 {
    let forward = if velocity.x < 0.0 { -velocity } else { velocity };
    forward.y.atan2(forward.x)
}
