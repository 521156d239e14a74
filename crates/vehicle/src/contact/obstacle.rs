//! Obstacles: immovable bodies of convex pieces placed on the map.

use selene_base::Pose;

use super::contact_body::ContactBody;
use super::solid::Solid;
use crate::shape::Collision;

/// An immovable body of convex pieces.
#[derive(Clone, Debug)]
pub struct Obstacle {
    /// Number of the obstacle.
    pub(crate) id: u32,
    pub(crate) pieces: Vec<PlacedSolid>,
}

/// A convex piece, where it is.
#[derive(Clone, Debug)]
pub(crate) struct PlacedSolid {
    pub(crate) solid: Solid,
    pub(crate) world_from_solid: Pose,
}

impl Obstacle {
    /// An obstacle of these pieces, each placed by `world_from_shape`; a mesh counts as its convex hull.
    #[must_use]
    pub fn new<'a>(id: u32, pieces: impl IntoIterator<Item = (Pose, &'a Collision)>) -> Self {
        let piece = |(world_from_link, collision): (Pose, &Collision)| {
            let (solid, turn) = Solid::of_shape(&collision.shape);
            PlacedSolid { solid, world_from_solid: world_from_link * collision.link_from_shape * turn }
        };
        Self { id, pieces: pieces.into_iter().map(piece).collect() }
    }

    /// Centre and radius of a ball around each piece, m.
    pub fn balls(&self) -> impl Iterator<Item = ([f64; 3], f64)> + '_ {
        self.pieces.iter().map(|piece| (piece.world_from_solid.translation.vector.into(), piece.solid.reach_m()))
    }
}

impl PlacedSolid {
    pub(crate) fn body(&self) -> ContactBody {
        ContactBody::fixed(self.world_from_solid)
    }
}
