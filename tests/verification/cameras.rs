//! Shipped cameras fit the shipped rovers: their links exist, mounted cameras get their own frames, and no camera sits
//! inside a part of the rover.

use std::path::PathBuf;

use nalgebra::{Point3, Vector3};
use selene_base::Pose;
use selene_sensors::{SensorHeader, SensorSpec};
use selene_sim::{LoadOptions, Scenario};
use selene_tests::repository_file;
use selene_vehicle::{RoverModel, Shape};

/// Rounding error of unit vectors and poses.
const TOLERANCE: f64 = 1e-9;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = repository_file(&format!("config/{folder}"));
    let entries = std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path());
    entries.filter(|path| path.is_file()).collect()
}

fn rovers() -> Vec<RoverModel> {
    files("rover").iter().map(|file| RoverModel::load(file).expect("rover")).collect()
}

fn sensors() -> Vec<SensorSpec> {
    files("sensor").iter().map(|file| SensorSpec::load(file).expect("sensor")).collect()
}

#[test]
fn every_shipped_sensor_is_on_a_link_that_a_shipped_rover_has() {
    let rovers = rovers();
    for sensor in sensors() {
        let SensorHeader { name, link, .. } = sensor.header();
        let carried = rovers.iter().any(|rover| rover.link_index(link).is_some());
        assert!(carried, "{name}: no rover has the link {link}");
    }
}

#[test]
fn no_camera_of_a_shipped_scenario_sits_inside_a_part_of_its_rover() {
    let mut looked_at = 0;
    for file in files("scenario") {
        let scenario = Scenario::load(&file, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        for setup in &scenario.rovers {
            for sensor in setup.sensors.iter().filter(|sensor| matches!(sensor.spec, SensorSpec::Camera(_))) {
                let base_from_optical = setup.model.base_from_links_at_zero()[sensor.link];
                looked_at += assert_outside(&setup.model, sensor.spec.header().name, &base_from_optical);
            }
        }
    }
    assert!(looked_at > 4000, "only {looked_at} shapes were looked at");
}

#[test]
fn no_shipped_camera_sits_inside_a_part_of_a_rover_that_has_its_link() {
    let mut looked_at = 0;
    for rover in rovers() {
        let base_from_links = rover.base_from_links_at_zero();
        for sensor in sensors() {
            // Every rover has a base link: a camera on it belongs to the rover of its scenario.
            let own_link = rover.link_index(sensor.header().link).filter(|link| *link != 0);
            let (SensorSpec::Camera(camera), Some(link)) = (&sensor, own_link) else { continue };
            let link_from_optical =
                camera.mount.as_ref().map_or_else(Pose::identity, |mount| mount.link_from_optical());
            looked_at += assert_outside(&rover, &camera.name, &(base_from_links[link] * link_from_optical));
        }
    }
    assert!(looked_at > 4000, "only {looked_at} shapes were looked at");
}

/// Asserts that a camera's pupil is in no part of a rover; returns the number of its shapes.
fn assert_outside(rover: &RoverModel, camera: &str, base_from_optical: &Pose) -> usize {
    let pupil = Point3::from(base_from_optical.translation.vector);
    let links = rover.links().iter().zip(rover.base_from_links_at_zero());
    let shapes =
        links.flat_map(|(link, base_from_link)| link.visuals.iter().map(move |part| (link, base_from_link, part)));
    let mut looked_at = 0;
    for (link, base_from_link, part) in shapes {
        let at = (base_from_link * part.link_from_shape).inverse() * pupil;
        assert!(!holds(&part.shape, &at), "{}: {camera} is inside {}", rover.spec().name, link.name);
        looked_at += 1;
    }
    looked_at
}

/// Whether a point is inside or on the surface of a shape.
fn holds(shape: &Shape, at: &Point3<f64>) -> bool {
    match shape {
        Shape::Box { size_m } => (0..3).all(|axis| at[axis].abs() <= 0.5 * size_m[axis]),
        Shape::Cylinder { radius_m, length_m } => at.x.hypot(at.y) <= *radius_m && at.z.abs() <= 0.5 * length_m,
        Shape::Sphere { radius_m } => at.coords.norm() <= *radius_m,
        Shape::Mesh { .. } => panic!("no shipped rover has meshes: say here how to look into one"),
    }
}

#[test]
fn a_mounted_camera_has_a_frame_of_its_own_that_looks_where_its_file_says() {
    let file = repository_file("config/scenario/viper_views.yaml");
    let scenario = Scenario::load(&file, &LoadOptions::default()).expect("scenario");
    let mounted = SensorSpec::load(&repository_file("config/sensor/viper_wheel.yaml")).expect("camera");
    let SensorSpec::Camera(requested) = mounted else { panic!("no camera") };
    let mount = requested.mount.expect("mounted");
    let setup = &scenario.rovers[0];
    let link = setup.model.link_index("viper_wheel_optical").expect("its frame");
    let base_from_optical = setup.model.base_from_links_at_zero()[link];
    assert!((base_from_optical.translation.vector - Vector3::from(mount.at_m)).norm() < TOLERANCE);
    let ahead = base_from_optical.inverse() * Point3::from(mount.look_at_m);
    assert!(ahead.x.abs() < TOLERANCE && ahead.y.abs() < TOLERANCE && ahead.z > 0.0, "{ahead}");
    assert!(setup.sensors.iter().any(|sensor| sensor.spec.header().link == "viper_wheel_optical"));
}

#[test]
fn viper_has_its_hazcams_and_aftcams_as_rep_103_wants_optical_frames() {
    let rover = RoverModel::load(&repository_file("config/rover/viper.yaml")).expect("VIPER");
    let poses = rover.base_from_links_at_zero();
    let looks = |camera: &str| {
        let pose = poses[rover.link_index(&format!("{camera}_optical")).expect(camera)];
        let level = (pose * Vector3::x()).z.abs();
        assert!(level < TOLERANCE, "{camera}: its rows are not level");
        (pose.translation.vector, pose * Vector3::z())
    };
    for (camera, front, left) in [
        ("hazcam_front_left", 1.0, 1.0),
        ("hazcam_front_right", 1.0, -1.0),
        ("hazcam_rear_left", -1.0, 1.0),
        ("hazcam_rear_right", -1.0, -1.0),
    ] {
        let (at, ahead) = looks(camera);
        assert!(at.x * front > 0.0 && at.y * left > 0.0, "{camera} is not at its corner");
        assert!(ahead.x * front > 0.0 && ahead.y * left > 0.0 && ahead.z < 0.0, "{camera} does not look out and down");
    }
    let ((left, ahead), (right, _)) = (looks("aftcam_left"), looks("aftcam_right"));
    let back = poses[rover.link_index("aftcam_left_optical").expect("there")];
    assert!(ahead.x < 0.0 && ahead.y.abs() < TOLERANCE && ahead.z < 0.0);
    assert!((back.inverse() * Point3::from(right) - Point3::new(0.4, 0.0, 0.0)).norm() < TOLERANCE, "{left} {right}");
}
