//! Random processes whose value at a step is a function of the step's number alone, so that a process that joins late
//! or resumes from a checkpoint gets the same values. They are not summed step by step but drawn from coarse to fine
//! (P. Lévy's construction of Brownian motion, 1940), and have exactly the distribution of the sum at whole steps:
//!
//! - a random walk W whose steps are N(0, 1): at steps 1, 2, 4, 8 … by independent increments, and between two
//!   known steps a < b at their middle, given both, by N((W_a + W_b)/2, (b − a)/4);
//! - a first-order Gauss–Markov process x of variance 1, x_k = φ x_{k−1} + √(1 − φ²) n_k with φ = e^{−1/T}: at whole
//!   multiples of a block that is so long (64 T or more) that its ends are independent to less than a double's
//!   rounding, and between two known steps at their middle by
//!   N(ρ (x_a + x_b)/(1 + ρ²), (1 − ρ²)/(1 + ρ²)), ρ = φ^{(b − a)/2}.
//!
//! The bisection that led to the last step is cached. The cache changes no value, and with it successive steps cost
//! about one draw each.

use nalgebra::Vector3;
use selene_base::random::stream_at;

use crate::noise::gaussian3;

/// Correlation times in a block of a Gauss–Markov process: e^−64 is far below a double's rounding.
const BLOCK_TIMES: f64 = 64.0;
/// The longest block, steps.
const BLOCK_STEPS_MAX: f64 = 1e15;

/// The kind of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Law {
    /// A random walk from 0, whose steps have variance 1.
    Walk,
    /// A stationary first-order Gauss–Markov process of variance 1 with this correlation time, steps.
    GaussMarkov { time_steps: f64 },
}

/// A process of three independent axes.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    law: Law,
    seed: u64,
    name: String,
    /// The bisection from a whole octave or block down to the last step that was queried.
    path: Vec<Span>,
}

/// The values of the process at two steps, `first` and `first + width`.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    width: u64,
    low: Vector3<f64>,
    high: Vector3<f64>,
}

impl Process {
    /// The process `name` of a scenario's `seed`.
    pub(crate) fn new(law: Law, seed: u64, name: String) -> Self {
        Self { law, seed, name, path: Vec::new() }
    }

    /// Its value at a step.
    pub(crate) fn at(&mut self, step: u64) -> Vector3<f64> {
        while self.path.pop_if(|span| !span.holds(step)).is_some() {}
        let mut span = match self.path.last() {
            Some(span) => *span,
            None => self.whole(step),
        };
        if self.path.is_empty() {
            self.path.push(span);
        }
        while span.width > 1 && span.first != step {
            span = self.half(&span, step);
            self.path.push(span);
        }
        span.low
    }

    /// The octave or block that holds a step.
    fn whole(&self, step: u64) -> Span {
        match self.law {
            Law::Walk => self.octave(step),
            Law::GaussMarkov { time_steps } => {
                let width = (BLOCK_TIMES * time_steps).clamp(1.0, BLOCK_STEPS_MAX).ceil() as u64;
                let width = width.next_power_of_two();
                let first = step / width * width;
                Span { first, width, low: self.draw(first), high: self.draw(first + width) }
            }
        }
    }

    /// The octave that holds a step. Each step has one draw: at a power of two it gives an increment, at any other step
    /// the value in the middle of a span.
    fn octave(&self, step: u64) -> Span {
        let Some(octave) = step.checked_ilog2() else {
            return Span { first: 0, width: 1, low: Vector3::zeros(), high: self.draw(1) };
        };
        let after = |walk: Vector3<f64>, octave: u32| walk + self.draw(2 << octave) * 2f64.powi(octave as i32).sqrt();
        let low = (0..octave).fold(self.draw(1), after);
        Span { first: 1 << octave, width: 1 << octave, low, high: after(low, octave) }
    }

    /// The half of a span that holds a step.
    fn half(&self, span: &Span, step: u64) -> Span {
        let Span { first, width, low, high } = *span;
        let middle = first + width / 2;
        let (weight, sigma) = self.law.at_middle(width);
        let value = (low + high) * weight + self.draw(middle) * sigma;
        if step < middle {
            Span { first, width: width / 2, low, high: value }
        } else {
            Span { first: middle, width: width / 2, low: value, high }
        }
    }

