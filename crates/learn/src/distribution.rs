//! Distributions in YAML, selected by one key: `uniform: {low, high}`, `log_uniform: {low, high}`,
//! `normal: {mean, deviation, low, high}` or `choice: [..]`. A drawn value is always within the range of its quantity:
//! each distribution has bounds, which are checked when the file is read. A normal distribution is truncated at its
//! bounds by drawing again; they must include its mean and be a deviation apart, so that at least a third of all draws
//! are accepted.

use rand_distr::{Distribution as _, StandardNormal};
use schemars::JsonSchema;
use selene_base::random::{RngExt, Stream};
use selene_base::{NotOneOf, one_of};
use serde::Deserialize;

/// Maximum number of values of a choice.
const CHOICES_MAX: usize = 1000;

/// A distribution of one number.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "DistributionKeys")]
pub enum Distribution {
    /// Uniform between two values.
    Uniform(RangeSpec),
    /// Truncated normal.
    Normal(NormalSpec),
    /// The logarithm is uniform.
    LogUniform(RangeSpec),
    /// One of these values, with equal probability.
    Choice(Vec<f64>),
}

/// A range of values.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RangeSpec {
    /// Lowest value.
    pub low: f64,
    /// Highest value.
    pub high: f64,
}

/// A truncated normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NormalSpec {
    /// Mean before truncation.
    pub mean: f64,
    /// Standard deviation before truncation.
    pub deviation: f64,
    /// Lowest value.
    pub low: f64,
    /// Highest value.
    pub high: f64,
}

/// The keys of a distribution in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DistributionKeys {
    uniform: Option<RangeSpec>,
    normal: Option<NormalSpec>,
    log_uniform: Option<RangeSpec>,
    choice: Option<Vec<f64>>,
}

impl TryFrom<DistributionKeys> for Distribution {
    type Error = NotOneOf;

    fn try_from(keys: DistributionKeys) -> Result<Self, NotOneOf> {
        one_of([
            ("uniform", keys.uniform.map(Self::Uniform)),
            ("normal", keys.normal.map(Self::Normal)),
            ("log_uniform", keys.log_uniform.map(Self::LogUniform)),
            ("choice", keys.choice.map(Self::Choice)),
        ])
    }
}

impl Distribution {
    /// Draws one number.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Uniform(RangeSpec { low, high }) => between(*low, *high, stream),
            Self::LogUniform(RangeSpec { low, high }) => {
                between(low.ln(), high.ln(), stream).exp().clamp(*low, *high) // exp(ln x) is x but for its last bits
            }
            Self::Choice(values) => values[stream.random_range(0..values.len())],
            Self::Normal(normal) => loop {
                let z: f64 = StandardNormal.sample(stream);
                let value = normal.mean + normal.deviation * z;
                if (normal.low..=normal.high).contains(&value) {
                    return value;
                }
            },
        }
    }

    /// Why the distribution is not valid or can give values outside of `least` to `most`; `None` if it is good.
    fn fault(&self, [least, most]: [f64; 2]) -> Option<String> {
        let ends = |low: f64, high: f64| {
            let sound = low <= high && low >= least && high <= most;
            (!sound)
                .then(|| format!("{low} to {high} is not allowed: low and high must be {least} to {most}, in order"))
        };
        match self {
            Self::Uniform(RangeSpec { low, high }) => ends(*low, *high),
            Self::LogUniform(RangeSpec { low, .. }) if *low <= 0.0 || low.is_nan() => {
                Some(format!("low {low} is not allowed: must be more than 0, since it has a logarithm"))
            }
            Self::LogUniform(RangeSpec { low, high }) => ends(*low, *high),
            Self::Choice(values) if values.is_empty() || values.len() > CHOICES_MAX => {
                Some(format!("{} values are not allowed: must be 1 to {CHOICES_MAX}", values.len()))
            }
            Self::Choice(values) => values.iter().find_map(|value| ends(*value, *value)),
            Self::Normal(NormalSpec { mean, deviation, low, high }) => ends(*low, *high).or_else(|| {
                let sound = *deviation > 0.0 && (*low..=*high).contains(mean) && high - low >= *deviation;
                (!sound).then(|| {
                    format!(
                        "mean {mean}, deviation {deviation} is not allowed: the deviation must be more than 0 and at \
                         most high - low, the mean {low} to {high}"
                    )
                })
            }),
        }
    }
}

