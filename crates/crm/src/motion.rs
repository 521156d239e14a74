//! Motion of points once they have the grid's velocity v and its gradient L there: `x += Δt v`, `J *= 1 + Δt tr L`, and
//! the stress follows the law (`law`). Eight points at once.

use fearless_simd::prelude::*;
use fearless_simd::{f64x4, mask64x4};
use nalgebra::Vector3;

use crate::grid::Edges;
use crate::lanes::{Doubles, Floats, LANES, Matrices, Quads, Symmetric, by_number, by_point, floats, greater};
use crate::model::Model;
use crate::state::{Point, STRESS_AT};
use crate::stencil::eight_of;

/// Findings about points that moved.
#[derive(Clone, Copy, Default)]
pub(crate) struct MotionStatistics {
    /// Square of the greatest speed, (m/s)²; infinity when a value is not finite.
    pub(crate) square: f32,
    /// Largest distance of a point from its block, cells.
    pub(crate) beyond_cells: f64,
    /// Whether a point is outside of the grid.
    pub(crate) is_outside: bool,
}

impl MotionStatistics {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            square: self.square.max(other.square),
            beyond_cells: self.beyond_cells.max(other.beyond_cells),
            is_outside: self.is_outside || other.is_outside,
        }
    }
}

/// Values that all points of a substep share.
pub(crate) struct SubstepConstants {
    pub(crate) substep_s: f64,
    /// `4/Δx`: turns moments into gradients, 1/m.
    pub(crate) per_cell: f32,
    /// Low and high end of a period along x, y and z, and its length, m; infinite ends on an axis with walls.
    periods_m: [[f64; 3]; 3],
    /// Bounds of the region inside of the grid along x, y and z, m.
    bounds_m: [[f64; 2]; 3],
}

impl SubstepConstants {
    pub(crate) fn new(model: &Model, substep_s: f64) -> Self {
        let (grid, size_m) = (model.grid(), model.grid().size_m());
        let periods_m = [0, 1, 2].map(|axis| match grid.edges[axis] {
            Edges::Periodic => [0.0, size_m[axis], size_m[axis]],
            Edges::Walls { .. } => [f64::NEG_INFINITY, f64::INFINITY, 0.0],
        });
        let bounds_m = [0, 1, 2].map(|axis| match grid.edges[axis] {
            Edges::Periodic => [f64::NEG_INFINITY, f64::INFINITY],
            Edges::Walls { .. } => [-grid.cell_m, size_m[axis] + grid.cell_m],
        });
        Self { substep_s, per_cell: (4.0 / grid.cell_m) as f32, periods_m, bounds_m }
    }

    /// Where points are along an axis after a substep at these velocities, m.
    #[inline(always)]
    fn moved<S: Simd>(&self, axis: usize, from_m: &Doubles<S>, velocity_m_s: Floats<S>) -> Doubles<S> {
        let (near, far) = velocity_m_s.simd.widen_f32x8(velocity_m_s);
        [self.wrapped(axis, from_m[0] + near * self.substep_s), self.wrapped(axis, from_m[1] + far * self.substep_s)]
    }

    /// The same place inside of the period, m.
    #[inline(always)]
    fn wrapped<S: Simd>(&self, axis: usize, at_m: f64x4<S>) -> f64x4<S> {
        let [low_m, high_m, length_m] = self.periods_m[axis];
        let back_m = at_m.simd_ge(f64x4::splat(at_m.simd, high_m)).select(at_m - length_m, at_m);
        at_m.simd_lt(f64x4::splat(at_m.simd, low_m)).select(at_m + length_m, back_m)
    }
}

/// Velocity at each of eight points, m/s, and the columns of its gradient there, 1/s. The fourth numbers are arbitrary
/// but finite.
pub(crate) type Gathered = [Quads; 4];

