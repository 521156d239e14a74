//! Makes a piece of a level. The coarsest level comes from the fractal relief and named landforms, or from data; each
//! finer one is the coarser one refined smoothly, plus the octaves and the craters that only it can resolve. Craters
//! are stamped from their own profile on every level that resolves them, so a rim is as crisp as the level allows. A
//! piece depends on the seed, its posts and the coarser posts around them, and not on what else has been made.

use std::ops::Range;
use std::sync::Arc;

use crate::lattice::Posts;
use crate::level::Level;
use crate::procedural::cell::Square;
use crate::procedural::crater::Crater;
use crate::procedural::crater_age::age_yr;
use crate::procedural::crater_profile::REACH_MAX_RADII;
use crate::procedural::landform;
use crate::procedural::landscape::Landscape;
use crate::procedural::noise::{Octave, octaves};
use crate::procedural::tile_store::TileStore;
use crate::sampler::{Grid, Kernel, Sampler};
use crate::site::spec::{CraterSpec, ElevationSpec, LandformSpec};

/// Posts across the smallest crater that a level shows.
pub(crate) const CRATER_POSTS_MIN: f64 = 6.0;
/// Posts across a crater that is preserved when a level is refined.
pub(crate) const CRATER_POSTS_REFINED: f64 = 48.0;
/// Lattice spacing of the finest octave, in posts.
const LATTICE_POSTS_MIN: f64 = 1.25;

/// A piece of a level: the base for refining finer levels, and the visible surface.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    /// The piece without the craters that refining would not preserve; none for the finest level.
    pub(crate) base: Option<Level>,
    pub(crate) surface: Arc<Level>,
}

impl Landscape {
    /// Makes a piece of a level in the memory of dropped tiles; `coarse` is the coarser level's base around it.
    pub(crate) fn patch(&self, tiles: &TileStore, level: usize, posts: Posts, coarse: Option<&Level>) -> Patch {
        let mut base = self.unbent(level, posts, coarse, tiles.room());
        self.bends[level].apply(&mut base);
        let least = if level == 0 { 0.0 } else { CRATER_POSTS_MIN };
        let small = self.craters(level, &base, least..CRATER_POSTS_REFINED);
        if level == 0 {
            small.iter().for_each(|crater| crater.stamp(self.profiles(), &mut base));
            return Patch { base: None, surface: Arc::new(base) };
        }
        let mut heights_m = tiles.room();
        heights_m.clone_from(&base.heights_m);
        let mut surface = Level { heights_m, ..base };
        small.iter().for_each(|crater| crater.stamp(self.profiles(), &mut surface));
        Patch { base: Some(base), surface: Arc::new(surface) }
    }

    /// The base of a piece before it is bent around the start, in the memory of `room`.
    pub(crate) fn unbent(&self, level: usize, posts: Posts, coarse: Option<&Level>, room: Vec<f32>) -> Level {
        let grid = posts.grid(self.spec().levels[level].spacing_m);
        let relief = self.octaves(level);
        let mut base = match coarse {
            Some(coarse) => {
                let refined = Sampler::new(&coarse.heights_m[..], coarse.grid(), grid, Kernel::CatmullRom);
                self.relief(grid, &relief, Some(refined), room)
            }
            None => self.relief(grid, &relief, None, room),
        };
        if coarse.is_none() && !self.landforms().is_empty() {
            self.add_landforms(&mut base, &relief);
        }
        let coarser_m = self.spec().levels.get(level + 1).map_or(f64::INFINITY, |coarser| coarser.spacing_m);
        let refined = CRATER_POSTS_REFINED..CRATER_POSTS_REFINED * coarser_m / grid.spacing_m;
        self.craters(level, &base, refined).iter().for_each(|crater| crater.stamp(self.profiles(), &mut base));
        if coarse.is_none() {
            base.heights_m.iter_mut().for_each(|height_m| *height_m -= self.lift_m);
        }
        base
    }

    /// The octaves that a level adds to the coarser one.
    fn octaves(&self, level: usize) -> Vec<Octave> {
        let lattice_m = |level: usize| self.spec().levels.get(level).map(|l| LATTICE_POSTS_MIN * l.spacing_m);
        let below_m = lattice_m(level + 1).unwrap_or(f64::INFINITY);
        lattice_m(level).map_or(Vec::new(), |least_m| octaves(&self.spec().relief, least_m, below_m))
    }

    fn relief(&self, grid: Grid, octaves: &[Octave], refined: Option<Sampler<'_>>, room: Vec<f32>) -> Level {
        let samplers = octaves.iter().map(|octave| octave.sampler(self.seed(), grid)).chain(refined);
        let mut heights_m = room;
        heights_m.clear();
        heights_m.resize(grid.posts * grid.posts, 0.0);
        samplers.for_each(|sampler| sampler.add_all(&mut heights_m));
        Level { origin_m: grid.origin_m, spacing_m: grid.spacing_m, posts: grid.posts, heights_m }
    }

    fn add_landforms(&self, base: &mut Level, relief: &[Octave]) {
        let Grid { origin_m: [x, y], spacing_m, posts } = base.grid();
        let mirrored = self.relief(Grid { origin_m: [y, x], spacing_m, posts }, relief, None, Vec::new());
        landform::add(base, &mirrored.heights_m, self.landforms());
    }

    fn landforms(&self) -> &[LandformSpec] {
        match &self.spec().elevation {
            ElevationSpec::Procedural(procedural) => &procedural.landforms,
            ElevationSpec::Raster(_) | ElevationSpec::File(_) => &[],
        }
    }

    /// The craters that reach a piece of a level and whose diameter is in the range `posts` of its posts.
    pub(crate) fn craters(&self, level: usize, piece: &Level, posts: Range<f64>) -> Vec<Crater> {
        let square = Square { low_m: piece.origin_m, side_m: piece.side_m() };
        let mut diameters_m = posts.start * piece.spacing_m..posts.end * piece.spacing_m;
        if let Some(data) = self.data().first() {
            // Levels with data have the craters that they can show, finer levels the smaller ones.
            let shown_m = CRATER_POSTS_MIN * data.spacing_m();
            let [low, high] = if self.is_fixed(level) { [shown_m, f64::INFINITY] } else { [0.0, shown_m] };
            diameters_m = diameters_m.start.max(low)..diameters_m.end.min(high);
        }
        self.craters_near(square, REACH_MAX_RADII, &diameters_m)
    }

    /// The craters with diameters of `diameters_m` within `radii` of their radii of a square, without those that the
    /// data resolve.
    pub(crate) fn craters_near(&self, square: Square, radii: f64, diameters_m: &Range<f64>) -> Vec<Crater> {
        let reaches = |crater: &Crater| square.meets(crater.at_m, radii * crater.radius_m());
        let named = self.named_craters().filter(|c| diameters_m.contains(&c.diameter_m)).filter(reaches);
        let drawn = self.spec().craters.reaching(self.seed(), square, radii, diameters_m);
        let is_shown = |crater: &Crater| self.data().iter().any(|data| data.shows(crater));
        named.chain(drawn.into_iter().filter(|crater| !is_shown(crater))).collect()
    }

    fn named_craters(&self) -> impl Iterator<Item = Crater> {
        self.landforms().iter().filter_map(|landform| match *landform {
            LandformSpec::Crater(CraterSpec { at_m, diameter_m, degradation }) => {
                let wear = self.profiles().wear_of(degradation);
                Some(Crater { at_m, diameter_m, age_yr: age_yr(diameter_m, wear), wear })
            }
            LandformSpec::Rise(_) | LandformSpec::Ridge(_) => None,
        })
    }
}
