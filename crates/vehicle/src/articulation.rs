//! The multibody step: Featherstone's articulated-body algorithm (Rigid Body
//! Dynamics Algorithms, 2008, table 7.1) with a free base, in f64, semi-implicit
//! Euler in time. Springs, dampers and stops on joints are implicit: the decrease of their
//! force with acceleration ([`crate::spring`]) is added to the joint's articulated inertia,
//! and so is the armature, the rotor's inertia reflected by the gear. Couplings between
//! joints are constraints ([`coupling`]). All spatial quantities are in world axes
//! about the base's origin at the start of the step. Every external force arrives as a
//! wrench for one step; nothing is allocated while stepping.
//!
//! This is our own code, because rapier3d-f64 0.36 gave body speeds one step late (stiff
//! ground then drove wheels to their no-load speed), lost 8e-3 of a tumbling rover's energy
//! in a second where this loses 3e-5, and took 48 µs for a step where this takes 6.

mod coupling;
mod load;
mod readings;

use fearless_simd::{Level, dispatch};
use nalgebra::{Cholesky, Const, Matrix6, UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, Wrench};

use crate::body::{Hinge, LinkBody, RigidBody, bodies};
use crate::model::RoverModel;
use crate::spatial::{Spatial, angular, cross_force, cross_motion, force_at, inertia, linear, spatial};
use crate::spring::{JointForce, Spring, stop_pull};

use coupling::Coupling;
use load::Loads;

/// State of a body and of the joint that it hangs from.
#[derive(Clone, Debug)]
struct State {
    /// Joint position (rad or m) and speed.
    position: f64,
    speed: f64,
    spring: Spring,
    /// Lowest and highest position, beyond which stops act.
    limits: Option<[f64; 2]>,
    /// Reflected inertia of the joint's rotor, kg m².
    armature: f64,
    /// Motor torque or force for the next step, and its decrease per unit of acceleration.
    motor: f64,
    motor_give: f64,
    /// Torque or force of motor, spring and stops in the last step.
    effort: f64,
    /// Power that the joint's dampers dissipated in the last step, W.
    damping_w: f64,
    world_from_body: Pose,
    /// Motion subspace of the joint, zero for the base.
    axis: Spatial,
    velocity: Spatial,
    inertia: Matrix6<f64>,
    /// External force for the next step.
    force: Spatial,
}

/// Intermediate results of a body between the passes of the algorithm.
#[derive(Clone, Debug, Default)]
struct Work {
    inertia: Matrix6<f64>,
    bias: Spatial,
    /// Velocity-product acceleration of the joint.
    carried: Spatial,
    u: Spatial,
    d: f64,
    pull: JointForce,
    drive: f64,
    acceleration: Spatial,
    /// Acceleration of the joint, rad/s² or m/s².
    of_joint: f64,
}

/// The base's articulated inertia, factorised.
type BaseFactor = Cholesky<f64, Const<6>>;

/// The rover's bodies and their motion.
#[derive(Clone, Debug)]
pub(crate) struct Articulation {
    bodies: Vec<RigidBody>,
    seats: Vec<LinkBody>,
    /// Index of the body that each joint of the model leads to; `None` for fixed joints.
    body_of_joint: Vec<Option<usize>>,
    states: Vec<State>,
    work: Vec<Work>,
    couplings: Vec<Coupling>,
    /// Wrenches across the joints, if they are requested.
    loads: Option<Loads>,
    base_twist: Twist,
    gravity_m_s2: Vector3<f64>,
    step_s: f64,
}

