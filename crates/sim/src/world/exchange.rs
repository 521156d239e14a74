//! One world in several processes: each steps its own rovers, with the others as ghosts, and tells after every
//! heartbeat what it did: the states of its rovers and of the rocks that they touched, and the ground and the
//! soil's memory that they wrote. All then put the same parts together, whatever the order in which they came:
//!
//! - a rover is what its own process says;
//! - a node of the ground that several wrote has the lowest height that any of them gave it, since soil that
//!   was pressed does not rise again; where heights are the same, the memory whose bits are least;
//! - a loose rock is what the process says that owns the rover of the lowest number among those that moved it.
//!
//! Within a heartbeat a ghost goes on as it went, so rovers in different processes feel each other's motion a
//! heartbeat late.

use std::collections::{BTreeMap, BTreeSet};

use selene_soil::{KnownNode, NodeMemory};
use selene_terrain::{Edit, TileIndex};
use selene_vehicle::contact::LooseRockState;
use serde::{Deserialize, Serialize};

use crate::world::entity::EntityId;
use crate::world::snapshot::{RockPose, RoverSnapshot, Snapshot};
use crate::world::state::{RoverEntityState, State};
use crate::world::world::World;

/// What one process did in a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The heartbeat that it led to.
    pub sequence: u64,
    /// Its rovers, ascending by number: as told, and their whole states.
    pub rovers: Vec<(RoverSnapshot, RoverEntityState)>,
    /// Loose rocks that it stepped, ascending by number.
    pub rocks: Vec<(u32, LooseRockState)>,
    /// Ground that it changed.
    pub edits: Vec<Edit>,
    /// Soil memory that it wrote.
    pub nodes: Vec<KnownNode>,
}

/// Bytes of another process that are no part or state of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Part {
    /// It as bytes, for another process of the same version.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain data can always be written.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// The part that bytes are.
    ///
    /// # Errors
    /// When they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unreadable> {
        postcard::from_bytes(bytes).map_err(|error| Unreadable(error.to_string()))
    }
}

impl State {
    /// It as bytes, for another process of the same version.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// The state that bytes are.
    ///
    /// # Errors
    /// When they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unreadable> {
        postcard::from_bytes(bytes).map_err(|error| Unreadable(error.to_string()))
    }
}

/// Which rovers a process steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The rovers that other processes step, or nobody: ghosts here.
    pub ghosts: BTreeSet<EntityId>,
    /// Whether it steps rocks that roll where no rover is: one process does.
    pub leads: bool,
}

/// What a step did that others must be told.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) rocks: Vec<u32>,
    pub(crate) nodes: Vec<KnownNode>,
}

/// Height and memory that some process gave a node.
type Given = (Option<f32>, Option<NodeMemory>);

impl World {
    /// Says which rovers are stepped elsewhere; none for a world in one process.
    pub fn set_share(&mut self, share: Option<Share>) {
        *self.share_mut() = share;
    }

    /// What this process did in the heartbeat that led to `snapshot`.
    #[must_use]
    pub fn part(&self, snapshot: &Snapshot) -> Part {
        let state = self.state();
        let own = |rover: &&RoverSnapshot| self.share().is_none_or(|share| !share.ghosts.contains(&rover.id));
        let rover = |rover: &RoverSnapshot| Some((rover.clone(), state.rovers.get(&rover.id)?.clone()));
        let written = self.written();
        Part {
            sequence: snapshot.sequence,
            rovers: snapshot.rovers.iter().filter(own).filter_map(rover).collect(),
            rocks: written.rocks.iter().filter_map(|id| Some((*id, state.rocks.get(id)?.clone()))).collect(),
            edits: snapshot.edits.clone(),
            nodes: written.nodes.clone(),
        }
    }

