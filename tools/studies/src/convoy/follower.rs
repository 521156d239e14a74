//! Who drives a vehicle of the convoy. The leader is steered by a PID controller along its path (MULTI, §4.2): its error
//! is the distance from the path of a point ahead of it. Its speed is a ramp of 0.47 m/s² up to a limit of ours, since
//! the paper's trucks go on average some 4 m/s. A follower knows what the paper's does: where the vehicle ahead is from
//! it (the difference of two GPS), its own heading, how fast it comes nearer, and, of a learned one, an image. The plain
//! follower is the base line: it steers along the arc that leads to the vehicle ahead (pure pursuit), and accelerates by
//! gap and closing speed.

use selene_vehicle::Ackermann;

use super::polyline::Polyline;

/// The leader's acceleration and greatest speed.
const RAMP_M_S2: f64 = 0.47;
pub(super) const LEADER_MAX_M_S: f64 = 5.0;
/// How far ahead of it the leader's point is, m.
const LOOK_AHEAD_M: f64 = 5.0;
/// Gains of its steering: rad/m, rad/(m s), rad s/m.
const STEER_P: f64 = 0.25;
const STEER_I: f64 = 0.002;
const STEER_D: f64 = 0.05;
/// The wheelbase and the greatest steering angle of the truck.
const WHEELBASE_M: f64 = 3.378;
const STEER_MAX_RAD: f64 = std::f64::consts::FRAC_PI_6;
/// The gap that a follower keeps, between the middles of rear axles, m.
pub(super) const GAP_M: f64 = 12.0;
/// Gains of the plain follower: 1/s² on the gap, 1/s on the closing speed.
const GAP_GAIN: f64 = 0.25;
const CLOSING_GAIN: f64 = 1.0;
/// The most that a follower accelerates or brakes, m/s², and its greatest speed.
const ACCELERATION_MAX_M_S2: f64 = 3.0;
const FOLLOWER_MAX_M_S: f64 = 8.0;

/// The leader's controller.
#[derive(Clone, Debug)]
pub(super) struct Leader {
    path: Polyline,
    integral_m_s: f64,
    last_m: Option<f64>,
}

impl Leader {
    /// One that follows a path.
    #[must_use]
    pub(super) fn new(path: Polyline) -> Self {
        Self { path, integral_m_s: 0.0, last_m: None }
    }

    /// What it tells its truck, which is there, after a time and a step of control, both s.
    pub(super) fn drive(&mut self, at_m: [f64; 2], heading_rad: f64, time_s: f64, step_s: f64) -> Ackermann {
        let (sin, cos) = heading_rad.sin_cos();
        let point = [at_m[0] + LOOK_AHEAD_M * cos, at_m[1] + LOOK_AHEAD_M * sin];
        let place = self.path.nearest(point);
        // To the left is positive.
        let error_m = place.map_or(0.0, |place| cos * (place.at_m[1] - point[1]) - sin * (place.at_m[0] - point[0]));
        let rate_m_s = self.last_m.map_or(0.0, |last_m| (error_m - last_m) / step_s);
        self.last_m = Some(error_m);
        let steer = |integral_m_s: f64| STEER_P * error_m + STEER_I * integral_m_s + STEER_D * rate_m_s;
        // What cannot be steered is not summed up.
        if steer(self.integral_m_s).abs() < STEER_MAX_RAD {
            self.integral_m_s += error_m * step_s;
        }
        car((RAMP_M_S2 * time_s).min(LEADER_MAX_M_S), steer(self.integral_m_s))
    }
}

/// What a follower knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Where the vehicle ahead is from it: east, north, m.
    pub ahead_m: [f64; 2],
    /// Its own heading, from east, counter-clockwise, rad.
    pub heading_rad: f64,
    /// How fast the two come nearer, m/s.
    pub closing_m_s: f64,
}

impl Seen {
    fn apart_m(&self) -> f64 {
        let [east, north] = self.ahead_m;
        (east * east + north * north).sqrt()
    }

    /// Where the vehicle ahead is, from straight ahead to the left, rad.
    fn bearing_rad(&self) -> f64 {
        let (sin, cos) = self.heading_rad.sin_cos();
        let [east, north] = self.ahead_m;
        (cos * north - sin * east).atan2(cos * east + sin * north)
    }
}

/// What a follower decides: parts of the greatest steering angle and of the greatest acceleration, −1 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Action {
    /// Left positive.
    pub steer: f64,
    /// Forward positive.
    pub accelerate: f64,
}

/// What the plain follower does.
#[must_use]
pub(super) fn plain(seen: &Seen) -> Action {
    let apart_m = seen.apart_m().max(1e-3);
    let steer_rad = (2.0 * WHEELBASE_M * seen.bearing_rad().sin() / apart_m).atan();
    let wanted_m_s2 = GAP_GAIN * (apart_m - GAP_M) - CLOSING_GAIN * seen.closing_m_s;
    let part = |of: f64| of.clamp(-1.0, 1.0);
    Action { steer: part(steer_rad / STEER_MAX_RAD), accelerate: part(wanted_m_s2 / ACCELERATION_MAX_M_S2) }
}

/// A truck that is told actions: its speed is what they add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Throttle {
    speed_m_s: f64,
}

impl Throttle {
    /// What the truck is told for a step of control, s.
    pub(super) fn take(&mut self, action: Action, step_s: f64) -> Ackermann {
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
    use super::{GAP_M, LEADER_MAX_M_S, Leader, STEER_MAX_RAD, Seen, Throttle, WHEELBASE_M, plain};
    use crate::convoy::polyline::Polyline;

    #[test]
    fn the_leader_comes_back_to_its_path_and_follows_its_ramp() {
        let mut leader = Leader::new(Polyline::new(vec![[0.0, 0.0], [200.0, 0.0]]));
        // A bicycle that starts a metre beside.
        let (mut at_m, mut heading_rad, step_s) = ([0.0, 1.0], 0.0_f64, 0.05);
        for i in 0..400 {
            let time_s = step_s * f64::from(i);
            let told = leader.drive(at_m, heading_rad, time_s, step_s);
            assert!((told.speed_m_s - (0.47 * time_s).min(LEADER_MAX_M_S)).abs() < 1e-12);
            at_m = [
                at_m[0] + step_s * told.speed_m_s * heading_rad.cos(),
                at_m[1] + step_s * told.speed_m_s * heading_rad.sin(),
            ];
            heading_rad += step_s * told.speed_m_s * told.steering_angle_rad.tan() / WHEELBASE_M;
        }
        assert!(at_m[0] > 60.0 && at_m[1].abs() < 0.1 && heading_rad.abs() < 0.02, "{at_m:?} {heading_rad}");
    }

    #[test]
    fn the_plain_follower_steers_the_arc_to_the_one_ahead_and_keeps_its_gap() {
        let seen = |ahead_m, heading_rad, closing_m_s| Seen { ahead_m, heading_rad, closing_m_s };
        let straight = plain(&seen([0.0, GAP_M], std::f64::consts::FRAC_PI_2, 0.0));
        assert!(straight.steer.abs() < 1e-12 && straight.accelerate.abs() < 1e-12, "{straight:?}");
        // An arc of radius R from a chord d at an angle α to the heading: R = d / (2 sin α).
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
        let told = |throttle: &mut Throttle, accelerate| {
            throttle.take(super::Action { steer: 0.0, accelerate }, 0.5).speed_m_s
        };
        assert_eq!([1.0, 0.5, -1.0, -1.0].map(|part| told(&mut throttle, part)), [1.5, 2.25, 0.75, 0.0]);
    }
}
