//! Reads the part of URDF (wiki.ros.org/urdf/XML) that rovers need: links with
//! inertial, visual and collision, materials, fixed, revolute, continuous and
//! prismatic joints, `<mimic>`. Other elements (transmission, gazebo) are passed over;
//! what would change the motion and is not modelled (other joint types) is refused,
//! and so is a xacro that is not expanded. Read from the XML tree itself, because every
//! error names its line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nalgebra::{Matrix3, Unit, UnitQuaternion, Vector3};
use roxmltree::{Document, Node};
use selene_base::Pose;

use crate::VehicleError;
use crate::mesh;
use crate::packages::Packages;
use crate::shape::{Collision, Inertial, JointKind, Mimic, Shape, Visual};

/// Largest coordinate of an origin in its parent's frame, m.
const ORIGIN_MAX_M: f64 = 1000.0;

/// The largest URDF taken; a mesh belongs in its own file.
pub(crate) const URDF_BYTES_MAX: u64 = 16 << 20;

const GREY: [f64; 4] = [0.7, 0.7, 0.7, 1.0];

/// Attributes of an `<inertia>`: moments and products about the axes of its frame, kg m².
const INERTIA: [&str; 6] = ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"];

pub(crate) struct RawLink {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) inertial: Option<Inertial>,
    pub(crate) visuals: Vec<Visual>,
    pub(crate) collisions: Vec<Collision>,
}

pub(crate) struct RawJoint {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) kind: JointKind,
    pub(crate) parent: String,
    pub(crate) child: String,
    pub(crate) parent_from_child_at_zero: Pose,
    pub(crate) axis: Unit<Vector3<f64>>,
    pub(crate) limits: Option<[f64; 2]>,
    pub(crate) effort_max: Option<f64>,
    pub(crate) speed_max: Option<f64>,
    pub(crate) mimic: Option<Mimic>,
}

pub(crate) struct RawRobot {
    pub(crate) line: u32,
    pub(crate) links: Vec<RawLink>,
    pub(crate) joints: Vec<RawJoint>,
}

type Colours = BTreeMap<String, [f64; 4]>;

/// Finds the mesh file of a name; its error says why there is none.
pub(crate) type FindMesh<'a> = &'a dyn Fn(&str) -> Result<PathBuf, String>;

/// Reads the links and joints of a URDF's `text`; `path` is named in errors, and
/// mesh files are sought beside it and in `packages`.
pub(crate) fn read(text: &str, path: &Path, packages: &Packages) -> Result<RawRobot, VehicleError> {
    read_with(text, path, &|name| packages.find(name, path))
}

/// The same with mesh files that are sought elsewhere.
pub(crate) fn read_with(text: &str, path: &Path, meshes: FindMesh) -> Result<RawRobot, VehicleError> {
    let document = parse(text, path)?;
    let file = File::new(text, path, meshes);
    let robot = document.root_element();
    if robot.tag_name().name() != "robot" {
        return Err(file.refusal(robot, format!("<{}> is not a <robot>", robot.tag_name().name())));
    }
    file.refuse_xacro(robot)?;
    let colours = file.materials(robot)?;
    let links = children(robot, "link").map(|node| file.link(node, &colours)).collect::<Result<_, _>>()?;
    let joints = children(robot, "joint").map(|node| file.joint(node)).collect::<Result<_, _>>()?;
    Ok(RawRobot { line: file.line(robot), links, joints })
}

/// The lines of a URDF's `text` at which an `<inertia>` lacks one of its six numbers; `path` is named in errors. A
/// product of inertia that is not given is taken as zero here. The format asks for all six, and urdfdom, which
/// robot_state_publisher and RViz read with, drops an inertial that lacks one.
///
/// # Errors
/// When the text is not XML.
pub fn incomplete_inertias(text: &str, path: &Path) -> Result<Vec<u32>, VehicleError> {
    let document = parse(text, path)?;
    let nowhere = |_: &str| Err("is not sought".to_owned());
    let file = File::new(text, path, &nowhere);
    let lacks_one = |node: &Node| INERTIA.iter().any(|name| !node.has_attribute(*name));
    let inertias = document.descendants().filter(|node| node.has_tag_name("inertia"));
    Ok(inertias.filter(lacks_one).map(|node| file.line(node)).collect())
}

