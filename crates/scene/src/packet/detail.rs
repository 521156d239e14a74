//! Detail of the ground on a packet of surfaces: `kernel::detail` with one surface per lane. Few packets have wheel
//! prints, so the kernel finds those lane by lane.

use fearless_simd::prelude::*;

use super::lanes::{Bits, Floats, Ints, LANES, Mask, Vectors, all, all_vector, floats, vector_of, vectors};
use crate::kernel::chance::scramble;
use crate::kernel::craterlet::{self, Craterlets, LowSun, craterlet};
use crate::kernel::detail::{COARSEST_OCTAVE, FINEST_OCTAVE, GRAZING, SLOPE_SCALE, VALUE_SCALE};
use crate::kernel::most;
use crate::kernel::print::{PrintEffect, any_print_within, print_at};
use crate::real::{Real, dot, unit};
use crate::record::{CameraRecord, Records};

/// Ground points that rays have met.
pub(crate) struct Grounds<S: Simd> {
    /// Directions of the rays, of any length.
    pub(crate) direction: Vectors<S>,
    /// Ray parameter of the hit, in units of the direction's length.
    pub(crate) t: Floats<S>,
    /// Horizontal position x, y in the scene's frame, m.
    pub(crate) place: [Floats<S>; 2],
    /// Spacing of the level that was met, m.
    pub(crate) spacing: Floats<S>,
    /// Whether that level is the finest.
    pub(crate) on_finest: [bool; LANES],
    pub(crate) normal: Vectors<S>,
}

/// The ground's shading with detail.
pub(crate) struct Details<S: Simd> {
    pub(crate) normal: Vectors<S>,
    /// Albedo relative to the material's.
    pub(crate) shade: Floats<S>,
    /// Fraction of sunlight that craterlets and the grooves of prints let through, 0…1.
    pub(crate) open: Floats<S>,
}

/// As `detail::detailed`, lane by lane.
#[inline(always)]
pub(crate) fn detailed<S: Simd>(
    simd: S,
    records: &Records<'_>,
    camera: &CameraRecord,
    grounds: &Grounds<S>,
) -> Details<S> {
    let globals = &records.globals;
    let plain = Details { normal: grounds.normal, shade: all(simd, 1.0), open: all(simd, 1.0) };
    let Grounds { direction, t, place, spacing, on_finest, normal } = *grounds;
    let length = dot(direction, direction).root();
    let facing = (-dot(normal, direction) / length).most(all(simd, GRAZING));
    let pixel = most(camera.inverse_focal[0], camera.inverse_focal[1]);
    let finest = &records.levels[0];
    let footprint = t * length * pixel * finest.inverse_spacing / facing;
    let cells = spacing * finest.inverse_spacing;
    let x = (place[0] - finest.origin[0]) * finest.inverse_spacing;
    let y = (place[1] - finest.origin[1]) * finest.inverse_spacing;
    let prints = prints(records, [&x, &y], &normal, &footprint, on_finest);
    let mut details = plain;
    if globals.detail_slope > 0.0 || globals.detail_mottle > 0.0 {
        let rough = floats(simd, |lane| prints[lane].rough());
        details = add_octaves(simd, records, [x, y], [cells, footprint], rough, details);
    }
    if globals.detail_craterlets > 0.0 {
        let whole = floats(simd, |lane| 1.0 - prints[lane].pressed);
        let Craterlets { slope, open } = craterlets_at(simd, records, [x, y], &details.normal, footprint, whole);
        details = Details { normal: tilted(&details.normal, slope), open, ..details };
    }
    if prints.iter().all(|print| print.pressed == 0.0) { details } else { printed(simd, &prints, &details) }
}

/// The wheel print at each position.
#[inline(always)]
fn prints<S: Simd>(
    records: &Records<'_>,
    place: [&Floats<S>; 2],
    normal: &Vectors<S>,
    footprint: &Floats<S>,
    on_finest: [bool; LANES],
) -> [PrintEffect; LANES] {
    if on_finest == [false; LANES] || !any_print(records, place, on_finest) {
        return [PrintEffect::NONE; LANES];
    }
    let (x, y, footprint) = (place[0].to_array(), place[1].to_array(), footprint.to_array());
    let normal = [normal[0].to_array(), normal[1].to_array(), normal[2].to_array()];
    std::array::from_fn(|lane| {
        if !on_finest[lane] {
            return PrintEffect::NONE;
        }
        print_at(records, [x[lane], y[lane]], &vector_of(&normal, lane), footprint[lane])
    })
}

