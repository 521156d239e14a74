//! Ordinary least squares by singular value decomposition, with confidence intervals
//! (Student's t) of each coefficient for independent errors of equal variance.

use nalgebra::{DMatrix, DVector};

use super::student;

/// Probability that an interval holds the true coefficient.
const CONFIDENCE: f64 = 0.95;
/// The regressors, as columns of unit length, count as dependent when their smallest singular
/// value is at most this share of the largest.
const SINGULAR_SHARE: f64 = 1e-7;
/// An error names each regressor with a larger component than this in the singular direction.
const NAMED_PART: f64 = 0.2;

/// A fitted coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Name of the coefficient: its key in a soil file.
    pub name: &'static str,
    /// The estimate.
    pub value: f64,
    /// Half the width of its 95 % confidence interval.
    pub half_width: f64,
}

/// A fitted regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// The coefficients, in the order of the regressors.
    pub coefficients: Vec<Coefficient>,
    /// Number of runs.
    pub runs: usize,
    /// Standard deviation of the residuals, with runs less coefficients as degrees of freedom.
    pub residual_sd: f64,
    /// Coefficient of determination R²: the share of the measurements' variance that the fit explains.
    pub r_squared: f64,
    /// Fitted value of each run.
    pub fitted: Vec<f64>,
}

/// Runs that do not determine the coefficients.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Singular {
    /// There are not more runs than coefficients.
    #[error("{runs} runs are too few for {coefficients} coefficients and their spread: must be at least {}", coefficients + 1)]
    TooFew {
        /// Number of runs.
        runs: usize,
        /// Number of coefficients.
        coefficients: usize,
    },
    /// Some regressors are linearly dependent.
    #[error("the runs are too much alike to separate {names}: vary speed, slope, slip and load independently")]
    Alike {
        /// Names of the coefficients that the runs do not separate.
        names: String,
    },
}

impl Regression {
    /// Fits `measured` by `design`, which has a row for each run with a regressor for each of `names`.
    ///
    /// # Errors
    /// When there are too few runs or the regressors do not vary independently.
    pub fn fit(names: &[&'static str], design: &[Vec<f64>], measured: &[f64]) -> Result<Self, Singular> {
        let (runs, count) = (measured.len(), names.len());
        if runs <= count {
            return Err(Singular::TooFew { runs, coefficients: count });
        }
        let design = DMatrix::from_fn(runs, count, |row, column| design[row][column]);
        let measured = DVector::from_column_slice(measured);
        let scales: Vec<f64> = design.column_iter().map(|column| column.norm().max(f64::MIN_POSITIVE)).collect();
        let scaled = DMatrix::from_fn(runs, count, |row, column| design[(row, column)] / scales[column]);
        let (inverse, solution) = solve(names, &scaled, &measured)?;
        let fitted = &scaled * &solution;
        let freedom = runs - count;
        let variance = (&measured - &fitted).norm_squared() / freedom as f64;
        let t = student::quantile(CONFIDENCE, freedom);
        let coefficient = |i: usize| Coefficient {
            name: names[i],
            value: solution[i] / scales[i],
            half_width: t * (variance * inverse[(i, i)]).sqrt() / scales[i],
        };
        let spread = measured.add_scalar(-measured.mean()).norm_squared();
        Ok(Self {
            coefficients: (0..count).map(coefficient).collect(),
            runs,
            residual_sd: variance.sqrt(),
            r_squared: 1.0 - variance * freedom as f64 / spread.max(f64::MIN_POSITIVE),
            fitted: fitted.iter().copied().collect(),
        })
    }
}

/// (XᵀX)⁻¹ and the least-squares solution, for columns of unit length.
fn solve(
    names: &[&'static str],
    design: &DMatrix<f64>,
    measured: &DVector<f64>,
) -> Result<(DMatrix<f64>, DVector<f64>), Singular> {
    let svd = design.clone().svd(true, true);
    let (Some(left), Some(right)) = (&svd.u, &svd.v_t) else {
        return Err(Singular::Alike { names: names.join(", ") });
    };
    let values = &svd.singular_values;
    let (least, value) = values.argmin();
    let is_reported = value > SINGULAR_SHARE * values.max();
    if !is_reported {
        let row = right.row(least);
        let named = names.iter().zip(row.iter()).filter(|(_, part)| part.abs() > NAMED_PART);
        return Err(Singular::Alike { names: named.map(|(name, _)| *name).collect::<Vec<_>>().join(", ") });
    }
    let shares = DMatrix::from_diagonal(&values.map(|value| value.recip()));
    let back = right.transpose() * shares;
    Ok((&back * back.transpose(), &back * left.transpose() * measured))
}

#[cfg(test)]
mod tests {
    use super::{Regression, Singular};

    /// Anscombe's first set: y = 3.00 + 0.500 x, standard errors 1.125 and 0.118, residual
    /// s.d. 1.237, R² 0.667 (Anscombe 1973); t of 9 degrees of freedom is 2.262.
    #[test]
    fn anscombes_line_comes_out_with_its_intervals() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let design: Vec<_> = x.iter().map(|x| vec![1.0, *x]).collect();
        let fit = Regression::fit(&["offset", "per_x"], &design, &y).expect("a line");
        let [offset, per_x] = fit.coefficients[..] else { panic!("two") };
        for (value, expected, tolerance) in [
            (offset.value, 3.000, 5e-4),
            (per_x.value, 0.5001, 5e-5),
            (offset.half_width, 2.262 * 1.1247, 2e-3),
            (per_x.half_width, 2.262 * 0.1179, 2e-4),
            (fit.residual_sd, 1.2366, 5e-5),
            (fit.r_squared, 0.6665, 5e-5),
        ] {
            assert!((value - expected).abs() < tolerance, "{value} {expected}");
        }
    }

    #[test]
    fn too_few_or_too_similar_runs_are_refused_with_what_they_do_not_determine() {
        let few = Regression::fit(&["a", "b"], &[vec![1.0, 2.0], vec![1.0, 3.0]], &[1.0, 2.0]);
        assert_eq!(few, Err(Singular::TooFew { runs: 2, coefficients: 2 }));
        let rows: Vec<_> = (0..9).map(|i| vec![1.0, 5.0, f64::from(i)]).collect();
        let alike = Regression::fit(&["at_rest", "per_m_s", "per_deg2"], &rows, &[0.0; 9]);
        assert_eq!(alike, Err(Singular::Alike { names: "at_rest, per_m_s".to_owned() }));
        let zero: Vec<_> = (0..9).map(|i| vec![f64::from(i), 0.0]).collect();
        let unseen = Regression::fit(&["a", "b"], &zero, &[0.0; 9]);
        assert_eq!(unseen, Err(Singular::Alike { names: "b".to_owned() }));
    }
}
