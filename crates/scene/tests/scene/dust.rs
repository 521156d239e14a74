//! Tests dust in the air: extinction follows Beer and Lambert; emission is sunlight scattered once, and zero in shadow;
//! images without dust in view stay the same.

use crate::common;

use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};

use common::{PART, look, sun};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_scene::{
    Beam, BeamReturn, CameraFrame, CameraView, Class, CpuTracer, Detail, HapkeParams, LightSampling, Material, Puff,
    RayOfBeam, Receiver, Reports, Scene, Sun, Tracer, TruthFrame, VISIBLE_NM, WideBeam, primitives,
};
use selene_terrain::Clipmap;

/// Rounding of `f32` sums and exponentials.
const EXACT: f64 = 2e-4;
const DEVIATION_M: f64 = 0.1;
/// Optical depth through the centre of the test's puffs.
const DEPTH: f64 = 0.7;
/// Centre pixel of a picture of nine by nine.
const MIDDLE: usize = 40;
const EYE: [f64; 3] = [0.0, 0.0, 1.5];

fn puff(centre_m: [f64; 3]) -> Puff {
    let cross_section_m2 = DEPTH * TAU * DEVIATION_M * DEVIATION_M;
    Puff { centre_m: centre_m.into(), deviation_m: DEVIATION_M, cross_section_m2 }
}

/// Flat ground under a Sun in the west, 45° high; the grains' single-scattering albedo is `w`.
fn ground(w: f64) -> Scene {
    let direction_to_sun = Vector3::new(-FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2);
    let mut scene = Scene::new(&Clipmap::flat(0.1, 40.0), Sun { direction_to_sun, ..sun(0.7, 0.0) });
    let grains = Material::Hapke(HapkeParams { w, ..HapkeParams::REGOLITH });
    scene.set_ground_materials(&grains, &grains, Detail::NONE);
    scene
}

fn add_box(scene: &mut Scene, number: u32, at_m: [f64; 3], size_m: [f64; 3]) {
    let mesh = scene.add_mesh(&primitives::cuboid(size_m)).expect("a mesh");
    let pose = Pose::translation(at_m[0], at_m[1], at_m[2]);
    let grey = Material::Lambert { albedo: 0.5 };
    scene.add_instance(mesh, &pose, Class::Object.numbered(PART + number), &grey).expect("room");
}

/// Adds a wall across the view of `at_wall`, its face 5 m away.
fn add_wall(scene: &mut Scene) {
    add_box(scene, 0, [5.5, 0.0, 2.0], [1.0, 6.0, 4.0]);
}

fn view(target: [f64; 3]) -> CameraView {
    CameraView { light: LightSampling::POINT, ..look(EYE, target, 9, 9) }
}

fn at_wall() -> CameraView {
    view([5.0, 0.0, 1.5])
}

fn traced(scene: &Scene, view: &CameraView) -> CameraFrame {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    frame
}

/// Ratio of the light in the centre of a picture with dust to that without.
fn left(scene: &mut Scene, view: &CameraView, puffs: Vec<Puff>) -> f64 {
    let before = traced(scene, view).radiance[MIDDLE][1];
    scene.set_dust(puffs);
    let after = traced(scene, view).radiance[MIDDLE][1];
    assert!(before > 1.0, "{before}");
    f64::from(after) / f64::from(before)
}

#[test]
fn a_wall_behind_dust_is_darker_by_beer_and_lambert() {
    let mut scene = ground(0.0);
    add_wall(&mut scene);
    let one = left(&mut scene, &at_wall(), vec![puff([2.5, 0.0, 1.5])]);
    assert!((one / (-DEPTH).exp() - 1.0).abs() < EXACT, "{one}");
    scene.set_dust(Vec::new());
    let three = [[1.0, 0.0, 1.5], [2.5, DEVIATION_M, 1.5], [4.0, 0.0, 1.5]].map(puff).to_vec();
    let three = left(&mut scene, &at_wall(), three);
    let expected = (-DEPTH * (2.0 + (-0.5_f64).exp())).exp();
    assert!((three / expected - 1.0).abs() < EXACT, "{three}, not {expected}");
}

