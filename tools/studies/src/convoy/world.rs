//! The world of a convoy: four trucks, the leader and three followers in a line, on a course. The leader drives by
//! itself; each follower takes an action every control step.

use std::sync::Arc;

use image::RgbImage;
use selene_base::{SimTime, frames};
use selene_observe::Feed;
use selene_sim::{Command, EntityId, Model, RoverSnapshot, Snapshot, World};

use super::FOLLOWERS;
use super::cameras::FollowerCameras;
use super::course::{ConvoyCourse, CourseObstacle};
use super::drive::ConvoyResult;
use super::follower::{FollowerInput, FollowerOutput, Leader, Throttle};
use super::metrics::Track;
use super::polyline::{apart_m, nearest_on};
use super::trail::{NUMBERS, Trail};
use crate::Failure;

/// Heartbeats between two decisions, and the time that they take, s.
pub(super) const HEARTBEATS: u32 = 5;
pub(super) const CONTROL_S: f64 = 0.05;
/// The course is complete within this distance of the end of the leader's path, m.
const DONE_M: f64 = 3.0;
/// Time limit of a course, s.
const TIME_MAX_S: f64 = 150.0;
/// Outline of the truck relative to the middle of its rear axle: x of its tail and its nose, and half its width, m.
pub(super) const TRUCK_X_M: [f64; 2] = [-0.9, 4.2];
const HALF_WIDTH_M: f64 = 1.1;
/// An obstacle is hit if the truck's outline is nearer than this, m.
const HIT_M: f64 = 0.05;

/// A convoy in progress.
pub(super) struct Convoy {
    world: World,
    feed: Feed,
    trucks: Vec<EntityId>,
    leader: Leader,
    followers: [FollowerState; FOLLOWERS],
    cameras: FollowerCameras,
    course: ConvoyCourse,
    tracks: Vec<Track>,
    /// For each truck, whether it hit each obstacle.
    hit: Vec<Vec<bool>>,
}

/// What a follower knows, and the speed that it commands.
#[derive(Clone, Debug, Default)]
pub(super) struct FollowerState {
    throttle: Throttle,
    pub(super) seen: FollowerInput,
    pub(super) trail: Trail,
}

impl FollowerState {
    /// Input of a learned policy beside the image.
    pub(super) fn numbers(&self) -> [f32; NUMBERS] {
        self.trail.numbers(&self.seen)
    }

    /// Takes the position of the truck ahead relative to its own, its own heading and its own way since the last step.
    fn see(&mut self, ahead_m: [f64; 2], heading_rad: f64, moved_m: [f64; 2], is_first: bool) {
        let [before_m, now_m] = [self.seen.ahead_m, ahead_m].map(|ahead_m| apart_m([0.0; 2], ahead_m));
        let closing_m_s = if is_first { 0.0 } else { (before_m - now_m) / CONTROL_S };
        self.seen = FollowerInput { ahead_m, heading_rad, closing_m_s, moved_m };
        self.trail.see(&self.seen);
    }
}

impl Convoy {
    /// Begins a convoy in the world of a scenario; its followers have cameras if it is asked for.
    pub(super) fn begin(model: &Arc<Model>, course: &ConvoyCourse, with_cameras: bool) -> Result<Self, Failure> {
        let mut world = World::begin(Arc::clone(model), None)?;
        let feed = Feed::begin(&mut world)?;
        let trucks: Vec<EntityId> = model.rovers().keys().copied().take(FOLLOWERS + 1).collect();
        let watching: &[EntityId] = if with_cameras { &trucks[1..] } else { &[] };
        let mut convoy = Self {
            cameras: FollowerCameras::open(&world, &feed, watching)?,
            world,
            feed,
            leader: Leader::new(course.path.clone()),
            followers: Default::default(),
            tracks: vec![Track::default(); trucks.len()],
            hit: vec![vec![false; course.obstacles.len()]; trucks.len()],
            course: course.clone(),
            trucks,
        };
        convoy.look()?;
        Ok(convoy)
    }

    /// Whether time has passed.
    pub(super) fn has_begun(&self) -> bool {
        self.world.time() > SimTime::ZERO
    }

    /// The follower with this index.
    pub(super) fn follower(&self, i: usize) -> &FollowerState {
        &self.followers[i]
    }

    /// Image of the follower with this index.
    pub(super) fn image(&mut self, i: usize) -> Result<RgbImage, Failure> {
        self.cameras.see(i, self.feed.last().time)
    }

    /// The course.
    pub(super) fn course(&self) -> &ConvoyCourse {
        &self.course
    }

    /// Tracks of the leader and of each follower.
    pub(super) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Position, m, and heading, rad, of a truck; 0 is the leader.
    pub(super) fn place(&self, truck: usize) -> Result<([f64; 2], f64), Failure> {
        Ok(place(self.truck(self.feed.last(), truck)?))
    }

