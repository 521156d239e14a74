//! A running world: model, state and working memory together, for programs that step one world.

use std::collections::BTreeSet;
use std::sync::Arc;

use selene_base::{InputError, SimTime};
use selene_soil::{GranularError, GranularWindow, SoilSolver, WindowState};
use selene_terrain::{Edit, Ruts, TileIndex};
use selene_vehicle::VehicleError;
use selene_vehicle::contact::{Collider, LooseRockState};

use crate::driving::Command;
use crate::scenario::{FIRST_LAID, Scenario, ScenarioError};
use crate::world::driven::DrivenGround;
use crate::world::entity::EntityId;
use crate::world::exchange::{ProcessShare, Written};
use crate::world::granular::check_for_cpu;
use crate::world::group::embed_rocks;
use crate::world::model::Model;
use crate::world::snapshot::Snapshot;
use crate::world::state::State;
use crate::world::step::{Inputs, Scratch, WorldError};

/// Why a world cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The world cannot begin.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// A command for a rover that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rover {0}: it was removed, or never there")]
pub struct UnknownRover(pub EntityId);

impl Model {
    /// The state at the scenario's start, and the edits of the ground by loose rocks that are embedded in it.
    ///
    /// # Errors
    /// When a rover cannot be built, or bodies start inside one another.
    pub fn start(&self, driven: Option<&DrivenGround>) -> Result<(State, Vec<Edit>), WorldError> {
        let (ruts, soil) = driven.map_or_else(Default::default, DrivenGround::clone_parts);
        let mut state = State {
            time: SimTime::ZERO,
            sequence: 0,
            // Ruts of an earlier run count as published: a node that sees the first snapshot asks for them.
            terrain_sequence: ruts.count() as u64,
            rovers: Default::default(),
            objects: self.objects().keys().copied().collect(),
            rocks: self.loose().iter().map(|rock| (rock.id, LooseRockState::at_rest(rock.world_from_rock))).collect(),
            contacts: Default::default(),
            ruts,
            soil,
            granular: Default::default(),
            dust: Default::default(),
            entities_version: 0,
            spawned: Vec::new(),
            removed: Vec::new(),
            next_entity: self.first_free(),
            next_rock: FIRST_LAID + self.scenario().loose_rocks.len() as u32,
            sky_offset: SimTime::ZERO,
        };
        for (id, kind) in self.rovers() {
            let rover = kind.start(self, &state.ruts).map_err(WorldError::Vehicle)?;
            state.rovers.insert(*id, rover);
        }
        self.check(&state)?;
        check_for_cpu(self).map_err(|source| WorldError::Granular { source, time: SimTime::ZERO })?;
        let edits = embed_rocks(self, &mut state);
        let windows = self.windows().iter().zip(0..);
        let granular: Result<_, _> = windows.map(|(of, id)| Ok((id, self.at_rest(of, &state.ruts)?))).collect();
        state.granular = granular.map_err(|source| WorldError::Granular { source, time: SimTime::ZERO })?;
        let of_rover = |party: &Collider| matches!(party, Collider::Wheel(..) | Collider::Part(..));
        self.refuse_overlaps(&mut state, &mut Scratch::default(), of_rover)?;
        Ok((state, edits))
    }

    /// A granular window at rest. Where a device cannot settle its grains, the CPU does.
    fn at_rest(&self, window: &GranularWindow, ruts: &Ruts) -> Result<WindowState, GranularError> {
        let at_rest = |device| window.at_rest(self.terrain(), ruts, device);
        match at_rest(self.soil_device()) {
            Err(error) if error.is_of_device() => {
                tracing::warn!("{error}; the CPU settles its grains");
                at_rest(None)
            }
            resting => resting,
        }
    }

