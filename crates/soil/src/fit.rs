//! Fits a soil of the data-driven law to measured slip and sinkage (Kern et al., DATA,
//! eq. 2 to 6): both regressions are linear in their coefficients, so each is an ordinary
//! least-squares fit, with confidence intervals for independent errors of equal variance.
//!
//! Slip over wheel speed v = ωR and slope α in degrees: s = (a v + b) α² + c v + d, with the sign
//! of the α² term downhill as the other soil's `downhill` says. Depth over slip and load:
//! z = static + per slip · |s| + per newton · (F − reference), where reference is the middle of the
//! measured loads. Coefficients that the table cannot give are those of another soil: see
//! [`Fit::of`].

mod least_squares;
mod soil_file;
mod student;

use selene_base::{InputError, Table};

use crate::data_spec::{DataSpec, Downhill};
use least_squares::Singular;

pub use least_squares::{Coefficient, Regression};
pub use soil_file::soil_file;

/// Steepest accepted slope, degrees.
const SLOPE_MAX_DEG: f64 = 60.0;

/// Measured runs, one value per run in each column.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// Wheel speed ωR, m/s.
    pub rim_speed_m_s: Vec<f64>,
    /// Slope, degrees; downhill negative.
    pub slope_deg: Vec<f64>,
    /// Slip, if measured.
    pub slip: Option<Vec<f64>>,
    /// Load and sinkage of a wheel, N and m, if measured.
    pub load_and_sinkage: Option<(Vec<f64>, Vec<f64>)>,
}

/// A fitted soil.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Regression of slip with coefficients a, b, c, d; none if slip was not measured.
    pub slip: Option<Regression>,
    /// Regression of depth with coefficients static, per slip and per newton, mm; none if sinkage was not measured.
    pub sinkage: Option<Regression>,
    /// Whether the depth was fitted over the slip of the other soil, since slip was not measured.
    pub is_slip_taken_over: bool,
    /// The law with the fitted coefficients.
    pub law: DataSpec,
}

/// A table to which no law can be fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// A file that cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The runs do not separate the coefficients.
    #[error("{path}: {of}: {what}")]
    Singular {
        /// The file.
        path: String,
        /// Which regression: slip or sinkage.
        of: &'static str,
        /// Why.
        what: Singular,
    },
}

impl Measurements {
    /// Reads the columns rim_speed_m_s, slope_deg, slip, load_n and sinkage_m; slip, or
    /// load and sinkage, may be missing.
    ///
    /// # Errors
    /// At the first field that is missing, not a number or out of range, or when the table has
    /// neither slip nor sinkage.
    pub fn of(table: &Table) -> Result<Self, InputError> {
        let refuse = |what: &str| Err(InputError::content(table.path(), format!("line 1: {what}")));
        let column = |name, fits: fn(f64) -> bool, allowed| {
            table.has(name).then(|| table.numbers(name, fits, allowed)).transpose()
        };
        let slip = column("slip", |s| s.abs() <= 1.0, "-1 to 1")?;
        let load_n = column("load_n", |load| load > 0.0, "more than 0")?;
        let sinkage_m = column("sinkage_m", |depth| depth.abs() <= 1.0, "-1 to 1")?;
        let load_and_sinkage = match (load_n, sinkage_m) {
            (Some(load_n), Some(sinkage_m)) => Some((load_n, sinkage_m)),
            (None, Some(_)) => return refuse("sinkage_m needs a column load_n beside it"),
            (_, None) if slip.is_none() => return refuse("neither slip nor sinkage_m is there: nothing to fit"),
            (_, None) => None,
        };
        Ok(Self {
            rim_speed_m_s: table.numbers("rim_speed_m_s", |speed| speed > 0.0, "more than 0")?,
            slope_deg: table.numbers("slope_deg", |slope| slope.abs() <= SLOPE_MAX_DEG, "-60 to 60")?,
            slip,
            load_and_sinkage,
        })
    }

    /// Rows of the regressors of a, b, c, d, one for each run.
    fn slip_design(&self, downhill: Downhill) -> Vec<Vec<f64>> {
        let row = |(&v, &slope): (&f64, &f64)| {
            let squared = slope * slope * downhill.sign(slope);
            vec![v * squared, squared, v, 1.0]
        };
        self.rim_speed_m_s.iter().zip(&self.slope_deg).map(row).collect()
    }
}

