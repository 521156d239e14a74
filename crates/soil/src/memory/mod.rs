//! The permanent memory of pressed soil: for each touched node of the finest level its height before,
//! its plastic sinkage and the strength mobilised in shear. It is a value, as the ruts are
//! (`selene_terrain::Ruts`): a copy shares all tiles of 64 × 64 nodes, and a tile is copied when it is
//! written. Nodes whose soil moved and may still slide are marked, so that the slide continues after a
//! checkpoint, in another process, or when a rover comes back.
//!
//! A tile near a wheel is open, with 16 bytes for each node. Others are packed: a bit for each node, eight
//! bytes more for each touched node and ten more for one with mobilised strength. Packing changes only
//! time and memory, not results.

mod node;
mod patch;
mod stored;

use std::collections::BTreeMap;
use std::sync::Arc;

use selene_terrain::{NodeSet, TILE_NODES, TileIndex};
use serde::{Deserialize, Serialize};

pub use node::NodeMemory;
pub use patch::MemoryPatch;

/// Number of nodes of a tile.
const TILE_AREA: usize = TILE_NODES * TILE_NODES;

/// The soil's memory of the whole site.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SoilMemory {
    tiles: BTreeMap<TileIndex, MemoryTile>,
}

#[derive(Clone, Debug)]
enum MemoryTile {
    Open(Arc<OpenTile>),
    Packed(Arc<PackedTile>),
}

/// All nodes of a tile.
#[derive(Clone, Debug)]
struct OpenTile {
    nodes: Box<[NodeMemory; TILE_AREA]>,
    /// Moved volume too small to change a stored height, m³.
    crumbs_m3: f64,
    /// Superset of the unsettled nodes, which saves a scan of all nodes.
    unsettled: Box<NodeSet>,
}

/// The touched nodes of a tile.
#[derive(Clone, Debug, Default, PartialEq)]
struct PackedTile {
    marks: Box<NodeSet>,
    /// Initial height and plastic sinkage of each touched node, in order, m.
    known: Vec<[f32; 2]>,
    /// Mobilised strength of the nodes that have some.
    mobilised: Vec<(u16, [i32; 2])>,
    crumbs_m3: f64,
}

/// The memory of one node with its place, for transfer to other processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownNode {
    /// Tile of the node.
    pub tile: TileIndex,
    /// Node within the tile: row · 64 + column.
    pub within: u16,
    /// Memory of the node.
    pub memory: NodeMemory,
}

/// Changes of the memory of some tiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WrittenMemory {
    /// The changed nodes with their present memory, in order of tile and node.
    pub nodes: Vec<KnownNode>,
    /// Moved volume too small to change a stored height, by tile, m³.
    pub crumbs_m3: Vec<(TileIndex, f64)>,
}

impl SoilMemory {
    /// Every touched node, in order of tile and node.
    pub fn nodes(&self) -> impl Iterator<Item = KnownNode> + '_ {
        self.tiles.iter().flat_map(|(&tile, kept)| {
            let nodes = kept.packed().nodes();
            nodes.into_iter().map(move |(within, memory)| KnownNode { tile, within, memory })
        })
    }

    /// Moved volume too small to change a stored height, by tile, m³.
    pub fn crumbs_m3(&self) -> impl Iterator<Item = (TileIndex, f64)> + '_ {
        self.tiles.iter().map(|(&tile, kept)| match kept {
            MemoryTile::Open(open) => (tile, open.crumbs_m3),
            MemoryTile::Packed(packed) => (tile, packed.crumbs_m3),
        })
    }

    /// Overwrites nodes, which are in order of tile, with memory from another process; leaves their tiles open.
    pub fn apply(&mut self, nodes: &[KnownNode]) {
        for some in nodes.chunk_by(|a, b| a.tile == b.tile) {
            let sound = |node: &&KnownNode| usize::from(node.within) < TILE_AREA && node.memory.is_sound();
            let mut open = self.lend(some[0].tile).unwrap_or_default();
            let tile = Arc::make_mut(&mut open);
            some.iter().filter(sound).for_each(|node| tile.set(usize::from(node.within), node.memory));
            self.give_back(some[0].tile, open);
        }
    }

    /// Overwrites the crumbs of tiles with values received from another process, m³; leaves the tiles open.
    pub fn apply_crumbs(&mut self, crumbs_m3: &[(TileIndex, f64)]) {
        for (tile, m3) in crumbs_m3.iter().filter(|(_, m3)| m3.is_finite()) {
            let mut open = self.lend(*tile).unwrap_or_default();
            Arc::make_mut(&mut open).crumbs_m3 = *m3;
            self.give_back(*tile, open);
        }
    }

    /// Memory that the tiles take, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = |tile: &MemoryTile| match tile {
            MemoryTile::Open(open) => size_of_val(&*open.nodes),
            MemoryTile::Packed(packed) => {
                size_of::<NodeSet>() + size_of_val(&packed.known[..]) + size_of_val(&packed.mobilised[..])
            }
        };
        self.tiles.values().map(bytes).sum()
    }

    /// Number of touched tiles.
    #[must_use]
    pub fn tile_count(&self) -> usize {
        self.tiles.len()
    }

    /// Packs a tile that is not needed soon.
    pub fn pack(&mut self, tile: TileIndex) {
        if let Some(kept) = self.tiles.get_mut(&tile)
            && let MemoryTile::Open(open) = kept
        {
            *kept = MemoryTile::Packed(Arc::new(open.packed()));
        }
    }

    /// Removes a tile and returns it open; none if it was never touched.
    fn lend(&mut self, tile: TileIndex) -> Option<Arc<OpenTile>> {
        Some(match self.tiles.remove(&tile)? {
            MemoryTile::Open(open) => open,
            MemoryTile::Packed(packed) => Arc::new(packed.opened()),
        })
    }

    fn give_back(&mut self, tile: TileIndex, open: Arc<OpenTile>) {
        self.tiles.insert(tile, MemoryTile::Open(open));
    }
}

