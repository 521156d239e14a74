//! Conversion of the table of added entities to a message and back.

use std::path::PathBuf;

use selene_ros::selene_msgs;
use selene_sim::{Entity, EntityId, LooseRockSpec, Spawn, SpawnPlace, Spawned};

/// The table of the entities that were added since reset number `epoch`, in order, each with its number.
#[must_use]
pub fn entities_to_message(epoch: u32, version: u64, spawned: &[Spawned]) -> selene_msgs::EntityTable {
    let entities = spawned.iter().map(spawned_to_message).collect();
    selene_msgs::EntityTable { epoch, version, entities }
}

/// The entities of a table; entries of unknown kinds are left out.
#[must_use]
pub fn entities_from_message(table: &selene_msgs::EntityTable) -> Vec<Spawned> {
    let one = |message: &selene_msgs::Entity| {
        let (entity, spawn) = entity_from_message(message)?;
        Some(Spawned { entity, spawn, fingerprints: message.fingerprints.clone() })
    };
    table.entities.iter().filter_map(one).collect()
}

fn spawned_to_message(spawned: &Spawned) -> selene_msgs::Entity {
    let Spawned { entity, spawn, fingerprints } = spawned;
    selene_msgs::Entity { fingerprints: fingerprints.clone(), ..entity_to_message(*entity, spawn) }
}

fn entity_to_message(entity: Entity, spawn: &Spawn) -> selene_msgs::Entity {
    let (kind, id) = match entity {
        Entity::Rover(id) => (selene_msgs::Entity::ROVER, id.0),
        Entity::Object(id) => (selene_msgs::Entity::OBJECT, id.0),
        Entity::Rock(id) => (selene_msgs::Entity::ROCK, id),
    };
    let text = |file: &PathBuf| file.to_string_lossy().into_owned();
    let placed = |name: &str, place: &SpawnPlace| selene_msgs::Entity {
        kind,
        id,
        name: name.to_owned(),
        x: place.x_m,
        y: place.y_m,
        z: place.z_m,
        yaw: place.yaw_rad,
        ..Default::default()
    };
    match spawn {
        Spawn::Rover { name, namespace, file, sensors, place } => selene_msgs::Entity {
            entity_namespace: namespace.clone(),
            file: text(file),
            sensors: sensors.iter().map(text).collect(),
            ..placed(name, place)
        },
        Spawn::Object { name, file, place } => selene_msgs::Entity { file: text(file), ..placed(name, place) },
        Spawn::Described { name, urdf, place } => selene_msgs::Entity { urdf: urdf.clone(), ..placed(name, place) },
        Spawn::Rock { name, spec: rock } => selene_msgs::Entity {
            kind,
            id,
            name: name.clone(),
            x: rock.x_m,
            y: rock.y_m,
            yaw: rock.yaw_deg.to_radians(),
            diameter: rock.diameter_m,
            density: rock.density_kg_m3,
            shape: rock.shape.and_then(|shape| i32::try_from(shape).ok()).unwrap_or(-1),
            ..Default::default()
        },
    }
}

fn entity_from_message(message: &selene_msgs::Entity) -> Option<(Entity, Spawn)> {
    let selene_msgs::Entity { kind, id, name, file, sensors, .. } = message;
    let (name, file) = (name.clone(), PathBuf::from(file));
    let place = SpawnPlace { x_m: message.x, y_m: message.y, z_m: message.z, yaw_rad: message.yaw };
    match *kind {
        selene_msgs::Entity::ROVER => {
            let (sensors, namespace) = (sensors.iter().map(PathBuf::from).collect(), message.entity_namespace.clone());
            Some((Entity::Rover(EntityId(*id)), Spawn::Rover { name, namespace, file, sensors, place }))
        }
        selene_msgs::Entity::OBJECT if message.file.is_empty() => {
            let urdf = message.urdf.clone();
            Some((Entity::Object(EntityId(*id)), Spawn::Described { name, urdf, place }))
        }
        selene_msgs::Entity::OBJECT => Some((Entity::Object(EntityId(*id)), Spawn::Object { name, file, place })),
        selene_msgs::Entity::ROCK => {
            let spec = LooseRockSpec {
                x_m: message.x,
                y_m: message.y,
                diameter_m: message.diameter,
                shape: usize::try_from(message.shape).ok(),
                density_kg_m3: message.density,
                yaw_deg: message.yaw.to_degrees(),
            };
            Some((Entity::Rock(*id), Spawn::Rock { name, spec }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{entities_from_message, entities_to_message};
    use selene_sim::{Entity, EntityId, LooseRockSpec, Spawn, SpawnPlace, Spawned};

    #[test]
    fn what_was_added_comes_back_as_it_was() {
        let place = SpawnPlace { x_m: 1.0, y_m: -2.5, z_m: 0.25, yaw_rad: 0.5 };
        let rock =
            LooseRockSpec { x_m: 3.0, y_m: 4.0, diameter_m: 0.25, shape: Some(7), density_kg_m3: 2700.0, yaw_deg: 0.0 };
        let spawned = [
            (
                Entity::Rover(EntityId(4)),
                Spawn::Rover {
                    name: "new".into(),
                    namespace: "moon/new".into(),
                    file: "a.yaml".into(),
                    sensors: vec!["b.yaml".into()],
                    place,
                },
            ),
            (Entity::Object(EntityId(5)), Spawn::Object { name: "mast".into(), file: "c.stl".into(), place }),
            (Entity::Object(EntityId(6)), Spawn::Described { name: "post".into(), urdf: "<robot/>".into(), place }),
            (Entity::Rock(9), Spawn::Rock { name: "stone".into(), spec: rock }),
            (Entity::Rock(10), Spawn::Rock { name: String::new(), spec: LooseRockSpec { shape: None, ..rock } }),
        ];
        let spawned = spawned.map(|(entity, spawn)| {
            let fingerprints = if matches!(entity, Entity::Rock(_)) { vec![] } else { vec!["1f".into(), "0a".into()] };
            Spawned { entity, spawn, fingerprints }
        });
        assert_eq!(entities_from_message(&entities_to_message(1, 5, &spawned)), spawned);
    }
}
