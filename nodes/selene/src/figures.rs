//! Writes the figures of a run as JSON: numbers and texts, with units in their names. A campaign makes a row of them.

use std::collections::BTreeMap;
use std::path::Path;

use selene_base::output::{self, FileKind};
use selene_simulation::{EndReason, RunOutcome};
use serde_json::Value;

use crate::fault::Fault;
use crate::places;
use crate::run_report::RunReport;

/// The kind of file.
const JSON: FileKind = FileKind { name: "JSON file", is: |head| head.starts_with(b"{") };

/// Refuses a file that could not be written.
pub(crate) fn check(file: Option<&Path>) -> Result<(), Fault> {
    file.map_or(Ok(()), |file| places::check_writable("--figures", file, &JSON))
}

/// Writes the figures of a run that has an outcome to `file`, if one was given.
pub(crate) fn write(file: Option<&Path>, outcome: Option<&RunOutcome>, report: &RunReport) -> Result<(), Fault> {
    let Some((file, outcome)) = file.zip(outcome) else { return Ok(()) };
    let text = serde_json::to_string_pretty(&of(outcome, report)).map_err(Fault::run)?;
    output::write_bytes(file, &JSON, text.as_bytes()).map_err(Fault::run)
}

fn of(outcome: &RunOutcome, report: &RunReport) -> BTreeMap<String, Value> {
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

/// The ending of a run as one word.
fn ending(ending: EndReason) -> &'static str {
    match ending {
        EndReason::Duration => "duration",
        EndReason::RouteDone => "route_done",
        EndReason::Stopped => "stopped",
    }
}
