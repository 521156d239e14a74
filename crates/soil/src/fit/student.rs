//! Student's t distribution for a whole number of degrees of freedom, by its closed sums
//! (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).

use std::f64::consts::FRAC_PI_2;

/// Doublings of the bracket, and halvings within it: more than f64 can resolve.
const DOUBLINGS: usize = 64;
const HALVINGS: usize = 200;

/// Probability that |t| is at most `t`.
fn within(t: f64, freedom: usize) -> f64 {
    let angle = t.atan2((freedom as f64).sqrt());
    let (sine, cosine) = angle.sin_cos();
    // 1 + 1/2 cos² + 1·3/(2·4) cos⁴ … or cos + 2/3 cos³ + 2·4/(3·5) cos⁵ …
    let odd = freedom % 2;
    let terms = if odd == 1 { (freedom - 1) / 2 } else { freedom / 2 };
    let (mut term, mut sum) = (if odd == 1 { cosine } else { 1.0 }, 0.0);
    for i in 0..terms {
        sum += term;
        let low = (2 * i + 1 + odd) as f64;
        term *= cosine * cosine * low / (low + 1.0);
    }
    if odd == 1 { (angle + sine * sum) / FRAC_PI_2 } else { sine * sum }
}

/// The t within which |t| falls with `probability` (0 to 1, the end left out), for at
/// least one degree of freedom.
pub(super) fn quantile(probability: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..DOUBLINGS {
        if within(high, freedom) >= probability {
            break;
        }
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if within(middle, freedom) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    /// Printed tables have three decimals; those of small freedom are exact otherwise.
    const TABLE_TOLERANCE: f64 = 5.1e-4;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, t95) in
            [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (29, 2.045), (120, 1.980)]
        {
            assert!((quantile(0.95, freedom) - t95).abs() < TABLE_TOLERANCE, "{freedom}: {}", quantile(0.95, freedom));
        }
        assert!((quantile(0.99, 7) - 3.499).abs() < TABLE_TOLERANCE);
        assert!((quantile(0.95, 100_000) - 1.960).abs() < TABLE_TOLERANCE);
    }
}
