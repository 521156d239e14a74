//! Tests detail below the mesh: it depends on the position alone, has the stated deviation, fades where a pixel cannot
//! resolve it, and does not change depths. The same for prints of wheels.

use crate::common;

use common::{PART, look, sun};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, Detail, HapkeParams, LightSampling, Material, Scene, Tracer,
};
use selene_terrain::{Clipmap, Edit, Level, Node, Print};

const DETAIL: Detail = Detail { deviation_at_1m_m: 0.006, hurst: 0.7, strength: 0.5, mottle: 0.05, craterlets: 0.0 };

/// Flat, matt ground with posts 2 cm apart; its window is centred at `at` (whole metres).
fn matt(at: [f64; 2], detail: Detail) -> Scene {
    let level = Level::sample([at[0] - 4.0, at[1] - 4.0], 0.02, 401, |_, _| 0.0);
    let mut scene = Scene::new(&Clipmap::new(vec![level], Vec::new(), Vec::new()), sun(0.6, 0.0));
    let matt = Material::Lambert { albedo: 0.5 };
    scene.set_ground_materials(&matt, &matt, detail);
    scene
}

/// A picture from `height_m` straight above `at`, with `width` pixels for 70°.
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
    // Positions are f32 relative to another centre, so a cell's corner is a micrometre off.
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
    // Octaves of 1 cm to 0.3 mm; light on matt ground is proportional to sin + slope · cos.
    let only_slopes = Detail { mottle: 0.0, strength: 0.1, ..DETAIL };
    let frame = picture(&matt([0.0; 2], only_slopes), [0.0; 2], 0.02, 300);
    let wave = |k: i32| 0.04 * 0.5_f64.powi(k);
    let slope = |k: i32| 0.1 * 0.5_f64.sqrt() * 2.0 * std::f64::consts::PI * 0.006 * wave(k).powf(0.7) / wave(k);
    let all = (1..=6).map(|k| slope(k).powi(2)).sum::<f64>().sqrt();
    let expected = all / 0.6_f64.tan();
    // 28 mm of ground contain three cells of the largest octave: a sample of about thirty.
    assert!((contrast(&frame) / expected - 1.0).abs() < 0.35, "{} for {expected}", contrast(&frame));
}

#[test]
fn what_a_pixel_cannot_hold_is_not_there() {
    let scene = matt([0.0; 2], DETAIL);
    let bare = contrast(&picture(&matt([0.0; 2], Detail::NONE), [0.0; 2], 3.0, 60));
    // A pixel of 3 m · 23 mrad resolves no cell of 1 cm.
    assert!((contrast(&picture(&scene, [0.0; 2], 3.0, 60)) - bare).abs() < 1e-6);
    let closer = [1.0, 0.5, 0.25].map(|height| contrast(&picture(&scene, [0.0; 2], height, 100)));
    assert!(closer.windows(2).all(|pair| pair[0] < pair[1]), "{closer:?}");
}

/// Trask's equilibrium: each octave of diameters covers the same share of the ground.
#[test]
fn craterlets_cover_the_share_that_trask_gives_and_lie_in_their_own_shadow_under_a_low_sun() {
    let only = Detail { craterlets: 1.0, ..Detail::NONE };
    let shadowed = |elevation_rad: f64, detail: Detail| {
        let mut scene = matt([0.0; 2], detail);
        scene.set_sun(sun(elevation_rad, 0.3));
        let frame = picture(&scene, [0.0; 2], 0.5, 400);
        let even = elevation_rad.sin();
        let light = |l: &[f32; 3]| f64::from(l[1]);
        let brightest = frame.radiance.iter().map(light).fold(0.0, f64::max);
        let middle = picture(&matt([0.0; 2], Detail::NONE), [0.0; 2], 0.5, 3).radiance[4][1];
        let uneven = frame.radiance.iter().filter(|l| {
            let expected = f64::from(middle) * even / 0.6_f64.sin();
            (light(l) / expected - 1.0).abs() > 0.02
        });
        let dark = frame.radiance.iter().filter(|l| light(l) < 0.05 * brightest).count();
        [uneven.count(), dark].map(|count| count as f64 / frame.radiance.len() as f64)
    };
    // Of each octave 0.169 of the ground is bowl or rim: 0.515 π (1.4 r)², with 0.0534 as mean of r². A pixel of 1.75 mm
    // shows five octaves, together 1 − 0.831⁵ = 0.60. Slopes across the Sun's direction change no light.
    let [uneven, dark] = shadowed(0.6, only);
    assert!((0.4..0.6).contains(&uneven) && dark < 1e-3, "{uneven} is uneven, {dark} dark");
    let [half, _] = shadowed(0.6, Detail { craterlets: 0.3, ..only });
    assert!((0.2..0.45).contains(&(half / uneven)), "{half} of a thinner population");
    let [_, dark] = shadowed(0.05, only);
    assert!((0.02..0.3).contains(&dark), "{dark} lies in shadow");
}

