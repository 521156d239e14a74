//! Compares the GPU tracer with the CPU tracer on the same scenes, on any device, software ones
//! included. Skipped if there is none.

#[path = "../../scene/tests/scene/common/mod.rs"]
mod common;
#[path = "../../../tests/src/skip.rs"]
mod skip;

use std::time::Duration;

use common::{PART, bumpy_ground, bumpy_height_m, look, sun};
use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::random::{RngExt, stream};
use selene_gpu::GpuTracer;
use selene_scene::{
    Beam, CameraFrame, CameraView, Class, CpuTracer, Detail, Earth, Echo, Echoes, Grain, HapkeParams, Heap, Lamp, Lens,
    LensModel, LightSampling, Material, PrincipledParams, Profile, Puff, RayOfBeam, Receiver, Reports, Scene,
    ShutterMotion, Star, TraceError, Tracer, TruthFrame, WideBeam, primitives,
};
use selene_terrain::{Clipmap, Edit, Node, Print};

/// Depths differ by the rounding of `f32` where a compiler contracts or reorders.
const DEPTH_TOLERANCE: f32 = 1e-4;

/// Radiances differ by that rounding and by the device's exp, log and square root, which
/// WGSL allows to be some 1e-5 off.
const RADIANCE_TOLERANCE: f32 = 2e-3;

/// Share of pixels on a silhouette or a shadow's edge, where a last digit decides
/// which side a ray passes.
const EDGE_SHARE: f64 = 0.002;

fn gpu() -> Option<GpuTracer> {
    let opened = GpuTracer::open(true).expect("a device that is there opens");
    if opened.is_none() {
        skip::skip_peer("no Vulkan, Metal or DX12 device");
    }
    opened
}

fn site() -> Clipmap {
    bumpy_ground(&[(0.05, 300), (0.4, 120), (3.2, 80)], 100)
}

fn scene(ground: &Clipmap) -> Scene {
    let mut scene = Scene::new(ground, sun(0.15, 1.0));
    let wheel = scene.add_mesh(&primitives::cylinder(0.3, 0.2)).expect("a mesh");
    let pose = Pose::translation(1.0, 0.5, ground.height_m(1.0, 0.5).expect("on the site") + 0.3);
    scene.add_instance(wheel, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.4 }).expect("room");
    scene
}

fn view() -> CameraView {
    look([-4.0, -2.0, bumpy_height_m(-4.0, -2.0) + 1.8], [2.0, 1.0, 0.0], 320, 180)
}

fn picture(tracer: &mut dyn Tracer, scene: &Scene) -> CameraFrame {
    let mut frame = CameraFrame::default();
    tracer.camera(scene, &view(), &mut frame).expect("traced");
    frame
}

fn close(a: f32, b: f32, relative: f32) -> bool {
    a == b || (a - b).abs() <= relative * (1.0 + a.abs().max(b.abs()))
}

fn assert_same_picture(cpu: &CameraFrame, gpu: &CameraFrame) {
    let pixels = cpu.class.len();
    let same_place = |i: usize| {
        cpu.class[i] == gpu.class[i]
            && cpu.instance[i] == gpu.instance[i]
            && close(cpu.depth_m[i], gpu.depth_m[i], DEPTH_TOLERANCE)
    };
    let same_light = |i: usize| (0..3).all(|k| close(cpu.radiance[i][k], gpu.radiance[i][k], RADIANCE_TOLERANCE));
    let other_place = (0..pixels).filter(|&i| !same_place(i)).count();
    let other_light = (0..pixels).filter(|&i| same_place(i) && !same_light(i)).count();
    println!("of {pixels} pixels {other_place} differ in place, {other_light} in light");
    let most = (EDGE_SHARE * pixels as f64) as usize;
    assert!(other_place <= most && other_light <= most, "of {pixels}: {other_place} in place, {other_light} in light");
}

