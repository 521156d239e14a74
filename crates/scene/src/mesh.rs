//! Triangle meshes and the simple solids that URDF visuals are made of.

use std::f64::consts::TAU;

use crate::scene::SceneError;

/// Number of facets around cylinders and spheres.
const FACETS: u32 = 32;

/// A triangle mesh in a frame of its own, m.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Vertex positions, m.
    pub vertices: Vec<[f32; 3]>,
    /// Vertex indices of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// Checks that the mesh can be traced.
    ///
    /// # Errors
    /// When a coordinate is not finite or a triangle names a vertex that does not exist.
    pub fn check(&self) -> Result<(), SceneError> {
        if let Some(vertex) = self.vertices.iter().position(|v| v.iter().any(|x| !x.is_finite())) {
            return Err(SceneError::Vertex { vertex });
        }
        let out_of_range = |t: &[u32; 3]| t.iter().any(|&i| i as usize >= self.vertices.len());
        match self.triangles.iter().position(out_of_range) {
            Some(triangle) => Err(SceneError::Triangle { triangle, vertices: self.vertices.len() }),
            None => Ok(()),
        }
    }

    /// Vertices of a triangle, m.
    pub(crate) fn corners(&self, triangle: usize) -> [[f32; 3]; 3] {
        self.triangles[triangle].map(|i| self.vertices[i as usize])
    }

    fn quad(&mut self, [a, b, c, d]: [u32; 4]) {
        self.triangles.extend([[a, b, c], [a, c, d]]);
    }
}

/// Box of the given side lengths, m, centred at the origin.
#[must_use]
pub fn cuboid(size_m: [f64; 3]) -> Mesh {
    let corner = |i: u32| std::array::from_fn(|axis| (((i >> axis & 1) as f64 - 0.5) * size_m[axis]) as f32);
    let mut mesh = Mesh { vertices: (0..8).map(corner).collect(), triangles: Vec::new() };
    for face in [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]] {
        mesh.quad(face);
    }
    mesh
}

/// Cylinder along the z axis, centred at the origin, with closed ends; m.
#[must_use]
pub fn cylinder(radius_m: f64, length_m: f64) -> Mesh {
    let half = 0.5 * length_m;
    turned(&[(0.0, -half), (radius_m, -half), (radius_m, half), (0.0, half)])
}

/// Sphere centred at the origin; m.
#[must_use]
pub fn sphere(radius_m: f64) -> Mesh {
    let rings = FACETS / 2;
    let profile = |i: u32| {
        let angle = f64::from(i) * TAU / f64::from(FACETS);
        (radius_m * angle.sin(), -radius_m * angle.cos())
    };
    turned(&(0..=rings).map(profile).collect::<Vec<_>>())
}

/// Solid of revolution about z from a (radius, height) profile, bottom to top, m.
fn turned(profile: &[(f64, f64)]) -> Mesh {
    let mut mesh = Mesh::default();
    for &(radius, z) in profile {
        for k in 0..FACETS {
            let (sin, cos) = (f64::from(k) * TAU / f64::from(FACETS)).sin_cos();
            mesh.vertices.push([(radius * cos) as f32, (radius * sin) as f32, z as f32]);
        }
    }
    for ring in 1..profile.len() as u32 {
        let [low, high] = [(ring - 1) * FACETS, ring * FACETS];
        for k in 0..FACETS {
            let next = (k + 1) % FACETS;
            mesh.quad([low + k, low + next, high + next, high + k]);
        }
    }
    mesh.triangles.retain(|t| !is_flat(t.map(|i| mesh.vertices[i as usize])));
    mesh
}

fn is_flat([a, b, c]: [[f32; 3]; 3]) -> bool {
    let close = |p: [f32; 3], q: [f32; 3]| (0..3).all(|i| (p[i] - q[i]).abs() < 1e-7);
    close(a, b) || close(b, c) || close(c, a)
}

#[cfg(test)]
mod tests {
    use super::{Mesh, cuboid, cylinder, sphere};
    use nalgebra::Vector3;
    use std::f64::consts::PI;

    /// A 32-gon has 0.64 % less area than its circle; a sphere of such rings loses about three times as much volume.
    const FACETING: f64 = 0.02;

    /// Enclosed volume; positive only when all triangles face outward.
    fn volume(mesh: &Mesh) -> f64 {
        let cone = |t: usize| {
            let [a, b, c] = mesh.corners(t).map(|p| Vector3::from(p).cast::<f64>());
            a.dot(&b.cross(&c)) / 6.0
        };
        (0..mesh.triangles.len()).map(cone).sum()
    }

    #[test]
    fn solids_are_closed_face_outward_and_have_their_volume() {
        let solids = [(cuboid([1.0, 2.0, 3.0]), 6.0), (cylinder(0.5, 2.0), 0.5 * PI), (sphere(1.5), 4.5 * PI)];
        for (mesh, expected) in solids {
            mesh.check().expect("a mesh");
            let ratio = volume(&mesh) / expected;
            assert!((1.0 - FACETING..=1.0 + 1e-6).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn a_mesh_with_a_missing_corner_is_refused() {
        let mesh = Mesh { vertices: vec![[0.0; 3]; 3], triangles: vec![[0, 1, 3]] };
        assert!(mesh.check().expect_err("refused").to_string().contains("triangle 0"));
        let mesh = Mesh { vertices: vec![[f32::NAN; 3]; 3], triangles: vec![[0, 1, 2]] };
        assert!(mesh.check().is_err());
    }
}
