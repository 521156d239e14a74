//! The lights of the sky, as the scene takes them: the Sun and the Earth as discs,
//! stars as points. The Sun's limb is darker than its middle by the power law
//! I(μ) = μ^α (Hestroffer and Magnan 1998, A&A 333, 338), μ the cosine between the
//! solar surface's normal and the view; the Earth is a Lambert sphere lit by the Sun.
//! Neither covers the other for the ground: there are no eclipses.
//!
//! Light has three bands: red 600 to 700, green 500 to 600, blue 400 to 500 nm. They are
//! counted in sunlight: the Sun's whole irradiance is shared out to them in equal parts,
//! so that their sum is what a camera without filters takes in, and a band's watt of
//! another light is as bright in that band as a watt of the Sun's.

use std::f64::consts::PI;

use nalgebra::Vector3;
use selene_base::lambert_phase;

/// α of the Sun's limb darkening at 0.55 µm: −0.023 + 0.292/0.55 (Hestroffer and
/// Magnan 1998, for 0.42 to 1.1 µm).
pub const LIMB_EXPONENT: f64 = 0.508;

/// The Earth's light in the three bands, as parts of its sum. Our choice of a blue: air
/// scatters short waves, oceans are dark.
pub const EARTH_BANDS: [f64; 3] = [0.283, 0.317, 0.4];

/// The most samples of the Sun's disc: one bit each.
pub const SAMPLES_MAX: u32 = 32;

/// The most surfaces in a row that scatter light.
pub const BOUNCES_MAX: u32 = 8;

/// Below this share of the full Earth's light there is no crescent to be seen.
const PHASE_LEAST: f64 = 1e-6;

/// The Sun as the scene needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sun {
    /// Unit vector toward its centre, map frame.
    pub direction_to_sun: Vector3<f64>,
    /// Irradiance on a surface that faces it, W/m².
    pub irradiance_w_m2: f64,
    /// Half its apparent diameter, rad.
    pub angular_radius_rad: f64,
}

impl Sun {
    /// Radiance of the disc's centre, W/(m² sr): so much above the disc's mean that
    /// the darkened disc gives the irradiance.
    #[must_use]
    pub fn central_radiance(&self) -> f64 {
        let solid_angle = disc_sr(self.angular_radius_rad);
        if solid_angle > 0.0 { self.irradiance_w_m2 / solid_angle * (LIMB_EXPONENT + 2.0) / 2.0 } else { 0.0 }
    }
}

/// The Earth as the scene needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earth {
    /// Unit vector toward its centre, map frame.
    pub direction_to_earth: Vector3<f64>,
    /// Irradiance of its lit part on a surface that faces it, W/m².
    pub irradiance_w_m2: f64,
    /// Half its apparent diameter, rad.
    pub angular_radius_rad: f64,
    /// Unit vector from the Earth toward the Sun, map frame: gives the phase.
    pub sun_from_earth: Vector3<f64>,
}

impl Earth {
    /// Radiance where the Sun stands in its zenith, W/(m² sr): the irradiance spread
    /// over the lit part of the disc.
    #[must_use]
    pub fn subsolar_radiance(&self) -> f64 {
        let phase = lambert_phase(self.phase_angle_rad());
        let full = 2.0 / 3.0 * disc_sr(self.angular_radius_rad) * phase;
        if phase > PHASE_LEAST && full > 0.0 { self.irradiance_w_m2 / full } else { 0.0 }
    }

    /// Angle at the Earth between the Sun and the site, rad; 0 is a full Earth.
    #[must_use]
    pub fn phase_angle_rad(&self) -> f64 {
        (-self.direction_to_earth).angle(&self.sun_from_earth)
    }
}

/// A star: a point of light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Star {
    /// Unit vector toward it, map frame.
    pub direction: Vector3<f64>,
    /// Irradiance on a surface that faces it, W/m².
    pub irradiance_w_m2: f64,
}

/// How much work a picture's light is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightSampling {
    /// Rays to the Sun's disc where it is seen in part, and to each lamp of some size: 1
    /// takes the middle only, so that shadows are sharp; more, up to `SAMPLES_MAX`, give
    /// penumbras of as many steps.
    pub sun_samples: u32,
    /// Rays from every four pixels (a square of two by two) to what is around, for
    /// light that lit surfaces scatter; 0 leaves shadows to the Earth.
    pub bounce_rays: u32,
    /// How many surfaces in a row scatter light along each of these rays: 1 is lit ground alone, more, up to
    /// `BOUNCES_MAX`, are lit by what others scatter onto them.
    pub bounces: u32,
    /// Rays to the Earth's disc where it is seen in part: 1 takes the middle only, so that its shadows are
    /// sharp, and leaves out what it has others scatter; more, up to `SAMPLES_MAX`, give penumbras and scatter.
    pub earth_samples: u32,
    /// Which noise: the same seed gives the same picture.
    pub seed: u32,
}

impl LightSampling {
    /// The Sun a point, nothing scattered: one shadow ray a pixel.
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
