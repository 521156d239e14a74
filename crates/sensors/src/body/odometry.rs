//! Wheel odometry: dead reckoning in the plane from wheel encoders and steering angles, blind to slip.
//!
//! From one sample to the next each wheel rolls s = R Δφ along its heading δ, and does not slide sideways. A rover that
//! moves by (x, y) and turns by θ, all in its own axes, moves a wheel at (a, b) by (x − θ b, y + θ a), so
//!
//!   cos δ (x − θ b) + sin δ (y + θ a) = s,   w [−sin δ (x − θ b) + cos δ (y + θ a)] = 0,
//!
//! solved by least squares over all wheels. A rover with steered wheels has w = 1. A rover without must skid to turn:
//! its wheels do slide, so w = 0, and y = 0 replaces the second equation: it turns about a point on the line through
//! its middle, across its heading. `turn_scale` corrects for true turns that are smaller than the wheels indicate, as
//! those of skidding rovers are. The movement is added to the pose along its arc (the exponential of SE(2)).
//!
//! The covariance grows with the distance travelled: each metre adds variance along, across and in heading, each
//! radian of turning adds variance in heading, and errors of heading become errors of position as
//! P ← F P Fᵀ + G Q Gᵀ. Steering angles are taken as exact. Slip is not included: this odometry cannot see it.

use std::f64::consts::TAU;

use garde::Validate;
use nalgebra::{Matrix3, Rotation2, Vector2, Vector3};
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::random::stream_at;
use selene_base::{Pose, SimTime};
use serde::Deserialize;

use super::encoder::{Counter, ticks};
use super::{BodyError, BodyHeartbeat, BodyPlan, BodyReading, BodySample};
use crate::augment::{Augments, DataType, fits};
use crate::spec::{lag, rate, ros_name};
use crate::{Sample, SensorQos};

/// Turns smaller than this are treated as straight movements, rad.
const STRAIGHT_RAD: f64 = 1e-9;
/// The least determinant of the normal equations that counts as solvable, m².
const DETERMINANT_MIN: f64 = 1e-9;
/// Number of values in a memory before those of the counters.
const OF_POSE: usize = 12;

/// Wheel odometry of a rover.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct OdometrySpec {
    /// Name of its topic and of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link that it belongs to; odometry is always that of `base_link`.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Sampling rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from measurement to publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topic.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Stages that the readings pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::Odometry, self.rate_hz)))]
    pub stages: Augments,
    /// Encoder ticks per turn of each wheel.
    #[garde(custom(ticks))]
    pub ticks_per_turn: u32,
    /// Probability that a tick is missed, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub missed_tick_probability: f64,
    /// Assumed rolling radius of the wheels, as a fraction of the radius to the grousers' tips: wheels sink in.
    #[garde(custom(within(0.5, 1.5)))]
    #[serde(default = "one")]
    pub radius_scale: f64,
    /// Factor applied to turns.
    #[garde(custom(within(0.1, 2.0)))]
    #[serde(default = "one")]
    pub turn_scale: f64,
    /// How the published covariance grows.
    #[garde(dive)]
    pub uncertainty: UncertaintySpec,
}

/// Growth of variances: a standard deviation s in m/√m means a variance of s² for each metre.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct UncertaintySpec {
    /// Position along the direction of travel, m/√m.
    #[garde(custom(non_negative))]
    pub along_m_per_sqrt_m: f64,
    /// Position across the direction of travel, m/√m.
    #[garde(custom(non_negative))]
    pub across_m_per_sqrt_m: f64,
    /// Heading, by distance, rad/√m.
    #[garde(custom(non_negative))]
    pub heading_rad_per_sqrt_m: f64,
    /// Heading, by turning, rad/√rad.
    #[garde(custom(non_negative))]
    pub heading_rad_per_sqrt_rad: f64,
    /// Variance published for unmeasured quantities: height, roll, pitch and their rates; m², rad² and their squares
    /// per second.
    #[garde(custom(positive))]
    pub unmeasured_variance: f64,
}

