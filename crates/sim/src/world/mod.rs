//! The simulated world: what does not change of it (`Model`), what does (`State`), how one
//! heartbeat leads from a state to the next (`step`), and what is told of it (`Snapshot`).

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
pub use entity::{AllowedFolders, Entity, EntityId, Spawn, SpawnPlace};
pub use exchange::{Part, Share};
pub use model::{Model, ObjectKind, RoverKind};
pub use place::Placement;
pub use reset::ResetScope;
pub use resume::ResumeError;
pub use settings::{Settings, SettingsError};
pub use snapshot::{LinkLoad, ObjectPose, RockPose, RoverSnapshot, Snapshot, WheelTruth};
pub use spawn::SpawnError;
pub use state::{Notices, RoverEntityState, State};
pub use step::{Inputs, Scratch, WorldError};
pub use world::{NoSuchRover, StartError, World};
