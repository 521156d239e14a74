//! Blocks of 4³ grid nodes: in which block each node and point lies. Points at a wall reach nodes beyond it, so an axis
//! with walls has five nodes before its first wall and at least seven behind its last: the cell at the first wall is
//! then in the same block as the three cells behind it.
//!
//! A block's tile has 8³ nodes: its own, one before and three behind. A point's stencil of
//! 3³ nodes stays inside of it until the point has moved a cell since it was sorted.

use fearless_simd::f64x4;
use fearless_simd::prelude::*;

use crate::grid::{BLOCK_CELLS, Edges, Grid};
use crate::state::Point;

/// Nodes along a side of a block and of its tile.
pub(crate) const SIDE: i32 = BLOCK_CELLS as i32;
pub(crate) const TILE_SIDE: usize = 8;
/// Nodes of a block and of its tile.
pub(crate) const BLOCK_NODES: usize = 64;
pub(crate) const TILE_NODES: usize = 512;
/// Momentum (kg m/s) or velocity (m/s) along x, y, z, and mass (kg).
pub(crate) type Node = [f32; 4];
pub(crate) type BlockNodes = [Node; BLOCK_NODES];
pub(crate) type Tile = [Node; TILE_NODES];

/// Nodes before the first wall.
const BEFORE: i32 = SIDE + 1;
/// 1.5 · 2⁵²: adding it to a number rounds that number to an integer, held in the lowest bits of the sum.
pub(crate) const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// The blocks of a grid and their neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) per_m: f64,
    blocks: [i32; 3],
    /// Index of the node at the origin.
    origin: [i32; 3],
    /// Number of nodes in a period; `None` on an axis with walls.
    pub(crate) period: [Option<i32>; 3],
}

/// The block and cell that a point is sorted into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SortKey {
    pub(crate) block: u32,
    pub(crate) cell: u32,
}

impl Layout {
    pub(crate) fn new(grid: &Grid) -> Self {
        let cells = grid.cells.map(|cells| cells as i32);
        let periodic = grid.edges.map(|edges| edges == Edges::Periodic);
        let axes = [0, 1, 2];
        Self {
            per_m: 1.0 / grid.cell_m,
            blocks: axes.map(|i| if periodic[i] { cells[i] / SIDE } else { cells[i] / SIDE + 3 }),
            origin: axes.map(|i| if periodic[i] { 0 } else { BEFORE }),
            period: axes.map(|i| periodic[i].then_some(cells[i])),
        }
    }

    /// Blocks along each axis.
    pub(crate) fn blocks(&self) -> [i32; 3] {
        self.blocks
    }

    /// Number of the node at the grid's origin, along each axis.
    pub(crate) fn origin(&self) -> [i32; 3] {
        self.origin
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.iter().map(|count| *count as usize).product()
    }

    /// Block of a point inside of the grid, and its cell in that block, x fastest.
    pub(crate) fn sort_key(&self, point: &Point) -> SortKey {
        let base = [0, 1, 2].map(|axis| self.base(point, axis));
        let block = [0, 1, 2].map(|axis| base[axis].div_euclid(SIDE).rem_euclid(self.blocks[axis]));
        let [x, y, z] = base.map(|along| along.rem_euclid(SIDE));
        SortKey { block: self.index(block), cell: (x + SIDE * (y + SIDE * z)) as u32 }
    }

    fn index(&self, block: [i32; 3]) -> u32 {
        ((block[2] * self.blocks[1] + block[1]) * self.blocks[0] + block[0]) as u32
    }

    pub(crate) fn block_at(&self, index: u32) -> [i32; 3] {
        let (index, [x, y, _]) = (index as i32, self.blocks);
        [index % x, index / x % y, index / (x * y)]
    }

    /// The 27 blocks around `block`, including itself, x fastest; `None` beyond walls.
    pub(crate) fn neighbours(&self, block: [i32; 3]) -> [Option<u32>; 27] {
        let strides = [1, self.blocks[0], self.blocks[0] * self.blocks[1]];
        let part = |axis: usize, offset: i32| {
            let count = self.blocks[axis];
            let along = match self.period[axis] {
                Some(_) => (block[axis] + offset).rem_euclid(count),
                None => block[axis] + offset,
            };
            (0..count).contains(&along).then_some((along * strides[axis]) as u32)
        };
        let [x, y, z] = [0, 1, 2].map(|axis| [-1, 0, 1].map(|offset| part(axis, offset)));
        std::array::from_fn(|n| Some(x[n % 3]? + y[n / 3 % 3]? + z[n / 9]?))
    }

    /// Number of a node along x, y and z, counted from the origin: 0 and the number of cells are at the walls.
    pub(crate) fn node_from_origin(&self, block: [i32; 3], local: [i32; 3]) -> [i32; 3] {
        [0, 1, 2].map(|axis| block[axis] * SIDE + local[axis] - self.origin[axis])
    }

    /// Distance of a point from the region that is sorted into `block`, cells. Up to 1, its stencil lies in the block's
    /// tile.
    pub(crate) fn beyond_cells(&self, point: &Point, block: [i32; 3]) -> f64 {
        let beyond_side = |axis: usize| {
            let [middle, half] = self.side(axis, block[axis]);
            let mut from_middle = (point.position_m[axis] * self.per_m - middle).abs();
            if let Some(nodes) = self.period[axis] {
                from_middle = from_middle.min(f64::from(nodes) - from_middle);
            }
            from_middle - half
        };
        (0..3).map(beyond_side).fold(0.0, f64::max)
    }

    /// How far four points are beyond that region's sides along one axis, cells; below 0 between them.
    #[inline(always)]
    pub(crate) fn beyond_side<S: Simd>(&self, axis: usize, block: i32, along_m: f64x4<S>) -> f64x4<S> {
        let [middle, half] = self.side(axis, block);
        let mut from_middle = (along_m * self.per_m - middle).abs();
        if let Some(nodes) = self.period[axis] {
            from_middle = from_middle.min(f64x4::splat(along_m.simd, f64::from(nodes)) - from_middle);
        }
        from_middle - half
    }

    /// Middle of the region that is sorted into a block of this number along an axis, and half of its length, cells.
    #[inline(always)]
    fn side(&self, axis: usize, block: i32) -> [f64; 2] {
        [f64::from(block * SIDE - self.origin[axis]) + 2.5, 0.5 * f64::from(SIDE)]
    }

    /// First node of a point's stencil along an axis.
    fn base(&self, point: &Point, axis: usize) -> i32 {
        let along = point.position_m[axis] * self.per_m + f64::from(self.origin[axis]);
        ((along - 1.0) + ROUNDING).to_bits() as i32
    }
}
