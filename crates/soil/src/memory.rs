//! What the soil remembers of having been pressed: per node of the finest level the
//! height it had before, its plastic sinkage and the strength mobilised in shear:
//! 16 bytes. Tiles of 64 × 64 nodes are made when a wheel first touches them and
//! found by index in a dense table, so that a step costs the same after an hour.
//!
//! Where the ground's window has gone on, a node is kept in 8 bytes: nothing shears it
//! there, so that its mobilised strength is forgotten.

use std::collections::BTreeMap;

use selene_terrain::{Ground, Node, TILE_NODES};

mod pressed;

pub use pressed::PressedTile;

/// What a touched node remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeMemory {
    /// Height before it was pressed, m.
    pub initial_m: f32,
    /// Vertical plastic sinkage below that height, m: the rut's depth; negative where
    /// loose soil lies on it.
    pub plastic_m: f32,
    /// Share of the shear strength mobilised, x and y in the map frame, in units of
    /// 2⁻³¹: a parked wheel creeps at the speed that rounding hides, 64 times less
    /// than with `f32`.
    mobilised: [i32; 2],
}

/// One, in the units of `NodeMemory::mobilised`.
const MOBILISED_ONE: f64 = 2_147_483_648.0;

/// A node that no wheel has touched; told by its height.
const UNTOUCHED: NodeMemory = NodeMemory { initial_m: f32::NAN, plastic_m: 0.0, mobilised: [0; 2] };
const TILE: usize = TILE_NODES;

type Tile = Box<[NodeMemory]>;

/// The soil's memory over one ground.
#[derive(Clone, Debug)]
pub struct SoilMemory {
    tiles: Vec<Option<Tile>>,
    tiles_a_row: usize,
    /// Tiles from the first window's corner to this one's, column and row.
    from_home: [i64; 2],
    /// Tiles beyond the window, by row and column from the first window's corner.
    far: BTreeMap<[i64; 2], PressedTile>,
    /// Displaced soil too little to change a stored height, m³.
    crumbs_m3: f64,
}

impl SoilMemory {
    /// The memory of ground that nothing has pressed.
    #[must_use]
    pub fn new(ground: &Ground) -> Self {
        let tiles_a_row = ground.finest().posts.div_ceil(TILE);
        let count = tiles_a_row * tiles_a_row;
        let from_home = ground.tiles_from_home();
        Self { tiles: vec![None; count], tiles_a_row, from_home, far: BTreeMap::new(), crumbs_m3: 0.0 }
    }

    /// Follows the ground's window to where it is now.
    pub fn follow(&mut self, ground: &Ground) {
        let across = self.tiles_a_row;
        let old = std::mem::replace(&mut self.from_home, ground.tiles_from_home());
        let tiles = std::mem::replace(&mut self.tiles, vec![None; across * across]);
        for (i, tile) in tiles.into_iter().enumerate().filter_map(|(i, tile)| Some((i, tile?))) {
            let at = [old[1] + (i / across) as i64, old[0] + (i % across) as i64];
            match self.index(at) {
                Some(index) => self.tiles[index] = Some(tile),
                None => drop(self.far.insert(at, PressedTile::pack(&tile))),
            }
        }
        self.take_back();
    }

    /// Unpacks the tiles that lie on the window: looks there alone, however many lie elsewhere.
    fn take_back(&mut self) {
        let across = self.tiles_a_row as i64;
        let [column, row] = self.from_home;
        let on_row = |row: i64| self.far.range([row, column]..[row, column + across]);
        let keys = (row..row + across).flat_map(|row| on_row(row).map(|(&at, _)| at));
        let back: Vec<_> = keys.filter_map(|at| Some((at, self.index(at)?))).collect();
        for (at, index) in back {
            self.tiles[index] = self.far.remove(&at).map(|tile| tile.unpack());
        }
    }

    /// Place in the table of a tile given by row and column from the first window's corner.
    fn index(&self, at: [i64; 2]) -> Option<usize> {
        let along = |axis: usize| {
            usize::try_from(at[axis] - self.from_home[1 - axis]).ok().filter(|&tile| tile < self.tiles_a_row)
        };
        Some(along(0)? * self.tiles_a_row + along(1)?)
    }

    /// What a node remembers; none if no wheel has touched it.
    #[must_use]
    pub fn node(&self, node: Node) -> Option<NodeMemory> {
        let (tile, within) = self.place(node);
        self.tiles.get(tile)?.as_ref().map(|nodes| nodes[within]).filter(NodeMemory::is_touched)
    }

