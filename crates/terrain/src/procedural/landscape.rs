//! The whole land of a site, of which windows show a part: the same seed gives the same ground, bit for bit, at any
//! place in any order of visit. Every level is a lattice over the plane (`lattice`), made tile by tile from the coarser
//! level's tiles (`patch`), with craters and rocks drawn by position (`crater_field`, `rock_field`). The map's origin,
//! where the rover starts, is post (0, 0) of every level, at height zero. On the coarsest levels of a site with data,
//! one square holds the data and their surroundings; the ground beyond is generated (`beyond`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use selene_base::input::InputError;

use crate::clipmap::windows::WindowPlan;
use crate::error::TerrainError;
use crate::lattice::Posts;
use crate::level::Level;
use crate::measured::data::Data;
use crate::procedural::beyond::{Edge, border_m};
use crate::procedural::crater_profile::Profiles;
use crate::procedural::patch::Patch;
use crate::procedural::start::{Plane, StartCorrection};
use crate::procedural::tile_store::{Key, TILE_POSTS, TileStore};
use crate::site::spec::{ElevationSpec, LevelSpec, RasterSpec, SiteSpec};
use crate::surface::rock::{self, Rock, RockShape};

/// Posts each way around the origin that determine a level's bend at the start.
const START_POSTS: usize = 16;

/// The land of one site and one seed.
#[derive(Debug)]
pub struct Landscape {
    spec: SiteSpec,
    seed: u64,
    /// Measured ground of the coarsest levels, finest first.
    data: Vec<Data>,
    /// The squares of those levels, with generated surroundings of the data, and their borders.
    fixed: Vec<(Level, Edge)>,
    /// Height subtracted from a procedural site's coarsest level, m, so that its origin is at zero.
    pub(crate) lift_m: f32,
    /// How each level is bent around the start.
    pub(crate) bends: Vec<StartCorrection>,
    shapes: Vec<RockShape>,
    profiles: Profiles,
}

/// Available tiles, by level, column and row.
type AvailableTiles = BTreeMap<Key, Arc<Patch>>;

/// An earlier window of a level: its posts can be copied, except those on its seam.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EarlierWindow<'a> {
    pub(crate) level: &'a Level,
    /// Width of the seam, in posts.
    pub(crate) seam_posts: usize,
}

impl EarlierWindow<'_> {
    fn posts(&self) -> Posts {
        Posts::of(self.level).inner(self.seam_posts)
    }
}

/// Contents of windows: levels before they are joined at their seams, and the rocks on them.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Levels, finest first.
    pub levels: Vec<Level>,
    /// Rocks, in order of their id.
    pub rocks: Vec<Rock>,
    /// The meshes that rocks are instances of.
    pub shapes: Vec<RockShape>,
}

impl Landscape {
    /// Loads the land of a site. Errors name `site_file`; `data_dir` contains the elevation files that sites name.
    ///
    /// # Errors
    /// When the site's elevation file is missing, does not match its checksum or is unusable.
    pub fn new(spec: SiteSpec, site_file: &Path, data_dir: Option<&Path>, seed: u64) -> Result<Self, TerrainError> {
        let data = match &spec.elevation {
            ElevationSpec::Procedural(_) => Vec::new(),
            ElevationSpec::Raster(raster) => vec![load(raster, &spec, site_file, data_dir)?],
            ElevationSpec::File(file) => Data::sample(file, &spec, site_file, data_dir)?,
        };
        let shapes = rock::shapes(seed);
        let mut land = Self {
            spec,
            seed,
            data,
            fixed: Vec::new(),
            lift_m: 0.0,
            bends: Vec::new(),
            shapes,
            profiles: Profiles::new(),
        };
        land.fixed = land.around_data();
        land.lift_m = land.found_lift_m();
        land.bends = land.found_bends();
        Ok(land)
    }

    /// The levels, finest first; a window of a level has `LevelSpec::posts` along a side.
    #[must_use]
    pub fn levels(&self) -> &[LevelSpec] {
        &self.spec.levels
    }

    /// The meshes that rocks are instances of.
    #[must_use]
    pub fn rock_shapes(&self) -> &[RockShape] {
        &self.shapes
    }