/// Points after a substep: the squares of their speeds, (m/s)², infinity where a value is not finite; and their
/// coordinates along x, y and z, m.
pub(crate) struct Moved<S: Simd> {
    pub(crate) squares: Floats<S>,
    pub(crate) positions_m: [Doubles<S>; 3],
}

/// Advances up to eight points of `gathered` velocities from `positions_m` by a substep.
#[inline(always)]
pub(crate) fn advance<S: Simd>(
    simd: S,
    model: &Model,
    way: &SubstepConstants,
    positions_m: &[Doubles<S>; 3],
    gathered: &Gathered,
    points: &mut [Point],
) -> Moved<S> {
    let eight = eight_of(points);
    let substep_s = way.substep_s as f32;
    let [velocity, column_x, column_y, column_z] = gathered;
    let [vx, vy, vz, _] = by_number(simd, |lane| &velocity[lane]);
    let [lxx, lyx, lzx, _] = by_number(simd, |lane| &column_x[lane]);
    let [lxy, lyy, lzy, _] = by_number(simd, |lane| &column_y[lane]);
    let [lxz, lyz, lzz, _] = by_number(simd, |lane| &column_z[lane]);
    let gradients = [[lxx, lxy, lxz], [lyx, lyy, lyz], [lzx, lzy, lzz]];
    let ratios = floats(simd, |lane| eight[lane].volume_ratio) * ((lxx + lyy + lzz) * substep_s + 1.0);
    let stresses = model.law.stresses(stresses(simd, &eight), ratios, &gradients, substep_s);
    let moved = Moved {
        squares: checked_squares(&[vx, vy, vz], &gradients, ratios, &stresses),
        positions_m: [
            way.moved(0, &positions_m[0], vx),
            way.moved(1, &positions_m[1], vy),
            way.moved(2, &positions_m[2], vz),
        ],
    };
    Stored::new(simd, &moved.positions_m, gathered, ratios, stresses).give(points);
    moved
}

/// Stresses xx, yy, zz, xy, xz and yz of eight points.
#[inline(always)]
fn stresses<S: Simd>(simd: S, points: &[&Point; LANES]) -> Symmetric<S> {
    // The stress begins at a multiple of four numbers.
    let fours = |lane: usize, from: usize| &points[lane].numbers().as_chunks().0[from / 4];
    let [xx, xy, xz, _] = by_number(simd, |lane| fours(lane, STRESS_AT));
    let [yy, yz, _, _] = by_number(simd, |lane| fours(lane, STRESS_AT + 4));
    let zz = floats(simd, |lane| points[lane].numbers()[STRESS_AT + 8]);
    [xx, yy, zz, xy, xz, yz]
}

/// Squares of the speeds of eight points, (m/s)²; infinity where any value is not finite.
#[inline(always)]
fn checked_squares<S: Simd>(
    [vx, vy, vz]: &[Floats<S>; 3],
    gradients: &Matrices<S>,
    ratios: Floats<S>,
    stresses: &Symmetric<S>,
) -> Floats<S> {
    let squares = *vx * *vx + *vy * *vy + *vz * *vz;
    let [xx, yy, zz, xy, xz, yz] = *stresses;
    let of_gradients = nothing(&gradients[0]) + nothing(&gradients[1]) + nothing(&gradients[2]);
    let of_stresses = nothing(&[xx, yy, zz]) + nothing(&[xy, xz, yz]);
    let nothing = of_gradients + of_stresses + (squares * 0.0 + ratios * 0.0);
    let zero = Floats::splat(squares.simd, 0.0);
    let is_sound = nothing.simd_eq(zero) & ratios.simd_gt(zero);
    is_sound.select(squares, Floats::splat(squares.simd, f32::INFINITY))
}

/// 0, or NaN where any of the values is not finite.
#[inline(always)]
fn nothing<S: Simd>([one, two, three]: &[Floats<S>; 3]) -> Floats<S> {
    *one * 0.0 + *two * 0.0 + *three * 0.0
}

