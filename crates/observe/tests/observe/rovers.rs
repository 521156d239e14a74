//! Tests of a rover seen by another's sensors: a lidar's points on it have its class and number, it casts a shadow,
//! and its lamps light the scene for others.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use nalgebra::{Point3, Vector3};
use selene_base::SimTime;
use selene_observe::{History, TracedScene, instance_of_part};
use selene_scene::{Beam, BeamReturn, CameraFrame, CameraView, Class, CpuTracer, Tracer, WideBeam, panchromatic};
use selene_sensors::Lidar;
use selene_sim::{Command, EntityId, LampCommand, LoadOptions, Scenario, Snapshot, World};

const VIEWER: EntityId = EntityId(1);
const OTHER: EntityId = EntityId(2);
/// An instant when the Sun is six degrees high in the north.
const DAY: &str = "2026-11-21T12:00:00Z";
/// An instant when the Sun is two degrees below the horizontal.
const NIGHT: &str = "2026-12-03T06:00:00Z";
/// No part of a VIPER is as far as this from its centre, m.
const REACH_M: f64 = 3.0;

/// Two VIPERs on the test yard: the viewer at the origin, facing east, and another at the given x, y and yaw (m, m,
/// degrees).
fn two(utc: &str, [x_m, y_m, yaw_deg]: [f64; 3]) -> World {
    let sensors = "../sensor/navcam_left.yaml, ../sensor/lidar.yaml";
    let text = format!(
        "name: test\nutc: \"{utc}\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: ../site/test_yard.yaml\nsoil: ../soil/rigid.yaml\nrovers:\n  \
         - {{ name: viewer, file: ../rover/viper.yaml, start: {{ x_m: 0, y_m: 0 }}, sensors: [{sensors}] }}\n  \
         - {{ name: other, file: ../rover/viper.yaml, start: {{ x_m: {x_m}, y_m: {y_m}, yaw_deg: {yaw_deg} }} }}\n"
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/test.yaml");
    World::new(Arc::new(Scenario::parse(&text, &file, &LoadOptions::default()).unwrap())).unwrap()
}

fn without(rover: EntityId, snapshot: &Snapshot) -> Snapshot {
    let rovers = snapshot.rovers.iter().filter(|of| of.id != rover).cloned().collect();
    Snapshot { rovers, ..snapshot.clone() }
}

/// The scene of the viewer's sensors at a snapshot.
fn scene_of(world: &World, snapshot: &Snapshot) -> TracedScene {
    let mut history = History::new(SimTime::ZERO);
    history.push(Arc::new(snapshot.clone()));
    let mut scene = TracedScene::new(world.model(), VIEWER, snapshot, &world.state().ruts).unwrap();
    scene.move_to(&history, snapshot.time).unwrap();
    scene
}

/// The returns of one scan of the viewer's lidar.
fn scan(world: &World, snapshot: &Snapshot) -> Vec<BeamReturn> {
    let mounted = world.model().rovers()[&VIEWER].setup().lidars().next().unwrap();
    let world_from_lidar = snapshot.rover(VIEWER).unwrap().world_from_links[mounted.link];
    let beams = Lidar::new(mounted.spec.clone()).beams(snapshot.time, |_| Some(world_from_lidar)).unwrap();
    let axis = |beam: &WideBeam| Beam { share: beam.share, ..Beam::new(beam.origin_m, beam.axis) };
    let beams: Vec<_> = beams.iter().map(axis).collect();
    let mut returns = Vec::new();
    CpuTracer.beams(scene_of(world, snapshot).scene(), &beams, &mut returns).unwrap();
    returns
}

/// A small image of the viewer's NavCam.
fn seen(world: &World, snapshot: &Snapshot) -> (CameraView, CameraFrame) {
    let mounted = world.model().rovers()[&VIEWER].setup().cameras().next().unwrap();
    let mut spec = mounted.spec.clone();
    (spec.width, spec.height) = (64, 48);
    let view = spec.view(snapshot.rover(VIEWER).unwrap().world_from_links[mounted.link]);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene_of(world, snapshot).scene(), &view, &mut frame).unwrap();
    (view, frame)
}

/// The pixels that show ground in both images.
fn ground_in(one: &CameraFrame, other: &CameraFrame) -> impl Iterator<Item = usize> {
    let is_ground = |frame: &CameraFrame, pixel: usize| frame.class[pixel] == Class::Ground as u16;
    (0..one.class.len()).filter(move |pixel| is_ground(one, *pixel) && is_ground(other, *pixel))
}

