//! Memory of a step that can be rebuilt at any time: sorted points, tiles and nodes.

use std::ops::Range;

use rayon::prelude::*;

use crate::block::{BLOCK_NODES, BlockNodes, SortKey, TILE_NODES, Tile};
use crate::body::Reaction;
use crate::error::CrmError;
use crate::grid::Grid;
use crate::model::Model;
use crate::points::{PointStatistics, survey};
use crate::shells::{BlockSides, NearbySides};
use crate::state::{Point, State};

/// Fewest points for which a parallel task pays.
pub(crate) const POINTS_A_TASK: usize = 512;
/// A step keeps the stored order of points while none is farther than this from its block, cells.
const STAYING_CELLS: f64 = 0.5;
/// Marks a block without a slot.
const NONE: u32 = u32::MAX;

/// Memory that steps use; empty at first.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The points while they move, sorted by block.
    pub(crate) points: Vec<Point>,
    spare: Vec<Point>,
    keys: Vec<SortKey>,
    starts: Vec<u32>,
    /// For each slot, the index of the point that is moved there.
    order: Vec<u32>,
    /// Blocks that have points.
    pub(crate) groups: Vec<BlockPoints>,
    /// Tile of each block that has points.
    pub(crate) tiles: Vec<Tile>,
    /// Slot of each block's tile, or `NONE`.
    group_of: Vec<u32>,
    /// Blocks that have nodes touched by points.
    pub(crate) touched: Vec<u32>,
    pub(crate) nodes: Vec<BlockNodes>,
    /// Slot of each block's nodes, or `NONE`.
    nodes_of: Vec<u32>,
    /// For each block with points, the slots of the nodes of the blocks around it.
    pub(crate) nodes_around: Vec<Around>,
    /// For each touched block, the slots of the tiles of the blocks around it.
    pub(crate) tiles_around: Vec<Around>,
    /// The grid and the number of bodies that the above is laid out for, with the groups as they are.
    laid_out: Option<(Grid, usize)>,
    /// For each touched block, the reaction of each body, then that of the walls.
    pub(crate) reactions: Vec<Reaction>,
    /// With shells, the sides of them that each touched block's nodes are on.
    pub(crate) sides: Vec<BlockSides>,
    /// For each block with points that a shell may divide from nodes, the sides of its points and nodes.
    pub(crate) beside: Vec<Option<NearbySides>>,
    /// For each block with points, the reactions of its points on shells, laid out as in `reactions`.
    pub(crate) on_shells: Vec<Reaction>,
}

/// The points of one block, as a range of the sorted points.
#[derive(Clone, Debug)]
pub(crate) struct BlockPoints {
    pub(crate) block: u32,
    pub(crate) points: Range<usize>,
}

/// Initial condition of a step.
pub(crate) struct InitialCondition {
    /// Whether the state's points are still well sorted: the first substep then reads them there, not here.
    pub(crate) are_in_state: bool,
    /// Speed of the fastest point, m/s.
    pub(crate) speed_m_s: f64,
    /// Largest distance of a point from its block, m.
    pub(crate) way_m: f64,
}

impl Scratch {
    /// Takes over the points of `state`: in their stored order if they still lie near their blocks, else sorted anew.
    ///
    /// # Errors
    /// When a value of a point is not finite, or a point is outside of the grid.
    pub(crate) fn begin(&mut self, model: &Model, state: &State, bodies: usize) -> Result<InitialCondition, CrmError> {
        if let Some(begun) = self.adopt(model, state, bodies) {
            return Ok(begun);
        }
        check(model, &state.points)?;
        self.take(model, &state.points, bodies);
        let squares = self.points.par_iter().with_min_len(POINTS_A_TASK).map(|point| point.velocity_m_s.norm_squared());
        let speed_m_s = f64::from(squares.reduce(|| 0.0, f32::max)).sqrt();
        Ok(InitialCondition { are_in_state: false, speed_m_s, way_m: 0.0 })
    }

    /// Keeps the order of the points of `state`; `None` if that order no longer holds, or a point is invalid.
    fn adopt(&mut self, model: &Model, state: &State, bodies: usize) -> Option<InitialCondition> {
        if !state.may_be_sorted(model) {
            return None;
        }
        if !self.sorted().eq(state.sorted.iter().copied()) {
            self.set_groups(state.sorted.iter().copied());
        }
        let surveyed = || {
            let surveys = self.groups.par_iter().map(|group| {
                let points = &state.points[group.points.clone()];
                survey(model, group.block, points)
            });
            surveys.reduce(PointStatistics::default, PointStatistics::and)
        };
        let found = state.points.known(model).unwrap_or_else(surveyed);
        if found.is_bad || found.beyond_cells > STAYING_CELLS {
            return None;
        }
        if let Some(any) = state.points.first() {
            // The first substep overwrites every slot.
            self.points.resize(state.points.len(), *any);
        }
        self.lay_out(model, bodies);
        let way_m = found.beyond_cells * model.grid().cell_m;
        Some(InitialCondition { are_in_state: true, speed_m_s: f64::from(found.square).sqrt(), way_m })
    }

    /// Takes over valid `points`, sorted by block and cell; points of a cell keep their order. Points of a cell that
    /// lie side by side in memory make steps fast.
    fn take(&mut self, model: &Model, points: &[Point], bodies: usize) {
        let keys = points.par_iter().with_min_len(POINTS_A_TASK).map(|point| model.layout.sort_key(point));
        keys.collect_into_vec(&mut self.keys);
        self.count(model.layout.block_count());
        self.order();
        let ordered = self.order.par_iter().with_min_len(POINTS_A_TASK).map(|from| points[*from as usize]);
        ordered.collect_into_vec(&mut self.points);
        self.lay_out(model, bodies);
    }

