//! Camera response (LUNAR eq. 8): linear y = a ISO x + b, gamma y = a (log2(ISO x))^γ + b,
//! sigmoid y = 1/(1 + exp(−a log2(ISO x) − b)); x in electrons, y as a fraction of the full
//! scale. Electrons to signal. Where the paper's formulas are undefined (ISO x ≤ 1 for
//! gamma, ISO x ≤ 0 for sigmoid) y takes its limit there: b, and 0.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{finite, positive, within};
use selene_base::{NotOneOf, one_of};
use serde::Deserialize;

use super::shot::RowWork;

/// `response`: an ISO number and exactly one curve.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "ResponseKeys")]
pub struct ResponseSpec {
    /// Analog gain; 1 when left out.
    pub iso: f64,
    /// White balance: factors on red, green and blue before the curve; none when left out.
    pub white_balance_rgb: Option<[f64; 3]>,
    /// The response curve.
    pub curve: Curve,
}

/// The response curves.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema)]
pub enum Curve {
    /// A straight line.
    Linear(LinearSpec),
    /// A power of the logarithm of the electrons.
    Gamma(GammaSpec),
    /// A logistic function of the logarithm of the electrons.
    Sigmoid(SigmoidSpec),
}

/// `linear`: a = 1/full_well_e, b = black.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LinearSpec {
    /// Electrons from black to the full scale at ISO 1.
    #[garde(custom(positive))]
    pub full_well_e: f64,
    /// b: signal without light, as a fraction of the full scale.
    #[garde(custom(within(-0.5, 0.5)))]
    #[serde(default)]
    pub black: f64,
}

/// `gamma`: y = a (log2(ISO x))^γ + b.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct GammaSpec {
    /// a: factor on the power of the logarithm.
    #[garde(custom(positive))]
    pub a: f64,
    /// γ: exponent of the logarithm.
    #[garde(custom(within(0.05, 20.0)))]
    pub gamma: f64,
    /// b: signal at ISO x = 1 and below, as a fraction of the full scale.
    #[garde(custom(finite))]
    pub b: f64,
}

/// `sigmoid`: y = 1/(1 + exp(−a log2(ISO x) − b)).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SigmoidSpec {
    /// a: slope over log2 of the electrons.
    #[garde(custom(positive))]
    pub a: f64,
    /// b: offset of the logistic function's argument.
    #[garde(custom(finite))]
    pub b: f64,
}

/// The stage in the file: exactly one key names the curve.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResponseKeys {
    iso: Option<f64>,
    white_balance_rgb: Option<[f64; 3]>,
    linear: Option<LinearSpec>,
    gamma: Option<GammaSpec>,
    sigmoid: Option<SigmoidSpec>,
}

impl TryFrom<ResponseKeys> for ResponseSpec {
    type Error = NotOneOf;

    fn try_from(keys: ResponseKeys) -> Result<Self, NotOneOf> {
        let curve = one_of([
            ("linear", keys.linear.map(Curve::Linear)),
            ("gamma", keys.gamma.map(Curve::Gamma)),
            ("sigmoid", keys.sigmoid.map(Curve::Sigmoid)),
        ])?;
        Ok(Self { iso: keys.iso.unwrap_or(1.0), white_balance_rgb: keys.white_balance_rgb, curve })
    }
}

/// Validation paths follow the keys of the file, so that an error names its line.
impl Validate for ResponseSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        if let Err(error) = within(1e-6, 1e6)(&self.iso, &()) {
            report.append(garde::util::nested_path!(parent, "iso")(), error);
        }
        for factor in self.white_balance_rgb.iter().flatten() {
            if let Err(error) = within(0.01, 100.0)(factor, &()) {
                report.append(garde::util::nested_path!(parent, "white_balance_rgb")(), error);
            }
        }
        match &self.curve {
            Curve::Linear(spec) => {
                spec.validate_into(&(), &mut garde::util::nested_path!(parent, "linear"), report);
            }
            Curve::Gamma(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "gamma"), report),
            Curve::Sigmoid(spec) => {
                spec.validate_into(&(), &mut garde::util::nested_path!(parent, "sigmoid"), report);
            }
        }
    }
}

