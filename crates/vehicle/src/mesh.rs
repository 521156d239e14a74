//! Mesh files of visuals: STL, OBJ and Collada, read by `mesh-loader` into triangles
//! in metres. Materials and textures of the file are not used: a URDF says its colours.

use std::path::Path;

use selene_base::input::read_bytes;

/// The largest mesh file taken.
const MESH_BYTES_MAX: u64 = 64 << 20;
/// The most triangles a visual may have.
const TRIANGLES_MAX: usize = 1_000_000;

/// Corner positions, m, and the corners of each triangle.
type Triangles = (Vec<[f32; 3]>, Vec<[u32; 3]>);

/// Reads a mesh file, scaled along its axes.
///
/// # Errors
/// What is wrong and what is allowed, without the file's name.
pub(crate) fn read(path: &Path, scale: [f64; 3]) -> Result<Triangles, String> {
    let bytes = read_bytes(path, MESH_BYTES_MAX).map_err(|error| error.to_string())?;
    let scene = mesh_loader::Loader::default().load_from_slice(&bytes, path).map_err(|error| error.to_string())?;
    let mesh = mesh_loader::Mesh::merge(scene.meshes);
    check(&mesh.vertices, &mesh.faces)?;
    let scaled = |v: &[f32; 3]| std::array::from_fn(|axis| (f64::from(v[axis]) * scale[axis]) as f32);
    Ok((mesh.vertices.iter().map(scaled).collect(), mesh.faces))
}

fn check(vertices: &[[f32; 3]], faces: &[[u32; 3]]) -> Result<(), String> {
    if faces.is_empty() || faces.len() > TRIANGLES_MAX {
        return Err(format!("has {} triangles; 1 to {TRIANGLES_MAX} are allowed", faces.len()));
    }
    if let Some(corner) = faces.iter().flatten().find(|&&corner| corner as usize >= vertices.len()) {
        return Err(format!("a triangle names corner {corner}, but there are {}", vertices.len()));
    }
    match vertices.iter().position(|vertex| vertex.iter().any(|x| !x.is_finite())) {
        Some(vertex) => Err(format!("corner {vertex} is not finite")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::path::PathBuf;

    /// A binary STL of one triangle.
    fn stl() -> Vec<u8> {
        let mut bytes = vec![0; 80];
        bytes.extend(1u32.to_le_bytes());
        for number in [0.0f32, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.5] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0, 0]);
        bytes
    }

    fn file(name: &str, bytes: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("selene-mesh-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("write");
        path
    }

    #[test]
    fn a_good_file_is_read_and_scaled() {
        let path = file("good.stl", &stl());
        let (vertices, triangles) = read(&path, [1.0, 0.5, 2.0]).expect("good");
        assert_eq!((vertices.len(), triangles.len()), (3, 1));
        assert!(vertices.contains(&[0.0, 1.0, 1.0]), "{vertices:?}");
        std::fs::remove_file(path).expect("clean");
    }

    #[test]
    fn every_truncation_and_nonsense_is_refused() {
        let good = stl();
        for length in 0..good.len() - 2 {
            let path = file("cut.stl", &good[..length]);
            assert!(read(&path, [1.0; 3]).is_err(), "cut to {length} bytes");
            std::fs::remove_file(path).expect("clean");
        }
        let mut endless = good.clone();
        endless[84 + 12..84 + 16].copy_from_slice(&f32::INFINITY.to_le_bytes());
        let mut absurd = good.clone();
        absurd[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
        for (name, bytes) in [
            ("inf.stl", endless),
            ("absurd.stl", absurd),
            ("x.dae", b"<COLLADA/>".to_vec()),
            ("x.obj", b"v 0".to_vec()),
            ("x.txt", good),
        ] {
            let path = file(name, &bytes);
            assert!(read(&path, [1.0; 3]).is_err(), "{name}");
            std::fs::remove_file(path).expect("clean");
        }
    }
}
