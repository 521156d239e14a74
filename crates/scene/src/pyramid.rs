//! The height levels as one flat array: the posts of each level and, above them, mips of maxima (a mip-k cell covers
//! 2^k × 2^k cells and holds their highest post). After all levels come the prints of the finest level's posts. Few
//! posts have a print, so a table holds one number for each 64 × 64 tile: 0, or the number of a page with the bits of
//! its posts' prints, stored as floats. Edits change only the posts and the mip cells above them, and mark 64 × 64
//! tiles so that a device can copy them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use nalgebra::Vector3;
use rayon::prelude::*;
use selene_terrain::{Clipmap, Edit, Level, Node, Print, TILE_NODES};

use crate::record::{LevelRecord, MIPS_MAX};

/// Posts, mips and prints of all levels.
#[derive(Clone, Debug)]
pub(crate) struct Pyramid {
    pub(crate) levels: Vec<LevelRecord>,
    /// Shared between copies until one of them changes.
    pub(crate) heights: Arc<Vec<f32>>,
    /// For each tile of the finest level, the edit pass that last changed it.
    tile_versions: Vec<u64>,
    version: u64,
    /// Node of the finest level's first post.
    first_node: Node,
    /// Origin of the scene's frame in the map frame, m.
    pub(crate) middle_m: Vector3<f64>,
    /// The levels in `heights` except the finest, whose owner edits it in place.
    coarser: Vec<Arc<Level>>,
    /// Distance between posts of the finest level, m.
    pub(crate) spacing_m: f64,
    /// Position of the finest level's first post, in posts from the map's origin.
    pub(crate) first_post: [i64; 2],
    /// Number of pages of prints in use.
    pages: usize,
}

impl Pyramid {
    pub(crate) fn new(clipmap: &Clipmap) -> Self {
        let mut levels = room_for(clipmap);
        let prints = levels.last().map_or(0, end_of);
        levels.iter_mut().take(1).for_each(|finest| finest.prints = prints as u32);
        let count = levels.first().map_or(0, |finest| first_page(finest) + PAGES_MIN * PAGE - prints);
        let tiles = levels.first().map_or(0, tiles_on_side);
        let mut pyramid = Self {
            heights: Arc::new(vec![0.0; prints + count]),
            levels,
            tile_versions: vec![0; tiles * tiles],
            version: 0,
            first_node: Node::default(),
            middle_m: Vector3::zeros(),
            coarser: Vec::new(),
            spacing_m: clipmap.finest().spacing_m,
            first_post: [0; 2],
            pages: 0,
        };
        pyramid.go_to(clipmap);
        pyramid
    }

    /// Replaces the ground by a clipmap with windows of the same sizes; unchanged coarser levels are not copied again.
    pub(crate) fn go_to(&mut self, clipmap: &Clipmap) {
        self.middle_m = middle_m(clipmap.finest());
        self.first_node = clipmap.first_node();
        self.first_post = clipmap.finest().origin_m.map(|origin| (origin / self.spacing_m).round() as i64);
        for (i, level) in clipmap.shared_levels().iter().enumerate() {
            let record = &mut self.levels[i];
            record.origin = [0, 1].map(|axis| (level.origin_m[axis] - self.middle_m[axis]) as f32);
            let is_there = i > 0 && self.coarser.get(i - 1).is_some_and(|there| Arc::ptr_eq(there, level));
            if !is_there {
                fill(record, level, Arc::make_mut(&mut self.heights).as_mut_slice());
            }
        }
        self.coarser = clipmap.shared_levels().iter().skip(1).cloned().collect();
        self.show_prints(clipmap);
    }

    /// Writes the prints of all posts of the finest level.
    fn show_prints(&mut self, clipmap: &Clipmap) {
        let Some(finest) = self.levels.first().copied() else { return };
        if self.pages > 0 {
            let used = finest.prints as usize..first_page(&finest) + self.pages * PAGE;
            Arc::make_mut(&mut self.heights)[used].fill(0.0);
            self.pages = 0;
        }
        for (node, print) in clipmap.prints() {
            if let Some(post) = self.post_at(&finest, node) {
                self.set_print(&finest, post, print);
            }
        }
    }