    pub(crate) fn spec(&self) -> &SiteSpec {
        &self.spec
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn data(&self) -> &[Data] {
        &self.data
    }

    pub(crate) fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// How windows move over the land.
    #[must_use]
    pub fn plan(&self) -> WindowPlan {
        WindowPlan::of(&self.spec)
    }

    /// The first posts of windows around the map's origin.
    #[must_use]
    pub fn first_at_origin(&self) -> Vec<[i64; 2]> {
        self.spec.levels.iter().map(|level| [-((level.posts() / 2) as i64); 2]).collect()
    }

    /// The windows with the first posts `first`, one for each level, finest first; missing tiles are made in parallel.
    ///
    /// # Panics
    /// When `first` has fewer entries than there are levels.
    pub fn windows(&self, tiles: &TileStore, first: &[[i64; 2]]) -> Windows {
        let posts = |level: usize| (level, self.posts(level, first[level]));
        let levels = self.levels_of(tiles, &(0..self.spec.levels.len()).map(posts).collect::<Vec<_>>());
        Windows { rocks: self.rocks_of(&levels), levels, shapes: self.shapes.clone() }
    }

    fn levels_of(&self, tiles: &TileStore, wanted: &[(usize, Posts)]) -> Vec<Level> {
        let made = self.make(tiles, wanted, None);
        wanted.iter().map(|&(level, posts)| self.shown(&made, level, posts, None, Vec::new())).collect()
    }

    /// A square of the land around a place, m: windows of every level around it, none wider than `side_m`, up to the
    /// finest level that covers it. This is what a rover waits for when it arrives at a new place.
    pub fn square(&self, tiles: &TileStore, at_m: [f64; 2], side_m: f64) -> Windows {
        let spans = self.spec.levels.iter().position(|level| level.side_m >= side_m);
        let count = spans.map_or(self.spec.levels.len(), |spans| spans + 1);
        let around = |(level, spec): (usize, &LevelSpec)| {
            let reach = (side_m.min(spec.side_m) / spec.spacing_m / 2.0).round() as i64;
            let first = at_m.map(|m| (m / spec.spacing_m).round() as i64 - reach);
            (level, Posts { first, count: 2 * reach as usize + 1 })
        };
        let wanted: Vec<_> = self.spec.levels.iter().enumerate().take(count).map(around).collect();
        let levels = self.levels_of(tiles, &wanted);
        Windows { rocks: self.rocks_of(&levels), levels, shapes: self.shapes.clone() }
    }

    /// The window of one level; see `windows`.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn window_level(&self, tiles: &TileStore, level: usize, first: [i64; 2]) -> Level {
        self.window_beside(tiles, level, first, None, Vec::new())
    }

    /// The window of one level, with posts copied from another window of the same level, in the memory of `room`.
    pub(crate) fn window_beside(
        &self,
        tiles: &TileStore,
        level: usize,
        first: [i64; 2],
        known: Option<EarlierWindow>,
        room: Vec<f32>,
    ) -> Level {
        let posts = self.posts(level, first);
        let made = self.make(tiles, &[(level, posts)], known);
        self.shown(&made, level, posts, known, room)
    }

    /// A tile of the finest level, undisturbed.
    pub(crate) fn finest_tile(&self, tiles: &TileStore, at: [i64; 2]) -> Arc<Level> {
        let posts = tile(at);
        let made = self.make(tiles, &[(0, posts)], None);
        match (self.fixed(0), made.get(&(0, at))) {
            (None, Some(patch)) => Arc::clone(&patch.surface),
            _ => Arc::new(self.shown(&made, 0, posts, None, Vec::new())),
        }
    }

    /// A page of the finest level with one more column of posts in the east and one more row in the north.
    pub(crate) fn page_with_rim(&self, tiles: &TileStore, page: &Level) -> Level {
        let posts = Posts { count: page.posts + 1, ..Posts::of(page) };
        self.shown(&self.make(tiles, &[(0, posts)], None), 0, posts, None, Vec::new())
    }

    fn posts(&self, level: usize, first: [i64; 2]) -> Posts {
        Posts { first, count: self.spec.levels[level].posts() }
    }

    /// Whether a level has data.
    pub(crate) fn is_fixed(&self, level: usize) -> bool {
        level + self.data.len() >= self.spec.levels.len()
    }

    /// The square of a level that contains data and their surroundings.
    fn fixed(&self, level: usize) -> Option<&(Level, Edge)> {
        let finest = self.spec.levels.len() - self.fixed.len();
        level.checked_sub(finest).and_then(|at| self.fixed.get(at))
    }

    /// Ratio of the next coarser level's spacing to this level's.
    fn ratio(&self, level: usize) -> i64 {
        (self.spec.levels[level + 1].spacing_m / self.spec.levels[level].spacing_m).round() as i64
    }

