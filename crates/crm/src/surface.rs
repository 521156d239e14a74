//! Height of the soil's surface in each column of cells. The density is that of points with quadratic B-splines about
//! the cells' middles. The surface is where the density, going up from the floor, first falls below half of that at
//! rest, so soil that flies or lies in a drum is ignored. For a bed the heights are accurate to a few hundredths of a
//! cell; their changes are more accurate.

use nalgebra::Vector3;

use crate::grid::Grid;
use crate::model::Model;
use crate::state::State;

/// Density, relative to that at rest, at the surface.
pub(crate) const TOP_SHARE: f32 = 0.5;
/// Number of cells beyond each wall that points contribute to.
pub(crate) const RIM: usize = 2;
/// Fraction of the kernel of a cell at a wall that lies beyond it: the integral of ½(3/2 − x)² from 1/2 to 3/2.
pub(crate) const BEYOND_WALL: f32 = 1.0 / 6.0;

impl State {
    /// Height of the soil's surface above the grid's floor in each column of cells, m, x fastest. The grid must have
    /// walls on all sides.
    #[must_use]
    pub fn tops_m(&self, model: &Model) -> Vec<f32> {
        let masses = self.points.iter().map(|point| (&point.position_m, point.mass_kg()));
        tops_m(model.grid(), model.soil().density_kg_m3, masses)
    }
}

/// Height of the surface of masses, kg, at places, m, above the grid's floor in each column of cells, m, x fastest, as
/// [`State::tops_m`]; `density_kg_m3` is that of the soil at rest.
#[must_use]
pub fn tops_m<'a>(grid: &Grid, density_kg_m3: f64, masses: impl Iterator<Item = (&'a Vector3<f64>, f64)>) -> Vec<f32> {
    let [nx, ny, nz] = grid.cells.map(|cells| cells as usize);
    let density = densities(grid, density_kg_m3, masses);
    let layer = nx * ny;
    let top = |column: usize| {
        let at = [column % nx, column / nx];
        let here = |k: usize| density[place([at[0], at[1], k].map(|n| n + RIM), [nx, ny])] / whole(at, k, [nx, ny, nz]);
        let end = (0..nz).find(|&k| here(k) < TOP_SHARE).unwrap_or(nz);
        top_cells(end, nz, here) * grid.cell_m as f32
    };
    (0..layer).map(top).collect()
}

/// Height of the surface, cells; `end` is the first cell that is not soil.
fn top_cells(end: usize, cells: usize, density: impl Fn(usize) -> f32) -> f32 {
    if end == 0 || end == cells {
        return end as f32;
    }
    let (below, above) = (density(end - 1), density(end));
    end as f32 - 0.5 + (below - TOP_SHARE) / (below - above)
}

/// Fraction of a cell's kernel that is inside of the side walls and above the floor.
fn whole([i, j]: [usize; 2], k: usize, [nx, ny, _]: [usize; 3]) -> f32 {
    let along = |at: usize, count: usize| {
        1.0 - BEYOND_WALL * (f32::from(u8::from(at == 0)) + f32::from(u8::from(at + 1 == count)))
    };
    along(i, nx) * along(j, ny) * (1.0 - BEYOND_WALL * f32::from(u8::from(k == 0)))
}

/// Density, relative to that at rest, around each cell's middle, including cells beyond the walls, x fastest. Masses
/// are added in their order.
fn densities<'a>(grid: &Grid, density_kg_m3: f64, masses: impl Iterator<Item = (&'a Vector3<f64>, f64)>) -> Vec<f32> {
    let [nx, ny, nz] = grid.cells.map(|cells| cells as usize);
    let (per_m, per_kg) = (1.0 / grid.cell_m, 1.0 / (density_kg_m3 * grid.cell_m.powi(3)));
    let mut densities = vec![0.0_f32; [nx, ny, nz].iter().map(|count| count + 2 * RIM).product()];
    for (position_m, mass_kg) in masses {
        let share = (mass_kg * per_kg) as f32;
        let [x, y, z] = [0, 1, 2].map(|axis| weights(position_m[axis] * per_m));
        if x.0 > nx + 1 || y.0 > ny + 1 || z.0 > nz + 1 {
            continue;
        }
        for (k, weight_z) in z.1.iter().enumerate() {
            for (j, weight_y) in y.1.iter().enumerate() {
                let row = &mut densities[place([x.0, y.0 + j, z.0 + k], [nx, ny])..][..3];
                let weight = share * weight_z * weight_y;
                row.iter_mut().zip(x.1).for_each(|(density, weight_x)| *density += weight * weight_x);
            }
        }
    }
    densities
}

/// Index of a cell, counted from the first cell of the rim.
fn place([i, j, k]: [usize; 3], [nx, ny]: [usize; 2]) -> usize {
    (k * (ny + 2 * RIM) + j) * (nx + 2 * RIM) + i
}

/// The first of the three cells around a coordinate, in cells and at most one beyond a wall, and their weights.
fn weights(at: f64) -> (usize, [f32; 3]) {
    let first = (at + RIM as f64 - 1.0) as usize;
    let beyond = (at + RIM as f64 - 0.5 - first as f64) as f32;
    let outer = |distance: f32| 0.5 * distance * distance;
    (first, [outer(1.5 - beyond), 0.75 - (beyond - 1.0).powi(2), outer(beyond - 0.5)])
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use crate::{CrmSpec, Edges, Filling, Grid, Model, Preset, State, Wall};

    fn model() -> Model {
        let sides = Edges::Walls { low: Wall::Rough, high: Wall::Rough };
        let grid = Grid { cell_m: 0.04, cells: [8, 6, 10], edges: [sides; 3] };
        let soil = CrmSpec { density_kg_m3: 1600.0, ..Preset::Drum.soil() };
        Model::new(&soil, &grid, Vector3::new(0.0, 0.0, -1.62)).expect("a model")
    }

    fn filled(high_m: [f64; 3]) -> State {
        let mut state = State::default();
        let filling = Filling { low_m: [0.0; 3], high_m, velocity_m_s: Vector3::zeros(), geostatic: false };
        state.fill(&model(), &filling).expect("points");
        state
    }

    #[test]
    fn the_top_of_a_bed_is_its_height_at_walls_too() {
        for layers in 4..10 {
            let height_m = 0.02 * f64::from(layers);
            for top_m in filled([0.32, 0.24, height_m]).tops_m(&model()) {
                assert!((f64::from(top_m) - height_m).abs() < 0.05 * 0.04, "{top_m} m is not {height_m} m");
            }
        }
    }

    #[test]
    fn what_flies_above_is_not_the_ground_and_nothing_is_no_ground() {
        let mut state = filled([0.32, 0.24, 0.12]);
        let before = state.tops_m(&model());
        let flying: Vec<_> = state.points.iter().filter(|point| point.position_m.z < 0.08).copied().collect();
        state.points.extend(flying.into_iter().map(|mut point| {
            point.position_m.z += 0.24;
            point
        }));
        for (top_m, before_m) in state.tops_m(&model()).iter().zip(before) {
            assert!((top_m - before_m).abs() < 1e-6, "{top_m} {before_m}");
        }
        assert!(State::default().tops_m(&model()).iter().all(|top_m| *top_m == 0.0));
    }
}
