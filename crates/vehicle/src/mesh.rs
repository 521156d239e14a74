//! Mesh files of visuals: STL and OBJ, read by `mesh-loader`, Collada and glTF, into triangles
//! in metres. Materials and textures of the file are not used: a URDF says its colours.

mod collada;
mod gltf;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use selene_base::input::read_bytes;

/// The largest mesh file taken.
const MESH_BYTES_MAX: u64 = 64 << 20;
/// The most triangles a visual may have.
const TRIANGLES_MAX: usize = 1_000_000;

/// Corner positions, m, and the corners of each triangle.
type Triangles = (Vec<[f32; 3]>, Vec<[u32; 3]>);

/// Reads a mesh file, scaled along its axes; in a mirror, corners go round the other way.
///
/// # Errors
/// When the file is refused: what is wrong and what is allowed, without the file's name.
pub(crate) fn read(path: &Path, scale: [f64; 3]) -> Result<Triangles, String> {
    of_bytes(read_bytes(path, MESH_BYTES_MAX).map_err(|error| error.to_string())?, path, scale)
}

fn of_bytes(bytes: Vec<u8>, path: &Path, scale: [f64; 3]) -> Result<Triangles, String> {
    let (mut vertices, mut triangles) = parse(bytes, path)?;
    let scaled = |v: [f32; 3]| std::array::from_fn(|axis| (f64::from(v[axis]) * scale[axis]) as f32);
    vertices.iter_mut().for_each(|vertex| *vertex = scaled(*vertex));
    if scale.iter().product::<f64>() < 0.0 {
        triangles.iter_mut().for_each(|corners| corners.swap(1, 2));
    }
    check(&vertices, &triangles)?;
    Ok((vertices, triangles))
}

/// The triangles of a file whose kind its extension tells, never its content.
fn parse(bytes: Vec<u8>, path: &Path) -> Result<Triangles, String> {
    let loader = mesh_loader::Loader::default();
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("dae") => collada::read(text(&bytes)?),
        Some("glb" | "gltf") => without_panic(|| gltf::read(&bytes)),
        Some("stl") => {
            let bytes = whole_stl(bytes)?;
            load(|| loader.load_stl_from_slice(&bytes, path))
        }
        Some("obj") => load(|| loader.load_obj_from_slice_with_reader(&bytes, path, |_| Ok(Vec::new()))),
        _ => Err("is of a kind that is not known; stl, obj, dae, glb and gltf are allowed".to_owned()),
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("is not UTF-8: {error}"))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn load(read: impl FnOnce() -> io::Result<mesh_loader::Scene>) -> Result<Triangles, String> {
    let scene = without_panic(|| read().map_err(|error| error.to_string()))?;
    merge(&scene.meshes)
}

/// A last net: the loader panics at some broken files. Those known are refused before it sees them, and
/// one that is not yet known must not end the program either.
fn without_panic<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let read = catch_unwind(AssertUnwindSafe(read));
    read.unwrap_or_else(|_| Err("is broken: its reader gave up on it; export it anew".to_owned()))
}

/// Refuses a binary STL whose length is not that of the triangles it states. To the
/// loader any file of 84 + 50 n bytes, or one or two line ends more, may be binary,
/// even a text cut short: line ends keep a text clear of that.
fn whole_stl(mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let stated = bytes.get(80..84).and_then(|count| count.try_into().ok()).map(u32::from_le_bytes);
    let needed = |triangles| 84 + 50 * u64::from(triangles);
    if stated.map(needed) == Some(bytes.len() as u64) {
        return Ok(bytes);
    }
    if bytes.trim_ascii_start().starts_with(b"solid") {
        if matches!(bytes.len() % 50, 34..=36) {
            bytes.extend(b"\n\n\n");
        }
        return Ok(bytes);
    }
    let has = bytes.len();
    Err(stated.map_or(format!("has {has} bytes; an STL begins with \"solid\" or has 84 bytes and more"), |triangles| {
        format!("states {triangles} triangles but has {has} bytes; must have {}", needed(triangles))
    }))
}

