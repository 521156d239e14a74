//! Tests samples in space and time against closed forms: moving bodies are smeared over as many pixels as they cross,
//! and reading rows one after the other slants upright edges.

use crate::common;

use std::f64::consts::PI;

use common::{PART, look, sun};
use nalgebra::{Unit, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::frames::interpolate;
use selene_scene::{
    Beam, CameraFrame, CameraView, Class, CpuTracer, HapkeParams, InstanceId, LightSampling, Material,
    PrincipledParams, Scene, ShutterMotion, Tracer, panchromatic, primitives,
};
use selene_terrain::Clipmap;

/// With 64 samples in each of 40 rows the mean has an error of a few 0.001; a pixel's own width rounds the ramp's ends
/// by 1/8 of its slope.
const SHARE_TOLERANCE: f64 = 0.02;

/// An edge lies between two pixels' centres.
const EDGE_PX: f64 = 0.51;

const WIDTH: u32 = 200;
const HEIGHT: u32 = 64;
const FOCAL_PX: f64 = 500.0;
const DISTANCE_M: f64 = 5.0;

/// A level camera ten metres up that sees only the sky and objects in front of it.
fn view(samples: u32, sweep: Option<ShutterMotion>) -> CameraView {
    let at_wall = look([0.0, 0.0, 10.0], [1.0, 0.0, 10.0], WIDTH, HEIGHT);
    CameraView { fx_px: FOCAL_PX, fy_px: FOCAL_PX, light: LightSampling::POINT, samples, sweep, ..at_wall }
}

/// A wall with its face `DISTANCE_M` ahead and its right edge at y = `edge_m`, lit from behind the camera.
fn wall(edge_m: f64) -> (Scene, InstanceId, Pose) {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.3, PI));
    let mesh = scene.add_mesh(&primitives::cuboid([0.2, 8.0, 4.0])).expect("a mesh");
    let pose = Pose::translation(DISTANCE_M + 0.1, edge_m + 4.0, 10.0);
    let id =
        scene.add_instance(mesh, &pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.5 }).expect("room");
    (scene, id, pose)
}

fn picture(scene: &Scene, view: &CameraView) -> CameraFrame {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    frame
}

/// The shutter of a camera at rest.
fn at_rest(exposure_share: f64, row_share: f64) -> ShutterMotion {
    let pose = view(1, None).world_from_optical;
    ShutterMotion { world_from_optical: [pose; 2], exposure_share, row_share }
}

/// Column at which the wall's face has y; y points left.
fn column_of(y_m: f64) -> f64 {
    0.5 * f64::from(WIDTH - 1) - FOCAL_PX * y_m / DISTANCE_M
}

/// Light of each column as a share of the wall's, averaged over the rows.
fn shares(frame: &CameraFrame, full: f32) -> Vec<f64> {
    let at = |column: usize, row: usize| f64::from(panchromatic(frame.radiance[row * WIDTH as usize + column]) / full);
    let mean = |column: usize| (0..HEIGHT as usize).map(|row| at(column, row)).sum::<f64>() / f64::from(HEIGHT);
    (0..WIDTH as usize).map(mean).collect()
}

fn assert_ramp(frame: &CameraFrame, full: f32, [from, to]: [f64; 2]) {
    let mut between = 0;
    for (column, got) in shares(frame, full).into_iter().enumerate() {
        // The wall is to the left of its edge.
        let expected = ((to - column as f64) / (to - from)).clamp(0.0, 1.0);
        let end = (column as f64 - from).abs().min((column as f64 - to).abs());
        let tolerance = if end < 1.0 { SHARE_TOLERANCE + 0.125 / (to - from) } else { SHARE_TOLERANCE };
        assert!((got - expected).abs() < tolerance, "{got} of the light in column {column}, not {expected}");
        between += usize::from(expected > 0.0 && expected < 1.0);
    }
    assert!((between as f64 - (to - from)).abs() < 1.5, "{between} columns");
}

#[test]
fn a_moving_edge_is_a_ramp_as_wide_as_its_way() {
    let (mut scene, id, pose) = wall(0.2);
    let full = panchromatic(picture(&scene, &view(1, None)).radiance[0]);
    assert!(full > 0.0);
    // 0.4 m to the right at a distance of 5 m: 40 pixels.
    scene.sweep_instances(&[(id, [pose, Pose::translation(0.0, -0.4, 0.0) * pose])]);
    let frame = picture(&scene, &view(64, Some(at_rest(1.0, 0.0))));
    assert_ramp(&frame, full, [column_of(0.2), column_of(-0.2)]);
    // Half the exposure gives half the ramp.
    let half = at_rest(0.5, 0.0);
    let frame = picture(&scene, &view(64, Some(half)));
    assert_ramp(&frame, full, [column_of(0.2), column_of(0.0)]);
}

