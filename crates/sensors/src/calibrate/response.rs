//! Fit of the response by least squares: mean signal over exposure time with each of the curves of `develop`. The means
//! do not determine the number of electrons per second; that comes from the noise.

use std::f64::consts::LN_2;
use std::fmt;

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::line::{FittedValue, Line};
use super::{CalibrateError, Calibration, Parameters, SignalLevel};
use crate::develop::{Curve, GammaSpec, SigmoidSpec};

/// The largest number of iterations of least squares.
const STEPS_MAX: usize = 200;
/// Relative step of a parameter for numerical derivatives.
const NUDGE: f64 = 1e-6;
/// The ratio of residuals below which a curve replaces a simpler one.
const CLEARLY: f64 = 0.7;

/// The kind of a response curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CurveName {
    /// A straight line.
    Linear,
    /// A power of the logarithm of the light.
    Gamma,
    /// A logistic function of the logarithm of the light.
    Sigmoid,
}

impl fmt::Display for CurveName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linear => "linear",
            Self::Gamma => "gamma",
            Self::Sigmoid => "sigmoid",
        })
    }
}

/// A fitted curve over exposure time.
pub(super) enum Fitted {
    Linear(Line),
    Nonlinear(NonlinearFit),
}

/// A nonlinear curve over log2 of the exposure time t, whose scale in electrons is not known yet: gamma
/// a (log2 t + l)^γ + b with parameters \[a, γ, b, l\], sigmoid with \[a, b\].
pub(super) struct NonlinearFit {
    name: CurveName,
    found: Vec<FittedValue>,
    residual: f64,
}

impl Fitted {
    fn residual(&self) -> f64 {
        match self {
            Self::Linear(line) => line.residual,
            Self::Nonlinear(bent) => bent.residual,
        }
    }
}

/// The best curve; a later one must fit clearly better than the simpler ones before it.
pub(super) fn fit_best(flats: &[SignalLevel]) -> Result<Fitted, CalibrateError> {
    let mut best = fit(CurveName::Linear, flats)?;
    for name in [CurveName::Sigmoid, CurveName::Gamma] {
        if let Ok(other) = fit(name, flats)
            && other.residual() < CLEARLY * best.residual()
        {
            best = other;
        }
    }
    Ok(best)
}

pub(super) fn fit(name: CurveName, flats: &[SignalLevel]) -> Result<Fitted, CalibrateError> {
    let found = match name {
        CurveName::Linear => {
            let line = Line::through(flats.iter().map(|level| (level.exposure_s, level.mean, 1.0)));
            return line.map(Fitted::Linear).ok_or(CalibrateError::NoDetector("flats are all of one exposure"));
        }
        // log2 t + l must be above 0 at the shortest exposure, so several start values of l are tried.
        CurveName::Gamma => [2.0, 5.0, 9.0]
            .into_iter()
            .filter_map(|at_shortest| least_squares(gamma, &gamma_start(flats, at_shortest), flats))
            .min_by(|a, b| a.1.total_cmp(&b.1)),
        CurveName::Sigmoid => least_squares(sigmoid, &[0.5, 0.0], flats),
    };
    let none = CalibrateError::NoDetector("flats do not follow the requested curve");
    let Some((found, residual)) = found else { return Err(none) };
    let first = NonlinearFit { name, found, residual };
    let start: Vec<f64> = first.found.iter().map(|value| value.value).collect();
    let curve = if name == CurveName::Gamma { gamma } else { sigmoid };
    let (found, residual) = least_squares(curve, &start, &first.unbent(flats)).ok_or(none)?;
    Ok(Fitted::Nonlinear(NonlinearFit { name, found, residual }))
}

fn gamma(p: &[f64], exposure_s: f64) -> f64 {
    p[0] * (exposure_s.log2() + p[3]).powf(p[1]) + p[2]
}

fn sigmoid(p: &[f64], exposure_s: f64) -> f64 {
    1.0 / (1.0 + (-p[0] * exposure_s.log2() - p[1]).exp())
}

fn gamma_start(flats: &[SignalLevel], at_shortest: f64) -> Vec<f64> {
    let logs = || flats.iter().map(|level| level.exposure_s.log2());
    let (low, high) = logs().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let brightest = flats.iter().map(|level| level.mean).fold(0.0, f64::max);
    vec![brightest / (high - low + at_shortest).powi(2), 2.0, 0.0, at_shortest - low]
}

/// Levenberg–Marquardt fit: parameters with uncertainties from the residuals, and the root mean square residual.
fn least_squares(
    curve: fn(&[f64], f64) -> f64,
    start: &[f64],
    flats: &[SignalLevel],
) -> Option<(Vec<FittedValue>, f64)> {
    let (n, k) = (flats.len(), start.len());
    let left = |p: &[f64]| DVector::from_iterator(n, flats.iter().map(|level| level.mean - curve(p, level.exposure_s)));
    let mut p = start.to_vec();
    let mut damping = 1e-3;
    let mut squares = left(&p).norm_squared();
    for _ in 0..STEPS_MAX {
        let slopes = slopes(curve, &p, flats);
        let normal = slopes.transpose() * &slopes;
        let mut damped = normal.clone();
        (0..k).for_each(|i| damped[(i, i)] += damping * normal[(i, i)].max(f64::MIN_POSITIVE));
        let step = damped.lu().solve(&(slopes.transpose() * left(&p)))?;
        let next: Vec<f64> = p.iter().zip(&step).map(|(p, step)| p + step).collect();
        let next_squares = left(&next).norm_squared();
        // Where the curve is undefined the sum is NaN, so the step is rejected.
        if next_squares < squares {
            (p, damping, squares) = (next, damping / 4.0, next_squares);
        } else {
            damping *= 4.0;
        }
    }
    let slopes = slopes(curve, &p, flats);
    let covariance = (slopes.transpose() * slopes).pseudo_inverse(1e-300).ok()?;
    let spread = squares / n.saturating_sub(k).max(1) as f64;
    let value = |i: usize| FittedValue { value: p[i], sigma: (spread * covariance[(i, i)]).max(0.0).sqrt() };
    squares.is_finite().then(|| ((0..k).map(value).collect(), (squares / n as f64).sqrt()))
}

