//! The contact law (Hertz, Mindlin and Coulomb), between two spheres or a sphere and a rigid surface. With reduced
//! modulus E*, shear modulus G*, radius R* and mass m*, overlap δ and contact radius `a = √(R*δ)`:
//!
//! - Normal force: `4/3 E* a δ − c √(k m*) v`, `k = 2 E* a`, with `c = 2 √(5/6) β` and `β = −ln e/√(ln² e + π²)`, which
//!   gives the restitution e at any speed (Antypov and Elliott 2011). Near its end a contact that dissipates may pull
//!   for an instant, as in their solution.
//! - Tangential force: a spring of stiffness `8 G* a` (Mindlin 1949, without partial slip), with the same damping, and
//!   limited by Coulomb's law. The spring is stored as a force: loading leaves it unchanged, unloading reduces it in
//!   proportion to a (Thornton et al. 2013), so that no energy is created. It turns with the normal, but not with a
//!   spin about it.
//! - Rolling resistance: the same spring times R*², limited to the coefficient times R* times the normal force (an
//!   elastic-plastic spring, Ai et al. 2011, model C). Nothing resists a spin about the normal.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// The deepest overlap for which the law holds, relative to the reduced radius.
pub(crate) const OVERLAP_MAX: f64 = 0.5;

/// Memory of a contact, as seen from the sphere with the lower id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Elastic part of the tangential force, N.
    pub shear_n: Vector3<f64>,
    /// Elastic part of the rolling moment, N m.
    pub rolling_n_m: Vector3<f64>,
    /// Radius a of the contact, m.
    pub contact_radius_m: f64,
}

/// Reduced material and size of two surfaces that can touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pairing {
    /// Reduced Young's modulus E*, Pa.
    pub(crate) young_pa: f64,
    /// Reduced shear modulus G*, Pa.
    pub(crate) shear_pa: f64,
    /// Reduced radius R*, m.
    pub(crate) radius_m: f64,
    /// Reduced mass m*, kg.
    pub(crate) mass_kg: f64,
    /// Damping coefficient c.
    pub(crate) damping: f64,
    pub(crate) friction: f64,
    pub(crate) rolling_friction: f64,
}

/// Relative position and motion of two surfaces in contact, as seen from the sphere with the lower id.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactKinematics {
    pub(crate) overlap_m: f64,
    /// Unit vector from the partner towards the sphere.
    pub(crate) normal: Vector3<f64>,
    /// Velocity of the sphere at the contact, relative to the partner's, m/s.
    pub(crate) velocity_m_s: Vector3<f64>,
    /// Angular velocity of the sphere relative to the partner's, rad/s.
    pub(crate) turn_rad_s: Vector3<f64>,
    /// Vector from the sphere's centre to the contact, m.
    pub(crate) arm_m: Vector3<f64>,
    /// Vector from the partner's centre or origin to the contact, m.
    pub(crate) partner_arm_m: Vector3<f64>,
}

/// Load of a contact on the sphere with the lower id.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    /// Force, N.
    pub(crate) force_n: Vector3<f64>,
    /// Rolling moment, N m; without the moment of the force.
    pub(crate) rolling_n_m: Vector3<f64>,
}

/// A damped spring that yields at a limit.
struct Spring {
    stiffness: f64,
    damping: f64,
    limit: f64,
}

/// `c = 2 √(5/6) β` for a coefficient of restitution.
pub(crate) fn damping(restitution: f64) -> f64 {
    let loss = -restitution.ln();
    2.0 * (5.0_f64 / 6.0).sqrt() * loss / loss.hypot(std::f64::consts::PI)
}

