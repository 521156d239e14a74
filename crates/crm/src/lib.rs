//! Granular soil as a continuum (CRM): explicit MLS-MPM (Hu et al. 2018) with quadratic
//! B-splines and affine velocities (APIC, Jiang et al. 2015). Points carry mass, velocity
//! and stress; a grid of nodes, emptied at each substep, carries momentum between them.
//!
//! The soil is elastic in small strains (Jaumann rate) and yields by μ(I) (`law`): friction,
//! cohesion without tension, no dilatancy, no compaction. Where it opens, it bears no stress.
//! Points are pieces of soil and not grains.
//!
//! [`Model`] holds what does not change, [`State`] everything that determines the future, and [`Scratch`] memory that
//! can be rebuilt at any time. [`step()`] gives the same bytes for any number of threads: points are sorted into blocks
//! of 4³ nodes, each block adds its own points in their order, and each node adds the sums of its blocks in their
//! order.
//!
//! Bodies are either solids, whose contact is resolved at the nodes inside of them, or thin shells (`shells`) with soil
//! on both sides.
//!
//! [`DeviceSoil`] is the port of a GPU, which runs the twin of the solver in `kernel`.
//!
//! Frame: the origin is at the low corner of the grid and the axes are the grid's. Units are SI.

mod block;
mod body;
mod device;
mod drum;
mod error;
mod grid;
pub mod kernel;
mod lanes;
mod law;
mod model;
mod motion;
mod nodes;
mod passes;
mod points;
mod reading;
pub mod rig;
mod scratch;
mod shape;
mod shells;
mod spec;
mod state;
mod stencil;
mod step;
mod substep;
mod surface;
mod to_points;
mod to_tile;
mod wheel;

pub use body::{Body, Reaction};
pub use device::{DeviceSoil, SoilDevice};
pub use drum::Drum;
pub use error::CrmError;
pub use grid::{Edges, Grid, Wall};
pub use model::Model;
pub use points::Points;
pub use reading::{LAYERS, PlacedDrum, SoilPiece, Totals, highest, totals};
pub use scratch::Scratch;
pub use shape::BodyShape;
pub use spec::{CrmSpec, Preset};
pub use state::{Filling, Point, State};
pub use step::{SORTED_CELLS, StepResults, divide, step};
pub use substep::next_substep;
pub use surface::tops_m;
pub use wheel::Wheel;
