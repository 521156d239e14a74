//! Positions of craters: drawn cell by cell (`cell`) from the site's law, so that a place has the same craters in any
//! order of visit.

use std::ops::Range;

use rand_distr::{Distribution, Poisson};
use selene_base::random::RngExt;

use crate::procedural::cell::{Cell, Cells, Square};
use crate::procedural::crater::Crater;
use crate::procedural::crater_age::{survival_yr, wear};
use crate::procedural::crater_law::CraterLaw;

/// A cell with a side of 16 smallest diameters contains five or six craters of the VIPER law.
pub(crate) const CELLS: Cells = Cells { name: "terrain/craters", unit_m: 1.0, side: 16.0 };
/// Distance between the rover's start and the nearest rim, m.
const START_CLEAR_M: f64 = 2.5;

impl CraterLaw {
    /// Mean number of craters in a cell, of the octave where it is largest.
    pub(crate) fn most_in_a_cell(&self) -> f64 {
        let octaves = CELLS.octaves(&(self.diameter_min_m..self.diameter_max_m));
        let mean = |octave: i32| {
            let [many, few] = self.densities_m2(octave);
            (many - few) * CELLS.side_m(octave).powi(2)
        };
        octaves.map(mean).fold(0.0, f64::max)
    }

    /// Approximate number of cells drawn on a square of `side_m` that shows craters of any size.
    pub(crate) fn cells_on(&self, side_m: f64) -> f64 {
        CELLS.count(&(self.diameter_min_m..self.diameter_max_m), side_m)
    }

    /// The craters with diameters of `diameters_m` within `radii` of their radii of the square, in an order that
    /// depends on their positions alone; craters whose rim comes near the start are left out.
    pub(crate) fn reaching(&self, seed: u64, square: Square, radii: f64, diameters_m: &Range<f64>) -> Vec<Crater> {
        let wanted_m = diameters_m.start.max(self.diameter_min_m)..diameters_m.end.min(self.diameter_max_m);
        if wanted_m.is_empty() {
            return Vec::new();
        }
        let is_wanted = |crater: &Crater| {
            wanted_m.contains(&crater.diameter_m)
                && square.meets(crater.at_m, radii * crater.radius_m())
                && crater.is_clear_of_the_start()
        };
        let reach_m = |octave: i32| radii / 2.0 * CELLS.diameters_m(octave).end;
        let of_octave = |octave: i32| {
            let cells = CELLS.near(octave, square, reach_m(octave));
            cells.flat_map(move |cell| self.of_cell(seed, cell, square, reach_m(octave)))
        };
        CELLS.octaves(&wanted_m).flat_map(of_octave).filter(is_wanted).collect()
    }

    /// Craters per m² larger than an octave's smallest and largest diameter.
    fn densities_m2(&self, octave: i32) -> [f64; 2] {
        self.limits_m(octave).map(|diameter_m| self.law.density_m2(diameter_m))
    }

    fn limits_m(&self, octave: i32) -> [f64; 2] {
        let octave_m = CELLS.diameters_m(octave);
        [octave_m.start.max(self.diameter_min_m), octave_m.end.min(self.diameter_max_m)]
    }

