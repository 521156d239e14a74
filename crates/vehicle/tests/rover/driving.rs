//! The rover moves as mechanics says: falls, tumbles, stands, drives, turns, holds.

use crate::ground::{Drive, FRICTION, MOON_M_S2, REST_SLIP_M_S, STEP_S, viper};
use nalgebra::Vector3;
use selene_base::frames::yaw_rad;
use selene_base::{Pose, Twist, Wrench};
use selene_vehicle::{Forces, JointKind, Rover, Targets, WheelTargets};

fn floating(gravity: Vector3<f64>, step_s: f64) -> Rover {
    Rover::new(&viper(), Pose::translation(3.0, -2.0, 10.0), gravity, step_s).unwrap()
}

fn run_free(rover: &mut Rover, seconds: f64, step_s: f64) {
    let rest = Targets::from(WheelTargets::rest(4));
    for _ in 0..(seconds / step_s).round() as usize {
        rover.step(&rest, &Forces::default());
    }
}

#[test]
fn it_falls_freely_as_half_g_t_squared() {
    /// Semi-implicit Euler is ahead by half a step's speed: g t dt / 2.
    const STEP_ERROR_M: f64 = MOON_M_S2 * 2.0 * STEP_S / 2.0 * 1.01;
    let mut rover = floating(Vector3::z() * -MOON_M_S2, STEP_S);
    run_free(&mut rover, 2.0, STEP_S);
    let fallen = 10.0 - rover.world_from_base().translation.z;
    assert!((fallen - 0.5 * MOON_M_S2 * 4.0).abs() < STEP_ERROR_M, "{fallen}");
    assert!((rover.base_twist().linear + Vector3::z() * (2.0 * MOON_M_S2)).norm() < 1e-9);
    assert!(rover.joint_states().iter().all(|s| s.position.abs() < 1e-9 && s.velocity.abs() < 1e-9));
}

fn tumble(rover: &mut Rover, wheel_rad_s: f64) {
    let twist = Twist { linear: Vector3::new(0.2, -0.1, 0.3), angular: Vector3::new(0.5, -0.3, 0.8) };
    let model = rover.model().clone();
    rover.set_velocities(&twist, |j| if model.joints()[j].kind == JointKind::Continuous { wheel_rad_s } else { 0.0 });
    run_free(rover, STEP_S, STEP_S);
}

#[test]
fn a_tumbling_rover_keeps_its_angular_momentum_while_its_drives_brake_its_wheels() {
    /// First-order integration at 0.5 ms over 1 s, with wheels braked from 2 rad/s: 3e-4 measured.
    const TOLERANCE: f64 = 1e-3;
    let mut rover = floating(Vector3::zeros(), STEP_S);
    tumble(&mut rover, 2.0);
    let before = rover.angular_momentum_nms();
    run_free(&mut rover, 1.0, STEP_S);
    let error = (rover.angular_momentum_nms() - before).norm() / before.norm();
    assert!(error < TOLERANCE, "{error}");
}

#[test]
fn a_tumbling_rover_with_still_wheels_keeps_its_energy() {
    /// First-order integration at 0.5 ms over 1 s: 3e-5 measured; the dampers take little.
    const TOLERANCE: f64 = 1e-4;
    let mut rover = floating(Vector3::zeros(), STEP_S);
    tumble(&mut rover, 0.0);
    run_free(&mut rover, 0.2, STEP_S);
    let before = rover.kinetic_energy_j();
    run_free(&mut rover, 1.0, STEP_S);
    let error = (rover.kinetic_energy_j() - before).abs() / before;
    assert!(error < TOLERANCE, "{error}");
}

#[test]
fn it_settles_with_its_weight_on_the_ground() {
    /// Rest of the first bounce after 5 s of damping.
    const TOLERANCE: f64 = 1e-3;
    let mut drive = Drive::flat();
    drive.steer_and_run(5.0, 0.0, 0.0);
    let weight = drive.rover.model().mass_kg() * MOON_M_S2;
    let carried: f64 = drive.normal_n.iter().sum();
    assert!((carried / weight - 1.0).abs() < TOLERANCE, "{carried} of {weight}");
}

#[test]
fn it_drives_straight_at_wheel_rate_times_radius() {
    /// Slip of a rover that nothing holds back; droop of its drives is nil.
    const TOLERANCE: f64 = 1e-3;
    for step_s in [STEP_S, 2e-3] {
        let mut drive = Drive::on_plane(Vector3::z() * -MOON_M_S2, step_s);
        drive.steer_and_run(6.0, 0.16, 0.0);
        let start = drive.rover.world_from_base();
        drive.steer_and_run(5.0, 0.16, 0.0);
        let end = drive.rover.world_from_base();
        let speed = (end.translation.x - start.translation.x) / 5.0;
        assert!((speed / 0.16 - 1.0).abs() < TOLERANCE, "{speed} at {step_s}");
        assert!(end.translation.y.abs() < TOLERANCE && yaw_rad(&end).abs() < TOLERANCE);
    }
}

#[test]
fn it_turns_about_the_centre_that_its_axles_meet_in() {
    /// Friction of the test ground gives way by micrometres a second: 1e-6 measured.
    const TOLERANCE: f64 = 1e-3;
    for radius_m in [2.0, -3.0, 8.0] {
        let mut drive = Drive::flat();
        drive.steer_and_run(6.0, 0.15, 0.15 / radius_m);
        let twist = drive.rover.base_twist();
        let measured = twist.linear.xy().norm() / twist.angular.z;
        assert!((measured / radius_m - 1.0).abs() < TOLERANCE, "{measured} for {radius_m}");
    }
}

