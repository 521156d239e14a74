//! What a follower remembers: the way of the truck ahead. A follower knows where that truck is relative to itself (the
//! difference of two GPS), its own heading and its own way (the difference of two readings of its own GPS). So it keeps
//! the relative positions that it has seen, and moves them back by its own way. Their line is the way to follow; the
//! distance between two of them over the time between them is the speed that the truck ahead had there. The speed that
//! the follower commands is not used: on soft soil, where wheels slip, it is not the speed that it has.

use super::follower::FollowerInput;
use super::polyline::Polyline;
use super::world::CONTROL_S;

/// Number of numbers that a policy takes beside the image.
pub const NUMBERS: usize = 5 + 2 * AHEAD_M.len() + SPEED_AHEAD_M.len();
/// Distances along the way, from its point nearest to the follower, at which a policy is told its position, m.
const AHEAD_M: [f64; 6] = [0.0, 2.0, 4.0, 6.0, 9.0, 12.0];
/// The same for the speed that the truck ahead had, m.
const SPEED_AHEAD_M: [f64; 4] = [0.0, 1.5, 3.0, 5.0];
/// Scales by which distances forward and to the left, and speeds, are divided.
const FORWARD_M: f64 = 20.0;
const LEFT_M: f64 = 4.0;
const SPEED_M_S: f64 = 5.0;
const ACCELERATION_M_S2: f64 = 3.0;
/// Control steps before and after a point over which its speed is averaged, and which are kept behind the follower; also
/// those over which the follower's own acceleration is averaged.
const AROUND: usize = 5;
/// The most positions that are kept: those of half a minute.
const KEPT_MAX: usize = 600;

/// The way of the truck ahead, seen from the follower.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trail {
    /// Its position after each control step, oldest first, relative to the follower's present one: east, north, m.
    sights_m: Vec<[f64; 2]>,
    /// The follower's own speeds in the last control steps, oldest first, m/s.
    own_m_s: [f64; AROUND + 1],
}

impl Trail {
    /// Takes what is seen after a control step.
    pub(super) fn see(&mut self, seen: &FollowerInput) {
        let [moved_east_m, moved_north_m] = seen.moved_m;
        for [east_m, north_m] in &mut self.sights_m {
            *east_m -= moved_east_m;
            *north_m -= moved_north_m;
        }
        self.own_m_s.rotate_left(1);
        self.own_m_s[AROUND] = seen.in_own_frame(seen.moved_m)[0] / CONTROL_S;
        self.sights_m.push(seen.ahead_m);
        let passed = self.way().nearest([0.0; 2]).map_or(0, |place| place.line);
        let spare = passed.saturating_sub(AROUND).max(self.sights_m.len().saturating_sub(KEPT_MAX));
        self.sights_m.drain(..spare);
    }

    /// The follower's own speed forward, m/s.
    #[must_use]
    pub(super) fn speed_m_s(&self) -> f64 {
        self.own_m_s[AROUND]
    }

    /// The follower's own acceleration in the last control steps, m/s².
    #[must_use]
    pub(super) fn acceleration_m_s2(&self) -> f64 {
        (self.speed_m_s() - self.own_m_s[0]) / (AROUND as f64 * CONTROL_S)
    }

    /// Input of a policy beside the image, in the follower's own frame and scaled: where the truck ahead is, positions
    /// on its way, the follower's own acceleration and speed, the closing speed, and speeds along the way.
    #[must_use]
    pub(super) fn numbers(&self, seen: &FollowerInput) -> [f32; NUMBERS] {
        let way = self.way();
        let here_m = way.nearest([0.0; 2]).map_or(0.0, |place| place.along_m);
        let place = |of_m: [f64; 2]| {
            let [forward_m, left_m] = seen.in_own_frame(of_m);
            [forward_m / FORWARD_M, left_m / LEFT_M]
        };
        let places = AHEAD_M.into_iter().flat_map(|ahead_m| place(way.at_m(here_m + ahead_m)));
        let speeds = SPEED_AHEAD_M.into_iter().map(|ahead_m| speed_on(&way, here_m + ahead_m));
        let speeds =
            [self.speed_m_s(), seen.closing_m_s].into_iter().chain(speeds).map(|speed_m_s| speed_m_s / SPEED_M_S);
        let gained = self.acceleration_m_s2() / ACCELERATION_M_S2;
        let mut numbers = place(seen.ahead_m).into_iter().chain(places).chain([gained]).chain(speeds);
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
            let ((ahead_m, _), (own_m, heading_rad)) = (at(way_m + behind_m), at(way_m));
            let (before_m, _) = at(way_m - speed_m_s * CONTROL_S);
            let from = |[x, y]: [f64; 2], [to_x, to_y]: [f64; 2]| [to_x - x, to_y - y];
            seen = FollowerInput {
                ahead_m: from(own_m, ahead_m),
                heading_rad,
                closing_m_s: 0.0,
                moved_m: from(before_m, own_m),
            };
            trail.see(&seen);
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
            assert!(off_m.iter().all(|off_m| *off_m < 0.01), "{ahead_m} m ahead: {off_m:?}");
        }
        // Its own speed, no closing speed, and the speeds of the truck ahead.
        let [own, closing, ahead @ ..] = &trail.numbers(&seen)[NUMBERS - 6..] else { panic!("six speeds") };
        assert!((own - 0.8).abs() < 0.01 && *closing == 0.0 && trail.acceleration_m_s2().abs() < 1e-9, "{own}");
        assert!(ahead.iter().all(|speed| (speed - 0.8).abs() < 0.01), "{ahead:?}");
    }

    #[test]
    fn what_is_told_is_the_same_in_all_directions_and_what_was_passed_is_forgotten() {
        let [(trail, seen), (turned, seen_turned)] = [0.0, 2.0].map(|turned_rad| on_arc(30.0, turned_rad));
        let pairs = trail.numbers(&seen).into_iter().zip(turned.numbers(&seen_turned));
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-4), "{:?}", pairs.collect::<Vec<_>>());
        // 15 m at 0.2 m a step, and a few behind.
        assert!((75..90).contains(&trail.sights_m.len()), "{}", trail.sights_m.len());
    }

    #[test]
    fn a_truck_that_stands_ahead_is_all_there_is_to_follow() {
        let heading_rad = std::f64::consts::FRAC_PI_2;
        let seen = FollowerInput { ahead_m: [0.0, 12.0], heading_rad, ..FollowerInput::default() };
        let mut trail = Trail::default();
        (0..3).for_each(|_| trail.see(&seen));
        let numbers = trail.numbers(&seen);
        assert!((0..NUMBERS).step_by(2).take(7).all(|i| (numbers[i] - 0.6).abs() < 1e-6), "{numbers:?}");
        assert!(numbers[14..].iter().all(|speed| *speed == 0.0), "{numbers:?}");
    }
}
