//! The simulated world: a typed scenario, and `World::heartbeat`, which steps it in
//! a fixed, readable order. No ROS, no wall clock, no threads of its own: the same
//! scenario, seed and commands give the same bytes.

mod actuator;
mod command;
mod driver;
mod hash;
mod likeness;
mod loose;
mod order;
mod outlook;
mod route;
mod ruts_file;
mod saved_ruts;
mod scenario;
mod sensors;
mod sky;
mod slope;
mod state;
mod trajectory;
mod world;

pub use actuator::{Actuator, Role};
pub use command::{Command, CommandError, JointCommand, LampCommand};
pub use driver::Driver;
pub use hash::StateHash;
pub use loose::{LooseFromSiteSpec, LooseRockSpec};
pub use route::{RouteFollower, RouteSpec};
pub use saved_ruts::{RutsError, SavedRuts};
pub use scenario::{LampLevelSpec, LoadOptions, Scenario, ScenarioError, ScenarioSpec};
pub use sky::SkySpec;
pub use slope::{Climb, SlopeError, SlopeRig};
pub use state::{RockPose, WheelTruth, WorldState};
pub use trajectory::{JointTrajectory, TrajectoryPoint};
pub use world::{Notices, World, WorldError};
