//! Nodes of a block: the sum of the tiles that reach it, then gravity, bodies and walls.

use nalgebra::Vector3;

use crate::block::{BlockNodes, Node, SIDE, Tile};
use crate::body::{Body, Reaction, slide};
use crate::grid::{Edges, Wall};
use crate::model::Model;
use crate::scratch::around;

/// Sums what the tiles of the 27 blocks around give to a block's nodes, in the order of `around`.
pub(crate) fn sum_tiles(tiles: &[Tile], slots: &[Option<usize>; 27]) -> BlockNodes {
    let mut nodes = [[0.0; 4]; 64];
    for (n, tile) in slots.iter().enumerate().filter_map(|(n, slot)| Some((n, &tiles[(*slot)?]))) {
        let [x, y, z] = around(n).map(reach);
        for (k, tile_z) in z.clone() {
            for (j, tile_y) in y.clone() {
                for (i, tile_x) in x.clone() {
                    add(&mut nodes[i + 4 * j + 16 * k], &tile[tile_x + 8 * tile_y + 64 * tile_z]);
                }
            }
        }
    }
    nodes
}

/// Along an axis, nodes of a block that the tile of its neighbour at `offset` has, each with its place in that tile.
fn reach(offset: i32) -> impl Iterator<Item = (usize, usize)> + Clone {
    let (first, place, count) = match offset {
        -1 => (0, 5, 3),
        0 => (0, 1, 4),
        _ => (3, 0, 1),
    };
    (0..count).map(move |n| (first + n, place + n))
}

fn add(sum: &mut Node, node: &Node) {
    sum.iter_mut().zip(node).for_each(|(sum, part)| *sum += part);
}

/// What acts on nodes in a substep.
pub(crate) struct Conditions<'a> {
    pub(crate) model: &'a Model,
    pub(crate) bodies: &'a [Body],
    pub(crate) substep_s: f64,
}

impl Conditions<'_> {
    /// Turns the momenta of a block's nodes into velocities at the end of the substep. Adds
    /// what the soil gave to each body, and last to the walls, to `reactions`.
    pub(crate) fn apply(&self, block: u32, nodes: &mut BlockNodes, reactions: &mut [Reaction]) {
        let block = self.model.layout.block_at(block);
        for (at, node) in nodes.iter_mut().enumerate() {
            let mass = node[3];
            // Lighter nodes have lost the digits of their momentum; no point follows them.
            if mass < f32::MIN_POSITIVE {
                *node = [0.0; 4];
                continue;
            }
            let at = at as i32;
            let local = [at % SIDE, at / SIDE % SIDE, at / (SIDE * SIDE)];
            let number = self.model.layout.node_from_origin(block, local);
            let momentum = Vector3::new(node[0], node[1], node[2]).cast::<f64>();
            let velocity = momentum / f64::from(mass) + self.model.gravity_m_s2() * self.substep_s;
            let velocity = self.against(number, f64::from(mass), velocity, reactions).cast::<f32>();
            *node = [velocity.x, velocity.y, velocity.z, mass];
        }
    }

    fn against(
        &self,
        number: [i32; 3],
        mass_kg: f64,
        mut velocity: Vector3<f64>,
        reactions: &mut [Reaction],
    ) -> Vector3<f64> {
        let at = Vector3::from(number.map(|along| f64::from(along) * self.model.grid().cell_m));
        for (body, reaction) in self.bodies.iter().zip(reactions.iter_mut()) {
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
