//! The ground: the one surface that wheels, rays and truth share. It is a stack of
//! nested levels, finest first; where levels overlap the finer one counts. The
//! finest level's posts are also the nodes that wheels press: ruts are new heights
//! of its posts, told to others as edits of 64 × 64 tiles.
//!
//! Rocks stand on the ground as separate bodies (`rock`); wheels feel their tops
//! through `rock_top_m`.

use std::collections::BTreeMap;
use std::sync::Arc;

use nalgebra::Vector3;

use crate::level::Level;
use crate::rock::{Rock, RockShape};
use crate::tiles::{NodeHeights, NodeSet};

/// Nodes on a tile's side.
pub const TILE_NODES: usize = 64;

/// A new height of one node of the finest level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edit {
    /// Tile column and row.
    pub tile: [i16; 2],
    /// Node within the tile: row · 64 + column.
    pub node: u16,
    /// The node's height from now on, m.
    pub height_m: f32,
}

/// A node of the finest level: column and row of the post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Column (x).
    pub column: u32,
    /// Row (y).
    pub row: u32,
}

/// The surface, its rocks and what has been done to it.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Finest first. Shared until first edited.
    levels: Vec<Arc<Level>>,
    rocks: Arc<Vec<Rock>>,
    shapes: Arc<Vec<RockShape>>,
    /// Tops of rocks at nodes.
    rock_tops: Arc<NodeHeights>,
    /// Every node that was ever edited.
    edited: NodeSet,
    /// Nodes edited since `take_edits`.
    fresh: NodeSet,
    edit_count: u64,
}

impl Ground {
    /// A ground of nested `levels`, finest first, with rocks and the tops of those
    /// rocks at nodes of the finest level.
    #[must_use]
    pub fn new(levels: Vec<Level>, rocks: Vec<Rock>, shapes: Vec<RockShape>, rock_tops: BTreeMap<u32, f32>) -> Self {
        assert!(!levels.is_empty(), "a ground has at least one level");
        let posts = levels[0].posts;
        let mut tops = NodeHeights::new(posts);
        for (index, top_m) in rock_tops {
            tops.raise(index as usize % posts, index as usize / posts, top_m);
        }
        Self::assemble(levels, rocks, shapes, tops)
    }

    pub(crate) fn assemble(
        levels: Vec<Level>,
        rocks: Vec<Rock>,
        shapes: Vec<RockShape>,
        rock_tops: NodeHeights,
    ) -> Self {
        let posts = levels[0].posts;
        Self {
            levels: levels.into_iter().map(Arc::new).collect(),
            rocks: Arc::new(rocks),
            shapes: Arc::new(shapes),
            rock_tops: Arc::new(rock_tops),
            edited: NodeSet::new(posts),
            fresh: NodeSet::new(posts),
            edit_count: 0,
        }
    }

    /// Level ground at height zero around the origin, `side_m` long: for rigs.
    #[must_use]
    pub fn flat(spacing_m: f64, side_m: f64) -> Self {
        let posts = (side_m / spacing_m).round().max(1.0) as usize + 1;
        let origin = -0.5 * (posts - 1) as f64 * spacing_m;
        let level = Level { origin_m: [origin, origin], spacing_m, posts, heights_m: vec![0.0; posts * posts] };
        Self::new(vec![level], Vec::new(), Vec::new(), BTreeMap::new())
    }

