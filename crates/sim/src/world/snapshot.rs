//! The snapshot of the world that leaves the simulation at each heartbeat, and the
//! world between two snapshots.

use std::collections::BTreeMap;

use nalgebra::Vector3;
use selene_base::{Pose, SimTime, Twist, Wrench, frames};
use selene_sensors::{BodyHeartbeat, Posture, SensorMemory, SensorSetting};
use selene_soil::{DustParcel, LooseSoil};
use selene_terrain::{ClipmapCentre, Edit};
use serde::{Deserialize, Serialize};

use crate::world::entity::{Entity, EntityId};

/// The world at a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The heartbeat's instant.
    pub time: SimTime,
    /// Number of the heartbeat, from 0.
    pub sequence: u64,
    /// How many times the world was reset before. With each reset, time, ground and ids may go back, and
    /// observers begin anew.
    pub epoch: u32,
    /// Number of terrain edits in all snapshots before this one.
    pub terrain_sequence: u64,
    /// Number of entities added and removed since the start: a process that knows a lower number asks for the list.
    pub entities_version: u64,
    /// The rovers, in order of their ids.
    pub rovers: Vec<RoverSnapshot>,
    /// The fixed objects, in order of their ids.
    pub objects: Vec<ObjectPose>,
    /// Loose rocks, in order of their ids.
    pub loose_rocks: Vec<RockPose>,
    /// Dust that was in flight since the last snapshot, ordered by the time at which it was thrown and by whom.
    pub dust: Vec<DustParcel>,
    /// Points of granular windows that are drawn as grains, for windows with grains and loose points, in the order of
    /// the scenario.
    pub loose_soil: Vec<LooseSoil>,
    /// Ground that changed since the last snapshot.
    pub edits: Vec<Edit>,
    /// Offset of the time at which Sun, Earth and stars are computed, added to `time`.
    pub sky_offset: SimTime,
    /// Unit vector toward the Sun's centre, map frame.
    pub sun_direction: Vector3<f64>,
}

/// A rover at a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoverSnapshot {
    /// Its id.
    pub id: EntityId,
    /// Centre of the windows of detail around it from this snapshot on.
    pub clipmap_centre: ClipmapCentre,
    /// Pose of each link in the map frame, in the order of the rover's links.
    pub world_from_links: Vec<Pose>,
    /// Joint positions, rad or m, in the order of the rover's moving joints.
    pub joint_position: Vec<f64>,
    /// Joint rates, rad/s or m/s.
    pub joint_velocity: Vec<f64>,
    /// Joint efforts, N m or N.
    pub joint_effort: Vec<f64>,
    /// Velocity of `base_link` in the map frame, m/s and rad/s.
    pub base_twist: Twist,
    /// Acceleration of `base_link` in the map frame, mean over the heartbeat, m/s².
    pub base_acceleration: Vector3<f64>,
    /// Contact of each wheel with the ground.
    pub wheels: Vec<WheelTruth>,
    /// Level of each lamp since the heartbeat before, 0 to 1, in the order of the rover's
    /// lamps.
    pub lamp_levels: Vec<f64>,
    /// Memories of the sensors of its body at this heartbeat, in the order of the rover's sensors.
    pub memories: Vec<SensorMemory>,
    /// Loads of the links with a force–torque sensor, ascending by link; empty before the first step.
    pub link_loads: Vec<LinkLoad>,
    /// Soil in each of its drums by the granular window that it is in, kg; known only to the process that steps the
    /// window.
    pub drum_loads_kg: Vec<f64>,
    /// Settings of sensors that differ from their files, by sensor name.
    pub settings: BTreeMap<String, SensorSetting>,
}

/// Load of a link on its parent link, across the joint between them, in the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkLoad {
    /// Index of the link among the rover's.
    pub link: u32,
    /// Force, N, and torque, N m, in the link's own axes, about its origin.
    pub wrench: Wrench,
}

/// Contact of one wheel with the ground.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WheelTruth {
    /// Slip ratio: 1 − v/(ωR) driving, ωR/v − 1 braking; 0 at rest.
    pub slip_ratio: f64,
    /// Angle from the wheel's heading to its velocity, rad.
    pub slip_angle_rad: f64,
    /// Depth of the wheel's lowest point below the undisturbed ground, m.
    pub sinkage_m: f64,
    /// Force of the soil on the wheel, N, in `base_link`.
    pub force_n: Vector3<f64>,
    /// Torque of the soil on the wheel about its centre, N m, in `base_link`.
    pub torque_nm: Vector3<f64>,
    /// Rate about the axle, rad/s.
    pub rate_rad_s: f64,
    /// Torque of the motor, N m.
    pub drive_torque_nm: f64,
    /// Whether it touches soil, rock or another body.
    pub in_contact: bool,
}

