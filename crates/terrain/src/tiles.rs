//! Sparse facts about nodes, stored by tile: a tile takes memory once a node of it
//! says something, and every look-up is two array reads.

use crate::ground::TILE_NODES;

const TILE_AREA: usize = TILE_NODES * TILE_NODES;
const WORDS: usize = TILE_AREA / 64;
/// Nodes on the side of a block of heights: small, since rocks are.
const BLOCK: usize = 16;

/// Squares of `side` nodes on a side of a level with `posts` posts.
fn squares(posts: usize, side: usize) -> usize {
    posts.div_ceil(side)
}

/// A node's square of `SIDE` nodes and its place within it.
fn place<const SIDE: usize>(squares: usize, column: usize, row: usize) -> (usize, usize) {
    (row / SIDE * squares + column / SIDE, row % SIDE * SIDE + column % SIDE)
}

/// A set of nodes.
#[derive(Clone, Debug)]
pub(crate) struct NodeSet {
    tiles: usize,
    marks: Vec<Option<Box<[u64; WORDS]>>>,
}

impl NodeSet {
    pub(crate) fn new(posts: usize) -> Self {
        let tiles = squares(posts, TILE_NODES);
        Self { tiles, marks: vec![None; tiles * tiles] }
    }

    /// Adds a node; whether it was new.
    pub(crate) fn insert(&mut self, column: usize, row: usize) -> bool {
        let (tile, within) = place::<TILE_NODES>(self.tiles, column, row);
        let words = self.marks[tile].get_or_insert_with(|| Box::new([0; WORDS]));
        let (word, bit) = (&mut words[within / 64], 1 << (within % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Every node as (column, row), tile by tile.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        let tiles = self.marks.iter().enumerate().filter_map(|(tile, words)| Some((tile, words.as_ref()?)));
        tiles.flat_map(move |(tile, words)| {
            let [column, row] = [tile % self.tiles * TILE_NODES, tile / self.tiles * TILE_NODES];
            let is_set = |&within: &usize| words[within / 64] >> (within % 64) & 1 == 1;
            (0..TILE_AREA).filter(is_set).map(move |within| (column + within % TILE_NODES, row + within / TILE_NODES))
        })
    }

    pub(crate) fn clear(&mut self) {
        self.marks.fill(None);
    }
}

/// A height at some of the nodes.
#[derive(Clone, Debug)]
pub(crate) struct NodeHeights {
    blocks: usize,
    /// `NEG_INFINITY` where there is none.
    heights_m: Vec<Option<Box<[f32; BLOCK * BLOCK]>>>,
    is_empty: bool,
}

impl NodeHeights {
    pub(crate) fn new(posts: usize) -> Self {
        let blocks = squares(posts, BLOCK);
        Self { blocks, heights_m: vec![None; blocks * blocks], is_empty: true }
    }

    /// Raises a node to at least `height_m`.
    pub(crate) fn raise(&mut self, column: usize, row: usize, height_m: f32) {
        let (block, within) = place::<BLOCK>(self.blocks, column, row);
        let heights = self.heights_m[block].get_or_insert_with(|| Box::new([f32::NEG_INFINITY; BLOCK * BLOCK]));
        heights[within] = heights[within].max(height_m);
        self.is_empty = false;
    }

    pub(crate) fn get(&self, column: usize, row: usize) -> Option<f32> {
        let (block, within) = place::<BLOCK>(self.blocks, column, row);
        let height_m = self.heights_m.get(block)?.as_ref()?[within];
        (height_m > f32::NEG_INFINITY).then_some(height_m)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeHeights, NodeSet};

    #[test]
    fn a_set_gives_back_each_node_once() {
        let mut set = NodeSet::new(200);
        let nodes = [(0, 0), (63, 63), (64, 0), (199, 199), (63, 64)];
        for (column, row) in nodes {
            assert!(set.insert(column, row));
            assert!(!set.insert(column, row));
        }
        let mut found: Vec<_> = set.iter().collect();
        found.sort_unstable();
        assert_eq!(found, [(0, 0), (63, 63), (63, 64), (64, 0), (199, 199)]);
        set.clear();
        assert_eq!(set.iter().count(), 0);
    }

    #[test]
    fn the_highest_of_several_heights_counts() {
        let mut heights = NodeHeights::new(200);
        assert!(heights.is_empty());
        heights.raise(70, 70, 1.0);
        heights.raise(70, 70, 0.5);
        assert_eq!(heights.get(70, 70), Some(1.0));
        assert_eq!(heights.get(71, 70), None);
        assert_eq!(heights.get(0, 0), None);
    }
}
