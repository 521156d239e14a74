//! `selene rig wheel`: runs a single wheel, once or for every combination of the values in lists and ranges.

use std::path::PathBuf;

use rayon::prelude::*;
use selene_base::output::{CSV, PNG};
use selene_pictures::chart::{Chart, Line, Mark, Panel};
use selene_soil::rig::{self, SteadyState, WheelRig};
use selene_soil::{Law, WheelShape};
use serde::Serialize;

use super::{fault, finite, soil, write_csv};
use crate::args::WheelArgs;
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// Greatest number of runs in one call.
const RUNS_MAX: usize = 100_000;

/// The JSON that a single run prints.
#[derive(Serialize)]
struct Printed {
    sinkage_m: f64,
    drawbar_n: f64,
    lateral_n: f64,
    normal_n: f64,
    torque_nm: f64,
}

/// One combination of a soil and values.
#[derive(Clone, Debug)]
struct Case {
    soil: usize,
    /// The values in the order of `AXES`.
    values: [f64; 5],
}

/// The quantities that can be swept, in the order of the CSV: axis label in a plot, unit or short name in its legend.
const AXES: [(&str, &str); 5] = [
    ("slip", "slip"),
    ("load, N", "N"),
    ("slip angle, degrees", "°"),
    ("wheel rate, rad/s", "rad/s"),
    ("gravity, m/s²", "m/s²"),
];

pub(super) fn wheel(args: &WheelArgs, verbosity: Verbosity) -> Result<(), Fault> {
    if let Some(height_m) = args.grouser_height.filter(|height_m| *height_m >= args.radius) {
        return Err(Fault::input(format!("--grouser-height {height_m}: must be below --radius {}", args.radius)));
    }
    let laws = args.soil.0.iter().map(|name| soil(name, args.bulldozing)).collect::<Result<Vec<_>, _>>()?;
    let cases = cases(args)?;
    let [table, plot] = files(args)?;
    let states = run(args, &laws, &cases, verbosity)?;
    if let Some(plot) = &plot {
        chart(args, &cases, &states).save(plot).map_err(Fault::run)?;
        verbosity.wrote(plot);
    }
    match (&table, &states[..]) {
        (Some(file), _) => write_csv(file, &csv(args, &cases, &states), verbosity),
        (None, [state]) => print_json(state),
        (None, _) if plot.is_some() => Ok(()),
        (None, _) => {
            print_line(csv(args, &cases, &states).trim_end());
            Ok(())
        }
    }
}

/// The table and the plot to write, if any. Refuses files that could not be written.
fn files(args: &WheelArgs) -> Result<[Option<PathBuf>; 2], Fault> {
    let files = match &args.out {
        Some(folder) => {
            places::check_folder("--out", folder)?;
            [Some(folder.join("wheel.csv")), Some(folder.join("wheel.png"))]
        }
        None => [args.csv.clone(), args.plot.clone()],
    };
    let options = if args.out.is_some() { ["--out", "--out"] } else { ["--csv", "--plot"] };
    for ((option, kind), file) in options.into_iter().zip([&CSV, &PNG]).zip(&files) {
        file.iter().try_for_each(|file| places::check_writable(option, file, kind))?;
    }
    Ok(files)
}

/// All combinations; the first of `AXES` varies fastest.
fn cases(args: &WheelArgs) -> Result<Vec<Case>, Fault> {
    let axes = axes(args);
    let count = axes.iter().fold(args.soil.0.len(), |count, axis| count.saturating_mul(axis.len()));
    if count > RUNS_MAX {
        return Err(Fault::input(format!(
            "{count} combinations were requested; at most {RUNS_MAX} are run in one call"
        )));
    }
    let case = |index: usize| {
        let mut rest = index;
        let values = std::array::from_fn(|i| {
            let value = axes[i][rest % axes[i].len()];
            rest /= axes[i].len();
            value
        });
        Case { soil: rest, values }
    };
    Ok((0..count).map(case).collect())
}

/// The values along each of `AXES`.
fn axes(args: &WheelArgs) -> [Vec<f64>; 5] {
    let omega = match &args.speed {
        Some(speeds) => speeds.0.iter().map(|speed| speed / args.radius).collect(),
        None => args.omega.0.clone(),
    };
    [args.slip.0.clone(), args.load.0.clone(), args.slip_angle.0.clone(), omega, args.gravity.0.clone()]
}

fn shape(args: &WheelArgs) -> WheelShape {
    WheelShape {
        radius_m: args.radius,
        width_m: args.width,
        grouser_height_m: args.grouser_height.unwrap_or(0.0),
        grousers: args.grousers.unwrap_or(0),
        grip: args.grip,
        ..WheelShape::default()
    }
}

/// Runs all cases on all cores. Returns the results in the order of the cases.
fn run(args: &WheelArgs, laws: &[Law], cases: &[Case], verbosity: Verbosity) -> Result<Vec<SteadyState>, Fault> {
    let work = Work::begin(verbosity, "wheels", cases.len() as u64);
    let run_one = |case: &Case| {
        let [slip, load_n, angle_deg, omega_rad_s, gravity_m_s2] = case.values;
        let rig = WheelRig {
            omega_rad_s,
            gravity_m_s2,
            slip_angle_rad: angle_deg.to_radians(),
            grid_m: args.grid,
            ..WheelRig::new(laws[case.soil].clone(), shape(args), load_n, slip)
        };
        let state = rig::wheel(&rig);
        work.step();
        state.map_err(|error| fault(&reported(args, case, cases.len()), &error)).and_then(all_finite)
    };
    let results: Vec<_> = cases.par_iter().map(run_one).collect();
    results.into_iter().collect()
}

