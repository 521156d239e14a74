//! The noise family of SENSOR §3.3, which units may use in place of Allan parameters: a white part
//! η_a ~ N(μ_a, σ_a²) on each sample and a bias that walks, b_t = b_{t−1} + η_b, η_b ~ N(μ_b, (b0 √(dt/t_b))²).
//! `process` draws the walk.

use garde::Validate;
use nalgebra::Vector3;
use rand_distr::{Distribution, StandardNormal};
use schemars::JsonSchema;
use selene_base::input::{finite, non_negative, positive};
use selene_base::random::Stream;
use serde::Deserialize;

/// White noise and bias walk of one quantity, in that quantity's SI unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DriftSpec {
    /// μ_a: constant offset on every sample.
    #[garde(custom(finite))]
    pub offset: f64,
    /// σ_a: standard deviation of the white part of each sample.
    #[garde(custom(non_negative))]
    pub white_sigma: f64,
    /// μ_b: mean of the bias's step at each sample.
    #[garde(custom(finite))]
    pub walk_mean: f64,
    /// b0: standard deviation that the bias gains in `walk_time_s`.
    #[garde(custom(non_negative))]
    pub walk_sigma: f64,
    /// t_b: the time `walk_sigma` refers to, s.
    #[garde(custom(positive))]
    pub walk_time_s: f64,
}

impl DriftSpec {
    /// Standard deviation of the bias's step in `dt_s`.
    pub(crate) fn step_sigma(&self, dt_s: f64) -> f64 {
        self.walk_sigma * (dt_s / self.walk_time_s).sqrt()
    }
}

/// One draw from N(0, 1).
pub(crate) fn gaussian(rng: &mut Stream) -> f64 {
    StandardNormal.sample(rng)
}

/// Three draws from N(0, 1), x first.
pub(crate) fn gaussian3(rng: &mut Stream) -> Vector3<f64> {
    let x = gaussian(rng);
    let y = gaussian(rng);
    Vector3::new(x, y, gaussian(rng))
}
