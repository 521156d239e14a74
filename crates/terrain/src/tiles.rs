//! Sparse facts about nodes, stored by tile: a tile takes memory once a node of it
//! says something, and every look-up is two array reads.

use crate::ground::TILE_NODES;

const TILE_AREA: usize = TILE_NODES * TILE_NODES;
const WORDS: usize = TILE_AREA / 64;

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

#[cfg(test)]
mod tests {
    use super::NodeSet;

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
}
