//! Batches: many environments of one course, stepped in parallel. Environments share only the course and its ground,
//! so that neither their number nor the number of threads changes what happens in one of them.
//!
//! When all learners of an environment have ended, the environment is reset as [`Autoreset`] says. Its modes are those
//! of Gymnasium 1.x.

use std::sync::Arc;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use xxhash_rust::xxh3::Xxh3;

use crate::LearnError;
use crate::course::Course;
use crate::environment::{Environment, Observed};
use crate::task::EpisodeEnd;

/// Largest number of environments of a batch. Each keeps a world of its own, up to some megabytes with granular soil;
/// an allocation that fails would abort the process.
pub const ENVIRONMENTS_MAX: usize = 4096;
/// Largest number of threads of a batch.
pub const THREADS_MAX: usize = 1024;

/// When an environment whose episode has ended is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autoreset {
    /// At the next step, which ignores the action and gives the reward 0.
    NextStep,
    /// At the step that ended the episode, which also returns the last observation of that episode.
    SameStep,
    /// Only by a call of `reset`; a step before it is refused.
    Disabled,
}

/// Environments that are stepped together.
#[derive(Debug)]
pub struct Batch {
    course: Arc<Course>,
    autoreset: Autoreset,
    pool: Option<ThreadPool>,
    slots: Vec<BatchEntry>,
}

/// One environment of a batch.
#[derive(Debug)]
struct BatchEntry {
    environment: Environment,
    /// Its last observation.
    observed: Observed,
    /// Whether its episode has ended.
    ended: bool,
}

/// Results of a step: one row per learner, environment by environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Observations, row by row.
    pub observations: Vec<f32>,
    /// Images, one after the other; empty if the course has no camera.
    pub images: Vec<u8>,
    /// The reward of each learner.
    pub rewards: Vec<f64>,
    /// Whether each learner's episode ended by the task.
    pub terminated: Vec<bool>,
    /// Whether each learner's episode ended by its length.
    pub truncated: Vec<bool>,
    /// How each learner's episode ended, if it ended by the task.
    pub ends: Vec<Option<EpisodeEnd>>,
    /// Last observations of environments that were reset in this same step, with their indices.
    pub last_observed: Vec<(usize, Observed)>,
}

/// Results of a step of one environment.
struct EntryStep {
    rewards: Vec<f64>,
    ends: Vec<Option<EpisodeEnd>>,
    truncated: bool,
    last_observed: Option<Observed>,
}

