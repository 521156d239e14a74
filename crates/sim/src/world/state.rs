//! The state of a world: all that can change its future, and nothing else, as plain data. A copy
//! shares ground and soil memory with the original until one of them is written. Every bit of it is
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
use crate::world::entity::{Entity, EntityId, Spawn};

/// The state of a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Simulated time.
    pub time: SimTime,
    /// Number of heartbeats made.
    pub sequence: u64,
    /// How many new heights of the ground were told with snapshots.
    pub terrain_sequence: u64,
    /// The rovers.
    pub rovers: BTreeMap<EntityId, RoverEntityState>,
    /// The objects that stand fast.
    pub objects: BTreeSet<EntityId>,
    /// The loose rocks, by their number on the site.
    pub rocks: BTreeMap<u32, LooseRockState>,
    /// What contacts of rovers, rocks and objects remember.
    pub contacts: ContactMemory,
    /// What was done to the ground.
    pub ruts: Ruts,
    /// What the soil remembers of it.
    pub soil: SoilMemory,
    /// The granular windows, by their place in the scenario.
    pub granular: BTreeMap<u32, WindowState>,
    /// Dust in flight, and what the ground gave and got of it.
    pub dust: DustState,
    /// How many entities were added and removed since the start.
    pub entities_version: u64,
    /// What was added while the world ran, in order, with its number; also what was removed again, since
    /// snapshots of the time before have it.
    pub spawned: Vec<(Entity, Spawn)>,
    /// The number of the next rover or object.
    pub next_entity: EntityId,
    /// The number of the next loose rock.
    pub next_rock: u32,
    /// How much later Sun, Earth and stars stand where they stand than `time` says.
    pub sky_offset: SimTime,
}

/// The state of one rover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoverEntityState {
    /// Its body, joints and servos.
    pub body: RoverState,
    /// What each wheel remembers of its contact with soil.
    pub wheels: Vec<WheelMemory>,
    /// What bodies remember of hard ground.
    pub floors: Vec<FloorMemory>,
    /// What it was told.
    pub driver: DriverState,
    /// How far along its route it is.
    pub route: RouteProgress,
    /// Where the windows of detail around it have their middle.
    pub clipmap_centre: ClipmapCentre,
    /// What left its valid range so far.
    pub notices: Notices,
    /// What sensors of its body remember, in the order of the rover's sensors; nothing before the first heartbeat.
    pub memories: Vec<SensorMemory>,
    /// How sensors are set that are not as their files say, by name.
    pub settings: BTreeMap<String, SensorSetting>,
}

/// What left its valid range so far: said in diagnostics instead of going quiet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notices {
    /// Steps of a wheel whose contact was too narrow for the soil's negative Kc.
    pub floored_contacts: u64,
    /// Steps of a wheel that was in deeper than its radius.
    pub buried_wheels: u64,
    /// Steps of a wheel whose slip, speed, slope or load was outside its soil's fit.
    pub outside_fit: u64,
}

impl Notices {
    pub(crate) fn count(&mut self, contact: &WheelContact) {
        self.floored_contacts += u64::from(contact.modulus_floored);
        self.buried_wheels += u64::from(contact.sinkage_beyond_radius);
        self.outside_fit += u64::from(contact.slip_outside_fit);
    }
}

impl State {
    /// A hash over every bit of it (XXH3 of its bytes as a checkpoint has them).
    ///
    /// # Panics
    /// When `spawned` names a file by a path that is not UTF-8, which a world refuses to add.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = Hasher(Xxh3::new());
        let written = postcard::to_io(self, &mut hasher);
        written.expect("all of a state but paths that are not UTF-8 can be written").0.digest()
    }
}

impl State {
    /// A hash over what all processes of a world have alike: rovers, rocks, ground and the soil's memory. What
    /// contacts between rovers of two processes remember is each one's own.
    ///
    /// # Panics
    /// As `hash`.
    #[must_use]
    pub fn shared_hash(&self) -> u64 {
        Self { contacts: Default::default(), ..self.clone() }.hash()
    }
}

/// Takes bytes into a hash.
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
