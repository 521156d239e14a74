//! Defocus (LUNAR eq. 3): the blur's diameter in pixels D = G f² |d − U|/(N C d (U − f)), f focal length, U focus
//! distance, d the pixel's distance along the axis (f²/(N C (U − f)) for the sky), N the f-number, C a pixel's edge.
//! A pixel becomes the mean of the pixels within ±D/2 along rows and columns, weighed by a Gaussian of σ = D/6.
//! Irradiance to irradiance. Weights are normalised to a sum of 1, so that uniform light does not change; at the
//! image's edge the mean is over the pixels that exist. As in the paper each pixel uses its own D: blurred near
//! objects do not spread over sharp ones behind them.

use garde::Validate;
use rayon::prelude::*;
use schemars::JsonSchema;
use selene_base::input::{positive, within};
use serde::Deserialize;

use super::plate::Plate;
use crate::camera::CameraSpec;

/// `defocus`: blur by distance.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DefocusSpec {
    /// G: factor on the blur's diameter.
    #[garde(custom(within(0.0, 100.0)))]
    #[serde(default = "one")]
    pub gain: f64,
    /// U: focus distance, m; greater than the focal length.
    #[garde(custom(positive))]
    pub focus_m: f64,
}

fn one() -> f64 {
    1.0
}

/// The blur of one lens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defocus {
    /// D = `scale_px` |1 − U/d|.
    scale_px: f64,
    focus_m: f64,
}

impl Defocus {
    /// The blur of a camera whose focal length is less than the focus distance.
    pub(super) fn new(spec: DefocusSpec, camera: &CameraSpec) -> Self {
        let focal_m = camera.focal_length_m();
        let scale_px =
            spec.gain * focal_m.powi(2) / (camera.f_number * camera.pixel_pitch_m * (spec.focus_m - focal_m));
        Self { scale_px, focus_m: spec.focus_m }
    }

    /// D at the distance `depth_m` along the axis, pixels; 0 at the lens itself.
    fn diameter_px(&self, depth_m: f64) -> f64 {
        if depth_m > 0.0 { self.scale_px * (1.0 - self.focus_m / depth_m).abs() } else { 0.0 }
    }

    /// Blurs each pixel by its depth.
    pub(super) fn blur(&self, plate: &mut Plate, depth_m: &[f32]) {
        let columns = plate.width.max(1);
        for plane in &mut plate.planes {
            let mut blurred = vec![0.0; plane.len()];
            let rows = blurred.par_chunks_mut(columns).zip(depth_m.par_chunks(columns)).enumerate();
            rows.for_each(|(row, (out, depths))| {
                let mut weights = Weights::default();
                for (column, (value, depth)) in out.iter_mut().zip(depths).enumerate() {
                    weights.turn_to(self.diameter_px(f64::from(*depth)));
                    *value = weights.mean(plane, columns, row, column);
                }
            });
            *plane = blurred;
        }
    }
}

/// Weights of a Gaussian at whole pixels from −D/2 to D/2, reused while D stays the same.
#[derive(Default)]
struct Weights {
    diameter_px: f64,
    /// Weights from the middle outward; if empty, pixels stay unchanged.
    half: Vec<f32>,
}

impl Weights {
    fn turn_to(&mut self, diameter_px: f64) {
        if self.diameter_px == diameter_px {
            return;
        }
        self.diameter_px = diameter_px;
        self.half.clear();
        let (reach, sigma) = ((diameter_px / 2.0) as usize, diameter_px / 6.0);
        if reach > 0 {
            self.half.extend((0..=reach).map(|k| (-0.5 * (k as f64 / sigma).powi(2)).exp() as f32));
        }
    }

