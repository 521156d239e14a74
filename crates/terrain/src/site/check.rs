//! Checks across a site's keys: levels must nest, a raster's posts must be those of a level, and laws must not ask for
//! millions of craters or rocks, nor for rocks that would not be shown.

use garde::Validate;
use selene_base::input::{finite, within};

use crate::procedural::crater_law::CraterLaw;
use crate::procedural::patch::CRATER_POSTS_MIN;
use crate::procedural::rock_law::RockLaw;
use crate::procedural::{crater_field, rock_field};
use crate::site::spec::{ElevationSpec, LevelSpec, POSTS_MAX};

/// Most posts of all levels together: 400 MB.
const POSTS_TOTAL_MAX: usize = 100_000_000;
/// Most craters or rocks that the laws may generate on a level.
const DRAWN_MAX: f64 = 200_000.0;
/// Craters; more in a cell would cover the ground many times over.
const CRATERS: Scattered = Scattered { what: "craters", cell_side: crater_field::CELLS.side, in_cell_max: 100.0 };
/// Rocks; their numbers allow for 64 in a cell, more than six standard deviations above this mean.
const ROCKS: Scattered = Scattered { what: "rocks", cell_side: rock_field::CELL_SIDE, in_cell_max: 30.0 };
/// Most cells, empty ones included, that may be drawn for a level: they take half a minute.
const CELLS_MAX: f64 = 1e8;
/// Largest ratio of the smallest rock shown on the finest level to the one asked for.
const SMALLEST_RATIO_MAX: f64 = 1.05;
/// Largest distance of anything of a site from the map's origin along an axis, m: as far as levels reach.
const PLACE_MAX_M: f64 = 1e6;
/// Shortest length of a landform, m: that of the smallest named crater.
const LENGTH_MIN_M: f64 = 0.1;
/// Largest ratio of the spacings of successive levels.
const RATIO_MAX: f64 = 32.0;
/// Tolerance of integer ratios of lengths, for decimal spacings.
const WHOLE_TOLERANCE: f64 = 1e-6;

/// A kind of object that a law scatters over the ground, with its limits.
struct Scattered {
    what: &'static str,
    /// Side of a cell in smallest diameters of its octave.
    cell_side: f64,
    /// Most objects of one octave in one cell, on average.
    in_cell_max: f64,
}

fn refuse_unless(ok: bool, message: impl FnOnce() -> String) -> garde::Result {
    if ok { Ok(()) } else { Err(garde::Error::new(message())) }
}

pub(crate) fn hex_digest(digest: &str, (): &()) -> garde::Result {
    let good = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    refuse_unless(good, || format!("value {digest:?} is not allowed: must be 64 hexadecimal digits"))
}

/// A garde check: a position on the map, x and y in m.
pub(crate) fn place(at_m: &[f64; 2], (): &()) -> garde::Result {
    at_m.iter().try_for_each(|m| within(-PLACE_MAX_M, PLACE_MAX_M)(m, &()))
}

/// A garde check: a length of a landform, m.
pub(crate) fn length(length_m: &f64, (): &()) -> garde::Result {
    within(LENGTH_MIN_M, PLACE_MAX_M)(length_m, &())
}

/// A garde check: levels have a reasonable number of posts, and each fits into the posts of the next coarser one.
pub(crate) fn nested(levels: &[LevelSpec], (): &()) -> garde::Result {
    let sizes_are_numbers = levels.iter().all(|l| finite(&l.spacing_m, &()).is_ok() && l.spacing_m > 0.0);
    if !sizes_are_numbers {
        return Ok(());
    }
    levels.iter().try_for_each(sized)?;
    let total: usize = levels.iter().map(|level| level.posts().pow(2)).sum();
    refuse_unless(total <= POSTS_TOTAL_MAX, || {
        format!("the levels have {total} posts together; at most {POSTS_TOTAL_MAX} are allowed")
    })?;
    levels.windows(2).try_for_each(|pair| fits(&pair[0], &pair[1]))
}

