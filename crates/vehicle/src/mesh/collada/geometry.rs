//! The meshes of a file: positions, and the faces between them (COLLADA 1.4.1, chapter 5).

use std::collections::BTreeMap;

use nalgebra::{Point3, Vector3};
use roxmltree::Node;

use super::{Triangle, attribute, children, floats, needed, number, reference, refusal, words};

/// A corner that bends inward by less than this, as a share of the face's size, is taken for straight.
const STRAIGHT: f64 = 1e-9;

/// The triangles of every geometry that has a mesh, by the geometry's id.
pub(super) fn read<'a>(root: Node<'a, 'a>) -> Result<BTreeMap<&'a str, Vec<Triangle>>, String> {
    let mut geometries = BTreeMap::new();
    for geometry in children(root, "library_geometries").flat_map(|library| children(library, "geometry")) {
        for mesh in children(geometry, "mesh") {
            let id = needed(geometry, "id")?;
            if geometries.insert(id, triangles(mesh)?).is_some() {
                return Err(refusal(geometry, format!("a mesh with id \"{id}\" is there already")));
            }
        }
    }
    Ok(geometries)
}

fn triangles(mesh: Node) -> Result<Vec<Triangle>, String> {
    let mut all = children(mesh, "vertices");
    let (Some(vertices), None) = (all.next(), all.next()) else {
        return Err(refusal(mesh, "a <mesh> must have one <vertices>"));
    };
    let positions = positions(mesh, vertices)?;
    let mut triangles = Vec::new();
    for primitive in mesh.children() {
        add(primitive, vertices, &positions, &mut triangles)?;
    }
    Ok(triangles)
}

/// The positions of a mesh.
fn positions(mesh: Node, vertices: Node) -> Result<Vec<Point3<f64>>, String> {
    let input = children(vertices, "input").find(|input| attribute(*input, "semantic") == Some("POSITION"));
    let input = input.ok_or_else(|| refusal(vertices, "has no <input semantic=\"POSITION\">; give one"))?;
    let id = reference(input, "source")?;
    let source = children(mesh, "source").find(|source| attribute(*source, "id") == Some(id));
    let source = source.ok_or_else(|| refusal(input, format!("no <source> of this <mesh> has id \"{id}\"")))?;
    let accessor = children(source, "technique_common").flat_map(|common| children(common, "accessor")).next();
    let accessor = accessor.ok_or_else(|| refusal(source, "has no <accessor>; give one"))?;
    check_params(accessor)?;
    items(accessor, &array(source, accessor)?)
}

fn check_params(accessor: Node) -> Result<(), String> {
    let params = children(accessor, "param").zip(["X", "Y", "Z"]);
    let are_axes = params.map(|(param, axis)| {
        attribute(param, "type") == Some("float") && attribute(param, "name").is_none_or(|name| name == axis)
    });
    if are_axes.eq([true; 3]) {
        return Ok(());
    }
    Err(refusal(accessor, "the first three <param>s of positions must be X, Y and Z of type \"float\""))
}

/// The numbers that an accessor reads from.
fn array(source: Node, accessor: Node) -> Result<Vec<f64>, String> {
    let id = reference(accessor, "source")?;
    let array = children(source, "float_array").find(|array| attribute(*array, "id") == Some(id));
    let array = array.ok_or_else(|| refusal(accessor, format!("no <float_array> of this <source> has id \"{id}\"")))?;
    let (stated, numbers) = (number(array, "count", needed(array, "count")?)?, floats(array)?);
    if numbers.len() as u64 == stated {
        return Ok(numbers);
    }
    Err(refusal(array, format!("count {stated} is not allowed: there are {} numbers", numbers.len())))
}

