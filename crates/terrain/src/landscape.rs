//! A site's ground at any place. The coarsest level comes from the fractal relief and named
//! landforms, or from data; each finer level is the coarser one refined smoothly,
//! plus the octaves and the craters that only it can show. Craters are drawn from
//! their own profile on every level that resolves them, so a rim is as crisp as the
//! level allows.
//!
//! Post (0, 0) of every level is the map's origin, where the rover starts: at height zero,
//! and level there on a procedural site. The plane is cut into tiles of 256 posts. A tile is a
//! function of site, data, seed and its own number alone, so that a place has
//! the same ground, bit for bit, whenever and from wherever it is visited.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::crater::Crater;
use crate::data::Data;
use crate::error::TerrainError;
use crate::landform;
use crate::level::Level;
use crate::noise::octaves;
use crate::sampler::{Grid, Kernel, Sampler};
use crate::site::{CraterSpec, ElevationSpec, LandformSpec, RasterSpec, SiteSpec};
use crate::start::{self, Plane};

/// Posts on a tile's side.
pub(crate) const TILE_POSTS: i64 = 256;
/// Posts across the smallest crater a level shows.
pub(crate) const CRATER_POSTS_MIN: f64 = 6.0;
/// Posts across a crater that survives being refined from a level.
const CRATER_POSTS_REFINED: f64 = 48.0;
/// The finest octave's lattice spacing, in posts.
const LATTICE_POSTS_MIN: f64 = 1.25;
/// Rows that one task makes.
const ROWS_PER_TASK: usize = 16;
/// Coarser posts that refining needs around a tile.
const STENCIL_POSTS: i64 = 2;
/// Posts each way over which the start's own tilt is found.
const START_POSTS: usize = 8;

/// A site's ground, ready to be made anywhere.
#[derive(Debug)]
pub struct Landscape {
    pub(crate) spec: SiteSpec,
    pub(crate) seed: u64,
    data: Option<Data>,
    /// The coarsest level of a site with data: these and what extends them.
    measured: Option<Level>,
    /// The origin's height before it was put at zero, m.
    datum_m: f64,
    /// What each level is bent by around the start: as it is, and as it shall be.
    starts: Vec<[Plane; 2]>,
}

/// Heights of a piece of a level: what finer levels are refined from, and what is seen.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) base: Level,
    pub(crate) surface: Level,
}

impl Landscape {
    /// A site's landscape. `site_file` is named in errors; `data_dir` holds the
    /// elevation files that sites name.
    ///
    /// # Errors
    /// When the site's elevation file is missing, not the one named, or unusable.
    pub fn new(spec: &SiteSpec, site_file: &Path, data_dir: Option<&Path>, seed: u64) -> Result<Self, TerrainError> {
        let data = match &spec.elevation {
            ElevationSpec::Procedural(_) => None,
            ElevationSpec::Raster(raster) => Some(load(raster, spec, site_file, data_dir)?),
        };
        let starts = vec![[Plane::LEVEL; 2]; spec.levels.len()];
        let mut landscape = Self { spec: spec.clone(), seed, data, measured: None, datum_m: 0.0, starts };
        landscape.measured = landscape.data.as_ref().map(|data| landscape.extended(data));
        landscape.settle_starts();
        Ok(landscape)
    }

    pub(crate) fn coarsest(&self) -> usize {
        self.spec.levels.len() - 1
    }

    /// The whole coarsest level, where it is measured ground.
    pub(crate) fn measured(&self) -> Option<&Level> {
        self.measured.as_ref()
    }

    /// The first post of a tile.
    pub(crate) fn first_post(tile: [i64; 2]) -> [i64; 2] {
        tile.map(|tile| tile * TILE_POSTS)
    }

    /// Posts of a level: the coarser posts that a piece of the finer level is refined from.
    pub(crate) fn posts_below(&self, level: usize, first: [i64; 2], posts: usize) -> ([i64; 2], usize) {
        let ratio = self.ratio(level);
        let below = first.map(|post| post.div_euclid(ratio) - STENCIL_POSTS);
        (below, (posts as i64 / ratio + 2 * STENCIL_POSTS + 3) as usize)
    }

    fn ratio(&self, level: usize) -> i64 {
        let spacing_m = |level: usize| self.spec.levels[level].spacing_m;
        (spacing_m(level + 1) / spacing_m(level)).round() as i64
    }

    pub(crate) fn grid(&self, level: usize, first: [i64; 2], posts: usize) -> Grid {
        let spacing_m = self.spec.levels[level].spacing_m;
        Grid { origin_m: first.map(|post| post as f64 * spacing_m), spacing_m, posts }
    }

