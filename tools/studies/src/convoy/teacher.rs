//! The teacher of followers in training. It knows what no follower does: the leader's driven path and its speed there.
//! It steers the arc to a point of that path ahead (pure pursuit) and drives as fast as the leader did where it will be
//! shortly. Behind the place from which speeds are compared it drives at least `START_M_S`, so that it comes away.

use super::follower::{FollowerOutput, arc_to};
use super::metrics::SPEED_FROM_M;
use super::polyline::Polyline;
use super::world::Convoy;
use crate::Failure;

/// Length of the straight line behind the leader's start that counts as its path, m.
const BEHIND_M: f64 = 60.0;
/// Distance ahead of the point that is steered to: at least, m, and the time to it, s.
const LOOK_AHEAD_M: f64 = 2.0;
const LOOK_AHEAD_S: f64 = 0.4;
/// Time after which a wanted speed is reached, s.
const LAG_S: f64 = 0.6;
/// Gains of the acceleration that is commanded: on the difference from the wanted speed, 1/s, and on the acceleration
/// that the truck has, which damps, because a command takes half a second to have its effect.
const SPEED_GAIN: f64 = 4.0;
const DAMPING: f64 = 1.5;
/// The least speed up to the place from which speeds are compared, m/s.
const START_M_S: f64 = 2.8;
/// Distance from the truck ahead at which a follower stands, and the speed that it may have for each metre more, 1/s.
const STANDS_M: f64 = 6.5;
const SPEED_PER_GAP: f64 = 1.0;

/// What the teacher knows about a follower.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lesson {
    /// What the teacher would do.
    pub action: FollowerOutput,
    /// Distance from the leader's path, m.
    pub path_m: f64,
    /// Difference from the leader's speed at this place, m/s; 0 where speeds are not compared.
    pub speed_m_s: f64,
}

/// The leader's path up to now, with its speeds.
pub(super) struct LedPath {
    path: Polyline,
    speeds_m_s: Vec<f64>,
}

impl LedPath {
    /// The path that the leader of a convoy has driven.
    pub(super) fn of(convoy: &Convoy) -> Self {
        let (planned, track) = (&convoy.course().path, &convoy.tracks()[0]);
        let ([x, y], (sin, cos)) = (planned.at_m(0.0), planned.first_heading_rad().sin_cos());
        let behind_m = [x - BEHIND_M * cos, y - BEHIND_M * sin];
        Self {
            path: Polyline::new([&[behind_m][..], &track.points_m].concat()),
            speeds_m_s: [&[0.0][..], &track.speeds_m_s].concat(),
        }
    }

    fn speed_m_s(&self, along_m: f64) -> f64 {
        let (line, share) = self.path.segment_at(along_m);
        let [from, to] = [line, line + 1].map(|i| self.speeds_m_s.get(i).copied().unwrap_or_default());
        from + share * (to - from)
    }

    /// The lesson for the follower with index `i`.
    pub(super) fn lesson(&self, convoy: &Convoy, i: usize) -> Result<Lesson, Failure> {
        let (follower, (at_m, _)) = (convoy.follower(i), convoy.place(i + 1)?);
        let place = self.path.nearest(at_m).ok_or("the leader has no path")?;
        let speed_m_s = convoy.tracks()[i + 1].speeds_m_s.last().copied().unwrap_or_default();
        let is_compared = place.along_m >= BEHIND_M + SPEED_FROM_M;
        let [x, y] = self.path.at_m(place.along_m + LOOK_AHEAD_M + LOOK_AHEAD_S * speed_m_s);
        let steer_rad = arc_to(follower.seen.in_own_frame([x - at_m[0], y - at_m[1]]));
        let led_m_s = self.speed_m_s(place.along_m + LAG_S * speed_m_s);
        let wanted_m_s = if is_compared { led_m_s } else { led_m_s.max(START_M_S) };
        let gap_m = follower.seen.apart_m() - STANDS_M;
        let wanted_m_s = wanted_m_s.min(SPEED_PER_GAP * gap_m).max(0.0);
        let gained_m_s2 = follower.trail.acceleration_m_s2();
        let accelerate_m_s2 = SPEED_GAIN * (wanted_m_s - follower.trail.speed_m_s()) - DAMPING * gained_m_s2;
        let off_m_s = (speed_m_s - self.speed_m_s(place.along_m)).abs();
        Ok(Lesson {
            action: FollowerOutput::of(steer_rad, accelerate_m_s2),
            path_m: place.apart_m,
            speed_m_s: if is_compared { off_m_s } else { 0.0 },
        })
    }
}
