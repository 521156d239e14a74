//! Resets a world in place: everything to its start, or a part of it.

use std::sync::Arc;

use selene_base::SimTime;
use selene_vehicle::contact::Collider;

use crate::world::entity::{Entity, Spawned};
use crate::world::model::Model;
use crate::world::spawn::{SpawnError, take_away};
use crate::world::state::State;
use crate::world::step::Scratch;
use crate::world::world::World;

/// What a reset takes back to the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetScope {
    /// Simulated time and the number of the heartbeat.
    pub time: bool,
    /// Rovers, rocks, the ground and the soil's memory. Entities that were taken away are there again; added entities
    /// that stay are where they were added.
    pub state: bool,
    /// Removes entities that were added.
    pub spawned: bool,
}

impl ResetScope {
    /// Everything: the world is as it began.
    pub const ALL: Self = Self { time: true, state: true, spawned: true };
}

impl World {
    /// Takes the parts that `scope` says back to the start.
    ///
    /// # Errors
    /// When an added entity that stays is in the way of one that goes back; the world is then unchanged.
    pub fn reset_in(&mut self, scope: ResetScope) -> Result<(), SpawnError> {
        if scope == ResetScope::ALL {
            self.reset();
            return Ok(());
        }
        let (mut model, mut new) = (Arc::clone(self.model()), self.state().clone());
        let mut unreported = self.unreported().to_vec();
        if scope.spawned {
            model = self.without_spawned(&mut new);
        }
        if scope.state {
            unreported = self.first().2.clone();
            new = self.state_at_first(&model, &new)?;
        }
        if scope.time {
            self.set_clock_back(&mut new);
        }
        self.begin_anew(model, new, unreported);
        Ok(())
    }

    /// Removes added entities from a state; returns the model that the world began with.
    fn without_spawned(&self, state: &mut State) -> Arc<Model> {
        let (model, first, _) = self.first();
        let was_there = |entity: &Entity| first.spawned.iter().any(|known| known.entity == *entity);
        let (stay, go): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.spawned).into_iter().partition(|known| was_there(&known.entity));
        for gone in go {
            take_away(state, gone.entity);
        }
        state.spawned = stay;
        state.removed.retain(|(entity, _)| was_there(entity));
        (state.next_entity, state.next_rock) = (first.next_entity, first.next_rock);
        Arc::clone(model)
    }

    /// The state that the world began with, at the time of `now` and with the entities added until then. Commands and
    /// dust in flight keep the time that they had left.
    fn state_at_first(&self, model: &Model, now: &State) -> Result<State, SpawnError> {
        let first = &self.first().1;
        // It may have been removed so long ago that it was forgotten.
        let is_back = |known: &&Spawned| {
            has(first, known.entity) && !now.spawned.iter().any(|other| other.entity == known.entity)
        };
        let mut new = State {
            time: now.time,
            sequence: now.sequence,
            entities_version: now.entities_version,
            spawned: first.spawned.iter().filter(is_back).chain(&now.spawned).cloned().collect(),
            next_entity: now.next_entity,
            next_rock: now.next_rock,
            ..first.clone()
        };
        new.report_earlier(first.time - now.time);
        new.removed = now.removed.iter().filter(|(entity, _)| !has(first, *entity)).copied().collect();
        let stays = |known: &&Spawned| has(now, known.entity) && !has(first, known.entity);
        for Spawned { entity, spawn, .. } in now.spawned.iter().filter(stays) {
            model.put(*entity, spawn, &mut new)?;
        }
        let of_rover = |party: &Collider| matches!(party, Collider::Wheel(..) | Collider::Part(..));
        let is_added = |party: &Collider| now.spawned.iter().any(|known| known.entity.has(party));
        model.refuse_overlaps(&mut new, &mut Scratch::default(), |party| of_rover(party) || is_added(party))?;
        Ok(new)
    }

    /// Sets a state's time to that of the world's start, and moves the times of commands, dust and removals back by as
    /// much.
    fn set_clock_back(&self, state: &mut State) {
        let first = &self.first().1;
        state.report_earlier(state.time - first.time);
        (state.time, state.sequence) = (first.time, first.sequence);
    }
}

impl State {
    /// Moves the times of commands, of dust in flight and of removals `by` earlier, or later if that is negative.
    fn report_earlier(&mut self, by: SimTime) {
        self.rovers.values_mut().for_each(|rover| rover.driver.move_back(by));
        self.dust.move_back(by);
        self.removed.iter_mut().for_each(|(_, time)| *time = *time - by);
    }
}

/// Whether an entity is in a state, neither removed nor unknown.
pub(crate) fn has(state: &State, entity: Entity) -> bool {
    match entity {
        Entity::Rover(id) => state.rovers.contains_key(&id),
        Entity::Object(id) => state.objects.contains(&id),
        Entity::Rock(id) => state.rocks.contains_key(&id),
    }
}
