//! Queries of an entity in a world: its pose, its motion and its bounding box.

use nalgebra::Vector3;
use selene_base::{Pose, Twist};
use selene_terrain::{GroundPatch, RockShape};
use selene_vehicle::{Bounds, Rover, RoverState};

use crate::world::entity::Entity;
use crate::world::model::{Model, RoverKind};
use crate::world::world::World;

impl World {
    /// Pose of an entity in the map frame: of a rover's `base_link`, an object's origin, a rock's middle.
    #[must_use]
    pub fn pose(&self, entity: Entity) -> Option<Pose> {
        let (model, state) = (self.model(), self.state());
        match entity {
            Entity::Rover(id) => Some(state.rovers.get(&id)?.body.world_from_base),
            Entity::Object(id) => Some(model.objects().get(state.objects.get(&id)?)?.world_from_object),
            Entity::Rock(id) => Some(state.rocks.get(&id)?.world_from_rock),
        }
    }

    /// Velocity of that frame, map axes.
    #[must_use]
    pub fn twist(&self, entity: Entity) -> Option<Twist> {
        let state = self.state();
        match entity {
            Entity::Rover(id) => Some(state.rovers.get(&id)?.body.base_twist),
            Entity::Object(id) => state.objects.get(&id).map(|_| Twist::default()),
            Entity::Rock(id) => Some(state.rocks.get(&id)?.twist),
        }
    }

    /// Bounding box of an entity along its own axes, of a rover with its current joints; `None` if nothing of it has a
    /// size.
    #[must_use]
    pub fn bounds(&self, entity: Entity) -> Option<Bounds> {
        let (model, state) = (self.model(), self.state());
        match entity {
            Entity::Rover(id) => model.rover_bounds(model.rovers().get(&id)?, &state.rovers.get(&id)?.body),
            Entity::Object(id) => model.objects().get(state.objects.get(&id)?)?.bounds,
            Entity::Rock(id) => {
                state.rocks.get(&id)?;
                let inertia = model.rocks().get(&id)?;
                rock_bounds(model.terrain().shapes().get(inertia.shape)?, inertia.radius_m)
            }
        }
    }

    /// Height of the driven ground, m; `None` off the ground.
    #[must_use]
    pub fn ground_height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
        self.model().check_place(x_m, y_m).ok()?;
        let (terrain, ruts) = (self.model().terrain(), &self.state().ruts);
        GroundPatch::of_square(terrain, ruts, [x_m, y_m], terrain.spacing_m()).height_m(x_m, y_m)
    }
}

impl Model {
    fn rover_bounds(&self, kind: &RoverKind, body: &RoverState) -> Option<Bounds> {
        let dt_s = self.conditions().dt_s;
        let mut rover = Rover::new(kind.model(), body.world_from_base, self.gravity_m_s2(), dt_s).ok()?;
        rover.set_state(body);
        let base_from_world = body.world_from_base.inverse();
        let links = rover.world_from_links().into_iter().zip(&kind.link_bounds);
        let bounds = links.filter_map(|(world_from_link, bounds)| {
            Some(bounds.as_ref()?.seen_from(&(base_from_world * world_from_link)))
        });
        bounds.reduce(Bounds::joined)
    }
}

fn rock_bounds(shape: &RockShape, radius_m: f64) -> Option<Bounds> {
    Bounds::of_points(shape.vertices.iter().map(|corner| Vector3::from(*corner).cast::<f64>() * radius_m))
}
