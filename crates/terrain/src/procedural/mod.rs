//! Generated ground: laws and positions of craters and rocks, wear, and the refinement of a level from the coarser one.

pub(crate) mod beyond;
pub(crate) mod cell;
pub(crate) mod crater;
pub(crate) mod crater_age;
pub(crate) mod crater_field;
pub(crate) mod crater_law;
pub(crate) mod crater_profile;
pub(crate) mod landform;
pub(crate) mod landscape;
#[cfg(test)]
pub(crate) mod law_fit;
pub(crate) mod noise;
pub(crate) mod patch;
pub(crate) mod rock_field;
pub(crate) mod rock_law;
pub(crate) mod rocks_in_view;
pub(crate) mod start;
pub(crate) mod tile_store;
