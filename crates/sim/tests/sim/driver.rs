//! Tests of the driver: which command decides, how long it holds, within which limits, and
//! which commands are refused.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use selene_base::SimTime;
use selene_sim::{Actuator, Command, Driver, DriverState, JointCommand, JointTrajectory, LampCommand, TrajectoryPoint};
use selene_vehicle::{Ackermann, BodyTwist, JointState, RoverModel, Targets, wheel_targets};

/// Tolerance for sums of a few doubles of order 1.
const ROUNDING: f64 = 1e-12;
const GO: BodyTwist = BodyTwist::arc(0.1, 0.0);

fn rover(name: &str) -> Arc<RoverModel> {
    let yaml = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../config/rover/{name}.yaml"));
    Arc::new(RoverModel::load(&yaml).unwrap_or_else(|e| panic!("{e}")))
}

fn at(secs: f64) -> SimTime {
    SimTime::from_secs_f64(secs)
}

fn joint(joint: &str, target: f64) -> Command {
    Command::Joint(JointCommand { joint: joint.to_owned(), target })
}

/// A driver, and the joint states of a rover, which tests set directly.
struct TestDriver {
    model: Arc<RoverModel>,
    driver: Driver,
    state: DriverState,
    joints: Vec<JointState>,
}

impl TestDriver {
    fn of(name: &str) -> Self {
        let model = rover(name);
        let joints = vec![JointState::default(); model.moving_joints().len()];
        let driver = Driver::new(&model);
        Self { state: driver.unreported(), driver, model, joints }
    }

    fn targets(&mut self, secs: f64) -> Targets {
        self.driver.targets(&mut self.state, at(secs), &self.joints, BodyTwist::REST)
    }

    fn take(&mut self, command: Command, secs: f64) -> &mut Self {
        self.driver.take(&mut self.state, &command, at(secs));
        self
    }

    fn put(&mut self, name: &str, position: f64, velocity: f64) {
        let moving = self.model.moving_joints();
        let index = moving.iter().position(|&joint| self.model.joints()[joint].name == name).unwrap();
        self.joints[index] = JointState { position, velocity, effort: 0.0 };
    }

    fn refusal(&mut self, command: Command) -> String {
        let (before, targets) = (self.state.refused(), self.targets(0.0));
        self.take(command, 0.0);
        assert_eq!(self.state.refused(), before + 1);
        assert_eq!(format!("{:?}", self.targets(0.0)), format!("{targets:?}"), "a refused command changes nothing");
        self.state.last_refusal().unwrap().to_string()
    }
}

fn near(values: &[f64], expected: &[f64]) -> bool {
    values.len() == expected.len() && values.iter().zip(expected).all(|(a, b)| (a - b).abs() < ROUNDING)
}

#[test]
fn every_drive_steer_and_servo_has_its_command() {
    let names = |rover_name| Actuator::of(&rover(rover_name)).into_iter().map(|a| a.name).collect::<Vec<_>>();
    assert_eq!(names("truck")[4..], ["front_left_steer", "front_right_steer"]);
    assert_eq!(names("rassor")[4..], ["front_arm", "rear_arm", "front_drum", "rear_drum"]);
    assert_eq!(names("curiosity").len(), 10);
}

#[test]
fn a_body_command_holds_for_half_a_second_and_then_the_rover_stops() {
    let mut cab = TestDriver::of("viper");
    cab.take(Command::Body(GO), 1.0);
    for (time, rate) in [(1.0, 0.4), (1.499, 0.4), (1.5, 0.0), (9.0, 0.0)] {
        assert!(near(&cab.targets(time).wheels.rate_rad_s, &[rate; 4]), "{time}");
    }
}

