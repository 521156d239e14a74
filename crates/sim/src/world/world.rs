//! A world that runs: model, state and working memory together, for those who step one world.

use std::collections::BTreeSet;
use std::sync::Arc;

use selene_base::{InputError, SimTime};
use selene_terrain::{Edit, TileIndex};
use selene_vehicle::VehicleError;
use selene_vehicle::contact::{LooseRockState, Party};

use crate::driving::Command;
use crate::scenario::{FIRST_LAID, Scenario, ScenarioError};
use crate::world::driven::DrivenGround;
use crate::world::entity::EntityId;
use crate::world::exchange::{Share, Written};
use crate::world::group::embed_rocks;
use crate::world::model::Model;
use crate::world::snapshot::Snapshot;
use crate::world::state::State;
use crate::world::step::{Inputs, Scratch, WorldError};

/// Why there is no world.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The world cannot begin.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// Why a command was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rover {0}: it was removed, or never there")]
pub struct NoSuchRover(pub EntityId);

impl Model {
    /// The state at the scenario's start, and the ground that loose rocks bedded in have changed.
    ///
    /// # Errors
    /// When a rover cannot be built, or bodies start inside one another.
    pub fn start(&self, driven: Option<&DrivenGround>) -> Result<(State, Vec<Edit>), WorldError> {
        let (ruts, soil) = driven.map_or_else(Default::default, DrivenGround::clone_parts);
        let mut state = State {
            time: SimTime::ZERO,
            sequence: 0,
            // Ruts of an earlier run count as told: who sees the first snapshot asks for them.
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
            next_entity: self.first_free(),
            next_rock: FIRST_LAID + self.scenario().loose_rocks.len() as u32,
            sky_offset: SimTime::ZERO,
        };
        for (id, kind) in self.rovers() {
            let rover = kind.start(self, &state.ruts).map_err(WorldError::Vehicle)?;
            state.rovers.insert(*id, rover);
        }
        self.check(&state)?;
        let edits = embed_rocks(self, &mut state);
        let windows = self.windows().iter().zip(0..);
        state.granular = windows.map(|(of, id)| (id, of.at_rest(self.terrain(), &state.ruts))).collect();
        let of_rover = |party: &Party| matches!(party, Party::Wheel(..) | Party::Part(..));
        self.refuse_overlaps(&mut state, &mut Scratch::default(), of_rover)?;
        Ok((state, edits))
    }

    pub(crate) fn name_of(&self, party: &Party) -> String {
        let rover = |id: &u32| {
            let kind = self.rovers().get(&EntityId(*id));
            kind.map_or_else(|| format!("rover {id}"), |kind| format!("rover {}", kind.setup().name))
        };
        match party {
            Party::Wheel(id, wheel) => {
                let wheels = self.rovers().get(&EntityId(*id)).map(|kind| kind.model().wheels());
                let name = wheels.and_then(|wheels| wheels.get(usize::from(*wheel)));
                name.map_or_else(|| rover(id), |wheel| format!("wheel {} of {}", wheel.name, rover(id)))
            }
            Party::Part(id, _) => format!("the body of {}", rover(id)),
            Party::Rock(id) => format!("loose rock {id}"),
            Party::FixedRock(id) => format!("rock {id}"),
            Party::Obstacle(id, _) => {
                let kind = self.objects().get(&EntityId(*id));
                kind.map_or_else(|| format!("object {id}"), |kind| format!("object {}", kind.name))
            }
        }
    }
}

/// A world that runs.
#[derive(Debug)]
pub struct World {
    model: Arc<Model>,
    state: State,
    scratch: Scratch,
    /// Commands that wait for the next heartbeat.
    commands: Vec<(EntityId, Command)>,
    share: Option<Share>,
    /// How many times it was reset or put into another state.
    epoch: u32,
    /// What the start changed of the ground, until it is told.
    untold: Vec<Edit>,
    /// What it began with, for a reset.
    first: (Arc<Model>, State, Vec<Edit>),
}

impl World {
    /// The scenario's world at time zero.
    ///
    /// # Errors
    /// When the ground cannot be made, a rover cannot be built or would stand off the ground or in
    /// something.
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, StartError> {
        Ok(Self::begin(Arc::new(Model::new(scenario)?), None)?)
    }

    /// A model's world at time zero, on ground that was driven before.
    ///
    /// # Errors
    /// When a rover cannot be built or would stand off the ground or in something.
    pub fn begin(model: Arc<Model>, driven: Option<&DrivenGround>) -> Result<Self, WorldError> {
        let (state, untold) = model.start(driven)?;
        Ok(Self::of(model, state, untold))
    }

    pub(crate) fn of(model: Arc<Model>, state: State, untold: Vec<Edit>) -> Self {
        let first = (Arc::clone(&model), state.clone(), untold.clone());
        let scratch = Scratch::default();
        Self { model, state, scratch, commands: Vec::new(), share: None, epoch: 0, untold, first }
    }

