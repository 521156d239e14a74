//! The undisturbed ground of a site at any place, generated on demand and shared by all users: pages of the finest
//! level for wheels, nested windows for viewers. Generated ground depends on the position alone, so it does not matter
//! who asked first or whether it was generated before. Changes by rovers are separate (`Ruts`).

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clipmap::cache::WindowCache;
use crate::clipmap::seam;
use crate::clipmap::windows::{ClipmapCentre, ClipmapWindows, WindowPlan};
use crate::error::TerrainError;
use crate::level::Level;
use crate::procedural::landscape::Landscape;
use crate::procedural::tile_store::{TILE_POSTS, TileStore};
use crate::site::spec::{LevelSpec, SiteSpec};
use crate::surface::neighbourhood::Neighbourhood;
use crate::surface::page::Page;
use crate::surface::rock::{self, Rock, RockShape};
use crate::surface::tile::{TILE_NODES, TileIndex, TileRect};

/// Centres whose windows are kept for each viewer: its current, previous and next one.
const CENTRES_KEPT: usize = 3;
/// Least number of pages that are kept: with 1 cm posts, 49 lie around a rover and as many around its next place.
const PAGES_KEPT: usize = 128;
/// Pages kept per viewer when there are many viewers: with 2 cm posts, those around it and around its next place.
const PAGES_OF_VIEWER: usize = 24;
/// Tiles along a side of a page.
const PAGE_TILES: i64 = (TILE_POSTS / TILE_NODES) as i64;
/// Largest tile index that edits can name.
const TILE_MAX: i64 = i16::MAX as i64;

/// The undisturbed ground of a site.
pub struct Terrain {
    spacing_m: f64,
    /// Position of node (0, 0), m.
    origin_m: [f64; 2],
    shapes: Arc<Vec<RockShape>>,
    /// Numbers of rocks that have become bodies of their own and no longer belong to the ground.
    loosened: BTreeSet<u32>,
    source: Source,
}

enum Source {
    /// One level with an end, for rigs and tests.
    Bounded {
        level: Arc<Level>,
        rocks: Arc<Vec<Rock>>,
    },
    Endless(Box<Endless>),
}

/// Generated ground without an end.
struct Endless {
    plan: WindowPlan,
    made_by: GroundSource,
    pages: Mutex<VecDeque<([i64; 2], Arc<Page>)>>,
    windows: Mutex<VecDeque<ClipmapWindows>>,
    viewers: Mutex<usize>,
    /// Locked while windows are made, so that callers who ask for existing windows do not wait.
    making: Mutex<WindowCache>,
}

enum GroundSource {
    Landscape {
        landscape: Box<Landscape>,
        tiles: TileStore,
    },
    /// Height as a function of map x and y, all in m.
    Formula {
        levels: Vec<LevelSpec>,
        height_m: Box<dyn Fn(f64, f64) -> f64 + Send + Sync>,
    },
}

impl Terrain {
    /// Loads the ground of a site. Errors name `site_file`; `data_dir` contains the elevation files that sites name.
    /// The same spec, data and seed give the same ground for any number of threads.
    ///
    /// # Errors
    /// When the site's elevation file is missing, does not match its checksum or is unusable.
    pub fn load(spec: &SiteSpec, site_file: &Path, data_dir: Option<&Path>, seed: u64) -> Result<Self, TerrainError> {
        Ok(Self::of_landscape(Landscape::new(spec.clone(), site_file, data_dir, seed)?))
    }

    /// The ground of a landscape.
    #[must_use]
    pub fn of_landscape(landscape: Landscape) -> Self {
        let (plan, shapes) = (landscape.plan(), landscape.rock_shapes().to_vec());
        let spacing_m = landscape.levels()[0].spacing_m;
        Self::endless(
            spacing_m,
            plan,
            shapes,
            GroundSource::Landscape { landscape: Box::new(landscape), tiles: TileStore::default() },
        )
    }

    /// Unbounded ground whose height is `height_m(x, y)` everywhere, without rocks, in levels given finest first.
    #[must_use]
    pub fn of_formula(levels: &[LevelSpec], height_m: impl Fn(f64, f64) -> f64 + Send + Sync + 'static) -> Self {
        let made_by = GroundSource::Formula { levels: levels.to_vec(), height_m: Box::new(height_m) };
        let shapes = rock::shapes(0);
        Self::endless(levels.first().map_or(1.0, |level| level.spacing_m), WindowPlan::new(levels, 0), shapes, made_by)
    }

