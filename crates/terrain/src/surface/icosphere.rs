//! A unit sphere of nearly equal triangles: an icosahedron whose faces are repeatedly split in four.

use std::collections::BTreeMap;

use nalgebra::Vector3;

/// Vertices and triangles (counter-clockwise seen from outside) after `splits` splits: 20 · 4^splits triangles.
pub(crate) fn subdivided(splits: usize) -> (Vec<Vector3<f64>>, Vec<[u32; 3]>) {
    let (mut corners, mut triangles) = icosahedron();
    for _ in 0..splits {
        let mut middles = BTreeMap::new();
        triangles = triangles.iter().flat_map(|&triangle| split(triangle, &mut corners, &mut middles)).collect();
    }
    (corners, triangles)
}

fn split(
    [a, b, c]: [u32; 3],
    corners: &mut Vec<Vector3<f64>>,
    middles: &mut BTreeMap<(u32, u32), u32>,
) -> [[u32; 3]; 4] {
    let mut middle = |i: u32, j: u32| {
        *middles.entry((i.min(j), i.max(j))).or_insert_with(|| {
            corners.push((corners[i as usize] + corners[j as usize]).normalize());
            corners.len() as u32 - 1
        })
    };
    let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
    [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
}

fn icosahedron() -> (Vec<Vector3<f64>>, Vec<[u32; 3]>) {
    let golden = (1.0 + 5.0_f64.sqrt()) / 2.0;
    let corners = [-golden, golden].into_iter().flat_map(|g| {
        [-1.0, 1.0]
            .into_iter()
            .flat_map(move |one| [Vector3::new(one, g, 0.0), Vector3::new(0.0, one, g), Vector3::new(g, 0.0, one)])
    });
    let corners: Vec<_> = corners.map(|v| v.normalize()).collect();
    let count = corners.len() as u32;
    let is_edge = |i: u32, j: u32| (corners[i as usize] - corners[j as usize]).norm() < 1.1;
    let faces_outward = |[i, j, k]: [u32; 3]| {
        let [a, b, c] = [i, j, k].map(|n| corners[n as usize]);
        a.dot(&b.cross(&c)) > 0.0
    };
    let mut triangles = Vec::new();
    for i in 0..count {
        for j in i + 1..count {
            for k in j + 1..count {
                if is_edge(i, j) && is_edge(j, k) && is_edge(i, k) {
                    triangles.push(if faces_outward([i, j, k]) { [i, j, k] } else { [i, k, j] });
                }
            }
        }
    }
    (corners, triangles)
}