#[test]
fn a_moving_camera_smears_what_rests_the_other_way() {
    let (scene, _, _) = wall(0.2);
    let still = view(1, None);
    let full = panchromatic(picture(&scene, &still).radiance[0]);
    let end = Pose::translation(0.0, 0.4, 0.0) * still.world_from_optical;
    let sweep =
        ShutterMotion { world_from_optical: [still.world_from_optical, end], exposure_share: 1.0, row_share: 0.0 };
    let frame = picture(&scene, &view(64, Some(sweep)));
    assert_ramp(&frame, full, [column_of(0.2), column_of(-0.2)]);
}

/// Last column of each row that shows the wall.
fn edges(frame: &CameraFrame) -> Vec<f64> {
    let row = |row: &[u16]| row.iter().rposition(|class| *class == Class::Rover as u16).map_or(-1.0, |c| c as f64);
    frame.class.chunks(WIDTH as usize).map(row).collect()
}

#[test]
fn rows_read_one_by_one_slant_a_moving_edge_as_far_as_it_goes() {
    // Right of the centre, so that the wall's end face is not visible.
    let (mut scene, id, pose) = wall(-0.05);
    scene.sweep_instances(&[(id, [pose, Pose::translation(0.0, -0.4, 0.0) * pose])]);
    let row_share = 1.0 / f64::from(HEIGHT - 1);
    let frame = picture(&scene, &view(1, Some(at_rest(0.0, row_share))));
    for (row, edge) in edges(&frame).into_iter().enumerate() {
        let expected = column_of(-0.05 - 0.4 * row as f64 * row_share);
        assert!((edge + 0.5 - expected).abs() < EDGE_PX, "row {row}: {edge}, not {expected}");
    }
}

#[test]
fn rows_read_one_by_one_slant_what_a_turning_camera_sees() {
    let (scene, _, _) = wall(0.0);
    let start = view(1, None).world_from_optical;
    // About the optical y axis, to the right by 0.15 rad.
    let turn = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), 0.15);
    let end = Pose::from_parts(start.translation, start.rotation * turn);
    let row_share = 1.0 / f64::from(HEIGHT - 1);
    let sweep = ShutterMotion { world_from_optical: [start, end], exposure_share: 0.0, row_share };
    let frame = picture(&scene, &view(1, Some(sweep)));
    for (row, edge) in edges(&frame).into_iter().enumerate() {
        let expected = 0.5 * f64::from(WIDTH - 1) - FOCAL_PX * (0.15 * row as f64 * row_share).tan();
        assert!((edge + 0.5 - expected).abs() < EDGE_PX, "row {row}: {edge}, not {expected}");
    }
}

#[test]
fn one_sample_of_a_scene_at_rest_is_the_picture_without_a_shutter() {
    let scene = Scene::new(&common::bumpy_ground(&[(0.05, 150), (0.4, 60)], 40), sun(0.2, 1.0));
    let still = look([-3.0, -1.0, 2.0], [1.0, 0.5, 0.0], 160, 90);
    let sweep =
        ShutterMotion { world_from_optical: [still.world_from_optical; 2], exposure_share: 0.7, row_share: 0.003 };
    assert!(picture(&scene, &still) == picture(&scene, &CameraView { sweep: Some(sweep), ..still }));
}

#[test]
fn in_the_middle_of_its_motion_a_body_is_where_it_then_is_with_its_light_and_shadow() {
    let place = |y: f64, angle: f64| {
        let turn = UnitQuaternion::from_axis_angle(&Unit::new_normalize(Vector3::new(1.0, 2.0, 0.5)), angle);
        Pose::from_parts(Vector3::new(0.5, y, 0.8).into(), turn)
    };
    let ends = [place(-0.4, 0.2), place(0.3, 1.4)];
    let scene_with = |poses: [Pose; 2]| {
        let mut scene = Scene::new(&Clipmap::flat(0.05, 10.0), sun(0.6, 2.0));
        let mesh = scene.add_mesh(&primitives::cuboid([0.5, 0.3, 0.8])).expect("a mesh");
        let id = scene
            .add_instance(mesh, &ends[0], Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.5 })
            .expect("room");
        scene.sweep_instances(&[(id, poses)]);
        scene
    };
    let eye = look([-2.0, 0.3, 1.6], [0.5, 0.0, 0.4], 320, 240);
    let eye = CameraView { light: LightSampling::POINT, ..eye };
    let shutter =
        ShutterMotion { world_from_optical: [eye.world_from_optical; 2], exposure_share: 1.0, row_share: 0.0 };
    let moving = picture(&scene_with(ends), &CameraView { sweep: Some(shutter), ..eye });
    let resting = picture(&scene_with([interpolate(&ends[0], &ends[1], 0.5); 2]), &eye);
    let differs = |i: usize| {
        moving.class[i] != resting.class[i]
            || (moving.depth_m[i] - resting.depth_m[i]).abs() > 1e-4
            || (panchromatic(moving.radiance[i]) - panchromatic(resting.radiance[i])).abs()
                > 1e-4 * panchromatic(resting.radiance[i]).abs().max(1.0)
    };
    let count = (0..moving.class.len()).filter(|&i| differs(i)).count();
    assert!(count < 40, "{count} of {} pixels, more than edges", moving.class.len());
    assert!(resting.class.iter().filter(|class| **class == Class::Rover as u16).count() > 2000);
}

