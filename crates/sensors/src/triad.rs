//! The error model of three orthogonal measuring axes (IEEE Std 952 and 1293). For the true value u and the specific
//! force f they read
//!
//!   y = Q[(I + S + M) u + G f + b_on + x(t) + w(t) + n]
//!
//! with scale errors S and misalignments M, sensitivity to force G, turn-on bias b_on, a drift of bias x, a walk of
//! bias w, white noise n, and the range and step of the converter Q. Quantities given as `sigma` are drawn once per run
//! from the sensor's name and the seed, each from a stream of its own.
//!
//! - White noise has the density N of the two-sided spectrum: readings at rate f have σ = N √f, and the Allan
//!   deviation over τ is N/√τ. Data sheets give N as angle or velocity random walk (1°/√h is 2.909e-4 rad/s/√Hz); a
//!   "noise density" there is one-sided and √2 N. The unit's filter is assumed to pass exactly the band of its rate.
//! - The drift is a first-order Gauss–Markov process. Its Allan deviation has one maximum, 0.6174 of its standard
//!   deviation, at 1.893 correlation times: that is the `instability` given, which data sheets call in-run bias
//!   stability. Flicker noise would be flat there; this process falls off on both sides.
//! - The walk gains K² of variance a second: rate random walk, Allan deviation K √(τ/3).
//! - In place of these, `sensor` is the family of SENSOR §3.3 (`noise`).

use garde::Validate;
use nalgebra::{Matrix3, Vector3};
use schemars::JsonSchema;
use selene_base::input::{finite, non_negative, positive, within};
use selene_base::one_of;
use selene_base::random::stream;
use serde::Deserialize;

use crate::noise::{DriftSpec, gaussian};
use crate::process::{Law, Process};

/// Ratio of the maximum of a Gauss–Markov process's Allan deviation to its standard deviation.
const ALLAN_MAXIMUM: f64 = 0.617_364_283;
/// Added to range/step before rounding down, so that a range of a whole number of steps keeps its last one.
const STEP_ROUNDING: f64 = 1e-9;

/// Errors of three measuring axes, in the unit that the key above them names.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TriadSpec {
    /// Noise and drift by Allan parameters; give exactly one of `allan` and `sensor`.
    #[garde(dive)]
    pub allan: Option<AllanSpec>,
    /// Noise and drift as in SENSOR §3.3.
    #[garde(dive)]
    pub sensor: Option<DriftSpec>,
    /// Constant bias of each axis, fixed at turn-on. May be left out, as may all keys below.
    #[garde(dive, custom(three))]
    pub turn_on_bias: Option<DrawnSpec>,
    /// Scale factor minus 1, each axis.
    #[garde(dive, custom(three))]
    pub scale_error: Option<DrawnSpec>,
    /// Sensitivity of an axis to another axis, rad: x to y, x to z, y to x, y to z, z to x, z to y.
    #[garde(dive, custom(six))]
    pub misalignment_rad: Option<DrawnSpec>,
    /// Reading of each axis per 1 m/s² of specific force along x, y, z, row by row; gyroscopes only.
    #[garde(dive, custom(nine))]
    pub per_m_s2: Option<DrawnSpec>,
    /// Measuring range: values beyond ± this are clipped.
    #[garde(inner(custom(positive)))]
    pub range: Option<f64>,
    /// Resolution: step between two output values.
    #[garde(inner(custom(positive)))]
    pub resolution: Option<f64>,
}

/// Noise and drift as an Allan deviation shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct AllanSpec {
    /// N: white noise, unit/√Hz.
    #[garde(custom(non_negative))]
    pub density: f64,
    /// The drift of the bias.
    #[serde(default)]
    #[garde(dive)]
    pub bias: Option<InstabilitySpec>,
    /// K: walk of the bias, unit/√s.
    #[serde(default)]
    #[garde(custom(non_negative))]
    pub random_walk: f64,
}

/// Gauss–Markov drift of a bias.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct InstabilitySpec {
    /// The maximum of its Allan deviation.
    #[garde(custom(non_negative))]
    pub instability: f64,
    /// Its correlation time, s.
    #[garde(custom(within(1e-3, 1e6)))]
    pub time_s: f64,
}

