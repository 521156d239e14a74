//! Courses: the file that sets the scenario and the task of learning. Rovers with a route are driven by it; all others
//! learn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{self, within};
use selene_base::random::{RngExt, Stream};
use selene_base::{InputError, SimTime};
use selene_sim::{EntityId, LoadOptions, Model, RoverKind, Scenario, Start};
use selene_soil::SoilSpec;
use selene_terrain::{GroundPatch, Ruts, Terrain};
use serde::Deserialize;

use crate::LearnError;
use crate::cameras::{CourseCameras, ImageShape};
use crate::digger::Digger;
use crate::draws::Draws;
use crate::field;
use crate::randomise::RandomiseSpec;
use crate::task::{DigSpec, FollowSpec, SlopeClimbSpec, Task};

/// Maximum distance that a rover may drive within a heartbeat, m: the ground of a group has a margin of 0.25 m.
const WAY_MAX_M: f64 = 0.2;

/// The keys of a course's file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CourseSpec {
    /// Name of the course.
    #[garde(length(min = 1, max = 100))]
    pub name: String,
    /// The scenario's file, relative to this one.
    #[garde(skip)]
    pub scenario: PathBuf,
    /// Time between two actions, s, 0.001 to 0.5: a whole number of heartbeats. Commands hold for 0.5 s.
    #[garde(custom(within(0.001, 0.5)))]
    pub control_s: f64,
    /// Physics step, s, in place of the scenario's.
    #[garde(inner(custom(within(0.000_05, 0.01))))]
    #[serde(default)]
    pub step_s: Option<f64>,
    /// Time between two snapshots, s, in place of the scenario's: a whole number of steps. Between two of them wheels
    /// keep their targets. It may be longer than a scenario's, since no clock is published here.
    #[garde(inner(custom(within(0.000_05, 0.5))))]
    #[serde(default)]
    pub heartbeat_s: Option<f64>,
    /// Maximum length of an episode, s, 0.01 to 86400.
    #[garde(custom(within(0.01, 86_400.0)))]
    pub episode_s: f64,
    /// The task.
    #[garde(dive)]
    pub task: Task,
    /// Name of a camera of each learning rover whose image is observed too: grey or coloured, of 8 bits.
    #[garde(skip)]
    #[serde(default)]
    pub camera: Option<String>,
    /// Quantities that are drawn anew for each episode.
    #[garde(dive)]
    #[serde(default)]
    pub randomise: RandomiseSpec,
}

/// A course with everything that it names, loaded and checked. Its ground is made once for all environments.
#[derive(Clone, Debug)]
pub struct Course {
    spec: CourseSpec,
    model: Arc<Model>,
    learners: Vec<EntityId>,
    /// Arm and drum of each learner; empty for other tasks.
    diggers: Vec<Digger>,
    soils: Vec<SoilSpec>,
    sight: Option<CourseCameras>,
    heartbeats: u32,
    steps_max: u64,
}

/// The goal of a learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// A place on the ground, map frame, m.
    Place([f64; 3]),
    /// Another rover.
    Rover(EntityId),
}

/// Start and goal of each learner in an episode.
type Places = Vec<(Start, Goal)>;

