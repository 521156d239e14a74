//! Measured ground of a site. Posts of the coarsest levels that have data keep their heights exactly. Around the data,
//! and in their gaps, generated ground continues the horizon; it says nothing about the real place. It is the site's
//! relief and craters plus their difference from the data at the data's edge, continued outwards (`extend`).
//!
//! A picture's posts are those of the level. A georeferenced file (`elevation`) is sampled at the level's posts in the
//! site's tangent frame, which includes the Moon's curvature. Several of the coarsest levels may be sampled, out to a
//! horizon far beyond the site; a coarse level's posts are means of the file's.

use std::path::Path;

use crate::error::TerrainError;
use crate::level::Level;
use crate::measured::extend::Field;
use crate::measured::raster::{self, Raster};
use crate::procedural::crater::Crater;
use crate::site::spec::{FileSpec, LevelSpec, RasterSpec, SiteSpec};
use selene_base::input::InputError;
use selene_dem::{Dem, ElevationFile, GeoPoint, MapFrame, ReadOptions};

/// Posts across the smallest crater that the data resolve; smaller craters are generated.
const CRATER_POSTS_SHOWN: f64 = 4.0;
/// Largest difference between the site's `datum_m` and the file's height at the origin, m.
const DATUM_TOLERANCE_M: f64 = 0.5;
/// Ratio of the side of the file's part that is read to the level's side: the file's axes may be rotated.
const READ_SIDES: f64 = 1.5;

/// The measured ground of one level.
#[derive(Debug)]
pub(crate) struct Data {
    /// Heights; NaN where there are no data.
    raster: Raster,
    spacing_m: f64,
}

impl Data {
    /// Loads a picture of heights.
    pub(crate) fn load(spec: &RasterSpec, site: &Path, data_dir: Option<&Path>) -> Result<Self, TerrainError> {
        Ok(Self { raster: raster::load(spec, site, data_dir)?, spacing_m: spec.spacing_m })
    }

    /// Samples a georeferenced file at the posts of the site's measured levels, finest first.
    pub(crate) fn sample(
        file: &FileSpec,
        spec: &SiteSpec,
        site: &Path,
        data_dir: Option<&Path>,
    ) -> Result<Vec<Self>, TerrainError> {
        let path = raster::found(&file.file, &file.source, file.sha256.as_deref(), site, data_dir)?;
        let mut opened = ElevationFile::open(&path, &ReadOptions::default())?;
        let measured = spec.levels.len().saturating_sub(file.levels);
        let mut frame = None;
        let sample = |level: &LevelSpec| {
            let dem = read(&mut opened, file, spec, level, site)?;
            // All levels use the finest one's height at the origin.
            let frame = match &frame {
                Some(frame) => frame,
                None => frame.insert(frame_of(&dem, file, spec, site)?),
            };
            let corner_m = -0.5 * level.side_m;
            let posts = level.posts();
            let heights_m = dem.map_heights_m(frame, [corner_m, corner_m], level.spacing_m, [posts, posts]);
            Ok(Self { raster: Raster { width: posts, height: posts, heights_m }, spacing_m: level.spacing_m })
        };
        spec.levels[measured..].iter().map(sample).collect()
    }

    /// Numbers of posts west and south of the post at the map's origin.
    fn middle(&self) -> [usize; 2] {
        [self.raster.width / 2, self.raster.height / 2]
    }

    /// Whether there are data at the post nearest to (x, y).
    fn covers(&self, at_m: [f64; 2]) -> bool {
        let middle = self.middle();
        let [column, row] = [0, 1].map(|axis| (at_m[axis] / self.spacing_m).round() + middle[axis] as f64);
        let Raster { width, height, ref heights_m } = self.raster;
        let inside = (0.0..width as f64).contains(&column) && (0.0..height as f64).contains(&row);
        inside && !heights_m[row as usize * width + column as usize].is_nan()
    }

    /// Whether the data resolve the crater, so that it must not be generated.
    pub(crate) fn shows(&self, crater: &Crater) -> bool {
        crater.diameter_m >= CRATER_POSTS_SHOWN * self.spacing_m && self.covers(crater.at_m)
    }

    /// Inserts the data into the middle of `level`, which contains generated relief, and continues that relief from the
    /// data's edge. The post at the map's origin gets height zero.
    pub(crate) fn put_into(&self, level: &mut Level) {
        let posts = level.posts;
        let Raster { width, ref heights_m, .. } = self.raster;
        let [west, south] = self.middle();
        let origin_m = heights_m[south * width + west];
        let mut lack = Field { posts, heights_m: vec![0.0; posts * posts], is_known: vec![false; posts * posts] };
        let post = |at: usize| (posts / 2 - south + at / width) * posts + posts / 2 - west + at % width;
        let known = || heights_m.iter().enumerate().filter(|(_, height_m)| !height_m.is_nan());
        for (at, measured_m) in known() {
            lack.heights_m[post(at)] = measured_m - origin_m - level.heights_m[post(at)];
            lack.is_known[post(at)] = true;
        }
        lack.fill();
        level.heights_m.iter_mut().zip(&lack.heights_m).for_each(|(made_up_m, lack_m)| *made_up_m += lack_m);
        known().for_each(|(at, measured_m)| level.heights_m[post(at)] = measured_m - origin_m);
    }

    /// Distance between the posts, m.
    pub(crate) fn spacing_m(&self) -> f64 {
        self.spacing_m
    }

    /// Number of posts along the longer side.
    pub(crate) fn posts(&self) -> usize {
        self.raster.width.max(self.raster.height)
    }
}

/// Reads the part of a file that a level needs, no finer than the level shows.
fn read(
    opened: &mut ElevationFile,
    file: &FileSpec,
    spec: &SiteSpec,
    level: &LevelSpec,
    site: &Path,
) -> Result<Dem, TerrainError> {
    let origin = GeoPoint::from_degrees(spec.latitude_deg, spec.longitude_deg);
    let spacing_m = opened.true_spacing_m(&origin).ok_or_else(|| off(file, spec, site))?;
    let window = opened.window_around(&origin, READ_SIDES * level.side_m).ok_or_else(|| off(file, spec, site))?;
    // Each post read is the mean over its cell.
    let by = (level.spacing_m / spacing_m[0].max(spacing_m[1])).floor().max(1.0) as usize;
    Ok(opened.read_reduced(&window, by)?)
}

/// The site's frame; the height that the site states must match the file's.
fn frame_of(dem: &Dem, file: &FileSpec, spec: &SiteSpec, site: &Path) -> Result<MapFrame, TerrainError> {
    let origin = GeoPoint::from_degrees(spec.latitude_deg, spec.longitude_deg);
    let datum_m = dem.height_m(&origin).ok_or_else(|| off(file, spec, site))?;
    if (datum_m - spec.datum_m).abs() > DATUM_TOLERANCE_M {
        let what =
            format!("value {} is not allowed: must be {datum_m:.1}, the height of {} there", spec.datum_m, file.file);
        return Err(InputError::at(site, "datum_m", what).into());
    }
    Ok(MapFrame::new(spec.latitude_deg, spec.longitude_deg, datum_m))
}

fn off(file: &FileSpec, spec: &SiteSpec, site: &Path) -> TerrainError {
    let [latitude_deg, longitude_deg] = [spec.latitude_deg, spec.longitude_deg];
    let what = format!(
        "value {latitude_deg} (longitude_deg {longitude_deg}) is not allowed: {} has no height there",
        file.file
    );
    InputError::at(site, "latitude_deg", what).into()
}
