//! One heartbeat of a world, in a fixed order: commands become targets of joints; rovers, rocks and
//! objects that may meet form groups, by the tiles of ground that each may touch; the groups
//! are stepped in parallel; their results are merged; the clock advances.
//!
//! A step is a pure function of model, state and commands. Groups share nothing, so that neither the
//! number of threads nor the division into groups changes a bit.

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::Vector3;
use rayon::prelude::*;
use selene_base::SimTime;
use selene_soil::{GranularError, LooseSoil, WindowState, WrittenMemory};
use selene_terrain::{Edit, Node, TileIndex, TileRect};
use selene_vehicle::contact::Collider;
use selene_vehicle::{BodyTwist, Rover, VehicleError};

use crate::driving::Command;
use crate::world::dust::ThrownDust;
use crate::world::entity::{Entity, EntityId};
use crate::world::exchange::{ProcessShare, RoverPart, RoverReadings, SteppedBy, Written};
use crate::world::granular::{self, GroupWindow, SoilSolvers};
use crate::world::group::{Group, GroupScratch, Members, RoverScratch};
use crate::world::model::{Model, RoverKind};
use crate::world::prefetch::Prefetch;
use crate::world::remember::SensedBodies;
use crate::world::snapshot::{LinkLoad, ObjectPose, RockPose, RoverSnapshot, Snapshot, WheelTruth};
use crate::world::state::{RoverEntityState, State};

/// Minimum distance of a rover from the ground's border, m.
pub(crate) const BORDER_M: f64 = 2.0;
/// Margin around everything that a rover or rock may touch at its present place, m: it moves within a heartbeat.
const MARGIN_M: f64 = 0.25;
/// Maximum overlap of bodies at a start, m: contacts push bodies apart from it without harm.
const OVERLAP_MAX_M: f64 = 0.005;
/// Speed below which a wheel is at rest and has no slip, m/s: the ratio of two residual speeds means nothing.
const REST_M_S: f64 = 1e-6;
/// Distance from the middle of the windows of detail around a rover, in their steps, at which the windows move.
const WINDOW_STEPS: f64 = 1.0;

/// Why the world cannot be stepped.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A rover cannot be built.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// A rover left the ground.
    #[error(
        "at {time} rover {rover} is at ({x_m:.1}, {y_m:.1}) m, within {BORDER_M} m of the border of the site's ground; make `side_m` of the last of the site's `levels` larger or keep the route inside"
    )]
    LeftSite {
        /// Name of the rover.
        rover: String,
        /// Simulated time.
        time: SimTime,
        /// Map x, m.
        x_m: f64,
        /// Map y, m.
        y_m: f64,
    },
    /// The scenario's kernels do not cover the time.
    #[error(transparent)]
    Sky(#[from] selene_sky::KernelError),
    /// The state is no longer finite.
    #[error("at {time} the state of {what} is no longer finite; a smaller `step_s` or less stiff suspension may help")]
    NotFinite {
        /// The rover or rock.
        what: String,
        /// Simulated time.
        time: SimTime,
    },
    /// The granular soil cannot be stepped.
    #[error("at {time}: {source}")]
    Granular {
        /// Why.
        source: GranularError,
        /// Simulated time.
        time: SimTime,
    },
    /// Two bodies overlap at the start.
    #[error("{first} starts {depth_m:.3} m inside {second}; start it elsewhere, or higher by `z_m`")]
    Inside {
        /// One of the bodies.
        first: String,
        /// The other body.
        second: String,
        /// Depth of the overlap, m.
        depth_m: f64,
    },
}

/// Working memory of a world. It does not affect results and can be replaced by a new one at any time, unless points of
/// granular soil are on a device: the new one would not know them.
#[derive(Debug, Default)]
pub struct Scratch {
    rovers: BTreeMap<EntityId, RoverScratch>,
    groups: Vec<GroupScratch>,
    pub(crate) soil_solvers: SoilSolvers,
    prefetch: Prefetch,
    pub(crate) written: Written,
    /// Tiles that are unpacked because other processes wrote them.
    foreign: BTreeSet<TileIndex>,
    /// Copies of granular windows from before a heartbeat.
    windows_before: BTreeMap<u32, WindowState>,
    /// Whether the device of granular soil failed: the CPU steps it from then on.
    soil_device_failed: bool,
}

