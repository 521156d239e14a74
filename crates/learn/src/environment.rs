//! Environments: one world to learn in, episode after episode on a course.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use selene_base::random::{RngExt, Stream};
use selene_sim::{Inputs, Model, Scratch, Snapshot, State, WorldError};

use crate::LearnError;
use crate::agent::{Agent, Noise, rocks_of};
use crate::cameras::{CourseCameras, EpisodeCameras};
use crate::course::Course;
use crate::draws::Draws;
use crate::task::{EpisodeEnd, Quantity};

/// One world to learn in.
#[derive(Debug)]
pub struct Environment {
    course: Arc<Course>,
    observed: Vec<(String, Quantity)>,
    draws: Draws,
    model: Arc<Model>,
    state: State,
    scratch: Scratch,
    now: Arc<Snapshot>,
    /// The learners' cameras, if the course has one. In a mutex because tracers are `Send` but not `Sync`.
    eyes: Option<Mutex<EpisodeCameras>>,
    agents: Vec<Agent>,
    noise: Noise,
    noise_stream: Stream,
    /// The latest observations, oldest first: those of the delay, and the current one.
    observed_lately: VecDeque<Observed>,
    delay_steps: usize,
    steps: u64,
}

/// Observations of the learners of an environment, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Numbers, in the order of `Task::observation_names`.
    pub values: Vec<f32>,
    /// Images of `Course::image_shape`, if the course has a camera.
    pub images: Vec<u8>,
}

impl Environment {
    /// Makes an environment and begins its first episode.
    ///
    /// # Errors
    /// When a drawn world cannot be made.
    pub fn new(course: Arc<Course>, seed: u64) -> Result<Self, LearnError> {
        let draws = Draws { seed, episode: 0 };
        let mut environment = Self {
            observed: course.spec().task.observed(),
            draws,
            model: Arc::clone(course.model()),
            state: begin(course.model(), draws)?.0,
            scratch: Scratch::without_prefetch(),
            now: Arc::default(),
            eyes: None,
            agents: Vec::new(),
            noise: Noise::default(),
            noise_stream: draws.stream("noise"),
            observed_lately: VecDeque::new(),
            delay_steps: 0,
            steps: 0,
            course,
        };
        environment.begin_episode()?;
        Ok(environment)
    }

    /// Begins the first episode of another seed.
    ///
    /// # Errors
    /// As [`Environment::new`].
    pub fn reseed(&mut self, seed: u64) -> Result<(), LearnError> {
        self.draws = Draws { seed, episode: 0 };
        self.begin_episode()
    }

    /// Begins the next episode.
    ///
    /// # Errors
    /// As [`Environment::new`].
    pub fn next_episode(&mut self) -> Result<(), LearnError> {
        self.draws.episode += 1;
        self.begin_episode()
    }

    fn begin_episode(&mut self) -> Result<(), LearnError> {
        let draws = self.draws;
        let (model, places) = self.course.draw(draws)?;
        let (mut state, edits) = begin(&model, draws)?;
        state.sky_offset = self.course.sun_later(draws).unwrap_or(state.sky_offset);
        self.scratch = Scratch::without_prefetch();
        let first = model.first_snapshot(&mut state, &mut self.scratch, edits);
        self.now = Arc::new(first.map_err(|source| world_error(draws, source))?);
        let learners = self.course.learners().iter().zip(&places).enumerate();
        let agents = learners.map(|(i, (id, (_, goal)))| {
            let digger = self.course.digger(i);
            Agent::new(*id, *goal, digger, &model, &self.now)
        });
        self.agents = agents.collect();
        (self.model, self.state, self.steps) = (Arc::new(model), state, 0);
        self.eyes = self.open_eyes()?.map(Mutex::new);
        self.noise = self.draw_noise();
        self.noise_stream = draws.stream("noise");
        let delay_s = draws.number("delay_s", self.course.spec().randomise.delay_s.as_ref()).unwrap_or(0.0);
        self.delay_steps = (delay_s / self.course.spec().control_s).round() as usize;
        self.observed_lately.clear();
        Ok(())
    }

    fn open_eyes(&self) -> Result<Option<EpisodeCameras>, LearnError> {
        let first = self.draws.stream("images").random();
        let open = |sight: &CourseCameras| sight.open(&self.model, self.course.learners(), &self.now, first);
        Ok(self.course.sight().map(open).transpose()?)
    }

