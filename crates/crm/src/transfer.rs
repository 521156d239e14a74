//! Transfer between points and nodes (MLS-MPM, Hu et al. 2018, with affine velocities).
//!
//! To nodes: a node at d from a point of mass m gets the momentum `w (m v + A d)` and the mass `w m`, with
//! `A = m C − (4Δt/Δx²) V₀ J σ`. Back: `v = Σ w vᵢ`, `C = (4/Δx²) Σ w vᵢ dᵀ`, then x, J and σ follow. Both conserve
//! momentum. Where a shell's surface lies between a point and a node, the point has a node of its own (`shells`).

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};
use nalgebra::{Matrix3, Vector3};

use crate::block::{BLOCK_NODES, Node, Stencil, TILE_NODES, TILE_SIDE, Tile};
use crate::body::Reaction;
use crate::grid::Edges;
use crate::lanes::{Floats, LANES, NodeLanes, Row, Symmetric, floats, greater};
use crate::model::Model;
use crate::scratch::{Around, slot};
use crate::shells::{GatheringPoint, NearbySides, Shells, Sides, TileSides};
use crate::state::Point;

/// Count of a tile's numbers from the first of a stencil to its last.
const SPAN: usize = 4 * ((2 * TILE_SIDE + 2) * TILE_SIDE + 3);

/// Adds a block's points to its tile, in their order.
pub(crate) fn to_tile(
    model: &Model,
    substep_s: f64,
    block: u32,
    points: &[Point],
    beside: Option<&NearbySides>,
    tile: &mut Tile,
) {
    tile.fill([0.0; 4]);
    let block = model.layout.block_at(block);
    match beside {
        None => dispatch!(Level::new(), simd => add_points(simd, model, substep_s, block, points, tile)),
        Some(beside) => {
            dispatch!(Level::new(), simd => add_beside(simd, model, substep_s, (block, points), beside, tile))
        }
    }
}

#[inline(always)]
fn add_points<S: Simd>(simd: S, model: &Model, substep_s: f64, block: [i32; 3], points: &[Point], tile: &mut Tile) {
    let (stress_factor, cell_m) = (stress_factor(model, substep_s), model.grid().cell_m as f32);
    let numbers = tile.as_flattened_mut();
    for point in points {
        let stencil = model.layout.stencil(point, block);
        let push = PointContribution::new(simd, point, stress_factor, cell_m, &stencil);
        push.add(simd, &stencil, &mut numbers[4 * stencil.first..][..SPAN]);
    }
}

/// Contribution of a point to its first row of nodes, before the row's weight, and its increments along y and z.
struct PointContribution<S: Simd> {
    first: Row<S>,
    along_y: Row<S>,
    along_z: Row<S>,
}

impl<S: Simd> PointContribution<S> {
    #[inline(always)]
    fn new(simd: S, point: &Point, stress_factor: f32, cell_m: f32, stencil: &Stencil) -> Self {
        let mass_kg = point.mass_kg() as f32;
        let pull = stress_factor * point.volume_ratio;
        let scale: NodeLanes<S> = [mass_kg * cell_m, mass_kg * cell_m, mass_kg * cell_m, 0.0].simd_into(simd);
        let [affine, stress] = [columns(simd, &point.affine_s), columns(simd, &point.stress_pa)];
        let along_x = (affine[0] - stress[0] * pull) * scale;
        let along_y = (affine[1] - stress[1] * pull) * scale;
        let along_z = (affine[2] - stress[2] * pull) * scale;
        let velocity: NodeLanes<S> =
            [point.velocity_m_s.x, point.velocity_m_s.y, point.velocity_m_s.z, 1.0].simd_into(simd);
        let offset = &stencil.offset;
        let node = velocity * mass_kg + (along_x * offset.x + along_y * offset.y + along_z * offset.z);
        let next = node + along_x;
        let weights = &stencil.weights;
        let [x0, x1, x2] = [weights[0][0], weights[1][0], weights[2][0]];
        Self {
            first: Row::of(simd, [node * x0, next * x1, (next + along_x) * x2]),
            along_y: Row::of(simd, [along_y * x0, along_y * x1, along_y * x2]),
            along_z: Row::of(simd, [along_z * x0, along_z * x1, along_z * x2]),
        }
    }

