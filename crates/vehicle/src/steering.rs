//! Converts a planar velocity of the body to wheel targets by the instantaneous centre
//! of rotation. A wheel at `r` has to move at `v_wheel = v + ω × r`; a steered wheel
//! points along it (turned by half a turn when that is nearer) and rolls at its
//! length over the radius, so that all axles meet in the centre: Ackermann arcs,
//! crabbing and point turns are one formula. A wheel without a steering joint rolls
//! with the part of `v_wheel` along its heading, the rest is scrub: skid steering.
//!
//! Wheels without steering constrain the centre: the body moves sideways so that the
//! centre lies on the mean of their axles, `v_y = −ω x̄`. That is the rear axle of a
//! truck, the middle one of a rocker-bogie, half the wheelbase of a skid steered rover.
//! A commanded arc leaves the sideways velocity open and is followed; a commanded
//! sideways velocity is not met, and the result is marked as limited.
//!
//! VIPER's joints stop at ±30° in Chrono's model, so a centre nearer than 1.72 m
//! cannot be reached; a point turn would need 46°. Each wheel then points as near
//! to its direction as it may and rolls with the part of `v_wheel` along its
//! heading: symmetric left and right, so the rover still turns as commanded,
//! with some scrubbing. A reachable arc is followed without scrubbing.
//!
//! Skid steered rovers turn less than their track implies, since their wheels scrub;
//! `limits.track_factor` is the effective track over the geometric one (A. Mandow et
//! al., "Experimental kinematics for wheeled skid-steer mobile robots", IROS 2007).
//!
//! All these directions are the body's, forward and left. A joint's own axis may point the
//! other way: targets and measured angles are about the joint's axis, and the signs of
//! [`Wheel`] convert between the two.

use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

use nalgebra::Vector2;

use crate::model::{RoverModel, Wheel};

/// Below this a commanded velocity of a wheel is rest, m/s.
const REST_M_S: f64 = 1e-6;
/// A velocity whose forward part is a smaller share than this points sideways.
const SIDEWAYS: f64 = 1e-9;
/// Largest steering error at which the wheels turn at full rate, rad: 5°.
const NEAR_RAD: f64 = PI / 36.0;
/// Steering error from which on the wheels stand still, rad: 30°.
const FAR_RAD: f64 = PI / 6.0;

/// A planar velocity of the root link, in its own axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BodyTwist {
    /// Forward speed, m/s.
    pub forward_m_s: f64,
    /// Speed to the left, m/s.
    pub left_m_s: f64,
    /// Turn rate, rad/s, counter-clockwise positive.
    pub turn_rad_s: f64,
}

impl BodyTwist {
    /// Standing still.
    pub const REST: Self = Self { forward_m_s: 0.0, left_m_s: 0.0, turn_rad_s: 0.0 };

    /// An arc: forward speed and turn rate.
    #[must_use]
    pub const fn arc(forward_m_s: f64, turn_rad_s: f64) -> Self {
        Self { forward_m_s, left_m_s: 0.0, turn_rad_s }
    }

    /// Whether all its parts are finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.forward_m_s.is_finite() && self.left_m_s.is_finite() && self.turn_rad_s.is_finite()
    }

    /// Whether all its parts are zero.
    #[must_use]
    pub fn is_rest(&self) -> bool {
        *self == Self::REST
    }

    fn scaled(self, factor: f64) -> Self {
        let Self { forward_m_s, left_m_s, turn_rad_s } = self;
        Self { forward_m_s: forward_m_s * factor, left_m_s: left_m_s * factor, turn_rad_s: turn_rad_s * factor }
    }
}

/// Targets of the wheels, in the order of [`RoverModel::wheels`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WheelTargets {
    /// Turn rate of each wheel's drive joint, rad/s, about the joint's own axis as the URDF has it:
    /// forward positive where that points to the body's left.
    pub rate_rad_s: Vec<f64>,
    /// Angle of each wheel's steering joint, rad, likewise: left positive where its axis points up.
    pub steer_rad: Vec<f64>,
    /// Whether they are less than what was commanded: the command was beyond the limits of
    /// the rover or its motors and scaled down, a steered wheel should point beyond its
    /// servo's limit, or wheels without steering do not let the body move sideways.
    pub limited: bool,
}

impl WheelTargets {
    /// Wheels at rest and straight.
    #[must_use]
    pub fn rest(wheels: usize) -> Self {
        Self { rate_rad_s: vec![0.0; wheels], steer_rad: vec![0.0; wheels], limited: false }
    }

    /// Lets the wheels wait for steers that still point elsewhere, so that a rover commanded
    /// to crab or to turn on the spot does not lurch: within 5° of their targets all
    /// wheels turn as commanded, at 30° they stand, between that they are slowed alike,
    /// which keeps the commanded motion's shape. `steer_now_rad` are the wheels' present
    /// angles; one that is missing is taken as where it should be.
    pub fn wait_for_steers(&mut self, model: &RoverModel, steer_now_rad: &[f64]) {
        let steers = model.wheels().iter().zip(self.steer_rad.iter().zip(steer_now_rad));
        let off = steers
            .filter(|(wheel, _)| wheel.steer_joint.is_some())
            .map(|(_, (requested, now))| (requested - now).abs());
        let farthest = off.fold(0.0, f64::max);
        let share = ((FAR_RAD - farthest) / (FAR_RAD - NEAR_RAD)).clamp(0.0, 1.0);
        self.rate_rad_s.iter_mut().for_each(|rate| *rate *= share);
    }