    /// The craters of a cell within `reach_m` of the square.
    fn of_cell(&self, seed: u64, cell: Cell, square: Square, reach_m: f64) -> Vec<Crater> {
        let [many, few] = self.densities_m2(cell.octave);
        let ([x, y], side_m) = (CELLS.low_m(cell), CELLS.side_m(cell.octave));
        let Ok(poisson) = Poisson::new((many - few) * side_m * side_m) else { return Vec::new() };
        let mut rng = CELLS.stream(seed, cell);
        let count = poisson.sample(&mut rng) as usize;
        let draws = (0..count).map(|_| rng.random::<[f64; 4]>());
        let placed = draws.map(|[u, v, size, age]| ([x + u * side_m, y + v * side_m], size, age));
        let near = placed.filter(|(at_m, ..)| square.meets(*at_m, reach_m));
        near.map(|(at_m, size, age)| {
            let diameter_m = self.diameter_m(few + (many - few) * size, self.limits_m(cell.octave));
            let age_yr = age * survival_yr(self, diameter_m);
            Crater { at_m, diameter_m, age_yr, wear: wear(diameter_m, age_yr) }
        })
        .collect()
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

    use crate::procedural::cell::Square;
    use crate::procedural::crater::Crater;
    use crate::procedural::crater_law::{CraterLaw, CraterSizes, NeukumSpec};
    use crate::procedural::crater_profile::REACH_MAX_RADII;
    use crate::procedural::law_fit::pareto_exponent;

    /// Tolerance of drawn numbers in standard deviations: one test in 16 000 fails by chance, and the seed is fixed.
    const SIGMAS: f64 = 4.0;

    fn law(law: CraterSizes) -> CraterLaw {
        CraterLaw { law, diameter_min_m: 0.3, diameter_max_m: 600.0 }
    }

    /// The craters with centres on a square far from the origin.
    fn craters(law: &CraterLaw, side_m: f64, from_m: f64) -> Vec<Crater> {
        let square = Square { low_m: [5000.0, -9000.0], side_m };
        law.reaching(5, square, 0.0, &(from_m..1e9))
    }

    #[test]
    fn as_many_craters_are_drawn_of_each_size_as_each_law_says() {
        let neukum = CraterSizes::Neukum(NeukumSpec { age_gyr: 1.0 });
        for (sizes, sides_m) in
            [(CraterSizes::Viper, [300.0, 3000.0]), (CraterSizes::Trask, [300.0, 3000.0]), (neukum, [40.0, 4000.0])]
        {
            let law = law(sizes);
            for (side_m, diameters_m) in sides_m.into_iter().zip([[1.0, 2.0, 4.0], [15.0, 40.0, 120.0]]) {
                let found = craters(&law, side_m, diameters_m[0]);
                for diameter_m in diameters_m {
                    let expected = (law.law.density_m2(diameter_m) - law.law.density_m2(600.0)) * side_m * side_m;
                    let count = found.iter().filter(|c| c.diameter_m > diameter_m).count() as f64;
                    let sigma = expected.sqrt();
                    assert!((count - expected).abs() < SIGMAS * sigma, "{sizes:?} {diameter_m} m: {count}, {expected}");
                }
            }
        }
    }

    #[test]
    fn the_exponents_of_the_laws_are_recovered_from_the_craters() {
        for (sizes, [from_m, to_m], side_m, exponent) in [
            (CraterSizes::Viper, [2.0, 80.0], 1000.0, 1.92),
            (CraterSizes::Viper, [100.0, 600.0], 30_000.0, 2.389),
            (CraterSizes::Trask, [2.0, 200.0], 1000.0, 2.0),
        ] {
            let sizes_m: Vec<_> = craters(&law(sizes), side_m, from_m).iter().map(|c| c.diameter_m).collect();
            let (found, error) = pareto_exponent(&sizes_m, [from_m, to_m]);
            assert!((found - exponent).abs() < SIGMAS * error, "{sizes:?}: {found} ± {error} for {exponent}");
            assert!(error < 0.1, "too few craters to compare: ± {error}");
        }
    }

    #[test]
    fn two_squares_agree_on_every_crater_that_reaches_both() {
        let law = law(CraterSizes::Viper);
        let all = |x: f64| law.reaching(5, Square { low_m: [x, 0.0], side_m: 100.0 }, REACH_MAX_RADII, &(0.5..1e9));
        let beside: BTreeSet<_> = all(100.0).iter().map(|c| c.at_m.map(f64::to_bits)).collect();
        let along_edge: Vec<_> = all(0.0).into_iter().filter(|c| c.at_m[0] > 100.0 - c.radius_m()).collect();
        assert!(along_edge.len() > 20);
        assert!(along_edge.iter().all(|c| beside.contains(&c.at_m.map(f64::to_bits))));
    }

    #[test]
    fn no_rim_comes_near_the_start() {
        let craters =
            law(CraterSizes::Viper).reaching(5, Square { low_m: [-150.0; 2], side_m: 300.0 }, 0.0, &(0.3..1e9));
        assert!(craters.iter().all(|c| c.at_m[0].hypot(c.at_m[1]) - c.radius_m() > 2.0));
    }
}
