//! Tests truth images for consistency: normals with the differences of depth, light with its factors, flow with
//! projected motion, boxes with an analytic outline, and the instances in the cameras of one rig with each other.

use crate::common;

use std::f64::consts::PI;

use common::{PART, bumpy_ground, look, sun};
use nalgebra::{Point3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, FlowReference, InstanceId, LightSampling, Material, Scene, Tracer,
    TruthFrame, flow, primitives, visible,
};
use selene_terrain::Clipmap;

/// Depth has 24 bits, its difference between neighbouring pixels about fifteen.
const NORMAL_RAD: f64 = 0.01;

/// Rounding of `f32` depth and pose, pixels.
const FLOW_PX: f32 = 2e-3;

/// The sphere has 32 facets, which at a radius of 60 px lie 0.3 px inside; and a pixel is in or out.
const OUTLINE_PX: f64 = 1.0;

fn traced(scene: &Scene, view: &CameraView) -> (CameraFrame, TruthFrame) {
    let (mut frame, mut truth) = (CameraFrame::default(), TruthFrame::default());
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    CpuTracer.truth(scene, view, &mut truth).expect("traced");
    (frame, truth)
}

fn lambert() -> Material {
    Material::Lambert { albedo: 0.4 }
}

/// Flat ground with a tilted box on it.
fn boxed() -> (Scene, InstanceId, Pose) {
    let mut scene = Scene::new(&Clipmap::flat(0.05, 20.0), sun(0.7, 1.2));
    let mesh = scene.add_mesh(&primitives::cuboid([0.8, 0.6, 0.7])).expect("a mesh");
    let turn = UnitQuaternion::from_euler_angles(0.3, 0.2, 0.5);
    let pose = Pose::from_parts(Vector3::new(0.0, 0.0, 0.6).into(), turn);
    let id = scene.add_instance(mesh, &pose, Class::Rover.numbered(PART), &lambert()).expect("room");
    (scene, id, pose)
}

fn eye() -> CameraView {
    CameraView { light: LightSampling::POINT, ..look([-2.5, -0.8, 1.5], [0.0, 0.0, 0.5], 320, 240) }
}

/// The point that a pixel shows, optical frame, m.
fn point(view: &CameraView, frame: &CameraFrame, pixel: usize) -> Vector3<f64> {
    let place = [pixel % view.width as usize, pixel / view.width as usize].map(|c| c as f64);
    view.unproject(place).expect("seen") * f64::from(frame.depth_m[pixel])
}

#[test]
fn normals_are_those_of_the_points_around() {
    let (scene, _, _) = boxed();
    let view = eye();
    let (frame, truth) = traced(&scene, &view);
    let columns = view.width as usize;
    let across = |i: usize, step: usize| {
        (
            point(&view, &frame, i + step) - point(&view, &frame, i),
            point(&view, &frame, i) - point(&view, &frame, i - step),
        )
    };
    let mut compared = [0, 0];
    for i in (columns..frame.class.len() - columns).filter(|i| (1..columns - 1).contains(&(i % columns))) {
        if [i, i - 1, i + 1, i - columns, i + columns]
            .iter()
            .any(|&j| frame.instance[j] != frame.instance[i] || frame.class[j] == 0)
        {
            assert_eq!(frame.class[i] == 0, truth.normal[i] == [0.0; 3]);
            continue;
        }
        let [(right, left), (down, up)] = [across(i, 1), across(i, columns)];
        let [here, there] = [down.cross(&right), up.cross(&left)];
        // Two faces of the box meet here.
        if here.angle(&there) > NORMAL_RAD {
            continue;
        }
        let normal = Vector3::from(truth.normal[i]).cast::<f64>();
        assert!(normal.angle(&here) < NORMAL_RAD, "pixel {i}: {normal:?}, not along {here:?}");
        assert!((normal.norm() - 1.0).abs() < 1e-5 && normal.dot(&point(&view, &frame, i)) < 0.0, "toward the camera");
        compared[usize::from(frame.class[i] == Class::Rover as u16)] += 1;
    }
    assert!(compared[0] > 30_000 && compared[1] > 3000, "{compared:?}");
}

