//! Going back, in place: to all that a world began with, or to a part of it.

use std::sync::Arc;

use selene_base::SimTime;
use selene_vehicle::contact::Party;

use crate::world::entity::{Entity, Spawn};
use crate::world::model::Model;
use crate::world::spawn::{SpawnError, take_away};
use crate::world::state::State;
use crate::world::step::Scratch;
use crate::world::world::World;

/// What goes back at a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetScope {
    /// Simulated time and the number of the heartbeat.
    pub time: bool,
    /// Rovers, rocks, the ground and what the soil remembers. What was taken away is there again; what was added
    /// and stays is where it was added.
    pub state: bool,
    /// What was added goes.
    pub spawned: bool,
}

impl ResetScope {
    /// Everything: the world is the one that began.
    pub const ALL: Self = Self { time: true, state: true, spawned: true };
}

impl World {
    /// Goes back to where it began in what `scope` says.
    ///
    /// # Errors
    /// When something that was added and stays is in the way of what goes back; the world is then as it was.
    pub fn reset_in(&mut self, scope: ResetScope) -> Result<(), SpawnError> {
        if scope == ResetScope::ALL {
            self.reset();
            return Ok(());
        }
        let (mut model, mut new) = (Arc::clone(self.model()), self.state().clone());
        let mut untold = self.untold().to_vec();
        if scope.spawned {
            model = self.without_spawned(&mut new);
        }
        if scope.state {
            untold = self.first().2.clone();
            new = self.state_at_first(&model, &new)?;
        }
        if scope.time {
            self.set_clock_back(&mut new);
        }
        self.begin_anew(model, new, untold);
        Ok(())
    }

    /// Takes what was added out of a state; the model that it began with.
    fn without_spawned(&self, state: &mut State) -> Arc<Model> {
        let (model, first, _) = self.first();
        let was_there = |entity: &Entity| first.spawned.iter().any(|(known, _)| known == entity);
        for (entity, _) in std::mem::take(&mut state.spawned).iter().filter(|(entity, _)| !was_there(entity)) {
            take_away(state, *entity);
        }
        state.spawned.clone_from(&first.spawned);
        (state.next_entity, state.next_rock) = (first.next_entity, first.next_rock);
        Arc::clone(model)
    }

    /// The state that it began with, at the time of `now` and with what was added until then. Commands have as long to
    /// go as they had, and dust to fly.
    fn state_at_first(&self, model: &Model, now: &State) -> Result<State, SpawnError> {
        let mut new = State {
            time: now.time,
            sequence: now.sequence,
            entities_version: now.entities_version,
            spawned: now.spawned.clone(),
            next_entity: now.next_entity,
            next_rock: now.next_rock,
            ..self.first().1.clone()
        };
        new.tell_earlier(self.first().1.time - now.time);
        let known = self.first().1.spawned.len();
        let stays = |(entity, _): &&(Entity, Spawn)| has(now, *entity);
        for (entity, spawn) in now.spawned.iter().skip(known).filter(stays) {
            model.put(*entity, spawn, &mut new)?;
        }
        let of_rover = |party: &Party| matches!(party, Party::Wheel(..) | Party::Part(..));
        let is_added = |party: &Party| now.spawned.iter().any(|(entity, _)| entity.has(party));
        model.refuse_overlaps(&mut new, &mut Scratch::default(), |party| of_rover(party) || is_added(party))?;
        Ok(new)
    }

    /// Sets a state's time to that at which the world began: whatever was told, was told that much earlier.
    fn set_clock_back(&self, state: &mut State) {
        let first = &self.first().1;
        state.tell_earlier(state.time - first.time);
        (state.time, state.sequence) = (first.time, first.sequence);
    }
}

impl State {
    /// As if all that was told and thrown had been `by` earlier, or later where that is negative.
    fn tell_earlier(&mut self, by: SimTime) {
        self.rovers.values_mut().for_each(|rover| rover.driver.move_back(by));
        self.dust.move_back(by);
    }
}

fn has(state: &State, entity: Entity) -> bool {
    match entity {
        Entity::Rover(id) => state.rovers.contains_key(&id),
        Entity::Object(id) => state.objects.contains(&id),
        Entity::Rock(id) => state.rocks.contains_key(&id),
    }
}
