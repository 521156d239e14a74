//! Services that list, describe, locate and move entities.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use nalgebra::Vector3;
use selene_base::frames;
use selene_coherence::{NodeError, to_pose, to_vector};
use selene_ros::simulation_interfaces::srv::{
    GetEntitiesRequest, GetEntitiesResponse, GetEntitiesStatesRequest, GetEntitiesStatesResponse,
    GetEntityBoundsRequest, GetEntityBoundsResponse, GetEntityInfoRequest, GetEntityInfoResponse,
    GetEntityStateRequest, GetEntityStateResponse, SetEntityInfoRequest, SetEntityInfoResponse, SetEntityStateRequest,
    SetEntityStateResponse,
};
use selene_ros::simulation_interfaces::{Bounds, EntityCategory, EntityInfo, EntityState, Result as ResultCode};
use selene_ros::{geometry_msgs, std_msgs};
use selene_sim::{Entity, Placement, SpawnError};

use super::filter::Filter;
use super::poses;
use super::response::{Response, failed, no_entity, ok, result, result_of, unsupported};
use crate::changes::{Change, ChangeError};
use crate::node::Node;

/// Maximum length of a description or a tag, bytes.
const TEXT_MAX: usize = 1000;
/// Maximum number of tags of one entity.
const TAGS_MAX: usize = 64;

/// Descriptions and tags that clients have set for entities, in place of the default ones. They are not part of the
/// world: they are lost with the entity, at a reset and at the end of the run.
#[derive(Debug, Default)]
pub(crate) struct Infos(BTreeMap<Entity, EntityInfo>);

impl Infos {
    pub(crate) fn forget(&mut self, entity: Entity) {
        self.0.remove(&entity);
    }

    pub(crate) fn forget_all(&mut self) {
        self.0.clear();
    }
}

pub(super) fn names(node: &Node, request: &GetEntitiesRequest) -> GetEntitiesResponse {
    match Filter::new(&request.filters) {
        Ok(filter) => {
            let entities = filter.matching(node).into_iter().map(|(name, _)| name).collect();
            GetEntitiesResponse { result: ok(), entities }
        }
        Err(refused) => Response::of(refused),
    }
}

pub(super) fn states(node: &Node, request: &GetEntitiesStatesRequest) -> GetEntitiesStatesResponse {
    let filter = match Filter::new(&request.filters) {
        Ok(filter) => filter,
        Err(refused) => return Response::of(refused),
    };
    let with_state = |(name, entity): (String, Entity)| Some((name, state_of(node, entity)?));
    let (entities, states) = filter.matching(node).into_iter().filter_map(with_state).unzip();
    GetEntitiesStatesResponse { result: ok(), entities, states }
}

pub(super) fn state(node: &Node, request: &GetEntityStateRequest) -> GetEntityStateResponse {
    match named(node, &request.entity).and_then(|entity| state_of(node, entity)) {
        Some(state) => GetEntityStateResponse { result: ok(), state },
        None => Response::of(no_entity(&request.entity)),
    }
}

