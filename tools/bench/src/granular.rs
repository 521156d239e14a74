//! Granular soil: points per second of the solver alone, VIPER with its four wheels on points, RASSOR that digs with both
//! drums, and grains per second.

use std::hint::black_box;
use std::time::Instant;

use nalgebra::{Isometry3, Vector3};
use selene_base::SimTime;
use selene_crm::{Body, BodyShape, CrmError, CrmSpec, Edges, Filling, Grid, Model, Scratch, State, Wall, step};
use selene_sim::{Command, JointCommand, Start, World};
use selene_soil::{SoilSpec, WindowSpec};
use selene_spheres::SpheresSpec;
use selene_terrain::Terrain;

use crate::BenchError;
use crate::hour::median;
use crate::physics::{ROVER, drive, run, start_on};
use crate::setting::Setting;

/// Side of a cell, m, and number of cells of the bed: 256 000 points, 10 cm deep.
const CELL_M: f64 = 0.02;
const CELLS: [u32; 3] = [80, 80, 20];
const FILLED_CELLS: u32 = 5;
/// Simulated time of the bed, s.
const BED_S: f64 = 0.05;
/// The bed on a GPU, of 1.3 million points: as many as fit in a buffer of 128 MiB, which any device offers.
const GPU_CELLS: [u32; 3] = [180, 180, 20];
const GPU_BED_S: f64 = 0.02;
/// Heartbeats on a GPU of which the median counts.
const READINGS: usize = 5;
const LUNAR_GRAVITY_M_S2: f64 = 1.62;
/// Glass grains with a reduced modulus in a box 0.15 m wide: 3375 settled grains of 4 to 5 mm radius.
const GRAINS: SpheresSpec = SpheresSpec {
    density_kg_m3: 2500.0,
    young_pa: 1e7,
    poisson: 0.3,
    restitution: 0.5,
    friction: 0.5,
    rolling_friction: 0.1,
};
const BOX_M: f64 = 0.15;
const GRAINS_M: [f64; 2] = [0.004, 0.005];
const FALL_S: f64 = 0.5;
const GRAINS_S: f64 = 0.05;
/// Such beds along both sides of the one on a GPU, which has 975 375 grains, and of the one on a software device, whose
/// grains fit in buffers of 128 MiB.
const GPU_BEDS: u32 = 17;
const SOFTWARE_BEDS: u32 = 5;
const GPU_GRAINS_S: f64 = 0.02;
/// Strips of points under the wheels on each side of VIPER, and the drive over them.
const WHEELS_Y_M: f64 = 0.61;
const STRIP_M: [f64; 2] = [-0.95, 1.35];
const HALF_WIDTH_M: f64 = 0.33;
const SPACING_M: f64 = 0.02;
const POSTS_M: f64 = 0.02;
const DEPTH_M: f64 = 0.12;
const STRIP_EXCHANGE_S: f64 = 0.002;
const HEARTBEAT: SimTime = SimTime::from_nanos(10_000_000);
const SPEED_M_S: f64 = 0.15;
/// Points under each of RASSOR's drums, whose axes are 0.68 m before and behind its middle; how deep its arms go, how
/// fast its drums turn (20 turns a minute are the most), when they are down, and how long they dig.
const PIT_M: [f64; 2] = [0.33, 0.99];
const PIT_HALF_WIDTH_M: f64 = 0.36;
const PIT_DEPTH_M: f64 = 0.12;
const PIT_SPACING_M: f64 = 0.015;
const PIT_EXCHANGE_S: f64 = 0.001;
const ARM_RAD: f64 = -0.3;
const DRUM_RAD_S: f64 = 2.0;
const DIGS_FROM: SimTime = SimTime::from_nanos(2_000_000_000);
const DIGS: SimTime = SimTime::from_nanos(1_000_000_000);
const DRIVE: SimTime = SimTime::from_nanos(2_000_000_000);

