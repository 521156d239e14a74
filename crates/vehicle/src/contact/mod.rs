//! Contact of wheels, bodies and loose rocks with rocks, obstacles, hard ground and one another. Narrow
//! phase by GJK and EPA (parry3d-f64) on exact convex shapes, forces by a stiff, damped
//! penalty with Coulomb friction that remembers its stretch (`law.rs`). Soil under
//! wheels and rocks is not treated here.
//!
//! Every force acts on two bodies, equal and opposite; pairs are processed in the order of the
//! given rovers, so that the same state gives the same bytes.

mod contact_body;
mod floor;
mod group;
mod law;
mod loose;
mod memory;
mod obstacle;
mod shapes;
mod solid;

pub use contact_body::{ContactBody, Mobility};
pub use floor::{FloorMemory, FloorPoints};
pub use group::{ContactForces, ContactGroup, ContactRover, ContactScratch};
pub use law::Grip;
pub use loose::{LooseRock, LooseRockState, RockInertia};
pub use memory::{Collider, ContactMemory};
pub use obstacle::Obstacle;
pub use shapes::{ContactShapes, RockSolids};
