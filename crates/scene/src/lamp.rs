//! Lamps: an emitting face and a profile of intensity over the angle to its axis. The intensity is full within an inner
//! angle and falls to zero at an outer one by a power of the cosine between them, so its integral has a closed form. A
//! Lambert emitter, a headlight, an LED bar and a bulb are the same lamp with different numbers. Faces are rectangles,
//! sampled for soft shadows; a face without size is a point. Lamps light surfaces but are not visible themselves.
//!
//! A lamp is given by its radiant flux in visible light or its luminous flux, and a colour. Both are converted to flux
//! in the three bands, in units of sunlight like all light (see [`crate::Sun`]): a band's power is divided by the
//! fraction of the Sun's irradiance that really lies in the band. For this conversion the Sun and colour temperatures
//! are black bodies.

use std::f64::consts::{PI, TAU};

use nalgebra::Vector3;
use selene_base::Pose;

use crate::record::LampRecord;

/// Most lamps with flux in a scene; `LAMPS_MAX` in records.wgsl.
pub const LAMPS_MAX: usize = 64;

/// Effective temperature of the Sun, K (IAU 2015 resolution B3).
const SUN_K: f64 = 5772.0;
/// Second radiation constant, m K.
const C2_M_K: f64 = 1.438_776_877e-2;
/// Terms of the series for a black body's share below a wavelength: at the shortest
/// wavelength and 20 000 K the last one is below 1e-15.
const PLANCK_TERMS: u32 = 60;
/// Limits of the bands red, green and blue, m.
const BANDS_M: [[f64; 2]; 3] = [[600e-9, 700e-9], [500e-9, 600e-9], [400e-9, 500e-9]];
/// Luminous efficacy of light of 555 nm, lm/W.
const LUMENS_PER_WATT: f64 = 683.0;
/// Mean of the eye's response V(λ) (CIE 1924, every 10 nm) over each band.
const EYE: [f64; 3] = [0.187, 0.807, 0.074];
/// Least difference of the cosines over which a profile falls.
const SHARPEST: f64 = 1e-4;

/// The colour of a lamp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Colour {
    /// The Sun's colour.
    Sunlight,
    /// The colour of a black body of this temperature, K.
    Temperature(f64),
    /// Relative radiant flux in red, green and blue.
    Bands([f64; 3]),
}

/// How much light a lamp sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flux {
    /// Radiant flux from 400 to 700 nm, W.
    Radiant(f64),
    /// Luminous flux, lm.
    Luminous(f64),
}

impl Flux {
    /// Flux in red, green and blue, W in units of sunlight.
    #[must_use]
    pub fn bands_w(self, colour: Colour) -> [f64; 3] {
        let shares = colour.shares();
        let radiant_w = match self {
            Self::Radiant(watts) => watts,
            Self::Luminous(lumens) => {
                let seen: f64 = shares.iter().zip(EYE).map(|(share, eye)| share * eye).sum();
                lumens / (LUMENS_PER_WATT * seen)
            }
        };
        std::array::from_fn(|band| radiant_w * shares[band] / (3.0 * black_body_share(SUN_K, BANDS_M[band])))
    }
}

impl Colour {
    /// Fractions of the radiant flux from 400 to 700 nm in red, green and blue.
    fn shares(self) -> [f64; 3] {
        let bands = match self {
            Self::Sunlight => BANDS_M.map(|band| black_body_share(SUN_K, band)),
            Self::Temperature(kelvin) => BANDS_M.map(|band| black_body_share(kelvin, band)),
            Self::Bands(bands) => bands,
        };
        let sum: f64 = bands.iter().sum();
        bands.map(|band| band / sum)
    }
}

/// Fraction of a black body's radiation that lies within a band.
fn black_body_share(kelvin: f64, [from_m, to_m]: [f64; 2]) -> f64 {
    share_below(kelvin * to_m) - share_below(kelvin * from_m)
}

/// Fraction of a black body's radiation below a wavelength, given as wavelength times temperature, m K: 15/π⁴ times the
/// sum over n of e^(−nx)/n (x³ + 3x²/n + 6x/n² + 6/n³) at x = c2/(λT).
fn share_below(wavelength_temperature_m_k: f64) -> f64 {
    let x = C2_M_K / wavelength_temperature_m_k;
    let term = |n: f64| (-n * x).exp() / n * (x.powi(3) + 3.0 * x * x / n + 6.0 * x / (n * n) + 6.0 / n.powi(3));
    15.0 / PI.powi(4) * (1..=PLANCK_TERMS).map(|n| term(f64::from(n))).sum::<f64>()
}

/// How a lamp's intensity falls with the angle to the lamp's axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Angle within which the intensity is full, rad.
    pub inner_rad: f64,
    /// Angle beyond which the intensity is zero, rad, at most π.
    pub outer_rad: f64,
    /// Exponent of the fall between the two angles, above 0: 1 is linear in the cosine.
    pub falloff: f64,
}

impl Profile {
    /// Equal intensity in all directions.
    pub const ALL_ROUND: Self = Self { inner_rad: PI, outer_rad: PI, falloff: 1.0 };

    /// Intensity proportional to the cosine, as of a matt glowing face.
    pub const LAMBERT: Self = Self { inner_rad: 0.0, outer_rad: 0.5 * PI, falloff: 1.0 };

