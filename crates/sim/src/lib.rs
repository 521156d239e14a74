//! The simulated world: a typed scenario, and `World::heartbeat`, which steps it in
//! a fixed, readable order. No ROS, no wall clock, no threads of its own: the same
//! scenario, seed and commands give the same bytes.

mod command;
mod hash;
mod loose;
mod route;
mod scenario;
mod slope;
mod state;
mod world;

pub use command::{Command, Driver};
pub use hash::StateHash;
pub use loose::{LooseFromSiteSpec, LooseRockSpec};
pub use route::{RouteFollower, RouteSpec};
pub use scenario::{LoadOptions, Scenario, ScenarioError, ScenarioSpec};
pub use slope::{Climb, SlopeError, SlopeRig};
pub use state::{RockPose, WheelTruth, WorldState};
pub use world::{Notices, World, WorldError};
