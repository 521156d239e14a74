//! The same scenario and seed give the same bytes: for any number of threads, with the world stepped alone or by nodes
//! that exchange messages, in one run or in two, and with a client that simulated time waits for.

mod closed_loop;
mod control;
mod entities;
mod features;
mod hash;
mod nodes;
mod replayed;
mod resume;
mod rows;
mod settings;
mod shared;
mod shared_sensors;
mod sharing;
mod spawning;
