//! Published studies made again with Selene's own rovers, ground and sensors: one module a study. `selene study`
//! runs them and sets their figures beside the paper's; tests hold small ones of them to what is asked.

pub mod convoy;
pub mod heading;
pub mod scaling;

/// Why a study could not be made.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
