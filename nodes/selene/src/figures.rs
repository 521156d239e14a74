//! The figures of a run as JSON, one number or text each, units in their names: what a campaign makes a row of.

use std::collections::BTreeMap;
use std::path::Path;

use selene_base::output::{self, FileKind};
use selene_simulation::{Ending, Outcome};
use serde_json::Value;

use crate::fault::Fault;
use crate::places;
use crate::run_report::RunReport;

/// What they are written to.
const JSON: FileKind = FileKind { name: "JSON file", is: |head| head.starts_with(b"{") };

/// Refuses a file that figures could not be written to.
pub(crate) fn check(file: Option<&Path>) -> Result<(), Fault> {
    file.map_or(Ok(()), |file| places::check_writable("--figures", file, &JSON))
}

/// Writes the figures of a run that came to an end, where they are asked for.
pub(crate) fn write(file: Option<&Path>, outcome: Option<&Outcome>, report: &RunReport) -> Result<(), Fault> {
    let Some((file, outcome)) = file.zip(outcome) else { return Ok(()) };
    let text = serde_json::to_string_pretty(&of(outcome, report)).map_err(Fault::run)?;
    output::write_bytes(file, &JSON, text.as_bytes()).map_err(Fault::run)
}

fn of(outcome: &Outcome, report: &RunReport) -> BTreeMap<String, Value> {
    let simulated_s = (outcome.simulated - outcome.since).secs_f64();
    let (slip, sinkage_m) = report.slip_and_sinkage();
    let mut figures: BTreeMap<String, Value> = [
        ("ended", ending(outcome.ending).into()),
        ("simulated_s", simulated_s.into()),
        ("wall_s", outcome.wall_s.into()),
        ("real_time_factor", (simulated_s / outcome.wall_s.max(1e-9)).into()),
        ("distance_m", outcome.distances_m.iter().map(|(_, m)| *m).sum::<f64>().into()),
        ("mean_slip", slip.into()),
        ("deepest_sinkage_m", sinkage_m.into()),
        ("state_hash", format!("{:016x}", outcome.state_hash).into()),
    ]
    .map(|(name, value): (&str, Value)| (name.to_owned(), value))
    .into();
    figures.extend(outcome.distances_m.iter().map(|(rover, m)| (format!("{rover}.distance_m"), (*m).into())));
    for (rover, [x_m, y_m, yaw_rad]) in report.ends() {
        figures.insert(format!("{rover}.x_m"), x_m.into());
        figures.insert(format!("{rover}.y_m"), y_m.into());
        figures.insert(format!("{rover}.yaw_deg"), yaw_rad.to_degrees().into());
    }
    figures
}

/// How a run ended, in a word.
fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Duration => "duration",
        Ending::RouteDone => "route_done",
        Ending::Stopped => "stopped",
    }
}