    fn draw(&self, number: u64) -> Vector3<f64> {
        gaussian3(&mut stream_at(self.seed, &self.name, number))
    }
}

impl Span {
    fn holds(&self, step: u64) -> bool {
        step >= self.first && step - self.first < self.width
    }
}

impl Law {
    /// For the middle of a span of `width` steps: the weight of the sum of both ends in the mean, and the standard
    /// deviation.
    fn at_middle(self, width: u64) -> (f64, f64) {
        match self {
            Self::Walk => (0.5, (0.25 * width as f64).sqrt()),
            Self::GaussMarkov { time_steps } => {
                let half_times = 0.5 * width as f64 / time_steps;
                let kept = (-half_times).exp();
                let whole = 1.0 + kept * kept;
                // `exp_m1` keeps 1 − ρ² accurate for short spans.
                (kept / whole, (-(-2.0 * half_times).exp_m1() / whole).sqrt())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Law, Process};
    use nalgebra::Vector3;

    const PROCESSES: u64 = 1500;
    /// Of the mean of 4500 squares, whose standard deviation is 2.1 %.
    const TOLERANCE: f64 = 0.1;
    const TIME_STEPS: f64 = 20.0;
    const FORGETFUL: Law = Law::GaussMarkov { time_steps: TIME_STEPS };

    fn at(law: Law, seed: u64, step: u64) -> Vector3<f64> {
        Process::new(law, seed, "process".into()).at(step)
    }

    fn mean(of: impl Fn(u64) -> f64) -> f64 {
        (0..PROCESSES).map(of).sum::<f64>() / PROCESSES as f64
    }

    #[test]
    fn a_walk_gains_one_of_variance_with_every_step_wherever_it_is() {
        assert_eq!(at(Law::Walk, 1, 0), Vector3::zeros());
        for (from, to) in [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (1000, 1001), (1023, 1024)] {
            let variance = mean(|seed| (at(Law::Walk, seed, to) - at(Law::Walk, seed, from)).norm_squared() / 3.0);
            assert!((variance - 1.0).abs() < TOLERANCE, "from {from} to {to}: {variance}");
        }
        let long = mean(|seed| (at(Law::Walk, seed, 1_000_000) - at(Law::Walk, seed, 300_000)).norm_squared() / 3.0);
        assert!((long / 700_000.0 - 1.0).abs() < TOLERANCE, "{long}");
    }

    #[test]
    fn steps_of_a_walk_do_not_depend_on_each_other() {
        let step = |seed, from: u64| at(Law::Walk, seed, from + 1) - at(Law::Walk, seed, from);
        for (one, other) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 6), (7, 8), (100, 101), (511, 512)] {
            let product = mean(|seed| step(seed, one).dot(&step(seed, other)) / 3.0);
            assert!(product.abs() < TOLERANCE, "steps {one} and {other}: {product}");
        }
    }

    #[test]
    fn a_gauss_markov_process_has_variance_one_and_forgets_exponentially() {
        // Blocks have 2048 steps; pairs across their boundaries must have the same covariance.
        let pairs = [(0, 0), (7, 7), (2048, 2048), (0, 1), (5, 6), (6, 26), (1000, 1030), (2040, 2047), (2047, 2049)];
        for (one, other) in pairs {
            let product = mean(|seed| at(FORGETFUL, seed, one).dot(&at(FORGETFUL, seed, other)) / 3.0);
            let expected = (-((other - one) as f64) / TIME_STEPS).exp();
            assert!((product - expected).abs() < TOLERANCE, "steps {one} and {other}: {product}, not {expected}");
        }
    }

    #[test]
    fn what_was_requested_before_changes_no_bit() {
        for law in [Law::Walk, FORGETFUL, Law::GaussMarkov { time_steps: 1e-4 }] {
            let mut kept = Process::new(law, 3, "process".into());
            for step in (0..300).chain([5000, 4999, 17, 0, 2048, 2047, 1 << 33, 1]) {
                assert_eq!(kept.at(step), at(law, 3, step), "{law:?}, step {step}");
            }
        }
    }
}
