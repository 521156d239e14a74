//! The state of a world: everything that can change its future, and nothing else, as plain data. A copy
//! shares ground and soil memory with the original until one of them is written. Every bit of the state is
//! hashed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use selene_base::SimTime;
use selene_sensors::{SensorMemory, SensorSetting};
use selene_soil::{SoilMemory, WheelContact, WheelMemory, WindowState};
use selene_terrain::{ClipmapCentre, Ruts};
use selene_vehicle::RoverState;
use selene_vehicle::contact::{ContactMemory, FloorMemory, LooseRockState};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::driving::{DriverState, RouteProgress};
use crate::world::dust::DustState;
use crate::world::entity::{Entity, EntityId, Spawned};

/// The state of a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Simulated time.
    pub time: SimTime,
    /// Number of heartbeats so far.
    pub sequence: u64,
    /// Number of terrain edits in all snapshots so far.
    pub terrain_sequence: u64,
    /// The rovers.
    pub rovers: BTreeMap<EntityId, RoverEntityState>,
    /// The fixed objects.
    pub objects: BTreeSet<EntityId>,
    /// The loose rocks, by their id on the site.
    pub rocks: BTreeMap<u32, LooseRockState>,
    /// Memory of the contacts between rovers, rocks and objects.
    pub contacts: ContactMemory,
    /// Changes of the ground's heights.
    pub ruts: Ruts,
    /// Memory of the soil, such as its compaction.
    pub soil: SoilMemory,
    /// The granular windows, by their index in the scenario.
    pub granular: BTreeMap<u32, WindowState>,
    /// Dust in flight, and the dust that each tile of the ground lost and gained.
    pub dust: DustState,
    /// How many entities were added and removed since the start.
    pub entities_version: u64,
    /// Entities that were added while the world ran, in order. Removed ones stay in the list for a while, since
    /// snapshots of the time before their removal have them.
    pub spawned: Vec<Spawned>,
    /// Those of them that were removed, and when, in order.
    pub removed: Vec<(Entity, SimTime)>,
    /// The id of the next rover or object.
    pub next_entity: EntityId,
    /// The id of the next loose rock.
    pub next_rock: u32,
    /// Offset of the time at which Sun, Earth and stars are computed, added to `time`.
    pub sky_offset: SimTime,
}

/// The state of one rover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoverEntityState {
    /// Its body, joints and servos.
    pub body: RoverState,
    /// Memory of each wheel's contact with the soil.
    pub wheels: Vec<WheelMemory>,
    /// Memory of the bodies' contacts with hard ground.
    pub floors: Vec<FloorMemory>,
    /// The commands that it obeys.
    pub driver: DriverState,
    /// How far along its route it is.
    pub route: RouteProgress,
    /// Centre of the windows of detail around it.
    pub clipmap_centre: ClipmapCentre,
    /// How often a quantity left its valid range so far.
    pub notices: OutOfRangeCounts,
    /// Memories of the sensors of its body, in the order of the rover's sensors; empty before the first heartbeat.
    pub memories: Vec<SensorMemory>,
    /// Settings of sensors that differ from their files, by sensor name.
    pub settings: BTreeMap<String, SensorSetting>,
}

/// How often a quantity left the valid range of its model: reported in diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfRangeCounts {
    /// Steps of a wheel whose contact was too narrow for the soil's negative Kc.
    pub floored_contacts: u64,
    /// Steps of a wheel that was in deeper than its radius.
    pub buried_wheels: u64,
    /// Steps of a wheel whose slip, speed, slope or load was outside its soil's fit.
    pub outside_fit: u64,
}

impl OutOfRangeCounts {
    pub(crate) fn count(&mut self, contact: &WheelContact) {
        self.floored_contacts += u64::from(contact.modulus_floored);
        self.buried_wheels += u64::from(contact.sinkage_beyond_radius);
        self.outside_fit += u64::from(contact.slip_outside_fit);
    }
}

impl State {
    /// A hash over every bit of the state (XXH3 of its bytes in a checkpoint).
    ///
    /// # Panics
    /// When `spawned` names a file by a path that is not UTF-8, which a world refuses to add, or points of granular soil
    /// are on a device; [`World::hash`](super::World::hash) gets them from there.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = Hasher(Xxh3::new());
        let written = postcard::to_io(self, &mut hasher);
        // No input leads to the panic: worlds refuse such paths, and hash a state only with its points.
        written.expect("a state with all its points, and with paths in UTF-8, can be written").0.digest()
    }
}

impl State {
    /// A hash over the part that is the same in all processes of a world: rovers, rocks, ground and the soil's memory.
    /// The memory of contacts between rovers of two processes differs between them.
    ///
    /// # Panics
    /// As [`State::hash`].
    #[must_use]
    pub fn shared_hash(&self) -> u64 {
        Self { contacts: Default::default(), ..self.clone() }.hash()
    }
}

/// Writes bytes into a hash.
struct Hasher(Xxh3);

impl io::Write for &mut Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
