//! Worlds to learn in: many of them, stepped at once. A course ([`Course`]) is a scenario with a task (a way to
//! go, rocks to get around, a hill to climb, a rover to follow, soil to dig) and with what is drawn anew for each
//! episode. An [`Environment`] is one world on a course: it takes actions, gives observations and rewards, and tells when an
//! episode ends. A [`Batch`] steps any number of them over the cores.
//!
//! Everything that is drawn is a function of (the environment's seed, what is drawn, the number of the episode): one
//! environment goes the same way alone and among others, on any number of threads.
//!
//! Actions and observations are short rows of numbers, which [`Task`] lists, and, where the course names a camera, its image.

mod agent;
mod batch;
mod course;
mod digger;
mod distribution;
mod draws;
mod environment;
mod field;
mod randomise;
mod sight;
mod task;

pub use batch::{Autoreset, Batch, Step};
pub use course::{Course, CourseSpec};
pub use distribution::{Distribution, NormalSpec, RangeSpec, unfit};
pub use environment::{Environment, Observed};
pub use randomise::{NoiseSpec, RandomiseSpec, RocksSpec};
pub use sight::ImageShape;
pub use task::{DigSpec, End, FollowSpec, ObstacleFieldSpec, SlopeClimbSpec, Task, WaypointSpec};

/// Why an environment cannot be made, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// A file is refused.
    #[error(transparent)]
    Input(#[from] selene_base::InputError),
    /// The scenario is refused.
    #[error(transparent)]
    Scenario(#[from] selene_sim::ScenarioError),
    /// A world cannot begin or go on.
    #[error("environment of seed {seed}, episode {episode}: {source}")]
    World {
        /// Seed of the environment.
        seed: u64,
        /// Number of its episode, from 0.
        episode: u64,
        /// Why.
        source: Box<selene_sim::WorldError>,
    },
    /// A drawn soil is none.
    #[error(transparent)]
    Soil(#[from] selene_soil::SoilError),
    /// A camera's image cannot be made.
    #[error(transparent)]
    Observe(#[from] selene_observe::ObserveError),
    /// An action cannot be taken.
    #[error("action {row}: {part} is {value}; must be -1 to 1")]
    Action {
        /// Which rover's, counted over all environments.
        row: usize,
        /// Which part of it.
        part: &'static str,
        /// Its value.
        value: f32,
    },
    /// There are not as many numbers as asked for.
    #[error("{what}: {count} are given; must be {wanted}")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many are given.
        count: usize,
        /// How many there must be.
        wanted: usize,
    },
    /// An episode has ended.
    #[error("environment {index} has ended its episode: reset it before it is stepped")]
    Ended {
        /// Which.
        index: usize,
    },
    /// Threads cannot be started.
    #[error("threads: cannot be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}
