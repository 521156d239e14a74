//! Tests light scattered several times in a row in a furnace: a closed matt ball with a lamp at its centre. Every point
//! receives the same light, each bounce reflects the share ρ of it, and energy is conserved, so n bounces add ρ + ρ² +
//! … + ρⁿ times the light of the lamp alone; a white ball gives n times as much.

use crate::common;

use common::{PART, look, sun};
use selene_base::Pose;
use selene_scene::{
    BOUNCES_MAX, CameraFrame, CameraView, Class, CpuTracer, Lamp, LightSampling, Material, PrincipledParams, Profile,
    Scene, Tracer, panchromatic, primitives,
};
use selene_terrain::Clipmap;

/// The ball has flat faces: seen from the centre, the lamp's light has other weights than over the area.
const TOLERANCE: f64 = 0.02;
/// High enough above the ground that its light is negligible.
const MIDDLE_M: f64 = 200.0;

/// Mean radiance in a ball of a material with a lamp at its centre: the lamp's direct light, and scattered light.
fn furnace(material: &Material, bounces: u32) -> [f64; 2] {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 4.0), sun(-0.5, 0.4));
    let ball = scene.add_mesh(&primitives::sphere(2.0)).expect("a mesh");
    let pose = Pose::translation(0.0, 0.0, MIDDLE_M);
    scene.add_instance(ball, &pose, Class::Rover.numbered(PART), material).expect("room");
    let lamp = Lamp { world_from_lamp: pose, flux_w: [10.0; 3], profile: Profile::ALL_ROUND, size_m: [0.0; 2] };
    scene.set_lamps(vec![lamp]).expect("room");
    let light = LightSampling { bounce_rays: 16, bounces, seed: 5, ..LightSampling::POINT };
    let view = CameraView { light, ..look([0.0, 0.0, MIDDLE_M], [1.0, 0.3, MIDDLE_M + 0.2], 80, 80) };
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&scene, &view, &mut frame).expect("traced");
    let mean = |all: &[[f32; 3]]| all.iter().map(|&l| f64::from(panchromatic(l))).sum::<f64>() / all.len() as f64;
    let scattered = mean(&frame.scattered);
    [mean(&frame.radiance) - scattered, scattered]
}

#[test]
fn a_white_furnace_gives_as_much_again_with_each_bounce() {
    for bounces in [1, 2, 4, BOUNCES_MAX] {
        let [own, scattered] = furnace(&Material::Lambert { albedo: 1.0 }, bounces);
        let expected = f64::from(bounces) * own;
        assert!((scattered / expected - 1.0).abs() < TOLERANCE, "{scattered}, not {expected} by {bounces}");
    }
}

#[test]
fn a_grey_furnace_sums_its_albedos_powers() {
    for (albedo, bounces) in [(0.5, 1), (0.5, 3), (0.8, 6)] {
        let [own, scattered] = furnace(&Material::Lambert { albedo }, bounces);
        let expected: f64 = (1..=bounces).map(|n| own * albedo.powi(n as i32)).sum();
        assert!((scattered / expected - 1.0).abs() < TOLERANCE, "{scattered}, not {expected}: {albedo} {bounces}");
    }
}

#[test]
fn no_bounce_in_a_furnace_of_paint_or_metal_makes_light() {
    for metallic in [0.0, 1.0] {
        let base = [1.0; 3];
        let params =
            PrincipledParams { base, metallic, roughness: 1.0, specular: 0.5, near_infrared: None, radar: None };
        let sums = [1, 2, 3, 4].map(|bounces| furnace(&Material::Principled(params), bounces)[1]);
        let added = [sums[0], sums[1] - sums[0], sums[2] - sums[1], sums[3] - sums[2]];
        for pair in added.windows(2) {
            assert!(pair[1] > 0.0 && pair[1] < pair[0] * (1.0 + TOLERANCE), "{added:?} with {metallic} of metal");
        }
    }
}

#[test]
fn a_black_furnace_stays_black() {
    assert_eq!(furnace(&Material::Lambert { albedo: 0.0 }, BOUNCES_MAX), [0.0; 2]);
}
