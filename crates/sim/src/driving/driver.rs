//! The driver turns commands from outside into targets of joints.
//!
//! The newest command decides for each joint: a body or Ackermann command sets all drives and steers, a joint
//! command or trajectory sets the joints that it names; a servo obeys only commands that name it. A rate holds for
//! half a second of simulated time, then the motion stops. That applies to a body velocity, an Ackermann command, a
//! joint's rate, and the last point of a trajectory of rates. Angles hold. Wheels of a stopped body keep their angle.
//!
//! Until the first command to a wheel, the rover follows the scenario's route. After it the route follower stays
//! off, so that the rover never starts by itself under an operator's hands. An invalid command is refused as a whole
//! and counted; a value beyond a limit is limited and counted, once per command and joint. Lamps keep the level of
//! their latest command.

use std::sync::Arc;

use selene_base::SimTime;
use selene_vehicle::ackermann::{ackermann_targets, wheelbase_m};
use selene_vehicle::{
    Ackermann, AckermannState, BodyTwist, JointState, RoverModel, Targets, WheelTargets, wheel_targets,
};
use serde::{Deserialize, Serialize};

use crate::driving::actuator::{Actuator, Role};
use crate::driving::command::{Command, CommandError, JointCommand, LampCommand};
use crate::driving::set_point::{JointTarget, RATE_HOLD, SetPoint};
use crate::driving::trajectory::{JointSpline, JointTrajectory};

/// Turns a rover's commands into targets of its joints.
#[derive(Clone, Debug)]
pub struct Driver {
    model: Arc<RoverModel>,
    actuators: Vec<Actuator>,
}

/// The latest commands to the joints and lamps of a rover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverState {
    body: Option<BodyCommand>,
    /// Commands to single joints, in the order of the rover's actuators; `None` leaves a wheel's joint to the body
    /// command.
    joints: Vec<Option<SetPoint>>,
    /// Steering angle that each wheel keeps while the body is stopped, rad.
    held_rad: Vec<f64>,
    /// Level of each lamp, 0 to 1.
    lamp_levels: Vec<f64>,
    has_driven: bool,
    refused: u64,
    last_refusal: Option<String>,
    limited: u64,
}

/// The latest command to the body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BodyCommand {
    since: SimTime,
    motion: Motion,
    /// Whether it has been counted as beyond limits.
    counted: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Motion {
    Twist(BodyTwist),
    Car {
        requested: Ackermann,
        /// Time of the last step, and the speed and angle then; `None` before the first step.
        so_far: Option<(SimTime, AckermannState)>,
    },
}

impl DriverState {
    /// How many commands were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Why the latest refused command was refused.
    #[must_use]
    pub fn last_refusal(&self) -> Option<&str> {
        self.last_refusal.as_deref()
    }

    /// How many commands were beyond a limit, each counted once per joint.
    #[must_use]
    pub fn limited(&self) -> u64 {
        self.limited
    }

    /// Level of each lamp, 0 to 1, in the order of the rover's lamps.
    #[must_use]
    pub fn lamp_levels(&self) -> &[f64] {
        &self.lamp_levels
    }

    /// Whether a wheel has been commanded.
    #[must_use]
    pub fn has_driven(&self) -> bool {
        self.has_driven
    }

    /// Moves the times of all commands back by `by`: for a clock that is set back by this span.
    pub(crate) fn move_back(&mut self, by: SimTime) {
        if let Some(BodyCommand { since, motion, .. }) = &mut self.body {
            *since = *since - by;
            if let Motion::Car { so_far: Some((at, _)), .. } = motion {
                *at = *at - by;
            }
        }
        self.joints.iter_mut().flatten().for_each(|set_point| set_point.move_back(by));
    }

    /// Time of the last step, and speed and angle then, of an Ackermann command that still holds.
    fn car_so_far(&self, now: SimTime) -> Option<(SimTime, AckermannState)> {
        match &self.body {
            Some(BodyCommand { since, motion: Motion::Car { so_far, .. }, .. }) if now - *since < RATE_HOLD => *so_far,
            _ => None,
        }
    }
}

impl Driver {
    /// A driver of `model`.
    #[must_use]
    pub fn new(model: &Arc<RoverModel>) -> Self {
        Self { model: Arc::clone(model), actuators: Actuator::of(model) }
    }

