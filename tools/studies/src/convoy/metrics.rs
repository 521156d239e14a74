//! The six metrics of MULTI (§4.2): how a follower's path and speed differ from the leader's at the same positions.
//! Positions are sampled every half metre along the leader's path, from its start to the point nearest to the
//! follower's end. Each is compared with the nearest point of the follower's path, which is taken from its point
//! nearest to the leader's start on. Speeds are compared after the first 10 m; a relative difference is one divided by
//! the leader's speed there.

use super::polyline::{Polyline, apart_m};

/// Distance between two compared positions, m.
const EVERY_M: f64 = 0.5;
/// Distance from the start without comparison of speeds, m.
pub(super) const SPEED_FROM_M: f64 = 10.0;
/// Speed of the leader, m/s, below which relative differences are not taken.
const STANDS_M_S: f64 = 0.1;

/// Positions and speeds of a vehicle at equal time steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Map x and y, m.
    pub points_m: Vec<[f64; 2]>,
    /// Speed, m/s.
    pub speeds_m_s: Vec<f64>,
}

/// The six metrics, and the distance that they cover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    /// Mean and greatest distance from the leader's path, m.
    pub path_m: [f64; 2],
    /// Mean and greatest difference of speed, m/s.
    pub speed_m_s: [f64; 2],
    /// Mean and greatest difference of speed relative to the leader's speed.
    pub relative: [f64; 2],
    /// Distance compared, along the leader's path, m.
    pub compared_m: f64,
}

impl Track {
    fn path(&self) -> Polyline {
        Polyline::new(self.points_m.clone())
    }

    fn speed_m_s(&self, line: usize, share: f64) -> f64 {
        let [from, to] = [line, line + 1].map(|i| self.speeds_m_s.get(i).copied().unwrap_or(0.0));
        from + share * (to - from)
    }

    /// The part of the track from its point nearest to `point_m` on.
    fn beginning_near(&self, point_m: [f64; 2]) -> Self {
        let first = self.path().nearest(point_m).map_or(0, |place| place.line);
        Self { points_m: self.points_m[first..].to_vec(), speeds_m_s: self.speeds_m_s[first..].to_vec() }
    }
}

/// Deviations of a follower's track from its leader's; `None` if there is nothing to compare.
#[must_use]
pub fn deviations(leader: &Track, follower: &Track) -> Option<Deviations> {
    let (path, start) = (leader.path(), *leader.points_m.first()?);
    let follower = follower.beginning_near(start);
    let way = follower.path();
    let end_m = path.nearest(*follower.points_m.last()?)?.along_m;
    let count = (end_m / EVERY_M).floor() as usize;
    let (mut apart, mut differ, mut relative) = (Vec::new(), Vec::new(), Vec::new());
    for along_m in (0..=count).map(|i| i as f64 * EVERY_M) {
        let at_m = path.at_m(along_m);
        let (theirs, own) = (path.nearest(at_m)?, way.nearest(at_m)?);
        apart.push(apart_m(at_m, own.at_m));
        if along_m >= SPEED_FROM_M {
            let lead_m_s = leader.speed_m_s(theirs.line, theirs.share);
            let difference = (follower.speed_m_s(own.line, own.share) - lead_m_s).abs();
            differ.push(difference);
            relative.extend((lead_m_s > STANDS_M_S).then(|| difference / lead_m_s));
        }
    }
    let path_m = mean_and_most(&apart)?;
    Some(Deviations {
        path_m,
        speed_m_s: mean_and_most(&differ)?,
        relative: mean_and_most(&relative)?,
        compared_m: end_m,
    })
}

fn mean_and_most(values: &[f64]) -> Option<[f64; 2]> {
    let most = values.iter().copied().reduce(f64::max)?;
    Some([values.iter().sum::<f64>() / values.len() as f64, most])
}

#[cfg(test)]
mod tests {
    use super::{Track, deviations};

    /// Track of a vehicle along x from `from_m`, `beside_m` to the left, at constant speed.
    fn straight(from_m: f64, beside_m: f64, speed_m_s: f64) -> Track {
        let points_m: Vec<_> = (0..400).map(|i| [from_m + 0.1 * speed_m_s * f64::from(i), beside_m]).collect();
        Track { speeds_m_s: vec![speed_m_s; points_m.len()], points_m }
    }

    #[test]
    fn one_that_drives_as_its_leader_deviates_by_nothing() {
        let leader = straight(0.0, 0.0, 4.0);
        let same = deviations(&leader, &straight(-12.0, 0.0, 4.0)).expect("compared");
        assert!(same.path_m[1] < 1e-9 && same.speed_m_s[1] < 1e-9 && same.relative[1] < 1e-9, "{same:?}");
        assert!((same.compared_m - (0.4 * 399.0 - 12.0)).abs() < 1e-9, "{same:?}");
    }

    #[test]
    fn an_offset_and_a_slower_speed_are_reported_as_they_are() {
        let reported = deviations(&straight(0.0, 0.0, 4.0), &straight(-12.0, 0.5, 3.0)).expect("compared");
        assert!(reported.path_m.iter().all(|m| (m - 0.5).abs() < 1e-9), "{reported:?}");
        assert!(reported.speed_m_s.iter().all(|m_s| (m_s - 1.0).abs() < 1e-9), "{reported:?}");
        assert!(reported.relative.iter().all(|part| (part - 0.25).abs() < 1e-9), "{reported:?}");
    }

    #[test]
    fn who_never_comes_near_has_nothing_to_compare() {
        assert_eq!(deviations(&Track::default(), &Track::default()), None);
        assert_eq!(deviations(&straight(0.0, 0.0, 4.0), &straight(-500.0, 0.0, 0.0)), None);
    }
}
