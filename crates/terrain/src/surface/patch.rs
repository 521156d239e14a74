//! The ground that some wheels stand on, borrowed from the state: heights of the finest level under and around them,
//! and the changes made meanwhile. Between posts the surface is bilinear, as for rays. Patches that share no tile can
//! be changed in parallel.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nalgebra::Vector3;

use crate::level::Level;
use crate::surface::neighbourhood::Neighbourhood;
use crate::surface::node_set::NodeSet;
use crate::surface::print::Print;
use crate::surface::rock::{Rock, RockShape};
use crate::surface::ruts::{OpenTile, Ruts};
use crate::surface::tile::{Edit, Node, TILE_AREA, TILE_NODES, TileIndex, TileRect};
use crate::terrain::Terrain;

/// A set of tiles of the ground, to read and to change.
#[derive(Debug)]
pub struct GroundPatch {
    around: Arc<Neighbourhood>,
    /// Tiles that were changed, by tile index in the rectangle.
    driven: Vec<Option<Arc<OpenTile>>>,
    /// Nodes changed since the last `take_edits`.
    fresh: BTreeMap<TileIndex, Box<NodeSet>>,
}

/// A rectangle of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRect {
    /// The node with the least column and row.
    pub first: Node,
    /// Number of nodes along x.
    pub columns: usize,
    /// Number of nodes along y.
    pub rows: usize,
}

impl NodeRect {
    /// The nodes of the rectangle, row by row.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        let Self { first, columns, rows } = *self;
        let node =
            move |row: usize, column: usize| Node { column: first.column + column as i32, row: first.row + row as i32 };
        (0..rows).flat_map(move |row| (0..columns).map(move |column| node(row, column)))
    }

    /// Whether the rectangle contains a node.
    #[must_use]
    pub fn has(&self, node: Node) -> bool {
        let within = |at: i32, first: i32, count: usize| {
            usize::try_from(i64::from(at) - i64::from(first)).is_ok_and(|from_first| from_first < count)
        };
        within(node.column, self.first.column, self.columns) && within(node.row, self.first.row, self.rows)
    }
}

impl GroundPatch {
    /// An undisturbed patch of these tiles.
    #[must_use]
    pub fn new(terrain: &Terrain, tiles: &BTreeSet<TileIndex>) -> Self {
        let around = Arc::new(terrain.neighbourhood(tiles));
        Self { driven: vec![None; around.rect.area()], around, fresh: BTreeMap::new() }
    }

    /// A patch of the square within `reach_m` of a position along each axis, with the changes in `ruts`.
    #[must_use]
    pub fn of_square(terrain: &Terrain, ruts: &Ruts, [x, y]: [f64; 2], reach_m: f64) -> Self {
        let node = |sign: f64| {
            let [column, row] = [x, y].map(|m| m + sign * reach_m);
            node_before(terrain, column, row)
        };
        let tiles = TileRect::of_nodes(node(-1.0), node(1.0)).tiles().collect();
        let mut patch = Self::new(terrain, &tiles);
        patch.borrow_from(&mut ruts.clone());
        patch
    }

    /// All of a ground that consists of one level.
    #[must_use]
    pub fn of_level(level: Level, rocks: Vec<Rock>, shapes: Vec<RockShape>) -> Self {
        let last = level.posts.saturating_sub(1) as i32;
        let tiles = TileRect::of_nodes(Node::default(), Node { column: last, row: last }).tiles().collect();
        Self::new(&Terrain::of_level(level, rocks, shapes), &tiles)
    }

    /// Flat ground at height zero around the origin, with sides of `side_m`: for test rigs.
    #[must_use]
    pub fn flat(spacing_m: f64, side_m: f64) -> Self {
        Self::of_level(Level::flat(spacing_m, side_m), Vec::new(), Vec::new())
    }

