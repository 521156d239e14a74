//! Granular soil on a GPU against the solver on the CPU, on any device, software ones included. Skipped if there is
//! none.

#[path = "../../../tests/src/skip.rs"]
mod skip;

use nalgebra::{Isometry3, UnitQuaternion, Vector3};
use selene_crm::{
    Body, BodyShape, CrmError, CrmSpec, DeviceSoil, Drum, Edges, Filling, Grid, Model, PlacedDrum, Point, Scratch,
    SoilPiece, State, StepResults, Wall, Wheel, step,
};
use selene_gpu::GpuTracer;

const SAND: CrmSpec = CrmSpec {
    density_kg_m3: 1600.0,
    young_pa: 3e5,
    poisson: 0.3,
    friction_static: 0.6,
    friction_dynamic: 0.9,
    inertial_number: 0.3,
    grain_m: 0.001,
    grain_density_kg_m3: 2600.0,
    cohesion_pa: 100.0,
};
const SMOOTH: Wall = Wall::Sliding { friction: 0.0 };
const SIDES: Edges = Edges::Walls { low: SMOOTH, high: SMOOTH };
const FLOOR: Edges = Edges::Walls { low: Wall::Rough, high: Wall::Open };
const MOON: Vector3<f64> = Vector3::new(0.0, 0.0, -1.62);

fn gpu() -> Option<GpuTracer> {
    let opened = GpuTracer::open(true).expect("a device that is there opens");
    if opened.is_none() {
        skip::skip_peer("no Vulkan, Metal or DX12 device");
    }
    opened
}

fn model(cells: [u32; 3], edges: [Edges; 3], gravity_m_s2: Vector3<f64>) -> Model {
    Model::new(&SAND, &Grid { cell_m: 0.02, cells, edges }, gravity_m_s2).expect("a model")
}

fn filled(model: &Model, high_m: [f64; 3]) -> State {
    let mut state = State::default();
    let filling = Filling { low_m: [0.0; 3], high_m, velocity_m_s: Vector3::zeros(), geostatic: true };
    state.fill(model, &filling).expect("points");
    state
}

fn on_device(tracer: &GpuTracer, model: &Model, state: &State) -> Box<dyn DeviceSoil> {
    let device = tracer.soil_device().expect("kernels");
    let mut soil = device.open(model).expect("room on the device");
    soil.load(state).expect("points");
    soil
}

fn by_id(state: &State) -> Vec<Point> {
    let mut points = state.points.to_vec();
    points.sort_unstable_by_key(|point| point.id);
    points
}

/// Root of the mean square of how far points of two states are apart, over that of how far they moved from `start`.
fn apart(a: &State, b: &State, start: &State) -> f64 {
    let (mut apart, mut moved) = (0.0_f64, 0.0_f64);
    for ((a, b), from) in by_id(a).iter().zip(by_id(b)).zip(by_id(start)) {
        apart += (a.position_m - b.position_m).norm_squared();
        moved += (a.position_m - from.position_m).norm_squared();
    }
    (apart / moved).sqrt()
}

/// The same steps on the CPU and on a GPU.
struct Both {
    model: Model,
    start: State,
    cpu: State,
    gpu: State,
    on_cpu: Vec<StepResults>,
    on_gpu: Vec<StepResults>,
}

impl Both {
    /// Runs steps of `step_s`, each with the bodies that `bodies` gives for its start.
    fn run(
        tracer: &GpuTracer,
        model: Model,
        start: State,
        steps: u32,
        step_s: f64,
        bodies: impl Fn(f64) -> Vec<Body>,
    ) -> Self {
        let (mut cpu, mut gpu, mut scratch) = (start.clone(), start.clone(), Scratch::default());
        let mut soil = on_device(tracer, &model, &start);
        let (mut on_cpu, mut on_gpu) = (Vec::new(), Vec::new());
        for number in 0..steps {
            let bodies = bodies(f64::from(number) * step_s);
            on_cpu.push(step(&model, &mut cpu, &bodies, step_s, &mut scratch).expect("a step"));
            on_gpu.push(soil.step(&bodies, step_s).expect("a step on the device"));
        }
        soil.save(&mut gpu).expect("points");
        Self { model, start, cpu, gpu, on_cpu, on_gpu }
    }