    /// Sets the blocks that have points and the number of points in each.
    fn set_groups(&mut self, sorted: impl Iterator<Item = [u32; 2]>) {
        self.laid_out = None;
        self.groups.clear();
        let mut begin = 0;
        for [block, count] in sorted {
            let end = begin + count as usize;
            self.groups.push(BlockPoints { block, points: begin..end });
            begin = end;
        }
    }

    /// Makes room for tiles, nodes and reactions.
    fn lay_out(&mut self, model: &Model, bodies: usize) {
        let wanted = Some((*model.grid(), bodies));
        if self.laid_out == wanted {
            return;
        }
        self.laid_out = wanted;
        self.group_of.clear();
        self.group_of.resize(model.layout.block_count(), NONE);
        for (slot, group) in self.groups.iter().enumerate() {
            self.group_of[group.block as usize] = slot as u32;
        }
        self.touch(model);
        let around = |block: u32, slots: &[u32]| slots_around(model, block, slots);
        self.nodes_around.clear();
        self.nodes_around.extend(self.groups.iter().map(|group| around(group.block, &self.nodes_of)));
        self.tiles_around.clear();
        self.tiles_around.extend(self.touched.iter().map(|block| around(*block, &self.group_of)));
        self.tiles.resize(self.groups.len(), [[0.0; 4]; TILE_NODES]);
        self.nodes.resize(self.touched.len(), [[0.0; 4]; BLOCK_NODES]);
        self.reactions.resize(self.touched.len() * (bodies + 1), Reaction::default());
        self.on_shells.resize(self.groups.len() * (bodies + 1), Reaction::default());
    }

    /// Blocks that the points are sorted into, and the number of points in each.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = [u32; 2]> {
        self.groups.iter().map(|group| [group.block, group.points.len() as u32])
    }

    /// Sorts the points anew.
    ///
    /// # Errors
    /// Same as `begin`.
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

    /// Counts where each block's points begin.
    fn count(&mut self, blocks: usize) {
        self.starts.clear();
        self.starts.resize(blocks, 0);
        self.keys.iter().for_each(|key| self.starts[key.block as usize] += 1);
        self.laid_out = None;
        self.groups.clear();
        let mut begin = 0;
        for (block, start) in self.starts.iter_mut().enumerate() {
            let count = std::mem::replace(start, begin);
            if count > 0 {
                let points = begin as usize..(begin + count) as usize;
                self.groups.push(BlockPoints { block: block as u32, points });
            }
            begin += count;
        }
    }

    /// Counting sort by block, then by cell within each block.
    fn order(&mut self) {
        self.order.resize(self.keys.len(), 0);
        for (from, key) in self.keys.iter().enumerate() {
            let next = &mut self.starts[key.block as usize];
            self.order[*next as usize] = from as u32;
            *next += 1;
        }
        let (keys, lengths) = (&self.keys, self.groups.iter().map(|group| group.points.len()));
        let in_block = |order: &mut [u32]| order.sort_by_key(|from| keys[*from as usize].cell);
        split(&mut self.order, lengths).into_par_iter().for_each(in_block);
    }

    /// Lists the blocks that have points and all their neighbours.
    fn touch(&mut self, model: &Model) {
        self.nodes_of.clear();
        self.nodes_of.resize(model.layout.block_count(), NONE);
        self.touched.clear();
        for group in &self.groups {
            let block = model.layout.block_at(group.block);
            for near in model.layout.neighbours(block).into_iter().flatten() {
                if self.nodes_of[near as usize] == NONE {
                    self.nodes_of[near as usize] = self.touched.len() as u32;
                    self.touched.push(near);
                }
            }
        }
    }
}

/// Splits a slice into pieces of these lengths.
pub(crate) fn split<T>(mut whole: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut pieces = Vec::with_capacity(lengths.size_hint().0);
    for length in lengths {
        let (piece, rest) = whole.split_at_mut(length);
        pieces.push(piece);
        whole = rest;
    }
    pieces
}

/// The `n`-th of the 27 offsets from a block to itself and its neighbours, x fastest.
pub(crate) fn around(n: usize) -> [i32; 3] {
    [n % 3, n / 3 % 3, n / 9].map(|along| along as i32 - 1)
}

/// The slots of the 27 blocks around a block, including itself, x fastest; `NONE` where there is none.
pub(crate) type Around = [u32; 27];

fn slots_around(model: &Model, block: u32, slots: &[u32]) -> Around {
    let near = model.layout.neighbours(model.layout.block_at(block));
    near.map(|near| near.map_or(NONE, |near| slots[near as usize]))
}

/// A slot as an index.
#[inline(always)]
pub(crate) fn slot(slot: u32) -> Option<usize> {
    (slot != NONE).then_some(slot as usize)
}

pub(crate) fn check(model: &Model, points: &[Point]) -> Result<(), CrmError> {
    let bad = points.par_iter().find_first(|point| !point.is_sound() || !point.is_inside(model));
    match bad {
        None => Ok(()),
        Some(point) if !point.is_sound() => Err(CrmError::NotFinite { id: point.id }),
        Some(point) => Err(CrmError::Outside { id: point.id, position_m: point.position_m.into() }),
    }
}
