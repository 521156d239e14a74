//! Test rigs: experiments with a few thousand grains, and the same ones with the continuum of `selene_crm`. Each
//! returns its result; the caller decides how far it may be from a law or from the continuum.

mod drum;

use nalgebra::Vector3;
use selene_crm::rig::{collapse_s, collapsed_column};
use selene_crm::{CrmSpec, Edges, Grid, Wall};

use crate::container::Container;
use crate::error::SpheresError;
use crate::model::Model;
use crate::scratch::Scratch;
use crate::spec::SpheresSpec;
use crate::state::{Filling, State};
use crate::step::step;

pub use drum::{ComparedTorques, drum};

const SMOOTH: Wall = Wall::Sliding { friction: 0.0 };
const MIRRORS: [Wall; 2] = [SMOOTH; 2];
const FLOOR: [Wall; 2] = [Wall::Rough, Wall::Open];
const EARTH_M_S2: f64 = 9.81;
/// Radius of a column, m, and cells per radius in the continuum.
const COLUMN_M: f64 = 0.1;
const COLUMN_CELLS: u32 = 10;
/// Radii of the grains of a column and of a heap, from least to greatest, m, and the time that they are given to
/// settle, s.
const COLUMN_GRAINS_M: [f64; 2] = [0.004, 0.005];
const HEAP_GRAINS_M: [f64; 2] = [0.008, 0.01];
const SETTLING_S: f64 = 0.4;
/// Height of a lattice of grains relative to the bed into which it settles.
const LOOSE: f64 = 1.9;
const HEAP_CELL_M: f64 = 0.02;
/// Dimensions of a heap in greatest diameters: height and length before the wall is removed, width, length of the
/// floor.
const HEAP: [f64; 4] = [10.0, 12.0, 5.0, 50.0];

/// Distribution of the matter of a collapsed column; lengths as multiples of the column's radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Distance from the axis within which all but a fiftieth of the mass lies.
    pub front: f64,
    /// Mean distance of the mass from the axis; ⅔ before the collapse.
    pub distance: f64,
    /// Mean height of the mass; half of the column's height before the collapse.
    pub height: f64,
}

/// Results of the same experiment with grains and with a continuum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedSpread {
    /// Result with the grains of this crate.
    pub grains: Spread,
    /// Result with `selene_crm`.
    pub continuum: Spread,
}

/// Releases a cylinder `aspect` radii high and of 0.1 m radius, a quarter of it between two mirrors on a rough floor:
/// as grains of 4 to 5 mm radius, and as soil of 10 cells per radius. The caller matches their materials.
///
/// # Errors
/// When grains or soil are not valid, or they leave the rig, which is four radii long.
pub fn column(grains: &SpheresSpec, soil: &CrmSpec, aspect: f64) -> Result<ComparedSpread, SpheresError> {
    let (_, points) = collapsed_column(soil, aspect, COLUMN_CELLS)?;
    let points = points.points.iter().map(|point| (point.position_m, point.mass_kg()));
    let (model, state) = collapsed_grains(grains, aspect)?;
    let spheres = state.spheres.iter().map(|sphere| (sphere.position_m, model.mass_kg(sphere.radius_m)));
    Ok(ComparedSpread { grains: spread(spheres), continuum: spread(points) })
}

fn collapsed_grains(grains: &SpheresSpec, aspect: f64) -> Result<(Model, State), SpheresError> {
    let (height_m, wide_m) = (aspect * COLUMN_M, COLUMN_M + 2.0 * COLUMN_GRAINS_M[1]);
    let mut state = settled(grains, [wide_m, wide_m, height_m], COLUMN_GRAINS_M)?;
    state.retain(|sphere| sphere.position_m.xy().norm() < COLUMN_M && sphere.position_m.z < height_m);
    let size_m = [4.0 * COLUMN_M, 4.0 * COLUMN_M, height_m + 4.0 * COLUMN_M];
    let model = earth(grains, &Container { size_m, walls: [MIRRORS, MIRRORS, FLOOR] })?;
    step(&model, &mut state, &[], collapse_s(height_m), &mut Scratch::default())?;
    Ok((model, state))
}

/// Spread of parts with their positions, m, and masses, kg, about the axis z.
fn spread(parts: impl Iterator<Item = (Vector3<f64>, f64)>) -> Spread {
    let mut parts: Vec<(f64, f64, f64)> = parts.map(|(at, mass_kg)| (at.xy().norm(), at.z, mass_kg)).collect();
    parts.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let all_kg: f64 = parts.iter().map(|part| part.2).sum();
    let mean =
        |of: fn(&(f64, f64, f64)) -> f64| parts.iter().map(|part| of(part) * part.2).sum::<f64>() / all_kg / COLUMN_M;
    let mut within_kg = 0.0;
    let front = parts.iter().find(|part| {
        within_kg += part.2;
        within_kg >= 0.98 * all_kg
    });
    Spread {
        front: front.map_or(0.0, |part| part.0) / COLUMN_M,
        distance: mean(|part| part.0),
        height: mean(|part| part.1),
    }
}

