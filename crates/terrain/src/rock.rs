//! Rocks: instances of a few shapes, standing on the ground. A shape is the convex
//! hull of a sphere cut by random planes, flattened and roughened a little: faceted,
//! as blocks broken by impacts are, and one convex body for rays and wheels alike.
//! Its origin is its centre of mass. Sizes follow a cumulative power law of the diameter
//! (synthterrain, NASA Ames); a rock lies partly buried, turned at random.

use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use parry3d_f64::math::Vector as Corner;
use parry3d_f64::transformation::try_convex_hull;
use rand_distr::{Distribution, Poisson, UnitSphere};
use selene_base::Pose;
use selene_base::random::{self, RngExt, Stream};

use crate::crater::cell_number;
use crate::icosphere;
use crate::level::Level;
use crate::site::RockLaw;

/// Different shapes of a site.
const SHAPES: usize = 8;
/// Planes that cut each shape.
const FACETS: usize = 14;
/// Cells across a window, by which rocks are drawn.
const CELLS_ACROSS: f64 = 8.0;
/// Rocks that one cell may have: what their numbers leave room for.
const CELL_ROCKS_MAX: usize = 512;
/// How far a rock may lean, rad.
const LEAN_MAX_RAD: f64 = 0.25;

/// A closed, convex triangle mesh about its centre of mass, unit size (the mean
/// distance of its corners is 1).
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
    /// Its number on this site.
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

impl RockShape {
    /// How far its farthest corner is from its centre.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.vertices.iter().map(|v| Vector3::from(*v).cast::<f64>().norm()).fold(0.0, f64::max)
    }

    /// The convex hull of `points` about its centre of mass; none where they span no volume.
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

/// Centre of a closed mesh's volume; none where there is none.
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
    // A roughened sphere always spans a volume; its own triangles would do as well.
    let unhulled = || RockShape { vertices: vertices.iter().map(|v| v.map(|c| c as f32).into()).collect(), triangles };
    RockShape::hull(&vertices).unwrap_or_else(unhulled)
}

impl RockLaw {
    pub(crate) fn density_m2(&self, diameter_m: f64) -> f64 {
        self.density_1m_m2 * diameter_m.powf(-self.slope)
    }

    /// The diameter that `density_m2` rocks per m² exceed: the law's inverse.
    pub(crate) fn diameter_of(&self, density_m2: f64) -> f64 {
        (density_m2 / self.density_1m_m2).powf(-1.0 / self.slope)
    }

    /// Rocks of a band on the rectangle from `low` to `high`, each with its id. Each is drawn with its
    /// cell of the plane, so that it does not matter which rectangle asks.
    pub(crate) fn near(
        &self,
        seed: u64,
        index: usize,
        band: &RockBand,
        [low, high]: [[f64; 2]; 2],
    ) -> Vec<(u32, Stone)> {
        let cell = |m: f64| (m / band.cell_m).floor() as i64;
        let span = |axis: usize| cell(low[axis])..=cell(high[axis]);
        let cells = span(1).flat_map(|row| span(0).map(move |column| [column, row]));
        let is_inside = |stone: &Stone| (0..2).all(|axis| (low[axis]..=high[axis]).contains(&stone.at_m[axis]));
        let drawn = cells.flat_map(|cell| {
            let stones = self.draw(seed, index, band, cell);
            stones.into_iter().enumerate().map(move |(i, stone)| (rock_id(index, cell, i), stone))
        });
        drawn.filter(|(_, stone)| is_inside(stone) && self.is_clear_of_the_start(stone)).collect()
    }

    /// The rocks of a band in one cell.
    fn draw(&self, seed: u64, index: usize, band: &RockBand, cell: [i64; 2]) -> Vec<Stone> {
        let [many, few] = band.diameters_m.map(|d| self.density_m2(d));
        let Ok(poisson) = Poisson::new((many - few) * band.cell_m * band.cell_m) else { return Vec::new() };
        let mut rng = random::stream_at(seed, "terrain/rocks", cell_number(index, cell));
        let count = (poisson.sample(&mut rng) as usize).min(CELL_ROCKS_MAX);
        let mut one = || {
            let diameter_m = self.diameter_of(few + (many - few) * rng.random::<f64>());
            stone(&mut rng, cell.map(|cell| cell as f64 * band.cell_m), band.cell_m, diameter_m)
        };
        (0..count).map(|_| one()).collect()
    }

    fn is_clear_of_the_start(&self, stone: &Stone) -> bool {
        let [x, y] = stone.at_m;
        x.hypot(y) - stone.diameter_m > self.clear_radius_m
    }
}

/// Rocks that are shown out to the same level's window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RockBand {
    /// From and below, m.
    diameters_m: [f64; 2],
    /// Side of the cells that they are drawn by, m.
    cell_m: f64,
}

/// The bands of windows with these sides, finest first. All windows share `count_max`
/// alike: of more rocks than that, on the mean, the smallest are left out.
pub(crate) fn bands(law: &RockLaw, sides_m: &[f64]) -> Vec<RockBand> {
    let share = law.count_max as f64 / sides_m.len() as f64;
    let smallest_m =
        |side_m: f64| law.diameter_of(share / side_m.powi(2)).clamp(law.diameter_min_m, law.diameter_max_m);
    let band = |(i, &side_m): (usize, &f64)| {
        let next_m = sides_m.get(i + 1).map_or(law.diameter_max_m, |&side_m| smallest_m(side_m));
        RockBand { diameters_m: [smallest_m(side_m).min(next_m), next_m], cell_m: side_m / CELLS_ACROSS }
    };
    sides_m.iter().enumerate().map(band).collect()
}

/// A rock's number from its band, cell and place therein: each its own over 1024 cells.
fn rock_id(band: usize, [column, row]: [i64; 2], within: usize) -> u32 {
    let low = |cell: i64| cell as u32 & 0x3ff;
    (band as u32) << 29 | low(row) << 19 | low(column) << 9 | within as u32
}

fn stone(rng: &mut Stream, corner_m: [f64; 2], side_m: f64, diameter_m: f64) -> Stone {
    Stone {
        at_m: corner_m.map(|m| m + rng.random::<f64>() * side_m),
        diameter_m,
        shape: rng.random_range(0..SHAPES),
        yaw_rad: rng.random_range(0.0..std::f64::consts::TAU),
        lean_rad: [rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD), rng.random_range(-LEAN_MAX_RAD..LEAN_MAX_RAD)],
        sunk: rng.random_range(-0.45..0.3),
    }
}

impl Stone {
    /// The stone lying on the first of `levels` that has ground for it.
    pub(crate) fn lie(&self, id: u32, levels: &[Arc<Level>]) -> Option<Rock> {
        let [x, y] = self.at_m;
        let soil_m = levels.iter().find_map(|level| level.height_m(x, y))?;
        let radius_m = self.diameter_m / 2.0;
        let [roll, pitch] = self.lean_rad;
        let attitude = UnitQuaternion::from_euler_angles(roll, pitch, self.yaw_rad);
        let centre = Vector3::new(x, y, soil_m - self.sunk * radius_m);
        Some(Rock { id, shape: self.shape, world_from_rock: Pose::from_parts(centre.into(), attitude), radius_m })
    }
}

#[cfg(test)]
mod tests {
    use super::shapes;
    use nalgebra::Vector3;
    use std::collections::BTreeSet;

    #[test]
    fn shapes_are_closed_and_convex_look_outward_and_have_mean_radius_one() {
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
