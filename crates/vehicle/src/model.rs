//! A validated rover: the tree of a URDF and the roles that a YAML file gives its
//! joints. Nothing here changes while it drives; [`crate::Rover`] holds the state.

use std::path::Path;

use nalgebra::Vector3;
use selene_base::input::{parse_yaml, read_bytes};
use selene_base::{InputError, Pose};

use crate::shape::{Joint, JointKind, Link};
use crate::spec::{RoverSpec, WheelSpec};
use crate::{VehicleError, tree, urdf};

/// A YAML rover is a few kilobytes.
const YAML_BYTES_MAX: u64 = 1 << 20;
/// How far a drive axis may lie off its link's y axis, as 1 − cosine.
const AXLE_SLACK: f64 = 1e-9;

/// A rover's links, joints and wheels.
#[derive(Clone, Debug)]
pub struct RoverModel {
    spec: RoverSpec,
    urdf_text: String,
    links: Vec<Link>,
    joints: Vec<Joint>,
    moving_joints: Vec<usize>,
    wheels: Vec<Wheel>,
}

/// A wheel: indices into [`RoverModel::links`] and [`RoverModel::joints`], and size.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// Name, for topics and tables.
    pub name: String,
    /// The wheel's link; its origin is the wheel's centre and its y axis the axle.
    pub link: usize,
    /// The joint that turns it.
    pub drive_joint: usize,
    /// The joint that steers it.
    pub steer_joint: Option<usize>,
    /// The joint that springs it.
    pub suspension_joint: Option<usize>,
    /// Radius to the grousers' tips, m.
    pub radius_m: f64,
    /// Width, m.
    pub width_m: f64,
    /// The wheel's centre in the base link with every joint at zero, m.
    pub centre_in_base_m: Vector3<f64>,
}

impl Wheel {
    /// The joints that are this wheel's own.
    fn joints(&self) -> impl Iterator<Item = usize> {
        [Some(self.drive_joint), self.steer_joint, self.suspension_joint].into_iter().flatten()
    }
}

impl RoverModel {
    /// Reads a rover's YAML and the URDF it names.
    ///
    /// # Errors
    /// When a file cannot be read, or one of them is refused; the error names the
    /// file, the line, the value and what is allowed.
    pub fn load(rover_yaml: &Path) -> Result<Self, VehicleError> {
        let yaml = read_text(rover_yaml, YAML_BYTES_MAX)?;
        let spec: RoverSpec = parse_yaml(&yaml, rover_yaml)?;
        let urdf_path = rover_yaml.parent().unwrap_or(Path::new(".")).join(&spec.urdf);
        let (links, joints, urdf_text) = read_urdf(&urdf_path)?;
        let roles = Roles { joints: &joints, yaml: &yaml, path: rover_yaml };
        let wheels = spec.wheels.iter().map(|w| roles.wheel(w)).collect::<Result<Vec<_>, _>>()?;
        roles.no_joint_twice(&spec.wheels)?;
        let moving_joints: Vec<_> = (0..joints.len()).filter(|&j| joints[j].moves()).collect();
        no_joint_free(&joints, &moving_joints, &wheels, &urdf_path)?;
        Ok(Self { spec, urdf_text, links, joints, moving_joints, wheels })
    }

    /// The YAML it was made from.
    #[must_use]
    pub fn spec(&self) -> &RoverSpec {
        &self.spec
    }

    /// Links, parents before children; the first is the base.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// All joints, fixed ones too; joint `i` leads to link `i + 1`.
    #[must_use]
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// Indices of the joints that move: the order of [`crate::Rover::joint_states`].
    #[must_use]
    pub fn moving_joints(&self) -> &[usize] {
        &self.moving_joints
    }

    /// Wheels in the order of the YAML file.
    #[must_use]
    pub fn wheels(&self) -> &[Wheel] {
        &self.wheels
    }

    /// The URDF as read, for `robot_description`.
    #[must_use]
    pub fn urdf_text(&self) -> &str {
        &self.urdf_text
    }

