//! Driving a rover: commands, the route follower, and the targets of its joints.

mod actuator;
mod command;
mod driver;
mod route;
mod set_point;
mod trajectory;

pub use actuator::{Actuator, Role};
pub use command::{Command, CommandError, JointCommand, LampCommand};
pub use driver::{Driver, DriverState};
pub use route::{RouteFollower, RouteProgress, RouteSpec};
pub use trajectory::{JointTrajectory, TrajectoryPoint};
