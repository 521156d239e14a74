//! The latest command to one joint, and its target over time: a rate holds for
//! half a second of simulated time, an angle until the next command.

use selene_base::SimTime;
use serde::{Deserialize, Serialize};

use crate::driving::actuator::Actuator;
use crate::driving::trajectory::JointSpline;

/// How long a rate holds, in simulated time.
pub(crate) const RATE_HOLD: SimTime = SimTime::from_nanos(500_000_000);

/// A joint's latest command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetPoint {
    since: SimTime,
    requested: JointTarget,
    /// Whether it has been counted as beyond a limit.
    counted: bool,
}

/// The command to a joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum JointTarget {
    /// An angle or a rate.
    Target(f64),
    /// Its part of a trajectory.
    Spline {
        spline: JointSpline,
        /// Where the joint was when it began; `None` before the first step.
        from: Option<f64>,
    },
}

impl SetPoint {
    pub(crate) fn new(since: SimTime, requested: JointTarget) -> Self {
        Self { since, requested, counted: false }
    }

    /// Moves its times back by `by`.
    pub(crate) fn move_back(&mut self, by: SimTime) {
        self.since = self.since - by;
        if let JointTarget::Spline { spline, .. } = &mut self.requested {
            spline.move_back(by);
        }
    }

    /// The target at `now` for a joint that is at `measured`, and whether this is the
    /// first time that a limit changes it.
    pub(crate) fn target(&mut self, now: SimTime, joint: &Actuator, measured: f64) -> (f64, bool) {
        let requested = self.at(now, joint.role.by_rate(), measured);
        let target = requested.clamp(joint.lowest, joint.highest);
        let newly_limited = target != requested && !self.counted;
        self.counted |= newly_limited;
        (target, newly_limited)
    }

    fn at(&mut self, now: SimTime, by_rate: bool, measured: f64) -> f64 {
        match &mut self.requested {
            JointTarget::Target(_) if by_rate && now - self.since >= RATE_HOLD => 0.0,
            JointTarget::Target(target) => *target,
            JointTarget::Spline { spline, .. } if by_rate && (spline.waits(now) || now - spline.end() >= RATE_HOLD) => {
                0.0
            }
            JointTarget::Spline { spline, from } => {
                let from = *from.get_or_insert(measured);
                if spline.waits(now) { from } else { spline.target(now, from) }
            }
        }
    }
}
