//! Which rovers a node has topics for. Numbers alone do not tell rovers apart: after a reset another rover may have
//! the number of one that is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use selene_observe::Interval;
use selene_sim::{EntityId, Model, RoverKind};

/// The rovers that are there, as far as a node has seen.
#[derive(Debug)]
pub struct RoversThere {
    rovers: BTreeMap<EntityId, Arc<RoverKind>>,
}

impl RoversThere {
    /// Those of a model.
    #[must_use]
    pub fn of(model: &Model) -> Self {
        Self { rovers: model.rovers().clone() }
    }

    /// Takes in the world's next interval; the numbers of rovers that went, also of those whose number another one
    /// has now: their topics are to be closed.
    pub fn gone(&mut self, interval: &Interval) -> BTreeSet<EntityId> {
        let kind = |id: EntityId| Some((id, Arc::clone(interval.model.rovers().get(&id)?)));
        let now: BTreeMap<_, _> = interval.next.rovers.iter().filter_map(|rover| kind(rover.id)).collect();
        let stays = |id: &EntityId, was: &Arc<RoverKind>| now.get(id).is_some_and(|is| Arc::ptr_eq(is, was));
        let gone = self.rovers.iter().filter(|(id, was)| !stays(id, was)).map(|(id, _)| *id).collect();
        self.rovers = now;
        gone
    }
}
