//! Positions of rocks: drawn cell by cell (`cell`) from the site's laws, so that a place has the same rocks with the
//! same numbers in any order of visit. Rocks around craters are drawn everywhere at their highest density; each is kept
//! with the probability that the surrounding craters give its position.
//!
//! A rock's number is composed of its kind, octave, cell and index in the cell. Cells repeat every 1024, so two rocks
//! with the same number are 25 000 of their diameters apart.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use rand_distr::{Distribution, Poisson};
use selene_base::random::{RngExt, Stream};

use crate::procedural::cell::{Cell, Cells, Square};
use crate::procedural::crater::Crater;
use crate::procedural::rock_law::{CRATER_PER_ROCK, ROCKS_REACH_RADII, RockLaw, RockSizes, share_at};
use crate::surface::rock::{DrawnRock, LEAN_MAX_RAD, SHAPES};

/// Side of a cell, in smallest diameters: half a metre for rocks of 2 to 4 cm.
pub(crate) const CELL_SIDE: f64 = 25.0;
/// Smallest diameter of octave 0, m: the smallest that a law may have.
const UNIT_M: f64 = 0.02;
/// Cells of the rocks that lie anywhere, and of those around craters.
const ANYWHERE: Cells = Cells { name: "terrain/rocks", unit_m: UNIT_M, side: CELL_SIDE };
const AROUND_CRATERS: Cells = Cells { name: "terrain/crater_rocks", unit_m: UNIT_M, side: CELL_SIDE };
/// Bits of a rock's number: its index in the cell, the cell's column and row, and the octave; one more bit is its kind.
const TURN_BITS: u32 = 6;
const CELL_BITS: u32 = 10;
const OCTAVE_BITS: u32 = 4;
/// Expected density of rocks around craters in a window, relative to the highest: half of the most that synthterrain
/// allows to be blocky.
const SHARE_EXPECTED: f64 = 0.1;
/// Bisections that determine a diameter.
const HALVINGS: usize = 40;

impl RockLaw {
    /// Mean number of rocks of an octave in a cell, for the octave where it is largest; rock numbers allow for 64.
    pub(crate) fn most_in_a_cell(&self) -> f64 {
        let laws = std::iter::once(self.law).chain(self.around_craters.map(|around| around.law));
        let octaves = ANYWHERE.octaves(&(self.diameter_min_m..self.diameter_max_m));
        laws.flat_map(|law| octaves.clone().map(move |octave| self.mean_in_cell(law, octave))).fold(0.0, f64::max)
    }

    /// Approximate number of cells drawn on a square of `side_m` that shows rocks from `smallest_m` on.
    pub(crate) fn cells_on(&self, smallest_m: f64, side_m: f64) -> f64 {
        ANYWHERE.count(&(smallest_m..self.diameter_max_m), side_m)
    }

    /// Most rocks that the window of a level shows on a site with `levels` levels: half of all are on the finest level,
    /// the others share the rest.
    pub(crate) fn share(&self, level: usize, levels: usize) -> usize {
        let beside = if level == 0 { 1 } else { levels - 1 };
        self.count_max / beside / levels.clamp(1, 2)
    }

    /// Smallest diameter of the rocks that the window of a level shows, m.
    pub(crate) fn smallest_on(&self, level: usize, levels: usize, side_m: f64) -> f64 {
        self.smallest_m(self.share(level, levels) as f64, side_m)
    }