pub(super) fn bounds(node: &Node, request: &GetEntityBoundsRequest) -> GetEntityBoundsResponse {
    let Some(entity) = named(node, &request.entity) else { return Response::of(no_entity(&request.entity)) };
    let bounds = node
        .world()
        .bounds(entity)
        .map(|of| Bounds { r#type: Bounds::TYPE_BOX, points: vec![to_vector(&of.high_m), to_vector(&of.low_m)] });
    GetEntityBoundsResponse { result: ok(), bounds: bounds.unwrap_or_default() }
}

pub(super) fn info(node: &Node, request: &GetEntityInfoRequest) -> GetEntityInfoResponse {
    match named(node, &request.entity) {
        Some(entity) => GetEntityInfoResponse { result: ok(), info: info_of(node, entity) },
        None => Response::of(no_entity(&request.entity)),
    }
}

pub(super) fn set_info(
    node: &mut Node,
    _stop: &AtomicBool,
    request: SetEntityInfoRequest,
) -> Result<SetEntityInfoResponse, NodeError> {
    let SetEntityInfoRequest { entity, info } = request;
    let Some(known) = named(node, &entity) else { return Ok(Response::of(no_entity(&entity))) };
    let is_short = |text: &String| text.len() <= TEXT_MAX;
    if info.tags.len() > TAGS_MAX || !info.tags.iter().chain([&info.description]).all(is_short) {
        let what = format!("{TAGS_MAX} tags are allowed, and {TEXT_MAX} letters in each and in the description");
        return Ok(Response::of(failed(what)));
    }
    node.infos.0.insert(known, info);
    Ok(Response::of(ok()))
}

pub(super) fn set_state(
    node: &mut Node,
    stop: &AtomicBool,
    request: SetEntityStateRequest,
) -> Result<SetEntityStateResponse, NodeError> {
    let Some(entity) = named(node, &request.entity) else {
        return Ok(Response::of(no_entity(&request.entity)));
    };
    if request.set_acceleration {
        return Ok(Response::of(unsupported("accelerations follow from forces; set_acceleration must be false")));
    }
    let placement = match placement(node, entity, &request) {
        Ok(placement) => placement,
        Err(refused) => return Ok(Response::of(refused)),
    };
    let made = node.make(Change::Place(entity, placement), stop)?;
    let stands = node.world().pose(entity);
    let result = match (made, placement.pose.zip(stands)) {
        (Err(ChangeError::Spawn(error @ SpawnError::Place { .. })), _) => {
            result(SetEntityStateResponse::INVALID_POSE, error.to_string())
        }
        (Err(error), _) => result_of(&error),
        (Ok(_), Some((requested, stands))) => result(ResultCode::RESULT_OK, poses::note(&requested, &stands)),
        (Ok(_), None) => ok(),
    };
    Ok(SetEntityStateResponse { result })
}

/// The placement that a request asks for, in the map frame.
fn placement(node: &Node, entity: Entity, request: &SetEntityStateRequest) -> Result<Placement, ResultCode> {
    let EntityState { header, pose, twist, .. } = &request.state;
    let refuse = |what: String| result(SetEntityStateResponse::INVALID_POSE, what);
    let pose = request.set_pose.then(|| poses::on_map(node, &header.frame_id, pose)).transpose().map_err(refuse)?;
    let twist = request.set_twist.then(|| poses::twist_on_map(node, &header.frame_id, twist));
    let twist = twist.transpose().map_err(refuse)?;
    let moves = twist.is_some_and(|twist| twist.linear != Vector3::zeros() || twist.angular != Vector3::zeros());
    if matches!(entity, Entity::Object(_)) && moves {
        return Err(failed("a fixed object cannot be moved"));
    }
    Ok(Placement { pose, twist })
}

pub(super) fn named(node: &Node, name: &str) -> Option<Entity> {
    node.world().entity_named(name)
}

fn state_of(node: &Node, entity: Entity) -> Option<EntityState> {
    let world = node.world();
    let (pose, twist) = (world.pose(entity)?, world.twist(entity)?);
    let felt = match entity {
        Entity::Rover(id) => node.latest().rover(id).map(|rover| rover.base_acceleration),
        Entity::Object(_) | Entity::Rock(_) => None,
    };
    Some(EntityState {
        header: std_msgs::Header::new(world.time(), frames::MAP),
        pose: to_pose(&pose),
        twist: geometry_msgs::Twist { linear: to_vector(&twist.linear), angular: to_vector(&twist.angular) },
        acceleration: geometry_msgs::Accel {
            linear: to_vector(&felt.unwrap_or_else(Vector3::zeros)),
            angular: to_vector(&Vector3::zeros()),
        },
    })
}

fn info_of(node: &Node, entity: Entity) -> EntityInfo {
    let was_added = node.world().state().spawned.iter().any(|known| known.entity == entity);
    info_with(node, entity, was_added)
}

/// An entity's description and tags: those that a client has set, or the default ones of its kind.
pub(super) fn info_with(node: &Node, entity: Entity, was_added: bool) -> EntityInfo {
    if let Some(info) = node.infos.0.get(&entity) {
        return info.clone();
    }
    let world = node.world();
    let (category, kind, description) = match entity {
        Entity::Rover(id) => {
            let file = world.model().rovers().get(&id).map(|kind| kind.setup().file.display().to_string());
            (EntityCategory::CATEGORY_ROBOT, "rover", file.unwrap_or_default())
        }
        Entity::Object(_) => {
            (EntityCategory::CATEGORY_STATIC_OBJECT, "object", "an object that stands fast".to_owned())
        }
        Entity::Rock(id) => {
            let diameter_m = world.model().rocks().get(&id).map_or(0.0, |rock| 2.0 * rock.radius_m);
            (EntityCategory::CATEGORY_DYNAMIC_OBJECT, "rock", format!("a loose rock of {diameter_m:.2} m"))
        }
    };
    let origin = if was_added { "spawned" } else { "scenario" };
    EntityInfo { category: EntityCategory { category }, description, tags: vec![kind.to_owned(), origin.to_owned()] }
}
