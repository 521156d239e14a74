//! `selene study convoy`: drives convoys of trucks between obstacles.

use selene_base::output::{self, CSV, PNG};
use selene_sim::LoadOptions;
use selene_studies::convoy::{
    COURSES, ConvoyCourse, Follower, Policy, Terrain, TruckResult, chart, csv, drive, judge, scenario, table,
};

use crate::args::{StudyConvoyArgs, TerrainArg};
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// Drives the convoys, prints the figures, and writes table and chart.
pub(super) fn study(args: &StudyConvoyArgs, verbosity: Verbosity) -> Result<(), Fault> {
    places::check_folder("--out", &args.out)?;
    let [rows, picture] = ["convoy.csv", "convoy.png"].map(|name| args.out.join(name));
    places::check_writable("--out", &rows, &CSV)?;
    places::check_writable("--out", &picture, &PNG)?;
    let learned = |file: &std::path::PathBuf| Policy::load(file).map(|policy| Follower::Learned(Box::new(policy)));
    let learned = args.weights.as_ref().map(learned).transpose().map_err(Fault::input)?;
    let followers: Vec<Follower> = std::iter::once(Follower::Plain).chain(learned).collect();
    let options = LoadOptions { configuration: places::config_dirs(), ..LoadOptions::default() };
    let count = if args.full { COURSES } else { args.courses };
    let each = if args.courses_only { 1 } else { followers.len() };
    let work = Work::begin(verbosity, "convoys", count * (terrains(args).len() * each) as u64);
    let mut judged: Vec<TruckResult> = Vec::new();
    for number in args.first..args.first + count {
        let course = ConvoyCourse::draw(args.seed, number).map_err(Fault::run)?;
        let (length_m, obstacles) = (course.path.length_m(), course.obstacles.len());
        work.note(format_args!("course {number}: a path of {length_m:.1} m between {obstacles} obstacles"));
        for terrain in terrains(args) {
            if args.courses_only {
                let file = scenario(&course, terrain, true, &args.out, &options).map_err(Fault::run)?;
                work.note(places::whole(&file).display());
                work.step();
                continue;
            }
            for follower in &followers {
                let driven = drive(&course, terrain, follower, &args.out, &options).map_err(Fault::run)?;
                judged.extend(judge(number, terrain, follower, &driven));
                work.note(format_args!("  {}, {}: hash {:016x}", terrain.name(), follower.name(), driven.state_hash));
                work.step();
            }
        }
    }
    drop(work);
    if args.courses_only {
        return Ok(());
    }
    print_line(table(&judged));
    output::write_bytes(&rows, &CSV, csv(&judged).as_bytes()).map_err(Fault::run)?;
    chart(&judged).save(&picture).map_err(Fault::run)?;
    [rows, picture].iter().for_each(|file| verbosity.wrote(file));
    Ok(())
}

fn terrains(args: &StudyConvoyArgs) -> Vec<Terrain> {
    let of = |arg: &TerrainArg| match arg {
        TerrainArg::Rigid => Terrain::Rigid,
        TerrainArg::Hard => Terrain::Hard,
        TerrainArg::Soft => Terrain::Soft,
    };
    if args.terrain.is_empty() { Terrain::ALL.to_vec() } else { args.terrain.iter().map(of).collect() }
}
