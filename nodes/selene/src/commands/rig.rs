//! `selene rig`: test rigs for a single wheel, a pressed plate and a rover on slopes.

mod plate;
mod slope;
mod wheel;

use std::path::Path;

use selene_base::output::{self, CSV};
use selene_soil::rig::RigError;
use selene_soil::{Law, SoilSpec};

use crate::args::RigCommand;
use crate::fault::Fault;
use crate::places;
use crate::verbosity::Verbosity;

/// Executes a subcommand.
pub(crate) fn rig(command: &RigCommand, verbosity: Verbosity) -> Result<(), Fault> {
    match command {
        RigCommand::Wheel(args) => wheel::wheel(args, verbosity),
        RigCommand::Plate(args) => plate::plate(args),
        RigCommand::Slope(args) => slope::slope(args, verbosity),
    }
}

/// The soil called `name`. With `bulldozing`, displaced soil piles up beside the rut.
fn soil(name: &str, bulldozing: bool) -> Result<Law, Fault> {
    let mut spec = SoilSpec::load(&places::soil_file("--soil", name)?).map_err(Fault::input)?;
    spec.bulldozing = bulldozing.then(|| spec.bulldozing.unwrap_or_default());
    Law::try_from(&spec).map_err(|refusal| Fault::input(format!("--soil {name}: {refusal}")))
}

/// Classifies an error: a fault of the input, or of a run whose result would be wrong. `of` names the run, if there are
/// several.
fn fault(of: &str, error: &RigError) -> Fault {
    match error {
        RigError::TooCoarse { .. } => Fault::input(format!("{of}--grid: {error}")),
        RigError::Value { .. } | RigError::TooFine { .. } | RigError::TooFast { .. } | RigError::NoPull => {
            Fault::input(format!("{of}{error}"))
        }
        RigError::Diverged { .. }
        | RigError::Buried { .. }
        | RigError::NotSettled { .. }
        | RigError::ModulusFloored { .. } => Fault::run(format!("{of}{error}")),
    }
}

/// Passes on a finite result, and fails for others: they must not appear in the output as numbers.
fn finite(name: &str, value: f64) -> Result<f64, Fault> {
    let wrong =
        || Fault::run(format!("{name} came to {value}: this rig does not settle; try values nearer the defaults"));
    if value.is_finite() { Ok(value) } else { Err(wrong()) }
}

/// Writes a table to `file` and prints its path.
fn write_csv(file: &Path, text: &str, verbosity: Verbosity) -> Result<(), Fault> {
    output::write_bytes(file, &CSV, text.as_bytes()).map_err(Fault::run)?;
    verbosity.wrote(file);
    Ok(())
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
