//! Physics alone, without sensors or transport: VIPER along the default scenario's route on nodes of 2 and 1 cm,
//! Curiosity among loose rocks, many VIPERs on one core, VIPER with thrown dust.

use std::sync::Arc;
use std::time::Instant;

use selene_base::SimTime;
use selene_sim::{Command, EntityId, Model, Scenario, Start, World};
use selene_soil::{Dust, DustSpec, Law, Soils};
use selene_terrain::{Clipmap, Level, Terrain};
use selene_vehicle::BodyTwist;

use crate::BenchError;
use crate::setting::Setting;

const DURATION: SimTime = SimTime::from_nanos(10_000_000_000);
/// Long enough for Curiosity to reach the rocks.
const ROCKS_DURATION: SimTime = SimTime::from_nanos(30_000_000_000);
/// Side of the ground that is resampled, m: the first 10 s of the route with a margin.
const FINE_SIDE_M: f64 = 16.0;
/// Number of runs of each of two worlds that are compared.
const RUNS_EACH: usize = 3;
/// Number of VIPERs that are stepped in turn, each on its own ground.
const VEHICLES: usize = 24;
const VEHICLES_DURATION: SimTime = SimTime::from_nanos(10_000_000_000);
/// Number of runs with dust and without, alternating; the fastest of each counts.
const DUST_RUNS: usize = 3;
/// Coarse physics: distance between nodes, m, step and heartbeat.
const COARSE_GRID_M: f64 = 0.05;
const COARSE_STEP: SimTime = SimTime::from_nanos(2_000_000);
const COARSE_HEARTBEAT: SimTime = SimTime::from_nanos(10_000_000);
/// Id of the rover in a scenario with only one.
pub(crate) const ROVER: EntityId = EntityId(1);

/// Wall time over simulated time of the default scenario, whose nodes are 2 cm apart.
pub(crate) fn wall_over_simulated(setting: &Setting) -> Result<f64, BenchError> {
    run(start(setting.scenario("polar")?)?, DURATION)
}

/// The same with nodes 1 cm apart: the same surface, resampled around the start.
pub(crate) fn fine_wall_over_simulated(setting: &Setting) -> Result<f64, BenchError> {
    const SPACING_M: f64 = 0.01;
    let scenario = setting.scenario("polar")?;
    let coarse = Clipmap::at(&Arc::new(scenario.terrain().map_err(BenchError::new)?), [0, 0]);
    let Start { x_m, y_m, .. } = scenario.rovers[0].start;
    let origin_m = [x_m, y_m].map(|at| at - 0.5 * FINE_SIDE_M);
    let posts = (FINE_SIDE_M / SPACING_M) as usize + 1;
    let finest = Level::sample(origin_m, SPACING_M, posts, |x, y| coarse.height_m(x, y).unwrap_or(0.0));
    let terrain = Terrain::of_level(finest, coarse.rocks().to_vec(), coarse.rock_shapes().to_vec());
    run(start_on(scenario, terrain)?, DURATION)
}

/// Wall time of the default scenario on `lunar_flow`, soil that moves aside, relative to the same soil without that:
/// the fastest of several runs of each.
pub(crate) fn bulldozing_over_without(setting: &Setting) -> Result<f64, BenchError> {
    let mut quickest = [f64::INFINITY; 2];
    for _ in 0..RUNS_EACH {
        for (factor, soil) in quickest.iter_mut().zip(["lunar_flow", "lunar"]) {
            let mut scenario = setting.scenario("polar")?;
            scenario.soils = setting.soils(soil)?;
            *factor = factor.min(run(start(scenario)?, DURATION)?);
        }
    }
    Ok(quickest[0] / quickest[1])
}

/// Wall time over simulated time of Curiosity among six loose rocks.
pub(crate) fn rocks_wall_over_simulated(setting: &Setting) -> Result<f64, BenchError> {
    run(start(setting.scenario("curiosity_rocks")?)?, ROCKS_DURATION)
}