/// Why a distribution is not valid or can give values outside of `least` to `most`; `None` if it is good.
#[must_use]
pub fn unfit(distribution: &Distribution, [least, most]: [f64; 2]) -> Option<String> {
    distribution.fault([least, most])
}

fn between(low: f64, high: f64, stream: &mut Stream) -> f64 {
    (low + (high - low) * stream.random_range(0.0..1.0_f64)).min(high)
}

/// A garde check: a distribution whose every value is between `least` and `most`.
pub(crate) fn drawn_within(least: f64, most: f64) -> impl FnOnce(&Distribution, &()) -> garde::Result {
    move |distribution, ()| distribution.fault([least, most]).map_or(Ok(()), |what| Err(garde::Error::new(what)))
}

#[cfg(test)]
mod tests {
    use super::{Distribution, drawn_within};
    use garde::Validate;
    use selene_base::input::parse_yaml;
    use selene_base::random::stream;
    use serde::Deserialize;
    use std::path::Path;

    #[derive(Debug, Deserialize, Validate)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[garde(custom(drawn_within(0.1, 30.0)))]
        gravity: Distribution,
    }

    fn read(text: &str) -> Result<Distribution, String> {
        let file = parse_yaml::<File>(&format!("\n\ngravity: {text}\n"), Path::new("x.yaml"));
        file.map(|file| file.gravity).map_err(|error| error.to_string())
    }

    /// Mean and variance of many draws.
    fn moments(of: &Distribution) -> [f64; 2] {
        let mut stream = stream(7, "test");
        let draws: Vec<_> = (0..20_000).map(|_| of.draw(&mut stream)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        [mean, draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64]
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        for (text, mean, variance) in [
            ("{uniform: {low: 1, high: 4}}", 2.5, 0.75),
            // Moments of a log-uniform number: (b - a)/ln(b/a) and (b² - a²)/(2 ln(b/a)) less the mean's square.
            ("{log_uniform: {low: 1, high: 10}}", 3.9087, 6.2206),
            ("{normal: {mean: 5, deviation: 0.5, low: 1, high: 9}}", 5.0, 0.25),
            ("{choice: [1, 3]}", 2.0, 1.0),
        ] {
            let reported = moments(&read(text).expect(text));
            // The tolerance is four standard errors of the mean; variances agree within a twentieth.
            assert!(
                (reported[0] - mean).abs() < 4.0 * (variance / 20_000.0_f64).sqrt(),
                "{text}: mean {}",
                reported[0]
            );
            assert!((reported[1] / variance - 1.0).abs() < 0.05, "{text}: variance {}", reported[1]);
        }
    }

    #[test]
    fn a_cut_off_normal_number_stays_within_its_bounds() {
        let cut = read("{normal: {mean: 5, deviation: 1, low: 5, high: 6}}").expect("good");
        let mut stream = stream(7, "test");
        assert!((0..1000).all(|_| (5.0..=6.0).contains(&cut.draw(&mut stream))));
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_its_line() {
        for (text, part) in [
            ("{uniform: {low: 0, high: 1}}", "0.1 to 30"),
            ("{uniform: {low: 2, high: 1}}", "in order"),
            ("{uniform: {low: .nan, high: 1}}", "NaN"),
            ("{log_uniform: {low: 0, high: 1}}", "more than 0"),
            ("{normal: {mean: 9, deviation: 1, low: 1, high: 2}}", "the mean 1 to 2"),
            ("{normal: {mean: 1, deviation: 5, low: 1, high: 2}}", "at most high - low"),
            ("{choice: []}", "1 to 1000"),
            ("{choice: [1, 31]}", "31"),
            ("{uniform: {low: 1, high: 2}, choice: [1]}", "exactly one of uniform, normal"),
            ("{poisson: {mean: 2}}", "poisson"),
        ] {
            let reported = read(text).expect_err(text);
            assert!(
                reported.contains(part) && reported.contains("line 3") && reported.contains("x.yaml"),
                "{text}: {reported}"
            );
        }
    }
}
