//! The whole land of a site, of which windows show a part: the same seed gives the same
//! ground, bit for bit, at any place in any order of visit. Every level is a lattice
//! over the plane (`lattice`), made tile by tile from the coarser level's tiles
//! (`patch`), with craters and rocks drawn by place (`crater_field`, `rock_field`).
//! The map origin, where the rover starts, is post (0, 0) of every level, at height
//! zero. Levels of a site that have data (the coarsest, at least) are theirs within one square
//! each, and made up beyond (`beyond`).

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
use crate::procedural::start::{Bend, Plane};
use crate::procedural::tile_store::{Key, TILE_POSTS, TileStore};
use crate::site::spec::{ElevationSpec, LevelSpec, RasterSpec, SiteSpec};
use crate::surface::rock::{self, Rock, RockShape};

/// Posts each way around the origin on which a level's bend at the start is found.
const START_POSTS: usize = 16;

/// The land of one site and seed.
#[derive(Debug)]
pub struct Landscape {
    spec: SiteSpec,
    seed: u64,
    /// What was measured of the coarsest levels, finest first.
    data: Vec<Data>,
    /// Those levels, with what is made up around the data, and what made-up ground lacks at their borders.
    fixed: Vec<(Level, Edge)>,
    /// What is taken off a procedural site's coarsest level, m: its origin lies at zero.
    pub(crate) lift_m: f32,
    /// How each level is bent at the start.
    pub(crate) bends: Vec<Bend>,
    shapes: Vec<RockShape>,
    profiles: Profiles,
}

/// Tiles at hand, by level, column and row.
type Made = BTreeMap<Key, Arc<Patch>>;

/// A window of a level that was made before: its posts are known but those on its seam.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) level: &'a Level,
    /// Width of the seam.
    pub(crate) seam_posts: usize,
}

impl Known<'_> {
    fn posts(&self) -> Posts {
        Posts::of(self.level).inner(self.seam_posts)
    }
}

/// What windows show: levels before they are joined at their seams, and rocks on them.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Finest first.
    pub levels: Vec<Level>,
    /// In order of their id.
    pub rocks: Vec<Rock>,
    /// The shapes that rocks are instances of.
    pub shapes: Vec<RockShape>,
}

impl Landscape {
    /// The land of a site. `site_file` is named in errors; `data_dir` holds the
    /// elevation files that sites name.
    ///
    /// # Errors
    /// When the site's elevation file is missing, not the one named, or unusable.
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

    /// The levels, finest first: a window of a level has `LevelSpec::posts` on a side.
    #[must_use]
    pub fn levels(&self) -> &[LevelSpec] {
        &self.spec.levels
    }

    /// The shapes that rocks are instances of.
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

    /// How windows move over it.
    #[must_use]
    pub fn plan(&self) -> WindowPlan {
        WindowPlan::of(&self.spec)
    }

    /// The first posts of windows around the map origin.
    #[must_use]
    pub fn first_at_origin(&self) -> Vec<[i64; 2]> {
        self.spec.levels.iter().map(|level| [-((level.posts() / 2) as i64); 2]).collect()
    }