/// Equal when both have the same nodes with the same memory, bit for bit, whether packed or open.
impl PartialEq for SoilMemory {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |KnownNode { tile, within, memory }: KnownNode| (tile, within, memory.bits());
        self.nodes().map(numbers).eq(other.nodes().map(numbers))
            && self
                .crumbs_m3()
                .map(|(at, m3)| (at, m3.to_bits()))
                .eq(other.crumbs_m3().map(|(at, m3)| (at, m3.to_bits())))
    }
}

impl MemoryTile {
    fn packed(&self) -> std::borrow::Cow<'_, PackedTile> {
        match self {
            Self::Open(open) => std::borrow::Cow::Owned(open.packed()),
            Self::Packed(packed) => std::borrow::Cow::Borrowed(packed),
        }
    }
}

impl Default for OpenTile {
    fn default() -> Self {
        let nodes = Box::new([NodeMemory::UNTOUCHED; TILE_AREA]);
        Self { nodes, crumbs_m3: 0.0, unsettled: Box::default() }
    }
}

impl OpenTile {
    fn set(&mut self, within: usize, memory: NodeMemory) {
        self.nodes[within] = memory;
        if memory.is_unsettled() {
            self.unsettled.mark(within);
        }
    }

    /// Removes the marks of nodes whose soil has settled.
    fn forget_settled(&mut self) {
        if self.unsettled.count() > 0 {
            let mut still = Box::<NodeSet>::default();
            self.unsettled().for_each(|within| still.mark(within));
            self.unsettled = still;
        }
    }

    /// Nodes whose soil is unsettled, in order.
    fn unsettled(&self) -> impl Iterator<Item = usize> + '_ {
        self.unsettled.nodes().filter(move |&within| self.nodes[within].is_unsettled())
    }

    fn packed(&self) -> PackedTile {
        // Without `..`, here and in `nodes`, so that a new field is not lost; `unsettled` follows from the nodes.
        let Self { nodes, crumbs_m3, unsettled: _ } = self;
        let count = |is: fn(&NodeMemory) -> bool| nodes.iter().filter(|node| is(node)).count();
        // Exact capacities, since thousands of packed tiles are kept.
        let mut packed = PackedTile {
            marks: Box::default(),
            known: Vec::with_capacity(count(NodeMemory::is_touched)),
            mobilised: Vec::with_capacity(count(NodeMemory::has_units)),
            crumbs_m3: *crumbs_m3,
        };
        for (within, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_touched()) {
            packed.marks.mark(within);
            packed.known.push([node.initial_m, node.plastic_m]);
            if node.has_units() {
                packed.mobilised.push((within as u16, node.mobilised_units()));
            }
        }
        packed
    }
}

impl PackedTile {
    /// The touched nodes in order.
    fn nodes(&self) -> Vec<(u16, NodeMemory)> {
        let Self { marks, known, mobilised, crumbs_m3: _ } = self;
        let mut mobilised = mobilised.iter().peekable();
        let memory = |(within, &[initial_m, plastic_m]): (usize, &[f32; 2])| {
            let within = within as u16;
            let units = mobilised.next_if(|(node, _)| *node == within).map_or([0; 2], |(_, units)| *units);
            (within, NodeMemory::new(initial_m, plastic_m, units))
        };
        marks.nodes().zip(known).map(memory).collect()
    }

