//! One learning rover: its observations and its rewards.

use nalgebra::{Rotation2, Vector2};
use rand_distr::{Distribution as _, StandardNormal};
use selene_base::frames;
use selene_base::random::Stream;
use selene_sim::{Command, EntityId, Model, RoverSnapshot, Snapshot};
use selene_vehicle::BodyTwist;

use crate::course::Goal;
use crate::digger::Digger;
use crate::field::{Disc, apart_m};
use crate::task::{ACTIONS, DRIVING, DriveStep, EpisodeEnd, Quantity, RAYS, Task};

/// A rover with a forward action below this is not meant to drive, and its slip does not count.
const MEANS_TO_DRIVE: f32 = 0.1;

/// One learning rover.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    rover: EntityId,
    goal: Goal,
    /// Maximum speed, m/s, and turn rate, rad/s.
    limits: [f64; DRIVING],
    /// Radius of the circle around its wheels' middles, m.
    footprint_m: f64,
    /// The last action; components that the task's actions do not have stay 0.
    action: [f32; ACTIONS.len()],
    /// Its arm and drum, if the task is to dig.
    digger: Option<Digger>,
    distance_m: f64,
    slipping_s: f64,
    end: Option<EpisodeEnd>,
}

/// Standard deviations of an episode's noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Noise {
    pub(crate) distance_m: f64,
    pub(crate) speed: f64,
    pub(crate) attitude_rad: f64,
}

impl Noise {
    fn sigma(&self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Distance => self.distance_m,
            Quantity::Speed => self.speed,
            Quantity::Attitude => self.attitude_rad,
            Quantity::Exact => 0.0,
        }
    }

    /// Adds noise to observed values.
    pub(crate) fn add(&self, values: &mut [f64], observed: &[(String, Quantity)], stream: &mut Stream) {
        for (value, (_, quantity)) in values.iter_mut().zip(observed) {
            let sigma = self.sigma(*quantity);
            if sigma > 0.0 {
                let z: f64 = StandardNormal.sample(stream);
                *value += sigma * z;
            }
        }
    }
}

impl Agent {
    /// A rover of a model at the start of its episode, with its arm and drum if it is to dig.
    pub(crate) fn new(rover: EntityId, goal: Goal, digger: Option<&Digger>, model: &Model, start: &Snapshot) -> Self {
        let kind = model.rovers().get(&rover);
        let limits = kind.map(|kind| &kind.model().spec().limits);
        let wheels = kind.map_or(&[][..], |kind| kind.model().wheels());
        let mut agent = Self {
            rover,
            goal,
            limits: limits.map_or([0.0; 2], |limits| [limits.speed_m_s, limits.turn_rate_rad_s]),
            footprint_m: wheels.iter().map(|wheel| wheel.centre_in_base_m.xy().norm()).fold(0.0, f64::max),
            action: [0.0; ACTIONS.len()],
            digger: digger.cloned(),
            distance_m: 0.0,
            slipping_s: 0.0,
            end: None,
        };
        agent.distance_m = agent.distance_in(start);
        if let (Some(digger), Some(rover)) = (&mut agent.digger, start.rover(rover)) {
            digger.begin(rover);
        }
        agent
    }

    /// How its episode ended, or `None` if it has not.
    pub(crate) fn end(&self) -> Option<EpisodeEnd> {
        self.end
    }

    /// Takes an action and returns its commands. After the end of its episode the rover stands.
    pub(crate) fn act(&mut self, action: &[f32]) -> Vec<(EntityId, Command)> {
        self.action = [0.0; ACTIONS.len()];
        if self.end.is_none() {
            self.action.iter_mut().zip(action).for_each(|(own, reported)| *own = *reported);
        }
        let [forward, turn, arm, drum] = self.action.map(f64::from);
        let [speed_m_s, turn_rad_s] = self.limits;
        let body = Command::Body(BodyTwist::arc(forward * speed_m_s, turn * turn_rad_s));
        let tools = self.digger.as_mut().map(|digger| digger.act(arm, drum)).into_iter().flatten();
        std::iter::once(body).chain(tools).map(|command| (self.rover, command)).collect()
    }

    /// Updates arm and drum by a heartbeat that ended.
    pub(crate) fn go_on(&mut self, now: &Snapshot, heartbeat_s: f64) {
        if let (Some(digger), Some(rover)) = (&mut self.digger, now.rover(self.rover)) {
            digger.go_on(rover, heartbeat_s);
        }
    }

