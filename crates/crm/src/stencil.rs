//! Stencils: the 3³ nodes that a point touches in the tile of its block, and their weights, which are quadratic
//! B-splines. Eight points at once.

use fearless_simd::f64x4;
use fearless_simd::prelude::*;
use nalgebra::Vector3;

use crate::block::{ROUNDING, SIDE, TILE_SIDE};
use crate::lanes::{Doubles, Floats, LANES, doubles};
use crate::model::Model;
use crate::state::Point;

/// Count of a tile's numbers from the first of a stencil to its last.
pub(crate) const SPAN: usize = 4 * ((2 * TILE_SIDE + 2) * TILE_SIDE + 3);

/// The stencils of eight points.
pub(crate) struct Stencils {
    /// Index in the tile of the first node, in the lowest bits.
    first: [f64; LANES],
    /// Along x, y and z, distance from the first node to the point, cells.
    pub(crate) beyond: [[f32; LANES]; 3],
    /// Along x, y and z, weights of the first, second and third node.
    pub(crate) weights: [[[f32; LANES]; 3]; 3],
}

/// The stencil of one point.
pub(crate) struct Stencil {
    /// Index in the tile of the first node.
    pub(crate) first: usize,
    /// Vector from the point to the first node, cells.
    pub(crate) offset: Vector3<f32>,
    /// Weights of the first, second and third node along x, y and z.
    weights: [[f32; 3]; 3],
}

/// Up to eight points of a block; unused lanes repeat the last.
#[inline(always)]
pub(crate) fn eight_of(points: &[Point]) -> [&Point; LANES] {
    if let Ok(eight) = <&[Point; LANES]>::try_from(points) {
        return eight.each_ref();
    }
    std::array::from_fn(|lane| &points[lane.min(points.len() - 1)])
}

/// Coordinates of eight points along x, y and z, m.
#[inline(always)]
pub(crate) fn positions<S: Simd>(simd: S, points: &[&Point; LANES]) -> [Doubles<S>; 3] {
    [
        doubles(simd, |lane| points[lane].position_m.x),
        doubles(simd, |lane| points[lane].position_m.y),
        doubles(simd, |lane| points[lane].position_m.z),
    ]
}

impl Stencils {
    /// Stencils in the tile of `block` of points that have moved less than a cell since they were sorted into it.
    #[inline(always)]
    pub(crate) fn new<S: Simd>(simd: S, model: &Model, block: [i32; 3], positions: &[Doubles<S>; 3]) -> Self {
        let (mut beyond, mut weights) = ([[0.0; LANES]; 3], [[[0.0; LANES]; 3]; 3]);
        let mut first = [f64x4::splat(simd, 0.0); 2];
        for axis in [2, 1, 0] {
            let base = Base::new(model, axis, &positions[axis]);
            let [near, far] = base.in_tile(model, axis, block[axis]);
            first = [first[0] * TILE_SIDE as f64 + near, first[1] * TILE_SIDE as f64 + far];
            let from_first = base.to_point();
            from_first.store_slice(&mut beyond[axis]);
            let [before, middle, behind] = [1.5 - from_first, from_first - 1.0, from_first - 0.5];
            ((before * before) * 0.5).store_slice(&mut weights[axis][0]);
            (0.75 - middle * middle).store_slice(&mut weights[axis][1]);
            ((behind * behind) * 0.5).store_slice(&mut weights[axis][2]);
        }
        let mut firsts = [0.0; LANES];
        (first[0] + ROUNDING).store_slice(&mut firsts[..LANES / 2]);
        (first[1] + ROUNDING).store_slice(&mut firsts[LANES / 2..]);
        Self { first: firsts, beyond, weights }
    }

    /// Index in the tile of the first node of a point.
    #[inline(always)]
    pub(crate) fn first(&self, lane: usize) -> usize {
        (self.first[lane].to_bits() & 0xffff_ffff) as usize
    }

    pub(crate) fn of(&self, lane: usize) -> Stencil {
        let [x, y, z] = &self.beyond;
        Stencil {
            first: self.first(lane),
            offset: -Vector3::new(x[lane], y[lane], z[lane]),
            weights: [0, 1, 2].map(|number| [0, 1, 2].map(|axis| self.weights[axis][number][lane])),
        }
    }
}

/// First nodes of eight points' stencils along an axis.
struct Base<S: Simd> {
    /// Coordinate of the points, cells from the grid's first node.
    along: Doubles<S>,
    /// Number of the first node, counted from the grid's first.
    number: Doubles<S>,
}

impl<S: Simd> Base<S> {
    #[inline(always)]
    fn new(model: &Model, axis: usize, positions_m: &Doubles<S>) -> Self {
        let (per_m, origin) = (model.layout.per_m, f64::from(model.layout.origin()[axis]));
        let [near, far] = [positions_m[0] * per_m + origin, positions_m[1] * per_m + origin];
        let number = [((near - 1.0) + ROUNDING) - ROUNDING, ((far - 1.0) + ROUNDING) - ROUNDING];
        Self { along: [near, far], number }
    }

    /// Distance from the node to the point: 0.5 to 1.5 cells.
    #[inline(always)]
    fn to_point(&self) -> Floats<S> {
        let [near, far] = self.along;
        near.simd.narrow_f64x4(near - self.number[0], far - self.number[1])
    }

    /// Number of the node in the tile of a block with this number along the axis.
    #[inline(always)]
    fn in_tile(&self, model: &Model, axis: usize, block: i32) -> Doubles<S> {
        let before_tile = f64::from(block * SIDE - 1);
        let [near, far] = [self.number[0] - before_tile, self.number[1] - before_tile];
        match model.layout.period[axis] {
            Some(nodes) => [around(near, f64::from(nodes)), around(far, f64::from(nodes))],
            None => [near, far],
        }
    }
}

/// Wraps node numbers that are outside of the grid by at most one period.
#[inline(always)]
fn around<S: Simd>(number: f64x4<S>, nodes: f64) -> f64x4<S> {
    let zero = f64x4::splat(number.simd, 0.0);
    let wrapped = number.simd_ge(zero + nodes).select(number - nodes, number);
    number.simd_lt(zero).select(number + nodes, wrapped)
}

/// Index in the span of the first number of a stencil's row.
#[inline(always)]
pub(crate) fn row_at(j: usize, k: usize) -> usize {
    4 * (k * TILE_SIDE + j) * TILE_SIDE
}

impl Stencil {
    /// Positions in the tile of the first node of each of its nine rows, y fastest.
    #[inline(always)]
    pub(crate) fn rows(first: usize) -> impl Iterator<Item = usize> {
        (0..9).map(move |row| first + (row / 3 * TILE_SIDE + row % 3) * TILE_SIDE)
    }

    /// Calls `visit` with each node's index in the tile, its weight, and its number along x, y and z.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(usize, f32, [usize; 3])) {
        for (k, [_, _, weight_z]) in self.weights.iter().enumerate() {
            for (j, [_, weight_y, _]) in self.weights.iter().enumerate() {
                let row = self.first + (k * TILE_SIDE + j) * TILE_SIDE;
                for (i, [weight_x, _, _]) in self.weights.iter().enumerate() {
                    visit(row + i, weight_x * weight_y * weight_z, [i, j, k]);
                }
            }
        }
    }
}