    /// Borrows the changes of its tiles from `ruts`, until `give_back`.
    pub fn borrow_from(&mut self, ruts: &mut Ruts) {
        let Self { around, driven, .. } = self;
        for tile in ruts.tiles_within(&around.rect) {
            let Some(at) = around.rect.index(tile).filter(|&at| around.has(at)) else { continue };
            driven[at] = ruts.lend(tile, |heights_m| around.copy(at, heights_m));
        }
    }

    /// Returns everything borrowed to `ruts`, with the changes made since.
    pub fn give_back(&mut self, ruts: &mut Ruts) {
        let tiles = self.around.rect.tiles().zip(&mut self.driven);
        tiles.filter_map(|(tile, kept)| Some((tile, kept.take()?))).for_each(|(tile, kept)| ruts.give_back(tile, kept));
    }

    /// The nodes changed since the last call, each once with its latest height, in order of tile and node.
    pub fn take_edits(&mut self) -> Vec<Edit> {
        let fresh = std::mem::take(&mut self.fresh);
        let mut edits = Vec::new();
        for (tile, marks) in &fresh {
            let edit = |within| {
                let node = tile.node(within);
                Edit::new(*tile, within, self.height_of(node)).with_print(self.print(node))
            };
            edits.extend(marks.nodes().map(edit));
        }
        edits
    }

    /// Applies the edits of others; edits outside the patch are ignored.
    pub fn apply(&mut self, edits: &[Edit]) {
        for edit in edits.iter().filter(|edit| edit.is_sound()) {
            if let Some(tile) = self.driven_tile(edit.tile_index()) {
                tile.set(usize::from(edit.node), edit.height_m, edit.print);
            }
        }
    }

    /// Smallest rectangle that contains all tiles of the patch.
    #[must_use]
    pub fn rect(&self) -> &TileRect {
        &self.around.rect
    }

    /// Whether the patch contains a tile.
    #[must_use]
    pub fn has(&self, tile: TileIndex) -> bool {
        self.around.rect.index(tile).is_some_and(|at| self.around.has(at))
    }

    /// Distance between nodes, m.
    #[must_use]
    pub fn spacing_m(&self) -> f64 {
        self.around.spacing_m
    }

    /// Map position of a node, m.
    #[inline]
    #[must_use]
    pub fn node_xy_m(&self, node: Node) -> [f64; 2] {
        let Neighbourhood { spacing_m, origin_m, .. } = *self.around;
        [origin_m[0] + f64::from(node.column) * spacing_m, origin_m[1] + f64::from(node.row) * spacing_m]
    }

    /// The last node whose x and y are at most these.
    #[inline]
    #[must_use]
    pub fn node_before(&self, x: f64, y: f64) -> Node {
        let Neighbourhood { spacing_m, origin_m, .. } = *self.around;
        Node::before([(x - origin_m[0]) / spacing_m, (y - origin_m[1]) / spacing_m])
    }

    /// The nodes within bounds, given as least and greatest x and y, m, that are at least `margin` nodes inside the end
    /// of the patch and of the ground. None when there are no such nodes.
    #[must_use]
    pub fn nodes_within(&self, [least, greatest]: [[f64; 2]; 2], margin: i32) -> Option<NodeRect> {
        let Neighbourhood { spacing_m, origin_m, rect, limits, .. } = &*self.around;
        let [low, high] = [rect.first.node(0), last_node(rect)];
        let limit = |axis: usize| {
            let at = |node: &Node| if axis == 0 { node.column } else { node.row };
            let [mut first, mut last] = [at(&low), at(&high)];
            if let Some([low, high]) = limits {
                (first, last) = (first.max(at(low)), last.min(at(high)));
            }
            (first, last) = (first + margin, last - margin);
            let cells = |m: f64| (m - origin_m[axis]) / spacing_m;
            let first = cells(least[axis]).ceil().max(f64::from(first));
            let last = cells(greatest[axis]).floor().min(f64::from(last));
            (first <= last).then_some((first as i32, (last - first) as usize + 1))
        };
        let ((column, columns), (row, rows)) = (limit(0)?, limit(1)?);
        Some(NodeRect { first: Node { column, row }, columns, rows })
    }

