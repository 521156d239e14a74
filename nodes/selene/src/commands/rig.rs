//! `selene rig`: a single wheel and a pressed plate on flat soil.

use selene_soil::rig::{self, PlateRig, RigError, WheelRig};
use selene_soil::{Law, Scm, SoilSpec, WheelShape};
use serde::Serialize;

use crate::args::{PlateArgs, RigCommand, WheelArgs};
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;

/// What the wheel rig prints.
#[derive(Serialize)]
struct SteadyState {
    sinkage_m: f64,
    drawbar_n: f64,
    normal_n: f64,
    torque_nm: f64,
}

/// Runs the rig asked for.
pub(crate) fn rig(command: &RigCommand) -> Result<(), Fault> {
    match command {
        RigCommand::Wheel(args) => wheel(args),
        RigCommand::Plate(args) => plate(args),
    }
}

/// The soil called `name`, with or without displaced soil piling up beside the rut.
fn soil(name: &str, bulldozing: bool) -> Result<Scm, Fault> {
    let mut spec = SoilSpec::load(&places::soil_file(name)?).map_err(Fault::input)?;
    spec.bulldozing = bulldozing.then(|| spec.bulldozing.unwrap_or_default());
    Scm::try_from(&spec).map_err(Fault::input)
}

fn wheel(args: &WheelArgs) -> Result<(), Fault> {
    let shape = WheelShape { radius_m: args.radius, width_m: args.width, ..WheelShape::default() };
    let rig = WheelRig {
        omega_rad_s: args.omega,
        gravity_m_s2: args.gravity,
        grid_m: args.grid,
        ..WheelRig::new(Law::Scm(soil(&args.soil, args.bulldozing)?), shape, args.load, args.slip)
    };
    let state = rig::wheel(&rig).map_err(fault)?;
    let printed = SteadyState {
        sinkage_m: finite("sinkage_m", state.sinkage_m)?,
        drawbar_n: finite("drawbar_n", state.drawbar_n)?,
        normal_n: finite("normal_n", state.normal_n)?,
        torque_nm: finite("torque_nm", state.torque_nm)?,
    };
    print_line(serde_json::to_string(&printed).map_err(Fault::run)?);
    Ok(())
}

fn plate(args: &PlateArgs) -> Result<(), Fault> {
    let soil = soil(&args.soil, false)?;
    let rig = PlateRig { grid_m: args.grid, ..PlateRig::new(soil, args.size.0, args.speed, args.depth) };
    let mut csv = String::from("time_s,sinkage_m,force_n\n");
    for sample in rig::plate(&rig).map_err(fault)? {
        let (sinkage_m, force_n) = (finite("sinkage_m", sample.sinkage_m)?, finite("force_n", sample.force_n)?);
        csv += &format!("{},{sinkage_m},{force_n}\n", finite("time_s", sample.time_s)?);
    }
    print_line(csv.trim_end());
    Ok(())
}

/// What was typed cannot be run, or it ran and its result would not be true.
fn fault(error: RigError) -> Fault {
    match error {
        RigError::Value { .. } | RigError::TooFine { .. } => Fault::input(error),
        _ => Fault::run(error),
    }
}

/// A result that can be printed: what is no number would be read as one.
fn finite(name: &str, value: f64) -> Result<f64, Fault> {
    let wrong =
        || Fault::run(format!("{name} came to {value}: this rig does not settle; try values nearer the defaults"));
    if value.is_finite() { Ok(value) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::finite;

    #[test]
    fn only_finite_results_are_printed() {
        assert_eq!(finite("force_n", -0.5).ok(), Some(-0.5));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(finite("force_n", bad).is_err(), "{bad}");
        }
    }
}
