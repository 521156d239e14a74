//! Adds entities to a running world, and removes them from it, between two heartbeats.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::UnitQuaternion;
use selene_base::{InputError, SimTime};
use selene_terrain::Ruts;
use selene_vehicle::contact::{LooseRockState, RockInertia};
use selene_vehicle::{ObjectModel, RoverModel, VehicleError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::fingerprint;
use crate::scenario::{
    FIRST_LAID, LooseRockSetup, LooseRockSpec, ObjectSetup, RoverSetup, Start, lay_rock, load_sensors,
    refuse_sound_in_vacuum,
};
use crate::world::entity::{AllowedFolders, Entity, EntityId, Spawn, SpawnPlace, Spawned};
use crate::world::model::{Model, ObjectKind, RoverKind};
use crate::world::names::name_of;
use crate::world::state::State;
use crate::world::step::{BORDER_M, WorldError};
use crate::world::world::World;

/// Maximum number of rovers and objects of one world.
const ENTITIES_MAX: usize = 1000;
/// Maximum number of loose rocks of one world.
const ROCKS_MAX: usize = 10_000;
/// Maximum size of the URDF texts of all objects of a world together, bytes: every state and every node holds them.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// Maximum number of mesh files in one text, since each is read.
const TEXT_MESHES_MAX: usize = 64;
/// Maximum reach of an object from its origin, m: each heartbeat looks at all tiles within it.
const REACH_MAX_M: f64 = 50.0;
/// How long a removed entity is known: longer than any sensor looks back, which is some periods of 1000 s at most.
const REMOVED_KEPT: SimTime = SimTime::from_nanos(3_600_000_000_000);

/// Why an entity cannot be added, moved or removed.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A file is refused.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A rover or an object is refused.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// A file that is read again is not as it was.
    #[error("{0}: it, or a file that it names, differs from what the world was given; put back what was there then")]
    Changed(String),
    /// It is not possible at its place.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The name is not valid.
    #[error("name '{0}': is not allowed: must be 1 to 60 letters, digits and _, not beginning with a digit")]
    Name(String),
    /// The name is taken.
    #[error("name '{0}': is taken; names must differ")]
    NameTaken(String),
    /// The namespace is not valid, or that of another rover.
    #[error("namespace '{namespace}': {what}")]
    Namespace {
        /// The namespace.
        namespace: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The URDF texts are too long together.
    #[error("the texts of all objects may have {TEXT_BYTES_MAX} bytes together; this one has {0}: put it into a file")]
    Text(usize),
    /// The object is too large.
    #[error("reaches {0} m from its origin; at most {REACH_MAX_M} m are allowed")]
    Large(f64),
    /// The velocity is too high or not finite.
    #[error("{what} of {value} is not allowed: must be at most {most}")]
    Twist {
        /// Which velocity: linear or angular.
        what: &'static str,
        /// Its magnitude, m/s or rad/s.
        value: f64,
        /// Highest magnitude that is allowed, m/s or rad/s.
        most: f64,
    },
    /// A fixed object cannot be moved.
    #[error("object {0} stands fast; take it away and add it elsewhere")]
    StandsFast(String),
    /// The place is not possible.
    #[error("({x_m}, {y_m}) m: {what}")]
    Place {
        /// Map x, m.
        x_m: f64,
        /// Map y, m.
        y_m: f64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The rock is not valid.
    #[error("rock: {0}")]
    Rock(String),
    /// There are too many entities at once.
    #[error("there are {count} already; {most} at a time are allowed")]
    Full {
        /// Number of entities.
        count: usize,
        /// Number that is allowed.
        most: usize,
    },
    /// There were too many entities one after the other.
    #[error("all {0} ids of a run are given, and none is given twice; a reset of the spawned entities frees theirs")]
    NoIdLeft(u32),
    /// There is no such entity.
    #[error("there is no {0}: it was removed, or never there")]
    Unknown(String),
}

/// Entities that were added to a world and cannot be read again as they were, each with the reason.
#[derive(Debug, Default)]
pub struct Unread(Vec<(Entity, SpawnError)>);

impl Unread {
    /// Refuses a world that has one of them: `has` says which entities it has.
    ///
    /// # Errors
    /// When it has one.
    pub fn refuse(&mut self, has: impl Fn(Entity) -> bool) -> Result<(), SpawnError> {
        match self.0.iter().position(|(entity, _)| has(*entity)) {
            Some(at) => Err(self.0.swap_remove(at).1),
            None => Ok(()),
        }
    }
}

/// An entity as its files have it.
struct ReadEntity {
    kind: EntityKind,
    /// Name and fingerprint of each file that was read, with the files that it names.
    files: Vec<(String, String)>,
}

/// The model of an entity.
enum EntityKind {
    Rover(EntityId, Arc<RoverKind>),
    Object(EntityId, Arc<ObjectKind>),
    Rock(u32, Arc<RockInertia>),
}

impl World {
    /// Adds an entity; its files must be in allowed folders.
    ///
    /// # Errors
    /// When the entity is refused; the error says what is wrong and what is allowed, and the world is unchanged.
    pub fn spawn(&mut self, spawn: &Spawn, folders: &AllowedFolders) -> Result<Entity, SpawnError> {
        let (model, state, scratch) = self.parts_mut();
        let (mut new_model, mut new_state) = (Model::clone(model), state.clone());
        let entity = match spawn {
            Spawn::Rock { .. } => Entity::Rock(state.next_rock),
            Spawn::Rover { .. } => Entity::Rover(state.next_entity),
            Spawn::Object { .. } | Spawn::Described { .. } => Entity::Object(state.next_entity),
        };
        new_state.forget_removed();
        let fingerprints = new_model.add(entity, spawn, &new_state, folders)?;
        new_model.put(entity, spawn, &mut new_state)?;
        match entity {
            Entity::Rock(id) => new_state.next_rock = id + 1,
            Entity::Rover(id) | Entity::Object(id) => new_state.next_entity = EntityId(id.0 + 1),
        }
        // The scratch may be that of an entity which was refused with this id.
        scratch.forget(entity);
        new_model.refuse_overlaps(&mut new_state, scratch, |party| entity.has(party))?;
        new_state.entities_version += 1;
        new_state.spawned.push(Spawned { entity, spawn: spawn.clone(), fingerprints });
        (*model, *state) = (Arc::new(new_model), new_state);
        Ok(entity)
    }

    /// Removes an entity; the changes that it made to the ground stay.
    ///
    /// # Errors
    /// When there is no such entity.
    pub fn remove(&mut self, entity: Entity) -> Result<(), SpawnError> {
        let (_, state, _) = self.parts_mut();
        if !take_away(state, entity) {
            return Err(SpawnError::Unknown(format!("{entity:?}")));
        }
        if state.spawned.iter().any(|known| known.entity == entity) {
            state.removed.push((entity, state.time));
        }
        Ok(())
    }
}

impl Model {
    /// The model with the entities that were added to a world, read again from their files, and those of them whose
    /// files are missing, refused or changed. Whoever needs one of these must refuse the world ([`Unread::refuse`]).
    #[must_use]
    pub fn with_spawned(&self, spawned: &[Spawned], folders: &AllowedFolders) -> (Self, Unread) {
        let (mut model, mut unread) = (self.clone(), Unread::default());
        for known in spawned {
            match model.read_again(known, folders) {
                Ok(kind) => model.insert(kind),
                Err(error) => unread.0.push((known.entity, error)),
            }
        }
        (model, unread)
    }

    /// Reads an entity that was added to a world; its files must hold what they held then.
    fn read_again(&self, spawned: &Spawned, folders: &AllowedFolders) -> Result<EntityKind, SpawnError> {
        let ReadEntity { kind, files } = self.read(spawned.entity, &spawned.spawn, folders)?;
        let mut known = spawned.fingerprints.iter();
        match files.into_iter().find(|(_, fingerprint)| known.next() != Some(fingerprint)) {
            Some((file, _)) => Err(SpawnError::Changed(file)),
            None => Ok(kind),
        }
    }

    fn insert(&mut self, kind: EntityKind) {
        match kind {
            EntityKind::Rover(id, kind) => self.add_rover(id, kind),
            EntityKind::Object(id, kind) => self.add_object(id, kind),
            EntityKind::Rock(id, inertia) => self.add_rock(id, inertia),
        }
    }

    /// Adds a new entity if its name is free and there is room; returns the fingerprints of its files.
    fn add(
        &mut self,
        entity: Entity,
        spawn: &Spawn,
        state: &State,
        folders: &AllowedFolders,
    ) -> Result<Vec<String>, SpawnError> {
        self.check_name(&name_of(entity, spawn), state)?;
        match spawn {
            Spawn::Rover { namespace, place, .. } => {
                self.check_namespace(namespace, state)?;
                self.check_room(place, state)?;
            }
            Spawn::Object { place, .. } => self.check_room(place, state)?,
            Spawn::Described { urdf, place, .. } => {
                self.check_room(place, state)?;
                check_text(urdf, state)?;
            }
            Spawn::Rock { spec, .. } => {
                if state.rocks.len() >= ROCKS_MAX {
                    return Err(SpawnError::Full { count: state.rocks.len(), most: ROCKS_MAX });
                }
                if state.next_rock > Entity::LAST_ROCK {
                    return Err(SpawnError::NoIdLeft(Entity::LAST_ROCK - FIRST_LAID + 1));
                }
                self.check_place(spec.x_m, spec.y_m)?;
            }
        }
        let ReadEntity { kind, files } = self.read(entity, spawn, folders)?;
        self.insert(kind);
        Ok(files.into_iter().map(|(_, fingerprint)| fingerprint).collect())
    }

    /// Refuses one more rover or object if there are too many, or its place is not possible.
    fn check_room(&self, place: &SpawnPlace, state: &State) -> Result<(), SpawnError> {
        let count = state.rovers.len() + state.objects.len();
        if count >= ENTITIES_MAX {
            return Err(SpawnError::Full { count, most: ENTITIES_MAX });
        }
        if state.next_entity > EntityId::LAST {
            return Err(SpawnError::NoIdLeft(EntityId::LAST.0));
        }
        let SpawnPlace { x_m, y_m, z_m, yaw_rad } = *place;
        self.check_place(x_m, y_m)?;
        if [z_m, yaw_rad].iter().any(|number| !number.is_finite() || number.abs() > 1000.0) {
            return Err(SpawnError::Place { x_m, y_m, what: "height and heading must be finite" });
        }
        Ok(())
    }

    /// Reads the files of an entity.
    fn read(&self, entity: Entity, spawn: &Spawn, folders: &AllowedFolders) -> Result<ReadEntity, SpawnError> {
        match (spawn, entity) {
            (Spawn::Rover { name, namespace, file, sensors, place }, Entity::Rover(id)) => {
                let files = std::iter::once(file).chain(sensors);
                let files = files.map(|file| folders.find(file)).collect::<Result<Vec<_>, _>>()?;
                let setup = self.rover_setup([name, namespace], &files[0], &files[1..], place)?;
                let names = files.iter().map(|file| file.display().to_string());
                let files = names.zip(fingerprint::of_rover_files(&setup)).collect();
                Ok(ReadEntity { kind: EntityKind::Rover(id, Arc::new(RoverKind::new(setup))), files })
            }
            (Spawn::Object { name, file, place }, Entity::Object(id)) => {
                let file = folders.find(file)?;
                self.standing_object(id, name, (ObjectModel::load(&file)?, file.display().to_string()), place)
            }
            (Spawn::Described { name, urdf, place }, Entity::Object(id)) => {
                self.standing_object(id, name, of_text(name, urdf, folders)?, place)
            }
            (Spawn::Rock { spec, .. }, Entity::Rock(id)) => {
                garde::Validate::validate(spec).map_err(|report| SpawnError::Rock(report.to_string()))?;
                let (radius_m, density_kg_m3) = (0.5 * spec.diameter_m, spec.density_kg_m3);
                let inertia =
                    RockInertia::new(self.terrain().shapes(), self.shape_of(spec, id)?, radius_m, density_kg_m3);
                let inertia = inertia.ok_or_else(|| SpawnError::Rock("its shape has no volume".to_owned()))?;
                Ok(ReadEntity { kind: EntityKind::Rock(id, Arc::new(inertia)), files: Vec::new() })
            }
            _ => Err(SpawnError::Unknown(format!("{entity:?}"))),
        }
    }

    /// An object, read from this file, at its place on the undisturbed ground, so that a world that is read again has
    /// it at the same height.
    fn standing_object(
        &self,
        id: EntityId,
        name: &str,
        (model, file): (ObjectModel, String),
        place: &SpawnPlace,
    ) -> Result<ReadEntity, SpawnError> {
        if model.reach_m() > REACH_MAX_M {
            return Err(SpawnError::Large(model.reach_m()));
        }
        let files = vec![(file, fingerprint::of_object_file(&model))];
        let SpawnPlace { x_m, y_m, z_m, yaw_rad } = *place;
        let setup = ObjectSetup {
            name: name.to_owned(),
            model: Arc::new(model),
            x_m,
            y_m,
            z_m,
            world_from_object: UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad),
            material: None,
        };
        let kind = ObjectKind::new(id, &setup, self.terrain(), &Default::default());
        Ok(ReadEntity { kind: EntityKind::Object(id, Arc::new(kind)), files })
    }

    /// Puts a new entity at its place in the state.
    pub(crate) fn put(&self, entity: Entity, spawn: &Spawn, state: &mut State) -> Result<(), SpawnError> {
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
                if let Spawn::Rock { spec, .. } = spawn {
                    let pose = self.laid(spec, id, &state.ruts)?.world_from_rock;
                    state.rocks.insert(id, LooseRockState::at_rest(pose));
                }
            }
        }
        Ok(())
    }

    fn rover_setup(
        &self,
        [name, namespace]: [&str; 2],
        file: &Path,
        sensors: &[PathBuf],
        place: &SpawnPlace,
    ) -> Result<RoverSetup, SpawnError> {
        let mut model = RoverModel::load(file)?;
        let sensors = load_sensors(sensors, Path::new(""), &mut model)?;
        refuse_sound_in_vacuum(&sensors, self.scenario().gravity_m_s2)
            .map_err(|what| InputError::at(file, "sensors", what))?;
        let SpawnPlace { x_m, y_m, z_m, yaw_rad } = *place;
        Ok(RoverSetup {
            name: name.to_owned(),
            model: Arc::new(model),
            namespace: namespace.to_owned(),
            frame_prefix: format!("{name}/"),
            start: Start { x_m, y_m, z_m, yaw_rad },
            sensors,
            route: None,
            motions: Vec::new(),
            soils: None,
            sensor_seed: xxh3_64_with_seed(name.as_bytes(), self.scenario().seed),
            file: file.to_owned(),
        })
    }

    /// Index of the shape of a rock: the one that it names, or one chosen by its id.
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

    pub(crate) fn check_place(&self, x_m: f64, y_m: f64) -> Result<(), SpawnError> {
        let terrain = self.terrain();
        // The windows of detail, if there are any, must be possible there too.
        let is_numbered = || terrain.plan().is_none_or(|plan| plan.has(plan.centre_of(x_m, y_m)));
        let reaches = x_m.is_finite() && y_m.is_finite() && terrain.reaches(x_m, y_m, BORDER_M) && is_numbered();
        if reaches { Ok(()) } else { Err(SpawnError::Place { x_m, y_m, what: "is off the ground that there is" }) }
    }
}

