//! Calibration of a detector from its own pictures. Flat fields and dark frames at several exposures, two or more of
//! each, give gain, read-out noise, dark current and response by photon transfer (Janesick 2007, Photon Transfer,
//! SPIE): the variance between pictures of one exposure, in which the fixed pattern cancels, is a linear function of
//! the mean.
//!
//! Linear response, with signal s as a share of the full scale, black b and full well w: Var s = (s − b)/w + (σ/w)².
//! Any response y(t) under electrons x = q t: Var y/(dy/dt)² = t/q + σ²/q², which gives q, and with it the response
//! in electrons. The variance of rounding to whole numbers, 1/12, is subtracted. Dark frames that are clipped at 0
//! carry no information on black level and dark current and are left out.

mod line;
mod response;

use serde::Serialize;

pub use self::line::FittedValue;
pub use self::response::CurveName;

use self::line::Line;
use self::response::Fitted;
use crate::develop::{Curve, LinearSpec};

/// Pictures with more than this fraction of pixels at an end of the scale count as clipped.
const CUT_OFF: f64 = 1e-3;
/// The least number of exposures for a fit.
const LEVELS_LEAST: usize = 4;

/// Why a calibration failed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalibrateError {
    /// The pictures of one exposure differ in size, or there is only one.
    #[error("exposure of {exposure}: {what}")]
    Pictures {
        /// The exposure time, as text.
        exposure: String,
        /// What is wrong.
        what: &'static str,
    },
    /// Too few exposures are within the scale.
    #[error("{got} exposures of flats are within the scale; at least {LEVELS_LEAST} must be")]
    TooFew {
        /// Number of usable exposures.
        got: usize,
    },
    /// The data do not behave like those of a detector.
    #[error("{0}")]
    NoDetector(&'static str),
}

/// Statistics of all pictures of one exposure; signals are fractions of the full scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalLevel {
    /// Exposure time, s.
    pub exposure_s: f64,
    /// Mean signal over pixels and pictures.
    pub mean: f64,
    /// Variance between pictures, without that of rounding.
    pub variance: f64,
    /// Number of pixel differences in the variance.
    pub samples: f64,
    /// Whether pixels are clipped at the lower and at the upper end.
    pub cut_off: [bool; 2],
}

impl SignalLevel {
    /// The statistics of pictures with the same exposure and pixel values up to `full_scale`.
    ///
    /// # Errors
    /// When there are fewer than two pictures, or they differ in size.
    pub fn of(exposure_s: f64, pictures: &[Vec<u16>], full_scale: f64) -> Result<Self, CalibrateError> {
        let refuse = |what| Err(CalibrateError::Pictures { exposure: format!("{exposure_s} s"), what });
        let pixels = pictures.first().map_or(0, Vec::len);
        if pictures.len() < 2 || pixels < 2 {
            return refuse("must be of two pictures or more");
        }
        if pictures.iter().any(|picture| picture.len() != pixels) {
            return refuse("pictures differ in size");
        }
        let all = (pixels * pictures.len()) as f64;
        let share =
            |number: f64| pictures.iter().flatten().filter(|value| f64::from(**value) == number).count() as f64 / all;
        let mean = pictures.iter().flatten().map(|value| f64::from(*value)).sum::<f64>() / all;
        let pairs: Vec<f64> = pictures.windows(2).map(|pair| variance_between(&pair[0], &pair[1])).collect();
        let variance = pairs.iter().sum::<f64>() / pairs.len() as f64 - 1.0 / 12.0;
        Ok(Self {
            exposure_s,
            mean: mean / full_scale,
            variance: variance.max(0.0) / full_scale.powi(2),
            samples: (pixels * pairs.len()) as f64,
            cut_off: [share(0.0) > CUT_OFF, share(full_scale) > CUT_OFF],
        })
    }

    /// Standard deviation of `variance`: `variance` √(2/n).
    fn variance_sigma(&self) -> f64 {
        self.variance * (2.0 / self.samples).sqrt()
    }
}

/// Half the variance of the difference of two pictures. Its mean is subtracted, because a change of the lamp's
/// brightness is not noise.
fn variance_between(a: &[u16], b: &[u16]) -> f64 {
    let differences = || a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b));
    let n = a.len() as f64;
    let mean = differences().sum::<f64>() / n;
    differences().map(|d| (d - mean).powi(2)).sum::<f64>() / (2.0 * (n - 1.0))
}