impl Articulation {
    /// The rover at rest with joints at zero.
    pub(crate) fn new(model: &RoverModel, world_from_base: &Pose, gravity: &Vector3<f64>, step_s: f64) -> Self {
        let (bodies, seats) = bodies(model);
        let body_of_joint = model.joints().iter().map(|j| j.moves().then(|| seats[j.child].body)).collect();
        let at_rest = State {
            position: 0.0,
            speed: 0.0,
            spring: Spring::default(),
            limits: None,
            armature: 0.0,
            motor: 0.0,
            motor_give: 0.0,
            effort: 0.0,
            damping_w: 0.0,
            world_from_body: *world_from_base,
            axis: Spatial::zeros(),
            velocity: Spatial::zeros(),
            inertia: Matrix6::zeros(),
            force: Spatial::zeros(),
        };
        let mut new = Self {
            states: vec![at_rest; bodies.len()],
            work: vec![Work::default(); bodies.len()],
            couplings: Vec::new(),
            loads: None,
            bodies,
            seats,
            body_of_joint,
            base_twist: Twist::default(),
            gravity_m_s2: *gravity,
            step_s,
        };
        new.place();
        new
    }

    /// Sets a joint's spring and damper.
    pub(crate) fn set_spring(&mut self, joint: usize, spring: Spring) {
        if let Some(body) = self.body_of_joint[joint] {
            self.states[body].spring = spring;
        }
    }

    /// Gives a joint stops at its lowest and highest position.
    pub(crate) fn set_stops(&mut self, joint: usize, limits: [f64; 2]) {
        if let Some(body) = self.body_of_joint[joint] {
            self.states[body].limits = Some(limits);
        }
    }

    /// Adds a rotor's reflected inertia to a joint, kg m².
    pub(crate) fn set_armature(&mut self, joint: usize, armature: f64) {
        if let Some(body) = self.body_of_joint[joint] {
            self.states[body].armature = armature;
        }
    }

    /// Sets a joint's motor force or torque for the next step, which acts equal and opposite on its two bodies.
    pub(crate) fn set_motor(&mut self, joint: usize, motor: f64) {
        if let Some(body) = self.body_of_joint[joint] {
            self.states[body].motor = motor;
        }
    }

    /// Damps a joint's motor in the next step, N m s/rad or N s/m: its torque or force falls by this per unit of speed
    /// that the joint gains.
    pub(crate) fn damp_motor(&mut self, joint: usize, damping: f64) {
        if let Some(body) = self.body_of_joint[joint] {
            self.states[body].motor_give = damping * self.step_s;
        }
    }

    /// Adds a wrench about a link's origin, in world axes, for the next step.
    pub(crate) fn add_wrench(&mut self, link: usize, wrench: &Wrench) {
        let arm = self.world_from_link(link).translation.vector - self.origin();
        self.states[self.seats[link].body].force += force_at(wrench, &arm);
    }

    /// Advances one step and clears the wrenches and motor torques.
    pub(crate) fn step(&mut self) {
        // With the processor's widest vectors: the same operations, and the same bits.
        dispatch!(Level::new(), _ => self.step_inline());
    }

    #[inline(always)]
    fn step_inline(&mut self) {
        self.gather();
        self.fold();
        self.accelerate();
        self.gather_loads();
        self.advance();
        self.place();
    }

    /// First pass: every body's own inertia and bias force.
    #[inline(always)]
    fn gather(&mut self) {
        let origin = self.origin();
        for ((body, state), work) in self.bodies.iter().zip(&self.states).zip(&mut self.work) {
            work.inertia = state.inertia;
            work.bias = bias(body, state, &self.gravity_m_s2, &origin);
            work.carried = cross_motion(&state.velocity, &(state.axis * state.speed));
        }
    }

    /// Second pass, from the tips to the base: adds each body's articulated inertia and bias to its parent's.
    #[inline(always)]
    fn fold(&mut self) {
        let dt = self.step_s;
        for i in (1..self.bodies.len()).rev() {
            let Some(Hinge { parent, .. }) = &self.bodies[i].hinge else { continue };
            let (state, (before, rest)) = (&self.states[i], self.work.split_at_mut(i));
            let (parent, work) = (&mut before[*parent], &mut rest[0]);
            work.u = work.inertia * state.axis;
            let own = state.axis.dot(&work.u) + state.armature + state.motor_give;
            let load = state.motor - state.axis.dot(&work.bias);
            work.pull = hold(state, dt, load, own);
            work.d = own + work.pull.give;
            work.drive = load + work.pull.force;
            // What the parent feels: the inertia less u uᵀ/d, and its force at the carried acceleration. By columns, since
            // temporary matrices would be copied.
            let share = work.u / work.d;
            let mut carried = Spatial::zeros();
            for column in 0..6 {
                let felt = work.inertia.column(column) - work.u * share[column];
                parent.inertia.set_column(column, &(parent.inertia.column(column) + felt));
                carried += felt * work.carried[column];
            }
            parent.bias += work.bias + carried + work.u * (work.drive / work.d);
        }
    }

