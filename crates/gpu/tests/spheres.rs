//! Single grains on a GPU against the CPU and closed forms, on any device, software ones included. Skipped if there is
//! none.

#[path = "../../../tests/src/skip.rs"]
mod skip;

use std::time::Instant;

use nalgebra::{Isometry3, Vector3};
use selene_crm::{Body, BodyShape, CrmError, Drum, Wall};
use selene_gpu::GpuTracer;
use selene_spheres::{
    Container, DeviceSpheres, Filling, Model, Partner, Scratch, Sphere, SpheresError, SpheresSpec, State, StepResults,
    step,
};

/// Glass with a reduced modulus, for longer substeps.
const GLASS: SpheresSpec = SpheresSpec {
    density_kg_m3: 2500.0,
    young_pa: 5e6,
    poisson: 0.3,
    restitution: 0.9,
    friction: 0.5,
    rolling_friction: 0.0,
};
/// Grains that roll badly and come to rest soon.
const SAND: SpheresSpec = SpheresSpec { restitution: 0.5, rolling_friction: 0.2, ..GLASS };
const SMOOTH: Wall = Wall::Sliding { friction: 0.0 };
const CLOSED: [[Wall; 2]; 3] = [[SMOOTH; 2]; 3];
const ON_FLOOR: [[Wall; 2]; 3] = [[SMOOTH; 2], [SMOOTH; 2], [Wall::Rough, Wall::Open]];
const GRAVITY_M_S2: f64 = 9.81;

fn gpu() -> Option<GpuTracer> {
    let opened = GpuTracer::open(true).expect("a device that is there opens");
    if opened.is_none() {
        skip::skip_peer("no Vulkan, Metal or DX12 device");
    }
    opened
}

fn model(grains: &SpheresSpec, size_m: [f64; 3], walls: [[Wall; 2]; 3], gravity_m_s2: f64) -> Model {
    let gravity_m_s2 = Vector3::new(0.0, 0.0, -gravity_m_s2);
    Model::new(grains, &Container { size_m, walls }, gravity_m_s2).expect("a model")
}

fn filled(model: &Model, high_m: [f64; 3], radius_m: [f64; 2]) -> State {
    let mut state = State::default();
    let filling = Filling { low_m: [0.0; 3], high_m, radius_m, velocity_m_s: Vector3::zeros(), seed: 3 };
    state.fill(model, &filling).expect("grains");
    state
}

fn on_cpu(model: &Model, state: &mut State, bodies: &[Body], duration_s: f64) -> StepResults {
    step(model, state, bodies, duration_s, &mut Scratch::default()).expect("a step")
}

fn loaded(tracer: &GpuTracer, model: &Model, state: &State) -> Box<dyn DeviceSpheres> {
    let device = tracer.spheres_device().expect("kernels");
    let mut spheres = device.open(model).expect("a device");
    spheres.load(state).expect("grains");
    spheres
}

fn on_gpu(tracer: &GpuTracer, model: &Model, state: &mut State, bodies: &[Body], duration_s: f64) -> StepResults {
    let mut spheres = loaded(tracer, model, state);
    let results = spheres.step(bodies, duration_s).expect("a step");
    spheres.save(state).expect("grains");
    results
}

fn body(shape: BodyShape, at_m: [f64; 3], velocity_m_s: [f64; 3]) -> Body {
    Body {
        shape,
        pose: Isometry3::translation(at_m[0], at_m[1], at_m[2]),
        velocity_m_s: velocity_m_s.into(),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.5,
    }
}

#[track_caller]
fn close(what: &str, found: f64, wanted: f64, tolerance: f64) {
    println!("{what}: {found:.6}, {wanted:.6} is wanted");
    assert!((found / wanted - 1.0).abs() < tolerance, "{what}: {found} is not {wanted} to {tolerance}");
}

/// Greatest difference of positions, m, and velocities, m/s.
fn apart(ours: &State, theirs: &State) -> (f64, f64) {
    let pairs = || ours.spheres.iter().zip(&theirs.spheres);
    let far = |of: fn(&Sphere) -> Vector3<f64>| pairs().map(|(a, b)| (of(a) - of(b)).norm()).fold(0.0, f64::max);
    (far(|sphere| sphere.position_m), far(|sphere| sphere.velocity_m_s))
}

