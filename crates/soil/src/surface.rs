//! The ground surface for laws that do not press node by node: bilinear between the posts of
//! the finest level, as rays see it. It is either the present surface or the undisturbed one.
//! Laws that state a sinkage measure it from the undisturbed surface, so that a second wheel in
//! a rut does not sink by its depth again.
//!
//! Where posts are as far apart as the points of a wheel's rim, the wheel asks for the same few
//! posts many times: the posts around it are copied once ([`CachedSurface`]).

use selene_terrain::{GroundPatch, Node, TILE_NODES};

use crate::memory::{MemoryPatch, NodeMemory};

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
    /// Heights of the copied posts, row by row, m; NaN off the detailed ground. Those after the last row mean nothing.
    heights_m: [f32; NEARBY_MAX],
    /// Least and greatest x and y between which all places are among the copied posts, m.
    bounds_m: [[f64; 2]; 2],
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
    #[inline(always)]
    pub(crate) fn nearby(self, [x, y]: [f64; 2], reach_m: [f64; 2]) -> CachedSurface<'a> {
        let mut nearby = CachedSurface::without_posts(self);
        if ![x, y].into_iter().chain(reach_m).all(f64::is_finite) {
            return nearby;
        }
        let first = Node::before(nearby.place(x - reach_m[0], y - reach_m[1]));
        let last = Node::before(nearby.place(x + reach_m[0], y + reach_m[1]));
        // Beyond the last node of all there is no ground.
        let (Some(column), Some(row)) = (last.column.checked_add(1), last.row.checked_add(1)) else { return nearby };
        let end = Node { column, row };
        let cells = |first: i32, end: i32| u32::try_from(i64::from(end) - i64::from(first)).unwrap_or_default();
        let [east, north] = [cells(first.column, end.column), cells(first.row, end.row)];
        if (u64::from(east) + 1).saturating_mul(u64::from(north) + 1) > NEARBY_MAX as u64 {
            return nearby;
        }
        let [columns, rows] = [east as usize + 1, north as usize + 1];
        let copied_m = &mut nearby.heights_m[..columns * rows];
        self.copy(first, end, columns, copied_m);
        (nearby.first, nearby.cells) = (first, [east, north]);
        nearby.bounds_m = [first, end].map(|node| self.ground.node_xy_m(node));
        nearby
    }

    /// Copies the heights of all posts from `first` to `last`, row by row, m.
    #[inline(always)]
    fn copy(self, first: Node, last: Node, columns: usize, to: &mut [f32]) {
        let rows = to.chunks_exact_mut(columns);
        let Some((now_m, posts)) = self.ground.heights_on_tile_m(first, last) else {
            for (row, to) in (first.row..).zip(rows) {
                self.copy_row(Node { row, ..first }, to);
            }
            return;
        };
        let before = self.memory.and_then(|memory| memory.nodes_from(first));
        for (row, to) in rows.enumerate() {
            copy_posts(&now_m[row * posts..], before.map(|before| &before[row * TILE_NODES..]), to);
        }
    }

    /// Copies the heights of posts from `node` to the east, m, on whichever tiles they are.
    fn copy_row(self, mut node: Node, mut to: &mut [f32]) {
        while let Some((first, _)) = to.split_first_mut() {
            let count = if let Some(now_m) = self.ground.heights_in_row_m(node) {
                let count = now_m.len().min(to.len());
                copy_posts(now_m, self.memory.and_then(|memory| memory.nodes_from(node)), &mut to[..count]);
                count
            } else {
                *first = f32::NAN;
                1
            };
            node.column = node.column.saturating_add(count as i32);
            to = &mut to[count..];
        }
    }

    /// Height of a post, m; NaN off the detailed ground.
    fn post_m(&self, node: Node) -> f64 {
        let before = self.memory.and_then(|memory| memory.node(node));
        before.map_or_else(|| self.ground.node_height_m(node), |node| f64::from(node.initial_m))
    }
}

