//! The ground as a wheel meets it that does not press node by node: bilinear between
//! the posts of the finest level, as rays see it. It is either the surface as it lies
//! now, or the undisturbed one, on which laws that state a sinkage measure it: a second
//! wheel in a rut does not sink by its depth again.

use selene_terrain::{Ground, Level, Node};

use crate::memory::SoilMemory;

/// A ground to stand on.
#[derive(Clone, Copy)]
pub(crate) struct Surface<'a> {
    level: &'a Level,
    /// Where given, heights before any wheel came.
    memory: Option<&'a SoilMemory>,
}

/// The surface at one place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) height_m: f64,
    /// Rise along x and along y.
    pub(crate) slope: [f64; 2],
}

impl<'a> Surface<'a> {
    /// The surface as it lies now.
    pub(crate) fn now(ground: &'a Ground) -> Self {
        Self { level: ground.finest(), memory: None }
    }

    /// The surface before any wheel came.
    pub(crate) fn undisturbed(ground: &'a Ground, memory: &'a SoilMemory) -> Self {
        Self { level: ground.finest(), memory: Some(memory) }
    }

    /// Distance between posts, m.
    pub(crate) fn spacing_m(&self) -> f64 {
        self.level.spacing_m
    }

    /// Height and slope at (x, y); none off the detailed ground.
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<Place> {
        let (column, u) = self.cell(x, 0)?;
        let (row, v) = self.cell(y, 1)?;
        let [a, b] = [self.post_m(column, row), self.post_m(column + 1, row)];
        let [c, d] = [self.post_m(column, row + 1), self.post_m(column + 1, row + 1)];
        let (low, high) = (a + (b - a) * u, c + (d - c) * u);
        let rise_x = (b - a) * (1.0 - v) + (d - c) * v;
        let slope = [rise_x, high - low].map(|rise| rise / self.level.spacing_m);
        Some(Place { height_m: low + (high - low) * v, slope })
    }

    fn cell(&self, value: f64, axis: usize) -> Option<(usize, f64)> {
        let cells = (value - self.level.origin_m[axis]) / self.level.spacing_m;
        let cell = cells.floor();
        (cell >= 0.0 && cell <= self.level.posts as f64 - 2.0).then_some((cell as usize, cells - cell))
    }

    fn post_m(&self, column: usize, row: usize) -> f64 {
        let node = Node { column: column as u32, row: row as u32 };
        let before = self.memory.and_then(|memory| memory.node(node));
        before.map_or_else(|| self.level.post_m(column, row), |node| f64::from(node.initial_m))
    }
}

#[cfg(test)]
mod tests {
    use super::Surface;
    use crate::SoilMemory;
    use selene_terrain::{Ground, Node};

    #[test]
    fn a_rut_is_there_now_and_was_not_before() {
        let mut ground = Ground::flat(0.1, 4.0);
        let mut memory = SoilMemory::new(&ground);
        let node = Node { column: 20, row: 20 };
        memory.touch(node, 0.0).plastic_m = 0.05;
        ground.set_node_height(node, -0.05);
        let now = Surface::now(&ground).at(0.02, 0.0).expect("on the site");
        assert!((now.height_m + 0.04).abs() < 1e-6 && (now.slope[0] - 0.5).abs() < 1e-6);
        assert_eq!(Surface::undisturbed(&ground, &memory).at(0.02, 0.0).map(|place| place.height_m), Some(0.0));
        assert!(Surface::now(&ground).at(2.5, 0.0).is_none() && Surface::now(&ground).at(f64::NAN, 0.0).is_none());
    }
}