/// Points times substeps per second of wall time, while a wheel digs in a bed of soil `lunar`.
pub(crate) fn points_per_s(setting: &Setting) -> Result<f64, BenchError> {
    let (model, mut state, wheel) = bed(setting, CELLS)?;
    let mut scratch = Scratch::default();
    // The first step allocates the memory.
    step(&model, &mut state, &[wheel], 0.1 * BED_S, &mut scratch).map_err(BenchError::new)?;
    let begun = Instant::now();
    let outcome = step(&model, &mut state, &[wheel], BED_S, &mut scratch).map_err(BenchError::new)?;
    Ok(state.points.len() as f64 * f64::from(outcome.substeps) / begun.elapsed().as_secs_f64())
}

/// The same on a GPU, with points that stay there.
pub(crate) fn gpu_points_per_s(setting: &Setting) -> Result<f64, BenchError> {
    let (model, state, wheel) = bed(setting, GPU_CELLS)?;
    let mut soil = setting.soil_device()?.open(&model).map_err(BenchError::new)?;
    soil.load(&state).map_err(BenchError::new)?;
    soil.step(&[wheel], 0.1 * GPU_BED_S).map_err(BenchError::new)?;
    let begun = Instant::now();
    let outcome = soil.step(&[wheel], GPU_BED_S).map_err(BenchError::new)?;
    Ok(state.points.len() as f64 * f64::from(outcome.substeps) / begun.elapsed().as_secs_f64())
}

/// What the reading of points on a GPU is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadingOver {
    /// The steps of a heartbeat.
    Steps,
    /// All points coming back, being read on the CPU, and going there again.
    Return,
}

/// Wall time in which a heartbeat keeps and reads points that stay on the GPU, with all that a world may ask of them, over
/// that of something else.
pub(crate) fn gpu_reading(setting: &Setting, over: ReadingOver) -> Result<f64, BenchError> {
    let (model, mut state, wheel) = bed(setting, GPU_CELLS)?;
    let mut soil = setting.soil_device()?.open(&model).map_err(BenchError::new)?;
    soil.load(&state).map_err(BenchError::new)?;
    let (mut reading_s, mut other_s) = (Vec::new(), Vec::new());
    for _ in 0..READINGS {
        let steps_s = timed(|| soil.step(&[wheel], HEARTBEAT.secs_f64()).map(drop))?;
        reading_s.push(timed(|| {
            soil.mark()?;
            black_box((soil.totals(&[])?, soil.tops_m()?, soil.highest(&[])?));
            Ok(())
        })?);
        other_s.push(match over {
            ReadingOver::Steps => steps_s,
            ReadingOver::Return => timed(|| {
                soil.save(&mut state)?;
                // A heartbeat begins with a copy.
                black_box((state.clone(), state.totals(&[]), state.tops_m(&model), state.highest(model.grid(), &[])));
                soil.load(&state)
            })?,
        });
    }
    Ok(median(&mut reading_s) / median(&mut other_s))
}

fn timed(work: impl FnOnce() -> Result<(), CrmError>) -> Result<f64, BenchError> {
    let begun = Instant::now();
    work().map_err(BenchError::new)?;
    Ok(begun.elapsed().as_secs_f64())
}

/// A bed of soil `lunar`, and a wheel that digs in it.
fn bed(setting: &Setting, cells: [u32; 3]) -> Result<(Model, State, Body), BenchError> {
    let rough = Edges::Walls { low: Wall::Rough, high: Wall::Rough };
    let grid = Grid { cell_m: CELL_M, cells, edges: [rough; 3] };
    let gravity_m_s2 = Vector3::new(0.0, 0.0, -LUNAR_GRAVITY_M_S2);
    let model = Model::new(&lunar(setting)?, &grid, gravity_m_s2).map_err(BenchError::new)?;
    let [x, y, _] = cells.map(|cells| f64::from(cells) * CELL_M);
    let top_m = f64::from(FILLED_CELLS) * CELL_M;
    let filling = Filling { low_m: [0.0; 3], high_m: [x, y, top_m], velocity_m_s: Vector3::zeros(), geostatic: true };
    let mut state = State::default();
    state.fill(&model, &filling).map_err(BenchError::new)?;
    let wheel = Body {
        shape: BodyShape::Cylinder { radius_m: 0.1, half_length_m: 0.05 },
        pose: Isometry3::new(Vector3::new(0.5 * x, 0.5 * y, top_m + 0.07), Vector3::x() * std::f64::consts::FRAC_PI_2),
        velocity_m_s: Vector3::new(0.1, 0.0, 0.0),
        angular_velocity_rad_s: Vector3::y() * 3.0,
        friction: 0.6,
    };
    Ok((model, state, wheel))
}