    /// All nodes of a bounded ground, else of the patch.
    #[must_use]
    pub fn nodes(&self) -> NodeRect {
        let [first, last] =
            self.around.limits.unwrap_or([self.around.rect.first.node(0), last_node(&self.around.rect)]);
        let count = |first: i32, last: i32| usize::try_from(last - first + 1).unwrap_or_default();
        NodeRect { first, columns: count(first.column, last.column), rows: count(first.row, last.row) }
    }

    /// Height of a node, m; NaN outside the patch.
    #[inline]
    #[must_use]
    pub fn node_height_m(&self, node: Node) -> f64 {
        f64::from(self.height_of(node))
    }

    /// Heights of a node and of the nodes east of it in its tile, m; none outside the patch.
    #[inline]
    #[must_use]
    pub fn heights_in_row_m(&self, node: Node) -> Option<&[f32]> {
        let (heights_m, _) = self.heights_on_tile_m(node, node)?;
        Some(&heights_m[..TILE_NODES - node.within() % TILE_NODES])
    }

    /// Heights of the nodes of a tile from `first` on, row by row, m, and the number of posts from row to row. None
    /// if `last` is on another tile or the tile outside the patch.
    #[inline]
    #[must_use]
    pub fn heights_on_tile_m(&self, first: Node, last: Node) -> Option<(&[f32], usize)> {
        if first.tile() != last.tile() {
            return None;
        }
        let (at, within) = (self.around.rect.index(first.tile())?, first.within());
        match &self.driven[at] {
            Some(tile) => Some((&tile.heights_m[within..], TILE_NODES)),
            None => self.around.heights_from_m(at, within),
        }
    }

    /// Height of a node before any change, m; NaN outside the patch.
    #[must_use]
    pub fn natural_height_m(&self, node: Node) -> f64 {
        let at = self.around.rect.index(node.tile());
        at.map_or(f64::NAN, |at| f64::from(self.around.height_m(at, node.within())))
    }

    #[inline]
    fn height_of(&self, node: Node) -> f32 {
        let Some(at) = self.around.rect.index(node.tile()) else { return f32::NAN };
        match &self.driven[at] {
            Some(tile) => tile.heights_m[node.within()],
            None => self.around.height_m(at, node.within()),
        }
    }

    /// The wheel print on a node.
    #[must_use]
    pub fn print(&self, node: Node) -> Print {
        let driven = self.around.rect.index(node.tile()).and_then(|at| self.driven[at].as_ref());
        driven.map_or(Print::NONE, |tile| tile.print(node.within()))
    }

    /// Copies the heights of a row of nodes that starts at `first`, m; NaN outside the patch.
    pub fn copy_row(&self, first: Node, to: &mut [f32]) {
        let mut done = 0;
        while done < to.len() {
            let node = Node { column: first.column + done as i32, ..first };
            let count = (TILE_NODES - node.within() % TILE_NODES).min(to.len() - done);
            let part = &mut to[done..done + count];
            match self.heights_in_row_m(node) {
                Some(heights_m) => part.copy_from_slice(&heights_m[..count]),
                None => part.fill(f32::NAN),
            }
            done += count;
        }
    }

    /// Sets a node's height and records the change for `take_edits`; ignores nodes outside the patch. The soil has
    /// moved, so a wheel's print is lost.
    pub fn set_node_height(&mut self, node: Node, height_m: f64) {
        self.press_node(node, height_m, Print::NONE);
    }

    /// As `set_node_height`, where a wheel presses the node and leaves a print.
    pub fn press_node(&mut self, node: Node, height_m: f64, print: Print) {
        let (tile, within) = (node.tile(), node.within());
        let Some(driven) = self.driven_tile(tile) else { return };
        driven.set(within, height_m as f32, print);
        self.fresh.entry(tile).or_default().mark(within);
    }