#[test]
fn radiance_is_albedo_times_the_suns_share_times_its_cosine() {
    let (scene, _, _) = boxed();
    let view = CameraView {
        light: LightSampling { sun_samples: 16, bounce_rays: 0, seed: 4, ..LightSampling::POINT },
        ..eye()
    };
    let (frame, truth) = traced(&scene, &view);
    let sun = view.world_from_optical.rotation.inverse() * scene.sun().direction_to_sun;
    let [mut lit, mut dark] = [0, 0];
    for i in (0..frame.class.len()).filter(|&i| frame.class[i] == Class::Rover as u16) {
        let cosine = Vector3::from(truth.normal[i]).cast::<f64>().dot(&sun).max(0.0);
        let expected = f64::from(truth.albedo[i]) / PI * 1361.0 * cosine * f64::from(truth.sun_share[i]);
        // The visible part of the disc may be off the Sun's centre by half a degree.
        assert!(
            (f64::from(selene_scene::panchromatic(frame.radiance[i])) - expected).abs() < 0.01 * 1361.0 * 0.4 / PI,
            "pixel {i}"
        );
        assert_eq!(truth.albedo[i].to_bits(), 0.4_f32.to_bits());
        lit += usize::from(truth.sun_share[i] == 1.0);
        dark += usize::from(truth.sun_share[i] == 0.0);
    }
    assert!(lit > 300 && dark > 1000, "{lit} lit, {dark} dark");
    let shadow = (0..frame.class.len()).filter(|&i| frame.class[i] == 1 && truth.sun_share[i] == 0.0).count();
    let penumbra = truth.sun_share.iter().filter(|share| **share > 0.0 && **share < 1.0).count();
    assert!(shadow > 500 && penumbra > 50, "{shadow} in the box's shadow, {penumbra} on its edge");
}

#[test]
fn flow_leads_to_where_a_point_was_for_a_body_that_moves_and_a_camera_that_moves_and_turns() {
    let (mut scene, id, pose) = boxed();
    let before_view = eye();
    let before = FlowReference::new(&scene, &before_view);
    let moved = Pose::from_parts(
        (pose.translation.vector + Vector3::new(0.05, -0.1, 0.02)).into(),
        pose.rotation * UnitQuaternion::from_euler_angles(0.02, 0.0, 0.1),
    );
    scene.move_instance(id, &moved);
    let view = look([-2.45, -0.7, 1.52], [0.0, 0.1, 0.5], 320, 240);
    let (frame, _) = traced(&scene, &view);
    let back = flow(&frame, &FlowReference::new(&scene, &view), &before);
    let mut seen = [0; 3];
    for (i, way) in back.iter().enumerate() {
        seen[usize::from(frame.class[i].min(2))] += 1;
        if frame.class[i] == 0 {
            assert!(way[0].is_nan() && way[1].is_nan(), "the sky's flow is not known");
            continue;
        }
        let world = view.world_from_optical * Point3::from(point(&view, &frame, i));
        let then = if frame.class[i] == Class::Ground as u16 { world } else { pose * (moved.inverse() * world) };
        let optical = before_view.world_from_optical.inverse() * then;
        let expected = [
            before_view.fx_px * optical.x / optical.z + before_view.cx_px - (i % 320) as f64,
            before_view.fy_px * optical.y / optical.z + before_view.cy_px - (i / 320) as f64,
        ];
        let off = (way[0] - expected[0] as f32).hypot(way[1] - expected[1] as f32);
        assert!(off < FLOW_PX, "pixel {i}: {way:?}, not {expected:?}");
    }
    assert!(seen.iter().all(|count| *count > 1000), "{seen:?}");
}

#[test]
fn a_shift_across_the_view_is_focal_length_times_shift_over_distance() {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.3, PI));
    let mesh = scene.add_mesh(&primitives::cuboid([0.2, 2.0, 2.0])).expect("a mesh");
    let at = |y: f64| Pose::translation(4.1, y, 2.0);
    let id = scene.add_instance(mesh, &at(0.0), Class::Rover.numbered(PART), &lambert()).expect("room");
    let view = look([0.0, 0.0, 2.0], [1.0, 0.0, 2.0], 161, 121);
    let before = FlowReference::new(&scene, &view);
    scene.move_instance(id, &at(0.1));
    let (frame, _) = traced(&scene, &view);
    let back = flow(&frame, &FlowReference::new(&scene, &view), &before);
    let middle = back[60 * 161 + 80];
    // The body moved left, so it was to the right: + f · 0.1 m / 4 m.
    let expected = (view.fx_px * 0.1 / 4.0) as f32;
    assert!((middle[0] - expected).abs() < FLOW_PX && middle[1].abs() < FLOW_PX, "{middle:?}, not {expected}");
}

