//! Light sources in the sky: the Sun and the Earth as discs, stars as points. The Sun's limb darkening follows the
//! power law I(μ) = μ^α (Hestroffer and Magnan 1998, A&A 333, 338), with μ the cosine between the solar surface's
//! normal and the view. The Earth is a Lambert sphere lit by the Sun. Neither hides the other: eclipses are not
//! modelled.
//!
//! Light has three bands: red 600 to 700, green 500 to 600, blue 400 to 500 nm. Light is measured in units of sunlight:
//! the Sun's whole irradiance is divided equally among the bands. Their sum is then what a camera without filters
//! receives, and a watt of any light in a band is as bright in that band as a watt of sunlight.

use std::f64::consts::PI;

use nalgebra::Vector3;
use selene_base::lambert_phase;

/// Exponent α of the Sun's limb darkening at 0.55 µm: −0.023 + 0.292/0.55 (Hestroffer and Magnan 1998, for 0.42 to 1.1
/// µm).
pub const LIMB_EXPONENT: f64 = 0.508;

/// Fractions of the Earth's light in red, green and blue; their sum is 1. The blue tint is our choice: air scatters
/// short waves and oceans are dark.
pub const EARTH_BANDS: [f64; 3] = [0.283, 0.317, 0.4];

/// Most samples of the Sun's disc: the kernels keep one bit for each.
pub const SAMPLES_MAX: u32 = 32;

/// Most surfaces in a row that scatter light.
pub const BOUNCES_MAX: u32 = 8;

/// Below this fraction of the full Earth's light, the crescent is invisible.
const PHASE_LEAST: f64 = 1e-6;

/// The Sun as a light source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sun {
    /// Unit vector toward the Sun's centre, map frame.
    pub direction_to_sun: Vector3<f64>,
    /// Irradiance on a surface facing the Sun, W/m².
    pub irradiance_w_m2: f64,
    /// Half the Sun's apparent diameter, rad.
    pub angular_radius_rad: f64,
}

impl Sun {
    /// Radiance of the disc's centre, W/(m² sr): above the disc's mean, so that the limb-darkened disc gives the
    /// irradiance.
    #[must_use]
    pub fn central_radiance(&self) -> f64 {
        let solid_angle = disc_sr(self.angular_radius_rad);
        if solid_angle > 0.0 { self.irradiance_w_m2 / solid_angle * (LIMB_EXPONENT + 2.0) / 2.0 } else { 0.0 }
    }
}

/// The Earth as a light source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earth {
    /// Unit vector toward the Earth's centre, map frame.
    pub direction_to_earth: Vector3<f64>,
    /// Irradiance of the Earth's lit part on a surface facing it, W/m².
    pub irradiance_w_m2: f64,
    /// Half the Earth's apparent diameter, rad.
    pub angular_radius_rad: f64,
    /// Unit vector from the Earth toward the Sun, map frame; it gives the phase.
    pub sun_from_earth: Vector3<f64>,
}

impl Earth {
    /// Radiance of the subsolar point, W/(m² sr): the irradiance spread over the lit part of the disc.
    #[must_use]
    pub fn subsolar_radiance(&self) -> f64 {
        let phase = lambert_phase(self.phase_angle_rad());
        let full = 2.0 / 3.0 * disc_sr(self.angular_radius_rad) * phase;
        if phase > PHASE_LEAST && full > 0.0 { self.irradiance_w_m2 / full } else { 0.0 }
    }

    /// Phase angle: the angle at the Earth between the Sun and the site, rad; 0 is a full Earth.
    #[must_use]
    pub fn phase_angle_rad(&self) -> f64 {
        (-self.direction_to_earth).angle(&self.sun_from_earth)
    }
}

/// A star: a point source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Star {
    /// Unit vector toward the star, map frame.
    pub direction: Vector3<f64>,
    /// Irradiance on a surface facing the star, W/m².
    pub irradiance_w_m2: f64,
}

/// Number of rays that sample the light in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightSampling {
    /// Rays to the Sun's disc where it is partly visible, and to each lamp that has a size. 1 samples the centre only
    /// and gives sharp shadows; more, up to `SAMPLES_MAX`, give penumbras of as many steps.
    pub sun_samples: u32,
    /// Rays from every block of 2 × 2 pixels to the surroundings, for light that lit surfaces scatter; with 0, only the
    /// Earth lights the shadows.
    pub bounce_rays: u32,
    /// Number of surfaces in a row that scatter light along each of these rays: 1 sees directly lit surfaces only; with
    /// more, up to `BOUNCES_MAX`, those surfaces also receive light that others scatter.
    pub bounces: u32,
    /// Rays to the Earth's disc where it is partly visible: 1 samples the centre only, which gives sharp shadows and
    /// leaves out earthlight that surfaces scatter; more, up to `SAMPLES_MAX`, give penumbras and scattered earthlight.
    pub earth_samples: u32,
    /// Seed of the sampling noise: the same seed gives the same picture.
    pub seed: u32,
}

impl LightSampling {
    /// The Sun as a point and no scattered light: one shadow ray per pixel.
    pub const POINT: Self = Self { sun_samples: 1, bounce_rays: 0, bounces: 1, earth_samples: 1, seed: 0 };
}

impl Default for LightSampling {
    fn default() -> Self {
        Self { sun_samples: 4, bounce_rays: 1, bounces: 1, earth_samples: 1, seed: 0 }
    }
}

/// Projected solid angle of a disc on a surface that faces it, sr.
fn disc_sr(angular_radius_rad: f64) -> f64 {
    PI * angular_radius_rad.sin().powi(2)
}
