//! The joints that take commands: each wheel's drive and steer, and the servos.

use selene_vehicle::{JointState, RoverModel, ServoKind};

/// A joint that takes commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator {
    /// Name of its topic: the name of the joint, or of the servo.
    pub name: String,
    /// Name of the joint in the URDF.
    pub joint: String,
    /// What the joint moves.
    pub role: Role,
    /// Lowest target, rad or rad/s.
    pub lowest: f64,
    /// Highest target, rad or rad/s.
    pub highest: f64,
    /// Index of its state in [`selene_vehicle::Rover::joint_states`].
    state: usize,
}

/// What a joint moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The wheel of this index rolls; targets are rates.
    Drive(usize),
    /// The wheel of this index is steered; targets are angles.
    Steer(usize),
    /// The servo of this index moves; targets are angles or rates, by its kind.
    Servo(usize, ServoKind),
}

impl Role {
    /// Whether targets are rates.
    #[must_use]
    pub fn by_rate(self) -> bool {
        match self {
            Self::Drive(_) | Self::Servo(_, ServoKind::Rate) => true,
            Self::Steer(_) | Self::Servo(_, ServoKind::Position) => false,
        }
    }

    /// Whether the joint drives or steers a wheel.
    #[must_use]
    pub fn of_wheel(self) -> bool {
        match self {
            Self::Drive(_) | Self::Steer(_) => true,
            Self::Servo(..) => false,
        }
    }
}

impl Actuator {
    /// All actuators of a rover: drives, steers, servos.
    #[must_use]
    pub fn of(model: &RoverModel) -> Vec<Self> {
        let limit = model.spec().steering.limit_deg.to_radians();
        let make = |joint: usize, name: Option<&str>, role, [lowest, highest]: [f64; 2]| {
            let state = model.moving_joints().iter().position(|&moving| moving == joint)?;
            let joint = model.joints()[joint].name.clone();
            Some(Self { name: name.map_or_else(|| joint.clone(), str::to_owned), joint, role, lowest, highest, state })
        };
        let wheels = || model.wheels().iter().enumerate();
        let drives = wheels().filter(|(_, wheel)| wheel.is_driven()).map(|(i, wheel)| {
            let fastest = wheel.drive.no_load_speed_rad_s;
            make(wheel.drive_joint, None, Role::Drive(i), [-fastest, fastest])
        });
        let steers = wheels().filter_map(|(i, wheel)| Some((i, wheel.steer_joint?)));
        let steers = steers.map(|(i, joint)| make(joint, None, Role::Steer(i), [-limit, limit]));
        let servos = model.servos().iter().enumerate();
        let servos = servos.map(|(i, servo)| {
            make(servo.joint, Some(&servo.name), Role::Servo(i, servo.kind), [servo.lowest, servo.highest])
        });
        drives.chain(steers).chain(servos).flatten().collect()
    }

    /// Its angle or rate from the states of the rover's joints, rad or rad/s; zero when it is missing.
    pub(crate) fn measured(&self, joints: &[JointState]) -> f64 {
        let state = joints.get(self.state).copied().unwrap_or_default();
        if self.role.by_rate() { state.velocity } else { state.position }
    }
}
