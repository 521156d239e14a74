//! Conversion of the world's snapshot to a message and back, bit for bit.

use selene_base::{SimTime, Twist, Wrench, frames};
use selene_ros::{geometry_msgs, selene_msgs, std_msgs};
use selene_sensors::{SensorMemory, SensorSetting};
use selene_sim::{
    DustParcel, EntityId, LinkLoad, LoosePoint, LooseSoil, ObjectPose, RockPose, RoverSnapshot, Snapshot, WheelTruth,
};
use selene_terrain::{Edit, Print};

use crate::convert::{from_vector, pose, to_pose, to_vector};
use crate::run::RunId;

/// A snapshot of a run as a message; `name` gives the names of rovers and objects.
#[must_use]
pub fn state_to_message<'a>(
    run: &RunId,
    state: &Snapshot,
    name: impl Fn(EntityId) -> &'a str,
) -> selene_msgs::WorldState {
    let object = |object: &ObjectPose| selene_msgs::EntityPose {
        id: object.id.0,
        name: name(object.id).to_owned(),
        pose: to_pose(&object.world_from_object),
    };
    selene_msgs::WorldState {
        header: std_msgs::Header::new(state.time, frames::MAP),
        run: run.to_string(),
        epoch: state.epoch,
        sequence: state.sequence,
        terrain_sequence: state.terrain_sequence,
        entities_version: state.entities_version,
        rovers: state.rovers.iter().map(|rover| rover_to_message(rover, name(rover.id))).collect(),
        objects: state.objects.iter().map(object).collect(),
        loose_rocks: state.loose_rocks.iter().map(rock_to_message).collect(),
        dust: state.dust.iter().map(parcel_to_message).collect(),
        loose_soil: state.loose_soil.iter().map(loose_to_message).collect(),
        terrain_edits: edits_to_message(&state.edits),
        sky_offset: state.sky_offset.nanos(),
        sun_direction: to_vector(&state.sun_direction),
    }
}

/// A snapshot from a message.
#[must_use]
pub fn state_from_message(message: &selene_msgs::WorldState) -> Snapshot {
    let object = |object: &selene_msgs::EntityPose| ObjectPose {
        id: EntityId(object.id),
        world_from_object: pose(&object.pose),
    };
    Snapshot {
        time: SimTime::from(message.header.stamp),
        sequence: message.sequence,
        epoch: message.epoch,
        terrain_sequence: message.terrain_sequence,
        entities_version: message.entities_version,
        rovers: message.rovers.iter().map(rover_from_message).collect(),
        objects: message.objects.iter().map(object).collect(),
        loose_rocks: message.loose_rocks.iter().map(rock_from_message).collect(),
        dust: message.dust.iter().map(parcel_from_message).collect(),
        loose_soil: message.loose_soil.iter().map(loose_from_message).collect(),
        edits: edits_from_message(&message.terrain_edits),
        sky_offset: SimTime::from_nanos(message.sky_offset),
        sun_direction: from_vector(&message.sun_direction),
    }
}

fn rover_to_message(rover: &RoverSnapshot, name: &str) -> selene_msgs::RoverState {
    selene_msgs::RoverState {
        id: rover.id.0,
        name: name.to_owned(),
        clipmap_centre: rover.clipmap_centre,
        links: rover.world_from_links.iter().map(to_pose).collect(),
        joint_position: rover.joint_position.clone(),
        joint_velocity: rover.joint_velocity.clone(),
        joint_effort: rover.joint_effort.clone(),
        base_twist: geometry_msgs::Twist {
            linear: to_vector(&rover.base_twist.linear),
            angular: to_vector(&rover.base_twist.angular),
        },
        base_acceleration: to_vector(&rover.base_acceleration),
        wheels: rover.wheels.iter().map(|wheel| wheel_to_message("", wheel)).collect(),
        lamp_levels: rover.lamp_levels.clone(),
        sensor_memories: rover.memories.iter().map(memory_to_message).collect(),
        link_loads: rover.link_loads.iter().map(load_to_message).collect(),
        sensor_settings: rover.settings.iter().map(setting_to_message).collect(),
    }
}