    /// Index of the link `name`.
    #[must_use]
    pub fn link_index(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// All mass together, kg.
    #[must_use]
    pub fn mass_kg(&self) -> f64 {
        self.links.iter().filter_map(|link| link.inertial).map(|i| i.mass_kg).sum()
    }

    /// Height of the base link's origin over flat ground that the wheels just
    /// touch, suspension at rest, m.
    #[must_use]
    pub fn base_height_m(&self) -> f64 {
        self.wheels.iter().map(|w| w.radius_m - w.centre_in_base_m.z).fold(f64::MIN, f64::max)
    }

    /// Poses of all links in the base with every joint at zero.
    #[must_use]
    pub fn base_from_links_at_zero(&self) -> Vec<Pose> {
        poses_at_zero(&self.joints)
    }
}

/// Refuses a joint that nothing drives, steers or springs: it would swing freely.
fn no_joint_free(joints: &[Joint], moving: &[usize], wheels: &[Wheel], urdf: &Path) -> Result<(), VehicleError> {
    let held = |joint: usize| wheels.iter().any(|w| w.joints().any(|held| held == joint));
    let Some(&free) = moving.iter().find(|&&joint| !held(joint)) else { return Ok(()) };
    let Joint { name, line, kind, .. } = &joints[free];
    let what = format!(
        "joint \"{name}\" is {kind:?} but no wheel names it as its drive_joint, steer_joint or suspension_joint: \
         make it fixed or name it"
    );
    Err(VehicleError::urdf(urdf, *line, what))
}

fn poses_at_zero(joints: &[Joint]) -> Vec<Pose> {
    let mut poses = vec![Pose::identity()];
    joints.iter().for_each(|j| poses.push(poses[j.parent] * j.parent_from_child_at_zero));
    poses
}

fn read_text(path: &Path, bytes_max: u64) -> Result<String, InputError> {
    String::from_utf8(read_bytes(path, bytes_max)?).map_err(|e| InputError::content(path, format!("is not UTF-8: {e}")))
}

/// Reads and checks a URDF on its own: links and joints in tree order, and the text.
///
/// # Errors
/// When it cannot be read or is refused.
pub fn read_urdf(path: &Path) -> Result<(Vec<Link>, Vec<Joint>, String), VehicleError> {
    let text = read_text(path, urdf::URDF_BYTES_MAX)?;
    let robot = urdf::read(&text, path)?;
    let (links, joints) = tree::order(robot, path)?;
    Ok((links, joints, text))
}

struct Roles<'a> {
    joints: &'a [Joint],
    yaml: &'a str,
    path: &'a Path,
}

impl Roles<'_> {
    fn wheel(&self, spec: &WheelSpec) -> Result<Wheel, VehicleError> {
        let optional = |name: &Option<String>, kind| name.as_ref().map(|n| self.joint(n, kind)).transpose();
        let drive_joint = self.joint(&spec.drive_joint, JointKind::Continuous)?;
        let joint = &self.joints[drive_joint];
        if joint.axis.y < 1.0 - AXLE_SLACK {
            let what = format!("\"{}\" must turn about +y of its wheel (axis xyz=\"0 1 0\")", joint.name);
            return Err(self.refusal(&joint.name, what));
        }
        Ok(Wheel {
            name: spec.name.clone(),
            link: joint.child,
            drive_joint,
            steer_joint: optional(&spec.steer_joint, JointKind::Revolute)?,
            suspension_joint: optional(&spec.suspension_joint, JointKind::Prismatic)?,
            radius_m: spec.radius_m,
            width_m: spec.width_m,
            centre_in_base_m: poses_at_zero(self.joints)[joint.child].translation.vector,
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

    fn no_joint_twice(&self, wheels: &[WheelSpec]) -> Result<(), VehicleError> {
        let roles = wheels.iter().flat_map(|w| {
            [Some(&w.drive_joint), w.steer_joint.as_ref(), w.suspension_joint.as_ref()].into_iter().flatten()
        });
        let mut seen = std::collections::BTreeSet::new();
        match roles.into_iter().find(|name| !seen.insert(name.as_str())) {
            Some(name) => Err(self.refusal(name, format!("\"{name}\" is given to two wheels; each has its own"))),
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