    /// The levels, finest first.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = &Level> {
        self.levels.iter().map(Arc::as_ref)
    }

    /// The level whose posts wheels press.
    #[must_use]
    pub fn finest(&self) -> &Level {
        &self.levels[0]
    }

    /// The rocks, in order of their id.
    #[must_use]
    pub fn rocks(&self) -> &[Rock] {
        &self.rocks
    }

    /// The shapes that rocks are instances of.
    #[must_use]
    pub fn rock_shapes(&self) -> &[RockShape] {
        &self.shapes
    }

    /// Height of the soil at (x, y), m; none off the site.
    #[must_use]
    pub fn height_m(&self, x: f64, y: f64) -> Option<f64> {
        self.levels.iter().find_map(|level| level.height_m(x, y))
    }

    /// Unit normal of the soil at (x, y), pointing up; none off the site.
    #[must_use]
    pub fn normal(&self, x: f64, y: f64) -> Option<Vector3<f64>> {
        self.levels.iter().find_map(|level| level.normal(x, y))
    }

    /// Top of the rock that stands on a node, m, if one does.
    #[must_use]
    pub fn rock_top_m(&self, node: Node) -> Option<f64> {
        self.rock_tops.get(node.column as usize, node.row as usize).map(f64::from)
    }

    /// Whether any rock stands on the ground: wheels skip the look-up where none does.
    #[must_use]
    pub fn has_rocks(&self) -> bool {
        !self.rock_tops.is_empty()
    }

    /// Height of a node, m.
    #[must_use]
    pub fn node_height_m(&self, node: Node) -> f64 {
        self.finest().post_m(node.column as usize, node.row as usize)
    }

    /// Gives a node a new height and remembers the edit.
    pub fn set_node_height(&mut self, node: Node, height_m: f64) {
        self.put(node, height_m as f32);
        self.fresh.insert(node.column as usize, node.row as usize);
        self.edit_count += 1;
    }

    /// The nodes edited since the last call, each once with its latest height, in
    /// order of tile and node.
    pub fn take_edits(&mut self) -> Vec<Edit> {
        let edits = self.edits_of(&self.fresh);
        self.fresh.clear();
        edits
    }

    /// How many edits were ever made: the ground's version.
    #[must_use]
    pub fn edit_count(&self) -> u64 {
        self.edit_count
    }

    /// Every edited node with its latest height, in order of tile and node: what a
    /// late joiner needs.
    #[must_use]
    pub fn all_edits(&self) -> Vec<Edit> {
        self.edits_of(&self.edited)
    }

    fn edits_of(&self, nodes: &NodeSet) -> Vec<Edit> {
        let edit = |(column, row)| {
            let height_m = self.finest().heights_m[row * self.finest().posts + column];
            edit_of(Node { column: column as u32, row: row as u32 }, height_m)
        };
        nodes.iter().map(edit).collect()
    }

    /// Applies another ground's edits. Returns the nodes that changed; edits off
    /// this ground or of a height that is no number are left out.
    pub fn apply(&mut self, edits: &[Edit]) -> Vec<Node> {
        let nodes: Vec<_> = edits.iter().filter_map(|edit| self.apply_one(edit)).collect();
        self.edit_count += edits.len() as u64;
        nodes
    }

    fn apply_one(&mut self, edit: &Edit) -> Option<Node> {
        let node = self.node_at(edit).filter(|_| edit.height_m.is_finite())?;
        self.put(node, edit.height_m);
        Some(node)
    }

    fn put(&mut self, node: Node, height_m: f32) {
        let [column, row] = [node.column as usize, node.row as usize];
        let finest = Arc::make_mut(&mut self.levels[0]);
        finest.heights_m[row * finest.posts + column] = height_m;
        self.edited.insert(column, row);
    }

    fn node_at(&self, edit: &Edit) -> Option<Node> {
        let along = |tile: i16, within: usize| {
            let post = i64::from(tile) * TILE_NODES as i64 + within as i64;
            u32::try_from(post).ok().filter(|&post| (post as usize) < self.finest().posts)
        };
        let within = usize::from(edit.node);
        let column = along(edit.tile[0], within % TILE_NODES)?;
        let row = along(edit.tile[1], within / TILE_NODES)?;
        Some(Node { column, row })
    }
}

fn edit_of(node: Node, height_m: f32) -> Edit {
    let tile = TILE_NODES as u32;
    let within = (node.row % tile) * tile + node.column % tile;
    Edit { tile: [(node.column / tile) as i16, (node.row / tile) as i16], node: within as u16, height_m }
}

#[cfg(test)]
mod tests {
    use super::{Edit, Ground, Node};
    use std::collections::BTreeMap;

    #[test]
    fn a_follower_that_applies_the_edits_has_the_same_ground() {
        let mut ground = Ground::flat(0.02, 4.0);
        let mut follower = ground.clone();
        for (column, row, h) in [(0, 0, -0.01), (100, 70, -0.02), (200, 200, 0.03), (100, 70, -0.04)] {
            ground.set_node_height(Node { column, row }, h);
        }
        follower.apply(&ground.take_edits());
        assert_eq!(follower.finest(), ground.finest());
        let mut late = Ground::flat(0.02, 4.0);
        late.apply(&ground.all_edits());
        assert_eq!(late.finest(), ground.finest());
        assert_eq!(ground.all_edits().len(), 3);
        assert!(ground.take_edits().is_empty());
    }

    #[test]
    fn edits_off_the_ground_are_left_out() {
        let mut ground = Ground::flat(0.02, 1.0);
        let off = [
            Edit { tile: [-1, 0], node: 0, height_m: 1.0 },
            Edit { tile: [0, 9], node: 4095, height_m: 1.0 },
            Edit { tile: [0, 0], node: u16::MAX, height_m: 1.0 },
            Edit { tile: [0, 0], node: 0, height_m: f32::NAN },
        ];
        assert!(ground.apply(&off).is_empty());
    }

    #[test]
    fn edits_are_given_once_with_the_latest_height() {
        let mut ground = Ground::flat(0.02, 4.0);
        for height_m in [-0.01, -0.02, -0.03] {
            ground.set_node_height(Node { column: 130, row: 5 }, height_m);
        }
        assert_eq!(ground.take_edits(), [Edit { tile: [2, 0], node: 5 * 64 + 2, height_m: -0.03 }]);
        assert_eq!(ground.edit_count(), 3);
    }

    #[test]
    fn a_rock_top_is_found_at_its_node_only() {
        let level = Ground::flat(0.5, 5.0).finest().clone();
        let ground = Ground::new(vec![level], Vec::new(), Vec::new(), BTreeMap::from([(13, 0.25)]));
        assert!(ground.has_rocks());
        assert_eq!(ground.rock_top_m(Node { column: 2, row: 1 }), Some(0.25));
        assert_eq!(ground.rock_top_m(Node { column: 1, row: 2 }), None);
    }
}
