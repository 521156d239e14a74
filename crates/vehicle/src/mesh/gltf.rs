//! glTF 2.0 files that hold all of their data (`.glb`, or `.gltf` with embedded buffers): the triangles that a file's
//! scene shows, in metres, along the axes of the file. Positions, indices and the transforms of nodes are read;
//! materials, skins and animations are passed over. What would change the shape and is not read is refused. No file
//! beside it is opened.

use gltf::buffer::Data;
use gltf::mesh::Mode;
use gltf::{Gltf, Node, Primitive};
use nalgebra::{Matrix4, Point3};

use super::{TRIANGLES_MAX, Triangles};

/// Most nodes in one another.
const DEPTH_MAX: usize = 200;

/// Reads a file's bytes.
///
/// # Errors
/// When the file is refused: what is wrong and what is allowed.
pub(super) fn read(bytes: &[u8]) -> Result<Triangles, String> {
    let refused = |error: gltf::Error| format!("is no glTF: {error}");
    // Before all else is looked at, which would tell of the extension by its number alone.
    let unchecked = Gltf::from_slice_without_validation(bytes).map_err(refused)?;
    if let Some(extension) = unchecked.document.as_json().extensions_required.first() {
        return Err(format!("needs the extension {extension}, which is not read; export it without"));
    }
    let Gltf { document, blob } = Gltf::from_slice(bytes).map_err(refused)?;
    let buffers = gltf::import_buffers(&document, None, blob)
        .map_err(|error| format!("its buffers must be in the file (.glb or embedded): {error}"))?;
    let scene = document.default_scene().or_else(|| document.scenes().next()).ok_or("shows nothing; give a scene")?;
    let mut shown = VisitedMeshes { buffers: &buffers, vertices: Vec::new(), triangles: Vec::new() };
    scene.nodes().try_for_each(|node| shown.add(&node, &Matrix4::identity(), 0))?;
    Ok((shown.vertices, shown.triangles))
}

/// The triangles of the nodes visited so far.
struct VisitedMeshes<'a> {
    buffers: &'a [Data],
    vertices: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl VisitedMeshes<'_> {
    /// Adds what a node and those below it show.
    fn add(&mut self, node: &Node, scene_from_parent: &Matrix4<f32>, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("nodes are nested too deep: {DEPTH_MAX} levels are allowed"));
        }
        let scene_from_node = scene_from_parent * Matrix4::from(node.transform().matrix());
        for primitive in node.mesh().iter().flat_map(gltf::Mesh::primitives) {
            match primitive.mode() {
                Mode::Points | Mode::Lines | Mode::LineLoop | Mode::LineStrip => {}
                Mode::Triangles => self.add_triangles(&primitive, &scene_from_node)?,
                Mode::TriangleStrip | Mode::TriangleFan => {
                    return Err("strips and fans are not read; export it as triangles".to_owned());
                }
            }
        }
        node.children().try_for_each(|child| self.add(&child, &scene_from_node, depth + 1))
    }

    fn add_triangles(&mut self, primitive: &Primitive, scene_from_mesh: &Matrix4<f32>) -> Result<(), String> {
        let reader = primitive.reader(|buffer| self.buffers.get(buffer.index()).map(|data| data.0.as_slice()));
        let positions: Vec<_> = reader.read_positions().ok_or("triangles have no positions")?.collect();
        let corners: Vec<u32> = match reader.read_indices() {
            Some(indices) => indices.into_u32().collect(),
            None => (0..positions.len() as u32).collect(),
        };
        if self.triangles.len() + corners.len() / 3 > TRIANGLES_MAX {
            return Err(format!("more than {TRIANGLES_MAX} triangles are not allowed"));
        }
        let known = positions.len();
        if let Some(corner) = corners.iter().find(|corner| **corner as usize >= known) {
            return Err(format!("index {corner} is not allowed: must be below {known}"));
        }
        if !corners.len().is_multiple_of(3) {
            return Err(format!("{} indices are not allowed: a triangle has 3", corners.len()));
        }
        let first = self.vertices.len() as u32;
        // Seen in a mirror, the corners go round the other way.
        let mirrored = scene_from_mesh.fixed_view::<3, 3>(0, 0).determinant() < 0.0;
        let place = |at: [f32; 3]| <[f32; 3]>::from(scene_from_mesh.transform_point(&Point3::from(at)).coords);
        self.vertices.extend(positions.into_iter().map(place));
        self.triangles.extend(corners.chunks_exact(3).map(|triangle| {
            let [a, b, c] = [triangle[0], triangle[1], triangle[2]].map(|corner| first + corner);
            if mirrored { [a, c, b] } else { [a, b, c] }
        }));
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::read;

    /// The corners (0, 0, 0), (1, 0, 0) and (0, 2, 0), and the indices 0, 1, 2.
    const DATA: &str = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAAEAAAAAAAAABAAIA";

    /// A file that shows one triangle by way of two nodes, the inner one with `transform`.
    pub(in crate::mesh) fn file(transform: &str) -> String {
        format!(
            r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],
            "nodes":[{{"translation":[0,0,3],"children":[1]}},{{{transform}"mesh":0}}],
            "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],
            "accessors":[
              {{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,2,0]}},
              {{"bufferView":1,"componentType":5123,"count":3,"type":"SCALAR"}}],
            "bufferViews":[{{"buffer":0,"byteLength":36}},{{"buffer":0,"byteOffset":36,"byteLength":6}}],
            "buffers":[{{"byteLength":42,"uri":"data:application/octet-stream;base64,{DATA}"}}]}}"#
        )
    }

    #[test]
    fn a_triangle_is_read_where_its_nodes_put_it_and_a_mirror_keeps_its_outside() {
        let (vertices, triangles) = read(file("").as_bytes()).expect("good");
        assert_eq!((vertices, triangles), (vec![[0.0, 0.0, 3.0], [1.0, 0.0, 3.0], [0.0, 2.0, 3.0]], vec![[0, 1, 2]]));
        let (vertices, triangles) = read(file(r#""scale":[1,-1,1],"#).as_bytes()).expect("good");
        assert_eq!((vertices[2], triangles), ([0.0, -2.0, 3.0], vec![[0, 2, 1]]));
    }

    #[test]
    fn what_is_not_in_the_file_or_not_read_is_refused() {
        let good = file("");
        for (from, to, part) in [
            (DATA, "", "buffers must be in the file"),
            ("data:application/octet-stream;base64,", "beside.bin?", "buffers must be in the file"),
            (r#""indices":1"#, r#""indices":1,"mode":5"#, "export it as triangles"),
            (r#""componentType":5123,"count":3"#, r#""componentType":5123,"count":2"#, "a triangle has 3"),
            (
                r#""asset":"#,
                r#""extensionsRequired":["KHR_draco_mesh_compression"],"asset":"#,
                "needs the extension KHR_draco_mesh_compression",
            ),
            (r#""version":"2.0""#, "", "no glTF"),
        ] {
            assert!(good.contains(from), "{from}");
            let refusal = read(good.replacen(from, to, 1).as_bytes()).expect_err(to);
            assert!(refusal.contains(part), "{part}: {refusal}");
        }
        let beyond = good.replacen(r#""count":3,"type":"VEC3""#, r#""count":2,"type":"VEC3""#, 1);
        assert!(read(beyond.as_bytes()).expect_err("beyond").contains("index 2 is not allowed: must be below 2"));
    }
}
