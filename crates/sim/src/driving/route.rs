//! The route follower: pure pursuit along straight legs between waypoints (R. C. Coulter, "Implementation of the Pure
//! Pursuit Path Tracking Algorithm", CMU-RI-TR-92-01, 1992). It steers toward a point on the route as far ahead as it
//! should drive in a second, but at most half a leg and at least 1.5 m ahead, and stops at the last waypoint. A route may
//! cross itself and end where it begins, because the rover drives it leg by leg.

use garde::Validate;
use nalgebra::{Point2, Vector2};
use schemars::JsonSchema;
use selene_base::{Pose, frames, input};
use selene_vehicle::BodyTwist;
use serde::{Deserialize, Serialize};

/// How far ahead on the route the rover aims at least, m.
const LOOKAHEAD_MIN_M: f64 = 1.5;
/// How far ahead it aims where that is farther, as time, s: toward nearer points a fast rover steers more quickly than its
/// wheels turn, and swings about the route.
const LOOKAHEAD_S: f64 = 1.0;
/// Largest share of a leg that it aims ahead where that is more than the least: legs are cut short, not left out.
const LOOKAHEAD_LEGS: f64 = 0.5;
/// Distance from the last waypoint at which the route ends, m.
const ARRIVAL_M: f64 = 0.25;
/// Maximum number of waypoints of a route.
const WAYPOINTS_MAX: usize = 10_000;

/// A route in a scenario's file.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// Speed along the route, m/s.
    #[garde(custom(input::within(0.001, 5.0)))]
    pub speed_m_s: f64,
    /// Waypoints, map x and y, m, after the start.
    #[garde(length(min = 1, max = WAYPOINTS_MAX), inner(custom(input::finite_array)))]
    pub waypoints_m: Vec<[f64; 2]>,
}

/// How far along its route a rover is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteProgress {
    /// Index of the current leg, from waypoint `leg` to the next; the start is waypoint 0.
    leg: u32,
    arrived: bool,
}

/// Follows a route with a rover.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteFollower {
    speed_m_s: f64,
    /// The start and the waypoints, map x and y, m; neighbours differ.
    points: Vec<Point2<f64>>,
}

impl RouteProgress {
    /// Whether the last waypoint has been reached.
    #[must_use]
    pub fn arrived(&self) -> bool {
        self.arrived
    }
}

impl RouteFollower {
    /// Follows a route that begins at `start_m`, map x and y, m.
    #[must_use]
    pub fn new(spec: &RouteSpec, start_m: [f64; 2]) -> Self {
        let mut points: Vec<_> =
            std::iter::once(&start_m).chain(&spec.waypoints_m).map(|&[x, y]| Point2::new(x, y)).collect();
        points.dedup();
        Self { speed_m_s: spec.speed_m_s, points }
    }

    /// The motion that a rover at `world_from_base` should make next.
    pub fn command(&self, progress: &mut RouteProgress, world_from_base: &Pose) -> BodyTwist {
        let here = Point2::new(world_from_base.translation.x, world_from_base.translation.y);
        self.advance(progress, here);
        if progress.arrived {
            return BodyTwist::REST;
        }
        let aim = self.aim(progress.leg as usize, here);
        let bearing = (aim.y - here.y).atan2(aim.x - here.x) - frames::yaw_rad(world_from_base);
        let curvature_per_m = 2.0 * bearing.sin() / (aim - here).norm().max(ARRIVAL_M);
        BodyTwist::arc(self.speed_m_s, self.speed_m_s * curvature_per_m)
    }

    /// Passes legs whose end is behind the rover or within the look-ahead. The rover arrives only
    /// on the last leg, since earlier ones may pass the end.
    fn advance(&self, progress: &mut RouteProgress, here: Point2<f64>) {
        let Some(last) = self.points.len().checked_sub(2) else {
            progress.arrived = true;
            return;
        };
        while (progress.leg as usize) < last && self.is_near_end(progress.leg as usize, here) {
            progress.leg += 1;
        }
        if progress.leg as usize == last {
            let is_near = (self.points[last + 1] - here).norm() < ARRIVAL_M;
            let overshot = self.left_on_leg_m(last, here) <= 0.0;
            progress.arrived |= overshot || (is_near && self.has_left_the_start(last, here));
        }
    }

    /// Whether the rover has left its start. On a single leg shorter than `ARRIVAL_M` it would otherwise
    /// arrive before it moves.
    fn has_left_the_start(&self, leg: usize, here: Point2<f64>) -> bool {
        leg > 0 || (here - self.points[0]).norm() > 0.5 * (self.points[1] - self.points[0]).norm()
    }

    /// Whether the end of a leg is within the look-ahead.
    fn is_near_end(&self, leg: usize, here: Point2<f64>) -> bool {
        self.left_on_leg_m(leg, here) < self.lookahead_m(leg)
    }