    fn endless(spacing_m: f64, plan: WindowPlan, shapes: Vec<RockShape>, made_by: GroundSource) -> Self {
        let endless = Endless {
            plan,
            made_by,
            pages: Mutex::default(),
            windows: Mutex::default(),
            viewers: Mutex::new(1),
            making: Mutex::default(),
        };
        Self {
            spacing_m,
            origin_m: [0.0; 2],
            shapes: Arc::new(shapes),
            loosened: BTreeSet::new(),
            source: Source::Endless(Box::new(endless)),
        }
    }

    /// Ground that consists of one level; node (0, 0) is the level's first post.
    #[must_use]
    pub fn of_level(level: Level, rocks: Vec<Rock>, shapes: Vec<RockShape>) -> Self {
        Self {
            spacing_m: level.spacing_m,
            origin_m: level.origin_m,
            shapes: Arc::new(shapes),
            loosened: BTreeSet::new(),
            source: Source::Bounded { level: Arc::new(level), rocks: Arc::new(rocks) },
        }
    }

    /// Flat ground at height zero around the origin, with sides of `side_m`: for test rigs.
    #[must_use]
    pub fn flat(spacing_m: f64, side_m: f64) -> Self {
        Self::of_level(Level::flat(spacing_m, side_m), Vec::new(), rock::shapes(0))
    }

    /// Removes rocks, given by their numbers, from the ground: they become bodies of their own.
    pub fn loosen(&mut self, rocks: impl IntoIterator<Item = u32>) {
        self.loosened.extend(rocks);
    }

    /// Whether a rock of the ground has become a body of its own.
    #[must_use]
    pub fn is_loosened(&self, rock: u32) -> bool {
        self.loosened.contains(&rock)
    }

    /// Distance between posts of the finest level, m.
    #[must_use]
    pub fn spacing_m(&self) -> f64 {
        self.spacing_m
    }

    /// Position of node (0, 0), m.
    #[must_use]
    pub fn origin_m(&self) -> [f64; 2] {
        self.origin_m
    }

    /// How windows move over the ground; none for a bounded one.
    #[must_use]
    pub fn plan(&self) -> Option<&WindowPlan> {
        self.as_endless().map(|endless| &endless.plan)
    }

    /// Shapes of the rocks, the same everywhere.
    #[must_use]
    pub fn shapes(&self) -> &Arc<Vec<RockShape>> {
        &self.shapes
    }

    /// Whether rovers can be at (x, y), m: the position is on numbered tiles and inside the ground, both by `margin_m`.
    #[must_use]
    pub fn reaches(&self, x: f64, y: f64, margin_m: f64) -> bool {
        match &self.source {
            Source::Bounded { level, .. } => {
                let inside =
                    |m: f64, origin_m: f64| m > origin_m + margin_m && m < origin_m + level.side_m() - margin_m;
                inside(x, level.origin_m[0]) && inside(y, level.origin_m[1])
            }
            Source::Endless(_) => x.abs().max(y.abs()) + margin_m < self.reach_m(),
        }
    }

    /// Distance from the map's origin up to which tiles have numbers, m.
    #[must_use]
    pub fn reach_m(&self) -> f64 {
        (TILE_MAX * TILE_NODES as i64) as f64 * self.spacing_m
    }

    /// The undisturbed ground of some tiles, with the rocks that reach there.
    pub(crate) fn neighbourhood(&self, tiles: &BTreeSet<TileIndex>) -> Neighbourhood {
        match &self.source {
            Source::Bounded { level, rocks } => Neighbourhood::of_level(self, level, rocks, tiles),
            Source::Endless(endless) => {
                let largest_m = endless.largest_rock_m();
                let reach = (largest_m / (self.spacing_m * TILE_NODES as f64)).ceil() as i16;
                let around = |tile: &TileIndex| {
                    let first = TileIndex { row: tile.row - reach, column: tile.column - reach };
                    let side = 2 * reach as usize + 1;
                    TileRect { first, columns: side, rows: side }
                };
                let pages: BTreeSet<[i64; 2]> =
                    tiles.iter().flat_map(|tile| around(tile).tiles()).map(page_of).collect();
                let pages = pages.into_iter().map(|at| (at, endless.page(self.spacing_m, at))).collect();
                Neighbourhood::of_pages(self, pages, tiles)
            }
        }
    }

