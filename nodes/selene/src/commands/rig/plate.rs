//! `selene rig plate`: presses a plate into soil and prints the force over time.

use selene_soil::Law;
use selene_soil::rig::{self, PlateRig};

use super::{fault, finite, soil};
use crate::args::PlateArgs;
use crate::fault::Fault;
use crate::output::print_line;

pub(super) fn plate(args: &PlateArgs) -> Result<(), Fault> {
    let Law::Scm(soil) = soil(&args.soil, false)? else {
        return Err(Fault::input(format!("--soil {}: only soils of law scm can be pressed by a plate", args.soil)));
    };
    let rig = PlateRig { grid_m: args.grid, ..PlateRig::new(soil, args.size.0, args.speed, args.depth) };
    let mut csv = String::from("time_s,sinkage_m,force_n\n");
    for sample in rig::plate(&rig).map_err(|error| fault("", &error))? {
        let (sinkage_m, force_n) = (finite("sinkage_m", sample.sinkage_m)?, finite("force_n", sample.force_n)?);
        csv += &format!("{},{sinkage_m},{force_n}\n", finite("time_s", sample.time_s)?);
    }
    print_line(csv.trim_end());
    Ok(())
}
