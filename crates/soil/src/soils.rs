//! Which soil lies where.

use crate::law::Law;

/// The soils of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Soils {
    law: Law,
}

impl Soils {
    /// One soil everywhere.
    #[must_use]
    pub fn uniform(law: Law) -> Self {
        Self { law }
    }

    /// The law at a place in the map frame, m.
    #[must_use]
    pub fn at(&self, _x_m: f64, _y_m: f64) -> &Law {
        &self.law
    }
}
