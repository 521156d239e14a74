//! Fit of a straight line by weighted least squares, with the uncertainties of slope and intercept.

use serde::Serialize;

/// A number and its standard uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FittedValue {
    /// The number.
    pub value: f64,
    /// Its standard uncertainty.
    pub sigma: f64,
}

impl FittedValue {
    /// Its reciprocal.
    pub(super) fn inverse(self) -> Self {
        Self { value: 1.0 / self.value, sigma: self.sigma / self.value.powi(2) }
    }

    /// The product of two independent values.
    pub(super) fn times(self, other: &Self) -> Self {
        let sigma = (self.sigma * other.value).hypot(other.sigma * self.value);
        Self { value: self.value * other.value, sigma }
    }
}

/// y = slope x + intercept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) slope: FittedValue,
    pub(super) intercept: FittedValue,
    /// Root mean square residual.
    pub(super) residual: f64,
}

impl Line {
    /// The fit through points (x, y, σ of y); the uncertainties follow from the scatter of the points about the line.
    /// `None` for fewer than three points, or if all have the same x.
    pub(super) fn through(points: impl Iterator<Item = (f64, f64, f64)>) -> Option<Self> {
        let points: Vec<(f64, f64, f64)> = points.collect();
        if points.len() < 3 {
            return None;
        }
        let weighed =
            |of: &dyn Fn(f64, f64) -> f64| -> f64 { points.iter().map(|(x, y, s)| of(*x, *y) / (s * s)).sum() };
        let total = weighed(&|_, _| 1.0);
        let [mx, my] = [weighed(&|x, _| x) / total, weighed(&|_, y| y) / total];
        let sxx = weighed(&|x, _| (x - mx).powi(2));
        let slope = weighed(&|x, y| (x - mx) * (y - my)) / sxx;
        let intercept = my - slope * mx;
        let left = |x: f64, y: f64| (y - slope * x - intercept).powi(2);
        let n = points.len() as f64;
        let spread = weighed(&|x, y| left(x, y)) / (n - 2.0);
        let value = |value: f64, variance: f64| FittedValue { value, sigma: (spread * variance).sqrt() };
        let line = Self {
            slope: value(slope, 1.0 / sxx),
            intercept: value(intercept, 1.0 / total + mx * mx / sxx),
            residual: (points.iter().map(|(x, y, _)| left(*x, *y)).sum::<f64>() / n).sqrt(),
        };
        (slope.is_finite() && intercept.is_finite()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn a_line_is_found_whatever_the_weights_and_its_uncertainty_is_the_textbooks() {
        let exact = Line::through((0..5).map(|k| (f64::from(k), 3.0 * f64::from(k) - 1.0, f64::from(k) + 0.5)));
        let exact = exact.expect("a line");
        assert!((exact.slope.value - 3.0).abs() < 1e-12 && (exact.intercept.value + 1.0).abs() < 1e-12);
        // Points (0, 0), (1, 1.3), (2, 1.7): slope 0.85, residual sum 0.135, s² = 0.135, Sxx = 2.
        let line = Line::through([(0.0, 0.0, 1.0), (1.0, 1.3, 1.0), (2.0, 1.7, 1.0)].into_iter()).expect("a line");
        assert!((line.slope.value - 0.85).abs() < 1e-12 && (line.slope.sigma - (0.135_f64 / 2.0).sqrt()).abs() < 1e-9);
        assert!(Line::through([(1.0, 1.0, 1.0), (1.0, 2.0, 1.0), (1.0, 3.0, 1.0)].into_iter()).is_none());
    }
}
