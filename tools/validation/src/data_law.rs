//! The data-driven law (Kern et al., DATA) compared with its own paper: EX1 on Tohoku silica sand no. 5, with the
//! driving rig.

use rayon::prelude::*;
use selene_soil::drive_rig::{DriveRig, DriveSample, SpeedCommand, drive};
use selene_soil::rig::RigError;
use selene_soil::{DataDriven, Law, WheelShape};

use super::{ComparedFigure, Failure, Section, Sources, line, worst};
use selene_pictures::chart::{Chart, Mark, Panel};

/// EX1's wheel (config/rover/ex1.yaml); the paper gives no dimensions.
const WHEEL: WheelShape = WheelShape { grouser_height_m: 0.01, grousers: 18, ..WheelShape::plain(0.1, 0.1) };
/// Mass on one wheel: a quarter of 21.63 kg.
const MASS_KG: f64 = 21.63 / 4.0;
/// Fastest commanded speed, m/s.
const FAST_M_S: f64 = 1.17;
const FLAT_M_S: [f64; 6] = [0.23, 0.35, 0.47, 0.75, 1.02, FAST_M_S];
const SLOPE_M_S: [f64; 3] = [0.23, 0.35, 0.47];
const SLOPES_DEG: [f64; 6] = [3.0, 6.0, 9.0, 12.0, 15.0, 20.0];
const LOADS_N: [f64; 5] = [3.8, 6.0, 8.72, 11.0, 13.6];
/// Times at which the traces begin to drive and to brake, s.
const TRACE_S: [f64; 2] = [0.5, 4.0];

/// A steady run, compared with the regression's slip and depth for its conditions.
struct SteadyError {
    slip_error: f64,
    sinkage_error_m: f64,
}

pub(super) fn compare(sources: &Sources) -> Result<Section, Failure> {
    let law = sources.law("tohoku_silica5_ex1")?;
    let Law::Data(data) = &law else { return Err("soil tohoku_silica5_ex1 is not of law data".into()) };
    let flat = all(&law, data, FLAT_M_S.map(|rim| (rim, 0.0, MASS_KG)).to_vec())?;
    let slopes = SLOPE_M_S.iter().flat_map(|&rim| SLOPES_DEG.map(|deg| (rim, deg, MASS_KG)));
    let slopes = all(&law, data, slopes.collect())?;
    let loads = LOADS_N.iter().flat_map(|&load_n| SLOPE_M_S.map(|rim| (rim, 0.0, load_n / 1.62)));
    let loads = all(&law, data, loads.collect())?;
    let mean = |runs: &[SteadyError], of: fn(&SteadyError) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let figure = |name, value, unit, what, at_most| ComparedFigure { name, value, unit, what, at_most };
    let figures = vec![
        figure(
            "data_flat_slip",
            worst(flat.iter().map(|run| run.slip_error)),
            "",
            "slip on the flat, worst",
            Some(2e-4),
        ),
        figure("data_slope_slip", mean(&slopes, |run| run.slip_error), "", "slip on slopes to 20°, mean", Some(2.2e-3)),
        figure(
            "data_sinkage_mm",
            1e3 * mean(&loads, |run| run.sinkage_error_m),
            "mm",
            "sinkage within 5 N of 8.72 N, mean",
            Some(0.25),
        ),
    ];
    let chart = traces(&law, data)?;
    Ok(Section { figures, text: TEXT.to_owned(), charts: vec![("validation_data_law.png", chart)] })
}

const TEXT: &str = "A wheel of EX1 under its load on the paper's sand, driven by the rig: what the simulated wheel does at each speed, slope and \
load against what the paper's regressions say there. The paper's own simulator reached 0.02 % of slip on the flat, 0.22 % on slopes, and \
0.25 mm of sinkage.

The plot is the paper's transient test: 1.17 m/s is commanded at once, then a stop, under Earth's gravity. Speed is gained along \
the piecewise limit (3.476 m/s² to 0.75 m/s, 0.612 to 1.02, 0.114 beyond) and lost at 0.8 g, the dynamic friction; slip is high \
at first and negative while braking; the wheel does not rise again when it stops. A wheel's load on Earth is far above the 13.7 N to which sinkage was fitted, \
so the depth is that of 13.7 N. The measured traces are printed as a figure \
only, not as numbers, so that the plot shows ours beside the limits that the paper fitted to them.
";