/// Inputs of a heartbeat besides model and state.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Commands that arrived since the last heartbeat, in order.
    pub commands: &'a [(EntityId, Command)],
    /// The rovers that other processes step; `None` if this process steps all.
    pub share: Option<&'a ProcessShare>,
}

impl Inputs<'_> {
    /// No commands, and all rovers are stepped here.
    pub const NONE: Inputs<'static> = Inputs { commands: &[], share: None };
}

impl WorldError {
    /// Whether the device of granular soil failed, so that the CPU can do the same work.
    fn is_of_soil_device(&self) -> bool {
        matches!(self, Self::Granular { source, .. } if source.is_of_device())
    }
}

impl Model {
    /// Steps one heartbeat and takes a snapshot.
    ///
    /// # Errors
    /// When a rover leaves the ground, a state is no longer finite, granular soil cannot be stepped or the scenario's
    /// kernels end. The state is then consistent and at the point of the error: if granular soil cannot be stepped, it
    /// is the one before the step, with its commands taken and the dust landed that was due. If a device failed that
    /// had points of soil, they are lost, and the world cannot go on.
    pub fn step(&self, state: &mut State, inputs: &Inputs, scratch: &mut Scratch) -> Result<Snapshot, WorldError> {
        for (rover, command) in inputs.commands {
            self.take(state, *rover, command);
        }
        self.prepare(state, scratch)?;
        let before = self.sensed_bodies(state, scratch);
        state.dust.land(state.time, self, &mut state.granular);
        let edits = match self.advance(state, inputs, scratch) {
            Err(error) if error.is_of_soil_device() && !scratch.soil_device_failed => {
                tracing::warn!("{error}; the CPU steps granular soil from here on");
                scratch.soil_device_failed = true;
                scratch.soil_solvers.clear();
                self.prepare(state, scratch)?;
                self.advance(state, inputs, scratch)?
            }
            advanced => advanced?,
        };
        state.time += self.scenario().heartbeat;
        state.sequence += 1;
        self.check(state)?;
        self.move_windows(state);
        scratch.prefetch.look_ahead(self, state);
        let mut snapshot = self.snapshot(state, scratch, edits, inputs.share.is_some())?;
        self.remember_step(state, &before, &mut snapshot);
        Ok(snapshot)
    }

    /// Gives a rover a command, if it exists.
    pub(crate) fn take(&self, state: &mut State, rover: EntityId, command: &Command) -> bool {
        let (Some(kind), Some(of)) = (self.rovers().get(&rover), state.rovers.get_mut(&rover)) else { return false };
        kind.driver.take(&mut of.driver, command, state.time);
        true
    }

    /// Bodies of rovers that carry sensors of their own body, before a step.
    fn sensed_bodies(&self, state: &State, scratch: &Scratch) -> SensedBodies {
        let is_sensed = |id: &EntityId| self.rovers().get(id).is_some_and(|kind| !kind.body_sensors.is_empty());
        let at_hand = scratch.rovers.iter().filter(|(id, _)| is_sensed(id));
        SensedBodies::new(state, at_hand.map(|(id, at_hand)| (*id, &at_hand.rover)))
    }

    /// The snapshot of a state before any step: there are no forces yet.
    ///
    /// # Errors
    /// When a rover cannot be built or the scenario's kernels do not cover the time.
    pub fn first_snapshot(
        &self,
        state: &mut State,
        scratch: &mut Scratch,
        edits: Vec<Edit>,
    ) -> Result<Snapshot, WorldError> {
        // Results of an earlier step in the working memory do not belong to this state.
        scratch.rovers.clear();
        self.prepare(state, scratch)?;
        self.snapshot(state, scratch, edits, false)
    }

