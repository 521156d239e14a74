//! Shares one world among several processes. Each process steps its own rovers, with the others as ghosts, and after
//! every heartbeat publishes its part: the states of its rovers and of the rocks that they touched, and the ground and
//! the soil's memory that they wrote. All processes then merge the same parts, in whatever order the parts arrive:
//! - a rover's state is that of its own process;
//! - a node of the ground that several processes wrote gets the lowest height of them, since pressed soil does not
//!   rise again, and the print that goes with it; where the heights are equal, the memory with the smallest
//!   bits;
//! - a loose rock's state is that of the process in which it is fastest: a process that pushed it knows more than one
//!   that only saw it;
//! - dust is what all wheels threw, in order, as far as there is room for it;
//! - the memory of a contact comes from the process that steps one of the two bodies; of a contact of two rovers each
//!   process keeps its own memory.
//!
//! Within a heartbeat a ghost keeps its velocity, so rovers in different processes feel each other's motion one
//! heartbeat late. A rover that no process steps is an obstacle: others and rocks come to rest against it
//! or bounce off, and it does not move.
//!
//! Processes that do not wait for each other merge the parts that have arrived ([`World::merge_free`]). A node
//! that this process wrote recently then takes another process's height only if that is lower, so that late
//! parts never raise pressed soil again.

mod numbers;
mod packed;
mod readings;

use std::collections::{BTreeMap, BTreeSet};

use selene_soil::{DustParcel, KnownNode, NodeMemory, WrittenMemory};
use selene_terrain::{Edit, Print, TileIndex};
use selene_vehicle::contact::{Collider, ContactMemory, LooseRockState};
use serde::{Deserialize, Serialize};

pub use readings::RoverReadings;

use crate::world::entity::EntityId;
use crate::world::snapshot::{RockPose, RoverSnapshot, Snapshot};
use crate::world::state::RoverEntityState;
use crate::world::world::World;

/// The part of one process: what it did in a heartbeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Number of the heartbeat at the end of the step.
    pub sequence: u64,
    /// Its rovers, ascending by id.
    pub rovers: Vec<RoverPart>,
    /// Loose rocks that it stepped, ascending by id.
    pub rocks: Vec<(u32, LooseRockState)>,
    /// Memory of the contacts of its rovers and rocks.
    pub contacts: ContactMemory,
    /// Ground that it changed: sound edits, ascending by tile and node, one of a node.
    pub edits: Vec<Edit>,
    /// Soil memory that it wrote, ascending by tile and node.
    pub memory: WrittenMemory,
    /// Dust that its rovers' wheels threw.
    pub dust: Vec<DustParcel>,
}

/// A rover in a part: all from which its snapshot follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoverPart {
    /// Its id.
    pub id: EntityId,
    /// Its state at the end of the step.
    pub state: RoverEntityState,
    /// What the step found out besides.
    pub readings: RoverReadings,
}

/// A process's share of the world: which rovers it does not step, and whether it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessShare {
    /// Ghosts: rovers that other processes step, or that no process steps.
    pub ghosts: BTreeSet<EntityId>,
    /// Ghosts that no process steps: they stand still, and nothing moves them.
    pub standing: BTreeSet<EntityId>,
    /// Whether this process steps the rocks that roll near no rover or only near standing ones; one process does.
    pub leads: bool,
}

/// Which process steps a rover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SteppedBy {
    This,
    Another,
    Nobody,
}

impl ProcessShare {
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

/// Results of a step that other processes need, besides the snapshot.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) rocks: Vec<u32>,
    pub(crate) memory: WrittenMemory,
    pub(crate) thrown: Vec<DustParcel>,
}

/// A node of the ground: its tile, and its index in the tile.
type NodeAddress = (TileIndex, u16);

fn address(edit: &Edit) -> NodeAddress {
    (edit.tile_index(), edit.node)
}

/// What a process wrote to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct NodeWrite {
    height_m: Option<f32>,
    /// The print that a wheel left with this height.
    print: Print,
    memory: Option<NodeMemory>,
}