#[test]
fn the_route_is_followed_until_somebody_commands_a_wheel() {
    let mut cab = TestDriver::of("viper");
    let rates =
        |cab: &mut TestDriver, time| cab.driver.targets(&mut cab.state, at(time), &cab.joints, GO).wheels.rate_rad_s;
    assert!(near(&rates(&mut cab, 0.0), &[0.4; 4]));
    cab.take(joint("mast_pan", 0.5), 0.0);
    assert!(near(&rates(&mut cab, 1.0), &[0.4; 4]) && !cab.state.has_driven(), "a mast is no wheel");
    cab.take(joint("front_left_steer", 0.0), 1.0);
    assert!(near(&rates(&mut cab, 1.0), &[0.0; 4]) && cab.state.has_driven());
    assert!(near(&rates(&mut cab, 99.0), &[0.0; 4]), "the follower stays off");
}

#[test]
fn the_newest_command_decides_joint_by_joint() {
    let mut cab = TestDriver::of("viper");
    cab.take(Command::Body(GO), 0.0).take(joint("rear_left_drive", -1.0), 0.0);
    assert!(near(&cab.targets(0.1).wheels.rate_rad_s, &[0.4, 0.4, -1.0, 0.4]));
    cab.take(joint("front_left_steer", 0.02), 0.2);
    assert!(near(&cab.targets(0.2).wheels.steer_rad, &[0.02, 0.0, 0.0, 0.0]));
    cab.take(Command::Body(GO), 0.3);
    let targets = cab.targets(0.3).wheels;
    assert!(near(&targets.rate_rad_s, &[0.4; 4]) && near(&targets.steer_rad, &[0.0; 4]), "{targets:?}");
}

#[test]
fn a_joints_rate_holds_for_half_a_second_and_its_angle_until_the_next_command() {
    let mut cab = TestDriver::of("rassor");
    for name in ["front_left_drive", "front_drum", "front_arm"] {
        cab.take(joint(name, 0.7), 0.0);
    }
    for (time, rate) in [(0.0, 0.7), (0.499, 0.7), (0.5, 0.0), (60.0, 0.0)] {
        let Targets { wheels, servos } = cab.targets(time);
        assert!(near(&wheels.rate_rad_s, &[rate, 0.0, 0.0, 0.0]), "{time}");
        assert!(near(&[servos[0], servos[2]], &[0.7, rate]) && servos[1].is_nan(), "{servos:?}");
    }
}

#[test]
fn wheels_of_a_stopped_body_keep_the_angle_they_had() {
    let mut cab = TestDriver::of("viper");
    cab.take(Command::Body(BodyTwist::arc(0.1, 0.04)), 0.0);
    cab.put("front_left_steer", 0.11, 0.0);
    cab.targets(0.0);
    cab.put("front_left_steer", 0.12, 0.0);
    assert!((cab.targets(0.495).wheels.steer_rad[0] - 0.11).abs() > 0.01, "still moving");
    cab.put("front_left_steer", 0.13, 0.0);
    assert!((cab.targets(0.5).wheels.steer_rad[0] - 0.12).abs() < ROUNDING);
    assert!((cab.targets(0.6).wheels.steer_rad[0] - 0.12).abs() < ROUNDING, "deflection is not followed");
}

#[test]
fn a_crab_waits_until_the_wheels_point_sideways() {
    let mut cab = TestDriver::of("viper");
    let crab = BodyTwist { forward_m_s: 0.1, left_m_s: 0.05, turn_rad_s: 0.0 };
    cab.take(Command::Body(crab), 0.0);
    let requested = wheel_targets(&cab.model, &crab, &[0.0; 4]);
    let waiting = cab.targets(0.0).wheels;
    assert!(waiting.rate_rad_s[0] < 0.2 * requested.rate_rad_s[0], "{waiting:?}");
    for name in ["front_left_steer", "front_right_steer", "rear_left_steer", "rear_right_steer"] {
        cab.put(name, 0.05_f64.atan2(0.1), 0.0);
    }
    assert!(near(&cab.targets(0.1).wheels.rate_rad_s, &requested.rate_rad_s));
}