impl Fit {
    /// Fits the regressions for which `table` has data. All else (a missing regression, limits of
    /// acceleration, friction, the trace) is copied from `other`. Where slip was not measured, the
    /// depth is fitted over the slip that `other` predicts.
    ///
    /// # Errors
    /// When the table has gaps, or its runs are too few or too much alike.
    pub fn of(table: &Table, other: &DataSpec) -> Result<Self, FitError> {
        let runs = Measurements::of(table)?;
        let singular = |of, what| FitError::Singular { path: table.path().display().to_string(), of, what };
        let mut law = other.clone();
        let slip = runs.slip.as_ref().map(|slip| {
            let names = ["per_deg2_per_m_s", "per_deg2", "per_m_s", "at_rest"];
            Regression::fit(&names, &runs.slip_design(other.slip.downhill), slip).map_err(|what| singular("slip", what))
        });
        let slip = slip.transpose()?;
        if let Some(fit) = &slip {
            take_slip(&mut law, &runs, fit);
        }
        let sinkage = match &runs.load_and_sinkage {
            Some((load_n, sinkage_m)) => {
                let slips = runs.slip.clone().unwrap_or_else(|| slips_of(other, &runs));
                Some(fit_sinkage(&mut law, &slips, load_n, sinkage_m).map_err(|what| singular("sinkage", what))?)
            }
            None => None,
        };
        Ok(Self { is_slip_taken_over: sinkage.is_some() && slip.is_none(), slip, sinkage, law })
    }
}

fn take_slip(law: &mut DataSpec, runs: &Measurements, fit: &Regression) {
    let largest = |values: &[f64]| values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let value = |i: usize| fit.coefficients[i].value;
    law.slip.per_deg2_per_m_s = value(0);
    law.slip.per_deg2 = value(1);
    law.slip.per_m_s = value(2);
    law.slip.at_rest = value(3);
    law.slip.speed_max_m_s = largest(&runs.rim_speed_m_s);
    law.slip.slope_max_deg = largest(&runs.slope_deg);
}

fn slips_of(other: &DataSpec, runs: &Measurements) -> Vec<f64> {
    let law = crate::DataDriven::from(other);
    let slip = |(v, slope): (&f64, &f64)| law.slip(*v, slope.to_radians()).value;
    runs.rim_speed_m_s.iter().zip(&runs.slope_deg).map(slip).collect()
}

fn fit_sinkage(law: &mut DataSpec, slips: &[f64], load_n: &[f64], sinkage_m: &[f64]) -> Result<Regression, Singular> {
    let (low, high) = load_n.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &n| (low.min(n), high.max(n)));
    let reference_n = 0.5 * (low + high);
    let design: Vec<_> = slips.iter().zip(load_n).map(|(s, n)| vec![1.0, s.abs(), n - reference_n]).collect();
    let depth_mm: Vec<_> = sinkage_m.iter().map(|depth_m| 1e3 * depth_m).collect();
    let fit = Regression::fit(&["static_mm", "per_slip_mm", "per_newton_mm"], &design, &depth_mm)?;
    law.sinkage.static_mm = fit.coefficients[0].value;
    law.sinkage.per_slip_mm = fit.coefficients[1].value;
    law.sinkage.per_newton_mm = fit.coefficients[2].value;
    law.sinkage.reference_n = reference_n;
    law.sinkage.load_range_n = 0.5 * (high - low);
    Ok(fit)
}

#[cfg(test)]
mod tests {
    use super::{Fit, soil_file};
    use crate::{DataSpec, Downhill, Law, SoilLaw, SoilSpec};
    use rand_distr::{Distribution, StandardNormal};
    use selene_base::input::parse_yaml;
    use selene_base::{Table, random};
    use std::path::Path;

    /// Coefficients of the simulated measurements: [a, b, c, d] and [static, per slip, per N].
    const SLIP: [f64; 4] = [0.005, 0.001, 0.03, 0.02];
    const DEPTH_MM: [f64; 3] = [3.0, 30.0, 0.9];
    /// Standard deviation of the simulated measurements.
    const SLIP_NOISE: f64 = 0.01;
    const DEPTH_NOISE_MM: f64 = 0.4;

