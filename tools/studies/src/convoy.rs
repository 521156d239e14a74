//! A convoy in which a leader is followed by three trucks that know only the one ahead (A. Young et al., Enabling
//! Artificial Intelligence Studies in Off-Road Mobility Through Physics-Based Simulation of Multiagent Scenarios, 2022,
//! §4.2; "MULTI"). On each course (`course`) a path is planned (`planner`) that the leader follows; the followers are
//! the plain controller (`follower`) or a learned policy with a camera (`policy`). Judged are the paper's six metrics
//! (`metrics`) and the obstacles that each truck hits, on rigid ground and on hard and soft soil by SCM.
//!
//! Other than in the paper all four trucks are in one world, obstacles are cylinders that stand fast and stop who drives
//! into them, the leader is no faster than 5 m/s, and positions are without error.

mod course;
mod drive;
mod eyes;
mod follower;
mod metrics;
mod planner;
mod policy;
mod polyline;
mod report;

pub use course::{ConvoyCourse, Obstacle};
pub use drive::{Driven, Follower, drive, scenario};
pub use follower::{Action, Seen};
pub use metrics::{Deviations, Track, deviations};
pub use policy::{IMAGE_PX, Policy};
pub use polyline::{PathPoint, Polyline};
pub use report::{Judged, chart, csv, judge, table};

/// Trucks behind the leader.
pub const FOLLOWERS: usize = 3;
/// Courses of the paper.
pub const COURSES: u64 = 128;

/// What is driven on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Terrain {
    /// Rigid ground.
    Rigid,
    /// Hard soil, silt-like.
    Hard,
    /// Soft soil, snow-like.
    Soft,
}

impl Terrain {
    /// The paper's.
    pub const ALL: [Self; 3] = [Self::Rigid, Self::Hard, Self::Soft];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }

    /// Its file of `config/soil`.
    pub(crate) fn soil(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Hard => "silt_hard",
            Self::Soft => "soft",
        }
    }
}
