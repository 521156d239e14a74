//! What a Collada file must hold before `mesh-loader` reads it. The loader (0.1.13) believes counts
//! and indices: it panics where they are wrong, asks for as much memory as they say, and goes down
//! nested elements by recursion until the stack ends. Only what it reads is looked at: the sources,
//! vertices and faces of meshes (COLLADA 1.4.1, chapter 5).

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

/// Most elements in one another.
const DEPTH_MAX: usize = 200;
/// Greatest offset of an input: a corner has a few indices.
const OFFSET_MAX: u64 = 63;
/// The limit of an index that nothing reads.
const ANY: u64 = u64::MAX;

/// What is made of corners.
const PRIMITIVES: [&str; 7] = ["lines", "linestrips", "polygons", "polylist", "triangles", "trifans", "tristrips"];

/// Refuses a text that the loader must not see.
///
/// # Errors
/// Line, value and what is allowed.
pub(super) fn check(text: &str) -> Result<(), String> {
    let document = Document::parse(text).map_err(|error| format!("is not XML: {error}"))?;
    if let Some(deep) = document.descendants().find(|node| node.ancestors().nth(DEPTH_MAX).is_some()) {
        return Err(refusal(deep, format!("elements are nested too deep: {DEPTH_MAX} levels are allowed")));
    }
    let mut sources = Sources::default();
    for source in meshes(&document).flat_map(|mesh| children(mesh, "source")) {
        sources.add(source)?;
    }
    meshes(&document).try_for_each(|mesh| check_mesh(mesh, &sources))
}

fn meshes<'a>(document: &'a Document<'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    let libraries = children(document.root_element(), "library_geometries");
    let geometries = libraries.flat_map(|library| children(library, "geometry"));
    geometries.flat_map(|geometry| children(geometry, "mesh"))
}

/// All sources of a file.
#[derive(Default)]
struct Sources<'a> {
    /// By the id of the source.
    accessors: BTreeMap<&'a str, Accessor<'a>>,
    /// How many numbers each array has, by the id of the array.
    lengths: BTreeMap<&'a str, u64>,
}

/// How a source's array is to be read: `count` items, each `stride` numbers after the last.
struct Accessor<'a> {
    node: Node<'a, 'a>,
    array: &'a str,
    count: u64,
    stride: u64,
    /// Numbers of an item; zero where they are not all of type float.
    floats: u64,
}

impl<'a> Sources<'a> {
    fn add(&mut self, source: Node<'a, 'a>) -> Result<(), String> {
        let (mut array, mut accessor) = (None, None);
        for child in source.children() {
            match child.tag_name().name() {
                "float_array" => array = Some((needed(child, "id")?, array_length(child)?)),
                // The loader never gets to the end of one.
                "Name_array" | "IDREF_array" => {
                    return Err(refusal(child, "an array of names is not allowed in a mesh: <float_array> is"));
                }
                "technique_common" => {
                    for node in children(child, "accessor") {
                        accessor = Some(Accessor::read(node)?);
                    }
                }
                _ => {}
            }
        }
        self.lengths.extend(array);
        if let Some(accessor) = accessor {
            self.accessors.insert(needed(source, "id")?, accessor);
        }
        Ok(())
    }

    /// How many items the indices of `input` choose from; [`ANY`] where the loader passes over it.
    fn items(&self, input: Node<'a, 'a>) -> Result<u64, String> {
        let semantic = needed(input, "semantic")?;
        let numbers = match semantic {
            "POSITION" | "NORMAL" | "COLOR" => 3,
            "TEXCOORD" => 2,
            _ => return Ok(ANY),
        };
        let id = reference(input, "source")?;
        let accessor = self.accessors.get(id);
        let accessor = accessor.ok_or_else(|| refusal(input, format!("no <source> \"{id}\" has an <accessor>")))?;
        if accessor.stride >= numbers && accessor.floats >= numbers {
            return accessor.items(self);
        }
        if semantic == "POSITION" {
            let what = "positions must have a stride of 3 or more and three <param>s or more, all of type \"float\"";
            return Err(refusal(accessor.node, what));
        }
        Ok(ANY)
    }
}

impl<'a> Accessor<'a> {
    fn read(node: Node<'a, 'a>) -> Result<Self, String> {
        let params = || children(node, "param");
        let all_float = params().all(|param| attribute(param, "type") == Some("float"));
        Ok(Self {
            node,
            array: reference(node, "source")?,
            count: number(node, "count", needed(node, "count")?)?,
            stride: attribute(node, "stride").map_or(Ok(1), |stride| number(node, "stride", stride))?,
            floats: if all_float { params().count() as u64 } else { 0 },
        })
    }

    fn items(&self, sources: &Sources) -> Result<u64, String> {
        let Self { node, array, count, stride, .. } = self;
        let length = sources.lengths.get(*array);
        let length = *length.ok_or_else(|| refusal(*node, format!("no <float_array> has id \"{array}\"")))?;
        if *count > 0 && count * stride <= length && length.is_multiple_of(*stride) {
            return Ok(*count);
        }
        let what = format!("count {count} is not allowed: the array has {length} numbers for items of {stride}");
        Err(refusal(*node, what))
    }
}

