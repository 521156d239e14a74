//! The state of a simulation: the points, which determine its future.

use bytemuck::{Pod, Zeroable};
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::error::CrmError;
use crate::grid::Edges;
use crate::model::Model;
use crate::points::Points;

/// Points along each side of a cell when soil is filled in.
pub(crate) const POINTS_A_CELL: f64 = 2.0;
/// The most points of a state: 2 GiB.
const POINTS_MAX: usize = 1 << 24;
/// Milligrams in a kilogram.
pub(crate) const MG_PER_KG: f64 = 1e6;

/// A material point: a piece of soil.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Pod, Zeroable)]
#[repr(C)]
pub struct Point {
    /// Position, m from the grid's low corner.
    pub position_m: Vector3<f64>,
    /// Velocity, m/s.
    pub velocity_m_s: Vector3<f32>,
    /// Gradient of the velocity around the point, 1/s: row by component, column by axis.
    pub affine_s: Matrix3<f32>,
    /// Cauchy stress, Pa; tension is positive. Symmetric.
    pub stress_pa: Matrix3<f32>,
    /// Volume relative to that at rest.
    pub volume_ratio: f32,
    /// Mass, mg: an integer, so that sums are exact.
    pub mass_mg: u32,
    /// Number of the point, which stays with it when stepping changes the order of points.
    pub id: u32,
}

/// A point in memory.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Layout {
    position_m: [f64; 3],
    numbers: [f32; NUMBERS],
}

/// Count of a point's values behind its position, each of four bytes.
const NUMBERS: usize = 24;
/// Where a point's gradient and stress begin among these; its velocity comes first.
pub(crate) const AFFINE_AT: usize = 3;
pub(crate) const STRESS_AT: usize = 12;

/// A box of soil to fill in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// Low corner, m.
    pub low_m: [f64; 3],
    /// High corner, m: the surface, if the soil lies under its own weight.
    pub high_m: [f64; 3],
    /// Initial velocity of the soil, m/s.
    pub velocity_m_s: Vector3<f64>,
    /// Whether it starts with the stress of its own weight: `σzz = ρgz`, and `K₀ = ν/(1−ν)` of that horizontally.
    pub geostatic: bool,
}

/// The points of the soil and their order.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// As the last step left them, on the CPU sorted by block; the next step gives the same bytes only from the same
    /// order.
    pub points: Points,
    /// Blocks that the points were sorted into, ascending, and the number of points in each. They stay valid until a
    /// point is too far from its block, or points are added or removed.
    pub(crate) sorted: Vec<[u32; 2]>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self { points: self.points.clone(), sorted: self.sorted.clone() }
    }

    /// Reuses the memory already allocated.
    fn clone_from(&mut self, source: &Self) {
        let Self { points, sorted } = source;
        self.points.clone_from(points);
        self.sorted.clone_from(sorted);
    }
}

impl State {
    /// Adds `filling` as points on a lattice of half a cell.
    ///
    /// # Errors
    /// When it is not inside of the grid, is thinner than a lattice step, has too many points, or the mass of a point
    /// is not a whole number of milligrams up to 4294 kg.
    pub fn fill(&mut self, model: &Model, filling: &Filling) -> Result<(), CrmError> {
        let step_m = model.grid().cell_m / POINTS_A_CELL;
        let counts = lattice(model, filling, step_m)?;
        let mass_mg = mass_mg(model, step_m)?;
        let wanted = counts.iter().map(|count| *count as f64).product::<f64>() + self.points.len() as f64;
        if wanted > POINTS_MAX as f64 {
            return Err(CrmError::Filling(format!("{wanted} points: at most {POINTS_MAX} are allowed")));
        }
        for number in 0..counts.iter().product() {
            let along = [number % counts[0], number / counts[0] % counts[1], number / (counts[0] * counts[1])];
            let position_m = Vector3::from_fn(|axis, _| filling.low_m[axis] + (along[axis] as f64 + 0.5) * step_m);
            let id = self.points.len() as u32;
            self.points.push(at_rest(model, filling, position_m, mass_mg, id));
        }
        Ok(())
    }

    /// Mass of all points, mg; exact.
    #[must_use]
    pub fn mass_mg(&self) -> u64 {
        self.points.iter().map(|point| u64::from(point.mass_mg)).sum()
    }

    /// Momentum of all points, N s.
    #[must_use]
    pub fn momentum_n_s(&self) -> Vector3<f64> {
        self.points.iter().map(|point| point.velocity_m_s.cast::<f64>() * point.mass_kg()).sum()
    }

    /// Whether `sorted` is consistent with the number of points and blocks.
    pub(crate) fn may_be_sorted(&self, model: &Model) -> bool {
        let counted: usize = self.sorted.iter().map(|[_, count]| *count as usize).sum();
        let blocks = || self.sorted.iter().map(|[block, _]| *block);
        counted == self.points.len()
            && blocks().is_sorted_by(|a, b| a < b)
            && blocks().all(|block| (block as usize) < model.layout.block_count())
            && self.sorted.iter().all(|[_, count]| *count > 0)
    }

