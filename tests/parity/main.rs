//! The GPU's kernels against the CPU's on the default site, on whatever Vulkan device is available; lavapipe in CI.

mod driven;
mod granular;
mod lost_device;
mod spheres;
mod two_devices;

use std::sync::Mutex;

use selene_gpu::GpuTracer;
use selene_observe::{Device, TracedScene};
use selene_scene::{Beam, BeamReturn, CameraFrame, CameraView, CpuTracer, Tracer, TruthFrame};
use selene_tests::{ROVER, model, rover, scenario, skip_peer, world};

/// Relative tolerance of depth and radiance at 100 m and grazing light, for `f32` operations in a different order.
const RELATIVE_TOLERANCE: f32 = 2e-3;
/// Fraction of pixels on silhouettes and shadow edges, where GPU and CPU may hit different sides.
const EDGE_SHARE: f64 = 0.005;

fn differs(a: f32, b: f32) -> bool {
    a.is_finite() != b.is_finite()
        || (a.is_finite() && (a - b).abs() > RELATIVE_TOLERANCE * a.abs().max(b.abs()).max(1e-3))
}

/// Whether two images of 8-bit values agree except for rounding, by at most `rounded`, and edges.
fn agree(ours: &[u8], theirs: &[u8], rounded: u8) -> bool {
    assert_eq!(ours.len(), theirs.len());
    let others = ours.iter().zip(theirs).filter(|(a, b)| a.abs_diff(**b) > rounded).count();
    println!("{others} of {} values differ", ours.len());
    others as f64 <= EDGE_SHARE * ours.len() as f64
}