    #[inline(always)]
    fn add(self, simd: S, stencil: &Stencil, span: &mut [f32]) {
        let mut plane = self.first;
        for (k, [_, _, weight_z]) in stencil.weights.iter().enumerate() {
            let mut row = plane;
            for (j, [_, weight_y, _]) in stencil.weights.iter().enumerate() {
                let nodes = &mut span[row_at(j, k)..][..12];
                Row::load(simd, nodes).plus(row.times(weight_y * weight_z)).store(nodes);
                row = row.plus(self.along_y);
            }
            plane = plane.plus(self.along_z);
        }
    }
}

/// Index in the span of the first number of a stencil's row.
#[inline(always)]
fn row_at(j: usize, k: usize) -> usize {
    4 * (k * TILE_SIDE + j) * TILE_SIDE
}

/// Columns of a matrix; the fourth component is arbitrary but finite.
#[inline(always)]
fn columns<S: Simd>(simd: S, matrix: &Matrix3<f32>) -> [NodeLanes<S>; 3] {
    let numbers = matrix.data.0.as_flattened();
    let last = [numbers[6], numbers[7], numbers[8], 0.0];
    [NodeLanes::from_slice(simd, &numbers[..4]), NodeLanes::from_slice(simd, &numbers[3..7]), last.simd_into(simd)]
}

#[inline(always)]
fn three<S: Simd>(numbers: NodeLanes<S>) -> [f32; 3] {
    [numbers[0], numbers[1], numbers[2]]
}

/// Same as `add_points`, near shells.
#[inline(always)]
fn add_beside<S: Simd>(
    simd: S,
    model: &Model,
    substep_s: f64,
    (block, points): ([i32; 3], &[Point]),
    beside: &NearbySides,
    tile: &mut Tile,
) {
    let (stress_factor, cell_m) = (stress_factor(model, substep_s), model.grid().cell_m as f32);
    for (point, own) in points.iter().zip(&beside.points) {
        let stencil = model.layout.stencil(point, block);
        if own.sides.is_clear(&beside.tile, &stencil) {
            let push = PointContribution::new(simd, point, stress_factor, cell_m, &stencil);
            push.add(simd, &stencil, &mut tile.as_flattened_mut()[4 * stencil.first..][..SPAN]);
        } else {
            add_divided((point, own.sides), (stress_factor, cell_m), &stencil, &beside.tile, tile);
        }
    }
}

/// Adds a point to those nodes of its stencil that no surface divides from it.
fn add_divided(
    (point, own): (&Point, Sides),
    (stress_factor, cell_m): (f32, f32),
    stencil: &Stencil,
    sides: &TileSides,
    tile: &mut Tile,
) {
    let mass = point.mass_kg() as f32;
    let affine = pushed(point, stress_factor) * (mass * cell_m);
    let first = point.velocity_m_s * mass + affine * stencil.offset;
    let first = [first.x, first.y, first.z, mass];
    let [along_x, along_y, along_z] = [0, 1, 2].map(|axis| four(&affine, axis));
    stencil.each(|at, weight, [i, j, k]| {
        if own.between(sides[at]) == 0 {
            let (i, j, k) = (i as f32, j as f32, k as f32);
            for (n, sum) in tile[at].iter_mut().enumerate() {
                *sum += weight * (first[n] + along_x[n] * i + along_y[n] * j + along_z[n] * k);
            }
        }
    });
}

/// `4Δt/(Δx² ρ)`: turns stress into the velocity that it adds to a node, per metre of distance.
fn stress_factor(model: &Model, substep_s: f64) -> f32 {
    let cell_m = model.grid().cell_m;
    (4.0 * substep_s / (cell_m * cell_m * model.soil().density_kg_m3)) as f32
}

/// Gradient of the momentum that a point adds to nodes, per kilogram, 1/s.
fn pushed(point: &Point, stress_factor: f32) -> Matrix3<f32> {
    point.affine_s - point.stress_pa * (stress_factor * point.volume_ratio)
}

/// A column of `matrix`, with 0 for the mass.
fn four(matrix: &Matrix3<f32>, column: usize) -> [f32; 4] {
    [matrix[(0, column)], matrix[(1, column)], matrix[(2, column)], 0.0]
}

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

