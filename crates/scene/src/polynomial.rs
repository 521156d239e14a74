//! Distortion polynomials of perspective lenses, and a numerical inverse of growing functions: Newton steps within a
//! bracket that every step narrows.

use crate::lens::LensModel;

/// Largest angle to the axis of perspective lenses, rad: 89.9°.
const PERSPECTIVE_END_RAD: f64 = 1.569_05;

/// Number of sample points in the search for where a function stops growing.
const STEPS: u32 = 4096;

/// Limit of iterations; bisection alone has converged to all digits by then.
const ROUNDS_MAX: u32 = 64;

/// Tolerance of an inverse in the image, in focal lengths: 1e-8 px at 10 000 px.
const FOUND: f64 = 1e-12;

/// Distortion as in OpenCV's `calib3d`, with u = r² and r = tan θ: the radial factor
/// (1 + k1 u + k2 u² + k3 u³)/(1 + k4 u + k5 u² + k6 u³), and the tangential p1 and p2.
pub(crate) struct Polynomials {
    above: [f64; 3],
    below: [f64; 3],
    tangential: [f64; 2],
}

impl Polynomials {
    /// The polynomials of a model; all zero for models without.
    pub(crate) fn of(model: &LensModel) -> Self {
        let [k1, k2, p1, p2, k3, k4, k5, k6] = match *model {
            LensModel::PlumbBob([k1, k2, p1, p2, k3]) => [k1, k2, p1, p2, k3, 0.0, 0.0, 0.0],
            LensModel::RationalPolynomial(all) => all,
            _ => [0.0; 8],
        };
        Self { above: [k1, k2, k3], below: [k4, k5, k6], tangential: [p1, p2] }
    }

    /// Coefficient rows of the kernels' record: k1, k2, k3, p1 and k4, k5, k6, p2.
    pub(crate) fn rows(&self) -> [[f64; 4]; 2] {
        let row = |[a, b, c]: [f64; 3], p| [a, b, c, p];
        [row(self.above, self.tangential[0]), row(self.below, self.tangential[1])]
    }

    /// The tan θ up to which the image radius grows.
    pub(crate) fn reach(&self) -> f64 {
        let grows = |angle: f64| {
            let r = angle.tan();
            let [factor, slope] = self.factor(r * r);
            factor > 0.0 && factor + 2.0 * r * r * slope > 0.0 && self.divisor(r * r) > 0.0
        };
        grows_until(PERSPECTIVE_END_RAD, grows).tan()
    }

    /// Image position of a ray with slopes x, y (in tan θ), in focal lengths.
    pub(crate) fn distort(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let u = x * x + y * y;
        let [factor, _] = self.factor(u);
        let [p1, p2] = self.tangential;
        [x * factor + 2.0 * p1 * x * y + p2 * (u + 2.0 * x * x), y * factor + p1 * (u + 2.0 * y * y) + 2.0 * p2 * x * y]
    }

    /// The slopes x, y (in tan θ) within `reach` that map to an image position: first along the radius, then by Newton
    /// steps in the plane for the tangential part.
    pub(crate) fn undistort(&self, place: [f64; 2], reach: f64) -> Option<[f64; 2]> {
        let radius = place[0].hypot(place[1]);
        let along_radius = |r: f64| {
            let [factor, slope] = self.factor(r * r);
            [r * factor, factor + 2.0 * r * r * slope]
        };
        // A position just outside the radial limit may be inside with the tangential part.
        let edge = along_radius(reach)[0];
        let r = inverse(radius.min(edge), reach, along_radius)?;
        let along = if radius > 0.0 { r / radius } else { 0.0 };
        let mut at = place.map(|c| c * along);
        for _ in 0..ROUNDS_MAX {
            let fallen = self.distort(at);
            let miss = [place[0] - fallen[0], place[1] - fallen[1]];
            if miss[0].hypot(miss[1]) <= FOUND * (1.0 + radius) {
                return Some(at);
            }
            let [[a, b], [_, d]] = self.slopes(at);
            let determinant = a * d - b * b;
            at = [at[0] + (d * miss[0] - b * miss[1]) / determinant, at[1] + (a * miss[1] - b * miss[0]) / determinant];
        }
        None
    }

    /// The radial factor and its derivative with respect to u.
    fn factor(&self, u: f64) -> [f64; 2] {
        let [above, below] = [polynomial(&self.above, u), polynomial(&self.below, u)];
        let factor = above[0] / below[0];
        [factor, (above[1] - factor * below[1]) / below[0]]
    }

    fn divisor(&self, u: f64) -> f64 {
        polynomial(&self.below, u)[0]
    }

    /// Jacobian of `distort`; a symmetric matrix.
    fn slopes(&self, [x, y]: [f64; 2]) -> [[f64; 2]; 2] {
        let [factor, slope] = self.factor(x * x + y * y);
        let [p1, p2] = self.tangential;
        let across = 2.0 * (x * y * slope + p1 * x + p2 * y);
        let along_x = factor + 2.0 * x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x;
        let along_y = factor + 2.0 * y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x;
        [[along_x, across], [across, along_y]]
    }
}

/// 1 + k1 u + k2 u² + k3 u³ and its derivative.
fn polynomial(k: &[f64; 3], u: f64) -> [f64; 2] {
    [1.0 + u * (k[0] + u * (k[1] + u * k[2])), k[0] + u * (2.0 * k[1] + u * 3.0 * k[2])]
}

/// The first argument in 0 to `end` at which a function stops growing, or `end`.
pub(crate) fn grows_until(end: f64, grows: impl Fn(f64) -> bool) -> f64 {
    let place = |step: u32| end * f64::from(step) / f64::from(STEPS);
    let Some(stop) = (1..=STEPS).find(|step| !grows(place(*step))) else { return end };
    let [mut low, mut high] = [place(stop - 1), place(stop)];
    for _ in 0..ROUNDS_MAX {
        let middle = 0.5 * (low + high);
        if grows(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The argument up to `end` at which a function that grows from 0 takes a value; `of` returns the function and its
/// slope.
pub(crate) fn inverse(value: f64, end: f64, of: impl Fn(f64) -> [f64; 2]) -> Option<f64> {
    if value.is_nan() || value > of(end)[0] {
        return None;
    }
    let [mut low, mut high] = [0.0, end];
    let mut at = value.min(end);
    for _ in 0..ROUNDS_MAX {
        let [there, slope] = of(at);
        if (there - value).abs() <= 1e-3 * FOUND * (1.0 + value) {
            break;
        }
        if there > value {
            high = at;
        } else {
            low = at;
        }
        let step = at + (value - there) / slope;
        at = if step > low && step < high { step } else { 0.5 * (low + high) };
    }
    Some(at)
}