/// Fraction by which the default scenario takes longer if wheels throw dust.
pub(crate) fn dust_overhead(setting: &Setting) -> Result<f64, BenchError> {
    let dust = Dust::from(&DustSpec::default());
    let mut fastest = [f64::INFINITY; 2];
    for _ in 0..DUST_RUNS {
        for (fastest, dust) in fastest.iter_mut().zip([None, Some(dust)]) {
            let mut scenario = setting.scenario("polar")?;
            scenario.soils = with_dust(&scenario.soils, dust)?;
            *fastest = fastest.min(run(start(scenario)?, DURATION)?);
        }
    }
    Ok(fastest[1] / fastest[0] - 1.0)
}

/// The soil at VIPER's start, used everywhere, with or without dust.
fn with_dust(soils: &Soils, dust: Option<Dust>) -> Result<Soils, BenchError> {
    match soils.at(0.0, 0.0) {
        Law::Scm(scm) => Ok(Soils::uniform(Law::Scm(scm.with_dust(dust)))),
        Law::Data(_) | Law::Rigid(_) | Law::SlipMap(_) => {
            Err(BenchError::new("the default scenario's soil is not SCM"))
        }
    }
}

/// Number of VIPERs that one core can step in real time. Many are stepped on one thread, a heartbeat each in turn, so
/// that they evict one another from the caches as in practice.
pub(crate) fn vehicles_per_core(setting: &Setting) -> Result<f64, BenchError> {
    let scenario = coarse_scenario(setting)?;
    let world = |_| start_on(scenario.clone(), coarse_ground(20.0));
    let mut worlds: Vec<World> = (0..VEHICLES).map(world).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    while worlds[0].time() < VEHICLES_DURATION {
        for (i, world) in worlds.iter_mut().enumerate() {
            drive(world, ROVER, 0.15, 0.01 * (i % 7) as f64)?;
            world.heartbeat().map_err(BenchError::new)?;
        }
    }
    Ok(VEHICLES as f64 * VEHICLES_DURATION.secs_f64() / begun.elapsed().as_secs_f64())
}

/// The default scenario in steps of 2 ms, for ground with nodes of 5 cm.
pub(crate) fn coarse_scenario(setting: &Setting) -> Result<Scenario, BenchError> {
    let mut scenario = setting.scenario("polar")?;
    scenario.rovers[0].start = Start::default();
    (scenario.step, scenario.heartbeat) = (COARSE_STEP, COARSE_HEARTBEAT);
    Ok(scenario)
}

/// Level ground for [`coarse_scenario`], at a height other than zero: the system provides memory of zeros only when it
/// is first written, which would look like growth.
pub(crate) fn coarse_ground(side_m: f64) -> Terrain {
    let posts = (side_m / COARSE_GRID_M) as usize + 1;
    let level = Level::sample([-0.5 * side_m; 2], COARSE_GRID_M, posts, |_, _| 1.0);
    Terrain::of_level(level, Vec::new(), Vec::new())
}

/// Starts the world of a scenario on its own ground.
pub(crate) fn start(scenario: Scenario) -> Result<World, BenchError> {
    World::new(Arc::new(scenario)).map_err(BenchError::new)
}

/// Starts the world of a scenario on another ground.
pub(crate) fn start_on(scenario: Scenario, terrain: Terrain) -> Result<World, BenchError> {
    let model = Model::on(Arc::new(scenario), terrain).map_err(BenchError::new)?;
    World::begin(Arc::new(model), None).map_err(BenchError::new)
}

/// Commands a forward speed and a turn rate to the left.
pub(crate) fn drive(world: &mut World, rover: EntityId, forward_m_s: f64, turn_rad_s: f64) -> Result<(), BenchError> {
    let twist = BodyTwist { forward_m_s, left_m_s: 0.0, turn_rad_s };
    world.drive(rover, Command::Body(twist)).map_err(BenchError::new)
}

/// Wall time over simulated time of a run.
pub(crate) fn run(mut world: World, duration: SimTime) -> Result<f64, BenchError> {
    let begun = Instant::now();
    while world.time() < duration {
        world.heartbeat().map_err(BenchError::new)?;
    }
    Ok(begun.elapsed().as_secs_f64() / world.time().secs_f64())
}