impl Curve {
    /// Signal for `x`, ISO times electrons, as a fraction of the full scale.
    #[must_use]
    pub fn signal(&self, x: f64) -> f64 {
        match *self {
            Self::Linear(LinearSpec { full_well_e, black }) => x / full_well_e + black,
            Self::Gamma(GammaSpec { a, gamma, b }) => {
                if x > 1.0 {
                    a * x.log2().powf(gamma) + b
                } else {
                    b
                }
            }
            Self::Sigmoid(SigmoidSpec { a, b }) => {
                if x > 0.0 {
                    1.0 / (1.0 + (-a * x.log2() - b).exp())
                } else {
                    0.0
                }
            }
        }
    }

    /// The value of ISO times electrons that gives a signal; NaN if none does.
    #[must_use]
    pub fn electrons(&self, signal: f64) -> f64 {
        match *self {
            Self::Linear(LinearSpec { full_well_e, black }) => (signal - black) * full_well_e,
            Self::Gamma(GammaSpec { a, gamma, b }) => ((signal - b) / a).powf(1.0 / gamma).exp2(),
            Self::Sigmoid(SigmoidSpec { a, b }) => (((signal / (1.0 - signal)).ln() - b) / a).exp2(),
        }
    }
}

impl ResponseSpec {
    /// The work on a row, with the ISO number times `gain`.
    pub(super) fn rows(self, gain: f64) -> RowWork<'static> {
        Box::new(move |channel, _, values| {
            let balance = self.white_balance_rgb.map_or(1.0, |rgb| rgb[channel]);
            let iso = self.iso * gain * balance;
            if let Curve::Linear(LinearSpec { full_well_e, black }) = self.curve {
                let [a, b] = [(iso / full_well_e) as f32, black as f32];
                values.iter_mut().for_each(|value| *value = a * *value + b);
            } else {
                values.iter_mut().for_each(|value| *value = self.curve.signal(iso * f64::from(*value)) as f32);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Curve, GammaSpec, LinearSpec, ResponseSpec, SigmoidSpec};

    const CURVES: [Curve; 3] = [
        Curve::Linear(LinearSpec { full_well_e: 9000.0, black: 0.02 }),
        Curve::Gamma(GammaSpec { a: 0.004, gamma: 2.1, b: 0.01 }),
        Curve::Sigmoid(SigmoidSpec { a: 0.8, b: -8.0 }),
    ];

    #[test]
    fn each_curve_follows_its_formula_at_any_iso() {
        const ROUNDING: f64 = 1e-6; // f32
        for (curve, expected) in CURVES.iter().zip([
            |x: f64| x / 9000.0 + 0.02,
            |x: f64| 0.004 * (x.ln() / 2.0_f64.ln()).powf(2.1) + 0.01,
            |x: f64| 1.0 / (1.0 + (-0.8 * x.ln() / 2.0_f64.ln() + 8.0).exp()),
        ]) {
            let response = ResponseSpec { iso: 2.0, white_balance_rgb: None, curve: *curve };
            let electrons = [3.0_f32, 100.0, 2000.0];
            let mut values = electrons;
            response.rows(1.5)(0, 0, &mut values);
            for (value, x) in values.iter().zip(electrons) {
                assert!((f64::from(*value) - expected(3.0 * f64::from(x))).abs() < ROUNDING, "{curve:?} {x}");
            }
        }
    }

    #[test]
    fn electrons_of_a_signal_give_that_signal_and_darkness_has_a_value() {
        const ROUNDING: f64 = 1e-12;
        for curve in CURVES {
            for signal in [0.05, 0.3, 0.8] {
                assert!((curve.signal(curve.electrons(signal)) - signal).abs() < ROUNDING, "{curve:?}");
            }
        }
        let dark = CURVES.map(|curve| [curve.signal(0.0), curve.signal(-5.0)]);
        assert_eq!(dark[1..], [[0.01, 0.01], [0.0, 0.0]]);
    }
}
