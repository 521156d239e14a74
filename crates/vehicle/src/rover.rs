//! A rover's state and its step. Soil and other ground forces come from outside as
//! wrenches; the rover adds its drives' torques (equal and opposite on wheel and
//! mount), moves its steering servos' targets at their rate, and lets the multibody
//! step with implicit springs on suspension and steering. Same inputs, same bytes.

use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::{Pose, Twist, Wrench};

use crate::VehicleError;
use crate::articulation::Articulation;
use crate::contact::{Body, Mobility};
use crate::drive::{self, WheelLoad};
use crate::model::RoverModel;
use crate::steering::WheelTargets;

/// Longest step taken, s: the suspension's own motion is faster.
const STEP_MAX_S: f64 = 0.02;

/// A rover in motion.
pub struct Rover {
    model: Arc<RoverModel>,
    articulation: Articulation,
    step_s: f64,
    targets: WheelTargets,
    /// Where each steering servo's moving target is, rad.
    steer_setpoint_rad: Vec<f64>,
    drive_torque_nm: Vec<f64>,
    /// Inertia of each wheel about its axle, kg m².
    wheel_inertia_kg_m2: Vec<f64>,
}

/// What everything that is driven should do, as it stands until told otherwise.
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

/// The outer forces of one step, in world axes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forces<'a> {
    /// Each wheel's wrench about its centre.
    pub soil_on_wheel: &'a [Wrench],
    /// Links by index and the wrench on each about the link's origin; a link may
    /// come more than once.
    pub on_links: &'a [(usize, Wrench)],
}

/// How a wheel moves, for the soil.
#[derive(Clone, Copy, Debug)]
pub struct WheelMotion {
    /// The wheel's centre and attitude; y is the axle, the wheel turns about it.
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
    /// 0.02 s.
    pub fn new(
        model: &Arc<RoverModel>,
        world_from_base: Pose,
        gravity: Vector3<f64>,
        step_s: f64,
    ) -> Result<Self, VehicleError> {
        check_start(&world_from_base, &gravity, step_s)?;
        let articulation = Articulation::new(model, &world_from_base, &gravity, step_s);
        let wheels = model.wheels().len();
        let inertia = |w: &crate::Wheel| articulation.inertia_about_joint(w.drive_joint);
        let mut rover = Self {
            wheel_inertia_kg_m2: model.wheels().iter().map(inertia).collect(),
            model: Arc::clone(model),
            articulation,
            step_s,
            targets: WheelTargets::rest(wheels),
            steer_setpoint_rad: vec![0.0; wheels],
            drive_torque_nm: vec![0.0; wheels],
        };
        rover.set_springs();
        Ok(rover)
    }

    /// Advances one step. A target that is NaN or missing leaves the last one in
    /// force; a link that the rover does not have takes no wrench.
    pub fn step(&mut self, targets: &Targets, forces: &Forces) {
        self.take_targets(&targets.wheels);
        self.steer();
        for (link, wrench) in forces.on_links.iter().filter(|(link, _)| *link < self.model.links().len()) {
            self.articulation.add_wrench(*link, wrench);
        }
        for wheel in 0..self.model.wheels().len() {
            let soil = forces.soil_on_wheel.get(wheel).copied().unwrap_or_default();
            self.drive(wheel, &soil);
        }
        self.articulation.step();
    }

    fn take_targets(&mut self, targets: &WheelTargets) {
        let limit = self.model.spec().steering.limit_deg.to_radians();
        let numbers =
            |values: &[f64]| values.iter().copied().enumerate().filter(|(_, v)| !v.is_nan()).collect::<Vec<_>>();
        for (wheel, rate) in numbers(&targets.rate_rad_s).into_iter().take(self.targets.rate_rad_s.len()) {
            self.targets.rate_rad_s[wheel] = rate;
        }
        for (wheel, angle) in numbers(&targets.steer_rad).into_iter().take(self.targets.steer_rad.len()) {
            self.targets.steer_rad[wheel] = angle.clamp(-limit, limit);
        }
    }

    fn steer(&mut self) {
        let servo = self.model.spec().steering;
        let most_rad = servo.rate_deg_s.to_radians() * self.step_s;
        for (wheel, setpoint) in self.steer_setpoint_rad.iter_mut().enumerate() {
            let Some(joint) = self.model.wheels()[wheel].steer_joint else { continue };
            *setpoint += (self.targets.steer_rad[wheel] - *setpoint).clamp(-most_rad, most_rad);
            self.articulation.set_spring(joint, servo.stiffness_nm, servo.damping_nm_s, *setpoint);
        }
    }

    fn set_springs(&mut self) {
        let suspension = self.model.spec().suspension;
        for joint in self.model.wheels().iter().filter_map(|w| w.suspension_joint) {
            self.articulation.set_spring(joint, suspension.stiffness_n_m, suspension.damping_n_s_m, 0.0);
        }
        self.steer();
    }

