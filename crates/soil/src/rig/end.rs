//! Checks whether the end of a wheel's run is a steady state that the grid and the step
//! resolve.

use crate::law::Law;

use super::{NoSteadyState, RigError, SteadyState, WheelRig};

/// A settled wheel carries its load to within this share.
const LOAD_TOLERANCE: f64 = 0.02;
/// The mean sinkage of a settled wheel changes by at most this share between the two halves of
/// the end.
const SINKAGE_TOLERANCE: f64 = 0.015;
/// Distance travelled, over the length of the contact, after which pull, torque and sinkage are
/// within about 3 % of their final values. After one length all soil under the wheel is new.
const WAY_OF_CONTACT: f64 = 0.75;
/// Fewest steps in which a wheel may travel the length of its contact: with fewer its pull is
/// wrong by more than about 5 %.
const STEPS_OF_CONTACT: f64 = 20.0;

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunEnd {
    /// Means over the end.
    pub(super) steady: SteadyState,
    /// Mean sinkage over the first and the second half of the end, m.
    halves_m: [f64; 2],
    /// Distance that the wheel travelled before the end begins, m.
    way_m: f64,
    /// Length of the whole run, s.
    pub(super) time_s: f64,
}

impl RunEnd {
    /// Computes means from the sum over the end and the sum over its first half. `counts` are the
    /// numbers of steps in the half and in the whole end, `skipped` the number of steps before it.
    pub(super) fn new(
        rig: &WheelRig,
        sum: SteadyState,
        first: SteadyState,
        counts: [usize; 2],
        skipped: usize,
    ) -> Self {
        let [of_first, of_all] = counts;
        let steady = sum.over(of_all.max(1));
        let halves_m = if of_first == 0 {
            [steady.sinkage_m; 2]
        } else {
            let second_m = sum.sinkage_m - first.sinkage_m;
            [first.sinkage_m / of_first as f64, second_m / (of_all - of_first) as f64]
        };
        let way_m = way_m(rig, skipped as f64 * rig.step_s);
        Self { steady, halves_m, way_m, time_s: rig.duration_s }
    }

    /// Why this is not a steady state; none if it is one.
    pub(super) fn unsettled(&self, rig: &WheelRig) -> Option<NoSteadyState> {
        let SteadyState { normal_n, sinkage_m, .. } = self.steady;
        let carries = (normal_n / rig.load_n - 1.0).abs() <= LOAD_TOLERANCE;
        if !carries {
            return Some(NoSteadyState::Load { normal_n, load_n: rig.load_n });
        }
        let needed_m = WAY_OF_CONTACT * self.contact_m(rig);
        if self.way_m < needed_m {
            return Some(NoSteadyState::Way { way_m: self.way_m, needed_m });
        }
        let [before_m, after_m] = self.halves_m;
        let drifts = (after_m - before_m).abs() > SINKAGE_TOLERANCE * sinkage_m.abs();
        drifts.then_some(NoSteadyState::Sinkage { before_m, after_m })
    }

    /// For the law `scm`, checks that at least one node lies under the wheel at any time, and that the
    /// wheel takes enough steps to pass it.
    pub(super) fn check_resolved(&self, rig: &WheelRig) -> Result<(), RigError> {
        if !matches!(rig.law, Law::Scm(_)) {
            return Ok(());
        }
        let contact_m = self.contact_m(rig);
        if rig.grid_m > contact_m {
            let what = "the length of the wheel's contact with the soil";
            return Err(RigError::TooCoarse { grid_m: rig.grid_m, most_m: contact_m, what });
        }
        let (way_m, most_m) = (rig.velocity_m_s().norm() * rig.step_s, contact_m / STEPS_OF_CONTACT);
        if way_m > most_m {
            return Err(RigError::TooFast { way_m, most_m, step_s: rig.step_s });
        }
        Ok(())
    }

    /// Length of the contact from the point where the rim meets the ground to below the axle, m.
    fn contact_m(&self, rig: &WheelRig) -> f64 {
        let depth_m = self.steady.sinkage_m.clamp(0.0, rig.wheel.radius_m);
        (depth_m * (2.0 * rig.wheel.radius_m - depth_m)).sqrt()
    }
}

/// Distance travelled over the soil in a time, m, or by the rim where the wheel spins on the spot.
/// Infinite for a wheel at rest, which needs no distance.
fn way_m(rig: &WheelRig, time_s: f64) -> f64 {
    let speed_m_s = rig.velocity_m_s().norm();
    let rim_m_s = (rig.omega_rad_s * rig.wheel.radius_m).abs();
    let pace_m_s = if speed_m_s > 0.0 { speed_m_s } else { rim_m_s };
    if pace_m_s > 0.0 { pace_m_s * time_s } else { f64::INFINITY }
}