impl State {
    /// Drops added entities that were removed so long ago that no snapshot which a sensor needs has them.
    fn forget_removed(&mut self) {
        let oldest = self.time - REMOVED_KEPT;
        let is_long_ago = |(_, time): &(Entity, SimTime)| *time <= oldest;
        let forgotten: BTreeSet<_> =
            self.removed.iter().filter(|of| is_long_ago(of)).map(|(entity, _)| *entity).collect();
        self.removed.retain(|of| !is_long_ago(of));
        self.spawned.retain(|known| !forgotten.contains(&known.entity));
    }
}

/// Removes an entity from a state; returns whether it was there.
pub(crate) fn take_away(state: &mut State, entity: Entity) -> bool {
    let was_there = match entity {
        Entity::Rover(id) => state.rovers.remove(&id).is_some(),
        Entity::Object(id) => state.objects.remove(&id),
        Entity::Rock(id) => state.rocks.remove(&id).is_some(),
    };
    if was_there {
        state.contacts.forget(|party| entity.has(party));
        // Rocks that leant on it or lay on it are no longer held: wake all rocks.
        state.rocks.values_mut().for_each(|rock| rock.still_s = 0.0);
        state.entities_version += 1;
    }
    was_there
}

/// Refuses a URDF text if the texts of all objects would be too long.
fn check_text(urdf: &str, state: &State) -> Result<(), SpawnError> {
    let text_bytes = |known: &Spawned| match &known.spawn {
        Spawn::Described { urdf, .. } => urdf.len(),
        Spawn::Rover { .. } | Spawn::Object { .. } | Spawn::Rock { .. } => 0,
    };
    let known: usize = state.spawned.iter().map(text_bytes).sum();
    if known + urdf.len() > TEXT_BYTES_MAX { Err(SpawnError::Text(urdf.len())) } else { Ok(()) }
}

/// The object that a URDF text describes, whose meshes must be in allowed folders; and the names of these files, or its
/// own name if there are none.
fn of_text(name: &str, urdf: &str, folders: &AllowedFolders) -> Result<(ObjectModel, String), SpawnError> {
    let meshes = RefCell::new(Vec::new());
    let find_mesh = |mesh: &str| {
        if meshes.borrow().len() == TEXT_MESHES_MAX {
            return Err(format!("is one too many: {TEXT_MESHES_MAX} are allowed in a text"));
        }
        let found = folders.resolve(mesh.strip_prefix("file://").unwrap_or(mesh)).map_err(|error| error.to_string());
        found.inspect(|file| meshes.borrow_mut().push(file.display().to_string()))
    };
    let model = ObjectModel::parse(urdf, Path::new(name), &find_mesh)?;
    // A mesh that is seen and touched is named twice.
    let meshes: BTreeSet<_> = meshes.take().into_iter().collect();
    let files = meshes.into_iter().collect::<Vec<String>>().join(", ");
    Ok((model, if files.is_empty() { name.to_owned() } else { files }))
}
