//! `selene fit`: fits a soil of the data-driven law to measured slip and sinkage.

use std::path::Path;

use selene_base::Table;
use selene_base::input::parse_yaml;
use selene_base::output::{self, FileKind, PNG};
use selene_pictures::chart::{Chart, Line, Mark, Panel};
use selene_soil::fit::{Fit, FitError, Measurements, Regression, soil_file};
use selene_soil::{DataSpec, SoilLaw, SoilSpec};

use crate::args::FitArgs;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// The kind of file that may be replaced: a fitted soil, and no soil written by hand.
const SOIL: FileKind =
    FileKind { name: "soil file of `selene fit`", is: |head| head.starts_with(b"# Fitted by `selene fit`") };
/// Greatest number of speeds with a fitted line each; of more, only the slowest and the fastest are drawn.
const LINES_MAX: usize = 6;

/// Fits, prints the coefficients, and writes a soil file and a plot if requested.
pub(crate) fn fit(args: &FitArgs, verbosity: Verbosity) -> Result<(), Fault> {
    args.out.iter().try_for_each(|file| places::check_writable("--out", file, &SOIL))?;
    args.plot.iter().try_for_each(|file| places::check_writable("--plot", file, &PNG))?;
    let table = Table::load(&args.file).map_err(Fault::input)?;
    let other = data_law(&args.other)?;
    let fit = Fit::of(&table, &other).map_err(Fault::input)?;
    let runs = Measurements::of(&table).map_err(|e| Fault::input(FitError::Input(e)))?;
    let name = args.name.clone().unwrap_or_else(|| stem(&args.file));
    let source = args.file.file_name().unwrap_or_default().to_string_lossy();
    let text = soil_file(&fit, &name, &source, &args.other);
    let checked = parse_yaml::<SoilSpec>(&text, Path::new("the fitted soil"));
    checked.map_err(|e| Fault::input(format!("{}: makes no soil: {e}", args.file.display())))?;
    print(&fit);
    if let Some(plot) = &args.plot {
        chart(&fit, &runs, &source).save(plot).map_err(Fault::run)?;
        verbosity.wrote(plot);
    }
    let Some(out) = &args.out else { return Ok(()) };
    output::write_bytes(out, &SOIL, text.as_bytes()).map_err(Fault::run)?;
    verbosity.wrote(out);
    Ok(())
}

/// The data-driven law of the soil called `name`.
fn data_law(name: &str) -> Result<DataSpec, Fault> {
    match SoilSpec::load(&places::soil_file("--other", name)?).map_err(Fault::input)?.law {
        SoilLaw::Data(law) => Ok(law),
        law => Err(Fault::input(format!("--other {name}: is of law {}; must be of law data", law.key()))),
    }
}

fn stem(file: &Path) -> String {
    file.file_stem().map_or_else(|| "fitted".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn print(fit: &Fit) {
    for (what, unit, regression) in [("slip", "", &fit.slip), ("depth", " mm", &fit.sinkage)] {
        let Some(Regression { coefficients, runs, residual_sd, r_squared, .. }) = regression else {
            print_line(format_args!("{what}: not measured"));
            continue;
        };
        print_line(format_args!("{what}: {runs} runs, residual s.d. {residual_sd:.4}{unit}, R² {r_squared:.4}"));
        for c in coefficients {
            print_line(format_args!("  {:<18} {:>13.6e} ± {:.2e} (95 %)", c.name, c.value, c.half_width));
        }
    }
}

/// The chart: measured over fitted values, and slip over slope.
fn chart(fit: &Fit, runs: &Measurements, source: &str) -> Chart {
    let mut panels = Vec::new();
    if let (Some(regression), Some(slip)) = (&fit.slip, &runs.slip) {
        panels.push(slip_panel(fit, runs, slip));
        panels.push(residuals("fitted slip", "measured slip", regression, slip));
    }
    if let (Some(regression), Some((_, sinkage_m))) = (&fit.sinkage, &runs.load_and_sinkage) {
        let depth_mm: Vec<_> = sinkage_m.iter().map(|depth_m| 1e3 * depth_m).collect();
        panels.push(residuals("fitted sinkage, mm", "measured sinkage, mm", regression, &depth_mm));
    }
    Chart { title: format!("Data-driven law fitted to {source}"), columns: 2, panels }
}

fn residuals(x: &str, y: &str, regression: &Regression, measured: &[f64]) -> Panel {
    let points: Vec<_> = regression.fitted.iter().copied().zip(measured.iter().copied()).collect();
    let (low, high) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p.0), h.max(p.0)));
    let line = |name: &str, colour, mark, points| Line { name: name.to_owned(), colour, mark, points };
    Panel {
        x: x.to_owned(),
        y: y.to_owned(),
        lines: vec![
            line("runs", 0, Mark::Dots, points),
            line("measured as fitted", 1, Mark::Line, vec![(low, low), (high, high)]),
        ],
    }
}

/// Slip over slope: the runs, and the fit at each measured speed, or at the slowest and the fastest of many.
fn slip_panel(fit: &Fit, runs: &Measurements, slip: &[f64]) -> Panel {
    let law = selene_soil::DataDriven::from(&fit.law);
    let mut speeds = runs.rim_speed_m_s.clone();
    speeds.sort_by(f64::total_cmp);
    speeds.dedup();
    if speeds.len() > LINES_MAX {
        speeds = vec![speeds[0], speeds[speeds.len() - 1]];
    }
    let (low, high) = runs.slope_deg.iter().fold((0.0_f64, 0.0_f64), |(l, h), a| (l.min(*a), h.max(*a)));
    let slope = |i: i32| low + (high - low) * f64::from(i) / 50.0;
    let fitted = speeds.iter().enumerate().map(|(i, &speed)| Line {
        name: format!("fit at {speed:.3} m/s"),
        colour: i + 2,
        mark: Mark::Dashes,
        points: (0..=50).map(|i| (slope(i), law.slip(speed, slope(i).to_radians()).value)).collect(),
    });
    let points = runs.slope_deg.iter().copied().zip(slip.iter().copied()).collect();
    let measured = Line { name: "runs".to_owned(), colour: 0, mark: Mark::Dots, points };
    Panel {
        x: "slope, degrees".to_owned(),
        y: "slip".to_owned(),
        lines: std::iter::once(measured).chain(fitted).collect(),
    }
}
