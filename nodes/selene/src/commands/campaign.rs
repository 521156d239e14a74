//! `selene campaign`: makes many runs and one table of their results.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use selene_base::output::{self, CSV, FileKind, PNG};
use selene_campaign::{CampaignError, Folder, Plan, Pool, Record, ResultTable, Row, Shard, Status, chart, run_all};
use serde_json::json;

use crate::args::{CampaignArgs, CampaignCommand, CampaignRunArgs};
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::verbosity::Verbosity;
use crate::{interrupt, places};

/// The kind of file of the columnar table.
const PARQUET: FileKind = FileKind { name: "Parquet table", is: |head| head.starts_with(b"PAR1") };
/// Environment variable with the number of threads of a row's process.
const THREADS: &str = "RAYON_NUM_THREADS";
/// Options of every row: only the world, as fast as possible, and no output but its figures.
const ALONE: [&str; 7] = ["--no-dds", "--no-sensors", "--no-pictures", "--pace", "fast", "--device", "cpu"];

/// Runs a campaign, or executes a subcommand on it.
pub(crate) fn campaign(args: &CampaignArgs, verbosity: Verbosity) -> Result<(), Fault> {
    match &args.command {
        None => run(&args.run, verbosity),
        Some(CampaignCommand::Collect(args)) => {
            let (plan, folder) = open(&args.file, args.out.as_deref())?;
            collect(&plan, &folder)
        }
        Some(CampaignCommand::Plan(args)) => {
            let plan = Plan::load(&args.file).map_err(Fault::input)?;
            plan.rows().iter().for_each(|row| print_line(planned(&plan, row)));
            Ok(())
        }
    }
}

fn run(args: &CampaignRunArgs, verbosity: Verbosity) -> Result<(), Fault> {
    // Clap requires the file if there is no subcommand.
    let file = args.file.as_deref().ok_or_else(|| Fault::input("FILE.yaml: name a campaign"))?;
    let shard = shard(args)?;
    let (plan, folder) = open(file, args.out.as_deref())?;
    let rows = missing(args, shard, &plan, &folder)?;
    let stop = interrupt::watch()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = args.workers.unwrap_or(cores);
    let program = std::env::current_exe().map_err(|e| Fault::run(format!("this program is not found: {e}")))?;
    let command = |row: &Row, figures: &Path| {
        let mut command = Command::new(&program);
        command.arg("run").args(plan.arguments(row)).args(ALONE).arg("--figures").arg(figures).arg("--quiet");
        // All rows together use as many threads as there are cores; results are the same for any number.
        if std::env::var_os(THREADS).is_none() {
            command.env(THREADS, (cores / workers).max(1).to_string());
        }
        command
    };
    let of_shard = if shard.is_whole() { String::new() } else { format!(", shard {shard}") };
    verbosity.note(format_args!(
        "{} · {} rows to run of {}{of_shard}",
        plan.spec().name,
        rows.len(),
        plan.rows().len()
    ));
    let work = Work::begin(verbosity, plan.spec().name.clone(), rows.len() as u64);
    let reported = |record: &Record| {
        work.step();
        if record.status == Status::Failed {
            verbosity.note(format_args!(
                "row {}: failed: {}",
                record.row,
                record.reason.as_deref().unwrap_or_default()
            ));
        }
    };
    let pool = Pool { workers, limit: Duration::from_secs_f64(plan.spec().wall_limit_s), stop: &stop };
    run_all(&pool, &folder, &rows, command, reported).map_err(Fault::run)?;
    drop(work);
    if interrupt::requested(&stop) {
        return Err(Fault::run("stopped by hand: the same command goes on with the rows that are missing"));
    }
    if shard.is_whole() && args.only.is_none() { collect(&plan, &folder) } else { Ok(()) }
}

/// The shard of the command line, else that of the environment, else all rows.
fn shard(args: &CampaignRunArgs) -> Result<Shard, Fault> {
    if args.only.is_some() {
        return Ok(Shard::WHOLE);
    }
    let of_environment = || Shard::of_environment(|name| std::env::var(name).ok()).map_err(Fault::input);
    args.shard.map_or_else(|| Ok(of_environment()?.unwrap_or(Shard::WHOLE)), Ok)
}

fn open(file: &Path, out: Option<&Path>) -> Result<(Plan, Folder), Fault> {
    let plan = Plan::load(file).map_err(Fault::input)?;
    let name = file.file_stem().unwrap_or_default();
    let out = out.map_or_else(|| Path::new("out").join(name), PathBuf::from);
    places::check_folder("--out", &out)?;
    let folder = Folder::open(&out).map_err(Fault::input)?;
    outputs(&folder)?;
    Ok((plan, folder))
}

/// The tables and the chart of a campaign; refuses those that could not be written.
fn outputs(folder: &Folder) -> Result<[PathBuf; 3], Fault> {
    let files = ["csv", "parquet", "png"].map(|ending| folder.path().join(format!("campaign.{ending}")));
    for (file, kind) in files.iter().zip([&CSV, &PARQUET, &PNG]) {
        places::check_writable("--out", file, kind)?;
    }
    Ok(files)
}

/// The selected rows that have no result yet; with `--retry-failed` also those that failed.
fn missing<'a>(args: &CampaignRunArgs, shard: Shard, plan: &'a Plan, folder: &Folder) -> Result<Vec<&'a Row>, Fault> {
    if let Some(only) = args.only.filter(|only| *only >= plan.rows().len()) {
        return Err(Fault::input(format!("--only {only}: must be 0 to {}", plan.rows().len() - 1)));
    }
    let requested = |row: &&Row| args.only.map_or_else(|| shard.has(row.row), |only| row.row == only);
    let mut missing = Vec::new();
    for row in plan.rows().iter().filter(requested) {
        let record = folder.record(row).map_err(Fault::input)?;
        if record.is_none_or(|record| record.status == Status::Failed && args.retry_failed) {
            missing.push(row);
        }
    }
    Ok(missing)
}

/// A row and the arguments that run it by hand, as JSON.
fn planned(plan: &Plan, row: &Row) -> serde_json::Value {
    json!({"row": row.row, "scenario": row.scenario, "seed": row.seed, "set": row.set, "run": plan.arguments(row)})
}

/// Writes the tables and the chart of all rows; fails if a row failed.
fn collect(plan: &Plan, folder: &Folder) -> Result<(), Fault> {
    let records = folder.records(plan).map_err(Fault::input)?;
    let table = ResultTable::of(plan, &records);
    let [csv, parquet, picture] = outputs(folder)?;
    output::write_bytes(&csv, &CSV, table.csv().as_bytes()).map_err(Fault::run)?;
    let bytes = table.parquet().map_err(|error| Fault::run(CampaignError::from(error)))?;
    output::write_bytes(&parquet, &PARQUET, &bytes).map_err(Fault::run)?;
    chart(plan, &table).save(&picture).map_err(Fault::run)?;
    let count = |status| records.iter().flatten().filter(|record| record.status == status).count();
    let (done, failed) = (count(Status::Done), count(Status::Failed));
    let missing = records.len() - done - failed;
    print_line(format_args!("  rows              {done} done, {failed} failed, {missing} not run"));
    for file in [csv, parquet, picture] {
        print_line(format_args!("  table             {}", places::whole(&file).display()));
    }
    if failed > 0 {
        return Err(Fault::run(format!("{failed} rows failed: their reasons are in the table")));
    }
    Ok(())
}