/// Grains times substeps per second of wall time, in a bed into which a ball is pressed.
pub(crate) fn grains_per_s() -> Result<f64, BenchError> {
    let (model, mut state, mut scratch) = (grains_in(1)?, settled_grains()?, selene_spheres::Scratch::default());
    let ball = ball_on(&state);
    let begun = Instant::now();
    let outcome = selene_spheres::step(&model, &mut state, &[ball], GRAINS_S, &mut scratch).map_err(BenchError::new)?;
    Ok(state.spheres.len() as f64 * f64::from(outcome.substeps) / begun.elapsed().as_secs_f64())
}

/// The same on a GPU, in many such beds side by side without walls between them. A software device gets fewer.
pub(crate) fn gpu_grains_per_s(setting: &Setting) -> Result<f64, BenchError> {
    let beds = if (setting.has_gpu)() { GPU_BEDS } else { SOFTWARE_BEDS };
    let state = side_by_side(&settled_grains()?, beds);
    let mut grains = setting.spheres_device()?.open(&grains_in(beds)?).map_err(BenchError::new)?;
    grains.load(&state).map_err(BenchError::new)?;
    let ball = ball_on(&state);
    grains.step(&[ball], 0.1 * GPU_GRAINS_S).map_err(BenchError::new)?;
    let begun = Instant::now();
    let outcome = grains.step(&[ball], GPU_GRAINS_S).map_err(BenchError::new)?;
    Ok(state.spheres.len() as f64 * f64::from(outcome.substeps) / begun.elapsed().as_secs_f64())
}

/// Grains in a box that is as wide as so many beds along both sides.
fn grains_in(beds: u32) -> Result<selene_spheres::Model, BenchError> {
    let wall = Wall::Sliding { friction: GRAINS.friction };
    let wide_m = BOX_M * f64::from(beds);
    let container = selene_spheres::Container { size_m: [wide_m, wide_m, BOX_M], walls: [[wall; 2]; 3] };
    let gravity_m_s2 = Vector3::new(0.0, 0.0, -LUNAR_GRAVITY_M_S2);
    selene_spheres::Model::new(&GRAINS, &container, gravity_m_s2).map_err(BenchError::new)
}

/// One bed, after its grains have fallen.
fn settled_grains() -> Result<selene_spheres::State, BenchError> {
    let (model, mut state) = (grains_in(1)?, selene_spheres::State::default());
    let velocity_m_s = Vector3::zeros();
    let filling =
        selene_spheres::Filling { low_m: [0.0; 3], high_m: [BOX_M; 3], radius_m: GRAINS_M, velocity_m_s, seed: 1 };
    state.fill(&model, &filling).map_err(BenchError::new)?;
    let mut scratch = selene_spheres::Scratch::default();
    selene_spheres::step(&model, &mut state, &[], FALL_S, &mut scratch).map_err(BenchError::new)?;
    Ok(state)
}

/// As many copies of a bed along both sides. Their contacts begin anew.
fn side_by_side(bed: &selene_spheres::State, beds: u32) -> selene_spheres::State {
    let mut all = selene_spheres::State::default();
    for (x, y) in (0..beds).flat_map(|x| (0..beds).map(move |y| (x, y))) {
        let corner_m = Vector3::new(f64::from(x), f64::from(y), 0.0) * BOX_M;
        for sphere in &bed.spheres {
            all.add(sphere.radius_m, sphere.position_m + corner_m, sphere.velocity_m_s);
        }
    }
    all
}