    fn apart(&self) -> f64 {
        apart(&self.cpu, &self.gpu, &self.start)
    }

    /// Impulse on all bodies, N s.
    fn impulses(results: &[StepResults]) -> Vector3<f64> {
        results.iter().flat_map(|results| &results.reactions).map(|reaction| reaction.impulse_n_s).sum()
    }

    fn moments(results: &[StepResults]) -> Vector3<f64> {
        results.iter().flat_map(|results| &results.reactions).map(|reaction| reaction.angular_impulse_n_m_s).sum()
    }

    /// What is left of the balance of momentum on the device, over the weight's impulse.
    fn unbalanced(&self, duration_s: f64) -> f64 {
        let fallen = self.model.gravity_m_s2() * (self.start.mass_mg() as f64 / 1e6 * duration_s);
        let walls: Vector3<f64> = self.on_gpu.iter().map(|results| results.walls_n_s).sum();
        let gained = self.gpu.momentum_n_s() - self.start.momentum_n_s();
        (gained + Self::impulses(&self.on_gpu) + walls - fallen).norm() / fallen.norm()
    }
}

fn column() -> (Model, State) {
    let model = model([40, 4, 14], [SIDES, Edges::Periodic, FLOOR], MOON);
    let state = filled(&model, [0.2, 0.08, 0.2]);
    (model, state)
}

fn bed() -> (Model, State) {
    let model = model([32, 16, 16], [SIDES, SIDES, FLOOR], MOON);
    let state = filled(&model, [0.64, 0.32, 0.16]);
    (model, state)
}

#[test]
fn a_column_collapses_as_on_the_cpu() {
    let Some(tracer) = gpu() else { return };
    let (model, start) = column();
    let both = Both::run(&tracer, model, start, 10, 0.01, |_| Vec::new());
    let [off, left] = [both.apart(), both.unbalanced(0.1)];
    println!("{off} of the motion apart, {left} of the weight not balanced");
    assert!(off < 0.02 && left < 1e-4);
    let (a, b) = (by_id(&both.cpu), by_id(&both.gpu));
    assert!(a.iter().zip(&b).all(|(a, b)| (a.velocity_m_s - b.velocity_m_s).norm() < 2e-3 && a.mass_mg == b.mass_mg));
}

#[test]
fn a_wheel_a_ball_and_a_blade_feel_the_same() {
    let Some(tracer) = gpu() else { return };
    let (model, start) = bed();
    // A wheel with eight grousers, which turns and goes ahead, a sinking ball, and a slanted blade. Wheel and blade end
    // between nodes, since rounding decides whether a node exactly on a surface is inside.
    let bodies = |time_s: f64| {
        let spin = Vector3::y() * 2.0;
        let turn = UnitQuaternion::from_scaled_axis(spin * (0.35 + time_s));
        let axle = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
        let grousered = Wheel { rim_m: 0.1, half_length_m: 0.055, grousers: 8, height_m: 0.03, thickness_m: 0.045 };
        let mut bodies = vec![Body {
            shape: BodyShape::Wheel(grousered),
            pose: Isometry3::from_parts(Vector3::new(0.15 + 0.2 * time_s, 0.1, 0.24).into(), turn * axle),
            velocity_m_s: Vector3::x() * 0.2,
            angular_velocity_rad_s: spin,
            friction: 0.5,
        }];
        let still = |shape, pose, velocity_m_s| Body {
            shape,
            pose,
            velocity_m_s,
            angular_velocity_rad_s: Vector3::zeros(),
            friction: 0.4,
        };
        let ball = Isometry3::translation(0.4, 0.22, 0.17 - 0.1 * time_s);
        bodies.push(still(BodyShape::Sphere { radius_m: 0.05 }, ball, Vector3::z() * -0.1));
        let slanted = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), 0.4);
        let blade = Isometry3::from_parts(Vector3::new(0.5 + 0.3 * time_s, 0.1, 0.14).into(), slanted);
        bodies.push(still(BodyShape::Cuboid { half_m: [0.02, 0.075, 0.06] }, blade, Vector3::x() * 0.3));
        bodies
    };
    let both = Both::run(&tracer, model, start, 10, 0.01, bodies);
    assert_close(&both, 0.1);
}

