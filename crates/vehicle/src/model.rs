//! A validated rover: the tree of a URDF and the roles that a YAML file gives its
//! joints. Nothing here changes while it drives; [`crate::Rover`] holds the state.

use std::collections::BTreeSet;
use std::path::Path;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::input::{YamlFile, read_bytes};
use selene_base::{InputError, Pose};

use crate::body::bodies;
use crate::driveline::Driveline;
use crate::packages::Packages;
use crate::roles::Roles;
use crate::shape::{Joint, JointKind, Link};
use crate::spec::{DriveSpec, FinishSpec, LampSpec, RoverSpec, ServoKind, SuspensionSpec, TyreSpec, WheelRole};
use crate::tree::TreeKind;
use crate::{VehicleError, mimic, tree, urdf};

/// A rover's links, joints and wheels.
#[derive(Clone, Debug)]
pub struct RoverModel {
    spec: RoverSpec,
    urdf_text: String,
    links: Vec<Link>,
    joints: Vec<Joint>,
    moving_joints: Vec<usize>,
    wheels: Vec<Wheel>,
    servos: Vec<Servo>,
    passive: Vec<Passive>,
    couplings: Vec<Coupling>,
    driveline: Option<Driveline>,
    drums: Vec<BucketDrum>,
    /// Links with a friction of their own on the ground.
    ground_friction: Vec<(usize, f64)>,
    lamps: Vec<MountedLamp>,
}

/// A wheel: indices into [`RoverModel::links`] and [`RoverModel::joints`], and size.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// Name, for topics and tables.
    pub name: String,
    /// What turns the wheel: its motor or only the ground.
    pub role: WheelRole,
    /// The wheel's link.
    pub link: usize,
    /// The wheel's frame in its link: its origin is the wheel's centre, its y is the axle and points to the
    /// body's left.
    pub link_from_wheel: Pose,
    /// The joint that it turns about.
    pub drive_joint: usize,
    /// Sign of that joint's rate when the wheel rolls forward: 1 where its axis points to the body's
    /// left, −1 where it points to the right.
    pub drive_sign: f64,
    /// The joint that steers it.
    pub steer_joint: Option<usize>,
    /// Sign of that joint's angle when the wheel points to the left: 1 where its axis points up, −1
    /// where it points down; 1 for a wheel that is not steered.
    pub steer_sign: f64,
    /// The joint about which it swivels by itself.
    pub swivel_joint: Option<usize>,
    /// The joint that springs it.
    pub suspension_joint: Option<usize>,
    /// Sign of that joint's position when the wheel is up: 1 where its axis points up, −1 where it points down; 1 for a
    /// wheel that is not sprung.
    pub suspension_sign: f64,
    /// Its suspension, if it is sprung.
    pub suspension: Option<SuspensionSpec>,
    /// The turn from the base link to the link that carries the wheel, with every joint at zero.
    pub carrier_from_base: UnitQuaternion<f64>,
    /// Radius to the grousers' tips, m.
    pub radius_m: f64,
    /// Width, m.
    pub width_m: f64,
    /// Height of the grousers within the radius, m.
    pub grouser_height_m: f64,
    /// Number of grousers.
    pub grousers: u32,
    /// Its motor; unused for a free wheel.
    pub drive: DriveSpec,
    /// Its pneumatic tyre; a wheel without one is rigid.
    pub tyre: Option<TyreSpec>,
    /// The wheel's centre in the base link with every joint at zero, m.
    pub centre_in_base_m: Vector3<f64>,
}

impl Wheel {
    /// Whether a motor turns it.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        self.role == WheelRole::Driven
    }

    /// Inertia of its motor's rotor as the wheel feels it, kg m².
    pub(crate) fn rotor_inertia_kg_m2(&self) -> f64 {
        if self.is_driven() { self.drive.rotor_inertia_kg_m2 * self.drive.gear_ratio.powi(2) } else { 0.0 }
    }
}

