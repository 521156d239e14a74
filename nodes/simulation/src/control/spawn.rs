//! Services that add entities to the world, remove them, and list what can be added.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::vec::IntoIter;

use selene_base::{InputError, Pose, frames};
use selene_coherence::NodeError;
use selene_ros::service::Reply;
use selene_ros::simulation_interfaces::srv::{
    DeleteEntityRequest, DeleteEntityResponse, GetSpawnablesRequest, GetSpawnablesResponse, SpawnEntities,
    SpawnEntitiesRequest, SpawnEntitiesResponse, SpawnEntityRequest, SpawnEntityResponse,
};
use selene_ros::simulation_interfaces::{Resource, Result as ResultCode, SpawnEntity, SpawnResult, Spawnable};
use selene_sim::{AllowedFolders, LooseRockSpec, Spawn, SpawnError, SpawnPlace};
use selene_vehicle::RoverSpec;

use super::catalogue::{RoverFiles, objects, objects_in};
use super::entities::named;
use super::poses;
use super::resource::{self, EntitySource, find, to_uri};
use super::response::{Response, failed, no_entity, ok, result, result_of};
use crate::changes::{Change, ChangeError, Changes, Cost, Task};
use crate::node::Node;

/// Maximum number of entities in one request.
const BATCH_MAX: usize = 100;
/// Maximum length of the stem of a generated name, characters.
const STEM_MAX: usize = 40;

pub(super) fn spawn(
    node: &mut Node,
    stop: &AtomicBool,
    request: SpawnEntityRequest,
) -> Result<SpawnEntityResponse, NodeError> {
    let SpawnEntityRequest { name, allow_renaming, entity_resource, entity_namespace, initial_pose } = request;
    let requested = SpawnEntity { name, allow_renaming, entity_resource, entity_namespace, initial_pose };
    let SpawnResult { result, entity_name } = spawn_one(node, stop, &requested)?;
    Ok(SpawnEntityResponse { result, entity_name })
}

pub(super) fn delete(
    node: &mut Node,
    stop: &AtomicBool,
    request: DeleteEntityRequest,
) -> Result<DeleteEntityResponse, NodeError> {
    let Some(entity) = named(node, &request.entity) else { return Ok(Response::of(no_entity(&request.entity))) };
    let made = node.make(Change::Remove(entity), stop)?;
    Ok(Response::of(made.map_or_else(|error| result_of(&error), |_| ok())))
}

/// Spawns several entities, one each heartbeat, and answers when all were tried.
pub(super) fn spawn_all(changes: &Changes, request: SpawnEntitiesRequest, reply: Reply<SpawnEntities>) {
    let count = request.spawn_requests.len();
    let batch = Batch { waiting: request.spawn_requests.into_iter(), results: Vec::with_capacity(count), reply };
    if count > BATCH_MAX {
        return batch.answer(failed(format!("{count} entities; at most {BATCH_MAX} are allowed in one request")));
    }
    changes.put(Box::new(batch));
}

/// The entities of one request that are still to be spawned, and the results so far.
struct Batch {
    waiting: IntoIter<SpawnEntity>,
    results: Vec<SpawnResult>,
    reply: Reply<SpawnEntities>,
}

impl Batch {
    fn answer(self, result: ResultCode) {
        super::send(self.reply, &SpawnEntitiesResponse { result, results: self.results });
    }
}

impl Task for Batch {
    fn cost(&self) -> Cost {
        Cost::Heavy
    }

    fn carry_out(mut self: Box<Self>, node: &mut Node, stop: &AtomicBool) -> Result<Option<Box<dyn Task>>, NodeError> {
        if let Some(requested) = self.waiting.next() {
            self.results.push(spawn_one(node, stop, &requested)?);
            return Ok(Some(self));
        }
        let is_ok = |of: &SpawnResult| of.result.result == ResultCode::RESULT_OK;
        let result = if self.results.iter().all(is_ok) {
            ok()
        } else {
            result(SpawnEntitiesResponse::ENTITIES_SPAWN_FAILED, "not all were spawned; see results")
        };
        self.answer(result);
        Ok(None)
    }

