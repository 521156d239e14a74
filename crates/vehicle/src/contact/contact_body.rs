//! A rigid body at an instant, as a contact sees it: where it is, how it moves and how
//! readily a push moves it. A rover's link counts as if its joints were cut: what hangs
//! on it only makes it heavier, so that a stiffness that is stable for the link alone
//! is stable for the rover.

use nalgebra::{Matrix3, Vector3};
use selene_base::Pose;

/// How readily a rigid body moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    inverse_mass_per_kg: f64,
    centre_m: Vector3<f64>,
    inverse_inertia: Matrix3<f64>,
}

/// A rigid body in motion; the map frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactBody {
    /// Where its frame is.
    pub world_from_body: Pose,
    /// Velocity of the frame's origin, m/s.
    pub linear_m_s: Vector3<f64>,
    /// Turn rate, rad/s.
    pub angular_rad_s: Vector3<f64>,
    /// How readily it moves.
    pub mobility: Mobility,
}

impl Mobility {
    /// What nothing moves.
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

    /// Velocity that a unit impulse at a point gives that point, by direction, 1/kg.
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
    /// A body at rest that nothing moves.
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
