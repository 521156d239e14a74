//! Makes the windows of a landscape and keeps the tiles they are put together from, so
//! that a window that moves on makes the tiles it comes to and no others. Tiles that
//! no window of the last few places used are dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use crate::landscape::{Landscape, Layer, TILE_POSTS, piece};
use crate::level::Level;
use crate::rock::{self, Rock, RockShape};
use crate::sampler::Grid;
use crate::seam;
use crate::windows::{WindowPlan, Windows};

/// Places for which a tile is kept after it was last used.
const KEPT_PLACES: u64 = 2;

type TileAt = (usize, [i64; 2]);

/// Tiles of a landscape and the levels last put together.
#[derive(Debug, Default)]
pub(crate) struct TileStore {
    tiles: BTreeMap<TileAt, Kept>,
    /// Each coarser level's window, joined, with its first post.
    joined: BTreeMap<usize, ([i64; 2], Arc<Level>)>,
    places: u64,
}

#[derive(Clone, Debug)]
struct Kept {
    layer: Arc<Layer>,
    used: u64,
}

impl TileStore {
    /// The windows that begin at the given posts, finest first.
    pub(crate) fn windows(&mut self, landscape: &Landscape, firsts: &[[i64; 2]], shapes: &[RockShape]) -> Windows {
        self.places += 1;
        let needed = needed(landscape, firsts);
        for (level, tiles) in needed.iter().enumerate().rev() {
            self.make(landscape, level, tiles);
        }
        let mut levels: Vec<Arc<Level>> = Vec::new();
        for (level, &first) in firsts.iter().enumerate().rev() {
            levels.push(self.joined(landscape, level, first, levels.last().cloned()));
        }
        levels.reverse();
        self.tiles.retain(|_, kept| kept.used + KEPT_PLACES >= self.places);
        let rocks = rocks(landscape, &levels);
        Windows::new([0, 0], levels, rocks, shapes)
    }

    /// Makes the tiles that are not there yet.
    fn make(&mut self, landscape: &Landscape, level: usize, tiles: &BTreeSet<[i64; 2]>) {
        let places = self.places;
        let missing: Vec<_> = tiles.iter().copied().filter(|&tile| !self.tiles.contains_key(&(level, tile))).collect();
        let below = |first: [i64; 2], posts: usize| self.base(landscape, level + 1, first, posts);
        let one = |&tile: &[i64; 2]| {
            let layer = landscape.layer(level, Landscape::first_post(tile), TILE_POSTS as usize, below);
            ((level, tile), Kept { layer: Arc::new(layer), used: places })
        };
        let made: Vec<_> = missing.par_iter().map(one).collect();
        self.tiles.extend(made);
        for tile in tiles {
            if let Some(kept) = self.tiles.get_mut(&(level, *tile)) {
                kept.used = places;
            }
        }
    }

    /// The base of a piece of a level whose tiles are there.
    fn base(&self, landscape: &Landscape, level: usize, first: [i64; 2], posts: usize) -> Level {
        let grid = landscape.grid(level, first, posts);
        match landscape.measured() {
            Some(measured) if level == landscape.coarsest() => piece(measured, grid),
            _ => self.put_together(level, first, grid, |layer| &layer.base),
        }
    }

    /// A window of a level, joined to the coarser one.
    fn joined(
        &mut self,
        landscape: &Landscape,
        level: usize,
        first: [i64; 2],
        coarser: Option<Arc<Level>>,
    ) -> Arc<Level> {
        if let Some((_, known)) = self.joined.get(&level).filter(|(known, _)| *known == first) {
            return Arc::clone(known);
        }
        let grid = landscape.grid(level, first, landscape.spec.levels[level].posts());
        let mut window = match landscape.measured() {
            Some(measured) if level == landscape.coarsest() => piece(measured, grid),
            _ => self.put_together(level, first, grid, |layer| &layer.surface),
        };
        if let Some(coarser) = coarser {
            seam::join(&mut window, &coarser);
        }
        let window = Arc::new(window);
        if level > 0 {
            self.joined.insert(level, (first, Arc::clone(&window)));
        }
        window
    }

    fn put_together(&self, level: usize, first: [i64; 2], grid: Grid, of: fn(&Layer) -> &Level) -> Level {
        let posts = grid.posts;
        let mut heights_m = vec![0.0; posts * posts];
        heights_m.par_chunks_mut(posts).enumerate().for_each(|(i, heights)| {
            let row = first[1] + i as i64;
            let (tile_row, within_row) = (row.div_euclid(TILE_POSTS), row.rem_euclid(TILE_POSTS) as usize);
            let mut done = 0;
            while done < posts {
                let column = first[0] + done as i64;
                let (tile, within) = (column.div_euclid(TILE_POSTS), column.rem_euclid(TILE_POSTS) as usize);
                let count = (TILE_POSTS as usize - within).min(posts - done);
                if let Some(kept) = self.tiles.get(&(level, [tile, tile_row])) {
                    let from = within_row * TILE_POSTS as usize + within;
                    heights[done..done + count].copy_from_slice(&of(&kept.layer).heights_m[from..from + count]);
                }
                done += count;
            }
        });
        Level { origin_m: grid.origin_m, spacing_m: grid.spacing_m, posts, heights_m }
    }
}

/// The tiles of each level that windows and the finer tiles' refinement need; none of measured ground.
fn needed(landscape: &Landscape, firsts: &[[i64; 2]]) -> Vec<BTreeSet<[i64; 2]>> {
    let mut all: Vec<BTreeSet<[i64; 2]>> = Vec::new();
    for (level, &first) in firsts.iter().enumerate() {
        if level == landscape.coarsest() && landscape.measured().is_some() {
            all.push(BTreeSet::new());
            break;
        }
        let mut tiles: BTreeSet<_> = covering(first, landscape.spec.levels[level].posts()).collect();
        if let Some(finer) = level.checked_sub(1) {
            for &tile in &all[finer] {
                let (first, posts) = landscape.posts_below(finer, Landscape::first_post(tile), TILE_POSTS as usize);
                tiles.extend(covering(first, posts));
            }
        }
        all.push(tiles);
    }
    all
}

fn covering(first: [i64; 2], posts: usize) -> impl Iterator<Item = [i64; 2]> {
    let span =
        |axis: usize| first[axis].div_euclid(TILE_POSTS)..=(first[axis] + posts as i64 - 1).div_euclid(TILE_POSTS);
    let columns = span(0);
    span(1).flat_map(move |row| columns.clone().map(move |column| [column, row]))
}

/// The rocks on the windows, in order of their id.
fn rocks(landscape: &Landscape, levels: &[Arc<Level>]) -> Vec<Rock> {
    let law = &landscape.spec.rocks;
    let sides_m: Vec<f64> = landscape.spec.levels.iter().map(|level| level.side_m).collect();
    let bands = rock::bands(law, &sides_m);
    let band = |(index, level): (usize, &Arc<Level>)| {
        law.near(landscape.seed, index, &bands[index], [level.origin_m, level.origin_m.map(|m| m + level.side_m())])
    };
    let stones: Vec<_> = levels.iter().enumerate().flat_map(band).collect();
    let mut rocks: Vec<_> = stones.par_iter().filter_map(|(id, stone)| stone.lie(*id, levels)).collect();
    rocks.sort_by_key(|rock| rock.id);
    rocks
}

/// How the windows of a landscape move.
pub(crate) fn plan(landscape: &Landscape) -> WindowPlan {
    WindowPlan::new(&landscape.spec.levels, landscape.measured().is_some())
}