    fn set_print(&mut self, finest: &LevelRecord, [column, row]: [usize; 2], print: Print) {
        let entry = table_entry(finest, [column / TILE_NODES, row / TILE_NODES]);
        if self.heights[entry] == 0.0 {
            if print == Print::NONE {
                return;
            }
            self.pages += 1;
            let heights = Arc::make_mut(&mut self.heights);
            heights[entry] = self.pages as f32;
            if heights.len() < first_page(finest) + self.pages * PAGE {
                // Not twice all heights, as `resize` alone would reserve.
                let more = first_page(finest) + 2 * self.pages * PAGE - heights.len();
                heights.reserve_exact(more);
                heights.resize(heights.len() + more, 0.0);
            }
        }
        let within = row % TILE_NODES * TILE_NODES + column % TILE_NODES;
        let at = self.page(finest, entry).start + within;
        Arc::make_mut(&mut self.heights)[at] = f32::from(print.bits());
    }

    /// Index range of the page that a table entry names; empty where it names none.
    fn page(&self, finest: &LevelRecord, entry: usize) -> Range<usize> {
        let first = first_page(finest);
        let number = self.heights[entry] as usize;
        first + number.saturating_sub(1) * PAGE..first + number * PAGE
    }

    /// Index ranges that hold a tile's prints: its table entry and its page.
    pub(crate) fn print_ranges(&self, finest: &LevelRecord, tile: [usize; 2]) -> [Range<usize>; 2] {
        let entry = table_entry(finest, tile);
        [entry..entry + 1, self.page(finest, entry)]
    }

    /// Column and row of a node on the finest level; none outside it.
    fn post_at(&self, finest: &LevelRecord, node: Node) -> Option<[usize; 2]> {
        let along = |node: i32, first: i32| usize::try_from(node - first).ok().filter(|post| *post < posts_of(finest));
        Some([along(node.column, self.first_node.column)?, along(node.row, self.first_node.row)?])
    }

    /// Number of edit passes so far.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Tiles (column, row) of the finest level that changed after `version`.
    pub(crate) fn tiles_changed_after(&self, version: u64) -> impl Iterator<Item = [usize; 2]> + '_ {
        let side = self.levels.first().map_or(1, tiles_on_side);
        let changed = move |(tile, &at): (usize, &u64)| (at > version).then_some([tile % side, tile / side]);
        self.tile_versions.iter().enumerate().filter_map(changed)
    }

    /// Sets new heights of nodes of the finest level; edits outside it are ignored.
    pub(crate) fn apply(&mut self, edits: &[Edit]) {
        self.version += 1;
        let mut blocks = BTreeSet::new();
        for edit in edits {
            if let Some([column, row]) = self.set_post(edit) {
                let around = |post: usize| (post.saturating_sub(1) / 2)..=(post / 2);
                blocks.extend(around(row).flat_map(|y| around(column).map(move |x| (y, x))));
            }
        }
        self.raise(1, blocks);
    }

    fn set_post(&mut self, edit: &Edit) -> Option<[usize; 2]> {
        let level = self.levels.first().copied()?;
        let [column, row] = self.post_at(&level, edit.at())?;
        let post = row * posts_of(&level) + column;
        Arc::make_mut(&mut self.heights)[level.heights as usize + post] = edit.height_m;
        self.set_print(&level, [column, row], edit.print);
        let tile = row / TILE_NODES * tiles_on_side(&level) + column / TILE_NODES;
        self.tile_versions[tile] = self.version;
        Some([column, row])
    }

    /// Recomputes the given cells (row, column) of a mip, then their ancestors.
    fn raise(&mut self, mip: u32, cells: BTreeSet<(usize, usize)>) {
        let Some(level) = self.levels.first().copied() else { return };
        if mip > level.top_mip {
            return;
        }
        let side = mip_side(level.cells, mip);
        let first = mip_first(&level, mip);
        let mut parents = BTreeSet::new();
        for (y, x) in cells {
            if x >= side || y >= side {
                continue;
            }
            let (below, mips) = Arc::make_mut(&mut self.heights).split_at_mut(first);
            let highest = highest_of(&level, below, mip, x, y);
            if mips[y * side + x] != highest {
                mips[y * side + x] = highest;
                parents.insert((y / 2, x / 2));
            }
        }
        self.raise(mip + 1, parents);
    }
}

/// Number of prints in a page.
const PAGE: usize = TILE_NODES * TILE_NODES;

/// Pages allocated from the beginning.
const PAGES_MIN: usize = 16;

/// Index of a tile's entry in the table of pages.
fn table_entry(finest: &LevelRecord, [column, row]: [usize; 2]) -> usize {
    finest.prints as usize + row * tiles_on_side(finest) + column
}

/// Index of the first print of the first page.
fn first_page(finest: &LevelRecord) -> usize {
    finest.prints as usize + tiles_on_side(finest).pow(2)
}

