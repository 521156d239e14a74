//! Guesses the roles of a URDF's joints. A wheel has a continuous joint about y of the root, is round or named like a
//! wheel, and reaches down about as far as the lowest one; the joints between it and the body steer, spring or swing
//! it according to their axes. A wheel is free if it is named like a caster, hangs from a continuous joint about z, or
//! has no actuator in a URDF with actuators. Other joints are servos; prismatic ones are held.

use std::collections::BTreeSet;

use nalgebra::Vector3;
use selene_base::Pose;

use super::extent::Extent;
use crate::model::poses_at_zero;
use crate::shape::{Joint, JointKind, Link};
use crate::spec::WheelRole;

/// Words in the names of wheels and casters.
const WHEEL_WORDS: [&str; 5] = ["wheel", "tire", "tyre", "caster", "castor"];
const CASTER_WORDS: [&str; 2] = ["caster", "castor"];
/// Largest angle of a wheel's axle from y, and of an upright axis from z, degrees.
const AXLE_OFF_DEG: f64 = 10.0;
const UPRIGHT_OFF_DEG: f64 = 45.0;
/// Largest height of a wheel's lowest point above the lowest of all, over its radius.
const ABOVE_LOWEST: f64 = 0.5;

/// The guessed roles, by the joints' indices.
#[derive(Debug, Default)]
pub(super) struct GuessedRoles {
    pub(super) wheels: Vec<WheelGuess>,
    pub(super) passive: Vec<usize>,
    pub(super) servos: Vec<usize>,
    pub(super) held: Vec<usize>,
    /// Links that slide over the ground, such as ball casters.
    pub(super) rubbing: Vec<usize>,
}

/// A joint that is taken for a wheel's.
#[derive(Debug)]
pub(super) struct WheelGuess {
    pub(super) joint: usize,
    pub(super) role: WheelRole,
    pub(super) steer: Option<usize>,
    pub(super) swivel: Option<usize>,
    pub(super) suspension: Option<usize>,
    /// Extent of its link's shapes; none where the link has no shape.
    pub(super) extent: Option<Extent>,
    /// Pose of its link in the root.
    pub(super) base_from_link: Pose,
}

/// A URDF as it is looked at.
struct UrdfView<'a> {
    links: &'a [Link],
    joints: &'a [Joint],
    actuated: &'a BTreeSet<String>,
    base_from_links: Vec<Pose>,
}

impl GuessedRoles {
    pub(super) fn of(links: &[Link], joints: &[Joint], actuated: &BTreeSet<String>) -> Self {
        let looked = UrdfView { links, joints, actuated, base_from_links: poses_at_zero(joints) };
        let mut guess = Self { wheels: looked.wheels(), ..Self::default() };
        for at in 0..guess.wheels.len() {
            looked.place(at, &mut guess);
        }
        looked.rest(&mut guess);
        let is_fixed = |link: &Link| link.joint.is_some_and(|joint| !joints[joint].moves());
        let rubs = |link: &Link| !link.collisions.is_empty() && has_word(&link.name, &CASTER_WORDS) && is_fixed(link);
        guess.rubbing = (0..links.len()).filter(|link| rubs(&links[*link])).collect();
        guess
    }

    /// Whether a joint has its role.
    fn has(&self, joint: usize) -> bool {
        let of_wheel = |wheel: &WheelGuess| {
            wheel.joint == joint || [wheel.steer, wheel.swivel, wheel.suspension].contains(&Some(joint))
        };
        self.passive.contains(&joint) || self.wheels.iter().any(of_wheel)
    }
}

impl WheelGuess {
    /// Height of its lowest point in the root, m.
    fn lowest_m(&self) -> f64 {
        self.base_from_link.translation.z - self.extent.map_or(0.0, |extent| extent.radius_m)
    }
}

