//! The state of a rover as a value.

use selene_base::{Pose, Twist};
use serde::{Deserialize, Serialize};

use super::Rover;
use crate::brake::Brake;
use crate::driveline::DrivelineState;

/// The complete state of a rover: with its model it determines everything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoverState {
    /// Pose of the root link, map frame.
    pub world_from_base: Pose,
    /// Velocity of its origin and its turn rate, map axes.
    pub base_twist: Twist,
    /// Position and speed of each moving joint, in the order of [`crate::RoverModel::moving_joints`]:
    /// rad and rad/s, or m and m/s.
    pub joints: Vec<[f64; 2]>,
    /// Last target rate of each wheel's drive joint, rad/s.
    pub target_rate_rad_s: Vec<f64>,
    /// Last target angle of each wheel's steering joint, rad.
    pub target_steer_rad: Vec<f64>,
    /// Present set-point of each steering servo, rad.
    pub steer_setpoint_rad: Vec<f64>,
    /// Last target of each servo, rad or rad/s.
    pub servo_target: Vec<f64>,
    /// Present set-point of each servo, rad or rad/s.
    pub servo_setpoint: Vec<f64>,
    /// Whether each wheel's brake is applied, and where.
    pub brakes: Vec<Brake>,
    /// Engine and gear, where there is a driveline.
    pub driveline: Option<DrivelineState>,
}

impl RoverState {
    /// Whether its lengths match a rover's model, and engine and gear are valid for the model's driveline.
    #[must_use]
    pub fn fits(&self, model: &crate::RoverModel) -> bool {
        let (wheels, servos) = (model.wheels().len(), model.servos().len());
        let driveline_fits = match (&self.driveline, model.driveline()) {
            (Some(state), Some(driveline)) => driveline.fits(state),
            (state, driveline) => state.is_none() && driveline.is_none(),
        };
        let of_wheels = [&self.target_rate_rad_s, &self.target_steer_rad, &self.steer_setpoint_rad];
        self.joints.len() == model.moving_joints().len()
            && of_wheels.iter().all(|numbers| numbers.len() == wheels)
            && self.brakes.len() == wheels
            && driveline_fits
            && self.servo_target.len() == servos
            && self.servo_setpoint.len() == servos
    }

    /// Whether pose and motion are finite numbers.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        let pose = &self.world_from_base;
        let place = pose.translation.vector.iter().chain(pose.rotation.coords.iter());
        let motion = self.base_twist.linear.iter().chain(self.base_twist.angular.iter());
        let engine = self.driveline.iter().flat_map(|of| [of.engine_rad_s, of.pedal_integral]);
        place.chain(motion).chain(self.joints.iter().flatten()).copied().chain(engine).all(f64::is_finite)
    }
}

impl Rover {
    /// The rover's present state.
    #[must_use]
    pub fn state(&self) -> RoverState {
        let (world_from_base, base_twist) = self.articulation.base();
        RoverState {
            world_from_base,
            base_twist,
            joints: self
                .model
                .moving_joints()
                .iter()
                .map(|&joint| self.articulation.coordinate(joint).into())
                .collect(),
            target_rate_rad_s: self.targets.rate_rad_s.clone(),
            target_steer_rad: self.targets.steer_rad.clone(),
            steer_setpoint_rad: self.steer_setpoint_rad.clone(),
            servo_target: self.servo_target.clone(),
            servo_setpoint: self.servo_setpoint.clone(),
            brakes: self.brakes.clone(),
            driveline: self.driveline,
        }
    }

    /// Sets the rover's state, which must fit its model.
    pub fn set_state(&mut self, state: &RoverState) {
        self.targets.rate_rad_s.clone_from(&state.target_rate_rad_s);
        self.targets.steer_rad.clone_from(&state.target_steer_rad);
        self.steer_setpoint_rad.clone_from(&state.steer_setpoint_rad);
        self.servo_target.clone_from(&state.servo_target);
        self.servo_setpoint.clone_from(&state.servo_setpoint);
        self.brakes.clone_from(&state.brakes);
        self.driveline = state.driveline;
        let joints = self.model.moving_joints().iter().copied().zip(state.joints.iter().copied());
        self.articulation.put(&state.world_from_base, &state.base_twist, joints);
    }
}