#[test]
fn grains_are_the_same_and_heaps_are_followed() {
    let Some(mut gpu) = gpu() else { return };
    let mut scene = scene(&site());
    let mut chance = stream(3, "grains");
    let grain = |_| {
        let [x, y, z] = [0, 1, 2].map(|_| chance.random::<f32>() - 0.5);
        Grain {
            centre_m: [x, y, 0.4 * z],
            radius_m: 0.004 + 0.01 * chance.random::<f32>(),
            faces: chance.random::<u32>() % 2 * chance.random::<u32>(),
        }
    };
    let grains: Vec<_> = (0..20_000).map(grain).collect();
    let material = Material::Hapke(HapkeParams::REGOLITH);
    let world_from_heap = Pose::translation(0.0, 0.0, bumpy_height_m(0.0, 0.0) + 0.3);
    let heap = |grains: &[Grain]| Heap { world_from_heap, grains: grains.into(), material };
    for count in [20_000, 5_000, 0] {
        scene.set_heaps(vec![heap(&grains[..count])]).expect("spheres");
        assert_same_picture(&picture(&mut CpuTracer, &scene), &picture(&mut gpu, &scene));
    }
}

#[test]
fn pictures_are_the_same_and_follow_edits_and_moves() {
    let Some(mut gpu) = gpu() else { return };
    println!("{}", gpu.device());
    let mut ground = site();
    let mut scene = scene(&ground);
    let before = picture(&mut CpuTracer, &scene);
    assert_same_picture(&before, &picture(&mut gpu, &scene));
    let posts = ground.finest().posts;
    let edit = |i: i32| {
        let node = Node { column: 60 + i % 100, row: 100 + i / 30 };
        let height_m = ground.finest().heights_m[node.row as usize * posts + node.column as usize];
        Edit::of(node, height_m + if i % 2 == 0 { -0.15 } else { 0.1 })
    };
    let edits: Vec<_> = (0..3000).map(edit).collect();
    scene.apply_edits(&ground.apply(&edits));
    let ball = scene.add_mesh(&primitives::sphere(0.4)).expect("a mesh");
    let id = scene
        .add_instance(ball, &Pose::identity(), Class::Rover.numbered(PART + 1), &Material::Lambert { albedo: 0.6 })
        .expect("room");
    scene.move_instance(id, &Pose::translation(0.0, 0.0, 1.5));
    scene.set_sun(sun(0.3, 2.0));
    let after = picture(&mut CpuTracer, &scene);
    assert!(before.depth_m != after.depth_m);
    assert_same_picture(&after, &picture(&mut gpu, &scene));
    let another = Scene::new(&ground, sun(0.3, 2.0));
    assert_same_picture(&picture(&mut CpuTracer, &another), &picture(&mut gpu, &another));
}

#[test]
fn prints_of_wheels_are_the_same_and_are_followed() {
    let Some(mut gpu) = gpu() else { return };
    let mut ground = site();
    let mut scene = scene(&ground);
    let before = picture(&mut gpu, &scene);
    let posts = ground.finest().posts;
    let edit = |i: usize| {
        let [column, row] = [60 + i % 90, 80 + i / 90];
        let post = Node { column: column as i32, row: row as i32 };
        let (heading_rad, phase_rad) = (0.02 * row as f64, 1.7 * column as f64 + 0.4 * row as f64);
        let print = if i.is_multiple_of(11) { Print::SMOOTH } else { Print::of_grousers(heading_rad, phase_rad, 0.15) };
        Edit::of(post, ground.finest().heights_m[row * posts + column]).with_print(print)
    };
    let edits: Vec<_> = (0..90 * 90).map(edit).collect();
    scene.apply_edits(&ground.apply(&edits));
    let after = picture(&mut CpuTracer, &scene);
    let changed = before.radiance.iter().zip(&after.radiance).filter(|(a, b)| !close(a[1], b[1], 0.02)).count();
    assert!(changed > 500 && before.depth_m.len() == after.depth_m.len(), "{changed} pixels show prints");
    assert_same_picture(&after, &picture(&mut gpu, &scene));
    assert_same_picture(&after, &picture(&mut gpu, &Scene::clone(&scene)));
}

#[test]
fn dust_is_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let mut scene = scene(&site());
    let clear = picture(&mut gpu, &scene);
    let puff = |i: u32| Puff {
        centre_m: Vector3::new(-1.0 + 0.04 * f64::from(i), 0.3 * f64::from(i).sin(), 0.5),
        deviation_m: 0.15,
        cross_section_m2: 0.02,
    };
    scene.set_dust((0..50).map(puff).collect());
    let dusty = picture(&mut gpu, &scene);
    assert!(dusty.depth_m == clear.depth_m && dusty.radiance != clear.radiance, "dust is seen and looked through");
    assert_same_picture(&picture(&mut CpuTracer, &scene), &dusty);
}

