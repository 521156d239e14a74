//! Memory of a step that can be rebuilt: sorted points, tiles and nodes.

use std::ops::Range;

use rayon::prelude::*;

use crate::block::{BlockNodes, Place, Tile};
use crate::body::Reaction;
use crate::error::CrmError;
use crate::model::Model;
use crate::shells::BlockSides;
use crate::state::Point;

/// Points that are worth a task of their own.
const POINTS_A_TASK: usize = 512;
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

impl Scratch {
    /// Takes over `points`, sorted by block and cell, those of a cell in the order they were in: the one copy of a
    /// step, so that its failure leaves them as they were. That points of a cell follow each other makes steps fast.
    ///
    /// # Errors
    /// When a point has no finite value or is outside of the grid.
    pub(crate) fn take(&mut self, model: &Model, points: &[Point], bodies: usize) -> Result<(), CrmError> {
        check(model, points)?;
        let places = points.par_iter().with_min_len(POINTS_A_TASK).map(|point| model.layout.place_of(point));
        places.collect_into_vec(&mut self.places);
        self.count(model.layout.block_count());
        self.order();
        let ordered = self.order.par_iter().with_min_len(POINTS_A_TASK).map(|from| points[*from as usize]);
        ordered.collect_into_vec(&mut self.points);
        self.touch(model);
        self.tiles.resize(self.crowds.len(), [[0.0; 4]; 512]);
        self.nodes.resize(self.touched.len(), [[0.0; 4]; 64]);
        self.reactions.resize(self.touched.len() * (bodies + 1), Reaction::default());
        self.on_shells.resize(self.crowds.len() * (bodies + 1), Reaction::default());
        Ok(())
    }

    /// Sorts its own points anew.
    ///
    /// # Errors
    /// As `take`.
    pub(crate) fn sort(&mut self, model: &Model, bodies: usize) -> Result<(), CrmError> {
        std::mem::swap(&mut self.points, &mut self.spare);
        let moved = std::mem::take(&mut self.spare);
        let taken = self.take(model, &moved, bodies);
        self.spare = moved;
        taken
    }

    /// Where each block's points begin.
    fn count(&mut self, blocks: usize) {
        self.starts.clear();
        self.starts.resize(blocks, 0);
        self.places.iter().for_each(|place| self.starts[place.block as usize] += 1);
        self.crowds.clear();
        self.crowd_of.clear();
        self.crowd_of.resize(blocks, NONE);
        let mut begin = 0;
        for (block, start) in self.starts.iter_mut().enumerate() {
            let count = std::mem::replace(start, begin);
            if count > 0 {
                self.crowd_of[block] = self.crowds.len() as u32;
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
            for near in (0..27).filter_map(|n| model.layout.neighbour(block, around(n))) {
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
    let block = model.layout.block_at(block);
    std::array::from_fn(|n| {
        let near = model.layout.neighbour(block, around(n))?;
        Some(slots[near as usize]).filter(|slot| *slot != NONE).map(|slot| slot as usize)
    })
}

fn check(model: &Model, points: &[Point]) -> Result<(), CrmError> {
    let bad = points.par_iter().find_first(|point| !point.is_sound() || !point.is_inside(model));
    match bad {
        None => Ok(()),
        Some(point) if !point.is_sound() => Err(CrmError::NotFinite { id: point.id }),
        Some(point) => Err(CrmError::Outside { id: point.id, position_m: point.position_m.into() }),
    }
}
