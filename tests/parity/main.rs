//! The GPU's kernels against the CPU's on the default site, on whatever Vulkan device
//! there is; lavapipe in CI.

mod lost_device;

use selene_coherence::Stage;
use selene_gpu::GpuTracer;
use selene_scene::{CameraFrame, CpuTracer, Tracer};
use selene_sensors::SensorSpec;
use selene_sim::World;
use selene_tests::{scenario, skip_peer};

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
    let scenario = scenario("polar", None);
    let ground = scenario.generate_ground().expect("ground");
    let mut world = World::new(scenario.clone(), ground.clone()).expect("world");
    let state = world.first_snapshot();
    let mut stage = Stage::new(&scenario, &ground).expect("stage");
    stage.move_to(&state, &state, state.time).expect("analytic sky");
    let cameras = scenario.sensors.iter().filter_map(|sensor| match sensor {
        SensorSpec::Camera(spec) => Some(spec),
        _ => None,
    });
    for spec in cameras {
        let link = scenario.link_index(&spec.link);
        let view = spec.view(state.world_from_links[link]);
        let (mut ours, mut theirs) = (CameraFrame::default(), CameraFrame::default());
        CpuTracer.camera(stage.scene(), &view, &mut ours).expect("CPU");
        gpu.camera(stage.scene(), &view, &mut theirs).expect("GPU");
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
