//! A rover's motion and its step. Forces of soil and ground are wrenches given by the caller;
//! the rover adds its drives' torques (equal and opposite on wheel and mount), moves its
//! servos' set-points at their rate, and steps its bodies with implicit springs on suspension,
//! steering and servos. The same inputs give the same bytes. Accessors are in [`readings`].

mod readings;
mod state;

use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::{Pose, Wrench};

use crate::VehicleError;
use crate::articulation::Articulation;
use crate::brake::Brake;
use crate::drive::{self, WheelLoad};
use crate::driveline::{BRAKE_RAD_S, DrivelineState, Turning};
use crate::model::{RoverModel, Servo};
use crate::spec::{ServoKind, WheelRole};
use crate::spring::Spring;
use crate::steering::WheelTargets;

pub use state::RoverState;

/// Longest step taken, s: the suspension's own motion is faster.
const STEP_MAX_S: f64 = 0.02;

/// A rover in motion.
#[derive(Debug)]
pub struct Rover {
    model: Arc<RoverModel>,
    articulation: Articulation,
    step_s: f64,
    targets: WheelTargets,
    /// Rate-limited set-point of each steering servo, rad.
    steer_setpoint_rad: Vec<f64>,
    /// Target and rate-limited set-point of each servo, rad or rad/s.
    servo_target: Vec<f64>,
    servo_setpoint: Vec<f64>,
    brakes: Vec<Brake>,
    drive_torque_nm: Vec<f64>,
    /// Decrease of the engine's torque on each wheel per rad/s that the wheel gains, N m s.
    drive_damping_nm_s: Vec<f64>,
    driveline: Option<DrivelineState>,
    /// Inertia of each wheel about its axle, kg m².
    wheel_inertia_kg_m2: Vec<f64>,
}

/// Targets of wheels and servos, which hold until the next ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// The wheels' rates and steering angles.
    pub wheels: WheelTargets,
    /// Angle or rate of each servo, rad or rad/s, in the order of the rover's servos.
    pub servos: Vec<f64>,
}

impl From<WheelTargets> for Targets {
    /// Targets for the wheels that leave the servos where they were sent last.
    fn from(wheels: WheelTargets) -> Self {
        Self { wheels, servos: Vec::new() }
    }
}

/// The external forces of one step, in world axes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forces<'a> {
    /// Each wheel's wrench about its centre.
    pub soil_on_wheel: &'a [Wrench],
    /// Links by index and the wrench on each about the link's origin; a link may
    /// come more than once.
    pub on_links: &'a [(usize, Wrench)],
}

/// Pose and velocity of a wheel, for laws of soil.
#[derive(Clone, Copy, Debug)]
pub struct WheelKinematics {
    /// The wheel's centre and attitude; y is the axle and points to the body's left: a wheel that rolls
    /// forward turns about it, whichever way its link and joint are turned.
    pub world_from_wheel: Pose,
    /// Velocity of the centre in world axes, m/s.
    pub linear: Vector3<f64>,
    /// Turn rate in world axes, rad/s, with the roll about the axle.
    pub angular: Vector3<f64>,
}

/// A joint's state: rad, rad/s, N m; or m, m/s, N for a prismatic one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointState {
    /// Position.
    pub position: f64,
    /// Velocity.
    pub velocity: f64,
    /// Force or torque that the joint's motor or spring exerts.
    pub effort: f64,
}

impl Rover {
    /// A rover at rest at `world_from_base` with its joints at zero, in `gravity`
    /// [m/s², world axes], stepped by `step_s`.
    ///
    /// # Errors
    /// When pose or gravity are not finite, or the step is not above 0 and at most
    /// 0.02 s, or too long for a tyre.
    pub fn new(
        model: &Arc<RoverModel>,
        world_from_base: Pose,
        gravity: Vector3<f64>,
        step_s: f64,
    ) -> Result<Self, VehicleError> {
        check_start(&world_from_base, &gravity, step_s)?;
        let mut articulation = Articulation::new(model, &world_from_base, &gravity, step_s);
        hold_joints(&mut articulation, model);
        check_tyres(model, &articulation, step_s)?;
        let wheels = model.wheels().len();
        let inertia = |w: &crate::Wheel| articulation.inertia_about_joint(w.drive_joint);
        let at_zero: Vec<_> = model.servos().iter().map(|s| 0.0_f64.clamp(s.lowest, s.highest)).collect();
        Ok(Self {
            wheel_inertia_kg_m2: model.wheels().iter().map(inertia).collect(),
            driveline: model.driveline().map(crate::Driveline::at_rest),
            model: Arc::clone(model),
            articulation,
            step_s,
            targets: WheelTargets::rest(wheels),
            steer_setpoint_rad: vec![0.0; wheels],
            servo_setpoint: vec![0.0; at_zero.len()],
            servo_target: at_zero,
            brakes: vec![Brake::default(); wheels],
            drive_torque_nm: vec![0.0; wheels],
            drive_damping_nm_s: vec![0.0; wheels],
        })
    }