    /// Another world in the same state, which goes its own way from here on. What does not change is shared. Commands
    /// that wait go with it; other processes do not.
    #[must_use]
    pub fn branch(&self) -> Self {
        Self {
            model: Arc::clone(&self.model),
            state: self.state.clone(),
            scratch: Scratch::default(),
            commands: self.commands.clone(),
            share: None,
            epoch: self.epoch,
            untold: self.untold.clone(),
            first: self.first.clone(),
        }
    }

    /// Goes back to where it began.
    pub fn reset(&mut self) {
        let (model, state, untold) = self.first.clone();
        self.begin_anew(model, state, untold);
    }

    /// Goes on from a state that no heartbeat led to.
    pub(crate) fn begin_anew(&mut self, model: Arc<Model>, state: State, untold: Vec<Edit>) {
        (self.model, self.state, self.untold) = (model, state, untold);
        self.commands.clear();
        // Numbers may be those of other rovers now.
        self.scratch.forget_rovers();
        self.epoch += 1;
    }

    /// What it began with.
    pub(crate) fn first(&self) -> &(Arc<Model>, State, Vec<Edit>) {
        &self.first
    }

    pub(crate) fn first_state_mut(&mut self) -> &mut State {
        &mut self.first.1
    }

    /// Ground that the start changed and no snapshot has told yet.
    pub(crate) fn untold(&self) -> &[Edit] {
        &self.untold
    }

    /// How many times it was reset or put into another state: snapshots tell it, so that observers begin anew.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// What does.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Arc<Model>, &mut State, &mut Scratch) {
        (&mut self.model, &mut self.state, &mut self.scratch)
    }

    /// Puts the world into another state of its model.
    pub fn set_state(&mut self, state: State) {
        let (model, untold) = (Arc::clone(&self.model), std::mem::take(&mut self.untold));
        self.begin_anew(model, state, untold);
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
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.state.hash()
    }

    /// Takes a command for the heartbeat to come.
    ///
    /// # Errors
    /// When there is no such rover.
    pub fn drive(&mut self, rover: EntityId, command: Command) -> Result<(), NoSuchRover> {
        if !self.state.rovers.contains_key(&rover) {
            return Err(NoSuchRover(rover));
        }
        self.commands.push((rover, command));
        Ok(())
    }

    /// Has rovers take the commands that wait, as the heartbeat to come would at its beginning: while time does
    /// not pass they would pile up.
    pub fn take_commands(&mut self) {
        for (rover, command) in std::mem::take(&mut self.commands) {
            if let (Some(kind), Some(of)) = (self.model.rovers().get(&rover), self.state.rovers.get_mut(&rover)) {
                kind.driver.take(&mut of.driver, &command, self.state.time);
            }
        }
    }

    pub(crate) fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    pub(crate) fn share_mut(&mut self) -> &mut Option<Share> {
        &mut self.share
    }

    pub(crate) fn written(&self) -> &Written {
        &self.scratch.written
    }

    pub(crate) fn pack_foreign(&mut self, now: BTreeSet<TileIndex>) {
        self.scratch.pack_foreign(&mut self.state, now);
    }

    /// Whether every rover that has a route has come to its end, and there is one.
    #[must_use]
    pub fn routes_done(&self) -> bool {
        let routed = |id: &EntityId| self.model.rovers().get(id).is_some_and(|kind| kind.follower.is_some());
        let mut on_route = self.state.rovers.iter().filter(|(id, _)| routed(id)).peekable();
        on_route.peek().is_some() && on_route.all(|(_, rover)| rover.route.arrived())
    }

    /// Steps one heartbeat and takes a snapshot.
    ///
    /// # Errors
    /// When a rover leaves the ground, a state is no longer finite or the scenario's kernels end.
    pub fn heartbeat(&mut self) -> Result<Snapshot, WorldError> {
        let commands = std::mem::take(&mut self.commands);
        let inputs = Inputs { commands: &commands, share: self.share.as_ref() };
        let mut snapshot = self.model.step(&mut self.state, &inputs, &mut self.scratch)?;
        self.tell_the_start(&mut snapshot);
        snapshot.epoch = self.epoch;
        Ok(snapshot)
    }

    /// The world as it stands before the next heartbeat.
    ///
    /// # Errors
    /// When a rover cannot be built or the scenario's kernels do not cover the time.
    pub fn first_snapshot(&mut self) -> Result<Snapshot, WorldError> {
        let edits = std::mem::take(&mut self.untold);
        let snapshot = self.model.first_snapshot(&mut self.state, &mut self.scratch, edits)?;
        Ok(Snapshot { epoch: self.epoch, ..snapshot })
    }

    /// Ground that the start changed goes with the first snapshot that is taken.
    fn tell_the_start(&mut self, snapshot: &mut Snapshot) {
        if !self.untold.is_empty() {
            let mut edits = std::mem::take(&mut self.untold);
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
