//! What is refused, with its value and what is allowed.

/// Why a model, a filling or a step is refused. A state that was to be stepped is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CrmError {
    /// A soil's parameter is out of range.
    #[error("granular soil: {0}")]
    Soil(String),
    /// The grid cannot be.
    #[error("grid of granular soil: {0}")]
    Grid(String),
    /// What is to be filled with points cannot be.
    #[error("filling with soil: {0}")]
    Filling(String),
    /// A body's shape or motion cannot be.
    #[error("body {index} in granular soil: {what}")]
    Body {
        /// Its place in the list.
        index: usize,
        /// Value and what is allowed.
        what: String,
    },
    /// The time to step is no number, or not above zero.
    #[error("step of granular soil is {0} s: must be more than 0")]
    Duration(f64),
    /// The step is longer than can be sub-stepped.
    #[error("step of {duration_s} s needs {needed} substeps of at most {limit_s} s; {allowed} are allowed")]
    Substeps {
        /// What was asked.
        duration_s: f64,
        /// Substeps that it takes.
        needed: f64,
        /// The longest stable substep, s.
        limit_s: f64,
        /// Substeps that are allowed.
        allowed: u32,
    },
    /// A point has a value that is no number.
    #[error("point {id} of granular soil has a value that is no finite number")]
    NotFinite {
        /// The point's number.
        id: u32,
    },
    /// A point is outside of the grid.
    #[error("point {id} of granular soil is at {position_m:?} m, outside of the grid")]
    Outside {
        /// The point's number.
        id: u32,
        /// Where it is.
        position_m: [f64; 3],
    },
    /// Points became faster than a substep can carry them.
    #[error("granular soil reached {speed_m_s} m/s: more than a cell in a substep of {substep_s} s")]
    Unstable {
        /// The fastest point.
        speed_m_s: f64,
        /// The substep.
        substep_s: f64,
    },
}
