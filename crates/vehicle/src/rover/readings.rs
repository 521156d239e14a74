//! Accessors of a rover: poses, motion, joints, drives, encoders, energy.

use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, Wrench};

use super::{JointState, Rover, WheelKinematics};
use crate::contact::{ContactBody, Mobility};
use crate::drive::{self, DrivePower};
use crate::driveline::DrivelineState;
use crate::encoder;
use crate::model::{RoverModel, Wheel};
use crate::spec::SuspensionSpec;

impl Rover {
    /// The rover's description.
    #[must_use]
    pub fn model(&self) -> &Arc<RoverModel> {
        &self.model
    }

    /// How each wheel moves, in the order of [`RoverModel::wheels`].
    #[must_use]
    pub fn wheel_motions(&self) -> Vec<WheelKinematics> {
        self.model.wheels().iter().map(|wheel| self.wheel_motion(wheel)).collect()
    }

    fn wheel_motion(&self, wheel: &Wheel) -> WheelKinematics {
        let Twist { linear, angular } = self.articulation.twist_of_link(wheel.link);
        let linear = linear + angular.cross(&self.link_to_centre(wheel));
        WheelKinematics { world_from_wheel: self.world_from_wheel(wheel), linear, angular }
    }

    /// From the origin of a wheel's link to the wheel's centre, world axes.
    pub(super) fn link_to_centre(&self, wheel: &Wheel) -> Vector3<f64> {
        self.articulation.world_from_link(wheel.link).rotation * wheel.link_from_wheel.translation.vector
    }

    /// Pose of a wheel's own frame, whose y is the axle.
    pub(super) fn world_from_wheel(&self, wheel: &Wheel) -> Pose {
        let mut pose = self.articulation.world_from_link(wheel.link) * wheel.link_from_wheel;
        if let Some(leaned) = self.leaned(wheel) {
            pose.rotation = leaned * pose.rotation;
        }
        pose
    }

    /// A wheel as input of contacts: its link, about the wheel's centre.
    #[must_use]
    pub fn body_of_wheel(&self, wheel: &Wheel) -> ContactBody {
        let mut body = self.body_of_link(wheel.link);
        let to_centre = self.link_to_centre(wheel);
        body.world_from_body.translation.vector += to_centre;
        body.linear_m_s += body.angular_rad_s.cross(&to_centre);
        body
    }

    /// The turn, in world axes, by which a wheel's linkage leans it and turns it inward.
    fn leaned(&self, wheel: &Wheel) -> Option<UnitQuaternion<f64>> {
        let suspension = wheel.suspension.filter(SuspensionSpec::leans)?;
        let (position, _) = self.articulation.coordinate(wheel.suspension_joint?);
        let side = if wheel.centre_in_base_m.y < 0.0 { -1.0 } else { 1.0 };
        let turns_rad = suspension.camber_and_toe_rad(wheel.suspension_sign * position).map(|rad| -side * rad);
        let turn = UnitQuaternion::from_euler_angles(turns_rad[0], 0.0, turns_rad[1]);
        let carrier = self.model.joints()[wheel.drive_joint].parent;
        let world_from_base = self.articulation.world_from_link(carrier).rotation * wheel.carrier_from_base;
        Some(world_from_base * turn * world_from_base.inverse())
    }

