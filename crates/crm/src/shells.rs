//! Contact with bodies that are thin shells: the two sides of a surface do not interact.
//!
//! As in CPIC (Hu et al. 2018), a point and a node with a surface between them are incompatible: they exchange nothing.
//! CPIC stores a side for each point; here the side follows from the point's position, since a point never crosses a
//! surface: one that would end behind it is set back. CPIC gives an incompatible node the velocity of the point that
//! met the wall; here each point has such a node for itself: the node gets the point's share of momentum, stress and
//! weight, meets the wall, and returns the rest. The body receives what the wall took, so momentum is conserved as at
//! other nodes.

use nalgebra::{Matrix3, Vector3};

use crate::block::{BLOCK_NODES, SIDE, TILE_NODES};
use crate::body::{Body, Reaction, slide};
use crate::drum::{Drum, DrumNormals, DrumSides};
use crate::model::Model;
use crate::shape::BodyShape;
use crate::state::Point;
use crate::stencil::Stencil;

/// The most shells among the bodies of a step: each has 16 of a side's 64 bits.
pub(crate) const SHELLS_MAX: usize = 4;
const BITS: usize = 16;
/// Distance that soil keeps from surfaces, cells.
pub(crate) const SKIN_CELLS: f64 = 1e-3;
/// Half of the side of a block's tile of 8 nodes, and the longest way of a point in a substep, cells.
pub(crate) const HALF_TILE_CELLS: f64 = 4.0;
/// A node of a point's stencil is up to 1.5 cells from the point along each axis: at most 1.5 √3 in all, cells.
pub(crate) const STENCIL_CELLS: f64 = 2.6;

/// On which sides of the surfaces of all shells a position is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    near: u64,
    side: u64,
}

/// Sides of the nodes of a block, and of its tile.
pub(crate) type BlockSides = [Sides; BLOCK_NODES];
pub(crate) type TileSides = [Sides; TILE_NODES];

impl Sides {
    /// Bits that differ; 0 if no surface lies between the two positions.
    pub(crate) fn between(self, other: Self) -> u64 {
        self.near & other.near & (self.side ^ other.side)
    }

    /// Whether no surface lies between a point on these sides and the nodes of its stencil, which begins at node `first`
    /// of a tile.
    #[inline]
    pub(crate) fn is_clear(self, tile: &TileSides, first: usize) -> bool {
        if self.near == 0 {
            return true;
        }
        let mut between = 0;
        Stencil::rows(first).for_each(|row| tile[row..row + 3].iter().for_each(|node| between |= self.between(*node)));
        between == 0
    }

    fn put(&mut self, shell: usize, sides: DrumSides) {
        self.near |= u64::from(sides.near) << (BITS * shell);
        self.side |= u64::from(sides.side) << (BITS * shell);
    }

    fn of(self, shell: usize) -> DrumSides {
        DrumSides { near: (self.near >> (BITS * shell)) as u16, side: (self.side >> (BITS * shell)) as u16 }
    }
}

/// A body that is a shell, at the start and at the end of a substep.
#[derive(Clone, Copy, Debug)]
struct Shell {
    drum: Drum,
    /// Index of the body in the step's list.
    index: usize,
    body: Body,
    later: Body,
}

/// The shells of a substep.
#[derive(Clone, Debug)]
pub(crate) struct Shells {
    shells: Vec<Shell>,
    cell_m: f64,
    /// The most that any place of a shell moves in the substep, m.
    body_way_m: f64,
}

/// Sides of the nodes of a block's tile and of the block's points, where a surface may lie between them.
#[derive(Clone, Debug)]
pub(crate) struct NearbySides {
    pub(crate) tile: Box<TileSides>,
    pub(crate) points: Vec<PointSides>,
}

/// The sides that a point is on, and a way that it can go before it may meet a surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointSides {
    pub(crate) sides: Sides,
    pub(crate) clearance_m: f64,
}

/// A point that gathers from nodes: from the grid's where no wall is between, elsewhere from its own.
pub(crate) struct GatheringPoint<'a> {
    pub(crate) point: &'a Point,
    pub(crate) sides: Sides,
    /// Velocity field of its own nodes before they meet a wall: the velocity at the point, m/s, and its gradient, 1/s.
    pub(crate) velocity_m_s: Vector3<f64>,
    pub(crate) gradient_s: Matrix3<f64>,
    /// For each shell near the point, the normals of its surfaces there, in the grid's frame.
    pub(crate) normals: [DrumNormals; SHELLS_MAX],
}