    fn drive(&mut self, wheel: usize, soil: &Wrench) {
        let &crate::Wheel { link, drive_joint, .. } = &self.model.wheels()[wheel];
        let axle = self.articulation.world_from_link(link).rotation * Vector3::y();
        let load = WheelLoad {
            speed_rad_s: self.articulation.coordinate(drive_joint).1,
            load_nm: soil.torque.dot(&axle),
            step_per_inertia: self.step_s / self.wheel_inertia_kg_m2[wheel],
        };
        let torque_nm = drive::torque_nm(&self.model.spec().drive, self.targets.rate_rad_s[wheel], &load);
        self.drive_torque_nm[wheel] = torque_nm;
        self.articulation.add_wrench(link, soil);
        self.articulation.set_motor(drive_joint, torque_nm);
    }

    /// The rover's description.
    #[must_use]
    pub fn model(&self) -> &Arc<RoverModel> {
        &self.model
    }

    /// How each wheel moves, in the order of [`RoverModel::wheels`].
    #[must_use]
    pub fn wheel_motions(&self) -> Vec<WheelMotion> {
        self.model.wheels().iter().map(|wheel| self.wheel_motion(wheel.link)).collect()
    }

    fn wheel_motion(&self, link: usize) -> WheelMotion {
        let Twist { linear, angular } = self.articulation.twist_of_link(link);
        WheelMotion { world_from_wheel: self.articulation.world_from_link(link), linear, angular }
    }

    /// A link as contacts see it.
    #[must_use]
    pub fn body_of_link(&self, link: usize) -> Body {
        let (mass_kg, centre_m, inertia) = self.articulation.mass_of_link(link);
        let Twist { linear, angular } = self.articulation.twist_of_link(link);
        Body {
            world_from_body: self.articulation.world_from_link(link),
            linear_m_s: linear,
            angular_rad_s: angular,
            mobility: Mobility::new(mass_kg, centre_m, &inertia),
        }
    }

    /// Poses of all links, in the order of [`RoverModel::links`].
    #[must_use]
    pub fn world_from_links(&self) -> Vec<Pose> {
        (0..self.model.links().len()).map(|link| self.articulation.world_from_link(link)).collect()
    }

    /// Pose of the base link.
    #[must_use]
    pub fn world_from_base(&self) -> Pose {
        self.articulation.world_from_link(0)
    }

    /// Velocity of the base link's origin and its turn rate, in world axes.
    #[must_use]
    pub fn base_twist(&self) -> Twist {
        self.articulation.twist_of_link(0)
    }

    /// States of the moving joints, in the order of [`RoverModel::moving_joints`].
    #[must_use]
    pub fn joint_states(&self) -> Vec<JointState> {
        self.model.moving_joints().iter().map(|&joint| self.joint_state(joint)).collect()
    }

    fn joint_state(&self, joint: usize) -> JointState {
        let (position, velocity) = self.articulation.coordinate(joint);
        let wheels = self.model.wheels();
        let effort = wheels.iter().enumerate().find_map(|(i, wheel)| {
            let spec = self.model.spec();
            if wheel.drive_joint == joint {
                Some(self.drive_torque_nm[i])
            } else if wheel.steer_joint == Some(joint) {
                let error = position - self.steer_setpoint_rad[i];
                Some(-spec.steering.stiffness_nm * error - spec.steering.damping_nm_s * velocity)
            } else if wheel.suspension_joint == Some(joint) {
                Some(-spec.suspension.stiffness_n_m * position - spec.suspension.damping_n_s_m * velocity)
            } else {
                None
            }
        });
        JointState { position, velocity, effort: effort.unwrap_or(0.0) }
    }

    /// Torque of each wheel's drive during the last step, N m.
    #[must_use]
    pub fn drive_torques_nm(&self) -> &[f64] {
        &self.drive_torque_nm
    }

    /// Steering angle of each wheel, rad; zero for one that is not steered.
    #[must_use]
    pub fn steer_angles_rad(&self) -> Vec<f64> {
        let angle = |joint: Option<usize>| joint.map_or(0.0, |j| self.articulation.coordinate(j).0);
        self.model.wheels().iter().map(|wheel| angle(wheel.steer_joint)).collect()
    }

    /// Kinetic energy, J.
    #[must_use]
    pub fn kinetic_energy_j(&self) -> f64 {
        self.articulation.kinetic_energy_j()
    }

    /// Angular momentum about the world's origin, N m s.
    #[must_use]
    pub fn angular_momentum_nms(&self) -> Vector3<f64> {
        self.articulation.angular_momentum_nms()
    }

    /// Whether every pose and velocity is a finite number.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.articulation.is_finite()
    }

    /// Throws the rover: the base link's velocity and turn rate in world axes, and the
    /// speed of each moving joint by its index.
    pub fn set_velocities(&mut self, base: &Twist, of_joint: impl Fn(usize) -> f64) {
        self.articulation.set_velocities(base, of_joint);
    }
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
