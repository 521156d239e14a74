//! Update of the nodes of a block: sums the tiles that reach it, then applies gravity, bodies and walls.

use nalgebra::Vector3;

use crate::block::{BlockNodes, SIDE, Tile};
use crate::body::{Body, Reaction, slide};
use crate::grid::{Edges, Wall};
use crate::model::Model;
use crate::scratch::{Around, around, slot};

/// Sets a block's nodes to the sums of what the tiles of the 27 surrounding blocks contribute, in the order of `around`.
pub(crate) fn sum_tiles(tiles: &[Tile], slots: &Around, nodes: &mut BlockNodes) {
    nodes.fill([0.0; 4]);
    let sums = nodes.as_flattened_mut();
    for (n, tile) in slots.iter().enumerate().filter_map(|(n, at)| Some((n, &tiles[slot(*at)?]))) {
        let [x, y, z] = around(n).map(reach);
        let parts = tile.as_flattened();
        for k in 0..z.count {
            for j in 0..y.count {
                let sums = &mut sums[4 * (x.first + 4 * (y.first + j) + 16 * (z.first + k))..];
                let parts = &parts[4 * (x.place + 8 * (y.place + j) + 64 * (z.place + k))..];
                match x.count {
                    4 => add::<16>(sums, parts),
                    3 => add::<12>(sums, parts),
                    _ => add::<4>(sums, parts),
                }
            }
        }
    }
}

#[inline(always)]
fn add<const COUNT: usize>(sums: &mut [f32], parts: &[f32]) {
    sums[..COUNT].iter_mut().zip(&parts[..COUNT]).for_each(|(sum, part)| *sum += part);
}

/// Range of a block's nodes along an axis that lies in a neighbour's tile, and where it begins in that tile.
#[derive(Clone, Copy)]
struct NeighbourRange {
    first: usize,
    place: usize,
    count: usize,
}

fn reach(offset: i32) -> NeighbourRange {
    match offset {
        -1 => NeighbourRange { first: 0, place: 5, count: 3 },
        0 => NeighbourRange { first: 0, place: 1, count: 4 },
        _ => NeighbourRange { first: 3, place: 0, count: 1 },
    }
}

/// Model, bodies and substep that act on nodes.
pub(crate) struct Conditions<'a> {
    pub(crate) model: &'a Model,
    pub(crate) bodies: &'a [Body],
    pub(crate) substep_s: f64,
}

impl Conditions<'_> {
    /// Turns the momenta of a block's nodes into velocities at the end of the substep. Adds the impulse on each body,
    /// and last that on the walls, to `reactions`.
    pub(crate) fn apply(&self, block: u32, nodes: &mut BlockNodes, reactions: &mut [Reaction]) {
        let block = self.model.layout.block_at(block);
        let bodies = if self.meets_bodies(block) { self.bodies } else { &[] };
        for (at, node) in nodes.iter_mut().enumerate() {
            let mass = node[3];
            // The momentum of lighter nodes has lost its digits; no point follows them.
            if mass < f32::MIN_POSITIVE {
                *node = [0.0; 4];
                continue;
            }
            let at = at as i32;
            let local = [at % SIDE, at / SIDE % SIDE, at / (SIDE * SIDE)];
            let number = self.model.layout.node_from_origin(block, local);
            let momentum = Vector3::new(node[0], node[1], node[2]).cast::<f64>();
            let velocity = momentum * f64::from(mass).recip() + self.model.gravity_m_s2() * self.substep_s;
            let velocity = self.against(bodies, number, f64::from(mass), velocity, reactions).cast::<f32>();
            *node = [velocity.x, velocity.y, velocity.z, mass];
        }
    }

    /// Whether the bounding sphere of any body contains nodes of a block.
    fn meets_bodies(&self, block: [i32; 3]) -> bool {
        let cell_m = self.model.grid().cell_m;
        let low = self.model.layout.node_from_origin(block, [0; 3]);
        self.bodies.iter().any(|body| {
            let (at, radius_m) = (body.pose.translation.vector, body.shape.bounding_radius_m());
            (0..3).all(|axis| {
                let low_m = f64::from(low[axis]) * cell_m;
                low_m - cell_m < at[axis] + radius_m && at[axis] - radius_m < low_m + f64::from(SIDE) * cell_m
            })
        })
    }

    fn against(
        &self,
        bodies: &[Body],
        number: [i32; 3],
        mass_kg: f64,
        mut velocity: Vector3<f64>,
        reactions: &mut [Reaction],
    ) -> Vector3<f64> {
        let at = Vector3::from(number.map(|along| f64::from(along) * self.model.grid().cell_m));
        for (body, reaction) in bodies.iter().zip(reactions.iter_mut()) {
            if let Some(after) = body.meet(&at, &velocity) {
                let impulse = (velocity - after) * mass_kg;
                reaction.add(impulse, &(at - body.pose.translation.vector));
                velocity = after;
            }
        }
        let after = self.at_walls(number, velocity);
        reactions[self.bodies.len()].impulse_n_s += (velocity - after) * mass_kg;
        after
    }

    fn at_walls(&self, number: [i32; 3], mut velocity: Vector3<f64>) -> Vector3<f64> {
        let grid = self.model.grid();
        for (axis, along) in number.into_iter().enumerate() {
            let Edges::Walls { low, high } = grid.edges[axis] else { continue };
            let inward = Vector3::ith(axis, 1.0);
            if along <= 0 {
                velocity = at_wall(low, &inward, velocity);
            }
            if along >= grid.cells[axis] as i32 {
                velocity = at_wall(high, &-inward, velocity);
            }
        }
        velocity
    }
}

fn at_wall(wall: Wall, inward: &Vector3<f64>, velocity: Vector3<f64>) -> Vector3<f64> {
    match wall {
        Wall::Open => velocity,
        Wall::Rough => Vector3::zeros(),
        Wall::Sliding { friction } => slide(velocity, inward, friction),
    }
}