/// A node that a process wrote.
#[derive(Clone, Copy, Debug)]
struct GivenNode {
    at: NodeAddress,
    given: NodeWrite,
    /// Whether this world has it already.
    is_here: bool,
}

impl World {
    /// Sets which rovers other processes step; `None` for a world in one process.
    pub fn set_share(&mut self, share: Option<ProcessShare>) {
        *self.share_mut() = share;
    }

    /// The part of this process in the heartbeat that led to `snapshot`.
    #[must_use]
    pub fn part(&self, snapshot: &Snapshot) -> Part {
        let state = self.state();
        let own = |rover: &&RoverSnapshot| self.share().is_none_or(|share| !share.ghosts.contains(&rover.id));
        let rover = |rover: &RoverSnapshot| {
            let state = state.rovers.get(&rover.id)?.clone();
            Some(RoverPart { id: rover.id, state, readings: RoverReadings::of(rover) })
        };
        let written = self.written();
        let mut part = Part {
            sequence: snapshot.sequence,
            rovers: snapshot.rovers.iter().filter(own).filter_map(rover).collect(),
            rocks: written.rocks.iter().filter_map(|id| Some((*id, state.rocks.get(id)?.clone()))).collect(),
            contacts: ContactMemory::default(),
            edits: edits_in_order(&snapshot.edits),
            memory: memory_in_order(&written.memory),
            dust: written.thrown.clone(),
        };
        part.contacts = state.contacts.of(|party| part.has(party));
        part
    }

    /// Merges the parts of all processes, this one's among them; returns the snapshot, which is the same in all of
    /// them.
    #[must_use]
    pub fn merge(&mut self, snapshot: Snapshot, parts: &[Part]) -> Snapshot {
        let mut parts: Vec<&Part> = parts.iter().collect();
        parts.sort_by_key(|part| part.rovers.first().map(|rover| rover.id));
        let given = parts.iter().map(|part| given(part, self.is_own(part))).reduce(merged).unwrap_or_default();
        self.take_in(snapshot, &parts, &given)
    }

    /// Merges the parts of other processes that did not wait for this one; returns the merged snapshot. `own` is this
    /// process's current part, `others` are the parts that arrived, in order for each process; `recent` says whether
    /// this process wrote a node recently.
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

    /// Whether a part is that of this process.
    fn is_own(&self, part: &Part) -> bool {
        let is_ghost = |id: &EntityId| self.share().is_some_and(|share| share.ghosts.contains(id));
        part.rovers.first().is_some_and(|rover| !is_ghost(&rover.id))
    }

    fn take_in(&mut self, snapshot: Snapshot, parts: &[&Part], given: &[GivenNode]) -> Snapshot {
        let mut merged = Snapshot { edits: heights(given.iter()), ..snapshot };
        let before = merged.terrain_sequence;
        let foreign_parts: Vec<_> = parts.iter().filter(|part| !self.is_own(part)).collect();
        let (model, state, scratch) = self.parts_mut();
        state.terrain_sequence = before + merged.edits.len() as u64;
        let foreign = || given.iter().filter(|node| !node.is_here);
        state.ruts.apply(&heights(foreign()));
        state.soil.apply(&memories(foreign()));
        state.soil.apply_crumbs(&crumbs_m3(parts));
        for rover in foreign_parts.iter().flat_map(|part| &part.rovers) {
            if let Ok(at) = merged.rovers.binary_search_by_key(&rover.id, |known| known.id) {
                merged.rovers[at] = scratch.take_in(rover).unwrap_or_else(|| std::mem::take(&mut merged.rovers[at]));
                state.rovers.insert(rover.id, rover.state.clone());
            }
        }
        for (id, rock) in rocks(parts).into_iter().filter(|(id, _)| model.rocks().contains_key(id)) {
            state.rocks.insert(id, rock.clone());
        }
        merged.loose_rocks = merged.loose_rocks.iter().map(|reported| of_state(reported, &state.rocks)).collect();
        let thrown = parts.iter().flat_map(|part| part.dust.iter().copied());
        state.dust.throw(thrown, model, &mut state.granular);
        merged.dust.clone_from(&state.dust.parcels);
        self.take_in_contacts(parts);
        let tiles = parts.iter().flat_map(|part| &part.memory.crumbs_m3).map(|(tile, _)| *tile).collect();
        self.pack_foreign(tiles);
        merged
    }