    /// Ratio of flux to on-axis intensity, sr: 2π [1 − cos inner + (cos inner − cos outer)/(falloff + 1)].
    #[must_use]
    pub fn solid_angle_sr(&self) -> f64 {
        let [inner, outer] = self.cosines();
        TAU * (1.0 - inner + (inner - outer) / (self.falloff + 1.0))
    }

    fn cosines(&self) -> [f64; 2] {
        let outer = self.outer_rad.cos();
        [self.inner_rad.cos().max(outer + SHARPEST), outer]
    }
}

/// A lamp in the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lamp {
    /// Pose of the lamp in the map frame: x along its axis, y and z along its face.
    pub world_from_lamp: Pose,
    /// Flux in red, green and blue, W in units of sunlight; see [`Flux::bands_w`].
    pub flux_w: [f64; 3],
    /// How intensity falls away from the axis.
    pub profile: Profile,
    /// Width (along y) and height (along z) of the face, m; 0 and 0 for a point.
    pub size_m: [f64; 2],
}

impl Lamp {
    /// Intensity on the axis in each band, W/sr in units of sunlight.
    #[must_use]
    pub fn intensity_w_sr(&self) -> [f64; 3] {
        self.flux_w.map(|flux| flux / self.profile.solid_angle_sr())
    }

    /// The lamp as the kernels read it, in a scene whose frame has its origin at `middle_m` in the map frame.
    #[must_use]
    pub fn record(&self, middle_m: Vector3<f64>) -> LampRecord {
        let turn = self.world_from_lamp.rotation;
        let half = self.size_m.map(|size| 0.5 * size);
        let [inner, outer] = self.profile.cosines();
        let of = |v: Vector3<f64>| <[f32; 3]>::from(v.cast::<f32>());
        let intensity = self.intensity_w_sr();
        LampRecord {
            position: of(self.world_from_lamp.translation.vector - middle_m),
            peak: intensity.iter().sum::<f64>() as f32,
            axis: of(turn * Vector3::x()),
            cos_outer: outer as f32,
            side: of(turn * Vector3::y() * half[0]),
            inverse_fall: (1.0 / (inner - outer)) as f32,
            up: of(turn * Vector3::z() * half[1]),
            falloff: self.profile.falloff as f32,
            intensity: intensity.map(|band| band as f32),
            radius: half[0].hypot(half[1]) as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BANDS_M, Colour, Flux, LUMENS_PER_WATT, Profile, SUN_K, black_body_share, share_below};
    use std::f64::consts::PI;

    /// Tolerance of the numerical integrals.
    const NUMERICAL: f64 = 1e-6;

    #[test]
    fn a_black_bodys_share_is_that_of_the_printed_tables() {
        // Fractional functions, e.g. Howell, Menguc and Siegel, app. A.
        for (um_k, share) in [(2000.0, 0.066_73), (2898.0, 0.250_1), (4000.0, 0.480_87), (10_000.0, 0.914_2)] {
            assert!((share_below(um_k * 1e-6) - share).abs() < 1e-4, "{um_k}: {}", share_below(um_k * 1e-6));
        }
    }

    #[test]
    fn a_profiles_solid_angle_is_the_integral_of_its_fall() {
        let spot = Profile { inner_rad: 0.2, outer_rad: 0.7, falloff: 2.5 };
        let fall = |cos: f64| {
            let [inner, outer] = [spot.inner_rad.cos(), spot.outer_rad.cos()];
            ((cos - outer) / (inner - outer)).clamp(0.0, 1.0).powf(spot.falloff)
        };
        const STEPS: u32 = 200_000;
        let step = 2.0 / f64::from(STEPS);
        let sum: f64 = (0..STEPS).map(|i| fall((f64::from(i) + 0.5) * step - 1.0)).sum();
        assert!((spot.solid_angle_sr() / (2.0 * PI * sum * step) - 1.0).abs() < 1e-4);
        assert!((Profile::LAMBERT.solid_angle_sr() - PI).abs() < NUMERICAL);
    }

    #[test]
    fn a_lamp_as_white_as_the_sun_has_equal_bands_and_more_of_them_than_its_watts() {
        let [red, green, blue] = Flux::Radiant(10.0).bands_w(Colour::Sunlight);
        assert!((red - green).abs() < NUMERICAL && (green - blue).abs() < NUMERICAL);
        let visible: f64 = BANDS_M.iter().map(|&band| black_body_share(SUN_K, band)).sum();
        assert!((red + green + blue - 10.0 / visible).abs() < NUMERICAL, "{visible} of sunlight is visible");
        let warm = Flux::Radiant(10.0).bands_w(Colour::Temperature(3000.0));
        assert!(warm[0] > warm[1] && warm[1] > warm[2], "{warm:?}");
    }

    #[test]
    fn lumens_are_watts_by_the_eyes_response_to_the_colour() {
        let green = Flux::Luminous(100.0).bands_w(Colour::Bands([0.0, 1.0, 0.0]));
        let watts = Flux::Radiant(100.0 / (LUMENS_PER_WATT * 0.807)).bands_w(Colour::Bands([0.0, 1.0, 0.0]));
        assert_eq!(green, watts);
        // The Sun's 1361 W/m² are 133 klx (CIE; 98 lm/W): the black body and the band means agree within a tenth.
        let of_the_sun: f64 = Flux::Luminous(133_000.0).bands_w(Colour::Sunlight).iter().sum();
        assert!((of_the_sun / 1361.0 - 1.0).abs() < 0.1, "{of_the_sun}");
    }
}
