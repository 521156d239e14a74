//! Drives a convoy over a course: one world with four trucks, the leader and three followers in a line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::output::{self, FileKind};
use selene_base::{SimTime, frames, input};
use selene_observe::Feed;
use selene_sim::{Command, EntityId, LoadOptions, Model, RoverSnapshot, Scenario, Snapshot, World};
use serde_json::{Value, json};

use super::cameras::FollowerCameras;
use super::course::{ConvoyCourse, Obstacle};
use super::follower::{FollowerInput, FollowerOutput, GAP_M, LEADER_MAX_M_S, Leader, Throttle, plain};
use super::metrics::Track;
use super::policy::Policy;
use super::polyline::nearest_on;
use super::{FOLLOWERS, Terrain};
use crate::Failure;

/// Heartbeats between two decisions, and the time that they take, s.
const HEARTBEATS: u32 = 5;
const CONTROL_S: f64 = 0.05;
/// The course is complete within this distance of the end of the leader's path, m.
const DONE_M: f64 = 3.0;
/// Time limit of a course, s.
const TIME_MAX_S: f64 = 150.0;
/// Outline of the truck relative to the middle of its rear axle: x of its tail and its nose, and half its width, m.
const TRUCK_X_M: [f64; 2] = [-0.9, 4.2];
const HALF_WIDTH_M: f64 = 1.1;
/// An obstacle is hit if the truck's outline is nearer than this, m.
const HIT_M: f64 = 0.05;
/// The leader's route has every n-th point of the path.
const WAYPOINT_EVERY: usize = 4;
const URDF: FileKind = FileKind { name: "URDF", is: |head| head.starts_with(b"<?xml") };
const YAML: FileKind = FileKind { name: "scenario", is: |head| head.starts_with(b"{") };

/// The driver of the followers.
#[derive(Clone, Debug)]
pub enum Follower {
    /// The plain controller, by bearing, gap and closing speed.
    Plain,
    /// A learned policy with a camera.
    Learned(Box<Policy>),
}

impl Follower {
    /// Names of the drivers, in the order of tables.
    pub const NAMES: [&str; 2] = ["plain", "learned"];

    /// Name of the driver.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Plain => Self::NAMES[0],
            Self::Learned(_) => Self::NAMES[1],
        }
    }
}

/// Result of a convoy on a course.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvoyResult {
    /// Tracks of the leader and of each follower.
    pub tracks: Vec<Track>,
    /// Number of obstacles that each truck hit.
    pub hits: Vec<usize>,
    /// Whether the leader reached the end.
    pub is_done: bool,
    /// Hash of the world's state at the end.
    pub state_hash: u64,
}

/// Drives a course on a terrain. Writes course and scenario to `folder`.
///
/// # Errors
/// When the world cannot be created or a heartbeat fails, or an image cannot be traced.
pub fn drive(
    course: &ConvoyCourse,
    terrain: Terrain,
    follower: &Follower,
    folder: &Path,
    options: &LoadOptions,
) -> Result<ConvoyResult, Failure> {
    let file = scenario(course, terrain, matches!(follower, Follower::Learned(_)), folder, options)?;
    let model = Arc::new(Model::new(Arc::new(Scenario::load(&file, options)?))?);
    let mut convoy = Convoy::begin(&model, course, follower)?;
    while !convoy.is_over() {
        convoy.decide()?;
        for _ in 0..HEARTBEATS {
            convoy.heartbeat()?;
        }
        convoy.look();
    }
    Ok(convoy.driven())
}

/// Writes a course's scenario and obstacles to a folder, with or without cameras on its followers; returns the
/// scenario's path. The followers start behind the leader, on the line of the path's first segment. The study commands
/// the leader itself; without it, the scenario's route applies. Configuration files are named by absolute paths.
///
/// # Errors
/// When a file cannot be written.
pub fn scenario(
    course: &ConvoyCourse,
    terrain: Terrain,
    with_cameras: bool,
    folder: &Path,
    options: &LoadOptions,
) -> Result<PathBuf, Failure> {
    let name = format!("course_{:03}", course.number);
    output::write_bytes(&folder.join(format!("{name}.urdf")), &URDF, course.urdf().as_bytes())?;
    let of_config = |name: String| {
        let mut files = options.configuration.iter().map(|config| config.join(&name));
        files.find(|file| input::is_file(file)).unwrap_or_else(|| PathBuf::from(&name))
    };
    let sensors = if with_cameras { vec![of_config("sensor/convoy_camera.yaml".to_owned())] } else { Vec::new() };
    let reported = json!({
        "name": name, "seed": 1, "gravity_m_s2": 9.81, "step_s": 0.002, "heartbeat_s": CONTROL_S / f64::from(HEARTBEATS),
        "site": of_config("site/learning_plain.yaml".to_owned()), "soil": of_config(format!("soil/{}.yaml", terrain.soil())),
        "rovers": trucks(course, &of_config("rover/hmmwv.yaml".to_owned()), &sensors),
        "objects": [{"name": "course", "file": format!("{name}.urdf"), "x_m": 0, "y_m": 0}],
    });
    let file = folder.join(format!("{name}_{}.yaml", terrain.name()));
    output::write_bytes(&file, &YAML, serde_json::to_string_pretty(&reported)?.as_bytes())?;
    Ok(file)
}

