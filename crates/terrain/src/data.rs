//! A measured piece of ground in the middle of a site: its posts are the coarsest
//! level's, kept exactly. Around it the ground is made up so that the horizon goes
//! on; it says nothing about the real place: the site's relief and craters, plus what
//! they lack at the data's edge, continued outwards (`extend`).

use std::path::Path;

use crate::crater::Crater;
use crate::error::TerrainError;
use crate::extend::Field;
use crate::level::Level;
use crate::raster::{self, Raster};
use crate::site::RasterSpec;

/// Posts across the smallest crater that data show: smaller ones are added.
const CRATER_POSTS_SHOWN: f64 = 4.0;

/// The measured ground.
#[derive(Debug)]
pub(crate) struct Data {
    raster: Raster,
    spacing_m: f64,
}

impl Data {
    pub(crate) fn load(spec: &RasterSpec, site: &Path, data_dir: Option<&Path>) -> Result<Self, TerrainError> {
        Ok(Self { raster: raster::load(spec, site, data_dir)?, spacing_m: spec.spacing_m })
    }

    /// Posts west and south of the post at the map origin.
    fn middle(&self) -> [usize; 2] {
        [self.raster.width / 2, self.raster.height / 2]
    }

    /// Whether (x, y) lies on the data.
    fn covers(&self, [x, y]: [f64; 2]) -> bool {
        let [west, south] = self.middle();
        let lies_within = |at_m: f64, before: usize, posts: usize| {
            let post = at_m / self.spacing_m + before as f64;
            (0.0..=(posts - 1) as f64).contains(&post)
        };
        lies_within(x, west, self.raster.width) && lies_within(y, south, self.raster.height)
    }

    /// Whether the data show the crater, so that none may be added there.
    pub(crate) fn shows(&self, crater: &Crater) -> bool {
        crater.diameter_m >= CRATER_POSTS_SHOWN * self.spacing_m && self.covers(crater.at_m)
    }

    /// Puts the data into the middle of `level`, which holds made-up relief, and
    /// makes that go on from the data's edge. The post at the map origin comes to lie
    /// at height zero.
    pub(crate) fn put_into(&self, level: &mut Level) {
        let posts = level.posts;
        let Raster { width, height, ref heights_m } = self.raster;
        let [west, south] = self.middle();
        let origin_m = heights_m[south * width + west];
        let mut lack = Field { posts, heights_m: vec![0.0; posts * posts], is_known: vec![false; posts * posts] };
        let post = |row: usize| (posts / 2 - south + row) * posts + posts / 2 - west;
        for (row, measured_m) in heights_m.chunks(width).enumerate() {
            for (i, measured_m) in (post(row)..).zip(measured_m) {
                lack.heights_m[i] = measured_m - origin_m - level.heights_m[i];
                lack.is_known[i] = true;
            }
        }
        lack.fill();
        level.heights_m.iter_mut().zip(&lack.heights_m).for_each(|(made_up_m, lack_m)| *made_up_m += lack_m);
        for row in 0..height {
            for column in 0..width {
                level.heights_m[post(row) + column] = heights_m[row * width + column] - origin_m;
            }
        }
    }

    /// Distance between its posts, m.
    pub(crate) fn spacing_m(&self) -> f64 {
        self.spacing_m
    }

    /// Posts on the longer side.
    pub(crate) fn posts(&self) -> usize {
        self.raster.width.max(self.raster.height)
    }
}