/// A set of numbers that are given, or drawn once per run.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DrawnSpec {
    /// Standard deviation from which each number is drawn.
    #[garde(inner(custom(non_negative)))]
    pub sigma: Option<f64>,
    /// The numbers themselves.
    #[garde(custom(all_finite))]
    pub given: Option<Vec<f64>>,
}

impl TriadSpec {
    /// Standard deviation of the white noise of readings that are `dt_s` apart.
    pub(crate) fn white_sigma(&self, dt_s: f64) -> f64 {
        let allan = self.allan.map_or(0.0, |allan| allan.density / dt_s.sqrt());
        self.sensor.map_or(allan, |sensor| sensor.white_sigma)
    }
}

impl DrawnSpec {
    /// The `N` numbers of one run; validation checks that `N` are given.
    pub(crate) fn numbers<const N: usize>(&self, seed: u64, name: &str) -> [f64; N] {
        let mut rng = stream(seed, name);
        let sigma = self.sigma.unwrap_or(0.0);
        let at = |i: usize| self.given.as_ref().map(|given| given.get(i).copied().unwrap_or(0.0));
        std::array::from_fn(|i| at(i).unwrap_or_else(|| sigma * gaussian(&mut rng)))
    }
}

/// Three axes with the errors drawn for one run.
#[derive(Clone, Debug)]
pub(crate) struct Triad {
    scale: Matrix3<f64>,
    per_m_s2: Matrix3<f64>,
    bias: Vector3<f64>,
    white_sigma: f64,
    drift: Drift,
    range: Option<f64>,
    resolution: Option<f64>,
}

/// How the bias changes with time.
#[derive(Clone, Debug)]
enum Drift {
    /// Gauss–Markov process and random walk, each with its standard deviation; left out where that is 0.
    Allan(Vec<(f64, Process)>),
    /// A random walk that starts at the first sample: mean and standard deviation of its step.
    Sensor { mean: f64, sigma: f64, walk: Process },
}

impl Triad {
    /// The axes of stream prefix `name` ("sensor/quantity"), read every `dt_s`.
    pub(crate) fn new(spec: &TriadSpec, dt_s: f64, seed: u64, name: &str) -> Self {
        let drawn3 = |spec: &Option<DrawnSpec>, what: &str| of_three(spec, seed, &format!("{name}/{what}"));
        let offset = spec.sensor.map_or(0.0, |sensor| sensor.offset);
        Self {
            scale: Matrix3::from_diagonal(&drawn3(&spec.scale_error, "scale error").add_scalar(1.0))
                + misalignment(spec, seed, name),
            per_m_s2: per_m_s2(spec, seed, name),
            bias: drawn3(&spec.turn_on_bias, "turn-on bias").add_scalar(offset),
            white_sigma: spec.white_sigma(dt_s),
            drift: Drift::new(spec, dt_s, seed, name),
            range: spec.range,
            resolution: spec.resolution,
        }
    }

    /// Their readings at sample `index` for a true value and a specific force, m/s², with three draws from N(0, 1).
    pub(crate) fn read(
        &mut self,
        index: u64,
        truth: Vector3<f64>,
        force_m_s2: Vector3<f64>,
        draws: Vector3<f64>,
    ) -> Vector3<f64> {
        let value = self.scale * truth + self.per_m_s2 * force_m_s2 + self.bias_at(index) + draws * self.white_sigma;
        value.map(|value| self.converted(value))
    }

    /// Their bias at a sample, including the turn-on bias.
    pub(crate) fn bias_at(&mut self, index: u64) -> Vector3<f64> {
        self.bias + self.drift.at(index)
    }

    fn converted(&self, value: f64) -> f64 {
        match (self.resolution, self.range) {
            (Some(step), range) => {
                let last = range.map_or(f64::INFINITY, |range| (range / step + STEP_ROUNDING).floor());
                (value / step).round().clamp(-last, last) * step
            }
            (None, Some(range)) => value.clamp(-range, range),
            (None, None) => value,
        }
    }
}

