//! The GPU's kernels against the CPU's on the default site, on whatever Vulkan device
//! there is; lavapipe in CI.

mod lost_device;

use selene_gpu::GpuTracer;
use selene_observe::TracedScene;
use selene_scene::{CameraFrame, CpuTracer, Tracer};
use selene_tests::{ROVER, model, rover, scenario, skip_peer, world};

/// Relative difference of depth and radiance that `f32` in another order of operations
/// leaves at 100 m and grazing light.
const RELATIVE_TOLERANCE: f32 = 2e-3;
/// Share of pixels on silhouettes and shadow edges, where the two may hit one or the
/// other side.
const EDGE_SHARE: f64 = 0.005;

fn differs(a: f32, b: f32) -> bool {
    a.is_finite() != b.is_finite()
        || (a.is_finite() && (a - b).abs() > RELATIVE_TOLERANCE * a.abs().max(b.abs()).max(1e-3))
}

#[test]
fn cpu_and_gpu_see_the_same_site() {
    let mut gpu = match GpuTracer::open(true) {
        Ok(Some(gpu)) => gpu,
        Ok(None) => return skip_peer("no Vulkan device"),
        Err(error) => panic!("{error}"),
    };
    let mut world = world(&model(scenario("polar", None)));
    let snapshot = world.first_snapshot().expect("a snapshot");
    let scene = TracedScene::new(world.model(), ROVER, &snapshot, &world.state().ruts).expect("scene");
    let setup = world.model().rovers()[&ROVER].setup();
    for camera in setup.cameras() {
        let spec = camera.spec;
        let view = spec.view(rover(&snapshot).world_from_links[camera.link]);
        let (mut ours, mut theirs) = (CameraFrame::default(), CameraFrame::default());
        CpuTracer.camera(scene.scene(), &view, &mut ours).expect("CPU");
        gpu.camera(scene.scene(), &view, &mut theirs).expect("GPU");
        let pixels = ours.depth_m.len();
        let depth = (0..pixels).filter(|&i| differs(ours.depth_m[i], theirs.depth_m[i])).count();
        let class =
            (0..pixels).filter(|&i| ours.class[i] != theirs.class[i] || ours.instance[i] != theirs.instance[i]).count();
        let radiance = (0..pixels)
            .filter(|&i| (0..3).any(|band| differs(ours.radiance[i][band], theirs.radiance[i][band])))
            .count();
        println!(
            "{} on {}: of {pixels} pixels depth {depth}, class {class}, radiance {radiance} differ",
            spec.name,
            gpu.device()
        );
        for (what, count) in [("depth", depth), ("class", class), ("radiance", radiance)] {
            assert!(
                count as f64 <= EDGE_SHARE * pixels as f64,
                "{}: {what} differs at {count} of {pixels} pixels",
                spec.name
            );
        }
    }
}
