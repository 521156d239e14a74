//! Vignetting (LUNAR eq. 4): y = x (1 − G (1 − cos⁴θ)), tan θ = √(a² + b²)/f, (a, b) the
//! place on the image plane from the principal point and f the focal length, here both in
//! pixels. Irradiance to irradiance. With G = 1 it is the natural falloff of a thin lens.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

use super::shot::RowWork;
use crate::camera::Intrinsics;

/// `vignetting`: darker corners.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct VignettingSpec {
    /// G: 0 is none, 1 a thin lens.
    #[garde(custom(within(0.0, 1.0)))]
    pub gain: f64,
}

impl Default for VignettingSpec {
    fn default() -> Self {
        Self { gain: 1.0 }
    }
}

impl VignettingSpec {
    pub(super) fn rows(self, lens: Intrinsics) -> RowWork<'static> {
        Box::new(move |_, row, values| {
            let b2 = ((row as f64 - lens.cy_px) / lens.fy_px).powi(2);
            for (column, value) in values.iter_mut().enumerate() {
                let a = (column as f64 - lens.cx_px) / lens.fx_px;
                *value *= self.left(1.0 + a * a + b2) as f32;
            }
        })
    }

    /// The remaining fraction of light where 1 + tan²θ is `secant2`.
    pub(super) fn left(self, secant2: f64) -> f64 {
        1.0 - self.gain * (1.0 - secant2.powi(-2))
    }
}

#[cfg(test)]
mod tests {
    use super::VignettingSpec;
    use crate::camera::tests::camera;

    #[test]
    fn corners_are_darker_by_the_fourth_power_of_the_cosine_and_the_gain() {
        const ROUNDING: f64 = 1e-6; // f32
        let spec = camera("navcam_left.yaml");
        let lens = spec.intrinsics();
        for gain in [0.0, 0.4, 1.0] {
            let mut top = vec![10.0_f32; spec.width as usize];
            VignettingSpec { gain }.rows(lens)(0, 0, &mut top);
            // The same in metres on the image plane, from the pixel pitch.
            let f_m = lens.fx_px * spec.pixel_pitch_m;
            let [a_m, b_m] = [spec.width, spec.height].map(|side| f64::from(side - 1) / 2.0 * spec.pixel_pitch_m);
            let theta_rad = (a_m.hypot(b_m) / f_m).atan();
            let expected = 10.0 * (1.0 - gain * (1.0 - theta_rad.cos().powi(4)));
            for corner in [top[0], top[spec.width as usize - 1]] {
                assert!((f64::from(corner) / expected - 1.0).abs() < ROUNDING, "{corner} {expected}");
            }
        }
    }
}