fn array_length(array: Node) -> Result<u64, String> {
    let stated = number(array, "count", needed(array, "count")?)?;
    let given = words(array).count() as u64;
    // Exporters write empty arrays, which do no harm.
    if given == stated || given == 0 {
        return Ok(given);
    }
    Err(refusal(array, format!("count {stated} is not allowed: there are {given} numbers")))
}

fn check_mesh<'a>(mesh: Node<'a, 'a>, sources: &Sources<'a>) -> Result<(), String> {
    let mut all = children(mesh, "vertices");
    let (Some(vertices), None) = (all.next(), all.next()) else {
        return Err(refusal(mesh, "a <mesh> must have one <vertices>"));
    };
    let mut primitives = mesh.children().filter(|node| PRIMITIVES.contains(&node.tag_name().name()));
    primitives.try_for_each(|primitive| check_primitive(primitive, vertices, sources))
}

fn check_primitive<'a>(primitive: Node<'a, 'a>, vertices: Node<'a, 'a>, sources: &Sources<'a>) -> Result<(), String> {
    let limits = limits(primitive, vertices, sources)?;
    let count = number(primitive, "count", needed(primitive, "count")?)?;
    if count == 0 {
        return Ok(()); // The loader passes over its indices.
    }
    if limits.is_empty() {
        return Err(refusal(primitive, "has no <input>; give one"));
    }
    check_order(primitive)?;
    check_lengths(primitive, count, limits.len() as u64)?;
    children(primitive, "p").try_for_each(|p| check_indices(p, &limits))
}

/// What each index of a corner must stay below.
fn limits<'a>(primitive: Node<'a, 'a>, vertices: Node<'a, 'a>, sources: &Sources<'a>) -> Result<Vec<u64>, String> {
    let mut limits = Vec::new();
    for input in children(primitive, "input") {
        let offset = number(input, "offset", needed(input, "offset")?)?;
        if offset > OFFSET_MAX {
            return Err(refusal(input, format!("offset {offset} is not allowed: must be 0 to {OFFSET_MAX}")));
        }
        let place = offset as usize;
        if limits.len() <= place {
            limits.resize(place + 1, ANY);
        }
        limits[place] = limit(input, vertices, sources)?.min(limits[place]);
    }
    Ok(limits)
}

/// What the indices of one input must stay below.
fn limit<'a>(input: Node<'a, 'a>, vertices: Node<'a, 'a>, sources: &Sources<'a>) -> Result<u64, String> {
    if needed(input, "semantic")? != "VERTEX" {
        return sources.items(input);
    }
    let set = attribute(input, "set").map_or(Ok(0), |set| number(input, "set", set))?;
    if set != 0 {
        return Ok(ANY);
    }
    let id = reference(input, "source")?;
    if attribute(vertices, "id") != Some(id) {
        return Err(refusal(input, format!("source \"#{id}\" is not allowed: must be the <vertices> of this mesh")));
    }
    children(vertices, "input").try_fold(ANY, |least, own| Ok(least.min(sources.items(own)?)))
}

/// The loader reads from top to bottom: what tells the number of indices must come before them.
fn check_order(primitive: Node) -> Result<(), String> {
    let rank = |node: Node| ["input", "vcount", "p"].iter().position(|name| *name == node.tag_name().name());
    if primitive.children().filter_map(rank).is_sorted() {
        return Ok(());
    }
    Err(refusal(primitive, "must have its <input>s first, then <vcount>, then <p>"))
}

/// Refuses indices that are not as many as the faces ask for, `stride` a corner.
fn check_lengths(primitive: Node, count: u64, stride: u64) -> Result<(), String> {
    let kind = primitive.tag_name().name();
    let corners = match kind {
        "lines" => 2 * count,
        "triangles" => 3 * count,
        "polylist" => polylist_corners(primitive, count)?,
        _ => return check_lists(primitive, count, stride),
    };
    let given: u64 = children(primitive, "p").map(|p| words(p).count() as u64).sum();
    if given == corners * stride {
        return Ok(());
    }
    let what = format!("{given} indices are not allowed: {corners} corners need {stride} each");
    Err(refusal(primitive, format!("<{kind}> of {count}: {what}")))
}

/// The same where every `<p>` is a face or a strip of its own.
fn check_lists(primitive: Node, count: u64, stride: u64) -> Result<(), String> {
    let least = if primitive.tag_name().name() == "linestrips" { 2 } else { 3 };
    let mut all = 0;
    for p in children(primitive, "p") {
        let given = words(p).count() as u64;
        if given < least * stride || !given.is_multiple_of(stride) {
            let what = format!("{given} indices are not allowed: must be {stride} for each of {least} corners or more");
            return Err(refusal(p, what));
        }
        all += given;
    }
    if count > all {
        return Err(refusal(primitive, format!("count {count} is not allowed: there are {all} indices")));
    }
    Ok(())
}