fn mean(state: &State, of: impl Fn(&Sphere) -> f64) -> f64 {
    state.spheres.iter().map(of).sum::<f64>() / state.spheres.len() as f64
}

/// Grains of several sizes that fly and spin about: after 20 ms and some collisions each one is where the CPU has it. A
/// collision multiplies what they differ by before it.
#[test]
fn grains_of_a_gas_fly_as_on_the_cpu() {
    let Some(tracer) = gpu() else { return };
    let model = model(&SpheresSpec { rolling_friction: 0.1, ..GLASS }, [0.08; 3], CLOSED, 0.0);
    let mut cpu = filled(&model, [0.08; 3], [0.003, 0.006]);
    for (number, sphere) in cpu.spheres.iter_mut().enumerate() {
        let turn = 2.4 * number as f64;
        sphere.velocity_m_s = Vector3::new(turn.cos(), turn.sin(), (1.7 * turn).cos()) * 0.5;
        sphere.angular_velocity_rad_s = Vector3::new(turn.sin(), (2.3 * turn).sin(), turn.cos()) * 50.0;
    }
    let begun = cpu.clone();
    let mut gpu = cpu.clone();
    let theirs = on_cpu(&model, &mut cpu, &[], 0.02);
    let ours = on_gpu(&tracer, &model, &mut gpu, &[], 0.02);
    let (far_m, fast_m_s) = apart(&gpu, &cpu);
    println!("{} grains, {} substeps: {far_m:e} m and {fast_m_s:e} m/s apart", cpu.spheres.len(), ours.substeps);
    assert!(apart(&cpu, &begun).1 > 0.5, "they must have met");
    assert!(far_m < 1e-6 && fast_m_s < 1e-3, "{far_m} m, {fast_m_s} m/s");
    assert_eq!(ours.substeps, theirs.substeps);
    assert_eq!(gpu.contacts.len(), cpu.contacts.len());
}

/// A box of 250 grains settles: load on the floor, height, and contacts are those of the CPU's box and of its weight.
#[test]
fn a_settled_box_weighs_and_stands_as_on_the_cpu() {
    let Some(tracer) = gpu() else { return };
    let model = model(&SAND, [0.06, 0.06, 0.12], ON_FLOOR, GRAVITY_M_S2);
    let mut cpu = filled(&model, [0.06, 0.06, 0.12], [0.004, 0.006]);
    let mut gpu = cpu.clone();
    on_cpu(&model, &mut cpu, &[], 0.4);
    let mut spheres = loaded(&tracer, &model, &gpu);
    let begun = Instant::now();
    let settling = spheres.step(&[], 0.4).expect("a step");
    let wall_s = begun.elapsed().as_secs_f64();
    println!("{:.2e} grains times substeps a second", gpu.spheres.len() as f64 * f64::from(settling.substeps) / wall_s);
    let ours = spheres.step(&[], 0.1).expect("a step");
    spheres.save(&mut gpu).expect("grains");
    let weight_n = gpu.mass_kg(&model) * GRAVITY_M_S2;
    close("on the floor, N", -ours.walls_n_s[2][0].z / 0.1, weight_n, 0.01);
    on_cpu(&model, &mut cpu, &[], 0.1);
    let height_m = |state: &State| mean(state, |sphere| sphere.position_m.z);
    close("mean height, m", height_m(&gpu), height_m(&cpu), 0.02);
    close("contacts", gpu.contacts.len() as f64, cpu.contacts.len() as f64, 0.1);
    let speed_m_s = mean(&gpu, |sphere| sphere.velocity_m_s.norm());
    assert!(speed_m_s < 2e-3, "{speed_m_s} m/s at rest");
    assert!(gpu.contacts.iter().any(|contact| matches!(contact.partner, Partner::Sphere(_))));
    assert!(gpu.contacts.iter().any(|contact| contact.memory.shear_n.norm() > 0.0));
    gpu.check(&model).expect("a valid state");
}

