//! The instances of geometries in the scene of a file, with their transforms.

use nalgebra::{Matrix4, Unit, Vector3};
use roxmltree::Node;

use super::{Triangle, attribute, children, floats, reference, refusal};

/// A geometry that is shown.
pub(super) struct Instance<'a> {
    /// The element that instances it.
    pub(super) element: Node<'a, 'a>,
    /// The geometry's id.
    pub(super) geometry: &'a str,
    /// Transform from the geometry's own units to the scene in metres.
    scene_from_geometry: Matrix4<f64>,
}

impl Instance<'_> {
    /// Corners of a triangle of the geometry in the scene, m.
    pub(super) fn place(&self, triangle: &Triangle) -> [[f32; 3]; 3] {
        let place = |corner| self.scene_from_geometry.transform_point(&corner).coords.map(|m| m as f32).into();
        let [a, b, c]: [[f32; 3]; 3] = triangle.map(place);
        // Seen in a mirror, the corners go round the other way.
        if volume(&self.scene_from_geometry) < 0.0 { [a, c, b] } else { [a, b, c] }
    }
}

/// All instances of geometries in a file's scene.
pub(super) fn instances<'a>(root: Node<'a, 'a>) -> Result<Vec<Instance<'a>>, String> {
    let mut instances = Vec::new();
    add_nodes(shown(root)?, &Matrix4::new_scaling(unit_m(root)?), &mut instances)?;
    Ok(instances)
}

/// The scene that is shown.
fn shown<'a>(root: Node<'a, 'a>) -> Result<Node<'a, 'a>, String> {
    let mut requested = children(root, "scene").flat_map(|scene| children(scene, "instance_visual_scene"));
    let missing = || refusal(root, "shows nothing; give a <scene> with an <instance_visual_scene>");
    let requested = requested.next().ok_or_else(missing)?;
    let id = reference(requested, "url")?;
    let mut scenes = children(root, "library_visual_scenes").flat_map(|library| children(library, "visual_scene"));
    let scene = scenes.find(|scene| attribute(*scene, "id") == Some(id));
    scene.ok_or_else(|| refusal(requested, format!("no <visual_scene> has id \"{id}\"")))
}

/// The file's unit of length, m.
fn unit_m(root: Node) -> Result<f64, String> {
    let unit = children(root, "asset").flat_map(|asset| children(asset, "unit")).next();
    let Some((unit, text)) = unit.and_then(|unit| Some((unit, attribute(unit, "meter")?))) else { return Ok(1.0) };
    let unit_m = text.trim().parse::<f64>().ok().filter(|unit_m| unit_m.is_normal() && *unit_m > 0.0);
    unit_m.ok_or_else(|| refusal(unit, format!("meter=\"{text}\" is not allowed: must be a number above 0")))
}

/// Adds the instances of the nodes below `parent`.
fn add_nodes<'a>(
    parent: Node<'a, 'a>,
    scene_from_parent: &Matrix4<f64>,
    instances: &mut Vec<Instance<'a>>,
) -> Result<(), String> {
    for node in children(parent, "node") {
        let scene_from_node = scene_from_parent * parent_from(node)?;
        for element in node.children() {
            match element.tag_name().name() {
                "instance_geometry" => {
                    let geometry = reference(element, "url")?;
                    instances.push(Instance { element, geometry, scene_from_geometry: scene_from_node });
                }
                tag @ ("instance_controller" | "instance_node") => {
                    return Err(refusal(element, format!("<{tag}> is not read: must be <instance_geometry>")));
                }
                _ => {}
            }
        }
        add_nodes(node, &scene_from_node, instances)?;
    }
    Ok(())
}

/// The transforms of a node: the one that stands last is the first that its geometry goes through.
fn parent_from(node: Node) -> Result<Matrix4<f64>, String> {
    let mut parent_from_node = Matrix4::<f64>::identity();
    for element in node.children() {
        let transform: Matrix4<f64> = match element.tag_name().name() {
            "translate" => Matrix4::new_translation(&Vector3::from(numbers::<3>(element)?)),
            "scale" => Matrix4::new_nonuniform_scaling(&Vector3::from(numbers::<3>(element)?)),
            "rotate" => rotation(element)?,
            "matrix" => matrix(element)?,
            tag @ ("lookat" | "skew") => return Err(refusal(element, format!("<{tag}> is not read; give a <matrix>"))),
            _ => continue,
        };
        parent_from_node *= transform;
    }
    let is_solid = volume(&parent_from_node).is_normal();
    if is_solid { Ok(parent_from_node) } else { Err(refusal(node, "its transforms make it flat: no scale may be 0")) }
}

fn rotation(element: Node) -> Result<Matrix4<f64>, String> {
    let [x, y, z, angle_deg] = numbers::<4>(element)?;
    let axis = Unit::try_new(Vector3::new(x, y, z), 0.0);
    let axis = axis.ok_or_else(|| refusal(element, "its axis 0 0 0 is not allowed: must be a direction"))?;
    Ok(Matrix4::from_axis_angle(&axis, angle_deg.to_radians()))
}

fn matrix(element: Node) -> Result<Matrix4<f64>, String> {
    let matrix = Matrix4::from_row_slice(&numbers::<16>(element)?);
    let is_affine = matrix.row(3).iter().eq(&[0.0, 0.0, 0.0, 1.0]);
    if is_affine { Ok(matrix) } else { Err(refusal(element, "its last row must be 0 0 0 1")) }
}

/// Volume of a transformed unit cube; negative for a transform that mirrors.
fn volume(transform: &Matrix4<f64>) -> f64 {
    transform.fixed_view::<3, 3>(0, 0).determinant()
}

/// The numbers of an element that must have `N`.
fn numbers<const N: usize>(element: Node) -> Result<[f64; N], String> {
    let numbers = floats(element)?;
    let (tag, given) = (element.tag_name().name(), numbers.len());
    numbers.try_into().map_err(|_| refusal(element, format!("<{tag}> has {given} numbers: must have {N}")))
}