    fn other() -> DataSpec {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/soil/tohoku_silica5_ex1.yaml");
        let SoilLaw::Data(spec) = SoilSpec::load(&path).expect("a soil").law else { panic!("the data-driven law") };
        spec
    }

    /// 45 runs at 5 speeds, 3 slopes and 3 loads; the reference load is 9 N.
    fn measured(seed: u64) -> String {
        measured_on(seed, 1.0, 1.0)
    }

    /// The same on slopes multiplied by `direction` (−1 for downhill), with the slope's term of the slip multiplied by
    /// `sign`.
    fn measured_on(seed: u64, direction: f64, sign: f64) -> String {
        let mut stream = random::stream(seed, "fit");
        let mut noise = || -> f64 { StandardNormal.sample(&mut stream) };
        let mut csv = String::from("rim_speed_m_s,slope_deg,slip,load_n,sinkage_m\n");
        for run in 0..45 {
            let (v, slope) = (0.1 + 0.1 * f64::from(run % 5), direction * 6.0 * f64::from(run / 5 % 3));
            let load_n = 7.0 + 2.0 * f64::from(run / 15);
            let by_slope = sign * (SLIP[0] * v + SLIP[1]) * slope * slope;
            let slip = by_slope + SLIP[2] * v + SLIP[3] + SLIP_NOISE * noise();
            let depth_mm = DEPTH_MM[0] + DEPTH_MM[1] * slip.abs() + DEPTH_MM[2] * (load_n - 9.0);
            let sinkage_m = 1e-3 * (depth_mm + DEPTH_NOISE_MM * noise());
            csv += &format!("{v},{slope},{slip},{load_n},{sinkage_m}\n");
        }
        csv
    }

    fn fit(csv: &str) -> Result<Fit, String> {
        let table = Table::parse(csv, Path::new("runs.csv")).map_err(|e| e.to_string())?;
        Fit::of(&table, &other()).map_err(|e| e.to_string())
    }

    /// Over 400 simulated tables the share of intervals that contain the true value is 0.95, with a
    /// standard error of 0.0109 for each coefficient.
    #[test]
    fn intervals_hold_the_true_coefficients_in_95_of_100_tables() {
        const TABLES: u32 = 400;
        const FOUR_ERRORS: f64 = 0.044;
        let truth = [SLIP.as_slice(), &DEPTH_MM].concat();
        let mut held = [0_u32; 7];
        for seed in 0..TABLES {
            let fit = fit(&measured(u64::from(seed))).expect("a fit");
            let fits = fit.slip.iter().chain(&fit.sinkage).flat_map(|fit| &fit.coefficients);
            for ((coefficient, truth), held) in fits.zip(&truth).zip(&mut held) {
                *held += u32::from((coefficient.value - truth).abs() <= coefficient.half_width);
            }
        }
        for (held, truth) in held.iter().zip(truth) {
            let share = f64::from(*held) / f64::from(TABLES);
            assert!((share - 0.95).abs() < FOUR_ERRORS, "{truth}: {share}");
        }
    }

    #[test]
    fn the_spread_is_found_and_the_file_is_a_soil_that_slips_as_measured() {
        let fit = fit(&measured(7)).expect("a fit");
        let (slip, sinkage) = (fit.slip.clone().expect("slip"), fit.sinkage.clone().expect("sinkage"));
        assert!((slip.residual_sd / SLIP_NOISE - 1.0).abs() < 0.3, "{slip:?}");
        assert!((sinkage.residual_sd / DEPTH_NOISE_MM - 1.0).abs() < 0.3, "{sinkage:?}");
        assert!(slip.r_squared > 0.97 && sinkage.r_squared > 0.97);
        let text = soil_file(&fit, "my \"sand\"", "runs.csv", "tohoku_silica5_ex1");
        let spec: SoilSpec = parse_yaml(&text, Path::new("soil.yaml")).expect("a soil file");
        assert_eq!((spec.name.as_str(), &spec.law), ("my \"sand\"", &SoilLaw::Data(fit.law.clone())));
        assert!(text.contains("R2 0.9") && text.contains(" to "), "{text}");
        let Ok(Law::Data(law)) = Law::try_from(&spec) else { panic!("{text}") };
        let (v, slope) = (0.3, 12.0_f64);
        let expected = (SLIP[0] * v + SLIP[1]) * slope * slope + SLIP[2] * v + SLIP[3];
        assert!((law.slip(v, slope.to_radians()).value - expected).abs() < 0.01);
    }

