//! Who drives: commands from outside become targets of joints.
//!
//! The newest command decides, joint by joint: a body or Ackermann command takes all
//! drives and steers, a joint command or trajectory those that it names; servos obey
//! theirs alone. Rates hold for half a second of simulated time, then what they moved
//! stops: a body velocity, an Ackermann command, a joint's rate, the last point of a
//! trajectory of rates. Angles hold. Wheels of a stopped body keep the angle they had.
//!
//! Until the first command to a wheel comes the scenario's route is followed; once
//! somebody has driven, the follower stays off, so that the rover never starts by
//! itself under an operator's hands. What cannot be meant is refused as a whole and
//! counted; what is beyond a limit is limited and counted, once a command and joint.
//! Lamps stay as bright as they were last told.

use std::sync::Arc;

use selene_base::SimTime;
use selene_vehicle::ackermann::{ackermann_targets, wheelbase_m};
use selene_vehicle::{
    Ackermann, AckermannState, BodyTwist, JointState, RoverModel, Targets, WheelTargets, wheel_targets,
};

use crate::actuator::{Actuator, Role};
use crate::command::{Command, CommandError, JointCommand, LampCommand};
use crate::order::{Order, RATE_HOLD, What};
use crate::trajectory::{Course, JointTrajectory};

/// What each joint was told last.
#[derive(Clone, Debug)]
pub struct Driver {
    model: Arc<RoverModel>,
    actuators: Vec<Actuator>,
    body: Option<BodyCommand>,
    /// In the order of `actuators`; `None` leaves a wheel's joint to the body command.
    joints: Vec<Option<Order>>,
    /// Where each wheel's steer stands while the body does, rad.
    held_rad: Vec<f64>,
    /// Of each lamp, 0 to 1.
    lamp_levels: Vec<f64>,
    has_driven: bool,
    refused: u64,
    last_refusal: Option<CommandError>,
    limited: u64,
}

/// The latest command to the body.
#[derive(Clone, Debug)]
struct BodyCommand {
    since: SimTime,
    motion: Motion,
    /// Whether it has been counted as beyond limits.
    counted: bool,
}

#[derive(Clone, Debug)]
enum Motion {
    Twist(BodyTwist),
    Car {
        asked: Ackermann,
        /// Where speed and angle are, and when; `None` before the first step.
        so_far: Option<(SimTime, AckermannState)>,
    },
}

impl Driver {
    /// A driver of `model` whom nobody has told anything.
    #[must_use]
    pub fn new(model: &Arc<RoverModel>) -> Self {
        let actuators = Actuator::of(model);
        Self {
            model: Arc::clone(model),
            body: None,
            joints: vec![None; actuators.len()],
            actuators,
            held_rad: vec![0.0; model.wheels().len()],
            lamp_levels: model.lamps().iter().map(|lamp| lamp.spec.level).collect(),
            has_driven: false,
            refused: 0,
            last_refusal: None,
            limited: 0,
        }
    }

    /// Takes a command that arrived at `now`, or refuses and counts it.
    pub fn take(&mut self, command: Command, now: SimTime) {
        let taken = command.check_numbers().and_then(|()| match command {
            Command::Body(twist) => {
                self.take_body(Motion::Twist(twist), now);
                Ok(())
            }
            Command::Ackermann(_) if wheelbase_m(&self.model).is_none() => Err(CommandError::NoWheelbase),
            Command::Ackermann(asked) => {
                let so_far = self.car_so_far(now);
                self.take_body(Motion::Car { asked, so_far }, now);
                Ok(())
            }
            Command::Joint(joint) => self.take_joint(&joint, now),
            Command::Trajectory(trajectory) => self.take_trajectory(&trajectory, now),
            Command::Lamp(lamp) => self.take_lamp(&lamp),
        });
        if let Err(refusal) = taken {
            self.refused += 1;
            self.last_refusal = Some(refusal);
        }
    }

    /// How many commands were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Why the latest of them was.
    #[must_use]
    pub fn last_refusal(&self) -> Option<&CommandError> {
        self.last_refusal.as_ref()
    }

    /// How many commands were beyond a limit, each counted once a joint.
    #[must_use]
    pub fn limited(&self) -> u64 {
        self.limited
    }

    /// How bright each lamp is, 0 to 1, in the order of the rover's.
    #[must_use]
    pub fn lamp_levels(&self) -> &[f64] {
        &self.lamp_levels
    }

    /// Whether anybody has commanded a wheel.
    #[must_use]
    pub fn has_driven(&self) -> bool {
        self.has_driven
    }

