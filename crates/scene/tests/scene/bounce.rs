//! Tests light scattered once against form factors of a lit square over a small plate, in closed form (Howell's
//! catalogue, B-3/B-4: a differential element parallel to a rectangle).

use crate::common;

use common::{PART, look, sun};
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, LightSampling, Material, Scene, Tracer, panchromatic, primitives,
};
use selene_terrain::Clipmap;

/// 160 000 rays, each carrying all or nothing of the light from below, have a mean error of 0.2 %; the plate's own
/// shadow takes 0.2 %, the plate's size 0.1 %.
const TOLERANCE: f64 = 0.01;

const ELEVATION_RAD: f64 = 0.9;
const FLOOR_ALBEDO: f64 = 0.8;
const PLATE_ALBEDO: f64 = 0.5;
/// High enough above the ground that its light is negligible.
const FLOOR_M: f64 = 200.0;

/// Cosine-weighted share of the hemisphere that a square of half side `a` fills, seen from 1 m below its centre.
fn form_factor(a: f64) -> f64 {
    let root = (1.0 + a * a).sqrt();
    4.0 / std::f64::consts::PI * (a / root) * (a / root).atan()
}

/// Mean scattered and total radiance of a small plate's underside 1 m over a lit
/// square of half side `a`, W/(m² sr).
fn underside(a: f64, light: LightSampling) -> (f64, f64) {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 4.0), sun(ELEVATION_RAD, 0.4));
    let floor = scene.add_mesh(&primitives::cuboid([2.0 * a, 2.0 * a, 0.1])).expect("a mesh");
    let plate = scene.add_mesh(&primitives::cuboid([0.08, 0.08, 0.001])).expect("a mesh");
    let mut add = |mesh, z: f64, albedo, number| {
        let pose = Pose::translation(0.0, 0.0, z);
        scene.add_instance(mesh, &pose, Class::Rover.numbered(number), &Material::Lambert { albedo }).expect("room");
    };
    add(floor, FLOOR_M - 0.05, FLOOR_ALBEDO, PART);
    add(plate, FLOOR_M + 1.0, PLATE_ALBEDO, PART + 1);
    let up = look([0.0, 0.0, FLOOR_M + 0.97], [0.0, 0.0, FLOOR_M + 1.0], 200, 200);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&scene, &CameraView { light, ..up }, &mut frame).expect("traced");
    assert!(frame.instance.iter().all(|&i| i == frame.instance[0] && i > 0), "all pixels see the plate");
    let mean = |all: &[[f32; 3]]| all.iter().map(|&l| f64::from(panchromatic(l))).sum::<f64>() / all.len() as f64;
    (mean(&frame.scattered), mean(&frame.radiance))
}

fn expected(a: f64) -> f64 {
    let lit = 1361.0 * ELEVATION_RAD.sin() * FLOOR_ALBEDO;
    lit * form_factor(a) * PLATE_ALBEDO / std::f64::consts::PI
}

#[test]
fn what_a_lit_square_scatters_onto_a_plate_follows_its_form_factor() {
    for a in [0.5, 1.0, 3.0] {
        let (scattered, total) = underside(a, LightSampling { bounce_rays: 16, ..LightSampling::default() });
        assert!((scattered / expected(a) - 1.0).abs() < TOLERANCE, "{scattered}, not {} at {a} m", expected(a));
        assert!((total / scattered - 1.0).abs() < 1e-5, "nothing else lights the underside");
    }
}

#[test]
fn surroundings_that_are_lit_all_around_give_albedo_times_their_light() {
    // A half side of 100 m fills all but 5e-5 of the hemisphere.
    let full = 1361.0 * ELEVATION_RAD.sin() * FLOOR_ALBEDO * PLATE_ALBEDO / std::f64::consts::PI;
    let (scattered, _) = underside(100.0, LightSampling { bounce_rays: 4, ..LightSampling::default() });
    assert!((scattered / full - 1.0).abs() < TOLERANCE, "{scattered}, not {full}");
}

#[test]
fn fewer_rays_than_pixels_give_the_same_mean() {
    let (scattered, _) = underside(100.0, LightSampling { bounce_rays: 1, ..LightSampling::default() });
    let full = 1361.0 * ELEVATION_RAD.sin() * FLOOR_ALBEDO * PLATE_ALBEDO / std::f64::consts::PI;
    assert!((scattered / full - 1.0).abs() < TOLERANCE, "{scattered}, not {full}");
}

#[test]
fn without_bounce_rays_a_shaded_side_is_black() {
    let (scattered, total) = underside(3.0, LightSampling { bounce_rays: 0, ..LightSampling::default() });
    assert_eq!([scattered, total], [0.0, 0.0]);
}
