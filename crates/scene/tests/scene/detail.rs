//! Detail below the mesh: a function of the place alone, with the deviation that it
//! states, gone where a pixel cannot hold it, and no matter for depths.

use crate::common;

use common::{PART, look, sun};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, Detail, HapkeParams, LightSampling, Material, Scene, Tracer,
};
use selene_terrain::{Clipmap, Level};

const DETAIL: Detail = Detail { deviation_at_1m_m: 0.006, hurst: 0.7, strength: 0.5, mottle: 0.05 };

/// Flat, matt ground of posts 2 cm apart, its window's middle at `at` (whole metres).
fn matt(at: [f64; 2], detail: Detail) -> Scene {
    let level = Level::sample([at[0] - 4.0, at[1] - 4.0], 0.02, 401, |_, _| 0.0);
    let mut scene = Scene::new(&Clipmap::new(vec![level], Vec::new(), Vec::new()), sun(0.6, 0.0));
    let matt = Material::Lambert { albedo: 0.5 };
    scene.set_ground_materials(&matt, &matt, detail);
    scene
}

/// What a camera sees from `height_m` straight over `at`, `width` pixels for 70°.
fn picture(scene: &Scene, at: [f64; 2], height_m: f64, width: u32) -> CameraFrame {
    let view = look([at[0], at[1], height_m], [at[0], at[1], 0.0], width, width);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, &CameraView { light: LightSampling::POINT, ..view }, &mut frame).expect("traced");
    frame
}

fn contrast(frame: &CameraFrame) -> f64 {
    let green: Vec<f64> = frame.radiance.iter().map(|l| f64::from(l[1])).collect();
    let mean = green.iter().sum::<f64>() / green.len() as f64;
    (green.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / green.len() as f64).sqrt() / mean
}

#[test]
fn a_place_looks_the_same_from_another_window() {
    let place = [2.0, -1.0];
    let [one, other] = [[0.0, 0.0], [3.0, -2.0]].map(|middle| picture(&matt(middle, DETAIL), place, 0.2, 120));
    // Positions are f32 about another middle: a cell's corner is met a micrometre off.
    let apart = one.radiance.iter().zip(&other.radiance).map(|(a, b)| (a[1] - b[1]).abs() / a[1]);
    assert!(apart.clone().filter(|d| *d > 0.01).count() < 15, "of 14 400 pixels");
    assert!(contrast(&one) > 0.02, "{}", contrast(&one));
    let elsewhere = picture(&matt([0.0, 0.0], DETAIL), [2.5, -1.0], 0.2, 120);
    assert!(
        one.radiance.iter().zip(&elsewhere.radiance).filter(|(a, b)| (a[1] - b[1]).abs() > 0.01 * a[1]).count() > 7000
    );
}

#[test]
fn slopes_deviate_as_the_law_says() {
    // With octaves of 1 cm to 0.3 mm: light on matt ground goes by sin + slope · cos.
    let only_slopes = Detail { mottle: 0.0, strength: 0.1, ..DETAIL };
    let frame = picture(&matt([0.0; 2], only_slopes), [0.0; 2], 0.02, 300);
    let wave = |k: i32| 0.04 * 0.5_f64.powi(k);
    let slope = |k: i32| 0.1 * 0.5_f64.sqrt() * 2.0 * std::f64::consts::PI * 0.006 * wave(k).powf(0.7) / wave(k);
    let all = (1..=6).map(|k| slope(k).powi(2)).sum::<f64>().sqrt();
    let expected = all / 0.6_f64.tan();
    // 28 mm of ground hold three cells of the largest octave: a sample of some thirty.
    assert!((contrast(&frame) / expected - 1.0).abs() < 0.35, "{} for {expected}", contrast(&frame));
}

#[test]
fn what_a_pixel_cannot_hold_is_not_there() {
    let scene = matt([0.0; 2], DETAIL);
    let bare = contrast(&picture(&matt([0.0; 2], Detail::NONE), [0.0; 2], 3.0, 60));
    // A pixel of 3 m · 23 mrad holds no cell of 1 cm.
    assert!((contrast(&picture(&scene, [0.0; 2], 3.0, 60)) - bare).abs() < 1e-6);
    let closer = [1.0, 0.5, 0.25].map(|height| contrast(&picture(&scene, [0.0; 2], height, 100)));
    assert!(closer.windows(2).all(|pair| pair[0] < pair[1]), "{closer:?}");
}

#[test]
fn depths_and_other_surfaces_do_not_change() {
    let [mut rough, mut smooth] = [DETAIL, Detail::NONE].map(|detail| matt([0.0; 2], detail));
    for scene in [&mut rough, &mut smooth] {
        let box_mesh = scene.add_mesh(&selene_scene::primitives::cuboid([0.1, 0.1, 0.1])).expect("a mesh");
        let material = Material::Hapke(HapkeParams::ROCK);
        scene
            .add_instance(box_mesh, &Pose::translation(0.0, 0.0, 0.02), Class::Rock.numbered(PART), &material)
            .expect("room");
    }
    let [rough, smooth] = [rough, smooth].map(|scene| picture(&scene, [0.0; 2], 0.4, 100));
    assert!(rough.depth_m == smooth.depth_m && rough.class == smooth.class);
    let rocks = (0..10_000).filter(|&i| rough.class[i] == Class::Rock as u16);
    assert!(rocks.clone().count() > 100);
    assert!(rocks.clone().all(|i| rough.radiance[i] == smooth.radiance[i]));
    assert!(rough.radiance != smooth.radiance);
    assert!(rough.radiance.iter().flatten().all(|l| l.is_finite() && *l >= 0.0));
    assert!(Vector3::from(rough.radiance[0]).norm() > 0.0);
}