    /// Number of obstacles that a truck has hit; 0 is the leader.
    pub(super) fn hits(&self, truck: usize) -> usize {
        self.hit[truck].iter().filter(|hit| **hit).count()
    }

    /// Drives all trucks for a control step.
    pub(super) fn step(&mut self, actions: &[FollowerOutput; FOLLOWERS]) -> Result<(), Failure> {
        let (at_m, heading_rad) = self.place(0)?;
        let leader = self.leader.drive(at_m, heading_rad, self.world.time().secs_f64(), CONTROL_S);
        let pairs = self.followers.iter_mut().zip(actions);
        let followers = pairs.map(|(follower, action)| follower.throttle.take(*action, CONTROL_S));
        for (id, command) in self.trucks.iter().zip(std::iter::once(leader).chain(followers)) {
            self.world.drive(*id, Command::Ackermann(command))?;
        }
        for _ in 0..HEARTBEATS {
            let interval = self.feed.heartbeat(&mut self.world)?;
            self.cameras.follow(&interval)?;
        }
        self.look()
    }

    /// Records positions, speeds and hits of all trucks, and what the followers see.
    fn look(&mut self) -> Result<(), Failure> {
        let now = Arc::clone(self.feed.last());
        let mut ahead_m: Option<[f64; 2]> = None;
        for i in 0..self.trucks.len() {
            let rover = self.truck(&now, i)?;
            let (at_m, heading_rad) = place(rover);
            let before_m = self.tracks[i].points_m.last().copied().unwrap_or(at_m);
            self.tracks[i].points_m.push(at_m);
            self.tracks[i].speeds_m_s.push(rover.base_twist.linear.xy().norm());
            for (obstacle, hit) in self.course.obstacles.iter().zip(&mut self.hit[i]) {
                *hit |= touches(obstacle, at_m, heading_rad);
            }
            if let Some([x, y]) = ahead_m {
                let relative_m = [x - at_m[0], y - at_m[1]];
                let moved_m = [at_m[0] - before_m[0], at_m[1] - before_m[1]];
                self.followers[i - 1].see(relative_m, heading_rad, moved_m, now.time == SimTime::ZERO);
            }
            ahead_m = Some(at_m);
        }
        Ok(())
    }

    fn truck<'a>(&self, now: &'a Snapshot, truck: usize) -> Result<&'a RoverSnapshot, Failure> {
        now.rover(self.trucks[truck]).ok_or_else(|| "a truck is gone".into())
    }

    /// Whether the leader has come to the end.
    fn is_done(&self) -> bool {
        let at_m = self.tracks[0].points_m.last().copied().unwrap_or_default();
        let path = &self.course.path;
        path.nearest(at_m).is_some_and(|place| place.along_m >= path.length_m() - DONE_M)
    }

    /// Whether the leader has come to the end, or time is over.
    pub(super) fn is_over(&self) -> bool {
        self.is_done() || self.world.time() >= SimTime::from_secs_f64(TIME_MAX_S)
    }

    /// The result of the convoy.
    pub(super) fn driven(self) -> ConvoyResult {
        let hits = (0..self.trucks.len()).map(|truck| self.hits(truck)).collect();
        ConvoyResult { hits, is_done: self.is_done(), state_hash: self.world.state().hash(), tracks: self.tracks }
    }
}

/// Position of the middle of a truck's rear axle, m, and its heading, rad.
fn place(rover: &RoverSnapshot) -> ([f64; 2], f64) {
    let base = rover.world_from_base();
    ([base.translation.x, base.translation.y], frames::yaw_rad(&base))
}

/// Whether a truck's outline touches an obstacle. The outline is a box with round ends, half the width around its
/// centre line.
fn touches(obstacle: &CourseObstacle, [x, y]: [f64; 2], heading_rad: f64) -> bool {
    let (sin, cos) = heading_rad.sin_cos();
    let along = |of_m: f64| [x + of_m * cos, y + of_m * sin];
    let middle = [TRUCK_X_M[0] + HALF_WIDTH_M, TRUCK_X_M[1] - HALF_WIDTH_M].map(along);
    obstacle.clear_m(nearest_on(middle, obstacle.at_m).1) < HALF_WIDTH_M + HIT_M
}

#[cfg(test)]
mod tests {
    use super::{CourseObstacle, touches};

    #[test]
    fn a_truck_touches_what_is_beside_its_nose_and_not_what_is_a_metre_off() {
        let obstacle = |at_m| CourseObstacle { at_m, radius_m: 5.0 };
        assert!(touches(&obstacle([3.0, 6.1]), [0.0, 0.0], 0.0));
        assert!(!touches(&obstacle([3.0, 7.2]), [0.0, 0.0], 0.0));
        assert!(touches(&obstacle([0.0, 9.2]), [0.0, 0.0], std::f64::consts::FRAC_PI_2));
    }
}