/// Whether the text of a URDF is a xacro that is not expanded: it has elements of xacro's namespace.
#[must_use]
pub fn is_xacro(text: &str) -> bool {
    Document::parse(text).is_ok_and(|document| first_xacro(document.root_element()).is_some())
}

/// The joints for which a URDF's `text` has actuators: in a `<transmission>`, or in a `<ros2_control>` that commands
/// them. Empty where it has none.
pub(crate) fn actuated_joints(text: &str) -> BTreeSet<String> {
    let Ok(document) = Document::parse(text) else { return BTreeSet::new() };
    let is_actuated = |joint: &Node| match joint.parent().map(|parent| parent.tag_name().name()) {
        Some("transmission") => true,
        Some("ros2_control") => joint.children().any(|child| child.has_tag_name("command_interface")),
        _ => false,
    };
    let joints = document.descendants().filter(|node| node.has_tag_name("joint"));
    joints.filter(is_actuated).filter_map(|joint| joint.attribute("name").map(str::to_owned)).collect()
}

fn first_xacro<'a>(robot: Node<'a, 'a>) -> Option<Node<'a, 'a>> {
    let is_xacro = |node: &Node| node.tag_name().namespace().is_some_and(|uri| uri.ends_with("/xacro"));
    robot.descendants().find(is_xacro)
}

fn parse<'a>(text: &'a str, path: &Path) -> Result<Document<'a>, VehicleError> {
    Document::parse(text).map_err(|e| VehicleError::urdf(path, e.pos().row, format!("not XML: {e}")))
}

/// The name that the text of a URDF gives its robot.
#[must_use]
pub fn robot_name(text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    document.root_element().attribute("name").map(str::to_owned)
}

struct File<'a> {
    /// Where each line ends, bytes from the start: every link and joint asks for its line, and
    /// counting from the start each time would take time by the square of the file's length.
    line_ends: Vec<usize>,
    path: &'a Path,
    meshes: FindMesh<'a>,
}

fn children<'a>(node: Node<'a, 'a>, tag: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |c| c.has_tag_name(tag))
}

fn child<'a>(node: Node<'a, 'a>, tag: &'static str) -> Option<Node<'a, 'a>> {
    children(node, tag).next()
}

/// A joint's limit that is a number above zero; many URDFs write zero for none.
fn stated_limit<'a>(joint: Node<'a, 'a>, name: &str) -> Option<f64> {
    let limit: f64 = child(joint, "limit")?.attribute(name)?.trim().parse().ok()?;
    (limit > 0.0 && limit.is_finite()).then_some(limit)
}

fn material_name<'a>(material: Node<'a, 'a>) -> Option<&'a str> {
    material.attribute("name").filter(|name| !name.is_empty())
}

impl<'a> File<'a> {
    fn new(text: &str, path: &'a Path, meshes: FindMesh<'a>) -> Self {
        let line_ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { line_ends, path, meshes }
    }

    fn refuse_xacro(&self, robot: Node<'a, 'a>) -> Result<(), VehicleError> {
        let Some(node) = first_xacro(robot) else { return Ok(()) };
        let file = self.path.display();
        let what = format!(
            "<xacro:{}> is not expanded: write a URDF by `xacro {file} > ROVER.urdf`, or `selene import {file}`, \
             which runs it",
            node.tag_name().name()
        );
        Err(self.refusal(node, what))
    }

    fn line(&self, node: Node) -> u32 {
        self.line_ends.partition_point(|end| *end < node.range().start) as u32 + 1
    }

