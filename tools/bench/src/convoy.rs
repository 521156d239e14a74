//! Many rovers in one world, and the cost of its state: copying, saving, resuming.

use std::sync::Arc;
use std::time::Instant;

use selene_base::SimTime;
use selene_observe::{Recorder, recall_span};
use selene_sim::{AllowedFolders, Checkpoint, EntityId, Fingerprint, RoverSetup, Scenario, Start, World};

use crate::BenchError;
use crate::hour::{median, resident_bytes};
use crate::physics::{ROVER, coarse_ground, coarse_scenario, drive, start, start_on};
use crate::setting::Setting;

/// Number of VIPERs in one world with nodes of 2 cm, and their distance at the start, m.
const TEN: usize = 10;
const APART_M: f64 = 12.0;
const TEN_DURATION: SimTime = SimTime::from_nanos(10_000_000_000);
/// Number of VIPERs in one world with nodes of 5 cm.
const SHARED: usize = 120;
const SHARED_APART_M: f64 = 8.0;
const SHARED_DURATION: SimTime = SimTime::from_nanos(10_000_000_000);
/// Distance after which a world is copied and its state saved, m, and the speed, m/s.
const WAY_M: f64 = 100.0;
const SPEED_M_S: f64 = 0.2;
/// Number of copies of a world whose time is measured.
const CLONES: usize = 20;
/// Copies whose memory is measured: number in a batch, number at most, and the growth of the process after which no
/// further batch is made, bytes.
const BATCH: usize = 100;
const HELD_MAX: usize = 4000;
const GROWN_BYTES: u64 = 64 << 20;

/// Costs of a world after 100 m: of its copies (`World::branch`) and of its state's files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateCosts {
    pub(crate) clone_s: f64,
    /// Memory that a copy adds before its first heartbeat; 0 where the system does not report it.
    pub(crate) clone_bytes: f64,
    /// A copy's first heartbeat, which makes its working memory.
    pub(crate) first_heartbeat_s: f64,
    pub(crate) checkpoint_s: f64,
    pub(crate) resume_s: f64,
}

/// Wall time over simulated time of ten VIPERs that drive side by side in one world, in steps of 0.5 ms.
pub(crate) fn ten_vipers(setting: &Setting) -> Result<f64, BenchError> {
    let mut scenario = setting.scenario("polar")?;
    scenario.site = setting.scenario("curiosity_rocks")?.site;
    spread(&mut scenario, TEN, APART_M);
    run(start(scenario)?, TEN_DURATION)
}

/// Number of VIPERs in one world that all cores can step in real time, extrapolated from the time for `SHARED` of them.
pub(crate) fn shared_vehicles(setting: &Setting) -> Result<f64, BenchError> {
    let mut scenario = coarse_scenario(setting)?;
    spread(&mut scenario, SHARED, SHARED_APART_M);
    let side_m = 2.0 * SHARED_APART_M * (SHARED as f64).sqrt() + 20.0;
    let factor = run(start_on(scenario, coarse_ground(side_m))?, SHARED_DURATION)?;
    Ok(SHARED as f64 / factor)
}