/// A sphere on a floor, pressed into it by its weight, at 1 m/s.
fn sliding(grains: &SpheresSpec, friction: f64) -> (Model, State) {
    const RADIUS_M: f64 = 0.01;
    let floor = [Wall::Sliding { friction }, Wall::Open];
    let model = model(grains, [2.0, 0.2, 0.2], [[SMOOTH; 2], [SMOOTH; 2], floor], GRAVITY_M_S2);
    let young_pa = grains.young_pa / (1.0 - grains.poisson.powi(2));
    let weight_n = model.mass_kg(RADIUS_M) * GRAVITY_M_S2;
    let overlap_m = (0.75 * weight_n / (young_pa * RADIUS_M.sqrt())).powf(2.0 / 3.0);
    let mut state = State::default();
    state.add(RADIUS_M, Vector3::new(0.1, 0.1, RADIUS_M - overlap_m), Vector3::x());
    (model, state)
}

/// It slows by μg for 2v/(7μg) = 0.097 s, then rolls at 5/7 of its speed.
#[test]
fn a_sliding_sphere_slows_by_coulomb_and_rolls_at_five_sevenths() {
    let Some(tracer) = gpu() else { return };
    let (model, mut state) = sliding(&GLASS, 0.3);
    let mut spheres = loaded(&tracer, &model, &state);
    spheres.step(&[], 0.05).expect("a step");
    spheres.save(&mut state).expect("grains");
    close("sliding, m/s", state.spheres[0].velocity_m_s.x, 1.0 - 0.3 * GRAVITY_M_S2 * 0.05, 0.005);
    spheres.step(&[], 0.25).expect("a step");
    spheres.save(&mut state).expect("grains");
    close("rolling, m/s", state.spheres[0].velocity_m_s.x, 5.0 / 7.0, 0.005);
    close("turning, rad/s", state.spheres[0].angular_velocity_rad_s.y, 500.0 / 7.0, 0.005);
}

/// It slows by 5/7 μr g.
#[test]
fn rolling_is_resisted_by_a_moment_of_its_coefficient() {
    let Some(tracer) = gpu() else { return };
    let (model, mut state) = sliding(&SpheresSpec { rolling_friction: 0.05, ..GLASS }, 0.3);
    state.spheres[0].angular_velocity_rad_s.y = 100.0;
    on_gpu(&tracer, &model, &mut state, &[], 0.5);
    close("rolling, m/s", state.spheres[0].velocity_m_s.x, 1.0 - 5.0 / 7.0 * 0.05 * GRAVITY_M_S2 * 0.5, 0.01);
}

/// Two spheres meet off their centres: restitution, and the CPU's velocities and spins. Their sums do not change.
#[test]
fn two_spheres_part_as_on_the_cpu() {
    let Some(tracer) = gpu() else { return };
    let model = model(&GLASS, [0.2; 3], CLOSED, 0.0);
    let mut cpu = State::default();
    cpu.add(0.005, Vector3::new(0.0945, 0.1, 0.1), Vector3::x() * 0.25);
    cpu.add(0.004, Vector3::new(0.1055, 0.102, 0.1), Vector3::x() * -0.25);
    let before_n_s = cpu.momentum_n_s(&model);
    let mut gpu = cpu.clone();
    on_cpu(&model, &mut cpu, &[], 0.02);
    on_gpu(&tracer, &model, &mut gpu, &[], 0.02);
    let (far_m, fast_m_s) = apart(&gpu, &cpu);
    println!("{far_m:e} m and {fast_m_s:e} m/s apart");
    assert!(far_m < 1e-7 && fast_m_s < 1e-5);
    for (ours, theirs) in gpu.spheres.iter().zip(&cpu.spheres) {
        let spin_rad_s = theirs.angular_velocity_rad_s.norm();
        assert!(spin_rad_s > 1.0, "it must have been turned");
        assert!((ours.angular_velocity_rad_s - theirs.angular_velocity_rad_s).norm() < 1e-4 * spin_rad_s);
    }
    let lost_n_s = gpu.momentum_n_s(&model) - before_n_s;
    assert!(lost_n_s.norm() < 1e-6 * gpu.mass_kg(&model), "{lost_n_s} N s");
}

