//! The passes of a substep, each over all blocks in parallel: sides of shells, points to tiles, tiles to nodes, nodes
//! to points.

use rayon::prelude::*;

use crate::block::TILE_NODES;
use crate::body::{Body, Reaction};
use crate::model::Model;
use crate::motion::MotionStatistics;
use crate::nodes::{Conditions, sum_tiles};
use crate::scratch::{Around, BlockPoints, Scratch, split};
use crate::shells::{BlockSides, Shells, Sides};
use crate::state::Point;
use crate::to_points::{fill_tile, to_points, to_points_beside};
use crate::to_tile::to_tile;

/// What the passes of one substep share.
pub(crate) struct Passes<'a> {
    pub(crate) model: &'a Model,
    pub(crate) substep_s: f64,
    /// The bodies at the start of the substep.
    pub(crate) bodies: Vec<Body>,
    pub(crate) shells: Shells,
    /// The points of the state, in the first substep, which moves them into the scratch.
    pub(crate) unmoved: Option<&'a [Point]>,
}

impl Passes<'_> {
    /// Runs all passes. The bodies' reactions are then in the scratch.
    pub(crate) fn run(&self, scratch: &mut Scratch) -> MotionStatistics {
        self.find_sides(scratch);
        self.to_tiles(scratch);
        self.to_nodes(scratch);
        self.to_points(scratch)
    }

    /// Finds on which sides of the shells the nodes and points near them are.
    fn find_sides(&self, scratch: &mut Scratch) {
        let Self { model, shells, .. } = self;
        let Scratch { points, groups, touched, nodes_around, sides, beside, .. } = scratch;
        if !shells.are_there() {
            beside.clear();
            beside.resize_with(groups.len(), || None);
            return;
        }
        touched.par_iter().map(|block| shells.block_sides(model, *block)).collect_into_vec(sides);
        let points = self.unmoved.unwrap_or(points);
        let near = |(group, around): (&BlockPoints, &Around)| {
            let tile = || tile_sides(sides, around);
            shells.reach(model, group.block).then(|| shells.beside(tile(), &points[group.points.clone()]))
        };
        groups.par_iter().zip(&*nodes_around).map(near).collect_into_vec(beside);
    }

    fn to_tiles(&self, scratch: &mut Scratch) {
        let Scratch { points, groups, tiles, beside, .. } = scratch;
        let points = self.unmoved.unwrap_or(points);
        tiles.par_iter_mut().zip(&*groups).zip(&*beside).for_each(|((tile, group), beside)| {
            let points = &points[group.points.clone()];
            to_tile(self.model, self.substep_s, group.block, points, beside.as_ref(), tile);
        });
    }

    fn to_nodes(&self, scratch: &mut Scratch) {
        let Scratch { tiles, tiles_around, touched, nodes, reactions, .. } = scratch;
        let conditions = Conditions { model: self.model, bodies: &self.bodies, substep_s: self.substep_s };
        reactions.fill(Reaction::default());
        let blocks = nodes.par_iter_mut().zip(reactions.par_chunks_mut(self.rows())).zip(&*touched);
        blocks.zip(&*tiles_around).for_each(|(((nodes, reactions), block), around)| {
            sum_tiles(tiles, around, nodes);
            conditions.apply(*block, nodes, reactions);
        });
    }

    fn to_points(&self, scratch: &mut Scratch) -> MotionStatistics {
        let Self { model, substep_s, shells, unmoved, .. } = self;
        let Scratch { points, groups, nodes, nodes_around, beside, on_shells, .. } = scratch;
        on_shells.fill(Reaction::default());
        let lengths = groups.iter().map(|group| group.points.len());
        let grouped = split(points, lengths).into_par_iter().zip(on_shells.par_chunks_mut(self.rows()));
        let empty = || Box::new([[0.0; 4]; TILE_NODES]);
        let blocks = grouped.zip(groups.par_iter().zip(&*nodes_around)).zip(&*beside);
        let moved = blocks.map_init(empty, |tile, (((points, reactions), (group, around)), beside)| {
            fill_tile(tile, nodes, around, [0.0; 4]);
            let unmoved = unmoved.map(|unmoved| &unmoved[group.points.clone()]);
            let Some(beside) = beside else {
                return to_points(model, *substep_s, (group.block, tile), unmoved, points);
            };
            to_points_beside(model, *substep_s, (group.block, tile), (shells, beside), unmoved, (points, reactions))
        });
        moved.reduce(MotionStatistics::default, MotionStatistics::and)
    }

    /// Reactions of a block: one of each body, then that of the walls.
    pub(crate) fn rows(&self) -> usize {
        self.bodies.len() + 1
    }
}

/// The sides that the nodes of a block's tile are on.
fn tile_sides(sides: &[BlockSides], around: &Around) -> Box<[Sides; TILE_NODES]> {
    let mut tile = Box::new([Sides::default(); TILE_NODES]);
    fill_tile(&mut tile, sides, around, Sides::default());
    tile
}
