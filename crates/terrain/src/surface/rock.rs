//! Rocks: instances of a few shapes on the ground. A shape is the convex hull of a sphere cut by random planes,
//! flattened and slightly roughened: faceted like blocks broken by impacts, and one convex body for rays and wheels
//! alike. Its origin is its centre of mass. A rock is partly buried and randomly turned; `rock_law` and `rock_field`
//! define how many rocks there are and where.

use nalgebra::{UnitQuaternion, Vector3};
use parry3d_f64::math::Vector as Corner;
use parry3d_f64::transformation::try_convex_hull;
use rand_distr::{Distribution, UnitSphere};
use selene_base::Pose;
use selene_base::random::{self, RngExt, Stream};

use crate::surface::icosphere;

/// Number of different shapes on a site.
pub(crate) const SHAPES: usize = 8;
/// Number of planes that cut each shape.
const FACETS: usize = 14;
/// Largest lean of a rock, rad.
pub(crate) const LEAN_MAX_RAD: f64 = 0.25;

/// A closed, convex triangle mesh around its centre of mass, scaled so that the mean distance of its vertices is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct RockShape {
    /// Vertex positions, in mean radii.
    pub vertices: Vec<[f32; 3]>,
    /// Vertex indices of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// A rock on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Rock {
    /// Number of the rock: the same from everywhere, and unique among the rocks around it.
    pub id: u32,
    /// Index of its shape among the ground's shapes.
    pub shape: usize,
    /// Pose of the rock's centre in the map frame.
    pub world_from_rock: Pose,
    /// Mean radius, m: the scale of the shape.
    pub radius_m: f64,
}

/// A drawn rock before it is placed on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DrawnRock {
    /// Number of the rock.
    pub(crate) id: u32,
    pub(crate) at_m: [f64; 2],
    pub(crate) diameter_m: f64,
    pub(crate) shape: usize,
    pub(crate) yaw_rad: f64,
    pub(crate) lean_rad: [f64; 2],
    /// Depth of the centre below the soil, as a fraction of the radius.
    pub(crate) sunk: f64,
    /// Random number in 0 … 1: the rock exists where the local share is larger.
    pub(crate) luck: f64,
}

/// The rock shapes of a site.
pub(crate) fn shapes(seed: u64) -> Vec<RockShape> {
    (0..SHAPES as u64).map(|index| shape(&mut random::stream_at(seed, "terrain/rock_shapes", index))).collect()
}

impl RockShape {
    /// Distance of the farthest vertex from the centre, in mean radii.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.vertices.iter().map(|v| Vector3::from(*v).cast::<f64>().norm()).fold(0.0, f64::max)
    }

    /// The convex hull of `points` around its centre of mass; none where they span no volume.
    #[must_use]
    pub fn hull(points: &[Vector3<f64>]) -> Option<Self> {
        let points: Vec<_> = points.iter().map(|p| Corner::new(p.x, p.y, p.z)).collect();
        let (corners, triangles) = try_convex_hull(&points).ok()?;
        let corners: Vec<_> = corners.iter().map(|c| Vector3::new(c.x, c.y, c.z)).collect();
        let centre = centre_of_mass(&corners, &triangles)?;
        let mean_radius = corners.iter().map(|c| (c - centre).norm()).sum::<f64>() / corners.len() as f64;
        let vertices = corners.iter().map(|c| ((c - centre) / mean_radius).map(|x| x as f32).into()).collect();
        Some(Self { vertices, triangles })
    }
}

/// Centre of mass of a closed mesh's volume; none without a volume.
fn centre_of_mass(corners: &[Vector3<f64>], triangles: &[[u32; 3]]) -> Option<Vector3<f64>> {
    let (mut volume, mut moment) = (0.0, Vector3::zeros());
    for triangle in triangles {
        let [a, b, c] = triangle.map(|i| corners[i as usize]);
        let part = a.dot(&b.cross(&c)) / 6.0;
        volume += part;
        moment += (a + b + c) * (part / 4.0);
    }
    (volume > 0.0).then(|| moment / volume)
}

fn shape(rng: &mut Stream) -> RockShape {
    let (mut vertices, triangles) = icosphere::subdivided(2);
    for _ in 0..FACETS {
        let normal = Vector3::from(UnitSphere.sample(rng));
        let offset: f64 = rng.random_range(0.55..0.9);
        for vertex in &mut vertices {
            *vertex -= normal * (normal.dot(vertex) - offset).max(0.0);
        }
    }
    let stretch = Vector3::new(1.0, rng.random_range(0.7..1.0), rng.random_range(0.5..0.8));
    for vertex in &mut vertices {
        *vertex = vertex.component_mul(&stretch) * rng.random_range(0.97..1.03);
    }
    // A roughened sphere always spans a volume; if the hull fails, its own triangles serve as well.
    let unhulled = || RockShape { vertices: vertices.iter().map(|v| v.map(|c| c as f32).into()).collect(), triangles };
    RockShape::hull(&vertices).unwrap_or_else(unhulled)
}

impl DrawnRock {
    /// The rock that results from placing the stone on soil of height `soil_m`, m.
    pub(crate) fn lie(&self, soil_m: f64) -> Rock {
        let radius_m = self.diameter_m / 2.0;
        let [roll, pitch] = self.lean_rad;
        let attitude = UnitQuaternion::from_euler_angles(roll, pitch, self.yaw_rad);
        let centre = Vector3::new(self.at_m[0], self.at_m[1], soil_m - self.sunk * radius_m);
        Rock { id: self.id, shape: self.shape, world_from_rock: Pose::from_parts(centre.into(), attitude), radius_m }
    }
}

#[cfg(test)]
mod tests {
    use super::shapes;
    use nalgebra::Vector3;
    use std::collections::BTreeSet;

    #[test]
    fn shapes_are_closed_and_convex_look_outward_and_have_mean_radius_one() {
        // Rounding of vertices in `f32`.
        const SINGLE_TOLERANCE: f64 = 1e-5;
        for shape in shapes(4) {
            let corner = |i: u32| Vector3::from(shape.vertices[i as usize]).cast::<f64>();
            let mean = (0..shape.vertices.len() as u32).map(|i| corner(i).norm()).sum::<f64>();
            assert!((mean / shape.vertices.len() as f64 - 1.0).abs() < SINGLE_TOLERANCE);
            assert!(shape.triangles.len() <= 320);
            let mut edges = BTreeSet::new();
            let mut volume = 0.0;
            for &[a, b, c] in &shape.triangles {
                for edge in [(a, b), (b, c), (c, a)] {
                    assert!(edges.insert(edge), "an edge is used twice in one direction");
                }
                volume += corner(a).dot(&corner(b).cross(&corner(c))) / 6.0;
            }
            assert!(edges.iter().all(|&(a, b)| edges.contains(&(b, a))), "the mesh has a hole");
            assert!(volume > 1.0, "triangles look inward: {volume}");
            for &[a, b, c] in &shape.triangles {
                let normal = (corner(b) - corner(a)).cross(&(corner(c) - corner(a))).normalize();
                let above = |i: u32| normal.dot(&(corner(i) - corner(a)));
                let highest = (0..shape.vertices.len() as u32).map(above).fold(0.0, f64::max);
                assert!(highest < SINGLE_TOLERANCE, "a corner stands {highest} over a face");
            }
            let triangles = &shape.triangles;
            let corners: Vec<_> = (0..shape.vertices.len() as u32).map(corner).collect();
            let centre = super::centre_of_mass(&corners, triangles).expect("a volume");
            assert!(centre.norm() < SINGLE_TOLERANCE, "{centre:?}");
        }
    }
}
