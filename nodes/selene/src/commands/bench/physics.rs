//! VIPER on SCM soil, physics alone: the default scenario's world stepped along its
//! route, without sensors or transport.

use std::time::Instant;

use selene_base::SimTime;
use selene_sim::World;

use crate::args::WorldArgs;
use crate::fault::Fault;
use crate::places;

const DURATION: SimTime = SimTime::from_nanos(10_000_000_000);

/// Wall time over simulated time.
pub(super) fn real_time_factor() -> Result<f64, Fault> {
    let scenario = places::load_scenario(None, &WorldArgs::default())?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    let mut world = World::new(scenario, ground).map_err(Fault::run)?;
    let begun = Instant::now();
    while world.time() < DURATION {
        world.heartbeat().map_err(Fault::run)?;
    }
    Ok(begun.elapsed().as_secs_f64() / world.time().secs_f64())
}