/// Posts along a side of a level.
pub(crate) fn posts_of(level: &LevelRecord) -> usize {
    level.cells as usize + 1
}

/// Tiles along a side of a level.
pub(crate) fn tiles_on_side(level: &LevelRecord) -> usize {
    (level.cells as usize + 1).div_ceil(TILE_NODES)
}

/// Cells along a side of a mip.
pub(crate) fn mip_side(cells: u32, mip: u32) -> usize {
    ((cells as usize - 1) >> mip) + 1
}

/// Index of a mip's first cell.
pub(crate) fn mip_first(level: &LevelRecord, mip: u32) -> usize {
    level.mips[(mip / 4) as usize][(mip % 4) as usize] as usize
}

/// Centre of a level's square, at height zero, map frame, m.
fn middle_m(level: &Level) -> Vector3<f64> {
    let [x, y] = level.origin_m.map(|m| m + 0.5 * level.side_m());
    Vector3::new(x, y, 0.0)
}

/// Records of a clipmap's levels, with space for their posts and mips one after the other.
fn room_for(clipmap: &Clipmap) -> Vec<LevelRecord> {
    let mut end = 0;
    let room = |level: &Level| {
        let record = LevelRecord::sized(level, end);
        end = end_of(&record);
        record
    };
    clipmap.levels().map(room).collect()
}

/// Index after a level's last element.
fn end_of(level: &LevelRecord) -> usize {
    let posts = level.cells as usize + 1;
    if level.top_mip == 0 {
        return level.heights as usize + posts * posts;
    }
    mip_first(level, level.top_mip) + mip_side(level.cells, level.top_mip).pow(2)
}

impl LevelRecord {
    /// A level's record without its origin; its heights start at index `first`.
    fn sized(level: &Level, first: usize) -> Self {
        let cells = level.posts as u32 - 1;
        let mut record = Self {
            origin: [0.0; 2],
            spacing: level.spacing_m as f32,
            inverse_spacing: (1.0 / level.spacing_m) as f32,
            cells,
            top_mip: cells.next_power_of_two().trailing_zeros().min(MIPS_MAX as u32 - 1),
            heights: first as u32,
            prints: 0,
            mips: [[0; 4]; MIPS_MAX / 4],
        };
        let mut first = first + level.posts * level.posts;
        for mip in 1..=record.top_mip {
            record.mips[(mip / 4) as usize][(mip % 4) as usize] = first as u32;
            first += mip_side(cells, mip).pow(2);
        }
        record
    }
}

/// Writes a level's posts and mips.
fn fill(record: &LevelRecord, level: &Level, heights: &mut [f32]) {
    heights[record.heights as usize..][..level.heights_m.len()].copy_from_slice(&level.heights_m);
    for mip in 1..=record.top_mip {
        let side = mip_side(record.cells, mip);
        let (below, mips) = heights.split_at_mut(mip_first(record, mip));
        let row = |(y, row): (usize, &mut [f32])| {
            row.iter_mut().enumerate().for_each(|(x, cell)| *cell = highest_of(record, below, mip, x, y));
        };
        mips[..side * side].par_chunks_mut(side).enumerate().for_each(row);
    }
}