/// A garde check: a raster's spacing is the coarsest level's; a file has at most as many levels as the site.
pub(crate) fn agrees_with(levels: &[LevelSpec]) -> impl FnOnce(&ElevationSpec, &()) -> garde::Result {
    let coarsest_m = levels.last().map_or(0.0, |level| level.spacing_m);
    let count = levels.len();
    move |elevation, ()| match elevation {
        ElevationSpec::Raster(raster) => refuse_unless((raster.spacing_m - coarsest_m).abs() < WHOLE_TOLERANCE, || {
            format!("its spacing_m {} must equal the coarsest level's {coarsest_m}", raster.spacing_m)
        }),
        ElevationSpec::File(file) => refuse_unless((1..=count).contains(&file.levels), || {
            format!("its levels {} is not allowed: must be 1 to {count}, the levels that there are", file.levels)
        }),
        ElevationSpec::Procedural(_) => Ok(()),
    }
}

pub(crate) fn crater_count(levels: &[LevelSpec]) -> impl FnOnce(&CraterLaw, &()) -> garde::Result {
    let areas_m2 = areas_m2(levels);
    let finest_m = levels.first().map_or(0.0, |level| level.side_m);
    move |law, ()| {
        // The checks of the single keys report these errors; here, octaves of invalid sizes may be endless.
        if law.validate().is_err() {
            return Ok(());
        }
        let smallest_m = |area: &(f64, f64)| (CRATER_POSTS_MIN * area.0).max(law.diameter_min_m);
        let counts = areas_m2.iter().map(|area| law.law.density_m2(smallest_m(area)) * area.1);
        CRATERS.are_few([law.diameter_min_m, law.diameter_max_m], law.most_in_a_cell(), counts)?;
        CRATERS.take_few_cells(law.cells_on(finest_m), finest_m)
    }
}

pub(crate) fn rock_count(levels: &[LevelSpec]) -> impl FnOnce(&RockLaw, &()) -> garde::Result {
    let sides_m: Vec<f64> = levels.iter().map(|level| level.side_m).collect();
    let finest_m = sides_m.first().copied().unwrap_or(0.0);
    move |law, ()| {
        // As for craters, the checks of the single keys report these errors.
        if law.validate().is_err() {
            return Ok(());
        }
        let on_finest = law.expected_m2(law.diameter_min_m) * finest_m.powi(2);
        ROCKS.are_few([law.diameter_min_m, law.diameter_max_m], law.most_in_a_cell(), std::iter::once(on_finest))?;
        shows_all_its_rocks(law, sides_m.len(), finest_m)?;
        let of_level = |(level, &side_m): (usize, &f64)| {
            let smallest_m = law.smallest_on(level, sides_m.len(), side_m);
            ROCKS.take_few_cells(law.cells_on(smallest_m, side_m), side_m)
        };
        sides_m.iter().enumerate().try_for_each(of_level)
    }
}

/// The finest level must show the rocks that its site asks for: `count_max` may not silently cut off the smallest. 0
/// asks for none.
fn shows_all_its_rocks(law: &RockLaw, levels: usize, finest_m: f64) -> garde::Result {
    let RockLaw { diameter_min_m, count_max, .. } = *law;
    let shown_m = law.smallest_on(0, levels, finest_m);
    let left_out = (law.expected_m2(diameter_min_m) - law.expected_m2(shown_m)) * finest_m.powi(2);
    let is_as_requested = count_max == 0 || left_out < 1.0 || shown_m <= SMALLEST_RATIO_MAX * diameter_min_m;
    refuse_unless(is_as_requested, || {
        format!(
            "count_max {count_max} leaves out rocks below {shown_m:.3} m on the finest level; raise it or \
             diameter_min_m ({diameter_min_m})"
        )
    })
}