    #[test]
    fn runs_downhill_are_fitted_with_the_sign_of_the_soil_that_the_rest_is_taken_from() {
        for (downhill, sign) in [(Downhill::AsUphill, 1.0), (Downhill::Reversed, -1.0)] {
            let table = Table::parse(&measured_on(7, -1.0, sign), Path::new("runs.csv")).expect("a table");
            let mut other = other();
            other.slip.downhill = downhill;
            let fit = Fit::of(&table, &other).expect("a fit");
            let held = |of: &super::Coefficient, truth: f64| (of.value - truth).abs() <= 2.0 * of.half_width;
            let slip = fit.slip.as_ref().expect("slip");
            assert!(slip.coefficients.iter().zip(SLIP).all(|(of, truth)| held(of, truth)), "{downhill:?} {slip:?}");
            let text = soil_file(&fit, "down", "runs.csv", "other");
            let spec: SoilSpec = parse_yaml(&text, Path::new("soil.yaml")).expect("a soil file");
            assert_eq!(spec.law, SoilLaw::Data(fit.law));
        }
    }

    #[test]
    fn columns_that_are_not_there_are_taken_from_the_other_soil() {
        let keep = |columns: &[usize]| -> String {
            let line = |line: &str| {
                let fields: Vec<_> = line.split(',').collect();
                columns.iter().map(|&i| fields[i]).collect::<Vec<_>>().join(",") + "\n"
            };
            measured(3).lines().map(line).collect()
        };
        let slip_alone = fit(&keep(&[0, 1, 2])).expect("slip alone");
        assert!(slip_alone.sinkage.is_none() && slip_alone.law.sinkage == other().sinkage);
        let sinkage_alone = fit(&keep(&[0, 1, 3, 4])).expect("sinkage alone");
        assert!(sinkage_alone.is_slip_taken_over && sinkage_alone.law.slip == other().slip);
        assert!(soil_file(&sinkage_alone, "x", "y", "z").contains("Slip was not measured"));
        for (columns, part) in [
            (&[0, 1, 3][..], "nothing to fit"),
            (&[0, 1, 4], "load_n"),
            (&[0, 2], "slope_deg"),
            (&[1, 2], "rim_speed_m_s"),
        ] {
            assert!(fit(&keep(columns)).is_err_and(|e| e.contains(part) && e.contains("runs.csv")), "{part}");
        }
    }

    #[test]
    fn gaps_and_runs_that_are_too_few_or_alike_are_refused_with_the_reason() {
        let csv = measured(1);
        let lines: Vec<&str> = csv.lines().collect();
        let with = |line: &str| [&lines[..5], &[line], &lines[5..]].concat().join("\n");
        for (line, parts) in [
            ("0.1,0,,8,0.003", ["line 6", "slip"]),
            ("0.1,0,high,8,0.003", ["line 6", "high"]),
            ("0.1,0,NaN,8,0.003", ["line 6", "NaN"]),
            ("0.1,0,1.5,8,0.003", ["line 6", "-1 to 1"]),
            ("0,0,0.1,8,0.003", ["line 6", "more than 0"]),
            ("0.1,0,0.1,8", ["line 6", "4 fields"]),
        ] {
            let refusal = fit(&with(line)).expect_err(line);
            assert!(parts.iter().all(|part| refusal.contains(part)), "{refusal}");
        }
        assert!(fit(&lines[..5].join("\n")).is_err_and(|e| e.contains("4 runs are too few for 4")));
        let flat: Vec<_> =
            lines.iter().filter(|line| !line.contains(",6,") && !line.contains(",12,")).copied().collect();
        let refusal = fit(&flat.join("\n")).expect_err("only flat ground");
        assert!(refusal.contains("per_deg2_per_m_s") && refusal.contains("runs.csv"), "{refusal}");
    }
}