    /// How far ahead the rover aims on a leg, m.
    fn lookahead_m(&self, leg: usize) -> f64 {
        let length_m = (self.points[leg + 1] - self.points[leg]).norm();
        LOOKAHEAD_MIN_M.max((LOOKAHEAD_S * self.speed_m_s).min(LOOKAHEAD_LEGS * length_m))
    }

    fn left_on_leg_m(&self, leg: usize, here: Point2<f64>) -> f64 {
        (self.points[leg + 1] - here).dot(&self.along(leg))
    }

    fn along(&self, leg: usize) -> Vector2<f64> {
        (self.points[leg + 1] - self.points[leg]).try_normalize(1e-9).unwrap_or_else(Vector2::x)
    }

    fn aim(&self, leg: usize, here: Point2<f64>) -> Point2<f64> {
        let end = self.points[leg + 1];
        end - self.along(leg) * (self.left_on_leg_m(leg, here) - self.lookahead_m(leg)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{RouteFollower, RouteProgress, RouteSpec};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;

    /// Drives a unicycle that obeys exactly, stepped at 10 Hz, at 0.2 m/s; returns its last x and y, m, and the number of
    /// steps.
    fn drive(waypoints_m: Vec<[f64; 2]>) -> (f64, f64, usize) {
        drive_at(0.2, waypoints_m)
    }

    fn drive_at(speed_m_s: f64, waypoints_m: Vec<[f64; 2]>) -> (f64, f64, usize) {
        let follower = RouteFollower::new(&RouteSpec { speed_m_s, waypoints_m }, [0.0, 0.0]);
        let mut progress = RouteProgress::default();
        let (mut x, mut y, mut yaw) = (0.0f64, 0.0f64, 0.0f64);
        for step in 0..5000 {
            let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw);
            let command = follower.command(&mut progress, &Pose::from_parts(Vector3::new(x, y, 0.0).into(), rotation));
            if progress.arrived() {
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
    fn a_fast_rover_drives_around_a_loop_too() {
        let (x, y, steps) = drive_at(5.0, vec![[20.0, 0.0], [20.0, 20.0], [0.0, 20.0], [0.0, 0.0]]);
        assert!(x.hypot(y) < 1.0, "ended at {x}, {y}");
        assert!((0.5 * steps as f64 / 80.0 - 0.9).abs() < 0.12, "{steps} steps");
        let (_, _, steps) = drive_at(5.0, vec![[4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [0.0, 0.0]]);
        assert!(0.5 * steps as f64 > 8.0, "{steps} steps around a small loop");
    }

    #[test]
    fn a_fast_rover_turns_back_to_its_route_gently() {
        let follower = RouteFollower::new(&RouteSpec { speed_m_s: 5.0, waypoints_m: vec![[50.0, 0.0]] }, [0.0, 0.0]);
        let beside = Pose::from_parts(Vector3::new(10.0, 1.0, 0.0).into(), UnitQuaternion::identity());
        let turn_rad_s = follower.command(&mut RouteProgress::default(), &beside).turn_rad_s;
        // An arc through a point 5 m ahead on the route: 2 v y / L².
        assert!((turn_rad_s + 2.0 * 5.0 / 26.0).abs() < 1e-9, "{turn_rad_s}");
    }

    #[test]
    fn a_straight_route_takes_its_length_over_the_speed() {
        let (_, y, steps) = drive(vec![[6.0, 0.0]]);
        assert!(y.abs() < 1e-9);
        assert!((steps as f64 * 0.1 - (6.0 - 0.25) / 0.2).abs() < 0.3);
    }

    #[test]
    fn a_loop_is_driven_around_before_it_ends_where_it_began() {
        for waypoints in [
            vec![[6.0, 0.0], [6.0, 6.0], [0.0, 6.0], [0.0, 0.0]],
            vec![[5.0, 3.0], [5.0, -3.0], [0.0, 0.0]],
            vec![[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 0.0]],
        ] {
            let ends = std::iter::once(&[0.0, 0.0]).chain(&waypoints);
            let length_m: f64 =
                ends.zip(&waypoints).map(|(a, b): (&[f64; 2], &[f64; 2])| (b[0] - a[0]).hypot(b[1] - a[1])).sum();
            let (x, y, steps) = drive(waypoints);
            assert!(x.hypot(y) < 0.5, "ended at {x}, {y}");
            // Corners are cut by the look-ahead.
            assert!((steps as f64 * 0.02 / length_m - 0.9).abs() < 0.12, "{steps} steps of {length_m} m");
        }
    }

    #[test]
    fn a_route_to_where_the_rover_stands_is_over_at_once() {
        assert_eq!(drive(vec![[0.0, 0.0], [0.0, 0.0]]).2, 0);
    }
}
