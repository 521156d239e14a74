//! The ground: the one surface that wheels, rays and truth share. It is a stack of
//! nested levels, finest first; where levels overlap the finer one counts. The
//! finest level's posts are also the nodes that wheels press: ruts are new heights
//! of its posts, told to others as edits of 64 × 64 tiles.
//!
//! Rocks stand on the ground as bodies of their own (`rock`). Those that are fixed are
//! part of the surface for rays and contacts; loose ones are listed apart, where they
//! lie at the start.

use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;

use crate::level::Level;
use crate::rock::{Rock, RockShape};
use crate::rock_grid::RockGrid;
use crate::tiles::NodeSet;

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
    loose_rocks: Arc<Vec<Rock>>,
    shapes: Arc<Vec<RockShape>>,
    rock_grid: Arc<RockGrid>,
    /// Every node that was ever edited.
    edited: NodeSet,
    /// Nodes edited since `take_edits`.
    fresh: NodeSet,
    edit_count: u64,
}

impl Ground {
    /// A ground of nested `levels`, finest first, with fixed rocks.
    ///
    /// # Panics
    /// When there is no level.
    #[must_use]
    pub fn new(levels: Vec<Level>, rocks: Vec<Rock>, shapes: Vec<RockShape>) -> Self {
        assert!(!levels.is_empty(), "a ground has at least one level");
        let posts = levels[0].posts;
        Self {
            rock_grid: Arc::new(RockGrid::new(&levels[0], &rocks, &shapes)),
            levels: levels.into_iter().map(Arc::new).collect(),
            rocks: Arc::new(rocks),
            loose_rocks: Arc::new(Vec::new()),
            shapes: Arc::new(shapes),
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
        Self::new(vec![level], Vec::new(), Vec::new())
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

    /// The fixed rocks, in order of their id.
    #[must_use]
    pub fn rocks(&self) -> &[Rock] {
        &self.rocks
    }

    /// The rocks that nothing holds, as they lie at the start, in order of their id.
    #[must_use]
    pub fn loose_rocks(&self) -> &[Rock] {
        &self.loose_rocks
    }

    /// The fixed rocks on the finest level whose bounding circles meet the circle of
    /// `radius_m` about (x, y), each once, in an order that depends on the place alone.
    pub fn rocks_near(&self, x: f64, y: f64, radius_m: f64) -> impl Iterator<Item = &Rock> {
        self.rock_grid.near(x, y, radius_m).map(|index| &self.rocks[index])
    }

    /// Loosens the rocks on the finest level that `is_loose` picks: they are bodies of
    /// their own from now on.
    pub fn loosen(&mut self, is_loose: impl Fn(&Rock) -> bool) {
        let on_finest = |rock: &Rock| {
            let at = rock.world_from_rock.translation;
            self.finest().contains(at.x, at.y)
        };
        let (loose, fixed): (Vec<_>, Vec<_>) =
            self.rocks.iter().cloned().partition(|rock| on_finest(rock) && is_loose(rock));
        self.rock_grid = Arc::new(RockGrid::new(self.finest(), &fixed, &self.shapes));
        self.rocks = Arc::new(fixed);
        Arc::make_mut(&mut self.loose_rocks).extend(loose);
        Arc::make_mut(&mut self.loose_rocks).sort_by_key(|rock| rock.id);
    }

    /// Lays a loose rock on the soil at (x, y), its lowest corner touching; its id, or
    /// none off the finest level or for a shape that is not there.
    pub fn lay_rock(&mut self, [x, y]: [f64; 2], shape: usize, radius_m: f64, yaw_rad: f64) -> Option<u32> {
        let corners = &self.shapes.get(shape)?.vertices;
        let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
        let lift = |corner: &[f32; 3]| {
            let arm = rotation * Vector3::from(*corner).cast::<f64>() * radius_m;
            Some(self.finest().height_m(x + arm.x, y + arm.y)? - arm.z)
        };
        let z = corners.iter().filter_map(lift).fold(f64::NEG_INFINITY, f64::max);
        let id = self.rocks.iter().chain(self.loose_rocks.iter()).map(|rock| rock.id + 1).max().unwrap_or(0);
        let world_from_rock = Pose::from_parts(Vector3::new(x, y, z).into(), rotation);
        z.is_finite().then(|| {
            Arc::make_mut(&mut self.loose_rocks).push(Rock { id, shape, world_from_rock, radius_m });
            id
        })
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
}
