//! Errors of the grain model: each gives the refused value and what is allowed.

use selene_crm::CrmError;

/// Why a model, a filling or a step is refused. A refused step leaves the state unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpheresError {
    /// A parameter of the grains is out of range.
    #[error("grains: {0}")]
    Grains(String),
    /// The container or gravity is not valid.
    #[error("container of grains: {0}")]
    Container(String),
    /// The region to fill with grains is not valid.
    #[error("filling with grains: {0}")]
    Filling(String),
    /// A body's shape or motion is not valid; or, in a rig, the continuum that is compared with the grains failed.
    #[error(transparent)]
    Continuum(#[from] CrmError),
    /// A grain is too large for a drum.
    #[error(
        "grain {id} of {radius_m} m is too large for body {index}, a drum: radii may be {limit_m} m at most, half of its \
         channel's depth, of its slices' length and of its panels' least radius"
    )]
    TooLarge {
        /// Id of the grain.
        id: u32,
        /// Its radius, m.
        radius_m: f64,
        /// The drum's position in the list of bodies.
        index: usize,
        /// The greatest radius allowed, m.
        limit_m: f64,
    },
    /// The duration of the step is not finite, or not above zero, s.
    #[error("step of grains is {0} s: must be more than 0")]
    Duration(f64),
    /// The step needs more substeps than are allowed.
    #[error(
        "step of {duration_s} s needs {needed} substeps of at most {limit_s} s (a fifth of the Rayleigh time of the \
         smallest grain, or less where grains are fast); {allowed} are allowed: step less, or take larger or softer grains"
    )]
    Substeps {
        /// The duration that was asked for, s.
        duration_s: f64,
        /// Number of substeps that it needs.
        needed: f64,
        /// The longest allowed substep, s.
        limit_s: f64,
        /// The most substeps allowed.
        allowed: u32,
    },
    /// A grain of the state is not valid.
    #[error("grain {id}: {what}")]
    Sphere {
        /// Its id.
        id: u32,
        /// The value and what is allowed.
        what: String,
    },
    /// Grains or contacts of a state are not sorted by id, or an id occurs twice.
    #[error("{0} of a state are not in ascending order of numbers, each of them once")]
    Order(&'static str),
    /// A grain is outside of the container.
    #[error("grain {id} is at {position_m:?} m, outside of the container by more than its radius")]
    Outside {
        /// Its id.
        id: u32,
        /// Its position, m in the container's frame.
        position_m: [f64; 3],
    },
    /// Two surfaces overlap more than the contact law allows.
    #[error(
        "grain {id} overlaps what it touches by {overlap_m} m: at most half of the reduced radius, {limit_m} m, is allowed; \
         the grains are too soft for their load (young_pa), or something was put where they are"
    )]
    Overlap {
        /// Id of the grain.
        id: u32,
        /// Depth of the overlap, m.
        overlap_m: f64,
        /// The deepest overlap allowed, m.
        limit_m: f64,
    },
    /// Grains became too fast for a substep.
    #[error("grains reached {speed_m_s} m/s: more than 0.3 of the smallest radius in a substep of {substep_s} s")]
    Unstable {
        /// Speed of the fastest grain, m/s.
        speed_m_s: f64,
        /// Length of the substep, s.
        substep_s: f64,
    },
    /// A grain has more neighbours than a device has room for.
    #[error(
        "grain {id} has more than {allowed} neighbours in reach, as many as a device keeps for grains of these radii: the \
         grains are too soft for their load (young_pa), too many bodies are at one place, or something was put where \
         they are"
    )]
    Crowded {
        /// Id of the grain.
        id: u32,
        /// The most neighbours allowed.
        allowed: usize,
    },
    /// The device that steps the grains cannot do so, failed, or has too little room.
    #[error("grains on a device: {0}")]
    Device(String),
}