/// A servo on a joint that is not a wheel's.
#[derive(Clone, Debug, PartialEq)]
pub struct Servo {
    /// Name, for topics and tables.
    pub name: String,
    /// Index of its joint in [`RoverModel::joints`].
    pub joint: usize,
    /// Kind of its target.
    pub kind: ServoKind,
    /// Smallest target, rad or rad/s; targets are clamped to it.
    pub lowest: f64,
    /// Largest target, rad or rad/s; targets are clamped to it.
    pub highest: f64,
    /// Largest rate, rad/s.
    pub rate_rad_s: f64,
    /// Stiffness, N m/rad; zero for a servo by rate.
    pub stiffness_nm: f64,
    /// Damping, N m s/rad.
    pub damping_nm_s: f64,
    /// Largest torque, N m.
    pub torque_nm: f64,
}

/// A joint that swings by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passive {
    /// Index of the joint in [`RoverModel::joints`].
    pub joint: usize,
    /// Stiffness of its spring about zero, N m/rad.
    pub stiffness_nm: f64,
    /// Damping, N m s/rad.
    pub damping_nm_s: f64,
    /// Lowest and highest angle, rad.
    pub limits_rad: Option<[f64; 2]>,
}

/// A bucket drum, which takes in granular soil when it turns about the z axis of its frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketDrum {
    /// Index of its link in [`RoverModel::links`].
    pub link: usize,
    /// Its frame in the link: the origin is its middle, z is its axis.
    pub link_from_drum: Pose,
    /// Radius of its scoops' lips, m.
    pub radius_m: f64,
    /// Length, m.
    pub length_m: f64,
    /// Slices along its axis.
    pub slices: u32,
    /// Scoops around each slice.
    pub scoops: u32,
    /// Depth of the way in below a lip, m.
    pub channel_m: f64,
    /// How far the panel ahead runs on below a lip, rad.
    pub overlap_rad: f64,
}

/// A lamp and the link that carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct MountedLamp {
    /// Index of the link in [`RoverModel::links`]; its light goes along the link's x axis.
    pub link: usize,
    /// Parameters of the lamp.
    pub spec: LampSpec,
}

/// A joint that stands at `ratio` times another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupling {
    /// Index of the joint in [`RoverModel::joints`].
    pub joint: usize,
    /// Index of the joint that it mirrors.
    pub mirrors: usize,
    /// Its position for one unit of the other's.
    pub ratio: f64,
}

impl RoverModel {
    /// Reads a rover's YAML and the URDF it names.
    ///
    /// # Errors
    /// When a file cannot be read, or one of them is refused; the error names the
    /// file, the line, the value and what is allowed.
    pub fn load(rover_yaml: &Path) -> Result<Self, VehicleError> {
        let file = YamlFile::read(rover_yaml)?;
        let spec: RoverSpec = file.parse()?;
        let folder = rover_yaml.parent().unwrap_or(Path::new("."));
        let urdf_path = folder.join(&spec.urdf);
        let urdf_text = read_text(&urdf_path, urdf::URDF_BYTES_MAX)?;
        let mut robot = urdf::read(&urdf_text, &urdf_path, &Packages::beside(&spec.packages, folder))?;
        mimic::hold(&mut robot.joints, &spec.held, &urdf_path, &file)?;
        let (links, joints) = tree::order(robot, &urdf_path, TreeKind::Rover)?;
        let roles = Roles::new(&links, &joints, &file, &urdf_path);
        let wheels = roles.wheels(&spec)?;
        let servos = roles.servos(&spec.servos)?;
        let passive = roles.passive(&spec.passive)?;
        let driveline = spec.driveline.as_ref().map(|of| roles.driveline(of, &wheels)).transpose()?;
        let mimics = mimic::couplings(&joints, &urdf_path)?;
        let followers: Vec<_> = mimics.iter().map(|coupling| coupling.joint).collect();
        let couplings = roles.couplings(mimics, &spec.couplings)?;
        let mut with_roles = roles.with_roles(&spec)?;
        with_roles.extend(followers);
        let moving_joints: Vec<_> = (0..joints.len()).filter(|&j| joints[j].moves()).collect();
        no_joint_free(&joints, &moving_joints, &with_roles, &urdf_path)?;
        let ground_friction = roles.ground_friction(&spec.ground_friction, &links)?;
        let drums = roles.drums(&spec.drums, &links)?;
        let lamps = roles.lamps(&spec.lamps, &links)?;
        roles.finishes(&spec.finishes, &links)?;
        Ok(Self {
            spec,
            urdf_text,
            links,
            joints,
            moving_joints,
            wheels,
            servos,
            passive,
            couplings,
            driveline,
            drums,
            ground_friction,
            lamps,
        })
    }

