//! A drum's surfaces one by one, for what meets them singly: the discs from low to high z, then the panels of each
//! slice. Each is a sheet without thickness whose edges (rims, lips, tails) belong to it.

use std::f64::consts::TAU;

use nalgebra::Vector3;

use super::Drum;

/// Newton steps for the nearest place of a panel; from the foot across the axis three are exact to rounding.
const NEWTON_STEPS: u32 = 5;

impl Drum {
    /// Number of its surfaces: the most is 15 discs and 168 panels.
    #[must_use]
    pub fn surface_count(&self) -> u16 {
        (self.slices + 1 + self.slices * self.scoops) as u16
    }

    /// The surfaces that may be less than `reach_m` from `at` (m, drum frame), ascending; a few are farther.
    pub fn surfaces_near(&self, at: &Vector3<f64>, reach_m: f64) -> impl Iterator<Item = u16> + use<> {
        let (drum, z_m) = (*self, at.z);
        let count = if self.is_near(at, reach_m) { self.surface_count() } else { 0 };
        (0..count).filter(move |surface| {
            let [low_m, high_m] = drum.along_m(*surface);
            low_m - reach_m < z_m && z_m < high_m + reach_m
        })
    }

    /// Vector from the nearest place of a surface to `at` (m, drum frame).
    #[must_use]
    pub fn off_surface_m(&self, surface: u16, at: &Vector3<f64>) -> Vector3<f64> {
        let [low_m, high_m] = self.along_m(surface);
        let along_m = at.z - at.z.clamp(low_m, high_m);
        match self.panel(surface) {
            None => (at.xy() * (1.0 - self.radius_m / at.xy().norm()).max(0.0)).push(along_m),
            Some((slice, scoop)) => self.off_panel_m(slice, scoop, at).xy().push(along_m),
        }
    }

    /// Whether a surface is a panel whose nearest place to `at` (m, drum frame) is its edge on a disc. That disc is at
    /// least as near, so it alone is met there.
    #[must_use]
    pub fn is_behind_disc(&self, surface: u16, at: &Vector3<f64>) -> bool {
        let [low_m, high_m] = self.along_m(surface);
        self.panel(surface).is_some() && !(low_m..high_m).contains(&at.z)
    }

    /// Radius, m, of the greatest sphere that touches no surface of a slice at two places: half of the channel's depth,
    /// of a slice's length, or of the least radius of a panel, whichever is the least.
    #[must_use]
    pub fn sphere_max_m(&self) -> f64 {
        0.5 * self.channel_m.min(self.slice_m()).min(self.panel_m(self.extent_rad()))
    }

    /// Slice, from 1, and scoop of a surface that is a panel.
    fn panel(&self, surface: u16) -> Option<(u16, u32)> {
        let number = u32::from(surface).checked_sub(self.slices + 1)?;
        let scoops = self.scoops.max(1);
        Some(((number / scoops) as u16 + 1, number % scoops))
    }

    /// Where a surface begins and ends along the axis, m.
    fn along_m(&self, surface: u16) -> [f64; 2] {
        match self.panel(surface) {
            None => [self.disc_m(surface); 2],
            Some((slice, _)) => [self.disc_m(slice - 1), self.disc_m(slice)],
        }
    }

