//! What is refused, with its value and what is allowed.

use selene_crm::CrmError;

/// Why a model, a filling or a step is refused. A state that was to be stepped is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpheresError {
    /// A parameter of the grains is out of range.
    #[error("grains: {0}")]
    Grains(String),
    /// The container or gravity cannot be.
    #[error("container of grains: {0}")]
    Container(String),
    /// What is to be filled with grains cannot be.
    #[error("filling with grains: {0}")]
    Filling(String),
    /// A body's shape or motion cannot be; or, in a rig, the continuum that grains are compared with failed.
    #[error(transparent)]
    Continuum(#[from] CrmError),
    /// A body is no solid.
    #[error("body {index} among grains is a drum, a thin shell: grains meet spheres, cuboids and cylinders alone")]
    Shell {
        /// Its place in the list.
        index: usize,
    },
    /// The time to step is no number, or not above zero.
    #[error("step of grains is {0} s: must be more than 0")]
    Duration(f64),
    /// The step is longer than can be sub-stepped.
    #[error(
        "step of {duration_s} s needs {needed} substeps of at most {limit_s} s (a fifth of the Rayleigh time of the \
         smallest grain, or less where grains are fast); {allowed} are allowed: step less, or take larger or softer grains"
    )]
    Substeps {
        /// What was asked.
        duration_s: f64,
        /// Substeps that it takes.
        needed: f64,
        /// The longest allowed substep, s.
        limit_s: f64,
        /// Substeps that are allowed.
        allowed: u32,
    },
    /// A grain of a state cannot be.
    #[error("grain {id}: {what}")]
    Sphere {
        /// Its number.
        id: u32,
        /// Value and what is allowed.
        what: String,
    },
    /// Grains or contacts of a state are not in the order of their numbers, or a number is there twice.
    #[error("{0} of a state are not in ascending order of numbers, each of them once")]
    Order(&'static str),
    /// A grain is outside of the container.
    #[error("grain {id} is at {position_m:?} m, outside of the container by more than its radius")]
    Outside {
        /// Its number.
        id: u32,
        /// Where it is.
        position_m: [f64; 3],
    },
    /// Two surfaces are deeper in each other than the law of contact holds for.
    #[error(
        "grain {id} overlaps what it touches by {overlap_m} m: at most half of the reduced radius, {limit_m} m, is allowed; \
         the grains are too soft for their load (young_pa), or something was put where they are"
    )]
    Overlap {
        /// The number of the grain.
        id: u32,
        /// How deep, m.
        overlap_m: f64,
        /// What is allowed, m.
        limit_m: f64,
    },
    /// Grains became faster than a substep can carry them.
    #[error("grains reached {speed_m_s} m/s: more than the smallest radius in a substep of {substep_s} s")]
    Unstable {
        /// The fastest grain.
        speed_m_s: f64,
        /// The substep.
        substep_s: f64,
    },
}
