//! The ground surface for laws that do not press node by node: bilinear between the posts of
//! the finest level, as rays see it. It is either the present surface or the undisturbed one.
//! Laws that state a sinkage measure it from the undisturbed surface, so that a second wheel in
//! a rut does not sink by its depth again.
//!
//! Where posts are as far apart as the points of a wheel's rim, the wheel asks for the same few
//! posts many times: the posts around it are copied once ([`CachedSurface`]).

use arrayvec::ArrayVec;
use selene_terrain::{GroundPatch, Node};

use crate::memory::MemoryPatch;

/// Most posts that are copied for a wheel. Where more lie around it, a step reads only a few of them.
const NEARBY_MAX: usize = 100;
/// More than the rounding of a height between posts, m.
const ROUNDING_M: f64 = 1e-9;

/// The present or the undisturbed surface of a ground.
#[derive(Clone, Copy)]
pub(crate) struct Surface<'a> {
    ground: &'a GroundPatch,
    /// If given, the surface is the undisturbed one: heights before any wheel pressed it.
    memory: Option<&'a MemoryPatch>,
}

/// A surface with a copy of some of its posts.
pub(crate) struct CachedSurface<'a> {
    surface: Surface<'a>,
    /// Position of node zero, m.
    origin_m: [f64; 2],
    /// Posts in a metre.
    posts_per_m: f64,
    /// The copied post with the smallest column and row.
    first: Node,
    /// Number of cells between copied posts along x and y.
    cells: [u32; 2],
    /// Heights of the copied posts, row by row, m; NaN off the detailed ground.
    heights_m: ArrayVec<f64, NEARBY_MAX>,
    /// Whether all copied posts are on the detailed ground.
    is_whole: bool,
    /// Least and greatest x and y between which all places are among the copied posts, m.
    bounds_m: [[f64; 2]; 2],
    /// Height of the highest copied post, m.
    highest_m: f64,
}

/// The surface at one place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SurfacePoint {
    pub(crate) height_m: f64,
    /// Slope along x and along y, m/m.
    pub(crate) slope: [f64; 2],
}

impl<'a> Surface<'a> {
    /// The present surface, with ruts.
    pub(crate) fn now(ground: &'a GroundPatch) -> Self {
        Self { ground, memory: None }
    }

    /// The surface before any wheel pressed it.
    pub(crate) fn undisturbed(ground: &'a GroundPatch, memory: &'a MemoryPatch) -> Self {
        Self { ground, memory: Some(memory) }
    }

    /// Copies the posts of all cells within `reach_m` of (x, y).
    #[inline]
    pub(crate) fn nearby(self, [x, y]: [f64; 2], reach_m: [f64; 2]) -> CachedSurface<'a> {
        let mut nearby = CachedSurface::without_posts(self);
        if ![x, y].into_iter().chain(reach_m).all(f64::is_finite) {
            return nearby;
        }
        let first = self.ground.node_before(x - reach_m[0], y - reach_m[1]);
        let last = self.ground.node_before(x + reach_m[0], y + reach_m[1]);
        // Beyond the last node of all there is no ground.
        let (Some(column), Some(row)) = (last.column.checked_add(1), last.row.checked_add(1)) else { return nearby };
        let end = Node { column, row };
        let cells = |first: i32, end: i32| u32::try_from(i64::from(end) - i64::from(first)).unwrap_or_default();
        let [east, north] = [cells(first.column, end.column), cells(first.row, end.row)];
        if (u64::from(east) + 1).saturating_mul(u64::from(north) + 1) > NEARBY_MAX as u64 {
            return nearby;
        }
        for row in first.row..=end.row {
            self.copy_row(Node { column: first.column, row }, east as usize + 1, &mut nearby.heights_m);
        }
        nearby.is_whole = nearby.heights_m.iter().all(|height_m| height_m.is_finite());
        nearby.highest_m = nearby.heights_m.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (nearby.first, nearby.cells) = (first, [east, north]);
        nearby.bounds_m = [first, end].map(|node| self.ground.node_xy_m(node));
        nearby
    }

    /// Appends the heights of `count` posts from `node` to the east, m.
    #[inline]
    fn copy_row(self, mut node: Node, mut count: usize, to: &mut ArrayVec<f64, NEARBY_MAX>) {
        while count > 0 {
            let Some(now_m) = self.ground.heights_in_row_m(node) else {
                to.push(f64::NAN);
                (node.column, count) = (node.column.saturating_add(1), count - 1);
                continue;
            };
            let now_m = &now_m[..now_m.len().min(count)];
            match self.memory.and_then(|memory| memory.nodes_from(node)) {
                None => to.extend(now_m.iter().copied().map(f64::from)),
                Some(before) => to.extend(
                    before
                        .iter()
                        .zip(now_m)
                        .map(|(node, now_m)| f64::from(if node.is_touched() { node.initial_m } else { *now_m })),
                ),
            }
            node.column += now_m.len() as i32;
            count -= now_m.len();
        }
    }

    /// Height of a post, m; NaN off the detailed ground.
    fn post_m(&self, node: Node) -> f64 {
        let before = self.memory.and_then(|memory| memory.node(node));
        before.map_or_else(|| self.ground.node_height_m(node), |node| f64::from(node.initial_m))
    }
}

