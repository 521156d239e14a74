//! The ground as a wheel meets it that does not press node by node: bilinear between
//! the posts of the finest level, as rays see it. It is either the surface as it lies
//! now, or the undisturbed one, on which laws that state a sinkage measure it: a second
//! wheel in a rut does not sink by its depth again.

use selene_terrain::{GroundPatch, Node};

use crate::memory::MemoryPatch;

/// A ground to stand on.
#[derive(Clone, Copy)]
pub(crate) struct Surface<'a> {
    ground: &'a GroundPatch,
    /// Where given, heights before any wheel came.
    memory: Option<&'a MemoryPatch>,
}

/// The surface at one place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SurfacePoint {
    pub(crate) height_m: f64,
    /// Rise along x and along y.
    pub(crate) slope: [f64; 2],
}

impl<'a> Surface<'a> {
    /// The surface as it lies now.
    pub(crate) fn now(ground: &'a GroundPatch) -> Self {
        Self { ground, memory: None }
    }

    /// The surface before any wheel came.
    pub(crate) fn undisturbed(ground: &'a GroundPatch, memory: &'a MemoryPatch) -> Self {
        Self { ground, memory: Some(memory) }
    }

    /// Distance between posts, m.
    pub(crate) fn spacing_m(&self) -> f64 {
        self.ground.spacing_m()
    }

    /// Height and slope at (x, y); none off the detailed ground.
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<SurfacePoint> {
        if !(x.is_finite() && y.is_finite()) {
            return None;
        }
        let Node { column, row } = self.ground.node_before(x, y);
        let post_m = |east: i32, north: i32| self.post_m(Node { column: column + east, row: row + north });
        let [a, b, c, d] = [post_m(0, 0)?, post_m(1, 0)?, post_m(0, 1)?, post_m(1, 1)?];
        let [first_x, first_y] = self.ground.node_xy_m(Node { column, row });
        let [u, v] = [x - first_x, y - first_y].map(|m| m / self.spacing_m());
        let (low, high) = (a + (b - a) * u, c + (d - c) * u);
        let rise_x = (b - a) * (1.0 - v) + (d - c) * v;
        let slope = [rise_x, high - low].map(|rise| rise / self.spacing_m());
        Some(SurfacePoint { height_m: low + (high - low) * v, slope })
    }

    fn post_m(&self, node: Node) -> Option<f64> {
        let before = self.memory.and_then(|memory| memory.node(node));
        let height_m = before.map_or_else(|| self.ground.node_height_m(node), |node| f64::from(node.initial_m));
        height_m.is_finite().then_some(height_m)
    }
}

#[cfg(test)]
mod tests {
    use super::Surface;
    use crate::MemoryPatch;
    use selene_terrain::{GroundPatch, Node};

    #[test]
    fn a_rut_is_there_now_and_was_not_before() {
        let mut ground = GroundPatch::flat(0.1, 4.0);
        let mut memory = MemoryPatch::new(&ground);
        let node = Node { column: 20, row: 20 };
        memory.touch(node, 0.0).expect("on the patch").plastic_m = 0.05;
        ground.set_node_height(node, -0.05);
        let now = Surface::now(&ground).at(0.02, 0.0).expect("on the site");
        assert!((now.height_m + 0.04).abs() < 1e-6 && (now.slope[0] - 0.5).abs() < 1e-6);
        assert_eq!(Surface::undisturbed(&ground, &memory).at(0.02, 0.0).map(|place| place.height_m), Some(0.0));
        assert!(Surface::now(&ground).at(2.5, 0.0).is_none() && Surface::now(&ground).at(f64::NAN, 0.0).is_none());
    }
}
