//! Resumes a world from a saved state. A file can hold anything: before a state is stepped, its parts
//! are compared with the model's.

use std::sync::Arc;

use crate::checkpoint::Recent;
use crate::world::entity::{AllowedFolders, EntityId};
use crate::world::granular::check_for_cpu;
use crate::world::model::{Model, RoverKind};
use crate::world::reset::has;
use crate::world::spawn::SpawnError;
use crate::world::state::{RoverEntityState, State};
use crate::world::world::World;

/// Why a world cannot resume from a state.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// An entity that was added to the running world can no longer be read.
    #[error("what was added to the world cannot be read again: {0}")]
    Spawned(#[from] SpawnError),
    /// The state is not one of this scenario.
    #[error("the state does not fit this scenario: {0}")]
    Misfit(String),
}

impl World {
    /// A world that resumes from a state of a world of the same model, with the entities that were added to it: their
    /// files are read again. Those that were removed are left out if their files are not as they were.
    ///
    /// # Errors
    /// When the file of an entity cannot be read or was changed, or the state does not belong to this model.
    pub fn resume(model: &Model, state: State, folders: &AllowedFolders) -> Result<Self, ResumeError> {
        Self::resume_with(model, state, &Recent::default(), folders)
    }

    /// The same for sensors that look back: entities that were removed are needed too if a recent snapshot has them.
    ///
    /// # Errors
    /// As [`Self::resume`].
    pub fn resume_with(
        model: &Model,
        state: State,
        recent: &Recent,
        folders: &AllowedFolders,
    ) -> Result<Self, ResumeError> {
        let (model, mut unread) = model.with_spawned(&state.spawned, folders);
        unread.refuse(|entity| has(&state, entity) || recent.snapshots.iter().any(|before| before.has(entity)))?;
        let misfit = model.misfit(&state).or_else(|| check_for_cpu(&model).err().map(|error| error.to_string()));
        match misfit {
            Some(what) => Err(ResumeError::Misfit(what)),
            None => Ok(Self::of(Arc::new(model), state, Vec::new())),
        }
    }
}

impl Model {
    /// Why a state is not possible for a world of this model; `None` if it fits.
    fn misfit(&self, state: &State) -> Option<String> {
        let heartbeats = state.time / self.scenario().heartbeat;
        if u64::try_from(heartbeats).ok() != Some(state.sequence)
            || state.time % self.scenario().heartbeat != selene_base::SimTime::ZERO
        {
            return Some(format!("heartbeat {} cannot be at {}", state.sequence, state.time));
        }
        for (id, of) in &state.rovers {
            let Some(kind) = self.rovers().get(id) else { return Some(format!("it has no rover {id}")) };
            if let Some(what) = kind.misfit(of) {
                return Some(format!("rover {}: {what}", kind.setup().name));
            }
        }
        if let Some(id) = state.objects.iter().find(|id| !self.objects().contains_key(id)) {
            return Some(format!("it has no object {id}"));
        }
        if let Some((id, _)) = state.rocks.iter().find(|(id, rock)| !self.rocks().contains_key(id) || !rock.is_finite())
        {
            return Some(format!("it has no loose rock {id}, or that is nowhere"));
        }
        if !state.dust.fits() {
            return Some("its dust cannot be, or its mass does not add up to nothing".to_owned());
        }
        let mut windows = self.windows().iter().zip(0..);
        let all_fit = windows.all(|(window, id)| state.granular.get(&id).is_some_and(|of| window.fits(of)));
        if state.granular.len() != self.windows().len() || !all_fit {
            return Some("it has other granular windows, or soil was lost in one".to_owned());
        }
        let free = |id: &EntityId| *id < state.next_entity;
        let all_numbered = state.rovers.keys().chain(&state.objects).all(free);
        (!all_numbered).then(|| format!("number {} is given twice", state.next_entity))
    }
}

impl RoverKind {
    fn misfit(&self, of: &RoverEntityState) -> Option<&'static str> {
        let parts = [
            (of.body.fits(self.model()), "it has other joints"),
            (of.body.is_finite(), "it is nowhere"),
            (of.wheels.len() == self.wheel_shapes.len(), "it has other wheels"),
            (of.floors.len() == self.contact_shapes.floor_count(), "it has other bodies"),
            (self.driver.fits(&of.driver), "it has other joints or lamps to command"),
            (self.can_be_set(&of.settings), "it has other sensors, or they cannot be set so"),
        ];
        parts.into_iter().find(|(fits, _)| !fits).map(|(_, what)| what)
    }
}
