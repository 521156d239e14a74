//! The memory of the soil under some wheels, lent by the state for a while: the tiles of one
//! `GroundPatch` in a dense table, where lookup by index costs the same however long a rover has
//! driven.

use std::sync::Arc;

use selene_terrain::{GroundPatch, Node, NodeRect, NodeSet, TILE_NODES, TileIndex, TileRect};

use super::{KnownNode, NodeMemory, OpenTile, SoilMemory, WrittenMemory};

/// The soil's memory over one patch of ground.
#[derive(Debug, Default)]
pub struct MemoryPatch {
    rect: TileRect,
    /// Tiles by their index in the rectangle; none where no soil was touched.
    tiles: Vec<Option<BorrowedTile>>,
    waiting: UnsettledNodes,
    /// Posts of granular windows, to or from which bulldozing moves no soil.
    windows: Vec<NodeRect>,
}

/// Queue of nodes with unsettled soil, in generations, each in the order of the nodes. Nodes that have
/// settled meanwhile are skipped, so that a queue rebuilt from the nodes gives the same result.
#[derive(Debug, Default)]
struct UnsettledNodes {
    /// The current generation, its last node first.
    turn: Vec<Node>,
    /// Nodes that became unsettled since: the next generation.
    later: Vec<Node>,
    /// Nodes that a solid keeps from sliding: in no generation until `requeue_held`.
    held: Vec<Node>,
}

/// A lent tile. Its first write makes it this patch's own, so that wheels, which write some nodes
/// thousands of times in a heartbeat, check only once whether the tile is shared.
#[derive(Debug)]
enum BorrowedTile {
    /// Only read so far.
    Shared(Arc<OpenTile>),
    /// Written: owned by this patch alone.
    Own(OwnTile),
}

#[derive(Debug)]
struct OwnTile {
    tile: OpenTile,
    /// Nodes whose memory may have changed since the last `take_written`.
    fresh: Box<NodeSet>,
}

impl MemoryPatch {
    /// An empty memory over a patch of ground.
    #[must_use]
    pub fn new(ground: &GroundPatch) -> Self {
        let rect = *ground.rect();
        let tiles = std::iter::repeat_with(|| None).take(rect.area()).collect();
        Self { rect, tiles, waiting: UnsettledNodes::default(), windows: Vec::new() }
    }

    /// The part of a memory that lies on a patch of ground, until `give_back`.
    #[must_use]
    pub fn lent_by(memory: &mut SoilMemory, ground: &GroundPatch) -> Self {
        let mut patch = Self::new(ground);
        patch.borrow_from(memory, ground);
        patch
    }

    /// Borrows what lies on a patch of ground, until `give_back`.
    pub fn borrow_from(&mut self, memory: &mut SoilMemory, ground: &GroundPatch) {
        if self.rect != *ground.rect() {
            *self = Self::new(ground);
        }
        for tile in self.rect.tiles_in(&memory.tiles) {
            let Some(at) = self.rect.index(tile).filter(|_| ground.has(tile)) else { continue };
            self.tiles[at] = memory.lend(tile).map(BorrowedTile::Shared);
        }
        self.waiting.turn.clear();
        self.waiting.later.clear();
        self.waiting.held.clear();
        for (tile, kept) in self.rect.tiles().zip(&self.tiles) {
            let unsettled = kept.iter().flat_map(|kept| kept.open().unsettled());
            self.waiting.later.extend(unsettled.map(|within| tile.node(within)));
        }
    }

    /// Sets where granular windows are, which keep a ledger of their posts' soil.
    pub fn set_windows(&mut self, windows: impl Iterator<Item = NodeRect>) {
        self.windows.clear();
        self.windows.extend(windows);
    }

    /// Gives back all that was borrowed, with what has been pressed since.
    pub fn give_back(&mut self, memory: &mut SoilMemory) {
        let tiles = self.rect.tiles().zip(&mut self.tiles);
        tiles.filter_map(|(at, tile)| Some((at, tile.take()?))).for_each(|(at, tile)| {
            memory.give_back(at, tile.shared());
        });
    }

    /// Returns what was written since the last call.
    pub fn take_written(&mut self) -> WrittenMemory {
        let mut written = WrittenMemory::default();
        for (tile, kept) in self.rect.tiles().zip(&mut self.tiles) {
            let Some(BorrowedTile::Own(OwnTile { tile: OpenTile { nodes, crumbs_m3, .. }, fresh })) = kept else {
                continue;
            };
            if fresh.count() == 0 {
                continue;
            }
            written.crumbs_m3.push((tile, *crumbs_m3));
            let known = |within: usize| KnownNode { tile, within: within as u16, memory: nodes[within] };
            written.nodes.extend(fresh.nodes().map(known).filter(|node| node.memory.is_touched()));
            fresh.clear();
        }
        written
    }

