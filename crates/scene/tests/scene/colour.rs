//! Tests the three bands: grey surfaces in sunlight have a third in each, tints move light between bands and create
//! none, the Earth's light is blue.

use crate::common;

use std::f32::consts::PI;

use common::{PART, look, sun};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, EARTH_BANDS, Earth, HapkeParams, LightSampling, Material, Scene, Tracer,
    panchromatic, primitives,
};
use selene_terrain::Clipmap;

/// Rounding of `f32` over a dozen operations.
const EXACT: f32 = 1e-5;

/// The centre pixel of a picture straight down on a table of `material`, or on the ground if there is none.
fn seen(scene: &mut Scene, material: Option<&Material>) -> [f32; 3] {
    if let Some(material) = material {
        let table = scene.add_mesh(&primitives::cuboid([1.0, 1.0, 0.02])).expect("a mesh");
        scene
            .add_instance(table, &Pose::translation(0.0, 0.0, 0.5), Class::Rover.numbered(PART), material)
            .expect("room");
    }
    let view = CameraView { light: LightSampling::POINT, ..look([0.0, 0.0, 3.0], [0.0, 0.0, 0.0], 9, 9) };
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, &view, &mut frame).expect("traced");
    frame.radiance[40]
}

fn day() -> Scene {
    Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.7, 0.3))
}

fn earth() -> Earth {
    let direction = Vector3::new(0.6, 0.0, 0.8);
    Earth {
        direction_to_earth: direction,
        irradiance_w_m2: 0.1,
        angular_radius_rad: 0.0166,
        sun_from_earth: -direction,
    }
}

#[test]
fn a_grey_surface_in_sunlight_has_a_third_in_each_band() {
    let radiance = seen(&mut day(), Some(&Material::Lambert { albedo: 0.5 }));
    let expected = 1361.0 * 0.7_f32.sin() * 0.5 / PI;
    assert!((panchromatic(radiance) / expected - 1.0).abs() < EXACT, "{radiance:?}, not {expected} in all");
    assert!(radiance.iter().all(|band| (3.0 * band / expected - 1.0).abs() < EXACT), "{radiance:?}");
}

#[test]
fn a_tint_moves_light_between_bands_and_makes_none() {
    let tinted = HapkeParams::REGOLITH;
    let grey = HapkeParams { tint: [1.0; 3], ..tinted };
    let [tinted_l, grey_l] = [tinted, grey].map(|params| seen(&mut day(), Some(&Material::Hapke(params))));
    assert!((panchromatic(tinted_l) / panchromatic(grey_l) - 1.0).abs() < EXACT, "{tinted_l:?} {grey_l:?}");
    for (band, tint) in tinted.tint.iter().enumerate() {
        assert!((tinted_l[band] / grey_l[band] - *tint as f32).abs() < EXACT, "{tinted_l:?} {grey_l:?}");
    }
    for params in [HapkeParams::REGOLITH, HapkeParams::ROCK] {
        assert!((params.tint.iter().sum::<f64>() - 3.0).abs() < 1e-12, "{:?}", params.tint);
    }
}

#[test]
fn the_ground_is_redder_by_day_than_by_the_earths_light() {
    let by_day = seen(&mut day(), None);
    assert!(by_day[0] > by_day[1] && by_day[1] > by_day[2], "{by_day:?}");
    let mut night = Scene::new(&Clipmap::flat(0.1, 20.0), sun(-0.5, 0.3));
    night.set_earth(Some(earth()));
    let by_earth = seen(&mut night, Some(&Material::Lambert { albedo: 0.5 }));
    let expected = 0.1 * 0.8 * 0.5 / PI;
    for (band, part) in EARTH_BANDS.iter().enumerate() {
        assert!((by_earth[band] / (expected * *part as f32) - 1.0).abs() < EXACT, "{by_earth:?}");
    }
    assert!((EARTH_BANDS.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}
