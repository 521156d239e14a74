//! `selene hash`: the hash of the world's state after some simulated time, the
//! built-in drivers following their routes.

use selene_base::SimTime;
use selene_sim::World;

use crate::args::HashArgs;
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::telling::Telling;

/// Prints the hash.
pub(crate) fn hash(args: &HashArgs, telling: Telling) -> Result<(), Fault> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = args.threads {
        pool = pool.num_threads(threads);
    }
    let pool = pool.build().map_err(|e| Fault::run(format!("--threads: the threads cannot be started: {e}")))?;
    let hash = pool.install(|| hash_of(args, telling))?;
    print_line(format_args!("{hash:016x}"));
    Ok(())
}

fn hash_of(args: &HashArgs, telling: Telling) -> Result<u64, Fault> {
    let model = places::load_model(Some(&args.scenario), &args.world)?;
    let driven = places::load_ruts(args.ruts.as_deref(), &model)?;
    let mut world = World::begin(model, driven.as_ref()).map_err(Fault::run)?;
    let work = Work::begin(telling, "simulated time", millis(args.duration));
    while world.time() < args.duration {
        world.heartbeat().map_err(Fault::run)?;
        work.reached(millis(world.time()));
    }
    drop(work);
    Ok(world.hash())
}

/// As steps of a bar.
fn millis(time: SimTime) -> u64 {
    u64::try_from(time.nanos() / 1_000_000).unwrap_or(0)
}
