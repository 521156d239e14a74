//! The same scenario and seed give the same bytes: for any number of threads, whether the world is stepped
//! alone or by nodes that exchange messages, in one run or in two, and with a client that is waited for.

mod closed_loop;
mod control;
mod entities;
mod features;
mod hash;
mod nodes;
mod resume;
mod retold;
mod rows;
mod settings;
mod shared;
mod sharing;
mod spawning;
