//! Measured ground, sampled from elevation files and pictures.

pub(crate) mod data;
pub(crate) mod extend;
pub(crate) mod raster;