/// The items of an accessor: `count` of them from `offset` on, each `stride` numbers after the last.
fn items(accessor: Node, numbers: &[f64]) -> Result<Vec<Point3<f64>>, String> {
    let value = |name: &str, default: &str| number(accessor, name, attribute(accessor, name).unwrap_or(default));
    let (count, offset, stride) =
        (number(accessor, "count", needed(accessor, "count")?)?, value("offset", "0")?, value("stride", "1")?);
    if stride < 3 {
        return Err(refusal(accessor, format!("stride {stride} is not allowed: must be 3 or more for positions")));
    }
    let end = if count == 0 { 0 } else { offset + (count - 1) * stride + 3 };
    if end > numbers.len() as u64 {
        let length = numbers.len();
        let what = format!("the array has {length} numbers for items of {stride} from {offset} on");
        return Err(refusal(accessor, format!("count {count} is not allowed: {what}")));
    }
    let item = |i: u64| {
        let first = (offset + i * stride) as usize;
        Point3::new(numbers[first], numbers[first + 1], numbers[first + 2])
    };
    Ok((0..count).map(item).collect())
}

/// Adds the triangles of a primitive; lines have none.
fn add(
    primitive: Node,
    vertices: Node,
    positions: &[Point3<f64>],
    triangles: &mut Vec<Triangle>,
) -> Result<(), String> {
    let cut: fn(&[Point3<f64>], &mut Vec<Triangle>) = match primitive.tag_name().name() {
        "triangles" | "trifans" => cut_fan,
        "polylist" | "polygons" => cut_face,
        "tristrips" => cut_strip,
        _ => return Ok(()),
    };
    let Faces { corners, lengths } = Faces::read(primitive, vertices, positions)?;
    let mut rest = &corners[..];
    for length in lengths {
        let (face, others) = rest.split_at(length);
        cut(face, triangles);
        rest = others;
    }
    Ok(())
}

fn cut_fan(face: &[Point3<f64>], triangles: &mut Vec<Triangle>) {
    triangles.extend(face[1..].windows(2).map(|pair| [face[0], pair[0], pair[1]]));
}

/// A face as a fan where it is convex, else by cutting off its ears as they are seen along its normal.
fn cut_face(face: &[Point3<f64>], triangles: &mut Vec<Triangle>) {
    let from_first = |pair: &[Point3<f64>]| (pair[0] - face[0]).cross(&(pair[1] - face[0]));
    let normal: Vector3<f64> = face[1..].windows(2).map(from_first).sum();
    let corner = |i: usize| face[i % face.len()];
    let bend = |i: usize| (corner(i + 1) - corner(i)).cross(&(corner(i + 2) - corner(i + 1))).dot(&normal);
    if (0..face.len()).all(|i| bend(i) >= -STRAIGHT * normal.norm_squared()) {
        return cut_fan(face, triangles);
    }
    let right = normal.cross(&Vector3::ith(normal.abs().imin(), 1.0));
    let up = normal.cross(&right);
    let flat: Vec<f64> = face.iter().flat_map(|corner| [corner.coords.dot(&right), corner.coords.dot(&up)]).collect();
    // It fails only where the numbers do not come in pairs.
    let Ok(ears) = earcutr::earcut(&flat, &[], 2) else { return cut_fan(face, triangles) };
    triangles.extend(ears.chunks_exact(3).map(|ear| {
        let [a, b, c] = [face[ear[0]], face[ear[1]], face[ear[2]]];
        if (b - a).cross(&(c - a)).dot(&normal) < 0.0 { [a, c, b] } else { [a, b, c] }
    }));
}

/// Every other triangle of a strip goes round the other way.
fn cut_strip(strip: &[Point3<f64>], triangles: &mut Vec<Triangle>) {
    let turned = |(i, corners): (usize, &[Point3<f64>])| {
        let [a, b, c] = [corners[0], corners[1], corners[2]];
        if i.is_multiple_of(2) { [a, b, c] } else { [b, a, c] }
    };
    triangles.extend(strip.windows(3).enumerate().map(turned));
}

/// The faces, fans or strips of a primitive.
struct Faces {
    /// Their corners, one face's after the other's.
    corners: Vec<Point3<f64>>,
    /// How many corners each has: three or more.
    lengths: Vec<usize>,
}

