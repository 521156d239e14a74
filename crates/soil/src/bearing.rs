//! The normal force that carries a wheel: a spring and damper (`grip`), and beyond a depth a stop,
//! as stiff and as damped as the step allows, so that an impact does not sink the wheel. The stop
//! returns little of its force when it unloads: ground does not throw a wheel up.

use crate::contact_patch::{DISCS, NormalReaction};
use crate::grip::{Load, Spring};
use crate::wheel::Conditions;

/// Share of its force that the stop returns while it unloads, reached at `OPENING_M_S`.
const GIVEN_BACK: f64 = 0.1;
/// Unloading speed, m/s, from which on the stop returns only `GIVEN_BACK`.
const OPENING_M_S: f64 = 0.05;

/// A spring with a stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bearing {
    pub(crate) spring: Spring,
    stop_m: f64,
    stop: Spring,
}

impl Bearing {
    /// A spring under a load, with a stop at a depth.
    pub(crate) fn new(spring: Spring, stop_m: f64, load: &Load, conditions: &Conditions) -> Self {
        let stop = Spring {
            stiffness_n_m: load.stiffest_n_m(conditions).max(spring.stiffness_n_m),
            damping_n_s_m: load.most_damping_n_s_m(conditions),
        };
        Self { spring, stop_m, stop }
    }

    /// Force on one disc, N; never negative.
    pub(crate) fn disc_n(&self, depth_m: f64, closing_m_s: f64) -> f64 {
        if depth_m <= 0.0 {
            return 0.0;
        }
        let (spring, stop) = (&self.spring, &self.stop);
        let beyond_m = (depth_m - self.stop_m).max(0.0);
        let opening = (-closing_m_s / OPENING_M_S).clamp(0.0, 1.0);
        let given_back = 1.0 - (1.0 - GIVEN_BACK) * opening;
        let elastic_n = spring.stiffness_n_m * (depth_m - beyond_m) + stop.stiffness_n_m * beyond_m * given_back;
        let stopping = (beyond_m / self.stop_m).min(1.0);
        let damping_n_s_m = spring.damping_n_s_m + (stop.damping_n_s_m - spring.damping_n_s_m) * stopping;
        (elastic_n + damping_n_s_m * closing_m_s).max(0.0) / DISCS as f64
    }

    /// Depth at which the spring alone carries a load, m.
    pub(crate) fn rest_m(&self, load_n: f64) -> f64 {
        load_n / self.spring.stiffness_n_m
    }

    /// Whether a wheel still sinks into the stop of ground lowered by `lowered_m`: its load is
    /// larger than the followed one.
    pub(crate) fn is_too_soft(&self, stand: &NormalReaction, lowered_m: f64) -> bool {
        stand.depth_m - lowered_m > self.stop_m && stand.closing_m_s > 0.0
    }
}
