//! Ghosts of the Sun: regular polygons with as many edges as the aperture has blades, discs if it is round, with a
//! brighter rim. Radii and positions grow with the wavelength: red outside, blue inside.

use std::f64::consts::PI;

use selene_scene::CameraView;

use super::{FlareSpec, GhostSpec, columns, spokes};

/// Relative light of a ghost in its middle and at its rim, and its mean over the area.
const LIGHT: [f64; 3] = [0.7, 1.0, 0.85];
/// Width of a ghost's soft edge, relative to its radius.
const EDGE: f64 = 0.2;

/// The ghosts of one channel in one image.
pub(super) struct Ghosts {
    ghosts: Vec<Ghost>,
    /// Normals of the edges; empty for a disc.
    edges: Vec<[f64; 2]>,
}

struct Ghost {
    at_px: [f64; 2],
    radius_px: f64,
    middle: f64,
}

impl Ghosts {
    /// The ghosts of the Sun's `light`; `wave` is the wavelength relative to green.
    pub(super) fn new(spec: &FlareSpec, view: &CameraView, sun_px: [f64; 2], light: f64, wave: f64) -> Self {
        let grown = 1.0 + spec.chromatic * (wave - 1.0);
        // Area divided by the square of the radius.
        let area = spec.blades.map_or(PI, |blades| f64::from(blades) * (PI / f64::from(blades)).tan());
        let ghost = |ghost: &GhostSpec| {
            let radius_px = ghost.radius * f64::from(view.width) * grown;
            let place = |sun: f64, middle: f64| middle + ghost.along * grown * (sun - middle);
            Ghost {
                at_px: [place(sun_px[0], view.cx_px), place(sun_px[1], view.cy_px)],
                radius_px,
                middle: light * ghost.share / (area * radius_px * radius_px * LIGHT[2]),
            }
        };
        Self { ghosts: spec.ghosts.iter().map(ghost).collect(), edges: spec.blades.map_or(Vec::new(), spokes) }
    }

    pub(super) fn add(&self, row: usize, values: &mut [f32]) {
        self.ghosts.iter().for_each(|ghost| ghost.add(&self.edges, row, values));
    }
}

impl Ghost {
    fn add(&self, edges: &[[f64; 2]], row: usize, values: &mut [f32]) {
        // The corners of a triangle are twice as far out as its edges; those of other polygons are nearer.
        let reach = 2.1 * self.radius_px;
        let down = row as f64 - self.at_px[1];
        if down.abs() > reach {
            return;
        }
        for column in columns(self.at_px[0] - reach, self.at_px[0] + reach, values.len()) {
            let right = column as f64 - self.at_px[0];
            let beyond = |[x, y]: &[f64; 2]| right * x + down * y;
            let out_px = if edges.is_empty() {
                right.hypot(down)
            } else {
                edges.iter().map(beyond).fold(f64::NEG_INFINITY, f64::max)
            };
            let out = out_px / self.radius_px;
            let edge = ((1.0 + EDGE / 2.0 - out) / EDGE).clamp(0.0, 1.0);
            let light = LIGHT[0] + (LIGHT[1] - LIGHT[0]) * out.min(1.0).powi(2);
            values[column] += (self.middle * light * edge) as f32;
        }
    }
}
