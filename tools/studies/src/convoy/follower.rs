//! Controllers of the convoy's vehicles. A PID controller steers the leader along its path (MULTI, §4.2): its error is
//! the distance from the path of a point ahead of it. Its speed rises by 0.47 m/s² up to a limit of ours, since the
//! paper's trucks drive at some 4 m/s on average. A follower knows what the paper's does: the position of the vehicle
//! ahead relative to its own (the difference of two GPS), its own way (by its own GPS), its own heading, the closing
//! speed, and, if it is learned, an image. The plain follower is the baseline: it steers along the arc that leads to the vehicle ahead (pure pursuit),
//! and accelerates by gap and closing speed.

use selene_vehicle::Ackermann;

use super::polyline::Polyline;

/// Acceleration and greatest speed of the leader.
const RAMP_M_S2: f64 = 0.47;
pub(super) const LEADER_MAX_M_S: f64 = 5.0;
/// Distance ahead of the leader of the point that it steers by, m.
const LOOK_AHEAD_M: f64 = 5.0;
/// Gains of the leader's steering: rad/m, rad/(m s), rad s/m.
const STEER_P: f64 = 0.25;
const STEER_I: f64 = 0.002;
const STEER_D: f64 = 0.05;
/// The wheelbase and the greatest steering angle of the truck.
const WHEELBASE_M: f64 = 3.378;
const STEER_MAX_RAD: f64 = std::f64::consts::FRAC_PI_6;
/// Gap that a follower keeps, between the middles of rear axles, m.
pub(super) const GAP_M: f64 = 12.0;
/// Gains of the plain follower: 1/s² on the gap, 1/s on the closing speed.
const GAP_GAIN: f64 = 0.25;
const CLOSING_GAIN: f64 = 1.0;
/// Greatest acceleration or braking of a follower, m/s², and its greatest speed.
const ACCELERATION_MAX_M_S2: f64 = 3.0;
const FOLLOWER_MAX_M_S: f64 = 8.0;

/// Controller of the leader.
#[derive(Clone, Debug)]
pub(super) struct Leader {
    path: Polyline,
    integral_m_s: f64,
    last_m: Option<f64>,
}

impl Leader {
    /// Creates the controller for a path.
    #[must_use]
    pub(super) fn new(path: Polyline) -> Self {
        Self { path, integral_m_s: 0.0, last_m: None }
    }

    /// Command for the truck at a position and heading, for the time since the start and the length of a control step,
    /// both s.
    pub(super) fn drive(&mut self, at_m: [f64; 2], heading_rad: f64, time_s: f64, step_s: f64) -> Ackermann {
        let (sin, cos) = heading_rad.sin_cos();
        let point = [at_m[0] + LOOK_AHEAD_M * cos, at_m[1] + LOOK_AHEAD_M * sin];
        let place = self.path.nearest(point);
        // Positive to the left.
        let error_m = place.map_or(0.0, |place| cos * (place.at_m[1] - point[1]) - sin * (place.at_m[0] - point[0]));
        let rate_m_s = self.last_m.map_or(0.0, |last_m| (error_m - last_m) / step_s);
        self.last_m = Some(error_m);
        let steer = |integral_m_s: f64| STEER_P * error_m + STEER_I * integral_m_s + STEER_D * rate_m_s;
        // The integral stops while the steering is at its limit.
        if steer(self.integral_m_s).abs() < STEER_MAX_RAD {
            self.integral_m_s += error_m * step_s;
        }
        car((RAMP_M_S2 * time_s).min(LEADER_MAX_M_S), steer(self.integral_m_s))
    }
}

/// Input of a follower.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FollowerInput {
    /// Position of the vehicle ahead relative to the follower: east, north, m.
    pub ahead_m: [f64; 2],
    /// Its own heading, counter-clockwise from east, rad.
    pub heading_rad: f64,
    /// Closing speed, m/s.
    pub closing_m_s: f64,
    /// Its own way in the last control step: east, north, m.
    pub moved_m: [f64; 2],
}

impl FollowerInput {
    /// Distance of the vehicle ahead, m.
    pub(super) fn apart_m(&self) -> f64 {
        let [east, north] = self.ahead_m;
        (east * east + north * north).sqrt()
    }

    /// A vector of east and north as forward and left of the follower.
    #[must_use]
    pub(super) fn in_own_frame(&self, [east, north]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.heading_rad.sin_cos();
        [cos * east + sin * north, cos * north - sin * east]
    }
}

/// Decision of a follower: fractions of the greatest steering angle and of the greatest acceleration, −1 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FollowerOutput {
    /// Steering, positive to the left.
    pub steer: f64,
    /// Acceleration, positive forward.
    pub accelerate: f64,
}

impl FollowerOutput {
    /// A decision for a steering angle, rad, and an acceleration, m/s², as far as the truck can.
    #[must_use]
    pub(super) fn of(steer_rad: f64, accelerate_m_s2: f64) -> Self {
        let [steer, accelerate] =
            [steer_rad / STEER_MAX_RAD, accelerate_m_s2 / ACCELERATION_MAX_M_S2].map(|part| part.clamp(-1.0, 1.0));
        Self { steer, accelerate }
    }
}

