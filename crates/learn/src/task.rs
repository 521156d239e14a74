//! Tasks: what a rover is to do, its rewards, and when its episode ends. All tasks have a goal: a place, or another
//! rover. The reward of a step is the distance that the rover came nearer, m, less a little for each second; for a
//! follower in a convoy it is the time at the right distance; for a digging rover it is the soil that its drum took in,
//! less the cost of its work. The end of an episode has a reward of its own.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite_array, positive, within};
use selene_base::{NotOneOf, one_of};
use selene_sim::RoverSnapshot;
use serde::Deserialize;

/// Cost of a second, in metres of distance.
const COST_M_PER_S: f64 = 0.05;
/// Cosine of the largest tilt of a rover: 60 degrees.
const TIPPED_COS: f64 = 0.5;
/// Upper limit for the distance of goals, m.
const DISTANCE_MAX_M: f64 = 1000.0;
/// Number of rays that measure the distance to rocks.
pub(crate) const RAYS: usize = 16;
/// Names of the components of an action: those of every task, then those of arm and drum.
pub(crate) const ACTIONS: &[&str] = &["forward speed", "turn rate", "arm rate", "drum rate"];
/// Number of components that every task has.
pub(crate) const DRIVING: usize = 2;

/// A task.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "TaskKeys")]
pub enum Task {
    /// Drive to a place.
    Waypoint(WaypointSpec),
    /// Drive to a place between rocks.
    ObstacleField(ObstacleFieldSpec),
    /// Drive up a hill.
    SlopeClimb(SlopeClimbSpec),
    /// Follow another rover.
    Follow(FollowSpec),
    /// Fill a drum with soil.
    Dig(DigSpec),
}

/// The keys of a task in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskKeys {
    waypoint: Option<WaypointSpec>,
    obstacle_field: Option<ObstacleFieldSpec>,
    slope_climb: Option<SlopeClimbSpec>,
    follow: Option<FollowSpec>,
    dig: Option<DigSpec>,
}

impl TryFrom<TaskKeys> for Task {
    type Error = NotOneOf;

    fn try_from(keys: TaskKeys) -> Result<Self, NotOneOf> {
        one_of([
            ("waypoint", keys.waypoint.map(Self::Waypoint)),
            ("obstacle_field", keys.obstacle_field.map(Self::ObstacleField)),
            ("slope_climb", keys.slope_climb.map(Self::SlopeClimb)),
            ("follow", keys.follow.map(Self::Follow)),
            ("dig", keys.dig.map(Self::Dig)),
        ])
    }
}

/// Reports paths as in the file, so that an error has its line.
impl Validate for Task {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        let key = self.key();
        let mut path = garde::util::nested_path!(parent, key);
        match self {
            Self::Waypoint(spec) => spec.validate_into(&(), &mut path, report),
            Self::ObstacleField(spec) => spec.validate_into(&(), &mut path, report),
            Self::SlopeClimb(spec) => spec.validate_into(&(), &mut path, report),
            Self::Follow(spec) => spec.validate_into(&(), &mut path, report),
            Self::Dig(spec) => spec.validate_into(&(), &mut path, report),
        }
    }
}

/// A place to drive to, from the scenario's start with a drawn heading.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct WaypointSpec {
    /// Least and greatest distance of the goal, m, beyond `within_m`, below 1000: drawn with its bearing.
    #[garde(custom(rising_between(self.within_m, DISTANCE_MAX_M)))]
    pub distance_m: [f64; 2],
    /// Distance from the goal at which it counts as reached, m.
    #[garde(custom(within(0.01, 100.0)))]
    pub within_m: f64,
}

/// A place to drive to among the rocks of `randomise`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ObstacleFieldSpec {
    /// Least and greatest distance of the goal, m, beyond `within_m`, below 1000: drawn with its bearing.
    #[garde(custom(rising_between(self.within_m, DISTANCE_MAX_M)))]
    pub distance_m: [f64; 2],
    /// Distance from the goal at which it counts as reached, m.
    #[garde(custom(within(0.01, 100.0)))]
    pub within_m: f64,
    /// Range of the rays that measure the distance to rocks, m.
    #[garde(custom(within(0.1, 100.0)))]
    pub sight_m: f64,
}

