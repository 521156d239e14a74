//! Bodies that are thin shells: soil on one side of a surface knows nothing of the other.
//!
//! As in CPIC (Hu et al. 2018), a point and a node with a surface between them are
//! incompatible: neither gives the other anything. Where CPIC asks a point for its side that
//! it keeps, here the side is where it is, since a point never crosses a surface: where its
//! way ends behind one it is set back. And where CPIC lets an incompatible node have the
//! velocity of the point that met the wall, here that node is the point's own: it gets the
//! point's share of momentum, stress and weight, meets the wall, and gives back what is left.
//! The body gets what the wall took, so that momentum is conserved as with other nodes.

use nalgebra::{Matrix3, Vector3};

use crate::block::{BLOCK_NODES, SIDE, TILE_NODES};
use crate::body::{Body, Reaction, slide};
use crate::drum::{Drum, DrumSides};
use crate::model::Model;
use crate::shape::Shape;
use crate::state::Point;

/// Shells that bodies of a step may be: a side has 16 bits of 64 for each.
pub(crate) const SHELLS_MAX: usize = 4;
const BITS: usize = 16;
/// Soil stays so far from surfaces, cells.
const SKIN_CELLS: f64 = 1e-3;
/// Nodes of a block's tile are within this of its middle, cells: half the diagonal of 8³ nodes.
const REACH_CELLS: f64 = 7.0;

/// On which sides of the surfaces of all shells a place is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    near: u64,
    side: u64,
}

/// Sides of the nodes of a block, and of its tile.
pub(crate) type BlockSides = [Sides; BLOCK_NODES];
pub(crate) type TileSides = [Sides; TILE_NODES];

impl Sides {
    /// Bits that differ: none where nothing is between the two.
    pub(crate) fn between(self, other: Self) -> u64 {
        self.near & other.near & (self.side ^ other.side)
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
    /// Its place among the bodies.
    index: usize,
    body: Body,
    later: Body,
}

/// The shells of a substep.
#[derive(Clone, Debug)]
pub(crate) struct Shells {
    shells: Vec<Shell>,
    cell_m: f64,
}

/// A point that looks at nodes: where no wall is between, it sees the grid's, elsewhere its own.
pub(crate) struct Onlooker<'a> {
    pub(crate) point: &'a Point,
    pub(crate) sides: Sides,
    /// Velocity that its own nodes have before they meet a wall: at the point, m/s, and its gradient, 1/s.
    pub(crate) velocity_m_s: Vector3<f64>,
    pub(crate) gradient_s: Matrix3<f64>,
}

impl Shells {
    /// Those of `bodies`, which are so `from_s` after the step began, until `to_s`.
    pub(crate) fn new(model: &Model, bodies: &[Body], from_s: f64, to_s: f64) -> Self {
        let shell = |(index, body): (usize, &Body)| match body.shape {
            Shape::Drum(drum) => Some(Shell { drum, index, body: body.moved(from_s), later: body.moved(to_s) }),
            _ => None,
        };
        Self { shells: bodies.iter().enumerate().filter_map(shell).collect(), cell_m: model.grid().cell_m }
    }

    pub(crate) fn are_there(&self) -> bool {
        !self.shells.is_empty()
    }

    /// Whether a point or node of the tile of a block may be beside one.
    pub(crate) fn reach(&self, model: &Model, block: u32) -> bool {
        let half = SIDE / 2;
        let number = model.layout.node_from_origin(model.layout.block_at(block), [half; 3]);
        let middle_m = Vector3::from(number.map(|along| f64::from(along) * self.cell_m));
        self.shells.iter().any(|shell| {
            let reach_m = shell.body.shape.bounding_radius_m() + REACH_CELLS * self.cell_m;
            (middle_m - shell.body.pose.translation.vector).norm_squared() < reach_m * reach_m
        })
    }

    /// Sides of a block's nodes.
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

    /// Sides of a place, m in the grid's frame.
    pub(crate) fn sides(&self, at: &Vector3<f64>) -> Sides {
        let mut sides = Sides::default();
        for (n, shell) in self.shells.iter().enumerate() {
            sides.put(n, shell.drum.sides(&in_frame(&shell.body, at)));
        }
        sides
    }

    /// Velocity that the share `mass_kg` of a point at a node beyond walls, on the sides `other`, has after it
    /// met them. What they took is added to `reactions`.
    pub(crate) fn meet(
        &self,
        onlooker: &Onlooker,
        other: Sides,
        from_point_m: &Vector3<f64>,
        mass_kg: f64,
        reactions: &mut [Reaction],
    ) -> Vector3<f64> {
        let position_m = onlooker.point.position_m;
        let mut velocity = onlooker.velocity_m_s + onlooker.gradient_s * from_point_m;
        for (n, Shell { drum, index, body, .. }) in self.shells.iter().enumerate() {
            let (own, other) = (onlooker.sides.of(n), other.of(n));
            if own.between(other) == 0 {
                continue;
            }
            let arm = position_m + from_point_m - body.pose.translation.vector;
            let wall = body.velocity_m_s + body.angular_velocity_rad_s.cross(&arm);
            let normals = drum.normals(&in_frame(body, &position_m), own, other);
            let after = against(body, wall, normals, velocity);
            reactions[*index].add((velocity - after) * mass_kg, &arm);
            velocity = after;
        }
        velocity
    }

    /// Sets a point that came from `before_m` back to the sides that it was on. What stopped it gets its momentum.
    pub(crate) fn hold(&self, point: &mut Point, before_m: &Vector3<f64>, reactions: &mut [Reaction]) {
        for Shell { drum, index, body, later } in &self.shells {
            let (from, to) = (in_frame(body, before_m), in_frame(later, &point.position_m));
            // A point that went around a period has not gone through anything.
            let is_near = (to - from).norm() < self.cell_m;
            let Some(way) = (to - from).try_normalize(0.0).filter(|_| is_near) else { continue };
            let skin_m = SKIN_CELLS * self.cell_m;
            let (own, other) = (drum.sides(&from), drum.sides(&(to + way * skin_m)));
            if own.between(other) == 0 {
                continue;
            }
            let place = drum.beside(&to, own, other, skin_m);
            let is_held = own.between(drum.sides(&place)) == 0;
            point.position_m = (later.pose * nalgebra::Point3::from(if is_held { place } else { from })).coords;
            let arm = point.position_m - later.pose.translation.vector;
            let wall = later.velocity_m_s + later.angular_velocity_rad_s.cross(&arm);
            let velocity = point.velocity_m_s.cast::<f64>();
            point.velocity_m_s = against(later, wall, drum.normals(&from, own, other), velocity).cast();
            let taken = velocity - point.velocity_m_s.cast::<f64>();
            reactions[*index].add(taken * point.mass_kg(), &arm);
        }
    }
}

/// A place of the grid's frame in that of a body, m.
fn in_frame(body: &Body, at: &Vector3<f64>) -> Vector3<f64> {
    body.pose.rotation.inverse_transform_vector(&(at - body.pose.translation.vector))
}

/// What is left of a velocity at surfaces of a body that moves with `wall` there; their normals are in its frame.
fn against(
    body: &Body,
    wall: Vector3<f64>,
    normals: impl Iterator<Item = Vector3<f64>>,
    velocity: Vector3<f64>,
) -> Vector3<f64> {
    normals
        .fold(velocity, |velocity, normal| wall + slide(velocity - wall, &(body.pose.rotation * normal), body.friction))
}
