//! A measured piece of ground in a site: posts of the coarsest level that have data are
//! kept exactly. Around them, and where the data have gaps, the ground is made up so that the
//! horizon goes on; it says nothing about the real place: the site's relief and craters, plus what
//! they lack at the data's edge, continued outwards (`extend`).
//!
//! A picture's posts are the level's own. A file with a georeference (`elevation`) is sampled at
//! the level's posts in the site's tangent frame, so that the Moon's curvature is in it. More
//! than one of the coarsest levels may be sampled, out to a horizon far beyond the site; a
//! coarse level's posts are means of the file's.

use std::path::Path;

use crate::error::TerrainError;
use crate::level::Level;
use crate::measured::extend::Field;
use crate::measured::raster::{self, Raster};
use crate::procedural::crater::Crater;
use crate::site::spec::{FileSpec, LevelSpec, RasterSpec, SiteSpec};
use selene_base::input::InputError;
use selene_dem::{Dem, ElevationFile, GeoPoint, MapFrame, ReadOptions};

/// Posts across the smallest crater that data show: smaller ones are added.
const CRATER_POSTS_SHOWN: f64 = 4.0;
/// How far the site's `datum_m` may be from the file's height at the origin, m.
const DATUM_TOLERANCE_M: f64 = 0.5;
/// The side of the file's part that is read over the level's: its axes may lie across.
const READ_SIDES: f64 = 1.5;

/// The measured ground.
#[derive(Debug)]
pub(crate) struct Data {
    /// Not a number where there are none.
    raster: Raster,
    spacing_m: f64,
}

impl Data {
    /// A picture of heights.
    pub(crate) fn load(spec: &RasterSpec, site: &Path, data_dir: Option<&Path>) -> Result<Self, TerrainError> {
        Ok(Self { raster: raster::load(spec, site, data_dir)?, spacing_m: spec.spacing_m })
    }

    /// A file with a georeference, at the posts of the site's measured levels, finest first.
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
            // All levels by the finest one's height at the origin.
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

    /// Posts west and south of the post at the map origin.
    fn middle(&self) -> [usize; 2] {
        [self.raster.width / 2, self.raster.height / 2]
    }

    /// Whether the data know the post nearest to (x, y).
    fn covers(&self, at_m: [f64; 2]) -> bool {
        let middle = self.middle();
        let [column, row] = [0, 1].map(|axis| (at_m[axis] / self.spacing_m).round() + middle[axis] as f64);
        let Raster { width, height, ref heights_m } = self.raster;
        let inside = (0.0..width as f64).contains(&column) && (0.0..height as f64).contains(&row);
        inside && !heights_m[row as usize * width + column as usize].is_nan()
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

    /// Distance between its posts, m.
    pub(crate) fn spacing_m(&self) -> f64 {
        self.spacing_m
    }

    /// Posts on the longer side.
    pub(crate) fn posts(&self) -> usize {
        self.raster.width.max(self.raster.height)
    }
}

/// The part of a file that a level needs, no finer than the level shows.
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
    // A post between the level's own: of its mean over what it stands for.
    let by = (level.spacing_m / spacing_m[0].max(spacing_m[1])).floor().max(1.0) as usize;
    Ok(opened.read_reduced(&window, by)?)
}

/// The site's frame, whose height must be the one that the site states.
fn frame_of(dem: &Dem, file: &FileSpec, spec: &SiteSpec, site: &Path) -> Result<MapFrame, TerrainError> {
    let origin = GeoPoint::from_degrees(spec.latitude_deg, spec.longitude_deg);
    let datum_m = dem.height_m(&origin).ok_or_else(|| off(file, spec, site))?;
    if (datum_m - spec.datum_m).abs() > DATUM_TOLERANCE_M {
        let told = spec.datum_m;
        let what = format!("datum_m {told} must be {datum_m:.1}, the height of {} there", file.file);
        return Err(InputError::content(site, what).into());
    }
    Ok(MapFrame::new(spec.latitude_deg, spec.longitude_deg, datum_m))
}

fn off(file: &FileSpec, spec: &SiteSpec, site: &Path) -> TerrainError {
    let [latitude_deg, longitude_deg] = [spec.latitude_deg, spec.longitude_deg];
    let what = format!("latitude_deg {latitude_deg}, longitude_deg {longitude_deg}: {} has no height there", file.file);
    InputError::content(site, what).into()
}
