//! Selects the points that sensors see as grains: those that are loose and open to the sky.
//!
//! - **Open** are the two highest points of a column as wide as the points' distance: one in flight and the one below.
//! - **Loose** is a point where the ground has risen or sunk since the window woke, or one above the ground. Untouched
//!   soil remains a height field for sensors.
//!
//! Positions are whole numbers, 16 bits for each axis over the window's box and one cell beyond, since points may enter
//! its walls by that much: a resolution of 0.3 mm over 20 m. So a snapshot is the same in every process, and a point
//! takes twelve bytes of a message.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

use crate::granular::particle::Particle;
use crate::granular::spec::LAYERS;
use crate::granular::state::{Particles, WindowState};
use crate::granular::window::{GranularWindow, POINTS_A_CELL};

/// Ground that rose or sank by less counts as unmoved, m: twice the step in which changes are recorded.
const MOVED_M: f64 = 0.001;
/// Largest number of an axis.
const LAST: f64 = 65535.0;

/// A loose point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoosePoint {
    /// Position in whole numbers along the axes; `Window::place_m` converts it to metres.
    pub place: [u16; 3],
    /// Number of the point, which stays the same until the window sleeps.
    pub id: u32,
}

/// The loose points of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LooseSoil {
    /// Index of the window in the scenario.
    pub window: u32,
    /// The points, ascending by number.
    pub points: Vec<LoosePoint>,
}

impl GranularWindow {
    /// The points of a state that are loose and open to the sky, or its grains that are, ascending by number. Grains are
    /// always loose.
    #[must_use]
    pub fn loose_points(&self, state: &WindowState) -> Vec<LoosePoint> {
        let mut reported: Vec<_> = match state.particles() {
            Some(Particles::Points(points)) => {
                let loose = self.open(points.points.iter()).filter(|point| self.is_loose(state, *point));
                loose.map(|point| self.reported(point)).collect()
            }
            Some(Particles::Grains(bed)) => self.open(bed.grains()).map(|grain| self.reported(grain)).collect(),
            None => Vec::new(),
        };
        reported.sort_unstable_by_key(|point| point.id);
        reported
    }

    fn open<P: Particle>(&self, particles: impl Iterator<Item = P>) -> impl Iterator<Item = P> {
        self.highest_points(particles).into_iter().flatten().flatten()
    }

    /// Position of a loose point, map frame, m.
    #[must_use]
    pub fn place_m(&self, point: &LoosePoint) -> Vector3<f64> {
        let [low_m, side_m] = self.box_m();
        let along = |axis: usize, _| low_m[axis] + side_m[axis] * f64::from(point.place[axis]) / LAST;
        self.corner_m + Vector3::from_fn(along)
    }

    fn reported(&self, particle: impl Particle) -> LoosePoint {
        let [low_m, side_m] = self.box_m();
        // A point is always inside: the whole number is in its range.
        let along = |axis: usize| ((particle.position_m()[axis] - low_m[axis]) / side_m[axis] * LAST).round() as u16;
        LoosePoint { place: [0, 1, 2].map(along), id: particle.id() }
    }

    /// Low corner, relative to the grid's origin, and sides of the box that points may be in, m.
    fn box_m(&self) -> [Vector3<f64>; 2] {
        let cell_m = self.grid.cell_m;
        let side_m = Vector3::from(self.grid.size_m()).add_scalar(2.0 * cell_m);
        [Vector3::repeat(-cell_m), side_m]
    }

    /// The highest points of each column as wide as the points' distance, x fastest, highest first.
    pub(crate) fn highest_points<P: Particle>(&self, points: impl Iterator<Item = P>) -> Vec<[Option<P>; LAYERS]> {
        let [columns, rows] = self.posts.cells().map(|cells| cells * POINTS_A_CELL as usize);
        let mut highest: Vec<[Option<P>; LAYERS]> = vec![[None; LAYERS]; columns * rows];
        let along = |m: f64, count: usize| ((m / self.spacing_m()) as usize).min(count - 1);
        for point in points {
            let position_m = point.position_m();
            let column = along(position_m.y, rows) * columns + along(position_m.x, columns);
            push_down(&mut highest[column], point);
        }
        highest
    }

    /// Whether the ground under a point has moved, or the point is above the ground.
    fn is_loose(&self, state: &WindowState, point: impl Particle) -> bool {
        let at_m = [point.position_m().x, point.position_m().y];
        state.risen_m(self.posts.under(&at_m)).abs() >= MOVED_M || self.flies(state, point)
    }

    /// Whether a point is above the ground by half the points' distance or more.
    pub(crate) fn flies(&self, state: &WindowState, point: impl Particle) -> bool {
        let at_m = [point.position_m().x, point.position_m().y];
        let risen_m = state.risen_m(self.posts.under(&at_m));
        let [columns, rows] = self.posts.cells();
        let cell = |axis: usize, count: usize| ((at_m[axis] / self.grid.cell_m) as usize).min(count - 1);
        let top_m =
            state.tops_m().get(cell(1, rows) * columns + cell(0, columns)).map_or(0.0, |top_m| f64::from(*top_m));
        point.position_m().z - (top_m + risen_m) > 0.5 * self.spacing_m()
    }
}

/// Inserts a point into a list of the highest, highest first; of two equally high the one with the smaller number.
fn push_down<P: Particle>(highest: &mut [Option<P>], point: P) {
    let is_above = |a: P, b: P| a.position_m().z.total_cmp(&b.position_m().z).then(b.id().cmp(&a.id())).is_gt();
    let mut falling = Some(point);
    for place in highest {
        if falling.is_some_and(|new| place.is_none_or(|known| is_above(new, known))) {
            std::mem::swap(place, &mut falling);
        }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use selene_crm::Point;

    use super::push_down;

    fn point(id: u32, height_m: f64) -> Point {
        Point {
            position_m: Vector3::new(0.0, 0.0, height_m),
            velocity_m_s: Vector3::zeros(),
            affine_s: nalgebra::Matrix3::zeros(),
            stress_pa: nalgebra::Matrix3::zeros(),
            volume_ratio: 1.0,
            mass_mg: 1,
            id,
        }
    }

    #[test]
    fn the_highest_points_are_found_in_whatever_order_they_come() {
        let points = [point(0, 0.1), point(1, 0.4), point(2, 0.3), point(3, 0.4)];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]] {
            let mut highest = [None; 2];
            order.iter().for_each(|&at| push_down(&mut highest, &points[at]));
            assert_eq!(highest.map(|point| point.map(|point| point.id)), [Some(1), Some(3)]);
        }
    }
}