/// Decision of the plain follower.
#[must_use]
pub(super) fn plain(seen: &FollowerInput) -> FollowerOutput {
    let steer_rad = arc_to(seen.in_own_frame(seen.ahead_m));
    FollowerOutput::of(steer_rad, GAP_GAIN * (seen.apart_m() - GAP_M) - CLOSING_GAIN * seen.closing_m_s)
}

/// Steering angle of the arc through a point forward and to the left of a truck, rad (pure pursuit).
#[must_use]
pub(super) fn arc_to([forward_m, left_m]: [f64; 2]) -> f64 {
    let square_m2 = (forward_m * forward_m + left_m * left_m).max(1e-6);
    (2.0 * WHEELBASE_M * left_m / square_m2).atan()
}

/// Integrates a truck's accelerations to its speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Throttle {
    speed_m_s: f64,
}

impl Throttle {
    /// Command for the truck over a control step, s.
    pub(super) fn take(&mut self, action: FollowerOutput, step_s: f64) -> Ackermann {
        let gained_m_s = ACCELERATION_MAX_M_S2 * action.accelerate * step_s;
        self.speed_m_s = (self.speed_m_s + gained_m_s).clamp(0.0, FOLLOWER_MAX_M_S);
        car(self.speed_m_s, STEER_MAX_RAD * action.steer)
    }
}

fn car(speed_m_s: f64, steer_rad: f64) -> Ackermann {
    Ackermann {
        speed_m_s,
        steering_angle_rad: steer_rad.clamp(-STEER_MAX_RAD, STEER_MAX_RAD),
        steering_rate_rad_s: 0.0,
        acceleration_m_s2: 0.0,
        jerk_m_s3: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{FollowerInput, GAP_M, LEADER_MAX_M_S, Leader, STEER_MAX_RAD, Throttle, WHEELBASE_M, plain};
    use crate::convoy::polyline::Polyline;

    #[test]
    fn the_leader_comes_back_to_its_path_and_follows_its_ramp() {
        let mut leader = Leader::new(Polyline::new(vec![[0.0, 0.0], [200.0, 0.0]]));
        // A bicycle model that starts a metre beside the path.
        let (mut at_m, mut heading_rad, step_s) = ([0.0, 1.0], 0.0_f64, 0.05);
        for i in 0..400 {
            let time_s = step_s * f64::from(i);
            let reported = leader.drive(at_m, heading_rad, time_s, step_s);
            assert!((reported.speed_m_s - (0.47 * time_s).min(LEADER_MAX_M_S)).abs() < 1e-12);
            at_m = [
                at_m[0] + step_s * reported.speed_m_s * heading_rad.cos(),
                at_m[1] + step_s * reported.speed_m_s * heading_rad.sin(),
            ];
            heading_rad += step_s * reported.speed_m_s * reported.steering_angle_rad.tan() / WHEELBASE_M;
        }
        assert!(at_m[0] > 60.0 && at_m[1].abs() < 0.1 && heading_rad.abs() < 0.02, "{at_m:?} {heading_rad}");
    }

    #[test]
    fn the_plain_follower_steers_the_arc_to_the_one_ahead_and_keeps_its_gap() {
        let seen = |ahead_m, heading_rad, closing_m_s| FollowerInput {
            ahead_m,
            heading_rad,
            closing_m_s,
            ..FollowerInput::default()
        };
        let straight = plain(&seen([0.0, GAP_M], std::f64::consts::FRAC_PI_2, 0.0));
        assert!(straight.steer.abs() < 1e-12 && straight.accelerate.abs() < 1e-12, "{straight:?}");
        // Arc of radius R to a target at distance d and at an angle α to the heading: R = d / (2 sin α).
        let left = plain(&seen([10.0, 5.0], 0.0, 0.0));
        let chord_m = 125.0_f64.sqrt();
        let radius_m = chord_m / (2.0 * (5.0 / chord_m));
        assert!((left.steer * STEER_MAX_RAD - (WHEELBASE_M / radius_m).atan()).abs() < 1e-12, "{left:?}");
        assert!(
            plain(&seen([6.0, 0.0], 0.0, 0.0)).accelerate < 0.0 && plain(&seen([12.0, 0.0], 0.0, 1.0)).accelerate < 0.0
        );
    }

    #[test]
    fn speeds_add_up_and_never_go_backward() {
        let mut throttle = Throttle::default();
        let reported = |throttle: &mut Throttle, accelerate| {
            throttle.take(super::FollowerOutput { steer: 0.0, accelerate }, 0.5).speed_m_s
        };
        assert_eq!([1.0, 0.5, -1.0, -1.0].map(|part| reported(&mut throttle, part)), [1.5, 2.25, 0.75, 0.0]);
    }
}