/// Whether tiles of posts around the positions have any print. Most ground has none.
#[inline(always)]
fn any_print<S: Simd>(records: &Records<'_>, place: [&Floats<S>; 2], on_finest: [bool; LANES]) -> bool {
    let level = &records.levels[0];
    let last = place[0].like((level.cells - 1) as f32);
    let cells = place.map(|at| at.most(at.like(0.0)).least(last).to_int::<Ints<S>>().to_array());
    let [mut low, mut high] = [[level.cells; 2], [0; 2]];
    for lane in (0..LANES).filter(|lane| on_finest[*lane]) {
        for axis in 0..2 {
            let cell = cells[axis][lane] as u32;
            low[axis] = low[axis].min(cell);
            high[axis] = high[axis].max(cell + 1);
        }
    }
    any_print_within(records, level, [low, high])
}

/// As `PrintEffect::on`, lane by lane.
fn printed<S: Simd>(simd: S, prints: &[PrintEffect; LANES], details: &Details<S>) -> Details<S> {
    let normals = [details.normal[0].to_array(), details.normal[1].to_array(), details.normal[2].to_array()];
    let shades = details.shade.to_array();
    let turned: [_; LANES] = std::array::from_fn(|lane| prints[lane].turned(vector_of(&normals, lane)));
    Details {
        normal: vectors(simd, |lane| turned[lane]),
        shade: floats(simd, |lane| prints[lane].shaded(shades[lane])),
        open: details.open * floats(simd, |lane| prints[lane].open),
    }
}

#[inline(always)]
fn add_octaves<S: Simd>(
    simd: S,
    records: &Records<'_>,
    place: [Floats<S>; 2],
    [cells, footprint]: [Floats<S>; 2],
    rough: Floats<S>,
    plain: Details<S>,
) -> Details<S> {
    let globals = &records.globals;
    let largest = cells * 0.75;
    let has_room = !largest.at_most(footprint);
    let Details { normal: n, mut shade, open } = plain;
    let mut slope = [all(simd, 0.0); 2];
    let mut cell = 1024.0;
    let mut amplitude = globals.detail_slope * globals.detail_gain.powf(COARSEST_OCTAVE as f32);
    for octave in COARSEST_OCTAVE..=FINEST_OCTAVE {
        let side = all(simd, cell);
        let lanes: Mask<S> = has_room & footprint.below(side) & side.below(largest);
        if lanes.any_true() {
            let shown = (side / footprint - 1.0).least(all(simd, 1.0)) * rough;
            let [value, along_x, along_y] = noise(place, globals.detail_origin, octave);
            let steep = shown * (amplitude * SLOPE_SCALE);
            slope[0] = lanes.select(slope[0] + along_x * steep, slope[0]);
            slope[1] = lanes.select(slope[1] + along_y * steep, slope[1]);
            let lit = shown * (globals.detail_mottle * VALUE_SCALE) * value + 1.0;
            shade = lanes.select(shade * lit, shade);
        }
        cell *= 0.5;
        amplitude *= globals.detail_gain;
    }
    let [x, y, z] = tilted(&n, slope);
    Details { normal: [has_room.select(x, n[0]), has_room.select(y, n[1]), has_room.select(z, n[2])], shade, open }
}

/// As `detail::tilted`, lane by lane.
#[inline(always)]
fn tilted<S: Simd>(n: &Vectors<S>, slope: [Floats<S>; 2]) -> Vectors<S> {
    unit([n[0] - slope[0] * n[2], n[1] - slope[1] * n[2], n[2]])
}

/// As `craterlet::craterlets_at`, lane by lane.
#[inline(always)]
fn craterlets_at<S: Simd>(
    simd: S,
    records: &Records<'_>,
    place: [Floats<S>; 2],
    normal: &Vectors<S>,
    footprint: Floats<S>,
    whole: Floats<S>,
) -> Craterlets<Floats<S>> {
    let globals = &records.globals;
    let (zero, one) = (all(simd, 0.0), all(simd, 1.0));
    let sun = LowSun::new(globals, dot(all_vector(simd, globals.sun_direction), *normal));
    let mut found = Craterlets { slope: [zero; 2], open: one };
    let mut cell = 4.0;
    for octave in craterlet::COARSEST..=craterlet::FINEST {
        let side = all(simd, 0.5 * cell);
        let lanes: Mask<S> = footprint.below(side);
        if lanes.all_false() {
            break;
        }
        let (x, u) = cell_of(place[0], globals.detail_origin[0], octave);
        let (y, v) = cell_of(place[1], globals.detail_origin[1], octave);
        let bits = scrambled(x + scrambled(y + scramble(craterlet::SALT.wrapping_add(octave as u32))));
        let lanes = lanes & share_of(bits >> 16_u32, 65536.0).below(all(simd, globals.detail_craterlets));
        if lanes.any_true() {
            let shown = (side / footprint - 1.0).least(one) * whole;
            let more = scrambled(bits);
            let bytes = [more & 255_u32, (more >> 8_u32) & 255_u32, (more >> 16_u32) & 255_u32, more >> 24_u32];
            let [size, fresh, east, north] = bytes;
            let draws = [share_of(size, 256.0), share_of(fresh, 256.0), share_of(east, 256.0), share_of(north, 256.0)];
            let both = found.and(craterlet(draws, [u, v], &sun, shown));
            let of = |one: Floats<S>, other: Floats<S>| lanes.select(one, other);
            let slope = [of(both.slope[0], found.slope[0]), of(both.slope[1], found.slope[1])];
            found = Craterlets { slope, open: of(both.open, found.open) };
        }
        cell *= 0.5;
    }
    found
}

