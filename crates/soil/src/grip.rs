//! Contact forces for laws that do not press node by node: a spring and damper along the
//! normal, and Coulomb friction through one elastic bristle along the surface.
//!
//! The mass on a wheel is estimated from its load: m = F/g, with the load F followed in
//! `WheelMemory`. With k = F/δ the wheel's bounce has ω² = g/δ whatever the load, so that one
//! choice of δ is stable for a wheel that carries 2 N and for one that carries 10 kN.
//!
//! The bristle's stretch u grows by sliding; its force is k u + c u̇ up to the static limit.
//! Beyond that the contact slides under the dynamic limit (return mapping) until the elastic
//! force falls below it. A constant stretch holds a parked wheel, so it does not creep.

use nalgebra::Vector3;

use crate::wheel::Conditions;
use crate::wheel_memory::WheelMemory;

/// Time constant with which the followed load approaches the load, s.
const LOAD_FOLLOWS_S: f64 = 0.1;
/// The same, s, where a wheel of unknown load sinks in, since its load is certainly larger.
const LOAD_FOLLOWS_DEEP_S: f64 = 5e-3;
/// The load is known once the logarithm of seen over followed load is within this.
const KNOWN_WITHIN: f64 = 0.2;
/// Smallest followed load, N.
pub(crate) const LOAD_MIN_N: f64 = 0.1;
/// Smallest gravity by which loads are converted to masses, m/s².
const GRAVITY_MIN_M_S2: f64 = 0.1;
/// The moving mass may be this much smaller than the mass that the wheel carries (only its rim,
/// when it turns freely): damping and stiffness stay stable for it.
const LIGHT_PART: f64 = 1.0 / 15.0;

/// A spring and damper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spring {
    pub(crate) stiffness_n_m: f64,
    pub(crate) damping_n_s_m: f64,
}

impl Spring {
    /// A spring of a given stiffness under a load, damped by `ratio` of the critical as
    /// far as the step allows.
    pub(crate) fn new(stiffness_n_m: f64, load_n: f64, ratio: f64, conditions: &Conditions) -> Self {
        let mass_kg = mass_kg(load_n, conditions);
        let wanted = 2.0 * ratio * (stiffness_n_m * mass_kg).sqrt();
        Self { stiffness_n_m, damping_n_s_m: wanted.min(most_damping_n_s_m(load_n, conditions)) }
    }
}

/// Largest damping that is stable for the light parts of the carried mass, N s/m.
pub(crate) fn most_damping_n_s_m(load_n: f64, conditions: &Conditions) -> f64 {
    LIGHT_PART * mass_kg(load_n, conditions) / conditions.dt_s
}

/// The mass whose weight is a load, kg.
pub(crate) fn mass_kg(load_n: f64, conditions: &Conditions) -> f64 {
    load_n / conditions.gravity_m_s2.max(GRAVITY_MIN_M_S2)
}

/// Largest stiffness that is stable for the light parts of the carried mass, N/m.
pub(crate) fn stiffest_n_m(load_n: f64, conditions: &Conditions) -> f64 {
    LIGHT_PART * mass_kg(load_n, conditions) / (conditions.dt_s * conditions.dt_s)
}

/// Friction coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Friction {
    pub(crate) at_rest: f64,
    pub(crate) sliding: f64,
}

impl WheelMemory {
    /// Updates the followed load. It follows the logarithm of the load, so that an impact of a few
    /// milliseconds changes it little. Until the load is known, it rises quickly where the wheel
    /// sinks in (`is_too_soft`).
    pub(crate) fn follow_load(&mut self, seen_n: f64, is_too_soft: bool, dt_s: f64) {
        let growth = (seen_n.max(LOAD_MIN_N) / self.load_n.max(LOAD_MIN_N)).ln();
        self.is_load_known |= growth.abs() < KNOWN_WITHIN;
        let at_once = is_too_soft && growth > 0.0 && !self.is_load_known;
        let time_s = if at_once { LOAD_FOLLOWS_DEEP_S } else { LOAD_FOLLOWS_S };
        self.load_n = self.load_n.max(LOAD_MIN_N) * (growth.clamp(-1.0, 1.0) * (dt_s / time_s).min(1.0)).exp();
    }

