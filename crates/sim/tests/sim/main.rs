//! A world of rovers: its state, what changes it, and what comes back from files.

mod checkpoint;
mod common;
mod driver;
mod dust;
mod exchange;
mod going_back;
mod granular;
mod many_rovers;
mod place;
mod spawn;
mod state;