/// Parameters of a response curve, by their keys in the sensor file.
pub type Parameters = Vec<(&'static str, FittedValue)>;

/// The fitted parameters of a detector, with standard uncertainties.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The response that fits best, or was requested.
    pub response: CurveName,
    /// Its parameters by their keys in the sensor file; electrons at ISO 1.
    pub parameters: Parameters,
    /// Electrons per digital number in the middle of the pictures' range.
    pub gain_e_per_dn: FittedValue,
    /// Read-out noise, electrons.
    pub read_sigma_e: FittedValue,
    /// Dark current, electrons per second; `None` if the dark frames do not determine it.
    pub dark_current_e_per_s: Option<FittedValue>,
    /// Root mean square residual of the response, as a fraction of the full scale.
    pub residual: f64,
    /// Numbers of exposures of flats and of darks that were used.
    pub levels: [usize; 2],
    /// The fitted response curve.
    #[serde(skip)]
    pub curve: Curve,
}

/// Fits a detector; `requested` selects a response, otherwise the best fit is chosen.
///
/// # Errors
/// When there are too few exposures or the data are not those of a detector.
pub fn calibrate(
    flats: &[SignalLevel],
    darks: &[SignalLevel],
    full_scale: f64,
    requested: Option<CurveName>,
) -> Result<Calibration, CalibrateError> {
    let flats: Vec<SignalLevel> = flats.iter().filter(|level| level.cut_off == [false; 2]).copied().collect();
    let darks: Vec<SignalLevel> = darks.iter().filter(|level| level.cut_off == [false; 2]).copied().collect();
    if flats.len() < LEVELS_LEAST {
        return Err(CalibrateError::TooFew { got: flats.len() });
    }
    let fitted = match requested {
        Some(name) => response::fit(name, &flats)?,
        None => response::fit_best(&flats)?,
    };
    let mut calibration = match fitted {
        Fitted::Linear(line) => linear(&flats, &darks, &line)?,
        Fitted::Nonlinear(bent) => bent.calibration(&flats)?,
    };
    let middle = (flats[0].mean + flats[flats.len() - 1].mean) / 2.0;
    calibration.gain_e_per_dn = gain(&calibration, middle, full_scale);
    calibration.levels = [flats.len(), darks.len()];
    Ok(calibration)
}

/// Electrons per digital number: dx/dy divided by the full scale, with the same relative uncertainty as the scale of
/// the response.
fn gain(calibration: &Calibration, signal: f64, full_scale: f64) -> FittedValue {
    const STEP: f64 = 1e-4;
    let electrons = |signal: f64| calibration.curve.electrons(signal);
    let value = (electrons(signal + STEP) - electrons(signal - STEP)) / (2.0 * STEP * full_scale);
    let FittedValue { value: scale, sigma } = calibration.gain_e_per_dn;
    FittedValue { value, sigma: (value * sigma / scale).abs() }
}

fn linear(flats: &[SignalLevel], darks: &[SignalLevel], means: &Line) -> Result<Calibration, CalibrateError> {
    let dark_line = Line::through(darks.iter().map(|level| (level.exposure_s, level.mean, 1.0)));
    let black = dark_line.as_ref().map_or(means.intercept, |line| line.intercept);
    let transfer =
        flats.iter().chain(darks).map(|level| (level.mean - black.value, level.variance, level.variance_sigma()));
    let transfer = Line::through(transfer).filter(|line| line.slope.value > 0.0);
    let Some(Line { slope, intercept, .. }) = transfer else {
        return Err(CalibrateError::NoDetector("the variance of flats does not grow with their mean"));
    };
    let well = slope.inverse();
    // σ = w √intercept; a negative intercept means no measurable read-out noise.
    let read = intercept.value.max(0.0).sqrt();
    let read_sigma = if read > 0.0 { intercept.sigma / (2.0 * read) } else { intercept.sigma.sqrt() };
    let read_e = FittedValue { value: read * well.value, sigma: (read_sigma * well.value).hypot(read * well.sigma) };
    let dark = dark_line.map(|line| line.slope.times(&well));
    Ok(Calibration {
        response: CurveName::Linear,
        parameters: vec![("full_well_e", well), ("black", black)],
        gain_e_per_dn: well,
        read_sigma_e: read_e,
        dark_current_e_per_s: dark,
        residual: means.residual,
        levels: [0; 2],
        curve: Curve::Linear(LinearSpec { full_well_e: well.value, black: black.value }),
    })
}

impl Calibration {
    /// The calibration as YAML entries for the list of stages in a sensor file.
    #[must_use]
    pub fn yaml(&self) -> String {
        let number = |value: f64| format!("{value:.6e}").parse::<f64>().unwrap_or(value);
        let dark = self
            .dark_current_e_per_s
            .map_or_else(String::new, |dark| format!(", dark_current_e_per_s: {}", number(dark.value.max(0.0))));
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name}: {}", number(value.value))).collect();
        format!(
            "- noise: {{read_sigma_e: {}{dark}}}\n- response: {{{}: {{{}}}}}\n",
            number(self.read_sigma_e.value),
            self.response,
            parameters.join(", ")
        )
    }
}

#[cfg(test)]
mod tests;