    /// What all joints should do from `now` on, for a rover whose moving joints are at
    /// `joints`. `undriven` is the body's motion until somebody has driven.
    pub fn targets(&mut self, now: SimTime, joints: &[JointState], undriven: BodyTwist) -> Targets {
        let steer_now_rad = self.of_wheels(joints, |role| matches!(role, Role::Steer(_)));
        let (mut wheels, steers_move) = self.body_targets(now, joints, undriven);
        let orders = self.orders(now, joints);
        let mut servos = vec![f64::NAN; self.model.servos().len()]; // NaN: as it was
        for (role, target) in &orders {
            match *role {
                Role::Steer(wheel) => wheels.steer_rad[wheel] = *target,
                Role::Servo(servo, _) => servos[servo] = *target,
                Role::Drive(_) => {}
            }
        }
        wheels.wait_for_steers(&self.model, &steer_now_rad);
        for (wheel, now_rad) in steer_now_rad.into_iter().enumerate() {
            let moves = steers_move || orders.iter().any(|(role, _)| *role == Role::Steer(wheel));
            self.held_rad[wheel] = if moves { now_rad } else { self.held_rad[wheel] };
        }
        for (role, target) in orders {
            if let Role::Drive(wheel) = role {
                wheels.rate_rad_s[wheel] = target;
            }
        }
        Targets { wheels, servos }
    }

    fn take_body(&mut self, motion: Motion, since: SimTime) {
        self.body = Some(BodyCommand { since, motion, counted: false });
        self.has_driven = true;
        let wheels = self.joints.iter_mut().zip(&self.actuators).filter(|(_, actuator)| actuator.role.of_wheel());
        wheels.for_each(|(order, _)| *order = None);
    }

    fn take_joint(&mut self, command: &JointCommand, now: SimTime) -> Result<(), CommandError> {
        let joint = self.find(&command.joint)?;
        self.order(joint, now, What::Target(command.target));
        Ok(())
    }

    fn take_trajectory(&mut self, trajectory: &JointTrajectory, now: SimTime) -> Result<(), CommandError> {
        let start = trajectory.starts(now)?;
        let mut courses: Vec<(usize, Course)> = Vec::with_capacity(trajectory.joints.len());
        for (column, name) in trajectory.joints.iter().enumerate() {
            let joint = self.find(name)?;
            if courses.iter().any(|(earlier, _)| *earlier == joint) {
                return Err(CommandError::RepeatedJoint { joint: name.clone() });
            }
            courses.push((joint, trajectory.course(column, self.actuators[joint].role.by_rate(), start)?));
        }
        courses.into_iter().for_each(|(joint, course)| self.order(joint, now, What::Course { course, from: None }));
        Ok(())
    }

    fn take_lamp(&mut self, LampCommand { lamp, level }: &LampCommand) -> Result<(), CommandError> {
        let names = self.model.lamps().iter().map(|known| known.spec.name.as_str());
        let Some(index) = names.clone().position(|name| name == lamp) else {
            let known = names.collect::<Vec<_>>().join(", ");
            return Err(CommandError::UnknownLamp { lamp: lamp.clone(), known });
        };
        self.lamp_levels[index] = *level;
        Ok(())
    }

    fn order(&mut self, joint: usize, since: SimTime, what: What) {
        self.joints[joint] = Some(Order::new(since, what));
        self.has_driven |= self.actuators[joint].role.of_wheel();
    }

    fn find(&self, name: &str) -> Result<usize, CommandError> {
        self.actuators.iter().position(|actuator| actuator.name == name || actuator.joint == name).ok_or_else(|| {
            let names: Vec<_> = self.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
            CommandError::UnknownJoint { joint: name.to_owned(), known: names.join(", ") }
        })
    }

    /// How far a car that still drives has come.
    fn car_so_far(&self, now: SimTime) -> Option<(SimTime, AckermannState)> {
        match &self.body {
            Some(BodyCommand { since, motion: Motion::Car { so_far, .. }, .. }) if now - *since < RATE_HOLD => *so_far,
            _ => None,
        }
    }

    /// What the body command makes of the wheels, and whether it moves their steers.
    fn body_targets(&mut self, now: SimTime, joints: &[JointState], undriven: BodyTwist) -> (WheelTargets, bool) {
        let rest = if self.has_driven { BodyTwist::REST } else { undriven };
        let car_now = self.measured_car(joints);
        let driving = self.body.as_mut().filter(|body| now - body.since < RATE_HOLD);
        let Some(body) = driving else {
            return (wheel_targets(&self.model, &rest, &self.held_rad), !rest.is_rest());
        };
        let (targets, steers_move) = match &mut body.motion {
            Motion::Twist(twist) => (wheel_targets(&self.model, twist, &self.held_rad), !twist.is_rest()),
            Motion::Car { asked, so_far } => {
                let (last, mut state) = so_far.unwrap_or((now, car_now));
                state.advance(asked, (now - last).secs_f64());
                *so_far = Some((now, state));
                (ackermann_targets(&self.model, &state), true)
            }
        };
        let newly_limited = targets.limited && !body.counted;
        body.counted |= newly_limited;
        self.limited += u64::from(newly_limited);
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

    /// The targets of joints that have an order of their own.
    fn orders(&mut self, now: SimTime, joints: &[JointState]) -> Vec<(Role, f64)> {
        let mut targets = Vec::new();
        for (order, actuator) in self.joints.iter_mut().zip(&self.actuators) {
            let Some(order) = order else { continue };
            let (target, newly_limited) = order.target(now, actuator, actuator.measured(joints));
            self.limited += u64::from(newly_limited);
            targets.push((actuator.role, target));
        }
        targets
    }
}
