//! Prints that grousers left on pressed posts of the finest grid, and soil that wheels pressed smooth. Each post stores
//! a plane wave: its phase between two prints, the wheel's heading and the distance between prints
//! (`selene_terrain::Print`). Between posts the waves are blended as complex numbers, so that a print continues from
//! post to post, and fades where posts disagree or the pressed ground ends. At a phase φ of the wave the ground is a
//! groove of the shape −b⁸, b = (1 + cos φ)/2, with a depth of `GROOVE` times the distance between prints: its walls
//! are then as steep as the angle of repose of loose soil, 38°. The groove tilts normals, as the other detail does, and
//! hides the Sun from points in its own shadow; heights do not change.

use nalgebra::{Vector2, Vector3};

use super::surface::{Surface, tilted};
use super::{least, most};
use crate::record::{LevelRecord, Records};

/// Posts along a side of a tile.
pub(crate) const TILE_SIDE: u32 = 64;
/// Bit that is set in every print.
pub(crate) const PRESSED: u32 = 0x8000;
/// Quantisation step of the distance between prints, m.
pub(crate) const PITCH_STEP: f32 = selene_terrain::Print::PITCH_STEP_M as f32;
/// Depth of a groove relative to the distance between two.
pub(crate) const GROOVE: f32 = 0.1;
/// 8 π `GROOVE`: the groove's slope divided by b⁷ sin φ.
pub(crate) const STEEP: f32 = 2.513_274;
/// Number of sample points toward the Sun that may hide it, and their spacing as a fraction of the distance between
/// prints.
pub(crate) const SHADOW_STEPS: u32 = 5;
pub(crate) const SHADOW_STEP: f32 = 0.0625;
/// Depth at which a shadow is complete, as a fraction of the distance between prints.
pub(crate) const SHADOW_EDGE: f32 = 0.015;
/// Lower limit of the component of the Sun's direction across the prints.
pub(crate) const LEAST_ALONG: f32 = 0.02;
/// Fraction of the finer detail that pressing removes.
pub(crate) const SMOOTHED: f32 = 0.75;
/// Fraction by which pressing lowers the albedo. A choice: tracks in Apollo's pictures are slightly darker.
pub(crate) const DARKER: f32 = 0.08;

/// The effect of wheels on the ground at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintEffect {
    /// Slope along x and y.
    pub slope: Vector2<f32>,
    /// Fraction of the surrounding ground that is pressed, 0…1.
    pub pressed: f32,
    /// Fraction of sunlight that the grooves let through, 0…1.
    pub open: f32,
}

impl PrintEffect {
    /// Ground that no wheel pressed.
    pub const NONE: Self = Self { slope: Vector2::new(0.0, 0.0), pressed: 0.0, open: 1.0 };

    /// Fraction of the finer detail that remains.
    #[must_use]
    pub fn rough(&self) -> f32 {
        1.0 - SMOOTHED * self.pressed
    }

    /// The surface with this print on it.
    #[must_use]
    pub fn on(&self, surface: Surface) -> Surface {
        let (normal, shade) = (self.turned(surface.normal), self.shaded(surface.shade));
        Surface { normal, shade, open: surface.open * self.open, ..surface }
    }

    /// The normal `n` tilted by this print.
    pub(crate) fn turned(&self, n: Vector3<f32>) -> Vector3<f32> {
        if self.pressed == 0.0 {
            return n;
        }
        tilted(n, self.slope)
    }

    /// The relative albedo `shade` darkened by this print.
    pub(crate) fn shaded(&self, shade: f32) -> f32 {
        shade * (1.0 - DARKER * self.pressed)
    }
}

/// The wheel print at a position of the finest grid, in cells from its first post, for ground with the given normal and
/// a pixel with the given footprint in cells.
#[must_use]
pub fn print_at(records: &Records<'_>, place: [f32; 2], normal: &Vector3<f32>, footprint: f32) -> PrintEffect {
    let level = &records.levels[0];
    let last = (level.cells - 1) as f32;
    let cell = place.map(|at| least(most(at.floor(), 0.0), last));
    let within = [0, 1].map(|axis| least(most(place[axis] - cell[axis], 0.0), 1.0));
    let [x, y] = cell.map(|at| at as u32);
    let bits = [[x, y], [x + 1, y], [x, y + 1], [x + 1, y + 1]].map(|[x, y]| print_bits(records, level, x, y));
    if (bits[0] | bits[1] | bits[2] | bits[3]) & PRESSED == 0 {
        return PrintEffect::NONE;
    }
    let sun = Vector3::from(records.globals.sun_direction);
    blended(bits, within, level.spacing, [footprint * level.spacing, sun.dot(normal)], &sun)
}