    /// Puts together what all processes did, this one's own part among them; the snapshot that all of them tell.
    #[must_use]
    pub fn merge(&mut self, snapshot: Snapshot, parts: &[Part]) -> Snapshot {
        let mut parts: Vec<&Part> = parts.iter().collect();
        parts.sort_by_key(|part| part.rovers.first().map(|(rover, _)| rover.id));
        let given = given(&parts);
        let mut merged = Snapshot { edits: heights(&given), ..snapshot };
        let before = merged.terrain_sequence;
        let (model, state, _) = self.parts_mut();
        state.terrain_sequence = before + merged.edits.len() as u64;
        state.ruts.apply(&merged.edits);
        state.soil.apply(&memories(&given));
        for (told, of) in parts.iter().flat_map(|part| &part.rovers) {
            if let Ok(at) = merged.rovers.binary_search_by_key(&told.id, |rover| rover.id) {
                merged.rovers[at] = told.clone();
                state.rovers.insert(told.id, of.clone());
            }
        }
        // The first part that has a rock counts: the last written here.
        for (id, rock) in parts.iter().rev().flat_map(|part| &part.rocks) {
            if model.rocks().contains_key(id) {
                state.rocks.insert(*id, rock.clone());
            }
        }
        merged.loose_rocks = merged.loose_rocks.iter().map(|told| of_state(told, &state.rocks)).collect();
        let tiles = given.keys().map(|(tile, _)| *tile).collect();
        self.pack_foreign(tiles);
        merged
    }

    /// Rovers that nobody steps any more: they stand where they are.
    pub fn halt(&mut self, rovers: &BTreeSet<EntityId>) {
        let (_, state, _) = self.parts_mut();
        for (_, rover) in state.rovers.iter_mut().filter(|(id, _)| rovers.contains(id)) {
            rover.body.base_twist = selene_base::Twist::default();
            rover.body.joints.iter_mut().for_each(|[_, speed]| *speed = 0.0);
        }
    }
}

/// What is given to each node, by tile and node.
fn given(parts: &[&Part]) -> BTreeMap<(TileIndex, u16), Given> {
    let mut given: BTreeMap<(TileIndex, u16), Given> = BTreeMap::new();
    for part in parts {
        let mut own: BTreeMap<(TileIndex, u16), Given> = BTreeMap::new();
        for edit in part.edits.iter().filter(|edit| edit.is_sound()) {
            own.entry((edit.tile_index(), edit.node)).or_default().0 = Some(edit.height_m);
        }
        for node in &part.nodes {
            own.entry((node.tile, node.within)).or_default().1 = Some(node.memory);
        }
        for (at, new) in own {
            let known = given.entry(at).or_default();
            if comes_before(&new, known) {
                *known = new;
            }
        }
    }
    given
}

/// Whether a node becomes what `new` says and not what `known` says.
fn comes_before(new: &Given, known: &Given) -> bool {
    // Who only wrote the memory of a node left its height as it was: it lies higher than who pressed it.
    let height = |(height_m, _): &Given| height_m.unwrap_or(f32::INFINITY);
    let memory = |(_, memory): &Given| memory.map_or([u32::MAX; 4], |memory| memory.bits());
    height(new).total_cmp(&height(known)).then_with(|| memory(new).cmp(&memory(known))).is_lt()
}

fn heights(given: &BTreeMap<(TileIndex, u16), Given>) -> Vec<Edit> {
    let edit = |((tile, node), (height_m, _)): (&(TileIndex, u16), &Given)| {
        height_m.map(|height_m| Edit::new(*tile, usize::from(*node), height_m))
    };
    given.iter().filter_map(edit).collect()
}

fn memories(given: &BTreeMap<(TileIndex, u16), Given>) -> Vec<KnownNode> {
    let known = |((tile, within), (_, memory)): (&(TileIndex, u16), &Given)| {
        memory.map(|memory| KnownNode { tile: *tile, within: *within, memory })
    };
    given.iter().filter_map(known).collect()
}

fn of_state(told: &RockPose, rocks: &BTreeMap<u32, LooseRockState>) -> RockPose {
    RockPose { world_from_rock: rocks.get(&told.id).map_or(told.world_from_rock, |rock| rock.world_from_rock), ..*told }
}