/// Pose of a fixed object.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectPose {
    /// Its id.
    pub id: EntityId,
    /// Its pose in the map frame.
    pub world_from_object: Pose,
}

/// Pose and shape of a loose rock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RockPose {
    /// Its id on the site.
    pub id: u32,
    /// Index of its shape among the ground's.
    pub shape: u32,
    /// Mean radius, m: the shape's scale.
    pub radius_m: f64,
    /// Its pose in the map frame.
    pub world_from_rock: Pose,
}

impl Snapshot {
    /// The rover with this id.
    #[must_use]
    pub fn rover(&self, id: EntityId) -> Option<&RoverSnapshot> {
        self.rovers.binary_search_by_key(&id, |rover| rover.id).ok().map(|at| &self.rovers[at])
    }

    /// Whether it has this entity.
    #[must_use]
    pub fn has(&self, entity: Entity) -> bool {
        match entity {
            Entity::Rover(id) => self.rover(id).is_some(),
            Entity::Object(id) => self.objects.binary_search_by_key(&id, |object| object.id).is_ok(),
            Entity::Rock(id) => self.loose_rocks.binary_search_by_key(&id, |rock| rock.id).is_ok(),
        }
    }

    /// The setting of a rover's sensor.
    #[must_use]
    pub fn setting(&self, rover: EntityId, sensor: &str) -> SensorSetting {
        self.rover(rover).and_then(|rover| rover.settings.get(sensor)).copied().unwrap_or_default()
    }

    /// Pose of a link of a rover in the map frame at `time` between `self` and the `next` snapshot; `None` unless both
    /// have the rover.
    #[must_use]
    pub fn link_at(&self, next: &Self, rover: EntityId, link: usize, time: SimTime) -> Option<Pose> {
        let before = self.rover(rover)?.world_from_links.get(link)?;
        let after = next.rover(rover)?.world_from_links.get(link)?;
        Some(frames::interpolate(before, after, self.fraction(next, time)))
    }

    /// Pose of a loose rock in the map frame at `time` between `self` and the `next` snapshot; `None` unless both have
    /// it.
    #[must_use]
    pub fn rock_at(&self, next: &Self, rock: u32, time: SimTime) -> Option<Pose> {
        let find = |of: &Self| {
            let at = of.loose_rocks.binary_search_by_key(&rock, |known| known.id).ok()?;
            Some(of.loose_rocks[at].world_from_rock)
        };
        Some(frames::interpolate(&find(self)?, &find(next)?, self.fraction(next, time)))
    }

    /// The motion of a rover's body from this snapshot to the `next`; `None` unless both have the rover.
    #[must_use]
    pub fn beat<'a>(&'a self, next: &'a Self, rover: EntityId) -> Option<BodyHeartbeat<'a>> {
        Some(BodyHeartbeat {
            after: samples_after(self.sequence, self.time),
            from: self.time,
            until: next.time,
            before: self.rover(rover)?.posture(),
            now: next.rover(rover)?.posture(),
            sun: next.sun_direction,
        })
    }

    fn fraction(&self, next: &Self, time: SimTime) -> f64 {
        let span = (next.time - self.time).secs_f64();
        if span > 0.0 { ((time - self.time).secs_f64() / span).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// The instant after which samples belong to the heartbeat that begins with heartbeat `sequence` at `time`; the very
/// first one has the scenario's start as well.
pub(crate) fn samples_after(sequence: u64, time: SimTime) -> SimTime {
    if sequence == 0 { time - SimTime::from_nanos(1) } else { time }
}

impl RoverSnapshot {
    /// Its links and joints, as sensors of its body take them.
    #[must_use]
    pub fn posture(&self) -> Posture<'_> {
        Posture {
            world_from_links: &self.world_from_links,
            position: &self.joint_position,
            velocity: &self.joint_velocity,
            effort: &self.joint_effort,
        }
    }

    /// Pose of `base_link` in the map frame: the first link.
    #[must_use]
    pub fn world_from_base(&self) -> Pose {
        self.world_from_links.first().copied().unwrap_or_else(Pose::identity)
    }

    /// Load of a link on its parent, in the link's own axes about its origin; `None` if it is not measured.
    #[must_use]
    pub fn load_of(&self, link: usize) -> Option<Wrench> {
        self.link_loads.iter().find(|load| load.link as usize == link).map(|load| load.wrench)
    }

    /// Velocity of `base_link` in its own axes, m/s and rad/s, as odometry reports it.
    #[must_use]
    pub fn body_twist(&self) -> Twist {
        let base_from_world = self.world_from_base().rotation.inverse();
        Twist { linear: base_from_world * self.base_twist.linear, angular: base_from_world * self.base_twist.angular }
    }
}
