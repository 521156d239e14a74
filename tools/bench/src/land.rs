//! Ground without end: the time to generate new ground and to query heights; and a drive of 5 km over 20 × 20 km with
//! posts of 1 cm under the wheels, for its memory, the longest wait of a heartbeat for ground, and whether images of a
//! forward camera take as long at the end as at the beginning. EX1 drives straight ahead at 1 m/s over low relief
//! (rocks would stop the rover soon) on its data-driven soil, in steps of 2 ms, at ten times real time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nalgebra::{Rotation3, Translation3, UnitQuaternion, Vector3};
use selene_base::SimTime;
use selene_base::input::load_yaml;
use selene_base::random::{self, RngExt};
use selene_observe::{Feed, History, Interval, TracedScene};
use selene_scene::{CameraFrame, CameraView, CpuTracer, Tracer};
use selene_sim::{RoverSnapshot, World};
use selene_terrain::{Clipmap, Landscape, LevelSpec, Ruts, SiteSpec, Terrain};
use selene_vehicle::RoverModel;

use crate::physics::ROVER;
use crate::setting::Setting;
use crate::{BenchError, hour, physics};

/// Levels of new ground of 256 m: spacing of posts and side, m.
const PIECE_M: [(f64, f64); 3] = [(0.02, 61.44), (0.16, 163.84), (1.28, 256.0)];
/// Levels of a site of 20 km with posts of 1 cm near the wheels.
const SITE_M: [(f64, f64); 4] = [(0.01, 20.48), (0.08, 163.84), (0.64, 1310.72), (5.12, 20_971.52)];
/// Window steps from the origin, to a place where no ground was generated yet.
const FAR: [i32; 2] = [40, -25];
const QUERIES: usize = 8_000_000;
const DRIVE_M: f64 = 5000.0;
const SPEED_M_S: f64 = 1.0;
/// Simulated time over wall time: ground must be ready ten times as fast as in real time.
const PACE: f64 = 10.0;

/// Simulated time between images, s.
const FRAME_S: i64 = 4;
/// Columns and rows of an image.
const FRAME_PX: [u32; 2] = [320, 180];
/// Height of the camera above the base, m.
const MAST_M: f64 = 1.0;
/// Number of parts of the drive; images of the last are compared with those of the first.
const PARTS: usize = 5;

/// Figures of the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drive {
    /// Memory of the process at the end, bytes.
    pub(crate) memory_bytes: f64,
    /// The longest heartbeat that switched to other windows, s.
    pub(crate) stall_s: f64,
    /// Wall time of an image (taking over ground and tracing) in the last fifth relative to the first, minus one.
    pub(crate) frame_drift: f64,
}

/// Wall time to generate new ground of 256 m, 2 cm near and coarser far, with rocks.
pub(crate) fn tile_256m_s(setting: &Setting) -> Result<f64, BenchError> {
    let terrain = Terrain::of_landscape(landscape(setting, "polar", &PIECE_M)?);
    let begun = Instant::now();
    let _piece = terrain.windows(FAR);
    Ok(begun.elapsed().as_secs_f64())
}

/// Heights with normals per second, on one thread, at random positions of the detailed ground.
pub(crate) fn height_queries_per_s(setting: &Setting) -> Result<f64, BenchError> {
    let terrain = setting.scenario("polar")?.terrain().map_err(BenchError::new)?;
    let clipmap = Clipmap::at(&Arc::new(terrain), [0, 0]);
    let half_m = 0.45 * clipmap.finest().side_m();
    let mut random = random::stream(1, "bench/heights");
    let places: Vec<[f64; 2]> =
        (0..QUERIES).map(|_| [random.random_range(-half_m..half_m), random.random_range(-half_m..half_m)]).collect();
    let begun = Instant::now();
    let mut sum = 0.0;
    for [x, y] in places {
        sum += clipmap.height_m(x, y).unwrap_or(f64::NAN) + clipmap.normal(x, y).map_or(f64::NAN, |normal| normal.z);
    }
    let seconds = begun.elapsed().as_secs_f64();
    if sum.is_finite() {
        Ok(QUERIES as f64 / seconds)
    } else {
        Err(BenchError::new("a place on the site has no height"))
    }
}