    pub(crate) fn name_of(&self, party: &Collider) -> String {
        let rover = |id: &u32| {
            let kind = self.rovers().get(&EntityId(*id));
            kind.map_or_else(|| format!("rover {id}"), |kind| format!("rover {}", kind.setup().name))
        };
        match party {
            Collider::Wheel(id, wheel) => {
                let wheels = self.rovers().get(&EntityId(*id)).map(|kind| kind.model().wheels());
                let name = wheels.and_then(|wheels| wheels.get(usize::from(*wheel)));
                name.map_or_else(|| rover(id), |wheel| format!("wheel {} of {}", wheel.name, rover(id)))
            }
            Collider::Part(id, _) => format!("the body of {}", rover(id)),
            Collider::Rock(id) => format!("loose rock {id}"),
            Collider::FixedRock(id) => format!("rock {id}"),
            Collider::Obstacle(id, _) => {
                let kind = self.objects().get(&EntityId(*id));
                kind.map_or_else(|| format!("object {id}"), |kind| format!("object {}", kind.name))
            }
        }
    }
}

/// A running world.
#[derive(Debug)]
pub struct World {
    model: Arc<Model>,
    state: State,
    scratch: Scratch,
    share: Option<ProcessShare>,
    /// How many times it was reset or put into another state.
    epoch: u32,
    /// Edits of the ground by the start, until a snapshot contains them.
    unreported: Vec<Edit>,
    /// Model, state and unpublished edits at the start, for a reset.
    first: (Arc<Model>, State, Vec<Edit>),
}

impl World {
    /// The scenario's world at time zero.
    ///
    /// # Errors
    /// When the ground cannot be made, a rover cannot be built or would start off the ground or inside another body.
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, StartError> {
        Ok(Self::begin(Arc::new(Model::new(scenario)?), None)?)
    }

    /// A model's world at time zero, on ground that was driven before.
    ///
    /// # Errors
    /// When a rover cannot be built or would start off the ground or inside another body.
    pub fn begin(model: Arc<Model>, driven: Option<&DrivenGround>) -> Result<Self, WorldError> {
        let (state, unreported) = model.start(driven)?;
        Ok(Self::of(model, state, unreported))
    }

    pub(crate) fn of(model: Arc<Model>, state: State, unreported: Vec<Edit>) -> Self {
        let first = (Arc::clone(&model), state.clone(), unreported.clone());
        let scratch = Scratch::default();
        Self { model, state, scratch, share: None, epoch: 0, unreported, first }
    }

    /// An independent copy of the world in the same state, which shares the model. It has no other processes.
    ///
    /// # Errors
    /// When the device fails on which points of granular soil are.
    pub fn branch(&self) -> Result<Self, WorldError> {
        Ok(Self {
            model: Arc::clone(&self.model),
            state: self.copy_state()?,
            scratch: Scratch::default(),
            share: None,
            epoch: self.epoch,
            unreported: self.unreported.clone(),
            first: self.first.clone(),
        })
    }

    /// Resets the world to its start.
    pub fn reset(&mut self) {
        let (model, state, unreported) = self.first.clone();
        self.begin_anew(model, state, unreported);
    }

    /// Continues from a state that is not the result of a heartbeat.
    pub(crate) fn begin_anew(&mut self, model: Arc<Model>, state: State, unreported: Vec<Edit>) {
        (self.model, self.state, self.unreported) = (model, state, unreported);
        // Ids may be those of other rovers now.
        self.scratch.forget_rovers();
        self.epoch += 1;
    }

    /// Model, state and unpublished edits at the start.
    pub(crate) fn first(&self) -> &(Arc<Model>, State, Vec<Edit>) {
        &self.first
    }

    pub(crate) fn first_state_mut(&mut self) -> &mut State {
        &mut self.first.1
    }

    /// Edits of the ground by the start that are in no snapshot yet.
    pub(crate) fn unreported(&self) -> &[Edit] {
        &self.unreported
    }

    /// How many times it was reset or put into another state; snapshots have this number, so that observers begin anew.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The part of the world that does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The state of the world. Its points of granular soil may be on a device: to save or compare them, take a copy
    /// ([`World::copy_state`]).
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A copy of the state with all its points.
    ///
    /// # Errors
    /// When the device fails on which points of granular soil are.
    pub fn copy_state(&self) -> Result<State, WorldError> {
        let (mut copy, nothing) = (self.state.clone(), SoilSolver::default());
        for (id, of) in copy.granular.iter_mut().filter(|(_, of)| of.is_on_device()) {
            let Some(window) = self.model.windows().get(*id as usize) else { continue };
            let solver = self.scratch.soil_solvers.find(*id).unwrap_or(&nothing);
            window.save(of, solver).map_err(|source| WorldError::Granular { source, time: self.state.time })?;
        }
        Ok(copy)
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Arc<Model>, &mut State, &mut Scratch) {
        (&mut self.model, &mut self.state, &mut self.scratch)
    }