impl Drift {
    fn new(spec: &TriadSpec, dt_s: f64, seed: u64, name: &str) -> Self {
        if let Some(sensor) = spec.sensor {
            let walk = Process::new(Law::Walk, seed, format!("{name} bias"));
            return Self::Sensor { mean: sensor.walk_mean, sigma: sensor.step_sigma(dt_s), walk };
        }
        let allan = spec.allan.unwrap_or_default();
        let drift = allan.bias.map(|bias| {
            let law = Law::GaussMarkov { time_steps: bias.time_s / dt_s };
            (bias.instability / ALLAN_MAXIMUM, Process::new(law, seed, format!("{name} drift")))
        });
        let walk = (allan.random_walk * dt_s.sqrt(), Process::new(Law::Walk, seed, format!("{name} walk")));
        Self::Allan(drift.into_iter().chain([walk]).filter(|(sigma, _)| *sigma > 0.0).collect())
    }

    fn at(&mut self, index: u64) -> Vector3<f64> {
        match self {
            Self::Allan(parts) => {
                parts.iter_mut().fold(Vector3::zeros(), |sum, (sigma, process)| sum + process.at(index) * *sigma)
            }
            Self::Sensor { mean, sigma, walk } => {
                let steps = index + 1;
                let walked = if *sigma > 0.0 { walk.at(steps) * *sigma } else { Vector3::zeros() };
                walked.add_scalar(*mean * steps as f64)
            }
        }
    }
}

/// Three numbers of a run; 0 where the spec is left out.
pub(crate) fn of_three(spec: &Option<DrawnSpec>, seed: u64, name: &str) -> Vector3<f64> {
    spec.as_ref().map_or_else(Vector3::zeros, |spec| spec.numbers::<3>(seed, name).into())
}

/// A 3 × 3 matrix of a run, row by row; 0 where the spec is left out.
pub(crate) fn of_nine(spec: &Option<DrawnSpec>, seed: u64, name: &str) -> Matrix3<f64> {
    spec.as_ref().map_or_else(Matrix3::zeros, |spec| Matrix3::from_row_slice(&spec.numbers::<9>(seed, name)))
}

fn per_m_s2(spec: &TriadSpec, seed: u64, name: &str) -> Matrix3<f64> {
    of_nine(&spec.per_m_s2, seed, &format!("{name}/per force"))
}

fn misalignment(spec: &TriadSpec, seed: u64, name: &str) -> Matrix3<f64> {
    let Some(spec) = &spec.misalignment_rad else { return Matrix3::zeros() };
    let [xy, xz, yx, yz, zx, zy] = spec.numbers::<6>(seed, &format!("{name}/misalignment"));
    Matrix3::new(0.0, xy, xz, yx, 0.0, yz, zx, zy, 0.0)
}

/// A garde check: exactly one of the two noise families.
pub(crate) fn one_family(spec: &TriadSpec, (): &()) -> garde::Result {
    one_of([("allan", spec.allan.map(drop)), ("sensor", spec.sensor.map(drop))]).map_err(garde::Error::new)
}

/// A garde check: three numbers, or their standard deviation.
pub(crate) fn three(spec: &Option<DrawnSpec>, (): &()) -> garde::Result {
    as_many(spec, 3)
}

fn six(spec: &Option<DrawnSpec>, (): &()) -> garde::Result {
    as_many(spec, 6)
}

/// A garde check: nine numbers, or their standard deviation.
pub(crate) fn nine(spec: &Option<DrawnSpec>, (): &()) -> garde::Result {
    as_many(spec, 9)
}

fn as_many(spec: &Option<DrawnSpec>, count: usize) -> garde::Result {
    let Some(spec) = spec else { return Ok(()) };
    let given = spec.given.as_ref();
    one_of([("sigma", spec.sigma.map(drop)), ("given", given.map(drop))]).map_err(garde::Error::new)?;
    match given.map(Vec::len) {
        Some(found) if found != count => {
            Err(garde::Error::new(format!("given: {found} numbers are not allowed: must be {count}")))
        }
        _ => Ok(()),
    }
}

fn all_finite(given: &Option<Vec<f64>>, (): &()) -> garde::Result {
    given.iter().flatten().try_for_each(|value| finite(value, &()))
}

#[cfg(test)]
mod tests {
    use super::{AllanSpec, DrawnSpec, InstabilitySpec, Triad, TriadSpec};
    use nalgebra::Vector3;