    /// Brings the working memory of every rover to its state, and gives it its targets.
    fn prepare(&self, state: &mut State, scratch: &mut Scratch) -> Result<(), WorldError> {
        scratch.soil_solvers.use_device(self.soil_device().filter(|_| !scratch.soil_device_failed));
        scratch.rovers.retain(|id, _| state.rovers.contains_key(id));
        for (id, of) in &mut state.rovers {
            let Some(kind) = self.rovers().get(id) else { continue };
            let at_hand = match scratch.rovers.entry(*id) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => {
                    let pose = of.body.world_from_base;
                    let dt_s = self.conditions().dt_s;
                    let mut rover = Rover::new(kind.model(), pose, self.gravity_m_s2(), dt_s)?;
                    if !kind.loaded_links.is_empty() {
                        rover.find_joint_loads();
                    }
                    free.insert(RoverScratch::new(rover))
                }
            };
            at_hand.rover.set_state(&of.body);
            at_hand.before_m_s = at_hand.rover.base_twist().linear;
            at_hand.targets = targets(kind, of, &at_hand.rover, state.time);
        }
        Ok(())
    }

    /// Makes all steps of a heartbeat, group by group; returns the edits of the ground. On an error the state is that
    /// from before: groups that did not fail would be ahead of the one that did.
    fn advance(&self, state: &mut State, inputs: &Inputs, scratch: &mut Scratch) -> Result<Vec<Edit>, WorldError> {
        let steps = (self.scenario().heartbeat / self.scenario().step) as usize;
        let mut members = self.groups(state);
        members.retain(|of| inputs.share.is_none_or(|share| is_stepped_here(of, share)));
        if members.iter().all(|of| of.windows.is_empty()) {
            return self.advance_groups(&members, steps, state, inputs, scratch);
        }
        // The pool's threads step granular soil. From outside of the pool each exchange would wake one of them and wait to
        // be woken, which took a tenth of the time of a rover on points.
        rayon::scope(|_| self.advance_groups(&members, steps, state, inputs, scratch))
    }

    fn advance_groups(
        &self,
        members: &[Members],
        steps: usize,
        state: &mut State,
        inputs: &Inputs,
        scratch: &mut Scratch,
    ) -> Result<Vec<Edit>, WorldError> {
        let Scratch { rovers, groups: spare, soil_solvers, written, windows_before, .. } = scratch;
        let mut used = Vec::new();
        let (share, shared) = (inputs.share, inputs.share.is_some());
        // A group without granular soil cannot fail.
        let before = members.iter().any(|of| !of.windows.is_empty()).then(|| copied(state, windows_before));
        let mut groups: Vec<_> =
            members.iter().map(|of| Group::take(self, state, of, rovers, share, soil_solvers, spare)).collect();
        let ran: Vec<_> = match &mut groups[..] {
            [alone] => vec![alone.run(self, steps, shared)],
            several => several.par_iter_mut().map(|group| group.run(self, steps, shared)).collect(),
        };
        let mut thrown = ThrownDust::default();
        let beat = (state.sequence, state.time + self.scenario().heartbeat);
        let threw = groups.iter_mut().map(|group| group.throw_dust(self, beat, &mut thrown));
        if let Some(failed) = ran.into_iter().chain(threw).find_map(Result::err) {
            let windows = groups.into_iter().flat_map(Group::into_windows);
            let lost = before.and_then(|before| go_back(state, before, windows_before, windows));
            let source = lost.filter(|_| failed.is_of_device()).unwrap_or(failed);
            return Err(WorldError::Granular { source, time: state.time });
        }
        let (mut edits, mut memory) = (Vec::new(), WrittenMemory::default());
        for mut group in groups {
            edits.append(&mut group.edits);
            memory.nodes.append(&mut group.memory.nodes);
            memory.crumbs_m3.append(&mut group.memory.crumbs_m3);
            group.give_back(state, rovers, soil_solvers, &mut used);
        }
        let thrown = thrown.landed(self, &state.ruts);
        if shared {
            // The dust is added to the state with that of the other processes, when the parts are merged.
            let mut rocks: Vec<_> = members.iter().flat_map(|of| of.rocks.iter().copied()).collect();
            rocks.sort_unstable();
            *written = Written { rocks, memory, thrown };
        } else {
            state.dust.throw(thrown, self, &mut state.granular);
        }
        self.pack_what_is_left(state, members, spare);
        *spare = used;
        edits.sort_by_key(|edit| (edit.tile_index(), edit.node));
        Ok(edits)
    }

    /// Packs the tiles that groups left.
    fn pack_what_is_left(&self, state: &mut State, members: &[Members], left: &[GroupScratch]) {
        for tile in left.iter().flat_map(GroupScratch::tiles) {
            if !members.iter().any(|of| of.tiles.contains(tile)) {
                state.ruts.pack(*tile);
                state.soil.pack(*tile);
            }
        }
    }

    /// The groups of members that may meet within a heartbeat: those whose tiles overlap.
    pub(crate) fn groups(&self, state: &State) -> Vec<Members> {
        let mut groups: Vec<Members> = Vec::new();
        for (&id, of) in &state.rovers {
            let Some(kind) = self.rovers().get(&id) else { continue };
            let tiles = self.tiles_around(of.body.world_from_base.translation.vector, kind.reach_m);
            join(&mut groups, Members { rovers: vec![id], tiles: tiles.tiles().collect(), ..Members::default() });
        }
        let rock_tiles = |id: &u32| {
            let (rock, inertia) = (state.rocks.get(id)?, self.rocks().get(id)?);
            Some(self.tiles_around(rock.world_from_rock.translation.vector, inertia.reach_m()))
        };
        for (&id, _) in state.rocks.iter().filter(|(_, rock)| !rock.asleep()) {
            let Some(tiles) = rock_tiles(&id) else { continue };
            join(&mut groups, Members { rocks: vec![id], tiles: tiles.tiles().collect(), ..Members::default() });
        }
        for (&id, of) in &state.granular {
            let Some(window) = self.windows().get(id as usize) else { continue };
            let tiles: BTreeSet<_> = window.tiles().tiles().collect();
            if of.is_flowing() || groups.iter().any(|group| !group.tiles.is_disjoint(&tiles)) {
                join(&mut groups, Members { windows: vec![id], tiles, ..Members::default() });
            }
        }
        for (&id, _) in state.rocks.iter().filter(|(_, rock)| rock.asleep()) {
            let Some(tiles) = rock_tiles(&id) else { continue };
            let near = |group: &&mut Members| tiles.tiles().any(|tile| group.tiles.contains(&tile));
            let tiles = tiles.tiles().collect();
            if groups.iter_mut().any(|mut group| near(&mut group)) {
                join(&mut groups, Members { rocks: vec![id], tiles, ..Members::default() });
            }
        }
        for id in &state.objects {
            let Some(object) = self.objects().get(id) else { continue };
            let tiles = self.tiles_around(object.world_from_object.translation.vector, object.reach_m);
            for group in groups.iter_mut().filter(|group| tiles.tiles().any(|tile| group.tiles.contains(&tile))) {
                group.objects.push(*id);
            }
        }
        for group in &mut groups {
            group.rocks.sort_unstable();
            group.windows.sort_unstable();
        }
        groups
    }

    /// The tiles within reach of a place.
    fn tiles_around(&self, at_m: Vector3<f64>, reach_m: f64) -> TileRect {
        let [origin_x, origin_y] = self.terrain().origin_m();
        let reach_m = reach_m + MARGIN_M;
        let node = |x: f64, y: f64| {
            let cell = |m: f64, origin_m: f64| ((m - origin_m) / self.terrain().spacing_m()).floor() as i32;
            Node { column: cell(x, origin_x), row: cell(y, origin_y) }
        };
        TileRect::of_nodes(node(at_m.x - reach_m, at_m.y - reach_m), node(at_m.x + reach_m, at_m.y + reach_m))
    }

    pub(crate) fn check(&self, state: &State) -> Result<(), WorldError> {
        let time = state.time;
        let site_reach_m = 0.5 * self.scenario().site.side_m() - BORDER_M;
        for (id, of) in &state.rovers {
            let name = || self.rovers().get(id).map_or_else(|| id.to_string(), |kind| kind.setup().name.clone());
            if !of.body.is_finite() {
                return Err(WorldError::NotFinite { what: format!("rover {}", name()), time });
            }
            let at = of.body.world_from_base.translation;
            let is_on_site = at.x.abs() < site_reach_m && at.y.abs() < site_reach_m;
            let is_on_ground = self.terrain().reaches(at.x, at.y, BORDER_M);
            if !is_on_ground || (self.scenario().end_at_site_border && !is_on_site) {
                return Err(WorldError::LeftSite { rover: name(), time, x_m: at.x, y_m: at.y });
            }
        }
        match state.rocks.iter().find(|(_, rock)| !rock.is_finite()) {
            Some((id, _)) => Err(WorldError::NotFinite { what: format!("rock {id}"), time }),
            None => Ok(()),
        }
    }

    /// Moves the windows of detail around each rover when it is a step away from their middle.
    fn move_windows(&self, state: &mut State) {
        let Some(plan) = self.terrain().plan() else { return };
        for of in state.rovers.values_mut() {
            let at = of.body.world_from_base.translation;
            let from_middle = [at.x, at.y].into_iter().zip(of.clipmap_centre);
            let is_far = |(m, middle): (f64, i32)| (m / plan.step_m() - f64::from(middle)).abs() >= WINDOW_STEPS;
            let next = plan.centre_of(at.x, at.y);
            if from_middle.into_iter().any(is_far) && plan.has(next) {
                of.clipmap_centre = next;
            }
        }
    }

    /// The snapshot of a state. If other processes share the world, it has what they get.
    fn snapshot(
        &self,
        state: &mut State,
        scratch: &mut Scratch,
        edits: Vec<Edit>,
        is_shared: bool,
    ) -> Result<Snapshot, WorldError> {
        let terrain_sequence = state.terrain_sequence;
        state.terrain_sequence += edits.len() as u64;
        let heartbeat_s = self.scenario().heartbeat.secs_f64();
        let time = state.time;
        let failed = |source: GranularError| WorldError::Granular { source: source.with_points_lost(), time };
        let Scratch { rovers: at_hand, soil_solvers, .. } = scratch;
        let loose_soil = self.loose_soil(state, soil_solvers).map_err(failed)?;
        let rover = |(id, of): (&EntityId, &RoverEntityState)| {
            let (kind, at_hand) = (self.rovers().get(id)?, at_hand.get(id)?);
            let loads_kg = granular::drum_loads_kg(self, &state.granular, soil_solvers, (*id, kind));
            Some(loads_kg.map(|drum_loads_kg| {
                let readings = RoverReadings { drum_loads_kg, ..readings(kind, at_hand, heartbeat_s) };
                let readings = if is_shared { readings.rounded() } else { readings };
                rover_snapshot(*id, of, &at_hand.rover, readings)
            }))
        };
        let rovers = state.rovers.iter().filter_map(rover).collect::<Result<_, _>>().map_err(failed)?;
        let object =
            |id: &EntityId| Some(ObjectPose { id: *id, world_from_object: self.objects().get(id)?.world_from_object });
        let rock = |(id, rock): (&u32, &selene_vehicle::contact::LooseRockState)| {
            let inertia = self.rocks().get(id)?;
            let (shape, radius_m) = (inertia.shape as u32, inertia.radius_m);
            Some(RockPose { id: *id, shape, radius_m, world_from_rock: rock.world_from_rock })
        };
        Ok(Snapshot {
            time: state.time,
            sequence: state.sequence,
            // The world counts resets, not the state.
            epoch: 0,
            terrain_sequence,
            entities_version: state.entities_version,
            rovers,
            objects: state.objects.iter().filter_map(object).collect(),
            loose_rocks: state.rocks.iter().filter_map(rock).collect(),
            dust: state.dust.parcels.clone(),
            loose_soil,
            edits,
            sky_offset: state.sky_offset,
            sun_direction: self.scenario().sun(state.time + state.sky_offset)?.unit_enu,
        })
    }

    /// Loose points of the granular windows whose soil is drawn as grains.
    fn loose_soil(&self, state: &State, solvers: &mut SoilSolvers) -> Result<Vec<LooseSoil>, GranularError> {
        let of_window = |(id, of): (&u32, &WindowState)| {
            let window = self.windows().get(*id as usize).filter(|window| window.shows_grains())?;
            let loose = window.loose_points(of, solvers.of(*id));
            Some(loose.map(|points| LooseSoil { window: *id, points }))
        };
        let all = state.granular.iter().filter_map(of_window);
        all.filter(|loose| loose.as_ref().map_or(true, |loose| !loose.points.is_empty())).collect()
    }

    /// Refuses a state in which one of `those` and another body overlap by more than
    /// `OVERLAP_MAX_M`.
    pub(crate) fn refuse_overlaps(
        &self,
        state: &mut State,
        scratch: &mut Scratch,
        those: impl Fn(&Collider) -> bool,
    ) -> Result<(), WorldError> {
        self.prepare(state, scratch)?;
        let mut copy = state.clone();
        for members in self.groups(state) {
            let Scratch { rovers, groups, .. } = &mut *scratch;
            // No soil is stepped here: the solvers stay with the state.
            let mut solvers = SoilSolvers::default();
            let mut group = Group::take(self, &mut copy, &members, rovers, None, &mut solvers, groups);
            let deepest = group.deepest_overlap(self, &those);
            group.give_back(&mut copy, rovers, &mut solvers, groups);
            if let Some((parties, depth_m)) = deepest.filter(|(_, depth_m)| *depth_m > OVERLAP_MAX_M) {
                let [first, second] = parties.map(|party| self.name_of(&party));
                return Err(WorldError::Inside { first, second, depth_m });
            }
        }
        Ok(())
    }
}

