//! The part of a simulation that does not change while grains move: grain parameters, container and gravity.

use std::f64::consts::PI;

use garde::Validate;
use nalgebra::Vector3;

use crate::container::Container;
use crate::error::SpheresError;
use crate::law::{Pairing, damping};
use crate::spec::SpheresSpec;

/// The longest substep, as a fraction of the Rayleigh time of the smallest grain.
const RAYLEIGH_SHARE: f64 = 0.2;

/// Grain parameters, container and gravity of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    grains: SpheresSpec,
    container: Container,
    gravity_m_s2: Vector3<f64>,
    damping: f64,
}

impl Model {
    /// Creates a model of `grains` in `container` under `gravity_m_s2`, in the container's axes.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(grains: &SpheresSpec, container: &Container, gravity_m_s2: Vector3<f64>) -> Result<Self, SpheresError> {
        grains.validate().map_err(|report| SpheresError::Grains(report.to_string().trim_end().to_owned()))?;
        container.check()?;
        if !gravity_m_s2.iter().all(|along| along.abs() <= 1000.0) {
            let reported = format!("gravity {:?}: must be 1000 m/s² at most", gravity_m_s2.as_slice());
            return Err(SpheresError::Container(reported));
        }
        Ok(Self { grains: *grains, container: *container, gravity_m_s2, damping: damping(grains.restitution) })
    }

    /// Parameters of the grains.
    #[must_use]
    pub fn grains(&self) -> &SpheresSpec {
        &self.grains
    }

    /// The container.
    #[must_use]
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// Gravity in the container's axes, m/s².
    #[must_use]
    pub fn gravity_m_s2(&self) -> Vector3<f64> {
        self.gravity_m_s2
    }

    /// Mass of a grain of `radius_m`, kg.
    #[must_use]
    pub fn mass_kg(&self, radius_m: f64) -> f64 {
        4.0 / 3.0 * PI * radius_m.powi(3) * self.grains.density_kg_m3
    }

    /// Moment of inertia of a grain of `radius_m` about its centre, kg m².
    pub(crate) fn inertia_kg_m2(&self, radius_m: f64) -> f64 {
        0.4 * self.mass_kg(radius_m) * radius_m * radius_m
    }

    /// The longest substep for slow grains, s: a fifth of the time `πr √(ρ/G)/(0.1631 ν + 0.8766)` that a Rayleigh wave
    /// takes over the smallest of them, of `radius_m` (Thornton and Randall 1988).
    #[must_use]
    pub fn substep_max_s(&self, radius_m: f64) -> f64 {
        let SpheresSpec { density_kg_m3, poisson, .. } = self.grains;
        let wave_s = PI * radius_m * (density_kg_m3 / self.grains.shear_pa()).sqrt() / (0.1631 * poisson + 0.8766);
        RAYLEIGH_SHARE * wave_s
    }

    /// The pairing of two grains.
    pub(crate) fn between(&self, radius_m: f64, other_m: f64) -> Pairing {
        let rigid = self.against(radius_m, self.grains.friction);
        let (mass_kg, other_kg) = (self.mass_kg(radius_m), self.mass_kg(other_m));
        Pairing {
            young_pa: 0.5 * rigid.young_pa,
            shear_pa: 0.5 * rigid.shear_pa,
            radius_m: radius_m * other_m / (radius_m + other_m),
            mass_kg: mass_kg * other_kg / (mass_kg + other_kg),
            ..rigid
        }
    }

    /// The pairing of a grain with a flat, rigid surface of any mass.
    pub(crate) fn against(&self, radius_m: f64, friction: f64) -> Pairing {
        let SpheresSpec { young_pa, poisson, rolling_friction, .. } = self.grains;
        Pairing {
            young_pa: young_pa / (1.0 - poisson * poisson),
            shear_pa: self.grains.shear_pa() / (2.0 - poisson),
            radius_m,
            mass_kg: self.mass_kg(radius_m),
            damping: self.damping,
            friction,
            rolling_friction: rolling_friction.min(friction),
        }
    }
}