/// Findings about points that moved.
#[derive(Clone, Copy, Default)]
pub(crate) struct MotionStatistics {
    /// Square of the greatest speed, (m/s)²; infinity when a value is not finite.
    pub(crate) square: f32,
    /// Largest distance of a point from its block, cells.
    pub(crate) beyond_cells: f64,
    /// Whether a point is outside of the grid.
    pub(crate) is_outside: bool,
}

impl MotionStatistics {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            square: self.square.max(other.square),
            beyond_cells: self.beyond_cells.max(other.beyond_cells),
            is_outside: self.is_outside || other.is_outside,
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
    let (numbers, way) = (tile.as_flattened(), SubstepConstants::new(model, substep_s));
    let (mut fastest, mut moved) = (Floats::splat(simd, 0.0), MotionStatistics::default());
    for (number, eight) in points.chunks_mut(LANES).enumerate() {
        if let Some(unmoved) = unmoved {
            eight.copy_from_slice(&unmoved[number * LANES..][..eight.len()]);
        }
        for point in &mut *eight {
            let stencil = model.layout.stencil(point, block);
            take_velocity(simd, &way, &stencil, numbers, point);
        }
        fastest = greater(advance(simd, model, &way, eight), fastest);
        for point in &*eight {
            let beyond_cells = model.layout.beyond_cells(point, block);
            moved.beyond_cells = if beyond_cells > moved.beyond_cells { beyond_cells } else { moved.beyond_cells };
            moved.is_outside |= !way.holds(point);
        }
    }
    MotionStatistics { square: (0..LANES).map(|lane| fastest[lane]).fold(0.0, f32::max), ..moved }
}

/// Gives a point the velocity of the grid there and its gradient.
#[inline(always)]
fn take_velocity<S: Simd>(simd: S, way: &SubstepConstants, stencil: &Stencil, numbers: &[f32], point: &mut Point) {
    let [velocity, along_x, along_y, along_z] = gather(simd, stencil, &numbers[4 * stencil.first..][..SPAN]);
    let offset = &stencil.offset;
    let gradient = [
        (along_x + velocity * offset.x) * way.per_cell,
        (along_y + velocity * offset.y) * way.per_cell,
        (along_z + velocity * offset.z) * way.per_cell,
    ];
    point.velocity_m_s = Vector3::new(velocity[0], velocity[1], velocity[2]);
    point.affine_s.data.0 = [three(gradient[0]), three(gradient[1]), three(gradient[2])];
}

/// Same as `to_points`, near shells; adds the impulses on them to `reactions`.
pub(crate) fn to_points_beside(
    model: &Model,
    substep_s: f64,
    (block, tile): (u32, &Tile),
    near: (&Shells, &NearbySides),
    points: &mut [Point],
    reactions: &mut [Reaction],
) -> MotionStatistics {
    let block = model.layout.block_at(block);
    dispatch!(Level::new(), simd => move_beside(simd, model, substep_s, (block, tile), near, (points, reactions)))
}

#[inline(always)]
fn move_beside<S: Simd>(
    simd: S,
    model: &Model,
    substep_s: f64,
    (block, tile): ([i32; 3], &Tile),
    (shells, beside): (&Shells, &NearbySides),
    (points, reactions): (&mut [Point], &mut [Reaction]),
) -> MotionStatistics {
    let (numbers, way) = (tile.as_flattened(), SubstepConstants::new(model, substep_s));
    let mut moved = MotionStatistics::default();
    for (eight, sides) in points.chunks_mut(LANES).zip(beside.points.chunks(LANES)) {
        let mut before_m = [Vector3::zeros(); LANES];
        for ((point, own), before_m) in eight.iter_mut().zip(sides).zip(&mut before_m) {
            let stencil = model.layout.stencil(point, block);
            *before_m = point.position_m;
            if own.sides.is_clear(&beside.tile, &stencil) {
                take_velocity(simd, &way, &stencil, numbers, point);
            } else {
                let nodes = (tile, &*beside.tile);
                let gathered =
                    gather_divided(model, substep_s, (&stencil, nodes), shells, (point, own.sides), reactions);
                gathered.give(way.per_cell, &stencil, point);
            }
        }
        let squares = advance(simd, model, &way, eight);
        for (lane, ((point, own), before_m)) in eight.iter_mut().zip(sides).zip(&before_m).enumerate() {
            let mut square = squares[lane];
            if square.is_finite() && !shells.stays_off(own, f64::from(square).sqrt() * substep_s) {
                shells.hold(point, (before_m, own.sides), reactions);
                square = if point.is_sound() { point.velocity_m_s.norm_squared() } else { f32::INFINITY };
            }
            let beyond_cells = model.layout.beyond_cells(point, block);
            moved = moved.and(MotionStatistics { square, beyond_cells, is_outside: !way.holds(point) });
        }
    }
    moved
}

