//! The latest command to one joint, and what it asks as time passes: rates hold for
//! half a second of simulated time, angles until they are told otherwise.

use selene_base::SimTime;
use serde::{Deserialize, Serialize};

use crate::driving::actuator::Actuator;
use crate::driving::trajectory::JointSpline;

/// How long a rate holds, simulated time.
pub(crate) const RATE_HOLD: SimTime = SimTime::from_nanos(500_000_000);

/// A joint's latest command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetPoint {
    since: SimTime,
    asked: Asked,
    /// Whether it has been counted as beyond a limit.
    counted: bool,
}

/// What is asked of a joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Asked {
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
    pub(crate) fn new(since: SimTime, asked: Asked) -> Self {
        Self { since, asked, counted: false }
    }

    /// The same told `by` earlier.
    pub(crate) fn move_back(&mut self, by: SimTime) {
        self.since = self.since - by;
        if let Asked::Spline { spline, .. } = &mut self.asked {
            spline.move_back(by);
        }
    }

    /// The target at `now` for a joint that is at `measured`, and whether this is the
    /// first time that it is less than asked.
    pub(crate) fn target(&mut self, now: SimTime, joint: &Actuator, measured: f64) -> (f64, bool) {
        let asked = self.at(now, joint.role.by_rate(), measured);
        let target = asked.clamp(joint.lowest, joint.highest);
        let newly_limited = target != asked && !self.counted;
        self.counted |= newly_limited;
        (target, newly_limited)
    }

    fn at(&mut self, now: SimTime, by_rate: bool, measured: f64) -> f64 {
        match &mut self.asked {
            Asked::Target(_) if by_rate && now - self.since >= RATE_HOLD => 0.0,
            Asked::Target(target) => *target,
            Asked::Spline { spline, .. } if by_rate && (spline.waits(now) || now - spline.end() >= RATE_HOLD) => 0.0,
            Asked::Spline { spline, from } => {
                let from = *from.get_or_insert(measured);
                if spline.waits(now) { from } else { spline.target(now, from) }
            }
        }
    }
}
