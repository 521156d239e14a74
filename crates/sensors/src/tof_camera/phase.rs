//! Modulation and demodulation of light (Lange and Seitz, Solid-state time-of-flight range camera, IEEE Journal of
//! Quantum Electronics 37(3), 2001, 390–397). Light modulated with the frequency f returns from the distance r with the
//! phase φ = 4πfr/c. Four samples A_i = B + A cos(φ + iπ/2) a quarter of a period apart give
//!
//! φ = atan2(A₃ − A₁, A₀ − A₂),   A = √((A₃ − A₁)² + (A₀ − A₂)²)/2,   B = (A₀ + A₁ + A₂ + A₃)/4
//!
//! and the distance cφ/4πf, which is unambiguous up to c/2f. With A and B in electrons, shot noise and the additional
//! variance σ² of each sample give φ the standard deviation √((B + σ²)/2)/A.

use std::f64::consts::{FRAC_PI_2, TAU};

use super::spec::{LIGHT_M_S, greatest_common_divisor};

/// Light of one modulation frequency in a pixel, in electrons per phase: the sum over its rays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Phasor {
    /// A cos φ.
    pub(super) cos: f64,
    /// A sin φ.
    pub(super) sin: f64,
    /// B.
    pub(super) mean: f64,
}

/// Phase, amplitude and mean from four samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demodulated {
    /// Phase, 0 to 2π.
    pub(super) phase_rad: f64,
    /// A, electrons.
    pub(super) amplitude_e: f64,
    /// B, electrons.
    pub(super) mean_e: f64,
}

impl Phasor {
    /// Adds light of an amplitude and a mean, electrons, from a distance.
    pub(super) fn add(&mut self, frequency_mhz: u32, range_m: f64, amplitude_e: f64, mean_e: f64) {
        let (sin, cos) = (2.0 * TAU * f64::from(frequency_mhz) * 1e6 * range_m / LIGHT_M_S).sin_cos();
        self.cos += amplitude_e * cos;
        self.sin += amplitude_e * sin;
        self.mean += mean_e;
    }

    /// The four samples, electrons.
    pub(super) fn samples(&self) -> [f64; 4] {
        let sample = |i: u8| {
            let (sin, cos) = (f64::from(i) * FRAC_PI_2).sin_cos();
            self.mean + self.cos * cos - self.sin * sin
        };
        [0, 1, 2, 3].map(sample)
    }
}

/// Phase, amplitude and mean of four samples.
pub(super) fn demodulated([a0, a1, a2, a3]: [f64; 4]) -> Demodulated {
    let (sin, cos) = (a3 - a1, a0 - a2);
    Demodulated {
        phase_rad: sin.atan2(cos).rem_euclid(TAU),
        amplitude_e: 0.5 * sin.hypot(cos),
        mean_e: 0.25 * (a0 + a1 + a2 + a3),
    }
}

/// The distance of a phase, m, within the unambiguous range.
pub(super) fn distance_m(phase_rad: f64, frequency_mhz: u32) -> f64 {
    phase_rad * LIGHT_M_S / (2.0 * TAU * f64::from(frequency_mhz) * 1e6)
}

/// Phase unwrapping with two frequencies: the distance on which they agree best, m. Of all whole numbers of turns
/// within the common unambiguous range, it chooses those whose two distances differ least, and returns the mean of
/// the two, weighted by (f A)²/(B + σ²), which is proportional to the inverse of their variances. `variance_e2` is
/// σ², electrons squared.
pub(super) fn unwrapped_m(frequencies_mhz: [u32; 2], reported: [Demodulated; 2], variance_e2: f64) -> f64 {
    let common_mhz = greatest_common_divisor(frequencies_mhz[0], frequencies_mhz[1]).max(1);
    let common_m = wrap_m(common_mhz);
    let [wrap_0, wrap_1] = frequencies_mhz.map(wrap_m);
    let [first_m, second_m] = [0, 1].map(|i| distance_m(reported[i].phase_rad, frequencies_mhz[i]));
    let candidate = |turns: u32| {
        let one_m = first_m + f64::from(turns) * wrap_0;
        let other_m = second_m + ((one_m - second_m) / wrap_1).round() * wrap_1;
        [one_m, other_m]
    };
    let apart = |[one_m, other_m]: [f64; 2]| (one_m - other_m).abs();
    let candidates = (0..frequencies_mhz[0] / common_mhz).map(candidate);
    let best = candidates.min_by(|a, b| apart(*a).total_cmp(&apart(*b))).unwrap_or([first_m, second_m]);
    let weight = |i: usize| {
        let sharp = f64::from(frequencies_mhz[i]) * reported[i].amplitude_e;
        sharp * sharp / (reported[i].mean_e + variance_e2).max(1.0)
    };
    let [w0, w1] = [weight(0), weight(1)];
    let share = if w0 + w1 > 0.0 { w1 / (w0 + w1) } else { 0.5 };
    (best[0] + share * (best[1] - best[0])).rem_euclid(common_m)
}

fn wrap_m(frequency_mhz: u32) -> f64 {
    LIGHT_M_S / (2e6 * f64::from(frequency_mhz))
}

#[cfg(test)]
mod tests {
    use super::{Demodulated, TAU, distance_m, unwrapped_m};

    #[test]
    fn two_distances_are_weighted_by_the_inverse_of_their_variances() {
        const VARIANCE_E2: f64 = 200.0;
        let frequencies_mhz = [20, 30];
        // At 3 m, with a small error in one phase.
        let phase = |mhz: u32| 3.0 / distance_m(1.0, mhz);
        let reported = [
            Demodulated { phase_rad: phase(20) + 0.01, amplitude_e: 90.0, mean_e: 100.0 },
            Demodulated { phase_rad: phase(30), amplitude_e: 60.0, mean_e: 400.0 },
        ];
        assert!(reported.iter().all(|reported| reported.phase_rad < TAU));
        // √((B + σ²)/2)/A, in metres.
        let variance = |i: usize| {
            let sigma_rad = ((reported[i].mean_e + VARIANCE_E2) / 2.0).sqrt() / reported[i].amplitude_e;
            distance_m(sigma_rad, frequencies_mhz[i]).powi(2)
        };
        let [first, second] = [0, 1].map(|i| 1.0 / variance(i));
        let expected_m = 3.0 + distance_m(0.01, 20) * first / (first + second);
        let got_m = unwrapped_m(frequencies_mhz, reported, VARIANCE_E2);
        assert!((got_m - expected_m).abs() < 1e-9, "{got_m} and not {expected_m}");
    }
}