fn one() -> f64 {
    1.0
}

/// The data of a wheel that odometry uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdometryWheel {
    /// Position of its centre in the base link, x forward and y left, m.
    pub centre_m: [f64; 2],
    /// Radius to the grousers' tips, m.
    pub radius_m: f64,
    /// Index of its drive joint among the movable joints.
    pub drive: usize,
    /// Sign of that joint's rate when the wheel rolls forward.
    pub drive_sign: f64,
    /// Index of its steering joint, and the sign of that joint's angle when the wheel points to the left.
    pub steer: Option<(usize, f64)>,
}

/// A reading of wheel odometry.
#[derive(Clone, Debug, PartialEq)]
pub struct OdometryReading {
    /// Pose of `base_link` in `odom`; it starts at the rover's true position and heading.
    pub odom_from_base: Pose,
    /// Velocity of `base_link` in its own axes: forward and left, m/s, and turn rate, rad/s.
    pub twist: Vector3<f64>,
    /// Covariance of x, y and heading in `odom`, m² and rad².
    pub pose_covariance: Matrix3<f64>,
    /// Covariance of the twist, (m/s)² and (rad/s)².
    pub twist_covariance: Matrix3<f64>,
    /// Variance of each unmeasured quantity.
    pub unmeasured_variance: f64,
}

/// Dead reckoning of a rover.
#[derive(Clone, Debug)]
pub(super) struct Odometer {
    spec: OdometrySpec,
    wheels: Vec<OdometryWheel>,
    is_steered: bool,
    seed: u64,
}

/// The memory of an odometer.
#[derive(Clone, Debug)]
struct Memory {
    /// Instant of the last sample.
    at: SimTime,
    /// x and y, m, and heading, rad, in `odom`.
    pose: Vector3<f64>,
    z_m: f64,
    covariance: Matrix3<f64>,
    counters: Vec<Counter>,
}

impl Odometer {
    pub(super) fn new(spec: OdometrySpec, plan: &BodyPlan, seed: u64) -> Result<Self, BodyError> {
        let is_steered = plan.wheels.iter().any(|wheel| wheel.steer.is_some());
        let odometer = Self { spec, wheels: plan.wheels.clone(), is_steered, seed };
        let straight = vec![0.0; plan.wheels.len()];
        let (normal, _) = odometer.equations(&straight, &straight);
        if normal.determinant() < DETERMINANT_MIN {
            return Err(BodyError::Wheels);
        }
        Ok(odometer)
    }

    pub(super) fn take(
        &self,
        known: Option<&[f64]>,
        beat: &BodyHeartbeat,
        samples: impl Iterator<Item = Sample>,
        mut reported: impl FnMut(BodySample),
    ) -> Vec<f64> {
        let mut memory = known.and_then(|numbers| self.remembered(numbers)).unwrap_or_else(|| self.begun(beat));
        for sample in samples {
            let reading = self.read(&mut memory, &beat.positions(sample.instant), sample);
            reported(BodySample { sample, reported: BodyReading::Odometry(reading), truth: None });
        }
        self.numbers(&memory)
    }

    fn begun(&self, beat: &BodyHeartbeat) -> Memory {
        let base = beat.before.world_from_links.first().copied().unwrap_or_else(Pose::identity);
        let ahead = base.rotation * Vector3::x();
        let place = base.translation.vector;
        let angle = |wheel: &OdometryWheel| beat.before.position.get(wheel.drive).copied().unwrap_or_default();
        Memory {
            at: beat.from,
            pose: Vector3::new(place.x, place.y, ahead.y.atan2(ahead.x)),
            z_m: place.z,
            covariance: Matrix3::zeros(),
            counters: self.wheels.iter().map(|wheel| Counter::at(angle(wheel), self.spec.ticks_per_turn)).collect(),
        }
    }

