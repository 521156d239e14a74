//! A rover on points, and one on single grains, that a GPU steps, against the same drives on the CPU. A device repeats
//! itself to the byte, and goes on from a state as if there had been no break. Where it fails, the CPU goes on, unless the
//! points are lost with it.

use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use nalgebra::{Isometry3, UnitQuaternion, Vector3};
use selene_crm::{Body, BodyShape, Drum};
use selene_gpu::GpuTracer;
use selene_sim::{Model, Scenario, Snapshot, State, World};
use selene_soil::{GranularDevice, MemoryPatch, SoilSolver, WindowState};
use selene_terrain::GroundPatch;
use selene_tests::{drive, rover, scenario};
use selene_vehicle::BodyTwist;

use crate::gpu;

/// How far from the drive on the CPU a drive of 5 cm may end, m: the soil's motion grows small differences.
const APART_M: f64 = 1e-3;
const DRIVE_S: f64 = 0.6;

fn granular() -> Scenario {
    scenario("granular", None)
}

fn device(gpu: &GpuTracer) -> GranularDevice {
    let points = gpu.soil_device().expect("the kernels are accepted");
    GranularDevice { points, grains: gpu.spheres_device().expect("the kernels are accepted") }
}

fn ahead() -> Option<BodyTwist> {
    Some(BodyTwist { forward_m_s: 0.08, left_m_s: 0.0, turn_rad_s: 0.0 })
}

fn hash(world: &World) -> u64 {
    world.hash().expect("a device that answers")
}

fn body(shape: BodyShape, pose: Isometry3<f64>) -> Body {
    let (velocity_m_s, angular_velocity_rad_s) = (Vector3::zeros(), Vector3::zeros());
    Body { shape, pose, velocity_m_s, angular_velocity_rad_s, friction: 0.5 }
}

fn place(snapshots: &[Snapshot]) -> Vector3<f64> {
    rover(snapshots.last().expect("heartbeats")).world_from_links[0].translation.vector
}

#[test]
fn a_rover_on_points_drives_the_same_on_both_devices() {
    let Some(gpu) = gpu() else { return };
    let model = |scenario| Model::new(Arc::new(scenario)).expect("a model");
    let (on_cpu, on_gpu) = (Arc::new(model(granular())), Arc::new(model(granular()).with_soil_device(device(&gpu))));
    let begin = |model: &Arc<Model>| World::begin(Arc::clone(model), None).expect("a world");
    let (mut cpu, mut unbroken, mut resumed) = (begin(&on_cpu), begin(&on_gpu), begin(&on_gpu));
    // As a run begins: whoever looks at the world before its first step changes nothing.
    unbroken.first_snapshot().expect("a snapshot");
    let there = place(&drive(&mut cpu, DRIVE_S, ahead()));
    drive(&mut unbroken, 0.5 * DRIVE_S, ahead());
    resumed.set_state(unbroken.copy_state().expect("a state"));
    let here = place(&drive(&mut unbroken, 0.5 * DRIVE_S, ahead()));
    let flowing = |world: &World| world.state().granular.values().any(|window| window.is_flowing());
    assert!(flowing(&cpu) && flowing(&unbroken) && unbroken.state().granular[&0].is_on_device());
    println!("{there:?} and {here:?}");
    assert!((there - here).norm() < APART_M, "{there:?} and {here:?}");
    drive(&mut resumed, 0.5 * DRIVE_S, ahead());
    assert_eq!(hash(&unbroken), hash(&resumed));
}