impl UrdfView<'_> {
    fn wheels(&self) -> Vec<WheelGuess> {
        let mut wheels: Vec<_> = (0..self.joints.len()).filter_map(|joint| self.wheel(joint)).collect();
        let lowest_m = wheels.iter().map(WheelGuess::lowest_m).fold(f64::INFINITY, f64::min);
        let stands = |wheel: &WheelGuess| {
            wheel.extent.is_none_or(|extent| wheel.lowest_m() - lowest_m <= ABOVE_LOWEST * extent.radius_m)
        };
        wheels.retain(stands);
        self.free_those_without_actuators(&mut wheels);
        wheels
    }

    fn wheel(&self, joint: usize) -> Option<WheelGuess> {
        let Joint { name, kind, child, axis, .. } = &self.joints[joint];
        if *kind != JointKind::Continuous || self.axis_in_base(joint).y.abs() < AXLE_OFF_DEG.to_radians().cos() {
            return None;
        }
        let extent = Extent::of(*child, axis, self.links, self.joints);
        let names = [name.as_str(), self.links[*child].name.as_str()];
        let is_called = |words: &[&str]| names.iter().any(|name| has_word(name, words));
        if !is_called(&WHEEL_WORDS) && !extent.is_some_and(|extent| extent.is_round) {
            return None;
        }
        let swivels =
            self.above(joint).any(|above| self.joints[above].kind == JointKind::Continuous && self.is_upright(above));
        let role = if swivels || is_called(&CASTER_WORDS) { WheelRole::Free } else { WheelRole::Driven };
        let base_from_link = self.base_from_links[*child];
        Some(WheelGuess { joint, role, steer: None, swivel: None, suspension: None, extent, base_from_link })
    }

    /// Where the URDF has actuators of some wheels, it has them of all that are driven.
    fn free_those_without_actuators(&self, wheels: &mut [WheelGuess]) {
        let is_actuated = |wheel: &WheelGuess| self.actuated.contains(&self.joints[wheel.joint].name);
        if wheels.iter().any(is_actuated) {
            wheels.iter_mut().filter(|wheel| !is_actuated(wheel)).for_each(|wheel| wheel.role = WheelRole::Free);
        }
    }

    /// Gives the joints between a wheel and the body their roles.
    fn place(&self, at: usize, guess: &mut GuessedRoles) {
        for above in self.above(guess.wheels[at].joint) {
            if guess.has(above) {
                continue;
            }
            let wheel = &mut guess.wheels[at];
            let is_free = wheel.role == WheelRole::Free;
            match (self.joints[above].kind, self.is_upright(above)) {
                (JointKind::Prismatic, _) if wheel.suspension.is_none() => wheel.suspension = Some(above),
                (JointKind::Continuous | JointKind::Revolute, true) if is_free && wheel.swivel.is_none() => {
                    wheel.swivel = Some(above);
                }
                (JointKind::Revolute, true) if wheel.steer.is_none() => wheel.steer = Some(above),
                (JointKind::Continuous | JointKind::Revolute, _) => guess.passive.push(above),
                (JointKind::Prismatic | JointKind::Fixed, _) => {}
            }
        }
    }

    /// Roles for all other joints that move. What mimics another follows it and needs none.
    fn rest(&self, guess: &mut GuessedRoles) {
        for (at, joint) in self.joints.iter().enumerate() {
            if guess.has(at) || joint.mimic.is_some() {
                continue;
            }
            let has_range = joint.limits.is_some_and(|[lowest, highest]| lowest < highest);
            match joint.kind {
                JointKind::Fixed => {}
                JointKind::Revolute if has_range => guess.servos.push(at),
                JointKind::Continuous => guess.servos.push(at),
                JointKind::Revolute | JointKind::Prismatic => guess.held.push(at),
            }
        }
    }

    /// The joints that move above a joint, nearest first.
    fn above(&self, joint: usize) -> impl Iterator<Item = usize> + '_ {
        let next = move |joint: &usize| self.links[self.joints[*joint].parent].joint;
        std::iter::successors(next(&joint), next).filter(move |above| self.joints[*above].moves())
    }

    fn axis_in_base(&self, joint: usize) -> Vector3<f64> {
        let Joint { child, axis, .. } = &self.joints[joint];
        self.base_from_links[*child].rotation * axis.into_inner()
    }

    fn is_upright(&self, joint: usize) -> bool {
        self.axis_in_base(joint).z.abs() >= UPRIGHT_OFF_DEG.to_radians().cos()
    }
}

pub(super) fn has_word(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}
