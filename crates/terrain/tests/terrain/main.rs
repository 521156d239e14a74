//! Tests of the ground, its sites and rocks.

mod common;
mod landscape;
mod relief;
mod site;