/// A ball that is about to be pressed into a bed.
fn ball_on(bed: &selene_spheres::State) -> Body {
    let radius_m = 0.03;
    let top_m = bed.spheres.iter().map(|sphere| sphere.position_m.z + sphere.radius_m).fold(0.0, f64::max);
    Body {
        shape: BodyShape::Sphere { radius_m },
        pose: Isometry3::translation(0.5 * BOX_M, 0.5 * BOX_M, top_m + radius_m),
        velocity_m_s: Vector3::new(0.0, 0.0, -0.5),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.6,
    }
}

/// Wall time over simulated time of VIPER driving straight ahead with its four wheels on points.
pub(crate) fn viper_wall_over_sim(setting: &Setting) -> Result<f64, BenchError> {
    let mut scenario = setting.scenario("polar")?;
    scenario.rovers[0].start = Start::default();
    scenario.heartbeat = HEARTBEAT;
    scenario.granular = vec![strip("left", WHEELS_Y_M), strip("right", -WHEELS_Y_M)];
    let mut world = start_on(scenario, Terrain::flat(POSTS_M, 20.0))?;
    drive(&mut world, ROVER, SPEED_M_S, 0.0)?;
    run(world, DRIVE)
}

/// Wall time over simulated time of RASSOR that stands and digs with both drums, once they are down.
pub(crate) fn rassor_wall_over_sim(setting: &Setting) -> Result<f64, BenchError> {
    let mut scenario = setting.scenario("rassor_dig")?;
    let [near_m, far_m] = PIT_M;
    scenario.granular = vec![pit("front", [near_m, far_m]), pit("rear", [-far_m, -near_m])];
    scenario.rovers[0].motions.clear();
    let mut world = start_on(scenario, Terrain::flat(PIT_SPACING_M, 20.0))?;
    for (joint, target) in
        [("front_arm", ARM_RAD), ("rear_arm", ARM_RAD), ("front_drum", DRUM_RAD_S), ("rear_drum", DRUM_RAD_S)]
    {
        let command = Command::Joint(JointCommand { joint: joint.to_owned(), target });
        world.drive(ROVER, command).map_err(BenchError::new)?;
    }
    run_until(&mut world, DIGS_FROM)?;
    let begun = Instant::now();
    run_until(&mut world, DIGS_FROM + DIGS)?;
    Ok(begun.elapsed().as_secs_f64() / DIGS.secs_f64())
}

fn run_until(world: &mut World, end: SimTime) -> Result<(), BenchError> {
    while world.time() < end {
        world.heartbeat().map_err(BenchError::new)?;
    }
    Ok(())
}

fn strip(name: &str, y_m: f64) -> WindowSpec {
    let across_m = [y_m - HALF_WIDTH_M, y_m + HALF_WIDTH_M];
    window(name, STRIP_M, across_m, [DEPTH_M, SPACING_M], STRIP_EXCHANGE_S)
}

fn pit(name: &str, x_m: [f64; 2]) -> WindowSpec {
    window(name, x_m, [-PIT_HALF_WIDTH_M, PIT_HALF_WIDTH_M], [PIT_DEPTH_M, PIT_SPACING_M], PIT_EXCHANGE_S)
}

fn window(name: &str, x_m: [f64; 2], y_m: [f64; 2], [depth_m, spacing_m]: [f64; 2], exchange_s: f64) -> WindowSpec {
    WindowSpec {
        name: name.to_owned(),
        from_m: [x_m[0], y_m[0]],
        to_m: [x_m[1], y_m[1]],
        depth_m,
        spacing_m,
        exchange_s: Some(exchange_s),
        grains: None,
        dem: None,
    }
}

fn lunar(setting: &Setting) -> Result<CrmSpec, BenchError> {
    let soil = SoilSpec::load(&setting.config.join("soil/lunar.yaml")).map_err(BenchError::new)?;
    let crm = soil.crm.ok_or_else(|| BenchError::new("soil lunar has no key crm"))?;
    Ok(crm.soil())
}