    fn refuse(mut self: Box<Self>, why: ChangeError) {
        let refused = |_| SpawnResult { result: result_of(&why), entity_name: String::new() };
        let rest: Vec<_> = self.waiting.by_ref().map(refused).collect();
        self.results.extend(rest);
        self.answer(result_of(&why));
    }
}

fn spawn_one(node: &mut Node, stop: &AtomicBool, requested: &SpawnEntity) -> Result<SpawnResult, NodeError> {
    let refused = |result| Ok(SpawnResult { result, entity_name: String::new() });
    let (spawn, name, pose) = match prepared(node, requested) {
        Ok(prepared) => prepared,
        Err(code) => return refused(code),
    };
    match node.make(Change::Spawn(spawn), stop)? {
        Ok(entity) => {
            let stands = entity.and_then(|entity| node.world().pose(entity));
            let note = stands.map(|stands| poses::note(&pose, &stands)).unwrap_or_default();
            Ok(SpawnResult { result: result(ResultCode::RESULT_OK, note), entity_name: name })
        }
        Err(error) => refused(code_of(&error)),
    }
}

/// The entity to spawn, its name, and the requested pose on the map.
fn prepared(node: &Node, requested: &SpawnEntity) -> Result<(Spawn, String, Pose), ResultCode> {
    if node.is_shared() {
        return Err(result_of(&ChangeError::Shared));
    }
    let wanted = resource::read(&requested.entity_resource, node.folders())?;
    let name = name_for(node, requested, &wanted.name())?;
    let header = &requested.initial_pose.header;
    let pose = poses::on_map(node, &header.frame_id, &requested.initial_pose.pose)
        .map_err(|what| result(SpawnEntityResponse::INVALID_POSE, what))?;
    let namespace = namespace_for(&requested.entity_namespace, &name);
    Ok((wanted.into_spawn(name.clone(), namespace, &pose), name, pose))
}

impl EntitySource {
    fn into_spawn(self, name: String, namespace: String, pose: &Pose) -> Spawn {
        let (x_m, y_m, yaw_rad) = (pose.translation.x, pose.translation.y, frames::yaw_rad(pose));
        let place = SpawnPlace { x_m, y_m, z_m: 0.0, yaw_rad };
        match self {
            Self::Rover { file, sensors } => Spawn::Rover { name, namespace, file, sensors, place },
            Self::Object { file, z_m } => Spawn::Object { name, file, place: SpawnPlace { z_m, ..place } },
            Self::Text { urdf } => Spawn::Described { name, urdf, place },
            Self::Rock { diameter_m, density_kg_m3, shape } => {
                let yaw_deg = yaw_rad.to_degrees();
                let spec = LooseRockSpec { x_m, y_m, diameter_m, shape, density_kg_m3, yaw_deg };
                Spawn::Rock { name, spec }
            }
        }
    }
}

/// The requested name, or the resource's own; a new one if that is taken and the client allows it.
fn name_for(node: &Node, requested: &SpawnEntity, own: &str) -> Result<String, ResultCode> {
    let name = if requested.name.is_empty() { own } else { &requested.name };
    match node.world().check_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(_) if requested.allow_renaming => Ok(new_name(node, name)),
        Err(error) => Err(code_of(&ChangeError::Spawn(error))),
    }
}

/// A free name, derived from another one.
fn new_name(node: &Node, after: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut stem: String = after.chars().take(STEM_MAX).map(letter).collect();
    if !stem.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        stem.insert_str(0, "entity_");
    }
    let taken: BTreeSet<_> = node.world().entities().into_iter().map(|(name, _)| name).collect();
    let mut names = (1_u64..).map(|number| format!("{stem}_{number}"));
    // There are more numbers than entities, so that the default is never used.
    names.find(|name| !taken.contains(name)).unwrap_or(stem)
}

/// A rover's namespace: its name if the request gives none; empty for `/`.
fn namespace_for(requested: &str, name: &str) -> String {
    let inner = requested.strip_prefix('/').unwrap_or(requested);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if requested.is_empty() { name.to_owned() } else { inner.to_owned() }
}

