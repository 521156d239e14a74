//! Couplings: one joint mirrors another, `q_a = ratio · q_b`, as a rocker's
//! differential does. Each is a holonomic constraint with a Lagrange multiplier λ,
//! a torque λ on joint a and −ratio · λ on joint b, solved within the step: the
//! factorised articulated inertias give the response of all accelerations to a unit
//! λ (Featherstone 2008, §6.3 and ch. 8), and λ is chosen so that the positions at the
//! step's end satisfy the constraint. It is linear in the positions, so this is exact and
//! removes any drift; torques of a coupling do no work while it holds.
//!
//! Several couplings are solved one after the other: each response is first made
//! orthogonal to the couplings before it (Gram–Schmidt).

use super::{Articulation, BaseFactor, Hinge};
use crate::spatial::Spatial;

/// A coupling between two bodies' joints, with its response in this step.
#[derive(Clone, Debug)]
pub(super) struct Coupling {
    follower: usize,
    leader: usize,
    ratio: f64,
    of_base: Spatial,
    /// Acceleration of each body's joint for a unit multiplier.
    of_joints: Vec<f64>,
    /// Each body's spatial force, then its acceleration, while the response is computed.
    spatial: Vec<Spatial>,
}

impl Coupling {
    /// Change of the constraint for a rate of each joint, given by `of_joint`.
    fn change(&self, of_joint: impl Fn(usize) -> f64) -> f64 {
        of_joint(self.follower) - self.ratio * of_joint(self.leader)
    }

    /// Torque on body `i`'s joint for a unit multiplier.
    fn torque(&self, i: usize) -> f64 {
        f64::from(u8::from(i == self.follower)) - self.ratio * f64::from(u8::from(i == self.leader))
    }

    /// Subtracts the part of the response that would change the coupling `before`.
    fn free_of(&mut self, before: &Self) {
        let share = before.change(|i| self.of_joints[i]) / before.change(|i| before.of_joints[i]);
        self.of_base -= before.of_base * share;
        self.of_joints.iter_mut().zip(&before.of_joints).for_each(|(mine, theirs)| *mine -= share * theirs);
    }
}

impl Articulation {
    /// Constrains joint `follower` to `ratio` times the position of joint `leader`.
    pub(crate) fn add_coupling(&mut self, follower: usize, leader: usize, ratio: f64) {
        let bodies = self.bodies.len();
        if let (Some(follower), Some(leader)) = (self.body_of_joint[follower], self.body_of_joint[leader]) {
            self.couplings.push(Coupling {
                follower,
                leader,
                ratio,
                of_base: Spatial::zeros(),
                of_joints: vec![0.0; bodies],
                spatial: vec![Spatial::zeros(); bodies],
            });
        }
    }

    /// Adds the couplings' part to the accelerations.
    pub(super) fn couple(&mut self, base: &BaseFactor) {
        let mut couplings = std::mem::take(&mut self.couplings);
        for i in 0..couplings.len() {
            let (before, rest) = couplings.split_at_mut(i);
            let coupling = &mut rest[0];
            self.respond(coupling, base);
            before.iter().for_each(|earlier| coupling.free_of(earlier));
            self.enforce(coupling);
        }
        self.couplings = couplings;
    }

    /// The accelerations that a unit multiplier causes.
    fn respond(&self, coupling: &mut Coupling, base: &BaseFactor) {
        coupling.spatial.fill(Spatial::zeros());
        for i in (1..self.bodies.len()).rev() {
            let Some(Hinge { parent, .. }) = &self.bodies[i].hinge else { continue };
            let work = &self.work[i];
            let drive = coupling.torque(i) - self.states[i].axis.dot(&coupling.spatial[i]);
            coupling.of_joints[i] = drive;
            let passed_on = coupling.spatial[i] + work.u * (drive / work.d);
            coupling.spatial[*parent] += passed_on;
        }
        coupling.of_base = base.solve(&-coupling.spatial[0]);
        coupling.spatial[0] = coupling.of_base;
        for i in 1..self.bodies.len() {
            let Some(Hinge { parent, .. }) = &self.bodies[i].hinge else { continue };
            let (work, carried) = (&self.work[i], coupling.spatial[*parent]);
            coupling.of_joints[i] = (coupling.of_joints[i] - work.u.dot(&carried)) / work.d;
            coupling.spatial[i] = carried + self.states[i].axis * coupling.of_joints[i];
        }
    }

    /// Adds the multiple of the response with which the positions at the step's end satisfy the constraint.
    fn enforce(&mut self, coupling: &Coupling) {
        let dt = self.step_s;
        let end = |i: usize| self.states[i].position + dt * (self.states[i].speed + dt * self.work[i].of_joint);
        let multiplier = -coupling.change(end) / (dt * dt * coupling.change(|i| coupling.of_joints[i]));
        self.work[0].acceleration += coupling.of_base * multiplier;
        for (work, response) in self.work.iter_mut().zip(&coupling.of_joints) {
            work.of_joint += response * multiplier;
        }
    }
}
