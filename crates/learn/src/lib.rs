//! Environments for reinforcement learning, many of them stepped at once. A course ([`Course`]) is a scenario with a
//! task (a way to go, rocks to get around, a hill to climb, a rover to follow, soil to dig) and with quantities that
//! are drawn anew for each episode. An [`Environment`] is one world on a course: it takes actions, gives observations
//! and rewards, and reports when an episode ends. A [`Batch`] steps any number of them over the cores.
//!
//! Every draw is a function of the environment's seed, the drawn quantity and the number of the episode: an
//! environment behaves the same alone and among others, on any number of threads.
//!
//! Actions and observations are short rows of numbers, which [`Task`] lists; if the course names a camera, its image is
//! an observation too.

mod agent;
mod batch;
mod cameras;
mod course;
mod digger;
mod distribution;
mod draws;
mod environment;
mod field;
mod randomise;
mod task;

pub use batch::{Autoreset, Batch, ENVIRONMENTS_MAX, Step, THREADS_MAX};
pub use cameras::ImageShape;
pub use course::{Course, CourseSpec};
pub use distribution::{Distribution, NormalSpec, RangeSpec, unfit};
pub use environment::{Environment, Observed};
pub use randomise::{ObservationNoiseSpec, RandomiseSpec, RocksSpec};
pub use task::{DigSpec, EpisodeEnd, FollowSpec, ObstacleFieldSpec, SlopeClimbSpec, Task, WaypointSpec};

/// Why an environment cannot be made or stepped.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// A file is refused.
    #[error(transparent)]
    Input(#[from] selene_base::InputError),
    /// The scenario is refused.
    #[error(transparent)]
    Scenario(#[from] selene_sim::ScenarioError),
    /// A world cannot be made or stepped.
    #[error("environment of seed {seed}, episode {episode}: {source}")]
    World {
        /// Seed of the environment.
        seed: u64,
        /// Number of its episode, from 0.
        episode: u64,
        /// Why.
        source: Box<selene_sim::WorldError>,
    },
    /// A drawn soil is not valid.
    #[error(transparent)]
    Soil(#[from] selene_soil::SoilError),
    /// A camera's image cannot be made.
    #[error(transparent)]
    Observe(#[from] selene_observe::ObserveError),
    /// An action cannot be taken.
    #[error("action {row}: {part} is {value}; must be -1 to 1")]
    Action {
        /// Row of the action, that is index of the learner over all environments.
        row: usize,
        /// Name of the component.
        part: &'static str,
        /// Its value.
        value: f32,
    },
    /// The number of values is wrong.
    #[error("{what}: {count} are given; must be {wanted}")]
    Count {
        /// Name of the values.
        what: &'static str,
        /// Number that is given.
        count: usize,
        /// Number that is needed.
        wanted: usize,
    },
    /// The number of environments or threads is out of range.
    #[error("{what}: {count}; must be 1 to {max}, because each {needs}")]
    OutOfRange {
        /// Name of the number.
        what: &'static str,
        /// Number that is given.
        count: usize,
        /// Largest number that is allowed.
        max: usize,
        /// What each of them needs.
        needs: &'static str,
    },
    /// An episode has ended.
    #[error("environment {index} has ended its episode: reset it before it is stepped")]
    Ended {
        /// Index of the environment.
        index: usize,
    },
    /// Threads cannot be started.
    #[error("threads: cannot be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}