fn slopes(curve: fn(&[f64], f64) -> f64, p: &[f64], flats: &[SignalLevel]) -> DMatrix<f64> {
    DMatrix::from_fn(flats.len(), p.len(), |row, column| {
        let nudge = NUDGE * p[column].abs().max(1e-3);
        let at = |by: f64| {
            let mut moved = p.to_vec();
            moved[column] += by;
            curve(&moved, flats[row].exposure_s)
        };
        (at(nudge) - at(-nudge)) / (2.0 * nudge)
    })
}

impl NonlinearFit {
    /// The calibration: electrons per second from the noise, and the curve over electrons.
    pub(super) fn calibration(self, flats: &[SignalLevel]) -> Result<Calibration, CalibrateError> {
        let transfer = flats.iter().map(|level| {
            let slope2 = self.slope(level.exposure_s).powi(2);
            (level.exposure_s, level.variance / slope2, level.variance_sigma() / slope2)
        });
        let transfer = Line::through(transfer).filter(|line| line.slope.value > 0.0);
        let Some(Line { slope, intercept, .. }) = transfer else {
            return Err(CalibrateError::NoDetector("the noise of flats does not grow with their light"));
        };
        let rate = slope.inverse();
        let read = intercept.value.max(0.0).sqrt();
        let read_sigma = if read > 0.0 { intercept.sigma / (2.0 * read) } else { intercept.sigma.sqrt() };
        let (parameters, curve) = self.in_electrons(rate, &self.unbent(flats))?;
        Ok(Calibration {
            response: self.name,
            parameters,
            gain_e_per_dn: rate,
            read_sigma_e: FittedValue {
                value: read * rate.value,
                sigma: (read_sigma * rate.value).hypot(read * rate.sigma),
            },
            dark_current_e_per_s: None,
            residual: self.residual,
            levels: [0; 2],
            curve,
        })
    }

    /// The means corrected for the curvature of the response: the mean of a nonlinear curve over noisy electrons is
    /// off by y''/2 times their variance, Var y/y'².
    fn unbent(&self, flats: &[SignalLevel]) -> Vec<SignalLevel> {
        let bend = |level: &SignalLevel| {
            let step = 1e-4 * level.exposure_s;
            let change = self.slope(level.exposure_s + step) - self.slope(level.exposure_s - step);
            0.5 * level.variance * change / (2.0 * step) / self.slope(level.exposure_s).powi(2)
        };
        flats.iter().map(|level| SignalLevel { mean: level.mean - bend(level), ..*level }).collect()
    }

    /// dy/dt of the fitted curve, 1/s.
    fn slope(&self, exposure_s: f64) -> f64 {
        let p: Vec<f64> = self.found.iter().map(|value| value.value).collect();
        let along_log2 = match self.name {
            CurveName::Gamma => p[0] * p[1] * (exposure_s.log2() + p[3]).powf(p[1] - 1.0),
            CurveName::Linear | CurveName::Sigmoid => {
                let y = sigmoid(&p, exposure_s);
                p[0] * y * (1.0 - y)
            }
        };
        along_log2 / (exposure_s * LN_2)
    }

    /// The curve over log2 of electrons instead of time, at `rate` electrons per second.
    fn in_electrons(&self, rate: FittedValue, flats: &[SignalLevel]) -> Result<(Parameters, Curve), CalibrateError> {
        let octaves = rate.value.log2();
        let octaves_sigma = rate.sigma / (rate.value * LN_2);
        if self.name == CurveName::Gamma {
            // The noise determines l better than the curvature does.
            let electrons: Vec<SignalLevel> =
                flats.iter().map(|level| SignalLevel { exposure_s: level.exposure_s * rate.value, ..*level }).collect();
            let start: Vec<f64> = self.found[..3].iter().map(|value| value.value).collect();
            let fixed = |p: &[f64], x: f64| gamma(&[p[0], p[1], p[2], 0.0], x);
            let (found, _) = least_squares(fixed, &start, &electrons)
                .ok_or(CalibrateError::NoDetector("flats do not follow a gamma curve"))?;
            let curve = GammaSpec { a: found[0].value, gamma: found[1].value, b: found[2].value };
            return Ok((vec![("a", found[0]), ("gamma", found[1]), ("b", found[2])], Curve::Gamma(curve)));
        }
        let [a, b] = [self.found[0], self.found[1]];
        let sigma = b.sigma.hypot(a.sigma * octaves).hypot(a.value * octaves_sigma);
        let b = FittedValue { value: b.value - a.value * octaves, sigma };
        Ok((vec![("a", a), ("b", b)], Curve::Sigmoid(SigmoidSpec { a: a.value, b: b.value })))
    }
}