    /// Hash of all bits of the state (XXH3).
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        for point in &self.points {
            point.position_m.iter().for_each(|number| hasher.update(&number.to_bits().to_le_bytes()));
            let numbers = point.velocity_m_s.iter().chain(&point.affine_s).chain(&point.stress_pa);
            numbers.chain([&point.volume_ratio]).for_each(|number| hasher.update(&number.to_bits().to_le_bytes()));
            [point.mass_mg, point.id].iter().for_each(|number| hasher.update(&number.to_le_bytes()));
        }
        self.sorted.iter().flatten().for_each(|number| hasher.update(&number.to_le_bytes()));
        hasher.digest()
    }
}

impl Point {
    /// A point at the origin, at rest and without stress.
    #[must_use]
    pub fn unplaced(mass_mg: u32, id: u32) -> Self {
        let (affine_s, stress_pa) = (Matrix3::zeros(), Matrix3::zeros());
        let (position_m, velocity_m_s) = (Vector3::zeros(), Vector3::zeros());
        Self { position_m, velocity_m_s, affine_s, stress_pa, volume_ratio: 1.0, mass_mg, id }
    }

    /// What a point has beside its position, in the order of the fields. The last two are no f32.
    #[inline(always)]
    pub(crate) fn numbers(&self) -> &[f32; NUMBERS] {
        &bytemuck::cast_ref::<Self, Layout>(self).numbers
    }

    #[inline(always)]
    pub(crate) fn numbers_mut(&mut self) -> &mut [f32; NUMBERS] {
        &mut bytemuck::cast_mut::<Self, Layout>(self).numbers
    }

    /// Mass, kg.
    #[must_use]
    pub fn mass_kg(&self) -> f64 {
        f64::from(self.mass_mg) / MG_PER_KG
    }

    /// Whether all values are finite, and the volume is above zero.
    pub(crate) fn is_sound(&self) -> bool {
        let numbers = self.velocity_m_s.iter().chain(&self.affine_s).chain(&self.stress_pa);
        self.position_m.iter().all(|number| number.is_finite())
            && numbers.chain([&self.volume_ratio]).all(|number| number.is_finite())
            && self.volume_ratio > 0.0
    }

    /// Whether the point is inside of the grid or less than a cell behind a wall, where nodes still carry it.
    pub(crate) fn is_inside(&self, model: &Model) -> bool {
        let (grid, size_m) = (model.grid(), model.grid().size_m());
        (0..3).all(|axis| {
            let at = self.position_m[axis];
            grid.edges[axis] == Edges::Periodic || (-grid.cell_m < at && at < size_m[axis] + grid.cell_m)
        })
    }
}

/// Number of points along x, y and z.
fn lattice(model: &Model, filling: &Filling, step_m: f64) -> Result<[usize; 3], CrmError> {
    let size_m = model.grid().size_m();
    let mut counts = [0; 3];
    for axis in 0..3 {
        let (low, high, end) = (filling.low_m[axis], filling.high_m[axis], size_m[axis]);
        let inside = low >= 0.0 && high <= end * (1.0 + 1e-9);
        if !inside || high - low < step_m * 0.999 {
            return Err(CrmError::Filling(format!(
                "from {low} to {high} m: must be inside of 0 to {end} m and at least {step_m} m thick"
            )));
        }
        counts[axis] = ((high - low) / step_m).round() as usize;
    }
    Ok(counts)
}

fn mass_mg(model: &Model, step_m: f64) -> Result<u32, CrmError> {
    let mass_mg = (model.soil().density_kg_m3 * step_m.powi(3) * MG_PER_KG).round();
    match mass_mg {
        1.0..=4.29e9 => Ok(mass_mg as u32),
        _ => Err(CrmError::Filling(format!("points of {mass_mg} mg: must be 1 to 4.29e9 mg; change the cells"))),
    }
}

fn at_rest(model: &Model, filling: &Filling, position_m: Vector3<f64>, mass_mg: u32, id: u32) -> Point {
    let soil = model.soil();
    let depth_m = if filling.geostatic { filling.high_m[2] - position_m.z } else { 0.0 };
    let vertical = model.gravity_m_s2().z * soil.density_kg_m3 * depth_m;
    let across = vertical * soil.poisson / (1.0 - soil.poisson);
    let pressure = -(vertical + 2.0 * across) / 3.0;
    Point {
        position_m,
        velocity_m_s: filling.velocity_m_s.cast(),
        affine_s: Matrix3::zeros(),
        stress_pa: Matrix3::from_diagonal(&Vector3::new(across, across, vertical).cast()),
        volume_ratio: (1.0 - pressure / soil.bulk_pa()) as f32,
        mass_mg,
        id,
    }
}
