//! Granular matter as single grains (DEM, Cundall and Strack 1979): elastic spheres with contacts by Hertz's and
//! Mindlin's laws, Coulomb friction, and optional rolling resistance (`law`). It is meant for a few thousand grains on a
//! CPU or a million on a GPU (`kernel`), and for comparison with the continuum of `selene_crm`.
//!
//! [`Model`] holds what does not change, [`State`] everything that determines the future: spheres and the memory of
//! their contacts. [`Scratch`] is memory that can be rebuilt at any time. [`step()`] gives the same bytes for any
//! number of threads: the force of a pair is computed once, and each sphere adds up its forces in the order of ids.
//!
//! Rigid bodies are those of `selene_crm` and interact both ways: a body gains the momentum that grains and walls lose.
//!
//! Frame: the origin is at the low corner of the container and the axes are the container's. Units are SI.

mod candidate;
mod container;
mod device;
mod error;
pub mod kernel;
mod law;
mod ledgers;
mod model;
mod neighbours;
pub mod rig;
mod scratch;
mod spec;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use container::Container;
pub use device::{DeviceSpheres, SpheresDevice};
pub use error::SpheresError;
pub use law::Memory;
pub use model::Model;
pub use scratch::Scratch;
pub use spec::SpheresSpec;
pub use state::{Filling, Partner, Sphere, SphereContact, State};
pub use step::{StepResults, divide, step};