#[test]
fn the_sky_and_earthlit_ground_are_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let mut scene = scene(&site());
    scene.set_sun(sun(0.2, 0.1));
    let direction = sun(0.3, 0.4).direction_to_sun;
    scene.set_earth(Some(Earth {
        direction_to_earth: direction,
        irradiance_w_m2: 0.1,
        angular_radius_rad: 0.0166,
        sun_from_earth: nalgebra::Vector3::new(0.6, 0.0, 0.8),
    }));
    scene.set_stars(vec![Star { direction: sun(0.35, 0.2).direction_to_sun, irradiance_w_m2: 1e-8 }]);
    for sun_samples in [1, 8, 32] {
        let light = LightSampling { sun_samples, bounce_rays: sun_samples, seed: sun_samples, ..LightSampling::POINT };
        let up = CameraView { light, ..look([0.0, 0.0, bumpy_height_m(0.0, 0.0) + 1.5], [6.0, 1.5, 2.3], 320, 180) };
        let (mut cpu_frame, mut gpu_frame) = (CameraFrame::default(), CameraFrame::default());
        CpuTracer.camera(&scene, &up, &mut cpu_frame).expect("traced");
        gpu.camera(&scene, &up, &mut gpu_frame).expect("traced");
        assert_same_picture(&cpu_frame, &gpu_frame);
        assert!(cpu_frame.radiance.iter().any(|l| l[1] > 1e6) && cpu_frame.class.contains(&1), "Sun and ground");
    }
}

#[test]
fn every_lens_shows_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let scene = scene(&site());
    for (lens, focal_px) in [
        (Lens::new(LensModel::PlumbBob([-0.28, 0.07, 0.0002, 0.00002, 0.0])), 230.0),
        (Lens::new(LensModel::RationalPolynomial([0.51, -2.75, 0.0006, -0.0001, 1.6, 0.39, -2.57, 1.53])), 220.0),
        (Lens::new(LensModel::FieldOfView { half_fov_rad: 0.7 }), 215.0),
        (Lens::new(LensModel::Equidistant([0.0035, 0.0007, -0.002, 0.0002])), 60.0),
        (Lens::new(LensModel::Stereographic).with_circle(1.7), 50.0),
        (Lens::new(LensModel::Panorama), 320.0 / std::f64::consts::TAU),
    ] {
        let view = CameraView { lens, fx_px: focal_px, fy_px: focal_px, ..view() };
        let (mut cpu_frame, mut gpu_frame) = (CameraFrame::default(), CameraFrame::default());
        CpuTracer.camera(&scene, &view, &mut cpu_frame).expect("traced");
        gpu.camera(&scene, &view, &mut gpu_frame).expect("traced");
        assert_same_picture(&cpu_frame, &gpu_frame);
    }
}

/// A scene whose wheel rolls, and a camera that moves and turns during the exposure.
fn moving() -> (Scene, CameraView) {
    let ground = site();
    let mut scene = Scene::new(&ground, sun(0.15, 1.0));
    let wheel = scene.add_mesh(&primitives::cylinder(0.3, 0.2)).expect("a mesh");
    let height = ground.height_m(1.0, 0.5).expect("on the site") + 0.3;
    let at = |x: f64, angle: f64| {
        Pose::from_parts([x, 0.5, height].into(), UnitQuaternion::from_euler_angles(0.3, angle, 0.0))
    };
    let material = Material::Lambert { albedo: 0.4 };
    let id = scene.add_instance(wheel, &at(1.0, 0.0), Class::Rover.numbered(PART), &material).expect("room");
    scene.sweep_instances(&[(id, [at(1.0, 0.0), at(1.3, 1.0)])]);
    let start = view().world_from_optical;
    let end = start * Pose::from_parts([0.1, 0.02, 0.2].into(), UnitQuaternion::from_euler_angles(0.01, 0.05, 0.02));
    let sweep = ShutterMotion { world_from_optical: [start, end], exposure_share: 0.4, row_share: 0.6 / 179.0 };
    (scene, CameraView { sweep: Some(sweep), ..view() })
}

#[test]
fn samples_in_space_and_time_are_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let (scene, view) = moving();
    for samples in [1, 4] {
        let view = CameraView { samples, ..view };
        let (mut cpu_frame, mut gpu_frame) = (CameraFrame::default(), CameraFrame::default());
        CpuTracer.camera(&scene, &view, &mut cpu_frame).expect("traced");
        gpu.camera(&scene, &view, &mut gpu_frame).expect("traced");
        assert!(cpu_frame.class.contains(&(Class::Rover as u16)));
        assert_same_picture(&cpu_frame, &gpu_frame);
    }
}

