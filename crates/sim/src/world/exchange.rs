//! One world in several processes: each steps its own rovers, with the others as ghosts, and tells after every
//! heartbeat what it did: the states of its rovers and of the rocks that they touched, and the ground and the
//! soil's memory that they wrote. All then put the same parts together, whatever the order in which they came:
//!
//! - a rover is what its own process says;
//! - a node of the ground that several wrote has the lowest height that any of them gave it, since soil that
//!   was pressed does not rise again, and the print that goes with it; where heights are the same, the memory whose
//!   bits are least;
//! - a loose rock is what the process says in which it is fastest: who pushed it knows more than who only saw it;
//! - dust is what all their wheels threw, in order, as far as there is room for it;
//! - what a contact remembers is told by who steps one of the two; of two rovers each process keeps what its own
//!   remembers.
//!
//! Within a heartbeat a ghost goes on as it went, so rovers in different processes feel each other's motion a
//! heartbeat late. A rover that no process steps stands like an obstacle: others and rocks come to rest against it
//! or bounce off, and it does not move.
//!
//! Processes that do not wait for each other put together what has come by then ([`World::merge_free`]). A node
//! that this process wrote a little while ago then takes another's height only if that is lower: what the
//! other pressed is not raised again, though it was told late.

use std::collections::{BTreeMap, BTreeSet};

use selene_soil::{DustParcel, KnownNode, NodeMemory, WrittenMemory};
use selene_terrain::{Edit, Print, TileIndex};
use selene_vehicle::contact::{ContactMemory, LooseRockState, Party};
use serde::{Deserialize, Serialize};

use crate::world::entity::EntityId;
use crate::world::snapshot::{RockPose, RoverSnapshot, Snapshot};
use crate::world::state::RoverEntityState;
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
    /// What their contacts remember.
    pub contacts: ContactMemory,
    /// Ground that it changed.
    pub edits: Vec<Edit>,
    /// Soil memory that it wrote.
    pub memory: WrittenMemory,
    /// Dust that its rovers' wheels threw.
    pub dust: Vec<DustParcel>,
}

/// Which rovers a process steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The rovers that other processes step, or nobody: ghosts here.
    pub ghosts: BTreeSet<EntityId>,
    /// Those of them that nobody steps: they stand, and nothing moves them.
    pub standing: BTreeSet<EntityId>,
    /// Whether it steps rocks that roll where no rover is, or rovers that stand: one process does.
    pub leads: bool,
}

/// Who steps a rover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SteppedBy {
    This,
    Another,
    Nobody,
}

impl Share {
    pub(crate) fn steps(&self, rover: EntityId) -> SteppedBy {
        if self.standing.contains(&rover) {
            SteppedBy::Nobody
        } else if self.ghosts.contains(&rover) {
            SteppedBy::Another
        } else {
            SteppedBy::This
        }
    }
}

/// What a step did that others must be told.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) rocks: Vec<u32>,
    pub(crate) memory: WrittenMemory,
    pub(crate) thrown: Vec<DustParcel>,
}

/// A node of the ground: its tile, and its number there.
type At = (TileIndex, u16);

/// What some process gave a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Given {
    height_m: Option<f32>,
    /// What a wheel left there as it gave the height.
    print: Print,
    memory: Option<NodeMemory>,
}

