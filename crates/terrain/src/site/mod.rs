//! A site's YAML file and its checks.

pub(crate) mod check;
pub(crate) mod reflectance;
pub(crate) mod spec;
pub(crate) mod surface;