fn principled(base: [f64; 3], metallic: f64) -> PrincipledParams {
    PrincipledParams { base, metallic, roughness: 0.4, specular: 0.5, near_infrared: None, radar: None }
}

#[test]
fn lamps_gloss_and_detail_are_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let mut scene = scene(&site());
    let gold = principled([0.8, 0.6, 0.2], 0.8);
    let ball = scene.add_mesh(&primitives::sphere(0.4)).expect("a mesh");
    let pose = Pose::translation(0.0, -0.5, bumpy_height_m(0.0, -0.5) + 0.5);
    scene.add_instance(ball, &pose, Class::Rover.numbered(PART + 1), &Material::Principled(gold)).expect("room");
    let detail = Detail { deviation_at_1m_m: 0.006, hurst: 0.7, strength: 0.5, mottle: 0.05, craterlets: 1.0 };
    let [regolith, rock] = [HapkeParams::REGOLITH, HapkeParams::ROCK].map(Material::Hapke);
    scene.set_ground_materials(&regolith, &rock, detail);
    let spot = Profile { inner_rad: 0.2, outer_rad: 0.6, falloff: 2.0 };
    let lamp = |side: f64, profile, size_m| Lamp {
        world_from_lamp: Pose::translation(-4.0, -2.0 + side, bumpy_height_m(-4.0, -2.0) + 1.7),
        flux_w: [10.0, 20.0, 60.0],
        profile,
        size_m,
    };
    scene.set_lamps(vec![lamp(0.4, spot, [0.0; 2]), lamp(-0.4, Profile::LAMBERT, [0.3, 0.1])]).expect("room");
    for sun_elevation in [-0.3, 0.15] {
        scene.set_sun(sun(sun_elevation, 1.0));
        let light = LightSampling { sun_samples: 8, bounce_rays: 4, seed: 7, ..LightSampling::POINT };
        let view = CameraView { light, ..view() };
        let (mut ours, mut theirs) = (CameraFrame::default(), CameraFrame::default());
        CpuTracer.camera(&scene, &view, &mut ours).expect("traced");
        gpu.camera(&scene, &view, &mut theirs).expect("traced");
        assert_same_picture(&ours, &theirs);
        let lit = ours.radiance.iter().filter(|l| l[2] > 0.0).count();
        assert!(lit > ours.radiance.len() / 4, "{lit} pixels are lit");
    }
}

#[test]
fn ground_and_rocks_of_every_reflectance_are_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let mut scene = scene(&site());
    let paint = principled([0.3, 0.2, 0.15], 0.3);
    let [matt, glossy] = [Material::Lambert { albedo: 0.3 }, Material::Principled(paint)];
    let detail = Detail { deviation_at_1m_m: 0.006, hurst: 0.7, strength: 0.5, mottle: 0.05, craterlets: 1.0 };
    let usual = Material::Hapke(HapkeParams::REGOLITH);
    for [regolith, rock] in [[matt, glossy], [glossy, matt], [usual, matt]] {
        scene.set_ground_materials(&regolith, &rock, detail);
        let ours = picture(&mut CpuTracer, &scene);
        assert_same_picture(&ours, &picture(&mut gpu, &scene));
        assert!([Class::Ground, Class::Rock].iter().all(|class| ours.class.contains(&(*class as u16))));
    }
}

#[test]
fn earthshine_of_a_disc_and_several_bounces_are_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let mut scene = scene(&site());
    let direction = sun(0.25, 0.4).direction_to_sun;
    // Ten thousand times the true Earth, so that its light is large against the tolerance.
    scene.set_earth(Some(Earth {
        direction_to_earth: direction,
        irradiance_w_m2: 1000.0,
        angular_radius_rad: 0.0166,
        sun_from_earth: nalgebra::Vector3::new(0.6, 0.0, 0.8),
    }));
    for (sun_elevation, bounces, earth_samples) in [(-0.3, 1, 8), (-0.3, 3, 32), (0.15, 4, 4)] {
        scene.set_sun(sun(sun_elevation, 1.0));
        let light = LightSampling { sun_samples: 8, bounce_rays: 4, bounces, earth_samples, seed: 11 };
        let view = CameraView { light, ..view() };
        let (mut ours, mut theirs) = (CameraFrame::default(), CameraFrame::default());
        CpuTracer.camera(&scene, &view, &mut ours).expect("traced");
        gpu.camera(&scene, &view, &mut theirs).expect("traced");
        assert_same_picture(&ours, &theirs);
        assert!(ours.scattered.iter().any(|l| l[1] > 0.1), "enough is scattered to be compared");
    }
}

