//! Adding to a world that runs, and taking away from it, between two heartbeats.

use std::path::Path;
use std::sync::Arc;

use selene_base::InputError;
use selene_terrain::Ruts;
use selene_vehicle::contact::{LooseRockState, RockInertia};
use selene_vehicle::{ObjectModel, RoverModel, VehicleError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::scenario::{LooseRockSetup, LooseRockSpec, ObjectSetup, RoverSetup, Start, lay_rock, load_sensors};
use crate::world::entity::{AllowedFolders, Entity, EntityId, Spawn, SpawnPlace};
use crate::world::model::{Model, ObjectKind, RoverKind};
use crate::world::state::State;
use crate::world::step::{BORDER_M, WorldError};
use crate::world::world::World;

/// Rovers and objects of one world at most.
const ENTITIES_MAX: usize = 1000;
/// Numbers that rovers and objects of one run have at most: images tell them apart by 16 bits.
const NUMBERS_MAX: u32 = 0xFFFF;
/// Loose rocks of one world at most.
const ROCKS_MAX: usize = 10_000;

/// Why something cannot be added or taken away.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A file is refused.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A rover or an object is refused.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// It cannot be where it is wanted.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The name is taken, or not a name.
    #[error("name '{name}': {what}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The place is none.
    #[error("({x_m}, {y_m}) m: {what}")]
    Place {
        /// Map x, m.
        x_m: f64,
        /// Map y, m.
        y_m: f64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A rock that is none.
    #[error("rock: {0}")]
    Rock(String),
    /// There are too many.
    #[error("there are {0} already, or numbers have run out: 1000 at a time and 65535 in a run are allowed")]
    Full(usize),
    /// There is no such thing.
    #[error("there is no {0}: it was removed, or never there")]
    Unknown(String),
}

impl World {
    /// Adds something; files are taken from allowed folders alone.
    ///
    /// # Errors
    /// With what is wrong and what is allowed; the world is then as it was.
    pub fn spawn(&mut self, spawn: &Spawn, folders: &AllowedFolders) -> Result<Entity, SpawnError> {
        let (model, state, scratch) = self.parts_mut();
        let (mut new_model, mut new_state) = (Model::clone(model), state.clone());
        let entity = match spawn {
            Spawn::Rock(_) => Entity::Rock(state.next_rock),
            Spawn::Rover { .. } => Entity::Rover(state.next_entity),
            Spawn::Object { .. } => Entity::Object(state.next_entity),
        };
        new_model.add(entity, spawn, &new_state, folders)?;
        new_model.put(entity, spawn, &mut new_state)?;
        match entity {
            Entity::Rock(id) => new_state.next_rock = id + 1,
            Entity::Rover(id) | Entity::Object(id) => new_state.next_entity = EntityId(id.0 + 1),
        }
        new_model.refuse_overlaps(&mut new_state, scratch, |party| entity.has(party))?;
        new_state.entities_version += 1;
        new_state.spawned.push((entity, spawn.clone()));
        (*model, *state) = (Arc::new(new_model), new_state);
        Ok(entity)
    }

    /// Takes something away; what it did to the ground stays.
    ///
    /// # Errors
    /// When there is no such thing.
    pub fn remove(&mut self, entity: Entity) -> Result<(), SpawnError> {
        let (_, state, _) = self.parts_mut();
        let was_there = match entity {
            Entity::Rover(id) => state.rovers.remove(&id).is_some(),
            Entity::Object(id) => state.objects.remove(&id),
            Entity::Rock(id) => state.rocks.remove(&id).is_some(),
        };
        if !was_there {
            return Err(SpawnError::Unknown(format!("{entity:?}")));
        }
        state.contacts.forget(|party| entity.has(party));
        // What leant on it or lay on it is no longer held.
        state.rocks.values_mut().for_each(|rock| rock.still_s = 0.0);
        state.entities_version += 1;
        Ok(())
    }
}

impl Model {
    /// The same with what was added to a world, read again from its files.
    ///
    /// # Errors
    /// When a file is missing or refused.
    pub fn with_spawned(&self, spawned: &[(Entity, Spawn)], folders: &AllowedFolders) -> Result<Self, SpawnError> {
        let mut model = self.clone();
        for (entity, spawn) in spawned {
            model.describe(*entity, spawn, folders)?;
        }
        Ok(model)
    }

    /// Adds what is new, if its name is free and there is room.
    fn add(
        &mut self,
        entity: Entity,
        spawn: &Spawn,
        state: &State,
        folders: &AllowedFolders,
    ) -> Result<(), SpawnError> {
        match spawn {
            Spawn::Rover { name, place, .. } | Spawn::Object { name, place, .. } => {
                self.check_name(name, state)?;
                let count = state.rovers.len() + state.objects.len();
                if count >= ENTITIES_MAX || state.next_entity.0 > NUMBERS_MAX {
                    return Err(SpawnError::Full(count));
                }
                self.check_place(place.x_m, place.y_m)?;
                let numbers = [place.z_m, place.yaw_rad];
                if numbers.iter().any(|number| !number.is_finite() || number.abs() > 1000.0) {
                    return Err(SpawnError::Place {
                        x_m: place.x_m,
                        y_m: place.y_m,
                        what: "height and heading must be finite",
                    });
                }
            }
            Spawn::Rock(rock) => {
                if state.rocks.len() >= ROCKS_MAX {
                    return Err(SpawnError::Full(state.rocks.len()));
                }
                self.check_place(rock.x_m, rock.y_m)?;
            }
        }
        self.describe(entity, spawn, folders)
    }

    fn describe(&mut self, entity: Entity, spawn: &Spawn, folders: &AllowedFolders) -> Result<(), SpawnError> {
        match (spawn, entity) {
            (Spawn::Rover { name, file, sensors, place }, Entity::Rover(id)) => {
                let sensors = sensors.iter().map(|file| folders.find(file)).collect::<Result<Vec<_>, _>>()?;
                let setup = self.rover_setup(name, &folders.find(file)?, &sensors, place)?;
                self.add_rover(id, Arc::new(RoverKind::new(setup)));
            }
            (Spawn::Object { name, file, place }, Entity::Object(id)) => {
                let SpawnPlace { x_m, y_m, z_m, yaw_rad } = *place;
                let model = Arc::new(ObjectModel::load(&folders.find(file)?)?);
                let setup = ObjectSetup { name: name.clone(), model, x_m, y_m, z_m, yaw_rad };
                // Where it stood when it was added: on the ground as nobody had driven it.
                self.add_object(id, Arc::new(ObjectKind::new(id, &setup, self.terrain(), &Default::default())));
            }
            (Spawn::Rock(spec), Entity::Rock(id)) => {
                garde::Validate::validate(spec).map_err(|report| SpawnError::Rock(report.to_string()))?;
                let (radius_m, density_kg_m3) = (0.5 * spec.diameter_m, spec.density_kg_m3);
                let inertia =
                    RockInertia::new(self.terrain().shapes(), self.shape_of(spec, id)?, radius_m, density_kg_m3);
                let inertia = inertia.ok_or_else(|| SpawnError::Rock("its shape has no volume".to_owned()))?;
                self.add_rock(id, Arc::new(inertia));
            }
            _ => return Err(SpawnError::Unknown(format!("{entity:?}"))),
        }
        Ok(())
    }

    /// Puts what is new where it is wanted.
    fn put(&self, entity: Entity, spawn: &Spawn, state: &mut State) -> Result<(), SpawnError> {
        match entity {
            Entity::Rover(id) => {
                if let Some(kind) = self.rovers().get(&id) {
                    let rover = kind.start(self, &state.ruts)?;
                    state.rovers.insert(id, rover);
                }
            }
            Entity::Object(id) => {
                state.objects.insert(id);
            }
            Entity::Rock(id) => {
                if let Spawn::Rock(spec) = spawn {
                    let pose = self.laid(spec, id, &state.ruts)?.world_from_rock;
                    state.rocks.insert(id, LooseRockState::at_rest(pose));
                }
            }
        }
        Ok(())
    }

    fn rover_setup(
        &self,
        name: &str,
        file: &Path,
        sensors: &[std::path::PathBuf],
        place: &SpawnPlace,
    ) -> Result<RoverSetup, SpawnError> {
        let mut model = RoverModel::load(file)?;
        let sensors = load_sensors(sensors, Path::new(""), &mut model)?;
        let SpawnPlace { x_m, y_m, z_m, yaw_rad } = *place;
        Ok(RoverSetup {
            name: name.to_owned(),
            model: Arc::new(model),
            namespace: name.to_owned(),
            frame_prefix: format!("{name}/"),
            start: Start { x_m, y_m, z_m, yaw_rad },
            sensors,
            route: None,
            soils: None,
            sensor_seed: xxh3_64_with_seed(name.as_bytes(), self.scenario().seed),
            file: file.to_owned(),
        })
    }

    /// The shape that a rock asks for, or one by its number.
    fn shape_of(&self, spec: &LooseRockSpec, id: u32) -> Result<usize, SpawnError> {
        let shapes = self.terrain().shapes().len();
        let shape = spec.shape.unwrap_or(id as usize % shapes.max(1));
        if shape < shapes {
            return Ok(shape);
        }
        Err(SpawnError::Rock(format!("shape {shape} is not allowed: must be 0 to {}", shapes.saturating_sub(1))))
    }

    fn laid(&self, spec: &LooseRockSpec, id: u32, ruts: &Ruts) -> Result<LooseRockSetup, SpawnError> {
        let rock = lay_rock(spec, self.shape_of(spec, id)?, id, self.terrain(), ruts);
        rock.ok_or(SpawnError::Place { x_m: spec.x_m, y_m: spec.y_m, what: "is off the ground that there is" })
    }

    fn check_name(&self, name: &str, state: &State) -> Result<(), SpawnError> {
        let refuse = |what| Err(SpawnError::Name { name: name.to_owned(), what });
        let is_word = !name.is_empty()
            && name.len() <= 60
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word {
            return refuse("is not allowed: must be 1 to 60 letters, digits and _, not beginning with a digit");
        }
        let rovers = self.rovers().iter().filter(|(id, _)| state.rovers.contains_key(id));
        let rovers = rovers.map(|(_, kind)| kind.setup().name.as_str());
        let objects = self.objects().iter().filter(|(id, _)| state.objects.contains(id));
        if rovers.chain(objects.map(|(_, kind)| kind.name.as_str())).any(|known| known == name) {
            return refuse("is taken; names must differ");
        }
        Ok(())
    }

    fn check_place(&self, x_m: f64, y_m: f64) -> Result<(), SpawnError> {
        let reaches = x_m.is_finite() && y_m.is_finite() && self.terrain().reaches(x_m, y_m, BORDER_M);
        if reaches { Ok(()) } else { Err(SpawnError::Place { x_m, y_m, what: "is off the ground that there is" }) }
    }
}