    /// A tile to change; none outside the patch.
    fn driven_tile(&mut self, tile: TileIndex) -> Option<&mut OpenTile> {
        let around = &self.around;
        let at = around.rect.index(tile).filter(|&at| around.has(at))?;
        let open = self.driven[at].get_or_insert_with(|| {
            let mut heights_m = [f32::NAN; TILE_AREA];
            around.copy(at, &mut heights_m);
            Arc::new(OpenTile::undisturbed(heights_m))
        });
        Some(Arc::make_mut(open))
    }

    /// Height of the soil at (x, y), m; none outside the patch.
    #[must_use]
    pub fn height_m(&self, x: f64, y: f64) -> Option<f64> {
        let ([a, b, c, d], u, v) = self.cell(x, y)?;
        let low = a * (1.0 - u) + b * u;
        let high = c * (1.0 - u) + d * u;
        Some(low * (1.0 - v) + high * v)
    }

    /// Unit normal of the soil at (x, y), pointing up; none outside the patch.
    #[must_use]
    pub fn normal(&self, x: f64, y: f64) -> Option<Vector3<f64>> {
        let ([a, b, c, d], u, v) = self.cell(x, y)?;
        let slope_x = ((b - a) * (1.0 - v) + (d - c) * v) / self.spacing_m();
        let slope_y = ((c - a) * (1.0 - u) + (d - b) * u) / self.spacing_m();
        Some(Vector3::new(-slope_x, -slope_y, 1.0).normalize())
    }

    /// Heights of the four posts around a position (west to east, then north), m, and the position's fractions across
    /// the cell.
    fn cell(&self, x: f64, y: f64) -> Option<([f64; 4], f64, f64)> {
        let Neighbourhood { spacing_m, origin_m, limits, .. } = *self.around;
        let along = |m: f64, axis: usize| {
            let cells = (m - origin_m[axis]) / spacing_m;
            let cell = cells.floor();
            // The far edge belongs to the last cell.
            let last = limits.map(|[_, last]| f64::from(if axis == 0 { last.column } else { last.row }));
            let cell = if last == Some(cells) { cell - 1.0 } else { cell };
            (cell.abs() < f64::from(i32::MAX - 1)).then_some((cell as i32, cells - cell))
        };
        let ((column, u), (row, v)) = (along(x, 0)?, along(y, 1)?);
        let post = |east: i32, north: i32| self.node_height_m(Node { column: column + east, row: row + north });
        let posts = [post(0, 0), post(1, 0), post(0, 1), post(1, 1)];
        posts.iter().all(|height_m| height_m.is_finite()).then_some((posts, u, v))
    }

    /// Whether there are fixed rocks on the patch or near it.
    #[must_use]
    pub fn has_rocks(&self) -> bool {
        !self.around.rocks.is_empty()
    }

    /// The fixed rocks on the patch whose bounding circles meet the circle of `radius_m` around (x, y), each once, in
    /// an order that depends on the position alone.
    pub fn rocks_near(&self, x: f64, y: f64, radius_m: f64) -> impl Iterator<Item = &Rock> {
        self.around.rock_grid.near(x, y, radius_m).map(|index| &self.around.rocks[index])
    }

    /// The meshes that rocks are instances of.
    #[must_use]
    pub fn shapes(&self) -> &Arc<Vec<RockShape>> {
        &self.around.shapes
    }
}

/// The last node of a terrain whose x and y are at most these.
pub(crate) fn node_before(terrain: &Terrain, x: f64, y: f64) -> Node {
    let [origin_x, origin_y] = terrain.origin_m();
    Node::before([(x - origin_x) / terrain.spacing_m(), (y - origin_y) / terrain.spacing_m()])
}

fn last_node(rect: &TileRect) -> Node {
    let Node { column, row } = rect.first.node(0);
    Node { column: column + (rect.columns * TILE_NODES) as i32 - 1, row: row + (rect.rows * TILE_NODES) as i32 - 1 }
}

#[cfg(test)]
mod tests {
    use super::GroundPatch;
    use crate::level::Level;
    use crate::site::spec::LevelSpec;
    use crate::surface::ruts::Ruts;
    use crate::surface::tile::{Edit, Node, TileIndex};
    use crate::terrain::Terrain;

