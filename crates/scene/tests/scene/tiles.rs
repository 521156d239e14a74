//! Tests that pictures traced by tiles of pixels, and beams traced by packets, equal bit for bit those of each pixel
//! and each beam alone, traced against all instances.

use crate::common;

use common::{PART, bumpy_ground, bumpy_height_m, look, sun};
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_scene::kernel::FAR;
use selene_scene::kernel::trace::{beam_return, camera_pixel};
use selene_scene::record::{BeamRecord, CameraRecord};
use selene_scene::{
    Beam, BeamReturn, CameraFrame, CameraView, Class, CpuTracer, Detail, Earth, HapkeParams, Lamp, Lens, LensModel,
    LightSampling, Material, PrincipledParams, Profile, Scene, ShutterMotion, Tracer, primitives,
};

/// Not a multiple of the tile's size, so that tiles at the right and at the bottom are cut.
const SIZE: [u32; 2] = [163, 93];

/// A site with more rocks than a tile's list takes, and a ball that moves by `shift_m`.
fn scene(shift_m: f64, elevation_rad: f64) -> Scene {
    let ground = bumpy_ground(&[(0.05, 150), (0.4, 60)], 600);
    let mut scene = Scene::new(&ground, sun(elevation_rad, 1.0));
    let [regolith, rock] = [HapkeParams::REGOLITH, HapkeParams::ROCK].map(Material::Hapke);
    let detail = Detail { deviation_at_1m_m: 0.006, hurst: 0.7, strength: 0.5, mottle: 0.05, craterlets: 1.0 };
    scene.set_ground_materials(&regolith, &rock, detail);
    let ball = scene.add_mesh(&primitives::sphere(0.3)).expect("a mesh");
    let pose = Pose::translation(-1.5, -0.3, 0.6);
    let id =
        scene.add_instance(ball, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.4 }).expect("room");
    scene.sweep_instances(&[(id, [pose, Pose::translation(shift_m, 0.0, 0.0) * pose])]);
    scene
}

fn view(sun_samples: u32) -> CameraView {
    let eye = [-3.0, -1.0, bumpy_height_m(-3.0, -1.0) + 1.2];
    let light = LightSampling { sun_samples, bounce_rays: 0, seed: 3, ..LightSampling::POINT };
    CameraView { light, ..look(eye, [1.0, 0.5, 0.0], SIZE[0], SIZE[1]) }
}

fn assert_as_alone(scene: &Scene, view: &CameraView) {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    let records = scene.records();
    let camera = CameraRecord::new(view, records.middle_m);
    for at in 0..frame.radiance.len() {
        let [column, row] = [at as u32 % view.width, at as u32 / view.width];
        let alone = camera_pixel(&records, &camera, column, row);
        assert_eq!(frame.radiance[at].map(f32::to_bits), alone.radiance.map(f32::to_bits), "at {column}, {row}");
        let depth_m = if alone.depth < FAR { alone.depth } else { f32::INFINITY };
        assert_eq!(frame.depth_m[at].to_bits(), depth_m.to_bits(), "at {column}, {row}");
        let label = scene.label(alone.code);
        assert_eq!((frame.class[at], frame.instance[at]), (label.class as u16, label.number), "at {column}, {row}");
    }
    let rocks = frame.class.iter().filter(|class| **class == Class::Rock as u16).count();
    assert!(rocks > 100 && rocks < frame.class.len() / 2, "{rocks} pixels of rocks");
}

#[test]
fn a_tile_s_pixels_are_those_of_each_alone() {
    // Five rays a surface do not fill packets evenly, 32 need two packets.
    for (sun_samples, elevation_rad) in [(1, 0.1), (5, 0.1), (8, 0.1), (8, 0.5), (32, 0.1)] {
        assert_as_alone(&scene(0.0, elevation_rad), &view(sun_samples));
    }
}

