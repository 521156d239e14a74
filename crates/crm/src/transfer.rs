//! Between points and nodes (MLS-MPM, Hu et al. 2018, with affine velocities).
//!
//! To nodes: a node at d from a point of mass m gets `w (m v + A d)` of momentum and `w m`
//! of mass, with `A = m C − (4Δt/Δx²) V₀ J σ`. Back: `v = Σ w vᵢ`,
//! `C = (4/Δx²) Σ w vᵢ dᵀ`, then x, J and σ follow. Both conserve momentum.

use nalgebra::{Matrix3, Vector3};

use crate::block::{BlockNodes, Tile};
use crate::grid::Edges;
use crate::model::Model;
use crate::state::Point;

/// Adds a block's points to its tile, in their order.
pub(crate) fn to_tile(model: &Model, substep_s: f64, block: u32, points: &[Point], tile: &mut Tile) {
    tile.fill([0.0; 4]);
    let block = model.layout.block_at(block);
    let cell_m = model.grid().cell_m;
    // 4Δt/(Δx² ρ), per kilogram of the point; forces are wanted per cell of distance.
    let stress_factor = (4.0 * substep_s / (cell_m * cell_m * model.soil().density_kg_m3)) as f32;
    for point in points {
        let stencil = model.layout.stencil(point, block);
        let mass = point.mass_kg() as f32;
        let affine = (point.affine_s - point.stress_pa * (stress_factor * point.volume_ratio)) * (mass * cell_m as f32);
        let first = point.velocity_m_s * mass + affine * stencil.offset;
        let first = [first.x, first.y, first.z, mass];
        let [along_x, along_y, along_z] = [0, 1, 2].map(|axis| four(&affine, axis));
        stencil.each(|at, weight, [i, j, k]| {
            let (i, j, k) = (i as f32, j as f32, k as f32);
            for (n, sum) in tile[at].iter_mut().enumerate() {
                *sum += weight * (first[n] + along_x[n] * i + along_y[n] * j + along_z[n] * k);
            }
        });
    }
}

/// A column, with nothing for mass.
fn four(matrix: &Matrix3<f32>, column: usize) -> [f32; 4] {
    [matrix[(0, column)], matrix[(1, column)], matrix[(2, column)], 0.0]
}

/// The nodes of a block's tile out of the 27 blocks around it.
pub(crate) fn tile_of(nodes: &[BlockNodes], around: &[Option<usize>; 27]) -> Tile {
    std::array::from_fn(|at| {
        let tile = [at % 8, at / 8 % 8, at / 64];
        // One before the block, four of it, three behind.
        let block = tile.map(|t| t.div_ceil(4));
        let local = tile.map(|t| (t + 3) % 4);
        let slot = around[block[0] + 3 * block[1] + 9 * block[2]];
        slot.map_or([0.0; 4], |slot| nodes[slot][local[0] + 4 * local[1] + 16 * local[2]])
    })
}

/// Moves a block's points with the velocities of its tile. Gives the square of the greatest
/// speed, (m/s)²; infinity when a value is not finite.
pub(crate) fn to_points(model: &Model, substep_s: f64, block: u32, tile: &Tile, points: &mut [Point]) -> f32 {
    let block = model.layout.block_at(block);
    let per_cell = (4.0 / model.grid().cell_m) as f32;
    let mut fastest = 0.0_f32;
    for point in points {
        let stencil = model.layout.stencil(point, block);
        let mut velocity = [0.0; 4];
        let mut along = [[0.0; 4]; 3];
        stencil.each(|at, weight, numbers| {
            let node = &tile[at];
            for n in 0..4 {
                let share = weight * node[n];
                velocity[n] += share;
                for axis in 0..3 {
                    along[axis][n] += share * numbers[axis] as f32;
                }
            }
        });
        let velocity = Vector3::new(velocity[0], velocity[1], velocity[2]);
        let numbered = Matrix3::from_fn(|row, column| along[column][row]);
        point.affine_s = (numbered + velocity * stencil.offset.transpose()) * per_cell;
        point.velocity_m_s = velocity;
        advance(model, substep_s, point);
        let speed = velocity.norm_squared();
        fastest = if point.is_sound() { fastest.max(speed) } else { f32::INFINITY };
    }
    fastest
}

/// Position, volume and stress after a substep.
fn advance(model: &Model, substep_s: f64, point: &mut Point) {
    for (axis, size_m) in model.grid().size_m().into_iter().enumerate() {
        let at = point.position_m[axis] + f64::from(point.velocity_m_s[axis]) * substep_s;
        let periodic = model.grid().edges[axis] == Edges::Periodic;
        point.position_m[axis] = if periodic { at.rem_euclid(size_m) } else { at };
    }
    let substep_s = substep_s as f32;
    point.volume_ratio *= 1.0 + substep_s * point.affine_s.trace();
    point.stress_pa = model.law.stress(&point.stress_pa, point.volume_ratio, &point.affine_s, substep_s);
}
