//! Collada files (COLLADA 1.4.1): the triangles that a file's scene shows, in metres. Positions, faces and the transforms
//! of nodes are read; normals, colours and animations are passed over, and so is `<up_axis>`, as RViz does. What would
//! change the shape and is not read is refused with its line.
//!
//! `mesh-loader` (0.1.13) has a reader too. It takes strips for fans, applies the transforms of nodes in one another in
//! the wrong order, and leaves out transforms below a centimetre, an accessor's offset, and all instances of a mesh but one.

mod geometry;
mod scene;

use nalgebra::Point3;
use roxmltree::{Document, Node};

use super::{TRIANGLES_MAX, Triangles};

/// Most elements in one another.
const DEPTH_MAX: usize = 200;

/// Three corners, in units of the file.
type Triangle = [Point3<f64>; 3];

/// Reads a file's text.
///
/// # Errors
/// Line, value and what is allowed.
pub(super) fn read(text: &str) -> Result<Triangles, String> {
    let document = Document::parse(text).map_err(|error| format!("is not XML: {error}"))?;
    if let Some(deep) = document.descendants().find(|node| node.ancestors().nth(DEPTH_MAX).is_some()) {
        return Err(refusal(deep, format!("elements are nested too deep: {DEPTH_MAX} levels are allowed")));
    }
    let geometries = geometry::read(document.root_element())?;
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for instance in scene::instances(document.root_element())? {
        let missing = || refusal(instance.element, format!("no <geometry> \"{}\" has a <mesh>", instance.geometry));
        let geometry = geometries.get(instance.geometry).ok_or_else(missing)?;
        if triangles.len() + geometry.len() > TRIANGLES_MAX {
            return Err(refusal(instance.element, format!("more than {TRIANGLES_MAX} triangles are not allowed")));
        }
        for triangle in geometry {
            let first = vertices.len() as u32;
            vertices.extend(instance.place(triangle));
            triangles.push([first, first + 1, first + 2]);
        }
    }
    Ok((vertices, triangles))
}

fn children<'a>(node: Node<'a, 'a>, tag: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |child| child.tag_name().name() == tag)
}

/// An attribute without a namespace.
fn attribute<'a>(node: Node<'a, 'a>, name: &str) -> Option<&'a str> {
    let mut attributes = node.attributes();
    attributes.find(|attribute| attribute.namespace().is_none() && attribute.name() == name).map(|found| found.value())
}

fn needed<'a>(node: Node<'a, 'a>, name: &str) -> Result<&'a str, String> {
    let missing = || format!("<{}> has no {name}=\"…\"; give one", node.tag_name().name());
    attribute(node, name).ok_or_else(|| refusal(node, missing()))
}

/// The id that an attribute refers to.
fn reference<'a>(node: Node<'a, 'a>, name: &str) -> Result<&'a str, String> {
    let text = needed(node, name)?;
    text.strip_prefix('#').ok_or_else(|| refusal(node, format!("{name}=\"{text}\" is not allowed: must begin with #")))
}

fn number(node: Node, name: &str, text: &str) -> Result<u64, String> {
    let what = || format!("{name} \"{text}\" is not allowed: must be a whole number, 0 to {}", u32::MAX);
    text.parse::<u32>().map(u64::from).map_err(|_| refusal(node, what()))
}

/// The numbers of an element's text.
fn floats(node: Node) -> Result<Vec<f64>, String> {
    let float = |word: &str| {
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| refusal(node, format!("\"{word}\" is not allowed: must be a finite number")))
    };
    words(node).map(float).collect()
}

fn words<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = &'a str> {
    let texts = node.children().filter(Node::is_text).filter_map(|child| child.text());
    texts.flat_map(str::split_whitespace)
}

fn refusal(node: Node, what: impl std::fmt::Display) -> String {
    let line = node.document().text_pos_at(node.range().start).row;
    format!("line {line}: {what}")
}

#[cfg(test)]
mod tests {
    use super::read;

