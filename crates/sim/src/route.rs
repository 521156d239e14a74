//! The built-in driver: pure pursuit along straight legs between waypoints
//! (R. C. Coulter, "Implementation of the Pure Pursuit Path Tracking Algorithm",
//! CMU-RI-TR-92-01, 1992). It steers toward the point a fixed distance ahead on the
//! route and stops at the last waypoint.

use garde::Validate;
use nalgebra::{Point2, Vector2};
use selene_base::{Pose, frames, input};
use selene_vehicle::BodyTwist;
use serde::Deserialize;

/// How far ahead on the route the rover aims, m.
const LOOKAHEAD_M: f64 = 1.5;
/// The route ends when the rover is this near the last waypoint, m.
const ARRIVAL_M: f64 = 0.25;
/// Most waypoints of a route.
const WAYPOINTS_MAX: usize = 10_000;

/// A route in a scenario's file.
#[derive(Clone, Debug, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// Speed along the route, m/s.
    #[garde(custom(input::within(0.001, 5.0)))]
    pub speed_m_s: f64,
    /// Waypoints, map x and y, m, after the start.
    #[garde(length(min = 1, max = WAYPOINTS_MAX), inner(custom(input::finite_array)))]
    pub waypoints_m: Vec<[f64; 2]>,
}

/// A route and how far along it the rover is.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteFollower {
    speed_m_s: f64,
    points: Vec<Point2<f64>>,
    /// The leg from `points[leg]` to `points[leg + 1]` is being driven.
    leg: usize,
    arrived: bool,
}

impl RouteFollower {
    /// A route that begins where the rover stands.
    #[must_use]
    pub fn new(spec: &RouteSpec, start_m: [f64; 2]) -> Self {
        let points = std::iter::once(&start_m).chain(&spec.waypoints_m).map(|&[x, y]| Point2::new(x, y)).collect();
        Self { speed_m_s: spec.speed_m_s, points, leg: 0, arrived: false }
    }

    /// Whether the last waypoint has been reached.
    #[must_use]
    pub fn arrived(&self) -> bool {
        self.arrived
    }

    /// The motion for a rover at `world_from_base`.
    pub fn command(&mut self, world_from_base: &Pose) -> BodyTwist {
        let here = Point2::new(world_from_base.translation.x, world_from_base.translation.y);
        self.advance(here);
        if self.arrived {
            return BodyTwist::REST;
        }
        let aim = self.aim(here);
        let bearing = (aim.y - here.y).atan2(aim.x - here.x) - frames::yaw_rad(world_from_base);
        let curvature_per_m = 2.0 * bearing.sin() / (aim - here).norm().max(ARRIVAL_M);
        BodyTwist::arc(self.speed_m_s, self.speed_m_s * curvature_per_m)
    }

    /// Passes legs whose end is behind the rover or within the look-ahead.
    fn advance(&mut self, here: Point2<f64>) {
        let last = self.points.len() - 2;
        while self.leg < last && self.left_on_leg_m(here) < LOOKAHEAD_M {
            self.leg += 1;
        }
        let end = self.points[last + 1];
        let overshot = self.leg == last && self.left_on_leg_m(here) <= 0.0;
        self.arrived |= (end - here).norm() < ARRIVAL_M || overshot;
    }

    fn left_on_leg_m(&self, here: Point2<f64>) -> f64 {
        let end = self.points[self.leg + 1];
        (end - here).dot(&self.along())
    }

    fn along(&self) -> Vector2<f64> {
        (self.points[self.leg + 1] - self.points[self.leg]).try_normalize(1e-9).unwrap_or_else(Vector2::x)
    }

    fn aim(&self, here: Point2<f64>) -> Point2<f64> {
        let end = self.points[self.leg + 1];
        end - self.along() * (self.left_on_leg_m(here) - LOOKAHEAD_M).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{RouteFollower, RouteSpec};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;

    /// A unicycle that obeys exactly, stepped at 10 Hz.
    fn drive(waypoints_m: Vec<[f64; 2]>) -> (f64, f64, usize) {
        let mut follower = RouteFollower::new(&RouteSpec { speed_m_s: 0.2, waypoints_m }, [0.0, 0.0]);
        let (mut x, mut y, mut yaw) = (0.0f64, 0.0f64, 0.0f64);
        for step in 0..5000 {
            let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw);
            let command = follower.command(&Pose::from_parts(Vector3::new(x, y, 0.0).into(), rotation));
            if follower.arrived() {
                return (x, y, step);
            }
            yaw += command.turn_rad_s * 0.1;
            x += command.forward_m_s * yaw.cos() * 0.1;
            y += command.forward_m_s * yaw.sin() * 0.1;
        }
        panic!("never arrived");
    }

    #[test]
    fn a_bent_route_ends_at_its_last_waypoint() {
        let (x, y, _) = drive(vec![[5.0, 0.0], [8.0, 4.0], [8.0, 9.0]]);
        assert!((x - 8.0).hypot(y - 9.0) < 0.5, "ended at {x}, {y}");
    }

    #[test]
    fn a_straight_route_takes_its_length_over_the_speed() {
        let (_, y, steps) = drive(vec![[6.0, 0.0]]);
        assert!(y.abs() < 1e-9);
        assert!((steps as f64 * 0.1 - (6.0 - 0.25) / 0.2).abs() < 0.3);
    }
}