    /// The state of a rover before any command.
    #[must_use]
    pub fn unreported(&self) -> DriverState {
        DriverState {
            body: None,
            joints: vec![None; self.actuators.len()],
            held_rad: vec![0.0; self.model.wheels().len()],
            lamp_levels: self.model.lamps().iter().map(|lamp| lamp.spec.level).collect(),
            has_driven: false,
            refused: 0,
            last_refusal: None,
            limited: 0,
        }
    }

    /// Whether a state has as many numbers as the rover has joints, wheels and lamps.
    #[must_use]
    pub fn fits(&self, state: &DriverState) -> bool {
        state.joints.len() == self.actuators.len()
            && state.held_rad.len() == self.model.wheels().len()
            && state.lamp_levels.len() == self.model.lamps().len()
    }

    /// Takes a command that arrived at `now`, or refuses and counts it.
    pub fn take(&self, state: &mut DriverState, command: &Command, now: SimTime) {
        let taken = command.check_numbers().and_then(|()| match command {
            Command::Body(twist) => {
                self.take_body(state, Motion::Twist(*twist), now);
                Ok(())
            }
            Command::Ackermann(_) if wheelbase_m(&self.model).is_none() => Err(CommandError::NoWheelbase),
            Command::Ackermann(requested) => {
                let so_far = state.car_so_far(now);
                self.take_body(state, Motion::Car { requested: *requested, so_far }, now);
                Ok(())
            }
            Command::Joint(joint) => self.take_joint(state, joint, now),
            Command::Trajectory(trajectory) => self.take_trajectory(state, trajectory, now),
            Command::Lamp(lamp) => self.take_lamp(state, lamp),
        });
        if let Err(refusal) = taken {
            state.refused += 1;
            state.last_refusal = Some(refusal.to_string());
        }
    }

    /// Targets of all joints from `now` on, for a rover whose moving joints are at
    /// `joints`. `undriven` is the body's motion until the first command to a wheel.
    pub fn targets(
        &self,
        state: &mut DriverState,
        now: SimTime,
        joints: &[JointState],
        undriven: BodyTwist,
    ) -> Targets {
        let steer_now_rad = self.of_wheels(joints, |role| matches!(role, Role::Steer(_)));
        let (mut wheels, steers_move) = self.body_targets(state, now, joints, undriven);
        let set_points = self.set_points(state, now, joints);
        let mut servos = vec![f64::NAN; self.model.servos().len()]; // NaN keeps the last target
        for (role, target) in &set_points {
            match *role {
                Role::Steer(wheel) => wheels.steer_rad[wheel] = *target,
                Role::Servo(servo, _) => servos[servo] = *target,
                Role::Drive(_) => {}
            }
        }
        wheels.wait_for_steers(&self.model, &steer_now_rad);
        for (wheel, now_rad) in steer_now_rad.into_iter().enumerate() {
            let moves = steers_move || set_points.iter().any(|(role, _)| *role == Role::Steer(wheel));
            state.held_rad[wheel] = if moves { now_rad } else { state.held_rad[wheel] };
        }
        for (role, target) in set_points {
            if let Role::Drive(wheel) = role {
                wheels.rate_rad_s[wheel] = target;
            }
        }
        Targets { wheels, servos }
    }

    fn take_body(&self, state: &mut DriverState, motion: Motion, since: SimTime) {
        state.body = Some(BodyCommand { since, motion, counted: false });
        state.has_driven = true;
        let wheels = state.joints.iter_mut().zip(&self.actuators).filter(|(_, actuator)| actuator.role.of_wheel());
        wheels.for_each(|(set_point, _)| *set_point = None);
    }

    fn take_joint(&self, state: &mut DriverState, command: &JointCommand, now: SimTime) -> Result<(), CommandError> {
        let joint = self.find(&command.joint)?;
        self.set(state, joint, now, JointTarget::Target(command.target));
        Ok(())
    }