#[test]
fn dust_behind_a_wall_is_not_seen_and_truth_looks_through_dust() {
    let mut scene = ground(0.3);
    add_wall(&mut scene);
    let view = at_wall();
    let truth = |scene: &Scene| {
        let mut truth = TruthFrame::default();
        CpuTracer.truth(scene, &view, &mut truth).expect("traced");
        truth
    };
    let (before, true_before) = (traced(&scene, &view), truth(&scene));
    scene.set_dust(vec![puff([8.0, 0.0, 1.5])]);
    assert!(traced(&scene, &view) == before, "behind the wall");
    scene.set_dust(vec![puff([2.5, 0.0, 1.5])]);
    let after = traced(&scene, &view);
    assert!(after.radiance != before.radiance);
    assert!((&after.depth_m, &after.class, &after.instance) == (&before.depth_m, &before.class, &before.instance));
    assert!(truth(&scene) == true_before);
}

#[test]
fn a_picture_without_dust_in_sight_or_before_the_sun_is_the_same_to_the_bit() {
    let mut scene = ground(0.3);
    add_wall(&mut scene);
    let view = CameraView { light: LightSampling::default(), ..at_wall() };
    let before = traced(&scene, &view);
    scene.set_dust(vec![puff([-5.0, 9.0, 0.5])]);
    assert!(traced(&scene, &view) == before);
    scene.set_dust(Vec::new());
    assert!(traced(&scene, &view) == before);
}

/// Against the sky: E w p(g)/4π (1 − e^(−τ)), where E is the sunlight that reaches the centre through half of the puff.
#[test]
fn dust_in_sunlight_scatters_once_as_its_grains_do() {
    let (HapkeParams { b, c, .. }, w) = (HapkeParams::REGOLITH, 0.3);
    let mut scene = ground(w);
    let target = [4.0, 0.0, 3.5];
    scene.set_dust(vec![puff(target)]);
    let frame = traced(&scene, &view(target));
    assert!(frame.depth_m[MIDDLE].is_infinite(), "the sky");
    let toward = (Vector3::from(target) - Vector3::from(EYE)).normalize();
    let cos_g = -toward.dot(&scene.sun().direction_to_sun);
    let lobe = |x: f64| (1.0 - b * b) / (1.0 + x * 2.0 * b * cos_g + b * b).powf(1.5);
    let phase = 0.5 * (1.0 + c) * lobe(-1.0) + 0.5 * (1.0 - c) * lobe(1.0);
    let arriving = scene.sun().irradiance_w_m2 / 3.0 * (-0.5 * DEPTH).exp();
    for (band, tint) in HapkeParams::REGOLITH.tint.iter().enumerate() {
        let expected = arriving * tint * w * phase / (4.0 * PI) * (1.0 - (-DEPTH).exp());
        let radiance = f64::from(frame.radiance[MIDDLE][band]);
        assert!((radiance / expected - 1.0).abs() < EXACT, "{radiance}, not {expected}");
    }
}

#[test]
fn dust_in_a_shadow_is_dark_and_still_takes_light() {
    let mut scene = ground(0.3);
    let target = [4.0, 0.0, 3.5];
    scene.set_dust(vec![puff(target)]);
    let in_light = traced(&scene, &view(target)).radiance[MIDDLE][0];
    // A plate between the dust and the Sun.
    add_box(&mut scene, 1, [2.5, 0.0, 5.0], [0.6, 0.6, 0.6]);
    let in_shadow = traced(&scene, &view(target)).radiance[MIDDLE][0];
    assert!(in_light > 0.0 && in_shadow == 0.0, "{in_light} {in_shadow}");
    assert!((scene.optical_depth(EYE, toward(target), 10.0) - DEPTH as f32).abs() < 1e-3);
}

fn toward(target: [f64; 3]) -> [f32; 3] {
    (Vector3::from(target) - Vector3::from(EYE)).normalize().cast::<f32>().into()
}

#[test]
fn dust_before_the_sun_darkens_the_ground() {
    let mut scene = ground(0.3);
    let on_ground = [4.0, 0.0, 0.0];
    let view = view(on_ground);
    // 2 m toward the Sun, above the view.
    let share = left(&mut scene, &view, vec![puff([2.0, 0.0, 2.0])]);
    assert!((share / (-DEPTH).exp() - 1.0).abs() < 1e-3, "{share}");
}