/// Whether any tile of posts from a low to a high corner has prints; the corners are on the level.
pub(crate) fn any_print_within(records: &Records<'_>, level: &LevelRecord, [low, high]: [[u32; 2]; 2]) -> bool {
    let [low, high] = [low, high].map(|corner| corner.map(|post| post / TILE_SIDE));
    (low[1]..=high[1]).any(|y| (low[0]..=high[0]).any(|x| page_of(records, level, [x, y]) != 0))
}

/// The page with the prints of a tile of posts, from 1 on; 0 without prints.
fn page_of(records: &Records<'_>, level: &LevelRecord, [x, y]: [u32; 2]) -> u32 {
    let side = level.cells / TILE_SIDE + 1;
    records.heights[(level.prints + y * side + x) as usize] as u32
}

/// The bits of a post's print; 0 without a print.
fn print_bits(records: &Records<'_>, level: &LevelRecord, x: u32, y: u32) -> u32 {
    let page = page_of(records, level, [x / TILE_SIDE, y / TILE_SIDE]);
    if page == 0 {
        return 0;
    }
    let side = level.cells / TILE_SIDE + 1;
    let first = level.prints + side * side + (page - 1) * (TILE_SIDE * TILE_SIDE);
    records.heights[(first + y % TILE_SIDE * TILE_SIDE + x % TILE_SIDE) as usize] as u32
}

/// Blends the waves of a cell's four posts at a position within the cell.
fn blended(
    bits: [u32; 4],
    [u, v]: [f32; 2],
    spacing: f32,
    [footprint, sun_height]: [f32; 2],
    sun: &Vector3<f32>,
) -> PrintEffect {
    let (mut pressed, mut waves, mut pitch) = (0.0, 0.0, 0.0);
    let (mut cos, mut sin) = (0.0, 0.0);
    let mut along = Vector2::zeros();
    for (post, &print) in bits.iter().enumerate() {
        if print & PRESSED == 0 {
            continue;
        }
        let [east, north] = [(post & 1) as f32, (post >> 1) as f32];
        let weight = (1.0 - (east - u).abs()) * (1.0 - (north - v).abs());
        pressed += weight;
        let steps = print >> 11 & 15;
        if steps == 0 {
            continue;
        }
        let heading = (print >> 6 & 31) as f32 * (1.0 / 32.0);
        let ahead = Vector2::new(sine(heading + 0.25), sine(heading));
        let distance = steps as f32 * PITCH_STEP;
        let apart = (ahead.x * (u - east) + ahead.y * (v - north)) * spacing;
        let phase = (print & 63) as f32 * (1.0 / 64.0) + apart / distance;
        waves += weight;
        pitch += weight * distance;
        cos += weight * sine(phase + 0.25);
        sin += weight * sine(phase);
        along += ahead * weight;
    }
    let agreed = (cos * cos + sin * sin).sqrt();
    let distance = pitch / most(waves, 1e-6);
    let shown = least(most(0.25 * distance / footprint - 1.0, 0.0), 1.0) * agreed;
    if shown <= 0.0 {
        return PrintEffect { pressed, ..PrintEffect::NONE };
    }
    let (cos, sin) = (cos / agreed, sin / agreed);
    let b = 0.5 + 0.5 * cos;
    let b3 = b * b * b;
    let slope = along * (STEEP * shown * b3 * b3 * b * sin);
    PrintEffect { slope, pressed, open: grooves_open([cos, sin], shown, sun.x * along.x + sun.y * along.y, sun_height) }
}

/// Fraction of the Sun's disc visible from a point of this phase. `shown` scales the grooves' depth, `sun_along` is the
/// Sun's component across the prints and `sun_height` its component along the normal. Lengths are fractions of the
/// distance between two grooves.
fn grooves_open([cos, sin]: [f32; 2], shown: f32, sun_along: f32, sun_height: f32) -> f32 {
    let toward = if sun_along < 0.0 { -1.0 } else { 1.0 };
    let rise = most(sun_height, 0.0) / most(sun_along.abs(), LEAST_ALONG);
    let depth = GROOVE * shown;
    let here = -depth * eighth(cos);
    let mut hidden = 0.0;
    for step in 1..=SHADOW_STEPS {
        let apart = step as f32 * SHADOW_STEP;
        let there = cos * sine(apart + 0.25) - sin * toward * sine(apart);
        hidden = most(hidden, -depth * eighth(there) - here - apart * rise);
    }
    1.0 - least(hidden * (1.0 / SHADOW_EDGE), 1.0)
}