impl<'a> CachedSurface<'a> {
    #[inline(always)]
    fn without_posts(surface: Surface<'a>) -> Self {
        Self {
            surface,
            origin_m: surface.ground.node_xy_m(Node::default()),
            posts_per_m: 1.0 / surface.ground.spacing_m(),
            first: Node::default(),
            cells: [0; 2],
            heights_m: [f32::NAN; NEARBY_MAX],
            bounds_m: [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]],
        }
    }

    /// Whether all places within `reach_m` of (x, y) along each axis are among the copied posts.
    #[inline(always)]
    pub(crate) fn holds(&self, [x, y]: [f64; 2], reach_m: [f64; 2]) -> bool {
        let [[west, south], [east, north]] = self.bounds_m;
        let is_within = |at: f64, reach_m: f64, low: f64, high: f64| {
            let reach_m = reach_m + ROUNDING_M;
            (at - reach_m > low) & (at + reach_m < high)
        };
        is_within(x, reach_m[0], west, east) & is_within(y, reach_m[1], south, north)
    }

    /// Height at (x, y), m, of the lowest plane of this slope (along x and y) that the surface between copied posts
    /// nowhere exceeds. None where no posts are copied or not all of them are on the detailed ground.
    #[inline(always)]
    pub(crate) fn plane_above_m(&self, [x, y]: [f64; 2], [along_x, along_y]: [f64; 2]) -> Option<f64> {
        let [columns, rows] = self.cells.map(|cells| cells as usize + 1);
        if columns * rows > NEARBY_MAX {
            return None;
        }
        let (spacing_m, [west_m, south_m]) = (self.spacing_m(), self.bounds_m[0]);
        let [step_x, step_y] = [along_x * spacing_m, along_y * spacing_m];
        let start_m = along_x * (west_m - x) + along_y * (south_m - y);
        let (mut plane_m, mut sum_m, mut on_row_m) = (f64::NEG_INFINITY, 0.0, start_m);
        for posts_m in self.heights_m[..columns * rows].chunks_exact(columns) {
            let mut on_plane_m = on_row_m;
            for post_m in posts_m {
                let above_m = f64::from(*post_m) - on_plane_m;
                plane_m = if above_m > plane_m { above_m } else { plane_m };
                sum_m += above_m;
                on_plane_m += step_x;
            }
            on_row_m += step_y;
        }
        // The sum is finite only if every post is.
        sum_m.is_finite().then_some(plane_m + ROUNDING_M)
    }

    /// Distance between posts, m.
    pub(crate) fn spacing_m(&self) -> f64 {
        self.surface.ground.spacing_m()
    }

    /// Height and slope at (x, y); none off the detailed ground.
    #[inline(always)]
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<SurfacePoint> {
        let place = self.place(x, y);
        if !place.iter().all(|along| along.is_finite()) {
            return None;
        }
        let node = Node::before(place);
        let across = [place[0] - f64::from(node.column), place[1] - f64::from(node.row)];
        Some(self.between(self.cell_m(node)?, across))
    }

    /// The same where the surface is that between copied posts. `holds` keeps places so far inside them that the bounds
    /// of the index are never used; they only keep rounding from making it a panic.
    #[inline(always)]
    pub(crate) fn at_copied(&self, x: f64, y: f64) -> SurfacePoint {
        let [(column, u), (row, v)] = self.place(x, y).map(split);
        let east = column.wrapping_sub(self.first.column).cast_unsigned().min(self.cells[0].saturating_sub(1));
        let north = row.wrapping_sub(self.first.row).cast_unsigned().min(self.cells[1].saturating_sub(1));
        self.between(self.copied_m(east, north), [u, v])
    }

    /// Place in units of posts.
    #[inline(always)]
    fn place(&self, x: f64, y: f64) -> [f64; 2] {
        [(x - self.origin_m[0]) * self.posts_per_m, (y - self.origin_m[1]) * self.posts_per_m]
    }

    /// Height and slope between the four posts of a cell, at fractions across it along x and y.
    #[inline(always)]
    fn between(&self, [a, b, c, d]: [f64; 4], [u, v]: [f64; 2]) -> SurfacePoint {
        let (low, high) = (a + (b - a) * u, c + (d - c) * u);
        let rise_x = (b - a) * (1.0 - v) + (d - c) * v;
        let slope = [rise_x * self.posts_per_m, (high - low) * self.posts_per_m];
        SurfacePoint { height_m: low + (high - low) * v, slope }
    }

    /// Heights of the four posts of a copied cell by its place among the copied ones, as `cell_m` has them, m.
    #[inline(always)]
    fn copied_m(&self, east: u32, north: u32) -> [f64; 4] {
        let columns = self.cells[0] as usize + 1;
        let at = north as usize * columns + east as usize;
        let (south, north) = (&self.heights_m[at..][..2], &self.heights_m[at + columns..][..2]);
        [south[0], south[1], north[0], north[1]].map(f64::from)
    }

    /// Heights of the four posts of a cell, m: south-west (`node`), south-east, north-west, north-east; none off the
    /// detailed ground.
    #[inline(always)]
    fn cell_m(&self, node: Node) -> Option<[f64; 4]> {
        // A cell to the west or south of the first one becomes one far to the east or north.
        let east = node.column.wrapping_sub(self.first.column).cast_unsigned();
        let north = node.row.wrapping_sub(self.first.row).cast_unsigned();
        let is_copied = east < self.cells[0] && north < self.cells[1];
        let posts_m = if is_copied { self.copied_m(east, north) } else { self.cell_of_ground_m(node) };
        posts_m.iter().fold(true, |is_whole, post_m| is_whole & post_m.is_finite()).then_some(posts_m)
    }

    #[inline(never)]
    fn cell_of_ground_m(&self, Node { column, row }: Node) -> [f64; 4] {
        let next = |at: i32| at.saturating_add(1);
        [(column, row), (next(column), row), (column, next(row)), (next(column), next(row))]
            .map(|(column, row)| self.surface.post_m(Node { column, row }))
    }
}

