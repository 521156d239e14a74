//! The simulated world: a typed scenario, the part that does not change (`Model`), the part that does
//! (`State`), and the step from one heartbeat to the next. No ROS, no wall clock: the same
//! scenario, seed and commands give the same bytes, for any number of threads.

mod checkpoint;
mod driving;
mod fingerprint;
mod scenario;
mod slope;
mod wheels;
mod world;

pub use checkpoint::{Checkpoint, CheckpointError, Recent, STATE_FILE};
pub use driving::{
    Actuator, Command, CommandError, Driver, DriverState, JointCommand, JointTrajectory, LampCommand, Role,
    RouteFollower, RouteProgress, RouteSpec, TrajectoryPoint,
};
pub use fingerprint::{Difference, Fingerprint};
pub use scenario::{
    AwaitedTopic, CrumbsSpec, LampLevelSpec, LoadOptions, LockstepSpec, LooseFromSiteSpec, LooseRockSetup,
    LooseRockSpec, MotionSpec, Mounted, MountedSensor, ObjectSetup, ObjectSpec, PebblesSpec, RoverEntrySpec,
    RoverSetup, Scenario, ScenarioError, ScenarioSpec, SingleRoverSpec, SkySpec, Start, StartOptions, StartSpec,
    StereoError, defaults, load_rover,
};
pub use selene_soil::{DustParcel, GrainsSpec, GranularWindow, LoosePoint, LooseSoil};
pub use slope::{Climb, SlopeError, SlopeRig};
pub use wheels::{press_wheels, wheel_shapes};
pub use world::{
    AllowedFolders, DrivenGround, DustState, Entity, EntityId, Inputs, LinkLoad, Model, ObjectKind, ObjectPose,
    OutOfRangeCounts, Part, Placement, ProcessShare, ResetScope, ResumeError, RockPose, RoverEntityState, RoverKind,
    RoverPart, RoverReadings, RoverSnapshot, Scratch, Settings, SettingsError, Snapshot, Spawn, SpawnError, SpawnPlace,
    Spawned, StartError, State, UnknownRover, Unread, WheelTruth, World, WorldError,
};
