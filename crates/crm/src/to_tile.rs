//! Transfer from points to the nodes of their block's tile (MLS-MPM, Hu et al. 2018, with affine velocities): a node at d
//! from a point of mass m gets the momentum `w (m v + A d)` and the mass `w m`, with `A = m C − (4Δt/Δx²) V₀ J σ`.
//!
//! Where a shell's surface lies between a point and a node, the node gets nothing: the point has a node of its own
//! (`shells`).

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, mask32x4};
use nalgebra::Matrix3;

use crate::block::Tile;
use crate::lanes::{Floats, LANES, NodeLanes, Row, doubles, floats};
use crate::model::Model;
use crate::shells::{NearbySides, Sides, TileSides};
use crate::state::{AFFINE_AT, MG_PER_KG, Point, STRESS_AT};
use crate::stencil::{SPAN, Stencil, Stencils, eight_of, positions, row_at};

/// Adds a block's points to its tile, in their order.
pub(crate) fn to_tile(
    model: &Model,
    substep_s: f64,
    block: u32,
    points: &[Point],
    beside: Option<&NearbySides>,
    tile: &mut Tile,
) {
    tile.fill([0.0; 4]);
    let block = model.layout.block_at(block);
    match beside {
        None => dispatch!(Level::new(), simd => add_points(simd, model, substep_s, block, points, tile)),
        Some(beside) => {
            dispatch!(Level::new(), simd => add_beside(simd, model, substep_s, (block, points), beside, tile))
        }
    }
}

#[inline(always)]
fn add_points<S: Simd>(simd: S, model: &Model, substep_s: f64, block: [i32; 3], points: &[Point], tile: &mut Tile) {
    let numbers = tile.as_flattened_mut();
    for some in points.chunks(LANES) {
        let eight = Shares::new(simd, model, substep_s, block, some);
        for (lane, point) in some.iter().enumerate() {
            eight.add(simd, lane, point, numbers);
        }
    }
}

/// Same as `add_points`, near shells.
#[inline(always)]
fn add_beside<S: Simd>(
    simd: S,
    model: &Model,
    substep_s: f64,
    (block, points): ([i32; 3], &[Point]),
    beside: &NearbySides,
    tile: &mut Tile,
) {
    let factors = (stress_factor(model, substep_s), model.grid().cell_m as f32);
    for (some, sides) in points.chunks(LANES).zip(beside.points.chunks(LANES)) {
        let eight = Shares::new(simd, model, substep_s, block, some);
        for (lane, (point, own)) in some.iter().zip(sides).enumerate() {
            if own.sides.is_clear(&beside.tile, eight.stencils.first(lane)) {
                eight.add(simd, lane, point, tile.as_flattened_mut());
            } else {
                add_divided((point, own.sides), factors, &eight.stencils.of(lane), &beside.tile, tile);
            }
        }
    }
}

/// What eight points share out to their nodes, as far as it is computed for all of them at once.
struct Shares {
    stencils: Stencils,
    /// Weights of the rows along x, y fastest.
    rows: [[f32; LANES]; 9],
    mass_kg: [f32; LANES],
    /// Mass times the side of a cell, kg m.
    moment_kg_m: [f32; LANES],
    /// Turns stress into a gradient of velocity, 1/(s Pa).
    pull: [f32; LANES],
}

impl Shares {
    #[inline(always)]
    fn new<S: Simd>(simd: S, model: &Model, substep_s: f64, block: [i32; 3], points: &[Point]) -> Self {
        let points = eight_of(points);
        let stencils = Stencils::new(simd, model, block, &positions(simd, &points));
        let [near_mg, far_mg] = doubles(simd, |lane| f64::from(points[lane].mass_mg));
        let mass: Floats<S> = simd.narrow_f64x4(near_mg / MG_PER_KG, far_mg / MG_PER_KG);
        let ratios = floats(simd, |lane| points[lane].volume_ratio);
        let [mut mass_kg, mut moment_kg_m, mut pull] = [[0.0; LANES]; 3];
        mass.store_slice(&mut mass_kg);
        (mass * model.grid().cell_m as f32).store_slice(&mut moment_kg_m);
        (ratios * stress_factor(model, substep_s)).store_slice(&mut pull);
        let mut rows = [[0.0; LANES]; 9];
        for (number, row) in rows.iter_mut().enumerate() {
            let [_, y, z] = &stencils.weights;
            let along_y = Floats::from_slice(simd, &y[number % 3]);
            (along_y * Floats::from_slice(simd, &z[number / 3])).store_slice(row);
        }
        Self { stencils, rows, mass_kg, moment_kg_m, pull }
    }