#[test]
fn an_image_of_several_dispatches_is_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let scene = scene(&site());
    // More than four times the 10 MiB of one dispatch at 20 bytes a pixel, six times at 32 with scattered light; the last
    // group of eight rows is not full.
    let view =
        CameraView { width: 1600, height: 1403, fx_px: 900.0, fy_px: 900.0, cx_px: 800.0, cy_px: 700.0, ..view() };
    let (mut cpu_frame, mut gpu_frame) = (CameraFrame::default(), CameraFrame::default());
    for bounce_rays in [1, 0] {
        let view = CameraView { light: LightSampling { bounce_rays, ..view.light }, ..view };
        CpuTracer.camera(&scene, &view, &mut cpu_frame).expect("traced");
        gpu.camera(&scene, &view, &mut gpu_frame).expect("traced");
        assert_same_picture(&cpu_frame, &gpu_frame);
        let last_row = gpu_frame.class.len() - 1600..;
        assert!(gpu_frame.class[last_row].contains(&(Class::Ground as u16)), "the last rows are traced too");
        let is_scattered = gpu_frame.scattered.iter().any(|light| *light != [0.0; 3]);
        assert_eq!(is_scattered, bounce_rays > 0, "a frame keeps nothing of the image before");
    }
    let (mut cpu_truth, mut gpu_truth) = (TruthFrame::default(), TruthFrame::default());
    CpuTracer.truth(&scene, &view, &mut cpu_truth).expect("traced");
    gpu.truth(&scene, &view, &mut gpu_truth).expect("traced");
    let other = cpu_truth.albedo.iter().zip(&gpu_truth.albedo).filter(|(a, b)| a != b).count();
    assert_eq!(gpu_truth.albedo.len(), cpu_truth.albedo.len());
    assert!(other as f64 <= EDGE_SHARE * cpu_truth.albedo.len() as f64, "{other} differ");
}

#[test]
fn a_device_that_was_turned_off_says_so_and_gives_nothing() {
    let Some(mut gpu) = gpu() else { return };
    let scene = scene(&site());
    picture(&mut gpu, &scene);
    gpu.off_switch().turn_off();
    let (mut frame, mut truth, mut returns) = (CameraFrame::default(), TruthFrame::default(), Vec::new());
    let beam = Beam::new([0.0, 0.0, 2.5], [0.0, 0.0, -1.0]);
    for error in [
        gpu.camera(&scene, &view(), &mut frame).expect_err("lost"),
        gpu.truth(&scene, &view(), &mut truth).expect_err("lost"),
        gpu.beams(&scene, &[beam], &mut returns).expect_err("lost"),
        gpu.echoes(&scene, &wide_beams(1), &receiver(Reports::First, None), &mut Vec::new()).expect_err("lost"),
    ] {
        assert!(matches!(error, TraceError::Lost { .. }) && error.is_of_device(), "{error}");
        assert!(error.to_string().contains(&gpu.device()), "{error}");
    }
    // Another device on the same machine still works. A device that never had a buffer reports its loss too.
    let mut another = GpuTracer::open(true).expect("opens").expect("still there");
    assert_same_picture(&picture(&mut CpuTracer, &scene), &picture(&mut another, &scene));
    let mut unused = GpuTracer::open(true).expect("opens").expect("still there");
    unused.off_switch().turn_off();
    let error = unused.camera(&scene, &view(), &mut frame).expect_err("lost");
    assert!(matches!(error, TraceError::Lost { .. }), "{error}");
}

#[test]
fn a_device_turned_off_while_it_traces_gives_a_whole_image_or_none() {
    if gpu().is_none() {
        return;
    }
    let scene = scene(&site());
    let expected = picture(&mut CpuTracer, &scene);
    for delay_ms in [0, 5, 20, 60, 150] {
        let mut gpu = GpuTracer::open(true).expect("opens").expect("still there");
        // Make the pipelines and buffers first, so that the switch interrupts the image itself.
        picture(&mut gpu, &scene);
        let switch = gpu.off_switch();
        let mut frame = CameraFrame::default();
        let traced = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(delay_ms));
                switch.turn_off();
            });
            gpu.camera(&scene, &view(), &mut frame)
        });
        println!("off after {delay_ms} ms: {traced:?}");
        match traced {
            Ok(()) => assert_same_picture(&expected, &frame),
            Err(error) => assert!(matches!(error, TraceError::Lost { .. }), "{error}"),
        }
    }
}