    /// Vector across the axis from the nearest place of a panel to `at`, m. Among its places `ρ(a)` at the angle a
    /// behind the lip, seen from `at` at the distance r from the axis and the angle b, the squared distance is least
    /// where `g(u) = rρ sin u − c(ρ − r cos u)` is zero, `u = a − b`; elsewhere the lip or the tail is nearest.
    fn off_panel_m(&self, slice: u16, scoop: u32, at: &Vector3<f64>) -> Vector3<f64> {
        let (across_m, rise_m_rad) = (at.xy().norm(), self.rise_m_rad());
        let angle = at.y.atan2(at.x);
        let lip_rad = self.pitch_rad() * (f64::from(scoop) + f64::from(slice) / f64::from(self.slices));
        let half_gap_rad = 0.5 * (TAU - self.extent_rad());
        let behind_rad = (lip_rad - angle + half_gap_rad).rem_euclid(TAU) - half_gap_rad;
        let place_m = |behind: f64| {
            let (sin, cos) = (lip_rad - behind).sin_cos();
            Vector3::new(cos, sin, 0.0) * self.panel_m(behind)
        };
        let from_m = |behind: f64| at - place_m(behind);
        let step = |behind: f64, _| {
            let (panel_m, (sin, cos)) = (self.panel_m(behind), (behind - behind_rad).sin_cos());
            let slope = across_m * panel_m * sin - rise_m_rad * (panel_m - across_m * cos);
            let bend = rise_m_rad * (rise_m_rad - 2.0 * across_m * sin) + across_m * panel_m * cos;
            behind - slope / bend
        };
        let foot = (0..NEWTON_STEPS).fold(behind_rad.clamp(0.0, self.extent_rad()), step);
        let foot = if (0.0..=self.extent_rad()).contains(&foot) { foot } else { 0.0 };
        let places = [foot, 0.0, self.extent_rad()].map(from_m);
        let nearer = |one: Vector3<f64>, two: Vector3<f64>| {
            if two.xy().norm_squared() < one.xy().norm_squared() { two } else { one }
        };
        places.into_iter().fold(places[0], nearer)
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use selene_base::random::{RngExt, stream};

    use super::Drum;

    const DRUM: Drum =
        Drum { radius_m: 0.2, half_length_m: 0.1, slices: 2, scoops: 3, channel_m: 0.05, overlap_rad: 1.0 };

    /// Distance to the nearest of 4000 places along a panel, at the height of `at`.
    fn searched_m(drum: &Drum, slice: u16, scoop: u32, at: &Vector3<f64>) -> f64 {
        let lip_rad = drum.pitch_rad() * (f64::from(scoop) + f64::from(slice) / f64::from(drum.slices));
        let distance_m = |number: u16| {
            let behind = drum.extent_rad() * f64::from(number) / 4000.0;
            let (sin, cos) = (lip_rad - behind).sin_cos();
            (at.xy() - nalgebra::Vector2::new(cos, sin) * drum.panel_m(behind)).norm()
        };
        (0..=4000).map(distance_m).fold(f64::INFINITY, f64::min)
    }

    /// Inside of the reach of a sphere that is allowed. The search finds it to a tenth of a millimetre.
    #[test]
    fn the_nearest_place_of_a_panel_is_the_one_that_a_search_finds() {
        let mut random = stream(1, "places by a drum");
        let (steep, long) = (Drum { scoops: 2, channel_m: 0.1, ..DRUM }, Drum { scoops: 2, overlap_rad: 2.6, ..DRUM });
        for drum in [DRUM, steep, long, Drum { scoops: 12, overlap_rad: 4.0, channel_m: 0.015, ..DRUM }] {
            assert_eq!(drum.fault(), None);
            let mut met = 0;
            for _ in 0..600 {
                let at = Vector3::from_fn(|axis, _| random.random_range(-1.0..1.0) * [0.25, 0.25, 0.1][axis]);
                let slice = drum.slice_at(at.z);
                for scoop in 0..drum.scoops {
                    let surface = (drum.slices + 1 + (u32::from(slice) - 1) * drum.scoops + scoop) as u16;
                    assert_eq!(drum.panel(surface), Some((slice, scoop)));
                    let (found_m, wanted_m) =
                        (drum.off_surface_m(surface, &at).norm(), searched_m(&drum, slice, scoop, &at));
                    if wanted_m < 1.4 * drum.sphere_max_m() {
                        met += 1;
                        assert!(found_m < wanted_m + 1e-9, "{at:?}: {found_m}, {wanted_m} m in {drum:?}");
                    }
                    assert!(found_m > wanted_m - 1e-4, "{at:?}: {found_m}, {wanted_m} m");
                }
            }
            assert!(met > 100, "{met}");
        }
    }

    #[test]
    fn discs_reach_to_their_rims_and_hide_the_edges_of_panels() {
        let close = |surface, at: [f64; 3], wanted: [f64; 3]| {
            let found = DRUM.off_surface_m(surface, &at.into());
            assert!((found - Vector3::from(wanted)).norm() < 1e-12, "{surface} {at:?}: {found}");
        };
        close(0, [0.1, 0.0, -0.09], [0.0, 0.0, 0.01]);
        close(1, [0.0, 0.1, -0.02], [0.0, 0.0, -0.02]);
        close(2, [0.0, 0.23, 0.11], [0.0, 0.03, 0.01]);
        assert_eq!(DRUM.surface_count(), 9);
        // The lips of the second slice are at 120°, 240° and 0°.
        close(8, [0.21, 0.0, 0.05], [0.01, 0.0, 0.0]);
        close(8, [0.21, 0.0, -0.01], [0.01, 0.0, -0.01]);
        let hidden = |z_m| DRUM.is_behind_disc(8, &Vector3::new(0.21, 0.0, z_m));
        assert!(hidden(-0.01) && !hidden(0.05) && hidden(0.11) && !DRUM.is_behind_disc(1, &Vector3::zeros()));
    }

    #[test]
    fn surfaces_that_a_sphere_may_touch_are_found() {
        let near: Vec<u16> = DRUM.surfaces_near(&Vector3::new(0.1, 0.0, -0.05), 0.02).collect();
        assert_eq!(near, [3, 4, 5]);
        let near: Vec<u16> = DRUM.surfaces_near(&Vector3::new(0.1, 0.0, 0.01), 0.02).collect();
        assert_eq!(near, [1, 3, 4, 5, 6, 7, 8]);
        assert_eq!(DRUM.surfaces_near(&Vector3::new(0.23, 0.0, 0.01), 0.02).count(), 0);
    }
}
