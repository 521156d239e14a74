//! What a follower remembers: the way of the truck ahead. A follower knows where that truck is relative to itself (the
//! difference of two GPS) and its own heading, but not its own position. So it keeps the relative positions that it has
//! seen, and moves them back by its own way, which it adds up from its heading and the speed that it commanded. Their
//! line is the way to follow; the distance between two of them over the time between them is the speed that the truck
//! ahead had there.

use super::follower::FollowerInput;
use super::polyline::Polyline;
use super::world::CONTROL_S;

/// Number of numbers that a policy takes beside the image.
pub const NUMBERS: usize = 4 + 2 * AHEAD_M.len() + SPEED_AHEAD_M.len();
/// Distances along the way, from its point nearest to the follower, at which a policy is told its position, m.
const AHEAD_M: [f64; 6] = [0.0, 2.0, 4.0, 6.0, 9.0, 12.0];
/// The same for the speed that the truck ahead had, m.
const SPEED_AHEAD_M: [f64; 4] = [0.0, 1.5, 3.0, 5.0];
/// Scales by which distances forward and to the left, and speeds, are divided.
const FORWARD_M: f64 = 20.0;
const LEFT_M: f64 = 4.0;
const SPEED_M_S: f64 = 5.0;
/// Control steps before and after a point over which its speed is averaged, and which are kept behind the follower.
const AROUND: usize = 5;
/// The most positions that are kept: those of half a minute.
const KEPT_MAX: usize = 600;

/// The way of the truck ahead, seen from the follower.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trail {
    /// Its position after each control step, oldest first, relative to the follower's present one: east, north, m.
    sights_m: Vec<[f64; 2]>,
}

impl Trail {
    /// Takes what is seen after a control step with this speed commanded, m/s.
    pub(super) fn see(&mut self, seen: &FollowerInput, speed_m_s: f64) {
        let (sin, cos) = seen.heading_rad.sin_cos();
        let way_m = speed_m_s * CONTROL_S;
        for [east_m, north_m] in &mut self.sights_m {
            *east_m -= way_m * cos;
            *north_m -= way_m * sin;
        }
        self.sights_m.push(seen.ahead_m);
        let passed = self.way().nearest([0.0; 2]).map_or(0, |place| place.line);
        let spare = passed.saturating_sub(AROUND).max(self.sights_m.len().saturating_sub(KEPT_MAX));
        self.sights_m.drain(..spare);
    }

    /// Input of a policy beside the image, in the follower's own frame and scaled: where the truck ahead is, the
    /// closing speed, the speed that is commanded, positions on the way, and speeds along it.
    #[must_use]
    pub(super) fn numbers(&self, seen: &FollowerInput, speed_m_s: f64) -> [f32; NUMBERS] {
        let way = self.way();
        let here_m = way.nearest([0.0; 2]).map_or(0.0, |place| place.along_m);
        let place = |of_m: [f64; 2]| {
            let [forward_m, left_m] = seen.in_own_frame(of_m);
            [forward_m / FORWARD_M, left_m / LEFT_M]
        };
        let places = AHEAD_M.into_iter().flat_map(|ahead_m| place(way.at_m(here_m + ahead_m)));
        let speeds = SPEED_AHEAD_M.into_iter().map(|ahead_m| speed_on(&way, here_m + ahead_m));
        let speeds = [seen.closing_m_s, speed_m_s].into_iter().chain(speeds).map(|speed_m_s| speed_m_s / SPEED_M_S);
        let mut numbers = place(seen.ahead_m).into_iter().chain(places).chain(speeds);
        std::array::from_fn(|_| numbers.next().unwrap_or_default() as f32)
    }

    fn way(&self) -> Polyline {
        Polyline::new(self.sights_m.clone())
    }
}

