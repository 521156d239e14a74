//! Tests lamps against closed forms: the inverse square and the cosine of a point, the flux through a sphere, a
//! rectangle's form factor (Howell's catalogue, B-3), sharp and soft shadows, and the opposition effect of a lamp
//! beside the camera.

use crate::common;

use std::f64::consts::{FRAC_PI_2, PI};

use common::{PART, bumpy_ground, look, sun};
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::random::{RngExt, stream};
use selene_scene::kernel::lamp::lamplight;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, LAMPS_MAX, Lamp, LightSampling, Material, Profile, Scene, SceneError,
    Tracer, panchromatic, primitives,
};
use selene_terrain::Clipmap;

/// Rounding of `f32`.
const EXACT: f64 = 1e-4;

/// 32 stratified points of a lamp per pixel, averaged over some hundred pixels.
const SAMPLED: f64 = 0.01;

const ALBEDO: f64 = 0.5;

/// A pose at `place` whose x axis points along `axis`.
fn aimed(place: [f64; 3], axis: [f64; 3]) -> Pose {
    let turn = UnitQuaternion::rotation_between(&Vector3::x(), &Vector3::from(axis));
    let turn = turn.unwrap_or_else(|| UnitQuaternion::from_axis_angle(&Vector3::y_axis(), PI));
    Pose::from_parts(Vector3::from(place).into(), turn)
}

fn bulb(place: [f64; 3], flux_w: f64) -> Lamp {
    let world_from_lamp = aimed(place, [0.0, 0.0, -1.0]);
    Lamp { world_from_lamp, flux_w: [flux_w / 3.0; 3], profile: Profile::ALL_ROUND, size_m: [0.0; 2] }
}

/// A matt table over flat ground at night; its top is at z = 0.01.
fn table(lamps: Vec<Lamp>) -> Scene {
    let mut scene = Scene::new(&Clipmap::flat(0.5, 100.0), sun(-0.5, 2.0));
    let top = scene.add_mesh(&primitives::cuboid([20.0, 20.0, 0.02])).expect("a mesh");
    scene
        .add_instance(top, &Pose::identity(), Class::Rover.numbered(PART), &Material::Lambert { albedo: ALBEDO })
        .expect("room");
    scene.set_lamps(lamps).expect("room");
    scene
}

/// Irradiance of the table at (x, y), from the radiance that a narrow camera above it sees.
fn irradiance(scene: &Scene, x: f64, y: f64) -> f64 {
    let view = look([x, y, 9.0], [x, y, 0.0], 16, 16);
    let light = LightSampling { sun_samples: 32, bounce_rays: 0, seed: 3, ..LightSampling::POINT };
    let view = CameraView { fx_px: 40_000.0, fy_px: 40_000.0, light, ..view };
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, &view, &mut frame).expect("traced");
    let mean = frame.radiance.iter().map(|&l| f64::from(panchromatic(l))).sum::<f64>() / 256.0;
    mean * PI / ALBEDO
}

#[test]
fn a_bulb_lights_by_the_inverse_square_and_the_cosine() {
    for height in [1.0, 2.0, 8.0] {
        let scene = table(vec![bulb([0.0, 0.0, 0.01 + height], 100.0)]);
        for x in [0.1, 1.0, 5.0] {
            let distance2 = height * height + x * x;
            let expected = 100.0 / (4.0 * PI) / distance2 * height / distance2.sqrt();
            let got = irradiance(&scene, x, 0.0);
            assert!((got / expected - 1.0).abs() < EXACT, "{got}, not {expected} W/m² {x} m beside");
        }
    }
}

#[test]
fn a_lamps_whole_flux_goes_through_a_sphere_about_it() {
    // Midpoint rule in cosine and azimuth.
    let spot = Profile { inner_rad: 0.15, outer_rad: 0.6, falloff: 1.7 };
    for profile in [spot, Profile::LAMBERT, Profile::ALL_ROUND] {
        let lamp = Lamp {
            world_from_lamp: aimed([1.0, -2.0, 3.0], [0.6, 0.0, 0.8]),
            flux_w: [20.0, 10.0, 5.0],
            profile,
            size_m: [0.0; 2],
        };
        let record = lamp.record(Vector3::zeros());
        let turn = lamp.world_from_lamp.rotation;
        let (rings, spokes, radius) = (4000, 8, 7.0);
        let mut flux = [0.0; 3];
        for (ring, spoke) in (0..rings).flat_map(|ring| (0..spokes).map(move |spoke| (ring, spoke))) {
            let cos = (f64::from(ring) + 0.5) / f64::from(rings) * 2.0 - 1.0;
            let (sin, turned) = ((1.0 - cos * cos).sqrt(), f64::from(spoke) * 2.0 * PI / f64::from(spokes));
            let out = turn * Vector3::new(cos, sin * turned.cos(), sin * turned.sin());
            let place = lamp.world_from_lamp.translation.vector + out * radius;
            let light = lamplight(&record, &place.cast::<f32>(), [0.5, 0.5]);
            let patch = 4.0 * PI * radius * radius / f64::from(rings * spokes);
            (0..3).for_each(|band| flux[band] += f64::from(light.irradiance[band]) * patch);
        }
        for (got, expected) in flux.iter().zip(lamp.flux_w) {
            assert!((got / expected - 1.0).abs() < 2e-3, "{got}, not {expected} W through the sphere: {profile:?}");
        }
    }
}