    /// Rounding of heights in `f32`.
    const STORED_HEIGHT_TOLERANCE_M: f64 = 1e-6;

    fn plane(x: f64, y: f64) -> f64 {
        0.1 * x - 0.2 * y
    }

    fn endless() -> Terrain {
        Terrain::of_formula(&[LevelSpec { spacing_m: 0.05, side_m: 16.0 }], plane)
    }

    #[test]
    fn a_plane_is_met_exactly_with_its_normal_wherever_it_is() {
        let level = Level::sample([-1.0, -2.0], 0.25, 17, plane);
        let bounded = GroundPatch::of_level(level, Vec::new(), Vec::new());
        for (x, y) in [(-1.0, -2.0), (0.3, 0.7), (3.0, 2.0), (2.99, 1.99)] {
            assert!((bounded.height_m(x, y).expect("inside") - plane(x, y)).abs() < STORED_HEIGHT_TOLERANCE_M);
        }
        for at in [[0.0, 0.0], [-700.3, 55.1]] {
            let patch = GroundPatch::of_square(&endless(), &Ruts::default(), at, 1.0);
            let n = patch.normal(at[0], at[1]).expect("inside");
            assert!((n.x / n.z + 0.1).abs() < 1e-3 && (n.y / n.z - 0.2).abs() < 1e-3, "{at:?}: {n}");
        }
    }

    #[test]
    fn off_the_ground_there_is_no_height() {
        let patch = GroundPatch::of_level(Level::sample([0.0, 0.0], 1.0, 3, |_, _| 0.0), Vec::new(), Vec::new());
        for (x, y) in [(-0.1, 1.0), (1.0, 2.1), (f64::NAN, 1.0), (f64::INFINITY, 1.0)] {
            assert_eq!(patch.height_m(x, y), None);
        }
        assert!(patch.node_height_m(Node { column: 3, row: 0 }).is_nan());
    }

    #[test]
    fn what_is_done_is_reported_once_and_given_back() {
        let (terrain, mut ruts) = (endless(), Ruts::default());
        let mut patch = GroundPatch::of_square(&terrain, &ruts, [0.0, 0.0], 1.0);
        patch.borrow_from(&mut ruts);
        for height_m in [-0.01, -0.02] {
            patch.set_node_height(Node { column: -1, row: 5 }, height_m);
        }
        let edits = patch.take_edits();
        assert_eq!(edits, [Edit::new(TileIndex { column: -1, row: 0 }, 5 * 64 + 63, -0.02)]);
        assert!(patch.take_edits().is_empty());
        patch.give_back(&mut ruts);
        assert_eq!(ruts.edits().collect::<Vec<_>>(), edits);
        let again = GroundPatch::of_square(&terrain, &ruts, [0.0, 0.0], 1.0);
        assert_eq!(again.node_height_m(Node { column: -1, row: 5 }), f64::from(-0.02_f32));
        let natural_m = again.natural_height_m(Node { column: -1, row: 5 });
        assert!((natural_m - plane(-0.05, 0.25)).abs() < STORED_HEIGHT_TOLERANCE_M, "{natural_m}");
        assert!((again.node_height_m(Node { column: 0, row: 5 }) - plane(0.0, 0.25)).abs() < STORED_HEIGHT_TOLERANCE_M);
    }

    #[test]
    fn a_row_across_tiles_is_that_of_its_nodes() {
        let mut patch = GroundPatch::of_square(&endless(), &Ruts::default(), [0.0, 0.0], 4.0);
        patch.set_node_height(Node { column: 3, row: -7 }, 9.0);
        let mut row = [0.0; 100];
        let first = Node { column: -60, row: -7 };
        patch.copy_row(first, &mut row);
        for (i, height_m) in row.iter().enumerate() {
            let node = Node { column: first.column + i as i32, ..first };
            assert_eq!(f64::from(*height_m), patch.node_height_m(node), "{i}");
        }
        assert_eq!(row[63], 9.0);
    }
}