/// Measures the drive of 5 km.
pub(crate) fn drive(setting: &Setting) -> Result<Drive, BenchError> {
    let mut scenario = physics::coarse_scenario(setting)?;
    scenario.soils = setting.soils("tohoku_silica5_ex1")?;
    scenario.rovers[0].model = rover(setting)?;
    scenario.rovers[0].sensors.clear();
    scenario.site = site(setting, "test_yard", &SITE_M)?;
    let terrain = Terrain::of_landscape(landscape(setting, "test_yard", &SITE_M)?);
    let mut world = physics::start_on(scenario, terrain)?;
    let mut feed = Feed::begin(&mut world).map_err(BenchError::new)?;
    let mut lookout = ForwardCamera::new(&world, &feed)?;
    let mut driven_m = 0.0;
    let mut stall_s = 0.0_f64;
    let started = Instant::now();
    while driven_m < DRIVE_M {
        physics::drive(&mut world, ROVER, SPEED_M_S, 0.0)?;
        let begun = Instant::now();
        let interval = feed.heartbeat(&mut world).map_err(BenchError::new)?;
        let (Some(before), Some(after)) = (interval.previous.rover(ROVER), interval.next.rover(ROVER)) else { break };
        if after.clipmap_centre != before.clipmap_centre {
            stall_s = stall_s.max(begun.elapsed().as_secs_f64());
        }
        let way = after.world_from_base().translation.vector - before.world_from_base().translation.vector;
        driven_m += way.xy().norm();
        lookout.follow(&interval, after)?;
        let ahead_s = world.time().secs_f64() / PACE - started.elapsed().as_secs_f64();
        if ahead_s > 0.0 {
            std::thread::sleep(Duration::from_secs_f64(ahead_s));
        }
    }
    let memory_bytes = hour::resident_bytes() as f64;
    Ok(Drive { memory_bytes, stall_s, frame_drift: lookout.drift() })
}

/// A forward camera on the rover.
struct ForwardCamera {
    scene: TracedScene,
    history: History,
    frame: CameraFrame,
    /// Time spent on ground since the last image, s.
    ground_s: f64,
    frames_s: Vec<f64>,
}

impl ForwardCamera {
    fn new(world: &World, feed: &Feed) -> Result<Self, BenchError> {
        let scene = TracedScene::new(world.model(), ROVER, feed.last(), &Ruts::default()).map_err(BenchError::new)?;
        let history = History::new(SimTime::ZERO);
        Ok(Self { scene, history, frame: CameraFrame::default(), ground_s: 0.0, frames_s: Vec::new() })
    }

    fn follow(&mut self, interval: &Interval, rover: &RoverSnapshot) -> Result<(), BenchError> {
        let begun = Instant::now();
        self.history.take(interval, ROVER);
        self.scene.take(interval).map_err(BenchError::new)?;
        let time = interval.next.time;
        if time.nanos() % (FRAME_S * 1_000_000_000) == 0 {
            self.scene.move_to(&self.history, time).map_err(BenchError::new)?;
            let view = ahead(rover);
            CpuTracer.camera(self.scene.scene(), &view, &mut self.frame).map_err(BenchError::new)?;
            self.frames_s.push(self.ground_s + begun.elapsed().as_secs_f64());
            self.ground_s = 0.0;
        } else {
            self.ground_s += begun.elapsed().as_secs_f64();
        }
        Ok(())
    }

    fn drift(&self) -> f64 {
        let part = self.frames_s.len() / PARTS;
        let mean_s = |frames: &[f64]| frames.iter().sum::<f64>() / frames.len() as f64;
        mean_s(&self.frames_s[self.frames_s.len() - part..]) / mean_s(&self.frames_s[..part]) - 1.0
    }
}

/// A view with 70° along the rover's x axis.
fn ahead(rover: &RoverSnapshot) -> CameraView {
    let base = rover.world_from_base();
    let columns = Rotation3::from_basis_unchecked(&[-Vector3::y(), -Vector3::z(), Vector3::x()]);
    let mast = Translation3::new(0.0, 0.0, MAST_M);
    let eye = base * mast * UnitQuaternion::from_rotation_matrix(&columns);
    CameraView::pinhole(eye, FRAME_PX, 70_f64.to_radians())
}

fn rover(setting: &Setting) -> Result<Arc<RoverModel>, BenchError> {
    let file = setting.config.join("rover/ex1.yaml");
    RoverModel::load(&file).map(Arc::new).map_err(BenchError::new)
}

/// A site of config/ with other levels of detail.
fn site(setting: &Setting, name: &str, levels: &[(f64, f64)]) -> Result<SiteSpec, BenchError> {
    let file = setting.config.join("site").join(format!("{name}.yaml"));
    let site: SiteSpec = load_yaml(&file).map_err(BenchError::new)?;
    let levels = levels.iter().map(|&(spacing_m, side_m)| LevelSpec { spacing_m, side_m }).collect();
    Ok(SiteSpec { levels, ..site })
}

fn landscape(setting: &Setting, name: &str, levels: &[(f64, f64)]) -> Result<Landscape, BenchError> {
    Landscape::new(site(setting, name, levels)?, Path::new(name), None, 1).map_err(BenchError::new)
}
