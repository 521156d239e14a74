//! A site's ground around the map origin: windows of its landscape, joined.

use std::path::Path;

use crate::error::TerrainError;
use crate::ground::Ground;
use crate::landscape::Landscape;
use crate::level::Level;
use crate::seam;
use crate::site::SiteSpec;
use crate::tile_store::TileStore;

impl Ground {
    /// The ground of a site. `site_file` is named in errors; `data_dir` holds the
    /// elevation files that sites name. The same spec, data and seed give the same
    /// ground for any number of threads.
    ///
    /// # Errors
    /// When the site's elevation file is missing, not the one named, or unusable.
    pub fn generate(
        spec: &SiteSpec,
        site_file: &Path,
        data_dir: Option<&Path>,
        seed: u64,
    ) -> Result<Self, TerrainError> {
        let land = Landscape::new(spec.clone(), site_file, data_dir, seed)?;
        // Nothing moves afterwards: no tile need be kept.
        let mut windows = land.windows(&mut TileStore::new(0), &land.first_at_origin());
        join_all(&mut windows.levels);
        let rocks = land.rocks_of(&windows.levels);
        Ok(Self::new(windows.levels, rocks, windows.shapes))
    }
}

/// Joins each level into the coarser one, coarse ones first.
fn join_all(levels: &mut [Level]) {
    for fine in (0..levels.len().saturating_sub(1)).rev() {
        let (finer, coarser) = levels.split_at_mut(fine + 1);
        seam::join(&mut finer[fine], &coarser[0]);
    }
}
