//! Laws of soil under wheels and bodies.

mod absurd;
mod bulldozing;
mod data;
mod rigid;
mod slip_map;
mod soil_map;
