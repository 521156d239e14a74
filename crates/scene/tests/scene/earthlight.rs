//! Tests earthlight from a disc: its penumbra under a straight edge in closed form, the direction of its lit part,
//! equality with a point source where nothing hides it, and its scattering by other surfaces.
//!
//! A full Earth is a Lambert sphere seen from the Sun's side, with a brightness of √(1 − r²) at r radii from its
//! centre: the share of its light beyond x0 radii from the centre is (2/3 − x0 + x0³/3) · 3/4.

use crate::common;

use std::f64::consts::{FRAC_PI_2, PI};

use common::{PART, look, sun};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, Detail, Earth, LightSampling, Material, Scene, Tracer, panchromatic,
    primitives,
};
use selene_terrain::Clipmap;

/// A column's mean over 65 pixels of 32 points each has an error of 0.5 % of the whole light.
const SHARE_TOLERANCE: f64 = 0.02;
/// 40 000 rays, whose points on the Earth differ by half of their light.
const SCATTER_TOLERANCE: f64 = 0.015;
const EXACT: f64 = 1e-5;

const ALBEDO: f64 = 0.5;
const IRRADIANCE_W_M2: f64 = 0.1;
const RADIUS_RAD: f64 = 0.0166;
const EDGE_M: f64 = 10.0;
const EYE_M: f64 = 5.0;

fn earth(direction: Vector3<f64>, sun_from_earth: Vector3<f64>) -> Earth {
    Earth {
        direction_to_earth: direction,
        irradiance_w_m2: IRRADIANCE_W_M2,
        angular_radius_rad: RADIUS_RAD,
        sun_from_earth,
    }
}

/// Matt ground at night under the Earth.
fn night(earth: Earth) -> Scene {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(-0.5, 2.0));
    let matt = Material::Lambert { albedo: ALBEDO };
    scene.set_ground_materials(&matt, &matt, Detail::NONE);
    scene.set_earth(Some(earth));
    scene
}

fn add_plate(scene: &mut Scene, size_m: [f64; 3], [x, y, z]: [f64; 3], number: u32) {
    let plate = scene.add_mesh(&primitives::cuboid(size_m)).expect("a mesh");
    let material = Material::Lambert { albedo: ALBEDO };
    let label = Class::Rover.numbered(number);
    scene.add_instance(plate, &Pose::translation(x, y, z), label, &material).expect("room");
}

fn traced(scene: &Scene, view: &CameraView) -> CameraFrame {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    frame
}

/// Earthlight on each column of ground by its x, under a plate over x < 0, as a share of the unobstructed light from
/// the zenith.
fn under_an_edge(sun_from_earth: Vector3<f64>, earth_samples: u32) -> Vec<(f64, f64)> {
    let mut scene = night(earth(Vector3::z(), sun_from_earth));
    add_plate(&mut scene, [20.0, 20.0, 0.02], [-10.0, 0.0, EDGE_M], PART);
    let light = LightSampling { earth_samples, seed: 2, ..LightSampling::POINT };
    let focal_px = 800.0;
    let view =
        CameraView { fx_px: focal_px, fy_px: focal_px, light, ..look([0.0, 0.0, EYE_M], [0.0, 0.0, 0.0], 65, 65) };
    let frame = traced(&scene, &view);
    let whole = ALBEDO / PI * IRRADIANCE_W_M2;
    let column = |u: usize| {
        let sum: f64 = (0..65).map(|v| f64::from(panchromatic(frame.radiance[v * 65 + u]))).sum();
        ((u as f64 - 32.0) / focal_px * EYE_M, sum / 65.0 / whole)
    };
    (0..65).map(column).collect()
}

