//! Neighbour search: spheres are sorted into cells as wide as the reach of the greatest pair, and partners are searched
//! in the 27 cells around each sphere. The list is sorted by sphere, then partner, independently of the cells.

use rayon::prelude::*;

use nalgebra::Vector3;
use selene_crm::{Body, BodyShape};

use crate::candidate::{Candidate, ContactCandidates, distance, in_frame};
use crate::container::Container;
use crate::state::{Partner, Sphere};

/// The most cells along an axis: their table then takes a megabyte.
const CELLS_MAX: f64 = 64.0;
const FACES: u8 = 6;

/// Pairs whose surfaces are less than `skin_m` apart.
pub(crate) fn candidates(scene: &ContactCandidates, skin_m: f64) -> Vec<Candidate> {
    let greatest_m = scene.spheres.iter().map(|sphere| sphere.radius_m).fold(0.0, f64::max);
    let cells = Cells::new(scene.model.container(), scene.spheres, 2.0 * greatest_m + skin_m);
    let numbers = (0..scene.spheres.len() as u32).into_par_iter().with_min_len(64);
    numbers.flat_map_iter(|low| of_one(scene, &cells, skin_m, low)).collect()
}

/// The candidates of a sphere: spheres with a higher index, walls, solid bodies, surfaces of drums.
fn of_one(scene: &ContactCandidates, cells: &Cells, skin_m: f64, low: u32) -> impl Iterator<Item = Candidate> {
    let ContactCandidates { model, spheres, bodies } = *scene;
    let sphere = &spheres[low as usize];
    let reach_m = sphere.radius_m + skin_m;
    let mut near: Vec<(Partner, f64)> = cells
        .around(&sphere.position_m)
        .filter(|&other| other > low)
        .map(|other| (other, &spheres[other as usize]))
        .filter(|(_, other)| (other.position_m - sphere.position_m).norm() < reach_m + other.radius_m)
        .map(|(at, other)| (Partner::Sphere(at), other.radius_m))
        .collect();
    near.sort_unstable_by_key(|(partner, _)| *partner);
    let between = move |(partner, other_m)| Candidate::new(low, partner, model.between(sphere.radius_m, other_m));
    let walls = (0..FACES).filter_map(move |face| {
        let friction = model.container().friction(face)?;
        let (depth_m, _) = model.container().depth(face, sphere.position_m[usize::from(face / 2)]);
        (depth_m < reach_m).then(|| Candidate::new(low, Partner::Wall(face), model.against(sphere.radius_m, friction)))
    });
    let solids = (0..).zip(bodies).filter_map(move |(index, body)| {
        let (distance_m, _) = distance(sphere, body)?;
        let pairing = || model.against(sphere.radius_m, body.friction);
        (distance_m < reach_m).then(|| Candidate::new(low, Partner::Body(index), pairing()))
    });
    let shells = (0..).zip(bodies).flat_map(move |(index, body)| {
        let near = surfaces_near(sphere, body, reach_m);
        let pairing = model.against(sphere.radius_m, body.friction);
        near.map(move |surface| Candidate::new(low, Partner::Shell { body: index, surface }, pairing))
    });
    near.into_iter().map(between).chain(walls).chain(solids).chain(shells)
}

/// Surfaces of a drum that are less than `reach_m` from a sphere's centre; none of a solid.
fn surfaces_near(sphere: &Sphere, body: &Body, reach_m: f64) -> impl Iterator<Item = u16> + use<> {
    let at = in_frame(sphere, body);
    let drum = match body.shape {
        BodyShape::Drum(drum) => Some(drum),
        BodyShape::Sphere { .. } | BodyShape::Cuboid { .. } | BodyShape::Cylinder { .. } | BodyShape::Wheel(_) => None,
    };
    drum.into_iter().flat_map(move |drum| {
        let surfaces = drum.surfaces_near(&at, reach_m);
        surfaces.filter(move |surface| drum.off_surface_m(*surface, &at).norm() < reach_m)
    })
}

/// Spheres sorted into cells. Spheres outside of the container are in the cell at its edge.
struct Cells {
    counts: [usize; 3],
    per_m: [f64; 3],
    /// Start of each cell's spheres in `order`, and the end of the last cell's.
    starts: Vec<u32>,
    order: Vec<u32>,
}

impl Cells {
    fn new(container: &Container, spheres: &[Sphere], side_m: f64) -> Self {
        let counts = container.size_m.map(|size_m| (size_m / side_m).floor().clamp(1.0, CELLS_MAX));
        let per_m = std::array::from_fn(|axis| counts[axis] / container.size_m[axis]);
        let counts = counts.map(|count| count as usize);
        let mut cells =
            Self { counts, per_m, starts: vec![0; counts.iter().product::<usize>() + 1], order: Vec::new() };
        cells.sort(spheres);
        cells
    }

    /// Sorts the spheres by counting sort.
    fn sort(&mut self, spheres: &[Sphere]) {
        let keys: Vec<usize> = spheres.iter().map(|sphere| self.key(self.cell_of(&sphere.position_m))).collect();
        keys.iter().for_each(|key| self.starts[key + 1] += 1);
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        let mut places = self.starts.clone();
        self.order.resize(spheres.len(), 0);
        for (number, key) in (0..).zip(keys) {
            self.order[places[key] as usize] = number;
            places[key] += 1;
        }
    }

    fn cell_of(&self, at_m: &Vector3<f64>) -> [usize; 3] {
        // The conversion clamps negative values to zero.
        std::array::from_fn(|axis| ((at_m[axis] * self.per_m[axis]) as usize).min(self.counts[axis] - 1))
    }

    fn key(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.counts[1] + j) * self.counts[0] + i
    }

    /// Spheres in the cells around a position.
    fn around(&self, at_m: &Vector3<f64>) -> impl Iterator<Item = u32> {
        let cell = self.cell_of(at_m);
        let [low, high] = [
            cell.map(|along| along.saturating_sub(1)),
            std::array::from_fn(|axis| (cell[axis] + 1).min(self.counts[axis] - 1)),
        ];
        let rows = (low[2]..=high[2]).flat_map(move |k| (low[1]..=high[1]).map(move |j| (j, k)));
        rows.flat_map(move |(j, k)| {
            let from = self.starts[self.key([low[0], j, k])] as usize;
            let to = self.starts[self.key([high[0], j, k]) + 1] as usize;
            self.order[from..to].iter().copied()
        })
    }
}