/// The drum's discs lie between nodes: of a node on a surface, rounding decides the side.
#[test]
fn a_drum_takes_in_the_same_soil() {
    let Some(tracer) = gpu() else { return };
    let (model, start) = bed();
    let drum = Drum { radius_m: 0.12, half_length_m: 0.091, slices: 2, scoops: 3, channel_m: 0.06, overlap_rad: 0.6 };
    let pose = |time_s: f64| {
        let turn = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), -4.0 * time_s);
        let axle = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
        Isometry3::from_parts(Vector3::new(0.2 + 0.15 * time_s, 0.167, 0.24 - 0.08 * time_s).into(), turn * axle)
    };
    let bodies = |time_s: f64| {
        let velocity_m_s = Vector3::new(0.15, 0.0, -0.08);
        let angular_velocity_rad_s = Vector3::y() * -4.0;
        vec![Body {
            shape: BodyShape::Drum(drum),
            pose: pose(time_s),
            velocity_m_s,
            angular_velocity_rad_s,
            friction: 0.4,
        }]
    };
    let both = Both::run(&tracer, model, start, 6, 0.01, bodies);
    let held_mg = |state: &State| -> u64 {
        let local = |point: &&Point| drum.holds(&pose(0.06).inverse_transform_point(&point.position_m.into()).coords);
        state.points.iter().filter(local).map(|point| u64::from(point.mass_mg)).sum()
    };
    let [cpu, gpu] = [&both.cpu, &both.gpu].map(|state| held_mg(state) as f64 / 1e6);
    println!("{cpu} and {gpu} kg in the drum");
    assert!(cpu > 0.5 && (cpu - gpu).abs() < 0.05 * cpu);
    assert_close(&both, 0.06);
}

/// Points, impulses and moments on the CPU and on the device agree, and momentum is balanced there.
fn assert_close(both: &Both, duration_s: f64) {
    let [cpu, gpu] = [Both::impulses(&both.on_cpu), Both::impulses(&both.on_gpu)];
    let [cpu_moment, gpu_moment] = [Both::moments(&both.on_cpu), Both::moments(&both.on_gpu)];
    let [off, left] = [both.apart(), both.unbalanced(duration_s)];
    println!("impulses {cpu:?} {gpu:?}, moments {cpu_moment:?} {gpu_moment:?}; {off} apart, {left} not balanced");
    assert!((cpu - gpu).norm() < 0.01 * cpu.norm());
    assert!((cpu_moment - gpu_moment).norm() < 0.03 * cpu_moment.norm());
    assert!(off < 0.02 && left < 1e-4);
}

#[test]
fn a_device_repeats_itself_to_the_byte() {
    let Some(tracer) = gpu() else { return };
    let (model, start) = column();
    let run = || {
        let mut state = start.clone();
        let mut soil = on_device(&tracer, &model, &start);
        soil.step(&[], 0.05).expect("a step");
        soil.save(&mut state).expect("points");
        (state.hash(), state)
    };
    let ((first, mut state), (second, _)) = (run(), run());
    assert_eq!(first, second);
    // Points that leave and come back are the same points.
    let soil = on_device(&tracer, &model, &state);
    soil.save(&mut state).expect("points");
    assert_eq!(state.hash(), first);
}