    /// The fixed rocks whose centre is in a rectangle of the map, in order of their number; makes whole pages.
    #[must_use]
    pub fn rocks_within(&self, low_m: [f64; 2], high_m: [f64; 2]) -> Vec<Rock> {
        let mut rocks: Vec<Rock> = match &self.source {
            Source::Bounded { rocks, .. } => rocks.to_vec(),
            Source::Endless(endless) => {
                let page = |m: f64| (m / (self.spacing_m * TILE_POSTS as f64)).floor() as i64;
                let [low, high] = [low_m.map(page), high_m.map(page)];
                let pages = (low[1]..=high[1]).flat_map(|row| (low[0]..=high[0]).map(move |column| [column, row]));
                pages.flat_map(|at| endless.page(self.spacing_m, at).rocks.clone()).collect()
            }
        };
        rocks.retain(|rock| {
            let at = rock.world_from_rock.translation;
            let is_inside = |m: f64, axis: usize| m >= low_m[axis] && m <= high_m[axis];
            is_inside(at.x, 0) && is_inside(at.y, 1) && !self.is_loosened(rock.id)
        });
        rocks.sort_by_key(|rock| rock.id);
        rocks.dedup_by_key(|rock| rock.id);
        rocks
    }

    /// Makes the missing pages around a place in advance, so that nobody waits for them later.
    pub fn prefetch_pages(&self, [x, y]: [f64; 2], reach_m: f64) {
        let Some(endless) = self.as_endless() else { return };
        let page = |m: f64| (m / (self.spacing_m * TILE_POSTS as f64)).floor() as i64;
        for row in page(y - reach_m)..=page(y + reach_m) {
            for column in page(x - reach_m)..=page(x + reach_m) {
                let _ = endless.page(self.spacing_m, [column, row]);
            }
        }
    }

    /// Announces the number of viewers, rovers or cameras, for which pages and windows are kept.
    pub fn expect_viewers(&self, count: usize) {
        if let Some(endless) = self.as_endless() {
            let mut viewers = whole(&endless.viewers);
            *viewers = (*viewers).max(count);
        }
    }

    /// The undisturbed windows around a centre; none for a bounded ground. Makes them (seconds at worst) unless they
    /// were made recently.
    #[must_use]
    pub fn windows(&self, centre: ClipmapCentre) -> Option<ClipmapWindows> {
        let endless = self.as_endless()?;
        Some(endless.known(centre).unwrap_or_else(|| endless.newly_made(centre, &self.shapes)))
    }

    /// Makes one missing coarse window of a centre in advance, so that asking for the centre takes less time; returns
    /// whether one was missing.
    #[must_use]
    pub fn prefetch_windows(&self, centre: ClipmapCentre) -> bool {
        self.as_endless().is_some_and(|endless| endless.prefetch(centre))
    }

    /// Level and rocks of a bounded ground.
    pub(crate) fn bounded_parts(&self) -> Option<(Level, &[Rock])> {
        match &self.source {
            Source::Bounded { level, rocks } => Some((Level::clone(level), rocks)),
            Source::Endless(_) => None,
        }
    }

    fn as_endless(&self) -> Option<&Endless> {
        match &self.source {
            Source::Bounded { .. } => None,
            Source::Endless(endless) => Some(endless),
        }
    }
}

impl Endless {
    fn page(&self, spacing_m: f64, at: [i64; 2]) -> Arc<Page> {
        if let Some(page) = self.known_page(at) {
            return page;
        }
        let page = Arc::new(match &self.made_by {
            GroundSource::Landscape { landscape, tiles } => {
                let level = landscape.finest_tile(tiles, at);
                let rocks = landscape.rocks_on_page(tiles, &level);
                Page { level, rocks }
            }
            GroundSource::Formula { height_m, .. } => {
                let origin_m = at.map(|at| (at * TILE_POSTS as i64) as f64 * spacing_m);
                Page { level: Arc::new(Level::sample(origin_m, spacing_m, TILE_POSTS, height_m)), rocks: Vec::new() }
            }
        });
        let mut pages = whole(&self.pages);
        // Another thread may have made the same page meanwhile.
        pages.retain(|(known, _)| *known != at);
        pages.push_back((at, Arc::clone(&page)));
        let kept = PAGES_KEPT.max(PAGES_OF_VIEWER * *whole(&self.viewers));
        if pages.len() > kept {
            pages.pop_front();
        }
        page
    }

