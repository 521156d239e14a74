//! The undisturbed ground of a site at any place, made when asked for and shared by all who ask:
//! pages of the finest level for wheels, nested windows for viewers. What is made depends on the
//! place alone, so that it does not matter who asked first, or whether it was made before. What
//! rovers do to it is no part of it (`Ruts`).

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

/// Centres whose windows are kept for each viewer: where it is, where it was, where it goes.
const CENTRES_KEPT: usize = 3;
/// Pages kept at least: of 1 cm posts 49 lie around a rover and as many where it goes.
const PAGES_KEPT: usize = 128;
/// Pages kept for each viewer where there are many: those around it and where it goes, of 2 cm posts.
const PAGES_OF_VIEWER: usize = 24;
/// Tiles on a page's side.
const PAGE_TILES: i64 = (TILE_POSTS / TILE_NODES) as i64;
/// Farthest tile from the map's origin that edits can name.
const TILE_MAX: i64 = i16::MAX as i64;

/// The undisturbed ground of a site.
pub struct Terrain {
    spacing_m: f64,
    /// Where node (0, 0) stands, m.
    origin_m: [f64; 2],
    shapes: Arc<Vec<RockShape>>,
    /// Rocks of the ground that are bodies of their own, and no part of it.
    loosened: BTreeSet<u32>,
    source: Source,
}

enum Source {
    /// One level with an end: rigs and tests.
    Bounded {
        level: Arc<Level>,
        rocks: Arc<Vec<Rock>>,
    },
    Endless(Box<Endless>),
}

/// Ground without an end.
struct Endless {
    plan: WindowPlan,
    made_by: MadeBy,
    pages: Mutex<VecDeque<([i64; 2], Arc<Page>)>>,
    windows: Mutex<VecDeque<ClipmapWindows>>,
    viewers: Mutex<usize>,
    /// Held while windows are made: a caller that asks for some that are there does not wait for others.
    making: Mutex<WindowCache>,
}

enum MadeBy {
    Landscape {
        landscape: Box<Landscape>,
        tiles: TileStore,
    },
    /// Heights by a formula, m, from map x and y, m.
    Formula {
        levels: Vec<LevelSpec>,
        height_m: Box<dyn Fn(f64, f64) -> f64 + Send + Sync>,
    },
}