/// A node that somebody wrote.
#[derive(Clone, Copy, Debug)]
struct GivenNode {
    at: At,
    given: Given,
    /// Whether this world has it already.
    is_here: bool,
}

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
        let mut part = Part {
            sequence: snapshot.sequence,
            rovers: snapshot.rovers.iter().filter(own).filter_map(rover).collect(),
            rocks: written.rocks.iter().filter_map(|id| Some((*id, state.rocks.get(id)?.clone()))).collect(),
            contacts: ContactMemory::default(),
            edits: snapshot.edits.clone(),
            memory: in_order(&written.memory),
            dust: written.thrown.clone(),
        };
        part.contacts = state.contacts.of(|party| part.has(party));
        part
    }

    /// Puts together what all processes did, this one's own part among them; the snapshot that all of them tell.
    #[must_use]
    pub fn merge(&mut self, snapshot: Snapshot, parts: &[Part]) -> Snapshot {
        let mut parts: Vec<&Part> = parts.iter().collect();
        parts.sort_by_key(|part| part.rovers.first().map(|(rover, _)| rover.id));
        let given = parts.iter().map(|part| given(part, self.is_own(part))).reduce(merged).unwrap_or_default();
        self.take_in(snapshot, &parts, &given)
    }

    /// Puts together what other processes did that did not wait for this one; the snapshot that is told then.
    /// `own` is what this process did now, `others` what came of each, in order; `recent` says of a node whether it wrote it a little while ago.
    #[must_use]
    pub fn merge_free(
        &mut self,
        snapshot: Snapshot,
        own: &Part,
        others: &[Part],
        recent: impl Fn(TileIndex, u16) -> bool,
    ) -> Snapshot {
        let others = latest(others);
        let theirs = others.iter().map(|part| given(part, false)).reduce(merged).unwrap_or_default();
        let parts: Vec<&Part> = others.iter().chain([own]).collect();
        let (ruts, of_own) = (&self.state().ruts, given(own, true));
        let stays = |node: &GivenNode| {
            let now_m = || ruts.of_tile(node.at.0).find(|(within, _)| *within == usize::from(node.at.1));
            recent(node.at.0, node.at.1)
                && now_m().is_some_and(|(_, now_m)| node.given.height_m.is_none_or(|height_m| height_m >= now_m))
        };
        let theirs = theirs.into_iter().filter(|node| !stays(node)).collect();
        self.take_in(snapshot, &parts, &merged(of_own, theirs))
    }

    /// Whether a part is what this process did.
    fn is_own(&self, part: &Part) -> bool {
        let is_ghost = |id: &EntityId| self.share().is_some_and(|share| share.ghosts.contains(id));
        part.rovers.first().is_some_and(|(rover, _)| !is_ghost(&rover.id))
    }

    fn take_in(&mut self, snapshot: Snapshot, parts: &[&Part], given: &[GivenNode]) -> Snapshot {
        let mut merged = Snapshot { edits: heights(given.iter()), ..snapshot };
        let before = merged.terrain_sequence;
        let (model, state, _) = self.parts_mut();
        state.terrain_sequence = before + merged.edits.len() as u64;
        let foreign = || given.iter().filter(|node| !node.is_here);
        state.ruts.apply(&heights(foreign()));
        state.soil.apply(&memories(foreign()));
        state.soil.apply_crumbs(&crumbs_m3(parts));
        for (told, of) in parts.iter().flat_map(|part| &part.rovers) {
            if let Ok(at) = merged.rovers.binary_search_by_key(&told.id, |rover| rover.id) {
                merged.rovers[at] = told.clone();
                state.rovers.insert(told.id, of.clone());
            }
        }
        for (id, rock) in rocks(parts).into_iter().filter(|(id, _)| model.rocks().contains_key(id)) {
            state.rocks.insert(id, rock.clone());
        }
        merged.loose_rocks = merged.loose_rocks.iter().map(|told| of_state(told, &state.rocks)).collect();
        state.dust.throw(parts.iter().flat_map(|part| part.dust.iter().copied()), model);
        merged.dust.clone_from(&state.dust.parcels);
        self.take_in_contacts(parts);
        let tiles = parts.iter().flat_map(|part| &part.memory.crumbs_m3).map(|(tile, _)| *tile).collect();
        self.pack_foreign(tiles);
        merged
    }

    /// What contacts remember: this process knows those of its own rovers and rocks best, then who comes first.
    fn take_in_contacts(&mut self, parts: &[&Part]) {
        let (mut known, others): (Vec<&Part>, Vec<&Part>) = parts.iter().copied().partition(|part| self.is_own(part));
        let (_, state, _) = self.parts_mut();
        for part in others {
            let is_known = |party: &Party| known.iter().any(|of| of.has(party));
            state.contacts.take_from(&part.contacts, |party| part.has(party), is_known);
            known.push(part);
        }
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

impl Part {
    /// Whether a party is a piece of one of its rovers, or a rock that it stepped.
    fn has(&self, party: &Party) -> bool {
        match party {
            Party::Wheel(id, _) | Party::Part(id, _) => {
                self.rovers.binary_search_by_key(&EntityId(*id), |(rover, _)| rover.id).is_ok()
            }
            Party::Rock(id) => self.rocks.binary_search_by_key(id, |(rock, _)| *rock).is_ok(),
            Party::FixedRock(_) | Party::Obstacle(..) => false,
        }
    }
}

/// What each process did in all: of several parts of one, which follow each other, the later values count.
fn latest(parts: &[Part]) -> Vec<Part> {
    let mut latest: BTreeMap<Option<EntityId>, Part> = BTreeMap::new();
    for part in parts {
        let first = part.rovers.first().map(|(rover, _)| rover.id);
        let so_far = latest.entry(first).or_default();
        so_far.sequence = part.sequence;
        so_far.rovers.clone_from(&part.rovers);
        so_far.rocks.retain(|(id, _)| part.rocks.iter().all(|(new, _)| new != id));
        so_far.rocks.extend(part.rocks.iter().cloned());
        so_far.rocks.sort_unstable_by_key(|(id, _)| *id);
        so_far.contacts.clone_from(&part.contacts);
        so_far.edits.extend(&part.edits);
        so_far.memory.nodes.extend(&part.memory.nodes);
        so_far.memory.crumbs_m3.retain(|(tile, _)| part.memory.crumbs_m3.iter().all(|(new, _)| new != tile));
        so_far.memory.crumbs_m3.extend(&part.memory.crumbs_m3);
        so_far.dust.extend(&part.dust);
    }
    latest.into_values().collect()
}

/// What a part gives to each node, in order; of several values for one node the last.
fn given(part: &Part, is_here: bool) -> Vec<GivenNode> {
    let height = |edit: &Edit| GivenNode {
        at: (edit.tile_index(), edit.node),
        given: Given { height_m: Some(edit.height_m), print: edit.print, memory: None },
        is_here,
    };
    let memory = |node: &KnownNode| GivenNode {
        at: (node.tile, node.within),
        given: Given { memory: Some(node.memory), ..Given::default() },
        is_here,
    };
    let edits = part.edits.iter().filter(|edit| edit.is_sound()).map(height);
    let mut all: Vec<_> = edits.chain(part.memory.nodes.iter().map(memory)).collect();
    // Both lists are in order already, so that this stable sort is one pass.
    all.sort_by_key(|node| node.at);
    all.dedup_by(|next, kept| {
        let is_same = next.at == kept.at;
        if is_same {
            if next.given.height_m.is_some() {
                (kept.given.height_m, kept.given.print) = (next.given.height_m, next.given.print);
            }
            kept.given.memory = next.given.memory.or(kept.given.memory);
        }
        is_same
    });
    all
}

/// What two processes, or some and another, gave to nodes; both lists are in order.
fn merged(ours: Vec<GivenNode>, theirs: Vec<GivenNode>) -> Vec<GivenNode> {
    let mut all = Vec::with_capacity(ours.len() + theirs.len());
    let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
    loop {
        let next = match (ours.peek(), theirs.peek()) {
            (Some(a), Some(b)) if a.at == b.at => {
                let both = of_both(a, b);
                theirs.next();
                ours.next().map(|_| both)
            }
            (Some(a), Some(b)) if b.at < a.at => theirs.next(),
            (Some(_), _) => ours.next(),
            (None, _) => theirs.next(),
        };
        match next {
            Some(node) => all.push(node),
            None => return all,
        }
    }
}

/// What becomes of a node that two wrote. Who only wrote its memory left its height as it was: it lies
/// higher than who pressed it.
fn of_both(a: &GivenNode, b: &GivenNode) -> GivenNode {
    let (first, other) = if comes_before(&b.given, &a.given) { (b, a) } else { (a, b) };
    let given = Given { memory: first.given.memory.or(other.given.memory), ..first.given };
    GivenNode { at: a.at, given, is_here: [a, b].into_iter().any(|node| node.is_here && node.given == given) }
}

/// Whether a node becomes what `new` says and not what `known` says.
fn comes_before(new: &Given, known: &Given) -> bool {
    let height = |given: &Given| given.height_m.unwrap_or(f32::INFINITY);
    let memory = |given: &Given| given.memory.map_or([u32::MAX; 4], |memory| memory.bits());
    let later = || memory(new).cmp(&memory(known)).then(new.print.cmp(&known.print));
    height(new).total_cmp(&height(known)).then_with(later).is_lt()
}

fn heights<'a>(given: impl Iterator<Item = &'a GivenNode>) -> Vec<Edit> {
    let edit = |GivenNode { at: (tile, node), given, .. }: &GivenNode| {
        given.height_m.map(|height_m| Edit::new(*tile, usize::from(*node), height_m).with_print(given.print))
    };
    given.filter_map(edit).collect()
}