    fn read(&self, memory: &mut Memory, joints: &[f64], sample: Sample) -> OdometryReading {
        let travel_m = self.travel_m(&mut memory.counters, joints, sample);
        let movement = self.movement(&travel_m, &self.headings(joints));
        let span_s = (sample.instant - memory.at).secs_f64();
        memory.at = sample.instant;
        let noise = self.noise(&movement);
        lay(memory, &movement, &noise);
        let per_s = if span_s > 0.0 { 1.0 / span_s } else { 0.0 };
        OdometryReading {
            odom_from_base: Pose::new(
                Vector3::new(memory.pose.x, memory.pose.y, memory.z_m),
                Vector3::z() * memory.pose.z,
            ),
            twist: movement * per_s,
            pose_covariance: memory.covariance,
            twist_covariance: (noise + self.tick_noise()) * (per_s * per_s),
            unmeasured_variance: self.spec.uncertainty.unmeasured_variance,
        }
    }

    /// Distance that each wheel rolled since the last sample, m.
    fn travel_m(&self, counters: &mut [Counter], joints: &[f64], sample: Sample) -> Vec<f64> {
        let OdometrySpec { ticks_per_turn, missed_tick_probability, .. } = self.spec;
        let mut rng = stream_at(self.seed, &self.spec.name, sample.index);
        let travel = |(wheel, counter): (&OdometryWheel, &mut Counter)| {
            let before = counter.count();
            let angle = joints.get(wheel.drive).copied().unwrap_or_default();
            counter.take(angle, ticks_per_turn, missed_tick_probability, &mut rng);
            wheel.drive_sign * (counter.count() - before) as f64 * self.tick_m(wheel)
        };
        self.wheels.iter().zip(counters).map(travel).collect()
    }

    fn tick_m(&self, wheel: &OdometryWheel) -> f64 {
        TAU / f64::from(self.spec.ticks_per_turn) * wheel.radius_m * self.spec.radius_scale
    }

    /// Heading of each wheel in the base, rad.
    fn headings(&self, joints: &[f64]) -> Vec<f64> {
        let angle = |(joint, sign): (usize, f64)| sign * joints.get(joint).copied().unwrap_or_default();
        self.wheels.iter().map(|wheel| wheel.steer.map_or(0.0, angle)).collect()
    }

    /// Movement since the last sample: forward and left, m, and turn, rad.
    fn movement(&self, travel_m: &[f64], headings: &[f64]) -> Vector3<f64> {
        let (normal, right) = self.equations(travel_m, headings);
        // If the wheels' headings leave the motion undetermined, assume that the rover stands.
        let solved = normal.cholesky().map_or_else(Vector3::zeros, |factors| factors.solve(&right));
        Vector3::new(solved.x, solved.y, solved.z * self.spec.turn_scale)
    }

    /// The normal equations: matrix and right-hand side.
    fn equations(&self, travel_m: &[f64], headings: &[f64]) -> (Matrix3<f64>, Vector3<f64>) {
        let (mut normal, mut right) = (Matrix3::zeros(), Vector3::zeros());
        for (wheel, (travel_m, heading)) in self.wheels.iter().zip(travel_m.iter().zip(headings)) {
            let ([a, b], (sin, cos)) = (wheel.centre_m, heading.sin_cos());
            let along = Vector3::new(cos, sin, a * sin - b * cos);
            normal += along * along.transpose();
            right += along * *travel_m;
            let across = if self.is_steered { Vector3::new(-sin, cos, a * cos + b * sin) } else { Vector3::y() };
            normal += across * across.transpose();
        }
        (normal, right)
    }