#[test]
fn many_samples_are_the_mean_of_a_finer_picture() {
    let scene = Scene::new(&common::bumpy_ground(&[(0.05, 150), (0.4, 60)], 40), sun(0.2, 1.0));
    let coarse =
        CameraView { light: LightSampling::POINT, samples: 64, ..look([-3.0, -1.0, 2.0], [1.0, 0.5, 0.0], 80, 45) };
    const FINER: u32 = 8;
    let fine =
        CameraView { light: LightSampling::POINT, ..look([-3.0, -1.0, 2.0], [1.0, 0.5, 0.0], 80 * FINER, 45 * FINER) };
    let [one, many] = [picture(&scene, &fine), picture(&scene, &coarse)];
    let mean = |pixel: u32| {
        let [column, row] = [pixel % 80 * FINER, pixel / 80 * FINER];
        let at = |k: u32| panchromatic(one.radiance[((row + k / FINER) * fine.width + column + k % FINER) as usize]);
        (0..FINER * FINER).map(at).sum::<f32>() / (FINER * FINER) as f32
    };
    let brightest = one.radiance.iter().copied().map(panchromatic).fold(0.0, f32::max);
    let means: Vec<f32> = (0..80 * 45).map(mean).collect();
    let square: f32 = means.iter().zip(&many.radiance).map(|(a, &b)| (a - panchromatic(b)).powi(2)).sum();
    let error = (square / means.len() as f32).sqrt() / brightest;
    // Shadow edges: each mean of 64 samples has an error of about 0.02 of the step there.
    assert!(error < 0.01, "{error} of the brightest");
}

#[test]
fn each_beam_meets_what_moves_at_its_own_share_of_the_span() {
    let (mut scene, id, pose) = wall(-4.0);
    // The face starts `DISTANCE_M` ahead and moves two metres away from the sensor during the time span.
    scene.sweep_instances(&[(id, [pose, Pose::translation(2.0, 0.0, 0.0) * pose])]);
    for share in [0.0, 0.25, 0.5, 1.0] {
        let mut met = Vec::new();
        let beam = Beam { share, ..Beam::new([0.0, 0.0, 10.0], [1.0, 0.0, 0.0]) };
        CpuTracer.beams(&scene, &[beam], &mut met).expect("traced");
        let expected_m = DISTANCE_M + 2.0 * f64::from(share);
        assert!((f64::from(met[0].range_m) - expected_m).abs() < 1e-4, "{share}: {} m", met[0].range_m);
        assert_eq!((met[0].class, met[0].reflectance, met[0].near_infrared), (Class::Rover as u16, 0.5, [0.5; 2]));
    }
}

#[test]
fn beams_report_what_the_material_that_they_meet_does_at_each_wavelength() {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.3, PI));
    let mesh = scene.add_mesh(&primitives::cuboid([1.0, 1.0, 1.0])).expect("a mesh");
    let paint = |near_infrared, radar| {
        let base = [0.2; 3];
        Material::Principled(PrincipledParams {
            base,
            metallic: 0.0,
            roughness: 0.5,
            specular: 0.5,
            near_infrared,
            radar,
        })
    };
    let looks = [paint(None, Some([0.9, 0.1])), paint(Some([0.6, 0.7]), None)];
    for (number, look) in (PART..).zip(&looks) {
        let place = Pose::translation(3.0 * f64::from(number - PART), 0.0, 0.5);
        scene.add_instance(mesh, &place, Class::Rover.numbered(number), look).expect("room");
    }
    let down = |x: f64| Beam::new([x, 0.0, 5.0], [0.0, 0.0, -1.0]);
    let mut met = Vec::new();
    CpuTracer.beams(&scene, &[down(0.0), down(3.0), down(-3.0)], &mut met).expect("traced");
    assert_eq!([met[0].near_infrared, met[1].near_infrared], [[0.2; 2], [0.6, 0.7]]);
    assert_eq!([met[0].radar, met[1].radar, met[2].radar], [Some([0.9, 0.1]), None, None]);
    assert!((met[1].reflectance_at(905.0) - 0.6).abs() < 1e-6 && (met[1].reflectance_at(550.0) - 0.2).abs() < 1e-6);
    let regolith = met[2];
    let over_visible = regolith.near_infrared.map(|part| f64::from(part / regolith.reflectance));
    assert!(over_visible.iter().zip(HapkeParams::REGOLITH.near_infrared).all(|(a, b)| (a - b).abs() < 1e-5));
}
