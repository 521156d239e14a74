//! Accessors of the articulation's state: joints, poses, motion, energy, momentum.

use nalgebra::{Matrix3, Vector3};
use selene_base::{Pose, Twist};

use super::{Articulation, LinkBody, RigidBody, State};
use crate::spatial::{Spatial, angular, linear};
use crate::spring::stop_energy_j;

impl Articulation {
    /// Position (rad or m) and speed of a joint; zero for a fixed one.
    pub(crate) fn coordinate(&self, joint: usize) -> (f64, f64) {
        self.body_of_joint[joint].map(|body| (self.states[body].position, self.states[body].speed)).unwrap_or_default()
    }

    /// Pose and twist of the base, exactly as stored.
    pub(crate) fn base(&self) -> (Pose, Twist) {
        (self.states[0].world_from_body, self.base_twist)
    }

    /// Force or torque that a joint's motor, spring and stops exerted in the last step.
    pub(crate) fn effort(&self, joint: usize) -> f64 {
        self.body_of_joint[joint].map_or(0.0, |body| self.states[body].effort)
    }

    #[inline]
    pub(crate) fn world_from_link(&self, link: usize) -> Pose {
        let LinkBody { body, body_from_link, is_first } = &self.seats[link];
        let world_from_body = self.states[*body].world_from_body;
        if *is_first { world_from_body } else { world_from_body * body_from_link }
    }

    /// Velocity of a link's origin and turn rate of the link, in world axes.
    pub(crate) fn twist_of_link(&self, link: usize) -> Twist {
        let arm = self.world_from_link(link).translation.vector - self.origin();
        let velocity = &self.states[self.seats[link].body].velocity;
        let angular = angular(velocity);
        Twist { linear: linear(velocity) + angular.cross(&arm), angular }
    }

    /// Inertia about a joint's axis of the body that it leads to and of its rotor, kg m²; for a prismatic joint,
    /// the mass, kg.
    pub(crate) fn inertia_about_joint(&self, joint: usize) -> f64 {
        self.body_of_joint[joint]
            .map_or(0.0, |body| self.bodies[body].inertia_about_hinge() + self.states[body].armature)
    }

    /// Mass, centre of mass, and inertia about it of the body that a link is part of, world axes, kg, m, kg m².
    pub(crate) fn mass_of_link(&self, link: usize) -> (f64, Vector3<f64>, Matrix3<f64>) {
        let index = self.seats[link].body;
        let (body, pose) = (&self.bodies[index], &self.states[index].world_from_body);
        let turn = pose.rotation.to_rotation_matrix();
        let centre = pose * nalgebra::Point3::from(body.com_m);
        (body.mass_kg, centre.coords, turn * body.inertia_about_com_kg_m2 * turn.transpose())
    }

    /// Kinetic energy of all bodies and rotors, J.
    pub(crate) fn kinetic_energy_j(&self) -> f64 {
        let of_body = |s: &State| s.velocity.dot(&(s.inertia * s.velocity)) + s.armature * s.speed * s.speed;
        self.states.iter().map(|s| 0.5 * of_body(s)).sum()
    }

    /// Gravitational energy, zero at the world's origin, plus that of springs, J.
    pub(crate) fn potential_energy_j(&self) -> f64 {
        let weight = |(body, state): (&RigidBody, &State)| {
            let com = state.world_from_body * nalgebra::Point3::from(body.com_m);
            -body.mass_kg * self.gravity_m_s2.dot(&com.coords)
        };
        let spring = |s: &State| s.spring.energy_j(s.position) + s.limits.map_or(0.0, |l| stop_energy_j(l, s.position));
        self.bodies.iter().zip(&self.states).map(weight).sum::<f64>() + self.states.iter().map(spring).sum::<f64>()
    }

    /// Power that the joints' dampers dissipated in the last step, W.
    pub(crate) fn damping_power_w(&self) -> f64 {
        self.states.iter().map(|state| state.damping_w).sum()
    }

    /// Angular momentum of all bodies about the world's origin, N m s.
    pub(crate) fn angular_momentum_nms(&self) -> Vector3<f64> {
        let momentum: Spatial = self.states.iter().map(|s| s.inertia * s.velocity).sum();
        angular(&momentum) + self.origin().cross(&linear(&momentum))
    }

    /// Whether every position and speed is a finite number.
    pub(crate) fn is_finite(&self) -> bool {
        let finite = |s: &State| {
            let pose = s.world_from_body.to_homogeneous();
            s.position.is_finite() && pose.iter().chain(s.velocity.iter()).all(|v| v.is_finite())
        };
        self.states.iter().all(finite)
    }
}