    /// Advances one step. A target that is NaN or missing leaves the last one in
    /// force; a link that the rover does not have takes no wrench.
    pub fn step(&mut self, targets: &Targets, forces: &Forces) {
        self.take_targets(targets);
        self.steer();
        self.move_servos();
        for (link, wrench) in forces.on_links.iter().filter(|(link, _)| *link < self.model.links().len()) {
            self.articulation.add_wrench(*link, wrench);
        }
        let pedal_brake = self.drive_by_engine();
        for wheel in 0..self.model.wheels().len() {
            let soil = forces.soil_on_wheel.get(wheel).copied().unwrap_or_default();
            self.drive(wheel, &soil, pedal_brake);
        }
        self.articulation.step();
    }

    /// Moves for one step at its present velocities, without forces: for a rover that another
    /// process steps.
    pub fn coast(&mut self) {
        self.articulation.coast();
    }

    fn take_targets(&mut self, targets: &Targets) {
        let limit = self.model.spec().steering.limit_deg.to_radians();
        take(&mut self.targets.rate_rad_s, &targets.wheels.rate_rad_s);
        take(&mut self.targets.steer_rad, &targets.wheels.steer_rad);
        self.targets.steer_rad.iter_mut().for_each(|angle| *angle = angle.clamp(-limit, limit));
        take(&mut self.servo_target, &targets.servos);
        for (target, servo) in self.servo_target.iter_mut().zip(self.model.servos()) {
            *target = target.clamp(servo.lowest, servo.highest);
        }
    }

    fn steer(&mut self) {
        let servo = self.model.spec().steering;
        let most_rad = servo.rate_deg_s.to_radians() * self.step_s;
        for (wheel, setpoint) in self.steer_setpoint_rad.iter_mut().enumerate() {
            let Some(joint) = self.model.wheels()[wheel].steer_joint else { continue };
            *setpoint += (self.targets.steer_rad[wheel] - *setpoint).clamp(-most_rad, most_rad);
            let (stiffness, damping) = (servo.stiffness_nm, servo.damping_nm_s);
            self.articulation.set_spring(joint, Spring { stiffness, damping, rest: *setpoint, ..Spring::default() });
        }
    }

    fn move_servos(&mut self) {
        let targets = self.servo_target.iter().zip(&mut self.servo_setpoint);
        for (servo, (target, setpoint)) in self.model.servos().iter().zip(targets) {
            let most = match servo.kind {
                ServoKind::Position => servo.rate_rad_s * self.step_s,
                ServoKind::Rate => f64::INFINITY,
            };
            *setpoint += (target - *setpoint).clamp(-most, most);
            self.articulation.set_spring(servo.joint, servo_spring(servo, *setpoint));
        }
    }

    /// Applies the torques of the engine, if there is one, to the wheels. Returns the brake of each wheel by the pedal.
    fn drive_by_engine(&mut self) -> Option<Spring> {
        let (driveline, state) = (self.model.driveline()?, self.driveline.as_mut()?);
        let articulation = &self.articulation;
        let wheels = self.model.wheels().iter().zip(&self.targets.rate_rad_s).zip(&self.wheel_inertia_kg_m2);
        let turning = wheels.map(|((wheel, requested), inertia_kg_m2)| Turning {
            requested_rad_s: wheel.drive_sign * requested,
            rad_s: wheel.drive_sign * articulation.coordinate(wheel.drive_joint).1,
            radius_m: wheel.radius_m,
            inertia_kg_m2: *inertia_kg_m2,
        });
        let turning: Vec<_> = turning.collect();
        let share = driveline.step(state, &turning, self.step_s, &mut self.drive_torque_nm);
        driveline.damp(state, &turning, &mut self.drive_damping_nm_s);
        let brake_nm = driveline.spec().brake_torque_nm;
        Some(Spring { damping: brake_nm / BRAKE_RAD_S, most: share * brake_nm, ..Spring::default() })
    }

    /// Applies the soil's wrench about a wheel's centre, and the torque of its motor or brake.
    fn drive(&mut self, wheel: usize, soil: &Wrench, pedal_brake: Option<Spring>) {
        let of = &self.model.wheels()[wheel];
        let (link, role, to_centre) = (of.link, of.role, self.link_to_centre(of));
        let torque = soil.torque + to_centre.cross(&soil.force);
        self.articulation.add_wrench(link, &Wrench { force: soil.force, torque });
        match role {
            WheelRole::Driven => self.turn(wheel, soil, pedal_brake),
            WheelRole::Free => {}
        }
    }

    fn turn(&mut self, wheel: usize, soil: &Wrench, pedal_brake: Option<Spring>) {
        let of = &self.model.wheels()[wheel];
        let (drive_joint, sign, drive) = (of.drive_joint, of.drive_sign, &of.drive);
        let (angle_rad, joint_rad_s) = self.articulation.coordinate(drive_joint);
        let target_rad_s = sign * self.targets.rate_rad_s[wheel];
        let parked = self.brakes[wheel].hold(drive, target_rad_s, angle_rad, joint_rad_s);
        let (torque_nm, damping_nm_s) = match (parked, pedal_brake) {
            (Some(_), _) => (0.0, 0.0),
            (None, Some(_)) => (self.drive_torque_nm[wheel], self.drive_damping_nm_s[wheel]),
            (None, None) => (self.motor_torque_nm(wheel, soil), 0.0),
        };
        self.articulation.set_spring(drive_joint, parked.or(pedal_brake).unwrap_or_default());
        self.drive_torque_nm[wheel] = torque_nm;
        self.articulation.set_motor(drive_joint, sign * torque_nm);
        self.articulation.damp_motor(drive_joint, damping_nm_s);
    }

