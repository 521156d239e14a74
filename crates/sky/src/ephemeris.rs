//! The source of an ephemeris, and what it gives: Sun and Earth from the Moon's centre, corrected for
//! light time, the Moon's velocity, which causes aberration, and the Moon's attitude. Neglected are the
//! bending of light by the Sun (0.0005° beside its limb) and the site's own speed of 5 m/s.

use std::sync::Arc;

use nalgebra::{Rotation3, Vector3};

use crate::kernels::{KernelError, Kernels};
use crate::{Utc, analytic};

/// Speed of light, m/s.
pub(crate) const LIGHT_M_S: f64 = 299_792_458.0;

/// Source of the positions of Sun, Earth and Moon.
#[derive(Clone, Debug, Default)]
pub enum Ephemeris {
    /// Series that need no files, good to 0.011° (1000 sites and instants of 1972–2049).
    #[default]
    Analytic,
    /// SPICE kernels, with the accuracy of their data.
    Kernels(Arc<Kernels>),
}

/// Sun and Earth at an instant, in the axes of the ICRF.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SkyState {
    /// From the Moon's centre to the Sun when its light left it, m.
    pub(crate) sun_m: Vector3<f64>,
    /// From the Moon's centre to the Earth when its light left it, m.
    pub(crate) earth_m: Vector3<f64>,
    /// Velocity of the Moon's centre about the barycentre of the solar system, m/s.
    pub(crate) velocity_m_s: Vector3<f64>,
    /// From Moon-fixed axes (mean Earth/polar axis) to the ICRF.
    pub(crate) icrf_from_moon: Rotation3<f64>,
}

impl Ephemeris {
    /// # Errors
    /// When the kernels do not cover the instant.
    pub(crate) fn sky_state(&self, utc: Utc) -> Result<SkyState, KernelError> {
        match self {
            Self::Analytic => Ok(analytic::sky_state(utc.tdb_days())),
            Self::Kernels(kernels) => kernels.sky_state(utc),
        }
    }
}

impl SkyState {
    /// Apparent direction, from the moving Moon, of light that comes from the direction `unit`; ICRF
    /// (aberration to first order in v/c: good to 1e-8 rad).
    pub(crate) fn aberrated(&self, unit: &Vector3<f64>) -> Vector3<f64> {
        (unit + self.velocity_m_s / LIGHT_M_S).normalize()
    }
}
