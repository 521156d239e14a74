//! What somebody in the process asks of a world that runs: to add something or to take it away. It is done between
//! two heartbeats, in the order in which it was asked for.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use selene_sim::{AllowedFolders, Entity, Spawn, SpawnError, World};

/// A change of the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Add this.
    Spawn(Spawn),
    /// Take this away.
    Remove(Entity),
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// It cannot be.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Several processes share the world.
    #[error("several processes share this world: nothing can be added to it or taken away")]
    Shared,
}

/// What was added or taken away, or why not.
pub type Answer = Result<Entity, ChangeError>;

/// Changes that are asked for; all copies are one list.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    asked: Arc<Mutex<VecDeque<Asked>>>,
}

#[derive(Debug)]
struct Asked {
    change: Change,
    answer: Sender<Answer>,
}

impl Changes {
    /// Asks for a change; the answer comes before the next heartbeat, and none if the run ends before.
    pub fn ask(&self, change: Change) -> Receiver<Answer> {
        let (answer, answered) = channel();
        // A list is whole even if somebody panicked while holding it.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push_back(Asked { change, answer });
        answered
    }

    /// Makes the changes that were asked for; `is_shared` where other processes have the world too.
    pub(crate) fn make(&self, world: &mut World, folders: &AllowedFolders, is_shared: bool) {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        for Asked { change, answer } in asked {
            let made = match change {
                _ if is_shared => Err(ChangeError::Shared),
                Change::Spawn(spawn) => world.spawn(&spawn, folders).map_err(ChangeError::from),
                Change::Remove(entity) => world.remove(entity).map(|()| entity).map_err(ChangeError::from),
            };
            // Who asked may not wait for the answer.
            drop(answer.send(made));
        }
    }
}
