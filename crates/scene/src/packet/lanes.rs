//! Sixteen numbers, one per ray, in the processor's vector registers. Code that computes with them is in functions that
//! are always inlined, not in closures or in `map` over arrays: the compiler may not inline those, and then each
//! instruction becomes a call through memory.

use fearless_simd::prelude::*;
use fearless_simd::{f32x16, i32x16, mask32x16, u32x16};
use nalgebra::Vector3;

use crate::real::{ROOT_HALF_BITS, Real};

/// Number of rays in a packet: twice the lanes of an AVX2 register. A step through the ground is a chain of instructions
/// that wait for each other, and those of the second register run meanwhile.
pub(crate) const LANES: usize = 16;

pub(crate) type Floats<S> = f32x16<S>;
pub(crate) type Ints<S> = i32x16<S>;
pub(crate) type Mask<S> = mask32x16<S>;
/// A hash value per lane.
pub(crate) type Bits<S> = u32x16<S>;
/// x, y and z of a vector per lane.
pub(crate) type Vectors<S> = [Floats<S>; 3];

impl<S: Simd> Real for Floats<S> {
    type Mask = Mask<S>;

    #[inline(always)]
    fn like(self, number: f32) -> Self {
        Self::splat(self.simd, number)
    }

    #[inline(always)]
    fn below(self, other: Self) -> Self::Mask {
        self.simd_lt(other)
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> Self::Mask {
        self.simd_le(other)
    }

    #[inline(always)]
    fn either(mask: Self::Mask, one: Self, other: Self) -> Self {
        mask.select(one, other)
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }

    #[inline(always)]
    fn two_to(self) -> Self {
        ((self.to_int::<Ints<S>>() + 127) << 23_u32).bitcast()
    }

    #[inline(always)]
    fn split(self) -> [Self; 2] {
        let bits: Ints<S> = self.bitcast();
        let n = (bits - ROOT_HALF_BITS) >> 23_u32;
        [(bits - (n << 23_u32)).bitcast(), n.to_float()]
    }

    // The minimum and maximum instructions of x86 treat signed zeros and NaN exactly as `Real` requires; those of other
    // processors differ.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        self.min(other)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn most(self, other: Self) -> Self {
        self.max(other)
    }
}

/// A number per lane.
#[inline(always)]
pub(crate) fn floats<S: Simd>(simd: S, of_lane: impl FnMut(usize) -> f32) -> Floats<S> {
    std::array::from_fn::<f32, LANES, _>(of_lane).simd_into(simd)
}

/// An integer per lane.
#[inline(always)]
pub(crate) fn ints<S: Simd>(simd: S, of_lane: impl FnMut(usize) -> i32) -> Ints<S> {
    std::array::from_fn::<i32, LANES, _>(of_lane).simd_into(simd)
}

/// The same number in every lane.
#[inline(always)]
pub(crate) fn all<S: Simd>(simd: S, number: f32) -> Floats<S> {
    Floats::splat(simd, number)
}

/// The same vector in every lane.
#[inline(always)]
pub(crate) fn all_vector<S: Simd>(simd: S, v: [f32; 3]) -> Vectors<S> {
    [all(simd, v[0]), all(simd, v[1]), all(simd, v[2])]
}

/// The difference a − b.
#[inline(always)]
pub(crate) fn less<S: Simd>(a: Vectors<S>, b: Vectors<S>) -> Vectors<S> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// A vector per lane.
#[inline(always)]
pub(crate) fn vectors<S: Simd>(simd: S, of_lane: impl Fn(usize) -> Vector3<f32>) -> Vectors<S> {
    let [mut x, mut y, mut z] = [[0.0; LANES]; 3];
    for (lane, ((x, y), z)) in x.iter_mut().zip(&mut y).zip(&mut z).enumerate() {
        let v = of_lane(lane);
        [*x, *y, *z] = [v.x, v.y, v.z];
    }
    [x.simd_into(simd), y.simd_into(simd), z.simd_into(simd)]
}

/// x, y and z of a vector per lane, in memory.
pub(crate) type Stored = [[f32; LANES]; 3];

/// The vectors, from memory.
#[inline(always)]
pub(crate) fn loaded<S: Simd>(simd: S, v: &Stored) -> Vectors<S> {
    [v[0].simd_into(simd), v[1].simd_into(simd), v[2].simd_into(simd)]
}

/// The vectors, for memory.
#[inline(always)]
pub(crate) fn stored<S: Simd>(v: &Vectors<S>) -> Stored {
    [v[0].to_array(), v[1].to_array(), v[2].to_array()]
}

/// The vector in one lane.
#[inline(always)]
pub(crate) fn vector_of(v: &Stored, lane: usize) -> Vector3<f32> {
    Vector3::new(v[0][lane], v[1][lane], v[2][lane])
}

/// A mask from bits, lane 0 in the lowest.
#[inline(always)]
pub(crate) fn mask<S: Simd>(simd: S, bits: u32) -> Mask<S> {
    Mask::from_bitmask(simd, u64::from(bits))
}

/// Indices of the lanes whose bits are set.
pub(crate) fn lanes_of(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The bits of a mask, lane 0 in the lowest.
#[inline(always)]
pub(crate) fn bits_of<S: Simd>(mask: Mask<S>) -> u32 {
    mask.to_bitmask() as u32
}

/// A ray per lane, in the scene's frame.
#[derive(Clone, Copy)]
pub(crate) struct Rays<S: Simd> {
    pub(crate) origin: Vectors<S>,
    pub(crate) direction: Vectors<S>,
    /// Share of the time span at which each ray sees moving instances.
    pub(crate) shutter: Floats<S>,
}

/// 1/x, or `huge` where |x| is below `least`.
#[inline(always)]
pub(crate) fn inverse<S: Simd>(x: Floats<S>, least: f32, huge: f32) -> Floats<S> {
    let still = x.magnitude().simd_lt(least);
    still.select(x.like(huge), x.like(1.0) / x)
}