/// The best device; `None`, with a message, if there is none.
fn gpu() -> Option<GpuTracer> {
    match GpuTracer::open(true) {
        Ok(Some(gpu)) => Some(gpu),
        Ok(None) => {
            skip_peer("no Vulkan device");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A device that gives each scene a tracer of this GPU.
fn device_of(gpu: GpuTracer) -> Device {
    let gpu = Mutex::new(gpu);
    Device::new(move || Box::new(gpu.lock().expect("lock").for_another_scene()))
}

/// Fails if CPU and GPU differ in more pixels than edges explain.
fn compare(name: &str, gpu: &mut GpuTracer, scene: &TracedScene, view: &CameraView) {
    let (mut ours, mut theirs) = (CameraFrame::default(), CameraFrame::default());
    CpuTracer.camera(scene.scene(), view, &mut ours).expect("CPU");
    gpu.camera(scene.scene(), view, &mut theirs).expect("GPU");
    let pixels = ours.depth_m.len();
    let count = |differ: &dyn Fn(usize) -> bool| (0..pixels).filter(|&i| differ(i)).count();
    let depth = count(&|i| differs(ours.depth_m[i], theirs.depth_m[i]));
    let class = count(&|i| ours.class[i] != theirs.class[i] || ours.instance[i] != theirs.instance[i]);
    let radiance = count(&|i| (0..3).any(|band| differs(ours.radiance[i][band], theirs.radiance[i][band])));
    let device = gpu.device();
    println!("{name} on {device}: of {pixels} pixels depth {depth}, class {class}, radiance {radiance} differ");
    for (what, count) in [("depth", depth), ("class", class), ("radiance", radiance)] {
        assert!(count as f64 <= EDGE_SHARE * pixels as f64, "{name}: {what} differs at {count} of {pixels} pixels");
    }
}

/// Fails if CPU and GPU differ in the truth of more pixels than edges explain.
fn compare_truth(name: &str, gpu: &mut GpuTracer, scene: &TracedScene, view: &CameraView) {
    let (mut ours, mut theirs) = (TruthFrame::default(), TruthFrame::default());
    CpuTracer.truth(scene.scene(), view, &mut ours).expect("CPU");
    gpu.truth(scene.scene(), view, &mut theirs).expect("GPU");
    let pixels = ours.albedo.len();
    assert_eq!(pixels, theirs.albedo.len());
    let differ = |i: &usize| {
        let normal = (0..3).any(|axis| (ours.normal[*i][axis] - theirs.normal[*i][axis]).abs() > RELATIVE_TOLERANCE);
        normal || differs(ours.albedo[*i], theirs.albedo[*i]) || differs(ours.sun_share[*i], theirs.sun_share[*i])
    };
    let count = (0..pixels).filter(differ).count();
    println!("{name}: the truth of {count} of {pixels} pixels differs");
    assert!(count as f64 <= EDGE_SHARE * pixels as f64, "{name}: the truth differs at {count} of {pixels} pixels");
}

/// Fails if CPU and GPU differ in the returns of more beams, from a camera's place all around, than edges explain.
fn compare_beams(name: &str, gpu: &mut GpuTracer, scene: &TracedScene, view: &CameraView) {
    const TURNS: u32 = 61;
    const BEAMS: u32 = 20_000;
    let origin_m = view.world_from_optical.translation.vector.into();
    let beams: Vec<Beam> = (0..BEAMS)
        .map(|i| {
            let share = (f64::from(i) + 0.5) / f64::from(BEAMS);
            let (up, turn) = (2.0 * share - 1.0, std::f64::consts::TAU * f64::from(TURNS) * share);
            let out = (1.0 - up * up).sqrt();
            Beam::new(origin_m, [out * turn.cos(), out * turn.sin(), up].map(|c| c as f32))
        })
        .collect();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    CpuTracer.beams(scene.scene(), &beams, &mut ours).expect("CPU");
    gpu.beams(scene.scene(), &beams, &mut theirs).expect("GPU");
    assert_eq!(ours.len(), theirs.len());
    let differ = |(a, b): &(&BeamReturn, &BeamReturn)| {
        differs(a.range_m, b.range_m)
            || (a.cos_incidence - b.cos_incidence).abs() > RELATIVE_TOLERANCE
            || (a.class, a.instance) != (b.class, b.instance)
            || a.reflectance != b.reflectance
    };
    let count = ours.iter().zip(&theirs).filter(differ).count();
    println!("{name}: {count} of {BEAMS} beams differ");
    assert!(count as f64 <= EDGE_SHARE * f64::from(BEAMS), "{name}: {count} of {BEAMS} beams differ");
}

#[test]
fn cpu_and_gpu_see_the_same_site() {
    let Some(mut gpu) = gpu() else { return };
    let mut world = world(&model(scenario("polar", None)));
    let snapshot = world.first_snapshot().expect("a snapshot");
    let scene = TracedScene::new(world.model(), ROVER, &snapshot, &world.state().ruts).expect("scene");
    let setup = world.model().rovers()[&ROVER].setup();
    for camera in setup.cameras() {
        let view = camera.spec.view(rover(&snapshot).world_from_links[camera.link]);
        compare(&camera.spec.name, &mut gpu, &scene, &view);
        compare_truth(&camera.spec.name, &mut gpu, &scene, &view);
        compare_beams(&camera.spec.name, &mut gpu, &scene, &view);
    }
}

#[test]
fn scenes_of_several_rovers_are_traced_in_turn_on_one_device_which_all_lose_at_once() {
    let Some(gpu) = gpu() else { return };
    let mut world = world(&model(scenario("convoy", None)));
    let snapshot = world.first_snapshot().expect("a snapshot");
    let mut traced = ["ex1", "sorato"].map(|name| {
        let id = world.model().rover_named(name).expect("there");
        let scene = TracedScene::new(world.model(), id, &snapshot, &world.state().ruts).expect("scene");
        let camera = world.model().rovers()[&id].setup().cameras().next().expect("a camera");
        let view = camera.spec.view(snapshot.rover(id).expect("there").world_from_links[camera.link]);
        (name, scene, view, gpu.for_another_scene())
    });
    for _ in 0..2 {
        traced.iter_mut().for_each(|(name, scene, view, tracer)| compare(name, tracer, scene, view));
    }
    gpu.off_switch().turn_off();
    for (name, scene, view, tracer) in &mut traced {
        let lost = tracer.camera(scene.scene(), view, &mut CameraFrame::default());
        assert!(lost.is_err(), "{name} still has a device");
    }
}