    fn draw_noise(&self) -> Noise {
        let spec = &self.course.spec().randomise.noise;
        let sigma = |key, of: &Option<_>| self.draws.number(key, of.as_ref()).unwrap_or(0.0);
        Noise {
            distance_m: sigma("noise/distance_m", &spec.distance_m),
            speed: sigma("noise/speed", &spec.speed),
            attitude_rad: sigma("noise/attitude_rad", &spec.attitude_rad),
        }
    }

    /// Takes an action for each learner and steps by the course's `control_s`; returns the reward of each.
    ///
    /// # Errors
    /// When the world cannot be stepped.
    pub fn step(&mut self, actions: &[f32]) -> Result<Vec<f64>, LearnError> {
        let pairs = self.agents.iter_mut().zip(actions.chunks_exact(self.course.action_width()));
        let commands: Vec<_> = pairs.flat_map(|(agent, action)| agent.act(action)).collect();
        let heartbeat_s = self.model.scenario().heartbeat.secs_f64();
        for heartbeat in 0..self.course.heartbeats() {
            let commands = if heartbeat == 0 { &commands[..] } else { &[] };
            let next = self.model.step(&mut self.state, &Inputs { commands, share: None }, &mut self.scratch);
            let next = Arc::new(next.map_err(|source| world_error(self.draws, source))?);
            if let Some(eyes) = &mut self.eyes {
                whole(eyes).go_on(&self.model, &self.now, &next)?;
            }
            self.now = next;
            self.agents.iter_mut().for_each(|agent| agent.go_on(&self.now, heartbeat_s));
        }
        self.steps += 1;
        let (task, rocks) = (&self.course.spec().task, rocks_of(&self.now));
        let step_s = self.course.spec().control_s;
        let is_last = self.is_out_of_time();
        Ok(self.agents.iter_mut().map(|agent| agent.judge(task, &self.now, &rocks, step_s, is_last)).collect())
    }

    /// The learners' observations, with the episode's delay. Call it once per step: each call draws its own
    /// noise.
    ///
    /// # Errors
    /// When an image cannot be made.
    pub fn observe(&mut self) -> Result<Observed, LearnError> {
        let now = Observed { values: self.values_now(), images: self.images_now()? };
        self.observed_lately.push_back(now);
        if self.observed_lately.len() > self.delay_steps + 1 {
            self.observed_lately.pop_front();
        }
        Ok(self.observed_lately.front().cloned().unwrap_or_default())
    }

    fn images_now(&mut self) -> Result<Vec<u8>, LearnError> {
        let Some(eyes) = &mut self.eyes else { return Ok(Vec::new()) };
        Ok(whole(eyes).look(&self.now, self.steps)?.into_iter().flat_map(|image| image.data).collect())
    }

    fn values_now(&mut self) -> Vec<f32> {
        let (task, rocks) = (&self.course.spec().task, rocks_of(&self.now));
        let mut all = Vec::with_capacity(self.agents.len() * self.observed.len());
        let mut values = Vec::with_capacity(self.observed.len());
        for agent in &self.agents {
            values.clear();
            agent.observe(task, &self.now, &rocks, &mut values);
            self.noise.add(&mut values, &self.observed, &mut self.noise_stream);
            all.extend(values.iter().map(|value| *value as f32));
        }
        all
    }

    /// How the episode of each learner ended, or `None` if it has not.
    pub fn ends(&self) -> impl Iterator<Item = Option<EpisodeEnd>> + '_ {
        self.agents.iter().map(Agent::end)
    }

    /// Whether the episode has reached the course's maximum length.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        self.steps >= self.course.steps_max()
    }

    /// The environment's seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.draws.seed
    }

    /// Number of the episode, from 0.
    #[must_use]
    pub fn episode(&self) -> u64 {
        self.draws.episode
    }

    /// The part of the world that does not change in this episode.
    #[must_use]
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The state of the world.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }
}

/// The cameras; `&mut` makes locking unnecessary.
fn whole(eyes: &mut Mutex<EpisodeCameras>) -> &mut EpisodeCameras {
    eyes.get_mut().unwrap_or_else(PoisonError::into_inner)
}

fn begin(model: &Model, draws: Draws) -> Result<(State, Vec<selene_terrain::Edit>), LearnError> {
    model.start(None).map_err(|source| world_error(draws, source))
}

fn world_error(Draws { seed, episode }: Draws, source: WorldError) -> LearnError {
    LearnError::World { seed, episode, source: Box::new(source) }
}
