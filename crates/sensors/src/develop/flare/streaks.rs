//! Streaks of an aperture with straight blades: along a ray (1/n)/(r + t)² r of the light, n the number of rays and
//! r as for a round aperture, so that beyond a distance there is as much light; across it a Gaussian as wide as the
//! Sun's disc seen from its side.

use std::f64::consts::TAU;

use super::{SUN_RADIUS_RAD, columns, spokes};

/// The narrowest streak that pixels show, px.
const SIGMA_LEAST_PX: f64 = 0.5;
/// A Gaussian is nothing beyond so many sigmas.
const SIGMAS: f64 = 4.0;

/// The streaks of one lens.
#[derive(Clone, Debug)]
pub(super) struct Streaks {
    rays: Vec<[f64; 2]>,
    /// r, px.
    length_px: f64,
    /// Where the Sun's own image ends, px.
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

    /// Adds those of `light` at a place to a row.
    pub(super) fn add(&self, light: f64, sun_px: [f64; 2], row: usize, values: &mut [f32]) {
        self.rays.iter().for_each(|ray| self.add_ray(light, *ray, sun_px, row, values));
    }

    /// The pixels of a row that a ray comes near to.
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