/// The result code of `SpawnEntity` that says why an entity was not added.
fn code_of(error: &ChangeError) -> ResultCode {
    type Code = SpawnEntityResponse;
    let ChangeError::Spawn(refused) = error else { return result_of(error) };
    let code = match refused {
        SpawnError::Name(_) => Code::NAME_INVALID,
        SpawnError::NameTaken(_) => Code::NAME_NOT_UNIQUE,
        SpawnError::Namespace { .. } => Code::NAMESPACE_INVALID,
        SpawnError::Place { .. } => Code::INVALID_POSE,
        SpawnError::Input(InputError::Read { .. }) => ResultCode::RESULT_NOT_FOUND,
        SpawnError::Input(InputError::Content { .. }) | SpawnError::Vehicle(_) | SpawnError::Rock(_) => {
            Code::RESOURCE_PARSE_ERROR
        }
        SpawnError::Large(_) | SpawnError::Text(_) => Code::UNSUPPORTED_ASSETS,
        SpawnError::World(_)
        | SpawnError::Full { .. }
        | SpawnError::NoIdLeft(_)
        | SpawnError::Twist { .. }
        | SpawnError::StandsFast(_)
        | SpawnError::Unknown(_)
        | SpawnError::Changed(_) => ResultCode::RESULT_OPERATION_FAILED,
    };
    result(code, error.to_string())
}

pub(super) fn spawnables(node: &Node, request: &GetSpawnablesRequest) -> GetSpawnablesResponse {
    let folders = node.folders();
    let mut spawnables: Vec<_> = RoverFiles::of(folders).iter().map(of_rover).collect();
    spawnables.extend(objects(folders).iter().map(|file| of_object(file)));
    let rock = Resource { uri: "selene:rock?diameter_m=0.3".to_owned(), ..Resource::default() };
    let description = "a loose rock; keys: diameter_m, density_kg_m3, shape".to_owned();
    spawnables.push(Spawnable { entity_resource: rock, description, ..Spawnable::default() });
    let unknown: Vec<_> =
        request.sources.iter().filter(|source| !add_source(source, folders, &mut spawnables)).collect();
    let what = if unknown.is_empty() { String::new() } else { format!("no folder that may be used: {unknown:?}") };
    GetSpawnablesResponse { result: result(ResultCode::RESULT_OK, what), spawnables }
}

/// Adds the entities of a further folder; returns false if that folder is not allowed.
fn add_source(source: &str, folders: &AllowedFolders, spawnables: &mut Vec<Spawnable>) -> bool {
    let path = source.strip_prefix("file://").unwrap_or(source);
    let Some(folder) = find(path, folders).ok().filter(|folder| folder.is_dir()) else { return false };
    let (rovers, objects) = (RoverFiles::within(&folder), objects_in(&folder));
    let found = rovers.iter().map(of_rover).chain(objects.iter().map(|file| of_object(file)));
    let new: Vec<_> = found.filter(|new| !spawnables.contains(new)).collect();
    spawnables.extend(new);
    true
}

fn of_rover((file, spec): &(PathBuf, RoverSpec)) -> Spawnable {
    let wheels = spec.wheels.len();
    let description = format!("rover {}, {wheels} wheels; ?sensors=NAME,… names files of config/sensor", spec.name);
    Spawnable { description, ..at(file) }
}

fn of_object(file: &Path) -> Spawnable {
    Spawnable { description: "stands fast; ?z_m= lifts it".to_owned(), ..at(file) }
}

fn at(file: &Path) -> Spawnable {
    let entity_resource = Resource { uri: to_uri(file), ..Resource::default() };
    Spawnable { entity_resource, ..Spawnable::default() }
}

#[cfg(test)]
mod tests {
    use super::namespace_for;

    #[test]
    fn a_namespace_is_the_name_where_none_is_requested_and_none_for_the_root() {
        let cases = [("", "a"), ("/", ""), ("b", "b"), ("/b", "b"), ("/b/c/", "b/c"), ("//", "")];
        for (requested, expected) in cases {
            assert_eq!(namespace_for(requested, "a"), expected, "{requested}");
        }
    }
}