    /// Torque of a wheel's own motor, N m, forward positive.
    fn motor_torque_nm(&self, wheel: usize, soil: &Wrench) -> f64 {
        let of = &self.model.wheels()[wheel];
        let axle = self.world_from_wheel(of).rotation * Vector3::y();
        // A motor knows forward and backward; its joint turns as its axis points.
        let load = WheelLoad {
            speed_rad_s: of.drive_sign * self.articulation.coordinate(of.drive_joint).1,
            load_nm: soil.torque.dot(&axle),
            step_per_inertia: self.step_s / self.wheel_inertia_kg_m2[wheel],
        };
        drive::torque_nm(&of.drive, of.drive_sign * self.targets.rate_rad_s[wheel], &load)
    }
}

/// Copies `reported` into `kept`, as far as both reach; NaN keeps the old value.
fn take(kept: &mut [f64], reported: &[f64]) {
    kept.iter_mut()
        .zip(reported)
        .filter(|(_, reported)| !reported.is_nan())
        .for_each(|(kept, reported)| *kept = *reported);
}

/// Springs, stops, rotors and couplings as the rover's YAML has them.
fn hold_joints(articulation: &mut Articulation, model: &RoverModel) {
    for wheel in model.wheels() {
        articulation.set_armature(wheel.drive_joint, wheel.rotor_inertia_kg_m2());
        if let (Some(joint), Some(suspension)) = (wheel.suspension_joint, wheel.suspension) {
            let [stiffness, damping] = suspension.at_wheel();
            articulation.set_spring(joint, Spring { stiffness, damping, ..Spring::default() });
        }
    }
    for passive in model.passive() {
        let (stiffness, damping) = (passive.stiffness_nm, passive.damping_nm_s);
        articulation.set_spring(passive.joint, Spring { stiffness, damping, ..Spring::default() });
        if let Some(limits) = passive.limits_rad {
            articulation.set_stops(passive.joint, limits);
        }
    }
    model.couplings().iter().for_each(|c| articulation.add_coupling(c.joint, c.mirrors, c.ratio));
}

fn servo_spring(servo: &Servo, setpoint: f64) -> Spring {
    let (rest, rest_speed) = match servo.kind {
        ServoKind::Position => (setpoint, 0.0),
        ServoKind::Rate => (0.0, setpoint),
    };
    let (stiffness, damping, most) = (servo.stiffness_nm, servo.damping_nm_s, servo.torque_nm);
    Spring { stiffness, damping, rest, rest_speed, most }
}

/// Refuses a step in which the spring or damper of a tyre would throw its wheel: longer than √(m/k) or m/d.
fn check_tyres(model: &RoverModel, articulation: &Articulation, step_s: f64) -> Result<(), VehicleError> {
    for wheel in model.wheels() {
        let Some(tyre) = &wheel.tyre else { continue };
        let (mass_kg, ..) = articulation.mass_of_link(wheel.link);
        let rim_kg = articulation.inertia_about_joint(wheel.drive_joint) / wheel.radius_m.powi(2);
        let (along, across) = (&tyre.longitudinal, &tyre.lateral);
        let springs = [
            (mass_kg, tyre.radial_stiffness_n_m, tyre.radial_damping_n_s_m),
            (rim_kg, along.stiffness_n_m, along.damping_n_s_m),
            (mass_kg, across.stiffness_n_m, across.damping_n_s_m),
        ];
        let longest_s = springs.into_iter().map(|(kg, k, d)| (kg / k).sqrt().min(kg / d)).fold(f64::INFINITY, f64::min);
        if step_s > longest_s {
            let what = format!(
                "step {step_s} s is not allowed: must be at most {longest_s:.2e} s, or the tyre of {} throws its wheel; \
                 shorten the step, or make the tyre softer or less damped",
                wheel.name
            );
            return Err(VehicleError::Start(what));
        }
    }
    Ok(())
}

fn check_start(world_from_base: &Pose, gravity: &Vector3<f64>, step_s: f64) -> Result<(), VehicleError> {
    let refuse = |what: String| Err(VehicleError::Start(what));
    let q = world_from_base.rotation.coords;
    let numbers = || world_from_base.translation.vector.iter().chain(q.iter());
    if !numbers().all(|v| v.is_finite()) {
        return refuse(format!("pose {world_from_base} is not allowed: must be finite"));
    }
    if !gravity.iter().all(|v| v.is_finite()) {
        return refuse(format!("gravity {gravity:?} is not allowed: must be finite"));
    }
    if !(step_s > 0.0 && step_s <= STEP_MAX_S) {
        return refuse(format!("step {step_s} s is not allowed: must be above 0 and at most {STEP_MAX_S} s"));
    }
    Ok(())
}