    fn refusal(&self, node: Node, what: impl Into<String>) -> VehicleError {
        VehicleError::urdf(self.path, self.line(node), what)
    }

    fn needed(&self, node: Node<'a, 'a>, tag: &'static str) -> Result<Node<'a, 'a>, VehicleError> {
        child(node, tag)
            .ok_or_else(|| self.refusal(node, format!("<{}> has no <{tag}>; give one", node.tag_name().name())))
    }

    fn attribute(&self, node: Node<'a, 'a>, name: &str) -> Result<&'a str, VehicleError> {
        let missing = || format!("<{}> has no {name}=\"…\"; give one", node.tag_name().name());
        node.attribute(name).filter(|value| !value.is_empty()).ok_or_else(|| self.refusal(node, missing()))
    }

    fn numbers<const N: usize>(&self, node: Node<'a, 'a>, name: &str) -> Result<[f64; N], VehicleError> {
        let text = self.attribute(node, name)?;
        let values: Option<Vec<f64>> =
            text.split_whitespace().map(|word| word.parse().ok().filter(|v: &f64| v.is_finite())).collect();
        values.and_then(|values| <[f64; N]>::try_from(values).ok()).ok_or_else(|| {
            self.refusal(node, format!("{name}=\"{text}\" is not allowed: must be {N} finite number(s)"))
        })
    }

    fn numbers_or<const N: usize>(
        &self,
        node: Node<'a, 'a>,
        name: &str,
        otherwise: [f64; N],
    ) -> Result<[f64; N], VehicleError> {
        if node.has_attribute(name) { self.numbers(node, name) } else { Ok(otherwise) }
    }

    fn positive<const N: usize>(&self, node: Node<'a, 'a>, name: &str) -> Result<[f64; N], VehicleError> {
        let values = self.numbers(node, name)?;
        match values.iter().find(|v| **v <= 0.0) {
            Some(value) => Err(self.refusal(node, format!("{name} {value} is not allowed: must be more than 0"))),
            None => Ok(values),
        }
    }

    fn origin(&self, node: Node<'a, 'a>) -> Result<Pose, VehicleError> {
        let Some(origin) = child(node, "origin") else { return Ok(Pose::identity()) };
        let xyz = Vector3::from(self.numbers_or(origin, "xyz", [0.0; 3])?);
        if let Some(far_m) = xyz.iter().find(|along_m| along_m.abs() > ORIGIN_MAX_M) {
            let what = format!("xyz {far_m:e} m is not allowed: at most {ORIGIN_MAX_M} m in each direction");
            return Err(self.refusal(origin, what));
        }
        let [roll, pitch, yaw] = self.numbers_or(origin, "rpy", [0.0; 3])?;
        Ok(Pose::from_parts(xyz.into(), UnitQuaternion::from_euler_angles(roll, pitch, yaw)))
    }

    fn materials(&self, robot: Node<'a, 'a>) -> Result<Colours, VehicleError> {
        let mut colours = Colours::new();
        for node in robot.descendants().filter(|n| n.has_tag_name("material")) {
            if let (Some(rgba), Some(name)) = (self.colour(node)?, material_name(node)) {
                colours.insert(name.to_owned(), rgba);
            }
        }
        Ok(colours)
    }

    /// The colour that a material gives itself.
    fn colour(&self, material: Node<'a, 'a>) -> Result<Option<[f64; 4]>, VehicleError> {
        let Some(color) = child(material, "color") else { return Ok(None) };
        let rgba: [f64; 4] = self.numbers(color, "rgba")?;
        match rgba.iter().find(|v| !(0.0..=1.0).contains(*v)) {
            Some(value) => Err(self.refusal(color, format!("rgba {value} is not allowed: must be 0 to 1"))),
            None => Ok(Some(rgba)),
        }
    }

    fn link(&self, node: Node<'a, 'a>, colours: &Colours) -> Result<RawLink, VehicleError> {
        Ok(RawLink {
            name: self.attribute(node, "name")?.to_owned(),
            line: self.line(node),
            inertial: child(node, "inertial").map(|n| self.inertial(n)).transpose()?.flatten(),
            visuals: children(node, "visual").map(|n| self.visual(n, colours)).collect::<Result<_, _>>()?,
            collisions: children(node, "collision").map(|n| self.collision(n)).collect::<Result<_, _>>()?,
        })
    }

    /// The inertia of a link; `None` for a mass of 0, which URDFs have where a frame needs a link.
    fn inertial(&self, node: Node<'a, 'a>) -> Result<Option<Inertial>, VehicleError> {
        let mass = self.needed(node, "mass")?;
        if self.numbers(mass, "value")? == [0.0] {
            return Ok(None);
        }
        let [mass_kg] = self.positive(mass, "value")?;
        let inertia = self.needed(node, "inertia")?;
        let moment = |name| self.numbers(inertia, name).map(|[value]: [f64; 1]| value);
        let product = |name| self.numbers_or(inertia, name, [0.0]).map(|[value]| value);
        let [xx, yy, zz] = [moment("ixx")?, moment("iyy")?, moment("izz")?];
        let [xy, xz, yz] = [product("ixy")?, product("ixz")?, product("iyz")?];
        let inertia_kg_m2 = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
        if !is_inertia(&inertia_kg_m2) {
            let what =
                "inertia is not allowed: principal moments must be more than 0, none above the sum of the others";
            return Err(self.refusal(inertia, what));
        }
        Ok(Some(Inertial { link_from_com: self.origin(node)?, mass_kg, inertia_kg_m2 }))
    }

    fn visual(&self, node: Node<'a, 'a>, colours: &Colours) -> Result<Visual, VehicleError> {
        let material = child(node, "material");
        let name = material.and_then(material_name).unwrap_or_default();
        Ok(Visual {
            link_from_shape: self.origin(node)?,
            shape: self.shape(self.needed(node, "geometry")?)?,
            material: name.to_owned(),
            rgba: material.map_or(Ok(GREY), |material| self.visible_colour(material, name, colours))?,
        })
    }

    /// The colour of a visual: its material's own, else that of the name. One with a texture, which is not read, is
    /// grey, as is one whose name has no colour anywhere.
    fn visible_colour(&self, material: Node<'a, 'a>, name: &str, colours: &Colours) -> Result<[f64; 4], VehicleError> {
        Ok(self.colour(material)?.or_else(|| colours.get(name).copied()).unwrap_or(GREY))
    }

    fn collision(&self, node: Node<'a, 'a>) -> Result<Collision, VehicleError> {
        Ok(Collision { link_from_shape: self.origin(node)?, shape: self.shape(self.needed(node, "geometry")?)? })
    }

    fn shape(&self, geometry: Node<'a, 'a>) -> Result<Shape, VehicleError> {
        let allowed = "a geometry is box, cylinder, sphere or mesh";
        let node = geometry
            .first_element_child()
            .ok_or_else(|| self.refusal(geometry, format!("<geometry> is empty: {allowed}")))?;
        let one = |name| self.positive(node, name).map(|[value]: [f64; 1]| value);
        match node.tag_name().name() {
            "box" => Ok(Shape::Box { size_m: self.positive(node, "size")? }),
            "cylinder" => Ok(Shape::Cylinder { radius_m: one("radius")?, length_m: one("length")? }),
            "sphere" => Ok(Shape::Sphere { radius_m: one("radius")? }),
            "mesh" => self.mesh(node),
            other => Err(self.refusal(node, format!("<{other}> is not known: {allowed}"))),
        }
    }

    fn mesh(&self, node: Node<'a, 'a>) -> Result<Shape, VehicleError> {
        let name = self.attribute(node, "filename")?;
        let path = (self.meshes)(name).map_err(|what| self.refusal(node, format!("mesh \"{name}\" {what}")))?;
        let scale: [f64; 3] = self.numbers_or(node, "scale", [1.0; 3])?;
        if scale.contains(&0.0) {
            return Err(self.refusal(node, "scale 0 is not allowed: it would make the mesh flat"));
        }
        let (vertices, triangles) =
            mesh::read(&path, scale).map_err(|what| self.refusal(node, format!("mesh \"{name}\": {what}")))?;
        Ok(Shape::Mesh { vertices, triangles })
    }

    fn joint(&self, node: Node<'a, 'a>) -> Result<RawJoint, VehicleError> {
        let kind = self.kind(node)?;
        Ok(RawJoint {
            name: self.attribute(node, "name")?.to_owned(),
            line: self.line(node),
            kind,
            parent: self.attribute(self.needed(node, "parent")?, "link")?.to_owned(),
            child: self.attribute(self.needed(node, "child")?, "link")?.to_owned(),
            parent_from_child_at_zero: self.origin(node)?,
            axis: self.axis(node, kind)?,
            limits: self.limits(node, kind)?,
            effort_max: stated_limit(node, "effort"),
            speed_max: stated_limit(node, "velocity"),
            mimic: child(node, "mimic").map(|mimic| self.mimic(mimic)).transpose()?,
        })
    }

    fn mimic(&self, node: Node<'a, 'a>) -> Result<Mimic, VehicleError> {
        let [multiplier] = self.numbers_or(node, "multiplier", [1.0])?;
        let [offset] = self.numbers_or(node, "offset", [0.0])?;
        if multiplier == 0.0 {
            return Err(self.refusal(node, "multiplier 0 is not allowed: such a joint is fixed"));
        }
        Ok(Mimic { joint: self.attribute(node, "joint")?.to_owned(), multiplier, offset })
    }

    fn kind(&self, node: Node<'a, 'a>) -> Result<JointKind, VehicleError> {
        match self.attribute(node, "type")? {
            "fixed" => Ok(JointKind::Fixed),
            "revolute" => Ok(JointKind::Revolute),
            "continuous" => Ok(JointKind::Continuous),
            "prismatic" => Ok(JointKind::Prismatic),
            other => {
                let what = format!("type=\"{other}\" is not allowed: fixed, revolute, continuous or prismatic");
                Err(self.refusal(node, what))
            }
        }
    }

    /// The axis of a joint; that of a fixed one is never used and may be anything.
    fn axis(&self, node: Node<'a, 'a>, kind: JointKind) -> Result<Unit<Vector3<f64>>, VehicleError> {
        let Some(axis) = child(node, "axis").filter(|_| kind != JointKind::Fixed) else { return Ok(Vector3::x_axis()) };
        let xyz = Vector3::from(self.numbers(axis, "xyz")?);
        Unit::try_new(xyz, 1e-9).ok_or_else(|| self.refusal(axis, "xyz is not allowed: must not be zero"))
    }

    fn limits(&self, node: Node<'a, 'a>, kind: JointKind) -> Result<Option<[f64; 2]>, VehicleError> {
        if !matches!(kind, JointKind::Revolute | JointKind::Prismatic) {
            return Ok(None);
        }
        let limit = self.needed(node, "limit")?;
        let [lower] = self.numbers_or(limit, "lower", [0.0])?;
        let [upper] = self.numbers_or(limit, "upper", [0.0])?;
        if lower > upper {
            let what = format!("lower {lower} is not allowed: must be at most upper {upper}");
            return Err(self.refusal(limit, what));
        }
        Ok(Some([lower, upper]))
    }
}

/// Whether a matrix can be the inertia of something: principal moments above zero
/// that obey the triangle inequality, to rounding.
fn is_inertia(inertia: &Matrix3<f64>) -> bool {
    let moments = inertia.symmetric_eigenvalues();
    let slack = 1.0 + 1e-6;
    moments.min() > 0.0 && moments.max() <= (moments.sum() - moments.max()) * slack
}