fn rig(law: &Law, mass_kg: f64, rim_m_s: f64) -> DriveRig {
    DriveRig { grid_m: 0.05, ..DriveRig::new(law.clone(), WHEEL, mass_kg, rim_m_s) }
}

/// Steady runs at combinations of wheel speed, slope and mass.
fn all(law: &Law, data: &DataDriven, runs: Vec<(f64, f64, f64)>) -> Result<Vec<SteadyError>, RigError> {
    let settle = |&(rim_m_s, slope_deg, mass_kg): &(f64, f64, f64)| -> Result<SteadyError, RigError> {
        let run = DriveRig { slope_deg, duration_s: 6.0, ..rig(law, mass_kg, rim_m_s) };
        let (samples, _) = drive(&run)?;
        let tail = &samples[samples.len() - (1.0 / run.step_s) as usize..];
        let mean = |of: fn(&DriveSample) -> f64| tail.iter().map(of).sum::<f64>() / tail.len() as f64;
        let slope_rad = slope_deg.to_radians();
        let fitted = data.slip(rim_m_s, slope_rad).value;
        let depth_m = data.depth_m(fitted, mass_kg * run.gravity_m_s2 * slope_rad.cos()).value;
        Ok(SteadyError {
            slip_error: (mean(|sample| sample.slip) - fitted).abs(),
            sinkage_error_m: (mean(|sample| sample.sinkage_m) - depth_m).abs(),
        })
    };
    let settled: Vec<_> = runs.par_iter().map(settle).collect();
    settled.into_iter().collect()
}

/// The paper's acceleration and deceleration test.
fn traces(law: &Law, data: &DataDriven) -> Result<Chart, RigError> {
    let [start_s, stop_s] = TRACE_S;
    let commands =
        vec![SpeedCommand { from_s: start_s, rim_m_s: FAST_M_S }, SpeedCommand { from_s: stop_s, rim_m_s: 0.0 }];
    let run = DriveRig { commands, gravity_m_s2: 9.81, step_s: 5e-4, duration_s: 5.0, ..rig(law, MASS_KG, FAST_M_S) };
    let (samples, _) = drive(&run)?;
    let points = |of: fn(&DriveSample) -> f64| samples.iter().step_by(20).map(|s| (s.time_s, of(s))).collect();
    let panel = |y: &str, lines| Panel { x: "time, s".to_owned(), y: y.to_owned(), lines };
    let speeds = vec![
        line("speed", 0, Mark::Line, points(|sample| sample.speed_m_s)),
        line("wheel speed", 1, Mark::Line, points(|sample| sample.rim_m_s)),
        line("the paper's limit, and 0.8 g", 2, Mark::Dashes, limit(data)),
    ];
    Ok(Chart {
        title: "EX1's wheel on Tohoku silica sand no. 5: 1.17 m/s at once, then a stop".to_owned(),
        columns: 2,
        panels: vec![
            panel("speed, m/s", speeds),
            panel("slip", vec![line("slip", 3, Mark::Line, points(slip))]),
            panel("sinkage, mm", vec![line("sinkage", 4, Mark::Line, points(|sample| 1e3 * sample.sinkage_m))]),
        ],
    })
}

/// Slip ratio; NaN at rest, where it is not defined.
fn slip(sample: &DriveSample) -> f64 {
    const REST_M_S: f64 = 0.02;
    let moves = sample.rim_m_s.abs().max(sample.speed_m_s.abs()) > REST_M_S;
    if moves { sample.slip } else { f64::NAN }
}

/// The fastest acceleration that the limiter allows, up to the speed of the fit, then braking by the dynamic friction.
fn limit(data: &DataDriven) -> Vec<(f64, f64)> {
    const STEP_S: f64 = 0.01;
    let [start_s, stop_s] = TRACE_S;
    let most_m_s = (1.0 - data.slip(FAST_M_S, 0.0).value) * FAST_M_S;
    let (mut time_s, mut speed_m_s, mut points) = (start_s, 0.0_f64, Vec::new());
    while time_s < stop_s {
        points.push((time_s, speed_m_s));
        speed_m_s = (speed_m_s + data.acceleration_limit_m_s2(speed_m_s) * STEP_S).min(most_m_s);
        time_s += STEP_S;
    }
    points.push((stop_s, speed_m_s));
    points.push((stop_s + speed_m_s / (0.8 * 9.81), 0.0));
    points
}