impl Batch {
    /// Makes `count` environments of a course; environment `i` has the seed `seed + i`. They are stepped by `threads`
    /// threads, or by the global thread pool of the process.
    ///
    /// # Errors
    /// When `count` is not 1 to [`ENVIRONMENTS_MAX`] or `threads` not 1 to [`THREADS_MAX`], a drawn world cannot be made,
    /// or threads cannot be started.
    pub fn new(
        course: Arc<Course>,
        count: usize,
        seed: u64,
        autoreset: Autoreset,
        threads: Option<usize>,
    ) -> Result<Self, LearnError> {
        check_range("count", count, ENVIRONMENTS_MAX, "environment keeps a world of its own in memory")?;
        if let Some(threads) = threads {
            check_range("threads", threads, THREADS_MAX, "has a stack of its own in memory")?;
        }
        let pool = threads.map(|count| ThreadPoolBuilder::new().num_threads(count).build()).transpose()?;
        course.model().terrain().expect_viewers(count.saturating_mul(course.learners().len()));
        let slot = |i: u64| Environment::new(Arc::clone(&course), seed.wrapping_add(i)).and_then(BatchEntry::new);
        let slots = on(pool.as_ref(), || (0..count as u64).into_par_iter().map(slot).collect::<Vec<_>>());
        let slots = slots.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { course, autoreset, pool, slots })
    }

    /// The course.
    #[must_use]
    pub fn course(&self) -> &Arc<Course> {
        &self.course
    }

    /// Number of environments.
    #[must_use]
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// The environment with this index.
    #[must_use]
    pub fn environment(&self, index: usize) -> Option<&Environment> {
        self.slots.get(index).map(|slot| &slot.environment)
    }

    /// Resets the chosen environments: one with a seed to the seed's first episode, one without to its next episode.
    ///
    /// # Errors
    /// When there are not as many seeds or choices as environments, or a drawn world cannot be made.
    pub fn reset(&mut self, seeds: &[Option<u64>], chosen: &[bool]) -> Result<(), LearnError> {
        for (what, count) in [("seeds", seeds.len()), ("choices of environments", chosen.len())] {
            check_count(what, count, self.slots.len())?;
        }
        let Self { slots, pool, .. } = self;
        let reset = |((slot, seed), chosen): ((&mut BatchEntry, &Option<u64>), &bool)| match (chosen, seed) {
            (false, _) => Ok(()),
            (true, Some(seed)) => slot.environment.reseed(*seed).and_then(|()| slot.begin()),
            (true, None) => slot.environment.next_episode().and_then(|()| slot.begin()),
        };
        let all = || slots.par_iter_mut().zip(seeds).zip(chosen).map(reset).collect::<Vec<_>>();
        on(pool.as_ref(), all).into_iter().collect()
    }

    /// Current observations, row by row.
    #[must_use]
    pub fn observations(&self) -> Vec<f32> {
        self.slots.iter().flat_map(|slot| &slot.observed.values).copied().collect()
    }

    /// Current images, one after the other, each of `Course::image_shape`.
    #[must_use]
    pub fn images(&self) -> Vec<u8> {
        let bytes = self.slots.iter().map(|slot| slot.observed.images.len()).sum();
        let mut all = Vec::with_capacity(bytes);
        self.slots.iter().for_each(|slot| all.extend_from_slice(&slot.observed.images));
        all
    }

    /// Takes an action for each learner of each environment and steps by the course's `control_s`.
    ///
    /// # Errors
    /// When an action is missing, NaN or beyond 1, an environment has ended and is not reset automatically (nothing
    /// is stepped then), or a world cannot be stepped: the error is that of the first such environment.
    pub fn step(&mut self, actions: &[f32]) -> Result<Step, LearnError> {
        let width = self.course.action_width() * self.course.learners().len();
        check_count("numbers of actions", actions.len(), width * self.slots.len())?;
        check_actions(actions, self.course.spec().task.action_names())?;
        let ended = self.slots.iter().position(|slot| slot.ended);
        if let Some(index) = ended.filter(|_| self.autoreset == Autoreset::Disabled) {
            return Err(LearnError::Ended { index });
        }
        let autoreset = self.autoreset;
        let Self { slots, pool, .. } = self;
        let step = |(slot, actions): (&mut BatchEntry, &[f32])| slot.step(actions, autoreset);
        let all = || slots.par_iter_mut().zip(actions.par_chunks(width)).map(step).collect::<Vec<_>>();
        let parts = on(pool.as_ref(), all).into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(self.joined(parts))
    }

    fn joined(&self, parts: Vec<EntryStep>) -> Step {
        let mut step = Step { observations: self.observations(), images: self.images(), ..Step::default() };
        for (index, part) in parts.into_iter().enumerate() {
            step.rewards.extend(part.rewards);
            step.terminated.extend(part.ends.iter().map(Option::is_some));
            step.truncated.extend(part.ends.iter().map(|end| part.truncated && end.is_none()));
            step.ends.extend(part.ends);
            step.last_observed.extend(part.last_observed.map(|last| (index, last)));
        }
        step
    }

    /// A hash over the states of all environments.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        self.slots.iter().for_each(|slot| hasher.update(&slot.environment.state().hash().to_le_bytes()));
        hasher.digest()
    }
}

impl BatchEntry {
    fn new(environment: Environment) -> Result<Self, LearnError> {
        let mut slot = Self { environment, observed: Observed::default(), ended: false };
        slot.begin()?;
        Ok(slot)
    }

    fn begin(&mut self) -> Result<(), LearnError> {
        (self.observed, self.ended) = (self.environment.observe()?, false);
        Ok(())
    }

    fn step(&mut self, actions: &[f32], autoreset: Autoreset) -> Result<EntryStep, LearnError> {
        if self.ended {
            self.environment.next_episode()?;
            self.begin()?;
            let count = self.environment.ends().count();
            let (rewards, ends) = (vec![0.0; count], vec![None; count]);
            return Ok(EntryStep { rewards, ends, truncated: false, last_observed: None });
        }
        let rewards = self.environment.step(actions)?;
        let ends: Vec<_> = self.environment.ends().collect();
        let truncated = self.environment.is_out_of_time();
        self.observed = self.environment.observe()?;
        self.ended = truncated || ends.iter().all(Option::is_some);
        let mut last_observed = None;
        if self.ended && autoreset == Autoreset::SameStep {
            last_observed = Some(std::mem::take(&mut self.observed));
            self.environment.next_episode()?;
            self.begin()?;
        }
        Ok(EntryStep { rewards, ends, truncated, last_observed })
    }
}