/// A copy of a state without its granular windows, which are copied into the existing memory of `windows`.
fn copied(state: &mut State, windows: &mut BTreeMap<u32, WindowState>) -> State {
    windows.retain(|id, _| state.granular.contains_key(id));
    for id in state.granular.keys() {
        windows.entry(*id).or_default();
    }
    let copies = windows.values_mut().zip(state.granular.values_mut()).collect::<Vec<_>>();
    copies.into_par_iter().for_each(|(copy, of)| of.copy_to(copy));
    let granular = std::mem::take(&mut state.granular);
    let copy = state.clone();
    state.granular = granular;
    copy
}

/// Puts a state back to what it was before a heartbeat that failed. `windows` are those that were stepped in it. Returns
/// the error of the first whose points are lost.
fn go_back(
    state: &mut State,
    before: State,
    windows_before: &mut BTreeMap<u32, WindowState>,
    windows: impl Iterator<Item = GroupWindow>,
) -> Option<GranularError> {
    *state = State { granular: std::mem::take(windows_before), ..before };
    let mut failed = |mut window: GroupWindow| window.go_back(state.granular.get_mut(&window.id)?).err();
    // All of them, also after one that is lost.
    windows.fold(None, |first, window| {
        let lost = failed(window);
        first.or(lost)
    })
}

