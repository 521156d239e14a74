//! The inputs of a contact for one rigid body at one time: pose, velocity and mobility, the
//! inverse of mass and inertia. A rover's link counts as if its joints were cut: the bodies
//! joined to it only make it heavier, so that a stiffness that is stable for the link alone is
//! stable for the rover.

use nalgebra::{Matrix3, Vector3};
use selene_base::Pose;

/// Mobility of a rigid body: its response to impulses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    inverse_mass_per_kg: f64,
    centre_m: Vector3<f64>,
    inverse_inertia: Matrix3<f64>,
}

/// A rigid body in motion, map frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactBody {
    /// Pose of the body.
    pub world_from_body: Pose,
    /// Velocity of the frame's origin, m/s.
    pub linear_m_s: Vector3<f64>,
    /// Turn rate, rad/s.
    pub angular_rad_s: Vector3<f64>,
    /// Mobility of the body.
    pub mobility: Mobility,
}

impl Mobility {
    /// The mobility of an immovable body: zero.
    #[must_use]
    pub fn fixed() -> Self {
        Self { inverse_mass_per_kg: 0.0, centre_m: Vector3::zeros(), inverse_inertia: Matrix3::zeros() }
    }

    /// A mass with its centre at `centre_m` and its inertia about it, map frame.
    #[must_use]
    pub fn new(mass_kg: f64, centre_m: Vector3<f64>, inertia_kg_m2: &Matrix3<f64>) -> Self {
        let inverse_inertia = inertia_kg_m2.try_inverse().unwrap_or_else(Matrix3::zeros);
        Self { inverse_mass_per_kg: 1.0 / mass_kg, centre_m, inverse_inertia }
    }

    /// Matrix that maps an impulse at a point to the point's change of velocity, 1/kg.
    pub(crate) fn response(&self, point_m: &Vector3<f64>) -> Matrix3<f64> {
        let arm = (point_m - self.centre_m).cross_matrix();
        Matrix3::identity() * self.inverse_mass_per_kg - arm * self.inverse_inertia * arm
    }

    /// Turn rate about `axis` that a unit angular impulse about it gives, `1/(kg m²)`.
    pub(crate) fn turn_response(&self, axis: &Vector3<f64>) -> f64 {
        axis.dot(&(self.inverse_inertia * axis))
    }
}

impl ContactBody {
    /// An immovable body at rest.
    #[must_use]
    pub fn fixed(world_from_body: Pose) -> Self {
        let zero = Vector3::zeros();
        Self { world_from_body, linear_m_s: zero, angular_rad_s: zero, mobility: Mobility::fixed() }
    }

    pub(crate) fn origin_m(&self) -> Vector3<f64> {
        self.world_from_body.translation.vector
    }

    pub(crate) fn velocity_m_s(&self, point_m: &Vector3<f64>) -> Vector3<f64> {
        self.linear_m_s + self.angular_rad_s.cross(&(point_m - self.origin_m()))
    }
}
