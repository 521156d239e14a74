//! Granular matter as grains (DEM, Cundall and Strack 1979): elastic spheres that touch by Hertz's and Mindlin's laws,
//! slide by Coulomb's, and resist rolling where that is asked for (`law`). It is for a few thousand grains, and to hold
//! the continuum of `selene_crm` against.
//!
//! [`Model`] is what does not change, [`State`] what can change the future: spheres, and what contacts remember.
//! [`Scratch`] is memory that can be rebuilt at any time. [`step()`] gives the same bytes for any number of threads: the
//! force of a pair is computed once, and each sphere adds up its own in the order of numbers.
//!
//! Rigid bodies are those of `selene_crm`, met both ways: what a body gets, grains and walls have lost.
//!
//! Frame: the origin is the low corner of the container, axes are the container's. Units are SI.

mod candidate;
mod container;
mod error;
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
pub use error::SpheresError;
pub use law::Memory;
pub use model::Model;
pub use scratch::Scratch;
pub use spec::SpheresSpec;
pub use state::{Contact, Filling, Partner, Sphere, State};
pub use step::{Outcome, step};
