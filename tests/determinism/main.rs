//! The same scenario and seed give the same bytes: for any number of threads, whether the world is stepped
//! alone or by nodes that exchange messages, and in one run or in two.

mod entities;
mod hash;
mod nodes;
mod resume;
mod shared;
mod sharing;
