//! Conserved quantities: mass, momentum, energy.

use nalgebra::Vector3;

use crate::model::Model;
use crate::state::{Partner, Sphere, State};

impl State {
    /// Mass of all grains, kg.
    #[must_use]
    pub fn mass_kg(&self, model: &Model) -> f64 {
        self.spheres.iter().map(|sphere| model.mass_kg(sphere.radius_m)).sum()
    }

    /// Momentum of all grains, N s.
    #[must_use]
    pub fn momentum_n_s(&self, model: &Model) -> Vector3<f64> {
        self.spheres.iter().map(|sphere| sphere.velocity_m_s * model.mass_kg(sphere.radius_m)).sum()
    }

    /// Angular momentum of all grains about the container's low corner, spin included, N m s.
    #[must_use]
    pub fn angular_momentum_n_m_s(&self, model: &Model) -> Vector3<f64> {
        let of = |sphere: &Sphere| {
            sphere.position_m.cross(&sphere.velocity_m_s) * model.mass_kg(sphere.radius_m)
                + sphere.angular_velocity_rad_s * model.inertia_kg_m2(sphere.radius_m)
        };
        self.spheres.iter().map(of).sum()
    }

    /// Energy of all grains, J: kinetic, potential above the container's low corner, and elastic in contacts. Contacts
    /// are as at the beginning of the last substep.
    #[must_use]
    pub fn energy_j(&self, model: &Model) -> f64 {
        let of = |sphere: &Sphere| {
            let mass_kg = model.mass_kg(sphere.radius_m);
            let spin = model.inertia_kg_m2(sphere.radius_m) * sphere.angular_velocity_rad_s.norm_squared();
            let height = model.gravity_m_s2().dot(&sphere.position_m);
            0.5 * (mass_kg * sphere.velocity_m_s.norm_squared() + spin) - mass_kg * height
        };
        let moving: f64 = self.spheres.iter().map(of).sum();
        moving + self.elastic_j(model)
    }

    /// Elastic energy of all contacts, J.
    #[must_use]
    pub fn elastic_j(&self, model: &Model) -> f64 {
        let radius_m = |id| self.sphere(id).map_or(f64::NAN, |sphere| sphere.radius_m);
        let of = |(sphere, partner)| match partner {
            Partner::Sphere(other) => model.between(radius_m(sphere), radius_m(other)),
            // The elastic energy does not depend on friction.
            Partner::Wall(_) | Partner::Body(_) | Partner::Shell { .. } => model.against(radius_m(sphere), 0.0),
        };
        self.contacts.iter().map(|contact| of(contact.key()).elastic_j(&contact.memory)).sum()
    }
}
