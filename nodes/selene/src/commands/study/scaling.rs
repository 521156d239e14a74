//! `selene study scaling`: measures how a shared world scales with the number of processes.

use selene_base::output::{self, CSV, PNG};
use selene_studies::scaling::{Ground, Scaling, chart, csv, table};

use crate::args::StudyScalingArgs;
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// Runs the world with each number of processes, and prints the table, and writes it and a chart.
pub(super) fn study(args: &StudyScalingArgs, verbosity: Verbosity) -> Result<(), Fault> {
    places::check_folder("--out", &args.out)?;
    let [rows, drawn] = ["scaling.csv", "scaling.png"].map(|name| args.out.join(name));
    places::check_writable("--out", &rows, &CSV)?;
    places::check_writable("--out", &drawn, &PNG)?;
    let program = std::env::current_exe().map_err(|e| Fault::run(format!("this program is not found: {e}")))?;
    let scaling = Scaling { program, folder: args.out.clone(), duration: args.duration };
    let work = Work::begin(verbosity, "runs", (Ground::ALL.len() * args.processes.len()) as u64);
    let mut all = Vec::new();
    for ground in Ground::ALL {
        for processes in &args.processes {
            work.note(format_args!("{} processes on {} …", processes, ground.soil()));
            all.push(scaling.run(ground, *processes as usize).map_err(Fault::run)?);
            work.step();
        }
    }
    drop(work);
    print_line(table(&all));
    output::write_bytes(&rows, &CSV, csv(&all).as_bytes()).map_err(Fault::run)?;
    chart(&all).save(&drawn).map_err(Fault::run)?;
    [rows, drawn].iter().for_each(|file| verbosity.wrote(file));
    Ok(())
}
