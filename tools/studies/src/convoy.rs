//! Study of a convoy in which three trucks follow a leader, each knowing only the truck ahead (A. Young et al.,
//! Enabling Artificial Intelligence Studies in Off-Road Mobility Through Physics-Based Simulation of Multiagent
//! Scenarios, 2022, §4.2; "MULTI"). On each course (`course`) the leader follows a planned path (`planner`); the
//! followers use the plain controller (`follower`) or a learned policy with a camera (`policy`) and a memory (`trail`).
//! The results are the paper's six metrics (`metrics`) and the obstacles that each truck hits, on rigid ground and on
//! hard and soft soil by SCM. The policy is trained in the same worlds (`practice`) by imitation of a
//! teacher (`teacher`), then by PPO.
//!
//! Differences from the paper: all four trucks are in one world, obstacles are fixed cylinders that stop a truck, the
//! leader is no faster than 5 m/s, and positions are without error.

mod cameras;
mod course;
mod drive;
mod follower;
mod metrics;
mod planner;
mod policy;
mod polyline;
mod practice;
mod report;
mod scenario;
mod teacher;
mod trail;
mod world;

pub use course::{ConvoyCourse, CourseObstacle};
pub use drive::{ConvoyResult, Follower, drive};
pub use follower::{FollowerInput, FollowerOutput};
pub use metrics::{Deviations, Track, deviations};
pub use policy::{IMAGE_PX, Policy};
pub use polyline::{PathPoint, Polyline};
pub use practice::Practice;
pub use report::{TruckResult, chart, csv, judge, table};
pub use scenario::scenario;
pub use teacher::Lesson;
pub use trail::NUMBERS;

/// Number of trucks behind the leader.
pub const FOLLOWERS: usize = 3;
/// Number of courses in the paper.
pub const COURSES: u64 = 128;

/// The ground of a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CourseGround {
    /// Rigid ground.
    Rigid,
    /// Hard soil, silt-like.
    Hard,
    /// Soft soil, snow-like.
    Soft,
}

impl CourseGround {
    /// All terrains of the paper.
    pub const ALL: [Self; 3] = [Self::Rigid, Self::Hard, Self::Soft];

    /// Name of the terrain.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }

    /// Name of its file in `config/soil`.
    pub(crate) fn soil(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Hard => "silt_hard",
            Self::Soft => "soft",
        }
    }
}