#[test]
fn any_number_of_threads_sees_the_same_dust() {
    let mut scene = ground(0.3);
    add_wall(&mut scene);
    scene.set_dust((0..60).map(|i| puff([2.0 + 0.03 * f64::from(i), 0.02 * f64::from(i % 7), 1.4])).collect());
    let view = CameraView { light: LightSampling::default(), ..look(EYE, [5.0, 0.0, 1.2], 64, 40) };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| traced(&scene, &view))
    };
    assert!(on(1) == on(3));
}

/// A beam on a Lambert wall: e^(−2τ) of its light returns, and dust in front sends some back.
#[test]
fn a_beam_loses_light_both_ways_and_dust_sends_some_back() {
    let (HapkeParams { b, c, .. }, w) = (HapkeParams::REGOLITH, 0.3);
    let mut scene = ground(w);
    add_wall(&mut scene);
    let beams = [Beam::new(EYE, [1.0, 0.0, 0.0]), Beam::new(EYE, [0.0, 1.0, 0.0])];
    let met = |scene: &Scene| {
        let mut met = Vec::new();
        CpuTracer.beams(scene, &beams, &mut met).expect("traced");
        met
    };
    let mut clear = met(&scene);
    scene.see_dust(&beams, &mut clear);
    assert_eq!(clear, met(&scene), "no dust");
    let puffs = [[1.5, 0.0, 1.5], [3.0, 0.0, 1.5]].map(puff);
    scene.set_dust(puffs.to_vec());
    let mut dimmed = met(&scene);
    scene.see_dust(&beams, &mut dimmed);
    let kept = f64::from(dimmed[0].reflectance / clear[0].reflectance);
    assert!((kept / (-4.0 * DEPTH).exp() - 1.0).abs() < EXACT, "{kept}");
    assert_eq!(
        BeamReturn { reflectance: clear[0].reflectance, near_infrared: clear[0].near_infrared, ..dimmed[0] },
        clear[0]
    );
    assert_eq!(dimmed[1], BeamReturn::NONE);
    let lobe = |x: f64| (1.0 - b * b) / (1.0 + x * 2.0 * b + b * b).powf(1.5);
    let phase = 0.5 * (1.0 + c) * lobe(-1.0) + 0.5 * (1.0 - c) * lobe(1.0);
    let first = w * phase / 8.0 * (1.0 - (-2.0 * DEPTH).exp());
    // A lidar sees the wall as much fainter and the nearer cloud before it; at 550 nm, with a threshold that dust passes.
    let receiver = Receiver {
        rays: vec![RayOfBeam { off_axis: [0.0; 2], weight: 1.0 }],
        wavelength_nm: VISIBLE_NM,
        range_at_10_percent_m: 1e4,
        resolution_m: 0.1,
        ranges_m: [0.0, 100.0],
        reports: Reports::First,
        ignores: None,
    };
    let along_azimuth = [0.0, 1.0, 0.0];
    let beam = WideBeam { origin_m: EYE, axis: [1.0, 0.0, 0.0], along_azimuth, share: 0.0 };
    let echo = |scene: &Scene, reports, nearest_m| {
        let mut echoes = Vec::new();
        let receiver = Receiver { reports, ranges_m: [nearest_m, 100.0], ..receiver.clone() };
        CpuTracer.echoes(scene, &[beam], &receiver, &mut echoes).expect("traced");
        echoes[0][0].expect("an echo")
    };
    for (nearest_m, range_m, expected) in [(0.0, 1.5, first), (2.0, 3.0, first * (-2.0 * DEPTH).exp())] {
        let dust = echo(&scene, Reports::First, nearest_m);
        assert!(dust.class == Class::Dust as u16 && (f64::from(dust.range_m) - range_m).abs() < 1e-5, "{dust:?}");
        let signal = expected / 0.1 * (1e4 / range_m).powi(2);
        assert!((f64::from(dust.signal) / signal - 1.0).abs() < EXACT, "{dust:?}, not {signal}");
    }
    let dimmed = echo(&scene, Reports::Last, 0.0);
    scene.set_dust(Vec::new());
    let clear = echo(&scene, Reports::Last, 0.0);
    assert_eq!((dimmed.range_m, dimmed.class), (clear.range_m, clear.class));
    let kept = f64::from(dimmed.signal / clear.signal);
    assert!((kept / (-4.0 * DEPTH).exp() - 1.0).abs() < EXACT, "{kept}");
}