/// A column of some 350 grains, a quarter of it between mirrors, falls apart. Its grains end elsewhere, and its shape is
/// that of the CPU's to a few per cent, as between two seeds.
#[test]
fn a_column_collapses_into_the_same_heap() {
    let Some(tracer) = gpu() else { return };
    let narrow = model(&SAND, [0.07, 0.07, 0.2], ON_FLOOR, GRAVITY_M_S2);
    let mut cpu = filled(&narrow, [0.07, 0.07, 0.15], [0.004, 0.005]);
    on_cpu(&narrow, &mut cpu, &[], 0.3);
    let wide = model(&SAND, [0.3, 0.3, 0.2], ON_FLOOR, GRAVITY_M_S2);
    let mut gpu = cpu.clone();
    on_cpu(&wide, &mut cpu, &[], 0.4);
    on_gpu(&tracer, &wide, &mut gpu, &[], 0.4);
    let [here, there] = [&gpu, &cpu].map(|state| {
        let away_m = mean(state, |sphere| sphere.position_m.xy().norm());
        let front_m = state.spheres.iter().filter(|sphere| sphere.position_m.xy().norm() > 0.12).count();
        (away_m, mean(state, |sphere| sphere.position_m.z), front_m)
    });
    println!("{} grains, {} and {} of them in front", gpu.spheres.len(), here.2, there.2);
    close("mean distance, m", here.0, there.0, 0.03);
    close("mean height, m", here.1, there.1, 0.04);
    assert!(there.0 > 0.05, "the column still stands");
}

/// A settled bed, 0.1 m wide.
fn bed() -> (Model, State) {
    let model = model(&GLASS, [0.1, 0.1, 0.2], ON_FLOOR, GRAVITY_M_S2);
    let mut state = filled(&model, [0.1, 0.1, 0.08], [0.004, 0.005]);
    on_cpu(&model, &mut state, &[], 0.4);
    (model, state)
}

/// A wheel, a ball and a turned box in a bed.
fn tools() -> [Body; 3] {
    let lying = Vector3::x() * std::f64::consts::FRAC_PI_2;
    let wheel = Body {
        pose: Isometry3::new(Vector3::new(0.04, 0.05, 0.088), lying),
        angular_velocity_rad_s: Vector3::y() * 5.0,
        ..body(BodyShape::Cylinder { radius_m: 0.03, half_length_m: 0.02 }, [0.0; 3], [0.1, 0.0, -0.1])
    };
    let ball = body(BodyShape::Sphere { radius_m: 0.01 }, [0.082, 0.082, 0.075], [0.0, 0.0, -0.2]);
    let blade = Body {
        pose: Isometry3::new(Vector3::new(0.08, 0.025, 0.085), Vector3::new(0.2, 0.3, 0.0)),
        ..body(BodyShape::Cuboid { half_m: [0.004, 0.02, 0.02] }, [0.0; 3], [-0.2, 0.0, -0.5])
    };
    [wheel, ball, blade]
}

/// Momentum goes to bodies and walls and nowhere else, to the rounding of 32 bits. Impulses are the CPU's while the
/// grains are still near its own.
#[test]
fn bodies_are_pushed_as_on_the_cpu_and_momentum_is_kept() {
    let Some(tracer) = gpu() else { return };
    let (model, mut cpu) = bed();
    let mut gpu = cpu.clone();
    let (before_n_s, duration_s) = (cpu.momentum_n_s(&model), 0.05);
    let theirs = on_cpu(&model, &mut cpu, &tools(), duration_s);
    let ours = on_gpu(&tracer, &model, &mut gpu, &tools(), duration_s);
    println!("{:?}; {} and {} substeps", apart(&gpu, &cpu), ours.substeps, theirs.substeps);
    for (here, there) in ours.reactions.iter().zip(&theirs.reactions) {
        let off = (here.impulse_n_s - there.impulse_n_s).norm() / there.impulse_n_s.norm();
        let turn = (here.angular_impulse_n_m_s - there.angular_impulse_n_m_s).norm();
        let off_turn = turn / (there.impulse_n_s.norm() * 0.01);
        println!("impulse {:?} N s, off by {off:e}, moment by {off_turn:e}", there.impulse_n_s.as_slice());
        assert!(there.impulse_n_s.norm() > 1e-3, "it met nothing");
        assert!(off < 5e-3 && off_turn < 5e-3, "{off} {off_turn}");
    }
    let weight_n_s = model.gravity_m_s2() * (gpu.mass_kg(&model) * duration_s);
    let walls_n_s: Vector3<f64> = ours.walls_n_s.iter().flatten().sum();
    let bodies_n_s: Vector3<f64> = ours.reactions.iter().map(|reaction| reaction.impulse_n_s).sum();
    let missing_n_s = before_n_s + weight_n_s - gpu.momentum_n_s(&model) - walls_n_s - bodies_n_s;
    println!("{:e} of the weight is missing", missing_n_s.norm() / weight_n_s.norm());
    assert!(missing_n_s.norm() < 1e-5 * weight_n_s.norm(), "{missing_n_s} of {weight_n_s}");
    assert!(gpu.contacts.iter().any(|contact| contact.partner == Partner::Body(0)));
}

