//! A first-order Gauss–Markov process: noise that forgets with a correlation time, x_k = ρ x_{k−1} + √(1 − ρ²) n_k,
//! ρ = e^{−dt/τ}, with variance 1 from the first sample on.
//!
//! As the walk of `noise`, it is not summed step by step but drawn from coarse to fine, so that each value is a
//! function of its own number alone: at steps 1, 2, 4, 8 … from the one before, and between two known steps that
//! are 2 h apart at their middle, given both, by N(r (x_a + x_b)/(1 + r²), (1 − r²)/(1 + r²)) with
//! r = e^{−h dt/τ}, which is the process's own law.

use nalgebra::Vector3;

/// A process of variance 1 in three independent axes after `steps` steps, each `step_over_time` of the correlation
/// time; `draws` gives three independent draws from N(0, 1) for each number.
pub(crate) fn unit_gauss_markov(steps: u64, step_over_time: f64, draws: impl Fn(u64) -> Vector3<f64>) -> Vector3<f64> {
    let kept = |gap: u64| (-(gap as f64) * step_over_time).exp();
    // 1 − r², without loss where the gap is short.
    let forgotten = |gap: u64| -(-2.0 * gap as f64 * step_over_time).exp_m1();
    let onward = |from: Vector3<f64>, gap: u64, number: u64| from * kept(gap) + draws(number) * forgotten(gap).sqrt();
    let Some(octave) = steps.checked_ilog2() else { return draws(0) };
    let first_step = onward(draws(0), 1, 1);
    let mut low = (0..octave).fold(first_step, |value, octave| onward(value, 1 << octave, 2 << octave));
    let (mut first, mut width) = (1_u64 << octave, 1_u64 << octave);
    if steps == first {
        return low;
    }
    let mut high = onward(low, width, 2 << octave);
    while width > 1 && steps != first {
        let half = width / 2;
        let (r, lost) = (kept(half), forgotten(half));
        let whole = 1.0 + r * r;
        let value = (low + high) * (r / whole) + draws(first + half) * (lost / whole).sqrt();
        if steps < first + half {
            high = value;
        } else {
            (low, first) = (value, first + half);
        }
        width = half;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::unit_gauss_markov;
    use crate::noise::gaussian3;
    use nalgebra::Vector3;
    use selene_base::random::stream_at;

    const SEEDS: u64 = 2000;
    /// Of 6000 products of variables of variance 1, whose own standard deviation is √2 at most: one sigma of
    /// their mean is 1.8 %, so five sigma.
    const TOLERANCE: f64 = 0.09;
    const STEP_OVER_TIME: f64 = 0.05;

    fn value(seed: u64, steps: u64) -> Vector3<f64> {
        unit_gauss_markov(steps, STEP_OVER_TIME, |number| gaussian3(&mut stream_at(seed, "drift", number)))
    }

    fn covariance(one: u64, other: u64) -> f64 {
        (0..SEEDS).map(|seed| value(seed, one).dot(&value(seed, other)) / 3.0).sum::<f64>() / SEEDS as f64
    }

    #[test]
    fn its_variance_is_one_at_every_step_and_it_forgets_exponentially() {
        for (one, other) in
            [(0, 0), (1, 1), (5, 5), (1000, 1000), (0, 1), (3, 4), (5, 6), (7, 8), (8, 20), (100, 130), (511, 513)]
        {
            let expected = (-STEP_OVER_TIME * (other - one) as f64).exp();
            let found = covariance(one, other);
            assert!((found - expected).abs() < TOLERANCE, "steps {one} and {other}: {found}, not {expected}");
        }
    }
}
