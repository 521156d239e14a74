//! Physics alone, without sensors or transport: VIPER along the default scenario's route
//! on nodes of 2 and 1 cm, Curiosity among loose rocks, many VIPERs on one core.

use std::sync::Arc;
use std::time::Instant;

use selene_base::SimTime;
use selene_sim::{Command, Scenario, World};
use selene_terrain::{Ground, Level};
use selene_vehicle::BodyTwist;

use crate::args::WorldArgs;
use crate::fault::Fault;
use crate::places;

const DURATION: SimTime = SimTime::from_nanos(10_000_000_000);
/// Long enough for Curiosity to meet the rocks.
const ROCKS_DURATION: SimTime = SimTime::from_nanos(30_000_000_000);
/// Side of the ground that is resampled finer, m: the route's first 10 s and a border.
const FINE_SIDE_M: f64 = 16.0;
/// VIPERs that are stepped one after the other, each on ground of its own.
const VEHICLES: usize = 24;
const VEHICLES_DURATION: SimTime = SimTime::from_nanos(10_000_000_000);
/// Grid of coarse physics, m, and its step and heartbeat.
const COARSE_GRID_M: f64 = 0.05;
const COARSE_STEP: SimTime = SimTime::from_nanos(2_000_000);
const COARSE_HEARTBEAT: SimTime = SimTime::from_nanos(10_000_000);

/// Wall time over simulated time of the default scenario's world, whose nodes are 2 cm
/// apart.
pub(super) fn real_time_factor() -> Result<f64, Fault> {
    let scenario = places::load_scenario(None, &WorldArgs::default())?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    run(World::new(scenario, ground).map_err(Fault::run)?, DURATION)
}

/// The same on nodes 1 cm apart: the same surface, resampled around the start.
pub(super) fn fine_real_time_factor() -> Result<f64, Fault> {
    const SPACING_M: f64 = 0.01;
    let scenario = places::load_scenario(None, &WorldArgs::default())?;
    let coarse = scenario.generate_ground().map_err(Fault::input)?;
    let origin_m = [scenario.start[0], scenario.start[1]].map(|at| at - 0.5 * FINE_SIDE_M);
    let posts = (FINE_SIDE_M / SPACING_M) as usize + 1;
    let finest = Level::sample(origin_m, SPACING_M, posts, |x, y| coarse.height_m(x, y).unwrap_or(0.0));
    let levels = std::iter::once(finest).chain(coarse.levels().cloned()).collect();
    let ground = Ground::new(levels, coarse.rocks().to_vec(), coarse.rock_shapes().to_vec());
    run(World::new(scenario, ground).map_err(Fault::run)?, DURATION)
}

/// Wall time over simulated time of Curiosity among six loose rocks.
pub(super) fn rocks_real_time_factor() -> Result<f64, Fault> {
    let file = places::scenario_file("curiosity_rocks")?;
    let scenario = places::load_scenario(Some(&file), &WorldArgs::default())?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    run(World::new(scenario, ground).map_err(Fault::run)?, ROCKS_DURATION)
}

/// How many VIPERs one core steps in real time: so many are stepped on one thread, a
/// heartbeat each in turn, so that they push one another out of the caches as they would.
pub(super) fn vehicles_per_core() -> Result<f64, Fault> {
    let scenario = coarse_scenario()?;
    let world = |_| World::new(Arc::clone(&scenario), Ground::flat(COARSE_GRID_M, 20.0)).map_err(Fault::run);
    let mut worlds: Vec<World> = (0..VEHICLES).map(world).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    while worlds[0].time() < VEHICLES_DURATION {
        for (i, world) in worlds.iter_mut().enumerate() {
            drive(world, 0.15, 0.01 * (i % 7) as f64);
            world.heartbeat().map_err(Fault::run)?;
        }
    }
    Ok(VEHICLES as f64 * VEHICLES_DURATION.secs_f64() / begun.elapsed().as_secs_f64())
}

/// The default scenario on flat ground with nodes of 5 cm, in steps of 2 ms.
pub(super) fn coarse_scenario() -> Result<Arc<Scenario>, Fault> {
    let world = WorldArgs { x: Some(0.0), y: Some(0.0), yaw: Some(0.0), ..WorldArgs::default() };
    let mut scenario = Scenario::clone(places::load_scenario(None, &world)?.as_ref());
    (scenario.step, scenario.heartbeat) = (COARSE_STEP, COARSE_HEARTBEAT);
    Ok(Arc::new(scenario))
}

/// Flat ground for [`coarse_scenario`].
pub(super) fn coarse_ground(side_m: f64) -> Ground {
    Ground::flat(COARSE_GRID_M, side_m)
}

/// Drives ahead and turns left.
pub(super) fn drive(world: &mut World, forward_m_s: f64, turn_rad_s: f64) {
    world.drive(Command::Body(BodyTwist { forward_m_s, left_m_s: 0.0, turn_rad_s }));
}

fn run(mut world: World, duration: SimTime) -> Result<f64, Fault> {
    let begun = Instant::now();
    while world.time() < duration {
        world.heartbeat().map_err(Fault::run)?;
    }
    Ok(begun.elapsed().as_secs_f64() / world.time().secs_f64())
}
