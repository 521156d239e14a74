//! Joint loads: the wrench across each joint, by the recursive Newton–Euler algorithm (Featherstone 2008,
//! §5.3) on the accelerations of the step, couplings included. From the tips to the base, the joint of body i
//! transmits the force that moves the body and its children, less the external forces on them:
//! f_i = I_i a_i + v_i ×* I_i v_i − f_outer,i + Σ f_children. Each joint of a coupling carries the coupling's
//! torque; the mechanism between them, a differential's gears or bar, has no body here. A motor's rotor is on the
//! carrier's side: a joint's axis carries the motor's torque less the torque that accelerates its rotor.
//!
//! Loads are only computed on request; the step itself does not need them.

use selene_base::Wrench;

use super::{Articulation, Hinge, bias};
use crate::spatial::{Spatial, angular, linear};

/// Loads of the joints in the last step.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads {
    acceleration: Vec<Spatial>,
    across: Vec<Spatial>,
    /// Wrench of each body on the body that carries it, in its own axes about its origin. Empty if the bodies'
    /// state was set and not yet stepped.
    on_carrier: Vec<Wrench>,
}

impl Articulation {
    /// Lets each step compute the joint loads.
    pub(crate) fn find_loads(&mut self) {
        self.loads.get_or_insert_with(Loads::default);
    }

    /// The wrench that the body of a moving joint put on the one that carries it in the last step, in its own axes
    /// about its origin; `None` for a fixed joint, when loads are not asked for, and before a step.
    pub(crate) fn load_of_joint(&self, joint: usize) -> Option<Wrench> {
        self.loads.as_ref()?.on_carrier.get(self.body_of_joint[joint]?).copied()
    }

    /// Clears the joint loads.
    pub(super) fn forget_loads(&mut self) {
        if let Some(loads) = &mut self.loads {
            loads.on_carrier.clear();
        }
    }

    /// Computes the joint loads of the current step, after its accelerations and before its motion.
    pub(super) fn gather_loads(&mut self) {
        let Some(mut loads) = self.loads.take() else { return };
        self.spread_accelerations(&mut loads.acceleration);
        self.sum_forces(&loads.acceleration, &mut loads.across);
        loads.on_carrier.clear();
        loads.on_carrier.extend((0..self.bodies.len()).map(|i| self.on_carrier(i, &loads.across[i])));
        self.loads = Some(loads);
    }

    /// Each body's acceleration, from the base outwards.
    fn spread_accelerations(&self, acceleration: &mut Vec<Spatial>) {
        acceleration.clear();
        for (i, (body, work)) in self.bodies.iter().zip(&self.work).enumerate() {
            let of_body = match &body.hinge {
                Some(Hinge { parent, .. }) => {
                    acceleration[*parent] + work.carried + self.states[i].axis * work.of_joint
                }
                None => work.acceleration,
            };
            acceleration.push(of_body);
        }
    }

    /// The force on each body across its joint, from the tips to the base; that on the free base is zero.
    fn sum_forces(&self, acceleration: &[Spatial], across: &mut Vec<Spatial>) {
        let origin = self.origin();
        let own = self.bodies.iter().zip(&self.states).zip(acceleration);
        across.clear();
        across.extend(own.map(|((body, state), acceleration)| {
            state.inertia * acceleration + bias(body, state, &self.gravity_m_s2, &origin)
        }));
        for i in (1..self.bodies.len()).rev() {
            let Some(Hinge { parent, .. }) = &self.bodies[i].hinge else { continue };
            let of_child = across[i];
            across[*parent] += of_child;
        }
    }