/// A wheel at r can point to within δ of its way round and rolls with the way's part along that, Ω r cos δ. Friction
/// that is the same along and across leaves it the slip that turns nothing: square to its way. So it goes by the rim's
/// part along the way, Ω r cos² δ.
#[test]
fn a_point_turn_beyond_the_steering_limits_skids_round_on_the_spot() {
    /// Motors droop by half a percent under the slip's drag; the mass is not quite in the middle.
    const TOLERANCE: f64 = 0.02;
    let short_rad = 0.6418_f64.atan2(0.6098) - 30_f64.to_radians();
    let expected = 0.1 * short_rad.cos().powi(2);
    let mut drive = Drive::flat();
    drive.steer_and_run(3.0, 0.0, 0.1);
    let start = drive.rover.world_from_base();
    drive.steer_and_run(5.0, 0.0, 0.1);
    let end = drive.rover.world_from_base();
    let turned = (yaw_rad(&end) - yaw_rad(&start)) / 5.0;
    let moved = (end.translation.vector - start.translation.vector).norm();
    assert!((turned / expected - 1.0).abs() < TOLERANCE, "{turned} rad/s of 0.1 commanded, {expected} expected");
    assert!(moved < 0.05, "{moved} m off the spot");
}

#[test]
fn on_a_fifteen_degree_slope_its_brakes_hold_and_it_creeps_only_as_the_ground_lets_it() {
    /// Share of the brakes' torque, once settled.
    const TOLERANCE: f64 = 1e-3;
    /// Share of the creep: wheels with less load slip a little more.
    const CREEP_TOLERANCE: f64 = 0.05;
    let slope_rad = 15_f64.to_radians();
    let mut drive = Drive::on_slope(slope_rad);
    drive.steer_and_run(4.0, 0.0, 0.0);
    let pull = drive.rover.model().mass_kg() * MOON_M_S2 * slope_rad.sin();
    let held = |wheel: &selene_vehicle::Wheel| {
        let joint = drive.rover.model().moving_joints().iter().position(|&joint| joint == wheel.drive_joint);
        joint.map_or(0.0, |joint| drive.rover.joint_states()[joint].effort)
    };
    let torque: f64 = drive.rover.model().wheels().iter().map(held).sum();
    let slipping = REST_SLIP_M_S * slope_rad.tan() / FRICTION;
    let speed = -drive.rover.base_twist().linear.x;
    assert!((torque / (pull * 0.25) - 1.0).abs() < TOLERANCE, "{torque} N m");
    assert!((speed / slipping - 1.0).abs() < CREEP_TOLERANCE, "{speed} m/s");
    assert!(drive.rover.drive_torques_nm().iter().all(|&torque| torque == 0.0), "the motors are off");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let bits = || {
        let mut drive = Drive::flat();
        drive.steer_and_run(1.0, 0.1, 0.05);
        let poses = drive.rover.world_from_links();
        poses.iter().flat_map(|p| p.to_homogeneous().map(f64::to_bits).data.0).collect::<Vec<_>>()
    };
    assert_eq!(bits(), bits());
}

#[test]
fn absurd_targets_leave_the_state_finite() {
    for absurd in [1e300, -1e300, f64::INFINITY, f64::NAN] {
        let mut drive = Drive::flat();
        let targets = WheelTargets { rate_rad_s: vec![absurd; 4], steer_rad: vec![absurd; 4], limited: false };
        drive.run(1.0, &targets);
        assert!(drive.rover.is_finite(), "{absurd}");
        assert!(drive.rover.joint_states().iter().all(|s| s.velocity.abs() < 4.0), "no wheel beats its no-load speed");
    }
}

#[test]
fn a_wrench_that_is_not_finite_is_reported_by_the_state() {
    let mut rover = floating(Vector3::zeros(), STEP_S);
    let broken = Wrench { force: Vector3::new(f64::NAN, 0.0, 0.0), torque: Vector3::zeros() };
    rover.step(&Targets::from(WheelTargets::rest(4)), &Forces { soil_on_wheel: &[broken], on_links: &[] });
    assert!(!rover.is_finite());
}

#[test]
fn steering_moves_at_its_rate_and_stays_within_its_limit() {
    /// The servo lags its moving target by damping over stiffness times rate.
    const LAG_RAD: f64 = 0.005;
    let mut rover = floating(Vector3::zeros(), STEP_S);
    let wheels = WheelTargets { rate_rad_s: vec![0.0; 4], steer_rad: vec![2.0, -2.0, 0.1, 0.0], limited: false };
    let targets = Targets::from(wheels);
    let run = |rover: &mut Rover, steps| (0..steps).for_each(|_| rover.step(&targets, &Forces::default()));
    run(&mut rover, 2000);
    let rate = 15_f64.to_radians();
    assert!((rover.steer_angles_rad()[0] - rate).abs() < LAG_RAD, "{:?}", rover.steer_angles_rad());
    run(&mut rover, 6000);
    for (angle, expected) in rover.steer_angles_rad().into_iter().zip([2.0 * rate, -2.0 * rate, 0.1, 0.0]) {
        assert!((angle - expected).abs() < LAG_RAD, "{angle} {expected}");
    }
}

#[test]
fn a_start_that_cannot_be_is_refused_with_the_value() {
    let refusal = |pose, gravity, step| Rover::new(&viper(), pose, gravity, step).err().unwrap().to_string();
    let nan = Pose::translation(f64::NAN, 0.0, 0.0);
    assert!(refusal(nan, Vector3::zeros(), 1e-3).contains("pose"));
    assert!(refusal(Pose::identity(), Vector3::x() * f64::INFINITY, 1e-3).contains("inf"));
    assert!(refusal(Pose::identity(), Vector3::zeros(), 0.5).contains("0.5"));
    assert!(refusal(Pose::identity(), Vector3::zeros(), f64::NAN).contains("NaN"));
}
