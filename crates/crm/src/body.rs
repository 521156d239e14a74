//! Rigid bodies in the soil. Within a step a body moves along a twist that the caller chooses; the step returns the
//! soil's impulse on it, for the caller to apply.

use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use crate::error::CrmError;
use crate::shape::BodyShape;

/// A rigid body at the start of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Its shape about its origin.
    pub shape: BodyShape,
    /// Its origin and axes in the grid's frame, m.
    pub pose: Isometry3<f64>,
    /// Velocity of its origin, m/s.
    pub velocity_m_s: Vector3<f64>,
    /// Angular velocity in the grid's axes, rad/s.
    pub angular_velocity_rad_s: Vector3<f64>,
    /// Coulomb's coefficient against soil, 0 or more.
    pub friction: f64,
}

/// Impulse of the soil on a body over a step, in the grid's axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reaction {
    /// Sum of impulses, N s.
    pub impulse_n_s: Vector3<f64>,
    /// Sum of their moments about the body's origin, at its position in each substep, N m s.
    pub angular_impulse_n_m_s: Vector3<f64>,
}

impl Reaction {
    /// Adds an impulse that acts at `arm_m` from the body's origin, m.
    pub(crate) fn add(&mut self, impulse_n_s: Vector3<f64>, arm_m: &Vector3<f64>) {
        self.impulse_n_s += impulse_n_s;
        self.angular_impulse_n_m_s += arm_m.cross(&impulse_n_s);
    }
}

impl Body {
    /// Checks the body; `index` is its position in the list, for the error.
    ///
    /// # Errors
    /// When a size, friction, pose or motion is out of range.
    pub fn check(&self, index: usize) -> Result<(), CrmError> {
        let refuse = |what| Err(CrmError::Body { index, what });
        if let Some(size) = self.shape.sizes_m().into_iter().find(|size| !(1e-6..=1e4).contains(size)) {
            return refuse(format!("half size or radius {size} m: must be 0.000001 to 10000 m"));
        }
        if let Some(fault) = self.shape.fault() {
            return refuse(fault);
        }
        if !(0.0..=10.0).contains(&self.friction) {
            return refuse(format!("friction {}: must be 0 to 10", self.friction));
        }
        let numbers = [self.pose.translation.vector, self.velocity_m_s, self.angular_velocity_rad_s];
        let finite = numbers.iter().flatten().chain(self.pose.rotation.coords.iter()).all(|number| number.is_finite());
        if finite { Ok(()) } else { refuse("pose or motion is no finite number".to_owned()) }
    }

    /// The body after `time_s` along its twist.
    #[must_use]
    pub fn moved(&self, time_s: f64) -> Self {
        let turn = UnitQuaternion::from_scaled_axis(self.angular_velocity_rad_s * time_s);
        let at = self.pose.translation.vector + self.velocity_m_s * time_s;
        Self { pose: Isometry3::from_parts(Translation3::from(at), turn * self.pose.rotation), ..*self }
    }

    /// Upper bound of the speed of any point of the body, m/s.
    #[must_use]
    pub fn speed_max_m_s(&self) -> f64 {
        self.velocity_m_s.norm() + self.angular_velocity_rad_s.norm() * self.shape.bounding_radius_m()
    }

    /// Upper bound of the speed of any point of any of `bodies`, m/s; 0 without bodies.
    #[must_use]
    pub fn fastest_m_s(bodies: &[Self]) -> f64 {
        bodies.iter().map(Self::speed_max_m_s).fold(0.0, f64::max)
    }

    /// Velocity, m/s, of soil at `at` (m) after contact; `None` where `at` is outside of the body.
    pub(crate) fn meet(&self, at: &Vector3<f64>, velocity: &Vector3<f64>) -> Option<Vector3<f64>> {
        let arm = at - self.pose.translation.vector;
        if arm.norm_squared() > self.shape.bounding_radius_m().powi(2) {
            return None;
        }
        let (distance, normal) = self.shape.distance(&self.pose.rotation.inverse_transform_vector(&arm))?;
        if distance >= 0.0 {
            return None;
        }
        let own = self.velocity_m_s + self.angular_velocity_rad_s.cross(&arm);
        Some(own + slide(velocity - own, &(self.pose.rotation * normal), self.friction))
    }
}

/// Removes the approach to a surface, and reduces the tangential motion by Coulomb friction.
pub(crate) fn slide(relative: Vector3<f64>, normal: &Vector3<f64>, friction: f64) -> Vector3<f64> {
    let approach = -relative.dot(normal);
    if approach <= 0.0 {
        return relative;
    }
    let along = relative + normal * approach;
    let speed = along.norm();
    let taken = friction * approach;
    if speed > taken { along * (1.0 - taken / speed) } else { Vector3::zeros() }
}
