//! `selene rig slope`: drives a rover up steeper and steeper slopes until it stalls.

use std::sync::Arc;

use rayon::prelude::*;
use selene_base::output::{CSV, PNG};
use selene_pictures::chart::{Chart, Line, Mark, Panel};
use selene_sim::{Climb, SlopeError, SlopeRig};
use selene_vehicle::RoverModel;

use super::{finite, soil, write_csv};
use crate::args::SlopeArgs;
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// Names of the files in the output folder.
const TABLE: &str = "slope.csv";
const PLOT: &str = "slope.png";

pub(super) fn slope(args: &SlopeArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let rover = Arc::new(RoverModel::load(&places::configured(&["rover"], &args.rover)).map_err(Fault::input)?);
    let rig = SlopeRig::new(rover, soil(&args.soil, false)?);
    let rig = SlopeRig {
        gravity_m_s2: args.gravity,
        speed_m_s: args.speed.unwrap_or(rig.speed_m_s),
        grid_m: args.grid,
        step_s: args.step,
        ..rig
    };
    if let Some(folder) = &args.out {
        places::check_folder("--out", folder)?;
        places::check_writable("--out", &folder.join(TABLE), &CSV)?;
        places::check_writable("--out", &folder.join(PLOT), &PNG)?;
    }
    let climbs = until_it_stalls(&rig, &args.slope.0, verbosity)?;
    let Some(folder) = &args.out else {
        print_line(csv(&climbs).trim_end());
        return Ok(());
    };
    write_csv(&folder.join(TABLE), &csv(&climbs), verbosity)?;
    let plot = folder.join(PLOT);
    chart(args, &rig, &climbs).save(&plot).map_err(Fault::run)?;
    verbosity.wrote(&plot);
    Ok(())
}

/// Results from the flattest slope to the first on which the rover stalls. All slopes are driven in parallel: the cores
/// have nothing else to do.
fn until_it_stalls(rig: &SlopeRig, slopes_deg: &[f64], verbosity: Verbosity) -> Result<Vec<Climb>, Fault> {
    let mut slopes_deg = slopes_deg.to_vec();
    slopes_deg.sort_by(f64::total_cmp);
    let work = Work::begin(verbosity, "slopes", slopes_deg.len() as u64);
    let climb = |&slope_deg: &f64| {
        let climb = rig.climb(slope_deg);
        work.step();
        climb
    };
    let climbs: Vec<_> = slopes_deg.par_iter().map(climb).collect();
    drop(work);
    let mut reported = Vec::new();
    for climb in climbs {
        let climb = climb.map_err(fault)?;
        finite("slip", climb.slip)?;
        reported.push(climb);
        if climb.stalled {
            break;
        }
    }
    Ok(reported)
}

fn fault(error: SlopeError) -> Fault {
    match error {
        SlopeError::TooCoarse { .. } => Fault::input(format!("--grid: {error}")),
        SlopeError::Value { .. } => Fault::input(error),
        SlopeError::Vehicle(_)
        | SlopeError::NotCarried { .. }
        | SlopeError::StillFaster { .. }
        | SlopeError::NotFinite { .. } => Fault::run(error),
    }
}

fn csv(climbs: &[Climb]) -> String {
    let mut csv = String::from("slope_deg,speed_m_s,slip,sinkage_m,drive_torque_nm,stalled\n");
    for Climb { slope_deg, speed_m_s, slip, sinkage_m, drive_torque_nm, stalled } in climbs {
        csv += &format!("{slope_deg},{speed_m_s},{slip},{sinkage_m},{drive_torque_nm},{stalled}\n");
    }
    csv
}

fn chart(args: &SlopeArgs, rig: &SlopeRig, climbs: &[Climb]) -> Chart {
    let panel = |y: &str, of: fn(&Climb) -> f64| {
        let line = |name: &str, mark, colour, stalled| Line {
            name: name.to_owned(),
            colour,
            mark,
            points: climbs.iter().filter(|c| stalled || !c.stalled).map(|c| (c.slope_deg, of(c))).collect(),
        };
        let mut lines = vec![line("climbs", Mark::Line, 0, false)];
        if let Some(last) = climbs.last().filter(|climb| climb.stalled) {
            lines.push(Line { points: vec![(last.slope_deg, of(last))], ..line("stalls", Mark::Rings, 5, true) });
        }
        Panel { x: "slope, degrees".to_owned(), y: y.to_owned(), lines }
    };
    let name = &rig.rover.spec().name;
    Chart {
        title: format!("{name} up slopes of {}, {} m/s commanded, {} m/s²", args.soil, rig.speed_m_s, rig.gravity_m_s2),
        columns: 2,
        panels: vec![
            panel("slip", |climb| climb.slip),
            panel("speed up the slope, m/s", |climb| climb.speed_m_s),
            panel("sinkage, mm", |climb| 1e3 * climb.sinkage_m),
            panel("torque of a drive, N m", |climb| climb.drive_torque_nm),
        ],
    }
}