impl<'a> CachedSurface<'a> {
    #[inline]
    fn without_posts(surface: Surface<'a>) -> Self {
        Self {
            surface,
            origin_m: surface.ground.node_xy_m(Node::default()),
            posts_per_m: 1.0 / surface.ground.spacing_m(),
            first: Node::default(),
            cells: [0; 2],
            heights_m: ArrayVec::new(),
            is_whole: true,
            bounds_m: [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]],
            highest_m: f64::NEG_INFINITY,
        }
    }

    /// A height that the surface at (x, y) does not exceed, m; infinite away from the copied posts.
    #[inline]
    pub(crate) fn bound_m(&self, x: f64, y: f64) -> f64 {
        let [[west, south], [east, north]] = self.bounds_m;
        let is_inside = x > west && x < east && y > south && y < north;
        if is_inside { self.highest_m + ROUNDING_M } else { f64::INFINITY }
    }

    /// Distance between posts, m.
    pub(crate) fn spacing_m(&self) -> f64 {
        self.surface.ground.spacing_m()
    }

    /// Height and slope at (x, y); none off the detailed ground.
    #[inline(always)]
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<SurfacePoint> {
        let place = [(x - self.origin_m[0]) * self.posts_per_m, (y - self.origin_m[1]) * self.posts_per_m];
        if !place.iter().all(|along| along.is_finite()) {
            return None;
        }
        let node = Node::before(place);
        let [u, v] = [place[0] - f64::from(node.column), place[1] - f64::from(node.row)];
        let [a, b, c, d] = self.cell_m(node)?;
        let (low, high) = (a + (b - a) * u, c + (d - c) * u);
        let rise_x = (b - a) * (1.0 - v) + (d - c) * v;
        let slope = [rise_x * self.posts_per_m, (high - low) * self.posts_per_m];
        Some(SurfacePoint { height_m: low + (high - low) * v, slope })
    }

    /// Heights of the four posts of a cell, m: south-west (`node`), south-east, north-west, north-east; none off the
    /// detailed ground.
    #[inline(always)]
    fn cell_m(&self, node: Node) -> Option<[f64; 4]> {
        // A cell to the west or south of the first one becomes one far to the east or north.
        let east = node.column.wrapping_sub(self.first.column).cast_unsigned();
        let north = node.row.wrapping_sub(self.first.row).cast_unsigned();
        let is_copied = east < self.cells[0] && north < self.cells[1];
        let posts_m = if is_copied {
            let columns = self.cells[0] as usize + 1;
            let at = north as usize * columns + east as usize;
            let (south, north) = (&self.heights_m[at..][..2], &self.heights_m[at + columns..][..2]);
            [south[0], south[1], north[0], north[1]]
        } else {
            self.cell_of_ground_m(node)
        };
        let is_whole = (is_copied && self.is_whole) || posts_m.iter().all(|post_m| post_m.is_finite());
        is_whole.then_some(posts_m)
    }

    #[inline(never)]
    fn cell_of_ground_m(&self, Node { column, row }: Node) -> [f64; 4] {
        let next = |at: i32| at.saturating_add(1);
        [(column, row), (next(column), row), (column, next(row)), (next(column), next(row))]
            .map(|(column, row)| self.surface.post_m(Node { column, row }))
    }
}