/// Beds that settle on different devices differ in every grain, so that their drives agree in what the grains do together:
/// where the rover is, and the load on its wheels.
#[test]
fn a_rover_on_single_grains_is_borne_on_both_devices() {
    let Some(gpu) = gpu() else { return };
    let model = || Model::new(Arc::new(scenario("gravel", None))).expect("a model");
    let on_gpu = Arc::new(model().with_soil_device(device(&gpu)));
    let begin = |model: &Arc<Model>| World::begin(Arc::clone(model), None).expect("a world");
    let (mut cpu, mut unbroken) = (begin(&Arc::new(model())), begin(&on_gpu));
    let mut resumed = begin(&on_gpu);
    let bed = |world: &World| world.state().granular[&0].points_mg() as f64 / 1e6;
    assert!((bed(&cpu) / bed(&unbroken) - 1.0).abs() < 0.03, "beds of {} and {} kg", bed(&cpu), bed(&unbroken));
    let there = place(&drive(&mut cpu, DRIVE_S, ahead()));
    drive(&mut unbroken, 0.5 * DRIVE_S, ahead());
    resumed.set_state(unbroken.copy_state().expect("a state"));
    let here = place(&drive(&mut unbroken, 0.5 * DRIVE_S, ahead()));
    println!("{there:?} and {here:?}");
    // Less than a grain's radius.
    assert!((there - here).norm() < 0.01, "{there:?} and {here:?}");
    drive(&mut resumed, 0.5 * DRIVE_S, ahead());
    assert_eq!(hash(&unbroken), hash(&resumed));
}

/// While points are on a device, the state in memory is older. What asks for them gets those of now, and the device goes
/// on with them.
#[test]
fn points_stay_on_a_device_until_somebody_asks_for_them() {
    let Some(gpu) = gpu() else { return };
    let model = Arc::new(Model::new(Arc::new(granular())).expect("a model").with_soil_device(device(&gpu)));
    let mut world = World::begin(model, None).expect("a world");
    drive(&mut world, 0.25 * DRIVE_S, ahead());
    let pit = |state: &State| state.granular[&0].points().to_vec();
    let (here, copy) = (pit(world.state()), world.copy_state().expect("a state"));
    assert!(world.state().granular[&0].is_on_device() && !copy.granular[&0].is_on_device());
    let moved = here.iter().zip(pit(&copy)).filter(|(old, new)| old.position_m != new.position_m).count();
    assert!(moved > 0 && here.iter().zip(pit(&copy)).all(|(old, new)| (old.id, old.mass_mg) == (new.id, new.mass_mg)));
    assert_eq!(hash(&world), copy.hash());
    // A state without its points is refused wherever it is written.
    let error = serde_json::to_string(&world.state().granular[&0]).expect_err("no points").to_string();
    assert!(error.contains("points of granular soil are on a device"), "{error}");
    // It is of no use to another world either.
    let mut other = World::begin(Arc::clone(world.model()), None).expect("a world");
    other.set_state(world.state().clone());
    let error = other.heartbeat().expect_err("no points").to_string();
    assert!(error.contains("the points are no longer there"), "{error}");
    let mut branch = world.branch().expect("a world");
    drive(&mut world, 0.1, ahead());
    drive(&mut branch, 0.1, ahead());
    assert_eq!(hash(&world), hash(&branch));
}

