//! A rover from URDF and YAML: its tree of links ([`RoverModel`]), its state and
//! multibody step ([`Rover`]), its drives ([`drive`]) and its steering geometry
//! ([`steering`]). Forces of the ground come from outside as wrenches on the wheels
//! and the base; this crate knows no soil.

mod articulation;
mod body;
pub mod contact;
pub mod drive;
mod error;
mod mesh;
mod model;
mod rover;
mod shape;
mod spatial;
mod spec;
pub mod steering;
mod tree;
mod urdf;

pub use error::VehicleError;
pub use model::{RoverModel, Wheel, read_urdf};
pub use rover::{Forces, JointState, Rover, Targets, WheelMotion};
pub use shape::{Collision, Inertial, Joint, JointKind, Link, Shape, Visual};
pub use spec::{DriveSpec, LimitsSpec, RoverSpec, SteeringSpec, SuspensionSpec, WheelSpec};
pub use steering::{WheelTargets, wheel_targets};
