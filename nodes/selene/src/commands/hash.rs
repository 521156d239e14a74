//! `selene hash`: prints the hash of the world's state after some simulated time, in which the built-in drivers follow
//! their routes.

use selene_base::SimTime;
use selene_sim::World;

use crate::args::HashArgs;
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// Computes and prints the hash.
pub(crate) fn hash(args: &HashArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = args.threads {
        pool = pool.num_threads(threads);
    }
    let pool = pool.build().map_err(|e| Fault::run(format!("--threads: the threads cannot be started: {e}")))?;
    let hash = pool.install(|| hash_of(args, verbosity))?;
    print_line(format_args!("{hash:016x}"));
    Ok(())
}

fn hash_of(args: &HashArgs, verbosity: Verbosity) -> Result<u64, Fault> {
    let model = places::load_model(Some(&args.scenario), &args.world, args.granular.soil_device)?;
    let driven = places::load_ruts(args.ruts.as_deref(), &model)?;
    let mut world = World::begin(model, driven.as_ref()).map_err(Fault::run)?;
    let work = Work::begin(verbosity, "simulated time", millis(args.duration));
    while world.time() < args.duration {
        world.heartbeat().map_err(Fault::run)?;
        work.reached(millis(world.time()));
    }
    drop(work);
    world.hash().map_err(Fault::run)
}

/// Whole milliseconds, the steps of the bar.
fn millis(time: SimTime) -> u64 {
    u64::try_from(time.nanos() / 1_000_000).unwrap_or(0)
}