/// One body rests where the grains are not, others pass the container at a distance of many sizes.
#[test]
fn bodies_far_away_meet_nothing() {
    let Some(tracer) = gpu() else { return };
    let model = model(&GLASS, [0.2; 3], CLOSED, 0.0);
    let ball = body(BodyShape::Sphere { radius_m: 0.01 }, [0.15; 3], [0.0; 3]);
    let at = |at_m: [f64; 3]| Body { pose: Isometry3::translation(at_m[0], at_m[1], at_m[2]), ..ball };
    let bodies = [ball, at([0.05, 0.05, -5000.0]), at([700.0, 0.05, 0.05]), at([-0.3, 0.05, 0.05])]
        .map(|body| Body { velocity_m_s: Vector3::new(0.1, 0.1, 0.1), ..body });
    let mut state = two();
    let results = on_gpu(&tracer, &model, &mut state, &bodies, 0.02);
    assert!(results.reactions.iter().all(|reaction| reaction.impulse_n_s == Vector3::zeros()));
    assert!(state.contacts.is_empty() && apart(&state, &two()).0 < 1e-12);
}

/// A blade that turns by two radians sweeps the same grains away on both.
#[test]
fn a_turning_blade_throws_grains_as_on_the_cpu() {
    let Some(tracer) = gpu() else { return };
    let model = model(&GLASS, [0.2; 3], CLOSED, 0.0);
    let mut cpu = State::default();
    for number in 0..12 {
        let turn = f64::from(number) * 0.5;
        let out_m = 0.05 + 0.002 * f64::from(number);
        cpu.add(0.005, Vector3::new(0.1 + out_m * turn.cos(), 0.1 + out_m * turn.sin(), 0.1), Vector3::zeros());
    }
    let mut gpu = cpu.clone();
    let blade = Body {
        pose: Isometry3::new(Vector3::repeat(0.1), Vector3::z() * 0.25),
        angular_velocity_rad_s: Vector3::new(1.0, -0.5, 20.0),
        ..body(BodyShape::Cuboid { half_m: [0.09, 0.002, 0.02] }, [0.0; 3], [0.1, 0.0, 0.0])
    };
    let theirs = on_cpu(&model, &mut cpu, &[blade], 0.1);
    let ours = on_gpu(&tracer, &model, &mut gpu, &[blade], 0.1);
    let (far_m, fast_m_s) = apart(&gpu, &cpu);
    let (here, there) = (ours.reactions[0].angular_impulse_n_m_s, theirs.reactions[0].angular_impulse_n_m_s);
    println!("{far_m:e} m, {fast_m_s:e} m/s; moments of {there:?} N m s, {:e} apart", (here - there).norm());
    assert!(there.norm() > 1e-5 && (here - there).norm() < 2e-3 * there.norm(), "{here} {there}");
}

