//! Which rocks windows show. Each window shows those larger than a diameter that follows
//! from the site's laws and its own size: half of all on the finest, the rest on the
//! others. So far windows show the large rocks alone, and what a window shows of a place
//! does not depend on what it shows elsewhere, unless there are too many.

use crate::cell::Square;
use crate::landscape::Landscape;
use crate::lattice;
use crate::level::Level;
use crate::rock::{Rock, Stone};

/// By how much the smallest diameter shown grows where there are too many rocks.
const SMALLEST_STEP: f64 = 1.2;

impl Landscape {
    /// The rocks on nested windows, finest first, each on the finest that has it, in
    /// order of their id. A window shows the rocks larger than a diameter that follows
    /// from the site's laws, so that `count_max` is kept; where craters leave more rocks
    /// than that, from a larger diameter on.
    #[must_use]
    pub fn rocks_of(&self, levels: &[Level]) -> Vec<Rock> {
        let mut rocks: Vec<_> = (0..levels.len()).flat_map(|level| self.rocks_on(level, levels)).collect();
        rocks.sort_by_key(|rock| rock.id);
        rocks
    }

    /// The rocks on one of nested windows that no finer one has.
    fn rocks_on(&self, level: usize, levels: &[Level]) -> Vec<Rock> {
        // Half of all lie on the finest window, the others share the rest.
        let beside = if level == 0 { 1 } else { levels.len() - 1 };
        let share = self.spec().rocks.count_max / beside / levels.len().min(2);
        let window = &levels[level];
        let square = Square { low_m: window.origin_m, side_m: window.side_m() };
        let mut smallest_m = self.spec().rocks.smallest_m(share as f64, square.side_m);
        let mut stones = self.stones(square, smallest_m);
        stones.retain(|stone| levels[..level].iter().all(|finer| lattice::height_m(finer, stone.at_m).is_none()));
        while stones.len() > share {
            smallest_m *= SMALLEST_STEP;
            stones.retain(|stone| stone.diameter_m > smallest_m);
        }
        stones.iter().filter_map(|stone| Some(stone.lie(lattice::height_m(window, stone.at_m)?))).collect()
    }

    /// The rocks on a square that are larger than `diameter_min_m`.
    fn stones(&self, square: Square, diameter_min_m: f64) -> Vec<Stone> {
        let law = &self.spec().rocks;
        let craters = |from_m: f64, radii: f64| self.craters_near(square, radii, &(from_m..f64::INFINITY));
        let mut stones = law.anywhere(self.seed(), square, diameter_min_m);
        stones.extend(law.around(self.seed(), square, diameter_min_m, craters));
        stones
    }
}
