//! The same scenario and seed give the same bytes: for any number of threads, and
//! whether the world is stepped alone or by nodes that exchange messages.

mod hash;
mod nodes;
