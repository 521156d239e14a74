//! Selection of the rocks that windows show. Each window shows rocks larger than a diameter that follows from the
//! site's laws and the window's size: half of all are on the finest window, the rest on the others. Distant windows
//! thus show only large rocks, and what a window shows of a place does not depend on what it shows elsewhere, unless
//! there are too many rocks.

use std::borrow::Borrow;

use crate::lattice;
use crate::level::Level;
use crate::procedural::cell::Square;
use crate::procedural::landscape::Landscape;
use crate::procedural::tile_store::TileStore;
use crate::surface::rock::{DrawnRock, Rock, RockShape};

/// Factor by which the smallest diameter grows where there are too many rocks.
const SMALLEST_STEP: f64 = 1.2;

impl Landscape {
    /// The rocks on nested windows (finest first), each on the finest window that contains it, in order of their id. A
    /// window shows the rocks larger than a diameter that follows from the site's laws, so that `count_max` is kept;
    /// where craters give more rocks than that, a larger diameter applies.
    #[must_use]
    pub fn rocks_of(&self, levels: &[Level]) -> Vec<Rock> {
        let stones: Vec<_> = levels.iter().enumerate().map(|(level, window)| self.stones_on(level, window)).collect();
        self.rocks_among(&stones, levels)
    }

    /// The stones that a level's window may show, without regard to finer windows.
    pub(crate) fn stones_on(&self, level: usize, window: &Level) -> Vec<DrawnRock> {
        let square = Square { low_m: window.origin_m, side_m: window.side_m() };
        self.stones(square, self.smallest_m(level, window))
    }

    /// The rocks whose centre is on a page of the finest level, in order of their id: those that the finest window
    /// shows there, wherever the window lies.
    pub(crate) fn rocks_on_page(&self, tiles: &TileStore, page: &Level) -> Vec<Rock> {
        let side_m = page.posts as f64 * page.spacing_m;
        let square = Square { low_m: page.origin_m, side_m };
        let smallest_m = self.smallest_m(0, page);
        let is_on = |stone: &DrawnRock| (0..2).all(|axis| stone.at_m[axis] < square.low_m[axis] + side_m);
        let stones: Vec<_> = self.stones(square, smallest_m).into_iter().filter(is_on).collect();
        // Beyond the page's last posts the surface needs those of the next pages.
        let is_on_rim = |stone: &DrawnRock| lattice::height_m(page, stone.at_m).is_none();
        let wide = stones.iter().any(is_on_rim).then(|| self.page_with_rim(tiles, page));
        let level = wide.as_ref().unwrap_or(page);
        let mut rocks: Vec<_> =
            stones.iter().filter_map(|stone| Some(stone.lie(lattice::height_m(level, stone.at_m)?))).collect();
        rocks.sort_by_key(|rock| rock.id);
        rocks
    }

    /// Largest distance of a rock's surface from its centre, m.
    pub(crate) fn largest_rock_reach_m(&self) -> f64 {
        let reach = self.rock_shapes().iter().map(RockShape::reach).fold(0.0, f64::max);
        0.5 * self.spec().rocks.diameter_max_m * reach
    }

    /// The rocks of nested windows, from the stones of each.
    pub(crate) fn rocks_among<S: Borrow<[DrawnRock]>, L: Borrow<Level>>(
        &self,
        stones: &[S],
        levels: &[L],
    ) -> Vec<Rock> {
        let on = |(level, stones): (usize, &S)| self.rocks_on(level, stones.borrow(), levels);
        let mut rocks: Vec<_> = stones.iter().enumerate().flat_map(on).collect();
        rocks.sort_by_key(|rock| rock.id);
        rocks
    }

    /// The rocks on one of the nested windows that no finer one contains.
    fn rocks_on<L: Borrow<Level>>(&self, level: usize, stones: &[DrawnRock], levels: &[L]) -> Vec<Rock> {
        let window = levels[level].borrow();
        let is_beside = |stone: &&DrawnRock| {
            levels[..level].iter().all(|finer| lattice::height_m(finer.borrow(), stone.at_m).is_none())
        };
        let mut shown: Vec<_> = stones.iter().filter(is_beside).collect();
        let mut smallest_m = self.smallest_m(level, window);
        // The finest window keeps all its rocks: rays must see every rock that wheels meet.
        while level > 0 && shown.len() > self.share(level) {
            smallest_m *= SMALLEST_STEP;
            shown.retain(|stone| stone.diameter_m > smallest_m);
        }
        shown.iter().filter_map(|stone| Some(stone.lie(lattice::height_m(window, stone.at_m)?))).collect()
    }

    /// Most rocks that a window may show.
    fn share(&self, level: usize) -> usize {
        self.spec().rocks.share(level, self.spec().levels.len())
    }

    fn smallest_m(&self, level: usize, window: &Level) -> f64 {
        // On the finest level the diameter is the same everywhere: wheels and rays meet the same rocks.
        let side_m = if level == 0 { self.spec().levels[0].side_m } else { window.side_m() };
        self.spec().rocks.smallest_on(level, self.spec().levels.len(), side_m)
    }

    /// The rocks on a square that are larger than `diameter_min_m`.
    fn stones(&self, square: Square, diameter_min_m: f64) -> Vec<DrawnRock> {
        let law = &self.spec().rocks;
        let craters = |from_m: f64, radii: f64| self.craters_near(square, radii, &(from_m..f64::INFINITY));
        let mut stones = law.anywhere(self.seed(), square, diameter_min_m);
        stones.extend(law.around(self.seed(), square, diameter_min_m, craters));
        stones
    }
}
