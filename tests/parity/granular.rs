//! A rover on points, and one on single grains, that a GPU steps, against the same drives on the CPU. A device repeats
//! itself to the byte, and goes on from a state as if there had been no break; where it fails, the CPU goes on.

use std::sync::Arc;

use nalgebra::Vector3;
use selene_gpu::GpuTracer;
use selene_sim::{Model, Scenario, Snapshot, World};
use selene_soil::GranularDevice;
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
    let there = place(&drive(&mut cpu, DRIVE_S, ahead()));
    drive(&mut unbroken, 0.5 * DRIVE_S, ahead());
    resumed.set_state(unbroken.state().clone());
    let here = place(&drive(&mut unbroken, 0.5 * DRIVE_S, ahead()));
    let flowing = |world: &World| world.state().granular.values().any(|window| window.is_flowing());
    assert!(flowing(&cpu) && flowing(&unbroken));
    println!("{there:?} and {here:?}");
    assert!((there - here).norm() < APART_M, "{there:?} and {here:?}");
    drive(&mut resumed, 0.5 * DRIVE_S, ahead());
    assert_eq!(unbroken.hash(), resumed.hash());
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
    resumed.set_state(unbroken.state().clone());
    let here = place(&drive(&mut unbroken, 0.5 * DRIVE_S, ahead()));
    println!("{there:?} and {here:?}");
    // Less than a grain's radius.
    assert!((there - here).norm() < 0.01, "{there:?} and {here:?}");
    drive(&mut resumed, 0.5 * DRIVE_S, ahead());
    assert_eq!(unbroken.hash(), resumed.hash());
}

#[test]
fn a_lost_device_costs_no_heartbeat() {
    let Some(gpu) = gpu() else { return };
    let (device, off) = (device(&gpu), gpu.off_switch());
    let model = |scenario| Model::new(Arc::new(scenario)).expect("a model");
    let (on_cpu, on_gpu) = (Arc::new(model(granular())), Arc::new(model(granular()).with_soil_device(device)));
    let begin = |model: &Arc<Model>| World::begin(Arc::clone(model), None).expect("a world");
    let (mut world, mut cpu) = (begin(&on_gpu), begin(&on_cpu));
    drive(&mut world, 0.5 * DRIVE_S, ahead());
    off.turn_off();
    // From the state of the last heartbeat on, the drive is that of a world that never had a device.
    cpu.set_state(world.state().clone());
    drive(&mut cpu, 0.5 * DRIVE_S, ahead());
    drive(&mut world, 0.5 * DRIVE_S, ahead());
    assert!(world.state().granular.values().any(|window| window.is_flowing()));
    assert_eq!(world.hash(), cpu.hash());
}