/// A summit to drive up to, from a drawn direction.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SlopeClimbSpec {
    /// The summit, map x and y, m.
    #[garde(custom(finite_array))]
    pub summit_m: [f64; 2],
    /// Least and greatest distance of the start from it, m, beyond `within_m`, below 1000: drawn with its bearing.
    #[garde(custom(rising_between(self.within_m, DISTANCE_MAX_M)))]
    pub start_m: [f64; 2],
    /// Distance from the summit at which it counts as reached, m.
    #[garde(custom(within(0.01, 100.0)))]
    pub within_m: f64,
    /// Mean slip of the wheels at or above which a rover counts as stuck, 0.5 to 1.
    #[garde(custom(within(0.5, 1.0)))]
    pub stuck_slip: f64,
    /// Time for which it must slip like that, s.
    #[garde(custom(positive))]
    pub stuck_s: f64,
}

/// A rover to follow. Several followers follow one another.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct FollowSpec {
    /// The scenario's rover that leads: it has a route.
    #[garde(length(min = 1))]
    pub leader: String,
    /// The distance to keep, m.
    #[garde(custom(within(0.5, 100.0)))]
    pub gap_m: f64,
    /// Least and greatest distance at the start, m: beyond `hit_m`, below `lost_m`.
    #[garde(custom(rising_between(self.hit_m, self.lost_m)))]
    pub start_gap_m: [f64; 2],
    /// Distance below which it has hit the rover ahead, m.
    #[garde(custom(within(0.1, self.gap_m)))]
    pub hit_m: f64,
    /// Distance above which it has lost the rover ahead, m.
    #[garde(custom(within(self.gap_m, 1000.0)))]
    pub lost_m: f64,
}

/// Soil to take in with a drum in a granular window of the scenario. The observed goal is the window's middle.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DigSpec {
    /// Name of the window.
    #[garde(length(min = 1))]
    pub window: String,
    /// The joint that raises and lowers the drum, with a servo by position.
    #[garde(length(min = 1))]
    pub arm: String,
    /// The joint that turns the drum, with a servo by rate: its link is one of the rover's `drums`.
    #[garde(length(min = 1))]
    pub drum: String,
    /// Lowest and highest target angle of the arm, degrees, within its servo's limits.
    #[garde(custom(rising_between(-360.0, 360.0)))]
    pub arm_deg: [f64; 2],
    /// Mass of soil at which the drum is full once it is above the ground, kg.
    #[garde(custom(within(0.01, 1000.0)))]
    pub full_kg: f64,
    /// Cost of a kilojoule of the motors' work, in kg of soil.
    #[garde(custom(within(0.0, 1000.0)))]
    pub work_kg_per_kj: f64,
    /// Least and greatest distance of the start behind the scenario's, m, 0 to 10: drawn.
    #[garde(custom(set_back_by))]
    pub back_m: [f64; 2],
}

/// A garde check: two distances of 0 to 10 m, in order.
fn set_back_by(back_m: &[f64; 2], (): &()) -> garde::Result {
    let [low, high] = *back_m;
    if low >= 0.0 && low <= high && high <= 10.0 {
        return Ok(());
    }
    Err(garde::Error::new(format!("value [{low}, {high}] is not allowed: must be 0 to 10, in order")))
}

/// A garde check: two distances in order, at which an episode does not end at once.
fn rising_between(above_m: f64, below_m: f64) -> impl FnOnce(&[f64; 2], &()) -> garde::Result {
    move |distances_m, ()| {
        let [low, high] = *distances_m;
        if low > above_m && low <= high && high < below_m {
            return Ok(());
        }
        let allowed = format!("must be in order, more than {above_m} and less than {below_m}");
        Err(garde::Error::new(format!("value [{low}, {high}] is not allowed: {allowed}")))
    }
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpisodeEnd {
    /// The rover reached the goal.
    Arrived,
    /// The rover tilted too far.
    Tipped,
    /// The rover hit a rock or the rover ahead.
    Hit,
    /// The wheels slipped on the spot.
    Stuck,
    /// The rover fell too far behind.
    Lost,
    /// The drum is full.
    Full,
    /// The drum reached a side of its window.
    Left,
}

impl EpisodeEnd {
    /// Name of the end, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Tipped => "tipped",
            Self::Hit => "hit",
            Self::Stuck => "stuck",
            Self::Lost => "lost",
            Self::Full => "full",
            Self::Left => "left",
        }
    }

    fn reward(self) -> f64 {
        match self {
            Self::Arrived | Self::Full => 10.0,
            Self::Tipped | Self::Hit | Self::Stuck | Self::Lost | Self::Left => -10.0,
        }
    }
}