    /// The whole levels of a site that have data, made from coarse to fine.
    fn around_data(&self) -> Vec<(Level, Edge)> {
        let mut made: Vec<(Level, Edge)> = Vec::new();
        let finest = self.spec.levels.len() - self.data.len();
        for (at, data) in (finest..self.spec.levels.len()).zip(&self.data).rev() {
            let posts = Posts::around_origin(self.spec.levels[at].posts() / 2);
            let mut level = self.made_up(at, posts, made.last().map(|(coarse, _)| coarse));
            let made_up_m = border_m(&level);
            data.put_into(&mut level);
            let edge = Edge::new(&level, &made_up_m);
            made.push((level, edge));
        }
        made.reverse();
        made
    }

    /// A level with data as it would be generated without them; `coarse` is the coarser level around it.
    pub(crate) fn made_up(&self, at: usize, posts: Posts, coarse: Option<&Level>) -> Level {
        let mut level = self.unbent(at, posts, coarse, Vec::new());
        let small = self.craters(at, &level, 0.0..crate::procedural::patch::CRATER_POSTS_REFINED);
        small.iter().for_each(|crater| crater.stamp(&self.profiles, &mut level));
        level
    }

    /// Height of a procedural site's origin before it is shifted to zero, m.
    fn found_lift_m(&self) -> f32 {
        let posts = Posts::around_origin(START_POSTS);
        let coarsest = self.spec.levels.len() - 1;
        let middle = posts.count * posts.count / 2;
        if !self.fixed.is_empty() { 0.0 } else { self.unbent(coarsest, posts, None, Vec::new()).heights_m[middle] }
    }

    /// Determines from coarse to fine how every level is bent around the start.
    fn found_bends(&self) -> Vec<StartCorrection> {
        let posts = Posts::around_origin(START_POSTS);
        let mut bends = Vec::new();
        let mut coarse: Option<Level> = None;
        for level in (0..self.spec.levels.len()).rev() {
            if let Some((fixed, _)) = self.fixed(level) {
                coarse = Some(fixed.clone());
                continue;
            }
            let mut around = self.unbent(level, posts, coarse.as_ref(), Vec::new());
            let wanted = coarse.as_ref().map_or(Plane::LEVEL, |coarse| Plane::at_middle(coarse, 1));
            let bend = StartCorrection::new(&around, wanted);
            bend.apply(&mut around);
            bends.push(bend);
            coarse = Some(around);
        }
        bends.reverse();
        bends
    }

    /// Collects the tiles that windows need in addition to `known`, and the coarser tiles they depend on; makes those
    /// missing from the store, coarse ones first.
    fn make(&self, tiles: &TileStore, wanted: &[(usize, Posts)], known: Option<EarlierWindow>) -> AvailableTiles {
        let mut needed = vec![BTreeSet::new(); self.spec.levels.len()];
        for &(level, posts) in wanted {
            let is_known = |at: [i64; 2]| known.is_some_and(|known| known.posts().has_shared(&posts, &tile(at)));
            needed[level].extend(self.tiles_of(level, posts).filter(|&at| !is_known(at)));
        }
        let mut made = AvailableTiles::new();
        let mut missing = vec![Vec::new(); needed.len()];
        for level in 0..needed.len() {
            for &at in &needed[level] {
                match tiles.get((level, at)) {
                    Some(patch) => drop(made.insert((level, at), patch)),
                    None => missing[level].push(at),
                }
            }
            if level + 1 < needed.len() {
                let coarse = |&at: &[i64; 2]| self.tiles_of(level + 1, tile(at).refined_from(self.ratio(level)));
                let coarser: Vec<_> = missing[level].iter().flat_map(coarse).collect();
                needed[level + 1].extend(coarser);
            }
        }
        for (level, missing) in missing.into_iter().enumerate().rev() {
            let make = |&at: &[i64; 2]| Arc::new(self.tile(tiles, &made, level, tile(at)));
            let fresh: Vec<_> = missing.par_iter().map(make).collect();
            for (at, patch) in missing.into_iter().zip(fresh) {
                tiles.insert((level, at), Arc::clone(&patch));
                made.insert((level, at), patch);
            }
        }
        tiles.trim();
        made
    }

    /// The tiles that contain some of a level's posts, except tiles that lie wholly within the data's square.
    fn tiles_of(&self, level: usize, posts: Posts) -> impl Iterator<Item = [i64; 2]> {
        let square = self.fixed(level).map(|(fixed, _)| Posts::of(fixed));
        let is_there = square.is_some_and(|square| posts.is_within(&square));
        let tiles = posts.tiles(TILE_POSTS).filter(move |_| !is_there);
        tiles.filter(move |&at| square.is_none_or(|square| !tile(at).is_within(&square)))
    }