/// New values of eight points, ordered by point.
struct Stored<'a> {
    positions_m: [[f64; LANES]; 3],
    gathered: &'a Gathered,
    /// The stresses' first eight numbers, then the last.
    stress_pa: [Quads; 2],
    stress_zz_pa: [f32; LANES],
    volume_ratios: [f32; LANES],
}

impl<'a> Stored<'a> {
    #[inline(always)]
    fn new<S: Simd>(
        simd: S,
        positions_m: &[Doubles<S>; 3],
        gathered: &'a Gathered,
        ratios: Floats<S>,
        [xx, yy, zz, xy, xz, yz]: Symmetric<S>,
    ) -> Self {
        let stress_pa = [by_point(simd, [xx, xy, xz, xy]), by_point(simd, [yy, yz, xz, yz])];
        let (mut stored_m, mut stress_zz_pa, mut volume_ratios) = ([[0.0; LANES]; 3], [0.0; LANES], [0.0; LANES]);
        for ([near, far], stored) in positions_m.iter().zip(&mut stored_m) {
            near.store_slice(&mut stored[..LANES / 2]);
            far.store_slice(&mut stored[LANES / 2..]);
        }
        zz.store_slice(&mut stress_zz_pa);
        ratios.store_slice(&mut volume_ratios);
        Self { positions_m: stored_m, gathered, stress_pa, stress_zz_pa, volume_ratios }
    }

    /// Gives the values to the points.
    #[inline(always)]
    fn give(&self, points: &mut [Point]) {
        for (lane, point) in points.iter_mut().enumerate().take(LANES) {
            let [x, y, z] = &self.positions_m;
            point.position_m = Vector3::new(x[lane], y[lane], z[lane]);
            let numbers = point.numbers_mut();
            // The fourth number of each is overwritten by the next.
            for (n, quads) in self.gathered.iter().enumerate() {
                numbers[3 * n..3 * n + 4].copy_from_slice(&quads[lane]);
            }
            for (n, quads) in self.stress_pa.iter().enumerate() {
                numbers[STRESS_AT + 4 * n..STRESS_AT + 4 * n + 4].copy_from_slice(&quads[lane]);
            }
            numbers[STRESS_AT + 8] = self.stress_zz_pa[lane];
            point.volume_ratio = self.volume_ratios[lane];
        }
    }
}

/// Collects what is found about points of a block.
pub(crate) struct Extremes<S: Simd> {
    squares: Floats<S>,
    beyond: f64x4<S>,
    is_inside: mask64x4<S>,
}

impl<S: Simd> Extremes<S> {
    #[inline(always)]
    pub(crate) fn new(simd: S) -> Self {
        let beyond = f64x4::splat(simd, 0.0);
        Self { squares: Floats::splat(simd, 0.0), beyond, is_inside: beyond.simd_eq(beyond) }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, model: &Model, way: &SubstepConstants, block: [i32; 3], moved: &Moved<S>) {
        self.squares = greater(moved.squares, self.squares);
        for (axis, [near_m, far_m]) in moved.positions_m.iter().enumerate() {
            for along_m in [*near_m, *far_m] {
                let beyond = model.layout.beyond_side(axis, block[axis], along_m);
                self.beyond = beyond.simd_gt(self.beyond).select(beyond, self.beyond);
                let [low_m, high_m] = way.bounds_m[axis];
                let [low_m, high_m] = [f64x4::splat(beyond.simd, low_m), f64x4::splat(beyond.simd, high_m)];
                self.is_inside = self.is_inside & along_m.simd_gt(low_m) & along_m.simd_lt(high_m);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn statistics(self) -> MotionStatistics {
        MotionStatistics {
            square: (0..LANES).map(|lane| self.squares[lane]).fold(0.0, f32::max),
            beyond_cells: (0..LANES / 2).map(|lane| self.beyond[lane]).fold(0.0, f64::max),
            is_outside: !self.is_inside.all_true(),
        }
    }
}
