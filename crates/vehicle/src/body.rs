//! The rigid bodies of a rover: links that fixed joints hold together are one body,
//! with their masses, centres and inertias summed; each other joint leads to a body
//! of its own. A body's frame is that of its first link.

use nalgebra::{Matrix3, Unit, Vector3};
use selene_base::Pose;

use crate::model::RoverModel;
use crate::shape::{Inertial, Joint, JointKind};
use crate::spatial::parallel_axis;

/// A rigid body and the joint that it hangs from.
#[derive(Clone, Debug)]
pub(crate) struct RigidBody {
    pub(crate) mass_kg: f64,
    pub(crate) com_m: Vector3<f64>,
    pub(crate) inertia_about_com_kg_m2: Matrix3<f64>,
    /// The joint that the body hangs from; `None` for the base.
    pub(crate) hinge: Option<Hinge>,
}

/// A moving joint between two bodies.
#[derive(Clone, Debug)]
pub(crate) struct Hinge {
    pub(crate) parent: usize,
    pub(crate) parent_from_body_at_zero: Pose,
    pub(crate) axis: Unit<Vector3<f64>>,
    pub(crate) slides: bool,
}

impl RigidBody {
    /// Inertia about the axis of the joint that the body hangs from, kg m²; the mass, kg, if it slides or hangs from
    /// none. In the body's own axes, so that it is bit for bit the same at every pose.
    pub(crate) fn inertia_about_hinge(&self) -> f64 {
        match &self.hinge {
            Some(hinge) if !hinge.slides => {
                let axis = hinge.axis.into_inner();
                let arm_m = axis.cross(&self.com_m);
                axis.dot(&(self.inertia_about_com_kg_m2 * axis)) + self.mass_kg * arm_m.norm_squared()
            }
            _ => self.mass_kg,
        }
    }
}

/// The body that a link is part of, and its place in it.
#[derive(Clone, Debug)]
pub(crate) struct LinkBody {
    pub(crate) body: usize,
    pub(crate) body_from_link: Pose,
    /// Whether the link's frame is that of the body.
    pub(crate) is_first: bool,
}

impl LinkBody {
    /// The first link of a body.
    fn first_of(body: usize) -> Self {
        Self { body, body_from_link: Pose::identity(), is_first: true }
    }
}

/// The bodies, parents first, and the seat of every link.
pub(crate) fn bodies(model: &RoverModel) -> (Vec<RigidBody>, Vec<LinkBody>) {
    let mut seats = vec![LinkBody::first_of(0)];
    let mut hinges = vec![None];
    for joint in model.joints() {
        let parent = seats[joint.parent].clone();
        if joint.kind == JointKind::Fixed {
            let body_from_link = parent.body_from_link * joint.parent_from_child_at_zero;
            seats.push(LinkBody { body: parent.body, body_from_link, is_first: false });
        } else {
            seats.push(LinkBody::first_of(hinges.len()));
            hinges.push(Some(hinge(joint, &parent)));
        }
    }
    let mut sums = vec![Sum::default(); hinges.len()];
    for (link, seat) in model.links().iter().zip(&seats) {
        if let Some(inertial) = &link.inertial {
            sums[seat.body].add(inertial, &seat.body_from_link);
        }
    }
    let bodies = sums.into_iter().zip(hinges).map(|(sum, hinge)| sum.lump(hinge)).collect();
    (bodies, seats)
}

fn hinge(joint: &Joint, parent: &LinkBody) -> Hinge {
    Hinge {
        parent: parent.body,
        parent_from_body_at_zero: parent.body_from_link * joint.parent_from_child_at_zero,
        axis: joint.axis,
        slides: joint.kind == JointKind::Prismatic,
    }
}

/// Sum of mass, moment and inertia over the links of a body.
#[derive(Clone, Debug, Default)]
struct Sum {
    mass_kg: f64,
    /// Mass times place, kg m.
    moment: Vector3<f64>,
    about_origin: Matrix3<f64>,
}

impl Sum {
    fn add(&mut self, inertial: &Inertial, body_from_link: &Pose) {
        let body_from_com = body_from_link * inertial.link_from_com;
        let turn = body_from_com.rotation.to_rotation_matrix();
        let arm = body_from_com.translation.vector;
        self.mass_kg += inertial.mass_kg;
        self.moment += arm * inertial.mass_kg;
        self.about_origin += turn * inertial.inertia_kg_m2 * turn.transpose() + parallel_axis(inertial.mass_kg, &arm);
    }

    fn lump(&self, hinge: Option<Hinge>) -> RigidBody {
        let com_m = self.moment / self.mass_kg;
        let inertia_about_com_kg_m2 = self.about_origin - parallel_axis(self.mass_kg, &com_m);
        RigidBody { mass_kg: self.mass_kg, com_m, inertia_about_com_kg_m2, hinge }
    }
}
