//! Position-dependent random numbers: everything scattered over the ground is drawn cell by cell. Sizes are divided
//! into octaves. Each octave has its own square cells, with a side of a fixed number of its smallest diameters, and
//! each cell has its own random stream. So the craters and rocks of a place depend on the seed and the place alone, in
//! any order of visit.

use std::ops::{Range, RangeInclusive};

use selene_base::random::{self, Stream};

/// A square of the plane, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Square {
    /// Corner with the least x and y, m.
    pub(crate) low_m: [f64; 2],
    /// Length of a side, m.
    pub(crate) side_m: f64,
}

impl Square {
    /// Whether a circle around `at_m` may meet the square; compares their bounding boxes.
    pub(crate) fn meets(&self, at_m: [f64; 2], radius_m: f64) -> bool {
        let along = |axis: usize| {
            let from_low_m = at_m[axis] - self.low_m[axis];
            from_low_m >= -radius_m && from_low_m <= self.side_m + radius_m
        };
        along(0) && along(1)
    }
}

/// How one kind of object is divided into octaves and cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells {
    /// Name of the random streams.
    pub(crate) name: &'static str,
    /// Smallest diameter of octave 0, m.
    pub(crate) unit_m: f64,
    /// Side of a cell, in smallest diameters of its octave.
    pub(crate) side: f64,
}

/// One cell of one octave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) octave: i32,
    /// Column and row.
    pub(crate) at: [i64; 2],
}

impl Cells {
    /// The octaves that contain the diameters `diameters_m`.
    pub(crate) fn octaves(&self, diameters_m: &Range<f64>) -> RangeInclusive<i32> {
        let octave = |diameter_m: f64| (diameter_m / self.unit_m).log2();
        octave(diameters_m.start).floor() as i32..=octave(diameters_m.end).ceil() as i32 - 1
    }

    /// Range of diameters of an octave, m.
    pub(crate) fn diameters_m(&self, octave: i32) -> Range<f64> {
        self.unit_m * 2.0_f64.powi(octave)..self.unit_m * 2.0_f64.powi(octave + 1)
    }

    /// Side of an octave's cells, m.
    pub(crate) fn side_m(&self, octave: i32) -> f64 {
        self.side * self.diameters_m(octave).start
    }

    /// Columns and rows of an octave's cells that lie partly within `reach_m` of the square.
    pub(crate) fn span(&self, octave: i32, square: Square, reach_m: f64) -> [RangeInclusive<i64>; 2] {
        let cell = |m: f64| (m / self.side_m(octave)).floor() as i64;
        square.low_m.map(|low_m| cell(low_m - reach_m)..=cell(low_m + square.side_m + reach_m))
    }

    /// The cells of `span`, row by row.
    pub(crate) fn near(&self, octave: i32, square: Square, reach_m: f64) -> impl Iterator<Item = Cell> + use<> {
        let [columns, rows] = self.span(octave, square, reach_m);
        rows.flat_map(move |row| columns.clone().map(move |column| Cell { octave, at: [column, row] }))
    }

    /// Approximate number of cells on a square of `side_m`, over all octaves that contain the diameters `diameters_m`.
    pub(crate) fn count(&self, diameters_m: &Range<f64>, side_m: f64) -> f64 {
        self.octaves(diameters_m).map(|octave| (side_m / self.side_m(octave) + 1.0).powi(2)).sum()
    }

    /// Corner of a cell with the least x and y, m.
    pub(crate) fn low_m(&self, cell: Cell) -> [f64; 2] {
        cell.at.map(|at| at as f64 * self.side_m(cell.octave))
    }

    /// The random stream of a cell.
    pub(crate) fn stream(&self, seed: u64, cell: Cell) -> Stream {
        // 28 bits per coordinate and 8 for the octave: unique over 10⁸ cells each way.
        const BITS: u32 = 28;
        let [column, row] = cell.at.map(|at| at as u64 & ((1 << BITS) - 1));
        random::stream_at(seed, self.name, ((cell.octave as u64 & 0xff) << (2 * BITS)) | (column << BITS) | row)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Square};

    const CELLS: Cells = Cells { name: "test", unit_m: 0.5, side: 16.0 };

    #[test]
    fn octaves_hold_every_diameter_once() {
        assert_eq!(CELLS.octaves(&(0.5..4.0)), 0..=2);
        assert_eq!(CELLS.octaves(&(0.4..4.1)), -1..=3);
        for octave in CELLS.octaves(&(0.4..4.1)) {
            assert_eq!(CELLS.diameters_m(octave).end.to_bits(), CELLS.diameters_m(octave + 1).start.to_bits());
        }
    }

    #[test]
    fn cells_of_a_square_are_counted() {
        // Sides of 8, 16 and 32 m on 64 m, plus one each way for a square across cell borders.
        assert_eq!(CELLS.count(&(0.5..4.0), 64.0), 81.0 + 25.0 + 9.0);
    }

    #[test]
    fn cells_near_a_square_cover_it_and_its_reach() {
        let square = Square { low_m: [-10.0, 3.0], side_m: 5.0 };
        let near: Vec<_> = CELLS.near(0, square, 2.0).map(|cell| cell.at).collect();
        assert_eq!(near, [[-2, 0], [-1, 0], [-2, 1], [-1, 1]]);
    }
}
