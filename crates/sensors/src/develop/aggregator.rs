//! Aggregator, the collection of light in pixels (LUNAR eq. 5): y = G x (C²/N²) t QE, x the irradiance behind a lens
//! of f-number 1, C a pixel's edge, N the f-number, t the exposure time. The paper's joules are converted to
//! electrons, which shot noise needs: y divided by the energy of a photon, of 550 nm for a monochrome camera, of 650,
//! 550 and 450 nm for red, green and blue. Irradiance to electrons.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::one_of;
use serde::Deserialize;

use super::shot::RowWork;
use crate::camera::CameraSpec;

/// Planck's constant times the speed of light, J m.
const PLANCK_LIGHT_J_M: f64 = 1.986_446e-25;
/// Photon wavelength for all bands together, m.
const ALL_M: f64 = 550e-9;
/// Photon wavelengths for red, green and blue, m.
const RGB_M: [f64; 3] = [650e-9, 550e-9, 450e-9];

/// `aggregator`, with one of the two quantum efficiencies.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct AggregatorSpec {
    /// G: transmission of the lens and any other factor on the light.
    #[garde(custom(within(1e-6, 1e6)))]
    #[serde(default = "one")]
    pub gain: f64,
    /// Electrons per photon of any colour, for a monochrome camera.
    #[garde(inner(custom(within(0.01, 1.0))), custom(one_of_two(&self.quantum_efficiency_rgb)))]
    #[serde(default)]
    pub quantum_efficiency: Option<f64>,
    /// Electrons per photon of red, green and blue, filters included, for a colour camera.
    #[garde(inner(inner(custom(within(0.001, 1.0)))))]
    #[serde(default)]
    pub quantum_efficiency_rgb: Option<[f64; 3]>,
}

fn one() -> f64 {
    1.0
}

fn one_of_two(other: &Option<[f64; 3]>) -> impl FnOnce(&Option<f64>, &()) -> garde::Result + '_ {
    move |value, ()| {
        let given = [("quantum_efficiency", value.map(drop)), ("quantum_efficiency_rgb", other.map(drop))];
        one_of(given).map_err(garde::Error::new)
    }
}

impl AggregatorSpec {
    /// Whether the camera sees colours.
    #[must_use]
    pub fn is_colour(&self) -> bool {
        self.quantum_efficiency_rgb.is_some()
    }

    /// Electrons per second in a pixel of `camera` under 1 W/m² behind a lens of f-number 1, for each channel.
    #[must_use]
    pub fn electrons_per_s(&self, camera: &CameraSpec) -> Vec<f64> {
        let pixel = self.gain * camera.pixel_pitch_m.powi(2) / camera.f_number.powi(2);
        let of = |efficiency: f64, wavelength_m: f64| pixel * efficiency * wavelength_m / PLANCK_LIGHT_J_M;
        match self.quantum_efficiency_rgb {
            Some(rgb) => rgb.iter().zip(RGB_M).map(|(efficiency, m)| of(*efficiency, m)).collect(),
            None => self.quantum_efficiency.iter().map(|efficiency| of(*efficiency, ALL_M)).collect(),
        }
    }
}

/// The work on a row: collects light for `exposure_s`.
pub(super) fn rows(electrons_per_s: &[f64], exposure_s: f64) -> RowWork<'_> {
    Box::new(move |channel, _, values| {
        let factor = (electrons_per_s[channel] * exposure_s) as f32;
        values.iter_mut().for_each(|value| *value *= factor);
    })
}

#[cfg(test)]
mod tests {
    use super::{AggregatorSpec, rows};
    use crate::camera::tests::camera;

    #[test]
    fn electrons_are_energy_on_the_pixel_times_efficiency_over_a_photons_energy() {
        const CONSTANTS: f64 = 1e-5; // digits of h and c here and there
        let spec = camera("navcam_left.yaml");
        let colour =
            AggregatorSpec { gain: 0.9, quantum_efficiency: None, quantum_efficiency_rgb: Some([0.3, 0.5, 0.4]) };
        let mut values = [vec![7.0_f32], vec![7.0], vec![7.0]];
        let per_s = colour.electrons_per_s(&spec);
        for (channel, value) in values.iter_mut().enumerate() {
            rows(&per_s, 0.02)(channel, 0, value);
        }
        for (channel, (efficiency, wavelength_m)) in [(0.3, 650e-9), (0.5, 550e-9), (0.4, 450e-9)].iter().enumerate() {
            let joules = 0.9 * 7.0 * (spec.pixel_pitch_m / spec.f_number).powi(2) * 0.02;
            let expected = joules * efficiency / (6.626_070_15e-34 * 299_792_458.0 / wavelength_m);
            assert!((f64::from(values[channel][0]) / expected - 1.0).abs() < CONSTANTS, "{channel}");
        }
    }
}
