//! A URDF as URDFs are found, and the rover file that `selene import` makes of it: what its joints are taken for, and
//! that it then drives as its wheels say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ground::{Drive, MOON_M_S2, STEP_S};
use crate::refusal::{Folder, has_all, load_refusal};
use nalgebra::Vector3;
use selene_base::frames::yaw_rad;
use selene_base::{Pose, Twist};
use selene_vehicle::{
    Forces, Import, JointState, Packages, Rover, RoverModel, Shape, Targets, WheelRole, WheelTargets, rover_file,
};

const FOUND: &str = include_str!("../found.urdf");
/// One triangle, counter-clockwise seen from above.
const PLATE: &str = "solid plate\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n\
    endloop\nendfacet\nendsolid plate\n";

/// A ROS package with the URDF and its mesh, and the rover file that is made of it, with one thing changed in each.
fn package(urdf: [&str; 2], yaml: [&str; 2]) -> (Folder, PathBuf) {
    // Tests run beside one another: each has a folder of its own.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = Folder::new(&format!("found-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    let description = folder.0.join("found_description");
    for part in ["urdf", "meshes"] {
        fs::create_dir_all(description.join(part)).unwrap();
    }
    fs::write(description.join("package.xml"), "<package/>").unwrap();
    fs::write(description.join("meshes/plate.stl"), PLATE).unwrap();
    let file = description.join("urdf/found.urdf");
    fs::write(&file, FOUND).unwrap();
    let text = imported(&file);
    assert!(FOUND.contains(urdf[0]) && text.contains(yaml[0]), "{urdf:?} {yaml:?}\n{text}");
    fs::write(&file, FOUND.replacen(urdf[0], urdf[1], 1)).unwrap();
    let rover = folder.0.join("found.yaml");
    fs::write(&rover, text.replacen(yaml[0], yaml[1], 1)).unwrap();
    (folder, rover)
}

