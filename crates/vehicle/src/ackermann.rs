//! Driving as a car is driven (`ackermann_msgs/AckermannDrive`): a speed, and the yaw
//! of a virtual wheel in the middle of the front axle. The car turns about a point on
//! the line through its centre of rotation, the axles that are not steered (their
//! mean; the rearmost axle where every wheel is steered), at `ω = v tan δ / L`, `L`
//! from that line to the front axle. All wheels then follow
//! [`crate::steering`].
//!
//! Speed and angle move toward their commands: the angle at the commanded rate, the speed
//! at the commanded acceleration, the acceleration at the commanded jerk, and each at once
//! where that is zero, as the message's definition says. Under a jerk limit the acceleration
//! is at most `√(2 j |Δv|)`, which is zero when the speed is reached.

use crate::model::RoverModel;
use crate::steering::{self, BodyTwist, WheelTargets};
use serde::{Deserialize, Serialize};

/// Largest angle of the virtual wheel, rad: 80°.
const ANGLE_MAX_RAD: f64 = 1.396_263_4;
/// The shortest wheelbase that steers, m.
const WHEELBASE_MIN_M: f64 = 1e-3;

/// A driver's command. Rate, acceleration and jerk are magnitudes; zero means the fastest
/// possible change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ackermann {
    /// Speed of the centre of rotation, m/s, backward negative.
    pub speed_m_s: f64,
    /// Angle of the virtual front wheel, rad, left positive.
    pub steering_angle_rad: f64,
    /// How fast that angle may change, rad/s.
    pub steering_rate_rad_s: f64,
    /// How fast the speed may change, m/s².
    pub acceleration_m_s2: f64,
    /// How fast the acceleration may change, m/s³.
    pub jerk_m_s3: f64,
}

/// Present speed and angle on the way to the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AckermannState {
    /// Speed of the centre of rotation, m/s.
    pub speed_m_s: f64,
    /// Acceleration, m/s²; kept for the jerk limit.
    pub acceleration_m_s2: f64,
    /// Angle of the virtual front wheel, rad.
    pub steering_angle_rad: f64,
}

impl AckermannState {
    /// The state that matches measured rates of drive joints and angles of steering joints, each
    /// about the joint's own axis: the mean forward speed of the driven wheels, and the mean virtual
    /// angle of the wheels that are steered in front of the centre of rotation.
    #[must_use]
    pub fn of_wheels(model: &RoverModel, rate_rad_s: &[f64], steer_rad: &[f64]) -> Self {
        let (mut speed_m_s, mut angle_rad, mut steered) = (0.0, 0.0, 0.0);
        let wheels = model.wheels();
        let driven = wheels.iter().filter(|wheel| wheel.is_driven()).count();
        for (wheel, (rate, steer)) in wheels.iter().zip(rate_rad_s.iter().zip(steer_rad)) {
            let (rate, steer) = (wheel.drive_sign * rate, wheel.steer_sign * steer);
            if wheel.is_driven() {
                speed_m_s += rate * wheel.radius_m * steer.cos() / driven as f64;
            }
            let ahead_m = wheel.centre_in_base_m.x - centre_x_m(model);
            if wheel.steer_joint.is_some() && ahead_m > WHEELBASE_MIN_M {
                let curvature = steer.tan() / (ahead_m + wheel.centre_in_base_m.y * steer.tan());
                angle_rad += (curvature * wheelbase_m(model).unwrap_or(ahead_m)).atan();
                steered += 1.0;
            }
        }
        let steering_angle_rad = if steered > 0.0 { angle_rad / steered } else { 0.0 };
        Self { speed_m_s, acceleration_m_s2: 0.0, steering_angle_rad }
    }

    /// Moves toward the command for `dt_s`.
    pub fn advance(&mut self, requested: &Ackermann, dt_s: f64) {
        let turned = requested.steering_angle_rad - self.steering_angle_rad;
        let most =
            if requested.steering_rate_rad_s > 0.0 { requested.steering_rate_rad_s * dt_s } else { f64::INFINITY };
        self.steering_angle_rad += turned.clamp(-most, most);
        self.advance_speed(requested, dt_s);
    }