impl Terrain {
    /// The ground of a site. `site_file` is named in errors; `data_dir` holds the elevation files
    /// that sites name. The same spec, data and seed give the same ground for any number of threads.
    ///
    /// # Errors
    /// When the site's elevation file is missing, not the one named, or unusable.
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
            MadeBy::Landscape { landscape: Box::new(landscape), tiles: TileStore::default() },
        )
    }

    /// Endless ground whose height is `height_m(x, y)` everywhere, without rocks, in levels given finest first.
    #[must_use]
    pub fn of_formula(levels: &[LevelSpec], height_m: impl Fn(f64, f64) -> f64 + Send + Sync + 'static) -> Self {
        let made_by = MadeBy::Formula { levels: levels.to_vec(), height_m: Box::new(height_m) };
        let shapes = rock::shapes(0);
        Self::endless(levels.first().map_or(1.0, |level| level.spacing_m), WindowPlan::new(levels, 0), shapes, made_by)
    }

    fn endless(spacing_m: f64, plan: WindowPlan, shapes: Vec<RockShape>, made_by: MadeBy) -> Self {
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

    /// Ground that ends with one level; node (0, 0) is the level's first post.
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

    /// Level ground at height zero around the origin, `side_m` long: for rigs.
    #[must_use]
    pub fn flat(spacing_m: f64, side_m: f64) -> Self {
        Self::of_level(Level::flat(spacing_m, side_m), Vec::new(), rock::shapes(0))
    }

    /// Takes rocks out of the ground, by their numbers: they are bodies of their own.
    pub fn loosen(&mut self, rocks: impl IntoIterator<Item = u32>) {
        self.loosened.extend(rocks);
    }

    /// Whether a rock of the ground is a body of its own.
    #[must_use]
    pub fn is_loosened(&self, rock: u32) -> bool {
        self.loosened.contains(&rock)
    }

    /// Distance between posts of the finest level, m.
    #[must_use]
    pub fn spacing_m(&self) -> f64 {
        self.spacing_m
    }

    /// Where node (0, 0) stands, m.
    #[must_use]
    pub fn origin_m(&self) -> [f64; 2] {
        self.origin_m
    }

    /// How windows of detail move over it; none where it ends.
    #[must_use]
    pub fn plan(&self) -> Option<&WindowPlan> {
        self.as_endless().map(|endless| &endless.plan)
    }

    /// Shapes of the rocks, the same everywhere.
    #[must_use]
    pub fn shapes(&self) -> &Arc<Vec<RockShape>> {
        &self.shapes
    }

    /// Whether rovers can be at (x, y): tiles there have numbers, and the ground does not end.
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

    /// How far from the map's origin tiles have numbers, m.
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

    /// The fixed rocks whose middle is on a rectangle of the map, whole pages at a time, in order of their number.
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

    /// Makes the pages about a place that are not there yet: nobody waits for them later.
    pub fn prefetch_pages(&self, [x, y]: [f64; 2], reach_m: f64) {
        let Some(endless) = self.as_endless() else { return };
        let page = |m: f64| (m / (self.spacing_m * TILE_POSTS as f64)).floor() as i64;
        for row in page(y - reach_m)..=page(y + reach_m) {
            for column in page(x - reach_m)..=page(x + reach_m) {
                let _ = endless.page(self.spacing_m, [column, row]);
            }
        }
    }

    /// Says how many viewers there will be, rovers or cameras: pages and windows are kept for as many.
    pub fn expect_viewers(&self, count: usize) {
        if let Some(endless) = self.as_endless() {
            let mut viewers = whole(&endless.viewers);
            *viewers = (*viewers).max(count);
        }
    }

    /// The undisturbed windows around a centre; none where the ground ends. Makes them (seconds at
    /// worst) unless they were made lately.
    #[must_use]
    pub fn windows(&self, centre: ClipmapCentre) -> Option<ClipmapWindows> {
        let endless = self.as_endless()?;
        Some(endless.known(centre).unwrap_or_else(|| endless.newly_made(centre, &self.shapes)))
    }

    /// Makes a part, one coarse window, of what a centre will need, so that it takes less long once it is
    /// asked for; whether there was one to make.
    #[must_use]
    pub fn prefetch_windows(&self, centre: ClipmapCentre) -> bool {
        self.as_endless().is_some_and(|endless| endless.prefetch(centre))
    }

    /// Level and rocks of a ground that ends.
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
            MadeBy::Landscape { landscape, tiles } => {
                let level = landscape.finest_tile(tiles, at);
                let rocks = landscape.rocks_on_page(tiles, &level);
                Page { level, rocks }
            }
            MadeBy::Formula { height_m, .. } => {
                let origin_m = at.map(|at| (at * TILE_POSTS as i64) as f64 * spacing_m);
                Page { level: Arc::new(Level::sample(origin_m, spacing_m, TILE_POSTS, height_m)), rocks: Vec::new() }
            }
        });
        let mut pages = whole(&self.pages);
        // Another may have made it meanwhile: the same.
        pages.retain(|(known, _)| *known != at);
        pages.push_back((at, Arc::clone(&page)));
        let kept = PAGES_KEPT.max(PAGES_OF_VIEWER * *whole(&self.viewers));
        if pages.len() > kept {
            pages.pop_front();
        }
        page
    }

    /// A page that is there; it then counts as used last.
    fn known_page(&self, at: [i64; 2]) -> Option<Arc<Page>> {
        let mut pages = whole(&self.pages);
        let index = pages.iter().rposition(|(known, _)| *known == at)?;
        let entry = pages.remove(index)?;
        let page = Arc::clone(&entry.1);
        pages.push_back(entry);
        Some(page)
    }

    /// Farthest that a rock of the ground reaches, m.
    fn largest_rock_m(&self) -> f64 {
        match &self.made_by {
            MadeBy::Landscape { landscape, .. } => landscape.largest_rock_reach_m(),
            MadeBy::Formula { .. } => 0.0,
        }
    }

    fn newly_made(&self, centre: ClipmapCentre, shapes: &[RockShape]) -> ClipmapWindows {
        let mut cache = whole(&self.making);
        // Another may have made it meanwhile.
        if let Some(known) = self.known(centre) {
            return known;
        }
        let firsts = self.plan.first_posts(centre);
        let made = match &self.made_by {
            MadeBy::Landscape { landscape, tiles } => cache.windows(landscape, tiles, &firsts),
            MadeBy::Formula { levels, height_m } => sampled(levels, &firsts, height_m.as_ref(), shapes),
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
        let MadeBy::Landscape { landscape, tiles } = &self.made_by else { return false };
        if !self.plan.has(centre) || self.known(centre).is_some() {
            return false;
        }
        whole(&self.making).prefetch(landscape, tiles, &self.plan.first_posts(centre))
    }

    fn known(&self, centre: ClipmapCentre) -> Option<ClipmapWindows> {
        whole(&self.windows).iter().find(|windows| windows.centre == centre).cloned()
    }
}

/// Windows of heights by a formula, each joined to the next.
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

/// The page that has a tile.
pub(crate) fn page_of(tile: TileIndex) -> [i64; 2] {
    [tile.column, tile.row].map(|tile| i64::from(tile).div_euclid(PAGE_TILES))
}

/// Column and row of a tile's first node on its page.
pub(crate) fn place_on_page(tile: TileIndex) -> [usize; 2] {
    [tile.column, tile.row].map(|tile| i64::from(tile).rem_euclid(PAGE_TILES) as usize * TILE_NODES)
}

/// What a lock guards. A maker that panicked leaves whole windows behind: all is changed last.
fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Terrain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terrain").field("spacing_m", &self.spacing_m).finish_non_exhaustive()
    }
}