impl Scattered {
    /// Checks that the sizes are in order and that there are not too many objects in a cell or on a level.
    fn are_few(
        &self,
        [diameter_min_m, diameter_max_m]: [f64; 2],
        in_a_cell: f64,
        mut on_levels: impl Iterator<Item = f64>,
    ) -> garde::Result {
        let Self { what, cell_side, in_cell_max } = self;
        refuse_unless(diameter_min_m < diameter_max_m, || {
            format!("diameter_min_m {diameter_min_m} must be below diameter_max_m {diameter_max_m}")
        })?;
        refuse_unless(in_a_cell <= *in_cell_max, || {
            format!(
                "this law gives about {in_a_cell:.0} {what} of one octave of sizes on a square {cell_side} of them \
                 long; at most {in_cell_max} are allowed: lower the density"
            )
        })?;
        let too_many = on_levels.find(|&count| count.is_nan() || count > DRAWN_MAX);
        too_many.map_or(Ok(()), |count| {
            Err(garde::Error::new(format!(
                "this law gives about {count:.0} {what} on one level; at most {DRAWN_MAX} are allowed: raise \
                 diameter_min_m or lower the density"
            )))
        })
    }

    /// Limits the number of cells: a law draws cell by cell, even where it is so sparse that nearly all cells are
    /// empty.
    fn take_few_cells(&self, cells: f64, side_m: f64) -> garde::Result {
        let what = self.what;
        // An invalid side gives NaN; the check of its level reports it.
        refuse_unless(cells.is_nan() || cells <= CELLS_MAX, || {
            format!(
                "about {cells:.0} cells would be drawn for {what} on the level of side {side_m} m; at most {CELLS_MAX} \
                 are allowed: raise diameter_min_m"
            )
        })
    }
}

/// Smallest spacing and area of each level; spacing 0 for the finest, which shows any size.
fn areas_m2(levels: &[LevelSpec]) -> Vec<(f64, f64)> {
    let area = |(i, level): (usize, &LevelSpec)| (if i == 0 { 0.0 } else { level.spacing_m }, level.side_m.powi(2));
    levels.iter().enumerate().map(area).collect()
}

fn sized(level: &LevelSpec) -> garde::Result {
    let cells = level.side_m / level.spacing_m;
    let LevelSpec { spacing_m, side_m } = level;
    refuse_unless((16.0..POSTS_MAX as f64).contains(&cells.round()), || {
        format!(
            "a level of side {side_m} m and spacing {spacing_m} m has {cells} cells on a side; allowed: 16 to {}",
            POSTS_MAX - 1
        )
    })?;
    refuse_unless(whole(cells / 2.0), || {
        format!("side_m {side_m} is {cells} times spacing_m {spacing_m}; must be an even whole number of times")
    })
}

fn fits(fine: &LevelSpec, coarse: &LevelSpec) -> garde::Result {
    let ratio = coarse.spacing_m / fine.spacing_m;
    refuse_unless(whole(ratio) && (2.0..=RATIO_MAX).contains(&ratio.round()), || {
        format!(
            "spacing_m {} is {ratio} times the finer level's {}; must be a whole number from 2 to {RATIO_MAX}",
            coarse.spacing_m, fine.spacing_m
        )
    })?;
    let halves = fine.side_m / 2.0 / coarse.spacing_m;
    refuse_unless(whole(halves), || {
        format!(
            "half of side_m {} is {halves} times the coarser level's spacing_m {}; must be a whole number of times",
            fine.side_m, coarse.spacing_m
        )
    })?;
    let margin_m = (coarse.side_m - fine.side_m) / 2.0;
    refuse_unless(margin_m >= 4.0 * coarse.spacing_m, || {
        format!(
            "side_m {} leaves {margin_m} m around the finer level's {}; at least four posts are needed",
            coarse.side_m, fine.side_m
        )
    })
}

fn whole(value: f64) -> bool {
    (value - value.round()).abs() < WHOLE_TOLERANCE * value.abs().max(1.0)
}