    /// The windows whose first posts are `first`, one for each level, finest first;
    /// missing tiles are made in parallel.
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
        wanted.iter().map(|&(level, posts)| self.shown(&made, level, posts, None)).collect()
    }

    /// A square of the land around a place, m: windows of every level around it, none
    /// wider than `side_m`, up to the finest level that spans it. What a rover that comes
    /// to a new place waits for.
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

    /// One level's window: see `windows`.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn window_level(&self, tiles: &TileStore, level: usize, first: [i64; 2]) -> Level {
        self.window_beside(tiles, level, first, None)
    }

    /// The same, with posts taken over from a window of the same level.
    pub(crate) fn window_beside(
        &self,
        tiles: &TileStore,
        level: usize,
        first: [i64; 2],
        known: Option<Known>,
    ) -> Level {
        let posts = self.posts(level, first);
        let made = self.make(tiles, &[(level, posts)], known);
        self.shown(&made, level, posts, known)
    }

    /// A tile of the finest level as it is seen, without anything that was done to it.
    pub(crate) fn finest_tile(&self, tiles: &TileStore, at: [i64; 2]) -> Arc<Level> {
        let posts = tile(at);
        let made = self.make(tiles, &[(0, posts)], None);
        match (self.fixed(0), made.get(&(0, at))) {
            (None, Some(patch)) => Arc::clone(&patch.surface),
            _ => Arc::new(self.shown(&made, 0, posts, None)),
        }
    }

    /// A tile of the finest level with one more post to the east and to the north.
    pub(crate) fn page_with_rim(&self, tiles: &TileStore, page: &Level) -> Level {
        let posts = Posts { count: page.posts + 1, ..Posts::of(page) };
        self.shown(&self.make(tiles, &[(0, posts)], None), 0, posts, None)
    }

    fn posts(&self, level: usize, first: [i64; 2]) -> Posts {
        Posts { first, count: self.spec.levels[level].posts() }
    }

    /// Whether a level has data.
    pub(crate) fn is_fixed(&self, level: usize) -> bool {
        level + self.data.len() >= self.spec.levels.len()
    }

    /// The square of a level that data and their surroundings fill.
    fn fixed(&self, level: usize) -> Option<&(Level, Edge)> {
        let finest = self.spec.levels.len() - self.fixed.len();
        level.checked_sub(finest).and_then(|at| self.fixed.get(at))
    }

    /// How many times coarser the next level is.
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

    /// A level that has data as it would be without them; `coarse` has the coarser level around it.
    pub(crate) fn made_up(&self, at: usize, posts: Posts, coarse: Option<&Level>) -> Level {
        let mut level = self.unbent(at, posts, coarse);
        let small = self.craters(at, &level, 0.0..crate::procedural::patch::CRATER_POSTS_REFINED);
        small.iter().for_each(|crater| crater.stamp(&self.profiles, &mut level));
        level
    }

    /// Height of a procedural site's origin before it is put at zero, m.
    fn found_lift_m(&self) -> f32 {
        let posts = Posts::around_origin(START_POSTS);
        let coarsest = self.spec.levels.len() - 1;
        let middle = posts.count * posts.count / 2;
        if !self.fixed.is_empty() { 0.0 } else { self.unbent(coarsest, posts, None).heights_m[middle] }
    }

    /// How every level is bent at the start, found from coarse to fine.
    fn found_bends(&self) -> Vec<Bend> {
        let posts = Posts::around_origin(START_POSTS);
        let mut bends = Vec::new();
        let mut coarse: Option<Level> = None;
        for level in (0..self.spec.levels.len()).rev() {
            if let Some((fixed, _)) = self.fixed(level) {
                coarse = Some(fixed.clone());
                continue;
            }
            let mut around = self.unbent(level, posts, coarse.as_ref());
            let wanted = coarse.as_ref().map_or(Plane::LEVEL, |coarse| Plane::at_middle(coarse, 1));
            let bend = Bend::new(&around, wanted);
            bend.apply(&mut around);
            bends.push(bend);
            coarse = Some(around);
        }
        bends.reverse();
        bends
    }

    /// The tiles that windows need beside what is `known`, and those that they come from; what the
    /// store lacks is made, coarse ones first.
    fn make(&self, tiles: &TileStore, wanted: &[(usize, Posts)], known: Option<Known>) -> Made {
        let mut needed = vec![BTreeSet::new(); self.spec.levels.len()];
        for &(level, posts) in wanted {
            let is_known = |at: [i64; 2]| known.is_some_and(|known| known.posts().has_shared(&posts, &tile(at)));
            needed[level].extend(self.tiles_of(level, posts).filter(|&at| !is_known(at)));
        }
        let mut made = Made::new();
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
            let fresh: Vec<_> = missing.par_iter().map(|&at| Arc::new(self.tile(&made, level, tile(at)))).collect();
            for (at, patch) in missing.into_iter().zip(fresh) {
                tiles.insert((level, at), Arc::clone(&patch));
                made.insert((level, at), patch);
            }
        }
        tiles.trim();
        made
    }

    /// The tiles that hold some of a level's posts, but those of which data hold them all.
    fn tiles_of(&self, level: usize, posts: Posts) -> impl Iterator<Item = [i64; 2]> {
        let square = self.fixed(level).map(|(fixed, _)| Posts::of(fixed));
        let is_there = square.is_some_and(|square| posts.is_within(&square));
        let tiles = posts.tiles(TILE_POSTS).filter(move |_| !is_there);
        tiles.filter(move |&at| square.is_none_or(|square| !tile(at).is_within(&square)))
    }

    fn tile(&self, made: &Made, level: usize, posts: Posts) -> Patch {
        let has_coarser = level + 1 < self.spec.levels.len();
        let coarse = has_coarser.then(|| {
            let posts = posts.refined_from(self.ratio(level));
            self.gathered(made, level + 1, posts, |patch| patch.base.as_ref(), None)
        });
        match self.fixed(level) {
            Some((fixed, edge)) => edge.patch(fixed, self.made_up(level, posts, coarse.as_ref())),
            None => self.patch(level, posts, coarse.as_ref()),
        }
    }

    fn shown(&self, made: &Made, level: usize, posts: Posts, known: Option<Known>) -> Level {
        match self.fixed(level) {
            Some((fixed, _)) if posts == Posts::of(fixed) => fixed.clone(),
            _ => self.gathered(made, level, posts, |patch| Some(&patch.surface), known),
        }
    }

    /// Posts of a level put together from its tiles, which are there, from data's square and what is known.
    fn gathered(
        &self,
        made: &Made,
        level: usize,
        posts: Posts,
        of: fn(&Patch) -> Option<&Level>,
        known: Option<Known>,
    ) -> Level {
        let fixed = self.fixed(level).map(|(fixed, _)| Known { level: fixed, seam_posts: 0 });
        let grid = posts.grid(self.spec.levels[level].spacing_m);
        let mut heights_m = vec![0.0; posts.count * posts.count];
        heights_m.par_chunks_mut(posts.count).with_min_len(64).enumerate().for_each(|(i, row)| {
            let at = [posts.first[0], posts.first[1] + i as i64];
            copy_row(row, at, |key| made.get(&(level, key)).and_then(|patch| of(patch)));
            fixed.iter().chain(&known).for_each(|known| copy_known(row, at, known));
        });
        Level { origin_m: grid.origin_m, spacing_m: grid.spacing_m, posts: grid.posts, heights_m }
    }
}

fn tile(at: [i64; 2]) -> Posts {
    Posts { first: at.map(|at| at * TILE_POSTS as i64), count: TILE_POSTS }
}

/// Copies posts from column and row `at` on from the tiles that hold them.
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

/// Copies the posts that are known.
fn copy_known(row: &mut [f32], [column, line]: [i64; 2], known: &Known) {
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
    let what =
        format!("the coarsest level has {room} posts on a side, but {} has {posts}: raise its side_m", raster.file);
    Err(InputError::content(site, what).into())
}