    fn advance_speed(&mut self, requested: &Ackermann, dt_s: f64) {
        let missing = requested.speed_m_s - self.speed_m_s;
        let jerk = requested.jerk_m_s3;
        let most = if requested.acceleration_m_s2 > 0.0 { requested.acceleration_m_s2 } else { f64::INFINITY };
        let (most, change) = if jerk > 0.0 {
            (most.min((2.0 * jerk * missing.abs()).sqrt()), jerk * dt_s)
        } else {
            (most, f64::INFINITY)
        };
        let wanted = missing.signum() * most;
        let acceleration = self.acceleration_m_s2 + (wanted - self.acceleration_m_s2).clamp(-change, change);
        let toward = acceleration * missing >= 0.0;
        if acceleration.is_infinite() || (toward && missing.abs() <= (acceleration * dt_s).abs()) {
            (self.speed_m_s, self.acceleration_m_s2) = (requested.speed_m_s, 0.0);
        } else {
            self.acceleration_m_s2 = acceleration;
            self.speed_m_s += acceleration * dt_s;
        }
    }
}

/// From the centre of rotation to the front axle, m; `None` for a rover that has one
/// axle only and cannot be driven like a car.
#[must_use]
pub fn wheelbase_m(model: &RoverModel) -> Option<f64> {
    let length_m = front_x_m(model) - centre_x_m(model);
    (length_m > WHEELBASE_MIN_M).then_some(length_m)
}

/// Targets of the wheels at `state`; wheels are steered also at zero speed. A command beyond
/// the rover's limits is slowed and keeps its arc. A rover without a wheelbase gets rest.
#[must_use]
pub fn ackermann_targets(model: &RoverModel, state: &AckermannState) -> WheelTargets {
    let Some(length_m) = wheelbase_m(model) else {
        return WheelTargets { limited: true, ..WheelTargets::rest(model.wheels().len()) };
    };
    let limit = angle_limit_rad(model);
    let angle = state.steering_angle_rad.clamp(-limit, limit);
    let turn_per_m = angle.tan() / length_m;
    let per_m = BodyTwist { forward_m_s: 1.0, left_m_s: -turn_per_m * centre_x_m(model), turn_rad_s: turn_per_m };
    let speed_m_s = state.speed_m_s;
    let excess = steering::excess(model, &BodyTwist::arc(speed_m_s, speed_m_s * turn_per_m));
    let mut targets = steering::pointed_along(model, &per_m, &[]);
    targets.rate_rad_s.iter_mut().for_each(|rate| *rate *= speed_m_s / excess);
    targets.limited |= excess > 1.0 || angle != state.steering_angle_rad;
    targets.within_motors(model)
}

/// Limit of the virtual wheel's angle, set by the front wheels, rad.
fn angle_limit_rad(model: &RoverModel) -> f64 {
    let steered = model.wheels().iter().any(|wheel| wheel.steer_joint.is_some());
    if steered { model.spec().steering.limit_deg.to_radians().min(ANGLE_MAX_RAD) } else { ANGLE_MAX_RAD }
}

fn front_x_m(model: &RoverModel) -> f64 {
    axles_x_m(model).fold(f64::NEG_INFINITY, f64::max)
}

fn centre_x_m(model: &RoverModel) -> f64 {
    let rearmost = || axles_x_m(model).fold(f64::INFINITY, f64::min);
    steering::fixed_axle_x_m(model).unwrap_or_else(rearmost)
}

/// Places of the axles along x that determine the motion, m: all but those of casters.
fn axles_x_m(model: &RoverModel) -> impl Iterator<Item = f64> + '_ {
    model.wheels().iter().filter(|wheel| wheel.swivel_joint.is_none()).map(|wheel| wheel.centre_in_base_m.x)
}