/// Highest post under a mip's cell, m, from the posts (mip 1) or from the mip below.
fn highest_of(level: &LevelRecord, heights: &[f32], mip: u32, x: usize, y: usize) -> f32 {
    let (first, stride, span) = if mip == 1 {
        (level.heights as usize, level.cells as usize + 1, 3)
    } else {
        let side = mip_side(level.cells, mip - 1);
        (mip_first(level, mip - 1), side, 2)
    };
    let ends = |start: usize| (start + span).min(stride);
    let row_max = |row: usize| {
        let row = first + row * stride;
        heights[row + 2 * x..row + ends(2 * x)].iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b))
    };
    (2 * y..ends(2 * y)).map(row_max).fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::{Pyramid, mip_first};
    use selene_terrain::{Clipmap, ClipmapWindows, Edit, Level, Node, Print};
    use std::sync::Arc;

    fn rough(posts: usize) -> Level {
        Level::sample([-1.0, 2.0], 0.1, posts, |x, y| (x * 7.3).sin() * (y * 5.1).cos() + 0.3 * (x * y * 31.0).sin())
    }

    #[test]
    fn the_top_mip_is_the_highest_post() {
        for posts in [2, 3, 4, 65, 66, 100] {
            let level = rough(posts);
            let highest = level.heights_m.iter().copied().fold(f32::MIN, f32::max);
            let pyramid = Pyramid::new(&Clipmap::new(vec![level], Vec::new(), Vec::new()));
            if posts > 2 {
                let level = &pyramid.levels[0];
                assert_eq!(pyramid.heights[mip_first(level, level.top_mip)], highest, "{posts} posts");
            }
        }
    }

    #[test]
    fn another_centre_gives_the_pyramid_that_building_anew_gives() {
        let coarse = Arc::new(Level::sample([-40.0, -40.0], 1.0, 81, |x, y| (x * 0.3).sin() + 0.1 * y));
        let at = |centre: [i32; 2]| {
            let origin_m = centre.map(|step| 0.8 * f64::from(step) - 5.0);
            let fine = Arc::new(Level::sample(origin_m, 0.1, 101, |x, y| (x * 0.3).sin() + 0.1 * (y * 3.0).sin()));
            let coarse = if centre[0] < 2 { Arc::clone(&coarse) } else { Arc::new(coarse.as_ref().clone()) };
            ClipmapWindows::new(centre, vec![fine, coarse], Vec::new(), &[])
        };
        let mut clipmap = Clipmap::new(vec![rough(101), coarse.as_ref().clone()], Vec::new(), Vec::new());
        let mut followed = Pyramid::new(&clipmap);
        for centre in [[0, 0], [1, 1], [2, 1]] {
            clipmap.enter(at(centre));
            followed.go_to(&clipmap);
            let anew = Pyramid::new(&clipmap);
            assert!(followed.heights == anew.heights && followed.levels == anew.levels, "{centre:?}");
        }
    }

    /// The print of a post of a level with 150 posts on a side.
    fn print_of(pyramid: &Pyramid, post: usize) -> f32 {
        let [column, row] = [post % 150, post / 150];
        let [_, page] = pyramid.print_ranges(&pyramid.levels[0], [column / 64, row / 64]);
        if page.is_empty() { 0.0 } else { pyramid.heights[page.start + row % 64 * 64 + column % 64] }
    }

    #[test]
    fn prints_find_room_in_any_number_of_tiles_and_leave_it_with_the_window() {
        let mut pyramid = Pyramid::new(&Clipmap::flat(0.02, 12.0));
        let before = pyramid.heights.len();
        let edit = |tile: i32| {
            let node = Node { column: 64 * (tile % 9) + tile, row: 64 * (tile / 9) };
            Edit::of(node, 0.0).with_print(Print::of_grousers(0.0, f64::from(tile), 0.05))
        };
        let edits: Vec<_> = (0..50).map(edit).collect();
        pyramid.apply(&edits);
        assert!(pyramid.heights.len() > before);
        for edit in &edits {
            let node = edit.at();
            let [column, row] = [node.column, node.row].map(|post| post as usize);
            let [_, page] = pyramid.print_ranges(&pyramid.levels[0], [column / 64, row / 64]);
            assert_eq!(pyramid.heights[page.start + row % 64 * 64 + column % 64], f32::from(edit.print.bits()));
        }
        pyramid.go_to(&Clipmap::flat(0.02, 12.0));
        let prints = pyramid.levels[0].prints as usize;
        assert!(pyramid.heights[prints..].iter().all(|print| *print == 0.0));
    }

    #[test]
    fn edits_give_the_pyramid_that_building_anew_gives() {
        let mut clipmap = Clipmap::new(vec![rough(150), rough(40)], Vec::new(), Vec::new());
        let mut edited = Pyramid::new(&clipmap);
        for (column, row, height_m) in [(0, 0, 5.0), (149, 149, 4.0), (64, 63, -3.0), (64, 63, 2.5), (7, 149, 1.0)] {
            let print = Print::of_grousers(0.1, f64::from(height_m), 0.05);
            edited.apply(&clipmap.apply(&[Edit::of(Node { column, row }, height_m).with_print(print)]));
        }
        let anew = Pyramid::new(&clipmap);
        let prints = edited.levels[0].prints as usize;
        assert_eq!(edited.heights[..prints], anew.heights[..prints]);
        let of_posts = |pyramid: &Pyramid| (0..150 * 150).map(|post| print_of(pyramid, post)).collect::<Vec<_>>();
        assert_eq!(of_posts(&edited), of_posts(&anew));
        assert_eq!(of_posts(&edited).iter().filter(|print| **print != 0.0).count(), 4);
        assert_eq!(edited.tiles_changed_after(3).collect::<Vec<_>>(), [[1, 0], [0, 2]]);
    }
}
