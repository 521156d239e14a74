//! Wheels whose links, drive joints and steering joints are turned in the URDF, as those of one side often
//! are: in the body's terms the rover drives as if they were not, while each joint's own state is about
//! the axis that the URDF gives it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ground::{Drive, MOON_M_S2, STEP_S, viper};
use crate::refusal::{Folder, URDF, YAML};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::frames::yaw_rad;
use selene_terrain::{GroundPatch, Level, Rock, RockShape};
use selene_vehicle::contact::{
    ContactForces, ContactGroup, ContactMemory, ContactRover, ContactScratch, ContactShapes, FloorMemory, RockSolids,
};
use selene_vehicle::{AckermannState, BodyTwist, JointState, Rover, RoverModel, wheel_targets};

/// Sums of a few doubles of order 1, and angles given with nine digits.
const ROUNDING: f64 = 1e-8;
/// Which way each drive joint of the turned rover turns when the rover drives forward.
const DRIVE_SIGNS: [f64; 4] = [-1.0, 1.0, -1.0, -1.0];
/// Which way each of its steering joints turns when its wheel steers to the left.
const STEER_SIGNS: [f64; 4] = [-1.0, 1.0, -1.0, 1.0];

/// VIPER with its joints turned: front left the wheel's frame about x and the steering axis down, front
/// right the axle along z of the wheel's frame, rear left all from the upright on upside down, rear right
/// the wheel's frame about z.
fn turned() -> Arc<RoverModel> {
    // Tests run beside one another: each has a folder of its own.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let edits = [
        ("front_left_wheel", "0 1 0", r#"<origin rpy="3.141592654 0 0"/><axis xyz="0 1 0"/>"#),
        ("front_left_upright", "0 0 1", r#"<axis xyz="0 0 -1"/>"#),
        ("front_right_wheel", "0 1 0", r#"<origin rpy="-1.570796327 0 0"/><axis xyz="0 0 1"/>"#),
        ("rear_left_upright", "0 0 1", r#"<origin rpy="3.141592654 0 0"/><axis xyz="0 0 1"/>"#),
        ("rear_right_wheel", "0 1 0", r#"<origin rpy="0 0 3.141592654"/><axis xyz="0 1 0"/>"#),
    ];
    let mut urdf = URDF.to_owned();
    for (link, axis, to) in edits {
        let child = format!("<child link=\"{link}\"/>");
        let from = format!("{child}<axis xyz=\"{axis}\"/>");
        assert!(urdf.contains(&from), "{from}");
        urdf = urdf.replacen(&from, &format!("{child}{to}"), 1);
    }
    let folder = Folder::new(&format!("turned-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    fs::write(folder.0.join("rover.yaml"), YAML.replace("../../urdf/viper/viper.urdf", "rover.urdf")).unwrap();
    fs::write(folder.0.join("rover.urdf"), urdf).unwrap();
    Arc::new(RoverModel::load(&folder.0.join("rover.yaml")).unwrap_or_else(|e| panic!("{e}")))
}

/// Whether `turned` equals `plain` times the joints' signs.
fn mirrored(plain: &[f64], signs: [f64; 4], turned: &[f64]) -> bool {
    plain.iter().zip(signs).zip(turned).all(|((plain, sign), turned)| (plain * sign - turned).abs() < ROUNDING)
}

fn drive_states(rover: &Rover) -> Vec<JointState> {
    let (joints, states) = (rover.model().moving_joints(), rover.joint_states());
    let state = |joint: usize| states[joints.iter().position(|&moving| moving == joint).unwrap()];
    rover.model().wheels().iter().map(|wheel| state(wheel.drive_joint)).collect()
}

#[test]
fn targets_are_those_of_the_plain_rover_about_each_joints_own_axis() {
    let (plain, turned) = (viper(), turned());
    for twist in [BodyTwist::arc(0.1, 0.0), BodyTwist::arc(-0.15, 0.05), BodyTwist::arc(0.0, 0.1)] {
        let of_plain = wheel_targets(&plain, &twist, &[0.0; 4]);
        let of_turned = wheel_targets(&turned, &twist, &[0.0; 4]);
        assert!(mirrored(&of_plain.rate_rad_s, DRIVE_SIGNS, &of_turned.rate_rad_s), "{of_plain:?} {of_turned:?}");
        assert!(mirrored(&of_plain.steer_rad, STEER_SIGNS, &of_turned.steer_rad), "{of_plain:?} {of_turned:?}");
        let car = AckermannState::of_wheels(&plain, &of_plain.rate_rad_s, &of_plain.steer_rad);
        let same = AckermannState::of_wheels(&turned, &of_turned.rate_rad_s, &of_turned.steer_rad);
        assert!((car.speed_m_s - same.speed_m_s).abs() < ROUNDING, "{car:?} {same:?}");
        assert!((car.steering_angle_rad - same.steering_angle_rad).abs() < ROUNDING, "{car:?} {same:?}");
    }
    let held = [0.1, -0.2, 0.3, 0.0];
    assert!(mirrored(&held, [1.0; 4], &wheel_targets(&turned, &BodyTwist::REST, &held).steer_rad), "angles hold");
}

#[test]
fn it_drives_straight_and_all_wheels_roll_forward_alike() {
    /// Slip on the test's ground, and what a turned upright shifts the load by.
    const TOLERANCE: f64 = 5e-3;
    const SPEED_M_S: f64 = 0.16;
    let mut drive = Drive::of(&turned(), Vector3::z() * -MOON_M_S2, STEP_S);
    drive.steer_and_run(6.0, SPEED_M_S, 0.0);
    let start = drive.rover.world_from_base();
    drive.steer_and_run(3.0, SPEED_M_S, 0.0);
    let moved = start.inverse() * drive.rover.world_from_base();
    assert!((moved.translation.x / (3.0 * SPEED_M_S) - 1.0).abs() < TOLERANCE, "{moved}");
    assert!(moved.translation.y.abs() < TOLERANCE && yaw_rad(&moved).abs() < TOLERANCE, "{moved}");
    let left = drive.rover.world_from_base().rotation * Vector3::y();
    let body_rad_s = drive.rover.base_twist().angular;
    let wheels = drive.rover.wheel_motions().into_iter().zip(drive.rover.model().wheels());
    for ((motion, wheel), (state, sign)) in wheels.zip(drive_states(&drive.rover).into_iter().zip(DRIVE_SIGNS)) {
        let rim_m_s = (motion.angular - body_rad_s).dot(&left) * wheel.radius_m;
        assert!((rim_m_s / SPEED_M_S - 1.0).abs() < TOLERANCE, "{}: its rim goes at {rim_m_s} m/s", wheel.name);
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        assert!((axle - left).norm() < TOLERANCE, "{}: {axle}", wheel.name);
        let own_m_s = state.velocity * sign * wheel.radius_m;
        assert!((own_m_s / SPEED_M_S - 1.0).abs() < TOLERANCE, "{}: {state:?}", wheel.name);
    }
}

#[test]
fn up_a_slope_all_motors_push_forward_and_give_power() {
    let slope_rad = 10_f64.to_radians();
    let down_hill = Vector3::new(-slope_rad.sin(), 0.0, -slope_rad.cos()) * MOON_M_S2;
    let mut drive = Drive::of(&turned(), down_hill, STEP_S);
    drive.steer_and_run(6.0, 0.1, 0.0);
    assert!(drive.rover.base_twist().linear.x > 0.09, "{:?}", drive.rover.base_twist());
    let (torques, powers) = (drive.rover.drive_torques_nm(), drive.rover.drive_power_w());
    for (wheel, state) in drive_states(&drive.rover).iter().enumerate() {
        assert!(torques[wheel] > 0.0 && powers[wheel].mechanical_w > 0.0, "{wheel}: {torques:?} {powers:?}");
        assert!((state.effort - DRIVE_SIGNS[wheel] * torques[wheel]).abs() < ROUNDING, "{wheel}: {state:?}");
    }
}

#[test]
fn on_an_arc_it_goes_where_the_plain_rover_goes() {
    /// Share of 1.5 m of arc, since a turned upright shifts the load.
    const TOLERANCE: f64 = 0.02;
    let [plain, turned] = [viper(), turned()].map(|model| {
        let mut drive = Drive::of(&model, Vector3::z() * -MOON_M_S2, STEP_S);
        drive.steer_and_run(10.0, 0.15, 0.05);
        drive.rover
    });
    let apart = plain.world_from_base().inverse() * turned.world_from_base();
    assert!(yaw_rad(&plain.world_from_base()) > 0.3, "it turned left");
    assert!(apart.translation.vector.norm() < TOLERANCE && yaw_rad(&apart).abs() < TOLERANCE, "{apart}");
    for (i, (plain, turned)) in plain.steer_angles_rad().iter().zip(turned.steer_angles_rad()).enumerate() {
        assert!((plain * STEER_SIGNS[i] - turned).abs() < TOLERANCE, "{i}: {plain} {turned}");
    }
}

#[test]
fn each_wheel_meets_rock_as_a_cylinder_about_its_own_axle() {
    let [plain, turned] = [viper(), turned()].map(|model| on_slab_n(&model));
    assert!(plain.len() == 4 && plain.iter().all(|force_n| *force_n > 1.0), "{plain:?}");
    assert!(plain.iter().zip(&turned).all(|(a, b)| (b / a - 1.0).abs() < 0.01), "{plain:?} {turned:?}");
}

/// Force up on each wheel of a rover that is half a millimetre deep in a slab.
fn on_slab_n(model: &Arc<RoverModel>) -> Vec<f64> {
    let corner = |i: u32| Vector3::new(i & 1, i >> 1 & 1, i >> 2 & 1).cast::<f64>();
    let cube = RockShape::hull(&(0..8).map(corner).collect::<Vec<_>>()).unwrap();
    let size_m = 6.0;
    let top_m = size_m * cube.vertices.iter().map(|v| f64::from(v[2])).fold(0.0, f64::max);
    let slab = Rock { id: 0, shape: 0, world_from_rock: Pose::translation(0.0, 0.0, -top_m), radius_m: size_m };
    let level = Level::sample([-10.0, -10.0], 0.5, 41, |_, _| -20.0);
    let ground = GroundPatch::of_level(level, vec![slab], vec![cube]);
    let start = Pose::translation(0.0, 0.0, model.base_height_m() - 5e-4);
    let rover = Rover::new(model, start, Vector3::zeros(), STEP_S).unwrap();
    let (shapes, rock_solids) = (ContactShapes::new(model), RockSolids::new(ground.shapes()));
    let mut floors = vec![FloorMemory::default(); shapes.floor_count()];
    let mut forces = ContactForces::default();
    let mut rovers = [ContactRover {
        id: 0,
        rover: &rover,
        stands: false,
        shapes: &shapes,
        floors: &mut floors,
        in_points: &[],
        forces: &mut forces,
    }];
    let (ground, rock_solids) = (&ground, &rock_solids);
    let mut group = ContactGroup { ground, rock_solids, obstacles: &[], rovers: &mut rovers, rocks: &mut [] };
    group.act(&mut ContactMemory::default(), &mut ContactScratch::default(), STEP_S);
    forces.on_wheels.iter().map(|wrench| wrench.force.z).collect()
}
