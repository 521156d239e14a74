//! Published studies repeated with Selene's own rovers, ground and sensors: one module per study. `selene study` runs
//! them and compares their results with the paper's; tests check small versions of them.

pub mod convoy;
pub mod heading;
pub mod scaling;

/// Why a study failed.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
