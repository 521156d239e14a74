//! Errors of the test rigs.

/// A rig that cannot be run, or whose result would be wrong.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A value out of its range.
    #[error("{what} is {value}: must be {allowed}")]
    Value {
        /// Name of the value.
        what: &'static str,
        /// The given value.
        value: f64,
        /// The allowed range.
        allowed: &'static str,
    },
    /// The grid is too fine for the length of the run or for the size of the wheel or plate.
    #[error("{what}: {needed:.0} on a grid of {grid_m} m, at most {allowed:.0} are taken: use a coarser grid")]
    TooFine {
        /// Name of what the grid has too many of.
        what: &'static str,
        /// Number that the rig would need.
        needed: f64,
        /// Largest allowed number.
        allowed: f64,
        /// Spacing, m.
        grid_m: f64,
    },
    /// Too few nodes lie under the wheel or plate.
    #[error("a grid of {grid_m} m is too coarse: must be at most {most_m} m, {what}")]
    TooCoarse {
        /// Spacing, m.
        grid_m: f64,
        /// Coarsest allowed spacing, m.
        most_m: f64,
        /// The length that sets this limit, in words.
        what: &'static str,
    },
    /// A wheel that passes over the soil's nodes in too few steps.
    #[error(
        "the wheel goes {way_m:.5} m in a step of {step_s} s: must be at most {most_m:.5} m, a twentieth of its \
         contact with the soil; take a slower wheel, or a slip farther from -1"
    )]
    TooFast {
        /// Distance that the wheel travels in a step, m.
        way_m: f64,
        /// Longest allowed distance, m.
        most_m: f64,
        /// The step, s.
        step_s: f64,
    },
    /// A law that has no pull at a slip that a rig sets.
    #[error(
        "a soil of law data says itself how much a wheel slips, so that it has no pull at a given slip: take a soil of \
         law scm, slip_map or rigid"
    )]
    NoPull,
    /// The motion or the force is no longer a finite number, or a wheel is thrown far
    /// from the ground.
    #[error("the run diverged after {time_s} s: {what}")]
    Diverged {
        /// Since the start, s.
        time_s: f64,
        /// Which rig diverged.
        what: DivergedRig,
    },
    /// A wheel that went in deeper than its radius, where no law was ever fitted.
    #[error(
        "the wheel sank deeper than its radius of {radius_m} m after {time_s} s, where no law of soil holds: take less \
         load, a larger or wider wheel, or a firmer soil"
    )]
    Buried {
        /// Since the start, s.
        time_s: f64,
        /// The wheel's radius, m.
        radius_m: f64,
    },
    /// The end of the longest run that was tried is not a steady state.
    #[error("not settled after {time_s} s: {why}")]
    NotSettled {
        /// Length of the run, s.
        time_s: f64,
        /// The quantity that still changes.
        why: NoSteadyState,
    },
    /// The modulus was at its floor, so the result is not that of the soil: see
    /// [`crate::WheelContact::modulus_floored`].
    #[error(
        "in {:.0} % of the steps Bekker's modulus Kc/b + Kφ is below a tenth of Kφ: the negative Kc was not fitted to \
         patches this small; use a wider wheel or plate, or a soil whose Kc is not negative", 100.0 * share
    )]
    ModulusFloored {
        /// Share of the steps with the modulus at its floor.
        share: f64,
    },
}

/// The rig that diverged, and what to change.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DivergedRig {
    /// A wheel at a given slip.
    #[error(
        "a wheel under {load_n} N at a slip of {slip} was thrown off the soil, for which it is too light; take more load \
         or less gravity (load over gravity is its mass), less slip or a softer soil"
    )]
    Wheel {
        /// The load, N.
        load_n: f64,
        /// The slip.
        slip: f64,
    },
    /// A pressed plate.
    #[error("the force on the plate {sinkage_m} m below the ground is no number; press it less deep")]
    Plate {
        /// Depth of the plate, m.
        sinkage_m: f64,
    },
    /// A wheel that drives.
    #[error("a wheel of {mass_kg} kg was thrown off the soil; take a heavier one, or steps shorter than {step_s} s")]
    Drive {
        /// The mass on the wheel, kg.
        mass_kg: f64,
        /// The step, s.
        step_s: f64,
    },
}

/// Why the end of a wheel's run is no steady state, and what to change.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoSteadyState {
    /// The wheel does not carry its load.
    #[error("the wheel carries {normal_n:.1} N of {load_n} N; take more gravity, less load or a finer grid")]
    Load {
        /// Mean force upward, N.
        normal_n: f64,
        /// The load, N.
        load_n: f64,
    },
    /// The wheel still sinks or rises.
    #[error(
        "the wheel's sinkage still goes from {:.3} to {:.3} mm; take less slip, more gravity or a finer grid",
        1e3 * before_m,
        1e3 * after_m
    )]
    Sinkage {
        /// Mean sinkage over the first half of the end, m.
        before_m: f64,
        /// Mean sinkage over the second half, m.
        after_m: f64,
    },
    /// The wheel still stands on soil that it stood on at the start.
    #[error(
        "the wheel had gone {way_m:.4} m where the means begin, and needs {needed_m:.4} m to come off the soil that it \
         started on; take a faster wheel or less slip, or a slip of 1 to spin on the spot"
    )]
    Way {
        /// Distance travelled before the means begin, m.
        way_m: f64,
        /// Distance that it needs, m.
        needed_m: f64,
    },
}
