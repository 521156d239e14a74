//! Transfer from nodes to the points of a block (MLS-MPM, Hu et al. 2018, with affine velocities): `v = Σ w vᵢ`,
//! `C = (4/Δx²) Σ w vᵢ dᵀ`; then the points move (`motion`). Like the transfer to the nodes (`to_tile`), it conserves
//! momentum.
//!
//! Where a shell's surface lies between a point and a node, the point has a node of its own (`shells`).

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};
use nalgebra::Vector3;

use crate::block::{BLOCK_NODES, Node, TILE_NODES, TILE_SIDE, Tile};
use crate::body::Reaction;
use crate::lanes::{LANES, NodeLanes, Row, floats};
use crate::model::Model;
use crate::motion::{Extremes, Gathered, MotionStatistics, Moved, SubstepConstants, advance};
use crate::scratch::{Around, slot};
use crate::shells::{GatheringPoint, NearbySides, PointSides, Shells, Sides, TileSides};
use crate::state::Point;
use crate::stencil::{SPAN, Stencil, Stencils, eight_of, positions, row_at};
use crate::to_tile::{pushed, stress_factor};

/// Fills a block's tile with nodes of the 27 blocks around it; `none` where there is no block.
pub(crate) fn fill_tile<T: Copy>(tile: &mut [T; TILE_NODES], nodes: &[[T; BLOCK_NODES]], around: &Around, none: T) {
    let around = around.map(slot);
    if around.contains(&None) {
        tile.fill(none);
    }
    for (number, row) in tile.chunks_exact_mut(TILE_SIDE).enumerate() {
        // One node before the block, four of the block, three behind it.
        let [y, z] = [number % TILE_SIDE, number / TILE_SIDE];
        let from = 4 * ((y + 3) % 4) + 16 * ((z + 3) % 4);
        let slots = &around[3 * y.div_ceil(4) + 9 * z.div_ceil(4)..][..3];
        if let Some(slot) = slots[0] {
            row[0] = nodes[slot][from + 3];
        }
        if let Some(slot) = slots[1] {
            row[1..5].copy_from_slice(&nodes[slot][from..from + 4]);
        }
        if let Some(slot) = slots[2] {
            row[5..].copy_from_slice(&nodes[slot][from..from + 3]);
        }
    }
}

/// Moves a block's points with the velocities of its tile. Reads the points from `unmoved` where that is given.
pub(crate) fn to_points(
    model: &Model,
    substep_s: f64,
    (block, tile): (u32, &Tile),
    unmoved: Option<&[Point]>,
    points: &mut [Point],
) -> MotionStatistics {
    let block = model.layout.block_at(block);
    dispatch!(Level::new(), simd => move_points(simd, model, substep_s, (block, tile), unmoved, points))
}

#[inline(always)]
fn move_points<S: Simd>(
    simd: S,
    model: &Model,
    substep_s: f64,
    (block, tile): ([i32; 3], &Tile),
    unmoved: Option<&[Point]>,
    points: &mut [Point],
) -> MotionStatistics {
    let (nodes, way, mut found) = (tile.as_flattened(), SubstepConstants::new(model, substep_s), Extremes::new(simd));
    for (number, some) in points.chunks_mut(LANES).enumerate() {
        if let Some(unmoved) = unmoved {
            some.copy_from_slice(&unmoved[number * LANES..][..some.len()]);
        }
        let positions_m = positions(simd, &eight_of(some));
        let stencils = Stencils::new(simd, model, block, &positions_m);
        let mut gathered = Gathered::default();
        for lane in 0..LANES {
            gather(simd, &way, &stencils, lane, nodes, &mut gathered);
        }
        let moved = advance(simd, model, &way, &positions_m, &gathered, some);
        found.add(model, &way, block, &moved);
    }
    found.statistics()
}

/// Same as `to_points`, near shells; adds the impulses on them to `reactions`.
pub(crate) fn to_points_beside(
    model: &Model,
    substep_s: f64,
    (block, tile): (u32, &Tile),
    near: (&Shells, &NearbySides),
    unmoved: Option<&[Point]>,
    moving: (&mut [Point], &mut [Reaction]),
) -> MotionStatistics {
    let block = model.layout.block_at(block);
    dispatch!(Level::new(), simd => move_beside(simd, model, substep_s, (block, tile), near, unmoved, moving))
}