/// Velocity at a point, m/s, and its moments about the first node along x, y and z, cells m/s.
#[inline(always)]
fn gather<S: Simd>(simd: S, stencil: &Stencil, span: &[f32]) -> [NodeLanes<S>; 4] {
    let weights = &stencil.weights;
    let zero = NodeLanes::splat(simd, 0.0);
    let zero = Row::of(simd, [zero; 3]);
    // For each plane: the sum, and the moment along y.
    let mut planes = [[zero; 2]; 3];
    for (k, plane) in planes.iter_mut().enumerate() {
        let mut rows = [zero; 3];
        for (j, row) in rows.iter_mut().enumerate() {
            *row = Row::load(simd, &span[row_at(j, k)..][..12]).times(weights[j][1]);
        }
        let behind = rows[1].plus(rows[2]);
        *plane = [rows[0].plus(behind).times(weights[k][2]), behind.plus(rows[2]).times(weights[k][2])];
    }
    let [[first, first_y], [second, second_y], [third, third_y]] = planes;
    let above = second.plus(third);
    let along_x = [weights[0][0], weights[1][0], weights[2][0]];
    let [west, middle, east] = first.plus(above).weighted(simd, along_x);
    let [south_x, south, north] = first_y.plus(second_y.plus(third_y)).weighted(simd, along_x);
    let [low, mid, high] = above.plus(third).weighted(simd, along_x);
    let ahead = middle + east;
    [west + ahead, ahead + east, south_x + (south + north), low + (mid + high)]
}

/// Velocity at a point: from the grid's nodes, and behind a surface from the point's own.
fn gather_divided(
    model: &Model,
    substep_s: f64,
    (stencil, (tile, sides)): (&Stencil, (&Tile, &TileSides)),
    shells: &Shells,
    (point, own): (&Point, Sides),
    reactions: &mut [Reaction],
) -> NodeSums {
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
        let own = shells.meet(&gathering, sides[at], &(cells * model.grid().cell_m), mass_kg, reactions).cast::<f32>();
        gathered.add(weight, &[own.x, own.y, own.z, 0.0], numbers);
    });
    gathered
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

    /// Sets a point's velocity and its gradient.
    fn give(&self, per_cell: f32, stencil: &Stencil, point: &mut Point) {
        let velocity = Vector3::new(self.velocity[0], self.velocity[1], self.velocity[2]);
        let numbered = Matrix3::from_fn(|row, column| self.along[column][row]);
        point.affine_s = (numbered + velocity * stencil.offset.transpose()) * per_cell;
        point.velocity_m_s = velocity;
    }
}

/// Values that all points of a substep share.
struct SubstepConstants {
    substep_s: f64,
    /// `4/Δx`: turns moments into gradients, 1/m.
    per_cell: f32,
    /// Low and high end of a period along x, y and z, and its length, m; infinite ends on an axis with walls.
    periods_m: [[f64; 3]; 3],
    /// Bounds of the region inside of the grid along x, y and z, m.
    bounds_m: [[f64; 2]; 3],
}

impl SubstepConstants {
    fn new(model: &Model, substep_s: f64) -> Self {
        let (grid, size_m) = (model.grid(), model.grid().size_m());
        let periods_m = [0, 1, 2].map(|axis| match grid.edges[axis] {
            Edges::Periodic => [0.0, size_m[axis], size_m[axis]],
            Edges::Walls { .. } => [f64::NEG_INFINITY, f64::INFINITY, 0.0],
        });
        let bounds_m = [0, 1, 2].map(|axis| match grid.edges[axis] {
            Edges::Periodic => [f64::NEG_INFINITY, f64::INFINITY],
            Edges::Walls { .. } => [-grid.cell_m, size_m[axis] + grid.cell_m],
        });
        Self { substep_s, per_cell: (4.0 / grid.cell_m) as f32, periods_m, bounds_m }
    }

