//! Tests of a world of rovers: its state, how it changes, and how it is saved and loaded.

mod checkpoint;
mod common;
mod driver;
mod dust;
mod exchange;
mod going_back;
mod granular;
mod many_rovers;
mod place;
mod soil_device;
mod spawn;
mod state;