/// The quantity of an observation, which determines its noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Distance,
    Speed,
    Attitude,
    /// Known without measuring, or without noise here.
    Exact,
}

/// Observations of all tasks.
const STATE: [(&str, Quantity); 12] = [
    ("goal_forward_m", Quantity::Distance),
    ("goal_left_m", Quantity::Distance),
    ("goal_up_m", Quantity::Distance),
    ("forward_m_s", Quantity::Speed),
    ("left_m_s", Quantity::Speed),
    ("turn_rad_s", Quantity::Speed),
    ("roll_rad", Quantity::Attitude),
    ("pitch_rad", Quantity::Attitude),
    ("slip", Quantity::Exact),
    ("sinkage_m", Quantity::Exact),
    ("action_forward", Quantity::Exact),
    ("action_turn", Quantity::Exact),
];

/// Further observations of a rover with arm and drum.
const DIGGING: [&str; 8] =
    ["arm_rad", "arm_rad_s", "arm_torque_nm", "drum_rad_s", "drum_torque_nm", "soil_kg", "action_arm", "action_drum"];

/// Results of a step of digging.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DigStep {
    /// Gain of soil in the drum, kg; negative where soil ran out.
    pub(crate) taken_kg: f64,
    /// Soil in the drum, kg.
    pub(crate) soil_kg: f64,
    /// Work of the motors, J.
    pub(crate) work_j: f64,
    /// Whether the drum is above the ground.
    pub(crate) is_lifted: bool,
    /// Whether the drum reached a side of its window.
    pub(crate) has_left: bool,
}

/// Results of a step of a rover, from which its reward is computed.
pub(crate) struct DriveStep<'a> {
    pub(crate) rover: &'a RoverSnapshot,
    /// Distance from the goal before and after the step, m.
    pub(crate) distances_m: [f64; 2],
    /// Distance from the nearest rock to the circle about the wheels, m; negative inside.
    pub(crate) clearance_m: f64,
    /// Time for which it has slipped as if stuck, s.
    pub(crate) slipping_s: f64,
    /// Results of its drum; zero if the task is not to dig.
    pub(crate) dug: DigStep,
    /// Length of the step, s.
    pub(crate) step_s: f64,
}