/// Flat ground with the Sun at `elevation_rad` midway between x and y, pressed by a wheel that went along `heading_rad`
/// with grousers that leave prints 6 cm apart.
fn driven(heading_rad: f64, elevation_rad: f64) -> Scene {
    let mut scene = matt([0.0; 2], Detail::NONE);
    scene.set_sun(sun(elevation_rad, std::f64::consts::FRAC_PI_4));
    let edit = |i: i32| {
        let node = Node { column: 150 + i % 100, row: 150 + i / 100 };
        let [x, y] = [node.column, node.row].map(|post| 0.02 * f64::from(post) - 4.0);
        let ahead_m = x * heading_rad.cos() + y * heading_rad.sin();
        let print = Print::of_grousers(heading_rad, std::f64::consts::TAU * ahead_m / 0.06, 0.06);
        Edit::of(node, 0.0).with_print(print)
    };
    scene.apply_edits(&(0..10_000).map(edit).collect::<Vec<_>>());
    scene
}

/// Mean square of the steps between neighbouring pixels along rows and along columns, relative to the mean light.
fn steps(frame: &CameraFrame, width: usize) -> [f64; 2] {
    let light = |i: usize| f64::from(frame.radiance[i][1]);
    let mean = (0..width * width).map(light).sum::<f64>() / (width * width) as f64;
    let inner = (0..width * (width - 1)).filter(|i| i % width + 1 < width);
    let sum = |to: usize| inner.clone().map(|i| ((light(i + to) - light(i)) / mean).powi(2)).sum::<f64>();
    [sum(1), sum(width)]
}

#[test]
fn prints_lie_across_the_way_of_the_wheel_and_change_no_depth() {
    let bare = picture(&matt([0.0; 2], Detail::NONE), [0.0; 2], 0.3, 120);
    let [east, north] = [0.0, std::f64::consts::FRAC_PI_2].map(|heading_rad| {
        let frame = picture(&driven(heading_rad, 0.6), [0.0; 2], 0.3, 120);
        assert!(frame.depth_m == bare.depth_m && contrast(&frame) > 0.1, "{}", contrast(&frame));
        steps(&frame, 120)
    });
    let along = usize::from(east[0] < east[1]);
    assert!(east[along] > 10.0 * east[1 - along] && north[1 - along] > 10.0 * north[along], "{east:?} {north:?}");
    // From 8 m, a pixel is as wide as a print.
    let far = picture(&driven(0.0, 0.6), [0.0; 2], 8.0, 120);
    let middle = far.radiance[60 * 120 + 60][1] / bare.radiance[60 * 120 + 60][1];
    assert!((middle - 0.92).abs() < 0.02, "pressed soil has {middle} of the light");
}

#[test]
fn prints_lie_in_their_own_shadow_where_the_sun_is_low() {
    let shares = [0.6, 0.1].map(|elevation_rad| {
        let frame = picture(&driven(std::f64::consts::FRAC_PI_4, elevation_rad), [0.0; 2], 0.3, 120);
        let dark = frame.radiance.iter().filter(|light| light[1] < 1e-6 * frame.radiance[0][1].max(1.0)).count();
        dark as f64 / frame.radiance.len() as f64
    });
    assert!(shares[0] < 0.1 && shares[1] > 0.15 && shares[1] < 0.6, "{shares:?}");
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