/// Converts a whole number below `of` to a share of it.
#[inline(always)]
fn share_of<S: Simd>(bits: Bits<S>, of: f32) -> Floats<S> {
    let whole: Ints<S> = bits.bitcast();
    whole.to_float::<Floats<S>>() * (1.0 / of)
}

/// As `detail::noise`, lane by lane.
#[inline(always)]
fn noise<S: Simd>(place: [Floats<S>; 2], origin: [i32; 2], octave: i32) -> [Floats<S>; 3] {
    let (x, u) = cell_of(place[0], origin[0], octave);
    let (y, v) = cell_of(place[1], origin[1], octave);
    let salt = scramble(octave as u32);
    let [low, high] = [scrambled(y + salt), scrambled(y + 1_u32 + salt)];
    let [a, b] = [scrambled(x + low), scrambled(x + 1_u32 + low)];
    let [c, d] = [scrambled(x + high), scrambled(x + 1_u32 + high)];
    let value = blend([low_half(a), low_half(b), low_half(c), low_half(d)], u, v);
    let height = blend([high_half(a), high_half(b), high_half(c), high_half(d)], u, v);
    [value[0], height[1], height[2]]
}

#[inline(always)]
fn low_half<S: Simd>(bits: Bits<S>) -> Floats<S> {
    share(bits & 0xffff_u32)
}

#[inline(always)]
fn high_half<S: Simd>(bits: Bits<S>) -> Floats<S> {
    share(bits >> 16_u32)
}

/// Converts sixteen bits to a number of −1…1.
#[inline(always)]
fn share<S: Simd>(bits: Bits<S>) -> Floats<S> {
    let whole: Ints<S> = bits.bitcast();
    whole.to_float::<Floats<S>>() * (1.0 / 32768.0) - 1.0
}

/// As `chance::scramble`, lane by lane.
#[inline(always)]
fn scrambled<S: Simd>(value: Bits<S>) -> Bits<S> {
    let state = value * 747_796_405_u32 + 2_891_336_453_u32;
    let word = ((state >> ((state >> 28_u32) + 4_u32)) ^ state) * 277_803_737_u32;
    (word >> 22_u32) ^ word
}

/// As `detail::cell_of`, lane by lane.
#[inline(always)]
fn cell_of<S: Simd>(place: Floats<S>, origin: i32, octave: i32) -> (Bits<S>, Floats<S>) {
    let whole = place.floor();
    let post = whole.to_int::<Ints<S>>() + origin;
    let within = place - whole;
    if octave < 0 {
        let shift = octave.unsigned_abs();
        let rest = (post & ((1_i32 << shift) - 1)).to_float::<Floats<S>>();
        return ((post >> shift).bitcast(), (rest + within) / (1 << shift) as f32);
    }
    let scaled = within * (1 << octave) as f32;
    let part = scaled.floor();
    let cell = (post << octave.unsigned_abs()) + part.to_int::<Ints<S>>();
    (cell.bitcast(), scaled - part)
}

#[inline(always)]
fn fade<S: Simd>(t: Floats<S>) -> Floats<S> {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

#[inline(always)]
fn rate<S: Simd>(t: Floats<S>) -> Floats<S> {
    t * 30.0 * t * (t - 1.0) * (t - 1.0)
}

/// As `detail::blend`, lane by lane.
#[inline(always)]
fn blend<S: Simd>([a, b, c, d]: [Floats<S>; 4], u: Floats<S>, v: Floats<S>) -> [Floats<S>; 3] {
    let [right, up, both] = [b - a, c - a, a - b - c + d];
    let [fu, fv] = [fade(u), fade(v)];
    [a + right * fu + up * fv + both * fu * fv, rate(u) * (right + both * fv), rate(v) * (up + both * fu)]
}
