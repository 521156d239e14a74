//! Commands to a rover from outside. Each is checked when it arrives; the
//! [`Driver`](crate::Driver) decides which of several commands a joint obeys.

use selene_vehicle::{Ackermann, BodyTwist};
use serde::{Deserialize, Serialize};

use crate::driving::trajectory::JointTrajectory;

/// A command to a rover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// A planar velocity of `base_link`: all wheels.
    Body(BodyTwist),
    /// Speed and steering angle of a car: all wheels.
    Ackermann(Ackermann),
    /// One joint.
    Joint(JointCommand),
    /// Several joints over time.
    Trajectory(JointTrajectory),
    /// One lamp.
    Lamp(LampCommand),
}

/// A target for one joint: a rate for a drive or a servo by rate, rad/s; an angle for
/// a steer or a servo by position, rad.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointCommand {
    /// Name of the joint, or of its servo.
    pub joint: String,
    /// The target.
    pub target: f64,
}

/// Sets the brightness of a lamp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LampCommand {
    /// Name of the lamp.
    pub lamp: String,
    /// Fraction of its full flux, 0 (off) to 1.
    pub level: f64,
}

/// Why a command is refused, with what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CommandError {
    /// A number is NaN or infinite.
    #[error("{what}: {value} is not allowed: must be finite")]
    NotFinite {
        /// Name of the command and of its number.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A magnitude is negative.
    #[error("{what}: {value} is not allowed: must be 0 (no limit) or above")]
    Negative {
        /// Name of the command and of its number.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The rover cannot be driven like a car.
    #[error("Ackermann command: this rover has one axle only, so no wheelbase; use a body velocity")]
    NoWheelbase,
    /// No such joint takes commands.
    #[error("joint \"{joint}\" takes no commands; those that do are: {known}")]
    UnknownJoint {
        /// The name given.
        joint: String,
        /// The known names.
        known: String,
    },
    /// No such lamp.
    #[error("lamp \"{lamp}\" is not one of this rover's; those are: {known}")]
    UnknownLamp {
        /// The name given.
        lamp: String,
        /// The known names.
        known: String,
    },
    /// A lamp cannot be that bright.
    #[error("lamp \"{lamp}\": level {level} is not allowed: must be 0 to 1")]
    Level {
        /// Its name.
        lamp: String,
        /// The level given.
        level: f64,
    },
    /// A joint is named twice.
    #[error("trajectory: joint \"{joint}\" is given twice; once is enough")]
    RepeatedJoint {
        /// Its name.
        joint: String,
    },
    /// A trajectory has no joints or no points.
    #[error("trajectory: it has no {what}; it needs at least one")]
    Empty {
        /// What is missing.
        what: &'static str,
    },
    /// A row does not have a number for each joint.
    #[error("trajectory: point {point} has {count} {what} for {joints} joints; must be one each or none")]
    RowLength {
        /// Index of the point, from 0.
        point: usize,
        /// Positions or velocities.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many joints there are.
        joints: usize,
    },
    /// A joint's points lack the positions or velocities that move it.
    #[error("trajectory: point {point} has no {what}, which joint \"{joint}\" is moved by")]
    RowMissing {
        /// Index of the point, from 0.
        point: usize,
        /// Positions or velocities.
        what: &'static str,
        /// The joint's name.
        joint: String,
    },
    /// Times do not increase.
    #[error("trajectory: point {point} at {at_s} s does not come after {before_s} s; times must increase from 0 on")]
    TimeOrder {
        /// Index of the point, from 0.
        point: usize,
        /// Its time from the start, s.
        at_s: f64,
        /// The time of the point before it, s.
        before_s: f64,
    },
    /// The start is too far ahead, as with the stamp of another clock.
    #[error(
        "trajectory: it would start {ahead_s:.0} s after simulated now; must be within {most_s} s: stamp it by /clock, or with 0 to start at once"
    )]
    FarAhead {
        /// Time until the start, s.
        ahead_s: f64,
        /// Longest time until a start that is allowed, s.
        most_s: f64,
    },
}

impl Command {
    /// Refuses a command with numbers that are not finite or not in their range.
    pub(crate) fn check_numbers(&self) -> Result<(), CommandError> {
        match self {
            Self::Body(BodyTwist { forward_m_s, left_m_s, turn_rad_s }) => {
                finite("body velocity", &[("forward", *forward_m_s), ("left", *left_m_s), ("turn rate", *turn_rad_s)])
            }
            Self::Ackermann(requested) => check_ackermann(requested),
            Self::Joint(JointCommand { joint, target }) => finite(joint, &[("target", *target)]),
            Self::Trajectory(trajectory) => trajectory.check(),
            Self::Lamp(LampCommand { lamp, level }) if !(0.0..=1.0).contains(level) => {
                Err(CommandError::Level { lamp: lamp.clone(), level: *level })
            }
            Self::Lamp(_) => Ok(()),
        }
    }
}

fn check_ackermann(requested: &Ackermann) -> Result<(), CommandError> {
    let magnitudes = [
        ("steering angle velocity", requested.steering_rate_rad_s),
        ("acceleration", requested.acceleration_m_s2),
        ("jerk", requested.jerk_m_s3),
    ];
    finite("Ackermann command", &[("speed", requested.speed_m_s), ("steering angle", requested.steering_angle_rad)])?;
    finite("Ackermann command", &magnitudes)?;
    match magnitudes.into_iter().find(|(_, value)| *value < 0.0) {
        Some((what, value)) => Err(CommandError::Negative { what, value }),
        None => Ok(()),
    }
}

fn finite(whose: &str, numbers: &[(&str, f64)]) -> Result<(), CommandError> {
    match numbers.iter().find(|(_, value)| !value.is_finite()) {
        Some(&(what, value)) => Err(CommandError::NotFinite { what: format!("{whose}: {what}"), value }),
        None => Ok(()),
    }
}
