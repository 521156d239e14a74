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
use selene_crm::SoilPiece;
use serde::{Deserialize, Serialize};

use crate::granular::solver::SoilSolver;
use crate::granular::state::{Particles, WindowState};
use crate::granular::window::{GranularError, GranularWindow};

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
    ///
    /// # Errors
    /// When the device fails on which the points are.
    pub fn loose_points(&self, state: &WindowState, solver: &mut SoilSolver) -> Result<Vec<LoosePoint>, GranularError> {
        let Some(particles) = state.particles() else { return Ok(Vec::new()) };
        let are_grains = matches!(particles, Particles::Grains(_));
        let open = self.highest(state, solver, &[])?.into_iter().flatten().flatten();
        let loose = open.filter(|piece| are_grains || self.is_loose(state, piece));
        let mut reported: Vec<_> = loose.map(|piece| self.reported(&piece)).collect();
        reported.sort_unstable_by_key(|point| point.id);
        Ok(reported)
    }

    /// Position of a loose point, map frame, m.
    #[must_use]
    pub fn place_m(&self, point: &LoosePoint) -> Vector3<f64> {
        let [low_m, side_m] = self.box_m();
        let along = |axis: usize, _| low_m[axis] + side_m[axis] * f64::from(point.place[axis]) / LAST;
        self.corner_m + Vector3::from_fn(along)
    }

    fn reported(&self, piece: &SoilPiece) -> LoosePoint {
        let [low_m, side_m] = self.box_m();
        // A point is always inside: the whole number is in its range.
        let along = |axis: usize| ((piece.position_m[axis] - low_m[axis]) / side_m[axis] * LAST).round() as u16;
        LoosePoint { place: [0, 1, 2].map(along), id: piece.id }
    }

    /// Low corner, relative to the grid's origin, and sides of the box that points may be in, m.
    fn box_m(&self) -> [Vector3<f64>; 2] {
        let cell_m = self.grid.cell_m;
        let side_m = Vector3::from(self.grid.size_m()).add_scalar(2.0 * cell_m);
        [Vector3::repeat(-cell_m), side_m]
    }

    /// Whether the ground under a point has moved, or the point is above the ground.
    fn is_loose(&self, state: &WindowState, point: &SoilPiece) -> bool {
        let at_m = [point.position_m.x, point.position_m.y];
        state.risen_m(self.posts.under(&at_m)).abs() >= MOVED_M || self.flies(state, point)
    }

    /// Whether a point is above the ground by half the points' distance or more.
    pub(crate) fn flies(&self, state: &WindowState, point: &SoilPiece) -> bool {
        let at_m = [point.position_m.x, point.position_m.y];
        let risen_m = state.risen_m(self.posts.under(&at_m));
        let [columns, rows] = self.posts.cells();
        let cell = |axis: usize, count: usize| ((at_m[axis] / self.grid.cell_m) as usize).min(count - 1);
        let top_m =
            state.tops_m().get(cell(1, rows) * columns + cell(0, columns)).map_or(0.0, |top_m| f64::from(*top_m));
        point.position_m.z - (top_m + risen_m) > 0.5 * self.spacing_m()
    }
}