    /// Adds a point to the nodes of its stencil.
    #[inline(always)]
    fn add<S: Simd>(&self, simd: S, lane: usize, point: &Point, tile: &mut [f32]) {
        let [mut plane, along_y, along_z] = self.first_row(simd, lane, point);
        let span = &mut tile[4 * self.stencils.first(lane)..][..SPAN];
        for k in 0..3 {
            let mut row = plane;
            for j in 0..3 {
                let nodes = &mut span[row_at(j, k)..][..12];
                Row::load(simd, nodes).plus(row.times(self.rows[3 * k + j][lane])).store(nodes);
                row = row.plus(along_y);
            }
            plane = plane.plus(along_z);
        }
    }

    /// Contribution of a point to its first row of nodes, before the row's weight, and its increments along y and z.
    #[inline(always)]
    fn first_row<S: Simd>(&self, simd: S, lane: usize, point: &Point) -> [Row<S>; 3] {
        let at_mass: mask32x4<S> = [0, 0, 0, -1].simd_into(simd);
        let splat = |number: f32| NodeLanes::splat(simd, number);
        let numbers = |from: usize| NodeLanes::from_slice(simd, &point.numbers()[from..from + 4]);
        // The fourth number of a gradient is arbitrary; that of its increments is 0, since they do not change the mass.
        let scale = at_mass.select(splat(0.0), splat(self.moment_kg_m[lane]));
        let pull = splat(self.pull[lane]);
        let along_x = (numbers(AFFINE_AT) - numbers(STRESS_AT) * pull) * scale;
        let along_y = (numbers(AFFINE_AT + 3) - numbers(STRESS_AT + 3) * pull) * scale;
        let along_z = (numbers(AFFINE_AT + 6) - numbers(STRESS_AT + 6) * pull) * scale;
        let mass = splat(self.mass_kg[lane]);
        let momentum = at_mass.select(mass, numbers(0) * mass);
        let [x, y, z] = &self.stencils.beyond;
        let node = momentum - (along_x * x[lane] + along_y * y[lane] + along_z * z[lane]);
        let next = node + along_x;
        let [first, second, third] = &self.stencils.weights[0];
        let weights = [splat(first[lane]), splat(second[lane]), splat(third[lane])];
        [
            Row::of(simd, [node * weights[0], next * weights[1], (next + along_x) * weights[2]]),
            Row::of(simd, [along_y * weights[0], along_y * weights[1], along_y * weights[2]]),
            Row::of(simd, [along_z * weights[0], along_z * weights[1], along_z * weights[2]]),
        ]
    }
}

/// Adds a point to those nodes of its stencil that no surface divides from it.
fn add_divided(
    (point, own): (&Point, Sides),
    (stress_factor, cell_m): (f32, f32),
    stencil: &Stencil,
    sides: &TileSides,
    tile: &mut Tile,
) {
    let mass = point.mass_kg() as f32;
    let affine = pushed(point, stress_factor) * (mass * cell_m);
    let first = point.velocity_m_s * mass + affine * stencil.offset;
    let first = [first.x, first.y, first.z, mass];
    let [along_x, along_y, along_z] = [0, 1, 2].map(|axis| four(&affine, axis));
    stencil.each(|at, weight, [i, j, k]| {
        if own.between(sides[at]) == 0 {
            let (i, j, k) = (i as f32, j as f32, k as f32);
            for (n, sum) in tile[at].iter_mut().enumerate() {
                *sum += weight * (first[n] + along_x[n] * i + along_y[n] * j + along_z[n] * k);
            }
        }
    });
}

/// `4Δt/(Δx² ρ)`: turns stress into the velocity that it adds to a node, per metre of distance.
pub(crate) fn stress_factor(model: &Model, substep_s: f64) -> f32 {
    let cell_m = model.grid().cell_m;
    (4.0 * substep_s / (cell_m * cell_m * model.soil().density_kg_m3)) as f32
}

/// Gradient of the momentum that a point adds to nodes, per kilogram, 1/s.
pub(crate) fn pushed(point: &Point, stress_factor: f32) -> Matrix3<f32> {
    point.affine_s - point.stress_pa * (stress_factor * point.volume_ratio)
}

/// A column of `matrix`, with 0 for the mass.
fn four(matrix: &Matrix3<f32>, column: usize) -> [f32; 4] {
    [matrix[(0, column)], matrix[(1, column)], matrix[(2, column)], 0.0]
}
