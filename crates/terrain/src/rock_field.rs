//! Which rocks lie where: drawn cell by cell (`cell`) from the site's law, so that a
//! place's rocks, their numbers too, are the same whatever is looked at first. A rock's
//! number is put together from its octave, cell and turn: cells repeat every 1024, so
//! two rocks of one number are at least 1000 cells, 50 000 of their diameters, apart.

use rand_distr::{Distribution, Poisson};
use selene_base::random::{RngExt, Stream};

use crate::cell::{Cell, Cells, Square};
use crate::rock::{LEAN_MAX_RAD, SHAPES, Stone};
use crate::site::RockLaw;

/// A cell is 1 m long for rocks of 2 to 4 cm, and so on.
const CELLS: Cells = Cells { name: "terrain/rocks", unit_m: 0.02, side: 50.0 };
/// Bits of a rock's number: its turn in the cell, the cell's column and row, the octave.
const TURN_BITS: u32 = 7;
const CELL_BITS: u32 = 10;

impl RockLaw {
    /// Rocks of an octave that a cell holds on average, where that is most: a law may ask
    /// for as many as numbers leave room for.
    pub(crate) fn most_in_a_cell(&self) -> f64 {
        let octaves = CELLS.octaves(&(self.diameter_min_m..self.diameter_max_m));
        octaves.map(|octave| self.mean_in_cell(octave)).fold(0.0, f64::max)
    }

    /// The diameter from which on a square of `side_m` shows rocks, so that it has at
    /// most `count` of them with six standard deviations to spare.
    pub(crate) fn smallest_m(&self, count: f64, side_m: f64) -> f64 {
        const SIGMAS: f64 = 6.0;
        // The mean m with m + 6 √m = count.
        let mean = ((count + (SIGMAS / 2.0).powi(2)).sqrt() - SIGMAS / 2.0).powi(2);
        self.diameter_of(mean / side_m.powi(2) + self.density_m2(self.diameter_max_m))
    }

    /// Densities of rocks larger than an octave's smallest and largest.
    fn densities_m2(&self, octave: i32) -> [f64; 2] {
        let octave_m = CELLS.diameters_m(octave);
        [octave_m.start.max(self.diameter_min_m), octave_m.end.min(self.diameter_max_m)].map(|m| self.density_m2(m))
    }

    fn mean_in_cell(&self, octave: i32) -> f64 {
        let [many, few] = self.densities_m2(octave);
        (many - few).max(0.0) * CELLS.side_m(octave).powi(2)
    }

    /// The rocks on a square that are larger than `diameter_min_m`, none near the start.
    pub(crate) fn on(&self, seed: u64, square: Square, diameter_min_m: f64) -> Vec<Stone> {
        let wanted_m = diameter_min_m.max(self.diameter_min_m)..self.diameter_max_m;
        if wanted_m.is_empty() {
            return Vec::new();
        }
        let is_wanted = |stone: &Stone| {
            let [x, y] = stone.at_m;
            wanted_m.contains(&stone.diameter_m)
                && square.meets(stone.at_m, 0.0)
                && x.hypot(y) - stone.diameter_m > self.clear_radius_m
        };
        let cells = CELLS.octaves(&wanted_m).flat_map(|octave| CELLS.near(octave, square, 0.0));
        cells.flat_map(|cell| self.of_cell(seed, cell)).filter(is_wanted).collect()
    }

    /// All rocks of a cell.
    fn of_cell(&self, seed: u64, cell: Cell) -> Vec<Stone> {
        let Ok(poisson) = Poisson::new(self.mean_in_cell(cell.octave)) else { return Vec::new() };
        let [many, few] = self.densities_m2(cell.octave);
        let ([x, y], side_m) = (CELLS.low_m(cell), CELLS.side_m(cell.octave));
        let mut rng = CELLS.stream(seed, cell);
        let count = (poisson.sample(&mut rng) as u32).min(1 << TURN_BITS);
        let one = |turn| {
            let at_m = [x + rng.random::<f64>() * side_m, y + rng.random::<f64>() * side_m];
            let diameter_m = self.diameter_of(few + (many - few) * rng.random::<f64>());
            stone(&mut rng, number(cell, turn), at_m, diameter_m)
        };
        (0..count).map(one).collect()
    }
}

fn number(cell: Cell, turn: u32) -> u32 {
    let [column, row] = cell.at.map(|at| at as u32 & ((1 << CELL_BITS) - 1));
    let cell_number = ((cell.octave as u32 & 0xf) << (2 * CELL_BITS)) | (column << CELL_BITS) | row;
    (cell_number << TURN_BITS) | turn
}

fn stone(rng: &mut Stream, id: u32, at_m: [f64; 2], diameter_m: f64) -> Stone {
    Stone {
        id,
        at_m,
        diameter_m,
        shape: rng.random_range(0..SHAPES),
        yaw_rad: rng.random_range(0.0..std::f64::consts::TAU),
        lean_rad: [rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD), rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD)],
        sunk: rng.random_range(-0.45..0.3),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::cell::Square;
    use crate::site::RockLaw;

    const VIPER: RockLaw = RockLaw {
        density_1m_m2: 3e-4,
        slope: 2.482,
        diameter_min_m: 0.02,
        diameter_max_m: 5.0,
        clear_radius_m: 2.0,
        count_max: 100_000,
    };

    #[test]
    fn rocks_of_a_place_are_those_of_any_square_around_it() {
        let small = Square { low_m: [30.0, -7.0], side_m: 6.0 };
        let around = VIPER.on(3, Square { low_m: [-20.0, -40.0], side_m: 90.0 }, 0.03);
        let within: Vec<_> = around.into_iter().filter(|stone| small.meets(stone.at_m, 0.0)).collect();
        assert!(within.len() > 30);
        assert_eq!(VIPER.on(3, small, 0.03), within);
    }

    #[test]
    fn no_two_rocks_of_a_window_have_one_number() {
        let stones = VIPER.on(3, Square { low_m: [-40.0, 900.0], side_m: 80.0 }, 0.0);
        let numbers: BTreeSet<_> = stones.iter().map(|stone| stone.id).collect();
        assert!(stones.len() > 20_000 && numbers.len() == stones.len());
    }
}