/// Whether this process steps a group: one with a rover of its own, or, if this process leads, one with rocks or
/// windows and without a rover that any process steps.
fn is_stepped_here(of: &Members, share: &ProcessShare) -> bool {
    let mut stepped = of.rovers.iter().map(|id| share.steps(*id)).filter(|by| *by != SteppedBy::Nobody).peekable();
    if stepped.peek().is_none() {
        return share.leads && !(of.rocks.is_empty() && of.windows.is_empty());
    }
    stepped.any(|by| by == SteppedBy::This)
}

impl Scratch {
    /// Working memory without threads of its own, for many worlds in one process: ground is made when a wheel reaches
    /// it and not ahead.
    #[must_use]
    pub fn without_prefetch() -> Self {
        Self { prefetch: Prefetch::off(), ..Self::default() }
    }

    /// Brings the working memory of another process's rover to its state; returns its snapshot. `None` for a rover that
    /// this world has never stepped.
    pub(crate) fn take_in(&mut self, RoverPart { id, state, readings }: &RoverPart) -> Option<RoverSnapshot> {
        let rover = &mut self.rovers.get_mut(id)?.rover;
        rover.set_state(&state.body);
        Some(rover_snapshot(*id, state, rover, readings.clone()))
    }

    /// Forgets the rovers: from now on their ids may be those of others.
    pub(crate) fn forget_rovers(&mut self) {
        self.rovers.clear();
    }

