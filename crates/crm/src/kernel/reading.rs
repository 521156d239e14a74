//! Records of `reading.wgsl`, and what its results mean.

use bytemuck::{Pod, Zeroable};
use nalgebra::Vector3;

use super::{BodyRecord, cell_mass_kg, check_masses, fraction_bits};
use crate::body::Body;
use crate::error::CrmError;
use crate::model::Model;
use crate::reading::{LAYERS, PlacedDrum, SoilPiece, Totals, columns};
use crate::shells::SHELLS_MAX;
use crate::state::State;
use crate::step::too_many_shells;
use crate::surface::RIM;

/// Pairs of words: mass, squares of speeds, and masses in drums.
pub(super) const TOTALS: usize = 2 + SHELLS_MAX;
/// Integers in 1 m²/s².
pub(super) const SQUARE_SCALE: f64 = 16_777_216.0;
/// Bytes of the totals.
pub const TOTALS_BYTES: u64 = 4 * (2 * TOTALS as u64 + 1);
/// Bytes of a point's mass.
pub const MASS_BYTES: u64 = 8;
/// Bytes of a cell's density.
pub const DENSITY_BYTES: u64 = 4;
/// Bytes of the words that rank a column's points.
pub const WORD_BYTES_A_COLUMN: u64 = 4 * 2 * LAYERS as u64;
/// Bytes of the points found in a column.
pub const SURFACE_BYTES_A_COLUMN: u64 = 16 * 2 * LAYERS as u64;

/// What is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ReadingRecord {
    pub(super) drums: [BodyRecord; SHELLS_MAX],
    pub(super) drum_count: u32,
    pub(super) columns: u32,
    pub(super) rows: u32,
    pub(super) pad: u32,
}

impl ReadingRecord {
    /// A record for a reading with these drums.
    ///
    /// # Errors
    /// When there are more than four.
    pub fn new(model: &Model, drums: &[PlacedDrum]) -> Result<Self, CrmError> {
        if drums.len() > SHELLS_MAX {
            return Err(too_many_shells(SHELLS_MAX));
        }
        let [columns, rows] = columns(model.grid()).map(|count| count as u32);
        let mut record = Self { drum_count: drums.len() as u32, columns, rows, ..Self::default() };
        let at_rest = |drum: &PlacedDrum| BodyRecord::new(model.grid().cell_m, &Body::from(*drum));
        record.drums.iter_mut().zip(drums).for_each(|(record, drum)| *record = at_rest(drum));
        Ok(record)
    }
}

/// Number of densities that a reading of the surface needs.
#[must_use]
pub fn density_count(model: &Model) -> u64 {
    model.grid().cells.into_iter().map(|cells| u64::from(cells) + 2 * RIM as u64).product()
}

/// Number of columns of cells, each of which has a top.
#[must_use]
pub fn top_count(model: &Model) -> u64 {
    let [x, y, _] = model.grid().cells;
    u64::from(x) * u64::from(y)
}

/// Number of columns half a cell wide.
#[must_use]
pub fn column_count(model: &Model) -> u64 {
    columns(model.grid()).into_iter().product::<usize>() as u64
}

/// Masses of the points, mg and as the solver has them, in the order in which they are packed.
///
/// # Errors
/// When a mass is that of many cells.
pub fn masses(model: &Model, state: &State) -> Result<Vec<[u32; 2]>, CrmError> {
    check_masses(model, state)?;
    let per_kg = 1.0 / cell_mass_kg(model);
    let words = state.points.iter().map(|point| [point.mass_mg, ((point.mass_kg() * per_kg) as f32).to_bits()]);
    Ok(words.collect())
}

/// The totals of `points` points in the first of `drums` drums.
#[must_use]
pub fn totals(words: &[u32], points: usize, drums: usize) -> Totals {
    let total = |number: usize| (u64::from(words[2 * number + 1]) << 32) + u64::from(words[2 * number]);
    Totals {
        mass_mg: total(0),
        held_mg: (0..drums).map(|drum| total(2 + drum)).collect(),
        fastest_m_s: f32::from_bits(words[2 * TOTALS]).sqrt(),
        mean_square_m2_s2: total(1) as f64 / SQUARE_SCALE / points.max(1) as f64,
    }
}

/// The highest points of each column from their words. `mass_and_id` gives those of a point from its index.
#[must_use]
pub fn surface(
    model: &Model,
    words: &[[u32; 4]],
    mass_and_id: impl Fn(usize) -> Option<(u32, u32)>,
) -> Vec<[Option<SoilPiece>; LAYERS]> {
    let unit_m = model.grid().cell_m / f64::from(1_u32 << fraction_bits(model));
    let point = |place: [u32; 4], motion: [u32; 4]| {
        let (mass_mg, id) = mass_and_id(place[3].checked_sub(1)? as usize)?;
        Some(SoilPiece {
            position_m: Vector3::new(place[0], place[1], place[2]).map(|along| f64::from(along as i32) * unit_m),
            velocity_m_s: Vector3::new(motion[0], motion[1], motion[2]).map(f32::from_bits),
            mass_mg,
            id,
        })
    };
    let column = |words: &[[u32; 4]]| std::array::from_fn(|layer| point(words[2 * layer], words[2 * layer + 1]));
    words.chunks_exact(2 * LAYERS).map(column).collect()
}