impl Faces {
    fn read(primitive: Node, vertices: Node, positions: &[Point3<f64>]) -> Result<Self, String> {
        if let Some(hole) = children(primitive, "ph").next() {
            return Err(refusal(hole, "a face with holes is not read; cut it into faces without"));
        }
        let (mut corners, mut of_lists) = (Vec::new(), Vec::new());
        let mut lists = children(primitive, "p").peekable();
        if lists.peek().is_some() {
            let layout = Layout::read(primitive, vertices)?;
            for list in lists {
                let before = corners.len();
                layout.add_corners(list, positions, &mut corners)?;
                of_lists.push(corners.len() - before);
            }
        }
        let lengths = match primitive.tag_name().name() {
            "triangles" => vec![3; corners.len().div_ceil(3)],
            "polylist" => corner_counts(primitive)?,
            _ => of_lists,
        };
        let faces = Self { corners, lengths };
        faces.check(primitive)?;
        Ok(faces)
    }

    /// As many faces as the primitive says, with as many corners as there are.
    fn check(&self, primitive: Node) -> Result<(), String> {
        let count = number(primitive, "count", needed(primitive, "count")?)?;
        let (faces, corners) = (self.lengths.len(), self.lengths.iter().sum::<usize>());
        if faces as u64 != count {
            return Err(refusal(primitive, format!("count {count} is not allowed: faces that are there: {faces}")));
        }
        if let Some(short) = self.lengths.iter().find(|length| **length < 3) {
            return Err(refusal(primitive, format!("a face of {short} corners is not allowed: must be 3 or more")));
        }
        if corners != self.corners.len() {
            let given = self.corners.len();
            return Err(refusal(primitive, format!("faces of {corners} corners are not allowed: there are {given}")));
        }
        Ok(())
    }
}

/// How many corners each face of a `<polylist>` has.
fn corner_counts(polylist: Node) -> Result<Vec<usize>, String> {
    let Some(counts) = children(polylist, "vcount").next() else { return Ok(Vec::new()) };
    words(counts).map(|word| number(counts, "vcount", word).map(|corners| corners as usize)).collect()
}

/// How the indices of a primitive's corners lie.
struct Layout {
    /// Indices of a corner.
    stride: usize,
    /// Which of them is its position's.
    position: usize,
}

impl Layout {
    fn read(primitive: Node, vertices: Node) -> Result<Self, String> {
        let (mut stride, mut position) = (0_usize, None);
        for input in children(primitive, "input") {
            let offset = number(input, "offset", needed(input, "offset")?)? as usize;
            stride = stride.max(offset + 1);
            if needed(input, "semantic")? != "VERTEX" {
                continue;
            }
            let id = reference(input, "source")?;
            if attribute(vertices, "id") != Some(id) {
                let what = format!("source \"#{id}\" is not allowed: must be the <vertices> of this mesh");
                return Err(refusal(input, what));
            }
            position = Some(offset);
        }
        let position = position.ok_or_else(|| refusal(primitive, "has no <input semantic=\"VERTEX\">; give one"))?;
        Ok(Self { stride, position })
    }

    /// Adds the corners of a list of indices.
    fn add_corners(&self, list: Node, positions: &[Point3<f64>], corners: &mut Vec<Point3<f64>>) -> Result<(), String> {
        let mut given = 0_usize;
        for (i, word) in words(list).enumerate() {
            given = i + 1;
            if i % self.stride == self.position {
                let index = number(list, "index", word)?;
                let beyond = || format!("index {index} is not allowed: must be below {}", positions.len());
                corners.push(*positions.get(index as usize).ok_or_else(|| refusal(list, beyond()))?);
            }
        }
        if given.is_multiple_of(self.stride) {
            return Ok(());
        }
        Err(refusal(list, format!("{given} indices are not allowed: a corner has {}", self.stride)))
    }
}