fn rover_from_message(message: &selene_msgs::RoverState) -> RoverSnapshot {
    RoverSnapshot {
        id: EntityId(message.id),
        clipmap_centre: message.clipmap_centre,
        world_from_links: message.links.iter().map(pose).collect(),
        joint_position: message.joint_position.clone(),
        joint_velocity: message.joint_velocity.clone(),
        joint_effort: message.joint_effort.clone(),
        base_twist: Twist {
            linear: from_vector(&message.base_twist.linear),
            angular: from_vector(&message.base_twist.angular),
        },
        base_acceleration: from_vector(&message.base_acceleration),
        wheels: message.wheels.iter().map(wheel_from_message).collect(),
        lamp_levels: message.lamp_levels.clone(),
        memories: message.sensor_memories.iter().map(memory_from_message).collect(),
        link_loads: message.link_loads.iter().map(load_from_message).collect(),
        drum_loads_kg: Vec::new(),
        settings: message.sensor_settings.iter().map(setting_from_message).collect(),
    }
}

fn load_to_message(load: &LinkLoad) -> selene_msgs::LinkLoad {
    let Wrench { force, torque } = &load.wrench;
    let wrench = geometry_msgs::Wrench { force: to_vector(force), torque: to_vector(torque) };
    selene_msgs::LinkLoad { link: load.link, wrench }
}

fn load_from_message(message: &selene_msgs::LinkLoad) -> LinkLoad {
    let geometry_msgs::Wrench { force, torque } = &message.wrench;
    LinkLoad { link: message.link, wrench: Wrench { force: from_vector(force), torque: from_vector(torque) } }
}

fn memory_to_message(memory: &SensorMemory) -> selene_msgs::SensorMemory {
    let SensorMemory { name, spec, numbers } = memory;
    selene_msgs::SensorMemory { name: name.clone(), spec: *spec, numbers: numbers.clone() }
}

fn memory_from_message(message: &selene_msgs::SensorMemory) -> SensorMemory {
    let selene_msgs::SensorMemory { name, spec, numbers } = message;
    SensorMemory { name: name.clone(), spec: *spec, numbers: numbers.clone() }
}

fn setting_to_message((name, setting): (&String, &SensorSetting)) -> selene_msgs::SensorSetting {
    let SensorSetting { enabled, noise, exposure_s, auto_exposure } = *setting;
    selene_msgs::SensorSetting {
        name: name.clone(),
        enabled,
        noise,
        exposure: exposure_s.into_iter().collect(),
        auto_exposure: auto_exposure.into_iter().collect(),
    }
}

fn setting_from_message(message: &selene_msgs::SensorSetting) -> (String, SensorSetting) {
    let selene_msgs::SensorSetting { name, enabled, noise, exposure, auto_exposure } = message;
    let (exposure_s, auto_exposure) = (exposure.first().copied(), auto_exposure.first().copied());
    (name.clone(), SensorSetting { enabled: *enabled, noise: *noise, exposure_s, auto_exposure })
}

fn rock_to_message(rock: &RockPose) -> selene_msgs::LooseRock {
    selene_msgs::LooseRock {
        id: rock.id,
        shape: rock.shape,
        radius: rock.radius_m,
        pose: to_pose(&rock.world_from_rock),
    }
}

fn rock_from_message(message: &selene_msgs::LooseRock) -> RockPose {
    let selene_msgs::LooseRock { id, shape, radius, pose: at } = message;
    RockPose { id: *id, shape: *shape, radius_m: *radius, world_from_rock: pose(at) }
}