    /// Puts the world into another state of its model, with all its points ([`World::copy_state`]).
    pub fn set_state(&mut self, state: State) {
        let (model, unreported) = (Arc::clone(&self.model), std::mem::take(&mut self.unreported));
        self.begin_anew(model, state, unreported);
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self) -> &Arc<Scenario> {
        self.model.scenario()
    }

    /// Simulated time.
    #[must_use]
    pub fn time(&self) -> SimTime {
        self.state.time
    }

    /// A hash over every bit of the state.
    ///
    /// # Errors
    /// When the device fails on which points of granular soil are.
    pub fn hash(&self) -> Result<u64, WorldError> {
        match self.state.granular.values().any(WindowState::is_on_device) {
            true => Ok(self.copy_state()?.hash()),
            false => Ok(self.state.hash()),
        }
    }

    /// Gives a rover a command, which acts from the next heartbeat on. It is a part of the state at once, so that no
    /// copy or checkpoint loses it. A command that the rover cannot obey is refused and counted there.
    ///
    /// # Errors
    /// When there is no such rover.
    pub fn drive(&mut self, rover: EntityId, command: Command) -> Result<(), UnknownRover> {
        match self.model.take(&mut self.state, rover, &command) {
            true => Ok(()),
            false => Err(UnknownRover(rover)),
        }
    }

    pub(crate) fn share(&self) -> Option<&ProcessShare> {
        self.share.as_ref()
    }

    pub(crate) fn share_mut(&mut self) -> &mut Option<ProcessShare> {
        &mut self.share
    }

    pub(crate) fn written(&self) -> &Written {
        &self.scratch.written
    }

    pub(crate) fn pack_foreign(&mut self, now: BTreeSet<TileIndex>) {
        self.scratch.pack_foreign(&mut self.state, now);
    }

    /// Whether every rover with a route has reached its end, and there is such a rover.
    #[must_use]
    pub fn routes_done(&self) -> bool {
        let routed = |id: &EntityId| self.model.rovers().get(id).is_some_and(|kind| kind.follower.is_some());
        let mut on_route = self.state.rovers.iter().filter(|(id, _)| routed(id)).peekable();
        on_route.peek().is_some() && on_route.all(|(_, rover)| rover.route.arrived())
    }

    /// Steps one heartbeat and takes a snapshot.
    ///
    /// # Errors
    /// When a rover leaves the ground, a state is no longer finite, granular soil cannot be stepped, its device is lost
    /// with points on it, or the scenario's kernels end.
    pub fn heartbeat(&mut self) -> Result<Snapshot, WorldError> {
        let inputs = Inputs { share: self.share.as_ref(), ..Inputs::NONE };
        let mut snapshot = self.model.step(&mut self.state, &inputs, &mut self.scratch)?;
        self.report_start(&mut snapshot);
        snapshot.epoch = self.epoch;
        Ok(snapshot)
    }

    /// The snapshot of the world before the next heartbeat.
    ///
    /// # Errors
    /// When a rover cannot be built or the scenario's kernels do not cover the time.
    pub fn first_snapshot(&mut self) -> Result<Snapshot, WorldError> {
        let edits = std::mem::take(&mut self.unreported);
        let snapshot = self.model.first_snapshot(&mut self.state, &mut self.scratch, edits)?;
        Ok(Snapshot { epoch: self.epoch, ..snapshot })
    }

    /// Adds the edits of the ground by the start to the first snapshot that is taken.
    fn report_start(&mut self, snapshot: &mut Snapshot) {
        if !self.unreported.is_empty() {
            let mut edits = std::mem::take(&mut self.unreported);
            self.state.terrain_sequence += edits.len() as u64;
            edits.append(&mut snapshot.edits);
            snapshot.edits = edits;
        }
    }
}

impl From<VehicleError> for StartError {
    fn from(error: VehicleError) -> Self {
        Self::World(error.into())
    }
}

impl From<InputError> for StartError {
    fn from(error: InputError) -> Self {
        Self::Scenario(error.into())
    }
}