impl Shells {
    /// Shells among `bodies` for a substep from `from_s` to `to_s`, both counted from the step's start.
    pub(crate) fn new(model: &Model, bodies: &[Body], from_s: f64, to_s: f64) -> Self {
        let shell = |(index, body): (usize, &Body)| match body.shape {
            BodyShape::Drum(drum) => Some(Shell { drum, index, body: body.moved(from_s), later: body.moved(to_s) }),
            _ => None,
        };
        let shells: Vec<Shell> = bodies.iter().enumerate().filter_map(shell).collect();
        let fastest_m_s = shells.iter().map(|shell| shell.body.speed_max_m_s()).fold(0.0, f64::max);
        Self { shells, cell_m: model.grid().cell_m, body_way_m: fastest_m_s * (to_s - from_s) }
    }

    pub(crate) fn are_there(&self) -> bool {
        !self.shells.is_empty()
    }

    /// Whether a surface may lie between a point of a block and a node of its tile: whether the tile's box meets the
    /// cylinder of any drum, as far as the axis and the shortest way to it can tell.
    pub(crate) fn reach(&self, model: &Model, block: u32) -> bool {
        let half = SIDE / 2;
        let number = model.layout.node_from_origin(model.layout.block_at(block), [half; 3]);
        let middle_m = Vector3::from(number.map(|along| (f64::from(along) + 0.5) * self.cell_m));
        let half_m = HALF_TILE_CELLS * self.cell_m;
        self.shells.iter().any(|Shell { drum, body, .. }| {
            let axis = body.pose.rotation * Vector3::z();
            let from_drum = middle_m - body.pose.translation.vector;
            let along_m = from_drum.dot(&axis);
            let across = from_drum - axis * along_m;
            // A box reaches so far from its middle along a unit vector.
            let box_m = |unit: &Vector3<f64>| half_m * (unit.x.abs() + unit.y.abs() + unit.z.abs());
            let box_across_m = across.try_normalize(0.0).map_or(f64::INFINITY, |unit| box_m(&unit));
            along_m.abs() <= drum.half_length_m + box_m(&axis) && across.norm() <= drum.radius_m + box_across_m
        })
    }

    /// The sides that a block's nodes are on.
    pub(crate) fn block_sides(&self, model: &Model, block: u32) -> BlockSides {
        if !self.reach(model, block) {
            return [Sides::default(); BLOCK_NODES];
        }
        let block = model.layout.block_at(block);
        std::array::from_fn(|at| {
            let at = at as i32;
            let number = model.layout.node_from_origin(block, [at % SIDE, at / SIDE % SIDE, at / (SIDE * SIDE)]);
            self.sides(&Vector3::from(number.map(|along| f64::from(along) * self.cell_m)))
        })
    }

    /// Finds the sides of a block's points, beside those of its tile.
    pub(crate) fn beside(&self, tile: Box<TileSides>, points: &[Point]) -> NearbySides {
        NearbySides { tile, points: points.iter().map(|point| self.point_sides(&point.position_m)).collect() }
    }

    /// Sides of a position, m in the grid's frame. A position that is farther from a drum than the nodes of a stencil
    /// can be from a point in it is beside none of its surfaces.
    fn sides(&self, at: &Vector3<f64>) -> Sides {
        self.point_sides(at).sides
    }

    fn point_sides(&self, at: &Vector3<f64>) -> PointSides {
        let mut found = PointSides { sides: Sides::default(), clearance_m: f64::INFINITY };
        for (n, shell) in self.shells.iter().enumerate() {
            let at = in_frame(&shell.body, at);
            if shell.drum.is_near(&at, STENCIL_CELLS * self.cell_m) {
                let (sides, clearance_m) = shell.drum.sides_and_clearance(&at);
                found.sides.put(n, sides);
                found.clearance_m = found.clearance_m.min(clearance_m);
            }
        }
        found
    }

