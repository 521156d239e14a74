//! Contact of wheels, bodies and loose rocks with rocks and hard ground. Narrow phase
//! by GJK and EPA (parry3d-f64) on exact convex shapes, forces by a stiff, damped
//! penalty with Coulomb friction that remembers its stretch (`law.rs`). Soil under
//! wheels and rocks is not treated here.
//!
//! Every force acts on two bodies, equal and opposite; pairs are taken in a fixed
//! order, so that the same state gives the same bytes.

mod body;
mod field;
mod floor;
mod law;
mod loose;
mod solid;

pub use body::{Body, Mobility};
pub use field::{ContactConditions, ContactForces, ContactState, forces};
pub use floor::{Floor, floor_points};
pub use law::Grip;
pub use loose::{LooseRock, LooseRocks};
