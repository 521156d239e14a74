//! Where an ephemeris comes from, and what it tells: Sun and Earth as their light shows
//! them from the Moon's centre, the Moon's velocity, which moves all that it sees
//! (aberration), and the Moon's attitude. The bending of light by the Sun is left out
//! (0.0005° beside its limb), so is the site's own 5 m/s.

use std::sync::Arc;

use nalgebra::{Rotation3, Vector3};

use crate::kernels::{KernelError, Kernels};
use crate::{Utc, analytic};

/// Speed of light, m/s.
pub(crate) const LIGHT_M_S: f64 = 299_792_458.0;

/// Where the places of Sun, Earth and Moon come from.
#[derive(Clone, Debug, Default)]
pub enum Ephemeris {
    /// Series that need no files, good to 0.011° (1000 sites and instants of 1972–2049).
    #[default]
    Analytic,
    /// SPICE kernels, as exact as they are.
    Kernels(Arc<Kernels>),
}

/// Sun and Earth at an instant, in the axes of the ICRF.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// From the Moon's centre to where the Sun's light left it, m.
    pub(crate) sun_m: Vector3<f64>,
    /// From the Moon's centre to where the Earth's light left it, m.
    pub(crate) earth_m: Vector3<f64>,
    /// Of the Moon's centre about the barycentre of the solar system, m/s.
    pub(crate) velocity_m_s: Vector3<f64>,
    /// From Moon-fixed axes (mean Earth/polar axis) to the ICRF.
    pub(crate) icrf_from_moon: Rotation3<f64>,
}

impl Ephemeris {
    /// # Errors
    /// When the kernels do not cover the instant.
    pub(crate) fn places(&self, utc: Utc) -> Result<Places, KernelError> {
        match self {
            Self::Analytic => Ok(analytic::places(utc.tdb_days())),
            Self::Kernels(kernels) => kernels.places(utc),
        }
    }
}

impl Places {
    /// Where light that comes from `unit` is seen from the moving Moon, ICRF (aberration
    /// to first order in v/c: good to 1e-8 rad).
    pub(crate) fn aberrated(&self, unit: &Vector3<f64>) -> Vector3<f64> {
        (unit + self.velocity_m_s / LIGHT_M_S).normalize()
    }
}