    /// Scales all rates down, if need be, until no motor needs more than its
    /// no-load speed: the arc is kept.
    pub(crate) fn within_motors(mut self, model: &RoverModel) -> Self {
        let share = |(rate, wheel): (&f64, &Wheel)| rate.abs() / wheel.drive.no_load_speed_rad_s;
        let excess = self.rate_rad_s.iter().zip(model.wheels()).map(share).fold(1.0, f64::max);
        self.rate_rad_s.iter_mut().for_each(|rate| *rate /= excess);
        self.limited |= excess > 1.0;
        self
    }
}

/// Targets for a body that should move at `twist`. A command beyond the rover's
/// limits is scaled down as a whole, which keeps its arc. Wheels of a body at rest
/// hold `held_rad`, angles of their steering joints: they do not turn on the spot. A
/// twist that is not finite is taken as rest.
#[must_use]
pub fn wheel_targets(model: &RoverModel, twist: &BodyTwist, held_rad: &[f64]) -> WheelTargets {
    let requested = if twist.is_finite() { *twist } else { BodyTwist::REST };
    let excess = excess(model, &requested);
    let (twist, held_back) = as_axles_allow(model, requested.scaled(1.0 / excess));
    let mut targets = pointed_along(model, &twist, held_rad);
    targets.limited |= excess > 1.0 || held_back;
    targets.within_motors(model)
}

/// Ratio of `twist` to the rover's limits; at least 1.
pub(crate) fn excess(model: &RoverModel, twist: &BodyTwist) -> f64 {
    let limits = model.spec().limits;
    let speed_m_s = twist.forward_m_s.hypot(twist.left_m_s);
    (speed_m_s / limits.speed_m_s).max(twist.turn_rad_s.abs() / limits.turn_rate_rad_s).max(1.0)
}

/// Coordinate x of the centre of rotation that the unsteered wheels determine: the mean of
/// their axles, m; `None` where all wheels are steered or swivel.
pub(crate) fn fixed_axle_x_m(model: &RoverModel) -> Option<f64> {
    let fixed = || model.wheels().iter().filter(|wheel| wheel.steer_joint.or(wheel.swivel_joint).is_none());
    let count = fixed().count();
    (count > 0).then(|| fixed().map(|wheel| wheel.centre_in_base_m.x).sum::<f64>() / count as f64)
}

/// `twist` with the sideways velocity that the fixed axles allow, and whether another
/// one was asked for.
fn as_axles_allow(model: &RoverModel, twist: BodyTwist) -> (BodyTwist, bool) {
    let Some(axle_x_m) = fixed_axle_x_m(model) else { return (twist, false) };
    let left_m_s = -twist.turn_rad_s * axle_x_m;
    let requested = twist.left_m_s.abs() > REST_M_S;
    (BodyTwist { left_m_s, ..twist }, requested && (twist.left_m_s - left_m_s).abs() > REST_M_S)
}

/// Every wheel pointed and rolled along its own part of `twist`.
pub(crate) fn pointed_along(model: &RoverModel, twist: &BodyTwist, held_rad: &[f64]) -> WheelTargets {
    let limit = model.spec().steering.limit_deg.to_radians();
    let skids = model.wheels().iter().all(|wheel| wheel.steer_joint.is_none());
    let track_factor = if skids { model.spec().limits.track_factor } else { 1.0 };
    let mut targets = WheelTargets::default();
    for (i, wheel) in model.wheels().iter().enumerate() {
        let at = wheel.centre_in_base_m.xy();
        let turn = twist.turn_rad_s;
        let velocity = Vector2::new(twist.forward_m_s - turn * at.y * track_factor, twist.left_m_s + turn * at.x);
        let held = wheel.steer_sign * held_rad.get(i).copied().unwrap_or(0.0);
        let limit = if wheel.steer_joint.is_some() { limit } else { 0.0 };
        let wanted = if velocity.norm() < REST_M_S { None } else { Some(nearest_heading(velocity, held)) };
        let steer = wanted.map_or(held, |heading| heading.clamp(-limit, limit));
        targets.limited |= wheel.steer_joint.is_some() && wanted.is_some_and(|heading| heading.abs() > limit);
        let along = if wheel.is_driven() { velocity.dot(&Vector2::new(steer.cos(), steer.sin())) } else { 0.0 };
        targets.steer_rad.push(wheel.steer_sign * steer);
        targets.rate_rad_s.push(wheel.drive_sign * along / wheel.radius_m);
    }
    targets
}

/// Direction of the axis along `velocity`, −90° to 90°; straight sideways that end of
/// the range which is on the side of `held_rad`.
fn nearest_heading(velocity: Vector2<f64>, held_rad: f64) -> f64 {
    let sideways = velocity.x.abs() < SIDEWAYS * velocity.norm();
    let backward = if sideways { (velocity.y < 0.0) != (held_rad < 0.0) } else { velocity.x < 0.0 };
    let forward = if backward { -velocity } else { velocity };
    forward.y.atan2(forward.x)
}