    const PLATE: &str = include_str!("../../tests/plate.dae");
    /// First element of the primitives of `square`.
    const INPUT: &str = r##"<input semantic="VERTEX" source="#v" offset="0"/>"##;

    /// A file with the corners (0, 0), (1, 0), (1, 1) and (0, 1) of a square.
    fn square(asset: &str, primitives: &str, nodes: &str) -> String {
        format!(
            r##"<COLLADA>{asset}<library_geometries><geometry id="g"><mesh>
            <source id="s"><float_array id="f" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array><technique_common>
            <accessor source="#f" count="4" stride="3">
            <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
            </accessor></technique_common></source>
            <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>{primitives}
            </mesh></geometry></library_geometries>
            <library_visual_scenes><visual_scene id="shown">{nodes}</visual_scene></library_visual_scenes>
            <scene><instance_visual_scene url="#shown"/></scene></COLLADA>"##
        )
    }

    /// The corners of each triangle that a text shows.
    fn shown(text: &str) -> Vec<[[f32; 3]; 3]> {
        let (vertices, triangles) = read(text).expect("good");
        triangles.into_iter().map(|triangle| triangle.map(|corner| vertices[corner as usize])).collect()
    }

    /// The triangles of primitives as they are, by the numbers of the square's corners.
    fn cut(primitives: &str) -> Vec<[usize; 3]> {
        const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let number = |at: [f32; 3]| CORNERS.iter().position(|corner| *corner == at).expect("a corner");
        let node = r##"<node><instance_geometry url="#g"/></node>"##;
        shown(&square("", primitives, node)).into_iter().map(|triangle| triangle.map(number)).collect()
    }