    fn mean(&self, plane: &[f32], columns: usize, row: usize, column: usize) -> f32 {
        let Some(reach) = self.half.len().checked_sub(1) else { return plane[row * columns + column] };
        let rows = plane.len() / columns;
        let (left, right) = (column.saturating_sub(reach), (column + reach).min(columns - 1));
        let along_row = |row: usize| -> [f32; 2] {
            let values = &plane[row * columns + left..=row * columns + right];
            let weighed = values.iter().enumerate().map(|(i, value)| (self.half[column.abs_diff(left + i)], value));
            weighed.fold([0.0; 2], |[sum, total], (weight, value)| [sum + weight * value, total + weight])
        };
        let (mut sum, mut total) = (0.0, 0.0);
        for near in row.saturating_sub(reach)..=(row + reach).min(rows - 1) {
            let weight = self.half[row.abs_diff(near)];
            let [part, part_total] = along_row(near);
            sum += weight * part;
            total += weight * part_total;
        }
        sum / total
    }
}

#[cfg(test)]
mod tests {
    use super::{Defocus, DefocusSpec};
    use crate::camera::CameraSpec;
    use crate::camera::tests::camera;
    use crate::develop::plate::{Plate, Quantity};

    const SIDE: usize = 61;

    /// A lens of 25 mm at f/2 with pixels of 4 µm.
    fn portrait_lens() -> CameraSpec {
        let mut camera = camera("navcam_left.yaml");
        (camera.f_number, camera.pixel_pitch_m) = (2.0, 4e-6);
        let half_width_m = f64::from(camera.width) * camera.pixel_pitch_m / 2.0;
        camera.horizontal_fov_deg = Some((2.0 * (half_width_m / 0.025).atan()).to_degrees());
        camera
    }

    fn blurred(value: impl Fn(usize) -> f32, depth_m: f32, focus_m: f64) -> Vec<f32> {
        let plane = (0..SIDE * SIDE).map(value).collect();
        let mut plate = Plate { width: SIDE, height: SIDE, quantity: Quantity::Irradiance, planes: vec![plane] };
        let spec = DefocusSpec { gain: 1.0, focus_m };
        Defocus::new(spec, &portrait_lens()).blur(&mut plate, &vec![depth_m; SIDE * SIDE]);
        plate.planes.remove(0)
    }

    const MIDDLE: usize = SIDE / 2 * SIDE + SIDE / 2;

    #[test]
    fn a_point_out_of_focus_is_a_gaussian_disc_of_the_papers_diameter_with_all_its_light() {
        const ROUNDING: f64 = 1e-5; // f32 sums
        for (depth_m, focus_m) in [(2.0_f64, 6.0), (40.0, 4.0), (f64::INFINITY, 4.0)] {
            let point = blurred(|i| f32::from(u8::from(i == MIDDLE)), depth_m as f32, focus_m);
            let away = if depth_m.is_finite() { (depth_m - focus_m).abs() / depth_m } else { 1.0 };
            let diameter = 0.025 * 0.025 * away / (2.0 * 4e-6 * (focus_m - 0.025));
            let reach = (diameter / 2.0).floor();
            assert!((4.0..30.0).contains(&reach), "{diameter}");
            let bell = |k: f64| if k.abs() <= reach { (-18.0 * (k / diameter).powi(2)).exp() } else { 0.0 };
            let sum: f64 = (-30..=30).map(|k| bell(f64::from(k))).sum();
            for (i, value) in point.iter().enumerate() {
                let [x, y] = [i % SIDE, i / SIDE].map(|k| k as f64 - 30.0);
                let expected = bell(x) * bell(y) / (sum * sum);
                assert!((f64::from(*value) - expected).abs() < ROUNDING, "{x} {y}: {value} {expected}");
            }
        }
    }

    #[test]
    fn what_is_in_focus_stays_and_even_light_stays_even_to_the_edge() {
        const ROUNDING: f32 = 1e-5;
        let pattern = |i: usize| ((i * 7919) % 101) as f32;
        assert_eq!(blurred(pattern, 4.0, 4.0), (0..SIDE * SIDE).map(pattern).collect::<Vec<_>>());
        assert!(blurred(|_| 3.0, 1.0, 4.0).iter().all(|value| (value - 3.0).abs() < ROUNDING));
    }
}
