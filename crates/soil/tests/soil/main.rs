//! Laws of soil under wheels and bodies.

mod absurd;
mod data;
mod rigid;
mod slip_map;
mod soil_map;