    /// Third pass, from the base to the tips: accelerations.
    #[inline(always)]
    fn accelerate(&mut self) {
        let base = &mut self.work[0];
        // The base's articulated inertia is positive definite: every mass is above zero.
        let Some(factor) = base.inertia.cholesky() else {
            base.acceleration = Spatial::repeat(f64::NAN);
            return;
        };
        base.acceleration = factor.solve(&-base.bias);
        for i in 1..self.bodies.len() {
            let Some(Hinge { parent, .. }) = &self.bodies[i].hinge else { continue };
            let carried = self.work[*parent].acceleration + self.work[i].carried;
            let work = &mut self.work[i];
            work.of_joint = (work.drive - work.u.dot(&carried)) / work.d;
            work.acceleration = carried + self.states[i].axis * work.of_joint;
        }
        self.couple(&factor);
    }

    /// Moves the base and the joints with their new speeds.
    #[inline(always)]
    fn advance(&mut self) {
        let dt = self.step_s;
        let Twist { linear: v, angular: w } = self.base_twist;
        let base = self.work[0].acceleration;
        // A spatial acceleration is that of a point fixed in space; the origin moves.
        self.base_twist.linear += (linear(&base) + w.cross(&v)) * dt;
        self.base_twist.angular += angular(&base) * dt;
        let pose = &mut self.states[0].world_from_body;
        pose.translation.vector += self.base_twist.linear * dt;
        pose.rotation = UnitQuaternion::new(self.base_twist.angular * dt) * pose.rotation;
        pose.rotation.renormalize();
        for (state, work) in self.states.iter_mut().zip(&self.work) {
            state.speed += work.of_joint * dt;
            state.position += state.speed * dt;
            let give = state.motor_give + work.pull.give;
            state.effort = state.motor + work.pull.force - give * work.of_joint;
            state.damping_w = work.pull.damping * state.speed * state.speed;
            (state.motor, state.motor_give) = (0.0, 0.0);
            state.force = Spatial::zeros();
        }
    }

    /// Moves the base and the joints for one step at their present speeds.
    pub(crate) fn coast(&mut self) {
        let dt = self.step_s;
        let pose = &mut self.states[0].world_from_body;
        pose.translation.vector += self.base_twist.linear * dt;
        pose.rotation = UnitQuaternion::new(self.base_twist.angular * dt) * pose.rotation;
        pose.rotation.renormalize();
        self.states.iter_mut().for_each(|state| state.position += state.speed * dt);
        self.forget_loads();
        self.place();
    }

    /// Computes poses, axes, velocities and inertias from base and joint state.
    #[inline(always)]
    fn place(&mut self) {
        let origin = self.origin();
        for (i, body) in self.bodies.iter().enumerate() {
            if let Some(hinge) = &body.hinge {
                let (parents, rest) = self.states.split_at_mut(i);
                hang(hinge, &parents[hinge.parent], &mut rest[0], &origin);
            } else {
                self.states[i].velocity = spatial(&self.base_twist.angular, &self.base_twist.linear);
            }
            let state = &mut self.states[i];
            let turn = state.world_from_body.rotation.to_rotation_matrix();
            let com = state.world_from_body * nalgebra::Point3::from(body.com_m) - origin;
            let moments = turn * body.inertia_about_com_kg_m2 * turn.transpose();
            state.inertia = inertia(body.mass_kg, &com.coords, &moments);
        }
    }

