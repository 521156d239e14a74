//! Tests ground with reflectances other than Hapke's from a site's file: the light reflected by a flat site follows the
//! reflectance's closed form.

use crate::common;

use std::f64::consts::PI;
use std::path::Path;

use common::{bumpy_ground, bumpy_height_m, look, sun};
use nalgebra::Vector3;
use selene_base::input::load_yaml;
use selene_scene::kernel::principled;
use selene_scene::{CameraFrame, CameraView, Class, CpuTracer, LightSampling, Material, Scene, Tracer, panchromatic};
use selene_scene::{HapkeParams, PrincipledParams};
use selene_terrain::{Clipmap, DetailSpec, LambertSpec, PrincipledSpec, ReflectanceSpec, SiteSpec, SurfaceSpec};

/// Rounding of `f32` over a dozen operations.
const EXACT: f64 = 1e-5;
const ELEVATION_RAD: f64 = 0.7;
const AZIMUTH_RAD: f64 = 0.3;
const PAINT: PrincipledSpec = PrincipledSpec {
    base: [0.3, 0.2, 0.1],
    metallic: 0.2,
    roughness: 0.5,
    specular: 0.5,
    near_infrared: None,
    radar: None,
};
const SMOOTH: DetailSpec = DetailSpec { strength: 0.0, mottle: 0.0, craterlets: 0.0 };

/// The default site with another surface.
fn site(surface: SurfaceSpec) -> SiteSpec {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/site/polar.yaml");
    SiteSpec { surface, ..load_yaml(&file).expect("a good file") }
}

fn picture(scene: &Scene, eye: [f64; 3], target: [f64; 3]) -> CameraFrame {
    let view = CameraView { light: LightSampling::POINT, ..look(eye, target, 65, 65) };
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, &view, &mut frame).expect("traced");
    frame
}

/// Radiance straight up from flat ground of a reflectance.
fn straight_up(regolith: ReflectanceSpec) -> [f32; 3] {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(ELEVATION_RAD, AZIMUTH_RAD));
    scene.set_surface(&site(SurfaceSpec { regolith, detail: SMOOTH, ..SurfaceSpec::default() }));
    picture(&scene, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]).radiance[32 * 65 + 32]
}

#[test]
fn matt_ground_sends_back_its_albedo_over_pi() {
    let radiance = straight_up(ReflectanceSpec::Lambert(LambertSpec { albedo: 0.12 }));
    let expected = 0.12 / PI * 1361.0 * ELEVATION_RAD.sin();
    assert!((f64::from(panchromatic(radiance)) / expected - 1.0).abs() < EXACT, "{radiance:?}, not {expected}");
}

#[test]
fn principled_ground_sends_back_what_a_plate_of_it_does() {
    let PrincipledSpec { base, metallic, roughness, specular, near_infrared, radar } = PAINT;
    let paint = PrincipledParams { base, metallic, roughness, specular, near_infrared, radar };
    let record = Material::Principled(paint).record();
    let toward_sun = sun(ELEVATION_RAD, AZIMUTH_RAD).direction_to_sun.cast::<f32>();
    let per_irradiance = principled::reflected(&record, &Vector3::z(), &toward_sun, &Vector3::z(), [0.0, 1.0]);
    let radiance = straight_up(ReflectanceSpec::Principled(PAINT));
    for (got, share) in radiance.iter().zip(per_irradiance.iter()) {
        let expected = f64::from(*share) * 1361.0 / 3.0;
        // The view through the centre pixel is straight down except for rounding.
        assert!((f64::from(*got) / expected - 1.0).abs() < 10.0 * EXACT, "{radiance:?}, not {expected}");
    }
}

#[test]
fn what_a_site_says_nothing_of_is_regolith() {
    let usual = Scene::new(&Clipmap::flat(0.1, 20.0), sun(ELEVATION_RAD, AZIMUTH_RAD));
    let usual = picture(&usual, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]).radiance[32 * 65 + 32];
    assert_eq!(straight_up(ReflectanceSpec::default()), usual);
}

#[test]
fn rocks_have_a_reflectance_of_their_own() {
    let mut scene = Scene::new(&bumpy_ground(&[(0.05, 200), (0.4, 60)], 60), sun(ELEVATION_RAD, AZIMUTH_RAD));
    let rock = ReflectanceSpec::Lambert(LambertSpec { albedo: 0.0 });
    scene.set_surface(&site(SurfaceSpec { rock, detail: SMOOTH, ..SurfaceSpec::default() }));
    let frame = picture(&scene, [-3.0, -1.0, bumpy_height_m(-3.0, -1.0) + 3.0], [0.5, 0.2, 0.0]);
    let light_of = |class: Class| {
        let pixels = frame.class.iter().zip(&frame.radiance).filter(move |(code, _)| **code == class as u16);
        pixels.map(|(_, light)| panchromatic(*light)).collect::<Vec<_>>()
    };
    let [rocks, ground] = [Class::Rock, Class::Ground].map(light_of);
    assert!(!rocks.is_empty() && rocks.iter().all(|light| *light == 0.0), "rocks are black: {rocks:?}");
    assert!(ground.iter().any(|light| *light > 0.0), "the ground is not");
}

#[test]
fn the_albedo_of_principled_ground_varies_as_that_of_any_ground() {
    let varied = |mottle: f64| {
        let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(ELEVATION_RAD, AZIMUTH_RAD));
        let regolith = ReflectanceSpec::Principled(PrincipledSpec { metallic: 0.0, specular: 0.0, ..PAINT });
        let detail = DetailSpec { mottle, ..SMOOTH };
        scene.set_surface(&site(SurfaceSpec { regolith, detail, ..SurfaceSpec::default() }));
        let light = picture(&scene, [0.0, 0.0, 0.4], [0.0, 0.0, 0.0]).radiance;
        let [low, high] = [f32::min, f32::max].map(|pick| light.iter().map(|l| l[1]).fold(light[0][1], pick));
        high / low
    };
    assert!(varied(0.1) > 1.1 && varied(0.1) > varied(0.0), "{} {}", varied(0.1), varied(0.0));
}

#[test]
fn a_file_names_the_material_that_the_kernels_get() {
    let PrincipledSpec { base, metallic, roughness, specular, near_infrared, radar } = PAINT;
    for (spec, material) in [
        (ReflectanceSpec::default(), Material::Hapke(HapkeParams::ROCK)),
        (ReflectanceSpec::Lambert(LambertSpec { albedo: 0.5 }), Material::Lambert { albedo: 0.5 }),
        (
            ReflectanceSpec::Principled(PAINT),
            Material::Principled(PrincipledParams { base, metallic, roughness, specular, near_infrared, radar }),
        ),
    ] {
        assert_eq!(Material::of(&spec, &HapkeParams::ROCK), material);
    }
}
