//! Contact forces for laws that do not press node by node: a spring and damper along the
//! normal, and Coulomb friction through one elastic bristle along the surface.
//!
//! The mass on a wheel is estimated from its load: m = F/g, with the load F followed in
//! `WheelMemory`. With k = F/δ the wheel's bounce has ω² = g/δ whatever the load, so that one
//! choice of δ is stable for a wheel that carries 2 N and for one that carries 10 kN.
//!
//! The bristle's stretch u grows by sliding; its force is k u + c u̇ up to the static limit.
//! Beyond that the contact slides under the dynamic limit (return mapping) until the elastic
//! force falls below it. A constant stretch holds a parked wheel, so it does not creep. Sliding, and rolling for the
//! part across the wheel, remove stretch at rates that act together on the stretch at the step's end (backward Euler):
//! a pull in steady motion has the same direction in any step.
//!
//! Damping is critical as far as it is stable for the least mass that moves with the contact: that of the wheel alone, or
//! along the surface that of its rim if it is less; a fifteenth of the carried mass if these are less or not known.

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
/// The moving mass may be this much smaller than the mass that the wheel carries (only its rim, when it turns freely),
/// where it is not known to be larger: damping and stiffness stay stable for it.
const LIGHT_PART: f64 = 1.0 / 15.0;

/// Steps of Newton's method for the rate of sliding. The first guess is low by a factor of up to 1 + fading; where that is
/// 6, four steps leave the direction 0.05 degrees off.
const NEWTON_STEPS: usize = 4;

/// A spring and damper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spring {
    pub(crate) stiffness_n_m: f64,
    pub(crate) damping_n_s_m: f64,
}

impl Spring {
    /// A spring of a given stiffness under a load, damped by `ratio` of the critical as far as the step allows.
    pub(crate) fn new(stiffness_n_m: f64, load: &Load, ratio: f64, conditions: &Conditions) -> Self {
        let wanted = 2.0 * ratio * (stiffness_n_m * mass_kg(load.load_n, conditions)).sqrt();
        Self { stiffness_n_m, damping_n_s_m: wanted.min(load.most_damping_n_s_m(conditions)) }
    }
}

/// What a spring carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Its load, N.
    pub(crate) load_n: f64,
    /// The least mass that moves with its end, kg; zero if it is not known.
    pub(crate) own_kg: f64,
}

impl Load {
    /// Mass that moves with the spring's end at least, kg.
    fn least_kg(&self, conditions: &Conditions) -> f64 {
        self.own_kg.max(LIGHT_PART * mass_kg(self.load_n, conditions))
    }

    /// Largest damping that is stable for that mass, N s/m.
    pub(crate) fn most_damping_n_s_m(&self, conditions: &Conditions) -> f64 {
        self.least_kg(conditions) / conditions.dt_s
    }

    /// Largest stiffness that is stable for that mass, N/m.
    pub(crate) fn stiffest_n_m(&self, conditions: &Conditions) -> f64 {
        self.least_kg(conditions) / (conditions.dt_s * conditions.dt_s)
    }
}

