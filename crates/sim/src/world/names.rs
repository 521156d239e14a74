//! Names of the entities in a world. Rovers and objects have the name that they were given; so has a rock
//! that was added with a name. Any other loose rock is named `rock_` and its id.

use std::collections::BTreeMap;

use crate::world::entity::{Entity, EntityId, Spawn};
use crate::world::model::Model;
use crate::world::spawn::SpawnError;
use crate::world::state::State;
use crate::world::world::World;

/// Maximum length of a name, bytes.
const NAME_MAX: usize = 60;
/// Maximum length of a namespace, bytes.
const NAMESPACE_MAX: usize = 120;

impl World {
    /// All entities with their names: rovers, objects, loose rocks, each in the order of
    /// their ids.
    #[must_use]
    pub fn entities(&self) -> Vec<(String, Entity)> {
        self.model().named(self.state())
    }

    /// Checks that a new entity can have this name.
    ///
    /// # Errors
    /// When it is not a valid name, or is taken.
    pub fn check_name(&self, name: &str) -> Result<(), SpawnError> {
        self.model().check_name(name, self.state())
    }

    /// The entity with this name, if there is one.
    #[must_use]
    pub fn entity_named(&self, name: &str) -> Option<Entity> {
        self.entities().into_iter().find(|(known, _)| known == name).map(|(_, entity)| entity)
    }
}

impl Model {
    fn named(&self, state: &State) -> Vec<(String, Entity)> {
        let rover = |id: &EntityId| Some((self.rovers().get(id)?.setup().name.clone(), Entity::Rover(*id)));
        let object = |id: &EntityId| Some((self.objects().get(id)?.name.clone(), Entity::Object(*id)));
        let given = given_names(state);
        let rock = |id: &u32| {
            let name = given.get(id).map_or_else(|| numbered(*id), |name| (*name).to_owned());
            (name, Entity::Rock(*id))
        };
        let things = state.rovers.keys().filter_map(rover).chain(state.objects.iter().filter_map(object));
        things.chain(state.rocks.keys().map(rock)).collect()
    }

    pub(crate) fn check_name(&self, name: &str, state: &State) -> Result<(), SpawnError> {
        if name.len() > NAME_MAX || !is_word(name) {
            return Err(SpawnError::Name(name.to_owned()));
        }
        let is_taken = self.named(state).iter().any(|(known, _)| known == name);
        if is_taken { Err(SpawnError::NameTaken(name.to_owned())) } else { Ok(()) }
    }

    pub(crate) fn check_namespace(&self, namespace: &str, state: &State) -> Result<(), SpawnError> {
        let refuse = |what| Err(SpawnError::Namespace { namespace: namespace.to_owned(), what });
        let is_name = namespace.is_empty() || namespace.split('/').all(is_word);
        if namespace.len() > NAMESPACE_MAX || !is_name {
            return refuse("is not allowed: must be letters, digits and _ in parts between slashes, 120 at most");
        }
        let mut others = state.rovers.keys().filter_map(|id| self.rovers().get(id));
        if others.any(|other| other.setup().namespace == namespace) {
            return refuse("is that of another rover; namespaces must differ");
        }
        Ok(())
    }
}

/// The name of a new entity.
pub(crate) fn name_of(entity: Entity, spawn: &Spawn) -> String {
    match (spawn, entity) {
        (Spawn::Rock { name, .. }, Entity::Rock(id)) if name.is_empty() => numbered(id),
        (
            Spawn::Rover { name, .. }
            | Spawn::Object { name, .. }
            | Spawn::Described { name, .. }
            | Spawn::Rock { name, .. },
            _,
        ) => name.clone(),
    }
}

/// Names that were given to rocks, by their ids.
fn given_names(state: &State) -> BTreeMap<u32, &str> {
    let spawned = state.spawned.iter();
    spawned
        .filter_map(|known| match (known.entity, &known.spawn) {
            (Entity::Rock(id), Spawn::Rock { name, .. }) if !name.is_empty() => Some((id, name.as_str())),
            _ => None,
        })
        .collect()
}

fn numbered(rock: u32) -> String {
    format!("rock_{rock}")
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