    /// Merges the memories of contacts: first those of this process for its own rovers and rocks, then those of the
    /// other parts in order.
    fn take_in_contacts(&mut self, parts: &[&Part]) {
        let (mut known, others): (Vec<&Part>, Vec<&Part>) = parts.iter().copied().partition(|part| self.is_own(part));
        let (_, state, _) = self.parts_mut();
        for part in others {
            let is_known = |party: &Collider| known.iter().any(|of| of.has(party));
            state.contacts.take_from(&part.contacts, |party| part.has(party), is_known);
            known.push(part);
        }
    }

    /// Stops rovers that no process steps any more where they are.
    pub fn halt(&mut self, rovers: &BTreeSet<EntityId>) {
        let (_, state, _) = self.parts_mut();
        for (_, rover) in state.rovers.iter_mut().filter(|(id, _)| rovers.contains(id)) {
            rover.body.base_twist = selene_base::Twist::default();
            rover.body.joints.iter_mut().for_each(|[_, speed]| *speed = 0.0);
        }
    }
}

impl Part {
    /// Whether a contact party belongs to one of its rovers, or is a rock that it stepped.
    fn has(&self, party: &Collider) -> bool {
        match party {
            Collider::Wheel(id, _) | Collider::Part(id, _) => {
                self.rovers.binary_search_by_key(&EntityId(*id), |rover| rover.id).is_ok()
            }
            Collider::Rock(id) => self.rocks.binary_search_by_key(id, |(rock, _)| *rock).is_ok(),
            Collider::FixedRock(_) | Collider::Obstacle(..) => false,
        }
    }
}

