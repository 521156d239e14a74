//! The horizon around a place: for each azimuth the highest elevation of the ground, over all levels, seen from above
//! it. Lines of sight are straight in the map frame, whose heights are those of the levels. Beyond the levels the Moon
//! is a bare sphere at the height of the ground at the viewer, which bounds the horizon from below. Rocks are left out.

use std::f64::consts::TAU;

use rayon::prelude::*;
use selene_base::MOON_RADIUS_M;

use crate::clipmap::Clipmap;

/// Number of azimuths, a quarter of a degree apart: half the Sun's disc.
const AZIMUTHS: usize = 1440;

/// Elevation of the horizon as a function of azimuth.
#[derive(Clone, Debug, PartialEq)]
pub struct Horizon {
    /// Elevations at equal steps of azimuth, clockwise from north, rad.
    elevations_rad: Vec<f64>,
}

impl Horizon {
    /// The horizon seen from `eye_m` (0 or more) above the ground at map position (x, y), m; none outside the clipmap.
    #[must_use]
    pub fn seen_from(clipmap: &Clipmap, [x, y]: [f64; 2], eye_m: f64) -> Option<Self> {
        let eye = [x, y, clipmap.height_m(x, y)? + eye_m];
        let dip_rad = -(MOON_RADIUS_M / (MOON_RADIUS_M + eye_m.max(0.0))).acos();
        let along = |i: usize| highest_rad(clipmap, eye, i as f64 / AZIMUTHS as f64 * TAU).max(dip_rad);
        Some(Self { elevations_rad: (0..AZIMUTHS).into_par_iter().map(along).collect() })
    }

    /// Elevation of the horizon at an azimuth (clockwise from north), rad.
    #[must_use]
    pub fn elevation_rad(&self, azimuth_rad: f64) -> f64 {
        let place = azimuth_rad.rem_euclid(TAU) / TAU * AZIMUTHS as f64;
        let (before, share) = (place.floor() as usize % AZIMUTHS, place.fract());
        let after = (before + 1) % AZIMUTHS;
        self.elevations_rad[before] * (1.0 - share) + self.elevations_rad[after] * share
    }
}

/// Highest elevation of the ground along an azimuth, rad, in steps of one post of the finest level at each point.
fn highest_rad(clipmap: &Clipmap, [x, y, z]: [f64; 3], azimuth_rad: f64) -> f64 {
    let (east, north) = azimuth_rad.sin_cos();
    let (mut distance_m, mut steepest) = (0.0, f64::NEG_INFINITY);
    loop {
        let at = |distance_m: f64| [x + east * distance_m, y + north * distance_m];
        let [from_x, from_y] = at(distance_m);
        let Some(level) = clipmap.levels().find(|level| level.contains(from_x, from_y)) else { break };
        distance_m += level.spacing_m;
        let [to_x, to_y] = at(distance_m);
        let Some(height_m) = clipmap.height_m(to_x, to_y) else { break };
        steepest = f64::max(steepest, (height_m - z) / distance_m);
    }
    steepest.atan()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, PI};

    use super::{Horizon, MOON_RADIUS_M};
    use crate::{Clipmap, Level};

    /// A plain 400 m wide with a wall 30 m high whose foot is 100 m to the east.
    fn walled() -> Clipmap {
        let height_m = |x: f64, _: f64| if x > 100.0 { 30.0 } else { 0.0 };
        let fine = Level::sample([-10.0, -10.0], 0.1, 201, height_m);
        Clipmap::new(vec![fine, Level::sample([-200.0, -200.0], 0.5, 801, height_m)], Vec::new(), Vec::new())
    }

    #[test]
    fn a_wall_stands_as_high_as_its_height_over_its_distance() {
        let horizon = Horizon::seen_from(&walled(), [0.0, 0.0], 2.0).expect("on the ground");
        // The wall's edge is a post wide.
        for from_east_deg in [-40.0_f64, -10.0, 0.0, 25.0] {
            let bearing = from_east_deg.to_radians();
            let expected = (28.0 * bearing.cos() / 100.5).atan();
            let ours = horizon.elevation_rad(FRAC_PI_2 + bearing);
            assert!((ours - expected).abs() < 0.005, "{from_east_deg}: {ours} {expected}");
        }
    }

    #[test]
    fn where_the_ground_ends_a_plain_is_bounded_by_the_spheres_own_horizon() {
        let horizon = Horizon::seen_from(&walled(), [0.0, 0.0], 2.0).expect("on the ground");
        // The plain is 2 m below the eye 200 m away; the sphere's dip is √(2 h / R).
        let dip_rad = (2.0_f64 * 2.0 / MOON_RADIUS_M).sqrt();
        for azimuth_rad in [0.0, PI, 1.5 * PI] {
            assert!((horizon.elevation_rad(azimuth_rad) + dip_rad).abs() < 1e-6);
        }
    }

    #[test]
    fn off_the_ground_there_is_no_horizon() {
        assert_eq!(Horizon::seen_from(&walled(), [500.0, 0.0], 2.0), None);
        assert_eq!(Horizon::seen_from(&walled(), [f64::NAN, 0.0], 2.0), None);
    }
}
