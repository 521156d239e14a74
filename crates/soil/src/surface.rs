//! The ground surface for laws that do not press node by node: bilinear between the posts of
//! the finest level, as rays see it. It is either the present surface or the undisturbed one.
//! Laws that state a sinkage measure it from the undisturbed surface, so that a second wheel in
//! a rut does not sink by its depth again.
//!
//! Where posts are as far apart as the points of a wheel's rim, the wheel asks for the same few
//! posts many times: the posts around it are copied once ([`CachedSurface`]).

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
    /// The copied post with the smallest column and row.
    first: Node,
    /// Number of copied posts along x and y.
    sides: [usize; 2],
    /// Heights of the copied posts, row by row, m; NaN off the detailed ground.
    heights_m: [f64; NEARBY_MAX],
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
    pub(crate) fn nearby(self, [x, y]: [f64; 2], reach_m: [f64; 2]) -> CachedSurface<'a> {
        let mut nearby = CachedSurface::without_posts(self);
        if ![x, y].into_iter().chain(reach_m).all(f64::is_finite) {
            return nearby;
        }
        let first = self.ground.node_before(x - reach_m[0], y - reach_m[1]);
        let last = self.ground.node_before(x + reach_m[0], y + reach_m[1]);
        let posts = |first: i32, last: i32| usize::try_from(i64::from(last) - i64::from(first) + 2).unwrap_or_default();
        let [columns, rows] = [posts(first.column, last.column), posts(first.row, last.row)];
        if columns.saturating_mul(rows) > NEARBY_MAX {
            return nearby;
        }
        (nearby.first, nearby.sides) = (first, [columns, rows]);
        for (i, height_m) in nearby.heights_m[..columns * rows].iter_mut().enumerate() {
            let [east, north] = [i % columns, i / columns].map(|steps| steps as i32);
            *height_m = self.post_m(Node { column: first.column + east, row: first.row + north });
            nearby.highest_m = nearby.highest_m.max(*height_m);
        }
        let end = Node { column: last.column.saturating_add(1), row: last.row.saturating_add(1) };
        nearby.bounds_m = [first, end].map(|node| self.ground.node_xy_m(node));
        nearby
    }

    /// Height of a post, m; NaN off the detailed ground.
    fn post_m(&self, node: Node) -> f64 {
        let before = self.memory.and_then(|memory| memory.node(node));
        before.map_or_else(|| self.ground.node_height_m(node), |node| f64::from(node.initial_m))
    }
}

impl<'a> CachedSurface<'a> {
    fn without_posts(surface: Surface<'a>) -> Self {
        Self {
            surface,
            first: Node::default(),
            sides: [0; 2],
            heights_m: [0.0; NEARBY_MAX],
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
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<SurfacePoint> {
        let ([a, b, c, d], [u, v]) = self.cell_at(x, y)?;
        let (low, high) = (a + (b - a) * u, c + (d - c) * u);
        let rise_x = (b - a) * (1.0 - v) + (d - c) * v;
        let slope = [rise_x, high - low].map(|rise| rise / self.spacing_m());
        Some(SurfacePoint { height_m: low + (high - low) * v, slope })
    }

    /// Height at (x, y) alone, m, with the same bits.
    #[inline]
    pub(crate) fn height_m(&self, x: f64, y: f64) -> Option<f64> {
        let ([a, b, c, d], [u, v]) = self.cell_at(x, y)?;
        let (low, high) = (a + (b - a) * u, c + (d - c) * u);
        Some(low + (high - low) * v)
    }

    /// Heights of the four posts around (x, y), m, and the place between them, 0 to 1; none off the detailed ground.
    #[inline]
    fn cell_at(&self, x: f64, y: f64) -> Option<([f64; 4], [f64; 2])> {
        if !(x.is_finite() && y.is_finite()) {
            return None;
        }
        let node = self.surface.ground.node_before(x, y);
        let posts_m = self.cell_m(node);
        let [first_x, first_y] = self.surface.ground.node_xy_m(node);
        let within = [x - first_x, y - first_y].map(|m| m / self.spacing_m());
        posts_m.iter().all(|post_m| post_m.is_finite()).then_some((posts_m, within))
    }

    /// Heights of the four posts of a cell, m: south-west (`node`), south-east, north-west, north-east.
    fn cell_m(&self, Node { column, row }: Node) -> [f64; 4] {
        let [columns, rows] = self.sides;
        let from_first = |at: i32, first: i32| usize::try_from(i64::from(at) - i64::from(first)).ok();
        let east = from_first(column, self.first.column).filter(|east| east + 1 < columns);
        let north = from_first(row, self.first.row).filter(|north| north + 1 < rows);
        if let (Some(east), Some(north)) = (east, north) {
            let at = north * columns + east;
            return [at, at + 1, at + columns, at + columns + 1].map(|at| self.heights_m[at]);
        }
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
        assert_eq!(none.sides, [0; 2]);
        // Within the window, beyond its border and beyond the ground's.
        for [x, y] in [[0.0, 0.0], [0.3, -0.2], [0.9, 0.9], [-1.0, -1.0], [0.42, 0.11]] {
            let window = surface.nearby([x, y], [0.1, 0.14]);
            assert!(window.sides.iter().all(|posts| (4..=8).contains(posts)), "{:?}", window.sides);
            for i in 0..400 {
                let at = [x + 0.02 * f64::from(i % 20 - 10), y + 0.02 * f64::from(i / 20 - 10)];
                let [near, far] = [&window, &none].map(|of| of.at(at[0], at[1]).map(|of| (of.height_m, of.slope)));
                assert_eq!(near, far, "{at:?}");
            }
        }
    }
}