impl Course {
    /// Reads a course and all files that it names, and makes its ground.
    ///
    /// # Errors
    /// When a file is missing or refused; the error names file, line, value and what is allowed.
    pub fn load(path: &Path, options: &LoadOptions) -> Result<Self, LearnError> {
        let spec: CourseSpec = input::load_yaml(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut scenario = Scenario::load(&folder.join(&spec.scenario), options)?;
        spec.set_beat(&mut scenario, path)?;
        let heartbeats = heartbeats(&spec, &scenario, path)?;
        spec.refuse_unfit(&scenario, path)?;
        let soils = spec.randomise.load_soils(folder)?;
        let model = Arc::new(Model::new(Arc::new(scenario))?);
        let learns = |id: &EntityId| model.rovers().get(id).is_some_and(|kind| kind.setup().route.is_none());
        let learners: Vec<_> = model.rovers().keys().copied().filter(learns).collect();
        if learners.is_empty() {
            let what = "every rover has a route, so that none learns: leave the route of one out";
            return Err(InputError::at(path, "scenario", what).into());
        }
        let diggers = diggers(&spec, &model, &learners, path)?;
        let [episode, control] = [spec.episode_s, spec.control_s].map(SimTime::from_secs_f64);
        let begun = u64::from(episode % control > SimTime::ZERO);
        let steps_max = (episode / control) as u64 + begun;
        let sight =
            spec.camera.as_ref().map(|camera| CourseCameras::new(camera, &model, &learners, path)).transpose()?;
        Ok(Self { spec, model, learners, diggers, soils, sight, heartbeats, steps_max })
    }

    /// The keys of its file.
    #[must_use]
    pub fn spec(&self) -> &CourseSpec {
        &self.spec
    }

    /// The model of the scenario without any randomisation.
    #[must_use]
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The rovers that learn, in the order of actions and observations.
    #[must_use]
    pub fn learners(&self) -> &[EntityId] {
        &self.learners
    }

    /// The size of the observed images; `None` without a camera.
    #[must_use]
    pub fn image_shape(&self) -> Option<ImageShape> {
        self.sight.as_ref().map(CourseCameras::shape)
    }

    pub(crate) fn sight(&self) -> Option<&CourseCameras> {
        self.sight.as_ref()
    }

    /// Names of the learning rovers.
    #[must_use]
    pub fn learner_names(&self) -> Vec<String> {
        let name = |id: &EntityId| self.model.rovers().get(id).map(|kind| kind.setup().name.clone());
        self.learners.iter().filter_map(name).collect()
    }

    /// Number of components of one rover's action: the length of `Task::action_names`.
    #[must_use]
    pub fn action_width(&self) -> usize {
        self.spec.task.action_names().len()
    }

    /// Arm and drum of the learner with this index; `None` if the task is not to dig.
    pub(crate) fn digger(&self, learner: usize) -> Option<&Digger> {
        self.diggers.get(learner)
    }

    /// Number of heartbeats in one step.
    pub(crate) fn heartbeats(&self) -> u32 {
        self.heartbeats
    }

    /// Maximum number of steps of one episode.
    #[must_use]
    pub fn steps_max(&self) -> u64 {
        self.steps_max
    }

    /// The model of an episode's world, with the start and the goal of each learner.
    pub(crate) fn draw(&self, draws: Draws) -> Result<(Model, Places), LearnError> {
        let mut scenario = Scenario::clone(self.model.scenario());
        self.spec.randomise.change(&mut scenario, &self.soils, draws)?;
        let places = self.places(draws);
        for (id, (start, _)) in self.learners.iter().zip(&places) {
            if let Some(rover) = scenario.rovers.get_mut(id.0 as usize - 1) {
                rover.start = *start;
            }
        }
        if let Some(rocks) = &self.spec.randomise.rocks {
            let field = field::draw(rocks, self.middle_m(&places), &self.kept_free_m(&places), draws);
            scenario.loose_rocks.extend(field.iter().map(field::Disc::rock));
        }
        Ok((self.model.with_scenario(Arc::new(scenario))?, places))
    }

    /// Offset of the time at which the sky is computed, if it is drawn.
    pub(crate) fn sun_later(&self, draws: Draws) -> Option<SimTime> {
        let hours = draws.number("sun_later_h", self.spec.randomise.sun_later_h.as_ref());
        hours.map(|hours| SimTime::from_secs_f64(3600.0 * hours))
    }

    fn places(&self, draws: Draws) -> Places {
        let mut places = Places::new();
        for (i, id) in self.learners.iter().enumerate() {
            let mut stream = draws.stream(&format!("task/{i}"));
            let here = self.model.rovers().get(id).map(|kind| kind.setup().start).unwrap_or_default();
            let place = match &self.spec.task {
                Task::Waypoint(spec) => self.toward(here, spec.distance_m, &mut stream),
                Task::ObstacleField(spec) => self.toward(here, spec.distance_m, &mut stream),
                Task::SlopeClimb(spec) => self.uphill(spec, &mut stream),
                Task::Follow(spec) => self.behind(spec, i, &places, &mut stream),
                Task::Dig(spec) => (set_back(here, drawn(spec.back_m, &mut stream)), self.pit(spec)),
            };
            places.push(place);
        }
        places
    }

    /// A start at the scenario's place with a drawn heading, and a goal in a drawn direction.
    fn toward(&self, here: Start, distance_m: [f64; 2], stream: &mut Stream) -> (Start, Goal) {
        let goal_m = around([here.x_m, here.y_m], distance_m, stream);
        (Start { yaw_rad: heading_rad(stream), ..here }, self.on_ground(goal_m))
    }

    fn uphill(&self, spec: &SlopeClimbSpec, stream: &mut Stream) -> (Start, Goal) {
        let [x_m, y_m] = around(spec.summit_m, spec.start_m, stream);
        (Start { x_m, y_m, z_m: 0.0, yaw_rad: heading_rad(stream) }, self.on_ground(spec.summit_m))
    }

    /// A start behind the leader, or behind the previous follower, which is the goal.
    fn behind(&self, spec: &FollowSpec, i: usize, before: &Places, stream: &mut Stream) -> (Start, Goal) {
        let leader = self.model.rover_named(&spec.leader).unwrap_or_default();
        let of_leader = || self.model.rovers().get(&leader).map(|kind| kind.setup().start).unwrap_or_default();
        let (ahead, goal) = match before.last() {
            Some((start, _)) => (*start, self.learners[i - 1]),
            None => (of_leader(), leader),
        };
        let gap_m = drawn(spec.start_gap_m, stream);
        (set_back(ahead, gap_m), Goal::Rover(goal))
    }

    /// The middle of the granular window to dig in.
    fn pit(&self, spec: &DigSpec) -> Goal {
        let windows = &self.model.scenario().granular;
        let window = windows.iter().find(|window| window.name == spec.window);
        self.on_ground(window.map_or([0.0; 2], |of| [0, 1].map(|i| 0.5 * (of.from_m[i] + of.to_m[i]))))
    }

    fn on_ground(&self, [x, y]: [f64; 2]) -> Goal {
        Goal::Place([x, y, ground_m(self.model.terrain(), [x, y])])
    }

    /// The middle between the first learner's start and its goal, m.
    fn middle_m(&self, places: &Places) -> [f64; 2] {
        match places.first() {
            Some((start, Goal::Place([x, y, _]))) => [0.5 * (start.x_m + x), 0.5 * (start.y_m + y)],
            Some((start, Goal::Rover(_))) => [start.x_m, start.y_m],
            None => [0.0; 2],
        }
    }

    /// Places that rocks keep free: starts of all rovers, and goals.
    fn kept_free_m(&self, places: &Places) -> Vec<[f64; 2]> {
        let driven = self.model.rovers().iter().filter(|(id, _)| !self.learners.contains(id));
        let driven = driven.map(|(_, kind)| [kind.setup().start.x_m, kind.setup().start.y_m]);
        let starts = places.iter().map(|(start, _)| [start.x_m, start.y_m]);
        let goals = places.iter().filter_map(|(_, goal)| match goal {
            Goal::Place([x, y, _]) => Some([*x, *y]),
            Goal::Rover(_) => None,
        });
        driven.chain(starts).chain(goals).collect()
    }
}

impl CourseSpec {
    /// Sets the step and the heartbeat of the course in a scenario.
    fn set_beat(&self, scenario: &mut Scenario, path: &Path) -> Result<(), InputError> {
        scenario.step = self.step_s.map_or(scenario.step, SimTime::from_secs_f64);
        scenario.heartbeat = self.heartbeat_s.map_or(scenario.heartbeat, SimTime::from_secs_f64);
        let [step_s, heartbeat_s] = [scenario.step, scenario.heartbeat].map(|of| of.secs_f64());
        let refused = |allowed: &str| {
            let (place, value) = match self.heartbeat_s {
                Some(value) => ("heartbeat_s", format!("value {value} is")),
                None => ("step_s", format!("heartbeats of {heartbeat_s} s are")),
            };
            Err(InputError::at(path, place, format!("{value} not allowed: must be {allowed}")))
        };
        if scenario.heartbeat < scenario.step || scenario.heartbeat % scenario.step != SimTime::ZERO {
            return refused(&format!("a whole number of steps of {step_s} s"));
        }
        let speeds_m_s = scenario.rovers.iter().map(|rover| rover.model.spec().limits.speed_m_s);
        let fastest_m_s = speeds_m_s.fold(0.0, f64::max);
        if self.heartbeat_s.is_some() && fastest_m_s * heartbeat_s > WAY_MAX_M {
            return refused(&format!("at most {} s, for rovers of {fastest_m_s} m/s", WAY_MAX_M / fastest_m_s));
        }
        Ok(())
    }