#[cfg(test)]
mod tests {
    use super::Surface;
    use crate::MemoryPatch;
    use selene_terrain::{GroundPatch, Level, Node};

    #[test]
    fn a_rut_is_there_now_and_was_not_before() {
        let mut ground = GroundPatch::flat(0.1, 4.0);
        let mut memory = MemoryPatch::new(&ground);
        let node = Node { column: 20, row: 20 };
        memory.touch(node, 0.0).expect("on the patch").plastic_m = 0.05;
        ground.set_node_height(node, -0.05);
        let at = |surface: Surface<'_>, x, y| surface.nearby([0.0, 0.0], [0.05; 2]).at(x, y);
        let now = at(Surface::now(&ground), 0.02, 0.0).expect("on the site");
        assert!((now.height_m + 0.04).abs() < 1e-6 && (now.slope[0] - 0.5).abs() < 1e-6);
        let before = at(Surface::undisturbed(&ground, &memory), 0.02, 0.0);
        assert_eq!(before.map(|place| place.height_m), Some(0.0));
        assert!(at(Surface::now(&ground), 2.5, 0.0).is_none() && at(Surface::now(&ground), f64::NAN, 0.0).is_none());
    }

    #[test]
    fn posts_at_hand_are_those_of_the_ground() {
        let level = Level::sample([-1.0, -1.0], 0.05, 41, |x, y| (7.0 * x).sin() * (5.0 * y).cos());
        let ground = GroundPatch::of_level(level, Vec::new(), Vec::new());
        let surface = Surface::now(&ground);
        let none = surface.nearby([0.0, 0.0], [1e3; 2]);
        assert_eq!(none.cells, [0; 2]);
        // Within the window, beyond its border and beyond the ground's.
        for [x, y] in [[0.0, 0.0], [0.3, -0.2], [0.9, 0.9], [-1.0, -1.0], [0.42, 0.11]] {
            let window = surface.nearby([x, y], [0.1, 0.14]);
            assert!(window.cells.iter().all(|cells| (3..=7).contains(cells)), "{:?}", window.cells);
            for i in 0..400 {
                let at = [x + 0.02 * f64::from(i % 20 - 10), y + 0.02 * f64::from(i / 20 - 10)];
                let [near, far] = [&window, &none].map(|of| of.at(at[0], at[1]).map(|of| (of.height_m, of.slope)));
                assert_eq!(near, far, "{at:?}");
            }
        }
    }

    #[test]
    fn posts_are_copied_across_tiles_driven_and_not_with_memory_and_without() {
        let level = Level::sample([-1.0, -1.0], 0.05, 141, |x, y| (7.0 * x).sin() * (5.0 * y).cos());
        let mut ground = GroundPatch::of_level(level, Vec::new(), Vec::new());
        let mut memory = MemoryPatch::new(&ground);
        // Of the four tiles around (64, 64) one is driven and two have memory.
        ground.set_node_height(Node { column: 62, row: 62 }, -0.5);
        for (node, before_m) in [((61, 61), 0.7), ((65, 61), 0.8)] {
            memory.touch(Node { column: node.0, row: node.1 }, before_m).expect("on the patch").plastic_m = 0.1;
        }
        let mut differ = 0;
        for corner in [[63.5, 63.5], [64.0, 64.0], [0.5, 63.2], [140.0, 140.0], [-3.0, 70.0]] {
            let [x, y] = corner.map(|posts: f64| 0.05 * posts - 1.0);
            for surface in [Surface::now(&ground), Surface::undisturbed(&ground, &memory)] {
                let window = surface.nearby([x, y], [0.16, 0.18]);
                let [columns, rows] = window.cells.map(|cells| cells as i32 + 1);
                assert_eq!(window.heights_m.len() as i32, columns * rows);
                for (i, copied_m) in (0..).zip(&window.heights_m) {
                    let node = Node { column: window.first.column + i % columns, row: window.first.row + i / columns };
                    let [copied, known] = [*copied_m, surface.post_m(node)].map(f64::to_bits);
                    assert!(copied == known || copied_m.is_nan() && surface.post_m(node).is_nan(), "{node:?}");
                    differ += usize::from(surface.post_m(node) != Surface::now(&ground).post_m(node));
                }
            }
        }
        assert!(differ >= 2, "the undisturbed surface is another");
    }
}
