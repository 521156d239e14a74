//! Motors behind gears, seen on the rover: rotor inertia, current limit, losses both
//! ways, encoders; and servos.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::ground::{Drive, MOON_M_S2, STEP_S, rover_model, rover_with};
use nalgebra::Vector3;
use selene_base::{Pose, Wrench};
use selene_vehicle::{Forces, JointState, Rover, RoverModel, Targets, WheelTargets, encoder};

const RATIO: f64 = 100.0;
const EFFICIENCY: f64 = 0.8;
const CONSTANT_NM_A: f64 = 0.1;

/// VIPER with more parameters of its drive.
fn viper_with(drive: &str) -> Arc<RoverModel> {
    rover_with("viper", "  encoder_counts_per_turn: 20000\n", drive)
}

fn geared() -> Arc<RoverModel> {
    let motor =
        format!("  gear_ratio: {RATIO}\n  gear_efficiency: {EFFICIENCY}\n  torque_constant_nm_a: {CONSTANT_NM_A}\n");
    viper_with(&format!("{motor}  current_limit_a: 10\n"))
}

fn floating(model: &Arc<RoverModel>) -> Rover {
    Rover::new(model, Pose::identity(), Vector3::zeros(), STEP_S).unwrap()
}

/// All torque ahead on the left and back on the right, so that none is left over for the body.
fn spin() -> Targets {
    let all = f64::INFINITY;
    Targets::from(WheelTargets { rate_rad_s: vec![all, -all, all, -all], steer_rad: vec![0.0; 4], limited: false })
}

fn wheel_speed(rover: &Rover) -> f64 {
    let joint = rover.model().wheels()[0].drive_joint;
    let place = rover.model().moving_joints().iter().position(|&j| j == joint).unwrap();
    rover.joint_states()[place].velocity
}

#[test]
fn a_rotor_adds_its_inertia_times_the_ratio_squared_to_the_wheels() {
    /// Sums of a few doubles.
    const ROUNDING: f64 = 1e-9;
    const WHEEL_KG_M2: f64 = 0.45;
    for (name, rotor) in [("none", 0.0), ("rotor", 4.5e-5)] {
        let model = viper_with(&format!("  gear_ratio: {RATIO}\n  rotor_inertia_kg_m2: {rotor}\n"));
        let mut rover = floating(&model);
        rover.step(&spin(), &Forces::default());
        let expected = 300.0 / (WHEEL_KG_M2 + rotor * RATIO * RATIO) * STEP_S;
        assert!((wheel_speed(&rover) / expected - 1.0).abs() < ROUNDING, "{name}: {}", wheel_speed(&rover));
        let energy = 0.5 * 4.0 * (WHEEL_KG_M2 + rotor * RATIO * RATIO) * expected * expected;
        assert!((rover.kinetic_energy_j() / energy - 1.0).abs() < ROUNDING, "{name}: {}", rover.kinetic_energy_j());
    }
}

#[test]
fn current_stays_within_its_limit_and_so_does_torque() {
    let mut rover = floating(&geared());
    rover.step(&spin(), &Forces::default());
    let most_nm = 10.0 * CONSTANT_NM_A * RATIO * EFFICIENCY;
    assert!(
        (rover.drive_torques_nm()[0] - most_nm).abs() < 1e-9 && (rover.drive_torques_nm()[1] + most_nm).abs() < 1e-9
    );
    for current in rover.motor_currents_a() {
        assert!((current.unwrap().abs() - 10.0).abs() < 1e-9, "{current:?}");
    }
    assert_eq!(floating(&rover_model("viper")).motor_currents_a(), vec![None; 4]);
}

#[test]
fn up_a_slope_the_gear_takes_its_share_and_down_it_gives_less_back() {
    /// Share of the power: wheels slip a little on the test's ground.
    const SLIP: f64 = 0.02;
    let slope_rad = 15_f64.to_radians();
    let down_hill = Vector3::new(-slope_rad.sin(), 0.0, -slope_rad.cos()) * MOON_M_S2;
    for (name, speed_m_s) in [("up", 0.1), ("down", -0.1)] {
        let mut drive = Drive::of(&geared(), down_hill, STEP_S);
        drive.steer_and_run(8.0, speed_m_s, 0.0);
        let lifted_w = drive.rover.model().mass_kg() * MOON_M_S2 * slope_rad.sin() * drive.rover.base_twist().linear.x;
        let powers = drive.rover.drive_power_w();
        let mechanical_w: f64 = powers.iter().map(|p| p.mechanical_w).sum();
        assert!((mechanical_w / lifted_w - 1.0).abs() < SLIP, "{name}: {mechanical_w} W for {lifted_w} W");
        let passed_on = if speed_m_s > 0.0 { 1.0 / EFFICIENCY } else { EFFICIENCY };
        for ((power, torque_nm), current_a) in
            powers.iter().zip(drive.rover.drive_torques_nm()).zip(drive.rover.motor_currents_a())
        {
            let expected_a = torque_nm * passed_on / (RATIO * CONSTANT_NM_A);
            assert!((current_a.unwrap() / expected_a - 1.0).abs() < 1e-9, "{name}: {current_a:?} A for {expected_a} A");
            assert!(power.electrical_w > power.mechanical_w * passed_on, "{name}: copper takes its share: {power:?}");
        }
    }
}