impl Task {
    /// Its key in a course's file.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Waypoint(_) => "waypoint",
            Self::ObstacleField(_) => "obstacle_field",
            Self::SlopeClimb(_) => "slope_climb",
            Self::Follow(_) => "follow",
            Self::Dig(_) => "dig",
        }
    }

    /// Names of the components of one rover's action, in order: each is a fraction of the rover's maximum, −1 to 1.
    #[must_use]
    pub fn action_names(&self) -> &'static [&'static str] {
        match self {
            Self::Waypoint(_) | Self::ObstacleField(_) | Self::SlopeClimb(_) | Self::Follow(_) => &ACTIONS[..DRIVING],
            Self::Dig(_) => ACTIONS,
        }
    }

    /// Names of one rover's observations, in order, with units. The goal is relative to the rover, along its heading
    /// and horizontal; slip is the mean over wheels, sinkage the maximum; the action is the last one. Ray `clear_K_m`
    /// points `K` sixteenths of a turn counter-clockwise from ahead. Joints have the signs of the rover's file.
    #[must_use]
    pub fn observation_names(&self) -> Vec<String> {
        self.observed().into_iter().map(|(name, _)| name).collect()
    }

    pub(crate) fn observed(&self) -> Vec<(String, Quantity)> {
        let state = STATE.iter().map(|(name, quantity)| ((*name).to_owned(), *quantity));
        match self {
            Self::Waypoint(_) | Self::SlopeClimb(_) => state.collect(),
            Self::ObstacleField(_) => {
                state.chain((0..RAYS).map(|ray| (format!("clear_{ray}_m"), Quantity::Distance))).collect()
            }
            Self::Follow(_) => {
                let ahead = ["ahead_forward_m_s", "ahead_left_m_s"].map(|name| (name.to_owned(), Quantity::Speed));
                state.chain(ahead).collect()
            }
            Self::Dig(_) => state.chain(DIGGING.map(|name| (name.to_owned(), Quantity::Exact))).collect(),
        }
    }

    /// The mean slip at or above which a rover slips as if stuck.
    pub(crate) fn stuck_slip(&self) -> f64 {
        match self {
            Self::SlopeClimb(spec) => spec.stuck_slip,
            Self::Waypoint(_) | Self::ObstacleField(_) | Self::Follow(_) | Self::Dig(_) => f64::INFINITY,
        }
    }

    /// The reward of a step, and how the episode ended with it, if it did.
    pub(crate) fn judge(&self, way: &DriveStep<'_>) -> (f64, Option<EpisodeEnd>) {
        let end = self.end(way);
        let [before_m, now_m] = way.distances_m;
        let on_the_way = match self {
            Self::Follow(spec) => way.step_s * (1.0 - (now_m - spec.gap_m).abs() / spec.gap_m).max(-1.0),
            Self::Dig(spec) => way.dug.taken_kg - spec.work_kg_per_kj * way.dug.work_j / 1000.0,
            Self::Waypoint(_) | Self::ObstacleField(_) | Self::SlopeClimb(_) => {
                before_m - now_m - COST_M_PER_S * way.step_s
            }
        };
        (on_the_way + end.map_or(0.0, EpisodeEnd::reward), end)
    }

    fn end(&self, way: &DriveStep<'_>) -> Option<EpisodeEnd> {
        let up = way.rover.world_from_base().rotation * nalgebra::Vector3::z();
        let now_m = way.distances_m[1];
        let ends = match self {
            Self::Waypoint(spec) => vec![(now_m <= spec.within_m, EpisodeEnd::Arrived)],
            Self::ObstacleField(spec) => {
                vec![(way.clearance_m <= 0.0, EpisodeEnd::Hit), (now_m <= spec.within_m, EpisodeEnd::Arrived)]
            }
            Self::SlopeClimb(spec) => {
                vec![(now_m <= spec.within_m, EpisodeEnd::Arrived), (way.slipping_s >= spec.stuck_s, EpisodeEnd::Stuck)]
            }
            Self::Follow(spec) => {
                vec![(now_m <= spec.hit_m, EpisodeEnd::Hit), (now_m >= spec.lost_m, EpisodeEnd::Lost)]
            }
            Self::Dig(spec) => {
                let is_full = way.dug.is_lifted && way.dug.soil_kg >= spec.full_kg;
                vec![(way.dug.has_left, EpisodeEnd::Left), (is_full, EpisodeEnd::Full)]
            }
        };
        let tipped = (up.z < TIPPED_COS, EpisodeEnd::Tipped);
        std::iter::once(tipped).chain(ends).find(|(is_so, _)| *is_so).map(|(_, end)| end)
    }
}

#[cfg(test)]
mod tests {
    use super::{DigSpec, DigStep, DriveStep, EpisodeEnd, FollowSpec, ObstacleFieldSpec, SlopeClimbSpec, Task};
    use nalgebra::UnitQuaternion;
    use selene_base::Pose;
    use selene_sim::RoverSnapshot;

    fn leaning(degrees: f64) -> RoverSnapshot {
        let turn = UnitQuaternion::from_euler_angles(degrees.to_radians(), 0.0, 0.0);
        let world_from_links = vec![Pose::from_parts(Default::default(), turn)];
        RoverSnapshot { world_from_links, ..RoverSnapshot::default() }
    }

