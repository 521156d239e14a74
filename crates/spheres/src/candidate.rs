//! Candidate pairs: a sphere with another sphere, a wall or a body, close enough to touch before the next listing.

use nalgebra::Vector3;
use selene_crm::{Body, BodyShape};

use crate::container::Container;
use crate::law::{ContactKinematics, Load, Memory, Pairing};
use crate::model::Model;
use crate::state::{Partner, Sphere, SphereContact};

/// Everything between which contacts can form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactCandidates<'a> {
    pub(crate) model: &'a Model,
    pub(crate) spheres: &'a [Sphere],
    pub(crate) bodies: &'a [Body],
}

/// A pair that may touch before the next listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Index of the sphere; for two spheres, of the lower one.
    pub(crate) low: u32,
    /// The partner; a sphere is given by its index.
    pub(crate) partner: Partner,
    pairing: Pairing,
    pub(crate) memory: Memory,
    /// Force and moments of the contact in this substep; `None` where the two are apart.
    pub(crate) action: Option<ContactWrench>,
}

/// Force and moments of a contact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactWrench {
    /// Force on the sphere, N; the partner gets the opposite.
    pub(crate) force_n: Vector3<f64>,
    /// Moment on the sphere about its centre, N m.
    pub(crate) moment_n_m: Vector3<f64>,
    /// Moment on the partner about its centre or origin, N m.
    pub(crate) partner_moment_n_m: Vector3<f64>,
}

impl Candidate {
    pub(crate) fn new(low: u32, partner: Partner, pairing: Pairing) -> Self {
        Self { low, partner, pairing, memory: Memory::default(), action: None }
    }

    /// Ids of sphere and partner, which do not change when other spheres are added or removed.
    pub(crate) fn key(&self, spheres: &[Sphere]) -> (u32, Partner) {
        let partner = match self.partner {
            Partner::Sphere(other) => Partner::Sphere(spheres[other as usize].id),
            fixed => fixed,
        };
        (spheres[self.low as usize].id, partner)
    }

    /// The contact, if the two touch.
    pub(crate) fn contact(&self, spheres: &[Sphere]) -> Option<SphereContact> {
        self.action?;
        let (sphere, partner) = self.key(spheres);
        Some(SphereContact { sphere, partner, memory: self.memory })
    }

    /// Overlap and its limit, m, if the overlap is too deep.
    pub(crate) fn too_deep(&self) -> Option<(f64, f64)> {
        self.action.and_then(|_| self.pairing.too_deep(&self.memory))
    }

    /// Computes the contact for a substep. Its memory is cleared when the two part.
    pub(crate) fn meet(&mut self, scene: &ContactCandidates, substep_s: f64) {
        self.action = self.meeting(scene).map(|meeting| {
            let Load { force_n, rolling_n_m } = self.pairing.respond(&meeting, &mut self.memory, substep_s);
            ContactWrench {
                force_n,
                moment_n_m: meeting.arm_m.cross(&force_n) + rolling_n_m,
                partner_moment_n_m: -meeting.partner_arm_m.cross(&force_n) - rolling_n_m,
            }
        });
        if self.action.is_none() {
            self.memory = Memory::default();
        }
    }

    fn meeting(&self, scene: &ContactCandidates) -> Option<ContactKinematics> {
        let sphere = &scene.spheres[self.low as usize];
        match self.partner {
            Partner::Sphere(other) => of_spheres(sphere, &scene.spheres[other as usize]),
            Partner::Wall(face) => with_wall(sphere, scene.model.container(), face),
            Partner::Body(body) => {
                let body = &scene.bodies[body as usize];
                with_body(sphere, body, distance(sphere, body)?)
            }
            Partner::Shell { body, surface } => {
                let body = &scene.bodies[body as usize];
                with_body(sphere, body, distance_from_shell(sphere, body, surface)?)
            }
        }
    }
}

/// The point of contact is at the middle of the overlap.
fn of_spheres(sphere: &Sphere, other: &Sphere) -> Option<ContactKinematics> {
    let between_m = sphere.position_m - other.position_m;
    let overlap_m = sphere.radius_m + other.radius_m - between_m.norm();
    if overlap_m <= 0.0 {
        return None;
    }
    let normal = between_m.try_normalize(0.0).unwrap_or_else(Vector3::z);
    let arm_m = normal * (0.5 * overlap_m - sphere.radius_m);
    let partner_arm_m = normal * (other.radius_m - 0.5 * overlap_m);
    Some(ContactKinematics {
        overlap_m,
        normal,
        velocity_m_s: sphere.velocity_at(&arm_m) - other.velocity_at(&partner_arm_m),
        turn_rad_s: sphere.angular_velocity_rad_s - other.angular_velocity_rad_s,
        arm_m,
        partner_arm_m,
    })
}

fn with_wall(sphere: &Sphere, container: &Container, face: u8) -> Option<ContactKinematics> {
    let axis = usize::from(face / 2);
    let (distance_m, inwards) = container.depth(face, sphere.position_m[axis]);
    let mut normal = Vector3::zeros();
    normal[axis] = inwards;
    let arm_m = -normal * distance_m;
    (distance_m < sphere.radius_m).then(|| ContactKinematics {
        overlap_m: sphere.radius_m - distance_m,
        normal,
        velocity_m_s: sphere.velocity_at(&arm_m),
        turn_rad_s: sphere.angular_velocity_rad_s,
        arm_m,
        partner_arm_m: Vector3::zeros(),
    })
}

/// The point of contact is on the body's surface, at this distance, m, against this normal from the sphere's centre.
fn with_body(sphere: &Sphere, body: &Body, (distance_m, normal): (f64, Vector3<f64>)) -> Option<ContactKinematics> {
    if distance_m >= sphere.radius_m {
        return None;
    }
    let arm_m = -normal * distance_m;
    let partner_arm_m = sphere.position_m + arm_m - body.pose.translation.vector;
    let surface_m_s = body.velocity_m_s + body.angular_velocity_rad_s.cross(&partner_arm_m);
    Some(ContactKinematics {
        overlap_m: sphere.radius_m - distance_m,
        normal,
        velocity_m_s: sphere.velocity_at(&arm_m) - surface_m_s,
        turn_rad_s: sphere.angular_velocity_rad_s - body.angular_velocity_rad_s,
        arm_m,
        partner_arm_m,
    })
}

/// Distance of a sphere's centre from the surface of a body, m, and the normal there; `None` for a shell.
pub(crate) fn distance(sphere: &Sphere, body: &Body) -> Option<(f64, Vector3<f64>)> {
    let (distance_m, normal) = body.shape.distance(&in_frame(sphere, body))?;
    Some((distance_m, body.pose.rotation * normal))
}

/// Distance of a sphere's centre from a surface of a drum, m, and the normal there on the sphere's side; `None` where a
/// disc hides the surface, and for a solid.
fn distance_from_shell(sphere: &Sphere, body: &Body, surface: u16) -> Option<(f64, Vector3<f64>)> {
    let BodyShape::Drum(drum) = body.shape else { return None };
    let at = in_frame(sphere, body);
    if drum.is_behind_disc(surface, &at) {
        return None;
    }
    let from_m = drum.off_surface_m(surface, &at);
    Some((from_m.norm(), body.pose.rotation * from_m.try_normalize(0.0)?))
}

/// A sphere's centre in a body's frame, m.
pub(crate) fn in_frame(sphere: &Sphere, body: &Body) -> Vector3<f64> {
    body.pose.rotation.inverse_transform_vector(&(sphere.position_m - body.pose.translation.vector))
}
