//! Energy balance: couplings do no work, and dampers, drives and ground account for every
//! change.

use crate::ground::{Drive, MOON_M_S2, STEP_S, rover_model};
use nalgebra::Vector3;
use selene_base::{Pose, Twist};
use selene_vehicle::{Forces, JointKind, Rover, Targets, WheelTargets};

/// Energy of a rover and what went through dampers and drives since it was made.
struct Account {
    start_j: f64,
    damped_j: f64,
    driven_j: f64,
}

fn energy_j(rover: &Rover) -> f64 {
    rover.kinetic_energy_j() + rover.potential_energy_j()
}

/// Turn rates of the wheels.
fn rates(rover: &Rover) -> Vec<f64> {
    let (joints, states) = (rover.model().moving_joints(), rover.joint_states());
    let rate = |joint: usize| states[joints.iter().position(|&j| j == joint).unwrap()].velocity;
    rover.model().wheels().iter().map(|w| rate(w.drive_joint)).collect()
}

impl Account {
    fn open(rover: &Rover) -> Self {
        Self { start_j: energy_j(rover), damped_j: 0.0, driven_j: 0.0 }
    }

    /// Books a step that began with the wheels at `rates_before`.
    fn book(&mut self, rover: &Rover, rates_before: &[f64]) {
        let turned = rates_before.iter().zip(rates(rover)).map(|(a, b)| (a + b) / 2.0);
        let power: f64 = rover.drive_torques_nm().iter().zip(turned).map(|(torque, rate)| torque * rate).sum();
        self.driven_j += power * STEP_S;
        self.damped_j += rover.damping_power_w() * STEP_S;
    }

    /// Energy gained without a source, J.
    fn made_j(&self, rover: &Rover) -> f64 {
        energy_j(rover) - self.start_j + self.damped_j - self.driven_j
    }
}

#[test]
fn a_tumbling_rocker_bogie_keeps_its_energy_but_for_what_its_dampers_take() {
    /// Share of the kinetic energy; first-order integration at 0.5 ms over 2 s: 1e-5 measured.
    const TOLERANCE: f64 = 1e-4;
    let model = rover_model("curiosity");
    let mut rover = Rover::new(&model, Pose::identity(), Vector3::zeros(), STEP_S).unwrap();
    let twist = Twist { linear: Vector3::new(0.2, -0.1, 0.3), angular: Vector3::new(0.5, -0.3, 0.8) };
    let rocker = |name: &str| model.joints().iter().position(|j| j.name == name).unwrap();
    let (left, right) = (rocker("left_rocker"), rocker("right_rocker"));
    rover.set_velocities(&twist, |j| {
        if j == left {
            0.3
        } else if j == right {
            -0.3
        } else {
            0.0
        }
    });
    let rest = Targets::from(WheelTargets::rest(6));
    let kinetic = rover.kinetic_energy_j();
    let mut account = Account::open(&rover);
    for _ in 0..4000 {
        let before = rates(&rover);
        rover.step(&rest, &Forces::default());
        account.book(&rover, &before);
    }
    let made = account.made_j(&rover) / kinetic;
    assert!(made.abs() < TOLERANCE, "{made}; dampers took {} J", account.damped_j);
    assert!(account.damped_j > 0.01 * kinetic, "the rockers' dampers did something: {} J", account.damped_j);
}

#[test]
fn a_coasting_rover_comes_to_rest_by_what_ground_dampers_and_drives_take() {
    /// Share of the initial kinetic energy: 5e-5 measured.
    const TOLERANCE: f64 = 5e-4;
    for name in ["viper", "curiosity"] {
        let mut drive = Drive::of(&rover_model(name), -Vector3::z() * MOON_M_S2, STEP_S);
        let wheels = drive.rover.model().wheels().len();
        // A target that is not quite zero keeps the brakes off: the motors stop the wheels.
        let rest = Targets::from(WheelTargets { rate_rad_s: vec![1e-9; wheels], ..WheelTargets::rest(wheels) });
        (0..10_000).for_each(|_| drive.step(&rest));
        let model = drive.rover.model().clone();
        let twist = Twist { linear: Vector3::x() * 0.5, angular: Vector3::zeros() };
        drive.rover.set_velocities(&twist, |j| if model.joints()[j].kind == JointKind::Continuous { 2.0 } else { 0.0 });
        let (kinetic, ground_before_j) = (drive.rover.kinetic_energy_j(), drive.ground_work_j);
        let mut account = Account::open(&drive.rover);
        for _ in 0..6000 {
            let before = rates(&drive.rover);
            drive.step(&rest);
            account.book(&drive.rover, &before);
        }
        let ground_j = drive.ground_work_j - ground_before_j;
        let made = (account.made_j(&drive.rover) - ground_j) / kinetic;
        assert!(made.abs() < TOLERANCE, "{name}: {made}");
        assert!(drive.rover.kinetic_energy_j() < 1e-3 * kinetic, "{name}: {}", drive.rover.kinetic_energy_j());
    }
}