/// The same with the Earth low behind rocks, a lamp and a ball of paint beside.
fn scene_with_every_light(elevation_rad: f64) -> Scene {
    let mut scene = scene(0.0, elevation_rad);
    let earth = Vector3::new(-0.6, 0.75, 0.28).normalize();
    scene.set_earth(Some(Earth {
        direction_to_earth: earth,
        irradiance_w_m2: 0.1,
        angular_radius_rad: 0.0166,
        sun_from_earth: -earth,
    }));
    let world_from_lamp = Pose::translation(0.0, 1.0, 1.5);
    let lamp = Lamp { world_from_lamp, flux_w: [20.0, 10.0, 5.0], profile: Profile::ALL_ROUND, size_m: [0.0; 2] };
    scene.set_lamps(vec![lamp]).expect("room");
    let base = [0.7, 0.3, 0.2];
    let paint =
        PrincipledParams { base, metallic: 0.5, roughness: 0.3, specular: 0.5, near_infrared: None, radar: None };
    let ball = scene.add_mesh(&primitives::sphere(0.4)).expect("a mesh");
    let place = Pose::translation(-1.0, 0.6, 0.5);
    scene.add_instance(ball, &place, Class::Rover.numbered(PART + 1), &Material::Principled(paint)).expect("room");
    scene
}

#[test]
fn so_they_are_with_the_light_of_earth_and_lamps_and_other_materials() {
    for (earth_samples, elevation_rad) in [(1, 0.1), (8, 0.1), (1, -0.5), (8, -0.5)] {
        let light = LightSampling { earth_samples, ..view(5).light };
        assert_as_alone(&scene_with_every_light(elevation_rad), &CameraView { light, ..view(5) });
    }
}

#[test]
fn so_they_are_with_a_lens_that_sees_a_circle() {
    let lens = Lens::new(LensModel::Equidistant([0.0; 4])).with_circle(0.8);
    assert_as_alone(&scene(0.0, 0.3), &CameraView { lens, fx_px: 80.0, fy_px: 80.0, ..view(4) });
}

#[test]
fn so_they_are_where_camera_and_ball_move_and_pixels_have_samples() {
    for samples in [1, 3] {
        let still = view(4);
        let turned =
            Pose::from_parts(Vector3::new(0.1, 0.0, 0.05).into(), UnitQuaternion::from_euler_angles(0.0, 0.02, 0.05));
        let sweep = ShutterMotion {
            world_from_optical: [still.world_from_optical, still.world_from_optical * turned],
            exposure_share: 0.4,
            row_share: 0.6 / f64::from(SIZE[1]),
        };
        assert_as_alone(&scene(0.5, 0.3), &CameraView { sweep: Some(sweep), samples, ..still });
    }
}

/// Beams like a scanner's: elevations alternate between low and high, the azimuth turns, and each beam leaves later
/// than the one before.
fn scan() -> Vec<Beam> {
    const BEAMS: u32 = 2001;
    let origin_m = [-3.0, -1.0, bumpy_height_m(-3.0, -1.0) + 1.2];
    let beam = |number: u32| {
        let azimuth = 0.004 * f64::from(number);
        let elevation: f64 = [-0.3, 0.1, -0.15, 0.02][number as usize % 4];
        let direction = [elevation.cos() * azimuth.cos(), elevation.cos() * azimuth.sin(), elevation.sin()];
        let share = f64::from(number) / f64::from(BEAMS - 1);
        Beam { share: share as f32, ..Beam::new(origin_m, direction.map(|part| part as f32)) }
    };
    (0..BEAMS).map(beam).collect()
}

#[test]
fn beams_of_a_packet_return_what_each_alone_returns() {
    for shift_m in [0.0, 0.5] {
        let (scene, beams) = (scene(shift_m, 0.3), scan());
        let records = scene.records();
        let mut met = Vec::new();
        CpuTracer.beams(&scene, &beams, &mut met).expect("traced");
        for (number, (beam, met)) in beams.iter().zip(&met).enumerate() {
            let alone = beam_return(&records, &BeamRecord::new(beam, records.middle_m));
            assert_eq!(*met, BeamReturn::of(&scene, &alone), "beam {number}, shift {shift_m}");
        }
        for class in [Class::Sky, Class::Ground, Class::Rock, Class::Rover] {
            let count = met.iter().filter(|met| met.class == class as u16).count();
            assert!(count > 5, "{count} beams meet {class:?}");
        }
    }
}