#[test]
fn a_wide_matt_lamp_lights_by_its_form_factor() {
    // An element under the corner of a rectangle a × b at height c, facing it:
    // F = (A/√(1+A²) atan(B/√(1+A²)) + B/√(1+B²) atan(A/√(1+B²)))/2π, A = a/c, B = b/c.
    let form_factor = |a: f64, b: f64| {
        let side = |a: f64, b: f64| a / (1.0 + a * a).sqrt() * (b / (1.0 + a * a).sqrt()).atan();
        (side(a, b) + side(b, a)) / (2.0 * PI)
    };
    let [width, height, up] = [1.2, 0.6, 0.8];
    let lamp = Lamp {
        world_from_lamp: aimed([0.0, 0.0, 0.01 + up], [0.0, 0.0, -1.0]),
        flux_w: [10.0; 3],
        profile: Profile::LAMBERT,
        size_m: [width, height],
    };
    // The flux of a matt face is π radiance · area, and its irradiance is π radiance · F.
    let expected = 30.0 / (width * height) * 4.0 * form_factor(0.5 * width / up, 0.5 * height / up);
    let got = irradiance(&table(vec![lamp]), 0.0, 0.0);
    assert!((got / expected - 1.0).abs() < SAMPLED, "{got}, not {expected} W/m²");
}

#[test]
fn a_spot_is_full_within_dark_beyond_and_falls_between_by_its_power() {
    let profile = Profile { inner_rad: 0.2, outer_rad: 0.5, falloff: 2.0 };
    let lamp = Lamp { profile, ..bulb([0.0, 0.0, 4.01], 100.0) };
    let scene = table(vec![lamp]);
    let intensity: f64 = lamp.intensity_w_sr().iter().sum();
    for angle in [0.0_f64, 0.15, 0.3, 0.4, 0.49, 0.52] {
        let fall = ((angle.cos() - 0.5_f64.cos()) / (0.2_f64.cos() - 0.5_f64.cos())).clamp(0.0, 1.0).powi(2);
        let expected = intensity * fall / 16.0 * angle.cos().powi(3);
        let got = irradiance(&scene, 4.0 * angle.tan(), 0.0);
        assert!((got - expected).abs() < 1e-3 * intensity / 16.0, "{got}, not {expected} W/m² at {angle} rad");
    }
}

/// Relative irradiance along x behind a wall's edge at x = 0, 1 m up, under a lamp of `width` 2 m up.
fn behind_an_edge(width: f64, places: &[f64]) -> Vec<f64> {
    let lamp = Lamp {
        world_from_lamp: aimed([0.0, 0.0, 2.01], [0.0, 0.0, -1.0]),
        profile: Profile::ALL_ROUND,
        size_m: [0.0, width],
        flux_w: [10.0; 3],
    };
    // The lamp's height lies along the map's x axis.
    let mut scene = table(vec![lamp]);
    let shade = scene.add_mesh(&primitives::cuboid([2.0, 6.0, 1e-4])).expect("a mesh");
    let pose = Pose::translation(1.0, 0.0, 1.01);
    scene
        .add_instance(shade, &pose, Class::Rover.numbered(PART + 1), &Material::Lambert { albedo: 0.1 })
        .expect("room");
    let open = table(vec![lamp]);
    // The camera looks from below the shade.
    let share = |x: f64| under(&scene, x) / under(&open, x);
    places.iter().map(|&x| share(x)).collect()
}

fn under(scene: &Scene, x: f64) -> f64 {
    let light = LightSampling { sun_samples: 32, bounce_rays: 0, seed: 3, ..LightSampling::POINT };
    let view = look([x, 0.0, 0.5], [x, 0.0, 0.0], 16, 16);
    let view = CameraView { fx_px: 40_000.0, fy_px: 40_000.0, light, ..view };
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, &view, &mut frame).expect("traced");
    frame.radiance.iter().map(|&l| f64::from(panchromatic(l))).sum()
}

