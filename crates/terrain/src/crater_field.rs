//! Which craters lie where: drawn cell by cell (`cell`) from the site's law, so that a
//! place's craters are the same whatever is looked at first.

use std::ops::Range;

use rand_distr::{Distribution, Poisson};
use selene_base::random::RngExt;

use crate::cell::{Cell, Cells, Square};
use crate::crater::{Crater, REACH_RADII};
use crate::site::CraterLaw;

/// A cell of 16 smallest diameters holds five or six craters of the VIPER law.
const CELLS: Cells = Cells { name: "terrain/craters", unit_m: 1.0, side: 16.0 };
/// Exponent that turns an even random number into degradation: most craters are old.
const AGE_SKEW: f64 = 0.6;
/// Distance between the rover's start and the nearest rim, m.
const START_CLEAR_M: f64 = 2.5;

impl CraterLaw {
    /// The craters with diameters of `diameters_m` whose profiles may reach the square,
    /// in an order that depends on their places alone; none whose rim comes near the start.
    pub(crate) fn reaching(&self, seed: u64, square: Square, diameters_m: &Range<f64>) -> Vec<Crater> {
        let wanted_m = diameters_m.start.max(self.diameter_min_m)..diameters_m.end.min(self.diameter_max_m);
        if wanted_m.is_empty() {
            return Vec::new();
        }
        let is_wanted = |crater: &Crater| {
            wanted_m.contains(&crater.diameter_m)
                && square.meets(crater.at_m, REACH_RADII * crater.radius_m())
                && crater.is_clear_of_the_start()
        };
        let reach_m = |octave: i32| REACH_RADII / 2.0 * CELLS.diameters_m(octave).end;
        let cells = CELLS.octaves(&wanted_m).flat_map(|octave| CELLS.near(octave, square, reach_m(octave)));
        cells.flat_map(|cell| self.of_cell(seed, cell)).filter(is_wanted).collect()
    }

    /// All craters of a cell.
    fn of_cell(&self, seed: u64, cell: Cell) -> Vec<Crater> {
        let octave_m = CELLS.diameters_m(cell.octave);
        let [many, few] = [octave_m.start.max(self.diameter_min_m), octave_m.end.min(self.diameter_max_m)]
            .map(|diameter_m| self.density_m2(diameter_m));
        let ([x, y], side_m) = (CELLS.low_m(cell), CELLS.side_m(cell.octave));
        let Ok(poisson) = Poisson::new((many - few) * side_m * side_m) else { return Vec::new() };
        let mut rng = CELLS.stream(seed, cell);
        let count = poisson.sample(&mut rng) as usize;
        let one = |_| Crater {
            at_m: [x + rng.random::<f64>() * side_m, y + rng.random::<f64>() * side_m],
            diameter_m: self.diameter_m(few + (many - few) * rng.random::<f64>()),
            degradation: rng.random::<f64>().powf(AGE_SKEW),
        };
        (0..count).map(one).collect()
    }
}

impl Crater {
    fn is_clear_of_the_start(&self) -> bool {
        let [x, y] = self.at_m;
        x.hypot(y) > self.radius_m() + START_CLEAR_M
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::cell::Square;
    use crate::site::CraterLaw;

    const VIPER: CraterLaw = CraterLaw {
        density_1m_km2: 29_174.0,
        slope: 1.92,
        knee_m: 80.0,
        slope_above_knee: 2.389,
        diameter_min_m: 0.3,
        diameter_max_m: 600.0,
    };

    #[test]
    fn drawn_craters_follow_the_size_law_within_its_confidence() {
        // Four standard deviations of a Poisson count: one test in 16 000 fails by chance, and the seed is fixed.
        const SIGMAS: f64 = 4.0;
        let square = Square { low_m: [5000.0, -9000.0], side_m: 2000.0 };
        let mut craters = VIPER.reaching(5, square, &(1.0..1e9));
        craters.retain(|crater| square.meets(crater.at_m, 0.0));
        for diameter_m in [1.0, 2.0, 5.0, 20.0, 100.0] {
            let expected = (VIPER.density_m2(diameter_m) - VIPER.density_m2(600.0)) * square.side_m.powi(2);
            let found = craters.iter().filter(|c| c.diameter_m > diameter_m).count() as f64;
            assert!((found - expected).abs() < SIGMAS * expected.sqrt(), "{diameter_m} m: {found} for {expected}");
        }
        assert!((VIPER.density_m2(1.0) - 0.029_174).abs() < 1e-9);
    }

    #[test]
    fn two_squares_agree_on_every_crater_that_reaches_both() {
        let all = |low_m| VIPER.reaching(5, Square { low_m, side_m: 100.0 }, &(0.5..1e9));
        let bits = |low_m| -> BTreeSet<_> { all(low_m).iter().map(|c| c.at_m.map(f64::to_bits)).collect() };
        let [here, beside] = [[0.0, 0.0], [100.0, 0.0]].map(bits);
        let along_edge = all([0.0, 0.0]).into_iter().filter(|c| c.at_m[0] > 100.0 - c.radius_m());
        assert!(along_edge.clone().count() > 20);
        assert!(along_edge.map(|c| c.at_m.map(f64::to_bits)).all(|at| beside.contains(&at)));
        assert!(here != beside);
    }

    #[test]
    fn no_rim_comes_near_the_start() {
        let craters = VIPER.reaching(5, Square { low_m: [-150.0; 2], side_m: 300.0 }, &(0.3..1e9));
        assert!(craters.iter().all(|c| c.at_m[0].hypot(c.at_m[1]) - c.radius_m() > 2.0));
    }
}
