//! Between points and nodes (MLS-MPM, Hu et al. 2018, with affine velocities).
//!
//! To nodes: a node at d from a point of mass m gets `w (m v + A d)` of momentum and `w m`
//! of mass, with `A = m C − (4Δt/Δx²) V₀ J σ`. Back: `v = Σ w vᵢ`,
//! `C = (4/Δx²) Σ w vᵢ dᵀ`, then x, J and σ follow. Both conserve momentum. Beside shells a
//! point has its own nodes where a surface is between (`shells`).

use nalgebra::{Matrix3, Vector3};

use crate::block::{BLOCK_NODES, Node, Stencil, TILE_NODES, Tile};
use crate::body::Reaction;
use crate::grid::Edges;
use crate::model::Model;
use crate::shells::{Onlooker, Shells, TileSides};
use crate::state::Point;

/// A block's tile beside shells.
pub(crate) struct Beside<'a> {
    pub(crate) shells: &'a Shells,
    /// On which sides of them its nodes are.
    pub(crate) sides: Box<TileSides>,
}

/// Adds a block's points to its tile, in their order.
pub(crate) fn to_tile(
    model: &Model,
    substep_s: f64,
    block: u32,
    points: &[Point],
    beside: Option<&Beside>,
    tile: &mut Tile,
) {
    tile.fill([0.0; 4]);
    let block = model.layout.block_at(block);
    let cell_m = model.grid().cell_m;
    let stress_factor = stress_factor(model, substep_s);
    for point in points {
        let stencil = model.layout.stencil(point, block);
        let mass = point.mass_kg() as f32;
        let affine = pushed(point, stress_factor) * (mass * cell_m as f32);
        let first = point.velocity_m_s * mass + affine * stencil.offset;
        let first = [first.x, first.y, first.z, mass];
        let [along_x, along_y, along_z] = [0, 1, 2].map(|axis| four(&affine, axis));
        let mut add = |at: usize, weight: f32, [i, j, k]: [usize; 3]| {
            let (i, j, k) = (i as f32, j as f32, k as f32);
            for (n, sum) in tile[at].iter_mut().enumerate() {
                *sum += weight * (first[n] + along_x[n] * i + along_y[n] * j + along_z[n] * k);
            }
        };
        let Some(Beside { shells, sides }) = beside else {
            stencil.each(add);
            continue;
        };
        let own = shells.sides(&point.position_m);
        stencil.each(|at, weight, number| {
            if own.between(sides[at]) == 0 {
                add(at, weight, number);
            }
        });
    }
}

/// `4Δt/(Δx² ρ)`: stress to the velocity that it gives a node, per metre of distance.
fn stress_factor(model: &Model, substep_s: f64) -> f32 {
    let cell_m = model.grid().cell_m;
    (4.0 * substep_s / (cell_m * cell_m * model.soil().density_kg_m3)) as f32
}

/// Gradient of what a point gives to nodes, per kilogram, 1/s.
fn pushed(point: &Point, stress_factor: f32) -> Matrix3<f32> {
    point.affine_s - point.stress_pa * (stress_factor * point.volume_ratio)
}

/// A column, with nothing for mass.
fn four(matrix: &Matrix3<f32>, column: usize) -> [f32; 4] {
    [matrix[(0, column)], matrix[(1, column)], matrix[(2, column)], 0.0]
}

/// What a block's tile has of nodes, out of the 27 blocks around it; `none` where there is no block.
pub(crate) fn tile_of<T: Copy>(nodes: &[[T; BLOCK_NODES]], around: &[Option<usize>; 27], none: T) -> [T; TILE_NODES] {
    std::array::from_fn(|at| {
        let tile = [at % 8, at / 8 % 8, at / 64];
        // One before the block, four of it, three behind.
        let block = tile.map(|t| t.div_ceil(4));
        let local = tile.map(|t| (t + 3) % 4);
        let slot = around[block[0] + 3 * block[1] + 9 * block[2]];
        slot.map_or(none, |slot| nodes[slot][local[0] + 4 * local[1] + 16 * local[2]])
    })
}