/// Twice the same bytes, and the same from a state saved at half time, which is valid for the CPU too. Without the
/// memory of contacts they are others.
#[test]
fn a_device_repeats_itself_and_goes_on_from_a_saved_state() {
    let Some(tracer) = gpu() else { return };
    let (model, state) = bed();
    let run = |state: &State, steps: u32| {
        let mut spheres = loaded(&tracer, &model, state);
        let mut after = state.clone();
        let results: Vec<StepResults> = (0..steps).map(|_| spheres.step(&tools(), 5e-3).expect("a step")).collect();
        spheres.save(&mut after).expect("grains");
        (after, results)
    };
    let (unbroken, results) = run(&state, 4);
    let (again, same_results) = run(&state, 4);
    assert_eq!((unbroken.hash(), &results), (again.hash(), &same_results));
    let (half, _) = run(&state, 2);
    let (resumed, last) = run(&half, 2);
    assert_eq!((resumed.hash(), &last[..]), (unbroken.hash(), &results[2..]));
    assert!(half.contacts.len() > 500, "{} contacts", half.contacts.len());
    let (forgetful, _) = run(&State { contacts: Vec::new(), ..half.clone() }, 2);
    assert_ne!(forgetful.hash(), unbroken.hash(), "what was remembered must matter");
    step(&model, &mut half.clone(), &tools(), 1e-3, &mut Scratch::default()).expect("a state for the CPU");
}

fn two() -> State {
    let mut state = State::default();
    state.add(0.01, Vector3::new(0.05, 0.05, 0.05), Vector3::zeros());
    state.add(0.01, Vector3::new(0.08, 0.05, 0.05), Vector3::zeros());
    state
}

#[test]
fn what_cannot_be_stepped_is_refused_and_the_grains_stay() {
    let Some(tracer) = gpu() else { return };
    let model = model(&GLASS, [0.2; 3], CLOSED, GRAVITY_M_S2);
    let mut state = two();
    let mut spheres = loaded(&tracer, &model, &state);
    for duration_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(spheres.step(&[], duration_s), Err(SpheresError::Duration(_))));
    }
    let ball = body(BodyShape::Sphere { radius_m: 0.01 }, [0.5; 3], [0.0; 3]);
    let rough = Body { friction: -1.0, ..ball };
    let refused = spheres.step(&[ball, rough], 0.01);
    assert!(matches!(refused, Err(SpheresError::Continuum(CrmError::Body { index: 1, .. }))));
    let drum = Drum { radius_m: 0.1, half_length_m: 0.05, slices: 1, scoops: 3, channel_m: 0.02, overlap_rad: 0.5 };
    let message = spheres.step(&[Body { shape: BodyShape::Drum(drum), ..ball }], 0.01).expect_err("a drum").to_string();
    assert!(message.contains("body 0 is a drum") && message.contains("cylinders are allowed"), "{message}");
    let message = spheres.step(&[ball; 513], 0.01).expect_err("many").to_string();
    assert!(message.contains("513 bodies: at most 512"), "{message}");

    let outside = Vector3::new(0.3, 0.05, 0.05);
    let mut gone = two();
    gone.spheres[1].position_m = outside;
    assert!(matches!(spheres.load(&gone), Err(SpheresError::Outside { id: 1, .. })));
    gone.spheres[1].position_m.x = f64::NAN;
    assert!(matches!(spheres.load(&gone), Err(SpheresError::Sphere { id: 1, .. })));
    let message = spheres.save(&mut State::default()).expect_err("another state").to_string();
    assert!(message.contains("it has 2 grains, the state 0"), "{message}");

    spheres.save(&mut state).expect("the grains are still there");
    assert!(apart(&state, &two()).0 < 1e-12);
    let mut empty = State::default();
    spheres.load(&empty).expect("no grains");
    assert_eq!(spheres.step(&[ball], 0.1).expect("a step").reactions.len(), 1);
    spheres.save(&mut empty).expect("none");
}

