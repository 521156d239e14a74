//! Arithmetic that works on one `f32` or on the lanes of a packet. Code over `Real` gives the same bits either way and
//! on every machine: sums, products, quotients and roots round as IEEE 754 requires, nothing is fused, and the
//! exponential, logarithm and arccosine are polynomials of these (Moshier's Cephes library in single precision: within
//! 2e-7 of the value).

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// One `f32` or a packet of them.
pub(crate) trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f32, Output = Self>
    + Sub<f32, Output = Self>
    + Mul<f32, Output = Self>
    + Div<f32, Output = Self>
{
    /// A boolean for each lane.
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;

    /// The same number in every lane.
    fn like(self, number: f32) -> Self;

    /// Lane by lane, whether this is less than the other.
    fn below(self, other: Self) -> Self::Mask;

    /// Lane by lane, whether this is not more than the other.
    fn at_most(self, other: Self) -> Self::Mask;

    /// `one` in lanes where the mask is true, else `other`.
    fn either(mask: Self::Mask, one: Self, other: Self) -> Self;

    /// The square root.
    fn root(self) -> Self;

    /// 2 to the power of an integer of −126…127.
    fn two_to(self) -> Self;

    /// Splits a positive number into m · 2^n with m of √½…√2 and n an integer: [m, n].
    fn split(self) -> [Self; 2];

    /// The absolute value.
    #[inline(always)]
    fn magnitude(self) -> Self {
        Self::either(self.below(self.like(0.0)), -self, self)
    }

    /// The smaller number; `other` where either is NaN.
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        Self::either(self.below(other), self, other)
    }

    /// The larger number; `other` where either is NaN.
    #[inline(always)]
    fn most(self, other: Self) -> Self {
        Self::either(other.below(self), self, other)
    }

    /// The exponential; arguments below −80 are clamped to −80, where it is 2e-35.
    #[inline(always)]
    fn exp(self) -> Self {
        let x = self.most(self.like(-80.0)).least(self.like(88.0));
        // Adding 1.5 · 2²³ rounds to the nearest integer: a float of that size has no fraction bits.
        let whole = (x * std::f32::consts::LOG2_E + 12_582_912.0) - 12_582_912.0;
        let rest = x - whole * 0.693_359_4 - whole * -2.121_944_4e-4;
        let mut p = rest * 1.987_569_1e-4 + 1.398_2e-3;
        for coefficient in [8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 0.5] {
            p = p * rest + coefficient;
        }
        (p * rest * rest + rest + 1.0) * whole.two_to()
    }

    /// The natural logarithm of a positive number.
    #[inline(always)]
    fn ln(self) -> Self {
        let [m, n] = self.split();
        let x = m - 1.0;
        let square = x * x;
        let mut p = x * 7.037_683_6e-2 + -1.151_461e-1;
        for coefficient in [
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_8e-1,
            2.000_071_5e-1,
            -2.499_999_4e-1,
            3.333_333e-1,
        ] {
            p = p * x + coefficient;
        }
        let small = p * x * square + n * -2.121_944_4e-4 - square * 0.5;
        x + small + n * 0.693_359_4
    }

    /// The arccosine of −1…1, rad.
    #[inline(always)]
    fn acos(self) -> Self {
        let a = self.magnitude();
        let half = self.like(0.5).below(a);
        let z = Self::either(half, (self.like(1.0) - a) * 0.5, a * a);
        let x = Self::either(half, z.root(), a);
        let mut p = z * 4.216_32e-2 + 2.418_131e-2;
        for coefficient in [4.547_002_6e-2, 7.495_300_3e-2, 1.666_675_2e-1] {
            p = p * z + coefficient;
        }
        let asin = p * z * x + x;
        let acos = Self::either(half, asin * 2.0, self.like(std::f32::consts::FRAC_PI_2) - asin);
        Self::either(self.below(self.like(0.0)), self.like(std::f32::consts::PI) - acos, acos)
    }
}

/// Bits of √½, where the range of `split` begins.
pub(crate) const ROOT_HALF_BITS: i32 = 0x3f35_04f3;

impl Real for f32 {
    type Mask = bool;

    #[inline(always)]
    fn like(self, number: f32) -> Self {
        number
    }

    #[inline(always)]
    fn below(self, other: Self) -> bool {
        self < other
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self <= other
    }

    #[inline(always)]
    fn either(mask: bool, one: Self, other: Self) -> Self {
        if mask { one } else { other }
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }

    #[inline(always)]
    fn two_to(self) -> Self {
        f32::from_bits(((self as i32 + 127) << 23) as u32)
    }

    #[inline(always)]
    fn split(self) -> [Self; 2] {
        let bits = self.to_bits() as i32;
        let n = (bits - ROOT_HALF_BITS) >> 23;
        [f32::from_bits((bits - (n << 23)) as u32), n as f32]
    }
}

/// Dot product.
#[inline(always)]
pub(crate) fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Cross product.
#[inline(always)]
pub(crate) fn cross<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// a + b k.
#[inline(always)]
pub(crate) fn along<R: Real>(a: [R; 3], b: [R; 3], k: R) -> [R; 3] {
    [a[0] + b[0] * k, a[1] + b[1] * k, a[2] + b[2] * k]
}

/// The vector scaled to length 1.
#[inline(always)]
pub(crate) fn unit<R: Real>(v: [R; 3]) -> [R; 3] {
    let length = dot(v, v).root();
    [v[0] / length, v[1] / length, v[2] / length]
}

#[cfg(test)]
mod tests {
    use super::Real;

    #[test]
    fn elementary_functions_are_near_those_in_double_precision() {
        for i in 0..=20_000 {
            let share = f64::from(i) / 20_000.0;
            let near = |name: &str, of: f32, got: f32, true_value: f64, allowed: f64| {
                assert!((f64::from(got) - true_value).abs() <= allowed, "{name}({of}) = {got}, not {true_value}");
            };
            let x = (-80.0 * share * share) as f32;
            let e = f64::from(x).exp();
            near("exp", x, Real::exp(x), e, 2.5e-7 * e);
            let x = 10_f64.powf(13.0 * share - 6.0) as f32;
            let l = f64::from(x).ln();
            near("ln", x, Real::ln(x), l, 2e-7 * l.abs().max(0.5));
            let x = (2.0 * share - 1.0) as f32;
            near("acos", x, Real::acos(x), f64::from(x).acos(), 4e-7);
        }
        assert_eq!([Real::exp(0.0_f32), Real::ln(1.0_f32), Real::acos(1.0_f32)], [1.0, 0.0, 0.0]);
    }
}