#[test]
fn a_car_keeps_its_speed_from_command_to_command_and_stops_without_them() {
    let mut cab = TestDriver::of("truck");
    let requested = Ackermann { speed_m_s: 2.0, acceleration_m_s2: 1.0, ..Ackermann::default() };
    for beat in 0..=100 {
        let time = f64::from(beat) * 0.01;
        if beat % 10 == 0 {
            cab.take(Command::Ackermann(requested), time);
        }
        let speed = cab.targets(time).wheels.rate_rad_s[2] * 0.467;
        assert!((speed - time).abs() < 1e-9, "{speed} at {time}");
    }
    assert!(cab.targets(1.5).wheels.rate_rad_s.iter().all(|rate| *rate == 0.0));
}

#[test]
fn a_car_begins_with_the_speed_and_angle_that_its_wheels_have() {
    let mut cab = TestDriver::of("truck");
    for wheel in ["front_left", "front_right", "rear_left", "rear_right"] {
        cab.put(&format!("{wheel}_drive"), 3.0, 1.0 / 0.467);
    }
    let requested = Ackermann { speed_m_s: 2.0, acceleration_m_s2: 1.0, ..Ackermann::default() };
    cab.take(Command::Ackermann(requested), 0.0).targets(0.0);
    let speed = cab.targets(0.1).wheels.rate_rad_s[2] * 0.467;
    assert!((speed - 1.1).abs() < 1e-9, "{speed}");
}

fn trajectory(start: Option<f64>, joints: &[&str], points: &[(f64, &[f64], &[f64])]) -> Command {
    let points = points.iter().map(|(time, positions, velocities)| TrajectoryPoint {
        time: at(*time),
        positions: positions.to_vec(),
        velocities: velocities.to_vec(),
    });
    Command::Trajectory(JointTrajectory {
        start: start.map(at),
        joints: joints.iter().map(|&name| name.to_owned()).collect(),
        points: points.collect(),
    })
}

#[test]
fn a_trajectory_moves_angles_and_rates_and_holds_its_last_point() {
    let mut cab = TestDriver::of("rassor");
    cab.put("front_arm", 0.2, 0.0);
    let points: [(f64, &[f64], &[f64]); 2] = [(1.0, &[0.6, 0.0], &[0.0, 1.0]), (2.0, &[1.0, 0.0], &[0.0, 1.5])];
    cab.take(trajectory(None, &["front_arm", "rear_left_drive"], &points), 5.0);
    cab.targets(5.0);
    cab.put("front_arm", 9.0, 0.0);
    for (time, angle, rate) in [(5.5, 0.4, 0.5), (6.0, 0.6, 1.0), (6.5, 0.8, 1.25), (7.4, 1.0, 1.5), (7.5, 1.0, 0.0)] {
        let Targets { wheels, servos } = cab.targets(time);
        assert!(near(&[servos[0], wheels.rate_rad_s[2]], &[angle, rate]), "{time}: {servos:?} {wheels:?}");
    }
    assert_eq!((cab.state.refused(), cab.state.limited()), (0, 0));
}

#[test]
fn a_trajectory_waits_for_its_stamp() {
    let mut cab = TestDriver::of("rassor");
    cab.put("front_arm", 0.2, 0.0);
    cab.take(trajectory(Some(3.0), &["front_arm", "front_drum"], &[(1.0, &[0.6, 0.0], &[0.0, 1.0])]), 1.0);
    for (time, angle, rate) in [(1.0, 0.2, 0.0), (2.9, 0.2, 0.0), (3.5, 0.4, 0.5), (4.2, 0.6, 1.0)] {
        let servos = cab.targets(time).servos;
        assert!(near(&[servos[0], servos[2]], &[angle, rate]), "{time}: {servos:?}");
    }
}