/// The scenario's entries of the trucks.
fn trucks(course: &ConvoyCourse, rover: &Path, sensors: &[PathBuf]) -> Vec<Value> {
    let heading_rad = course.path.first_heading_rad();
    let [x, y] = course.path.at_m(0.0);
    let points = course.path.points_m();
    let last = points.len().saturating_sub(1);
    let waypoints: Vec<_> = (1..last).step_by(WAYPOINT_EVERY).chain([last]).map(|i| points[i]).collect();
    let truck = |i: usize| {
        let back_m = GAP_M * i as f64;
        let (x_m, y_m) = (x - back_m * heading_rad.cos(), y - back_m * heading_rad.sin());
        let start = json!({"x_m": x_m, "y_m": y_m, "yaw_deg": heading_rad.to_degrees()});
        match i {
            0 => {
                let route = json!({"speed_m_s": LEADER_MAX_M_S, "waypoints_m": waypoints});
                json!({"name": "leader", "file": rover, "start": start, "route": route})
            }
            _ => json!({"name": format!("follower_{i}"), "file": rover, "start": start, "sensors": sensors}),
        }
    };
    (0..=FOLLOWERS).map(truck).collect()
}

/// A convoy in progress.
struct Convoy<'a> {
    world: World,
    feed: Feed,
    trucks: Vec<EntityId>,
    leader: Leader,
    throttles: Vec<Throttle>,
    follower: &'a Follower,
    eyes: FollowerCameras,
    course: &'a ConvoyCourse,
    /// Last distance of each follower from the truck ahead, m.
    apart_m: Vec<Option<f64>>,
    tracks: Vec<Track>,
    /// For each truck, whether it hit each obstacle.
    hit: Vec<Vec<bool>>,
}

impl<'a> Convoy<'a> {
    fn begin(model: &Arc<Model>, course: &'a ConvoyCourse, follower: &'a Follower) -> Result<Self, Failure> {
        let mut world = World::begin(Arc::clone(model), None)?;
        let feed = Feed::begin(&mut world)?;
        let trucks: Vec<EntityId> = model.rovers().keys().copied().collect();
        let eyes = match follower {
            Follower::Plain => FollowerCameras::default(),
            Follower::Learned(_) => FollowerCameras::open(&world, &feed, &trucks[1..])?,
        };
        let count = trucks.len();
        let mut convoy = Self {
            world,
            feed,
            leader: Leader::new(course.path.clone()),
            throttles: vec![Throttle::default(); count],
            follower,
            eyes,
            course,
            apart_m: vec![None; count],
            tracks: vec![Track::default(); count],
            hit: vec![vec![false; course.obstacles.len()]; count],
            trucks,
        };
        convoy.look();
        Ok(convoy)
    }

    /// Sends the commands of the next control step.
    fn decide(&mut self) -> Result<(), Failure> {
        let now = Arc::clone(self.feed.last());
        let time_s = now.time.secs_f64();
        for i in 0..self.trucks.len() {
            let reported = if i == 0 {
                let (at_m, heading_rad) = place(truck(&now, self.trucks[0])?);
                self.leader.drive(at_m, heading_rad, time_s, CONTROL_S)
            } else {
                let seen = self.seen(&now, i)?;
                let action = match self.follower {
                    Follower::Plain => plain(&seen),
                    // At the start there is no image yet.
                    Follower::Learned(_) if now.time == SimTime::ZERO => FollowerOutput::default(),
                    Follower::Learned(policy) => policy.act(&self.eyes.see(i - 1, now.time)?, &seen)?,
                };
                self.throttles[i].take(action, CONTROL_S)
            };
            self.world.drive(self.trucks[i], Command::Ackermann(reported))?;
        }
        Ok(())
    }

