//! Vector (SIMD) arithmetic on eight points at once, or on nodes in a row. All operations are those of IEEE 754 and
//! none is fused, so every processor gives the same bits.

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, f32x8, f64x4, mask32x8};

/// Number of points that are computed together.
pub(crate) const LANES: usize = 8;

/// A number for each of eight points.
pub(crate) type Floats<S> = f32x8<S>;
pub(crate) type Mask<S> = mask32x8<S>;
/// The same in f64: the first four points, and the others.
pub(crate) type Doubles<S> = [f64x4<S>; 2];
/// Four numbers of each of eight points.
pub(crate) type Quads = [[f32; 4]; LANES];
/// Components xx, yy, zz, xy, xz and yz of eight symmetric matrices.
pub(crate) type Symmetric<S> = [Floats<S>; 6];
/// Rows of eight 3 × 3 matrices.
pub(crate) type Matrices<S> = [[Floats<S>; 3]; 3];
/// A node: a vector and one more number.
pub(crate) type NodeLanes<S> = f32x4<S>;

/// Fills the lanes with the numbers of `of_lane`.
#[inline(always)]
pub(crate) fn floats<S: Simd>(simd: S, of_lane: impl Fn(usize) -> f32) -> Floats<S> {
    let of = of_lane;
    [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)].simd_into(simd)
}

#[inline(always)]
pub(crate) fn doubles<S: Simd>(simd: S, of_lane: impl Fn(usize) -> f64) -> Doubles<S> {
    let of = of_lane;
    [[of(0), of(1), of(2), of(3)].simd_into(simd), [of(4), of(5), of(6), of(7)].simd_into(simd)]
}

/// The four numbers of each point, by number: `numbers` gives a point's.
#[inline(always)]
pub(crate) fn by_number<'a, S: Simd>(simd: S, numbers: impl Fn(usize) -> &'a [f32; 4]) -> [Floats<S>; 4] {
    let of = |lane: usize| f32x4::from_slice(simd, numbers(lane));
    let [near, far] = [transposed(simd, [of(0), of(1), of(2), of(3)]), transposed(simd, [of(4), of(5), of(6), of(7)])];
    [
        simd.combine_f32x4(near[0], far[0]),
        simd.combine_f32x4(near[1], far[1]),
        simd.combine_f32x4(near[2], far[2]),
        simd.combine_f32x4(near[3], far[3]),
    ]
}

/// Inverse of `by_number`.
#[inline(always)]
pub(crate) fn by_point<S: Simd>(simd: S, numbers: [Floats<S>; 4]) -> Quads {
    let [first, second, third, fourth] = numbers;
    let (first, second) = (simd.split_f32x8(first), simd.split_f32x8(second));
    let (third, fourth) = (simd.split_f32x8(third), simd.split_f32x8(fourth));
    let near = transposed(simd, [first.0, second.0, third.0, fourth.0]);
    let far = transposed(simd, [first.1, second.1, third.1, fourth.1]);
    let mut quads = [[0.0; 4]; LANES];
    let (of_near, of_far) = quads.split_at_mut(LANES / 2);
    near.iter().zip(of_near).for_each(|(quad, stored)| quad.store_slice(stored));
    far.iter().zip(of_far).for_each(|(quad, stored)| quad.store_slice(stored));
    quads
}

#[inline(always)]
fn transposed<S: Simd>(simd: S, rows: [f32x4<S>; 4]) -> [f32x4<S>; 4] {
    let even = [simd.zip_low_f32x4(rows[0], rows[2]), simd.zip_high_f32x4(rows[0], rows[2])];
    let odd = [simd.zip_low_f32x4(rows[1], rows[3]), simd.zip_high_f32x4(rows[1], rows[3])];
    [
        simd.zip_low_f32x4(even[0], odd[0]),
        simd.zip_high_f32x4(even[0], odd[0]),
        simd.zip_low_f32x4(even[1], odd[1]),
        simd.zip_high_f32x4(even[1], odd[1]),
    ]
}

/// The greater of two numbers, neither of which is NaN.
#[inline(always)]
pub(crate) fn greater<S: Simd>(one: Floats<S>, other: Floats<S>) -> Floats<S> {
    one.simd_gt(other).select(one, other)
}

/// Three nodes side by side along x.
#[derive(Clone, Copy)]
pub(crate) struct Row<S: Simd> {
    /// The first two nodes.
    pub(crate) near: f32x8<S>,
    pub(crate) far: f32x4<S>,
}

impl<S: Simd> Row<S> {
    #[inline(always)]
    pub(crate) fn of(simd: S, [first, second, third]: [NodeLanes<S>; 3]) -> Self {
        Self { near: simd.combine_f32x4(first, second), far: third }
    }

    /// Reads a row from its twelve numbers.
    #[inline(always)]
    pub(crate) fn load(simd: S, numbers: &[f32]) -> Self {
        Self { near: f32x8::from_slice(simd, &numbers[..8]), far: f32x4::from_slice(simd, &numbers[8..12]) }
    }

    #[inline(always)]
    pub(crate) fn store(self, numbers: &mut [f32]) {
        self.near.store_slice(&mut numbers[..8]);
        self.far.store_slice(&mut numbers[8..12]);
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { near: self.near + other.near, far: self.far + other.far }
    }

    #[inline(always)]
    pub(crate) fn times(self, factor: f32) -> Self {
        Self { near: self.near * factor, far: self.far * factor }
    }

    /// The three nodes, each multiplied by its weight.
    #[inline(always)]
    pub(crate) fn weighted(self, simd: S, weights: [f32; 3]) -> [NodeLanes<S>; 3] {
        let (first, second) = simd.split_f32x8(self.near);
        [first * weights[0], second * weights[1], self.far * weights[2]]
    }
}