fn parcel_to_message(parcel: &DustParcel) -> selene_msgs::DustParcel {
    selene_msgs::DustParcel {
        by: parcel.by,
        start: parcel.from.nanos(),
        end: parcel.until.nanos(),
        position: to_vector(&parcel.place_m),
        velocity: to_vector(&parcel.velocity_m_s),
        mass: parcel.mass_ug,
        cross_section: parcel.cross_section_m2,
        deviation: parcel.deviation_m,
        spreading: parcel.spreading_m_s,
    }
}

fn parcel_from_message(message: &selene_msgs::DustParcel) -> DustParcel {
    DustParcel {
        by: message.by,
        from: SimTime::from_nanos(message.start),
        until: SimTime::from_nanos(message.end),
        place_m: from_vector(&message.position),
        velocity_m_s: from_vector(&message.velocity),
        mass_ug: message.mass,
        cross_section_m2: message.cross_section,
        deviation_m: message.deviation,
        spreading_m_s: message.spreading,
    }
}

fn loose_to_message(soil: &LooseSoil) -> selene_msgs::LooseSoil {
    let point = |point: &LoosePoint| selene_msgs::LoosePoint { place: point.place, id: point.id };
    selene_msgs::LooseSoil { window: soil.window, points: soil.points.iter().map(point).collect() }
}

fn loose_from_message(message: &selene_msgs::LooseSoil) -> LooseSoil {
    let point = |point: &selene_msgs::LoosePoint| LoosePoint { place: point.place, id: point.id };
    LooseSoil { window: message.window, points: message.points.iter().map(point).collect() }
}

/// One wheel's ground truth as a message.
#[must_use]
pub fn wheel_to_message(name: &str, wheel: &WheelTruth) -> selene_msgs::WheelState {
    selene_msgs::WheelState {
        name: name.to_owned(),
        slip_ratio: wheel.slip_ratio,
        slip_angle: wheel.slip_angle_rad,
        sinkage: wheel.sinkage_m,
        force: to_vector(&wheel.force_n),
        torque: to_vector(&wheel.torque_nm),
        angular_velocity: wheel.rate_rad_s,
        drive_torque: wheel.drive_torque_nm,
        in_contact: wheel.in_contact,
    }
}

fn wheel_from_message(message: &selene_msgs::WheelState) -> WheelTruth {
    WheelTruth {
        slip_ratio: message.slip_ratio,
        slip_angle_rad: message.slip_angle,
        sinkage_m: message.sinkage,
        force_n: from_vector(&message.force),
        torque_nm: from_vector(&message.torque),
        rate_rad_s: message.angular_velocity,
        drive_torque_nm: message.drive_torque,
        in_contact: message.in_contact,
    }
}

/// Terrain edits as messages.
#[must_use]
pub fn edits_to_message(edits: &[Edit]) -> Vec<selene_msgs::TerrainEdit> {
    let one = |edit: &Edit| selene_msgs::TerrainEdit {
        tile_x: edit.tile[0],
        tile_y: edit.tile[1],
        node: edit.node,
        print: edit.print.bits(),
        height: edit.height_m,
    };
    edits.iter().map(one).collect()
}