    /// Friction force on the wheel under `normal_n`, N. Updates the bristle.
    pub(crate) fn hold(
        &mut self,
        slide: &Slide,
        normal_n: f64,
        friction: &Friction,
        spring: &Spring,
        dt_s: f64,
    ) -> Vector3<f64> {
        let k = spring.stiffness_n_m;
        let before_m = self.stretch_m - slide.normal * self.stretch_m.dot(&slide.normal);
        let trial_m = slide.faded(before_m) + slide.velocity_m_s * dt_s;
        let limit_n = normal_n * if self.is_sliding { friction.sliding } else { friction.at_rest };
        let pull_n = k * trial_m.norm();
        self.is_sliding = pull_n > limit_n;
        if self.is_sliding {
            self.stretch_m = trial_m * (friction.sliding * normal_n / pull_n);
            return self.stretch_m * -k;
        }
        self.stretch_m = trial_m;
        let force_n = -(trial_m * k + (trial_m - before_m) * (spring.damping_n_s_m / dt_s));
        force_n * (limit_n / force_n.norm().max(f64::MIN_POSITIVE)).min(1.0)
    }
}

/// The sliding of a wheel's contact over the ground.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slide {
    /// Unit normal of the plane of sliding.
    pub(crate) normal: Vector3<f64>,
    /// Velocity of the contact over the ground, in that plane, m/s.
    pub(crate) velocity_m_s: Vector3<f64>,
    /// Unit direction in which the wheel rolls, if it does.
    pub(crate) ahead: Option<Vector3<f64>>,
    /// Share of the stretch across the wheel that rolling removes in the step.
    pub(crate) fading: f64,
}

impl Slide {
    /// Sliding at the component of `velocity_m_s` in the plane of `normal`; rolling removes the share
    /// `fading` of the stretch across the wheel.
    pub(crate) fn new(
        normal: Vector3<f64>,
        velocity_m_s: Vector3<f64>,
        ahead: Option<Vector3<f64>>,
        fading: f64,
    ) -> Self {
        Self { normal, velocity_m_s: velocity_m_s - normal * velocity_m_s.dot(&normal), ahead, fading }
    }

    fn faded(&self, stretch_m: Vector3<f64>) -> Vector3<f64> {
        let Some(ahead) = self.ahead else { return stretch_m };
        let along_m = ahead * stretch_m.dot(&ahead);
        along_m + (stretch_m - along_m) * (1.0 - self.fading).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Friction, Slide, Spring};
    use crate::wheel::Conditions;
    use crate::wheel_memory::WheelMemory;
    use nalgebra::Vector3;

    const FRICTION: Friction = Friction { at_rest: 0.8, sliding: 0.5 };
    const CONDITIONS: Conditions = Conditions { dt_s: 1e-3, gravity_m_s2: 1.62 };

    #[test]
    fn friction_holds_to_its_static_limit_then_slides_at_the_dynamic_one() {
        let spring = Spring { damping_n_s_m: 0.0, ..Spring::new(1e5, 100.0, 0.7, &CONDITIONS) };
        let slide = |speed_m_s: f64| Slide::new(Vector3::z(), Vector3::x() * speed_m_s, None, 0.0);
        let mut memory = WheelMemory::default();
        let mut forces = Vec::new();
        for _ in 0..2000 {
            forces.push(-memory.hold(&slide(1e-3), 100.0, &FRICTION, &spring, 1e-3).x);
        }
        let most = forces.iter().copied().fold(0.0, f64::max);
        assert!((79.0..=80.0).contains(&most), "{most}");
        assert!((forces[1999] - 50.0).abs() < 1e-9 && memory.is_sliding);
        let back = -memory.hold(&slide(-1e-3), 100.0, &FRICTION, &spring, 1e-3).x;
        assert!(back < 50.0 && !memory.is_sliding, "{back}");
    }

    #[test]
    fn the_followed_load_reaches_the_load_and_a_blow_changes_little() {
        let mut memory = WheelMemory::carrying(100.0);
        (0..20).for_each(|_| memory.follow_load(1e5, false, 1e-3));
        assert!(memory.load_n < 125.0, "{}", memory.load_n);
        (0..5000).for_each(|_| memory.follow_load(37.0, false, 1e-3));
        assert!((memory.load_n / 37.0 - 1.0).abs() < 1e-9);
    }
}