    fn way(rover: &RoverSnapshot, distances_m: [f64; 2]) -> DriveStep<'_> {
        DriveStep { rover, distances_m, clearance_m: 1.0, slipping_s: 0.0, dug: DigStep::default(), step_s: 0.05 }
    }

    #[test]
    fn a_hit_or_a_fall_costs_ten_and_ends_the_episode() {
        let task = Task::ObstacleField(ObstacleFieldSpec { distance_m: [6.0, 9.0], within_m: 0.5, sight_m: 6.0 });
        let (level, tipped) = (leaning(0.0), leaning(61.0));
        let (reward, end) = task.judge(&way(&level, [3.0, 2.95]));
        assert!((reward - (0.05 - 0.05 * 0.05)).abs() < 1e-12 && end.is_none(), "{reward} {end:?}");
        let (reward, end) = task.judge(&DriveStep { clearance_m: -0.01, ..way(&level, [3.0, 3.0]) });
        assert!(reward < -10.0 && end == Some(EpisodeEnd::Hit), "{reward} {end:?}");
        assert_eq!(task.judge(&way(&tipped, [3.0, 3.0])).1, Some(EpisodeEnd::Tipped));
        assert_eq!(task.judge(&way(&leaning(59.0), [3.0, 3.0])).1, None);
        assert_eq!(task.judge(&way(&level, [0.6, 0.5])).1, Some(EpisodeEnd::Arrived));
    }

    #[test]
    fn slipping_on_the_spot_ends_a_climb() {
        let spec =
            SlopeClimbSpec { summit_m: [0.0; 2], start_m: [16.0, 20.0], within_m: 2.0, stuck_slip: 0.8, stuck_s: 3.0 };
        let (task, level) = (Task::SlopeClimb(spec), leaning(0.0));
        assert_eq!(task.judge(&DriveStep { slipping_s: 2.9, ..way(&level, [9.0, 9.0]) }).1, None);
        assert_eq!(task.judge(&DriveStep { slipping_s: 3.0, ..way(&level, [9.0, 9.0]) }).1, Some(EpisodeEnd::Stuck));
    }

    #[test]
    fn soil_pays_and_work_costs_until_the_drum_is_full_or_at_a_side() {
        let [window, arm, drum] = ["pit", "front_arm", "front_drum"].map(str::to_owned);
        let (arm_deg, back_m) = ([-18.0, 30.0], [0.0, 0.1]);
        let spec = DigSpec { window, arm, drum, arm_deg, full_kg: 4.0, work_kg_per_kj: 2.0, back_m };
        let (task, level) = (Task::Dig(spec), leaning(0.0));
        let judged = |dug| task.judge(&DriveStep { dug, ..way(&level, [1.0, 0.9]) });
        let digs = DigStep { taken_kg: 0.02, soil_kg: 3.9, work_j: 3.0, is_lifted: true, has_left: false };
        let (reward, end) = judged(digs);
        assert!((reward - (0.02 - 2.0 * 0.003)).abs() < 1e-12 && end.is_none(), "{reward} {end:?}");
        assert!(judged(DigStep { taken_kg: -0.02, ..digs }).0 < 0.0);
        let (reward, end) = judged(DigStep { soil_kg: 4.0, ..digs });
        assert!(reward > 10.0 && end == Some(EpisodeEnd::Full), "{reward} {end:?}");
        // In the ground, soil around the panels is included, so the drum is not full.
        assert_eq!(judged(DigStep { soil_kg: 4.0, is_lifted: false, ..digs }).1, None);
        // At a side, the next step could carry the soil out, so the episode ends as left.
        assert_eq!(judged(DigStep { soil_kg: 4.0, has_left: true, ..digs }).1, Some(EpisodeEnd::Left));
        assert_eq!((task.action_names().len(), task.observed().len()), (4, 20));
    }

    #[test]
    fn a_follower_is_paid_most_at_its_gap() {
        let (gap_m, start_gap_m) = (2.5, [2.0, 4.0]);
        let spec = FollowSpec { leader: "leader".to_owned(), gap_m, start_gap_m, hit_m: 1.2, lost_m: 10.0 };
        let (task, level) = (Task::Follow(spec), leaning(0.0));
        let paid = |now_m| task.judge(&way(&level, [now_m, now_m]));
        assert_eq!(paid(2.5), (0.05, None));
        assert!(paid(3.0).0 < paid(2.6).0 && paid(2.0).0 < paid(2.4).0);
        assert!((paid(9.0).0 + 0.05).abs() < 1e-12, "{}", paid(9.0).0);
        assert_eq!((paid(1.2).1, paid(10.0).1), (Some(EpisodeEnd::Hit), Some(EpisodeEnd::Lost)));
    }
}