    /// Smallest diameter, m, for which a square of `side_m` is expected to show at most `count` rocks, with a margin of
    /// three standard deviations.
    pub(crate) fn smallest_m(&self, count: f64, side_m: f64) -> f64 {
        const SIGMAS: f64 = 3.0;
        // The mean m that satisfies m + 3 √m = count.
        let mean = ((count + (SIGMAS / 2.0).powi(2)).sqrt() - SIGMAS / 2.0).powi(2);
        let [mut low, mut high] = [self.diameter_min_m, self.diameter_max_m];
        let few = self.expected_m2(high);
        let too_many = |diameter_m: f64| (self.expected_m2(diameter_m) - few) * side_m.powi(2) > mean;
        if !too_many(low) {
            return low;
        }
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            if too_many(middle) { low = middle } else { high = middle }
        }
        high
    }

    /// Expected number of rocks larger than `diameter_m` per m².
    pub(crate) fn expected_m2(&self, diameter_m: f64) -> f64 {
        let around = self.around_craters.map_or(0.0, |around| around.law.density_m2(diameter_m));
        self.law.density_m2(diameter_m) + SHARE_EXPECTED * around
    }

    /// The rocks on a square that are larger than `diameter_min_m` and belong to no crater; none near the start.
    pub(crate) fn anywhere(&self, seed: u64, square: Square, diameter_min_m: f64) -> Vec<DrawnRock> {
        let wanted_m = self.wanted_m(diameter_min_m);
        let cells = octaves(&wanted_m).flat_map(|octave| ANYWHERE.near(octave, square, 0.0));
        let stones = cells.flat_map(|cell| self.of_cell(seed, ANYWHERE, self.law, cell));
        stones.filter(|stone| self.is_wanted(stone, square, &wanted_m)).collect()
    }

    /// The rocks that craters have excavated, as `anywhere`; `craters` returns the craters from a diameter on that lie
    /// within a number of their radii of the square.
    pub(crate) fn around(
        &self,
        seed: u64,
        square: Square,
        diameter_min_m: f64,
        craters: impl Fn(f64, f64) -> Vec<Crater>,
    ) -> Vec<DrawnRock> {
        let Some(around) = self.around_craters else { return Vec::new() };
        let wanted_m = self.wanted_m(diameter_min_m);
        let of_octave = |octave: i32| {
            let smallest_m = CRATER_PER_ROCK * AROUND_CRATERS.diameters_m(octave).start;
            let craters = craters(smallest_m.max(around.crater_diameter_min_m), ROCKS_REACH_RADII);
            let of_cell = move |(at, near): ([i64; 2], Vec<Crater>)| {
                let mut stones = self.of_cell(seed, AROUND_CRATERS, around.law, Cell { octave, at });
                stones.retain(|stone| stone.luck < share_at(stone.at_m, &near));
                stones
            };
            by_cell(&craters, octave, square).into_iter().flat_map(of_cell)
        };
        octaves(&wanted_m).flat_map(of_octave).filter(|stone| self.is_wanted(stone, square, &wanted_m)).collect()
    }

    fn wanted_m(&self, diameter_min_m: f64) -> Range<f64> {
        diameter_min_m.max(self.diameter_min_m)..self.diameter_max_m
    }

    fn is_wanted(&self, stone: &DrawnRock, square: Square, wanted_m: &Range<f64>) -> bool {
        let [x, y] = stone.at_m;
        wanted_m.contains(&stone.diameter_m)
            && square.meets(stone.at_m, 0.0)
            && x.hypot(y) - stone.diameter_m > self.clear_radius_m
    }

    /// Rocks per m² larger than an octave's smallest and largest diameter.
    fn densities_m2(&self, law: RockSizes, octave: i32) -> [f64; 2] {
        let octave_m = ANYWHERE.diameters_m(octave);
        [octave_m.start.max(self.diameter_min_m), octave_m.end.min(self.diameter_max_m)].map(|m| law.density_m2(m))
    }

    fn mean_in_cell(&self, law: RockSizes, octave: i32) -> f64 {
        let [many, few] = self.densities_m2(law, octave);
        (many - few).max(0.0) * ANYWHERE.side_m(octave).powi(2)
    }

    /// All rocks of a cell.
    fn of_cell(&self, seed: u64, cells: Cells, law: RockSizes, cell: Cell) -> Vec<DrawnRock> {
        let Ok(poisson) = Poisson::new(self.mean_in_cell(law, cell.octave)) else { return Vec::new() };
        let [many, few] = self.densities_m2(law, cell.octave);
        let ([x, y], side_m) = (cells.low_m(cell), cells.side_m(cell.octave));
        let mut rng = cells.stream(seed, cell);
        let count = (poisson.sample(&mut rng) as u32).min(1 << TURN_BITS);
        let kind = u32::from(cells.name != ANYWHERE.name);
        let one = |turn| {
            let at_m = [x + rng.random::<f64>() * side_m, y + rng.random::<f64>() * side_m];
            let diameter_m = law.diameter_m(few + (many - few) * rng.random::<f64>());
            stone(&mut rng, number(kind, cell, turn), at_m, diameter_m)
        };
        (0..count).map(one).collect()
    }
}