    /// Forgets the entity with this id, which may be that of another one now.
    pub(crate) fn forget(&mut self, entity: Entity) {
        if let Entity::Rover(id) = entity {
            self.rovers.remove(&id);
        }
    }

    /// Packs tiles that other processes wrote before and do not write now, unless a group here has them.
    pub(crate) fn pack_foreign(&mut self, state: &mut State, now: BTreeSet<TileIndex>) {
        let is_here = |tile: &TileIndex| self.groups.iter().flat_map(GroupScratch::tiles).any(|own| own == tile);
        for tile in self.foreign.difference(&now).filter(|tile| !is_here(tile)) {
            state.ruts.pack(*tile);
            state.soil.pack(*tile);
        }
        self.foreign = now;
    }
}

/// Targets of a rover's joints for the next heartbeat.
fn targets(kind: &RoverKind, of: &mut RoverEntityState, rover: &Rover, now: SimTime) -> selene_vehicle::Targets {
    let undriven = match kind.follower.as_ref().filter(|_| !of.driver.has_driven()) {
        Some(route) => route.command(&mut of.route, &rover.world_from_base()),
        None => BodyTwist::REST,
    };
    kind.driver.targets(&mut of.driver, now, &rover.joint_states(), undriven)
}

/// Adds members to the group whose tiles they share; several such groups become one.
fn join(groups: &mut Vec<Members>, mut new: Members) {
    let meets = |group: &Members| new.tiles.iter().any(|tile: &TileIndex| group.tiles.contains(tile));
    let (met, apart): (Vec<_>, Vec<_>) = std::mem::take(groups).into_iter().partition(|group| meets(group));
    for Members { mut rovers, mut rocks, mut objects, mut windows, mut tiles } in met {
        new.rovers.append(&mut rovers);
        new.rocks.append(&mut rocks);
        new.objects.append(&mut objects);
        new.windows.append(&mut windows);
        new.tiles.append(&mut tiles);
    }
    *groups = apart;
    groups.push(new);
}

