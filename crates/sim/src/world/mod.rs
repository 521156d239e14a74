//! The simulated world: the part that does not change (`Model`), the part that does (`State`), the
//! step from one heartbeat to the next (`step`), and the snapshot that observers get (`Snapshot`).

mod driven;
mod dust;
mod entity;
mod exchange;
mod granular;
mod group;
mod inspect;
mod model;
mod names;
mod place;
mod prefetch;
mod remember;
mod reset;
mod resume;
mod settings;
mod snapshot;
mod spawn;
mod state;
mod step;
#[expect(clippy::module_inception, reason = "a world that runs, of the parts beside it")]
mod world;

pub use driven::DrivenGround;
pub use dust::DustState;
pub use entity::{AllowedFolders, Entity, EntityId, Spawn, SpawnPlace, Spawned};
pub use exchange::{Part, ProcessShare, RoverPart, RoverReadings};
pub use model::{Model, ObjectKind, RoverKind};
pub use place::Placement;
pub use reset::ResetScope;
pub use resume::ResumeError;
pub use settings::{Settings, SettingsError};
pub use snapshot::{LinkLoad, ObjectPose, RockPose, RoverSnapshot, Snapshot, WheelTruth};
pub use spawn::{SpawnError, Unread};
pub use state::{OutOfRangeCounts, RoverEntityState, State};
pub use step::{Inputs, Scratch, WorldError};
pub use world::{StartError, UnknownRover, World};
