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
        let (columns, planes) = (plate.width.max(1), plate.planes.len());
        // Row after row, each with the rows of all planes: a pixel's weights serve all of them.
        let mut blurred = vec![0.0; planes * depth_m.len()];
        let rows = blurred.par_chunks_mut(planes * columns).zip(depth_m.par_chunks(columns)).enumerate();
        rows.for_each(|(row, (out, depths))| {
            // Weights farther away than the image is long meet no pixel.
            let reach_max = columns.max(depth_m.len() / columns);
            let mut weights = Weights { reach_max, ..Weights::default() };
            for (column, depth) in depths.iter().enumerate() {
                weights.turn_to(self.diameter_px(f64::from(*depth)));
                for (plane, out) in plate.planes.iter().zip(out.chunks_mut(columns)) {
                    out[column] = weights.mean(plane, columns, [column, row]);
                }
            }
        });
        for (number, plane) in plate.planes.iter_mut().enumerate() {
            let rows = plane.par_chunks_mut(columns).zip(blurred.par_chunks(planes * columns));
            rows.for_each(|(row, of_planes)| row.copy_from_slice(&of_planes[number * columns..][..row.len()]));
        }
    }
}

/// Weights of a Gaussian at whole pixels from −D/2 to D/2, reused while D stays the same.
#[derive(Default)]
struct Weights {
    /// The most pixels on each side.
    reach_max: usize,
    diameter_px: f64,
    /// An odd number of weights, the pixel's own in the middle; if empty, pixels stay unchanged.
    bell: Vec<f32>,
    total: f32,
    /// Weighed sums of columns.
    sums: Vec<f32>,
}

impl Weights {
    fn turn_to(&mut self, diameter_px: f64) {
        if self.diameter_px == diameter_px {
            return;
        }
        self.diameter_px = diameter_px;
        self.bell.clear();
        let (reach, sigma) = (((diameter_px / 2.0) as usize).min(self.reach_max), diameter_px / 6.0);
        if reach == 0 {
            return;
        }
        self.bell.resize(2 * reach + 1, 1.0);
        // exp(−k²/2σ²) is the previous weight times q^(2k − 1) with q = exp(−1/2σ²): one exponential for all.
        let q = (-0.5 / sigma.powi(2)).exp();
        let (mut weight, mut factor) = (1.0, q);
        for k in 1..=reach {
            weight *= factor;
            factor *= q * q;
            self.bell[reach - k] = weight as f32;
            self.bell[reach + k] = weight as f32;
        }
        self.total = self.bell.iter().sum();
    }

    /// The weighed mean around a pixel (column, row).
    fn mean(&mut self, plane: &[f32], columns: usize, [column, row]: [usize; 2]) -> f32 {
        if self.bell.is_empty() {
            return plane[row * columns + column];
        }
        let reach = self.bell.len() / 2;
        let [x, y] = [Window::around(column, reach, columns), Window::around(row, reach, plane.len() / columns)];
        self.sums.clear();
        self.sums.resize(x.count, 0.0);
        // Columns first: the sums of all columns are independent, so the compiler computes several at once.
        for (near, weight) in self.bell[y.weights()].iter().enumerate() {
            let values = &plane[(y.first + near) * columns + x.first..][..x.count];
            self.sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        let sum: f32 = self.bell[x.weights()].iter().zip(&self.sums).map(|(weight, sum)| weight * sum).sum();
        sum / (self.total_of(x) * self.total_of(y))
    }

    fn total_of(&self, window: Window) -> f32 {
        if window.count == self.bell.len() { self.total } else { self.bell[window.weights()].iter().sum() }
    }
}

/// The pixels around one, along one axis, as far as the image goes.
#[derive(Clone, Copy)]
struct Window {
    /// First pixel, and number of pixels.
    first: usize,
    count: usize,
    /// Index of the first pixel's weight.
    first_weight: usize,
}

impl Window {
    fn around(at: usize, reach: usize, size: usize) -> Self {
        let first = at.saturating_sub(reach);
        let last = (at + reach).min(size - 1);
        Self { first, count: last + 1 - first, first_weight: first + reach - at }
    }

    fn weights(self) -> std::ops::Range<usize> {
        self.first_weight..self.first_weight + self.count
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
    fn at_the_edge_the_mean_is_over_the_pixels_that_exist() {
        const ROUNDING: f64 = 1e-5; // f32 sums
        let (light, [x0, y0]) = (|i: usize| ((i * 7919) % 101) as f32, [2_i32, 1]);
        let edge = blurred(light, 40.0, 4.0);
        let diameter: f64 = 0.025 * 0.025 * 0.9 / (2.0 * 4e-6 * (4.0 - 0.025));
        let reach = (diameter / 2.0) as i32;
        let (mut sum, mut total) = (0.0, 0.0);
        for (x, y) in (x0 - reach..=x0 + reach).flat_map(|x| (y0 - reach..=y0 + reach).map(move |y| (x, y))) {
            if x >= 0 && y >= 0 {
                let away = f64::from((x - x0).pow(2) + (y - y0).pow(2));
                let weight = (-18.0 * away / diameter.powi(2)).exp();
                sum += weight * f64::from(light(y as usize * SIDE + x as usize));
                total += weight;
            }
        }
        let [mean, expected] = [f64::from(edge[y0 as usize * SIDE + x0 as usize]), sum / total];
        assert!((mean - expected).abs() < ROUNDING * expected, "{mean} {expected}");
    }

    #[test]
    fn an_object_at_the_lens_blurs_the_whole_image() {
        let blurred = blurred(|i| f32::from(u8::from(i == MIDDLE)), 1e-30, 4.0);
        assert!(blurred.iter().all(|value| (value * (SIDE * SIDE) as f32 - 1.0).abs() < 1e-3), "{blurred:?}");
    }

    #[test]
    fn what_is_in_focus_stays_and_even_light_stays_even_to_the_edge() {
        const ROUNDING: f32 = 1e-5;
        let pattern = |i: usize| ((i * 7919) % 101) as f32;
        assert_eq!(blurred(pattern, 4.0, 4.0), (0..SIDE * SIDE).map(pattern).collect::<Vec<_>>());
        assert!(blurred(|_| 3.0, 1.0, 4.0).iter().all(|value| (value - 3.0).abs() < ROUNDING));
    }
}