/// The mass whose weight is a load, kg.
fn mass_kg(load_n: f64, conditions: &Conditions) -> f64 {
    load_n / conditions.gravity_m_s2.max(GRAVITY_MIN_M_S2)
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
        let moved_m = before_m + slide.velocity_m_s * dt_s;
        let trial_m = slide.relaxed(moved_m, 0.0);
        let limit_n = normal_n * if self.is_sliding { friction.sliding } else { friction.at_rest };
        self.is_sliding = k * trial_m.norm() > limit_n;
        if self.is_sliding {
            self.stretch_m = slide.slid(moved_m, friction.sliding * normal_n / k);
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
    /// Rate at which rolling removes the stretch across the wheel, times the step. It acts on the stretch at the step's
    /// end, so that no rate is too large.
    pub(crate) fading: f64,
}

impl Slide {
    /// Sliding at the component of `velocity_m_s` in the plane of `normal`; rolling removes the stretch across the wheel
    /// at the rate `fading` a step.
    pub(crate) fn new(
        normal: Vector3<f64>,
        velocity_m_s: Vector3<f64>,
        ahead: Option<Vector3<f64>>,
        fading: f64,
    ) -> Self {
        Self { normal, velocity_m_s: velocity_m_s - normal * velocity_m_s.dot(&normal), ahead, fading }
    }

    /// The stretch at the end of a step in which the contact moved it to `moved_m`, sliding removed it at the rate
    /// `sliding` a step, and rolling the part across the wheel at `fading` a step: (1 + rate) times the end is `moved_m`.
    fn relaxed(&self, moved_m: Vector3<f64>, sliding: f64) -> Vector3<f64> {
        let along_m = self.ahead.map_or(moved_m, |ahead| ahead * moved_m.dot(&ahead));
        along_m / (1.0 + sliding) + (moved_m - along_m) / (1.0 + sliding + self.fading)
    }

    /// The same of a contact that slides at the rate at which the stretch has the size `size_m`, m, and would be larger
    /// without sliding. Both rates act at once: one after the other, they would turn the stretch by an angle that depends
    /// on the step.
    fn slid(&self, moved_m: Vector3<f64>, size_m: f64) -> Vector3<f64> {
        let along_m2 = self.ahead.map_or(moved_m.norm_squared(), |ahead| moved_m.dot(&ahead).powi(2));
        let across_m2 = (moved_m.norm_squared() - along_m2).max(0.0);
        // The size falls with the rate ever more slowly, and the first rate is not above the one sought: Newton's method
        // comes up to it from below.
        let mut sliding = self.relaxed(moved_m, 0.0).norm() / size_m - 1.0;
        if !sliding.is_finite() {
            // Without friction nothing stays.
            return Vector3::zeros();
        }
        for _ in 0..NEWTON_STEPS {
            let [along, across] = [1.0 / (1.0 + sliding), 1.0 / (1.0 + sliding + self.fading)];
            let above_m2 = along_m2 * along * along + across_m2 * across * across - size_m * size_m;
            let falls_m2 = 2.0 * (along_m2 * along.powi(3) + across_m2 * across.powi(3));
            if falls_m2 > 0.0 {
                sliding += above_m2 / falls_m2;
            }
        }
        let slid_m = self.relaxed(moved_m, sliding);
        slid_m.try_normalize(0.0).map_or(slid_m, |unit| unit * size_m)
    }
}

#[cfg(test)]
mod tests {
    use super::{Friction, Load, Slide, Spring};
    use crate::wheel::Conditions;
    use crate::wheel_memory::WheelMemory;
    use nalgebra::Vector3;

    const FRICTION: Friction = Friction { at_rest: 0.8, sliding: 0.5 };
    const CONDITIONS: Conditions = Conditions { dt_s: 1e-3, gravity_m_s2: 1.62 };

    #[test]
    fn friction_holds_to_its_static_limit_then_slides_at_the_dynamic_one() {
        let load = Load { load_n: 100.0, own_kg: 0.0 };
        let spring = Spring { damping_n_s_m: 0.0, ..Spring::new(1e5, &load, 0.7, &CONDITIONS) };
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
        let none = Friction { at_rest: 0.0, sliding: 0.0 };
        for _ in 0..3 {
            assert_eq!(memory.hold(&slide(1e-3), 100.0, &none, &spring, 1e-3).norm(), 0.0);
        }
    }

    #[test]
    fn the_mass_of_a_wheel_bounds_its_damping_where_it_is_more_than_a_fifteenth_of_what_it_carries() {
        let most_n_s_m = |own_kg: f64| Load { load_n: 16.2, own_kg }.most_damping_n_s_m(&CONDITIONS);
        assert!((most_n_s_m(0.0) - 10.0 / 15.0 / 1e-3).abs() < 1e-9 && most_n_s_m(0.5) == most_n_s_m(0.0));
        assert_eq!(most_n_s_m(2.0), 2.0 / 1e-3);
    }

    #[test]
    fn a_contact_that_slides_and_rolls_pulls_the_same_way_in_any_step() {
        let load = Load { load_n: 100.0, own_kg: 0.0 };
        let pull_n = |dt_s: f64| {
            let spring = Spring { damping_n_s_m: 0.0, ..Spring::new(1e5, &load, 1.0, &CONDITIONS) };
            let (velocity_m_s, fading) = (Vector3::new(0.1, 0.2, 0.0), 200.0 * dt_s);
            let slide = Slide::new(Vector3::z(), velocity_m_s, Some(Vector3::x()), fading);
            let mut memory = WheelMemory::default();
            let pulls_n = (0..2000).map(|_| memory.hold(&slide, 100.0, &FRICTION, &spring, dt_s));
            let last_n = pulls_n.last().expect("some");
            assert!(memory.is_sliding && (last_n.norm() - 50.0).abs() < 1e-9);
            last_n
        };
        // Sliding takes both parts away at one rate g, rolling the part across at 200 / s: g a = 0.1, (g + 200) b = 0.2.
        let short_n = pull_n(1e-5);
        for dt_s in [1e-3, 5e-3, 1e-2] {
            assert!((pull_n(dt_s) - short_n).norm() < 0.05, "{dt_s}: {} {short_n}", pull_n(dt_s));
        }
        let stretch_m = -short_n / 1e5;
        let sliding_1_s = 0.1 / stretch_m.x;
        assert!((stretch_m.y * (sliding_1_s + 200.0) / 0.2 - 1.0).abs() < 0.01, "{stretch_m}");
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