/// A heap in motion, with two drums over it, of which one holds soil.
fn heap() -> (Model, State, [PlacedDrum; 2]) {
    let sides = Edges::Walls { low: Wall::Rough, high: Wall::Rough };
    let model = model([20, 12, 16], [sides; 3], MOON);
    let mut state = filled(&model, [0.2, 0.24, 0.2]);
    step(&model, &mut state, &[], 0.08, &mut Scratch::default()).expect("a step");
    for point in state.points.iter_mut() {
        point.velocity_m_s += Vector3::new(0.02, 0.3, -0.1) * (point.id as f32).sin();
    }
    let drum = Drum { radius_m: 0.06, half_length_m: 0.05, slices: 1, scoops: 3, channel_m: 0.03, overlap_rad: 0.6 };
    let about_y = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), 1.4);
    let placed = |x: f64, z: f64| PlacedDrum { drum, pose: Isometry3::from_parts([x, 0.11, z].into(), about_y) };
    (model, state, [placed(0.11, 0.13), placed(0.32, 0.25)])
}

#[test]
fn what_is_read_on_a_device_is_what_the_cpu_reads_of_the_same_points() {
    let Some(tracer) = gpu() else { return };
    let (model, mut state, drums) = heap();
    let mut soil = on_device(&tracer, &model, &state);
    // Positions on the device are rounded.
    soil.save(&mut state).expect("points");
    let (here, there) = (state.totals(&drums), soil.totals(&drums).expect("totals"));
    assert_eq!((here.mass_mg, &here.held_mg), (there.mass_mg, &there.held_mg));
    assert!(here.held_mg[0] > 0 && here.held_mg[1] == 0, "{here:?}");
    assert!((here.fastest_m_s / there.fastest_m_s - 1.0).abs() < 1e-6 && here.fastest_m_s > 0.05, "{here:?} {there:?}");
    assert!((here.mean_square_m2_s2 / there.mean_square_m2_s2 - 1.0).abs() < 1e-4, "{here:?} {there:?}");
    let (tops_m, on_device_m) = (state.tops_m(&model), soil.tops_m().expect("heights"));
    let most_m = tops_m.iter().zip(&on_device_m).map(|(here, there)| (here - there).abs()).fold(0.0, f32::max);
    assert!(tops_m.len() == on_device_m.len() && most_m < 2e-6, "{most_m} m apart");
    assert!(tops_m.contains(&0.0) && tops_m.iter().any(|top_m| *top_m > 0.1));
    for outside in [&drums[..0], &drums[..]] {
        let (here, there) = (state.highest(model.grid(), outside), soil.highest(outside).expect("a surface"));
        let numbered = |points: &[[Option<SoilPiece>; 2]]| -> Vec<_> { points.as_flattened().to_vec() };
        assert_eq!(numbered(&here), numbered(&there));
        assert!(here.iter().any(|layers| layers[1].is_none()) && here.iter().any(|layers| layers[1].is_some()));
    }
    assert_ne!(state.highest(model.grid(), &drums), state.highest(model.grid(), &[]));
    assert!(soil.totals(&[drums[0]; 5]).expect_err("too many").to_string().contains("more than 4 drums"));
}

#[test]
fn soil_on_a_device_takes_new_masses_and_goes_back_to_where_it_was_marked() {
    let Some(tracer) = gpu() else { return };
    let (model, mut state, _) = heap();
    let mut soil = on_device(&tracer, &model, &state);
    assert!(soil.rewind().expect_err("nothing to go back to").to_string().contains("nothing was marked"));
    // Later than loading: the next step meets the device's points with the state's new masses.
    state.points.iter_mut().step_by(3).for_each(|point| point.mass_mg += 700 + point.id);
    soil.set_masses(&state).expect("masses");
    assert_eq!(soil.totals(&[]).expect("totals").mass_mg, state.mass_mg());
    soil.mark().expect("a mark");
    let go_on = |soil: &mut Box<dyn DeviceSoil>| {
        let mut after = state.clone();
        soil.step(&[], 0.03).expect("a step");
        soil.save(&mut after).expect("points");
        after.hash()
    };
    let mut marked = state.clone();
    soil.save(&mut marked).expect("points");
    let first = go_on(&mut soil);
    assert_ne!(first, marked.hash());
    soil.rewind().expect("what was marked");
    let mut back = state.clone();
    soil.save(&mut back).expect("points");
    assert_eq!(back.hash(), marked.hash());
    // Loaded anew, the same soil with the same masses goes the same way.
    assert_eq!(go_on(&mut on_device(&tracer, &model, &marked)), first);
    // A list without points gets all of them.
    let mut none = State::default();
    assert!(soil.set_masses(&none).is_err());
    soil.save(&mut none).expect("points");
    assert_eq!((none.points.len(), none.mass_mg()), (state.points.len(), state.mass_mg()));
}