/// All meshes of a file as one.
fn merge(meshes: &[mesh_loader::Mesh]) -> Result<Triangles, String> {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for mesh in meshes {
        let first = vertices.len() as u64;
        let moved = |corner: u32| u32::try_from(first + u64::from(corner)).map_err(|_| "has too many corners");
        for &[a, b, c] in &mesh.faces {
            triangles.push([moved(a)?, moved(b)?, moved(c)?]);
        }
        vertices.extend_from_slice(&mesh.vertices);
    }
    Ok((vertices, triangles))
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
    use super::{Triangles, gltf, of_bytes, parse, read, without_panic};
    use selene_base::random::{RngExt, Stream, stream_at};
    use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex};

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

    const TEXT_STL: &str = "solid plate\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n\
        vertex 0 2 0.5\nendloop\nendfacet\nendsolid plate\n";
    const OBJ: &str =
        "mtllib none.mtl\no a\nv 9 9 9\nv 0 0 0\nv 1 0 0\nv 0 2 0.5\nf 2 3 4\nf 4 3 2\no b\nv 5 0 0\nf 2 3 5\n";

    const COLLADA: &str = include_str!("../tests/plate.dae");

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
    fn a_mirrored_mesh_keeps_its_outside() {
        let path = file("mirrored.stl", &stl());
        let area = |scale| {
            let (vertices, triangles) = read(&path, scale).expect("good");
            let [a, b, c] = triangles[0].map(|corner| vertices[corner as usize]);
            // The z part of (b − a) × (c − a).
            (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        };
        assert_eq!(area([1.0; 3]), 2.0);
        assert_eq!([area([1.0, -1.0, 1.0]), area([-1.0, -1.0, 1.0])], [2.0, 2.0]);
        std::fs::remove_file(path).expect("clean");
    }

    #[test]
    fn a_text_is_read_and_every_part_of_a_file_keeps_its_own_corners() {
        for (name, text, expected) in [("text.STL", TEXT_STL, 1), ("parts.obj", OBJ, 3)] {
            let path = file(name, text.as_bytes());
            let (vertices, triangles) = read(&path, [1.0; 3]).expect("good");
            assert_eq!(triangles.len(), expected, "{name}");
            let last = triangles[expected - 1].map(|corner| vertices[corner as usize]);
            let third = if expected == 1 { [0.0, 2.0, 0.5] } else { [5.0, 0.0, 0.0] };
            assert_eq!(last, [[0.0; 3], [1.0, 0.0, 0.0], third], "{name}");
            std::fs::remove_file(path).expect("clean");
        }
    }

    #[test]
    fn a_text_cut_short_is_never_taken_for_a_binary_file() {
        let end = TEXT_STL.find("endsolid").expect("end") + "endsolid".len();
        for (length, padding) in (0..end).flat_map(|length| (0..50).map(move |padding| (length, padding))) {
            let text = format!("{}{}", " ".repeat(padding), &TEXT_STL[..length]).into_bytes();
            assert!(parse(text, Path::new("cut.stl")).is_err(), "cut to {length} bytes after {padding} spaces");
        }
    }

    #[test]
    fn a_collada_file_is_read_where_its_scene_puts_it() {
        let path = file("plate.dae", COLLADA.as_bytes());
        let (vertices, triangles) = read(&path, [1.0, 2.0, 1.0]).expect("good");
        assert_eq!(triangles.len(), 5, "one, two of a square, one, one of a fan");
        let first = triangles[0].map(|corner| vertices[corner as usize]);
        assert_eq!(first, [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0]]);
        std::fs::remove_file(path).expect("clean");
    }

    #[test]
    fn an_index_beyond_its_source_is_refused_with_its_line() {
        let bad = COLLADA.replacen("<p>3 2 1</p>", "<p>3 2 99</p>", 1);
        let path = file("index.dae", bad.as_bytes());
        let refusal = read(&path, [1.0; 3]).expect_err("beyond");
        assert!(refusal.contains("line 26") && refusal.contains("99") && refusal.contains("below 4"), "{refusal}");
        std::fs::remove_file(path).expect("clean");
    }

    #[test]
    fn a_wrong_digit_of_a_collada_file_loses_no_triangle_without_a_word() {
        for (at, _) in COLLADA.match_indices(|c: char| c.is_ascii_digit()) {
            for digits in ["", "0", "1", "2", "3", "9", "99", "-1", "1 1", "4294967295", "4294967296"] {
                let text = format!("{}{digits}{}", &COLLADA[..at], &COLLADA[at + 1..]);
                if let Ok((_, triangles)) = parse(text.into_bytes(), Path::new("wrong.dae")) {
                    // A polygon or a fan with a corner more is a triangle more; a square that names a corner twice has no
                    // area in one of its two.
                    assert!(triangles.len() >= 4, "\"{digits}\" at byte {at}: {} triangles", triangles.len());
                }
            }
        }
    }

    #[test]
    fn a_reader_that_panics_ends_nothing() {
        let refusal = without_panic::<()>(|| panic!("as a broken file may make it")).expect_err("it gave up");
        assert!(refusal.contains("is broken"), "{refusal}");
        assert_eq!(without_panic(|| Ok(1)), Ok(1));
    }

    /// A copy of a file with one to four faults: another byte in place of one, or another of the file's own, a stretch
    /// that is missing, or is there again at the end, or everything after a byte missing.
    fn mutant(good: &[u8], random: &mut Stream) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..random.random_range(1..=4) {
            let (at, from) = (random.random_range(0..bytes.len()), random.random_range(0..bytes.len()));
            let until = (at + random.random_range(1..=16)).min(bytes.len());
            match random.random_range(0..5) {
                0 => bytes[at] = random.random(),
                1 => bytes[at] = bytes[from],
                2 if until - at < bytes.len() => drop(bytes.drain(at..until)),
                3 => bytes.extend_from_within(at..until),
                _ => bytes.truncate(at + 1),
            }
        }
        bytes
    }

    /// Runs `work` and returns what it returns, and the source files in which this thread panicked meanwhile.
    fn noting_panics<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
        let (own, noted) = (std::thread::current().id(), Arc::new(Mutex::new(Vec::new())));
        let (before, notes) = (take_hook(), Arc::clone(&noted));
        set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if std::thread::current().id() != own {
                return before(info);
            }
            let file = info.location().map(|place| place.file().to_owned());
            notes.lock().expect("no panic").extend(file);
        }));
        let done = work();
        drop(take_hook());
        let files = noted.lock().expect("no panic").clone();
        (done, files)
    }

    /// A mutant is read or refused. If a library panics at it, the net holds; our own code does not panic.
    #[test]
    fn no_mutant_of_a_file_ends_the_program() {
        const MUTANTS: u64 = 500;
        let own = Path::new(file!()).parent().expect("a folder");
        for (name, good) in [
            ("mutant.dae", COLLADA.as_bytes().to_vec()),
            ("mutant.obj", OBJ.as_bytes().to_vec()),
            ("text_mutant.stl", TEXT_STL.as_bytes().to_vec()),
            ("mutant.stl", stl()),
            ("mutant.gltf", gltf::tests::file("").into_bytes()),
        ] {
            let read = |index| -> std::thread::Result<Result<Triangles, String>> {
                let bytes = mutant(&good, &mut stream_at(1, name, index));
                catch_unwind(AssertUnwindSafe(|| of_bytes(bytes, Path::new(name), [1.0; 3])))
            };
            let (outcomes, panicked_in) = noting_panics(|| (0..MUTANTS).map(read).collect::<Vec<_>>());
            let escaped: Vec<_> = (0..MUTANTS).zip(&outcomes).filter(|(_, of)| of.is_err()).map(|(i, _)| i).collect();
            assert!(escaped.is_empty(), "{name}: mutants {escaped:?} panicked, in {panicked_in:?}");
            let ours: Vec<_> = panicked_in.iter().filter(|file| Path::new(file).starts_with(own)).collect();
            assert!(ours.is_empty(), "{name}: the net held panics in {ours:?}");
            let good = outcomes.iter().filter(|of| matches!(of, Ok(Ok(_)))).count();
            println!("{name}: {good} of {MUTANTS} mutants are read; the library panicked at {}", panicked_in.len());
            assert!((1..MUTANTS as usize).contains(&good), "{name}: {good} of {MUTANTS} mutants are read");
        }
    }

    #[test]
    fn every_truncation_and_nonsense_is_refused() {
        let good = stl();
        for length in 0..good.len() {
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