impl Pairing {
    /// Load of the contact over a substep; updates its memory.
    pub(crate) fn respond(&self, meeting: &ContactKinematics, memory: &mut Memory, substep_s: f64) -> Load {
        let ContactKinematics { overlap_m, normal, velocity_m_s, turn_rad_s, .. } = meeting;
        let contact_m = (self.radius_m * overlap_m).sqrt();
        let damped = |stiffness: f64| self.damping * (stiffness * self.mass_kg).sqrt();
        let along = |rate: &Vector3<f64>| rate - normal * rate.dot(normal);
        let pressing = 2.0 * self.young_pa * contact_m;
        let press_n = 2.0 / 3.0 * pressing * overlap_m - damped(pressing) * velocity_m_s.dot(normal);
        let bears_n = press_n.max(0.0);
        let shearing = 8.0 * self.shear_pa * contact_m;
        let shear = Spring { stiffness: shearing, damping: damped(shearing), limit: self.friction * bears_n };
        let rolling = Spring {
            stiffness: shearing * self.radius_m.powi(2),
            damping: damped(shearing) * self.radius_m.powi(2),
            limit: self.rolling_friction * self.radius_m * bears_n,
        };
        let is_unloaded = contact_m < memory.contact_radius_m;
        let kept = if is_unloaded { contact_m / memory.contact_radius_m } else { 1.0 };
        let (shear_n, drag_n) = shear.pull(turned(&memory.shear_n, normal) * kept, &along(velocity_m_s), substep_s);
        let before_n_m = turned(&memory.rolling_n_m, normal) * kept;
        let (rolling_n_m, brake_n_m) = rolling.pull(before_n_m, &along(turn_rad_s), substep_s);
        *memory = Memory { shear_n, rolling_n_m, contact_radius_m: contact_m };
        Load { force_n: normal * press_n + drag_n, rolling_n_m: brake_n_m }
    }

    /// Elastic energy of a contact, J: `8/15 E* a⁵/R*²`, plus that of its springs.
    pub(crate) fn elastic_j(&self, memory: &Memory) -> f64 {
        let contact_m = memory.contact_radius_m;
        if contact_m <= 0.0 {
            return 0.0;
        }
        let pressed_j = 8.0 / 15.0 * self.young_pa * contact_m.powi(5) / self.radius_m.powi(2);
        let shear = 8.0 * self.shear_pa * contact_m;
        let turned_n2 = memory.rolling_n_m.norm_squared() / self.radius_m.powi(2);
        pressed_j + 0.5 * (memory.shear_n.norm_squared() + turned_n2) / shear
    }

    /// The overlap and its limit, m, if the overlap is too deep for the law.
    pub(crate) fn too_deep(&self, memory: &Memory) -> Option<(f64, f64)> {
        let (overlap_m, limit_m) = self.overlap(memory);
        (overlap_m > limit_m).then_some((overlap_m, limit_m))
    }

    /// The overlap and its limit, m.
    pub(crate) fn overlap(&self, memory: &Memory) -> (f64, f64) {
        (memory.contact_radius_m.powi(2) / self.radius_m, OVERLAP_MAX * self.radius_m)
    }
}

impl Spring {
    /// Elastic force and total force after a substep at `rate`.
    fn pull(&self, elastic: Vector3<f64>, rate: &Vector3<f64>, substep_s: f64) -> (Vector3<f64>, Vector3<f64>) {
        let elastic = cut(elastic - rate * (self.stiffness * substep_s), self.limit);
        (elastic, cut(elastic - rate * self.damping, self.limit))
    }
}

fn cut(force: Vector3<f64>, limit: f64) -> Vector3<f64> {
    let length = force.norm();
    if length > limit { force * (limit / length) } else { force }
}