/// Dust is thrown and lands between two steps: the masses on the device follow.
#[test]
fn what_is_read_of_points_on_a_device_is_what_is_read_of_them_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut world = World::begin(Arc::new(Model::new(Arc::new(granular())).expect("a model")), None).expect("a world");
    drive(&mut world, 0.25 * DRIVE_S, ahead());
    let window = &world.model().windows()[0];
    let (mut state, mut solver) = (world.state().granular[&0].clone(), SoilSolver::new(Some(&device(&gpu))));
    let mut ground = GroundPatch::new(world.model().terrain(), &window.tiles().tiles().collect());
    let mut memory = MemoryPatch::new(&ground);
    let shape = Drum { radius_m: 0.12, half_length_m: 0.1, slices: 2, scoops: 3, channel_m: 0.06, overlap_rad: 0.6 };
    let along_y = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), FRAC_PI_2);
    let drum = Body {
        velocity_m_s: Vector3::x() * 0.3,
        angular_velocity_rad_s: Vector3::y() * 4.0,
        ..body(BodyShape::Drum(shape), Isometry3::from_parts(Vector3::new(0.4, 0.0, 0.02).into(), along_y))
    };
    for step in 0..60 {
        let moved = drum.moved(f64::from(step) * 0.001);
        window.step(&mut state, &[(7, moved)], &mut solver).expect("a step");
        if step % 20 == 19 {
            let end = window.end_heartbeat(&mut state, &mut solver, true, 0.02).expect("nothing is lost");
            window.settle(&mut state, &mut ground, &mut memory, end).expect("nothing is lost");
            state.take_dust(-3_000_400);
            state.take_dust(1_200_000);
        }
    }
    let (mut here, mut cpu) = (state.clone(), SoilSolver::default());
    window.save(&mut here, &solver).expect("points");
    assert!(state.is_on_device() && !here.is_on_device());
    let loads_kg = window.loads_kg(&state, &mut solver, &[6, 7]).expect("loads");
    assert!(loads_kg[0] == 0.0 && loads_kg[1] > 0.5, "{loads_kg:?} kg");
    assert_eq!(loads_kg, window.loads_kg(&here, &mut cpu, &[6, 7]).expect("loads"));
    let loose = window.loose_points(&state, &mut solver).expect("points");
    assert!(loose.len() > 5 && loose == window.loose_points(&here, &mut cpu).expect("points"), "{}", loose.len());
    let stirred = window.stirred_soil(&state, &mut solver, 1.0).expect("soil");
    assert!(stirred.len() > 3 && stirred == window.stirred_soil(&here, &mut cpu, 1.0).expect("soil"), "{stirred:?}");
    assert!(window.balance(&here).is_ok() && window.end_heartbeat(&mut state, &mut solver, true, 0.005).is_ok());
    // The step after finds the soil on the device with its new masses, as if it had been loaded with them.
    let mut loaded = SoilSolver::new(Some(&device(&gpu)));
    for (state, solver) in [(&mut state, &mut solver), (&mut here, &mut loaded)] {
        window.step(state, &[(7, drum.moved(0.06))], solver).expect("a step");
        window.bring_back(state, solver).expect("points");
    }
    assert!(state.points() == here.points() && !state.points().is_empty());
}

/// Grains on a device come back while a drum is among them, which the CPU takes, and go there again after it.
#[test]
fn the_cpu_steps_grains_while_a_drum_is_among_them() {
    let Some(gpu) = gpu() else { return };
    let world = World::begin(Arc::new(Model::new(Arc::new(scenario("gravel", None))).expect("a model")), None);
    let world = world.expect("a world");
    let (model, window) = (world.model(), &world.model().windows()[0]);
    let ground = GroundPatch::new(model.terrain(), &window.tiles().tiles().collect());
    let mut cpu = world.state().granular[&0].clone();
    window.wake(&mut cpu, &ground);
    let mut on_gpu = cpu.clone();
    let at_m =
        |x: f64, y: f64, above_m: f64| Isometry3::translation(x, y, ground.height_m(x, y).expect("ground") + above_m);
    let shape = Drum { radius_m: 0.16, half_length_m: 0.1, slices: 1, scoops: 2, channel_m: 0.09, overlap_rad: 0.3 };
    let along_y = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), FRAC_PI_2);
    let ball =
        Body { velocity_m_s: Vector3::z() * -0.1, ..body(BodyShape::Sphere { radius_m: 0.06 }, at_m(0.0, 0.15, 0.07)) };
    let drum = Body {
        velocity_m_s: Vector3::z() * -0.2,
        angular_velocity_rad_s: Vector3::y() * 0.5,
        ..body(BodyShape::Drum(shape), at_m(0.1, -0.1, 0.178) * along_y)
    };
    let mut solvers = [SoilSolver::default(), SoilSolver::new(Some(&device(&gpu)))];
    let mut impulses = [Vector3::zeros(); 2];
    for step in 0..120 {
        let moved = |body: Body| body.moved(f64::from(step) * 0.001);
        let bodies = match step {
            40..80 => vec![(1, moved(ball)), (2, moved(drum))],
            _ => vec![(1, moved(ball))],
        };
        for ((state, solver), impulse) in [&mut cpu, &mut on_gpu].into_iter().zip(&mut solvers).zip(&mut impulses) {
            let wrenches = window.step(state, &bodies, solver).expect("a step");
            *impulse += wrenches.iter().map(|wrench| wrench.force).sum::<Vector3<f64>>();
        }
    }
    window.bring_back(&mut on_gpu, &mut solvers[1]).expect("grains");
    let pairs = || cpu.grains().iter().zip(on_gpu.grains());
    let apart_m = pairs().map(|(here, there)| (here.position_m - there.position_m).norm()).fold(0.0, f64::max);
    let start = world.state().granular[&0].grains();
    let moved_m = cpu.grains().iter().zip(start).map(|(now, then)| (now.position_m - then.position_m).norm());
    let moved_m = moved_m.fold(0.0, f64::max);
    println!("moved by {moved_m} m, {apart_m} m apart; impulses {impulses:?}");
    assert!(moved_m > 1e-3 && apart_m < 0.05 * moved_m, "moved by {moved_m} m, {apart_m} m apart");
    assert!((impulses[0] - impulses[1]).norm() < 0.02 * impulses[0].norm(), "{impulses:?}");
}