/// Corners of all faces of a `<polylist>`. The loader loses its place at a face of one or two.
fn polylist_corners(polylist: Node, count: u64) -> Result<u64, String> {
    let vcount = children(polylist, "vcount").next();
    let vcount = vcount.ok_or_else(|| refusal(polylist, "a <polylist> has no <vcount>; give one"))?;
    let (mut faces, mut corners) = (0, 0);
    for word in words(vcount).take(count as usize) {
        let of_face = number(vcount, "vcount", word)?;
        if of_face < 3 {
            return Err(refusal(vcount, format!("a face of {of_face} corners is not allowed: must be 3 or more")));
        }
        faces += 1;
        corners += of_face;
    }
    if faces == count {
        return Ok(corners);
    }
    Err(refusal(vcount, format!("{faces} faces are not allowed: the <polylist> has a count of {count}")))
}

fn check_indices(p: Node, limits: &[u64]) -> Result<(), String> {
    for (word, limit) in words(p).zip(limits.iter().cycle()) {
        let index = number(p, "index", word)?;
        if index >= *limit {
            return Err(refusal(p, format!("index {index} is not allowed: must be 0 to {}", limit - 1)));
        }
    }
    Ok(())
}

fn children<'a>(node: Node<'a, 'a>, tag: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |child| child.tag_name().name() == tag)
}

/// An attribute without a namespace, as the loader takes them.
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

fn words<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = &'a str> {
    node.text().unwrap_or_default().split_whitespace()
}

fn refusal(node: Node, what: impl std::fmt::Display) -> String {
    let line = node.document().text_pos_at(node.range().start).row;
    format!("line {line}: {what}")
}

#[cfg(test)]
mod tests {
    use super::check;

    const PLATE: &str = include_str!("../../tests/plate.dae");

    /// Swaps `from` for `to` and expects a refusal that has `part`.
    fn refused(from: &str, to: &str, part: &str) {
        assert!(PLATE.contains(from), "{from}");
        let refusal = check(&PLATE.replacen(from, to, 1)).expect_err(part);
        assert!(refusal.contains(part) && refusal.contains("line "), "{part}: {refusal}");
    }

    #[test]
    fn a_good_file_passes() {
        assert_eq!(check(PLATE), Ok(()));
    }

    #[test]
    fn counts_that_are_not_those_of_what_is_there_are_refused() {
        refused(r#"count="12""#, r#"count="4294967295""#, "there are 12");
        refused(r#"count="4" stride="3""#, r#"count="5" stride="3""#, "count 5");
        refused(r#"count="1" stride="3""#, r#"count="0" stride="3""#, "count 0");
        refused(r#"<triangles count="1">"#, r#"<triangles count="2">"#, "6 corners need 2 each");
        refused(r#"<polygons count="1">"#, r#"<polygons count="4000000000">"#, "4000000000");
        refused(r#"<lines count="1">"#, r#"<lines count="4000000000">"#, "4000000000");
        refused(r#"<polylist count="1">"#, r#"<polylist count="-1">"#, "whole number");
        refused("<vcount>4</vcount>", "<vcount>3</vcount>", "4 indices");
        refused("<vcount>4</vcount>", "<vcount>2 2</vcount>", "3 or more");
        refused("<vcount>4</vcount>", "<vcount></vcount>", "0 faces");
        refused("<vcount>4</vcount>", "", "no <vcount>");
        refused("<p>3 2 1</p>", "<p>3 2</p>", "2 indices");
        refused("<p>0 0 1 0 2 0</p>", "", "0 indices");
    }

    #[test]
    fn indices_and_references_that_lead_nowhere_are_refused() {
        refused("<p>0 0 1 0 2 0</p>", "<p>0 0 1 1 2 0</p>", "index 1 is not allowed: must be 0 to 0");
        refused("<p>0 1 2 3</p>", "<p>0 1 2 4</p>", "index 4");
        refused("<p>0 1 2 3</p>", "<p>0 1 -2 3</p>", r#""-2""#);
        refused(r##"source="#place_numbers""##, r##"source="#numbers""##, r#""numbers""#);
        refused(r##"source="#places""##, r##"source="#place""##, r#""place""#);
        refused(r##"source="#places""##, r#"source="places""#, "begin with #");
        refused(r##"source="#corners""##, r##"source="#places""##, "<vertices>");
        refused(r#"offset="1""#, r#"offset="4294967295""#, "0 to 63");
        refused(r#"name="Z" type="float""#, r#"name="Z" type="int""#, r#"type "float""#);
    }

    #[test]
    fn what_the_reader_would_never_come_back_from_is_refused() {
        let names = r#"<source id="places"><Name_array id="a" count="1">b</Name_array>"#;
        refused(r#"<source id="places">"#, names, "names");
        let deep = format!("<node>{}{}", "<node>".repeat(100_000), "</node>".repeat(100_000));
        refused("<node>", &deep, "nested too deep");
        let input = r##"<input semantic="VERTEX" source="#corners" offset="0"/>"##;
        refused(&format!("{input}<vcount>4</vcount>"), &format!("<vcount>4</vcount>{input}"), "first");
        refused(&format!("{input}<p>0 1 2</p>"), "<p>0 1 2</p>", "no <input>");
    }
}