/// Slope, rad, of the heap that a bed 10 diameters high and 12 long forms against a smooth wall, on a rough floor and
/// between mirrors, after the wall in front of it is removed. Its tangent is taken as
/// `mean height / mean distance from the wall`, which is exact for a triangular section.
///
/// # Errors
/// When the grains are not valid, or leave the rig.
pub fn heap(grains: &SpheresSpec) -> Result<f64, SpheresError> {
    let [height_m, length_m, width_m, floor_m] = HEAP.map(|diameters| 2.0 * HEAP_GRAINS_M[1] * diameters);
    let mut state = settled(grains, [length_m, width_m, height_m], HEAP_GRAINS_M)?;
    state.retain(|sphere| sphere.position_m.z < height_m);
    let size_m = [floor_m, width_m, 2.0 * height_m];
    let model = earth(grains, &Container { size_m, walls: [MIRRORS, MIRRORS, FLOOR] })?;
    step(&model, &mut state, &[], collapse_s(height_m), &mut Scratch::default())?;
    let moments = state.spheres.iter().map(|sphere| sphere.position_m * model.mass_kg(sphere.radius_m));
    let sum: Vector3<f64> = moments.sum();
    Ok(sum.z.atan2(sum.x))
}

/// Slope, rad, of the heap of [`heap`] of soil, on cells of 20 mm.
///
/// # Errors
/// When the soil is not valid, or leaves the rig.
pub fn heap_of_points(soil: &CrmSpec) -> Result<f64, SpheresError> {
    let [height_m, length_m, _, floor_m] = HEAP.map(|diameters| 2.0 * HEAP_GRAINS_M[1] * diameters);
    let wall = Edges::Walls { low: SMOOTH, high: SMOOTH };
    let cells = [floor_m / HEAP_CELL_M, 3.0, 2.0 * height_m / HEAP_CELL_M].map(|count| count.round() as u32);
    let floor = Edges::Walls { low: Wall::Rough, high: Wall::Open };
    let grid = Grid { cell_m: HEAP_CELL_M, cells, edges: [wall, wall, floor] };
    let model = selene_crm::Model::new(soil, &grid, Vector3::new(0.0, 0.0, -EARTH_M_S2))?;
    let mut state = selene_crm::State::default();
    let high_m = [length_m, grid.size_m()[1], height_m];
    let filling = selene_crm::Filling { low_m: [0.0; 3], high_m, velocity_m_s: Vector3::zeros(), geostatic: true };
    state.fill(&model, &filling)?;
    selene_crm::step(&model, &mut state, &[], collapse_s(height_m), &mut selene_crm::Scratch::default())?;
    let sum: Vector3<f64> = state.points.iter().map(|point| point.position_m).sum();
    Ok(sum.z.atan2(sum.x))
}

/// A bed at rest, at least as high as `size_m` asks, between mirrors on a rough floor.
fn settled(grains: &SpheresSpec, size_m: [f64; 3], radius_m: [f64; 2]) -> Result<State, SpheresError> {
    let [x, y, height_m] = size_m;
    // One grain more, so that the bed is not lower than asked.
    let high_m = LOOSE * height_m + 4.0 * radius_m[1];
    let container = Container { size_m: [x, y, high_m], walls: [MIRRORS, MIRRORS, FLOOR] };
    let model = earth(grains, &container)?;
    let mut state = State::default();
    let filling =
        Filling { low_m: [0.0; 3], high_m: [x, y, high_m], radius_m, velocity_m_s: Vector3::zeros(), seed: 1 };
    state.fill(&model, &filling)?;
    step(&model, &mut state, &[], SETTLING_S, &mut Scratch::default())?;
    let top_m = state.spheres.iter().map(|sphere| sphere.position_m.z).fold(0.0, f64::max);
    if top_m < height_m - radius_m[1] {
        return Err(SpheresError::Filling(format!("fell together to {top_m} m: {height_m} m are needed")));
    }
    Ok(state)
}

fn earth(grains: &SpheresSpec, container: &Container) -> Result<Model, SpheresError> {
    Model::new(grains, container, Vector3::new(0.0, 0.0, -EARTH_M_S2))
}