    /// Name of its root link, to whose frame commands and odometry refer: `base_link` or `base_footprint` in most
    /// URDFs.
    #[must_use]
    pub fn base_name(&self) -> &str {
        // A tree has a root.
        self.links.first().map_or("", |link| link.name.as_str())
    }

    /// Its bucket drums.
    #[must_use]
    pub fn drums(&self) -> &[BucketDrum] {
        &self.drums
    }

    /// Friction of a link's collision shapes on the ground, where its file gives one.
    #[must_use]
    pub fn ground_friction(&self, link: usize) -> Option<f64> {
        self.ground_friction.iter().find(|(of, _)| *of == link).map(|(_, friction)| *friction)
    }

    /// The rover's YAML file as read.
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

    /// The joints of frames that were added; they lead to the last links, in order.
    #[must_use]
    pub fn added_frames(&self) -> &[Joint] {
        let of_urdf = self.joints.iter().take_while(|joint| joint.line > 0).count();
        &self.joints[of_urdf..]
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

    /// Mass of each wheel without what carries it; and its inertia about the axle, with its motor's rotor, over the radius
    /// squared, kg.
    #[must_use]
    pub fn wheel_masses_kg(&self) -> Vec<[f64; 2]> {
        let (bodies, seats) = bodies(self);
        let masses_kg = |wheel: &Wheel| {
            let body = &bodies[seats[wheel.link].body];
            let about_axle = body.inertia_about_hinge() + wheel.rotor_inertia_kg_m2();
            [body.mass_kg, about_axle / wheel.radius_m.powi(2)]
        };
        self.wheels.iter().map(masses_kg).collect()
    }

    /// Servos in the order of the YAML file.
    #[must_use]
    pub fn servos(&self) -> &[Servo] {
        &self.servos
    }

    /// Joints that swing by themselves.
    #[must_use]
    pub fn passive(&self) -> &[Passive] {
        &self.passive
    }

    /// Joints that mirror others.
    #[must_use]
    pub fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    /// The engine and what it turns, where there is one.
    #[must_use]
    pub fn driveline(&self) -> Option<&Driveline> {
        self.driveline.as_ref()
    }

    /// Lamps in the order of the YAML file.
    #[must_use]
    pub fn lamps(&self) -> &[MountedLamp] {
        &self.lamps
    }

    /// Sets a lamp's level at the start, 0 to 1. Returns whether the lamp exists.
    pub fn set_lamp_level(&mut self, name: &str, level: f64) -> bool {
        let found = self.lamps.iter_mut().find(|lamp| lamp.spec.name == name);
        found.map(|lamp| lamp.spec.level = level).is_some()
    }

    /// Adds a frame without mass and looks as the last link, fixed to the link with index `parent`.
    /// Returns false if the name is taken or `parent` is not a link. The frame is not in `urdf_text`.
    pub fn add_frame(&mut self, name: &str, parent: usize, parent_from_frame: Pose) -> bool {
        if parent >= self.links.len() || self.link_index(name).is_some() {
            return false;
        }
        let (joint, child) = (self.joints.len(), self.links.len());
        self.joints.push(Joint {
            name: format!("{name}_mount"),
            line: 0,
            kind: JointKind::Fixed,
            parent,
            child,
            parent_from_child_at_zero: parent_from_frame,
            axis: Vector3::x_axis(),
            limits: None,
            effort_max: None,
            speed_max: None,
            mimic: None,
        });
        let name = name.to_owned();
        self.links.push(Link { name, inertial: None, visuals: Vec::new(), collisions: Vec::new(), joint: Some(joint) });
        true
    }

    /// The finish of a material of the URDF.
    #[must_use]
    pub fn finish(&self, material: &str) -> FinishSpec {
        let given = self.spec.finishes.iter().find(|finish| finish.material == material);
        given.cloned().unwrap_or_else(FinishSpec::paint)
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

    /// Largest distance of any of its points from the base link's origin, whatever the joints' positions, m.
    #[must_use]
    pub fn reach_m(&self) -> f64 {
        let mut origins_m = vec![0.0];
        for joint in &self.joints {
            let slides_m = if joint.kind == JointKind::Prismatic {
                joint.limits.map_or(0.0, |limits| limits[0].abs().max(limits[1].abs()))
            } else {
                0.0
            };
            let arm_m = joint.parent_from_child_at_zero.translation.vector.norm();
            origins_m.push(origins_m[joint.parent] + arm_m + slides_m);
        }
        let shapes_m = |link: &Link| {
            let collisions =
                link.collisions.iter().map(|c| c.link_from_shape.translation.vector.norm() + c.shape.reach_m());
            collisions.fold(0.0, f64::max)
        };
        let links = self.links.iter().zip(&origins_m).map(|(link, origin_m)| origin_m + shapes_m(link));
        let centre_m = |wheel: &Wheel| origins_m[wheel.link] + wheel.link_from_wheel.translation.vector.norm();
        let wheels = self.wheels.iter().map(|w| centre_m(w) + w.radius_m.hypot(0.5 * w.width_m));
        links.chain(wheels).fold(0.0, f64::max)
    }

    /// Total mass, kg.
    #[must_use]
    pub fn mass_kg(&self) -> f64 {
        summed_mass_kg(&self.links)
    }

    /// Multiplies the mass and inertia of every link by `factor`. Returns false, and changes nothing, if the factor is
    /// not above zero and finite.
    pub fn scale_mass(&mut self, factor: f64) -> bool {
        let is_sound = factor.is_finite() && factor > 0.0;
        if is_sound {
            for inertial in self.links.iter_mut().filter_map(|link| link.inertial.as_mut()) {
                inertial.mass_kg *= factor;
                inertial.inertia_kg_m2 *= factor;
            }
        }
        is_sound
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

/// Refuses a moving joint without a role.
fn no_joint_free(
    joints: &[Joint],
    moving: &[usize],
    with_roles: &BTreeSet<usize>,
    urdf: &Path,
) -> Result<(), VehicleError> {
    let Some(&free) = moving.iter().find(|joint| !with_roles.contains(joint)) else { return Ok(()) };
    let Joint { name, line, kind, .. } = &joints[free];
    let what = format!(
        "joint \"{name}\" is {kind:?} but no wheel names it as its drive_joint, steer_joint, swivel_joint or \
         suspension_joint, and it is neither among `servos`, `passive` nor `held`: make it fixed or name it"
    );
    Err(VehicleError::urdf(urdf, *line, what))
}

pub(crate) fn summed_mass_kg(links: &[Link]) -> f64 {
    links.iter().filter_map(|link| link.inertial).map(|inertial| inertial.mass_kg).sum()
}

pub(crate) fn poses_at_zero(joints: &[Joint]) -> Vec<Pose> {
    let mut poses = vec![Pose::identity()];
    joints.iter().for_each(|j| poses.push(poses[j.parent] * j.parent_from_child_at_zero));
    poses
}

pub(crate) fn read_text(path: &Path, bytes_max: u64) -> Result<String, InputError> {
    String::from_utf8(read_bytes(path, bytes_max)?).map_err(|e| InputError::content(path, format!("is not UTF-8: {e}")))
}

/// Reads and checks a URDF on its own: links and joints in tree order, and the text. Its meshes are sought beside it
/// and in `packages`.
///
/// # Errors
/// When it cannot be read or is refused.
pub fn read_urdf(path: &Path, packages: &Packages) -> Result<(Vec<Link>, Vec<Joint>, String), VehicleError> {
    let text = read_text(path, urdf::URDF_BYTES_MAX)?;
    let robot = urdf::read(&text, path, packages)?;
    let (links, joints) = tree::order(robot, path, TreeKind::Rover)?;
    Ok((links, joints, text))
}
