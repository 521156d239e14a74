//! The points of a state, with what the last step found out about them: the next step need not read them all for that.

use std::ops::{Deref, DerefMut};

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};
use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::lanes::{Floats, LANES};
use crate::model::Model;
use crate::state::Point;

/// Points, as a vector.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Points {
    list: Vec<Point>,
    /// What `survey` finds in a grid; `None` once the points may have been changed.
    #[serde(skip)]
    known: Option<(Grid, PointStatistics)>,
}

impl Points {
    /// What is known of the points in the grid of a model.
    pub(crate) fn known(&self, model: &Model) -> Option<PointStatistics> {
        self.known.filter(|(grid, _)| grid == model.grid()).map(|(_, known)| known)
    }

    /// Swaps the points for others, of which `known` is known in the grid of a model.
    pub(crate) fn swap(&mut self, model: &Model, others: &mut Vec<Point>, known: PointStatistics) {
        std::mem::swap(&mut self.list, others);
        self.known = Some((*model.grid(), known));
    }
}

impl Deref for Points {
    type Target = Vec<Point>;

    fn deref(&self) -> &Vec<Point> {
        &self.list
    }
}

impl DerefMut for Points {
    fn deref_mut(&mut self) -> &mut Vec<Point> {
        self.known = None;
        &mut self.list
    }
}

impl Clone for Points {
    fn clone(&self) -> Self {
        Self { list: self.list.clone(), known: self.known }
    }

    /// Reuses the memory already allocated.
    fn clone_from(&mut self, source: &Self) {
        self.list.clone_from(&source.list);
        self.known = source.known;
    }
}

/// What is known of them follows from the points.
impl PartialEq for Points {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl<'a> IntoIterator for &'a Points {
    type Item = &'a Point;
    type IntoIter = std::slice::Iter<'a, Point>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a mut Points {
    type Item = &'a mut Point;
    type IntoIter = std::slice::IterMut<'a, Point>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// Findings about points at the end of a step, or before the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PointStatistics {
    /// Square of the greatest speed, (m/s)².
    pub(crate) square: f32,
    /// Largest distance of a point from its block, cells.
    pub(crate) beyond_cells: f64,
    /// Whether a point is invalid.
    pub(crate) is_bad: bool,
}

impl PointStatistics {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            square: self.square.max(other.square),
            beyond_cells: self.beyond_cells.max(other.beyond_cells),
            is_bad: self.is_bad || other.is_bad,
        }
    }
}

/// Looks at the points of a block.
pub(crate) fn survey(model: &Model, block: u32, points: &[Point]) -> PointStatistics {
    dispatch!(Level::new(), simd => survey_on(simd, model, block, points))
}

#[inline(always)]
fn survey_on<S: Simd>(simd: S, model: &Model, block: u32, points: &[Point]) -> PointStatistics {
    let block = model.layout.block_at(block);
    let mut found = PointStatistics::default();
    // Stays 0, and becomes NaN once any value is not finite.
    let mut nothing = Floats::splat(simd, 0.0);
    for point in points {
        let (affine, stress) = (point.affine_s.data.0.as_flattened(), point.stress_pa.data.0.as_flattened());
        let [x, y, z] = point.velocity_m_s.data.0[0];
        let others: Floats<S> = [x, y, z, affine[8], stress[8], point.volume_ratio, 0.0, 0.0].simd_into(simd);
        let many = Floats::from_slice(simd, &affine[..8]) * 0.0 + Floats::from_slice(simd, &stress[..8]) * 0.0;
        nothing += many + others * 0.0;
        found.square = found.square.max(x * x + y * y + z * z);
        let beyond_cells = model.layout.beyond_cells(point, block);
        let is_placed = point.position_m.iter().all(|along| along.is_finite()) && point.is_inside(model);
        found.is_bad |= !(is_placed && point.volume_ratio > 0.0);
        found.beyond_cells = found.beyond_cells.max(beyond_cells);
    }
    found.is_bad |= (0..LANES).any(|lane| nothing[lane] != 0.0);
    found
}
