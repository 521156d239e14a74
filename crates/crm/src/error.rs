//! Errors of the soil model: each gives the refused value and what is allowed.

/// Why a model, a filling or a step is refused. A refused step leaves the state unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CrmError {
    /// A soil's parameter is out of range.
    #[error("granular soil: {0}")]
    Soil(String),
    /// The grid is not valid.
    #[error("grid of granular soil: {0}")]
    Grid(String),
    /// The region to fill with points is not valid.
    #[error("filling with soil: {0}")]
    Filling(String),
    /// A setting of a test rig is not valid.
    #[error("test rig: {0}")]
    Rig(String),
    /// A body's shape or motion is not valid.
    #[error("body {index} in granular soil: {what}")]
    Body {
        /// The body's position in the list.
        index: usize,
        /// The value and what is allowed.
        what: String,
    },
    /// The duration of the step is not finite, or not above zero, s.
    #[error("step of granular soil is {0} s: must be more than 0")]
    Duration(f64),
    /// The step needs more substeps than are allowed.
    #[error("step of {duration_s} s needs {needed} substeps of at most {limit_s} s; {allowed} are allowed")]
    Substeps {
        /// The duration that was asked for, s.
        duration_s: f64,
        /// Number of substeps that it needs.
        needed: f64,
        /// The longest stable substep, s.
        limit_s: f64,
        /// The most substeps allowed.
        allowed: u32,
    },
    /// A value of a point is not finite.
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
        /// Its position, m in the grid's frame.
        position_m: [f64; 3],
    },
    /// Points became too fast for a substep.
    #[error("granular soil reached {speed_m_s} m/s: more than a cell in a substep of {substep_s} s")]
    Unstable {
        /// Speed of the fastest point, m/s.
        speed_m_s: f64,
        /// Length of the substep, s.
        substep_s: f64,
    },
    /// The device that advances the soil failed, or has too little room.
    #[error("granular soil on {0}")]
    Device(String),
}