    /// The memory of a node; none if no wheel has touched it.
    #[must_use]
    pub fn node(&self, node: Node) -> Option<NodeMemory> {
        let tile = self.tiles[self.rect.index(node.tile())?].as_ref()?.open();
        Some(tile.nodes[node.within()]).filter(NodeMemory::is_touched)
    }

    /// Memories of a node and of the nodes after it in its tile; none if no wheel has touched the tile.
    #[inline]
    pub(crate) fn nodes_from(&self, node: Node) -> Option<&[NodeMemory]> {
        let tile = self.tiles[self.rect.index(node.tile())?].as_ref()?.open();
        Some(&tile.nodes[node.within()..])
    }

    /// The node's memory, made at height `surface_m` on first touch; none off the patch.
    pub(crate) fn touch(&mut self, node: Node, surface_m: f32) -> Option<&mut NodeMemory> {
        let memory = self.own(node.tile())?.write(node.within());
        if !memory.is_touched() {
            memory.initial_m = surface_m;
        }
        Some(memory)
    }

    /// Resets the mobilised shear strength of a node.
    pub(crate) fn forget_shear(&mut self, node: Node) {
        if self.is_mobilised(node)
            && let Some(own) = self.own(node.tile())
        {
            own.write(node.within()).set_mobilised([0.0; 2]);
        }
    }

    /// Clears the memory of a node whose soil something other than these laws has moved.
    pub(crate) fn forget(&mut self, node: Node) {
        if self.node(node).is_some()
            && let Some(own) = self.own(node.tile())
        {
            *own.write(node.within()) = NodeMemory::UNTOUCHED;
        }
    }

    /// Moves soil, `by_m` high, onto a node that nothing presses, or away from it, and marks it as
    /// unsettled. The rest from rounding to a stored height goes to the next node of the tile.
    pub(crate) fn raise(&mut self, node: Node, by_m: f64, ground: &mut GroundPatch) {
        let cell_m2 = ground.spacing_m().powi(2);
        let before_m = ground.node_height_m(node);
        if !(before_m + by_m).is_finite() {
            return;
        }
        let Some(own) = self.own(node.tile()) else { return };
        let height_m = (before_m + by_m + own.tile.crumbs_m3 / cell_m2) as f32;
        let touched = own.write(node.within());
        if !touched.is_touched() {
            touched.initial_m = before_m as f32;
        }
        let waits = touched.is_unsettled();
        touched.unsettle();
        let height_m = f64::from(touched.move_soil_to(height_m));
        own.tile.crumbs_m3 += (before_m + by_m - height_m) * cell_m2;
        own.tile.unsettled.mark(node.within());
        if !waits {
            self.waiting.later.push(node);
        }
        if height_m != before_m {
            ground.set_node_height(node, height_m);
        }
    }

    /// Keeps volume that finds no post, for the next node of the tile that gets soil.
    pub(crate) fn keep_crumbs(&mut self, node: Node, volume_m3: f64) {
        if let Some(own) = self.own(node.tile()).filter(|_| volume_m3.is_finite()) {
            own.tile.crumbs_m3 += volume_m3;
        }
    }

    /// The next node of unsettled soil. It leaves the queue, and stays unsettled until `settle`.
    pub(crate) fn next_unsettled(&mut self) -> Option<Node> {
        loop {
            let node = self.waiting.pop()?;
            if self.node(node).is_some_and(|memory| memory.is_unsettled()) {
                return Some(node);
            }
        }
    }

    /// Marks a node's soil as at rest.
    pub(crate) fn settle(&mut self, node: Node) {
        if let Some(own) = self.own(node.tile()) {
            own.write(node.within()).settle();
        }
    }

    /// Puts a node with unsettled soil into the next generation.
    pub(crate) fn look_again(&mut self, node: Node) {
        self.waiting.later.push(node);
    }

    /// Sets aside a node whose soil a solid keeps from sliding, until `requeue_held`.
    pub(crate) fn hold(&mut self, node: Node) {
        self.waiting.held.push(node);
    }

    /// Puts the held nodes into the next generation, since the solids may have left.
    pub(crate) fn requeue_held(&mut self) {
        let UnsettledNodes { later, held, .. } = &mut self.waiting;
        later.append(held);
    }