/// The options of a case, for its error message; empty for a single run.
fn reported(args: &WheelArgs, case: &Case, runs: usize) -> String {
    if runs == 1 {
        return String::new();
    }
    let [slip, load, angle, omega, gravity] = case.values;
    let soil = &args.soil.0[case.soil];
    format!("--soil {soil} --slip {slip} --load {load} --slip-angle {angle} --omega {omega} --gravity {gravity}: ")
}

fn all_finite(state: SteadyState) -> Result<SteadyState, Fault> {
    finite("sinkage_m", state.sinkage_m)?;
    finite("drawbar_n", state.drawbar_n)?;
    finite("lateral_n", state.lateral_n)?;
    finite("normal_n", state.normal_n)?;
    finite("torque_nm", state.torque_nm)?;
    Ok(state)
}

fn print_json(state: &SteadyState) -> Result<(), Fault> {
    let SteadyState { sinkage_m, drawbar_n, lateral_n, normal_n, torque_nm, .. } = *state;
    let printed = Printed { sinkage_m, drawbar_n, lateral_n, normal_n, torque_nm };
    print_line(serde_json::to_string(&printed).map_err(Fault::run)?);
    Ok(())
}

fn csv(args: &WheelArgs, cases: &[Case], states: &[SteadyState]) -> String {
    let mut csv = String::from(
        "soil,bulldozing,radius_m,width_m,grouser_height_m,grousers,grip,grid_m,slip,load_n,slip_angle_deg,omega_rad_s,\
         rim_speed_m_s,gravity_m_s2,sinkage_m,drawbar_n,lateral_n,normal_n,torque_nm\n",
    );
    let wheel = shape(args);
    for (case, state) in cases.iter().zip(states) {
        let [slip, load, angle, omega, gravity] = case.values;
        let (soil, bulldozing) = (&args.soil.0[case.soil], u8::from(args.bulldozing));
        let rim = omega * wheel.radius_m;
        csv += &format!(
            "{soil},{bulldozing},{},{},{},{},{},{},{slip},{load},{angle},{omega},{rim},{gravity},{},{},{},{},{}\n",
            wheel.radius_m,
            wheel.width_m,
            wheel.grouser_height_m,
            wheel.grousers,
            wheel.grip,
            args.grid,
            state.sinkage_m,
            state.drawbar_n,
            state.lateral_n,
            state.normal_n,
            state.torque_nm
        );
    }
    csv
}

/// The chart over the axis with the most values, with one line for each combination of the others.
fn chart(args: &WheelArgs, cases: &[Case], states: &[SteadyState]) -> Chart {
    let counts = axes(args).map(|axis| axis.len());
    let along = (0..AXES.len()).rev().max_by_key(|&axis| counts[axis]).unwrap_or(0);
    let mut names: Vec<String> = Vec::new();
    let mut of_line: Vec<Vec<usize>> = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let name = line_name(args, case, along, &counts);
        match names.iter().position(|known| *known == name) {
            Some(line) => of_line[line].push(i),
            None => {
                names.push(name);
                of_line.push(vec![i]);
            }
        }
    }
    of_line
        .iter_mut()
        .for_each(|line| line.sort_by(|a, b| cases[*a].values[along].total_cmp(&cases[*b].values[along])));
    let panel = |y: &str, of: &dyn Fn(&SteadyState, f64) -> f64| {
        let points = |line: &Vec<usize>| {
            line.iter().map(|&i| (cases[i].values[along], of(&states[i], cases[i].values[1]))).collect()
        };
        let lines = names.iter().zip(&of_line).enumerate().map(|(colour, (name, line))| Line {
            name: name.clone(),
            colour,
            mark: if colour < 6 { Mark::Line } else { Mark::Dashes },
            points: points(line),
        });
        Panel { x: AXES[along].0.to_owned(), y: y.to_owned(), lines: lines.collect() }
    };
    let mut panels = vec![
        panel("drawbar over load", &|state, load_n| state.drawbar_n / load_n),
        panel("torque of the soil, N m", &|state, _| state.torque_nm),
        panel("sinkage, mm", &|state, _| 1e3 * state.sinkage_m),
    ];
    if args.slip_angle.0.iter().any(|angle| *angle != 0.0) {
        panels.push(panel("lateral force over load", &|state, load_n| state.lateral_n / load_n));
    }
    let title = format!("Single wheel, radius {} m, width {} m", args.radius, args.width);
    Chart { title, columns: 2, panels }
}

/// The name of a line: the soil, and the values of all other axes with several values.
fn line_name(args: &WheelArgs, case: &Case, along: usize, counts: &[usize; 5]) -> String {
    let others = (0..AXES.len()).filter(|&axis| axis != along && counts[axis] > 1);
    let parts = others.map(|axis| match axis {
        0 => format!("slip {}", case.values[0]),
        2 => format!("{}°", case.values[2]),
        _ => format!("{} {}", case.values[axis], AXES[axis].1),
    });
    let soil = &args.soil.0[case.soil];
    let stem = std::path::Path::new(soil).file_stem().map_or(soil.clone(), |stem| stem.to_string_lossy().into_owned());
    std::iter::once(stem).chain(parts).collect::<Vec<_>>().join(", ")
}