#[test]
fn truth_is_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let (scene, view) = moving();
    let (mut expected, mut got) = (TruthFrame::default(), TruthFrame::default());
    CpuTracer.truth(&scene, &view, &mut expected).expect("traced");
    gpu.truth(&scene, &view, &mut got).expect("traced");
    assert_eq!(got.normal.len(), 320 * 180);
    let differs = |i: &usize| {
        !(0..3).all(|axis| close(expected.normal[*i][axis], got.normal[*i][axis], RADIANCE_TOLERANCE))
            || expected.albedo[*i] != got.albedo[*i]
            || expected.sun_share[*i] != got.sun_share[*i]
    };
    let count = (0..got.normal.len()).filter(differs).count();
    println!("of {} pixels {count} differ", got.normal.len());
    assert!(count as f64 <= EDGE_SHARE * got.normal.len() as f64, "{count} differ");
    assert!(expected.sun_share.contains(&1.0) && expected.albedo.contains(&0.4));
}

#[test]
fn beams_return_the_same() {
    let Some(mut gpu) = gpu() else { return };
    let scene = scene(&site());
    let mut random = stream(3, "beams");
    let mut beam = || {
        let azimuth: f32 = random.random_range(0.0..std::f32::consts::TAU);
        let elevation: f32 = random.random_range(-0.5..0.2);
        let (sin, cos) = elevation.sin_cos();
        Beam::new([0.0, 0.0, 2.5], [cos * azimuth.cos(), cos * azimuth.sin(), sin])
    };
    let beams: Vec<_> = (0..20_000).map(|_| beam()).collect();
    let (mut expected, mut got) = (Vec::new(), Vec::new());
    CpuTracer.beams(&scene, &beams, &mut expected).expect("traced");
    gpu.beams(&scene, &beams, &mut got).expect("traced");
    let differing = expected.iter().zip(&got).filter(|(a, b)| {
        a.class != b.class
            || a.instance != b.instance
            || a.reflectance != b.reflectance
            || !close(a.range_m, b.range_m, DEPTH_TOLERANCE)
            || !close(a.cos_incidence, b.cos_incidence, RADIANCE_TOLERANCE)
    });
    let count = differing.count();
    println!("of {} beams {count} differ", beams.len());
    assert_eq!(got.len(), beams.len());
    assert!(count as f64 <= EDGE_SHARE * beams.len() as f64, "{count} differ");
    gpu.beams(&scene, &[], &mut got).expect("nothing to do");
    assert!(got.is_empty());
}

/// A receiver of beams of nine rays, 6 mrad wide, that ignores the wheel with this number if there is one.
fn receiver(reports: Reports, ignores: Option<u32>) -> Receiver {
    let ring = (0..8).map(|i| {
        let (sin, cos) = (std::f64::consts::FRAC_PI_4 * f64::from(i)).sin_cos();
        RayOfBeam { off_axis: [3e-3 * cos, 3e-3 * sin], weight: 0.1 }
    });
    Receiver {
        rays: std::iter::once(RayOfBeam { off_axis: [0.0; 2], weight: 0.2 }).chain(ring).collect(),
        wavelength_nm: 905.0,
        range_at_10_percent_m: 100.0,
        resolution_m: 0.05,
        ranges_m: [0.5, 80.0],
        reports,
        ignores: ignores.map(|number| number..=number),
    }
}

/// Beams all around from one place.
fn wide_beams(count: usize) -> Vec<WideBeam> {
    let mut random = stream(4, "beams");
    let mut beam = || {
        let azimuth: f32 = random.random_range(0.0..std::f32::consts::TAU);
        let elevation: f32 = random.random_range(-1.2..0.1);
        let ((sin_az, cos_az), (sin_el, cos_el)) = (azimuth.sin_cos(), elevation.sin_cos());
        WideBeam {
            origin_m: [0.0, 0.0, 2.5],
            axis: [cos_el * cos_az, cos_el * sin_az, sin_el],
            along_azimuth: [-sin_az, cos_az, 0.0],
            share: random.random(),
        }
    };
    (0..count).map(|_| beam()).collect()
}

