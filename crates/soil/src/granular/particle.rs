//! What the ledger, the surface and sensors read of a piece of flowing soil, be it a point or a single grain.

use nalgebra::Vector3;
use selene_crm::Point;

/// Milligrams in a kilogram.
pub(crate) const MG_PER_KG: f64 = 1e6;

/// A piece of flowing soil.
pub(crate) trait Particle: Copy {
    /// Its number, which it keeps.
    fn id(&self) -> u32;
    /// Its mass, mg.
    fn mass_mg(&self) -> u32;
    /// Its position in the window, m.
    fn position_m(&self) -> Vector3<f64>;
    /// Its velocity, m/s.
    fn velocity_m_s(&self) -> Vector3<f32>;
}

impl Particle for &Point {
    fn id(&self) -> u32 {
        self.id
    }

    fn mass_mg(&self) -> u32 {
        self.mass_mg
    }

    fn position_m(&self) -> Vector3<f64> {
        self.position_m
    }

    fn velocity_m_s(&self) -> Vector3<f32> {
        self.velocity_m_s
    }
}
