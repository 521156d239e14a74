//! Makes a site's ground. The coarsest level comes from the fractal relief and named
//! landforms, or from data; each finer level is the coarser one refined smoothly,
//! plus the octaves and the craters that only it can show. Craters are drawn from
//! their own profile on every level that resolves them, so a rim is as crisp as the
//! level allows. Over its outermost posts a finer level turns into the coarser one's
//! surface, so that no step shows where they meet.
//!
//! The map origin, where the rover starts, is post (middle, middle) of every level,
//! at height zero; a procedural site is level there.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use selene_base::input::InputError;

use crate::crater::Crater;
use crate::data::Data;
use crate::error::TerrainError;
use crate::ground::Ground;
use crate::landform;
use crate::level::Level;
use crate::noise::{Octave, octaves};
use crate::rock::{self, Rock};
use crate::sampler::{Grid, Kernel, Sampler};
use crate::seam;
use crate::site::{CraterSpec, ElevationSpec, LandformSpec, RasterSpec, SiteSpec};
use crate::start;

/// Posts across the smallest crater a level shows.
pub(crate) const CRATER_POSTS_MIN: f64 = 6.0;
/// Posts across a crater that survives being refined from a level.
const CRATER_POSTS_REFINED: f64 = 48.0;
/// The finest octave's lattice spacing, in posts.
const LATTICE_POSTS_MIN: f64 = 1.25;
/// Rows that one task makes.
const ROWS_PER_TASK: usize = 16;

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
        let data = match &spec.elevation {
            ElevationSpec::Procedural(_) => None,
            ElevationSpec::Raster(raster) => Some(load(raster, spec, site_file, data_dir)?),
        };
        let site = Site { spec, data, seed };
        let levels = site.levels();
        let rocks = site.rocks(&levels);
        Ok(Self::new(levels, rocks, rock::shapes(seed)))
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
    Err(InputError::content(site, what).into())
}

/// A site in the making.
struct Site<'a> {
    spec: &'a SiteSpec,
    data: Option<Data>,
    seed: u64,
}

/// A level in the making: what finer levels are refined from, and what is seen.
struct Layer {
    base: Level,
    surface: Level,
}