#[test]
fn the_box_around_a_ball_is_its_outlines() {
    let mut scene = Scene::new(&Clipmap::flat(0.1, 20.0), sun(0.5, PI));
    let ball = scene.add_mesh(&primitives::sphere(0.5)).expect("a mesh");
    let [ahead_m, left_m] = [5.0, 1.2];
    scene
        .add_instance(ball, &Pose::translation(ahead_m, left_m, 2.0), Class::Rover.numbered(PART), &lambert())
        .expect("room");
    let view = look([0.0, 0.0, 2.0], [1.0, 0.0, 2.0], 641, 481);
    let (frame, _) = traced(&scene, &view);
    let seen = visible(&frame);
    let ball = seen.iter().find(|seen| seen.instance == PART).expect("in view");
    assert_eq!((ball.class, seen.len()), (Class::Rover as u16, 1));
    // In the horizontal plane of camera and ball: the angles of the tangents.
    let aside = f64::atan2(left_m, ahead_m);
    let half = (0.5 / f64::hypot(ahead_m, left_m)).asin();
    let expected = [aside + half, aside - half].map(|angle| view.cx_px - view.fx_px * angle.tan());
    // The edges of the pixels, not their centres.
    let got = [f64::from(ball.columns[0]) - 0.5, f64::from(ball.columns[1]) + 0.5];
    assert!((0..2).all(|i| (got[i] - expected[i]).abs() < OUTLINE_PX), "{got:?}, not {expected:?}");
    // Vertically: the widest cross-section of the tangent cone, through the points of contact.
    let optical = Vector3::new(-left_m, 0.0, ahead_m);
    let tangent_z = |v: f64| {
        let normal = Vector3::new(0.0, view.fy_px, -v);
        normal.dot(&optical) / normal.norm()
    };
    let height = f64::from(ball.rows[1] - ball.rows[0] + 1) / 2.0;
    assert!((tangent_z(height).abs() - 0.5).abs() < 0.5 * OUTLINE_PX / height * 1.2, "{height} px");
    assert!(f64::from(ball.pixels) < 4.0 * height * (expected[1] - expected[0]) / 2.0);
}

#[test]
fn every_point_seen_of_an_instance_is_in_its_box_and_reaches_its_sides() {
    let (mut scene, _, _) = {
        let mut scene = Scene::new(&bumpy_ground(&[(0.05, 150), (0.4, 60)], 40), sun(0.4, 1.0));
        let mesh = scene.add_mesh(&primitives::cuboid([0.4, 0.3, 0.5])).expect("a mesh");
        let pose =
            Pose::from_parts(Vector3::new(-1.0, 0.0, 1.0).into(), UnitQuaternion::from_euler_angles(0.3, 0.2, 0.5));
        let id = scene.add_instance(mesh, &pose, Class::Rover.numbered(PART), &lambert()).expect("room");
        (scene, id, pose)
    };
    let view = look([-3.0, -1.0, 2.0], [1.0, 0.5, 0.0], 320, 180);
    let (frame, _) = traced(&scene, &view);
    let seen = visible(&frame);
    assert!(seen.len() > 5, "{} instances", seen.len());
    for (i, &instance) in frame.instance.iter().enumerate().filter(|(_, instance)| **instance > 0) {
        let solid = scene.solid(instance).expect("what is seen has a box");
        let world = view.world_from_optical * Point3::from(point(&view, &frame, i));
        let inside = solid.world_from_centre.inverse() * world;
        for axis in 0..3 {
            assert!(
                inside[axis].abs() < 0.5 * solid.size_m[axis] + 1e-3,
                "{inside} of {instance} in {:?}",
                solid.size_m
            );
        }
    }
    let cuboid = scene.solid(PART).expect("added");
    assert!((0..3).all(|i| (cuboid.size_m[i] - [0.4, 0.3, 0.5][i]).abs() < 1e-6));
    assert!(scene.solid(PART + 1).is_none() && scene.solid(0).is_none());
    // The box follows the instance.
    scene.sweep_instances(&[]);
    assert!(scene.solid(1).is_some());
}

#[test]
fn two_cameras_of_a_rig_give_a_thing_the_same_number() {
    let scene = Scene::new(&bumpy_ground(&[(0.05, 150), (0.4, 60)], 60), sun(0.4, 1.0));
    let left = look([-3.0, -1.0, 2.0], [1.0, 0.5, 0.0], 320, 180);
    let offset = left.world_from_optical.rotation * Vector3::new(0.3, 0.0, 0.0);
    let shifted = Pose::from_parts(
        (left.world_from_optical.translation.vector + offset).into(),
        left.world_from_optical.rotation,
    );
    let right = CameraView { world_from_optical: shifted, ..left };
    let [(in_left, _), (in_right, _)] = [traced(&scene, &left), traced(&scene, &right)];
    let mut compared = 0;
    for (i, &instance) in in_left.instance.iter().enumerate().filter(|(_, instance)| **instance > 0) {
        let world = left.world_from_optical * Point3::from(point(&left, &in_left, i));
        let optical = right.world_from_optical.inverse() * world;
        let Some([u, v]) = right.project(optical.coords).map(|place| place.map(f64::round)) else { continue };
        if !(0.0..320.0).contains(&u) || !(0.0..180.0).contains(&v) {
            continue;
        }
        let there = v as usize * 320 + u as usize;
        // Not hidden from the right camera, and not on an edge.
        if (f64::from(in_right.depth_m[there]) - optical.z).abs() < 0.002 * optical.z {
            compared += 1;
            assert!(in_right.instance[there] == instance || in_right.instance[there] == 0, "{instance} at pixel {i}");
        }
    }
    assert!(compared > 300, "{compared} pixels");
}