#[inline(always)]
fn move_beside<S: Simd>(
    simd: S,
    model: &Model,
    substep_s: f64,
    (block, tile): ([i32; 3], &Tile),
    (shells, beside): (&Shells, &NearbySides),
    unmoved: Option<&[Point]>,
    (points, reactions): (&mut [Point], &mut [Reaction]),
) -> MotionStatistics {
    let (way, mut found) = (SubstepConstants::new(model, substep_s), Extremes::new(simd));
    let divided = Divided { model, way: &way, shells, tile, sides: &beside.tile };
    for (number, (some, own)) in points.chunks_mut(LANES).zip(beside.points.chunks(LANES)).enumerate() {
        if let Some(unmoved) = unmoved {
            some.copy_from_slice(&unmoved[number * LANES..][..some.len()]);
        }
        let positions_m = positions(simd, &eight_of(some));
        let stencils = Stencils::new(simd, model, block, &positions_m);
        let gathered = divided.gather(simd, &stencils, (some, own), reactions);
        let before_m = eight_of(some).map(|point| point.position_m);
        let moved = advance(simd, model, &way, &positions_m, &gathered, some);
        let moved = divided.hold(simd, moved, &before_m, (some, own), reactions);
        found.add(model, &way, block, &moved);
    }
    found.statistics()
}

/// Nodes of a tile and the shells' surfaces that divide them from points.
struct Divided<'a> {
    model: &'a Model,
    way: &'a SubstepConstants,
    shells: &'a Shells,
    tile: &'a Tile,
    sides: &'a TileSides,
}

impl Divided<'_> {
    /// Gathers the velocities of up to eight points.
    #[inline(always)]
    fn gather<S: Simd>(
        &self,
        simd: S,
        stencils: &Stencils,
        (points, own): (&[Point], &[PointSides]),
        reactions: &mut [Reaction],
    ) -> Gathered {
        let mut gathered = Gathered::default();
        for (lane, (point, own)) in points.iter().zip(own).enumerate() {
            if own.sides.is_clear(self.sides, stencils.first(lane)) {
                gather(simd, self.way, stencils, lane, self.tile.as_flattened(), &mut gathered);
                continue;
            }
            let stencil = stencils.of(lane);
            let sums = self.gather_divided(&stencil, (point, own.sides), reactions);
            let quads = gathered.iter_mut().zip(sums.velocity_and_gradient(self.way.per_cell, &stencil));
            quads.for_each(|(quads, numbers)| quads[lane] = numbers);
        }
        repeat_last(&mut gathered, points.len());
        gathered
    }

    /// Sets points back that crossed a surface.
    #[inline(always)]
    fn hold<S: Simd>(
        &self,
        simd: S,
        moved: Moved<S>,
        before_m: &[Vector3<f64>; LANES],
        (points, own): (&mut [Point], &[PointSides]),
        reactions: &mut [Reaction],
    ) -> Moved<S> {
        let (mut squares, mut is_any_near) = ([0.0; LANES], false);
        moved.squares.store_slice(&mut squares);
        for (lane, (point, own)) in points.iter_mut().zip(own).enumerate() {
            let way_m = f64::from(squares[lane]).sqrt() * self.way.substep_s;
            if way_m.is_finite() && !self.shells.stays_off(own, way_m) {
                self.shells.hold(point, (&before_m[lane], own.sides), reactions);
                squares[lane] = if point.is_sound() { point.velocity_m_s.norm_squared() } else { f32::INFINITY };
                is_any_near = true;
            }
        }
        if !is_any_near {
            return moved;
        }
        let last = points.len() - 1;
        let squares = floats(simd, |lane| squares[lane.min(last)]);
        Moved { squares, positions_m: positions(simd, &eight_of(points)) }
    }

    /// Sums over the nodes of a point's stencil: the grid's, and behind a surface the point's own.
    fn gather_divided(&self, stencil: &Stencil, (point, own): (&Point, Sides), reactions: &mut [Reaction]) -> NodeSums {
        let Self { model, shells, tile, sides, .. } = self;
        let substep_s = self.way.substep_s;
        let gathering = GatheringPoint {
            point,
            sides: own,
            velocity_m_s: point.velocity_m_s.cast::<f64>() + model.gravity_m_s2() * substep_s,
            gradient_s: pushed(point, stress_factor(model, substep_s)).cast::<f64>(),
            normals: shells.normals(&point.position_m, own),
        };
        let mut gathered = NodeSums::default();
        stencil.each(|at, weight, numbers| {
            if gathering.sides.between(sides[at]) == 0 {
                return gathered.add(weight, &tile[at], numbers);
            }
            let cells = stencil.offset.cast::<f64>() + Vector3::from(numbers.map(|number| number as f64));
            let mass_kg = f64::from(weight) * point.mass_kg();
            let to_node_m = cells * model.grid().cell_m;
            let own = shells.meet(&gathering, sides[at], &to_node_m, mass_kg, reactions).cast::<f32>();
            gathered.add(weight, &[own.x, own.y, own.z, 0.0], numbers);
        });
        gathered
    }
}

