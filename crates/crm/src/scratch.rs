//! Memory of a step that can be rebuilt: sorted points, tiles and nodes.

use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

use crate::block::{BLOCK_NODES, BlockNodes, Place, TILE_NODES, Tile};
use crate::body::Reaction;
use crate::error::CrmError;
use crate::lanes::{Floats, LANES};
use crate::model::Model;
use crate::shells::BlockSides;
use crate::state::{Point, State};

/// Points that are worth a task of their own.
const POINTS_A_TASK: usize = 512;
/// Points that are sorted may be so far out of their blocks when a step begins, cells.
const STAYING_CELLS: f64 = 0.5;
/// No slot.
const NONE: u32 = u32::MAX;

/// Memory that steps use; empty at first.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The points while they move, in the order of blocks.
    pub(crate) points: Vec<Point>,
    spare: Vec<Point>,
    places: Vec<Place>,
    starts: Vec<u32>,
    /// Which point becomes the first, the second, ...
    order: Vec<u32>,
    /// Blocks that have points.
    pub(crate) crowds: Vec<Crowd>,
    /// Sums of each of them.
    pub(crate) tiles: Vec<Tile>,
    /// Slot of each block's tile.
    pub(crate) crowd_of: Vec<u32>,
    /// Blocks whose nodes points touch.
    pub(crate) touched: Vec<u32>,
    pub(crate) nodes: Vec<BlockNodes>,
    /// Slot of each block's nodes.
    pub(crate) nodes_of: Vec<u32>,
    /// Of each touched block: one for each body and one for the walls.
    pub(crate) reactions: Vec<Reaction>,
    /// Where there are shells, on which sides of them each touched block's nodes are.
    pub(crate) sides: Vec<BlockSides>,
    /// What each crowd gave to shells: as many as `reactions` has of a block.
    pub(crate) on_shells: Vec<Reaction>,
}

/// The points of a block.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    pub(crate) block: u32,
    pub(crate) points: Range<usize>,
}

/// How a step begins.
pub(crate) struct Begun {
    /// Whether the points are as sorted in the state as they can be: then they are still there, and not here.
    pub(crate) are_in_state: bool,
    /// The fastest point, m/s.
    pub(crate) speed_m_s: f64,
    /// The farthest that a point is out of its block, m.
    pub(crate) way_m: f64,
}

impl Scratch {
    /// Takes over the points of `state`: as they are sorted there, if they still lie near their blocks, or sorted anew.
    ///
    /// # Errors
    /// When a point has no finite value or is outside of the grid.
    pub(crate) fn begin(&mut self, model: &Model, state: &State, bodies: usize) -> Result<Begun, CrmError> {
        if let Some(begun) = self.adopt(model, state, bodies) {
            return Ok(begun);
        }
        check(model, &state.points)?;
        self.take(model, &state.points, bodies);
        let squares = self.points.par_iter().with_min_len(POINTS_A_TASK).map(|point| point.velocity_m_s.norm_squared());
        let speed_m_s = f64::from(squares.reduce(|| 0.0, f32::max)).sqrt();
        Ok(Begun { are_in_state: false, speed_m_s, way_m: 0.0 })
    }

    /// Keeps the order of the points of `state`; none where it does not hold, or a point cannot be.
    fn adopt(&mut self, model: &Model, state: &State, bodies: usize) -> Option<Begun> {
        if !state.may_be_sorted(model) {
            return None;
        }
        self.crowds.clear();
        let mut begin = 0;
        for &[block, count] in &state.sorted {
            let end = begin + count as usize;
            self.crowds.push(Crowd { block, points: begin..end });
            begin = end;
        }
        let surveys = self.crowds.par_iter().map(|crowd| {
            let points = &state.points[crowd.points.clone()];
            survey(model, crowd.block, points)
        });
        let found = surveys.reduce(Survey::default, Survey::and);
        if found.is_bad || found.beyond_cells > STAYING_CELLS {
            return None;
        }
        if let Some(any) = state.points.first() {
            // Every slot is written by the first substep.
            self.points.resize(state.points.len(), *any);
        }
        self.lay_out(model, bodies);
        let way_m = found.beyond_cells * model.grid().cell_m;
        Some(Begun { are_in_state: true, speed_m_s: f64::from(found.square).sqrt(), way_m })
    }

    /// Takes over sound `points`, sorted by block and cell, those of a cell in the order they were in. That points of
    /// a cell follow each other makes steps fast.
    fn take(&mut self, model: &Model, points: &[Point], bodies: usize) {
        let places = points.par_iter().with_min_len(POINTS_A_TASK).map(|point| model.layout.place_of(point));
        places.collect_into_vec(&mut self.places);
        self.count(model.layout.block_count());
        self.order();
        let ordered = self.order.par_iter().with_min_len(POINTS_A_TASK).map(|from| points[*from as usize]);
        ordered.collect_into_vec(&mut self.points);
        self.lay_out(model, bodies);
    }

    /// Makes room for tiles, nodes and reactions.
    fn lay_out(&mut self, model: &Model, bodies: usize) {
        self.crowd_of.clear();
        self.crowd_of.resize(model.layout.block_count(), NONE);
        for (slot, crowd) in self.crowds.iter().enumerate() {
            self.crowd_of[crowd.block as usize] = slot as u32;
        }
        self.touch(model);
        self.tiles.resize(self.crowds.len(), [[0.0; 4]; TILE_NODES]);
        self.nodes.resize(self.touched.len(), [[0.0; 4]; BLOCK_NODES]);
        self.reactions.resize(self.touched.len() * (bodies + 1), Reaction::default());
        self.on_shells.resize(self.crowds.len() * (bodies + 1), Reaction::default());
    }

