//! The latest command to one joint, and what it asks as time passes: rates hold for
//! half a second of simulated time, angles until they are told otherwise.

use selene_base::SimTime;

use crate::actuator::Actuator;
use crate::trajectory::Course;

/// How long a rate holds, simulated time.
pub(crate) const RATE_HOLD: SimTime = SimTime::from_nanos(500_000_000);

/// A joint's latest command.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    since: SimTime,
    what: What,
    /// Whether it has been counted as beyond a limit.
    counted: bool,
}

/// What is asked of a joint.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// An angle or a rate.
    Target(f64),
    /// Its part of a trajectory.
    Course {
        course: Course,
        /// Where the joint was when it began; `None` before the first step.
        from: Option<f64>,
    },
}

impl Order {
    pub(crate) fn new(since: SimTime, what: What) -> Self {
        Self { since, what, counted: false }
    }

    /// The target at `now` for a joint that is at `measured`, and whether this is the
    /// first time that it is less than asked.
    pub(crate) fn target(&mut self, now: SimTime, joint: &Actuator, measured: f64) -> (f64, bool) {
        let asked = self.asked(now, joint.role.by_rate(), measured);
        let target = asked.clamp(joint.lowest, joint.highest);
        let newly_limited = target != asked && !self.counted;
        self.counted |= newly_limited;
        (target, newly_limited)
    }

    fn asked(&mut self, now: SimTime, by_rate: bool, measured: f64) -> f64 {
        match &mut self.what {
            What::Target(_) if by_rate && now - self.since >= RATE_HOLD => 0.0,
            What::Target(target) => *target,
            What::Course { course, .. } if by_rate && (course.waits(now) || now - course.end() >= RATE_HOLD) => 0.0,
            What::Course { course, from } => {
                let from = *from.get_or_insert(measured);
                if course.waits(now) { from } else { course.target(now, from) }
            }
        }
    }
}