    fn tile(&self, tiles: &TileStore, made: &AvailableTiles, level: usize, posts: Posts) -> Patch {
        let has_coarser = level + 1 < self.spec.levels.len();
        let coarse = has_coarser.then(|| {
            let posts = posts.refined_from(self.ratio(level));
            self.gathered(made, level + 1, posts, |patch| patch.base.as_ref(), None, Vec::new())
        });
        match self.fixed(level) {
            Some((fixed, edge)) => edge.patch(fixed, self.made_up(level, posts, coarse.as_ref())),
            None => self.patch(tiles, level, posts, coarse.as_ref()),
        }
    }

    fn shown(
        &self,
        made: &AvailableTiles,
        level: usize,
        posts: Posts,
        known: Option<EarlierWindow>,
        room: Vec<f32>,
    ) -> Level {
        match self.fixed(level) {
            Some((fixed, _)) if posts == Posts::of(fixed) => fixed.clone(),
            _ => self.gathered(made, level, posts, |patch| Some(&patch.surface), known, room),
        }
    }

    /// Posts of a level, assembled from its tiles, the data's square and `known` posts, in the memory of `heights_m`.
    fn gathered(
        &self,
        made: &AvailableTiles,
        level: usize,
        posts: Posts,
        of: fn(&Patch) -> Option<&Level>,
        known: Option<EarlierWindow>,
        mut heights_m: Vec<f32>,
    ) -> Level {
        let fixed = self.fixed(level).map(|(fixed, _)| EarlierWindow { level: fixed, seam_posts: 0 });
        let grid = posts.grid(self.spec.levels[level].spacing_m);
        heights_m.resize(posts.count * posts.count, 0.0);
        heights_m.par_chunks_mut(posts.count).with_min_len(64).enumerate().for_each(|(i, row)| {
            let at = [posts.first[0], posts.first[1] + i as i64];
            row.fill(0.0);
            copy_row(row, at, |key| made.get(&(level, key)).and_then(|patch| of(patch)));
            fixed.iter().chain(&known).for_each(|known| copy_known(row, at, known));
        });
        Level { origin_m: grid.origin_m, spacing_m: grid.spacing_m, posts: grid.posts, heights_m }
    }
}

fn tile(at: [i64; 2]) -> Posts {
    Posts { first: at.map(|at| at * TILE_POSTS as i64), count: TILE_POSTS }
}

/// Copies a row of posts, from post (`column`, `line`) on, from the tiles that contain them.
fn copy_row<'a>(row: &mut [f32], [column, line]: [i64; 2], tile: impl Fn([i64; 2]) -> Option<&'a Level>) {
    let side = TILE_POSTS as i64;
    let end = column + row.len() as i64;
    for at in column.div_euclid(side)..=(end - 1).div_euclid(side) {
        let [first, last] = [column.max(at * side), end.min((at + 1) * side)];
        let Some(level) = tile([at, line.div_euclid(side)]) else { continue };
        let start = (line.rem_euclid(side) * side + first.rem_euclid(side)) as usize;
        let count = (last - first) as usize;
        row[(first - column) as usize..][..count].copy_from_slice(&level.heights_m[start..start + count]);
    }
}

/// Copies the posts of a row that are known.
fn copy_known(row: &mut [f32], [column, line]: [i64; 2], known: &EarlierWindow) {
    let square = known.posts();
    let end = (square.first[0] + square.count as i64).min(column + row.len() as i64);
    let start = column.max(square.first[0]);
    let is_known = start < end && square.index([start, line]).is_some();
    let Some(from) = Posts::of(known.level).index([start, line]).filter(|_| is_known) else { return };
    let count = (end - start) as usize;
    row[(start - column) as usize..][..count].copy_from_slice(&known.level.heights_m[from..from + count]);
}

fn load(raster: &RasterSpec, spec: &SiteSpec, site: &Path, data_dir: Option<&Path>) -> Result<Data, TerrainError> {
    let data = Data::load(raster, site, data_dir)?;
    let [posts, room] = [data.posts(), spec.levels[spec.levels.len() - 1].posts()];
    if posts <= room {
        return Ok(data);
    }
    let place = format!("levels[{}].side_m", spec.levels.len() - 1);
    let what = format!("the coarsest level has {room} posts on a side, but {} has {posts}: raise it", raster.file);
    Err(InputError::at(site, &place, what).into())
}
