//! Craterlets too small for the ground's posts: bowls with rims, as slopes that tilt normals and as shadow that a low Sun
//! leaves in them; heights do not change. Trask's equilibrium, in which every size of craters covers the same share of
//! the ground, goes on in them down to a millimetre: on each lattice whose spacing halves from octave to octave, a share
//! of the cells has a craterlet, whose diameter D is drawn from an octave with a density of D⁻³. Its rim is in its cell,
//! so that a place needs to look at one cell of each lattice only.
//!
//! Lengths are in radii of the craterlet's crest. At ρ from its middle, with s = (ρ/1.4)², the height is
//! −q (1 − s)² (1 − 3.6 s): a bowl of depth q, whose crest at ρ = 1 is 0.2 q high, and whose rim ends at 1.4 without an
//! edge. The depth of fresh craterlets is 0.15 of their diameter, that of worn ones 0.03: our choice.

use nalgebra::Vector3;

use super::chance::scramble;
use super::detail::cell_of;
use super::{least, most};
use crate::real::Real;
use crate::record::{GlobalsRecord, Records};

/// Octaves of the lattices, from four posts of the finest grid to an eighth of one.
pub(crate) const COARSEST: i32 = -2;
pub(crate) const FINEST: i32 = 3;
/// Makes the lattices' random numbers others than those of `detail`.
pub(crate) const SALT: u32 = 0x5bd1_e995;
/// Least radius, as a fraction of a cell; the greatest is twice as much.
pub(crate) const LEAST_RADIUS: f32 = 0.17;
/// Distance from the middle at which the rim ends.
pub(crate) const OUTER: f32 = 1.4;
/// Depth of the most worn craterlets, and what a fresh one has more.
pub(crate) const SHALLOW: f32 = 0.06;
pub(crate) const FRESHER: f32 = 0.24;
/// The profile's coefficient of s: it puts the crest at ρ = 1.
pub(crate) const STEEPER: f32 = 3.6;
/// Height of the crest relative to the depth, and s there.
pub(crate) const CREST: f32 = 0.2009;
pub(crate) const CREST_AT: f32 = 0.5185;
/// Lower limit of the horizontal component of the Sun's direction.
pub(crate) const LEAST_ALONG_GROUND: f32 = 0.02;
/// Depth below the Sun's rays at which a shadow is complete.
pub(crate) const EDGE: f32 = 0.05;

/// The effect of craterlets at a place: slope of the ground along x and y, and fraction of sunlight that they let through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Craterlets<R> {
    pub(crate) slope: [R; 2],
    pub(crate) open: R,
}

/// The Sun above a place: its horizontal direction, and how much its rays rise over a horizontal distance of 1.
#[derive(Clone, Copy)]
pub(crate) struct LowSun<R> {
    pub(crate) along: [f32; 2],
    pub(crate) rise: R,
}

impl<R: Real> LowSun<R> {
    /// The Sun where its direction has the component `height` along the ground's normal.
    #[inline(always)]
    pub(crate) fn new(globals: &GlobalsRecord, height: R) -> Self {
        let [x, y, _] = globals.sun_direction;
        let level = most((x * x + y * y).sqrt(), LEAST_ALONG_GROUND);
        Self { along: [x / level, y / level], rise: height.most(height.like(0.0)) / level }
    }
}

/// What craterlets do at a position of the finest grid, in cells from its first post, under a pixel with this footprint in
/// cells; `whole` is the share of the ground there that nothing has pressed.
pub(crate) fn craterlets_at(
    records: &Records<'_>,
    place: [f32; 2],
    normal: &Vector3<f32>,
    footprint: f32,
    whole: f32,
) -> Craterlets<f32> {
    let globals = &records.globals;
    let sun = LowSun::new(globals, Vector3::from(globals.sun_direction).dot(normal));
    let mut found = Craterlets { slope: [0.0; 2], open: 1.0 };
    let (mut octave, mut cell) = (COARSEST, 4.0);
    while octave <= FINEST && 0.5 * cell > footprint {
        let (x, u) = cell_of(place[0], globals.detail_origin[0], octave);
        let (y, v) = cell_of(place[1], globals.detail_origin[1], octave);
        let bits = scramble(x.wrapping_add(scramble(y.wrapping_add(scramble(SALT.wrapping_add(octave as u32))))));
        if share(bits >> 16, 65536.0) < globals.detail_craterlets {
            let shown = least(0.5 * cell / footprint - 1.0, 1.0) * whole;
            let more = scramble(bits);
            let draws = [more & 255, more >> 8 & 255, more >> 16 & 255, more >> 24].map(|byte| share(byte, 256.0));
            found = found.and(craterlet(draws, [u, v], &sun, shown));
        }
        octave += 1;
        cell *= 0.5;
    }
    found
}

fn share(number: u32, of: f32) -> f32 {
    number as f32 * (1.0 / of)
}