#[test]
fn the_penumbra_of_a_full_earth_is_that_of_a_lambert_sphere() {
    let columns = under_an_edge(-Vector3::z(), 32);
    assert!(columns.first().is_some_and(|(_, share)| *share < 1e-6), "shadow: {columns:?}");
    assert!(columns.last().is_some_and(|(_, share)| (share - 1.0).abs() < 1e-3), "open: {columns:?}");
    for (x_m, share) in columns {
        // Where the edge cuts the disc; the plate's lower side is 1 cm nearer.
        let cut = (-x_m / ((EDGE_M - 0.01) * RADIUS_RAD.sin())).clamp(-1.0, 1.0);
        let expected = (2.0 / 3.0 - cut + cut.powi(3) / 3.0) * 0.75;
        assert!((share - expected).abs() < SHARE_TOLERANCE, "{share}, not {expected} at {x_m} m");
    }
}

#[test]
fn a_half_earth_shines_from_its_lit_side() {
    for (toward_sun, expected) in [(Vector3::x(), 1.0), (-Vector3::x(), 0.0)] {
        let (_, share) = under_an_edge(toward_sun, 32)[32];
        assert!((share - expected).abs() < 0.03, "{share}, not {expected} in the middle");
    }
}

#[test]
fn one_sample_keeps_shadows_sharp() {
    // Straight under the edge, rounding decides.
    let beside = under_an_edge(-Vector3::z(), 1).into_iter().filter(|(x_m, _)| x_m.abs() > 1e-6);
    let shares: Vec<_> = beside.map(|(_, share)| share).collect();
    assert!(shares.contains(&0.0) && shares.iter().any(|share| *share > 0.5), "{shares:?}");
    assert!(shares.iter().all(|share| share.abs() < 1e-3 || (share - 1.0).abs() < 1e-3), "{shares:?}");
}

#[test]
fn an_open_view_of_the_disc_gives_the_light_of_the_point() {
    let direction = sun(0.9, 0.0).direction_to_sun;
    let view = look([-1.0, 0.0, 2.0], [0.0, 0.0, 0.0], 33, 33);
    for phase_rad in [0.0, 1.0, FRAC_PI_2, 2.8] {
        let toward_sun = -direction * f64::cos(phase_rad) + Vector3::y() * f64::sin(phase_rad);
        let scene = night(earth(direction, toward_sun));
        let [point, disc] = [1, 16].map(|earth_samples| {
            let light = LightSampling { earth_samples, ..LightSampling::POINT };
            traced(&scene, &CameraView { light, ..view }).radiance
        });
        assert!(point.iter().any(|l| panchromatic(*l) > 0.0) && point == disc, "{phase_rad}");
    }
}

/// Mean scattered radiance of a small plate's underside 1 m above an earthlit floor that fills its view.
fn underside(phase_rad: f64, earth_samples: u32) -> f64 {
    const FLOOR_M: f64 = 200.0;
    let direction = sun(0.9, 0.0).direction_to_sun;
    let toward_sun = -direction * phase_rad.cos() + Vector3::y() * phase_rad.sin();
    let mut scene = night(earth(direction, toward_sun));
    add_plate(&mut scene, [200.0, 200.0, 0.1], [0.0, 0.0, FLOOR_M - 0.05], PART);
    add_plate(&mut scene, [0.08, 0.08, 0.001], [0.0, 0.0, FLOOR_M + 1.0], PART + 1);
    let light = LightSampling { earth_samples, bounce_rays: 4, seed: 8, ..LightSampling::POINT };
    let up = look([0.0, 0.0, FLOOR_M + 0.97], [0.0, 0.0, FLOOR_M + 1.0], 200, 200);
    let frame = traced(&scene, &CameraView { light, ..up });
    let sum: f64 = frame.scattered.iter().map(|&l| f64::from(panchromatic(l))).sum();
    sum / frame.scattered.len() as f64
}

#[test]
fn earthlit_ground_lights_what_turns_from_the_earth_at_every_phase() {
    let expected = IRRADIANCE_W_M2 * 0.9_f64.sin() * ALBEDO * ALBEDO / PI;
    for phase_rad in [0.3, FRAC_PI_2, 2.5] {
        let scattered = underside(phase_rad, 8);
        assert!((scattered / expected - 1.0).abs() < SCATTER_TOLERANCE, "{scattered}, not {expected} at {phase_rad}");
    }
    assert!(underside(0.3, 1).abs() < EXACT * expected, "the Earth as a point is not scattered");
}
