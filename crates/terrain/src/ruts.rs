//! What has been done to the ground, kept for good: which posts of the finest level
//! have new heights, and those heights where the level's window does not hold them.
//! Tiles of 64 × 64 posts are numbered from the first window's corner and go on over
//! the whole plane, so that a rut is found again when the window comes back to it.
//!
//! A tile on the inner part of the window costs a bit a post; one beyond costs four
//! bytes more for each post that was changed.

use std::collections::{BTreeMap, BTreeSet};

use crate::ground::{Edit, TILE_NODES};

const TILE_AREA: usize = TILE_NODES * TILE_NODES;
const WORDS: usize = TILE_AREA / 64;

/// Row and column of a tile: maps of tiles are in the order of rows.
pub(crate) type TileAt = [i16; 2];

/// All changed posts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ruts {
    tiles: BTreeMap<TileAt, RutTile>,
    /// Tiles with posts changed since they were last told.
    fresh: BTreeMap<TileAt, Box<Marks>>,
}

type Marks = [u64; WORDS];

/// The changed posts of one tile.
#[derive(Clone, Debug)]
struct RutTile {
    marks: Box<Marks>,
    /// Heights of the marked posts in order; none while the window holds them.
    heights_m: Option<Vec<f32>>,
}

impl Ruts {
    /// Remembers that a post has a new height; `held` when the window is to keep it.
    pub(crate) fn insert(&mut self, tile: TileAt, node: usize, height_m: f32, held: bool) {
        let entry = self.tiles.entry(tile).or_insert_with(|| RutTile::new(held));
        entry.set(node, height_m);
    }

    /// Remembers that a post is to be told.
    pub(crate) fn refresh(&mut self, tile: TileAt, node: usize) {
        let marks = self.fresh.entry(tile).or_insert_with(|| Box::new([0; WORDS]));
        marks[node / 64] |= 1 << (node % 64);
    }

    /// The posts to be told, each once; they need not be told again. Heights that the
    /// window holds are told by `height_m`.
    pub(crate) fn take_fresh(&mut self, height_m: impl Fn(TileAt, usize) -> f32) -> Vec<Edit> {
        let fresh = std::mem::take(&mut self.fresh);
        let nodes = fresh.iter().flat_map(|(&tile, marks)| marked(marks).map(move |node| (tile, node)));
        let packed_m = |tile, node| self.tiles.get(&tile).and_then(|ruts: &RutTile| ruts.packed_m(node));
        nodes
            .map(|(tile, node)| edit_of(tile, node, packed_m(tile, node).unwrap_or_else(|| height_m(tile, node))))
            .collect()
    }

    /// Every changed post with its height, in order of tile and node.
    pub(crate) fn all(&self, height_m: impl Fn(TileAt, usize) -> f32) -> Vec<Edit> {
        let edits = |(&tile, ruts): (&TileAt, &RutTile)| -> Vec<Edit> {
            let nodes = marked(&ruts.marks).enumerate();
            let height = |(i, node): (usize, usize)| match &ruts.heights_m {
                Some(heights_m) => heights_m[i],
                None => height_m(tile, node),
            };
            nodes.map(|(i, node)| edit_of(tile, node, height((i, node)))).collect()
        };
        self.tiles.iter().flat_map(edits).collect()
    }

    /// Takes heights from a window of these tiles that is about to go; those it holds are told by `height_m`.
    /// Takes no longer however many ruts lie elsewhere.
    pub(crate) fn pack(&mut self, tiles: &BTreeSet<TileAt>, height_m: impl Fn(TileAt, usize) -> f32) {
        for &tile in tiles {
            let Some(ruts) = self.tiles.get_mut(&tile) else { continue };
            if ruts.heights_m.is_none() {
                ruts.heights_m = Some(marked(&ruts.marks).map(|node| height_m(tile, node)).collect());
            }
        }
    }