fn memories<'a>(given: impl Iterator<Item = &'a GivenNode>) -> Vec<KnownNode> {
    let known = |GivenNode { at: (tile, within), given, .. }: &GivenNode| {
        given.memory.map(|memory| KnownNode { tile: *tile, within: *within, memory })
    };
    given.filter_map(known).collect()
}

/// In order of tile and node: groups, each of which is, come one after the other.
fn in_order(memory: &WrittenMemory) -> WrittenMemory {
    let mut memory = memory.clone();
    memory.nodes.sort_by_key(|node| (node.tile, node.within));
    memory.crumbs_m3.sort_by_key(|(tile, _)| *tile);
    memory
}

/// Crumbs of each tile that somebody wrote: the least that any of them has, where several wrote one.
fn crumbs_m3(parts: &[&Part]) -> Vec<(TileIndex, f64)> {
    let mut least: BTreeMap<TileIndex, f64> = BTreeMap::new();
    for (tile, m3) in parts.iter().flat_map(|part| &part.memory.crumbs_m3) {
        least.entry(*tile).and_modify(|known| *known = known.min(*m3)).or_insert(*m3);
    }
    least.into_iter().collect()
}

/// What becomes of each loose rock.
fn rocks<'a>(parts: &[&'a Part]) -> BTreeMap<u32, &'a LooseRockState> {
    // Where two are as fast, the place decides, and not whose rover comes first in the scenario.
    let rank = |rock: &LooseRockState| {
        let [x, y, z] = rock.world_from_rock.translation.vector.into();
        [rock.twist.linear.norm_squared(), rock.twist.angular.norm_squared(), x, y, z]
    };
    let mut chosen: BTreeMap<u32, &LooseRockState> = BTreeMap::new();
    for (id, rock) in parts.iter().flat_map(|part| &part.rocks) {
        let known = chosen.entry(*id).or_insert(rock);
        let order =
            rank(rock).iter().zip(rank(known)).map(|(new, old)| new.total_cmp(&old)).find(|order| order.is_ne());
        if order.is_some_and(std::cmp::Ordering::is_gt) {
            *known = rock;
        }
    }
    chosen
}

fn of_state(told: &RockPose, rocks: &BTreeMap<u32, LooseRockState>) -> RockPose {
    RockPose { world_from_rock: rocks.get(&told.id).map_or(told.world_from_rock, |rock| rock.world_from_rock), ..*told }
}