/// Each fault is that of the CPU, and nothing comes back until the grains are loaded again.
#[test]
fn faults_in_a_step_are_reported_as_on_the_cpu() {
    let Some(tracer) = gpu() else { return };
    let open = [CLOSED[0], CLOSED[1], [Wall::Open; 2]];
    let deep = {
        let mut state = two();
        state.spheres[1].position_m.x = 0.056;
        state
    };
    // In one substep of such soft grains, a fifth of their Rayleigh time, gravity makes them faster than allowed.
    let soft = SpheresSpec { young_pa: 1e4, ..GLASS };
    let cases = [
        ("outside", GLASS, open, GRAVITY_M_S2, two(), 0.2),
        ("overlap", GLASS, CLOSED, GRAVITY_M_S2, deep, 1e-5),
        ("unstable", soft, CLOSED, 1000.0, two(), 1e-2),
        ("substeps", GLASS, CLOSED, GRAVITY_M_S2, two(), 1e4),
    ];
    for (what, grains, walls, gravity_m_s2, state, duration_s) in cases {
        let model = model(&grains, [0.2; 3], walls, gravity_m_s2);
        let theirs = step(&model, &mut state.clone(), &[], duration_s, &mut Scratch::default()).expect_err(what);
        let mut spheres = loaded(&tracer, &model, &state);
        let ours = spheres.step(&[], duration_s).expect_err(what);
        println!("{ours}\n{theirs}");
        assert_eq!(std::mem::discriminant(&ours), std::mem::discriminant(&theirs), "{ours} is not {theirs}");
        let message = spheres.step(&[], 1e-3).expect_err("a failed step").to_string();
        assert!(message.contains("must be loaded again"), "{message}");
        assert!(spheres.save(&mut state.clone()).is_err(), "nothing to save");
        spheres.load(&two()).expect("grains");
        spheres.step(&[], 1e-4).expect("a step again");
    }
}

/// More bodies at one place than a grain has room for.
#[test]
fn a_grain_with_too_many_neighbours_is_reported() {
    let Some(tracer) = gpu() else { return };
    let model = model(&GLASS, [0.2; 3], CLOSED, 0.0);
    let mut spheres = loaded(&tracer, &model, &two());
    let ball = body(BodyShape::Sphere { radius_m: 0.01 }, [0.101, 0.05, 0.05], [0.0; 3]);
    let crowded = spheres.step(&[ball; 40], 1e-3);
    assert_eq!(crowded, Err(SpheresError::Crowded { id: 1, allowed: 32 }));
}

/// Three sizes at once, up to five times as large as the least, far from the origin of a wide container.
#[test]
fn grains_of_very_different_sizes_are_stepped_in_a_wide_container() {
    let Some(tracer) = gpu() else { return };
    let model = model(&SpheresSpec { young_pa: 1e7, ..SAND }, [10.0, 10.0, 1.0], ON_FLOOR, GRAVITY_M_S2);
    let mut cpu = State::default();
    for number in 0..120_u32 {
        let [x, y, z] = [number % 5, number / 5 % 4, number / 20].map(f64::from);
        let radius_m = [0.002, 0.004, 0.01][number as usize % 3];
        let down = Vector3::new(0.1, 0.05, -0.25);
        cpu.add(radius_m, Vector3::new(9.0 + 0.0201 * x, 9.5 + 0.0201 * y, 0.0101 + 0.0201 * z), down);
    }
    let mut gpu = cpu.clone();
    let before = cpu.clone();
    on_cpu(&model, &mut cpu, &[], 0.05);
    on_gpu(&tracer, &model, &mut gpu, &[], 0.05);
    let (far_m, fast_m_s) = apart(&gpu, &cpu);
    println!("{far_m:e} m, {fast_m_s:e} m/s; {} contacts", gpu.contacts.len());
    assert!(far_m < 1e-6 && fast_m_s < 1e-4, "{far_m} m, {fast_m_s} m/s");
    assert!(apart(&cpu, &before).1 > 0.5, "they must have met");
    assert_eq!(gpu.contacts.len(), cpu.contacts.len());
}

/// What is finite in 64 bits and not in 32.
#[test]
fn numbers_too_large_for_a_device_do_not_come_back() {
    let Some(tracer) = gpu() else { return };
    let model = model(&GLASS, [0.2; 3], CLOSED, GRAVITY_M_S2);
    let mut state = two();
    state.spheres[1].angular_velocity_rad_s.x = 1e300;
    let mut spheres = loaded(&tracer, &model, &state);
    let error = spheres.step(&[], 1e-3).expect_err("no finite number");
    assert!(matches!(&error, SpheresError::Sphere { id: 1, what } if what.contains("finite")), "{error}");
    state.spheres[1].angular_velocity_rad_s.x = 0.0;
    state.spheres[1].velocity_m_s.x = 1e300;
    spheres.load(&state).expect("grains");
    assert!(matches!(spheres.step(&[], 1e-3), Err(SpheresError::Substeps { .. })));
}
