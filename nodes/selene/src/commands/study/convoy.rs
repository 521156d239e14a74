//! `selene study convoy`: drives convoys of trucks between obstacles.

use rayon::prelude::*;
use selene_base::output::{self, CSV, PNG};
use selene_sim::LoadOptions;
use selene_studies::convoy::{
    COURSES, ConvoyCourse, CourseGround, Follower, Policy, TruckResult, chart, csv, drive, judge, scenario, table,
};

use crate::args::{DriverArg, StudyConvoyArgs, TerrainArg};
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// The weights of the learned follower that is shipped.
const WEIGHTS: &str = "network/convoy_follower.safetensors";

/// Drives the convoys, prints the figures, and writes table and chart.
pub(super) fn study(args: &StudyConvoyArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let drivers = chosen([DriverArg::Plain, DriverArg::Learned], &args.driver);
    if let Some(file) = args.weights.as_ref().filter(|_| !drivers.contains(&DriverArg::Learned)) {
        return Err(Fault::input(format!("--weights {}: is for --driver learned", file.display())));
    }
    places::check_folder("--out", &args.out)?;
    let [rows, picture] = ["convoy.csv", "convoy.png"].map(|name| args.out.join(name));
    places::check_writable("--out", &rows, &CSV)?;
    places::check_writable("--out", &picture, &PNG)?;
    let followers = if args.courses_only { Vec::new() } else { followers(args, &drivers)? };
    let options = LoadOptions { configuration: places::config_dirs(), ..LoadOptions::default() };
    let count = if args.full { COURSES } else { args.courses };
    let terrains = terrains(args);
    let work = Work::begin(verbosity, "convoys", count * (terrains.len() * followers.len().max(1)) as u64);
    let plan = Plan { args, followers, terrains, options, work };
    // Courses are driven in parallel; the results keep their order.
    let numbers = (args.first..args.first + count).into_par_iter();
    let judged = numbers.map(|number| plan.course(number)).collect::<Result<Vec<_>, _>>()?.concat();
    drop(plan);
    if args.courses_only {
        return Ok(());
    }
    print_line(table(&judged));
    output::write_bytes(&rows, &CSV, csv(&judged).as_bytes()).map_err(Fault::run)?;
    chart(&judged).save(&picture).map_err(Fault::run)?;
    [rows, picture].iter().for_each(|file| verbosity.wrote(file));
    Ok(())
}

/// What is driven on each course.
struct Plan<'a> {
    args: &'a StudyConvoyArgs,
    followers: Vec<Follower>,
    terrains: Vec<CourseGround>,
    options: LoadOptions,
    work: Work,
}

impl Plan<'_> {
    /// Drives a course on each terrain with each driver of the followers, or only writes its scenarios.
    fn course(&self, number: u64) -> Result<Vec<TruckResult>, Fault> {
        let Self { args, options, work, .. } = self;
        let course = ConvoyCourse::draw(args.seed, number).map_err(Fault::run)?;
        let (length_m, obstacles) = (course.path.length_m(), course.obstacles.len());
        work.note(format_args!("course {number}: a path of {length_m:.1} m between {obstacles} obstacles"));
        let mut judged = Vec::new();
        for terrain in self.terrains.iter().copied() {
            if args.courses_only {
                let file = scenario(&course, terrain, &args.out, options).map_err(Fault::run)?;
                work.note(places::whole(&file).display());
                work.step();
            }
            for follower in &self.followers {
                let driven = drive(&course, terrain, follower, &args.out, options).map_err(Fault::run)?;
                judged.extend(judge(number, terrain, follower, &driven));
                let (terrain, driver, hash) = (terrain.name(), follower.name(), driven.state_hash);
                work.note(format_args!("  course {number}, {terrain}, {driver}: hash {hash:016x}"));
                work.step();
            }
        }
        Ok(judged)
    }
}

/// The drivers of the followers.
fn followers(args: &StudyConvoyArgs, drivers: &[DriverArg]) -> Result<Vec<Follower>, Fault> {
    let learned = || {
        let file = args.weights.clone().map_or_else(|| places::config_file(WEIGHTS), Ok)?;
        Ok(Follower::Learned(Box::new(Policy::load(&file).map_err(Fault::input)?)))
    };
    let of = |arg: &DriverArg| match arg {
        DriverArg::Plain => Ok(Follower::Plain),
        DriverArg::Learned => learned(),
    };
    drivers.iter().map(of).collect()
}

fn terrains(args: &StudyConvoyArgs) -> Vec<CourseGround> {
    let of = |arg| match arg {
        TerrainArg::Rigid => CourseGround::Rigid,
        TerrainArg::Hard => CourseGround::Hard,
        TerrainArg::Soft => CourseGround::Soft,
    };
    let all = [TerrainArg::Rigid, TerrainArg::Hard, TerrainArg::Soft];
    chosen(all, &args.terrain).into_iter().map(of).collect()
}

/// Those of `all` that are named, each once, or all if none is.
fn chosen<T: PartialEq>(all: impl IntoIterator<Item = T>, named: &[T]) -> Vec<T> {
    all.into_iter().filter(|of| named.is_empty() || named.contains(of)).collect()
}
