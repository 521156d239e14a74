//! Springs and stops of joints: a spring and damper about a rest position and rest
//! speed, whose force may be bounded (a servo), and stops that push back beyond the
//! joint's limits. All of them are implicit, with the position and speed at the step's
//! end, which depend on the unknown acceleration: a force that falls by `give` per unit
//! of acceleration, `give = damping dt + stiffness dt²`, is stable for any stiffness.

/// Stiffness of a joint's stop, N m/rad or N/m: stiff compared with any rover's weight.
const STOP_STIFFNESS: f64 = 2e5;
/// Damping of a stop on the way in, N m s/rad or N s/m; on the way out it has none,
/// so that it never pulls.
const STOP_DAMPING: f64 = 2e3;

/// A spring and damper on a joint; stiffness in N m/rad or N/m, and so on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spring {
    pub(crate) stiffness: f64,
    pub(crate) damping: f64,
    pub(crate) rest: f64,
    pub(crate) rest_speed: f64,
    /// The largest force or torque.
    pub(crate) most: f64,
}

impl Default for Spring {
    fn default() -> Self {
        Self { stiffness: 0.0, damping: 0.0, rest: 0.0, rest_speed: 0.0, most: f64::INFINITY }
    }
}

/// A force on a joint: its value at zero acceleration, and its decrease per unit of
/// acceleration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct JointForce {
    pub(crate) force: f64,
    pub(crate) give: f64,
    /// Damping that takes energy, N m s/rad or N s/m.
    pub(crate) damping: f64,
}

impl Spring {
    /// The pull at a position and speed. `load` is the other force on the joint and
    /// `inertia` the joint's own: they decide whether the bound is reached within this step.
    #[inline(always)]
    pub(crate) fn pull(&self, position: f64, speed: f64, dt: f64, load: f64, inertia: f64) -> JointForce {
        let stretch = position + dt * speed - self.rest;
        let force = -self.stiffness * stretch - self.damping * (speed - self.rest_speed);
        let give = dt * (self.damping + dt * self.stiffness);
        let at_end = force - give * (load + force) / (inertia + give);
        if at_end.abs() > self.most {
            return JointForce { force: self.most.copysign(at_end), give: 0.0, damping: 0.0 };
        }
        JointForce { force, give, damping: if self.rest_speed == 0.0 { self.damping } else { 0.0 } }
    }

    /// Energy stored at a position, J.
    pub(crate) fn energy_j(&self, position: f64) -> f64 {
        0.5 * self.stiffness * (position - self.rest).powi(2)
    }
}

/// Signed distance of a position beyond its limits; zero within them.
fn beyond(position: f64, [lowest, highest]: [f64; 2]) -> f64 {
    (position - highest).max(0.0) + (position - lowest).min(0.0)
}

/// The pull of the stops at `limits`.
#[inline(always)]
pub(crate) fn stop_pull(limits: [f64; 2], position: f64, speed: f64, dt: f64) -> JointForce {
    let beyond = beyond(position + dt * speed, limits);
    if beyond == 0.0 {
        return JointForce::default();
    }
    let damping = if beyond * speed > 0.0 { STOP_DAMPING } else { 0.0 };
    let force = -STOP_STIFFNESS * beyond - damping * speed;
    JointForce { force, give: dt * (damping + dt * STOP_STIFFNESS), damping }
}

/// Energy stored in the stops at a position, J.
pub(crate) fn stop_energy_j(limits: [f64; 2], position: f64) -> f64 {
    0.5 * STOP_STIFFNESS * beyond(position, limits).powi(2)
}

#[cfg(test)]
mod tests {
    use super::{JointForce, Spring, stop_pull};

    const DT: f64 = 1e-3;

    #[test]
    fn a_bounded_spring_gives_no_more_than_its_bound_and_less_when_it_need_not() {
        let servo = Spring { stiffness: 1000.0, damping: 10.0, most: 5.0, ..Spring::default() };
        assert_eq!(servo.pull(-1.0, 0.0, DT, 0.0, 2.0), JointForce { force: 5.0, give: 0.0, damping: 0.0 });
        assert_eq!(servo.pull(1.0, 0.0, DT, 0.0, 2.0).force, -5.0);
        assert!((servo.pull(0.004, 0.0, DT, 0.0, 2.0).force + 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_stop_pushes_back_from_outside_and_is_not_there_inside() {
        let limits = [-0.2, 0.3];
        assert_eq!(stop_pull(limits, 0.29, 0.0, DT), JointForce::default());
        assert!(stop_pull(limits, 0.31, 0.0, DT).force < 0.0 && stop_pull(limits, -0.21, 0.0, DT).force > 0.0);
        let (inwards, outwards) = (stop_pull(limits, 0.31, 0.1, DT), stop_pull(limits, 0.31, -0.1, DT));
        assert!(inwards.force < outwards.force && outwards.force < 0.0, "it never pulls");
    }
}