    /// Input of follower `i`.
    fn seen(&mut self, now: &Snapshot, i: usize) -> Result<FollowerInput, Failure> {
        let ([x, y], _) = place(truck(now, self.trucks[i - 1])?);
        let (own, heading_rad) = place(truck(now, self.trucks[i])?);
        let mut seen = FollowerInput { ahead_m: [x - own[0], y - own[1]], heading_rad, closing_m_s: 0.0 };
        let apart_m = super::polyline::apart_m(own, [x, y]);
        seen.closing_m_s = self.apart_m[i].map_or(0.0, |before_m| (before_m - apart_m) / CONTROL_S);
        self.apart_m[i] = Some(apart_m);
        Ok(seen)
    }

    fn heartbeat(&mut self) -> Result<(), Failure> {
        let interval = self.feed.heartbeat(&mut self.world)?;
        self.eyes.follow(&interval)
    }

    /// Records positions, speeds and hits of all trucks.
    fn look(&mut self) {
        let now = Arc::clone(self.feed.last());
        for (i, id) in self.trucks.iter().enumerate() {
            let Some(rover) = now.rover(*id) else { continue };
            let (at_m, heading_rad) = place(rover);
            self.tracks[i].points_m.push(at_m);
            self.tracks[i].speeds_m_s.push(rover.base_twist.linear.xy().norm());
            for (obstacle, hit) in self.course.obstacles.iter().zip(&mut self.hit[i]) {
                *hit |= touches(obstacle, at_m, heading_rad);
            }
        }
    }

    fn is_done(&self) -> bool {
        let at_m = self.tracks[0].points_m.last().copied().unwrap_or_default();
        let path = &self.course.path;
        path.nearest(at_m).is_some_and(|place| place.along_m >= path.length_m() - DONE_M)
    }

    fn is_over(&self) -> bool {
        self.is_done() || self.world.time() >= SimTime::from_secs_f64(TIME_MAX_S)
    }

    fn driven(self) -> ConvoyResult {
        let hits = self.hit.iter().map(|hit| hit.iter().filter(|hit| **hit).count()).collect();
        ConvoyResult { hits, is_done: self.is_done(), state_hash: self.world.hash(), tracks: self.tracks }
    }
}

fn truck(now: &Snapshot, id: EntityId) -> Result<&RoverSnapshot, Failure> {
    now.rover(id).ok_or_else(|| "a truck is gone".into())
}

/// Position of the middle of a truck's rear axle, m, and its heading, rad.
fn place(rover: &RoverSnapshot) -> ([f64; 2], f64) {
    let base = rover.world_from_base();
    ([base.translation.x, base.translation.y], frames::yaw_rad(&base))
}

/// Whether a truck's outline touches an obstacle. The outline is a box with round ends, half the width around its
/// centre line.
fn touches(obstacle: &Obstacle, [x, y]: [f64; 2], heading_rad: f64) -> bool {
    let (sin, cos) = heading_rad.sin_cos();
    let along = |of_m: f64| [x + of_m * cos, y + of_m * sin];
    let middle = [TRUCK_X_M[0] + HALF_WIDTH_M, TRUCK_X_M[1] - HALF_WIDTH_M].map(along);
    obstacle.clear_m(nearest_on(middle, obstacle.at_m).1) < HALF_WIDTH_M + HIT_M
}

#[cfg(test)]
mod tests {
    use super::{Follower, Obstacle, drive, touches};
    use crate::convoy::{ConvoyCourse, Terrain};
    use selene_sim::LoadOptions;
    use std::path::Path;

    #[test]
    fn a_truck_touches_what_is_beside_its_nose_and_not_what_is_a_metre_off() {
        let obstacle = |at_m| Obstacle { at_m, radius_m: 5.0 };
        assert!(touches(&obstacle([3.0, 6.1]), [0.0, 0.0], 0.0));
        assert!(!touches(&obstacle([3.0, 7.2]), [0.0, 0.0], 0.0));
        assert!(touches(&obstacle([0.0, 9.2]), [0.0, 0.0], std::f64::consts::FRAC_PI_2));
    }

    #[test]
    fn a_convoy_drives_its_course_the_same_way_each_time() {
        let folder = std::env::temp_dir().join(format!("selene-convoy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").canonicalize().expect("there");
        let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
        let course = ConvoyCourse::draw(1, 0).expect("a course");
        let drive = || drive(&course, Terrain::Rigid, &Follower::Plain, &folder, &options).expect("driven");
        let driven = drive();
        assert!(driven.is_done, "the leader came to {:?}", driven.tracks[0].points_m.last());
        assert_eq!((driven.tracks.len(), driven.hits[0]), (4, 0), "the leader hits nothing");
        assert_eq!(driven, drive());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
