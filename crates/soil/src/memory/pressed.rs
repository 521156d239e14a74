//! What is kept of a tile that nothing can touch, beyond the window or in a file: which
//! of its nodes were touched, and for each the height before and the plastic sinkage.
//! The strength mobilised in shear is forgotten.

use super::{NodeMemory, SoilMemory, TILE, Tile, UNTOUCHED};

/// Touched nodes of one tile of 64 × 64.
#[derive(Clone, Debug, PartialEq)]
pub struct PressedTile {
    marks: Box<[u64; TILE]>,
    known: Vec<[f32; 2]>,
}

impl PressedTile {
    /// A tile whose marked nodes (bit `column` of word `row`) have these heights before and
    /// plastic sinkages, m, in order; none when they are not as many or one is not finite.
    #[must_use]
    pub fn new(marks: Box<[u64; TILE]>, known: Vec<[f32; 2]>) -> Option<Self> {
        let count: usize = marks.iter().map(|row| row.count_ones() as usize).sum();
        let is_whole = count == known.len() && known.iter().flatten().all(|m| m.is_finite());
        is_whole.then_some(Self { marks, known })
    }

    /// Which nodes were touched: bit `column` of word `row`.
    #[must_use]
    pub fn marks(&self) -> &[u64; TILE] {
        &self.marks
    }

    /// Height before and plastic sinkage of each touched node in order, m.
    #[must_use]
    pub fn known(&self) -> &[[f32; 2]] {
        &self.known
    }

    pub(super) fn pack(tile: &[NodeMemory]) -> Self {
        let mut marks = Box::new([0; TILE]);
        let mut known = Vec::new();
        for (i, node) in tile.iter().enumerate().filter(|(_, node)| node.is_touched()) {
            marks[i / TILE] |= 1 << (i % TILE);
            known.push([node.initial_m, node.plastic_m]);
        }
        known.shrink_to_fit();
        Self { marks, known }
    }

    pub(super) fn unpack(&self) -> Tile {
        let mut tile = vec![UNTOUCHED; TILE * TILE].into_boxed_slice();
        let marked = tile.iter_mut().enumerate().filter(|(i, _)| self.marks[i / TILE] >> (i % TILE) & 1 == 1);
        for ((_, node), &[initial_m, plastic_m]) in marked.zip(&self.known) {
            *node = NodeMemory { initial_m, plastic_m, mobilised: [0; 2] };
        }
        tile
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<[u64; TILE]>() + size_of_val(&self.known[..])
    }
}

impl SoilMemory {
    /// Every touched tile of the plane, by its row and column from the first window's corner.
    #[must_use]
    pub fn pressed(&self) -> Vec<([i64; 2], PressedTile)> {
        let near = self.tiles.iter().enumerate().filter_map(|(i, tile)| {
            let [row, column] = [i / self.tiles_a_row, i % self.tiles_a_row].map(|tile| tile as i64);
            Some(([self.from_home[1] + row, self.from_home[0] + column], PressedTile::pack(tile.as_deref()?)))
        });
        let far = self.far.iter().map(|(&at, tile)| (at, tile.clone()));
        let mut all: Vec<_> = near.chain(far).collect();
        all.sort_unstable_by_key(|(at, _)| *at);
        all
    }

    /// Displaced soil too little to change a stored height, m³.
    #[must_use]
    pub fn crumbs_m3(&self) -> f64 {
        self.crumbs_m3
    }

    /// Remembers what another memory did, by its `pressed` tiles and crumbs.
    pub fn recall(&mut self, tiles: impl IntoIterator<Item = ([i64; 2], PressedTile)>, crumbs_m3: f64) {
        self.far.extend(tiles);
        self.take_back();
        self.crumbs_m3 = crumbs_m3;
    }
}

#[cfg(test)]
mod tests {
    use super::{PressedTile, SoilMemory, TILE};
    use selene_terrain::{Ground, Node};

    #[test]
    fn another_memory_recalls_every_tile_on_and_off_its_window() {
        let ground = Ground::flat(0.02, 20.0);
        let mut memory = SoilMemory::new(&ground);
        for column in [3, 70, 900] {
            memory.touch(Node { column, row: 130 }, 0.25).plastic_m = 1e-3 * column as f32;
        }
        let off = PressedTile::new(Box::new([1; TILE]), vec![[1.0, 0.5]; TILE]).expect("as many as marked");
        let told: Vec<_> = memory.pressed().into_iter().chain([([-7, 40], off)]).collect();
        let mut other = SoilMemory::new(&ground);
        other.recall(told.clone(), 1e-9);
        let mut sorted = told;
        sorted.sort_unstable_by_key(|(at, _)| *at);
        assert_eq!(other.pressed(), sorted);
        assert_eq!(other.node(Node { column: 70, row: 130 }).map(|node| node.plastic_m), Some(0.07));
        assert_eq!((other.beyond().count(), other.crumbs_m3()), (TILE, 1e-9));
    }

    #[test]
    fn a_tile_with_too_few_or_endless_numbers_is_none() {
        assert!(PressedTile::new(Box::new([1; TILE]), vec![[0.0; 2]; TILE - 1]).is_none());
        assert!(PressedTile::new(Box::new([1; TILE]), vec![[0.0, f32::NAN]; TILE]).is_none());
    }
}
