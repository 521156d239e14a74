//! Ground, its sites and rocks.

mod common;
mod landscape;
mod relief;
mod site;