/// Terrain edits from messages.
#[must_use]
pub fn edits_from_message(messages: &[selene_msgs::TerrainEdit]) -> Vec<Edit> {
    let one = |message: &selene_msgs::TerrainEdit| Edit {
        tile: [message.tile_x, message.tile_y],
        node: message.node,
        print: Print::from_bits(message.print),
        height_m: message.height,
    };
    messages.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{state_from_message, state_to_message};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::{Pose, SimTime, Twist, Wrench};
    use selene_sensors::{SensorMemory, SensorSetting};
    use selene_sim::{
        DustParcel, EntityId, LinkLoad, LoosePoint, LooseSoil, ObjectPose, RockPose, RoverSnapshot, Snapshot,
        WheelTruth,
    };
    use selene_terrain::{Edit, Print};

    fn rover(rotation: UnitQuaternion<f64>) -> RoverSnapshot {
        RoverSnapshot {
            id: EntityId(1),
            clipmap_centre: [-7, 3],
            world_from_links: vec![Pose::from_parts(Vector3::new(0.1, 1e-300, -3.7).into(), rotation); 3],
            joint_position: vec![0.1, -0.0],
            joint_velocity: vec![f64::MIN_POSITIVE, 4.0],
            joint_effort: vec![1.0 / 3.0, 2.0],
            base_twist: Twist { linear: Vector3::new(0.2, 0.0, 0.1), angular: Vector3::z() },
            base_acceleration: Vector3::new(0.0, -0.1, 1.62),
            wheels: vec![WheelTruth { slip_ratio: 0.25, in_contact: true, ..Default::default() }],
            lamp_levels: vec![0.0, 1.0 / 3.0],
            memories: vec![SensorMemory { name: "odom".to_owned(), spec: u64::MAX, numbers: vec![-0.0, 0.1] }],
            drum_loads_kg: Vec::new(),
            link_loads: vec![LinkLoad {
                link: 5,
                wrench: Wrench { force: Vector3::new(0.1, -7.0, 180.0), torque: Vector3::new(1e-9, 3.0, -0.7) },
            }],
            settings: [
                ("cam", SensorSetting { exposure_s: Some(1.0 / 3.0), ..SensorSetting::default() }),
                ("lidar", SensorSetting { enabled: false, auto_exposure: Some(false), ..SensorSetting::default() }),
                ("imu", SensorSetting { noise: false, ..SensorSetting::default() }),
            ]
            .map(|(name, setting)| (name.to_owned(), setting))
            .into(),
        }
    }

    #[test]
    fn a_snapshot_comes_back_bit_for_bit() {
        let rotation = UnitQuaternion::from_euler_angles(0.1, -0.2, 3.0);
        let rover = rover(rotation);
        let state = Snapshot {
            time: SimTime::from_nanos(1_234_567_891),
            sequence: 77,
            epoch: 5,
            terrain_sequence: 1 << 40,
            entities_version: 3,
            rovers: vec![rover.clone(), RoverSnapshot { id: EntityId(4), ..rover }],
            objects: vec![ObjectPose {
                id: EntityId(2),
                world_from_object: Pose::from_parts(Vector3::x().into(), rotation),
            }],
            loose_rocks: vec![RockPose {
                id: 9,
                shape: 2,
                radius_m: 0.1,
                world_from_rock: Pose::from_parts(Vector3::y().into(), rotation),
            }],
            dust: vec![DustParcel {
                by: [4, 1],
                from: SimTime::from_nanos(-7),
                until: SimTime::from_nanos(i64::MAX),
                place_m: Vector3::new(0.1, -0.0, 1.0 / 3.0),
                velocity_m_s: Vector3::new(-1e-300, 0.2, 0.3),
                mass_ug: u64::MAX,
                cross_section_m2: 1e-7,
                deviation_m: 0.03,
                spreading_m_s: 0.04,
            }],
            loose_soil: vec![LooseSoil {
                window: 1,
                points: vec![LoosePoint { place: [0, u16::MAX, 7], id: u32::MAX }, LoosePoint::default()],
            }],
            edits: vec![Edit {
                tile: [-3, 4],
                node: 4095,
                print: Print::of_grousers(0.4, 1.0, 0.06),
                height_m: -0.0125,
            }],
            sky_offset: SimTime::from_nanos(-86_400_000_000_001),
            sun_direction: Vector3::x(),
        };
        let run = "test".parse().expect("an id");
        let message = state_to_message(&run, &state, |id| if id == EntityId(4) { "second" } else { "first" });
        assert_eq!((message.run.as_str(), message.rovers[1].name.as_str()), ("test", "second"));
        assert_eq!(state_from_message(&message), state);
    }
}