    /// Gives heights to a window that has come: `put` for each changed post of the tiles
    /// that `covers`, which from now on are the window's to keep where it `holds` them.
    pub(crate) fn unpack(
        &mut self,
        tiles: &BTreeSet<TileAt>,
        holds: impl Fn(TileAt) -> bool,
        mut put: impl FnMut(TileAt, usize, f32),
    ) {
        for &tile in tiles {
            let Some(ruts) = self.tiles.get_mut(&tile) else { continue };
            let Some(heights_m) = &ruts.heights_m else { continue };
            marked(&ruts.marks).zip(heights_m).for_each(|(node, &height_m)| put(tile, node, height_m));
            if holds(tile) {
                ruts.heights_m = None;
            }
        }
    }
}

impl RutTile {
    fn new(held: bool) -> Self {
        Self { marks: Box::new([0; WORDS]), heights_m: (!held).then(Vec::new) }
    }

    /// How many marked nodes come before.
    fn rank(&self, node: usize) -> usize {
        let (word, bit) = (node / 64, 1_u64 << (node % 64));
        let before: u32 = self.marks[..word].iter().map(|word| word.count_ones()).sum();
        (before + (self.marks[word] & (bit - 1)).count_ones()) as usize
    }

    /// A marked node's height, unless the window holds it.
    fn packed_m(&self, node: usize) -> Option<f32> {
        self.heights_m.as_ref().and_then(|heights_m| heights_m.get(self.rank(node)).copied())
    }

    fn set(&mut self, node: usize, height_m: f32) {
        let (word, bit) = (node / 64, 1_u64 << (node % 64));
        let is_new = self.marks[word] & bit == 0;
        self.marks[word] |= bit;
        let at = self.rank(node);
        let Some(heights_m) = &mut self.heights_m else { return };
        if is_new {
            heights_m.insert(at, height_m);
        } else {
            heights_m[at] = height_m;
        }
    }
}

fn edit_of([row, column]: TileAt, node: usize, height_m: f32) -> Edit {
    Edit { tile: [column, row], node: node as u16, height_m }
}

/// The marked nodes in order.
fn marked(marks: &Marks) -> impl Iterator<Item = usize> + '_ {
    let set = |word: usize| {
        std::iter::successors(Some(marks[word]), |bits| Some(bits & bits.wrapping_sub(1)))
            .take_while(|&bits| bits != 0)
            .map(move |bits| 64 * word + bits.trailing_zeros() as usize)
    };
    (0..WORDS).flat_map(set)
}

#[cfg(test)]
mod tests {
    use super::Ruts;
    use std::collections::BTreeSet;

    const TILE: [i16; 2] = [-3, 7];

    #[test]
    fn heights_outlive_the_window_that_held_them() {
        let mut ruts = Ruts::default();
        for node in [4095, 0, 64, 63] {
            ruts.insert(TILE, node, 0.0, true);
        }
        ruts.pack(&BTreeSet::from([TILE]), |_, node| node as f32);
        ruts.insert(TILE, 5, 5.5, false);
        ruts.insert(TILE, 64, -1.0, false);
        let told: Vec<_> = ruts.all(|_, _| f32::NAN).iter().map(|edit| (edit.node, edit.height_m)).collect();
        assert_eq!(told, [(0, 0.0), (5, 5.5), (63, 63.0), (64, -1.0), (4095, 4095.0)]);
        let mut window = Vec::new();
        ruts.unpack(&BTreeSet::from([TILE, [0, 0]]), |_| true, |_, node, height_m| window.push((node, height_m)));
        assert_eq!(window.len(), 5);
        let told = ruts.all(|_, node| 10.0 * node as f32);
        assert_eq!(told[1].height_m, 50.0);
    }

    #[test]
    fn what_changed_is_told_once() {
        let mut ruts = Ruts::default();
        for node in [9, 3, 9] {
            ruts.refresh(TILE, node);
        }
        let edits = ruts.take_fresh(|_, node| node as f32);
        assert_eq!(edits.iter().map(|edit| (edit.tile, edit.node)).collect::<Vec<_>>(), [([7, -3], 3), ([7, -3], 9)]);
        assert!(ruts.take_fresh(|_, _| 0.0).is_empty());
    }
}