    /// The reward of the step to this snapshot; `is_last` if the episode's time ends with it.
    pub(crate) fn judge(&mut self, task: &Task, now: &Snapshot, rocks: &[Disc], step_s: f64, is_last: bool) -> f64 {
        let Some(rover) = now.rover(self.rover).filter(|_| self.end.is_none()) else { return 0.0 };
        let slips = self.action[0].abs() >= MEANS_TO_DRIVE && mean_slip(rover).abs() >= task.stuck_slip();
        self.slipping_s = if slips { self.slipping_s + step_s } else { 0.0 };
        let distance_m = self.distance_in(now);
        let way = DriveStep {
            rover,
            distances_m: [self.distance_m, distance_m],
            clearance_m: self.clearance_m(rover, rocks),
            slipping_s: self.slipping_s,
            dug: self.digger.as_mut().map(|digger| digger.dug(rover, is_last)).unwrap_or_default(),
            step_s,
        };
        let (reward, end) = task.judge(&way);
        (self.distance_m, self.end) = (distance_m, end);
        reward
    }

    /// Appends its observations in the order of `Task::observation_names`.
    pub(crate) fn observe(&self, task: &Task, now: &Snapshot, rocks: &[Disc], values: &mut Vec<f64>) {
        let Some(rover) = now.rover(self.rover) else { return };
        let base = rover.world_from_base();
        let heading_rad = frames::yaw_rad(&base);
        let heading_from_map = Rotation2::new(-heading_rad);
        let [x, y, z] = self.goal_in(now);
        let to_goal = heading_from_map * Vector2::new(x - base.translation.x, y - base.translation.y);
        let twist = rover.body_twist();
        let (roll_rad, pitch_rad, _) = base.rotation.euler_angles();
        let sinkage_m = rover.wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
        values.extend([to_goal.x, to_goal.y, z - base.translation.z]);
        values.extend([twist.linear.x, twist.linear.y, twist.angular.z, roll_rad, pitch_rad]);
        values.extend([mean_slip(rover), sinkage_m]);
        let [driving @ .., action_arm, action_drum] = self.action.map(f64::from);
        values.extend(driving);
        match task {
            Task::Waypoint(_) | Task::SlopeClimb(_) => {}
            Task::ObstacleField(spec) => {
                let from_m = [base.translation.x, base.translation.y];
                values.extend((0..RAYS).map(|ray| clear_m(ray, from_m, heading_rad, rocks, spec.sight_m)));
            }
            Task::Follow(_) => {
                let velocity = heading_from_map * self.goal_velocity_in(now);
                values.extend([velocity.x, velocity.y]);
            }
            Task::Dig(_) => {
                values.extend(self.digger.iter().flat_map(|digger| digger.observe(rover)));
                values.extend([action_arm, action_drum]);
            }
        }
    }

    fn goal_in(&self, now: &Snapshot) -> [f64; 3] {
        match self.goal {
            Goal::Place(at_m) => at_m,
            Goal::Rover(id) => now.rover(id).map_or([0.0; 3], |rover| {
                let at = rover.world_from_base().translation;
                [at.x, at.y, at.z]
            }),
        }
    }

    fn goal_velocity_in(&self, now: &Snapshot) -> Vector2<f64> {
        match self.goal {
            Goal::Place(_) => Vector2::zeros(),
            Goal::Rover(id) => now.rover(id).map_or_else(Vector2::zeros, |rover| rover.base_twist.linear.xy()),
        }
    }

    /// Horizontal distance from the goal, m.
    fn distance_in(&self, now: &Snapshot) -> f64 {
        let [x, y, _] = self.goal_in(now);
        now.rover(self.rover).map_or(0.0, |rover| apart_m([x, y], place_m(rover)))
    }

    fn clearance_m(&self, rover: &RoverSnapshot, rocks: &[Disc]) -> f64 {
        let here_m = place_m(rover);
        let clear = rocks.iter().map(|rock| apart_m(rock.at_m, here_m) - rock.radius_m - self.footprint_m);
        clear.fold(f64::INFINITY, f64::min)
    }
}

/// The loose rocks of a snapshot.
pub(crate) fn rocks_of(now: &Snapshot) -> Vec<Disc> {
    let disc = |rock: &selene_sim::RockPose| {
        let at = rock.world_from_rock.translation;
        Disc { at_m: [at.x, at.y], radius_m: rock.radius_m }
    };
    now.loose_rocks.iter().map(disc).collect()
}

fn place_m(rover: &RoverSnapshot) -> [f64; 2] {
    let at = rover.world_from_base().translation;
    [at.x, at.y]
}

fn mean_slip(rover: &RoverSnapshot) -> f64 {
    let slips = rover.wheels.iter().map(|wheel| wheel.slip_ratio);
    slips.sum::<f64>() / rover.wheels.len().max(1) as f64
}

/// Distance to the first rock on a ray, at most `sight_m`, m.
fn clear_m(ray: usize, from_m: [f64; 2], heading_rad: f64, rocks: &[Disc], sight_m: f64) -> f64 {
    let bearing_rad = heading_rad + std::f64::consts::TAU * ray as f64 / RAYS as f64;
    let direction = [bearing_rad.cos(), bearing_rad.sin()];
    rocks.iter().filter_map(|rock| rock.met_m(from_m, direction)).fold(sight_m, f64::min)
}
