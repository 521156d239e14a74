//! Ground without end: how fast a fresh piece is made and asked for its heights, and a drive
//! of 5 km over 20 × 20 km with posts of 1 cm under the wheels: what memory it takes, and the
//! longest that a heartbeat waits for ground. EX1 drives it straight ahead at 1 m/s over low relief
//! (who met a rock would not come far) on its data-driven soil, in steps of 2 ms, at twenty
//! times real time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selene_base::input::load_yaml;
use selene_base::random::{self, RngExt};
use selene_sim::World;
use selene_soil::{Soils, SoilsSpec};
use selene_terrain::{Ground, Landscape, LevelSpec, SiteSpec, Surroundings};
use selene_vehicle::RoverModel;

use super::{hour, physics};
use crate::args::WorldArgs;
use crate::fault::Fault;
use crate::places;

/// A fresh piece of 256 m: spacing and side of its levels, m.
const PIECE_M: [(f64, f64); 3] = [(0.02, 61.44), (0.16, 163.84), (1.28, 256.0)];
/// A site of 20 km with posts of 1 cm near the wheels.
const SITE_M: [(f64, f64); 4] = [(0.01, 20.48), (0.08, 163.84), (0.64, 1310.72), (5.12, 20_971.52)];
/// Steps of the windows away from the origin: nothing was made there.
const FAR: [i32; 2] = [40, -25];
const QUERIES: usize = 8_000_000;
const DRIVE_M: f64 = 5000.0;
const SPEED_M_S: f64 = 1.0;
/// Simulated time over wall time: the ground is asked to come twenty times as fast as it would have to.
const PACE: f64 = 20.0;

/// What the drive came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    /// Memory of the process at the end.
    pub(super) memory_bytes: f64,
    /// The longest heartbeat that went to other windows.
    pub(super) stall_s: f64,
}

/// Wall time of a fresh piece of 256 m, 2 cm near and coarser far, rocks included.
pub(super) fn tile_256m_s() -> Result<f64, Fault> {
    let surroundings = Surroundings::of(landscape("polar", &PIECE_M)?);
    let begun = Instant::now();
    let _piece = surroundings.vicinity(FAR);
    Ok(begun.elapsed().as_secs_f64())
}

/// Heights with normals a second, on one thread, at random places of the detailed ground.
pub(super) fn height_queries_per_s() -> Result<f64, Fault> {
    let scenario = places::load_scenario(None, &WorldArgs::default())?;
    let ground = scenario.generate_ground().map_err(Fault::input)?;
    let half_m = 0.45 * ground.finest().side_m();
    let mut random = random::stream(1, "bench/heights");
    let places: Vec<[f64; 2]> =
        (0..QUERIES).map(|_| [random.random_range(-half_m..half_m), random.random_range(-half_m..half_m)]).collect();
    let begun = Instant::now();
    let mut sum = 0.0;
    for [x, y] in places {
        sum += ground.height_m(x, y).unwrap_or(f64::NAN) + ground.normal(x, y).map_or(f64::NAN, |normal| normal.z);
    }
    let seconds = begun.elapsed().as_secs_f64();
    if sum.is_finite() { Ok(QUERIES as f64 / seconds) } else { Err(Fault::run("a place on the site has no height")) }
}

/// Drives 5 km.
pub(super) fn drive() -> Result<Drive, Fault> {
    let mut scenario = physics::coarse_scenario()?.as_ref().clone();
    scenario.soils = soils()?;
    scenario.rover = rover()?;
    scenario.site = site("test_yard", &SITE_M)?;
    let ground = Ground::around_origin(Arc::new(Surroundings::of(landscape("test_yard", &SITE_M)?)));
    let mut world = World::new(Arc::new(scenario), ground).map_err(Fault::run)?;
    let mut driven_m = 0.0;
    let mut stall_s = 0.0_f64;
    let mut before = world.first_snapshot();
    let started = Instant::now();
    while driven_m < DRIVE_M {
        physics::drive(&mut world, SPEED_M_S, 0.0);
        let begun = Instant::now();
        let state = world.heartbeat().map_err(Fault::run)?;
        if state.place != before.place {
            stall_s = stall_s.max(begun.elapsed().as_secs_f64());
        }
        driven_m +=
            (state.world_from_base().translation.vector - before.world_from_base().translation.vector).xy().norm();
        let ahead_s = state.time.secs_f64() / PACE - started.elapsed().as_secs_f64();
        if ahead_s > 0.0 {
            std::thread::sleep(Duration::from_secs_f64(ahead_s));
        }
        before = state;
    }
    Ok(Drive { memory_bytes: hour::resident_bytes() as f64, stall_s })
}

fn rover() -> Result<Arc<RoverModel>, Fault> {
    let file = places::config_dir()?.join("rover/ex1.yaml");
    RoverModel::load(&file).map(Arc::new).map_err(Fault::input)
}

fn soils() -> Result<Soils, Fault> {
    let file = places::config_dir()?.join("soil/tohoku_silica5_ex1.yaml");
    Soils::load(&SoilsSpec::uniform(file), Path::new(""), 1).map_err(Fault::input)
}

/// A site of config/ with other levels.
fn site(name: &str, levels: &[(f64, f64)]) -> Result<SiteSpec, Fault> {
    let file = places::config_dir()?.join("site").join(format!("{name}.yaml"));
    let site: SiteSpec = load_yaml(&file).map_err(Fault::input)?;
    let levels = levels.iter().map(|&(spacing_m, side_m)| LevelSpec { spacing_m, side_m }).collect();
    Ok(SiteSpec { levels, ..site })
}

fn landscape(name: &str, levels: &[(f64, f64)]) -> Result<Landscape, Fault> {
    Landscape::new(site(name, levels)?, Path::new(name), None, 1).map_err(Fault::input)
}