/// The integer below a number of less than 2³¹, and the rest. `Node::before` has the same integer; this takes a few
/// instructions without branches.
#[inline(always)]
fn split(value: f64) -> (i32, f64) {
    // In 1.5 · 2⁵² the last bit counts ones: the sum is rounded to an integer, whose lowest bits are those of the sum.
    const ONES: f64 = 6_755_399_441_055_744.0;
    let sum = value + ONES;
    let (nearest, bits) = (sum - ONES, sum.to_bits() as i32);
    let is_above = nearest > value;
    let below = if is_above { nearest - 1.0 } else { nearest };
    (bits - i32::from(is_above), value - below)
}

/// Copies heights of posts next to each other, m: those before any change where `before` has the memory of the posts.
#[inline(always)]
fn copy_posts(now_m: &[f32], before: Option<&[NodeMemory]>, to: &mut [f32]) {
    let Some(before) = before else { return to.copy_from_slice(&now_m[..to.len()]) };
    for ((to, now_m), node) in to.iter_mut().zip(now_m).zip(before) {
        *to = if node.is_touched() { node.initial_m } else { *now_m };
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
    fn a_number_is_split_into_the_integer_below_it_and_the_rest() {
        for value in (-40..40).flat_map(|quarter| [0.0, 1e6, -3e8].map(|far| far + 0.25 * f64::from(quarter))) {
            for value in [value, value.next_up(), value.next_down()] {
                let (below, rest) = super::split(value);
                assert_eq!(below, value.floor() as i32);
                assert_eq!(rest.to_bits(), (value - f64::from(below)).to_bits(), "{value}");
            }
        }
    }

    #[test]
    fn no_post_is_above_the_plane_above_them() {
        let level = Level::sample([-1.0, -1.0], 0.05, 41, |x, y| 0.1 * (7.0 * x).sin() * (5.0 * y).cos());
        let ground = GroundPatch::of_level(level, Vec::new(), Vec::new());
        let window = Surface::now(&ground).nearby([0.2, -0.3], [0.1, 0.14]);
        let (at, slope) = ([0.2, -0.3], [0.3, -0.2]);
        let plane_m = window.plane_above_m(at, slope).expect("all posts are on the ground");
        let clear_m = |i: i32, j: i32| {
            let [x, y] = [at[0] + 0.01 * f64::from(i), at[1] + 0.01 * f64::from(j)];
            let on_plane_m = plane_m + slope[0] * (x - at[0]) + slope[1] * (y - at[1]);
            on_plane_m - window.at(x, y).expect("on the ground").height_m
        };
        let clear_m: Vec<_> = (-10..=10).flat_map(|i| (-14..=14).map(move |j| clear_m(i, j))).collect();
        let least_m = clear_m.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((0.0..0.02).contains(&least_m), "{least_m}");
        assert!(Surface::now(&ground).nearby([0.95, 0.0], [0.1, 0.14]).plane_above_m(at, slope).is_none());
        assert!(Surface::now(&ground).nearby([0.0, 0.0], [1e3; 2]).plane_above_m(at, slope).is_none());
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
                for (i, copied_m) in (0..columns * rows).zip(&window.heights_m) {
                    let node = Node { column: window.first.column + i % columns, row: window.first.row + i / columns };
                    let [copied, known] = [f64::from(*copied_m), surface.post_m(node)].map(f64::to_bits);
                    assert!(copied == known || copied_m.is_nan() && surface.post_m(node).is_nan(), "{node:?}");
                    differ += usize::from(surface.post_m(node) != Surface::now(&ground).post_m(node));
                }
            }
        }
        assert!(differ >= 2, "the undisturbed surface is another");
    }
}