    /// Covariance that a movement adds, in the base's axes.
    fn noise(&self, movement: &Vector3<f64>) -> Matrix3<f64> {
        let (way_m, turn_rad) = (movement.xy().norm(), movement.z.abs());
        let of = &self.spec.uncertainty;
        let heading = of.heading_rad_per_sqrt_m.powi(2) * way_m + of.heading_rad_per_sqrt_rad.powi(2) * turn_rad;
        let along = of.along_m_per_sqrt_m.powi(2) * way_m;
        Matrix3::from_diagonal(&Vector3::new(along, of.across_m_per_sqrt_m.powi(2) * way_m, heading))
    }

    /// Covariance of a movement by rounding to ticks: the difference of two rounded numbers has a variance of a sixth
    /// of a tick squared, on each wheel.
    fn tick_noise(&self) -> Matrix3<f64> {
        let mean_tick_m2 =
            self.wheels.iter().map(|wheel| self.tick_m(wheel).powi(2)).sum::<f64>() / self.wheels.len().max(1) as f64;
        let straight = vec![0.0; self.wheels.len()];
        let (normal, _) = self.equations(&straight, &straight);
        normal.try_inverse().unwrap_or_else(Matrix3::zeros) * (mean_tick_m2 / 6.0)
    }

    /// The memory as numbers: instant in ns, pose and height, upper triangle of the covariance, counters.
    fn numbers(&self, memory: &Memory) -> Vec<f64> {
        let Memory { at, pose, z_m, covariance: p, counters } = memory;
        let of_pose: [f64; OF_POSE] = [
            at.nanos() as f64,
            pose.x,
            pose.y,
            pose.z,
            *z_m,
            p[(0, 0)],
            p[(0, 1)],
            p[(0, 2)],
            p[(1, 1)],
            p[(1, 2)],
            p[(2, 2)],
            // The number of counters, so that the memory of another kind of sensor is not mistaken for this.
            counters.len() as f64,
        ];
        of_pose.into_iter().chain(counters.iter().flat_map(Counter::numbers)).collect()
    }

    fn remembered(&self, numbers: &[f64]) -> Option<Memory> {
        let (of_pose, counters) = numbers.split_at_checked(OF_POSE)?;
        let &[at, x, y, heading, z_m, xx, xy, xh, yy, yh, hh, count] = of_pose else { return None };
        let fits = count == self.wheels.len() as f64 && counters.len() == 2 * self.wheels.len();
        fits.then(|| Memory {
            at: SimTime::from_nanos(at as i64),
            pose: Vector3::new(x, y, heading),
            z_m,
            covariance: Matrix3::new(xx, xy, xh, xy, yy, yh, xh, yh, hh),
            counters: counters.chunks_exact(2).map(|pair| Counter::of_numbers([pair[0], pair[1]])).collect(),
        })
    }
}

/// Adds a movement in the base's axes to the pose, along its arc, and its noise to the covariance.
fn lay(memory: &mut Memory, movement: &Vector3<f64>, noise: &Matrix3<f64>) {
    let turn = movement.z;
    let (sin_share, cos_share) =
        if turn.abs() < STRAIGHT_RAD { (1.0, 0.5 * turn) } else { (turn.sin() / turn, (1.0 - turn.cos()) / turn) };
    let arc =
        Vector2::new(sin_share * movement.x - cos_share * movement.y, cos_share * movement.x + sin_share * movement.y);
    let heading = Rotation2::new(memory.pose.z);
    let moved = heading * arc;
    let onward = Matrix3::new(1.0, 0.0, -moved.y, 0.0, 1.0, moved.x, 0.0, 0.0, 1.0);
    let turned = heading.to_homogeneous();
    let grown = onward * memory.covariance * onward.transpose() + turned * noise * turned.transpose();
    // Keeps the matrix symmetric despite rounding, because the memory holds only its upper triangle.
    memory.covariance = (grown + grown.transpose()) * 0.5;
    memory.pose += Vector3::new(moved.x, moved.y, turn);
}

#[cfg(test)]
#[path = "odometry_tests.rs"]
mod tests;