/// b⁸ for the cosine of a phase.
fn eighth(cos: f32) -> f32 {
    let b = 0.5 + 0.5 * cos;
    let b2 = b * b;
    b2 * b2 * b2 * b2
}

/// Sine of an angle in turns, from a parabola and its square: within 0.001, and the same on every device.
fn sine(turns: f32) -> f32 {
    let t = turns - (turns + 0.5).floor();
    let y = t * (8.0 - 16.0 * t.abs());
    y * (0.775 + 0.225 * y.abs())
}

#[cfg(test)]
mod tests {
    use super::{PrintEffect, blended, grooves_open, sine};
    use nalgebra::Vector3;
    use std::f64::consts::TAU;

    /// A print with a pitch of 6 cm that runs along x, with its phase in 64ths of a turn.
    fn along_x(phase: u32) -> u32 {
        0x8000 | 6 << 11 | phase
    }

    fn at(bits: [u32; 4], u: f32, v: f32, sun_height: f32) -> PrintEffect {
        let sun = Vector3::new((1.0 - sun_height * sun_height).sqrt(), 0.0, sun_height);
        blended(bits, [u, v], 0.02, [1e-3, sun_height], &sun)
    }

    #[test]
    fn the_sine_is_one() {
        for i in -300..300 {
            let turns = f64::from(i) / 100.0;
            assert!((f64::from(sine(turns as f32)) - (TAU * turns).sin()).abs() < 1.2e-3, "{turns}");
        }
    }

    #[test]
    fn a_groove_rises_to_both_sides_and_its_walls_stand_at_the_angle_of_repose() {
        // Posts 2 cm apart differ by a third of a turn, 21 or 22 64ths.
        let slopes: Vec<f32> = (0..3)
            .flat_map(|cell| {
                let phase = |post: u32| along_x((post * 64 + 1) / 3 % 64);
                let [west, east] = [phase(cell), phase(cell + 1)];
                (0..20).map(move |i| at([west, east, west, east], i as f32 / 20.0, 0.3, 1.0).slope.x)
            })
            .collect();
        let [lowest, highest] = [f32::min, f32::max].map(|of| slopes.iter().copied().reduce(of).expect("some"));
        assert!(highest > 0.6 && highest < 0.8 && lowest < -0.6 && lowest > -0.8, "{lowest} to {highest}");
        // Phase 0 is the bottom: the ground falls before it and rises after it.
        assert!(slopes[5] > 0.3 && slopes[55] < -0.3, "{slopes:?}");
        let sum_m: f32 = slopes.iter().map(|slope| slope * 0.001).sum();
        assert!(sum_m.abs() < 1e-3, "over a whole print the ground rises by {sum_m} m");
    }

    #[test]
    fn prints_end_with_the_pressed_ground_and_where_posts_do_not_agree() {
        let one = along_x(6);
        assert_eq!(at([one; 4], 0.0, 0.0, 1.0).pressed, 1.0);
        let edge = at([one, 0, one, 0], 0.75, 0.5, 1.0);
        assert!((edge.pressed - 0.25).abs() < 1e-6 && edge.slope.norm() < 0.2, "{edge:?}");
        // The waves are half a turn apart midway between two posts and nearly cancel.
        let against = at([along_x(0), along_x(53), along_x(0), along_x(53)], 0.5, 0.5, 1.0);
        assert!((against.pressed - 1.0).abs() < 1e-6 && against.slope.norm() < 0.05, "{against:?}");
        let smooth = at([0x8000; 4], 0.5, 0.25, 0.1);
        assert_eq!(smooth, PrintEffect { pressed: 1.0, ..PrintEffect::NONE });
        // The print is smaller than the pixel.
        let far = blended([one; 4], [0.0; 2], 0.02, [0.06, 1.0], &Vector3::z());
        assert_eq!(far, PrintEffect { pressed: 1.0, ..PrintEffect::NONE });
    }

    #[test]
    fn a_low_sun_leaves_the_wall_toward_it_in_shadow() {
        // The Sun is toward growing phase: the wall on that side hides it from the bottom and from the wall's own lower
        // part.
        let wall = |turns: f32, sun_height| grooves_open([sine(turns + 0.25), sine(turns)], 1.0, 1.0, sun_height);
        assert_eq!(wall(0.0, 0.05), 0.0);
        assert_eq!(wall(0.08, 0.05), 0.0);
        assert_eq!(wall(-0.25, 0.05), 1.0);
        assert_eq!(wall(0.5, 0.05), 1.0);
        assert_eq!(wall(0.0, 0.9), 1.0);
        // With the Sun on the other side, the same wall is lit.
        assert_eq!(grooves_open([sine(0.33), sine(0.08)], 1.0, -1.0, 0.3), 1.0);
    }
}
