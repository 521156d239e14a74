//! Hills without end, for tests: two levels, 16 m and 64 m wide, that follow whoever drives there.

use std::sync::Arc;

use crate::ground::Ground;
use crate::level::Level;
use crate::seam;
use crate::site::LevelSpec;
use crate::surroundings::Surroundings;
use crate::windows::{Vicinity, WindowPlan};

/// The ground of these heights, m, around the map's origin.
pub(crate) fn endless(height_m: fn(f64, f64) -> f64) -> Ground {
    let specs = [(0.05, 16.0), (0.4, 64.0)].map(|(spacing_m, side_m)| LevelSpec { spacing_m, side_m });
    let make = move |firsts: &[[i64; 2]]| {
        let level = |(spec, first): (&LevelSpec, &[i64; 2])| {
            let origin_m = first.map(|post| post as f64 * spec.spacing_m);
            Level::sample(origin_m, spec.spacing_m, spec.posts(), height_m)
        };
        let mut levels: Vec<_> = specs.iter().zip(firsts).map(level).collect();
        let coarse = levels[1].clone();
        seam::join(&mut levels[0], &coarse);
        Vicinity::new([0, 0], levels.into_iter().map(Arc::new).collect(), Vec::new(), &[])
    };
    Ground::around_origin(Arc::new(Surroundings::new(WindowPlan::new(&specs, 0), Vec::new(), make)))
}
