//! The rigid bodies of a rover: links that fixed joints hold together are one body,
//! with their masses, centres and inertias summed; each other joint leads to a body
//! of its own. A body's frame is that of its first link.

use nalgebra::{Matrix3, Unit, Vector3};
use selene_base::Pose;

use crate::model::RoverModel;
use crate::shape::{Joint, JointKind};
use crate::spatial::parallel_axis;

/// A rigid body and the joint that it hangs from.
#[derive(Clone, Debug)]
pub(crate) struct RigidBody {
    pub(crate) mass_kg: f64,
    pub(crate) com_m: Vector3<f64>,
    pub(crate) inertia_about_com_kg_m2: Matrix3<f64>,
    /// `None` for the base.
    pub(crate) hinge: Option<Hinge>,
}

/// A joint as the dynamics sees it.
#[derive(Clone, Debug)]
pub(crate) struct Hinge {
    pub(crate) parent: usize,
    pub(crate) parent_from_body_at_zero: Pose,
    pub(crate) axis: Unit<Vector3<f64>>,
    pub(crate) slides: bool,
}

/// Where a link sits.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) body: usize,
    pub(crate) body_from_link: Pose,
}

/// The bodies, parents first, and the seat of every link.
pub(crate) fn bodies(model: &RoverModel) -> (Vec<RigidBody>, Vec<Seat>) {
    let mut seats = vec![Seat { body: 0, body_from_link: Pose::identity() }];
    let mut hinges = vec![None];
    for joint in model.joints() {
        let parent = seats[joint.parent].clone();
        if joint.kind == JointKind::Fixed {
            let body_from_link = parent.body_from_link * joint.parent_from_child_at_zero;
            seats.push(Seat { body: parent.body, body_from_link });
        } else {
            seats.push(Seat { body: hinges.len(), body_from_link: Pose::identity() });
            hinges.push(Some(hinge(joint, &parent)));
        }
    }
    let bodies = hinges.into_iter().enumerate().map(|(body, hinge)| lump(model, &seats, body, hinge)).collect();
    (bodies, seats)
}

fn hinge(joint: &Joint, parent: &Seat) -> Hinge {
    Hinge {
        parent: parent.body,
        parent_from_body_at_zero: parent.body_from_link * joint.parent_from_child_at_zero,
        axis: joint.axis,
        slides: joint.kind == JointKind::Prismatic,
    }
}

/// The sum of all links that sit on `body`.
fn lump(model: &RoverModel, seats: &[Seat], body: usize, hinge: Option<Hinge>) -> RigidBody {
    let (mut mass_kg, mut moment, mut about_origin) = (0.0, Vector3::zeros(), Matrix3::zeros());
    let on_body = model.links().iter().zip(seats).filter(|(_, seat)| seat.body == body);
    for (inertial, seat) in on_body.filter_map(|(link, seat)| Some((link.inertial?, seat))) {
        let body_from_com = seat.body_from_link * inertial.link_from_com;
        let turn = body_from_com.rotation.to_rotation_matrix();
        let arm = body_from_com.translation.vector;
        mass_kg += inertial.mass_kg;
        moment += arm * inertial.mass_kg;
        about_origin += turn * inertial.inertia_kg_m2 * turn.transpose() + parallel_axis(inertial.mass_kg, &arm);
    }
    let com_m = moment / mass_kg;
    RigidBody { mass_kg, com_m, inertia_about_com_kg_m2: about_origin - parallel_axis(mass_kg, &com_m), hinge }
}