    /// The opposite of the force `across` a body's joint, in the body's axes about its origin.
    fn on_carrier(&self, body: usize, across: &Spatial) -> Wrench {
        let pose = &self.states[body].world_from_body;
        let arm = pose.translation.vector - self.origin();
        let force = linear(across);
        let torque = angular(across) - arm.cross(&force);
        let body_from_world = pose.rotation.inverse();
        Wrench { force: -(body_from_world * force), torque: -(body_from_world * torque) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use nalgebra::Vector3;
    use selene_base::{Pose, Wrench};

    use super::super::{Articulation, State};
    use crate::model::RoverModel;

    /// Sums of some dozen forces of up to 1e4 N and their moments in doubles.
    const ROUNDING: f64 = 1e-8;
    const STEP_S: f64 = 5e-4;

    /// A tumbling rover: thrown, driven at every joint, pushed at every link, with the couplings of its file.
    fn tumbling(name: &str) -> (Arc<RoverModel>, Articulation) {
        let yaml = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../config/rover/{name}.yaml"));
        let model = Arc::new(RoverModel::load(&yaml).unwrap_or_else(|e| panic!("{e}")));
        let gravity = Vector3::new(0.1, -0.3, -1.62);
        let mut bodies = Articulation::new(&model, &Pose::identity(), &gravity, STEP_S);
        model.couplings().iter().for_each(|c| bodies.add_coupling(c.joint, c.mirrors, c.ratio));
        bodies.find_loads();
        let twist = selene_base::Twist { linear: Vector3::new(0.2, 0.1, -0.3), angular: Vector3::new(0.5, -0.4, 0.3) };
        bodies.set_velocities(&twist, |_| 0.0);
        (model, bodies)
    }

    fn push(model: &RoverModel, bodies: &mut Articulation) {
        for (link, sign) in (0..model.links().len()).zip([1.0, -2.0, 0.5].into_iter().cycle()) {
            let force = Vector3::new(3.0, -7.0, 11.0) * sign;
            bodies.add_wrench(link, &Wrench { force, torque: Vector3::new(-1.0, 2.0, 0.7) * sign });
        }
        for (joint, sign) in (0..model.joints().len()).zip([1.0, -1.0].into_iter().cycle()) {
            bodies.set_motor(joint, 0.5 * sign);
        }
    }

    #[test]
    fn nothing_is_left_for_the_free_base_with_and_without_couplings() {
        for name in ["viper", "curiosity", "rassor"] {
            let (model, mut bodies) = tumbling(name);
            for _ in 0..20 {
                push(&model, &mut bodies);
                bodies.step();
                let loads = bodies.loads.as_ref().expect("requested");
                let largest = loads.across.iter().map(|force| force.amax()).fold(1.0, f64::max);
                assert!(loads.across[0].amax() < ROUNDING * largest, "{name}: {} of {largest}", loads.across[0]);
            }
        }
    }

    #[test]
    fn putting_bodies_where_they_are_changes_no_bit() {
        for name in ["viper", "curiosity", "rassor"] {
            let (model, mut bodies) = tumbling(name);
            push(&model, &mut bodies);
            bodies.step();
            let (pose, twist) = bodies.base();
            let joint = |&joint: &usize| (joint, bodies.coordinate(joint).into());
            let joints: Vec<_> = model.moving_joints().iter().map(joint).collect();
            let mut placed = bodies.clone();
            placed.place();
            bodies.put(&pose, &twist, joints.into_iter());
            let same = |(a, b): (&State, &State)| {
                (a.world_from_body, a.axis, a.velocity, a.inertia) == (b.world_from_body, b.axis, b.velocity, b.inertia)
            };
            assert!(bodies.states.iter().zip(&placed.states).all(same), "{name}");
        }
    }

    #[test]
    fn along_its_axis_a_joint_without_rotor_and_coupling_carries_its_effort() {
        for name in ["viper", "rassor"] {
            let (model, mut bodies) = tumbling(name);
            assert!(model.couplings().is_empty(), "{name}");
            push(&model, &mut bodies);
            bodies.step();
            for &joint in model.moving_joints() {
                let load = bodies.load_of_joint(joint).expect("found");
                let of = &model.joints()[joint];
                let slides = of.kind == crate::shape::JointKind::Prismatic;
                let along = of.axis.dot(if slides { &load.force } else { &load.torque });
                let effort = bodies.effort(joint);
                assert!((along + effort).abs() < ROUNDING * (1.0 + effort.abs()), "{name} {}: {along}", of.name);
            }
        }
    }

    #[test]
    fn a_step_is_the_same_to_the_bit_when_loads_are_found() {
        let (model, mut with) = tumbling("curiosity");
        let mut without = with.clone();
        without.loads = None;
        for _ in 0..20 {
            for bodies in [&mut with, &mut without] {
                push(&model, bodies);
                bodies.step();
            }
        }
        assert_eq!(with.base(), without.base());
        let reported =
            |bodies: &Articulation| model.moving_joints().iter().map(|&j| bodies.coordinate(j)).collect::<Vec<_>>();
        assert_eq!(reported(&with), reported(&without));
        assert!(without.load_of_joint(model.moving_joints()[0]).is_none());
    }
}