    /// Bytes held by touched tiles.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let near = self.tiles.iter().flatten().count() * TILE * TILE * size_of::<NodeMemory>();
        near + self.far.values().map(PressedTile::bytes).sum::<usize>()
    }

    /// What nodes beyond the window remember: height before and plastic sinkage, m, in a fixed order.
    pub fn beyond(&self) -> impl Iterator<Item = [f32; 2]> {
        self.far.values().flat_map(|tile| tile.known().iter().copied())
    }

    /// Every touched tile on the window with its nodes, in order: for state hashes.
    pub fn touched(&self) -> impl Iterator<Item = (usize, &[NodeMemory])> {
        self.tiles.iter().enumerate().filter_map(|(i, tile)| Some((i, tile.as_deref()?)))
    }

    /// The node's memory, made at height `surface_m` on first touch.
    pub(crate) fn touch(&mut self, node: Node, surface_m: f32) -> &mut NodeMemory {
        let (tile, within) = self.place(node);
        let nodes = self.tiles[tile].get_or_insert_with(|| vec![UNTOUCHED; TILE * TILE].into_boxed_slice());
        let memory = &mut nodes[within];
        if !memory.is_touched() {
            memory.initial_m = surface_m;
        }
        memory
    }

    /// Raises (or lowers) a node that nothing presses, as loose soil. What rounding to a
    /// stored height keeps back is carried to the next.
    pub(crate) fn raise(&mut self, node: Node, by_m: f64, ground: &mut Ground) {
        let cell_m2 = ground.finest().spacing_m.powi(2);
        let before_m = ground.node_height_m(node);
        let height_m = (before_m + by_m + self.crumbs_m3 / cell_m2) as f32;
        let touched = self.touch(node, before_m as f32);
        touched.plastic_m = touched.initial_m - height_m;
        let height_m = f64::from(touched.initial_m - touched.plastic_m);
        if height_m != before_m {
            ground.set_node_height(node, height_m);
        }
        self.crumbs_m3 += (before_m + by_m - height_m) * cell_m2;
    }

    /// The node's memory if it has been touched.
    pub(crate) fn get_mut(&mut self, node: Node) -> Option<&mut NodeMemory> {
        let (tile, within) = self.place(node);
        self.tiles[tile].as_mut().map(|nodes| &mut nodes[within]).filter(|memory| memory.is_touched())
    }

    /// Writes initial heights and plastic sinkage of touched nodes over a row that
    /// starts at `column`.
    pub(crate) fn overlay(&self, column: usize, row: usize, surface_m: &mut [f32], plastic_m: &mut [f32]) {
        for (tile, within, at, count) in segments(self.tiles_a_row, column, row, surface_m.len()) {
            let Some(nodes) = &self.tiles[tile] else { continue };
            for (i, memory) in nodes[within..within + count].iter().enumerate() {
                if memory.is_touched() {
                    surface_m[at + i] = memory.initial_m;
                    plastic_m[at + i] = memory.plastic_m;
                }
            }
        }
    }

    fn place(&self, node: Node) -> (usize, usize) {
        let (column, row) = (node.column as usize, node.row as usize);
        (row / TILE * self.tiles_a_row + column / TILE, row % TILE * TILE + column % TILE)
    }
}

impl NodeMemory {
    /// Share of the shear strength mobilised, x and y in the map frame.
    #[must_use]
    pub fn mobilised(&self) -> [f64; 2] {
        self.mobilised.map(|share| f64::from(share) / MOBILISED_ONE)
    }

    /// Sets the mobilised share of the strength; its magnitude never exceeds one.
    pub(crate) fn set_mobilised(&mut self, share: [f64; 2]) {
        // The cast saturates: one itself is the nearest value below.
        self.mobilised = share.map(|share| (share * MOBILISED_ONE).round() as i32);
    }

    fn is_touched(&self) -> bool {
        !self.initial_m.is_nan()
    }
}

/// Cuts a row of `len` nodes at tile borders: tile, node within it, place in the
/// row, count.
fn segments(
    tiles_a_row: usize,
    column: usize,
    row: usize,
    len: usize,
) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= len {
            return None;
        }
        let within = (column + at) % TILE;
        let count = (TILE - within).min(len - at);
        let segment = (row / TILE * tiles_a_row + (column + at) / TILE, row % TILE * TILE + within, at, count);
        at += count;
        Some(segment)
    })
}

#[cfg(test)]
mod tests {
    use super::{NodeMemory, PressedTile, SoilMemory};
    use selene_terrain::{Ground, Node};

    #[test]
    fn a_node_remembers_in_sixteen_bytes_and_only_touched_tiles_are_kept() {
        assert!(size_of::<NodeMemory>() <= 16);
        let mut memory = SoilMemory::new(&Ground::flat(0.02, 20.0));
        assert_eq!(memory.bytes(), 0);
        memory.touch(Node { column: 70, row: 3 }, 0.5).plastic_m = 0.1;
        assert_eq!(memory.bytes(), 64 * 64 * 16);
        assert_eq!(memory.node(Node { column: 70, row: 3 }).map(|n| (n.initial_m, n.plastic_m)), Some((0.5, 0.1)));
        assert!(memory.node(Node { column: 71, row: 3 }).is_none());
    }

    #[test]
    fn a_tile_beyond_the_window_is_kept_in_half_the_bytes() {
        let mut memory = SoilMemory::new(&Ground::flat(0.02, 20.0));
        for column in 0..64 {
            memory.touch(Node { column, row: 9 }, 0.5).plastic_m = 0.01 * column as f32;
        }
        let tile = memory.tiles[0].clone().expect("touched");
        let far = PressedTile::pack(&tile);
        let numbers = |tile: &[NodeMemory]| -> Vec<_> {
            tile.iter().map(|node| [node.initial_m, node.plastic_m].map(f32::to_bits)).collect()
        };
        assert!(numbers(&far.unpack()) == numbers(&tile));
        assert_eq!(far.bytes(), 64 * 8 + 512);
    }

    #[test]
    fn a_row_across_tiles_is_overlaid_where_it_was_touched() {
        let mut memory = SoilMemory::new(&Ground::flat(0.02, 20.0));
        memory.touch(Node { column: 62, row: 65 }, 1.0);
        memory.touch(Node { column: 64, row: 65 }, 2.0);
        let (mut surface, mut plastic) = ([0.0_f32; 200], [0.0_f32; 200]);
        memory.overlay(60, 65, &mut surface, &mut plastic);
        assert_eq!(surface[..6], [0.0, 0.0, 1.0, 0.0, 2.0, 0.0]);
    }
}
