//! `selene campaign`: many runs, one table.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use selene_base::output::{self, CSV, FileKind, PNG};
use selene_campaign::{CampaignError, Folder, Plan, Pool, Record, Row, Shard, Status, Table, chart, run_all};
use serde_json::json;

use crate::args::{CampaignArgs, CampaignCommand, CampaignRunArgs};
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::telling::Telling;
use crate::{interrupt, places};

/// A table by columns.
const PARQUET: FileKind = FileKind { name: "Parquet table", is: |head| head.starts_with(b"PAR1") };
/// How many threads a row computes with.
const THREADS: &str = "RAYON_NUM_THREADS";
/// What every row is run with: the world alone, as fast as it goes, and nothing but its figures.
const ALONE: [&str; 7] = ["--no-dds", "--no-sensors", "--no-pictures", "--pace", "fast", "--device", "cpu"];

/// Runs a campaign, or does with it what was typed.
pub(crate) fn campaign(args: &CampaignArgs, telling: Telling) -> Result<(), Fault> {
    match &args.command {
        None => run(&args.run, telling),
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

fn run(args: &CampaignRunArgs, telling: Telling) -> Result<(), Fault> {
    // Clap asks for it where no command is given.
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
        // As many threads in all as there are cores; results are the same for any number.
        if std::env::var_os(THREADS).is_none() {
            command.env(THREADS, (cores / workers).max(1).to_string());
        }
        command
    };
    let of_shard = if shard.is_whole() { String::new() } else { format!(", shard {shard}") };
    telling.note(format_args!("{} · {} rows to run of {}{of_shard}", plan.spec().name, rows.len(), plan.rows().len()));
    let work = Work::begin(telling, plan.spec().name.clone(), rows.len() as u64);
    let told = |record: &Record| {
        work.step();
        if record.status == Status::Failed {
            telling.note(format_args!("row {}: failed: {}", record.row, record.reason.as_deref().unwrap_or_default()));
        }
    };
    let pool = Pool { workers, limit: Duration::from_secs_f64(plan.spec().wall_limit_s), stop: &stop };
    run_all(&pool, &folder, &rows, command, told).map_err(Fault::run)?;
    drop(work);
    if interrupt::asked(&stop) {
        return Err(Fault::run("stopped by hand: the same command goes on with the rows that are missing"));
    }
    if shard.is_whole() && args.only.is_none() { collect(&plan, &folder) } else { Ok(()) }
}

/// The shard that is typed, else the environment's, else all.
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
    Ok((plan, folder))
}

/// Rows that are asked for and that nothing came of yet, or nothing good where failed rows are asked for too.
fn missing<'a>(args: &CampaignRunArgs, shard: Shard, plan: &'a Plan, folder: &Folder) -> Result<Vec<&'a Row>, Fault> {
    if let Some(only) = args.only.filter(|only| *only >= plan.rows().len()) {
        return Err(Fault::input(format!("--only {only}: must be 0 to {}", plan.rows().len() - 1)));
    }
    let asked = |row: &&Row| args.only.map_or_else(|| shard.has(row.row), |only| row.row == only);
    let mut missing = Vec::new();
    for row in plan.rows().iter().filter(asked) {
        let record = folder.record(row).map_err(Fault::input)?;
        if record.is_none_or(|record| record.status == Status::Failed && args.retry_failed) {
            missing.push(row);
        }
    }
    Ok(missing)
}

/// A row and the command that runs it by hand, as JSON.
fn planned(plan: &Plan, row: &Row) -> serde_json::Value {
    json!({"row": row.row, "scenario": row.scenario, "seed": row.seed, "set": row.set, "run": plan.arguments(row)})
}

/// Writes table and chart of all rows.
fn collect(plan: &Plan, folder: &Folder) -> Result<(), Fault> {
    let records = folder.records(plan).map_err(Fault::input)?;
    let table = Table::of(plan, &records);
    let [csv, parquet, picture] =
        ["csv", "parquet", "png"].map(|ending| folder.path().join(format!("campaign.{ending}")));
    places::check_writable("--out", &picture, &PNG)?;
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