    const DT_S: f64 = 0.01;

    fn given(numbers: &[f64]) -> Option<DrawnSpec> {
        Some(DrawnSpec { sigma: None, given: Some(numbers.to_vec()) })
    }

    fn quiet() -> TriadSpec {
        TriadSpec { allan: Some(AllanSpec::default()), ..TriadSpec::default() }
    }

    fn read(spec: &TriadSpec, truth: Vector3<f64>, force: Vector3<f64>) -> Vector3<f64> {
        Triad::new(spec, DT_S, 1, "axes").read(0, truth, force, Vector3::zeros())
    }

    #[test]
    fn scale_misalignment_force_and_bias_enter_as_the_equation_says() {
        let spec = TriadSpec {
            turn_on_bias: given(&[0.1, 0.2, 0.3]),
            scale_error: given(&[0.01, -0.02, 0.0]),
            misalignment_rad: given(&[0.001, 0.002, 0.003, 0.004, 0.005, 0.006]),
            per_m_s2: given(&[1e-3, 0.0, 0.0, 0.0, 0.0, 2e-3, 0.0, 0.0, 0.0]),
            ..quiet()
        };
        let found = read(&spec, Vector3::new(1.0, 2.0, 3.0), Vector3::new(4.0, 5.0, 6.0));
        let expected = Vector3::new(
            1.01 + 0.001 * 2.0 + 0.002 * 3.0 + 4e-3 + 0.1,
            0.98 * 2.0 + 0.003 + 0.004 * 3.0 + 12e-3 + 0.2,
            3.0 + 0.005 + 0.006 * 2.0 + 0.3,
        );
        assert!((found - expected).norm() < 1e-14, "{found}");
    }

    #[test]
    fn values_are_whole_steps_up_to_the_last_within_the_range() {
        let spec = TriadSpec { range: Some(2.0), resolution: Some(0.1), ..quiet() };
        let found = read(&spec, Vector3::new(0.26, 5.0, -5.0), Vector3::zeros());
        assert_eq!(found, Vector3::new(3.0 * 0.1, 20.0 * 0.1, -20.0 * 0.1));
        // The range is not a whole number of steps: values are clipped to the last step within it.
        let uneven = TriadSpec { range: Some(0.25), ..spec.clone() };
        assert_eq!(read(&uneven, Vector3::repeat(9.0), Vector3::zeros()), Vector3::repeat(2.0 * 0.1));
        let unstepped = TriadSpec { resolution: None, ..spec };
        assert_eq!(read(&unstepped, Vector3::new(0.26, 5.0, -5.0), Vector3::zeros()), Vector3::new(0.26, 2.0, -2.0));
    }

    #[test]
    fn what_is_drawn_is_drawn_once_a_run_and_spreads_as_requested() {
        let spec = TriadSpec { turn_on_bias: Some(DrawnSpec { sigma: Some(0.5), given: None }), ..quiet() };
        let bias = |seed: u64, index: u64| Triad::new(&spec, DT_S, seed, "axes").bias_at(index);
        assert_eq!(bias(7, 0), bias(7, 1000));
        assert_ne!(bias(7, 0), bias(8, 0));
        // 3000 squares: one sigma of their mean is 2.6 %.
        let variance = (0..1000).map(|seed| bias(seed, 0).norm_squared() / 3.0).sum::<f64>() / 1000.0;
        assert!((variance / 0.25 - 1.0).abs() < 0.13, "{variance}");
    }

    #[test]
    fn a_drift_has_its_variance_from_the_first_sample_on() {
        let bias = Some(InstabilitySpec { instability: 0.617_364_283, time_s: 1.0 });
        let spec = TriadSpec { allan: Some(AllanSpec { bias, ..AllanSpec::default() }), ..TriadSpec::default() };
        for index in [0, 12_345] {
            let squares = (0..1000).map(|seed| Triad::new(&spec, DT_S, seed, "axes").bias_at(index).norm_squared());
            let variance = squares.sum::<f64>() / 3000.0;
            assert!((variance - 1.0).abs() < 0.13, "sample {index}: {variance}");
        }
    }
}