#[test]
fn encoders_report_whole_counts_and_rates_by_difference() {
    let mut drive = Drive::of(&rover_model("viper"), -Vector3::z() * MOON_M_S2, STEP_S);
    drive.steer_and_run(4.0, 0.1, 0.0);
    let before = drive.rover.encoder_positions_rad();
    drive.steer_and_run(1.0, 0.1, 0.0);
    let after = drive.rover.encoder_positions_rad();
    let count = TAU / 20000.0;
    for rate in encoder::rates_rad_s(&before, &after, 1.0) {
        assert!((rate - 0.4).abs() < 2.0 * count + 1e-3, "{rate}");
    }
    for angle in after {
        assert!((angle / count - (angle / count).round()).abs() < 1e-6, "{angle} is no whole count");
    }
}

/// RASSOR's servos: front arm, rear arm, front drum, rear drum.
fn rassor(arm_rad: f64, drum_rad_s: f64) -> Targets {
    Targets { wheels: WheelTargets::rest(4), servos: vec![arm_rad, arm_rad, drum_rad_s, drum_rad_s] }
}

#[test]
fn servos_go_to_their_targets_at_their_rate_and_within_their_limits() {
    let mut rover = floating(&rover_model("rassor"));
    let run = |rover: &mut Rover, seconds: f64, targets: &Targets| {
        (0..(seconds / STEP_S) as usize).for_each(|_| rover.step(targets, &Forces::default()));
        rover.servo_states()
    };
    let moving = run(&mut rover, 1.5, &rassor(1.0, 2.0));
    let rate = 20_f64.to_radians();
    assert!((moving[0].velocity - rate).abs() < 0.01 && moving[0].position < 1.5 * rate, "{:?}", moving[0]);
    let arrived = run(&mut rover, 3.0, &rassor(1.0, 2.0));
    for (state, expected) in arrived.iter().zip([1.0, 1.0]) {
        assert!((state.position - expected).abs() < 1e-3 && state.velocity.abs() < 1e-3, "{state:?}");
    }
    assert!(arrived[2..].iter().all(|s| (s.velocity - 2.0).abs() < 1e-3), "{arrived:?}");
    let beyond = run(&mut rover, 4.0, &rassor(99.0, -99.0));
    assert!((beyond[0].position - 95_f64.to_radians()).abs() < 1e-3, "{:?}", beyond[0]);
    assert!((beyond[2].velocity + 120_f64.to_radians()).abs() < 1e-3, "{:?}", beyond[2]);
    let reported_nothing = run(&mut rover, 1.0, &Targets::from(WheelTargets::rest(4)));
    assert!((reported_nothing[0].position - 95_f64.to_radians()).abs() < 1e-3, "the last target stays");
}

#[test]
fn drums_that_turn_at_one_rate_turn_the_body_neither_way() {
    let mut rover = floating(&rover_model("rassor"));
    let turned = |rover: &Rover| rover.base_twist().angular.norm();
    (0..4000).for_each(|_| rover.step(&rassor(0.0, 2.0), &Forces::default()));
    assert!(turned(&rover) < 1e-6, "counter-rotating: {}", turned(&rover));
    let one = Targets { wheels: WheelTargets::rest(4), servos: vec![0.0, 0.0, 2.0, -2.0] };
    (0..4000).for_each(|_| rover.step(&one, &Forces::default()));
    assert!(turned(&rover) > 0.05, "both one way: {}", turned(&rover));
}

#[test]
fn an_arm_holds_its_weight_and_gives_way_beyond_its_torque() {
    let mut drive = Drive::of(&rover_model("rassor"), -Vector3::z() * MOON_M_S2, STEP_S);
    (0..20_000).for_each(|_| drive.step(&rassor(0.0, 0.0)));
    let JointState { position, effort, .. } = drive.rover.servo_states()[0];
    let weight_nm = (7.5 * 0.48 + 3.0 * 0.22) * MOON_M_S2;
    assert!((effort / weight_nm - 1.0).abs() < 1e-3, "{effort} N m for {weight_nm}");
    assert!((position + effort / 3000.0).abs() < 1e-6, "its spring is stretched by that: {position}");

    let drum = |name: &str| drive.rover.model().link_index(name).unwrap();
    let pull = Wrench { force: Vector3::z() * -2000.0, torque: Vector3::zeros() };
    let pulled = [(drum("front_drum_link"), pull), (drum("rear_drum_link"), pull)];
    let mut rover = floating(&rover_model("rassor"));
    let mut most_nm = 0.0_f64;
    for _ in 0..400 {
        rover.step(&rassor(0.0, 0.0), &Forces { soil_on_wheel: &[], on_links: &pulled });
        most_nm = most_nm.max(rover.servo_states()[0].effort.abs());
    }
    assert!(most_nm <= 150.0 + 1e-9 && most_nm > 149.0, "{most_nm} N m");
    assert!(rover.servo_states()[0].position < -0.1, "it gave way: {:?}", rover.servo_states()[0]);
}
