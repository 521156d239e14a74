//! Tests the shadow of a gnomon, a post of known height on level ground. For a Sun's disc of radius r at an elevation
//! e, half of the disc is hidden at h / tan e; the ground is fully dark up to h / tan(e + r) and fully lit from
//! h / tan(e − r) on. A part of the disc at elevation ε lights the ground by sin ε: the upper half of a low Sun gives
//! more light than its lower half, so half of the light arrives slightly before half of the disc.

use crate::common;

use std::f64::consts::PI;

use common::{PART, look, sun};
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, LIMB_EXPONENT, LightSampling, Material, Scene, Tracer, primitives,
};
use selene_terrain::Clipmap;

const HEIGHT_M: f64 = 5.0;
/// Wide enough to hide the disc's sides: the disc is 2.2 m wide at a distance of 232 m.
const BREADTH_M: f64 = 6.0;
const COLUMNS: u32 = 300;
/// Eight rows of 512 samples per column.
const ROWS: u32 = 8;
const SAMPLES: u32 = 512;
/// The picture is this many penumbra widths wide: the penumbra fills two thirds of it.
const VIEW_WIDTHS: f64 = 1.5;
/// Tolerance of the half-light point in penumbra widths. The share of light, which grows from 0 to 1 over one width, is
/// accurate to 0.02 (tests/penumbra); shadows are a millimetre short, 0.01 of the width at 45°.
const HALF_TOLERANCE: f64 = 0.025;
/// Tolerance of the penumbra's ends in penumbra widths: the outermost 4 % of the diameter at the limb hold 0.7 % of the
/// light, so that few samples fall there.
const END_TOLERANCE: f64 = 0.04;

/// Level ground as wide as the shadow needs.
fn open(elevation_rad: f64) -> Scene {
    let side_m = (3.0 * HEIGHT_M / elevation_rad.tan()).max(16.0);
    Scene::new(&Clipmap::flat(0.25, side_m), sun(elevation_rad, PI))
}

/// The ground with a post whose edge is above x = 0; the Sun is at −x.
fn scene(elevation_rad: f64) -> Scene {
    let mut scene = open(elevation_rad);
    let post = scene.add_mesh(&primitives::cuboid([0.2, BREADTH_M, HEIGHT_M])).expect("a mesh");
    let pose = Pose::translation(-0.1, 0.0, 0.5 * HEIGHT_M);
    scene.add_instance(post, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.3 }).expect("room");
    scene
}

/// Share of the full light on the ground by distance from the post, m.
fn profile(elevation_rad: f64, middle_m: f64, width_m: f64) -> Vec<(f64, f64)> {
    let metres_a_pixel = VIEW_WIDTHS * width_m / f64::from(COLUMNS);
    let height_m = width_m.max(2.0);
    let straight_down = look([middle_m, 0.0, height_m], [middle_m, 0.0, 0.0], COLUMNS, ROWS);
    let [fx_px, fy_px] = [height_m / metres_a_pixel; 2];
    let light = LightSampling { sun_samples: SAMPLES, bounce_rays: 0, seed: 0, ..LightSampling::POINT };
    let view = CameraView { fx_px, fy_px, light, ..straight_down };
    let radiance = |scene: &Scene| {
        let mut frame = CameraFrame::default();
        CpuTracer.camera(scene, &view, &mut frame).expect("traced");
        frame.radiance
    };
    let (shaded, whole) = (radiance(&scene(elevation_rad)), radiance(&open(elevation_rad)));
    let share = |column: usize| {
        let pixels = (0..ROWS as usize).map(|row| row * COLUMNS as usize + column);
        pixels.map(|pixel| f64::from(shaded[pixel][0] / whole[pixel][0])).sum::<f64>() / f64::from(ROWS)
    };
    let x_m = |column: usize| middle_m + (column as f64 - 0.5 * f64::from(COLUMNS - 1)) * metres_a_pixel;
    (0..COLUMNS as usize).map(|column| (x_m(column), share(column))).collect()
}

/// Distance at which the ground receives half of the light, m: sums the disc in chords from the top, each with its limb
/// darkening and the sine of its elevation.
fn half_light_m(e: f64, r: f64) -> f64 {
    const CHORDS: i32 = 20_000;
    let chord = |i: i32| 1.0 - (f64::from(i) + 0.5) / f64::from(CHORDS) * 2.0;
    let light = |i: i32| (1.0 - chord(i).powi(2)).powf(0.5 * (LIMB_EXPONENT + 1.0)) * (e + r * chord(i)).sin();
    let all: f64 = (0..CHORDS).map(light).sum();
    let mut lit = 0.0;
    let half = (0..CHORDS).find(|&i| {
        lit += light(i);
        lit >= 0.5 * all
    });
    HEIGHT_M / (e + r * chord(half.expect("half of them"))).tan()
}

/// Distance at which the light first reaches a share, m, interpolated between two pixels.
fn crossing_m(profile: &[(f64, f64)], share: f64) -> f64 {
    let at = profile.iter().position(|(_, light)| *light >= share).expect("it does");
    let [(x0, before), (x1, after)] = [profile[at - 1], profile[at]];
    x0 + (x1 - x0) * (share - before) / (after - before)
}

#[test]
fn the_shadow_ends_at_height_over_tangent_and_its_penumbra_is_as_wide_as_the_disc_says() {
    for elevation_deg in [1.5_f64, 3.0, 8.0, 20.0, 45.0] {
        let e = elevation_deg.to_radians();
        let r = sun(e, PI).angular_radius_rad;
        let [dark_m, middle_m, whole_m] = [e + r, e, e - r].map(|angle| HEIGHT_M / angle.tan());
        let half_m = half_light_m(e, r);
        assert!(elevation_deg < 8.0 || (half_m - middle_m).abs() < HALF_TOLERANCE * (whole_m - dark_m));
        let width_m = whole_m - dark_m;
        let profile = profile(e, 0.5 * (dark_m + whole_m), width_m);
        let found_half_m = crossing_m(&profile, 0.5);
        // Fully dark means that no sample sees the disc, fully lit that none is hidden.
        let first_lit_m = profile.iter().find(|(_, share)| *share > 1e-6).expect("light").0;
        let last_shaded_m = profile.iter().rfind(|(_, share)| *share < 1.0 - 1e-6).expect("shade").0;
        println!(
            "{elevation_deg}°: half at {found_half_m:.4} of {half_m:.4} m (disc {middle_m:.4}), penumbra {first_lit_m:.4} to {last_shaded_m:.4} m of {dark_m:.4} to {whole_m:.4} m"
        );
        assert!((found_half_m - half_m).abs() < HALF_TOLERANCE * width_m, "{elevation_deg}°: {found_half_m} {half_m}");
        assert!((first_lit_m - dark_m).abs() < END_TOLERANCE * width_m, "{elevation_deg}°: {first_lit_m} {dark_m}");
        assert!(
            (last_shaded_m - whole_m).abs() < END_TOLERANCE * width_m,
            "{elevation_deg}°: {last_shaded_m} {whole_m}"
        );
    }
}
