//! Single grains on the GPU that also traces images, against the CPU. `crates/gpu/tests/spheres.rs` compares them in
//! detail.

use nalgebra::{Isometry3, Vector3};
use selene_crm::{Body, BodyShape, Wall};
use selene_observe::TracedScene;
use selene_spheres::{Container, Filling, Model, Scratch, SpheresSpec, State, StepResults, step};
use selene_tests::{ROVER, rover, scenario, world};

use crate::{compare, gpu};

const GRAINS: SpheresSpec = SpheresSpec {
    density_kg_m3: 2500.0,
    young_pa: 5e6,
    poisson: 0.3,
    restitution: 0.5,
    friction: 0.5,
    rolling_friction: 0.2,
};
const BOX_M: f64 = 0.06;
const SETTLING_S: f64 = 0.3;
/// A ball is pressed into the bed in so many steps.
const STEPS: usize = 4;
const STEP_S: f64 = 0.01;

/// A bed that has settled in a box.
fn bed() -> (Model, State) {
    let smooth = Wall::Sliding { friction: 0.0 };
    let walls = [[smooth; 2], [smooth; 2], [Wall::Rough, Wall::Open]];
    let container = Container { size_m: [BOX_M, BOX_M, 0.12], walls };
    let model = Model::new(&GRAINS, &container, Vector3::new(0.0, 0.0, -9.81)).expect("a model");
    let mut state = State::default();
    let filling = Filling {
        low_m: [0.0; 3],
        high_m: [BOX_M, BOX_M, 0.1],
        radius_m: [0.004, 0.005],
        velocity_m_s: Vector3::zeros(),
        seed: 1,
    };
    state.fill(&model, &filling).expect("grains");
    step(&model, &mut state, &[], SETTLING_S, &mut Scratch::default()).expect("a step");
    (model, state)
}

/// The ball at the start of a step.
fn ball(number: usize, state: &State) -> Body {
    let top_m = state.spheres.iter().map(|sphere| sphere.position_m.z + sphere.radius_m).fold(0.0, f64::max);
    let first = Body {
        shape: BodyShape::Sphere { radius_m: 0.015 },
        pose: Isometry3::translation(0.5 * BOX_M, 0.5 * BOX_M, top_m + 0.015),
        velocity_m_s: Vector3::new(0.0, 0.0, -0.5),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.5,
    };
    first.moved(STEP_S * number as f64)
}

#[test]
fn a_gpu_steps_grains_between_images() {
    let Some(mut gpu) = gpu() else { return };
    let mut world = world(&selene_tests::model(scenario("polar", None)));
    let snapshot = world.first_snapshot().expect("a snapshot");
    let scene = TracedScene::new(world.model(), ROVER, &snapshot, &world.state().ruts).expect("scene");
    let setup = world.model().rovers()[&ROVER].setup();
    let camera = setup.cameras().next().expect("a camera");
    let view = camera.spec.view(rover(&snapshot).world_from_links[camera.link]);

    let (grains, settled) = bed();
    let mut on_gpu = gpu.spheres_device().expect("the kernels are accepted").open(&grains).expect("a device");
    on_gpu.load(&settled).expect("grains");
    let (mut cpu, mut scratch) = (settled.clone(), Scratch::default());
    let up_n_s = |results: &StepResults| results.reactions[0].impulse_n_s.z;
    let (mut ours_n_s, mut theirs_n_s) = (0.0, 0.0);
    for number in 0..STEPS {
        let ball = ball(number, &settled);
        ours_n_s += up_n_s(&on_gpu.step(&[ball], STEP_S).expect("a step"));
        theirs_n_s += up_n_s(&step(&grains, &mut cpu, &[ball], STEP_S, &mut scratch).expect("a step"));
        compare(&camera.spec.name, &mut gpu, &scene, &view);
    }
    println!("impulses of {ours_n_s} and {theirs_n_s} N s");
    assert!(theirs_n_s > 1e-3, "the ball met nothing");
    assert!((ours_n_s / theirs_n_s - 1.0).abs() < 5e-3, "{ours_n_s} and {theirs_n_s} N s");
}