    /// Where the square's corners 0, 1 and 2 are shown.
    fn placed(asset: &str, nodes: &str) -> Vec<[[f32; 3]; 3]> {
        shown(&square(asset, &format!(r#"<triangles count="1">{INPUT}<p>0 1 2</p></triangles>"#), nodes))
    }

    #[track_caller]
    fn assert_refused(text: &str, part: &str) {
        let refusal = read(text).expect_err(part);
        assert!(refusal.contains(part) && refusal.contains("line "), "{part}: {refusal}");
    }

    /// Swaps `from` for `to` and expects a refusal that has `part`.
    #[track_caller]
    fn refused(from: &str, to: &str, part: &str) {
        assert!(PLATE.contains(from), "{from}");
        assert_refused(&PLATE.replacen(from, to, 1), part);
    }

    #[test]
    fn faces_fans_and_strips_are_cut_into_triangles_that_all_go_round_alike() {
        assert_eq!(cut(&format!(r#"<triangles count="1">{INPUT}<p>0 1 2</p></triangles>"#)), [[0, 1, 2]]);
        let faces = [[0, 1, 2], [0, 2, 3]];
        let list = format!(r#"<polylist count="1">{INPUT}<vcount>4</vcount><p>0 1 2 3</p></polylist>"#);
        assert_eq!(cut(&list), faces);
        assert_eq!(cut(&format!(r#"<polygons count="1">{INPUT}<p>0 1 2 3</p></polygons>"#)), faces);
        assert_eq!(cut(&format!(r#"<trifans count="1">{INPUT}<p>0 1 2 3</p></trifans>"#)), faces);
        let strips = format!(r#"<tristrips count="2">{INPUT}<p>0 1 3 2</p><p>0 1 2</p></tristrips>"#);
        assert_eq!(cut(&strips), [[0, 1, 3], [3, 1, 2], [0, 1, 2]]);
        let lines = format!(r#"<lines count="1">{INPUT}<p>0 1</p></lines><triangles count="0"/>"#);
        assert!(cut(&lines).is_empty());
    }

    #[test]
    fn a_face_with_a_dent_is_cut_without_filling_it() {
        let list = format!(r#"<polylist count="1">{INPUT}<vcount>4</vcount><p>1 2 3 0</p></polylist>"#);
        let node = r##"<node><instance_geometry url="#g"/></node>"##;
        let text = square("", &list, node).replacen("1 1 0 0 1 0</float_array>", "0.2 0.2 0 0 1 0</float_array>", 1);
        let area = |[a, b, c]: [[f32; 3]; 3]| 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
        let areas: Vec<_> = shown(&text).into_iter().map(area).collect();
        assert!(areas.len() == 2 && areas.iter().all(|area| *area > 0.0), "{areas:?}");
        assert!((areas.iter().sum::<f32>() - 0.2).abs() < 1e-6, "{areas:?}");
    }

    #[test]
    fn positions_are_read_where_the_accessor_says() {
        let nodes = r##"<node><instance_geometry url="#g"/></node>"##;
        let triangle = format!(r#"<triangles count="1">{INPUT}<p>0 1 1</p></triangles>"#);
        let text = square("", &triangle, nodes);
        let from_second = text.replacen(r#"count="4" stride="3""#, r#"count="2" stride="6" offset="3""#, 1);
        assert_eq!(shown(&from_second), [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]]);
        let beyond = text.replacen(r#"count="4" stride="3""#, r#"count="4" stride="3" offset="1""#, 1);
        assert_refused(&beyond, "count 4 is not allowed: the array has 12 numbers for items of 3 from 1 on");
    }

    #[test]
    fn nodes_in_one_another_move_a_mesh_from_the_inside_out_in_the_units_of_the_file() {
        let inner = r##"<node><translate>1 0 0</translate><scale>2 1 1</scale><instance_geometry url="#g"/></node>"##;
        let nodes = format!(r#"<node><rotate>0 0 1 90</rotate>{inner}</node>"#);
        let unit = r#"<asset><unit meter="0.01"/></asset>"#;
        // Stretched, shifted, then turned: x becomes y.
        let expected = [[0.0, 0.01, 0.0], [0.0, 0.03, 0.0], [-0.01, 0.03, 0.0_f32]];
        for (corner, expected) in placed(unit, &nodes)[0].iter().zip(expected) {
            assert!(corner.iter().zip(expected).all(|(m, expected)| (m - expected).abs() < 1e-8), "{corner:?}");
        }
    }

    #[test]
    fn small_transforms_count_as_large_ones_do() {
        for (transform, second) in [
            ("<translate>0.001 0 0</translate>", [1.001, 0.0, 0.0]),
            ("<scale>1.005 1 1</scale>", [1.005, 0.0, 0.0]),
            ("<scale>1e-9 1e-9 1e-9</scale>", [1e-9, 0.0, 0.0]),
            ("<matrix>1 0 0 0.004 0 1 0 0 0 0 1 0 0 0 0 1</matrix>", [1.004, 0.0, 0.0_f32]),
        ] {
            let node = format!(r##"<node>{transform}<instance_geometry url="#g"/></node>"##);
            assert_eq!(placed("", &node)[0][1], second, "{transform}");
        }
    }

    #[test]
    fn every_instance_is_shown_and_a_mirrored_one_turns_its_outside_out() {
        let nodes = r##"<node><instance_geometry url="#g"/><node><scale>-1 1 1</scale>
            <instance_geometry url="#g"/></node></node>"##;
        let [first, mirrored] = placed("", nodes)[..] else { panic!("two triangles") };
        assert_eq!(first, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]);
        assert_eq!(mirrored, [[0.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]);
        assert!(placed("", "<node/>").is_empty(), "a mesh that no node uses is not shown");
    }

    #[test]
    fn what_would_change_the_shape_and_is_not_read_is_refused() {
        let triangle = format!(r#"<triangles count="1">{INPUT}<p>0 1 2</p></triangles>"#);
        for (inside, part) in [
            ("<skew>45 1 0 0 0 1 0</skew>", "<skew> is not read"),
            ("<lookat>0 0 1 0 0 0 0 1 0</lookat>", "<lookat> is not read"),
            (r##"<instance_node url="#n"/>"##, "<instance_node> is not read"),
            (r##"<instance_controller url="#c"/>"##, "<instance_controller> is not read"),
            (r##"<instance_geometry url="#h"/>"##, "no <geometry> \"h\" has a <mesh>"),
            ("<scale>1 0 1</scale>", "no scale may be 0"),
            ("<scale>1 1</scale>", "<scale> has 2 numbers: must have 3"),
            ("<rotate>0 0 0 30</rotate>", "must be a direction"),
            ("<translate>1 2 NaN</translate>", "\"NaN\" is not allowed"),
            ("<matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 1 1</matrix>", "must be 0 0 0 1"),
        ] {
            assert_refused(&square("", &triangle, &format!("<node>{inside}</node>")), part);
        }
        let zero = r#"<asset><unit meter="0"/></asset>"#;
        assert_refused(&square(zero, &triangle, "<node/>"), "must be a number above 0");
        let holes = format!(r#"<polygons count="1">{INPUT}<ph><p>0 1 2</p><h>0 1 2</h></ph></polygons>"#);
        assert_refused(&square("", &holes, "<node/>"), "holes");
        refused(r##"<instance_visual_scene url="#scene"/>"##, "", "shows nothing");
        refused(r##"<instance_visual_scene url="#scene"/>"##, r##"<instance_visual_scene url="#s"/>"##, "has id \"s\"");
    }

    #[test]
    fn counts_that_are_not_those_of_what_is_there_are_refused() {
        refused(r#"count="12""#, r#"count="4294967295""#, "there are 12");
        refused(r#"count="4" stride="3""#, r#"count="5" stride="3""#, "count 5");
        refused(r#"count="4" stride="3""#, r#"count="4294967295" stride="4294967295""#, "count 4294967295");
        refused(r#"count="4" stride="3""#, r#"count="4" stride="2""#, "stride 2");
        refused(r#"<triangles count="1">"#, r#"<triangles count="2">"#, "count 2");
        refused(r#"<polygons count="1">"#, r#"<polygons count="4000000000">"#, "4000000000");
        refused(r#"<polylist count="1">"#, r#"<polylist count="-1">"#, "whole number");
        refused("<vcount>4</vcount>", "<vcount>3</vcount>", "3 corners");
        refused("<vcount>4</vcount>", "<vcount>2</vcount>", "3 or more");
        refused("<vcount>4</vcount>", "<vcount>4294967295</vcount>", "4294967295 corners");
        refused("<vcount>4</vcount>", "<vcount></vcount>", "count 1");
        refused("<vcount>4</vcount>", "", "count 1");
        refused("<p>3 2 1</p>", "<p>3 2</p>", "3 or more");
        refused("<p>0 0 1 0 2 0</p>", "<p>0 0 1 0 2</p>", "5 indices");
        refused("<p>0 0 1 0 2 0</p>", "", "count 1");
    }

    #[test]
    fn indices_and_references_that_lead_nowhere_are_refused() {
        refused("<p>0 1 2 3</p>", "<p>0 1 2 4</p>", "index 4 is not allowed: must be below 4");
        refused("<p>0 1 2 3</p>", "<p>0 1 -2 3</p>", r#""-2""#);
        refused(r##"source="#place_numbers""##, r##"source="#numbers""##, r#""numbers""#);
        refused(r##"source="#places""##, r##"source="#place""##, r#""place""#);
        refused(r##"source="#places""##, r#"source="places""#, "begin with #");
        refused(r##"source="#corners""##, r##"source="#places""##, "<vertices>");
        refused(r#"name="Z" type="float""#, r#"name="Z" type="int""#, r#"type "float""#);
        refused(r#"name="Y""#, r#"name="Z""#, "X, Y and Z");
        let input = r##"<input semantic="VERTEX" source="#corners" offset="0"/>"##;
        refused(&format!("{input}<p>0 1 2</p>"), "<p>0 1 2</p>", "no <input");
    }

    #[test]
    fn elements_too_deep_in_one_another_are_refused() {
        let deep = format!("<node>{}{}", "<node>".repeat(100_000), "</node>".repeat(100_000));
        refused("<node>", &deep, "nested too deep");
    }
}