    /// For each shell near a point on the sides `own`, the normals of its surfaces there, in the grid's frame.
    pub(crate) fn normals(&self, at: &Vector3<f64>, own: Sides) -> [DrumNormals; SHELLS_MAX] {
        let mut normals = [DrumNormals::default(); SHELLS_MAX];
        for (n, (Shell { drum, body, .. }, normals)) in self.shells.iter().zip(&mut normals).enumerate() {
            if own.of(n).near != 0 {
                *normals = drum.normals(&in_frame(body, at)).turned(&body.pose.rotation);
            }
        }
        normals
    }

    /// Velocity, m/s, after meeting the walls, of a point's share `mass_kg` at a node behind them, on the sides
    /// `other`. Adds the impulse on the walls to `reactions`.
    pub(crate) fn meet(
        &self,
        gathering: &GatheringPoint,
        other: Sides,
        from_point_m: &Vector3<f64>,
        mass_kg: f64,
        reactions: &mut [Reaction],
    ) -> Vector3<f64> {
        let position_m = gathering.point.position_m;
        let mut velocity = gathering.velocity_m_s + gathering.gradient_s * from_point_m;
        for (n, Shell { index, body, .. }) in self.shells.iter().enumerate() {
            let (own, other) = (gathering.sides.of(n), other.of(n));
            if own.between(other) == 0 {
                continue;
            }
            let arm = position_m + from_point_m - body.pose.translation.vector;
            let wall = body.velocity_m_s + body.angular_velocity_rad_s.cross(&arm);
            let after = against(body, wall, gathering.normals[n].between(own, other), velocity);
            reactions[*index].add((velocity - after) * mass_kg, &arm);
            velocity = after;
        }
        velocity
    }

    /// Whether a point that moves by `way_m` in the substep stays off the shells' surfaces.
    #[inline]
    pub(crate) fn stays_off(&self, own: &PointSides, way_m: f64) -> bool {
        way_m + self.body_way_m + SKIN_CELLS * self.cell_m < own.clearance_m
    }

    /// Sets a point that moved from `before_m` back to its side of each surface. Adds the impulse on the body to
    /// `reactions`.
    pub(crate) fn hold(
        &self,
        point: &mut Point,
        (before_m, sides): (&Vector3<f64>, Sides),
        reactions: &mut [Reaction],
    ) {
        for (n, Shell { drum, index, body, later }) in self.shells.iter().enumerate() {
            let own = sides.of(n);
            if own.near == 0 {
                continue;
            }
            let (from, to) = (in_frame(body, before_m), in_frame(later, &point.position_m));
            // A point that wrapped around a period has not crossed a surface.
            let is_near = (to - from).norm() < self.cell_m;
            let Some(way) = (to - from).try_normalize(0.0).filter(|_| is_near) else { continue };
            let skin_m = SKIN_CELLS * self.cell_m;
            let other = drum.sides(&(to + way * skin_m));
            if own.between(other) == 0 {
                continue;
            }
            let place = drum.beside(&to, own, other, skin_m);
            let is_held = own.between(drum.sides(&place)) == 0;
            point.position_m = (later.pose * nalgebra::Point3::from(if is_held { place } else { from })).coords;
            let arm = point.position_m - later.pose.translation.vector;
            let wall = later.velocity_m_s + later.angular_velocity_rad_s.cross(&arm);
            let velocity = point.velocity_m_s.cast::<f64>();
            let normals = drum.normals(&from).turned(&later.pose.rotation);
            point.velocity_m_s = against(later, wall, normals.between(own, other), velocity).cast();
            let taken = velocity - point.velocity_m_s.cast::<f64>();
            reactions[*index].add(taken * point.mass_kg(), &arm);
        }
    }
}

/// Transforms a position from the grid's frame to a body's, m.
fn in_frame(body: &Body, at: &Vector3<f64>) -> Vector3<f64> {
    body.pose.rotation.inverse_transform_vector(&(at - body.pose.translation.vector))
}

/// Velocity after contact with surfaces of a body that moves at `wall` there.
fn against(
    body: &Body,
    wall: Vector3<f64>,
    normals: impl Iterator<Item = Vector3<f64>>,
    velocity: Vector3<f64>,
) -> Vector3<f64> {
    normals.fold(velocity, |velocity, normal| wall + slide(velocity - wall, &normal, body.friction))
}