    /// Blocks that its points are sorted into, and how many each has.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = [u32; 2]> {
        self.crowds.iter().map(|crowd| [crowd.block, crowd.points.len() as u32])
    }

    /// Sorts its own points anew.
    ///
    /// # Errors
    /// As `begin`.
    pub(crate) fn sort(&mut self, model: &Model, bodies: usize) -> Result<(), CrmError> {
        std::mem::swap(&mut self.points, &mut self.spare);
        let moved = std::mem::take(&mut self.spare);
        let checked = check(model, &moved);
        if checked.is_ok() {
            self.take(model, &moved, bodies);
        }
        self.spare = moved;
        checked
    }

    /// Where each block's points begin.
    fn count(&mut self, blocks: usize) {
        self.starts.clear();
        self.starts.resize(blocks, 0);
        self.places.iter().for_each(|place| self.starts[place.block as usize] += 1);
        self.crowds.clear();
        let mut begin = 0;
        for (block, start) in self.starts.iter_mut().enumerate() {
            let count = std::mem::replace(start, begin);
            if count > 0 {
                let points = begin as usize..(begin + count) as usize;
                self.crowds.push(Crowd { block: block as u32, points });
            }
            begin += count;
        }
    }

    /// Counting sort by block; in each block by cell.
    fn order(&mut self) {
        self.order.resize(self.places.len(), 0);
        for (from, place) in self.places.iter().enumerate() {
            let next = &mut self.starts[place.block as usize];
            self.order[*next as usize] = from as u32;
            *next += 1;
        }
        let (places, lengths) = (&self.places, self.crowds.iter().map(|crowd| crowd.points.len()));
        let in_block = |order: &mut [u32]| order.sort_by_key(|from| places[*from as usize].cell);
        split(&mut self.order, lengths).into_par_iter().for_each(in_block);
    }

    /// Lists the blocks of points and all around them.
    fn touch(&mut self, model: &Model) {
        self.nodes_of.clear();
        self.nodes_of.resize(model.layout.block_count(), NONE);
        self.touched.clear();
        for crowd in &self.crowds {
            let block = model.layout.block_at(crowd.block);
            for near in model.layout.neighbours(block).into_iter().flatten() {
                if self.nodes_of[near as usize] == NONE {
                    self.nodes_of[near as usize] = self.touched.len() as u32;
                    self.touched.push(near);
                }
            }
        }
    }
}

/// Cuts a slice into pieces of these lengths.
pub(crate) fn split<T>(mut whole: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut pieces = Vec::with_capacity(lengths.size_hint().0);
    for length in lengths {
        let (piece, rest) = whole.split_at_mut(length);
        pieces.push(piece);
        whole = rest;
    }
    pieces
}

/// The `n`-th of the 27 offsets of a block and those around it, x fastest.
pub(crate) fn around(n: usize) -> [i32; 3] {
    [n % 3, n / 3 % 3, n / 9].map(|along| along as i32 - 1)
}

/// The slots of the 27 blocks around `block`, itself among them.
pub(crate) fn slots_around(model: &Model, block: u32, slots: &[u32]) -> [Option<usize>; 27] {
    let near = model.layout.neighbours(model.layout.block_at(block));
    near.map(|near| Some(slots[near? as usize]).filter(|slot| *slot != NONE).map(|slot| slot as usize))
}

/// What is found of points before they move.
#[derive(Clone, Copy, Default)]
struct Survey {
    /// Square of the greatest speed, (m/s)².
    square: f32,
    /// The farthest that one is out of its block, cells.
    beyond_cells: f64,
    /// Whether one cannot be.
    is_bad: bool,
}

impl Survey {
    fn and(self, other: Self) -> Self {
        Self {
            square: self.square.max(other.square),
            beyond_cells: self.beyond_cells.max(other.beyond_cells),
            is_bad: self.is_bad || other.is_bad,
        }
    }
}

fn survey(model: &Model, block: u32, points: &[Point]) -> Survey {
    dispatch!(Level::new(), simd => survey_on(simd, model, block, points))
}

#[inline(always)]
fn survey_on<S: Simd>(simd: S, model: &Model, block: u32, points: &[Point]) -> Survey {
    let block = model.layout.block_at(block);
    let mut found = Survey::default();
    // Nothing, or no number where there is one among them.
    let mut nothing = Floats::splat(simd, 0.0);
    for point in points {
        let (affine, stress) = (point.affine_s.data.0.as_flattened(), point.stress_pa.data.0.as_flattened());
        let [x, y, z] = point.velocity_m_s.data.0[0];
        let others: Floats<S> = [x, y, z, affine[8], stress[8], point.volume_ratio, 0.0, 0.0].simd_into(simd);
        let many = Floats::from_slice(simd, &affine[..8]) * 0.0 + Floats::from_slice(simd, &stress[..8]) * 0.0;
        nothing += many + others * 0.0;
        found.square = found.square.max(x * x + y * y + z * z);
        let beyond_cells = model.layout.beyond_cells(point, block);
        let is_placed = point.position_m.iter().all(|along| along.is_finite()) && point.is_inside(model);
        found.is_bad |= !(is_placed && point.volume_ratio > 0.0);
        found.beyond_cells = found.beyond_cells.max(beyond_cells);
    }
    found.is_bad |= (0..LANES).any(|lane| nothing[lane] != 0.0);
    found
}

fn check(model: &Model, points: &[Point]) -> Result<(), CrmError> {
    let bad = points.par_iter().find_first(|point| !point.is_sound() || !point.is_inside(model));
    match bad {
        None => Ok(()),
        Some(point) if !point.is_sound() => Err(CrmError::NotFinite { id: point.id }),
        Some(point) => Err(CrmError::Outside { id: point.id, position_m: point.position_m.into() }),
    }
}