    fn take_trajectory(
        &self,
        state: &mut DriverState,
        trajectory: &JointTrajectory,
        now: SimTime,
    ) -> Result<(), CommandError> {
        let start = trajectory.starts(now)?;
        let mut splines: Vec<(usize, JointSpline)> = Vec::with_capacity(trajectory.joints.len());
        for (column, name) in trajectory.joints.iter().enumerate() {
            let joint = self.find(name)?;
            if splines.iter().any(|(earlier, _)| *earlier == joint) {
                return Err(CommandError::RepeatedJoint { joint: name.clone() });
            }
            splines.push((joint, trajectory.spline(column, self.actuators[joint].role.by_rate(), start)?));
        }
        for (joint, spline) in splines {
            self.set(state, joint, now, JointTarget::Spline { spline, from: None });
        }
        Ok(())
    }

    fn take_lamp(&self, state: &mut DriverState, command: &LampCommand) -> Result<(), CommandError> {
        let LampCommand { lamp, level } = command;
        let names = self.model.lamps().iter().map(|known| known.spec.name.as_str());
        let Some(index) = names.clone().position(|name| name == lamp) else {
            let known = names.collect::<Vec<_>>().join(", ");
            return Err(CommandError::UnknownLamp { lamp: lamp.clone(), known });
        };
        state.lamp_levels[index] = *level;
        Ok(())
    }

    fn set(&self, state: &mut DriverState, joint: usize, since: SimTime, requested: JointTarget) {
        state.joints[joint] = Some(SetPoint::new(since, requested));
        state.has_driven |= self.actuators[joint].role.of_wheel();
    }

    fn find(&self, name: &str) -> Result<usize, CommandError> {
        self.actuators.iter().position(|actuator| actuator.name == name || actuator.joint == name).ok_or_else(|| {
            let names: Vec<_> = self.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
            CommandError::UnknownJoint { joint: name.to_owned(), known: names.join(", ") }
        })
    }

    /// Targets of the wheels by the body command, and whether it moves their steers.
    fn body_targets(
        &self,
        state: &mut DriverState,
        now: SimTime,
        joints: &[JointState],
        undriven: BodyTwist,
    ) -> (WheelTargets, bool) {
        let rest = if state.has_driven { BodyTwist::REST } else { undriven };
        let car_now = self.measured_car(joints);
        let driving = state.body.as_mut().filter(|body| now - body.since < RATE_HOLD);
        let Some(body) = driving else {
            return (wheel_targets(&self.model, &rest, &state.held_rad), !rest.is_rest());
        };
        let (targets, steers_move) = match &mut body.motion {
            Motion::Twist(twist) => (wheel_targets(&self.model, twist, &state.held_rad), !twist.is_rest()),
            Motion::Car { requested, so_far } => {
                let (last, mut car) = so_far.unwrap_or((now, car_now));
                car.advance(requested, (now - last).secs_f64());
                *so_far = Some((now, car));
                (ackermann_targets(&self.model, &car), true)
            }
        };
        let newly_limited = targets.limited && !body.counted;
        body.counted |= newly_limited;
        state.limited += u64::from(newly_limited);
        (targets, steers_move)
    }

    fn measured_car(&self, joints: &[JointState]) -> AckermannState {
        let rates = self.of_wheels(joints, |role| matches!(role, Role::Drive(_)));
        let steers = self.of_wheels(joints, |role| matches!(role, Role::Steer(_)));
        AckermannState::of_wheels(&self.model, &rates, &steers)
    }

    /// The measured state of one joint of each wheel; zero for a wheel without it.
    fn of_wheels(&self, joints: &[JointState], wanted: impl Fn(Role) -> bool) -> Vec<f64> {
        let mut measured = vec![0.0; self.model.wheels().len()];
        for actuator in self.actuators.iter().filter(|actuator| wanted(actuator.role)) {
            if let Role::Drive(wheel) | Role::Steer(wheel) = actuator.role {
                measured[wheel] = actuator.measured(joints);
            }
        }
        measured
    }

    /// The targets of joints that have a set-point of their own.
    fn set_points(&self, state: &mut DriverState, now: SimTime, joints: &[JointState]) -> Vec<(Role, f64)> {
        let mut targets = Vec::new();
        for (set_point, actuator) in state.joints.iter_mut().zip(&self.actuators) {
            let Some(set_point) = set_point else { continue };
            let (target, newly_limited) = set_point.target(now, actuator, actuator.measured(joints));
            state.limited += u64::from(newly_limited);
            targets.push((actuator.role, target));
        }
        targets
    }
}