    /// Whether a node belongs to a granular window.
    pub(crate) fn is_in_window(&self, node: Node) -> bool {
        self.windows.iter().any(|window| window.has(node))
    }

    /// Whether a solid presses a node, or did and left without a gap.
    pub(crate) fn is_mobilised(&self, node: Node) -> bool {
        self.node(node).is_some_and(|memory| memory.is_mobilised())
    }

    /// Writes initial heights and plastic sinkage of touched nodes over a row that
    /// starts at `first`.
    pub(crate) fn overlay(&self, first: Node, surface_m: &mut [f32], plastic_m: &mut [f32]) {
        let mut done = 0;
        while done < surface_m.len() {
            let node = Node { column: first.column + done as i32, ..first };
            let within = node.within();
            let count = (TILE_NODES - within % TILE_NODES).min(surface_m.len() - done);
            if let Some(tile) = self.rect.index(node.tile()).and_then(|at| self.tiles[at].as_ref()) {
                for (i, memory) in tile.open().nodes[within..within + count].iter().enumerate() {
                    if memory.is_touched() {
                        surface_m[done + i] = memory.initial_m;
                        plastic_m[done + i] = memory.plastic_m;
                    }
                }
            }
            done += count;
        }
    }

    /// A tile for writing, copied first if it is shared; none off the patch.
    fn own(&mut self, tile: TileIndex) -> Option<&mut OwnTile> {
        let at = self.rect.index(tile)?;
        let kept = &mut self.tiles[at];
        if !matches!(kept, Some(BorrowedTile::Own(_))) {
            let tile = kept.take().map(|tile| Arc::unwrap_or_clone(tile.shared())).unwrap_or_default();
            *kept = Some(BorrowedTile::Own(OwnTile { tile, fresh: Box::default() }));
        }
        match kept {
            Some(BorrowedTile::Own(own)) => Some(own),
            Some(BorrowedTile::Shared(_)) | None => None,
        }
    }
}

impl BorrowedTile {
    fn open(&self) -> &OpenTile {
        match self {
            Self::Shared(tile) => tile,
            Self::Own(OwnTile { tile, .. }) => tile,
        }
    }

    fn shared(self) -> Arc<OpenTile> {
        match self {
            Self::Shared(tile) => tile,
            Self::Own(OwnTile { mut tile, .. }) => {
                tile.forget_settled();
                Arc::new(tile)
            }
        }
    }
}

impl UnsettledNodes {
    fn pop(&mut self) -> Option<Node> {
        if self.turn.is_empty() {
            std::mem::swap(&mut self.turn, &mut self.later);
            self.turn.sort_unstable_by(|a, b| b.cmp(a));
            self.turn.dedup();
        }
        self.turn.pop()
    }
}

impl OwnTile {
    /// A node's memory, which is reported to others.
    fn write(&mut self, within: usize) -> &mut NodeMemory {
        self.fresh.mark(within);
        &mut self.tile.nodes[within]
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryPatch, WrittenMemory};
    use selene_terrain::{GroundPatch, Node};

    #[test]
    fn a_row_across_tiles_is_overlaid_where_it_was_touched() {
        let ground = GroundPatch::flat(0.02, 20.0);
        let mut memory = MemoryPatch::new(&ground);
        for (column, height_m) in [(62, 1.0), (64, 2.0)] {
            memory.touch(Node { column, row: 65 }, height_m).expect("on the patch");
        }
        let (mut surface, mut plastic) = ([0.0_f32; 200], [0.0_f32; 200]);
        memory.overlay(Node { column: 60, row: 65 }, &mut surface, &mut plastic);
        assert_eq!(surface[..6], [0.0, 0.0, 1.0, 0.0, 2.0, 0.0]);
    }

    #[test]
    fn what_was_written_is_reported_once() {
        let mut memory = MemoryPatch::new(&GroundPatch::flat(0.02, 20.0));
        for column in [70, 3] {
            memory.touch(Node { column, row: 2 }, 1.5).expect("on the patch");
        }
        let reported: Vec<_> =
            memory.take_written().nodes.iter().map(|node| node.tile.node(usize::from(node.within))).collect();
        assert_eq!(reported, [Node { column: 3, row: 2 }, Node { column: 70, row: 2 }]);
        assert_eq!(memory.take_written(), WrittenMemory::default());
    }

    #[test]
    fn off_the_patch_nothing_is_remembered() {
        let mut memory = MemoryPatch::new(&GroundPatch::flat(0.02, 1.0));
        let off = Node { column: -1, row: 0 };
        assert!(memory.touch(off, 0.0).is_none() && memory.node(off).is_none());
    }
}