/// Costs of a world in which VIPER has driven 100 m.
pub(crate) fn state_costs(setting: &Setting) -> Result<StateCosts, BenchError> {
    let mut world = start(setting.scenario("polar")?)?;
    let mut recorder = Recorder::new(world.state().ruts.clone());
    let span = recall_span(world.model());
    while world.time().secs_f64() < WAY_M / SPEED_M_S {
        let turn_rad_s = 0.02 * (world.time().secs_f64() * 0.05).sin();
        drive(&mut world, ROVER, SPEED_M_S, turn_rad_s)?;
        recorder.push(Arc::new(world.heartbeat().map_err(BenchError::new)?), span);
    }
    let clone_bytes = clone_bytes(&world)?;
    let begun = Instant::now();
    let clones: Vec<World> = (0..CLONES).map(|_| world.branch()).collect::<Result<_, _>>().map_err(BenchError::new)?;
    let clone_s = begun.elapsed().as_secs_f64() / clones.len() as f64;
    let first_heartbeat_s = first_heartbeat_s(clones)?;
    let of = Fingerprint::of(world.scenario(), world.model().terrain());
    let file = std::env::temp_dir().join(format!("selene-bench-{}.state", std::process::id()));
    let begun = Instant::now();
    let checkpoint = Checkpoint { state: world.state().clone(), recent: recorder.recent() };
    checkpoint.save(&file, &of).map_err(BenchError::new)?;
    let checkpoint_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let Checkpoint { state, .. } = Checkpoint::load(&file, &of).map_err(BenchError::new)?;
    let resumed = World::resume(world.model(), state, &AllowedFolders::default()).map_err(BenchError::new)?;
    let resume_s = begun.elapsed().as_secs_f64();
    // A file that cannot be removed is left to the system's clean-up.
    let _ = std::fs::remove_file(&file);
    if resumed.state().hash() != world.state().hash() {
        return Err(BenchError::new("the state that was saved is not the one that was loaded"));
    }
    Ok(StateCosts { clone_s, clone_bytes, first_heartbeat_s, checkpoint_s, resume_s })
}

/// Memory that a copy of a world adds: the growth of the process over the last batch of copies, divided by their
/// number. The batches before it use up memory that the process has freed and still holds.
fn clone_bytes(world: &World) -> Result<f64, BenchError> {
    let (first, mut last, mut grown) = (resident_bytes(), resident_bytes(), 0);
    let mut held = Vec::with_capacity(HELD_MAX);
    while held.len() < HELD_MAX && last.saturating_sub(first) < GROWN_BYTES {
        for _ in 0..BATCH {
            held.push(world.branch().map_err(BenchError::new)?);
        }
        let now = resident_bytes();
        (grown, last) = (now.saturating_sub(last), now);
    }
    Ok(grown as f64 / BATCH as f64)
}

/// Median wall time of the first heartbeat of copies, which end one by one.
fn first_heartbeat_s(copies: Vec<World>) -> Result<f64, BenchError> {
    let mut firsts_s = Vec::with_capacity(copies.len());
    for mut copy in copies {
        drive(&mut copy, ROVER, SPEED_M_S, 0.0)?;
        let begun = Instant::now();
        copy.heartbeat().map_err(BenchError::new)?;
        firsts_s.push(begun.elapsed().as_secs_f64());
    }
    Ok(median(&mut firsts_s))
}

/// Copies the scenario's rover to a square grid of starts; all drive ahead and stay apart.
fn spread(scenario: &mut Scenario, count: usize, apart_m: f64) {
    let first = RoverSetup { sensors: Vec::new(), route: None, ..scenario.rovers[0].clone() };
    let side = (count as f64).sqrt().ceil() as usize;
    let middle = 0.5 * (side - 1) as f64;
    let rover = |i: usize| {
        let [column, row] = [i % side, i / side].map(|k| (k as f64 - middle) * apart_m);
        let name = format!("rover_{i}");
        let start = Start { x_m: column, y_m: row, ..Start::default() };
        RoverSetup { namespace: name.clone(), frame_prefix: format!("{name}/"), name, start, ..first.clone() }
    };
    scenario.rovers = (0..count).map(rover).collect();
}

fn run(mut world: World, duration: SimTime) -> Result<f64, BenchError> {
    let rovers: Vec<EntityId> = world.state().rovers.keys().copied().collect();
    let begun = Instant::now();
    while world.time() < duration {
        for (i, rover) in rovers.iter().enumerate() {
            drive(&mut world, *rover, 0.15, 0.01 * (i % 7) as f64)?;
        }
        world.heartbeat().map_err(BenchError::new)?;
    }
    Ok(begun.elapsed().as_secs_f64() / world.time().secs_f64())
}
