//! Where nodes and points are in blocks of 4³ nodes. An axis with walls has a block of
//! nodes before its first wall and at least one behind its last, for points at the walls.
//!
//! A block's tile has 8³ nodes: its own, one before and three behind. A point's stencil of
//! 3³ nodes stays inside of it until the point has moved a cell since it was sorted.

use nalgebra::Vector3;

use crate::grid::{BLOCK_CELLS, Edges, Grid};
use crate::state::Point;

/// Nodes along a side of a block and of its tile.
pub(crate) const SIDE: i32 = BLOCK_CELLS as i32;
pub(crate) const TILE_SIDE: usize = 8;
/// Nodes of a block and of its tile.
pub(crate) const BLOCK_NODES: usize = 64;
pub(crate) const TILE_NODES: usize = 512;
/// Momentum or velocity along x, y, z, and mass.
pub(crate) type Node = [f32; 4];
pub(crate) type BlockNodes = [Node; BLOCK_NODES];
pub(crate) type Tile = [Node; TILE_NODES];

/// Blocks of a grid and how they neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    cell_m: f64,
    blocks: [i32; 3],
    /// Index of the node at the origin.
    origin: [i32; 3],
    /// Nodes of a period; none with walls.
    period: [Option<i32>; 3],
}

/// The 27 nodes that a point touches.
pub(crate) struct Stencil {
    /// The first of them in the tile.
    pub(crate) first: usize,
    /// From the point to the first node, cells.
    pub(crate) offset: Vector3<f32>,
    /// Weights along x, y and z.
    pub(crate) weights: [[f32; 3]; 3],
}

impl Layout {
    pub(crate) fn new(grid: &Grid) -> Self {
        let cells = grid.cells.map(|cells| cells as i32);
        let periodic = grid.edges.map(|edges| edges == Edges::Periodic);
        let axes = [0, 1, 2];
        Self {
            cell_m: grid.cell_m,
            blocks: axes.map(|i| if periodic[i] { cells[i] / SIDE } else { cells[i] / SIDE + 3 }),
            origin: axes.map(|i| if periodic[i] { 0 } else { SIDE }),
            period: axes.map(|i| periodic[i].then_some(cells[i])),
        }
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.iter().map(|count| *count as usize).product()
    }

    /// The block that a point inside of the grid is sorted into.
    pub(crate) fn block_of(&self, point: &Point) -> u32 {
        let block = [0, 1, 2].map(|axis| {
            let (base, _) = self.base(point, axis);
            base.div_euclid(SIDE).rem_euclid(self.blocks[axis])
        });
        self.index(block)
    }

    fn index(&self, block: [i32; 3]) -> u32 {
        ((block[2] * self.blocks[1] + block[1]) * self.blocks[0] + block[0]) as u32
    }

    pub(crate) fn block_at(&self, index: u32) -> [i32; 3] {
        let (index, [x, y, _]) = (index as i32, self.blocks);
        [index % x, index / x % y, index / (x * y)]
    }

    /// The block at `block + offset`; none beyond walls.
    pub(crate) fn neighbour(&self, block: [i32; 3], offset: [i32; 3]) -> Option<u32> {
        let mut at = [0; 3];
        for axis in 0..3 {
            let count = self.blocks[axis];
            let along = block[axis] + offset[axis];
            at[axis] = if self.period[axis].is_some() { along.rem_euclid(count) } else { along };
            if !(0..count).contains(&at[axis]) {
                return None;
            }
        }
        Some(self.index(at))
    }

    /// Node number along x, y and z from the origin: zero and the number of cells are at the walls.
    pub(crate) fn node_from_origin(&self, block: [i32; 3], local: [i32; 3]) -> [i32; 3] {
        [0, 1, 2].map(|axis| block[axis] * SIDE + local[axis] - self.origin[axis])
    }

    /// A point's stencil in the tile of `block`, which it was sorted into less than a cell ago.
    pub(crate) fn stencil(&self, point: &Point, block: [i32; 3]) -> Stencil {
        let (mut first, mut offset, mut weights) = ([0; 3], Vector3::zeros(), [[0.0; 3]; 3]);
        for axis in 0..3 {
            let (base, beyond) = self.base(point, axis);
            let in_tile = base - block[axis] * SIDE + 1;
            first[axis] = self.period[axis].map_or(in_tile, |nodes| in_tile.rem_euclid(nodes)) as usize;
            offset[axis] = -beyond;
            weights[axis] = [0.5 * (1.5 - beyond).powi(2), 0.75 - (beyond - 1.0).powi(2), 0.5 * (beyond - 0.5).powi(2)];
        }
        Stencil { first: (first[2] * TILE_SIDE + first[1]) * TILE_SIDE + first[0], offset, weights }
    }

    /// First node of a point's stencil along an axis, and the point's distance from it: 0.5 to 1.5 cells.
    fn base(&self, point: &Point, axis: usize) -> (i32, f32) {
        let along = point.position_m[axis] / self.cell_m + f64::from(self.origin[axis]);
        let base = (along - 0.5).floor();
        (base as i32, (along - base) as f32)
    }
}

impl Stencil {
    /// Calls `visit` with each node's place in the tile, its weight, and its number along x, y and z.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(usize, f32, [usize; 3])) {
        let [along_x, along_y, along_z] = &self.weights;
        for (k, weight_z) in along_z.iter().enumerate() {
            for (j, weight_y) in along_y.iter().enumerate() {
                let row = self.first + (k * TILE_SIDE + j) * TILE_SIDE;
                for (i, weight_x) in along_x.iter().enumerate() {
                    visit(row + i, weight_x * weight_y * weight_z, [i, j, k]);
                }
            }
        }
    }
}
