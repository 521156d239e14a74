//! Slopes and albedo of the ground finer than its grid: value noise on lattices whose spacing halves from octave to
//! octave. Cells are counted as integers from the map's origin, so a position has the same noise in every window and on
//! every device. An octave fades out where a pixel spans less than two of its cells, so that nothing shimmers with
//! distance. Craterlets lie on it (`craterlet`). Where wheels pressed the soil, it is smoother and shows their prints
//! (`print`).

use nalgebra::{Vector2, Vector3};

use super::chance::scramble;
use super::craterlet::craterlets_at;
use super::print::{PrintEffect, print_at};
use super::surface::{Surface, tilted};
use super::{GROUND, Hit, least, most};
use crate::record::{CameraRecord, Records};

/// Index of the finest octave; 0 is the finest grid's spacing. Below a grid of 2 cm it has cells of 0.3 mm.
pub(crate) const FINEST_OCTAVE: i32 = 6;

/// Index of the coarsest octave, for rays that meet a coarser grid.
pub(crate) const COARSEST_OCTAVE: i32 = -10;

/// Reciprocals of the standard deviations of the noise's values and of its slopes along an axis.
pub(crate) const VALUE_SCALE: f32 = 2.212;
pub(crate) const SLOPE_SCALE: f32 = 1.159;

/// Least cosine of incidence by which a pixel's footprint is stretched.
pub(crate) const GRAZING: f32 = 0.05;

/// Adds detail to the ground that a camera ray of direction `direction` has met; other surfaces stay unchanged.
#[must_use]
pub fn detailed(
    records: &Records<'_>,
    camera: &CameraRecord,
    direction: &Vector3<f32>,
    hit: &Hit,
    surface: Surface,
) -> Surface {
    let globals = &records.globals;
    if hit.instance != GROUND {
        return surface;
    }
    let length = direction.norm();
    let facing = most(-surface.normal.dot(direction) / length, GRAZING);
    let pixel = most(camera.inverse_focal[0], camera.inverse_focal[1]);
    let finest = &records.levels[0];
    let footprint = hit.t * length * pixel * finest.inverse_spacing / facing;
    let cells = records.levels[hit.part as usize].spacing * finest.inverse_spacing;
    let place = [0, 1].map(|axis| (surface.point[axis] - finest.origin[axis]) * finest.inverse_spacing);
    let print = if hit.part == 0 { print_at(records, place, &surface.normal, footprint) } else { PrintEffect::NONE };
    let mut surface = surface;
    if globals.detail_slope > 0.0 || globals.detail_mottle > 0.0 {
        surface = add_octaves(records, place, [cells, footprint], print.rough(), surface);
    }
    if globals.detail_craterlets > 0.0 {
        let craterlets = craterlets_at(records, place, &surface.normal, footprint, 1.0 - print.pressed);
        surface.normal = tilted(surface.normal, craterlets.slope.into());
        surface.open = craterlets.open;
    }
    print.on(surface)
}

/// Adds the octaves between a grid spacing of `cells` and a pixel's `footprint`, each scaled by `rough`. Lengths are in
/// cells of the finest grid; `place` counts from its first post.
fn add_octaves(
    records: &Records<'_>,
    place: [f32; 2],
    [cells, footprint]: [f32; 2],
    rough: f32,
    mut surface: Surface,
) -> Surface {
    let globals = &records.globals;
    // Heights already contain everything at least as large as the grid's spacing.
    let largest = 0.75 * cells;
    if largest <= footprint {
        return surface;
    }
    let mut slope = Vector2::zeros();
    let mut octave = COARSEST_OCTAVE;
    let mut cell = 1024.0;
    let mut amplitude = globals.detail_slope * globals.detail_gain.powf(octave as f32);
    while octave <= FINEST_OCTAVE && cell > footprint {
        if cell < largest {
            let shown = least(cell / footprint - 1.0, 1.0) * rough;
            let [value, along_x, along_y] = noise(place, globals.detail_origin, octave);
            slope += Vector2::new(along_x, along_y) * (amplitude * SLOPE_SCALE * shown);
            surface.shade *= 1.0 + globals.detail_mottle * VALUE_SCALE * shown * value;
        }
        octave += 1;
        cell *= 0.5;
        amplitude *= globals.detail_gain;
    }
    surface.normal = tilted(surface.normal, slope);
    surface
}

/// Value noise of an octave, −1…1, and its slopes per cell along x and y (from random numbers independent of the
/// value's).
fn noise(place: [f32; 2], origin: [i32; 2], octave: i32) -> [f32; 3] {
    let (x, u) = cell_of(place[0], origin[0], octave);
    let (y, v) = cell_of(place[1], origin[1], octave);
    let salt = scramble(octave as u32);
    let rows = [scramble(y.wrapping_add(salt)), scramble(y.wrapping_add(1).wrapping_add(salt))];
    let corner = |row: usize, right: u32| scramble(x.wrapping_add(right).wrapping_add(rows[row]));
    let corners = [corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1)];
    let value = blend(corners.map(|bits| (bits & 0xffff) as f32 * (1.0 / 32768.0) - 1.0), u, v);
    let height = blend(corners.map(|bits| (bits >> 16) as f32 * (1.0 / 32768.0) - 1.0), u, v);
    [value[0], height[1], height[2]]
}

/// Index of an octave's cell, wrapped, and the position within it, 0…1.
pub(crate) fn cell_of(place: f32, origin: i32, octave: i32) -> (u32, f32) {
    let whole = place.floor();
    let post = (whole as i32).wrapping_add(origin);
    let within = place - whole;
    if octave < 0 {
        let shift = octave.unsigned_abs();
        let rest = (post & ((1 << shift) - 1)) as f32;
        return ((post >> shift) as u32, (rest + within) / (1 << shift) as f32);
    }
    let scaled = within * (1 << octave) as f32;
    let cell = (post << octave).wrapping_add(scaled.floor() as i32);
    (cell as u32, scaled - scaled.floor())
}

/// Interpolates four corners with Perlin's quintic: the value and its slopes.
fn blend([a, b, c, d]: [f32; 4], u: f32, v: f32) -> [f32; 3] {
    let fade = |t: f32| t * t * t * (t * (6.0 * t - 15.0) + 10.0);
    let rate = |t: f32| 30.0 * t * t * (t - 1.0) * (t - 1.0);
    let [right, up, both] = [b - a, c - a, a - b - c + d];
    let [fu, fv] = [fade(u), fade(v)];
    [a + right * fu + up * fv + both * fu * fv, rate(u) * (right + both * fv), rate(v) * (up + both * fu)]
}