/// Moves a block's points with the velocities of its tile. Gives the square of the greatest
/// speed, (m/s)²; infinity when a value is not finite.
pub(crate) fn to_points(model: &Model, substep_s: f64, block: u32, tile: &Tile, points: &mut [Point]) -> f32 {
    let block = model.layout.block_at(block);
    let mut fastest = 0.0_f32;
    for point in points {
        let stencil = model.layout.stencil(point, block);
        let mut gathered = Gathered::default();
        stencil.each(|at, weight, numbers| gathered.add(weight, &tile[at], numbers));
        gathered.give(model, &stencil, point);
        advance(model, substep_s, point);
        let speed = point.velocity_m_s.norm_squared();
        fastest = if point.is_sound() { fastest.max(speed) } else { f32::INFINITY };
    }
    fastest
}

/// As `to_points`, beside shells; adds what they got to `reactions`.
pub(crate) fn to_points_beside(
    model: &Model,
    substep_s: f64,
    (block, tile): (u32, &Tile),
    beside: &Beside,
    points: &mut [Point],
    reactions: &mut [Reaction],
) -> f32 {
    let block = model.layout.block_at(block);
    let mut fastest = 0.0_f32;
    for point in points {
        let stencil = model.layout.stencil(point, block);
        let gathered = gather_beside(model, substep_s, (&stencil, tile), beside, point, reactions);
        gathered.give(model, &stencil, point);
        let before_m = point.position_m;
        advance(model, substep_s, point);
        beside.shells.hold(point, &before_m, reactions);
        let speed = point.velocity_m_s.norm_squared();
        fastest = if point.is_sound() { fastest.max(speed) } else { f32::INFINITY };
    }
    fastest
}

/// Velocities that a point sees: the grid's, and where a surface is between those of its own nodes.
fn gather_beside(
    model: &Model,
    substep_s: f64,
    (stencil, tile): (&Stencil, &Tile),
    Beside { shells, sides }: &Beside,
    point: &Point,
    reactions: &mut [Reaction],
) -> Gathered {
    let onlooker = Onlooker {
        point,
        sides: shells.sides(&point.position_m),
        velocity_m_s: point.velocity_m_s.cast::<f64>() + model.gravity_m_s2() * substep_s,
        gradient_s: pushed(point, stress_factor(model, substep_s)).cast::<f64>(),
    };
    let mut gathered = Gathered::default();
    stencil.each(|at, weight, numbers| {
        if onlooker.sides.between(sides[at]) == 0 {
            return gathered.add(weight, &tile[at], numbers);
        }
        let cells = stencil.offset.cast::<f64>() + Vector3::from(numbers.map(|number| number as f64));
        let mass_kg = f64::from(weight) * point.mass_kg();
        let own = shells.meet(&onlooker, sides[at], &(cells * model.grid().cell_m), mass_kg, reactions).cast::<f32>();
        gathered.add(weight, &[own.x, own.y, own.z, 0.0], numbers);
    });
    gathered
}

/// Sums over the nodes of a point's stencil.
#[derive(Default)]
struct Gathered {
    velocity: Node,
    /// Moments about the first node, cells m/s: of each component along x, y and z.
    along: [Node; 3],
}

impl Gathered {
    #[inline]
    fn add(&mut self, weight: f32, node: &Node, numbers: [usize; 3]) {
        for (n, component) in node.iter().enumerate() {
            let share = weight * component;
            self.velocity[n] += share;
            for (along, number) in self.along.iter_mut().zip(numbers) {
                along[n] += share * number as f32;
            }
        }
    }

    /// Gives a point its velocity and the gradient about it.
    #[inline]
    fn give(&self, model: &Model, stencil: &Stencil, point: &mut Point) {
        let per_cell = (4.0 / model.grid().cell_m) as f32;
        let velocity = Vector3::new(self.velocity[0], self.velocity[1], self.velocity[2]);
        let numbered = Matrix3::from_fn(|row, column| self.along[column][row]);
        point.affine_s = (numbered + velocity * stencil.offset.transpose()) * per_cell;
        point.velocity_m_s = velocity;
    }
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