/// The cells of a square within the reach of craters' rocks, each with those craters.
fn by_cell(craters: &[Crater], octave: i32, square: Square) -> BTreeMap<[i64; 2], Vec<Crater>> {
    let mut cells: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let of_square = AROUND_CRATERS.span(octave, square, 0.0);
    for crater in craters {
        let middle = Square { low_m: crater.at_m, side_m: 0.0 };
        let of_crater = AROUND_CRATERS.span(octave, middle, ROCKS_REACH_RADII * crater.radius_m());
        // A large crater has too many cells to visit them all.
        let [columns, rows] = [0, 1].map(|axis| shared(&of_square[axis], &of_crater[axis]));
        for row in rows {
            for column in columns.clone() {
                cells.entry([column, row]).or_default().push(*crater);
            }
        }
    }
    cells
}

/// Intersection of two ranges.
fn shared(a: &RangeInclusive<i64>, b: &RangeInclusive<i64>) -> RangeInclusive<i64> {
    *a.start().max(b.start())..=*a.end().min(b.end())
}

fn octaves(diameters_m: &Range<f64>) -> Range<i32> {
    let octaves = ANYWHERE.octaves(diameters_m);
    if diameters_m.is_empty() { 0..0 } else { *octaves.start()..octaves.end() + 1 }
}

fn number(kind: u32, cell: Cell, turn: u32) -> u32 {
    let low = |value: i64, bits: u32| value as u32 & ((1 << bits) - 1);
    let [column, row] = cell.at.map(|at| low(at, CELL_BITS));
    let octave = (kind << OCTAVE_BITS) | low(i64::from(cell.octave), OCTAVE_BITS);
    (((((octave << CELL_BITS) | column) << CELL_BITS) | row) << TURN_BITS) | turn
}