/// Runs `work` on a pool, or on the global one.
fn on<T: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn check_range(what: &'static str, count: usize, max: usize, needs: &'static str) -> Result<(), LearnError> {
    if (1..=max).contains(&count) { Ok(()) } else { Err(LearnError::OutOfRange { what, count, max, needs }) }
}

fn check_count(what: &'static str, count: usize, wanted: usize) -> Result<(), LearnError> {
    if count == wanted { Ok(()) } else { Err(LearnError::Count { what, count, wanted }) }
}

fn check_actions(actions: &[f32], names: &[&'static str]) -> Result<(), LearnError> {
    match actions.iter().position(|value| !(-1.0..=1.0).contains(value)) {
        None => Ok(()),
        Some(at) => {
            let (row, part) = (at / names.len(), names[at % names.len()]);
            Err(LearnError::Action { row, part, value: actions[at] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Autoreset, Batch, Step};
    use crate::{Course, EpisodeEnd, ImageShape, LearnError, Observed};
    use selene_base::SimTime;
    use selene_sim::LoadOptions;
    use selene_soil::Law;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    fn file(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../config/learning/{name}.yaml"))
    }

    fn course(name: &str) -> Arc<Course> {
        Arc::new(Course::load(&file(name), &LoadOptions::default()).expect(name))
    }

    /// A course whose file has `from` replaced by `to`, with absolute paths, in a temporary file.
    fn changed(name: &str, from: &str, to: &str) -> Result<Course, LearnError> {
        let text = std::fs::read_to_string(file(name)).expect("there");
        assert!(text.contains(from), "{from}");
        let config = file(name).ancestors().nth(2).expect("config").canonicalize().expect("there");
        let text = text.replace("../", &format!("{}/", config.display())).replace(from, to);
        let number = xxhash_rust::xxh3::xxh3_64(to.as_bytes());
        let path = std::env::temp_dir().join(format!("selene-{name}-{}-{number}.yaml", std::process::id()));
        std::fs::write(&path, text).expect("written");
        let course = Course::load(&path, &LoadOptions::default());
        std::fs::remove_file(&path).expect("removed");
        course
    }

    fn batch(course: &Arc<Course>, count: usize, autoreset: Autoreset, threads: usize) -> Batch {
        Batch::new(Arc::clone(course), count, 7, autoreset, Some(threads)).expect("begins")
    }

    /// Actions that differ from row to row.
    fn actions(rows: usize) -> Vec<f32> {
        (0..rows).flat_map(|row| [1.0, 0.3 - 0.1 * row as f32]).collect()
    }

    #[test]
    fn neither_their_number_nor_that_of_threads_changes_an_environment() {
        let course = course("obstacle_field");
        let (mut many, mut few) =
            (batch(&course, 3, Autoreset::NextStep, 2), batch(&course, 3, Autoreset::NextStep, 1));
        let mut alone = Batch::new(Arc::clone(&course), 1, 9, Autoreset::NextStep, None).expect("begins");
        let rows = actions(3);
        for _ in 0..20 {
            let step = many.step(&rows).expect("goes on");
            assert_eq!(step, few.step(&rows).expect("goes on"));
            let width = step.observations.len() / 3;
            let last = alone.step(&rows[4..]).expect("goes on");
            assert_eq!(step.observations[2 * width..], last.observations);
        }
        assert_eq!(many.hash(), few.hash());
        let of_last = many.environment(2).expect("there").state().hash();
        assert_eq!(of_last, alone.environment(0).expect("there").state().hash());
        assert_ne!(of_last, many.environment(1).expect("there").state().hash());
    }

    #[test]
    fn a_seed_begins_the_same_episodes_again() {
        let course = course("waypoint");
        let mut batch = batch(&course, 2, Autoreset::NextStep, 2);
        let first = batch.observations();
        batch.step(&actions(2)).expect("goes on");
        batch.reset(&[None; 2], &[true; 2]).expect("begins");
        let second = batch.observations();
        assert_ne!(first, second);
        batch.reset(&[Some(7), Some(8)], &[true; 2]).expect("begins");
        assert_eq!(batch.observations(), first);
        batch.reset(&[None; 2], &[true, false]).expect("begins");
        let width = first.len() / 2;
        assert_eq!(batch.observations()[..width], second[..width]);
        assert_eq!(batch.observations()[width..], first[width..]);
    }

    /// Steps until an episode has ended; returns the step that ended it.
    fn end(batch: &mut Batch) -> Step {
        let rows = actions(batch.count());
        for _ in 0..1000 {
            let step = batch.step(&rows).expect("goes on");
            if step.truncated.iter().chain(&step.terminated).any(|ended| *ended) {
                return step;
            }
        }
        panic!("no episode ended");
    }

    #[test]
    fn episodes_begin_anew_as_the_mode_says() {
        let short = Arc::new(changed("waypoint", "episode_s: 40", "episode_s: 0.2").expect("good"));
        let mut next = batch(&short, 1, Autoreset::NextStep, 1);
        let last = end(&mut next);
        assert_eq!((&last.truncated[..], &last.terminated[..]), (&[true][..], &[false][..]));
        let anew = next.step(&actions(1)).expect("goes on");
        assert_eq!((anew.rewards[0], anew.truncated[0]), (0.0, false));
        assert_eq!(next.environment(0).expect("there").state().sequence, 0);

        let mut same = batch(&short, 1, Autoreset::SameStep, 1);
        let both = end(&mut same);
        assert_eq!(both.last_observed, [(0, Observed { values: last.observations, images: Vec::new() })]);
        assert_eq!(both.observations, anew.observations);

        let mut disabled = batch(&short, 1, Autoreset::Disabled, 1);
        end(&mut disabled);
        assert!(matches!(disabled.step(&actions(1)), Err(LearnError::Ended { index: 0 })));
        disabled.reset(&[None], &[true]).expect("begins");
        assert!(disabled.step(&actions(1)).is_ok());
    }

    #[test]
    fn driving_at_the_goal_arrives_and_pays() {
        let near = changed("waypoint", "distance_m: [3, 6]", "distance_m: [2, 2]").expect("good");
        let mut batch = batch(&Arc::new(near), 1, Autoreset::Disabled, 1);
        let (mut paid, mut row) = (0.0, batch.observations());
        for _ in 0..400 {
            let turn = (row[1].atan2(row[0]) * 2.0).clamp(-1.0, 1.0);
            let forward = if turn.abs() < 0.9 { 0.5 } else { 0.0 };
            let step = batch.step(&[forward, turn]).expect("goes on");
            paid += step.rewards[0];
            row = step.observations;
            if step.terminated[0] {
                assert_eq!(step.ends, [Some(EpisodeEnd::Arrived)]);
                // 10 for the end, 2 m less 0.4 m of distance, less 0.05 per second.
                assert!(paid > 10.5 && paid < 12.0, "{paid}");
                return;
            }
        }
        panic!("did not arrive: {row:?}");
    }

    #[test]
    fn rocks_are_seen_by_rays_as_far_as_the_course_says() {
        let course = course("obstacle_field");
        let mut batch = batch(&course, 8, Autoreset::Disabled, 2);
        let names = course.spec().task.observation_names();
        let first = names.iter().position(|name| name == "clear_0_m").expect("there");
        let seen = batch.observations();
        let clear: Vec<_> = seen.chunks(names.len()).flat_map(|row| &row[first..]).copied().collect();
        // At most 6 m, and five standard deviations of the noise.
        assert!(clear.iter().any(|clear_m| *clear_m < 5.0) && clear.iter().all(|clear_m| *clear_m <= 6.1));
        assert_eq!(clear.len(), 8 * 16);
        assert!(batch.step(&[0.0; 16]).is_ok());
    }

    /// Compares the paths with steps of 10 ms and heartbeats of 50 ms with those of the scenario's own steps.
    #[test]
    fn long_steps_and_heartbeats_drive_as_short_ones_do() {
        const TOLERANCE_M: f64 = 0.05;
        let plain = changed("waypoint", "step_s: 0.01\nheartbeat_s: 0.05", "step_s: 0.001\nheartbeat_s: 0.01");
        let places = [plain.expect("good"), Course::load(&file("waypoint"), &LoadOptions::default()).expect("good")];
        let places = places.map(|course| {
            let mut batch = batch(&Arc::new(course), 4, Autoreset::NextStep, 2);
            // Straight on, in bends both ways, and on the spot.
            let actions = [0.8, 0.0, 0.6, 0.4, 0.5, -0.3, 0.0, 0.5];
            (0..100).for_each(|_| drop(batch.step(&actions).expect("goes on")));
            let at = |i: usize| {
                batch.environment(i).expect("there").state().rovers.values().next().expect("one").body.world_from_base
            };
            (0..4).map(at).collect::<Vec<_>>()
        });
        for (short, long) in places[0].iter().zip(&places[1]) {
            let apart_m = (short.translation.vector - long.translation.vector).norm();
            let turned_rad = short.rotation.angle_to(&long.rotation);
            println!("{apart_m} m, {turned_rad} rad");
            assert!(apart_m < TOLERANCE_M && turned_rad < TOLERANCE_M, "{apart_m} m, {turned_rad} rad");
        }
    }

    #[test]
    fn images_are_of_what_is_there_and_do_not_depend_on_others() {
        let course = course("waypoint_seen");
        let shape = course.image_shape().expect("a camera");
        assert_eq!(shape, ImageShape { height: 45, width: 80, channels: 1 });
        let mut many = batch(&course, 3, Autoreset::NextStep, 2);
        let mut alone = Batch::new(Arc::clone(&course), 1, 9, Autoreset::NextStep, None).expect("begins");
        let rows = actions(3);
        let first = many.images();
        assert_eq!(first.len(), 3 * shape.bytes());
        for _ in 0..4 {
            let (step, last) = (many.step(&rows).expect("goes on"), alone.step(&rows[4..]).expect("goes on"));
            assert!(step.images[2 * shape.bytes()..] == last.images);
            assert!(step.images != first);
        }
        let image = &first[..shape.bytes()];
        let (least, greatest) = (image.iter().min().expect("pixels"), image.iter().max().expect("pixels"));
        assert!(greatest - least > 20, "{least} to {greatest}");
        // Other environments start at other headings.
        assert!(image != &first[shape.bytes()..2 * shape.bytes()]);
    }

    #[test]
    fn numbers_of_environments_and_threads_that_memory_does_not_hold_are_refused() {
        let course = course("waypoint");
        for (count, threads, reported) in [
            (0, None, "count: 0; must be 1 to 4096, because each environment keeps a world of its own in memory"),
            (4097, None, "count: 4097; must be 1 to 4096, because each environment keeps a world of its own in memory"),
            (1, Some(0), "threads: 0; must be 1 to 1024, because each has a stack of its own in memory"),
            (1, Some(1025), "threads: 1025; must be 1 to 1024, because each has a stack of its own in memory"),
        ] {
            let refused = Batch::new(Arc::clone(&course), count, 7, Autoreset::NextStep, threads);
            assert_eq!(refused.expect_err(reported).to_string(), reported);
        }
        assert!(Batch::new(course, usize::MAX, 7, Autoreset::NextStep, None).is_err());
    }

    #[test]
    fn actions_that_cannot_be_meant_are_refused_and_nothing_moves() {
        let mut batch = batch(&course("waypoint"), 2, Autoreset::NextStep, 1);
        let before = batch.hash();
        for (actions, reported) in [
            (vec![0.0, 0.0, f32::NAN, 0.0], "action 1: forward speed is NaN; must be -1 to 1"),
            (vec![0.0, 1.5, 0.0, 0.0], "action 0: turn rate is 1.5; must be -1 to 1"),
            (vec![0.0; 3], "numbers of actions: 3 are given; must be 4"),
        ] {
            assert_eq!(batch.step(&actions).expect_err(reported).to_string(), reported);
        }
        assert_eq!(batch.hash(), before);
        assert!(batch.reset(&[None], &[true; 2]).is_err());
    }

    #[test]
    fn what_is_randomised_differs_from_episode_to_episode_and_stays_within_bounds() {
        let course = course("obstacle_field");
        let batch = batch(&course, 6, Autoreset::NextStep, 2);
        let of = |i: usize| batch.environment(i).expect("there").model();
        let gravities: Vec<_> = (0..6).map(|i| of(i).scenario().gravity_m_s2).collect();
        assert!(gravities.iter().all(|g| (1.58..=1.66).contains(g)), "{gravities:?}");
        let masses: Vec<_> = (0..6).map(|i| of(i).scenario().rovers[0].model.mass_kg()).collect();
        let plain_kg = course.model().scenario().rovers[0].model.mass_kg();
        assert!(masses.iter().all(|kg| (0.9..=1.1).contains(&(kg / plain_kg))), "{masses:?}");
        for all in [gravities, masses] {
            assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        }
    }

    /// Index of the soil in the drum among a rover's observations.
    fn soil_in(course: &Course) -> usize {
        course.spec().task.observation_names().iter().position(|name| name == "soil_kg").expect("there")
    }

    #[test]
    fn a_drum_that_turns_in_soil_fills_and_is_paid_for_it_less_the_work() {
        let easy = Arc::new(changed("dig", "full_kg: 5", "full_kg: 0.2").expect("good"));
        let (soil, mut batch) = (soil_in(&easy), batch(&easy, 1, Autoreset::Disabled, 1));
        let dig = |batch: &mut Batch| batch.step(&[0.1, 0.0, -1.0, 0.9]).expect("goes on");
        let mut paid: f64 = (0..70).map(|_| dig(&mut batch).rewards[0]).sum();
        for _ in 0..40 {
            let step = batch.step(&[0.0, 0.0, 1.0, 0.0]).expect("goes on");
            paid += step.rewards[0];
            if step.terminated[0] {
                assert_eq!(step.ends, [Some(EpisodeEnd::Full)]);
                let soil_kg = f64::from(step.observations[soil]);
                println!("{soil_kg} kg, paid {paid}");
                // Ten for the end plus the soil, less the work of wheels, arm and drum.
                assert!(soil_kg >= 0.2 && paid > 9.0 && paid < 10.0 + soil_kg - 1e-4, "{soil_kg} kg, {paid}");
                return;
            }
        }
        panic!("the drum did not fill: {paid}");
    }

    #[test]
    fn soil_about_a_drum_in_the_ground_does_not_count_when_time_is_over() {
        let short = Arc::new(changed("dig", "episode_s: 20", "episode_s: 4").expect("good"));
        let (soil, mut batch) = (soil_in(&short), batch(&short, 1, Autoreset::Disabled, 1));
        let mut paid = 0.0;
        for _ in 0..100 {
            // The drum digs and is never lifted.
            let step = batch.step(&[0.1, 0.0, -1.0, 0.9]).expect("goes on");
            paid += step.rewards[0];
            if step.truncated[0] {
                println!("{} kg in the cylinder, paid {paid}", step.observations[soil]);
                assert!(step.observations[soil] > 0.0 && paid < 0.0, "{paid}");
                return;
            }
        }
        panic!("time did not run out");
    }

    /// Beyond the window nothing carries soil, and a world with soil in such a drum is an error: the episode ends
    /// before.
    #[test]
    fn a_drum_that_comes_to_a_side_with_soil_ends_the_episode_and_not_the_world() {
        let course = course("dig");
        let (soil, mut batch) = (soil_in(&course), batch(&course, 1, Autoreset::NextStep, 1));
        (0..40).for_each(|_| drop(batch.step(&[0.1, 0.0, -1.0, 0.9]).expect("goes on")));
        for _ in 0..60 {
            let step = batch.step(&[-1.0, 1.0, 0.0, 0.0]).expect("goes on");
            if step.terminated[0] {
                assert_eq!(step.ends, [Some(EpisodeEnd::Left)]);
                assert!(step.observations[soil] > 0.0 && step.rewards[0] < -9.0, "{step:?}");
                let anew = batch.step(&[0.0; 4]).expect("begins anew");
                assert_eq!((anew.observations[soil], anew.rewards[0]), (0.0, 0.0));
                return;
            }
        }
        panic!("the drum did not come to a side");
    }

    #[test]
    fn who_digs_has_four_actions_and_soil_of_its_own_whatever_the_threads() {
        let course = course("dig");
        let (mut one, mut two) = (batch(&course, 2, Autoreset::NextStep, 1), batch(&course, 2, Autoreset::NextStep, 2));
        assert_eq!(course.action_width(), 4);
        let reported = one.step(&[0.0, 0.0, 0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0]).expect_err("refused").to_string();
        assert_eq!(reported, "action 0: drum rate is NaN; must be -1 to 1");
        let rows = [0.2, 0.0, -1.0, 1.0, 0.1, 0.2, -0.5, 0.6];
        for _ in 0..8 {
            assert_eq!(one.step(&rows).expect("goes on"), two.step(&rows).expect("goes on"));
        }
        assert_eq!(one.hash(), two.hash());
        let friction = |i: usize| one.environment(i).expect("there").model().windows()[0].friction();
        assert!([0, 1].iter().all(|i| (0.85..=1.15).contains(&(friction(*i) / 0.7))) && friction(0) != friction(1));
    }

    #[test]
    fn ground_sun_and_noise_are_observed_as_they_are_drawn() {
        let begun = |drawn: &str| {
            let to = format!("randomise: {{{drawn}}}\ntask:");
            batch(&Arc::new(changed("waypoint_seen", "task:", &to).expect("good")), 1, Autoreset::NextStep, 1)
        };
        let plain = batch(&course("waypoint_seen"), 1, Autoreset::NextStep, 1);
        let [dark, later, noisy] =
            ["albedo: {choice: [0.1]}", "sun_later_h: {choice: [200]}", "noise: {distance_m: {choice: [0.1]}}"]
                .map(begun);
        for seen in [&dark, &later] {
            assert!(seen.images() != plain.images() && seen.observations() == plain.observations());
        }
        let offset = later.environment(0).expect("there").state().sky_offset;
        assert_eq!(offset, SimTime::from_secs_f64(200.0 * 3600.0));
        let [reported, noisy_reported] = [plain.observations(), noisy.observations()];
        assert!(noisy.images() == plain.images() && noisy_reported[3..] == reported[3..]);
        let off_m: Vec<_> = (0..3).map(|i| (noisy_reported[i] - reported[i]).abs()).collect();
        // Five standard deviations.
        assert!(off_m.iter().all(|off_m| *off_m > 0.0 && *off_m < 0.5), "{off_m:?}");
    }

    #[test]
    fn noise_of_speeds_and_attitude_changes_these_alone() {
        let names = course("waypoint").spec().task.observation_names();
        let plain = batch(&course("waypoint"), 1, Autoreset::NextStep, 1).observations();
        for (key, sigma, noisy) in [
            ("speed", 0.05_f32, &["forward_m_s", "left_m_s", "turn_rad_s"][..]),
            ("attitude_rad", 0.02, &["roll_rad", "pitch_rad"][..]),
        ] {
            let to = format!("randomise: {{noise: {{{key}: {{choice: [{sigma}]}}}}}}\ntask:");
            let course = Arc::new(changed("waypoint", "task:", &to).expect("good"));
            let observed = batch(&course, 1, Autoreset::NextStep, 1).observations();
            for (i, name) in names.iter().enumerate() {
                let off = (observed[i] - plain[i]).abs();
                let is_noisy = off > 0.0 && off < 5.0 * sigma;
                assert!(is_noisy == noisy.contains(&name.as_str()) && (is_noisy || off == 0.0), "{key}: {name} {off}");
            }
        }
    }

    #[test]
    fn each_of_several_soils_is_drawn_and_less_friction_pushes_less() {
        let soils = format!("randomise: {{soils: [{}, {}]}}\ntask:", soil_file("rigid"), soil_file("lunar"));
        let several = batch(&Arc::new(changed("waypoint", "task:", &soils).expect("good")), 12, Autoreset::NextStep, 1);
        let law = |i: usize| several.environment(i).expect("there").model().scenario().soils.at(0.0, 0.0).clone();
        let rigid = (0..12).filter(|i| matches!(law(*i), Law::Rigid(_))).count();
        let scm = (0..12).filter(|i| matches!(law(*i), Law::Scm(_))).count();
        assert!(rigid > 0 && scm > 0 && rigid + scm == 12, "{rigid} rigid, {scm} SCM");
        for soil in ["rigid", "lunar", "tohoku_silica5_ex1"] {
            let [slippery, firm] = [0.1, 1.0].map(|factor| speed_on(soil, factor));
            assert!(slippery < 0.9 * firm, "{soil}: {slippery} m/s, {firm} m/s");
        }
    }

    fn soil_file(name: &str) -> String {
        let config = file("waypoint").ancestors().nth(2).expect("config").canonicalize().expect("there");
        config.join(format!("soil/{name}.yaml")).display().to_string()
    }

    /// Speed after half a second of full power on a soil with `factor` of its friction, m/s.
    fn speed_on(soil: &str, factor: f64) -> f32 {
        let drawn = format!("soils: [{}], friction_factor: {{choice: [{factor}]}}", soil_file(soil));
        let course = changed("waypoint", "task:", &format!("randomise: {{{drawn}}}\ntask:")).expect("good");
        let forward = course.spec().task.observation_names().iter().position(|name| name == "forward_m_s");
        let mut batch = batch(&Arc::new(course), 1, Autoreset::NextStep, 1);
        (0..10).for_each(|_| drop(batch.step(&[1.0, 0.0]).expect("goes on")));
        batch.observations()[forward.expect("there")]
    }

    #[test]
    fn what_is_observed_late_is_what_was_observed_then() {
        let late = "randomise: {delay_s: {choice: [0.1]}}\ntask:";
        let late = Arc::new(changed("waypoint", "task:", late).expect("good"));
        let (mut late, mut prompt) =
            (batch(&late, 1, Autoreset::NextStep, 1), batch(&course("waypoint"), 1, Autoreset::NextStep, 1));
        let start = prompt.observations();
        assert_eq!(late.observations(), start);
        let reported: Vec<_> = (0..6).map(|_| prompt.step(&actions(1)).expect("goes on").observations).collect();
        let reported_late: Vec<_> = (0..6).map(|_| late.step(&actions(1)).expect("goes on").observations).collect();
        assert_eq!(reported_late[..2], [start.clone(), start]);
        assert_eq!(reported_late[2..], reported[..4]);
    }

    #[test]
    fn courses_that_cannot_be_are_refused_with_file_and_line() {
        for (name, from, to, parts) in [
            ("waypoint", "distance_m: [3, 6]", "distance_m: [6, 3]", ["line ", "[6, 3]"]),
            ("waypoint", "distance_m: [3, 6]", "distance_m: [0.3, 6]", ["line ", "more than 0.4"]),
            ("convoy_follower", "start_gap_m: [2, 4]", "start_gap_m: [1, 4]", ["[1, 4]", "more than 1.2"]),
            ("convoy_follower", "start_gap_m: [2, 4]", "start_gap_m: [2, 14]", ["[2, 14]", "less than 10"]),
            (
                "waypoint_seen",
                "camera: learning_camera",
                "camera: backward",
                ["no camera 'backward'", "learning_camera"],
            ),
            ("waypoint_seen", "camera: learning_camera", "camera: ex1_camera", ["bayer_rggb16", "mono8 or rgb8"]),
            ("waypoint", "control_s: 0.05", "control_s: 0.055", ["line 4: control_s: value 0.055", "of 0.05 s"]),
            (
                "waypoint",
                "heartbeat_s: 0.05",
                "heartbeat_s: 0.049",
                ["line 6: heartbeat_s: value 0.049", "steps of 0.01 s"],
            ),
            ("waypoint", "heartbeat_s: 0.05", "heartbeat_s: 0.5", ["heartbeat_s: value 0.5", "for rovers of"]),
            ("waypoint", "  waypoint:", "  way:", ["line ", "way"]),
            ("obstacle_field", "low: 1.58", "low: -1", ["line ", "0.1 to 30"]),
            ("obstacle_field", "soil/rigid.yaml", "soil/granite.yaml", ["granite.yaml", "cannot be read"]),
            (
                "convoy_follower",
                "leader: leader",
                "leader: nobody",
                ["task.follow.leader: 'nobody' is no rover", "leader, follower"],
            ),
            ("dig", "window: pit", "window: hole", ["task.dig.window: 'hole' is no granular window", "it has pit"]),
            (
                "dig",
                "arm: front_arm",
                "arm: front_drum",
                ["task.dig.arm: 'front_drum' is no joint", "front_arm, rear_arm"],
            ),
            ("dig", "drum: front_drum", "drum: rear_arm", ["servo by rate", "front_drum, rear_drum"]),
            ("dig", "arm_deg: [-18, 30]", "arm_deg: [-40, 30]", ["task.dig.arm_deg: [-40, 30]", "-30.0 to 95.0"]),
            ("dig", "back_m: [0, 0.1]", "back_m: [0.2, 0.1]", ["line ", "0 to 10"]),
            ("dig", "back_m: [0, 0.1]", "back_m: [0, 0.4]", ["task.dig.window: 'pit'", "too near to its sides"]),
        ] {
            let reported = changed(name, from, to).expect_err(to).to_string();
            assert!(parts.iter().all(|part| reported.contains(part)), "{to}: {reported}");
            let has_line = reported.contains(": line ") || reported.contains("error: line ");
            assert!(has_line || reported.contains("cannot be read"), "no line: {reported}");
        }
    }

    #[test]
    fn every_course_begins_and_goes_on() {
        for (name, rows) in [("slope_climb", 1), ("convoy_follower", 1), ("two_waypoints", 2)] {
            let course = course(name);
            assert_eq!(course.learners().len(), rows, "{name}");
            let mut batch = batch(&course, 1, Autoreset::NextStep, 1);
            let first = batch.observations();
            assert_eq!(first.len(), rows * course.spec().task.observation_names().len(), "{name}");
            let step = batch.step(&actions(rows)).expect(name);
            assert!(step.observations.iter().all(|value| value.is_finite()) && step.observations != first, "{name}");
        }
    }
}