    /// A piece of a level; `below` gives the coarser level's base from a first post on.
    pub(crate) fn layer(
        &self,
        level: usize,
        first: [i64; 2],
        posts: usize,
        below: impl Fn([i64; 2], usize) -> Level,
    ) -> Layer {
        let grid = self.grid(level, first, posts);
        let mut base = if level == self.coarsest() {
            self.coarsest_base(grid)
        } else {
            let (first, posts) = self.posts_below(level, first, posts);
            self.refined(level, grid, &below(first, posts))
        };
        let [found, wanted] = self.starts[level];
        start::bend(&mut base, found, wanted);
        let spacing_m = grid.spacing_m;
        let least_m = if level == 0 { 0.0 } else { CRATER_POSTS_MIN * spacing_m };
        let mut surface = base.clone();
        add_craters(&mut surface, &self.craters(level, grid, least_m..CRATER_POSTS_REFINED * spacing_m));
        Layer { base, surface }
    }

    /// Relief, large craters and landforms of a procedural site.
    fn coarsest_base(&self, grid: Grid) -> Level {
        let mut base = self.relief_and_craters(grid);
        if self.landforms().iter().any(|landform| !matches!(landform, LandformSpec::Crater(_))) {
            let [x, y] = grid.origin_m;
            let mirrored = self.relief_and_craters(Grid { origin_m: [y, x], ..grid });
            landform::add(&mut base, &mirrored, self.landforms());
        }
        base.heights_m.iter_mut().for_each(|height_m| *height_m -= self.datum_m as f32);
        base
    }

    fn relief_and_craters(&self, grid: Grid) -> Level {
        let relief = octaves(&self.spec.relief, LATTICE_POSTS_MIN * grid.spacing_m, f64::INFINITY);
        let samplers: Vec<_> = relief.iter().map(|octave| octave.sampler(self.seed, grid)).collect();
        let large = CRATER_POSTS_REFINED * grid.spacing_m..f64::INFINITY;
        sum(grid, &samplers, &self.craters(self.coarsest(), grid, large))
    }

    fn refined(&self, level: usize, grid: Grid, coarse: &Level) -> Level {
        let [fine_m, coarse_m] = [grid.spacing_m, coarse.spacing_m];
        let relief = octaves(&self.spec.relief, LATTICE_POSTS_MIN * fine_m, LATTICE_POSTS_MIN * coarse_m);
        let mut samplers: Vec<_> = relief.iter().map(|octave| octave.sampler(self.seed, grid)).collect();
        samplers.push(Sampler::new(&coarse.heights_m[..], coarse.grid(), grid, Kernel::CatmullRom));
        let refined = CRATER_POSTS_REFINED * fine_m..CRATER_POSTS_REFINED * coarse_m;
        sum(grid, &samplers, &self.craters(level, grid, refined))
    }

    /// The measured ground in made-up surroundings, over the whole coarsest level.
    fn extended(&self, data: &Data) -> Level {
        let coarsest = self.coarsest();
        let posts = self.spec.levels[coarsest].posts();
        let first = -((posts as i64 - 1) / 2);
        let grid = self.grid(coarsest, [first, first], posts);
        let mut level = self.relief_and_craters(grid);
        let small = CRATER_POSTS_MIN * grid.spacing_m..CRATER_POSTS_REFINED * grid.spacing_m;
        add_craters(&mut level, &self.craters(coarsest, grid, small));
        data.put_into(&mut level);
        level
    }

    /// Finds the height and the slope that each level has at the start.
    fn settle_starts(&mut self) {
        let reach = START_POSTS;
        if self.measured.is_none() {
            let coarsest = self.coarsest();
            let before = self.around_origin(coarsest, reach);
            self.datum_m = before.post_m(reach, reach);
            let found = Plane::at_origin(&self.around_origin(coarsest, reach), reach);
            self.starts[coarsest] = [found, Plane::LEVEL];
        }
        for level in (0..self.coarsest()).rev() {
            let found = Plane::at_origin(&self.around_origin(level, reach), reach);
            let wanted = Plane::at_origin(&self.around_origin(level + 1, 1), 1);
            self.starts[level] = [found, wanted];
        }
    }

    /// The base of a level `reach` posts around the origin.
    fn around_origin(&self, level: usize, reach: usize) -> Level {
        self.base(level, [-(reach as i64); 2], 2 * reach + 1)
    }

    /// The base of a piece of a level, made on its own.
    fn base(&self, level: usize, first: [i64; 2], posts: usize) -> Level {
        match self.measured() {
            Some(measured) if level == self.coarsest() => piece(measured, self.grid(level, first, posts)),
            _ => self.layer(level, first, posts, |first, posts| self.base(level + 1, first, posts)).base,
        }
    }