/// The snapshot of a rover that is in the state `of`.
fn rover_snapshot(id: EntityId, of: &RoverEntityState, rover: &Rover, readings: RoverReadings) -> RoverSnapshot {
    let RoverReadings { joint_effort, base_acceleration, wheels, link_loads, drum_loads_kg } = readings;
    let joints = rover.joint_states();
    RoverSnapshot {
        id,
        clipmap_centre: of.clipmap_centre,
        world_from_links: rover.world_from_links(),
        joint_position: joints.iter().map(|joint| joint.position).collect(),
        joint_velocity: joints.iter().map(|joint| joint.velocity).collect(),
        joint_effort,
        base_twist: rover.base_twist(),
        base_acceleration,
        wheels,
        lamp_levels: of.driver.lamp_levels().to_vec(),
        memories: of.memories.clone(),
        link_loads,
        drum_loads_kg,
        settings: of.settings.clone(),
    }
}

/// What the step found out about a rover, apart from the soil in its drums.
fn readings(kind: &RoverKind, at_hand: &RoverScratch, heartbeat_s: f64) -> RoverReadings {
    let rover = &at_hand.rover;
    RoverReadings {
        joint_effort: rover.joint_states().iter().map(|joint| joint.effort).collect(),
        base_acceleration: (rover.base_twist().linear - at_hand.before_m_s) / heartbeat_s,
        wheels: wheel_truth(kind, at_hand),
        link_loads: link_loads(kind, rover),
        drum_loads_kg: Vec::new(),
    }
}

/// Loads of the links with a force–torque sensor.
fn link_loads(kind: &RoverKind, rover: &Rover) -> Vec<LinkLoad> {
    let load = |&link: &usize| {
        let wrench = rover.joint_load(kind.model().links()[link].joint?)?;
        Some(LinkLoad { link: link as u32, wrench })
    };
    kind.loaded_links.iter().filter_map(load).collect()
}