impl Site<'_> {
    fn grid(&self, level: usize) -> Grid {
        let spec = self.spec.levels[level];
        let posts = spec.posts();
        let origin = -((posts - 1) as f64) / 2.0 * spec.spacing_m;
        Grid { origin_m: [origin, origin], spacing_m: spec.spacing_m, posts }
    }

    /// Every level, finest first.
    fn levels(&self) -> Vec<Level> {
        let coarsest = self.spec.levels.len() - 1;
        let mut craters = self.craters(coarsest);
        let mut layer = self.coarsest(&craters);
        if self.data.is_some() {
            // They lie beyond the data, and finer levels lie upon the data.
            craters.clear();
        }
        let mut levels = Vec::new();
        for level in (0..coarsest).rev() {
            craters.extend(self.craters(level));
            let finer = self.refine(level, &layer, &craters);
            levels.push(std::mem::replace(&mut layer, finer).surface);
        }
        levels.push(layer.surface);
        levels.reverse();
        levels
    }

    /// The craters that a level is the coarsest to show.
    fn craters(&self, level: usize) -> Vec<Crater> {
        let spacing_m = |level: usize| self.spec.levels.get(level).map_or(f64::INFINITY, |l| l.spacing_m);
        let band_m = [level, level + 1].map(|l| CRATER_POSTS_MIN * spacing_m(l));
        let min_m = if level == 0 { 0.0 } else { band_m[0] };
        let mut craters = self.spec.craters.draw(self.seed, level, self.spec.levels[level].side_m, [min_m, band_m[1]]);
        match &self.data {
            Some(data) => craters.retain(|crater| !data.shows(crater)),
            None if level + 1 == self.spec.levels.len() => craters.extend(self.named_craters()),
            None => {}
        }
        craters
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

    fn coarsest(&self, craters: &[Crater]) -> Layer {
        let grid = self.grid(self.spec.levels.len() - 1);
        let relief = octaves(&self.spec.relief, LATTICE_POSTS_MIN * grid.spacing_m, f64::INFINITY);
        let samplers = self.samplers(&relief, grid);
        let refined = within(craters, grid, CRATER_POSTS_REFINED..f64::INFINITY);
        let small = within(craters, grid, CRATER_POSTS_MIN..CRATER_POSTS_REFINED);
        let mut base = sum(grid, &samplers, &refined);
        match &self.data {
            None => {
                landform::add(&mut base, self.landforms());
                start::put_at_zero(&mut base);
                start::bend_to(&mut base, start::Plane::LEVEL);
                let surface = with_craters(&base, &small);
                Layer { base, surface }
            }
            Some(data) => {
                add_craters(&mut base, &small);
                data.put_into(&mut base);
                Layer { surface: base.clone(), base }
            }
        }
    }

    fn refine(&self, level: usize, coarse: &Layer, craters: &[Crater]) -> Layer {
        let grid = self.grid(level);
        let coarse_spacing_m = coarse.base.spacing_m;
        let relief =
            octaves(&self.spec.relief, LATTICE_POSTS_MIN * grid.spacing_m, LATTICE_POSTS_MIN * coarse_spacing_m);
        let mut samplers = self.samplers(&relief, grid);
        samplers.push(Sampler::new(&coarse.base.heights_m[..], coarse.base.grid(), grid, Kernel::CatmullRom));
        let coarsest_m = CRATER_POSTS_REFINED * coarse_spacing_m / grid.spacing_m;
        let refined = within(craters, grid, CRATER_POSTS_REFINED..coarsest_m);
        let min = if level == 0 { 0.0 } else { CRATER_POSTS_MIN };
        let small = within(craters, grid, min..CRATER_POSTS_REFINED);
        let mut base = sum(grid, &samplers, &refined);
        start::bend_to(&mut base, start::Plane::at_origin(&coarse.base, 1));
        let mut surface = if level == 0 {
            add_craters(&mut base, &small);
            std::mem::replace(&mut base, Level { heights_m: Vec::new(), posts: 0, ..coarse.base })
        } else {
            with_craters(&base, &small)
        };
        seam::join(&mut surface, &coarse.surface);
        Layer { base, surface }
    }

    fn samplers(&self, relief: &[Octave], grid: Grid) -> Vec<Sampler<'_>> {
        relief.par_iter().map(|octave| octave.sampler(self.seed, grid)).collect()
    }

    /// The rocks of every level, largest first.
    fn rocks(&self, levels: &[Level]) -> Vec<Rock> {
        let law = &self.spec.rocks;
        let side_m = |level: usize| self.spec.levels[level].side_m;
        let share = law.count_max as f64 / levels.len() as f64;
        let draw = |level: usize| {
            let inner_m = level.checked_sub(1).map_or(0.0, side_m);
            // Beyond the finest level only as many of the largest as share the rest of the count.
            let min_m = if level == 0 { 0.0 } else { law.diameter_of(share / side_m(level).powi(2)) };
            law.draw(self.seed, level, [inner_m, side_m(level)], min_m)
        };
        let mut stones: Vec<_> = (0..levels.len()).flat_map(draw).collect();
        stones.sort_by(|a, b| b.diameter_m.total_cmp(&a.diameter_m));
        stones.truncate(law.count_max);
        let numbered = stones.iter().enumerate();
        numbered.filter_map(|(id, stone)| stone.lie(id as u32, levels)).collect()
    }
}

/// The craters whose diameter in posts lies in `posts` and that reach the grid.
fn within(craters: &[Crater], grid: Grid, posts: Range<f64>) -> Vec<Crater> {
    let is_shown = |crater: &&Crater| posts.contains(&(crater.diameter_m / grid.spacing_m));
    craters.iter().filter(is_shown).copied().collect()
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

fn with_craters(base: &Level, craters: &[Crater]) -> Level {
    let mut surface = base.clone();
    add_craters(&mut surface, craters);
    surface
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
