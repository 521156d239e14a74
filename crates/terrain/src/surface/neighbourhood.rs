//! The undisturbed ground of some tiles around a rover, ready for every step: it refers to heights on pages without
//! copying them, and holds the rocks that reach there. It depends on the terrain and the tiles alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::level::Level;
use crate::surface::page::Page;
use crate::surface::rock::{Rock, RockShape};
use crate::surface::rock_grid::RockGrid;
use crate::surface::tile::{Node, TILE_AREA, TILE_NODES, TileIndex, TileRect};
use crate::terrain::{Terrain, page_of, place_on_page};

/// The undisturbed ground of some tiles.
#[derive(Debug)]
pub(crate) struct Neighbourhood {
    pub(crate) spacing_m: f64,
    pub(crate) origin_m: [f64; 2],
    /// Smallest rectangle that contains all tiles.
    pub(crate) rect: TileRect,
    /// Heights by tile index in the rectangle; none for a tile that is not included.
    tiles: Vec<Option<Undisturbed>>,
    /// First and last node of a bounded ground.
    pub(crate) limits: Option<[Node; 2]>,
    pub(crate) rocks: Vec<Rock>,
    pub(crate) rock_grid: RockGrid,
    pub(crate) shapes: Arc<Vec<RockShape>>,
}

/// The undisturbed heights of a tile.
#[derive(Clone, Debug)]
enum Undisturbed {
    /// The tile lies within a level: index of its first post; each row is `Level::posts` after the one before.
    On { level: Arc<Level>, first: usize },
    /// Heights of a tile that the ground's end cuts.
    Own(Box<[f32; TILE_AREA]>),
}

impl Neighbourhood {
    /// The neighbourhood on an unbounded ground; `pages` include all from which rocks may reach the tiles.
    pub(crate) fn of_pages(
        terrain: &Terrain,
        pages: BTreeMap<[i64; 2], Arc<Page>>,
        tiles: &BTreeSet<TileIndex>,
    ) -> Self {
        let undisturbed = |tile: TileIndex| {
            let page = pages.get(&page_of(tile))?;
            let [column, row] = place_on_page(tile);
            let first = row * page.level.posts + column;
            Some(Undisturbed::On { level: Arc::clone(&page.level), first })
        };
        let mut rocks: Vec<_> = pages.values().flat_map(|page| page.rocks.iter().cloned()).collect();
        rocks.sort_by_key(|rock| rock.id);
        rocks.dedup_by_key(|rock| rock.id);
        Self::new(terrain, undisturbed, rocks, tiles, None)
    }

    /// The neighbourhood on a ground of one level.
    pub(crate) fn of_level(terrain: &Terrain, level: &Arc<Level>, rocks: &[Rock], tiles: &BTreeSet<TileIndex>) -> Self {
        let posts = level.posts as i32;
        let undisturbed = |tile: TileIndex| {
            let [Node { column, row }, last] = [tile.node(0), tile.node(TILE_AREA - 1)];
            let is_whole = column >= 0 && row >= 0 && last.column < posts && last.row < posts;
            let first = row as usize * level.posts + column as usize;
            Some(match is_whole {
                true => Undisturbed::On { level: Arc::clone(level), first },
                false => Undisturbed::Own(cut(level, tile)),
            })
        };
        let last = Node { column: posts - 1, row: posts - 1 };
        Self::new(terrain, undisturbed, rocks.to_vec(), tiles, Some([Node::default(), last]))
    }

    fn new(
        terrain: &Terrain,
        undisturbed: impl Fn(TileIndex) -> Option<Undisturbed>,
        mut rocks: Vec<Rock>,
        tiles: &BTreeSet<TileIndex>,
        limits: Option<[Node; 2]>,
    ) -> Self {
        let rect = tiles.iter().map(|&first| TileRect { first, columns: 1, rows: 1 });
        let rect = rect.reduce(|one, other| one.around(&other)).unwrap_or_default();
        rocks.retain(|rock| !terrain.is_loosened(rock.id));
        let (spacing_m, origin_m) = (terrain.spacing_m(), terrain.origin_m());
        let Node { column, row } = rect.first.node(0);
        let corner_m = [origin_m[0] + f64::from(column) * spacing_m, origin_m[1] + f64::from(row) * spacing_m];
        let side_m = (rect.columns.max(rect.rows) * TILE_NODES) as f64 * spacing_m;
        Self {
            spacing_m,
            origin_m,
            rect,
            tiles: rect.tiles().map(|tile| tiles.contains(&tile).then(|| undisturbed(tile)).flatten()).collect(),
            limits,
            rock_grid: RockGrid::new(corner_m, side_m, &rocks, terrain.shapes()),
            rocks,
            shapes: Arc::clone(terrain.shapes()),
        }
    }

    /// Heights of a tile from a node on, row by row, m, and the number of posts from row to row; none for a tile that is
    /// not included.
    pub(crate) fn heights_from_m(&self, at: usize, within: usize) -> Option<(&[f32], usize)> {
        Some(match self.tiles.get(at)?.as_ref()? {
            Undisturbed::On { level, first } => {
                let node = first + within / TILE_NODES * level.posts + within % TILE_NODES;
                (&level.heights_m[node..], level.posts)
            }
            Undisturbed::Own(heights_m) => (&heights_m[within..], TILE_NODES),
        })
    }

    /// Height of a node of a tile, m; NaN for a tile that is not included.
    pub(crate) fn height_m(&self, at: usize, within: usize) -> f32 {
        match self.tiles.get(at) {
            Some(Some(Undisturbed::On { level, first })) => {
                level.heights_m[first + within / TILE_NODES * level.posts + within % TILE_NODES]
            }
            Some(Some(Undisturbed::Own(heights_m))) => heights_m[within],
            Some(None) | None => f32::NAN,
        }
    }

    /// Copies a tile's heights; NaN for a tile that is not included.
    pub(crate) fn copy(&self, at: usize, heights_m: &mut [f32; TILE_AREA]) {
        for (row, to) in heights_m.chunks_exact_mut(TILE_NODES).enumerate() {
            match self.heights_from_m(at, row * TILE_NODES) {
                Some((from, _)) => to.copy_from_slice(&from[..TILE_NODES]),
                None => to.fill(f32::NAN),
            }
        }
    }

    /// Whether the tile is included.
    pub(crate) fn has(&self, at: usize) -> bool {
        self.tiles.get(at).is_some_and(Option::is_some)
    }
}

/// Heights of a tile that reaches beyond a level, m; NaN beyond the level.
fn cut(level: &Level, tile: TileIndex) -> Box<[f32; TILE_AREA]> {
    let mut heights_m = Box::new([f32::NAN; TILE_AREA]);
    for (within, height_m) in heights_m.iter_mut().enumerate() {
        let Node { column, row } = tile.node(within);
        let post = |at: i32| usize::try_from(at).ok().filter(|&at| at < level.posts);
        if let (Some(column), Some(row)) = (post(column), post(row)) {
            *height_m = level.heights_m[row * level.posts + column];
        }
    }
    heights_m
}