    fn opened(&self) -> OpenTile {
        let mut open = OpenTile { crumbs_m3: self.crumbs_m3, ..OpenTile::default() };
        self.nodes().into_iter().for_each(|(within, memory)| open.set(usize::from(within), memory));
        open
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryPatch, NodeMemory, SoilMemory};
    use selene_terrain::{GroundPatch, Node, TileIndex};

    fn pressed() -> (GroundPatch, SoilMemory) {
        let ground = GroundPatch::flat(0.02, 20.0);
        let mut memory = SoilMemory::default();
        let mut patch = MemoryPatch::lent_by(&mut memory, &ground);
        for column in [3, 70, 900] {
            let node = patch.touch(Node { column, row: 130 }, 0.25).expect("on the patch");
            node.plastic_m = 1e-3 * column as f32;
            node.set_mobilised([0.5, -0.25]);
        }
        patch.give_back(&mut memory);
        (ground, memory)
    }

    #[test]
    fn a_node_remembers_in_sixteen_bytes_and_only_touched_tiles_are_kept() {
        assert_eq!(size_of::<NodeMemory>(), 16);
        let (_, memory) = pressed();
        assert_eq!(memory.tile_count(), 3);
        assert!((memory.bytes() as f64 / (3.0 * 64.0 * 64.0 * 16.0) - 1.0).abs() < 1e-3, "{}", memory.bytes());
    }

    #[test]
    fn a_packed_tile_is_the_same_in_half_the_bytes() {
        let (ground, open) = pressed();
        let mut packed = open.clone();
        packed.nodes().map(|node| node.tile).collect::<Vec<_>>().into_iter().for_each(|tile| packed.pack(tile));
        assert!(packed == open && packed.bytes() < 2000, "{}", packed.bytes());
        let patch = MemoryPatch::lent_by(&mut packed, &ground);
        let node = patch.node(Node { column: 70, row: 130 }).expect("touched");
        assert_eq!((node.initial_m, node.plastic_m, node.mobilised()), (0.25, 0.07, [0.5, -0.25]));
        assert!(patch.node(Node { column: 71, row: 130 }).is_none());
    }

    #[test]
    fn what_is_written_to_a_copy_is_not_in_the_original() {
        let (ground, memory) = pressed();
        let mut copy = memory.clone();
        assert!(copy == memory);
        let mut patch = MemoryPatch::lent_by(&mut copy, &ground);
        patch.touch(Node { column: 3, row: 130 }, 0.0).expect("on the patch").plastic_m = 9.0;
        patch.give_back(&mut copy);
        assert!(copy != memory && memory.nodes().next().expect("touched").memory.plastic_m == 3e-3);
    }

    #[test]
    fn soil_that_moved_stays_unsettled_open_packed_and_reported_until_it_settles() {
        let (mut ground, mut memory) = pressed();
        let mut patch = MemoryPatch::lent_by(&mut memory, &ground);
        let heap = [Node { column: 5, row: 130 }, Node { column: 80, row: 140 }];
        heap.iter().for_each(|&node| patch.raise(node, 0.01, &mut ground));
        patch.give_back(&mut memory);
        let unsettled = |memory: &SoilMemory| {
            let mut patch = MemoryPatch::lent_by(&mut memory.clone(), &ground);
            std::iter::from_fn(|| patch.next_unsettled()).collect::<Vec<_>>()
        };
        let mut packed = memory.clone();
        memory.nodes().map(|node| node.tile).for_each(|tile| packed.pack(tile));
        let mut reported = SoilMemory::default();
        reported.apply(&memory.nodes().collect::<Vec<_>>());
        for kept in [&memory, &packed, &reported] {
            assert_eq!(unsettled(kept), heap);
        }
        let mut patch = MemoryPatch::lent_by(&mut memory, &ground);
        assert_eq!(patch.next_unsettled(), Some(heap[0]));
        patch.settle(heap[0]);
        assert_eq!(patch.next_unsettled(), Some(heap[1]));
        patch.hold(heap[1]);
        assert_eq!(patch.next_unsettled(), None, "what is held is not looked at");
        patch.give_back(&mut memory);
        assert_eq!(unsettled(&memory), heap[1..], "what is held stays unsettled");
    }

    #[test]
    fn every_node_is_announced_to_others() {
        let (_, memory) = pressed();
        let nodes: Vec<_> = memory.nodes().collect();
        assert_eq!(nodes.iter().map(|node| node.tile.column).collect::<Vec<_>>(), [0, 1, 14]);
        assert!(nodes.iter().all(|node| node.tile.row == 2));
        let mut other = SoilMemory::default();
        other.apply(&nodes);
        assert!(other == memory);
        let mut wrong = nodes[0];
        (wrong.within, wrong.tile) = (4096, TileIndex::default());
        other.apply(&[wrong]);
        assert_eq!(other.nodes().count(), nodes.len());
    }
}
