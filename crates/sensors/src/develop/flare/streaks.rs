//! Streaks of an aperture with straight blades. Along a ray the light is (1/n) r/(r + t)², n the number of rays and r
//! as for a round aperture, so that the light beyond a distance is the same; across it is a Gaussian as wide as the
//! Sun's disc projected on a line.

use std::f64::consts::TAU;

use super::{SUN_RADIUS_RAD, columns, spokes};

/// Least standard deviation across a streak, px.
const SIGMA_LEAST_PX: f64 = 0.5;
/// The Gaussian is cut off beyond this many sigmas.
const SIGMAS: f64 = 4.0;

/// The streaks of one lens.
#[derive(Clone, Debug)]
pub(super) struct Streaks {
    rays: Vec<[f64; 2]>,
    /// r, px.
    length_px: f64,
    /// Radius of the Sun's own image, px.
    soft_px: f64,
    sigma_px: f64,
}

impl Streaks {
    pub(super) fn new(blades: u32, diffraction_rad: f64, soft_rad: f64, fx_px: f64) -> Self {
        let rays = if blades.is_multiple_of(2) { blades } else { 2 * blades };
        Self {
            rays: spokes(rays),
            length_px: diffraction_rad * fx_px,
            soft_px: soft_rad * fx_px,
            sigma_px: (SUN_RADIUS_RAD / 2.0 * fx_px).max(SIGMA_LEAST_PX),
        }
    }

    /// Adds the streaks of `light` at the position `sun_px` to a row.
    pub(super) fn add(&self, light: f64, sun_px: [f64; 2], row: usize, values: &mut [f32]) {
        self.rays.iter().for_each(|ray| self.add_ray(light, *ray, sun_px, row, values));
    }

    /// Adds one ray to the pixels of a row near it.
    fn add_ray(&self, light: f64, [x, y]: [f64; 2], [u, v]: [f64; 2], row: usize, values: &mut [f32]) {
        let down = row as f64 - v;
        let reach = SIGMAS * self.sigma_px;
        // |down · x − right · y| < reach; a level ray has all columns of its rows.
        let [from, to] = if y.abs() > 1e-9 {
            let [a, b] = [(down * x - reach) / y, (down * x + reach) / y];
            [a.min(b), a.max(b)]
        } else if down.abs() < reach {
            [f64::NEG_INFINITY, f64::INFINITY]
        } else {
            return;
        };
        let peak = light * self.length_px / (self.rays.len() as f64 * self.sigma_px * TAU.sqrt());
        for column in columns(u + from, u + to, values.len()) {
            let right = column as f64 - u;
            let (out, across) = (right * x + down * y, down * x - right * y);
            if out >= 0.0 {
                let across = (-0.5 * (across / self.sigma_px).powi(2)).exp();
                values[column] += (peak * across / (self.length_px + out.hypot(self.soft_px)).powi(2)) as f32;
            }
        }
    }
}
