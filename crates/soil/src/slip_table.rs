//! The table of a slip map: drawbar over load, and sinkage if known, against slip from −1 to 1.
//! Between rows it is linear or a monotone cubic (Fritsch and Carlson 1980, with the slopes
//! of Fritsch and Butland 1984), which never overshoots its rows.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, within};
use serde::Deserialize;

/// One row of a slip map.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SlipRow {
    /// Slip, −1 to 1.
    #[garde(custom(within(-1.0, 1.0)))]
    pub slip: f64,
    /// Drawbar pull over load.
    #[garde(custom(within(-10.0, 10.0)))]
    pub drawbar_over_load: f64,
    /// Sinkage, m: in every row or in none.
    #[garde(inner(custom(non_negative)))]
    #[serde(default)]
    pub sinkage_m: Option<f64>,
}

/// How a table is interpolated between its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// By straight lines.
    #[default]
    Linear,
    /// By a monotone cubic, which rises only where its rows do.
    Cubic,
}

/// A garde check of single rows, in order, so that the refusal names the row.
pub(crate) fn check_rows(rows: &[SlipRow], parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
    let mut refuse = |row: usize, key: &str, what: String| {
        let what = format!("row {}: {what}", row + 1);
        report.append(parent().join(row).join(key), garde::Error::new(what));
    };
    for (i, pair) in rows.windows(2).enumerate() {
        let [before, row] = [pair[0], pair[1]];
        if row.slip <= before.slip {
            refuse(i + 1, "slip", format!("slip {} after {} is not allowed: must rise", row.slip, before.slip));
        }
        if row.drawbar_over_load < before.drawbar_over_load {
            let (now, then) = (row.drawbar_over_load, before.drawbar_over_load);
            let what = format!("drawbar_over_load {now} after {then} is not allowed: must not fall as slip rises");
            refuse(i + 1, "drawbar_over_load", what);
        }
        if row.sinkage_m.is_some() != before.sinkage_m.is_some() {
            refuse(i + 1, "slip", "sinkage_m must be in every row or in none".into());
        }
    }
    let last = rows.len().saturating_sub(1);
    for (row, end) in [(0, -1.0), (last, 1.0)] {
        if rows.get(row).is_some_and(|at| at.slip != end) {
            refuse(row, "slip", format!("slip {} is not allowed here: the table must go from -1 to 1", rows[row].slip));
        }
    }
}

/// A curve through points of rising x, level beyond its ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Slopes at the points for a cubic; none for straight lines.
    slopes: Option<Vec<f64>>,
}

impl Curve {
    /// A curve through at least two points.
    pub(crate) fn new(x: Vec<f64>, y: Vec<f64>, interpolation: Interpolation) -> Self {
        let slopes = (interpolation == Interpolation::Cubic).then(|| monotone_slopes(&x, &y));
        Self { x, y, slopes }
    }

    pub(crate) fn at(&self, x: f64) -> f64 {
        let last = self.x.len() - 1;
        let x = x.clamp(self.x[0], self.x[last]);
        let i = self.x.partition_point(|&point| point <= x).clamp(1, last) - 1;
        let width = self.x[i + 1] - self.x[i];
        let t = (x - self.x[i]) / width;
        let (a, b) = (self.y[i], self.y[i + 1]);
        let Some(slopes) = &self.slopes else { return a + (b - a) * t };
        let (ma, mb) = (slopes[i] * width, slopes[i + 1] * width);
        let smooth = t * t * (3.0 - 2.0 * t);
        a + (b - a) * smooth + t * (1.0 - t) * ((1.0 - t) * ma - t * mb)
    }

    /// The largest magnitude of y − `minus` over the points.
    pub(crate) fn most_from(&self, minus: f64) -> f64 {
        self.y.iter().fold(0.0, |most, y| f64::max(most, (y - minus).abs()))
    }
}

/// Slopes at the points: weighted harmonic means of the neighbouring secants, zero at extrema,
/// and the secant itself at both ends.
fn monotone_slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let secant = |i: usize| (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
    let last = x.len() - 1;
    let inner = |i: usize| {
        let (before, after) = (secant(i - 1), secant(i));
        if before * after <= 0.0 {
            return 0.0;
        }
        let (width_before, width_after) = (x[i] - x[i - 1], x[i + 1] - x[i]);
        let (p, q) = (2.0 * width_after + width_before, width_after + 2.0 * width_before);
        (p + q) / (p / before + q / after)
    };
    (0..=last)
        .map(|i| {
            if i == 0 {
                secant(0)
            } else if i == last {
                secant(last - 1)
            } else {
                inner(i)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Curve, Interpolation};

    #[test]
    fn both_curves_meet_their_points_and_rise_between_them() {
        let x = vec![-1.0, -0.3, 0.0, 0.1, 0.3, 1.0];
        let y = vec![-0.6, -0.5, -0.1, 0.2, 0.2, 0.5];
        for interpolation in [Interpolation::Linear, Interpolation::Cubic] {
            let curve = Curve::new(x.clone(), y.clone(), interpolation);
            x.iter().zip(&y).for_each(|(&x, &y)| assert!((curve.at(x) - y).abs() < 1e-12, "{x}"));
            let samples: Vec<f64> = (-120..=120).map(|i| curve.at(f64::from(i) / 100.0)).collect();
            assert!(samples.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12), "{interpolation:?}");
            assert_eq!((samples[0], samples[240]), (-0.6, 0.5));
        }
    }
}