#[test]
fn a_point_casts_a_sharp_shadow_and_a_bar_a_penumbra_as_wide_as_itself() {
    // The edge is halfway up, so the penumbra on the ground is as wide as the lamp.
    let places = [-0.2, -0.09, -0.05, 0.0, 0.05, 0.09, 0.2];
    let sharp = behind_an_edge(0.0, &places);
    for (x, share) in places.iter().zip(&sharp).filter(|(x, _)| **x != 0.0) {
        assert!((share - f64::from(u8::from(*x < 0.0))).abs() < 0.01, "{share} at {x} m");
    }
    let soft = behind_an_edge(0.2, &places);
    for (x, share) in places.iter().zip(&soft) {
        let expected = (0.5 - x / 0.2).clamp(0.0, 1.0);
        assert!((share - expected).abs() < 0.03, "{share} of the light, not {expected}, at {x} m");
    }
}

#[test]
fn a_lamp_beside_the_camera_washes_relief_out() {
    let rough = bumpy_ground(&[(0.05, 300)], 0);
    let flat = Clipmap::flat(0.05, 16.0);
    let eye = [-4.0, 0.0, 1.6];
    let window = |ground: &Clipmap, aside_rad: f64| -> Vec<f64> {
        let mut scene = Scene::new(ground, sun(-0.5, 2.0));
        // As far from the target as the camera, turned around the target by `aside_rad`.
        let [x, y] = [-4.0 * aside_rad.cos(), -4.0 * aside_rad.sin()];
        scene.set_lamps(vec![bulb([x, y, 1.65], 1000.0)]).expect("room");
        let mut frame = CameraFrame::default();
        CpuTracer.camera(&scene, &look(eye, [0.0, 0.0, 0.0], 160, 120), &mut frame).expect("traced");
        let pixels = (50..70).flat_map(|row| (60..100).map(move |column| row * 160 + column));
        pixels.map(|i| f64::from(panchromatic(frame.radiance[i]))).collect()
    };
    // Relative to flat ground under the same lamp, so that only relief remains.
    let contrast = |aside_rad: f64| {
        let pixels = window(&rough, aside_rad).into_iter().zip(window(&flat, aside_rad));
        let relief: Vec<f64> = pixels.map(|(rough, flat)| rough / flat).collect();
        let mean = relief.iter().sum::<f64>() / relief.len() as f64;
        (relief.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / relief.len() as f64).sqrt() / mean
    };
    let (beside, aside) = (contrast(0.02), contrast(FRAC_PI_2));
    assert!(beside < 0.6 * aside, "contrast {beside} from beside the camera, {aside} from the side");
}

#[test]
fn a_far_lamp_is_left_out_and_a_dark_one_too() {
    let near = irradiance(&table(vec![bulb([0.0, 0.0, 2.0], 1e-2)]), 0.0, 0.0);
    let far = irradiance(&table(vec![bulb([0.0, 0.0, 45.0], 1e-2)]), 0.0, 0.0);
    assert!(near > 0.0 && far == 0.0, "{near} and {far} W/m²");
    assert!(table(vec![bulb([0.0, 0.0, 2.0], 0.0)]).records().lamps.is_empty());
}

#[test]
fn more_lamps_than_the_kernels_take_are_refused() {
    let mut scene = table(Vec::new());
    scene.set_lamps(vec![bulb([0.0, 0.0, 2.0], 1.0); LAMPS_MAX]).expect("room");
    let refused = scene.set_lamps(vec![bulb([0.0, 0.0, 2.0], 1.0); LAMPS_MAX + 1]);
    assert!(matches!(refused, Err(SceneError::Full { most: LAMPS_MAX, .. })));
}

#[test]
fn lamplight_that_a_white_wall_scatters_reaches_the_ground_behind_a_screen() {
    let mut random = stream(4, "lamps");
    let mut scene = table(vec![bulb([0.0, 0.0, 1.0], 300.0)]);
    let wall = scene.add_mesh(&primitives::cuboid([0.1, 8.0, 8.0])).expect("a mesh");
    let screen = scene.add_mesh(&primitives::cuboid([2.0, 2.0, 0.01])).expect("a mesh");
    let white = Material::Lambert { albedo: 0.9 };
    scene.add_instance(wall, &Pose::translation(3.0, 0.0, 4.0), Class::Rover.numbered(PART + 2), &white).expect("room");
    scene
        .add_instance(screen, &Pose::translation(0.0, 0.0, 0.8), Class::Rover.numbered(PART + 1), &white)
        .expect("room");
    let light = LightSampling { sun_samples: 4, bounce_rays: 16, seed: random.random(), ..LightSampling::POINT };
    let view = CameraView { light, ..look([-1.5, 0.0, 0.6], [0.3, 0.0, 0.0], 40, 30) };
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&scene, &view, &mut frame).expect("traced");
    let mean = |all: &[[f32; 3]]| all.iter().map(|&l| f64::from(panchromatic(l))).sum::<f64>();
    assert!(mean(&frame.scattered) > 0.0, "scattered light");
    let mut dark = table(Vec::new());
    dark.set_lamps(Vec::new()).expect("room");
    CpuTracer.camera(&dark, &view, &mut frame).expect("traced");
    assert_eq!(mean(&frame.scattered), 0.0);
}