#[test]
fn a_device_that_is_lost_before_it_has_points_costs_no_heartbeat() {
    let Some(gpu) = gpu() else { return };
    let (device, off) = (device(&gpu), gpu.off_switch());
    let model = || Model::new(Arc::new(granular())).expect("a model");
    let begin = |model: Model| World::begin(Arc::new(model), None).expect("a world");
    let (mut world, mut cpu) = (begin(model().with_soil_device(device)), begin(model()));
    off.turn_off();
    drive(&mut cpu, 0.5 * DRIVE_S, ahead());
    drive(&mut world, 0.5 * DRIVE_S, ahead());
    assert!(world.state().granular[&0].is_flowing());
    assert_eq!(hash(&world), hash(&cpu));
}

#[test]
fn a_device_that_is_lost_with_points_on_it_ends_the_run_with_what_to_do() {
    let Some(gpu) = gpu() else { return };
    let (device, off) = (device(&gpu), gpu.off_switch());
    let model = Model::new(Arc::new(granular())).expect("a model").with_soil_device(device);
    let mut world = World::begin(Arc::new(model), None).expect("a world");
    drive(&mut world, 0.5 * DRIVE_S, ahead());
    off.turn_off();
    let error = world.heartbeat().expect_err("the points are lost").to_string();
    assert!(error.contains("lost") && error.contains("the points were there, go on from a checkpoint"), "{error}");
    assert!(world.hash().is_err() && world.copy_state().is_err() && world.heartbeat().is_err());
}

/// A device that refuses a step gives its points of before the heartbeat, and the CPU makes it.
#[test]
fn a_device_that_fails_gives_the_points_back() {
    let Some(gpu) = gpu() else { return };
    let model = Model::new(Arc::new(granular())).expect("a model").with_soil_device(device(&gpu));
    let mut world = World::begin(Arc::new(model), None).expect("a world");
    drive(&mut world, 0.25 * DRIVE_S, ahead());
    let window = &world.model().windows()[0];
    let (mut state, mut solver) = (world.copy_state().expect("a state"), SoilSolver::new(Some(&device(&gpu))));
    let state = state.granular.get_mut(&0).expect("a window");
    let ball = |number: u64| {
        let at_m = window.corner_m() + Vector3::new(0.3, 0.3, 0.2);
        (number, body(BodyShape::Sphere { radius_m: 0.05 }, Isometry3::from(at_m)))
    };
    window.step(state, &[ball(0)], &mut solver).expect("a step");
    let (mut before, mut copy) = (state.clone(), WindowState::default());
    window.save(&mut before, &solver).expect("points");
    state.copy_to(&mut copy);
    assert!(copy.points().is_empty(), "nothing is copied to the CPU");
    window.mark(state, &mut solver).expect("a mark");
    window.step(state, &[ball(0)], &mut solver).expect("a step");
    let too_many: Vec<_> = (0..513).map(ball).collect();
    let error = window.step(state, &too_many, &mut solver).expect_err("too many bodies");
    assert!(error.is_of_device() && error.to_string().contains("513 bodies, it takes 512 at once"), "{error}");
    window.go_back(&mut copy, &mut solver).expect("the points of before");
    assert!(copy == before);
    window.step(&mut copy, &too_many, &mut SoilSolver::default()).expect("the CPU takes them");
}
