//! Types and functions that every crate shares: simulated time, named random streams, frames and
//! poses, and the reading of input files, whose errors name the file, the line and the value.
//!
//! Nothing here reads the wall clock or keeps process-wide state, except which files are compiled into the program.

pub mod compiled;
pub mod frames;
pub mod input;
mod one_of;
pub mod output;
mod phase;
pub mod random;
mod table;
mod time;

pub use frames::{Pose, Twist, Wrench};
pub use input::InputError;
pub use one_of::{NotOneOf, one_of};
pub use output::OutputError;
pub use phase::lambert_phase;
pub use table::Table;
pub use time::SimTime;

/// Radius of the sphere that lunar heights and coordinates refer to, m (IAU 2015).
pub const MOON_RADIUS_M: f64 = 1_737_400.0;
