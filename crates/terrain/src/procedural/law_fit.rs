//! Fits the exponent of a power law to sizes; tests use it to recover a law.

/// Maximum-likelihood exponent of `N(>d) ∝ d^−exponent` for sizes within a range, and its standard error (Page 1968:
/// the doubly truncated Pareto law).
pub(crate) fn pareto_exponent(sizes: &[f64], [low, high]: [f64; 2]) -> (f64, f64) {
    let logs: Vec<_> = sizes.iter().filter(|&&d| (low..high).contains(&d)).map(|d| (d / low).ln()).collect();
    let (count, range) = (logs.len() as f64, (high / low).ln());
    let mean = logs.iter().sum::<f64>() / count;
    // The expected mean of ln(d/low) falls as the exponent grows: bisect until it equals the sample's.
    let expected = |b: f64| 1.0 / b - range / ((b * range).exp() - 1.0);
    let (mut least, mut most) = (1e-3, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (least + most);
        if expected(middle) > mean { least = middle } else { most = middle }
    }
    let b = 0.5 * (least + most);
    let grown = (b * range).exp();
    let information = count * (1.0 / (b * b) - range * range * grown / (grown - 1.0).powi(2));
    (b, information.sqrt().recip())
}

#[cfg(test)]
mod tests {
    use super::pareto_exponent;

    #[test]
    fn the_exponent_of_evenly_spread_quantiles_is_found() {
        let (exponent, range, count) = (1.7_f64, 30.0_f64, 20_000);
        let quantile = |i: i32| {
            let tail = range.powf(-exponent) + (1.0 - range.powf(-exponent)) * (f64::from(i) + 0.5) / f64::from(count);
            tail.powf(-1.0 / exponent)
        };
        let sizes: Vec<_> = (0..count).map(quantile).collect();
        let (found, error) = pareto_exponent(&sizes, [1.0, range]);
        assert!((found - exponent).abs() < 0.1 * error && (0.005..0.02).contains(&error), "{found} ± {error}");
    }
}