fn wheel_truth(kind: &RoverKind, RoverScratch { rover, contacts, forces, .. }: &RoverScratch) -> Vec<WheelTruth> {
    let base_from_world = rover.world_from_base().rotation.inverse();
    let motions = rover.wheel_motions();
    let torques = rover.drive_torques_nm();
    let touched = |i: usize| forces.touched_by_wheel.get(i).is_some_and(|count| *count > 0);
    let wheels = kind.model().wheels().iter().zip(contacts).enumerate();
    wheels
        .map(|(i, (wheel, contact))| {
            let rolling_radius_m = wheel.radius_m - contact.rolling_radius_loss_m;
            let (slip_ratio, slip_angle_rad, rate_rad_s) = slip(&motions[i], &contact.terrain_normal, rolling_radius_m);
            WheelTruth {
                slip_ratio,
                slip_angle_rad,
                sinkage_m: contact.sinkage_m,
                force_n: base_from_world * contact.wrench.force,
                torque_nm: base_from_world * contact.wrench.torque,
                rate_rad_s,
                drive_torque_nm: torques[i],
                in_contact: contact.contact_nodes > 0 || touched(i),
            }
        })
        .collect()
}

/// Slip ratio, slip angle, rad, and rate about the axle, rad/s, of a wheel of `radius_m`, along the
/// ground under it, or along the horizontal if it touches none; no slip at rest.
fn slip(motion: &selene_vehicle::WheelKinematics, terrain_normal: &Vector3<f64>, radius_m: f64) -> (f64, f64, f64) {
    let axle = motion.world_from_wheel.rotation * Vector3::y();
    let up = if *terrain_normal == Vector3::zeros() { Vector3::z() } else { *terrain_normal };
    let rate_rad_s = motion.angular.dot(&axle);
    let forward = axle.cross(&up).try_normalize(1e-9).unwrap_or_else(Vector3::x);
    let side = up.cross(&forward);
    let [forward_m_s, side_m_s, rim_m_s] =
        [motion.linear.dot(&forward), motion.linear.dot(&side), rate_rad_s * radius_m];
    if [forward_m_s, side_m_s, rim_m_s].into_iter().all(|speed_m_s: f64| speed_m_s.abs() < REST_M_S) {
        return (0.0, 0.0, rate_rad_s);
    }
    let slip_ratio = selene_soil::slip_ratio(forward_m_s, rim_m_s);
    (slip_ratio, selene_soil::slip_angle_rad(forward_m_s, side_m_s), rate_rad_s)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::{LoadOptions, Scenario};

    #[test]
    fn a_wheel_at_rest_has_no_slip_whatever_its_residual_speeds() {
        let slips = |forward_m_s: f64, rate_rad_s: f64| {
            let world_from_wheel = selene_base::Pose::identity();
            let (linear, angular) = (Vector3::x() * forward_m_s, Vector3::y() * rate_rad_s);
            slip(&selene_vehicle::WheelKinematics { world_from_wheel, linear, angular }, &Vector3::z(), 0.2)
        };
        assert_eq!(slips(1e-9, -3e-9), (0.0, 0.0, -3e-9));
        let (slip_ratio, slip_angle_rad, _) = slips(0.05, 0.5);
        assert!((slip_ratio - 0.5).abs() < 1e-12 && slip_angle_rad == 0.0, "{slip_ratio} {slip_angle_rad}");
    }

    /// The sets of rovers that step together.
    fn rovers_of(groups: &[Members]) -> BTreeSet<BTreeSet<u32>> {
        groups.iter().map(|group| group.rovers.iter().map(|id| id.0).collect()).collect()
    }

    #[test]
    fn rovers_are_in_one_group_where_their_ground_overlaps_and_step_in_parallel_elsewhere() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/two_rovers.yaml");
        let scenario = Scenario::load(&file, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let model = Model::new(scenario.into()).unwrap_or_else(|error| panic!("{error}"));
        let (mut state, _) = model.start(None).unwrap_or_else(|error| panic!("{error}"));
        let [first, second] = [1, 2].map(EntityId);
        let beside = state.rovers[&first].body.world_from_base.translation.vector;
        let mut groups_at = |away_m: f64| {
            let other = state.rovers.get_mut(&second).map(|rover| &mut rover.body.world_from_base.translation.vector);
            *other.unwrap_or_else(|| panic!("two rovers")) = beside + Vector3::new(away_m, 0.0, 0.0);
            model.groups(&state)
        };
        assert_eq!(rovers_of(&groups_at(1.5)), [[1, 2].into()].into());
        let apart = groups_at(15.0);
        assert_eq!(rovers_of(&apart), [[1].into(), [2].into()].into());
        assert!(apart[0].tiles.is_disjoint(&apart[1].tiles));
    }
}