impl<R: Real> Craterlets<R> {
    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        let slope = [self.slope[0] + other.slope[0], self.slope[1] + other.slope[1]];
        Self { slope, open: self.open * other.open }
    }
}

/// What a craterlet does at a position in its cell, 0…1 along each axis. Four draws of 0…1 give its size, wear and place;
/// `shown` scales its depth.
#[inline(always)]
pub(crate) fn craterlet<R: Real>(
    [size, fresh, east, north]: [R; 4],
    [u, v]: [R; 2],
    sun: &LowSun<R>,
    shown: R,
) -> Craterlets<R> {
    let (zero, one) = (size.like(0.0), size.like(1.0));
    let radius = size.like(LEAST_RADIUS) / (one - size * 0.75).root();
    let room = radius * -OUTER + 0.5;
    let x = (u - (room * (east * 2.0 - 1.0) + 0.5)) / radius;
    let y = (v - (room * (north * 2.0 - 1.0) + 0.5)) / radius;
    let square = x * x + y * y;
    let at = (square * (1.0 / (OUTER * OUTER))).least(one);
    let depth = (fresh * fresh * FRESHER + SHALLOW) * shown;
    let rest = one - at;
    let steep = depth * rest * (at * (-3.0 * STEEPER) + (STEEPER + 2.0)) * (2.0 / (OUTER * OUTER));
    let [sun_x, sun_y] = sun.along;
    let toward = x * sun_x + y * sun_y;
    let below_crest = depth * (rest * rest * (one - at * STEEPER) + CREST);
    let to_crest = (one - square + toward * toward).most(zero).root() - toward;
    let hidden = (below_crest - to_crest * sun.rise) * (1.0 / EDGE);
    let open = R::either(at.below(at.like(CREST_AT)), one - hidden.most(zero).least(one), one);
    Craterlets { slope: [x * steep, y * steep], open }
}

#[cfg(test)]
mod tests {
    use super::{Craterlets, EDGE, LowSun, craterlet};

    /// A fresh craterlet of a radius of 0.34 in the middle of its cell, at `x` radii east of its middle.
    fn at(x: f32, sun: LowSun<f32>) -> Craterlets<f32> {
        craterlet([1.0, 1.0, 0.5, 0.5], [0.5 + 0.34 * x, 0.5], &sun, 1.0)
    }

    const HIGH: LowSun<f32> = LowSun { along: [1.0, 0.0], rise: 10.0 };
    const LOW: LowSun<f32> = LowSun { along: [1.0, 0.0], rise: 0.1 };

    const STEP: f32 = 1e-3;

    /// Heights from −1.5 to 1.5 radii, the slopes added up.
    fn heights() -> Vec<f32> {
        let add = |height: &mut f32, i: u16| {
            *height += at(-1.5 + STEP * (f32::from(i) + 0.5), HIGH).slope[0] * STEP;
            Some(*height)
        };
        (0..3000).scan(0.0, add).collect()
    }

    #[test]
    fn a_bowl_and_its_rim_end_at_the_ground_around() {
        let heights = heights();
        let crest = (0..1500).max_by(|a, b| heights[*a].total_cmp(&heights[*b])).expect("some");
        assert!((heights[crest] - 0.2 * 0.3).abs() < 1e-3, "the crest is {} radii high", heights[crest]);
        assert!((crest as f32 - 500.0).abs() < 20.0, "the crest is {crest} thousandths inside of -1.5");
        assert!((heights[1500] + 0.3).abs() < 1e-3, "the middle is at {} radii", heights[1500]);
        assert!(heights[2999].abs() < 1e-3 && heights[50].abs() < 1e-6, "{} at the end", heights[2999]);
    }

    /// Marches toward the Sun over the heights that the slopes give.
    #[test]
    fn a_low_sun_leaves_in_shadow_what_the_wall_toward_it_hides() {
        let heights = heights();
        let (mut dark, mut lit) = (0, 0);
        for i in (520..2480).step_by(20) {
            let above = |j: usize| heights[j] - heights[i] - LOW.rise * STEP * (j - i) as f32;
            let hidden = (i + 1..3000).map(above).fold(0.0, f32::max);
            let open = at(-1.5 + STEP * (i as f32 + 1.0), LOW).open;
            let expected = 1.0 - (hidden / EDGE).min(1.0);
            assert!((open - expected).abs() < 0.05, "at {i}: {open}, not {expected}");
            dark += usize::from(open == 0.0);
            lit += usize::from(open == 1.0);
        }
        assert!(dark > 20 && lit > 20, "{dark} dark, {lit} lit");
        assert_eq!([-0.5, 0.0, 0.5].map(|x| at(x, HIGH).open), [1.0; 3]);
    }

    #[test]
    fn what_is_not_shown_is_even() {
        let none = craterlet([0.3, 0.7, 0.2, 0.9], [0.4, 0.6], &LOW, 0.0);
        assert_eq!((none.slope, none.open), ([0.0; 2], 1.0));
    }
}