#[test]
fn more_blocks_than_one_row_of_workgroups_are_all_visited() {
    let Some(tracer) = gpu() else { return };
    let model = model([640, 640, 1], [SIDES, SIDES, FLOOR], MOON);
    let mut start = State::default();
    for corner in [0.0, 12.72] {
        let (low_m, high_m) = ([corner, corner, 0.0], [corner + 0.08, corner + 0.08, 0.02]);
        let velocity_m_s = Vector3::x() * 0.3;
        start.fill(&model, &Filling { low_m, high_m, velocity_m_s, geostatic: true }).expect("points");
    }
    let both = Both::run(&tracer, model, start, 1, 0.001, |_| Vec::new());
    assert!(both.apart() < 0.01, "{} of the motion apart", both.apart());
}

#[test]
fn what_cannot_go_on_is_refused_with_the_reason() {
    let Some(tracer) = gpu() else { return };
    let (model, mut start) = column();
    let mut soil = on_device(&tracer, &model, &start);
    let refused = |result: Result<StepResults, CrmError>, part: &str| {
        let message = result.expect_err("must be refused").to_string();
        assert!(message.contains(part), "{message}");
    };
    refused(soil.step(&[], f64::NAN), "NaN s: must be more than 0");
    refused(soil.step(&[], 1e4), "substeps of at most");
    let drum = Drum { radius_m: 0.12, half_length_m: 0.1, slices: 2, scoops: 3, channel_m: 0.06, overlap_rad: 0.6 };
    let body = |shape| Body {
        shape,
        pose: Isometry3::identity(),
        velocity_m_s: Vector3::zeros(),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.4,
    };
    refused(soil.step(&[body(BodyShape::Drum(drum)); 5], 0.1), "more than 4 drums");
    refused(soil.step(&[body(BodyShape::Sphere { radius_m: 0.1 }); 513], 0.1), "takes 512 at once");
    refused(soil.step(&[body(BodyShape::Sphere { radius_m: f64::NAN })], 0.1), "body 0");
    let stiff = Model::new(&CrmSpec { young_pa: 1e9, ..SAND }, model.grid(), MOON).expect("a model");
    let refusal = tracer.soil_device().expect("kernels").open(&stiff).expect_err("too stiff").to_string();
    assert!(refusal.contains("young_pa 1000000000 with cells of 0.02 m is too stiff"), "{refusal}");
    // Many points in one place, each of a full cell: their sum is reported before it leaves the integers' range.
    let mut heaped = start.clone();
    heaped.points.iter_mut().for_each(|point| {
        point.position_m = Vector3::new(0.1, 0.04, 0.1);
        point.mass_mg = 12_000;
    });
    soil.load(&heaped).expect("points");
    refused(soil.step(&[], 0.01), "too dense or too fast");
    heaped.points[3].mass_mg = 13_000;
    assert!(soil.load(&heaped).expect_err("too heavy").to_string().contains("point 3 is 1.01"));
    soil.load(&start).expect("points");
    let mut bad = start.clone();
    bad.points[7].velocity_m_s.x = f32::NAN;
    let refusal = soil.load(&bad).expect_err("must be refused").to_string();
    assert!(refusal.contains("point 7 of granular soil has a value"), "{refusal}");
    // What was refused has changed nothing.
    assert!(soil.step(&[], 0.01).is_ok());
    let mut thrown = start.clone();
    thrown.points[9].position_m.z = 0.25;
    thrown.points[9].velocity_m_s.z = 5.0;
    soil.load(&thrown).expect("points");
    refused(soil.step(&[], 0.02), "point 9 of granular soil is at");
    // Loaded again, the soil moves again.
    soil.load(&start).expect("points");
    assert!(soil.step(&[], 0.01).is_ok());
    start.points.pop();
    assert!(soil.save(&mut start).is_err());
}