/// The parts of each process joined into one; of several values for the same thing the last one counts.
fn latest(parts: &[Part]) -> Vec<Part> {
    let mut latest: BTreeMap<Option<EntityId>, Part> = BTreeMap::new();
    for part in parts {
        let first = part.rovers.first().map(|rover| rover.id);
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

/// What a part wrote to each node, in order; of several values for one node the last.
fn given(part: &Part, is_here: bool) -> Vec<GivenNode> {
    let height = |edit: &Edit| GivenNode {
        at: address(edit),
        given: NodeWrite { height_m: Some(edit.height_m), print: edit.print, memory: None },
        is_here,
    };
    let memory = |node: &KnownNode| GivenNode {
        at: (node.tile, node.within),
        given: NodeWrite { memory: Some(node.memory), ..NodeWrite::default() },
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

/// Merges two lists of nodes, both of which are in order.
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

/// Merges one node that two processes wrote. A process that wrote only the node's memory left its height as it
/// was, which counts as higher than a pressed one.
fn of_both(a: &GivenNode, b: &GivenNode) -> GivenNode {
    let (first, other) = if comes_before(&b.given, &a.given) { (b, a) } else { (a, b) };
    let given = NodeWrite { memory: first.given.memory.or(other.given.memory), ..first.given };
    GivenNode { at: a.at, given, is_here: [a, b].into_iter().any(|node| node.is_here && node.given == given) }
}

/// Whether a node takes the values of `new` rather than those of `known`.
fn comes_before(new: &NodeWrite, known: &NodeWrite) -> bool {
    let height = |given: &NodeWrite| given.height_m.unwrap_or(f32::INFINITY);
    let memory = |given: &NodeWrite| given.memory.map_or([u32::MAX; 4], |memory| memory.bits());
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

/// The sound edits, sorted by tile and node; of several of a node the last.
fn edits_in_order(edits: &[Edit]) -> Vec<Edit> {
    let mut edits: Vec<_> = edits.iter().copied().filter(Edit::is_sound).collect();
    edits.sort_by_key(address);
    edits.dedup_by(|next, kept| {
        let is_same = address(next) == address(kept);
        if is_same {
            *kept = *next;
        }
        is_same
    });
    edits
}

/// Sorts memory by tile and node: it is a sequence of groups, each of which is sorted.
fn memory_in_order(memory: &WrittenMemory) -> WrittenMemory {
    let mut memory = memory.clone();
    memory.nodes.sort_by_key(|node| (node.tile, node.within));
    memory.crumbs_m3.sort_by_key(|(tile, _)| *tile);
    memory
}

/// Volume of crumbs of each tile that a process wrote, m³; the smallest if several wrote the tile.
fn crumbs_m3(parts: &[&Part]) -> Vec<(TileIndex, f64)> {
    let mut least: BTreeMap<TileIndex, f64> = BTreeMap::new();
    for (tile, m3) in parts.iter().flat_map(|part| &part.memory.crumbs_m3) {
        least.entry(*tile).and_modify(|known| *known = known.min(*m3)).or_insert(*m3);
    }
    least.into_iter().collect()
}

/// The state of each loose rock from the process in which it is fastest.
fn rocks<'a>(parts: &[&'a Part]) -> BTreeMap<u32, &'a LooseRockState> {
    // Where two are equally fast, the position decides, not the order of rovers in the scenario.
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

fn of_state(reported: &RockPose, rocks: &BTreeMap<u32, LooseRockState>) -> RockPose {
    RockPose {
        world_from_rock: rocks.get(&reported.id).map_or(reported.world_from_rock, |rock| rock.world_from_rock),
        ..*reported
    }
}

#[cfg(test)]
mod tests {
    use selene_base::Pose;
    use selene_terrain::Print;

    use super::*;

    const TILE: TileIndex = TileIndex { row: 3, column: -2 };

    /// A node of one height, with this print, as one part gives it.
    fn pressed(print: Print, is_here: bool) -> GivenNode {
        GivenNode { at: (TILE, 7), given: NodeWrite { height_m: Some(-0.02), print, memory: None }, is_here }
    }

    #[test]
    fn edits_of_a_part_are_sound_in_order_and_one_of_a_node() {
        let edit = |node: usize, height_m: f32| Edit::new(TILE, node, height_m);
        let north = Edit::new(TileIndex { row: 4, ..TILE }, 2, 0.5);
        let given = [north, edit(9, 0.1), edit(7, 0.2), edit(9, 0.3), edit(9, f32::NAN), edit(8, f32::INFINITY)];
        assert_eq!(edits_in_order(&given), [edit(7, 0.2), edit(9, 0.3), north]);
    }

    #[test]
    fn of_equal_heights_and_memories_the_print_decides_whoever_comes_first() {
        let [one, other] = [0.4, 2.0].map(|heading_rad| Print::of_grousers(heading_rad, 0.0, 0.05));
        assert_ne!(one, other);
        for [a, b] in [[one, other], [one, Print::NONE]] {
            let of = |a, b| of_both(&pressed(a, true), &pressed(b, false));
            let (first, second) = (of(a, b), of(b, a));
            assert_eq!(first.given, second.given);
            assert!(first.given.print == a || first.given.print == b);
            // It counts as written here only where the part of this process counts.
            assert_eq!([first.is_here, second.is_here], [first.given.print == a, second.given.print == b]);
        }
    }

    #[test]
    fn of_a_tiles_crumbs_the_least_and_of_a_rock_the_fastest_count_whoever_comes_first() {
        let part = |m3: f64, speed_m_s: f64| {
            let mut rock = LooseRockState::at_rest(Pose::identity());
            rock.twist.linear.x = speed_m_s;
            let memory = WrittenMemory { crumbs_m3: vec![(TILE, m3)], ..WrittenMemory::default() };
            Part { memory, rocks: vec![(5, rock)], ..Part::default() }
        };
        let [slow, fast] = [part(1e-4, 0.1), part(3e-4, 0.2)];
        for parts in [[&slow, &fast], [&fast, &slow]] {
            assert_eq!(crumbs_m3(&parts), [(TILE, 1e-4)]);
            assert_eq!(rocks(&parts)[&5].twist.linear.x, 0.2);
        }
    }
}
