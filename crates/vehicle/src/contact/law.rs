//! The force law of a hard contact between two bodies that touch at some points.
//!
//! Normal: each point's stiffness and damping follow from the effective mass m of the two
//! bodies there, k = m (`FREQUENCY`/dt)² and c = 2 `DAMPING` m `FREQUENCY`/dt, so
//! that any pair is stable at any step: it oscillates at a twentieth of the steps' rate and
//! rests at a depth of (load/m)(dt/`FREQUENCY`)²: under 0.1 mm for a Moon rover's
//! wheel at 0.5 ms, under 1 mm at 1.5 ms. The deepest point determines the normal force,
//! which the points share by their depth, so that it does not jump when a point joins or
//! leaves. The force never pulls.
//!
//! Friction: Coulomb, with an elastic force that grows against sliding up to the friction
//! cone: a body at rest sticks without creep. It acts at the centre of pressure; several
//! points also resist twisting about the normal.

use nalgebra::{Matrix3, Vector3};
use selene_base::Wrench;
use serde::{Deserialize, Serialize};

use super::contact_body::ContactBody;

/// Angular frequency of a contact, rad per step.
const FREQUENCY: f64 = 0.3;
/// Damping, share of critical.
const DAMPING: f64 = 0.7;

/// A point where two bodies overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactPoint {
    pub(crate) point_m: Vector3<f64>,
    /// Unit normal from the second body into the first.
    pub(crate) normal: Vector3<f64>,
    pub(crate) depth_m: f64,
}

/// Friction state of a contact: its elastic force and torque.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grip {
    force_n: Vector3<f64>,
    twist_nm: f64,
}

/// A force at a point and a couple, on the first body; the second has the opposite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactWrench {
    force_n: Vector3<f64>,
    couple_nm: Vector3<f64>,
    at_m: Vector3<f64>,
}

impl ContactWrench {
    /// The push as a wrench about `origin_m`.
    pub(crate) fn about(&self, origin_m: &Vector3<f64>) -> Wrench {
        let mut wrench = Wrench { force: Vector3::zeros(), torque: self.couple_nm };
        wrench.add_force_at(self.force_n, self.at_m - origin_m);
        wrench
    }

    /// The equal and opposite push on the second body.
    pub(crate) fn opposite(&self) -> Self {
        Self { force_n: -self.force_n, couple_nm: -self.couple_nm, at_m: self.at_m }
    }
}

/// The inputs of the law for two bodies in one step.
pub(crate) struct Law<'a> {
    pub(crate) first: &'a ContactBody,
    pub(crate) second: &'a ContactBody,
    pub(crate) friction: f64,
    pub(crate) dt_s: f64,
}

