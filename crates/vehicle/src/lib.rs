//! Models a rover from URDF and YAML: its tree of links ([`RoverModel`]), its state and
//! multibody step ([`Rover`]), its drives ([`drive`]) or its engine ([`driveline`]), its wheels' encoders
//! ([`encoder`]) and its steering geometry ([`steering`], [`ackermann`]). Forces of the
//! ground come from outside as wrenches on wheels and links; this crate knows no soil.

pub mod ackermann;
mod articulation;
mod body;
mod bounds;
mod brake;
pub mod contact;
pub mod drive;
pub mod driveline;
pub mod encoder;
mod error;
mod import;
mod mesh;
mod mimic;
mod model;
mod object;
mod packages;
mod roles;
mod rover;
mod shape;
mod spatial;
mod spec;
mod spring;
pub mod steering;
mod tree;
mod urdf;

pub use ackermann::{Ackermann, AckermannState};
pub use bounds::Bounds;
pub use brake::Brake;
pub use drive::DrivePower;
pub use driveline::{Driveline, DrivelineState};
pub use error::VehicleError;
pub use import::{Import, rover_file};
pub use model::{BucketDrum, Coupling, MountedLamp, Passive, RoverModel, Servo, Wheel, read_urdf};
pub use object::ObjectModel;
pub use packages::Packages;
pub use rover::{Forces, JointState, Rover, RoverState, Targets, WheelKinematics};
pub use shape::{Collision, Inertial, Joint, JointKind, Link, Mimic, Shape, Visual};
pub use spec::{
    AxleSpec, ConverterSpec, CouplingSpec, DriveSpec, DrivelineSpec, DrumSpec, EngineSpec, FinishSpec, FrictionSpec,
    GearboxSpec, LampSpec, LimitsSpec, PassiveSpec, RoverSpec, ServoKind, ServoSpec, SteeringSpec, SuspensionSpec,
    TyreCurveSpec, TyreDirectionSpec, TyreSpec, TyreTrailSpec, TyreTrailsSpec, WheelRole, WheelSpec,
};
pub use steering::{BodyTwist, WheelTargets, wheel_targets};
pub use urdf::{incomplete_inertias, is_xacro, robot_name};
