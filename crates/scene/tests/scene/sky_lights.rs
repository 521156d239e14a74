//! Tests Sun, Earth and stars in camera images: a picture's radiance times the solid angle of its pixels is the light's
//! irradiance; also tests earthlight on the ground.

use crate::common;

use std::f64::consts::PI;

use common::{PART, look, sun};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, Earth, LightSampling, Material, Scene, Star, Tracer, panchromatic,
    primitives,
};
use selene_terrain::Clipmap;

/// 64 sample points per pixel on discs of few pixels.
const DISC_TOLERANCE: f64 = 0.03;

/// Rounding of `f32`.
const EXACT: f64 = 1e-5;

fn toward(elevation_rad: f64, azimuth_rad: f64) -> Vector3<f64> {
    sun(elevation_rad, azimuth_rad).direction_to_sun
}

fn earth(elevation_rad: f64, phase_rad: f64) -> Earth {
    let direction = toward(elevation_rad, 0.0);
    let side = Vector3::y().cross(&direction);
    Earth {
        direction_to_earth: direction,
        irradiance_w_m2: 0.1,
        angular_radius_rad: 0.0166,
        sun_from_earth: -direction * phase_rad.cos() + side * phase_rad.sin(),
    }
}

/// A flat site with the Sun below the horizon.
fn night() -> Scene {
    Scene::new(&Clipmap::flat(0.1, 20.0), sun(-0.5, 2.0))
}

/// A camera that looks along `direction` with a resolution of `degrees_a_pixel`.
fn telescope(direction: Vector3<f64>, degrees_a_pixel: f64) -> CameraView {
    let eye = [0.0, 0.0, 2.0];
    let target = [0, 1, 2].map(|i| eye[i] + direction[i]);
    let focal = 1.0 / degrees_a_pixel.to_radians();
    CameraView { fx_px: focal, fy_px: focal, ..look(eye, target, 97, 64) }
}

fn irradiance(scene: &Scene, view: &CameraView) -> f64 {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    let pixel = |i: usize| {
        let place = [i % view.width as usize, i / view.width as usize].map(|x| x as f64);
        f64::from(panchromatic(frame.radiance[i])) * view.pixel_sr(place)
    };
    (0..frame.radiance.len()).map(pixel).sum()
}

#[test]
fn the_suns_picture_holds_its_irradiance_from_fine_to_coarse_pixels() {
    let scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.6, 0.3));
    for degrees_a_pixel in [0.02, 0.1, 0.5, 0.9] {
        let got = irradiance(&scene, &telescope(toward(0.6 + 0.001, 0.3 + 0.002), degrees_a_pixel));
        let apart = got / scene.sun().irradiance_w_m2 - 1.0;
        // With pixels coarser than the disc, a dozen of the 64 sample points are on the disc.
        let tolerance = if degrees_a_pixel > 0.4 { 0.1 } else { DISC_TOLERANCE };
        assert!(apart.abs() < tolerance, "{apart} off at {degrees_a_pixel}° a pixel");
    }
}

#[test]
fn the_suns_limb_is_darker_than_its_middle() {
    let scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.6, 0.3));
    let view = telescope(toward(0.6, 0.3), 0.01);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&scene, &view, &mut frame).expect("traced");
    let row = &frame.radiance[32 * 97..33 * 97];
    let radius_px = 0.00465_f64.to_degrees() / 0.01;
    // Halfway to the limb, μ = √(1 − ¼).
    let half = row[48 + (0.5 * radius_px).round() as usize][1] / row[48][1];
    let out = (0.5 * radius_px).round() / radius_px;
    assert!((f64::from(half) - (1.0 - out * out).powf(0.254)).abs() < 0.005, "{half}");
}

#[test]
fn the_earths_picture_holds_its_irradiance_at_every_phase() {
    for phase_rad in [0.0, 0.7, 1.6, 2.6] {
        let mut scene = night();
        scene.set_earth(Some(earth(0.4, phase_rad)));
        let got = irradiance(&scene, &telescope(toward(0.4, 0.0), 0.05));
        assert!((got / 0.1 - 1.0).abs() < DISC_TOLERANCE, "{got} W/m² at {phase_rad} rad");
    }
}

#[test]
fn earthshine_lights_the_ground_and_casts_shadows() {
    let mut scene = night();
    let table = scene.add_mesh(&primitives::cuboid([1.0, 1.0, 0.02])).expect("a mesh");
    let pose = Pose::translation(0.0, 0.0, 0.5);
    scene.add_instance(table, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.5 }).expect("room");
    scene.set_earth(Some(earth(0.9, 0.3)));
    let view = look([-0.1, 0.0, 6.0], [-0.1, 0.0, 0.0], 65, 65);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&scene, &view, &mut frame).expect("traced");
    let table_top = f64::from(panchromatic(frame.radiance[32 * 65 + 32]));
    assert!((table_top / (0.5 / PI * 0.1 * 0.9_f64.sin()) - 1.0).abs() < EXACT, "{table_top}");
    assert!(frame.radiance.contains(&[0.0; 3]), "the table's shadow");
    assert!(frame.radiance.iter().zip(&frame.class).any(|(l, c)| *c == Class::Ground as u16 && panchromatic(*l) > 0.0));
}

#[test]
fn a_star_lies_in_one_pixel_with_all_its_light_unless_something_hides_it() {
    let mut scene = night();
    let star = Star { direction: toward(0.6, 0.3), irradiance_w_m2: 1e-8 };
    let hidden = [toward(-0.2, 0.3), toward(0.4, 0.0)].map(|direction| Star { direction, irradiance_w_m2: 1e-8 });
    // At 180° phase the Earth in front of the Sun's side is dark but still hides the star.
    scene.set_earth(Some(earth(0.4, PI)));
    scene.set_stars(vec![star, hidden[0], hidden[1]]);
    let view = look([0.0, 0.0, 2.0], [1.0, 0.2, 2.5], 320, 240);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&scene, &view, &mut frame).expect("traced");
    let seen: Vec<_> = (0..frame.radiance.len()).filter(|&i| panchromatic(frame.radiance[i]) > 0.0).collect();
    let optical = view.world_from_optical.rotation.inverse() * star.direction;
    let [u, v] = view.project(optical).expect("in front");
    assert_eq!(seen, [v.round() as usize * 320 + u.round() as usize]);
    assert!((irradiance(&scene, &view) / 1e-8 - 1.0).abs() < 0.01, "of the pixel's middle");
}

#[test]
fn the_same_seed_gives_the_same_light_and_none_is_negative() {
    let mut scene = Scene::new(&common::bumpy_ground(&[(0.05, 150), (0.4, 60)], 40), sun(0.05, 1.0));
    scene.set_earth(Some(earth(0.3, 1.0)));
    let view = CameraView {
        light: LightSampling { sun_samples: 5, bounce_rays: 3, seed: 9, ..LightSampling::POINT },
        ..look([-3.0, -1.0, 2.0], [1.0, 0.5, 0.0], 160, 90)
    };
    let [mut one, mut other] = [CameraFrame::default(), CameraFrame::default()];
    CpuTracer.camera(&scene, &view, &mut one).expect("traced");
    CpuTracer.camera(&scene, &view, &mut other).expect("traced");
    assert!(one == other);
    assert!(one.radiance.iter().chain(&one.scattered).flatten().all(|l| l.is_finite() && *l >= 0.0));
}
