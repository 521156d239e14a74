//! Dead reckoning in the plane from the encoders of wheels and the angles of steering joints, blind to slip.
//!
//! From one sample to the next each wheel rolls s = R Δφ along its heading δ, and does not slide sideways. A rover that
//! moves by (x, y) and turns by θ, all in its own axes, moves a wheel at (a, b) by (x − θ b, y + θ a), so
//!
//!   cos δ (x − θ b) + sin δ (y + θ a) = s,   w [−sin δ (x − θ b) + cos δ (y + θ a)] = 0,
//!
//! solved by least squares over all wheels. A rover with steered wheels has w = 1. One without must skid to turn: its
//! wheels do slide, w = 0, and instead y = 0: it turns about a point beside its middle. Where the true turn is less
//! than wheels say, as skidding rovers' is, `turn_scale` calibrates it. The movement is laid to the pose along its
//! arc (the exponential of SE(2)).
//!
//! The covariance grows with the way: each metre adds variance along, across and in heading, each radian of turning
//! adds variance in heading, and errors of heading become errors of place as P ← F P Fᵀ + G Q Gᵀ. Steering angles are
//! taken as known. Slip is not in it: it is what this odometry is blind to.

use std::f64::consts::TAU;

use garde::Validate;
use nalgebra::{Matrix3, Rotation2, Vector2, Vector3};
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::random::stream_at;
use selene_base::{Pose, SimTime};
use serde::Deserialize;

use super::encoder::{Counter, ticks};
use super::{Beat, BodyError, BodyPlan, BodyReading, Read};
use crate::augment::{Augments, Datum, fits};
use crate::spec::{lag, rate, ros_name};
use crate::{Sample, SensorQos};

/// Turns below are laid straight, rad.
const STRAIGHT_RAD: f64 = 1e-9;
/// The least determinant of normal equations that are solved, m².
const DETERMINANT_MIN: f64 = 1e-9;
/// Numbers of a memory before those of its counters.
const OF_POSE: usize = 12;

/// Dead reckoning from wheels.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct OdometrySpec {
    /// The topic, and the stream's name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link that it belongs to; it tells of `base_link` whichever this is.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Samples a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From measurement to hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How the topic is offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// The stages that its readings pass before they leave.
    #[serde(default)]
    #[garde(dive, custom(fits(Datum::Odometry, self.rate_hz)))]
    pub stages: Augments,
    /// Ticks of each wheel's encoder for a turn of the wheel.
    #[garde(custom(ticks))]
    pub ticks_per_turn: u32,
    /// Chance of each tick to be missed.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub missed_tick_probability: f64,
    /// What it takes for the wheels' radius, as a share of that to the grousers' tips: wheels sink in.
    #[garde(custom(within(0.5, 1.5)))]
    #[serde(default = "one")]
    pub radius_scale: f64,
    /// What it multiplies turns by.
    #[garde(custom(within(0.1, 2.0)))]
    #[serde(default = "one")]
    pub turn_scale: f64,
    /// How uncertain its way is.
    #[garde(dive)]
    pub uncertainty: UncertaintySpec,
}

/// How variances grow: a standard deviation s in m/√m means a variance of s² for each metre.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct UncertaintySpec {
    /// Along the way, m/√m.
    #[garde(custom(non_negative))]
    pub along_m_per_sqrt_m: f64,
    /// Across it, m/√m.
    #[garde(custom(non_negative))]
    pub across_m_per_sqrt_m: f64,
    /// Of the heading, rad/√m.
    #[garde(custom(non_negative))]
    pub heading_rad_per_sqrt_m: f64,
    /// Of the heading by turning, rad/√rad.
    #[garde(custom(non_negative))]
    pub heading_rad_per_sqrt_rad: f64,
    /// Variance that is told of what is not measured: height, roll, pitch and their rates; m², rad² and their
    /// squares per second.
    #[garde(custom(positive))]
    pub unmeasured_variance: f64,
}

fn one() -> f64 {
    1.0
}

/// A wheel as odometry knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdometryWheel {
    /// Its centre in the base link, x forward and y left, m.
    pub centre_m: [f64; 2],
    /// Radius to the grousers' tips, m.
    pub radius_m: f64,
    /// Place of its drive joint among joints that move, and the sign of that joint's rate when it rolls forward.
    pub drive: usize,
    /// That sign.
    pub drive_sign: f64,
    /// Place of its steering joint, and the sign of that joint's angle when it points to the left.
    pub steer: Option<(usize, f64)>,
}

/// What dead reckoning tells.
#[derive(Clone, Debug, PartialEq)]
pub struct OdometryReading {
    /// `odom` from `base_link`: where it began was the rover's true place and heading.
    pub odom_from_base: Pose,
    /// Forward and left, m/s, and turn rate, rad/s, of `base_link` in its own axes.
    pub twist: Vector3<f64>,
    /// Covariance of x, y and heading in `odom`.
    pub pose_covariance: Matrix3<f64>,
    /// Covariance of the twist.
    pub twist_covariance: Matrix3<f64>,
    /// Variance of all that is not measured.
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

/// What it remembers.
#[derive(Clone, Debug)]
struct Memory {
    /// When it was last brought on.
    at: SimTime,
    /// x, y, and heading in `odom`.
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
        beat: &Beat,
        samples: impl Iterator<Item = Sample>,
        mut told: impl FnMut(Read),
    ) -> Vec<f64> {
        let mut memory = known.and_then(|numbers| self.remembered(numbers)).unwrap_or_else(|| self.begun(beat));
        for sample in samples {
            let reading = self.read(&mut memory, &beat.positions(sample.instant), sample);
            told(Read { sample, told: BodyReading::Odometry(reading), truth: None });
        }
        self.numbers(&memory)
    }

    fn begun(&self, beat: &Beat) -> Memory {
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

    /// How far each wheel rolled since the last sample, m.
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

    /// Forward and left, m, and turn, rad.
    fn movement(&self, travel_m: &[f64], headings: &[f64]) -> Vector3<f64> {
        let (normal, right) = self.equations(travel_m, headings);
        // With wheels steered to a heading at which they tell nothing, it takes the rover to stand.
        let solved = normal.cholesky().map_or_else(Vector3::zeros, |factors| factors.solve(&right));
        Vector3::new(solved.x, solved.y, solved.z * self.spec.turn_scale)
    }

    /// The normal equations: matrix and right side.
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

    /// Covariance of a movement by rounding to ticks: that of a difference of two rounded numbers is a sixth of a
    /// tick squared, on each wheel.
    fn tick_noise(&self) -> Matrix3<f64> {
        let mean_tick_m2 =
            self.wheels.iter().map(|wheel| self.tick_m(wheel).powi(2)).sum::<f64>() / self.wheels.len().max(1) as f64;
        let straight = vec![0.0; self.wheels.len()];
        let (normal, _) = self.equations(&straight, &straight);
        normal.try_inverse().unwrap_or_else(Matrix3::zeros) * (mean_tick_m2 / 6.0)
    }

    /// Instant in ns, pose and height, covariance's upper triangle, counters.
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
            // How many counters there are, so that no other kind's numbers are taken for these.
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

/// Lays a movement in the base's axes to a pose, along its arc.
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
    // Rounding must not tell the two halves apart: one of them is remembered.
    memory.covariance = (grown + grown.transpose()) * 0.5;
    memory.pose += Vector3::new(moved.x, moved.y, turn);
}

#[cfg(test)]
#[path = "odometry_tests.rs"]
mod tests;
