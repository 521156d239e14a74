//! Spatial index of rocks: a uniform grid over a square, built once. A rock is listed in every cell that its bounding
//! circle meets; a search returns it in the first of its cells that it visits. Each rock thus comes once, in an order
//! that depends on the position alone.

use crate::surface::rock::{Rock, RockShape};

/// Least side of a cell, m: a wheel's search visits one to four cells.
const CELL_M: f64 = 2.0;
/// Most cells along a side; a longer level has larger cells.
const CELLS_MAX: f64 = 512.0;

/// The rocks of each cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct RockGrid {
    origin_m: [f64; 2],
    cell_m: f64,
    cells: usize,
    /// Index of each cell's first rock in `entries`, and one last element for the end.
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    rock: u32,
    /// First column and row of the cells in which the rock is listed.
    first: [u32; 2],
    centre_m: [f64; 2],
    reach_m: f64,
}

impl RockGrid {
    /// Indexes the rocks that reach onto the square with the corner `origin_m` and sides of `side_m`.
    pub(crate) fn new(origin_m: [f64; 2], side_m: f64, rocks: &[Rock], shapes: &[RockShape]) -> Self {
        let cell_m = CELL_M.max(side_m / CELLS_MAX);
        let cells = (side_m / cell_m).ceil().max(1.0) as usize;
        let mut grid = Self { origin_m, cell_m, cells, ..Self::default() };
        let reaches: Vec<_> = shapes.iter().map(RockShape::reach).collect();
        let mut listed: Vec<(usize, Entry)> = Vec::new();
        for (rock, at) in rocks.iter().zip(0..) {
            grid.list(rock, at, reaches.get(rock.shape).copied().unwrap_or(1.0), &mut listed);
        }
        // The sort is stable: within a cell, rocks keep their order.
        listed.sort_by_key(|(cell, _)| *cell);
        grid.starts = (0..=cells * cells).map(|cell| listed.partition_point(|(c, _)| *c < cell) as u32).collect();
        grid.entries = listed.into_iter().map(|(_, entry)| entry).collect();
        grid
    }

    fn list(&self, rock: &Rock, at: u32, reach: f64, listed: &mut Vec<(usize, Entry)>) {
        let centre = rock.world_from_rock.translation;
        let (centre_m, reach_m) = ([centre.x, centre.y], reach * rock.radius_m);
        let Some([columns, rows]) = self.span(centre_m, reach_m) else { return };
        let first = [columns.0 as u32, rows.0 as u32];
        for row in rows.0..=rows.1 {
            for column in columns.0..=columns.1 {
                listed.push((row * self.cells + column, Entry { rock: at, first, centre_m, reach_m }));
            }
        }
    }

    /// First and last column and row of the cells that a circle meets; none outside the level.
    fn span(&self, centre_m: [f64; 2], radius_m: f64) -> Option<[(usize, usize); 2]> {
        let along = |axis: usize| {
            let cell = |m: f64| ((m - self.origin_m[axis]) / self.cell_m).floor();
            let (low, high) = (cell(centre_m[axis] - radius_m), cell(centre_m[axis] + radius_m));
            let last = self.cells as f64 - 1.0;
            (high >= 0.0 && low <= last).then(|| (low.max(0.0) as usize, high.min(last) as usize))
        };
        Some([along(0)?, along(1)?])
    }

    /// Indices of the rocks whose bounding circles meet the circle around a position.
    pub(crate) fn near(&self, x: f64, y: f64, radius_m: f64) -> impl Iterator<Item = usize> + '_ {
        let [columns, rows] = self.span([x, y], radius_m).unwrap_or([(1, 0), (1, 0)]);
        let cells = (rows.0..=rows.1).flat_map(move |row| (columns.0..=columns.1).map(move |column| (column, row)));
        cells.flat_map(move |(column, row)| {
            let cell = row * self.cells + column;
            let range = self.starts[cell] as usize..self.starts[cell + 1] as usize;
            let is_first = move |entry: &&Entry| {
                let [first_column, first_row] = entry.first.map(|first| first as usize);
                column == columns.0.max(first_column) && row == rows.0.max(first_row)
            };
            let meets =
                move |entry: &&Entry| (entry.centre_m[0] - x).hypot(entry.centre_m[1] - y) <= radius_m + entry.reach_m;
            self.entries[range].iter().filter(is_first).filter(meets).map(|entry| entry.rock as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RockGrid;
    use crate::surface::rock::{Rock, shapes};
    use selene_base::Pose;
    use std::collections::BTreeSet;

    #[test]
    fn every_rock_that_is_near_is_reported_once() {
        let shapes = shapes(1);
        let place = |i: u32, k: u32| f64::from(i * k % 997) / 997.0 * 44.0 - 22.0;
        let rocks: Vec<_> = (0..400)
            .map(|id| Rock {
                id,
                shape: id as usize % shapes.len(),
                world_from_rock: Pose::translation(place(id, 37), place(id, 101), 0.0),
                radius_m: 0.05 + f64::from(id % 40) * 0.05,
            })
            .collect();
        let grid = RockGrid::new([-20.0, -20.0], 40.0, &rocks, &shapes);
        for (x, y, radius_m) in [(0.0, 0.0, 0.3), (3.9, -7.1, 2.5), (19.9, 19.9, 0.3), (-12.0, 5.0, 9.0)] {
            let found: Vec<_> = grid.near(x, y, radius_m).collect();
            let set: BTreeSet<_> = found.iter().copied().collect();
            assert_eq!(set.len(), found.len(), "a rock came twice");
            for (i, rock) in rocks.iter().enumerate() {
                let at = rock.world_from_rock.translation;
                let is_near = (at.x - x).hypot(at.y - y) <= radius_m + shapes[rock.shape].reach() * rock.radius_m;
                let on_level = at.x.abs() < 20.0 && at.y.abs() < 20.0;
                assert!(set.contains(&i) == is_near || !on_level, "rock {i}");
            }
        }
        assert_eq!(grid.near(f64::NAN, 0.0, 1.0).count(), 0);
        assert_eq!(grid.near(500.0, 0.0, 1.0).count(), 0);
    }
}