    /// The craters with a diameter in `diameters_m` that reach a piece of a level: those
    /// of the site's bands from this level's on, and the named ones.
    fn craters(&self, level: usize, grid: Grid, diameters_m: Range<f64>) -> Vec<Crater> {
        let last = if self.data.is_some() && level < self.coarsest() { self.coarsest() } else { self.coarsest() + 1 };
        let drawn = (level..last).flat_map(|band| {
            let [least_m, greatest_m] = self.crater_band_m(band);
            let wanted = least_m.max(diameters_m.start)..greatest_m.min(diameters_m.end);
            self.spec.craters.near(self.seed, band, [least_m, greatest_m], wanted, grid)
        });
        let named =
            self.named_craters().filter(|crater| crater.reaches(grid) && diameters_m.contains(&crater.diameter_m));
        let shown = |crater: &Crater| self.data.as_ref().is_none_or(|data| !data.shows(crater));
        drawn.chain(named).filter(shown).collect()
    }

    /// Diameters of the craters that a level is the coarsest to show, m.
    fn crater_band_m(&self, level: usize) -> [f64; 2] {
        let spacing_m = |level: usize| self.spec.levels.get(level).map_or(f64::INFINITY, |l| l.spacing_m);
        let least_m = if level == 0 { 0.0 } else { CRATER_POSTS_MIN * spacing_m(level) };
        [least_m, CRATER_POSTS_MIN * spacing_m(level + 1)]
    }

    fn named_craters(&self) -> impl Iterator<Item = Crater> {
        self.landforms().iter().filter_map(|landform| match *landform {
            LandformSpec::Crater(CraterSpec { at_m, diameter_m, degradation }) => {
                Some(Crater { at_m, diameter_m, degradation })
            }
            LandformSpec::Rise(_) | LandformSpec::Ridge(_) => None,
        })
    }

    fn landforms(&self) -> &[LandformSpec] {
        match &self.spec.elevation {
            ElevationSpec::Procedural(procedural) => &procedural.landforms,
            ElevationSpec::Raster(_) => &[],
        }
    }
}

fn load(raster: &RasterSpec, spec: &SiteSpec, site: &Path, data_dir: Option<&Path>) -> Result<Data, TerrainError> {
    let data = Data::load(raster, site, data_dir)?;
    let [posts, room] = [data.posts(), spec.levels[spec.levels.len() - 1].posts()];
    if posts <= room {
        return Ok(data);
    }
    let what =
        format!("the coarsest level has {room} posts on a side, but {} has {posts}: raise its side_m", raster.file);
    Err(selene_base::input::InputError::content(site, what).into())
}

/// A piece of a level; beyond its edge the edge goes on.
pub(crate) fn piece(level: &Level, grid: Grid) -> Level {
    let last = level.posts as i64 - 1;
    let first = [0, 1].map(|axis| ((grid.origin_m[axis] - level.origin_m[axis]) / level.spacing_m).round() as i64);
    let along = |axis: usize, i: usize| (first[axis] + i as i64).clamp(0, last) as usize;
    let row = |row: usize| {
        let from = along(1, row) * level.posts;
        (0..grid.posts).map(move |column| level.heights_m[from + along(0, column)])
    };
    let heights_m = (0..grid.posts).flat_map(row).collect();
    Level { origin_m: grid.origin_m, spacing_m: grid.spacing_m, posts: grid.posts, heights_m }
}

/// The sum of samplers and craters at every post.
fn sum(grid: Grid, samplers: &[Sampler<'_>], craters: &[Crater]) -> Level {
    let Grid { origin_m, spacing_m, posts } = grid;
    let mut heights_m = vec![0.0; posts * posts];
    heights_m.par_chunks_mut(posts * ROWS_PER_TASK).enumerate().for_each_init(Vec::new, |scratch, (task, heights)| {
        for (i, row) in heights.chunks_mut(posts).enumerate() {
            for sampler in samplers {
                sampler.add_row(task * ROWS_PER_TASK + i, row, scratch);
            }
        }
    });
    let mut level = Level { origin_m, spacing_m, posts, heights_m };
    add_craters(&mut level, craters);
    level
}

fn add_craters(level: &mut Level, craters: &[Crater]) {
    let grid = level.grid();
    level.heights_m.par_chunks_mut(grid.posts * ROWS_PER_TASK).enumerate().for_each(|(task, heights)| {
        let first = task * ROWS_PER_TASK;
        for crater in craters {
            crater.stamp(grid, first..first + heights.len() / grid.posts, heights);
        }
    });
}