#[test]
fn what_is_beyond_a_limit_is_limited_and_counted_once() {
    let mut cab = TestDriver::of("rassor");
    cab.take(joint("front_arm", -3.0), 0.0).take(joint("front_left_drive", 50.0), 0.0);
    for time in [0.0, 0.1, 0.2] {
        let Targets { wheels, servos } = cab.targets(time);
        assert!(near(&[servos[0], wheels.rate_rad_s[0]], &[(-30_f64).to_radians(), 4.0]));
    }
    assert_eq!(cab.state.limited(), 2);
    cab.take(Command::Body(BodyTwist::arc(9.0, 0.0)), 0.2);
    (0..5).for_each(|_| drop(cab.targets(0.3)));
    assert_eq!((cab.state.limited(), cab.state.refused()), (3, 0));
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_reason() {
    let mut cab = TestDriver::of("rassor");
    cab.take(Command::Body(GO), 0.0);
    let nan = Command::Body(BodyTwist { left_m_s: f64::NAN, ..GO });
    assert!(cab.refusal(nan).contains("body velocity: left: NaN is not allowed"));
    let car = Ackermann { acceleration_m_s2: -1.0, ..Ackermann::default() };
    assert!(cab.refusal(Command::Ackermann(car)).contains("acceleration: -1 is not allowed"));
    let car = Ackermann { speed_m_s: f64::INFINITY, ..Ackermann::default() };
    assert!(cab.refusal(Command::Ackermann(car)).contains("speed: inf"));
    assert!(cab.refusal(joint("front_arm", f64::NAN)).contains("front_arm: target: NaN"));
    let unknown = cab.refusal(joint("tail", 0.0));
    assert!(unknown.contains("\"tail\"") && unknown.contains("front_arm, rear_arm, front_drum"), "{unknown}");
    let arm: &[&str] = &["front_arm"];
    for (command, reason) in [
        (trajectory(None, arm, &[]), "no points"),
        (trajectory(None, &[], &[(0.0, &[], &[])]), "no joint_names"),
        (trajectory(None, &["front_arm", "front_arm"], &[(0.0, &[0.0, 0.0], &[])]), "given twice"),
        (trajectory(None, &["front_arm", "tail"], &[(0.0, &[0.0, 0.0], &[])]), "\"tail\""),
        (trajectory(None, arm, &[(0.0, &[0.0, 1.0], &[])]), "point 0 has 2 positions for 1 joints"),
        (trajectory(None, arm, &[(0.0, &[0.0], &[]), (1.0, &[0.0], &[1.0, 1.0])]), "point 1 has 2 velocities"),
        (trajectory(None, arm, &[(0.0, &[], &[1.0])]), "no positions"),
        (trajectory(None, &["front_drum"], &[(0.0, &[1.0], &[])]), "no velocities"),
        (trajectory(None, arm, &[(1.0, &[0.0], &[]), (1.0, &[0.1], &[])]), "point 1 at 1 s does not come after 1 s"),
        (trajectory(None, arm, &[(-1.0, &[0.0], &[])]), "point 0 at -1 s"),
        (trajectory(None, arm, &[(0.0, &[f64::NAN], &[])]), "NaN"),
        (trajectory(Some(1.7e9), arm, &[(0.0, &[0.0], &[])]), "stamp it by /clock"),
    ] {
        let refusal = cab.refusal(command);
        assert!(refusal.contains(reason), "{refusal}");
    }
}

#[test]
fn a_lamp_is_as_bright_as_commanded_last_and_no_drive_is_affected() {
    let lamp = |name: &str, level| Command::Lamp(LampCommand { lamp: name.to_owned(), level });
    let mut cab = TestDriver::of("viper");
    assert_eq!(cab.state.lamp_levels(), [0.0, 0.0]);
    cab.take(lamp("headlight_right", 0.7), 0.0).take(lamp("headlight_left", 1.0), 0.0);
    cab.take(lamp("headlight_left", 0.25), 9.0);
    assert_eq!(cab.state.lamp_levels(), [0.25, 0.7]);
    assert!(!cab.state.has_driven());
    assert!(cab.refusal(lamp("headlight_left", 1.01)).contains("1.01 is not allowed: must be 0 to 1"));
    assert!(cab.refusal(lamp("headlight_left", f64::NAN)).contains("NaN"));
    assert!(cab.refusal(lamp("tail_light", 1.0)).contains("headlight_left, headlight_right"));
    assert_eq!(cab.state.lamp_levels(), [0.25, 0.7]);
}
