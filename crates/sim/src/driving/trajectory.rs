//! Trajectories of joints (`trajectory_msgs/JointTrajectory`): angles for steers and servos
//! by position, rates for drives and servos by rate. Between two points an angle is linear
//! in time, or the cubic that meets both velocities when they are given (Hermite); a rate
//! is linear. The way to the first point begins where the joint is when the trajectory
//! begins. After the last point an angle is held; a rate is held as long as any rate command.

use selene_base::SimTime;
use serde::{Deserialize, Serialize};

use crate::driving::command::CommandError;

/// Longest time until a start. A later start is taken for the stamp of another clock.
const AHEAD_MAX: SimTime = SimTime::from_nanos(3_600_000_000_000);

/// Targets of several joints over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointTrajectory {
    /// When it starts; at once when `None`.
    pub start: Option<SimTime>,
    /// Names of joints, or of their servos.
    pub joints: Vec<String>,
    /// Points in the order of their time.
    pub points: Vec<TrajectoryPoint>,
}

/// Targets of the joints at one time; each row has a number for each joint or is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryPoint {
    /// Time from the trajectory's start.
    pub time: SimTime,
    /// Angles, rad.
    pub positions: Vec<f64>,
    /// Rates, rad/s.
    pub velocities: Vec<f64>,
}

impl JointTrajectory {
    /// Refuses invalid rows, times and numbers.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        for (what, empty) in [("joint_names", self.joints.is_empty()), ("points", self.points.is_empty())] {
            if empty {
                return Err(CommandError::Empty { what });
            }
        }
        self.points.iter().enumerate().try_for_each(|(i, point)| self.check_point(i, point))
    }

    fn check_point(&self, index: usize, point: &TrajectoryPoint) -> Result<(), CommandError> {
        let before = index.checked_sub(1).map(|before| self.points[before].time);
        let in_order = before.map_or(point.time >= SimTime::ZERO, |before| point.time > before);
        if !in_order {
            let (at_s, before_s) = (point.time.secs_f64(), before.unwrap_or(SimTime::ZERO).secs_f64());
            return Err(CommandError::TimeOrder { point: index, at_s, before_s });
        }
        for (what, row) in [("positions", &point.positions), ("velocities", &point.velocities)] {
            let (count, joints) = (row.len(), self.joints.len());
            if count != 0 && count != joints {
                return Err(CommandError::RowLength { point: index, what, count, joints });
            }
            if let Some((joint, &value)) = self.joints.iter().zip(row).find(|(_, value)| !value.is_finite()) {
                let what = format!("trajectory: point {index}: {what} of joint \"{joint}\"");
                return Err(CommandError::NotFinite { what, value });
            }
        }
        Ok(())
    }

    /// Start time of the trajectory if it arrives at `now`.
    pub(crate) fn starts(&self, now: SimTime) -> Result<SimTime, CommandError> {
        let start = self.start.unwrap_or(now);
        if start > now && start - now > AHEAD_MAX {
            let (ahead_s, most_s) = ((start - now).secs_f64(), AHEAD_MAX.secs_f64());
            return Err(CommandError::FarAhead { ahead_s, most_s });
        }
        Ok(start)
    }

    /// The part of the joint with index `column`, by angles or by rates.
    pub(crate) fn spline(&self, column: usize, by_rate: bool, start: SimTime) -> Result<JointSpline, CommandError> {
        let missing = |point, what| CommandError::RowMissing { point, what, joint: self.joints[column].clone() };
        let knot = |(i, point): (usize, &TrajectoryPoint)| {
            let [position, velocity] = [&point.positions, &point.velocities].map(|row| row.get(column).copied());
            let (value, slope) = if by_rate {
                (velocity.ok_or_else(|| missing(i, "velocities"))?, None)
            } else {
                (position.ok_or_else(|| missing(i, "positions"))?, velocity)
            };
            Ok(Knot { time: point.time, value, slope })
        };
        let knots = self.points.iter().enumerate().map(knot).collect::<Result<_, _>>()?;
        Ok(JointSpline { start, knots })
    }
}

/// One joint's part of a trajectory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JointSpline {
    start: SimTime,
    /// Points of the joint, at least one; times increase.
    knots: Vec<Knot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Knot {
    time: SimTime,
    value: f64,
    slope: Option<f64>,
}

impl JointSpline {
    /// Moves its start back by `by`.
    pub(crate) fn move_back(&mut self, by: SimTime) {
        self.start = self.start - by;
    }

    /// Whether it has not begun at `now`.
    pub(crate) fn waits(&self, now: SimTime) -> bool {
        now < self.start
    }

    /// When its last point is due.
    pub(crate) fn end(&self) -> SimTime {
        self.start + self.knots.last().map_or(SimTime::ZERO, |knot| knot.time)
    }

    /// The target at `now`, for a joint that was at `from` when it began.
    pub(crate) fn target(&self, now: SimTime, from: f64) -> f64 {
        let elapsed = now - self.start;
        let next = self.knots.partition_point(|knot| knot.time <= elapsed);
        let Some(after) = self.knots.get(next) else {
            return self.knots.last().map_or(from, |knot| knot.value);
        };
        let rest = Knot { time: SimTime::ZERO, value: from, slope: after.slope.map(|_| 0.0) };
        let before = next.checked_sub(1).map_or(rest, |before| self.knots[before]);
        between(&before, after, elapsed)
    }
}

fn between(before: &Knot, after: &Knot, time: SimTime) -> f64 {
    let span_s = (after.time - before.time).secs_f64();
    let u = (time - before.time).secs_f64() / span_s;
    let step = after.value - before.value;
    match (before.slope, after.slope) {
        (Some(begins), Some(ends)) => {
            let smooth = u * u * (3.0 - 2.0 * u);
            let bends = u * (1.0 - u) * ((1.0 - u) * begins - u * ends) * span_s;
            before.value + step * smooth + bends
        }
        _ => before.value + step * u,
    }
}

#[cfg(test)]
mod tests {
    use super::{JointSpline, Knot};
    use selene_base::SimTime;

    fn at(secs: f64) -> SimTime {
        SimTime::from_secs_f64(secs)
    }

    fn spline(knots: &[(f64, f64, Option<f64>)]) -> JointSpline {
        let knots = knots.iter().map(|&(time_s, value, slope)| Knot { time: at(time_s), value, slope });
        JointSpline { start: at(10.0), knots: knots.collect() }
    }

    #[test]
    fn between_points_without_velocities_it_runs_straight() {
        let spline = spline(&[(1.0, 0.2, None), (3.0, -0.2, None)]);
        for (time_s, expected) in [(10.0, 0.5), (10.5, 0.35), (11.0, 0.2), (12.0, 0.0), (13.0, -0.2), (99.0, -0.2)] {
            assert!((spline.target(at(time_s), 0.5) - expected).abs() < 1e-12, "{time_s}");
        }
    }

    #[test]
    fn with_velocities_it_is_the_cubic_that_meets_them() {
        // x = t³ − 2 t² + 1 and its slope 3 t² − 4 t at both ends of 0 … 2 s.
        let cubic = |t: f64| t * t * t - 2.0 * t * t + 1.0;
        let spline = spline(&[(0.0, 1.0, Some(0.0)), (2.0, 1.0, Some(4.0))]);
        for step in 0..=20 {
            let t = 0.1 * f64::from(step);
            assert!((spline.target(at(10.0 + t), 9.0) - cubic(t)).abs() < 1e-12, "{t}");
        }
    }
}
