//! Rocks: instances of a few shapes, standing on the ground. A shape is a sphere of
//! 320 triangles cut by random planes, flattened and roughened a little: faceted, as
//! blocks broken by impacts are. Sizes follow a cumulative power law of the diameter
//! (synthterrain, NASA Ames); a rock lies partly buried, turned at random.

use nalgebra::{Point3, UnitQuaternion, Vector3};
use rand_distr::{Distribution, Poisson, UnitSphere};
use selene_base::Pose;
use selene_base::random::{self, RngExt, Stream};

use crate::icosphere;
use crate::level::Level;
use crate::site::RockLaw;

/// Different shapes of a site.
const SHAPES: usize = 8;
/// Planes that cut each shape.
const FACETS: usize = 14;
/// How far a rock may lean, rad.
const LEAN_MAX_RAD: f64 = 0.25;

/// A closed triangle mesh about its own centre, unit size (mean radius 1).
#[derive(Clone, Debug, PartialEq)]
pub struct RockShape {
    /// Corner positions.
    pub vertices: Vec<[f32; 3]>,
    /// Corners of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// One rock.
#[derive(Clone, Debug, PartialEq)]
pub struct Rock {
    /// Its number on this site, from 0.
    pub id: u32,
    /// Which of the ground's shapes it has.
    pub shape: usize,
    /// Where its centre is and how it lies.
    pub world_from_rock: Pose,
    /// Mean radius, m: the shape's scale.
    pub radius_m: f64,
}

/// A rock that is drawn but does not lie on the ground yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stone {
    at_m: [f64; 2],
    pub(crate) diameter_m: f64,
    shape: usize,
    yaw_rad: f64,
    lean_rad: [f64; 2],
    /// How much of its radius is below the soil at its centre.
    sunk: f64,
}

/// The shapes of a site.
pub(crate) fn shapes(seed: u64) -> Vec<RockShape> {
    (0..SHAPES as u64).map(|index| shape(&mut random::stream_at(seed, "terrain/rock_shapes", index))).collect()
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
    let mean_radius = vertices.iter().map(Vector3::norm).sum::<f64>() / vertices.len() as f64;
    let vertices = vertices.iter().map(|v| (v / mean_radius).map(|c| c as f32).into()).collect();
    RockShape { vertices, triangles }
}

impl RockLaw {
    pub(crate) fn density_m2(&self, diameter_m: f64) -> f64 {
        self.density_1m_m2 * diameter_m.powf(-self.slope)
    }

    /// The diameter that `density_m2` rocks per m² exceed: the law's inverse.
    pub(crate) fn diameter_of(&self, density_m2: f64) -> f64 {
        (density_m2 / self.density_1m_m2).powf(-1.0 / self.slope)
    }

    /// Rocks larger than `diameter_min_m` on a square of `side_m` around the origin,
    /// without those on the square of `inner_side_m`, which the finer level has drawn.
    pub(crate) fn draw(
        &self,
        seed: u64,
        level: usize,
        [inner_side_m, side_m]: [f64; 2],
        diameter_min_m: f64,
    ) -> Vec<Stone> {
        let many = self.density_m2(diameter_min_m.max(self.diameter_min_m));
        let few = self.density_m2(self.diameter_max_m);
        let Ok(poisson) = Poisson::new((many - few) * side_m * side_m) else { return Vec::new() };
        let mut rng = random::stream_at(seed, "terrain/rocks", level as u64);
        let count = poisson.sample(&mut rng) as usize;
        let mut one = || {
            let density_m2 = few + (many - few) * rng.random::<f64>();
            stone(&mut rng, side_m, self.diameter_of(density_m2))
        };
        let is_kept = |stone: &Stone| {
            let [x, y] = stone.at_m;
            let outside_inner = x.abs().max(y.abs()) > inner_side_m / 2.0;
            outside_inner && x.hypot(y) - stone.diameter_m > self.clear_radius_m
        };
        (0..count).map(|_| one()).filter(is_kept).collect()
    }
}

fn stone(rng: &mut Stream, side_m: f64, diameter_m: f64) -> Stone {
    Stone {
        at_m: [rng.random_range(-0.5..0.5) * side_m, rng.random_range(-0.5..0.5) * side_m],
        diameter_m,
        shape: rng.random_range(0..SHAPES),
        yaw_rad: rng.random_range(0.0..std::f64::consts::TAU),
        lean_rad: [rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD), rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD)],
        sunk: rng.random_range(-0.45..0.3),
    }
}

impl Stone {
    /// The stone lying on the first of `levels` that has ground for it.
    pub(crate) fn lie(&self, id: u32, levels: &[Level]) -> Option<Rock> {
        let [x, y] = self.at_m;
        let soil_m = levels.iter().find_map(|level| level.height_m(x, y))?;
        let radius_m = self.diameter_m / 2.0;
        let [roll, pitch] = self.lean_rad;
        let attitude = UnitQuaternion::from_euler_angles(roll, pitch, self.yaw_rad);
        let centre = Vector3::new(x, y, soil_m - self.sunk * radius_m);
        Some(Rock { id, shape: self.shape, world_from_rock: Pose::from_parts(centre.into(), attitude), radius_m })
    }
}

/// Calls `node(column, row, top_m)` for every post of `level` that the rock covers,
/// with the height of its upper surface there where that is above the soil.
pub(crate) fn tops(rock: &Rock, shape: &RockShape, level: &Level, mut node: impl FnMut(usize, usize, f32)) {
    let corner = |&[x, y, z]: &[f32; 3]| {
        let local = Point3::new(f64::from(x), f64::from(y), f64::from(z)) * rock.radius_m;
        (rock.world_from_rock * local).coords
    };
    let corners: Vec<_> = shape.vertices.iter().map(corner).collect();
    for triangle in &shape.triangles {
        let [a, b, c] = triangle.map(|i| corners[i as usize]);
        rasterise([a, b, c], level, &mut node);
    }
}

fn rasterise([a, b, c]: [Vector3<f64>; 3], level: &Level, node: &mut impl FnMut(usize, usize, f32)) {
    let [ab, ac] = [b - a, c - a];
    let twice_area = ab.x * ac.y - ab.y * ac.x;
    // Seen from above, only faces that look up count.
    if twice_area <= 0.0 {
        return;
    }
    let span = |axis: usize| {
        let post = |m: f64| (m - level.origin_m[axis]) / level.spacing_m;
        let [min, max] = [a[axis].min(b[axis]).min(c[axis]), a[axis].max(b[axis]).max(c[axis])];
        let end = (post(max).floor() + 1.0).clamp(0.0, level.posts as f64) as usize;
        post(min).ceil().max(0.0) as usize..end
    };
    for row in span(1) {
        for column in span(0) {
            let [x, y] = level.post_xy_m(column, row);
            let [dx, dy] = [x - a.x, y - a.y];
            let [u, v] = [(dx * ac.y - dy * ac.x) / twice_area, (ab.x * dy - ab.y * dx) / twice_area];
            let top_m = a.z + u * ab.z + v * ac.z;
            if u >= 0.0 && v >= 0.0 && u + v <= 1.0 && top_m > level.post_m(column, row) {
                node(column, row, top_m as f32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shapes;
    use nalgebra::Vector3;
    use std::collections::BTreeSet;

    #[test]
    fn shapes_are_closed_look_outward_and_have_mean_radius_one() {
        // Corners are `f32`.
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
        }
    }
}