fn radiance(frame: &CameraFrame, pixel: usize) -> f64 {
    f64::from(panchromatic(frame.radiance[pixel]))
}

/// The point that a pixel shows, map frame, m.
fn place_m(view: &CameraView, frame: &CameraFrame, pixel: usize) -> Vector3<f64> {
    let [u, v] = [pixel as u32 % view.width, pixel as u32 / view.width].map(f64::from);
    let toward = Vector3::new((u - view.cx_px) / view.fx_px, (v - view.cy_px) / view.fy_px, 1.0);
    (view.world_from_optical * Point3::from(toward * f64::from(frame.depth_m[pixel]))).coords
}

/// Distance of a point from the ray that starts at another one toward the Sun, m.
fn from_ray_m(place_m: Vector3<f64>, origin_m: Vector3<f64>, toward: Vector3<f64>) -> f64 {
    let arm = place_m - origin_m;
    let along = arm.dot(&toward);
    if along > 0.0 { (arm - toward * along).norm() } else { f64::INFINITY }
}

/// Whether a beam met a part of this rover.
fn is_part(of: EntityId, met: &BeamReturn) -> bool {
    (instance_of_part(of, 0)..=instance_of_part(of, 1023)).contains(&met.instance)
}

#[test]
fn a_lidar_meets_another_rover_by_its_class_and_number() {
    // At this distance several channels meet its body.
    let away_m = 8.0;
    let mut world = two(DAY, [away_m, 0.0, 90.0]);
    let snapshot = world.first_snapshot().unwrap();
    let met = scan(&world, &snapshot);
    let rovers: Vec<_> = met.iter().filter(|met| met.class == Class::Rover as u16).collect();
    assert!(rovers.iter().all(|met| is_part(VIEWER, met) || is_part(OTHER, met)), "parts of nobody");
    let others: Vec<_> = rovers.into_iter().filter(|met| is_part(OTHER, met)).collect();
    assert!(others.len() > 50, "{} beams meet it", others.len());
    let near_m = away_m - REACH_M..away_m + REACH_M;
    assert!(others.iter().all(|met| near_m.contains(&f64::from(met.range_m))), "{others:?}");
    let alone = scan(&world, &without(OTHER, &snapshot));
    assert!(!alone.iter().any(|met| is_part(OTHER, met)));
}

#[test]
fn ground_behind_another_rover_is_dark_and_all_other_ground_as_without_it() {
    // The shadow falls from the left across the camera's field of view.
    let mut world = two(DAY, [6.0, 5.0, 90.0]);
    let snapshot = world.first_snapshot().unwrap();
    let (view, shaded) = seen(&world, &snapshot);
    let (_, open) = seen(&world, &without(OTHER, &snapshot));
    let at_m = snapshot.rover(OTHER).unwrap().world_from_base().translation.vector;
    let ground: Vec<_> = ground_in(&shaded, &open).collect();
    let usual = ground.iter().map(|pixel| radiance(&open, *pixel)).sum::<f64>() / ground.len() as f64;
    let mut dark = 0;
    for pixel in ground {
        let (now, before) = (radiance(&shaded, pixel), radiance(&open, pixel));
        let beside_m = from_ray_m(at_m, place_m(&view, &open, pixel), snapshot.sun_direction);
        let is_beside = beside_m > REACH_M;
        assert!(!is_beside || (now - before).abs() < 0.01 * usual, "{beside_m} m beside it {before} became {now}");
        dark += usize::from(before > 0.5 * usual && now < 0.2 * before);
    }
    assert!(dark > 60, "{dark} sunlit pixels became dark");
}

#[test]
fn a_lamp_of_another_rover_lights_the_ground_at_night() {
    let mut world = two(NIGHT, [0.0, 4.0, -28.0]);
    for lamp in ["headlight_left", "headlight_right"] {
        let command = LampCommand { lamp: lamp.to_owned(), level: 1.0 };
        world.drive(OTHER, Command::Lamp(command)).unwrap();
    }
    let snapshot = world.heartbeat().unwrap();
    let mut unlit = snapshot.clone();
    unlit.rovers[1].lamp_levels.fill(0.0);
    assert!(unlit != snapshot, "the lamps are on");
    let (_, bright) = seen(&world, &snapshot);
    let (_, dark) = seen(&world, &unlit);
    let mut lit = 0;
    for pixel in ground_in(&bright, &dark) {
        let (now, before) = (radiance(&bright, pixel), radiance(&dark, pixel));
        assert!(now >= before, "{before} became {now}");
        lit += usize::from(now > 0.0 && now > 10.0 * before);
    }
    assert!(lit > 200, "{lit} pixels are lit");
}
