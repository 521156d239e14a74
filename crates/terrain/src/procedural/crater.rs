//! Impact craters: a position, a size and the wear of the profile by diffusion (`crater_law`, `crater_age`,
//! `crater_profile`). Craters add up; later ones do not erase earlier ones.

use crate::level::Level;
use crate::procedural::crater_profile::{Profiles, fresh_depth};

/// One crater.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crater {
    /// Position of the centre on the map, m.
    pub(crate) at_m: [f64; 2],
    /// Diameter from rim to rim, m.
    pub(crate) diameter_m: f64,
    /// Age, years; blocks around an old crater have crumbled and are buried.
    pub(crate) age_yr: f64,
    /// Wear by diffusion, κ t / r².
    pub(crate) wear: f64,
}

impl Crater {
    pub(crate) fn radius_m(&self) -> f64 {
        self.diameter_m / 2.0
    }

    /// Adds the crater to a level; does nothing once the crater is worn away.
    pub(crate) fn stamp(&self, profiles: &Profiles, level: &mut Level) {
        let Some(profile) = profiles.after(self.wear) else { return };
        let grid = level.grid();
        let reach_m = profile.reach() * self.radius_m();
        let span = |axis: usize| {
            let post = |m: f64| (m - grid.origin_m[axis]) / grid.spacing_m;
            let first = post(self.at_m[axis] - reach_m).ceil().max(0.0) as usize;
            let end = (post(self.at_m[axis] + reach_m).floor() + 1.0).clamp(0.0, grid.posts as f64) as usize;
            first.min(end)..end
        };
        let columns = span(0);
        let per_radius = 1.0 / self.radius_m();
        let from_centre = |axis: usize, post: usize| ((grid.at_m(axis, post) - self.at_m[axis]) * per_radius) as f32;
        let depth_m = (fresh_depth(self.diameter_m) * self.diameter_m) as f32;
        for row in span(1) {
            let y = from_centre(1, row);
            let heights = &mut level.heights_m[row * grid.posts..][columns.clone()];
            for (column, height) in columns.clone().zip(heights) {
                let x = from_centre(0, column);
                *height += depth_m * profile.height((x * x + y * y).sqrt());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Crater;
    use crate::level::Level;
    use crate::procedural::crater_profile::{Profiles, fresh_depth};

    #[test]
    fn a_stamped_fresh_crater_is_as_deep_over_its_rim_as_published_and_as_wide() {
        // Posts are a hundredth of the diameter apart: they miss the crest of the rim, which is flat over four of them,
        // by less than a post's slope there.
        const DEPTH_TOLERANCE: f64 = 2e-3;
        for diameter_m in [1.0, 12.0, 50.0, 150.0, 250.0, 500.0] {
            let spacing_m = diameter_m / 100.0;
            let mut level = Level::sample([-1.5 * diameter_m; 2], spacing_m, 301, |_, _| 0.0);
            Crater { at_m: [0.0; 2], diameter_m, age_yr: 0.0, wear: 0.0 }.stamp(&Profiles::new(), &mut level);
            let along = |column: usize| level.post_m(column, 150);
            let crest = (150..301).max_by(|&a, &b| along(a).total_cmp(&along(b))).expect("posts");
            let depth = (along(crest) - along(150)) / diameter_m;
            assert!((depth - fresh_depth(diameter_m)).abs() < DEPTH_TOLERANCE, "{diameter_m} m: {depth}");
            assert!((199..=201).contains(&crest), "{diameter_m} m: the rim lies at post {crest}");
        }
    }
}