    /// The reference point of all spatial quantities: the base's origin.
    fn origin(&self) -> Vector3<f64> {
        self.states[0].world_from_body.translation.vector
    }

    /// Sets the poses and velocities of the base and the joints.
    pub(crate) fn put(
        &mut self,
        world_from_base: &Pose,
        base_twist: &Twist,
        joints: impl Iterator<Item = (usize, [f64; 2])>,
    ) {
        let mut is_there = bits_of_base(&self.states[0].world_from_body, &self.base_twist)
            == bits_of_base(world_from_base, base_twist);
        self.states[0].world_from_body = *world_from_base;
        self.base_twist = *base_twist;
        for (joint, [position, speed]) in joints {
            if let Some(body) = self.body_of_joint[joint] {
                let of = &mut self.states[body];
                is_there &= [of.position, of.speed].map(f64::to_bits) == [position, speed].map(f64::to_bits);
                (of.position, of.speed) = (position, speed);
            }
        }
        self.forget_loads();
        // At the start of most heartbeats, the rover is where its last step left it, and all that `place` computes
        // follows from base and joints.
        if !is_there {
            self.place();
        }
    }

    /// Sets the base's twist and each moving joint's speed.
    pub(crate) fn set_velocities(&mut self, base: &Twist, of_joint: impl Fn(usize) -> f64) {
        self.base_twist = *base;
        for (joint, body) in self.body_of_joint.iter().enumerate() {
            if let Some(body) = body {
                self.states[*body].speed = of_joint(joint);
            }
        }
        self.place();
    }
}

/// The bits of the pose and the velocity of the base.
fn bits_of_base(world_from_base: &Pose, twist: &Twist) -> ([u64; 4], [[u64; 3]; 3]) {
    let bits = |vector: Vector3<f64>| <[f64; 3]>::from(vector).map(f64::to_bits);
    let turn = <[f64; 4]>::from(world_from_base.rotation.coords).map(f64::to_bits);
    (turn, [world_from_base.translation.vector, twist.linear, twist.angular].map(bits))
}

/// Bias force of a body: gyroscopic terms less gravity and external forces.
#[inline(always)]
fn bias(body: &RigidBody, state: &State, gravity_m_s2: &Vector3<f64>, origin: &Vector3<f64>) -> Spatial {
    let com = state.world_from_body * nalgebra::Point3::from(body.com_m);
    let weight = Wrench { force: gravity_m_s2 * body.mass_kg, torque: Vector3::zeros() };
    let outer = state.force + force_at(&weight, &(com.coords - origin));
    cross_force(&state.velocity, &(state.inertia * state.velocity)) - outer
}

/// Sum of the forces of a joint's spring and stops, with `load` acting on the joint.
#[inline(always)]
fn hold(state: &State, dt: f64, load: f64, inertia: f64) -> JointForce {
    let spring = state.spring.pull(state.position, state.speed, dt, load, inertia);
    let Some(limits) = state.limits else { return spring };
    let stop = stop_pull(limits, state.position, state.speed, dt);
    let [force, give, damping] = [spring.force + stop.force, spring.give + stop.give, spring.damping + stop.damping];
    JointForce { force, give, damping }
}

/// Places a body by its parent and the joint between them.
#[inline(always)]
fn hang(hinge: &Hinge, parent: &State, state: &mut State, origin: &Vector3<f64>) {
    let at_zero = parent.world_from_body * hinge.parent_from_body_at_zero;
    let axis = at_zero.rotation * hinge.axis.into_inner();
    state.world_from_body = at_zero;
    if hinge.slides {
        state.world_from_body.translation.vector += axis * state.position;
        state.axis = spatial(&Vector3::zeros(), &axis);
    } else {
        state.world_from_body.rotation *= UnitQuaternion::from_axis_angle(&hinge.axis, state.position);
        state.axis = spatial(&axis, &(at_zero.translation.vector - origin).cross(&axis));
    }
    state.velocity = parent.velocity + state.axis * state.speed;
}