    /// Refuses a task for which the scenario lacks something.
    fn refuse_unfit(&self, scenario: &Scenario, path: &Path) -> Result<(), InputError> {
        match &self.task {
            Task::ObstacleField(_) if self.randomise.rocks.is_none() => {
                Err(InputError::at(path, "task.obstacle_field", "needs `rocks` under `randomise`"))
            }
            Task::Follow(FollowSpec { leader, .. }) => match scenario.rover(leader) {
                Some(rover) if rover.route.is_some() => Ok(()),
                Some(_) => Err(InputError::at(path, LEADER, format!("'{leader}' has no route to drive"))),
                None => {
                    let names: Vec<_> = scenario.rovers.iter().map(|rover| rover.name.as_str()).collect();
                    let names = names.join(", ");
                    Err(InputError::at(path, LEADER, format!("'{leader}' is no rover; there are {names}")))
                }
            },
            Task::Waypoint(_) | Task::ObstacleField(_) | Task::SlopeClimb(_) | Task::Dig(_) => Ok(()),
        }
    }
}

/// Where the leader stands in a course's file.
const LEADER: &str = "task.follow.leader";

/// Number of heartbeats between two actions.
fn heartbeats(spec: &CourseSpec, scenario: &Scenario, path: &Path) -> Result<u32, InputError> {
    let control = SimTime::from_secs_f64(spec.control_s);
    let heartbeat = scenario.heartbeat;
    if control >= heartbeat && control % heartbeat == SimTime::ZERO {
        return Ok((control / heartbeat) as u32);
    }
    let what = format!(
        "value {} is not allowed: must be a whole number of heartbeats of {} s",
        spec.control_s,
        heartbeat.secs_f64()
    );
    Err(InputError::at(path, "control_s", what))
}

/// Arm and drum of each learner of a digging task; refuses starts at which the drum is not well within its window.
fn diggers(spec: &CourseSpec, model: &Model, learners: &[EntityId], path: &Path) -> Result<Vec<Digger>, InputError> {
    let Task::Dig(dig) = &spec.task else { return Ok(Vec::new()) };
    let find = |kind: &Arc<RoverKind>| {
        let digger = Digger::find(dig, model, kind, spec.control_s)?;
        let starts = dig.back_m.map(|back_m| set_back(kind.setup().start, back_m));
        if starts.iter().all(|start| digger.is_within_at(start)) {
            return Ok(digger);
        }
        let what = "the drum starts beyond it or too near to its sides: move the start, or make the window larger";
        Err(("window", format!("'{}': {what}", dig.window)))
    };
    let found = learners.iter().filter_map(|id| model.rovers().get(id)).map(find);
    found.collect::<Result<_, _>>().map_err(|(key, what)| InputError::at(path, &format!("task.dig.{key}"), what))
}

/// A start that is `by_m` behind another.
fn set_back(start: Start, by_m: f64) -> Start {
    let (sin, cos) = start.yaw_rad.sin_cos();
    Start { x_m: start.x_m - by_m * cos, y_m: start.y_m - by_m * sin, ..start }
}

/// Height of the undisturbed ground, m.
pub(crate) fn ground_m(terrain: &Terrain, [x, y]: [f64; 2]) -> f64 {
    let patch = GroundPatch::of_square(terrain, &Ruts::default(), [x, y], terrain.spacing_m());
    patch.height_m(x, y).unwrap_or(0.0)
}

fn drawn([low, high]: [f64; 2], stream: &mut Stream) -> f64 {
    low + (high - low) * stream.random_range(0.0..1.0_f64)
}

fn heading_rad(stream: &mut Stream) -> f64 {
    stream.random_range(-std::f64::consts::PI..std::f64::consts::PI)
}

/// A place at a drawn distance and bearing from another, m.
fn around([x, y]: [f64; 2], distance_m: [f64; 2], stream: &mut Stream) -> [f64; 2] {
    let (distance_m, bearing_rad) = (drawn(distance_m, stream), heading_rad(stream));
    [x + distance_m * bearing_rad.cos(), y + distance_m * bearing_rad.sin()]
}
