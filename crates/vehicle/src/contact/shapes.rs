//! The shapes used for contacts: a rover's wheels as cylinders, its convex pieces and the points
//! that stand on hard ground; the hulls of rocks.

use nalgebra::{Translation3, UnitQuaternion};
use selene_base::Pose;
use selene_terrain::{GroundPatch, RockShape};

use super::floor::FloorPoints;
use super::solid::Solid;
use crate::model::RoverModel;
use crate::rover::Rover;

/// A rover's shapes.
#[derive(Clone, Debug)]
pub struct ContactShapes {
    /// The cylinder of each wheel; about its centre, with the axes of its link.
    pub(crate) wheels: Vec<ConvexPart>,
    pub(crate) parts: Vec<ConvexPart>,
    /// Link and points of each body that hard ground can carry.
    pub(crate) floors: Vec<(usize, FloorPoints)>,
}

/// A convex piece of a link.
#[derive(Clone, Debug)]
pub(crate) struct ConvexPart {
    pub(crate) link: usize,
    pub(crate) link_from_solid: Pose,
    pub(crate) solid: Solid,
}

/// The hulls of a ground's rocks, at unit size.
#[derive(Clone, Debug, Default)]
pub struct RockSolids(pub(crate) Vec<Solid>);

impl ContactShapes {
    /// The shapes of a rover. Wheels are cylinders; the collision shapes of the wheels' own links
    /// are not used.
    #[must_use]
    pub fn new(model: &RoverModel) -> Self {
        let is_wheel = |link: usize| model.wheels().iter().any(|wheel| wheel.link == link);
        let links = || model.links().iter().enumerate().filter(|(link, _)| !is_wheel(*link));
        let part = |link: usize, collision: &crate::Collision| {
            let (solid, turn) = Solid::of_shape(&collision.shape);
            let turn: UnitQuaternion<f64> = turn;
            ConvexPart { link, link_from_solid: collision.link_from_shape * turn, solid }
        };
        let wheel = |wheel: &crate::Wheel| ConvexPart {
            link: wheel.link,
            link_from_solid: Pose::from_parts(Translation3::identity(), wheel.link_from_wheel.rotation),
            solid: Solid::wheel(wheel.radius_m, wheel.width_m),
        };
        let touching = links().filter(|(_, link)| !link.collisions.is_empty());
        Self {
            wheels: model.wheels().iter().map(wheel).collect(),
            parts: links().flat_map(|(i, link)| link.collisions.iter().map(move |c| part(i, c))).collect(),
            floors: touching
                .map(|(i, link)| (i, FloorPoints::of(&link.collisions, model.ground_friction(i))))
                .collect(),
        }
    }

    /// Depth of the deepest of the bodies besides the wheels below the ground, m; zero when all are above it.
    #[must_use]
    pub fn depth_m(&self, rover: &Rover, ground: &GroundPatch) -> f64 {
        let depth_m = |(link, points): &(usize, FloorPoints)| points.depth_m(&rover.body_of_link(*link), ground);
        self.floors.iter().map(depth_m).fold(0.0, f64::max)
    }

    /// Number of bodies that hard ground can carry; each has a `FloorMemory`.
    #[must_use]
    pub fn floor_count(&self) -> usize {
        self.floors.len()
    }
}

impl RockSolids {
    /// The hulls of these shapes.
    #[must_use]
    pub fn new(shapes: &[RockShape]) -> Self {
        Self(shapes.iter().map(Solid::of_rock).collect())
    }
}