fn imported(urdf: &Path) -> String {
    let import = Import {
        name: "found",
        urdf,
        urdf_as_written: Path::new("found_description/urdf/found.urdf"),
        packages_as_written: &BTreeMap::new(),
    };
    rover_file(&import, &Packages::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn found() -> Arc<RoverModel> {
    let (_folder, rover) = package(["", ""], ["", ""]);
    Arc::new(RoverModel::load(&rover).unwrap_or_else(|e| panic!("{e}")))
}

#[track_caller]
fn refused(urdf: [&str; 2], yaml: [&str; 2], parts: &[&str]) {
    let (_folder, rover) = package(urdf, yaml);
    has_all(&load_refusal(&rover), parts);
}

fn state(rover: &Rover, joint: &str) -> JointState {
    let model = rover.model();
    let place = model.moving_joints().iter().position(|&moving| model.joints()[moving].name == joint);
    rover.joint_states()[place.unwrap()]
}

#[test]
fn its_wheels_are_recognised_by_shape_name_and_axis() {
    let model = found();
    assert_eq!(model.base_name(), "base_footprint");
    let reported: Vec<_> = model.wheels().iter().map(|w| (w.name.as_str(), w.role, w.swivel_joint.is_some())).collect();
    let (driven, free) = (WheelRole::Driven, WheelRole::Free);
    assert_eq!(reported, [("left_wheel", driven, false), ("right_wheel", driven, false), ("rear_wheel", free, true)]);
    let centres = [[0.1, 0.2, 0.1], [0.1, -0.2, 0.1], [-0.23, 0.0, 0.05]].map(Vector3::from);
    for (wheel, (centre, size_m)) in
        model.wheels().iter().zip(centres.iter().zip([[0.1, 0.05], [0.1, 0.05], [0.05, 0.1]]))
    {
        assert!((wheel.centre_in_base_m - centre).norm() < 1e-4, "{}: {}", wheel.name, wheel.centre_in_base_m);
        let off_m = [wheel.radius_m - size_m[0], wheel.width_m - size_m[1]];
        assert!(off_m.iter().all(|off| off.abs() < 1e-4), "{}: {off_m:?}", wheel.name);
    }
    assert_eq!(model.wheels().iter().map(|wheel| wheel.drive_sign).collect::<Vec<_>>(), [1.0, -1.0, 1.0]);
}

#[test]
fn its_other_joints_are_servos_followers_or_held() {
    let model = found();
    assert_eq!(model.servos().iter().map(|servo| servo.name.as_str()).collect::<Vec<_>>(), ["lid_joint"]);
    assert_eq!(model.spec().held, ["left_finger_joint"]);
    let moving: Vec<_> = model.moving_joints().iter().map(|&joint| model.joints()[joint].name.as_str()).collect();
    let expected =
        ["left_wheel_joint", "right_wheel_joint", "swivel_joint", "rear_wheel_joint", "lid_joint", "flap_joint"];
    assert_eq!(moving, expected);
    // The finger that follows the held one stands where that has it.
    let finger = model.link_index("right_finger_link").unwrap();
    let at = model.base_from_links_at_zero()[finger].translation.vector;
    assert!((at - Vector3::new(0.2, -0.03, 0.2)).norm() < 1e-12, "{at}");
    let ball = model.link_index("ball_caster_link").unwrap();
    assert_eq!((model.ground_friction(ball), model.ground_friction(0)), (Some(0.1), None));
}

#[test]
fn its_mirrored_mesh_is_found_in_its_package_and_keeps_its_outside() {
    let model = found();
    let visual = &model.links()[model.link_index("base_link").unwrap()].visuals[0];
    assert_eq!(visual.rgba, [0.8, 0.2, 0.2, 1.0]);
    let Shape::Mesh { vertices, triangles } = &visual.shape else { panic!("a mesh") };
    let corners = triangles[0].map(|corner| vertices[corner as usize]);
    assert_eq!(corners, [[0.0, 0.0, 0.0], [0.0, -0.2, 0.0], [0.2, 0.0, 0.0]]);
}

#[test]
fn it_drives_forward_with_each_joint_about_its_own_axis_and_its_caster_behind() {
    /// Slip on the test's ground while it pulls a caster.
    const TOLERANCE: f64 = 0.03;
    const SPEED_M_S: f64 = 0.1;
    let mut drive = Drive::of(&found(), Vector3::z() * -MOON_M_S2, STEP_S);
    drive.steer_and_run(4.0, SPEED_M_S, 0.0);
    let start = drive.rover.world_from_base();
    drive.steer_and_run(2.0, SPEED_M_S, 0.0);
    let moved = start.inverse() * drive.rover.world_from_base();
    assert!((moved.translation.x / (2.0 * SPEED_M_S) - 1.0).abs() < TOLERANCE, "{moved}");
    assert!(moved.translation.y.abs() < 0.01 && yaw_rad(&moved).abs() < 0.03, "{moved}");
    for (joint, rate_rad_s) in [("left_wheel_joint", 1.0), ("right_wheel_joint", -1.0), ("rear_wheel_joint", 2.0)] {
        let measured = state(&drive.rover, joint).velocity;
        assert!((measured / rate_rad_s - 1.0).abs() < TOLERANCE, "{joint}: {measured} rad/s");
    }
    assert!(state(&drive.rover, "swivel_joint").position.abs() < 0.2, "it trails");
    assert_eq!(drive.rover.drive_torques_nm()[2], 0.0, "nothing drives the caster");
}

#[test]
fn a_caster_that_stood_ahead_swivels_behind() {
    let mut drive = Drive::of(&found(), Vector3::z() * -MOON_M_S2, STEP_S);
    // Backward first: the wheel wants to be ahead of its fork then, forward again it comes back.
    drive.steer_and_run(0.5, 0.1, 0.5);
    drive.steer_and_run(6.0, -0.1, 0.0);
    let turned = state(&drive.rover, "swivel_joint").position.rem_euclid(std::f64::consts::TAU);
    assert!((turned - std::f64::consts::PI).abs() < 0.3, "{turned} rad");
}

#[test]
fn a_wheel_off_its_links_origin_moves_as_its_own_centre_does() {
    let model = found();
    let mut rover = Rover::new(&model, Pose::identity(), Vector3::zeros(), STEP_S).unwrap();
    let spin = Twist { linear: Vector3::zeros(), angular: Vector3::z() };
    rover.set_velocities(&spin, |_| 0.0);
    for (motion, wheel) in rover.wheel_motions().iter().zip(model.wheels()) {
        let arm = wheel.centre_in_base_m;
        assert!((motion.world_from_wheel.translation.vector - arm).norm() < 1e-12, "{}", wheel.name);
        assert!((motion.linear - Vector3::z().cross(&arm)).norm() < 1e-12, "{}", wheel.name);
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        assert!((axle - Vector3::y()).norm() < 1e-9, "{}: {axle}", wheel.name);
        let body = rover.body_of_wheel(wheel);
        assert!((body.world_from_body.translation.vector - arm).norm() < 1e-12, "{}", wheel.name);
        assert!((body.linear_m_s - motion.linear).norm() < 1e-12, "{}", wheel.name);
    }
}

#[test]
fn a_joint_that_mimics_follows_at_its_multiple() {
    let mut rover = Rover::new(&found(), Pose::identity(), Vector3::zeros(), STEP_S).unwrap();
    let targets = Targets { wheels: WheelTargets::rest(3), servos: vec![0.4] };
    (0..4000).for_each(|_| rover.step(&targets, &Forces::default()));
    let [lid, flap] = ["lid_joint", "flap_joint"].map(|joint| state(&rover, joint).position);
    assert!((lid - 0.4).abs() < 5e-3, "{lid} rad");
    assert!((flap + 0.5 * lid).abs() < 1e-9, "{flap} rad of {lid}");
}

#[test]
fn a_frame_without_mass_on_a_fixed_joint_with_no_axis_and_a_material_without_colour_are_taken() {
    let more = "<link name=\"frame\"><inertial><mass value=\"0\"/><inertia ixx=\"0\" iyy=\"0\" izz=\"0\"/></inertial>\
        <visual><geometry><box size=\"0.1 0.1 0.1\"/></geometry><material name=\"unknown\"/></visual></link>\
        <joint name=\"frame_joint\" type=\"fixed\"><parent link=\"base_link\"/><child link=\"frame\"/><axis xyz=\"0 0 0\"/>\
        </joint></robot>";
    let (_folder, rover) = package(["</robot>", more], ["", ""]);
    let model = RoverModel::load(&rover).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(model.mass_kg(), found().mass_kg());
    let frame = model.links().iter().find(|link| link.name == "frame").unwrap();
    let [red, green, blue, _] = frame.visuals[0].rgba;
    assert!(red == green && green == blue, "grey");
}

#[test]
fn a_package_that_is_elsewhere_is_named_in_the_rovers_file() {
    let elsewhere = ["package://found_description/", "package://other/"];
    refused(elsewhere, ["", ""], &["found.urdf:", "package other", "packages: {other: DIR}", "--package other=DIR"]);
    let (_folder, rover) = package(elsewhere, ["wheels:", "packages: {other: found_description}\nwheels:"]);
    RoverModel::load(&rover).unwrap_or_else(|e| panic!("{e}"));
    refused(["package://found_description/", "package:///"], ["", ""], &["names no package"]);
    refused(["package://found_description/", "package://../"], ["", ""], &["names no package"]);
    refused(["package://found_description/", "model://found/"], ["", ""], &["model://", "package://"]);
    refused(["plate.stl", "dish.stl"], ["", ""], &["dish.stl", "is not a file", "is the package complete?"]);
}

#[test]
fn what_no_rover_can_have_is_refused() {
    let held = "  - left_finger_joint";
    refused(
        ["", ""],
        [held, "  - thumb_joint"],
        &["held[0]: \"thumb_joint\"", "not a moving joint", "left_finger_joint"],
    );
    refused(["", ""], [held, "  - base_joint"], &["base_joint", "not a moving joint"]);
    refused(["joint=\"lid_joint\"", "joint=\"cover\""], ["", ""], &["flap_joint", "cover", "does not have"]);
    refused(["multiplier=\"-0.5\"", "offset=\"0.1\""], ["", ""], &["flap_joint", "offset", "held"]);
    refused(["multiplier=\"-0.5\"", "multiplier=\"0\""], ["", ""], &["multiplier 0"]);
    refused(["", ""], ["role: free, ", ""], &["rear_wheel", "swivels by itself", "role: free"]);
    let motor = "drive: {stall_torque_nm: 1, no_load_speed_rad_s: 1, velocity_gain_nm_s: 1}, ";
    refused(["", ""], ["role: free, ", &format!("role: free, {motor}")], &["rear_wheel", "has no `drive`"]);
    refused(["", ""], ["link: ball_caster_link", "link: fork_link"], &["fork_link", "collision", "ball_caster_link"]);
    refused(["scale=\"0.2 -0.2 1\"", "scale=\"0.2 0 1\""], ["", ""], &["scale 0", "flat"]);
}

#[test]
fn a_rover_that_is_fixed_to_the_world_and_a_xacro_are_refused() {
    let fixed = "<link name=\"world\"/><joint name=\"anchor\" type=\"fixed\"><parent link=\"world\"/>\
        <child link=\"base_footprint\"/></joint></robot>";
    refused(["</robot>", fixed], ["", ""], &["\"world\"", "remove it"]);
    let macros = "<robot xmlns:xacro=\"http://www.ros.org/wiki/xacro\" name=\"found\"><xacro:arg name=\"a\"/>";
    refused(["<robot name=\"found\">", macros], ["", ""], &["<xacro:arg>", "xacro", "selene import"]);
}
