//! Giving the joints of a URDF the roles that a rover's YAML names: each joint is of
//! the kind that its role needs, and has one role.

use std::path::Path;

use selene_base::InputError;

use crate::VehicleError;
use crate::model::{Coupling, Lamp, Passive, Servo, Wheel, poses_at_zero};
use crate::shape::{Joint, JointKind, Link};
use crate::spec::{
    CouplingSpec, FinishSpec, LampSpec, PassiveSpec, RoverSpec, ServoKind, ServoSpec, SteeringSpec, WheelSpec,
};

/// How far a drive axis may lie off its link's y axis, as 1 − cosine.
const AXLE_SLACK: f64 = 1e-9;

pub(crate) struct Roles<'a> {
    pub(crate) joints: &'a [Joint],
    pub(crate) yaml: &'a str,
    pub(crate) path: &'a Path,
}

impl Roles<'_> {
    pub(crate) fn wheel(&self, spec: &WheelSpec, rover: &RoverSpec) -> Result<Wheel, VehicleError> {
        let optional = |name: &Option<String>, kind| name.as_ref().map(|n| self.joint(n, kind)).transpose();
        let drive_joint = self.joint(&spec.drive_joint, JointKind::Continuous)?;
        let joint = &self.joints[drive_joint];
        if joint.axis.y < 1.0 - AXLE_SLACK {
            let what = format!("\"{}\" must turn about +y of its wheel (axis xyz=\"0 1 0\")", joint.name);
            return Err(self.refusal(&joint.name, what));
        }
        self.parts_given(spec, rover)?;
        Ok(Wheel {
            name: spec.name.clone(),
            link: joint.child,
            drive_joint,
            steer_joint: optional(&spec.steer_joint, JointKind::Revolute)?,
            suspension_joint: optional(&spec.suspension_joint, JointKind::Prismatic)?,
            radius_m: spec.radius_m,
            width_m: spec.width_m,
            grouser_height_m: spec.grouser_height_m,
            grousers: spec.grousers,
            drive: spec.drive.unwrap_or(rover.drive),
            centre_in_base_m: poses_at_zero(self.joints)[joint.child].translation.vector,
        })
    }

    /// A steered wheel needs a steering servo, a sprung one a spring.
    fn parts_given(&self, wheel: &WheelSpec, rover: &RoverSpec) -> Result<(), VehicleError> {
        let steering = wheel.steer_joint.as_ref().filter(|_| rover.steering == SteeringSpec::NONE);
        if let Some(joint) = steering {
            return Err(self.refusal(joint, format!("\"{joint}\" steers a wheel, but there is no `steering`: give it")));
        }
        let suspension = wheel.suspension_joint.as_ref().filter(|_| rover.suspension.is_none());
        if let Some(joint) = suspension {
            let what = format!("\"{joint}\" springs a wheel, but there is no `suspension`: give it");
            return Err(self.refusal(joint, what));
        }
        Ok(())
    }

    pub(crate) fn servo(&self, spec: &ServoSpec) -> Result<Servo, VehicleError> {
        let rate_rad_s = spec.rate_deg_s.to_radians();
        let need =
            |what: &str| self.refusal(&spec.joint, format!("servo of \"{}\" by position needs {what}", spec.joint));
        let (joint, [lowest, highest], stiffness_nm) = match spec.kind {
            ServoKind::Position => {
                let limits = spec.limit_deg.ok_or_else(|| need("limit_deg"))?.map(f64::to_radians);
                let stiffness_nm = spec.stiffness_nm.ok_or_else(|| need("stiffness_nm"))?;
                (self.joint(&spec.joint, JointKind::Revolute)?, limits, stiffness_nm)
            }
            ServoKind::Rate if spec.limit_deg.is_some() || spec.stiffness_nm.is_some() => {
                let what =
                    format!("servo of \"{}\" by rate has no limit_deg and no stiffness_nm: remove them", spec.joint);
                return Err(self.refusal(&spec.joint, what));
            }
            ServoKind::Rate => (self.joint(&spec.joint, JointKind::Continuous)?, [-rate_rad_s, rate_rad_s], 0.0),
        };
        let name = spec.name.clone().unwrap_or_else(|| spec.joint.clone());
        let (damping_nm_s, torque_nm) = (spec.damping_nm_s, spec.torque_nm);
        Ok(Servo { name, joint, kind: spec.kind, lowest, highest, rate_rad_s, stiffness_nm, damping_nm_s, torque_nm })
    }

    pub(crate) fn passive(&self, spec: &PassiveSpec) -> Result<Passive, VehicleError> {
        Ok(Passive {
            joint: self.joint(&spec.joint, JointKind::Revolute)?,
            stiffness_nm: spec.stiffness_nm,
            damping_nm_s: spec.damping_nm_s,
            limits_rad: spec.limit_deg.map(|limits| limits.map(f64::to_radians)),
        })
    }

    /// Couplings between moving joints of one kind; none may follow from others.
    pub(crate) fn couplings(&self, specs: &[CouplingSpec]) -> Result<Vec<Coupling>, VehicleError> {
        let mut group: Vec<_> = (0..self.joints.len()).collect();
        let mut couplings = Vec::with_capacity(specs.len());
        for spec in specs {
            let [joint, mirrors] = [self.moving(&spec.joint)?, self.moving(&spec.mirrors)?];
            let slides = |j: usize| self.joints[j].kind == JointKind::Prismatic;
            if slides(joint) != slides(mirrors) {
                let what = format!("\"{}\" cannot mirror \"{}\": one turns, one slides", spec.joint, spec.mirrors);
                return Err(self.refusal(&spec.joint, what));
            }
            let (from, to) = (group[joint], group[mirrors]);
            if from == to {
                let what = format!("\"{}\" is coupled to \"{}\" already; once is enough", spec.joint, spec.mirrors);
                return Err(self.refusal(&spec.joint, what));
            }
            group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
            couplings.push(Coupling { joint, mirrors, ratio: spec.ratio });
        }
        Ok(couplings)
    }

    /// Lamps on links that there are, no two of one name.
    pub(crate) fn lamps(&self, specs: &[LampSpec], links: &[Link]) -> Result<Vec<Lamp>, VehicleError> {
        let mut lamps: Vec<Lamp> = Vec::with_capacity(specs.len());
        for spec in specs {
            if lamps.iter().any(|lamp| lamp.spec.name == spec.name) {
                let what = format!("two lamps are named \"{}\"; names must differ", spec.name);
                return Err(self.refusal(&spec.name, what));
            }
            let Some(link) = links.iter().position(|link| link.name == spec.link) else {
                let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
                let what = format!("\"{}\" is not a link of the URDF; those are: {}", spec.link, names.join(", "));
                return Err(self.refusal(&spec.link, what));
            };
            lamps.push(Lamp { link, spec: spec.clone() });
        }
        Ok(lamps)
    }

    /// Finishes of materials that there are, each once.
    pub(crate) fn finishes(&self, specs: &[FinishSpec], links: &[Link]) -> Result<(), VehicleError> {
        let visuals = || links.iter().flat_map(|link| &link.visuals);
        for (index, FinishSpec { material, .. }) in specs.iter().enumerate() {
            if specs[..index].iter().any(|earlier| earlier.material == *material) {
                return Err(self.refusal(material, format!("\"{material}\" has two finishes; one is enough")));
            }
            if !visuals().any(|visual| visual.material == *material) {
                let names: std::collections::BTreeSet<_> = visuals().map(|visual| visual.material.as_str()).collect();
                let names: Vec<_> = names.into_iter().collect();
                let what = format!("no visual of the URDF is of \"{material}\"; there are: {}", names.join(", "));
                return Err(self.refusal(material, what));
            }
        }
        Ok(())
    }

    fn moving(&self, name: &str) -> Result<usize, VehicleError> {
        let found = self.joints.iter().position(|j| j.name == name && j.moves());
        found.ok_or_else(|| {
            let names: Vec<_> = self.joints.iter().filter(|j| j.moves()).map(|j| j.name.as_str()).collect();
            self.refusal(name, format!("\"{name}\" is not a moving joint of the URDF; those are: {}", names.join(", ")))
        })
    }

    fn joint(&self, name: &str, kind: JointKind) -> Result<usize, VehicleError> {
        let Some(index) = self.joints.iter().position(|j| j.name == name) else {
            let names: Vec<_> = self.joints.iter().filter(|j| j.kind == kind).map(|j| j.name.as_str()).collect();
            let what = format!("\"{name}\" is not a joint of the URDF; {kind:?} joints are: {}", names.join(", "));
            return Err(self.refusal(name, what));
        };
        let found = self.joints[index].kind;
        if found != kind {
            let what = format!("\"{name}\" is a {found:?} joint; {kind:?} is needed here");
            return Err(self.refusal(name, what));
        }
        Ok(index)
    }

    /// Refuses a joint that comes twice in `held`.
    pub(crate) fn no_joint_twice(&self, held: &[usize]) -> Result<(), VehicleError> {
        let mut seen = std::collections::BTreeSet::new();
        match held.iter().find(|&&joint| !seen.insert(joint)) {
            Some(&joint) => {
                let name = &self.joints[joint].name;
                Err(self
                    .refusal(name, format!("\"{name}\" is given twice; a joint has one wheel, servo or other role")))
            }
            None => Ok(()),
        }
    }

    /// A refusal that names the last line of the YAML that holds `word`.
    fn refusal(&self, word: &str, what: String) -> VehicleError {
        let line = self.yaml.lines().enumerate().filter(|(_, text)| text.contains(word)).last();
        let line = line.map_or(1, |(i, _)| i + 1);
        InputError::content(self.path, format!("line {line}: {what}")).into()
    }
}