/// Turns a tangential vector into the plane of the new normal, keeping its length.
fn turned(before: &Vector3<f64>, normal: &Vector3<f64>) -> Vector3<f64> {
    let flat = before - normal * before.dot(normal);
    flat.try_normalize(0.0).map_or_else(Vector3::zeros, |direction| direction * before.norm())
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::{ContactKinematics, Memory, Pairing};

    /// Two spheres of 5 mm radius, 10 MPa, ν 0.3, without damping: E* = E/(2(1 − ν²)), G* = G/(2(2 − ν)).
    const PAIRING: Pairing = Pairing {
        young_pa: 5.494_505e6,
        shear_pa: 1.131_222e6,
        radius_m: 2.5e-3,
        mass_kg: 6.5e-4,
        damping: 0.0,
        friction: 0.5,
        rolling_friction: 0.2,
    };
    const OVERLAP_M: f64 = 1e-5;
    /// Their normal force 4/3 E* √R* δ^1.5, N.
    const PRESS_N: f64 = 0.011_584;
    /// Their tangential stiffness 8 G* √(R*δ), N/m.
    const SHEAR_N_M: f64 = 1430.9;

    fn meeting(velocity_m_s: [f64; 3], turn_rad_s: [f64; 3]) -> ContactKinematics {
        ContactKinematics {
            overlap_m: OVERLAP_M,
            normal: Vector3::z(),
            velocity_m_s: velocity_m_s.into(),
            turn_rad_s: turn_rad_s.into(),
            arm_m: Vector3::zeros(),
            partner_arm_m: Vector3::zeros(),
        }
    }

    fn close(found: f64, law: f64) {
        assert!((found / law - 1.0).abs() < 2e-4, "{found} is not {law}");
    }

    #[test]
    fn force_is_that_of_hertz() {
        let load = PAIRING.respond(&meeting([0.0; 3], [0.0; 3]), &mut Memory::default(), 1e-5);
        close(load.force_n.z, PRESS_N);
        assert!(load.force_n.xy().norm() == 0.0 && load.rolling_n_m.norm() == 0.0);
    }

    /// The contact sticks up to μ N at 4.05 µm, slips at it, and sticks again on the way back.
    #[test]
    fn shear_sticks_as_mindlin_says_and_slips_as_coulomb_says() {
        let mut memory = Memory::default();
        let mut drag_n = |speed_m_s: f64, way_m: f64| {
            PAIRING.respond(&meeting([speed_m_s, 0.0, 0.0], [0.0; 3]), &mut memory, way_m / speed_m_s).force_n.x
        };
        close(drag_n(0.1, 1e-6), -1e-6 * SHEAR_N_M);
        close(drag_n(0.1, 2e-6), -3e-6 * SHEAR_N_M);
        close(drag_n(0.1, 2e-6), -0.5 * PRESS_N);
        close(drag_n(0.1, 1e-4), -0.5 * PRESS_N);
        close(drag_n(-0.1, -1e-6), -0.5 * PRESS_N + 1e-6 * SHEAR_N_M);
    }

    /// A spring of stiffness R*² 8 G* a that yields at μr R* N.
    #[test]
    fn rolling_is_resisted_by_a_spring_that_yields() {
        let mut memory = Memory::default();
        let mut brake_n_m =
            |turn_rad: f64| PAIRING.respond(&meeting([0.0; 3], [0.0, 1.0, 5.0]), &mut memory, turn_rad).rolling_n_m;
        let stiffness_n_m = SHEAR_N_M * 2.5e-3 * 2.5e-3;
        let elastic_n_m = brake_n_m(1e-4);
        close(elastic_n_m.y, -1e-4 * stiffness_n_m);
        assert_eq!(elastic_n_m.z, 0.0, "a spin about the normal is free");
        close(brake_n_m(1e-2).y, -0.2 * 2.5e-3 * PRESS_N);
    }

    /// Unloading to a quarter of the overlap halves the contact radius and the force; loading again does not add to it.
    #[test]
    fn shear_shrinks_with_the_contact_and_does_not_grow_with_it() {
        let mut memory = Memory { shear_n: Vector3::x() * -1e-3, rolling_n_m: Vector3::zeros(), contact_radius_m: 0.0 };
        let mut drag_n = |overlap_m| {
            let meeting = ContactKinematics { overlap_m, ..meeting([0.0; 3], [0.0; 3]) };
            PAIRING.respond(&meeting, &mut memory, 1e-5).force_n.x
        };
        close(drag_n(OVERLAP_M), -1e-3);
        close(drag_n(0.25 * OVERLAP_M), -0.5e-3);
        close(drag_n(OVERLAP_M), -0.5e-3);
    }
}