    /// A link as input of contacts.
    #[must_use]
    pub fn body_of_link(&self, link: usize) -> ContactBody {
        let (mass_kg, centre_m, inertia) = self.articulation.mass_of_link(link);
        let Twist { linear, angular } = self.articulation.twist_of_link(link);
        ContactBody {
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

    /// Pose of a link, velocity of its origin and its turn rate, in world axes; `None`
    /// when the rover has no such link.
    #[must_use]
    pub fn link_motion(&self, link: usize) -> Option<(Pose, Twist)> {
        let known = link < self.model.links().len();
        known.then(|| (self.articulation.world_from_link(link), self.articulation.twist_of_link(link)))
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

    /// States of the moving joints, in the order of [`RoverModel::moving_joints`], each about its own
    /// axis as the URDF has it.
    #[must_use]
    pub fn joint_states(&self) -> Vec<JointState> {
        self.model.moving_joints().iter().map(|&joint| self.joint_state(joint)).collect()
    }

    /// States of the servos' joints, in the order of [`RoverModel::servos`].
    #[must_use]
    pub fn servo_states(&self) -> Vec<JointState> {
        self.model.servos().iter().map(|servo| self.joint_state(servo.joint)).collect()
    }

    fn joint_state(&self, joint: usize) -> JointState {
        let (position, velocity) = self.articulation.coordinate(joint);
        JointState { position, velocity, effort: self.articulation.effort(joint) }
    }

    /// Lets each later step compute the joint loads; see [`Self::joint_load`].
    pub fn find_joint_loads(&mut self) {
        self.articulation.find_loads();
    }

    /// The wrench that the child link of a joint put on the link that carries it in the last step: in the child's
    /// axes, about its origin. `None` for a joint that is fixed or not there, while loads are not asked for, and
    /// before the first step after the rover was put somewhere.
    #[must_use]
    pub fn joint_load(&self, joint: usize) -> Option<Wrench> {
        (joint < self.model.joints().len()).then(|| self.articulation.load_of_joint(joint)).flatten()
    }

    /// Torque of each wheel's drive during the last step, N m, forward positive.
    #[must_use]
    pub fn drive_torques_nm(&self) -> &[f64] {
        &self.drive_torque_nm
    }

    /// Engine and gear, where the rover has a driveline.
    #[must_use]
    pub fn driveline(&self) -> Option<&DrivelineState> {
        self.driveline.as_ref()
    }

    /// Current of each wheel's motor during the last step, A, forward positive; `None` for one
    /// whose torque constant is not given, and where an engine drives.
    #[must_use]
    pub fn motor_currents_a(&self) -> Vec<Option<f64>> {
        let current = |(wheel, torque_nm): (&Wheel, &f64)| {
            let motor_nm = drive::motor_torque_nm(&wheel.drive, *torque_nm, self.wheel_speed(wheel));
            let constant = wheel.drive.torque_constant_nm_a.filter(|_| self.driveline.is_none());
            constant.map(|constant| motor_nm / constant)
        };
        self.model.wheels().iter().zip(&self.drive_torque_nm).map(current).collect()
    }

    /// Power of each wheel's drive; none of it is electrical where an engine drives.
    #[must_use]
    pub fn drive_power_w(&self) -> Vec<DrivePower> {
        let power = |(wheel, torque_nm): (&Wheel, &f64)| {
            let power = drive::power(&wheel.drive, *torque_nm, self.wheel_speed(wheel));
            let electrical_w = if self.driveline.is_some() { 0.0 } else { power.electrical_w };
            DrivePower { electrical_w, ..power }
        };
        self.model.wheels().iter().zip(&self.drive_torque_nm).map(power).collect()
    }

    /// Turn rate of a wheel's drive, rad/s, forward positive.
    fn wheel_speed(&self, wheel: &Wheel) -> f64 {
        wheel.drive_sign * self.articulation.coordinate(wheel.drive_joint).1
    }

    /// Angle of each wheel's drive joint as its encoder measures it, rad about that joint's own axis;
    /// [`encoder::rates_rad_s`] converts angles to rates.
    #[must_use]
    pub fn encoder_positions_rad(&self) -> Vec<f64> {
        let reported = |wheel: &Wheel| {
            let (angle_rad, _) = self.articulation.coordinate(wheel.drive_joint);
            encoder::quantised_rad(angle_rad, wheel.drive.encoder_counts_per_turn)
        };
        self.model.wheels().iter().map(reported).collect()
    }

    /// Angle of each wheel's steering joint about its own axis, rad; zero for one that is not steered.
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

    /// Gravitational energy, zero at the world's origin, plus that of the joints' springs,
    /// J.
    #[must_use]
    pub fn potential_energy_j(&self) -> f64 {
        self.articulation.potential_energy_j()
    }

    /// Power that dampers on joints dissipated in the last step, W.
    #[must_use]
    pub fn damping_power_w(&self) -> f64 {
        self.articulation.damping_power_w()
    }

    /// Angular momentum about the world's origin, N m s. A motor's rotor has its
    /// share of energy and of its joint's inertia, not of this.
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