/// Asserts that both report the same of beams, apart from those at edges; returns how many echoes the CPU reported.
fn assert_same_echoes(gpu: &mut GpuTracer, scene: &Scene, beams: &[WideBeam], receiver: &Receiver) -> usize {
    let (expected, got) = (echoes_of(&mut CpuTracer, scene, beams, receiver), echoes_of(gpu, scene, beams, receiver));
    assert_eq!(got.len(), beams.len());
    let same = |a: &Echo, b: &Echo| {
        (a.kind, a.class, a.instance) == (b.kind, b.class, b.instance)
            && close(a.range_m, b.range_m, DEPTH_TOLERANCE)
            && (a.signal / b.signal - 1.0).abs() < RADIANCE_TOLERANCE
    };
    let differs = |(a, b): &(&Echoes, &Echoes)| {
        !a.iter().zip(*b).all(|(a, b)| match (a, b) {
            (Some(a), Some(b)) => same(a, b),
            (a, b) => a.is_none() && b.is_none(),
        })
    };
    let count = expected.iter().zip(&got).filter(differs).count();
    println!("{:?}: of {} beams {count} differ", receiver.reports, beams.len());
    assert!(count as f64 <= EDGE_SHARE * receiver.rays.len() as f64 * beams.len() as f64, "{count} differ");
    expected.iter().flatten().flatten().count()
}

fn echoes_of(tracer: &mut dyn Tracer, scene: &Scene, beams: &[WideBeam], receiver: &Receiver) -> Vec<Echoes> {
    let mut echoes = Vec::new();
    tracer.echoes(scene, beams, receiver, &mut echoes).expect("traced");
    echoes
}

#[test]
fn receivers_report_the_same_echoes() {
    let Some(mut gpu) = gpu() else { return };
    let mut scene = scene(&site());
    let beams = wide_beams(20_000);
    // Three parts on a device, the last one shorter.
    assert_same_echoes(&mut gpu, &scene, &wide_beams(80_001), &receiver(Reports::Dual, None));
    let of_part = |scene: &Scene, receiver: &Receiver| {
        let echoes = echoes_of(&mut CpuTracer, scene, &beams, receiver);
        echoes.iter().flatten().flatten().filter(|echo| echo.instance == PART).count()
    };
    for reports in [Reports::Strongest, Reports::First, Reports::Last, Reports::Dual, Reports::Mean] {
        let all = assert_same_echoes(&mut gpu, &scene, &beams, &receiver(reports, None));
        // Grazing beams give two echoes of the ground, and the wheel's edge one more.
        assert!((all > beams.len()) == (reports == Reports::Dual), "{all}");
    }
    let [seen, ignored] = [None, Some(PART)].map(|part| receiver(Reports::Dual, part));
    assert_same_echoes(&mut gpu, &scene, &beams, &ignored);
    assert!(of_part(&scene, &seen) > 20 && of_part(&scene, &ignored) == 0);
    // Dust, which the host adds, on a part of the beams.
    let puff = |i: u32| Puff {
        centre_m: Vector3::new(1.0 + 0.2 * f64::from(i), -1.0, 1.5),
        deviation_m: 0.3,
        cross_section_m2: 0.05,
    };
    let clear = echoes_of(&mut gpu, &scene, &beams, &seen);
    scene.set_dust((0..8).map(puff).collect());
    assert_same_echoes(&mut gpu, &scene, &beams, &seen);
    let dusty = echoes_of(&mut gpu, &scene, &beams, &seen);
    let is_dust = |echo: &&Echo| echo.class == Class::Dust as u16;
    assert!(dusty.iter().flatten().flatten().filter(is_dust).count() > 20);
    let dimmed = clear
        .iter()
        .zip(&dusty)
        .filter(|([a, _], [b, _])| a.zip(*b).is_some_and(|(a, b)| a.class == b.class && b.signal < 0.99 * a.signal));
    let count = dimmed.count();
    assert!(count > 20 && count < beams.len() / 2, "{count} are dimmed");
    gpu.echoes(&scene, &[], &seen, &mut Vec::new()).expect("nothing to do");
    let no_ray = Receiver { rays: Vec::new(), ..seen };
    let message = gpu.echoes(&scene, &beams, &no_ray, &mut Vec::new()).expect_err("no ray").to_string();
    assert!(message.contains("0 rays; 1 to 256"), "{message}");
}
