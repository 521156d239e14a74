//! Tests the Sun's disc behind straight edges against the closed form of a limb-darkened disc: the light on a chord at
//! s radii from the centre is p(s) ∝ (1 − s²)^((α+1)/2), the brightness μ^α integrated along the chord.

use crate::common;

use std::f64::consts::PI;

use common::{PART, sun};
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, LIMB_EXPONENT, Lens, LightSampling, Material, Scene, Tracer, primitives,
};
use selene_terrain::{Clipmap, Edit, Node};

/// With 32 samples the mean over 64 rows has an error of 0.004; shadow rays start 0.15 mm above the ground, which adds
/// 0.004. A pixel of eight samples has an error of 0.06.
const SHARE_TOLERANCE: f64 = 0.02;

const ELEVATION_RAD: f64 = 0.35;
const EDGE_M: f64 = 2.0;
const ROWS: u32 = 64;
const COLUMNS: u32 = 200;
const METRES_A_PIXEL: f64 = 0.0015;

/// Share of the light above the edge of a wall that hides the disc up to `s` radii below its centre for s above 0;
/// computed in 20 000 chords.
fn share_over_edge(s: f64) -> f64 {
    const CHORDS: i32 = 20_000;
    let chord = |i: i32| (f64::from(i) + 0.5) / f64::from(CHORDS) * 2.0 - 1.0;
    let light = |x: f64| (1.0 - x * x).powf(0.5 * (LIMB_EXPONENT + 1.0));
    let all: f64 = (0..CHORDS).map(|i| light(chord(i))).sum();
    (0..CHORDS).map(chord).filter(|x| *x > -s).map(light).sum::<f64>() / all
}

/// Distance of the shadow's edge from the wall's foot, for the disc's centre, m.
fn shadow_m() -> f64 {
    EDGE_M / ELEVATION_RAD.tan()
}

/// A view straight down on the shadow's edge, which is parallel to the columns.
fn view() -> CameraView {
    let height = 4.0;
    let focal = height / METRES_A_PIXEL;
    let rotation = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), PI);
    CameraView {
        world_from_optical: Pose::from_parts(Vector3::new(shadow_m(), 0.0, height).into(), rotation),
        width: COLUMNS,
        height: ROWS,
        fx_px: focal,
        fy_px: focal,
        cx_px: 0.5 * f64::from(COLUMNS - 1),
        cy_px: 0.5 * f64::from(ROWS - 1),
        lens: Lens::PINHOLE,
        sweep: None,
        samples: 1,
        light: LightSampling { sun_samples: 32, bounce_rays: 0, seed: 0, ..LightSampling::POINT },
    }
}

/// Flat ground with a thin wall at x = 0 that is part of the heights.
fn ridge() -> Clipmap {
    let mut ground = Clipmap::flat(0.02, 16.0);
    let wall = (0..=800).map(|row| Edit::of(Node { column: 400, row }, EDGE_M as f32));
    ground.apply(&wall.collect::<Vec<_>>());
    ground
}

/// A wall on the ground with its edge at x = 0; the Sun is at −x.
fn walled() -> Scene {
    let mut scene = Scene::new(&Clipmap::flat(0.02, 16.0), sun(ELEVATION_RAD, PI));
    let wall = scene.add_mesh(&primitives::cuboid([0.5, 8.0, EDGE_M])).expect("a mesh");
    let pose = Pose::translation(-0.25, 0.0, 0.5 * EDGE_M);
    scene.add_instance(wall, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.3 }).expect("room");
    scene
}

/// Mean of each column, relative to flat ground without an edge.
fn shares(scene: &Scene, view: &CameraView) -> Vec<f64> {
    let [mut frame, mut full] = [CameraFrame::default(), CameraFrame::default()];
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    let open = Scene::new(&Clipmap::flat(0.1, 20.0), *scene.sun());
    CpuTracer.camera(&open, view, &mut full).expect("traced");
    let pixel = |column: usize, row: u32| row as usize * COLUMNS as usize + column;
    let at = |column: usize, row: u32| frame.radiance[pixel(column, row)][1] / full.radiance[pixel(column, row)][1];
    let mean = |column: usize| (0..ROWS).map(|row| f64::from(at(column, row))).sum::<f64>() / f64::from(ROWS);
    (0..COLUMNS as usize).map(mean).collect()
}

fn assert_penumbra(scene: &Scene) {
    let radius = scene.sun().angular_radius_rad;
    let mut between = 0;
    for (column, got) in shares(scene, &view()).into_iter().enumerate() {
        let x = shadow_m() + (column as f64 - 0.5 * f64::from(COLUMNS - 1)) * METRES_A_PIXEL;
        let expected = share_over_edge((ELEVATION_RAD - (EDGE_M / x).atan()) / radius);
        assert!((got - expected).abs() < SHARE_TOLERANCE, "{got} of the light at {x} m, not {expected}");
        between += usize::from((0.02..0.98).contains(&expected));
    }
    assert!(between > 60, "the picture holds the penumbra");
}

#[test]
fn behind_a_wall_light_grows_as_the_limb_darkened_disc_rises() {
    assert_penumbra(&walled());
}

#[test]
fn behind_a_ridge_of_the_ground_light_grows_likewise() {
    assert_penumbra(&Scene::new(&ridge(), sun(ELEVATION_RAD, PI)));
}

#[test]
fn one_sample_gives_a_sharp_edge_at_height_over_tangent() {
    let view = CameraView { light: LightSampling::POINT, ..view() };
    let shares = shares(&Scene::new(&ridge(), sun(ELEVATION_RAD, PI)), &view);
    let dark = shares.iter().filter(|share| **share < 0.5).count();
    assert!(shares.iter().all(|share| *share < 0.01 || *share > 0.99));
    assert!((dark as f64 - 0.5 * f64::from(COLUMNS)).abs() <= 3.0, "{dark} of {COLUMNS} columns are dark");
}

#[test]
fn another_seed_changes_the_penumbra_only() {
    let scene = walled();
    let [mut one, mut other] = [CameraFrame::default(), CameraFrame::default()];
    let seeded = |seed| CameraView { light: LightSampling { seed, ..view().light }, ..view() };
    CpuTracer.camera(&scene, &seeded(1), &mut one).expect("traced");
    CpuTracer.camera(&scene, &seeded(2), &mut other).expect("traced");
    assert!(one.radiance != other.radiance);
    let green = |frame: &CameraFrame| frame.radiance.iter().map(|l| l[1]).collect::<Vec<_>>();
    let [one, other] = [green(&one), green(&other)];
    let full = one.iter().copied().fold(0.0, f32::max);
    for (column, (a, b)) in one.iter().zip(&other).enumerate() {
        let x = shadow_m() + ((column % COLUMNS as usize) as f64 - 0.5 * f64::from(COLUMNS - 1)) * METRES_A_PIXEL;
        let s = (ELEVATION_RAD - (EDGE_M / x).atan()) / scene.sun().angular_radius_rad;
        // Beyond a tenth of a radius outside the disc, which is the clearance of the shadow rays.
        assert!(s.abs() < 1.1 || (a - b).abs() < 1e-3 * full, "at {s} radii {a} and {b}");
    }
}
