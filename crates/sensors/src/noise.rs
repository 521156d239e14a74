//! The noise family that IMU and position share (SENSOR §3.3): a white part
//! η_a ~ N(μ_a, σ_a²) on each sample and a bias that walks, b_t = b_{t−1} + η_b,
//! η_b ~ N(μ_b, (b0 √(dt/t_b))²).
//!
//! The walk is not summed step by step: who joins late would have another one. It is drawn from coarse to
//! fine (P. Lévy's construction of Brownian motion, 1940): the walk at steps 1, 2, 4, 8 … by independent
//! increments, and between two known steps a < b at their middle, given both, by
//! N((W_a + W_b)/2, (b − a)/4). Values at whole steps have the very law of the sum, and each is a function of
//! its own number alone.

use garde::Validate;
use nalgebra::Vector3;
use rand_distr::{Distribution, StandardNormal};
use selene_base::input::{finite, non_negative, positive};
use selene_base::random::Stream;
use serde::Deserialize;

/// White noise and bias walk of one quantity, in that quantity's SI unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Validate)]
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
    /// b0: standard deviation the bias gains in `walk_time_s`.
    #[garde(custom(non_negative))]
    pub walk_sigma: f64,
    /// t_b: the time `walk_sigma` refers to, s.
    #[garde(custom(positive))]
    pub walk_time_s: f64,
}

impl DriftSpec {
    /// The bias after `steps` sample periods of `dt_s`, of which `draws` is the walk by steps of variance 1.
    pub(crate) fn bias(&self, steps: u64, dt_s: f64, draws: impl Fn(u64) -> Vector3<f64>) -> Vector3<f64> {
        let sigma = self.walk_sigma * (dt_s / self.walk_time_s).sqrt();
        let mean = Vector3::repeat(self.walk_mean * steps as f64);
        if sigma == 0.0 { mean } else { mean + unit_walk(steps, draws) * sigma }
    }

    /// The offset and white part of one sample.
    pub(crate) fn white(&self, rng: &mut Stream) -> Vector3<f64> {
        gaussian3(rng) * self.white_sigma + Vector3::repeat(self.offset)
    }
}

/// A random walk whose steps are drawn from N(0, 1), after so many of them; `draws` gives three independent
/// draws for each number.
fn unit_walk(steps: u64, draws: impl Fn(u64) -> Vector3<f64>) -> Vector3<f64> {
    let Some(octave) = steps.checked_ilog2() else { return Vector3::zeros() };
    // Each number is drawn for one step: a power of two for an increment, any other as a middle.
    let after_octave = |walk: Vector3<f64>, octave: u32| walk + draws(2 << octave) * 2f64.powi(octave as i32).sqrt();
    let mut low = (0..octave).fold(draws(1), after_octave);
    let mut high = after_octave(low, octave);
    let (mut first, mut width) = (1_u64 << octave, 1_u64 << octave);
    while width > 1 && steps != first {
        let middle = first + width / 2;
        let walk = (low + high) * 0.5 + draws(middle) * (0.25 * width as f64).sqrt();
        width /= 2;
        if steps < middle {
            high = walk;
        } else {
            (low, first) = (walk, middle);
        }
    }
    low
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

#[cfg(test)]
mod tests {
    use super::{gaussian3, unit_walk};
    use nalgebra::Vector3;
    use selene_base::random::stream_at;

    const WALKS: u64 = 1500;
    /// Of 4500 squares; one sigma of their mean is 2.1 %.
    const TOLERANCE: f64 = 0.1;

    fn walk(seed: u64, steps: u64) -> Vector3<f64> {
        unit_walk(steps, |number| gaussian3(&mut stream_at(seed, "walk", number)))
    }

    fn mean(of: impl Fn(u64) -> f64) -> f64 {
        (0..WALKS).map(of).sum::<f64>() / WALKS as f64
    }

    #[test]
    fn a_walk_gains_one_of_variance_with_every_step_wherever_it_is() {
        assert_eq!(walk(1, 0), Vector3::zeros());
        for (from, to) in [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (1000, 1001), (1023, 1024)] {
            let variance = mean(|seed| (walk(seed, to) - walk(seed, from)).norm_squared() / 3.0);
            assert!((variance - 1.0).abs() < TOLERANCE, "from {from} to {to}: {variance}");
        }
        let long = mean(|seed| (walk(seed, 1_000_000) - walk(seed, 300_000)).norm_squared() / 3.0);
        assert!((long / 700_000.0 - 1.0).abs() < TOLERANCE, "{long}");
    }

    #[test]
    fn steps_do_not_depend_on_each_other() {
        let step = |seed, at: u64| walk(seed, at + 1) - walk(seed, at);
        for (one, other) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 6), (7, 8), (100, 101), (511, 512)] {
            let product = mean(|seed| step(seed, one).dot(&step(seed, other)) / 3.0);
            assert!(product.abs() < TOLERANCE, "steps {one} and {other}: {product}");
        }
    }
}