    /// Same as `Point::is_inside`.
    #[inline(always)]
    fn holds(&self, point: &Point) -> bool {
        let [x, y, z] = self.bounds_m;
        let at_m = &point.position_m;
        let along = |[low_m, high_m]: [f64; 2], at_m: f64| (low_m < at_m) & (at_m < high_m);
        along(x, at_m.x) & along(y, at_m.y) & along(z, at_m.z)
    }

    #[inline(always)]
    fn go(&self, point: &mut Point) {
        for (axis, [low_m, high_m, length_m]) in self.periods_m.iter().enumerate() {
            let at_m = point.position_m[axis] + f64::from(point.velocity_m_s[axis]) * self.substep_s;
            let back_m = if at_m >= *high_m { at_m - length_m } else { at_m };
            point.position_m[axis] = if at_m < *low_m { at_m + length_m } else { back_m };
        }
    }
}

/// Advances positions, volumes and stresses of up to eight points by a substep. Returns the squares of their speeds,
/// (m/s)²; infinity where a value is not finite.
#[inline(always)]
fn advance<S: Simd>(simd: S, model: &Model, way: &SubstepConstants, eight: &mut [Point]) -> Floats<S> {
    eight.iter_mut().for_each(|point| way.go(point));
    let substep_s = way.substep_s as f32;
    // Unused lanes repeat the last point.
    let last = eight.len() - 1;
    let mut of = [&eight[0]; LANES];
    for (lane, point) in of.iter_mut().enumerate() {
        *point = &eight[lane.min(last)];
    }
    let [vx, vy, vz] = [velocities(simd, &of, 0), velocities(simd, &of, 1), velocities(simd, &of, 2)];
    let gradients = [gradient_row(simd, &of, 0), gradient_row(simd, &of, 1), gradient_row(simd, &of, 2)];
    let [[lxx, ..], [_, lyy, _], [.., lzz]] = gradients;
    let ratios = floats(simd, |lane| of[lane].volume_ratio) * ((lxx + lyy + lzz) * substep_s + 1.0);
    let after = model.law.stresses(stresses(simd, &of), ratios, &gradients, substep_s);
    let squares = vx * vx + vy * vy + vz * vz;
    // Stays 0, and becomes NaN once any value is not finite.
    let mut nothing = squares * 0.0 + ratios * 0.0;
    for row in &gradients {
        nothing += row[0] * 0.0 + row[1] * 0.0 + row[2] * 0.0;
    }
    for number in &after {
        nothing += *number * 0.0;
    }
    let [xx, yy, zz, xy, xz, yz] = &after;
    for (lane, point) in eight.iter_mut().enumerate() {
        let (xy, xz, yz) = (xy[lane], xz[lane], yz[lane]);
        point.stress_pa.data.0 = [[xx[lane], xy, xz], [xy, yy[lane], yz], [xz, yz, zz[lane]]];
        point.volume_ratio = ratios[lane];
    }
    let zero = Floats::splat(simd, 0.0);
    let is_sound = nothing.simd_eq(zero) & ratios.simd_gt(zero);
    is_sound.select(squares, Floats::splat(simd, f32::INFINITY))
}

#[inline(always)]
fn velocities<S: Simd>(simd: S, of: &[&Point; LANES], axis: usize) -> Floats<S> {
    floats(simd, |lane| of[lane].velocity_m_s.data.0[0][axis])
}

#[inline(always)]
fn gradient_row<S: Simd>(simd: S, of: &[&Point; LANES], row: usize) -> [Floats<S>; 3] {
    [
        floats(simd, |lane| of[lane].affine_s.data.0[0][row]),
        floats(simd, |lane| of[lane].affine_s.data.0[1][row]),
        floats(simd, |lane| of[lane].affine_s.data.0[2][row]),
    ]
}

#[inline(always)]
fn stresses<S: Simd>(simd: S, of: &[&Point; LANES]) -> Symmetric<S> {
    [
        floats(simd, |lane| of[lane].stress_pa.data.0[0][0]),
        floats(simd, |lane| of[lane].stress_pa.data.0[1][1]),
        floats(simd, |lane| of[lane].stress_pa.data.0[2][2]),
        floats(simd, |lane| of[lane].stress_pa.data.0[1][0]),
        floats(simd, |lane| of[lane].stress_pa.data.0[2][0]),
        floats(simd, |lane| of[lane].stress_pa.data.0[2][1]),
    ]
}