impl Law<'_> {
    /// The push of a patch of points that share one grip.
    pub(crate) fn patch(&self, touches: &[ContactPoint], grip: &mut Grip) -> Option<ContactWrench> {
        let share = StiffnessShare::of(touches);
        let (mut sum_n, mut moment, mut force_n) = (0.0, Vector3::zeros(), Vector3::zeros());
        for touch in touches {
            let push_n = self.normal_n(touch, &share);
            sum_n += push_n;
            moment += touch.point_m * push_n;
            force_n += touch.normal * push_n;
        }
        let Some(normal) = force_n.try_normalize(0.0) else {
            *grip = Grip::default();
            return None;
        };
        let at_m = moment / sum_n;
        let couple_nm = touches.iter().fold(Vector3::zeros(), |couple, touch| {
            couple + (touch.point_m - at_m).cross(&touch.normal) * self.normal_n(touch, &share)
        });
        let spread = |touch: &ContactPoint| (touch.point_m - at_m).norm() * self.normal_n(touch, &share);
        let spread_m = touches.iter().map(spread).sum::<f64>() / sum_n;
        let hold_n = self.hold(&normal, &at_m, force_n.norm(), 1.0, grip);
        let twist_nm = self.twist(&normal, sum_n * spread_m, grip);
        Some(ContactWrench { force_n: force_n + hold_n, couple_nm: couple_nm + normal * twist_nm, at_m })
    }

    /// The push of one point among several that have normals and grips of their own.
    pub(crate) fn point(&self, touch: &ContactPoint, share: &StiffnessShare, grip: &mut Grip) -> Option<ContactWrench> {
        let push_n = self.normal_n(touch, share);
        if push_n <= 0.0 {
            *grip = Grip::default();
            return None;
        }
        let hold_n = self.hold(&touch.normal, &touch.point_m, push_n, touch.depth_m / share.sum_m, grip);
        Some(ContactWrench {
            force_n: touch.normal * push_n + hold_n,
            couple_nm: Vector3::zeros(),
            at_m: touch.point_m,
        })
    }

    fn response(&self, point_m: &Vector3<f64>) -> Matrix3<f64> {
        self.first.mobility.response(point_m) + self.second.mobility.response(point_m)
    }

    fn velocity_m_s(&self, point_m: &Vector3<f64>) -> Vector3<f64> {
        self.first.velocity_m_s(point_m) - self.second.velocity_m_s(point_m)
    }

    /// Stiffness and damping of a mass, N/m and N s/m.
    fn spring(&self, mass: f64) -> (f64, f64) {
        let rate = FREQUENCY / self.dt_s;
        (mass * rate * rate, 2.0 * DAMPING * mass * rate)
    }

    fn normal_n(&self, touch: &ContactPoint, share: &StiffnessShare) -> f64 {
        let readiness = touch.normal.dot(&(self.response(&touch.point_m) * touch.normal));
        if readiness <= 0.0 {
            return 0.0;
        }
        let (stiffness, damping) = self.spring(1.0 / readiness);
        let rising = self.velocity_m_s(&touch.point_m).dot(&touch.normal);
        touch.depth_m / share.sum_m * (stiffness * share.deepest_m - damping * rising).max(0.0)
    }

    /// Friction at a point that carries `normal_n` and a share of the body's grip.
    fn hold(
        &self,
        normal: &Vector3<f64>,
        at_m: &Vector3<f64>,
        normal_n: f64,
        share: f64,
        grip: &mut Grip,
    ) -> Vector3<f64> {
        let response = self.response(at_m);
        // The two tangential responses' sum is above the larger one.
        let readiness = response.trace() - normal.dot(&(response * normal));
        let (stiffness, damping) = self.spring(share / readiness);
        let velocity = self.velocity_m_s(at_m);
        let slide = velocity - normal * velocity.dot(normal);
        let limit_n = self.friction * normal_n;
        let elastic = turned_into_plane(&grip.force_n, normal) - slide * (stiffness * self.dt_s);
        grip.force_n = within(elastic, limit_n);
        within(grip.force_n - slide * damping, limit_n)
    }

    /// Friction against twisting about the normal; `load_nm` is force times spread.
    fn twist(&self, normal: &Vector3<f64>, load_nm: f64, grip: &mut Grip) -> f64 {
        let readiness = self.first.mobility.turn_response(normal) + self.second.mobility.turn_response(normal);
        if readiness <= 0.0 {
            return 0.0;
        }
        let (stiffness, damping) = self.spring(1.0 / readiness);
        let rate = (self.first.angular_rad_s - self.second.angular_rad_s).dot(normal);
        let limit_nm = self.friction * load_nm;
        grip.twist_nm = (grip.twist_nm - stiffness * rate * self.dt_s).clamp(-limit_nm, limit_nm);
        (grip.twist_nm - damping * rate).clamp(-limit_nm, limit_nm)
    }
}

/// How several points share one body's stiffness.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StiffnessShare {
    deepest_m: f64,
    sum_m: f64,
}

impl StiffnessShare {
    pub(crate) fn of(touches: &[ContactPoint]) -> Self {
        let depths = || touches.iter().map(|touch| touch.depth_m);
        Self { deepest_m: depths().fold(0.0, f64::max), sum_m: depths().sum::<f64>().max(f64::MIN_POSITIVE) }
    }
}

/// A tangential force, turned into the plane of a contact whose normal has rotated.
fn turned_into_plane(force: &Vector3<f64>, normal: &Vector3<f64>) -> Vector3<f64> {
    let flat = force - normal * force.dot(normal);
    let (before, after) = (force.norm(), flat.norm());
    if after > 0.5 * before { flat * (before / after) } else { flat }
}

fn within(force: Vector3<f64>, limit_n: f64) -> Vector3<f64> {
    let size = force.norm();
    if size > limit_n { force * (limit_n / size) } else { force }
}

impl Grip {
    /// The same state with the two bodies exchanged.
    pub(crate) fn on_other(self) -> Self {
        // The normal is reversed as well, so that the couple about it keeps its sign.
        Self { force_n: -self.force_n, ..self }
    }
}