/// Speed of the truck ahead at a distance along its way, m/s.
fn speed_on(way: &Polyline, along_m: f64) -> f64 {
    let (line, share) = way.segment_at(along_m);
    let point = line + usize::from(share >= 0.5);
    let (from, to) = (point.saturating_sub(AROUND), (point + AROUND).min(way.points_m().len().saturating_sub(1)));
    let time_s = to.saturating_sub(from) as f64 * CONTROL_S;
    if time_s > 0.0 { (way.along_m(to) - way.along_m(from)) / time_s } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{AHEAD_M, CONTROL_S, NUMBERS, Trail};
    use crate::convoy::follower::FollowerInput;

    /// A truck that drives an arc of this radius around the origin at 4 m/s, and its follower 15 m of way behind.
    fn on_arc(radius_m: f64, turned_rad: f64) -> (Trail, FollowerInput) {
        let (speed_m_s, behind_m) = (4.0, 15.0);
        let at = |way_m: f64| {
            let angle_rad = way_m / radius_m + turned_rad;
            ([radius_m * angle_rad.cos(), radius_m * angle_rad.sin()], angle_rad + std::f64::consts::FRAC_PI_2)
        };
        let (mut trail, mut seen) = (Trail::default(), FollowerInput::default());
        for step in 0..200 {
            let way_m = speed_m_s * CONTROL_S * f64::from(step);
            let ((ahead_m, _), (own_m, _)) = (at(way_m + behind_m), at(way_m));
            // Its heading half a step ago is the direction of its last step.
            let heading_rad = at(way_m - 0.5 * speed_m_s * CONTROL_S).1;
            seen = FollowerInput {
                ahead_m: [ahead_m[0] - own_m[0], ahead_m[1] - own_m[1]],
                heading_rad,
                closing_m_s: 0.0,
            };
            trail.see(&seen, speed_m_s);
        }
        (trail, seen)
    }

    #[test]
    fn the_way_of_the_truck_ahead_is_remembered_with_its_speed() {
        let radius_m = 30.0;
        let (trail, seen) = on_arc(radius_m, 0.4);
        for ahead_m in AHEAD_M {
            // On an arc to the left, seen from a point of it.
            let angle_rad = ahead_m / radius_m;
            let expected = [radius_m * angle_rad.sin(), radius_m * (1.0 - angle_rad.cos())];
            let way = trail.way();
            let here_m = way.nearest([0.0; 2]).expect("a way").along_m;
            let [forward_m, left_m] = seen.in_own_frame(way.at_m(here_m + ahead_m));
            let off_m = [forward_m - expected[0], left_m - expected[1]].map(f64::abs);
            assert!(off_m.iter().all(|off_m| *off_m < 0.06), "{ahead_m} m ahead: {off_m:?}");
        }
        let numbers = trail.numbers(&seen, 4.0);
        assert!(numbers[NUMBERS - 5..].iter().all(|speed| (speed - 0.8).abs() < 0.01), "{numbers:?}");
    }

    #[test]
    fn what_is_told_is_the_same_in_all_directions_and_what_was_passed_is_forgotten() {
        let [(trail, seen), (turned, seen_turned)] = [0.0, 2.0].map(|turned_rad| on_arc(30.0, turned_rad));
        let pairs = trail.numbers(&seen, 4.0).into_iter().zip(turned.numbers(&seen_turned, 4.0));
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-4), "{:?}", pairs.collect::<Vec<_>>());
        // 15 m at 0.2 m a step, and a few behind.
        assert!((75..90).contains(&trail.sights_m.len()), "{}", trail.sights_m.len());
    }

    #[test]
    fn a_truck_that_stands_ahead_is_all_there_is_to_follow() {
        let seen = FollowerInput { ahead_m: [0.0, 12.0], heading_rad: std::f64::consts::FRAC_PI_2, closing_m_s: 0.0 };
        let mut trail = Trail::default();
        (0..3).for_each(|_| trail.see(&seen, 0.0));
        let numbers = trail.numbers(&seen, 0.0);
        assert!((0..NUMBERS).step_by(2).take(7).all(|i| (numbers[i] - 0.6).abs() < 1e-6), "{numbers:?}");
        assert!(numbers[14..].iter().all(|speed| *speed == 0.0), "{numbers:?}");
    }
}