fn stone(rng: &mut Stream, id: u32, at_m: [f64; 2], diameter_m: f64) -> DrawnRock {
    DrawnRock {
        id,
        at_m,
        diameter_m,
        shape: rng.random_range(0..SHAPES),
        yaw_rad: rng.random_range(0.0..std::f64::consts::TAU),
        lean_rad: [rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD), rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD)],
        sunk: rng.random_range(-0.45..0.3),
        luck: rng.random(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::procedural::cell::Square;
    use crate::procedural::crater::Crater;
    use crate::procedural::law_fit::pareto_exponent;
    use crate::procedural::rock_law::{CraterRocksSpec, RockLaw, RockSizes, share_at};

    /// Tolerance of drawn numbers in standard deviations: one test in 16 000 fails by chance, and the seed is fixed.
    const SIGMAS: f64 = 4.0;

    fn law(law: RockSizes) -> RockLaw {
        let around = CraterRocksSpec { law: RockSizes::Haworth, crater_diameter_min_m: 5.0 };
        RockLaw {
            law,
            around_craters: Some(around),
            diameter_min_m: 0.02,
            diameter_max_m: 5.0,
            clear_radius_m: 2.0,
            count_max: 100_000,
        }
    }

    fn square(side_m: f64) -> Square {
        Square { low_m: [-740.0, 2900.0], side_m }
    }

    #[test]
    fn the_laws_of_rocks_are_recovered_from_the_rocks() {
        for (sizes, side_m, exponent) in [
            (RockSizes::BetweenCraters, 200.0, 1.75457),
            (RockSizes::Viper, 60.0, 2.482),
            (RockSizes::Haworth, 25.0, 2.6607),
        ] {
            let stones = law(sizes).anywhere(3, square(side_m), 0.02);
            let sizes_m: Vec<_> = stones.iter().map(|stone| stone.diameter_m).collect();
            let (found, error) = pareto_exponent(&sizes_m, [0.02, 5.0]);
            assert!((found - exponent).abs() < SIGMAS * error && error < 0.05, "{sizes:?}: {found} ± {error}");
            let expected = (sizes.density_m2(0.02) - sizes.density_m2(5.0)) * side_m * side_m;
            let sigma = expected.sqrt();
            assert!(
                (stones.len() as f64 - expected).abs() < SIGMAS * sigma,
                "{sizes:?}: {} for {expected}",
                stones.len()
            );
        }
    }

    #[test]
    fn rocks_around_a_crater_are_weighted_as_its_rim_requires() {
        let crater = Crater { at_m: [-640.0, 3000.0], diameter_m: 60.0, age_yr: 1e9, wear: 0.0 };
        let stones = law(RockSizes::Viper).around(3, square(200.0), 0.05, |_, _| vec![crater]);
        let radii = |at: [f64; 2]| (at[0] - crater.at_m[0]).hypot(at[1] - crater.at_m[1]) / 30.0;
        let density_m2 = RockSizes::Haworth.density_m2(0.05) - RockSizes::Haworth.density_m2(5.0);
        for [from, to] in [[0.0, 1.0], [1.0, 1.3], [1.3, 1.7], [1.7, 2.0]] {
            let rings = (0..1000).map(|i| from + (to - from) * (f64::from(i) + 0.5) / 1000.0);
            let ring_m2 = |r: f64| std::f64::consts::TAU * r * (to - from) / 1000.0 * 900.0;
            let at = |r: f64| [crater.at_m[0] + 30.0 * r, crater.at_m[1]];
            let expected: f64 = rings.map(|r| density_m2 * ring_m2(r) * share_at(at(r), &[crater])).sum();
            let found = stones.iter().filter(|stone| (from..to).contains(&radii(stone.at_m))).count() as f64;
            assert!((found - expected).abs() < SIGMAS * expected.sqrt(), "{from} to {to} radii: {found}, {expected}");
        }
        assert!(stones.iter().all(|stone| radii(stone.at_m) < 2.0));
    }

    #[test]
    fn rocks_of_a_place_are_those_of_any_square_around_it() {
        let small = Square { low_m: [-700.0, 2950.0], side_m: 6.0 };
        let around = law(RockSizes::Viper).anywhere(3, square(90.0), 0.03);
        let within: Vec<_> = around.into_iter().filter(|stone| small.meets(stone.at_m, 0.0)).collect();
        assert!(within.len() > 30);
        assert_eq!(law(RockSizes::Viper).anywhere(3, small, 0.03), within);
    }

    #[test]
    fn rocks_of_a_crater_of_tens_of_kilometres_are_drawn_only_where_they_are_requested() {
        // The smallest rocks around this crater have 6e10 cells.
        let crater = Crater { at_m: [-32_200.0, 2900.0], diameter_m: 60_000.0, age_yr: 0.0, wear: 0.0 };
        let rocks = |square| law(RockSizes::Viper).around(3, square, 0.02, |_, _| vec![crater]);
        let small = Square { low_m: [-700.0, 2950.0], side_m: 6.0 };
        let around = rocks(square(90.0));
        let within: Vec<_> = around.into_iter().filter(|stone| small.meets(stone.at_m, 0.0)).collect();
        assert!(within.len() > 300, "{}", within.len());
        assert_eq!(rocks(small), within);
    }

    #[test]
    fn no_two_rocks_of_a_window_have_one_number() {
        let crater = Crater { at_m: [-720.0, 2920.0], diameter_m: 30.0, age_yr: 0.0, wear: 0.0 };
        let mut stones = law(RockSizes::Viper).anywhere(3, square(80.0), 0.0);
        stones.extend(law(RockSizes::Viper).around(3, square(80.0), 0.0, |_, _| vec![crater]));
        let numbers: BTreeSet<_> = stones.iter().map(|stone| stone.id).collect();
        assert!(stones.len() > 30_000 && numbers.len() == stones.len(), "{}", stones.len());
        assert!(numbers.iter().all(|&id| id < 1 << 31));
    }

    #[test]
    fn a_square_shows_as_many_rocks_as_it_may() {
        let law = law(RockSizes::Viper);
        for (count, side_m) in [(500.0, 61.0), (500.0, 1300.0), (1e6, 10.0)] {
            let smallest_m = law.smallest_m(count, side_m);
            let mean = (law.expected_m2(smallest_m) - law.expected_m2(5.0)) * side_m * side_m;
            assert!(mean + 3.0 * mean.sqrt() <= count * (1.0 + 1e-6) && (mean > 0.7 * count || smallest_m == 0.02));
        }
    }
}