/// Gives unused lanes the values of the last one used.
fn repeat_last(gathered: &mut Gathered, used: usize) {
    for quads in gathered {
        let last = quads[used - 1];
        quads[used..].fill(last);
    }
}

/// Gathers the velocity at a point and its gradient from the numbers of a tile's nodes.
#[inline(always)]
fn gather<S: Simd>(
    simd: S,
    way: &SubstepConstants,
    stencils: &Stencils,
    lane: usize,
    tile: &[f32],
    gathered: &mut Gathered,
) {
    let [velocity, along @ ..] = sums(simd, stencils, lane, &tile[4 * stencils.first(lane)..][..SPAN]);
    velocity.store_slice(&mut gathered[0][lane]);
    for axis in 0..3 {
        let from_point = along[axis] - velocity * stencils.beyond[axis][lane];
        (from_point * way.per_cell).store_slice(&mut gathered[axis + 1][lane]);
    }
}

/// Velocity at a point, m/s, and its moments about the first node along x, y and z, cells m/s.
#[inline(always)]
fn sums<S: Simd>(simd: S, stencils: &Stencils, lane: usize, span: &[f32]) -> [NodeLanes<S>; 4] {
    let [x, y, z] = &stencils.weights;
    let zero = NodeLanes::splat(simd, 0.0);
    let zero = Row::of(simd, [zero; 3]);
    // For each plane: the sum, and the moment along y.
    let mut planes = [[zero; 2]; 3];
    for (k, plane) in planes.iter_mut().enumerate() {
        let mut rows = [zero; 3];
        for (j, row) in rows.iter_mut().enumerate() {
            *row = Row::load(simd, &span[row_at(j, k)..][..12]).times(y[j][lane]);
        }
        let behind = rows[1].plus(rows[2]);
        *plane = [rows[0].plus(behind).times(z[k][lane]), behind.plus(rows[2]).times(z[k][lane])];
    }
    let [[first, first_y], [second, second_y], [third, third_y]] = planes;
    let above = second.plus(third);
    let along_x = [x[0][lane], x[1][lane], x[2][lane]];
    let [west, middle, east] = first.plus(above).weighted(simd, along_x);
    let [south_x, south, north] = first_y.plus(second_y.plus(third_y)).weighted(simd, along_x);
    let [low, mid, high] = above.plus(third).weighted(simd, along_x);
    let ahead = middle + east;
    [west + ahead, ahead + east, south_x + (south + north), low + (mid + high)]
}

/// Sums over the nodes of a point's stencil.
#[derive(Default)]
struct NodeSums {
    velocity: Node,
    /// Moments of each component about the first node along x, y and z, cells m/s.
    along: [Node; 3],
}

impl NodeSums {
    fn add(&mut self, weight: f32, node: &Node, numbers: [usize; 3]) {
        for (n, component) in node.iter().enumerate() {
            let share = weight * component;
            self.velocity[n] += share;
            for (along, number) in self.along.iter_mut().zip(numbers) {
                along[n] += share * number as f32;
            }
        }
    }

    /// The velocity, and the columns of its gradient.
    fn velocity_and_gradient(&self, per_cell: f32, stencil: &Stencil) -> [Node; 4] {
        let [x, y, z] = [0, 1, 2].map(|axis| {
            let offset = stencil.offset[axis];
            std::array::from_fn(|n| (self.along[axis][n] + self.velocity[n] * offset) * per_cell)
        });
        [self.velocity, x, y, z]
    }
}
