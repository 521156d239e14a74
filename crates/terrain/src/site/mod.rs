//! A site's file.

pub(crate) mod check;
pub(crate) mod reflectance;
pub(crate) mod spec;
pub(crate) mod surface;
