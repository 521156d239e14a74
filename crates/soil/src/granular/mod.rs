//! Granular windows: areas in which the height field becomes points (`selene_crm`) when a body
//! enters, and the points become a height field again when they sleep.
//!
//! - **Ledger.** Each post of a window and each point owns a whole number of milligrams. Only dust
//!   changes their sum: it is compared at each heartbeat.
//! - **To points.** The soil above a cell of 2 × 2 points is shared among them, layer by layer,
//!   with the stress of its weight; what is too shallow for a point stays with the posts.
//! - **Surface.** Every 20 ms posts rise and sink as the points' tops have since they woke:
//!   relief that is finer than a cell stays, and nothing changes where nothing moved. These are
//!   ordinary edits of the terrain; they clear the soil memory of the edited posts.
//! - **To the field.** When no body is inside and all points have been slow for half a second,
//!   each gives its mass to the four posts around it. Heights stay as last written, so that a
//!   post of loosened soil has less mass below it: the mass stores its density.
//! - **Grains.** A snapshot has position and number of the points that are loose and open to the sky (`loose`), from
//!   which sensors draw grains.
//! - **Dust.** Fast soil at the surface throws it (`stirred`).
//! - **Device.** Points and grains are stepped on the CPU or on a device (`solver`). Grains come back from it each
//!   heartbeat; points stay there until they sleep, and the state says so (`place`).
//! - **Drums** are thin shells that soil can be in. They continue from their poses at the last exchange.
//! - **Single grains** (DEM) take the place of points in a window with the key `dem` (`bed`).
//!
//! A window's place is fixed by its scenario. Its walls and floor hold the soil as if it stuck to
//! the soil beyond; a frictionless lid far above stops soil that is thrown up.

mod bed;
mod key;
mod loose;
mod place;
mod shells;
mod solver;
mod spec;
mod state;
mod stirred;
mod window;

pub use bed::DemSpec;
pub use key::CrmKey;
pub use loose::{LoosePoint, LooseSoil};
pub use solver::{GranularDevice, SoilSolver};
pub use spec::{GrainsSpec, WindowSpec};
pub use state::{EndOfHeartbeat, WindowState};
pub use stirred::StirredSoil;
pub use window::{GranularError, GranularWindow};