    /// A page that exists; marks it as the most recently used.
    fn known_page(&self, at: [i64; 2]) -> Option<Arc<Page>> {
        let mut pages = whole(&self.pages);
        let index = pages.iter().rposition(|(known, _)| *known == at)?;
        let entry = pages.remove(index)?;
        let page = Arc::clone(&entry.1);
        pages.push_back(entry);
        Some(page)
    }

    /// Largest distance of a rock's surface from its centre, m.
    fn largest_rock_m(&self) -> f64 {
        match &self.made_by {
            GroundSource::Landscape { landscape, .. } => landscape.largest_rock_reach_m(),
            GroundSource::Formula { .. } => 0.0,
        }
    }

    fn newly_made(&self, centre: ClipmapCentre, shapes: &[RockShape]) -> ClipmapWindows {
        let mut cache = whole(&self.making);
        // Another thread may have made it meanwhile.
        if let Some(known) = self.known(centre) {
            return known;
        }
        let firsts = self.plan.first_posts(centre);
        let made = match &self.made_by {
            GroundSource::Landscape { landscape, tiles } => cache.windows(landscape, tiles, &firsts),
            GroundSource::Formula { levels, height_m } => sampled(levels, &firsts, height_m.as_ref(), shapes),
        };
        let made = ClipmapWindows { centre, ..made };
        let mut windows = whole(&self.windows);
        windows.push_back(made.clone());
        if windows.len() > CENTRES_KEPT * *whole(&self.viewers) {
            windows.pop_front();
        }
        made
    }

    fn prefetch(&self, centre: ClipmapCentre) -> bool {
        let GroundSource::Landscape { landscape, tiles } = &self.made_by else { return false };
        if !self.plan.has(centre) || self.known(centre).is_some() {
            return false;
        }
        whole(&self.making).prefetch(landscape, tiles, &self.plan.first_posts(centre))
    }

    fn known(&self, centre: ClipmapCentre) -> Option<ClipmapWindows> {
        whole(&self.windows).iter().find(|windows| windows.centre == centre).cloned()
    }
}

/// Windows whose heights follow a formula, each joined to the next.
fn sampled(
    levels: &[LevelSpec],
    firsts: &[[i64; 2]],
    height_m: &(dyn Fn(f64, f64) -> f64 + Send + Sync),
    shapes: &[RockShape],
) -> ClipmapWindows {
    let level = |(spec, first): (&LevelSpec, &[i64; 2])| {
        let origin_m = first.map(|post| post as f64 * spec.spacing_m);
        Level::sample(origin_m, spec.spacing_m, spec.posts(), height_m)
    };
    let mut levels: Vec<_> = levels.iter().zip(firsts).map(level).collect();
    for finer in (0..levels.len().saturating_sub(1)).rev() {
        let (fine, coarse) = levels.split_at_mut(finer + 1);
        seam::join(&mut fine[finer], &coarse[0]);
    }
    ClipmapWindows::new([0, 0], levels.into_iter().map(Arc::new).collect(), Vec::new(), shapes)
}

/// The page that contains a tile.
pub(crate) fn page_of(tile: TileIndex) -> [i64; 2] {
    [tile.column, tile.row].map(|tile| i64::from(tile).div_euclid(PAGE_TILES))
}

/// Column and row of a tile's first node on its page.
pub(crate) fn place_on_page(tile: TileIndex) -> [usize; 2] {
    [tile.column, tile.row].map(|tile| i64::from(tile).rem_euclid(PAGE_TILES) as usize * TILE_NODES)
}

/// Locks a mutex, even if poisoned: its data is changed last, so a panicking thread leaves complete windows behind.
fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Terrain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terrain").field("spacing_m", &self.spacing_m).finish_non_exhaustive()
    }
}
