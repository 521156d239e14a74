//! Tracks the rovers for which a node has topics. Numbers do not identify them: after a reset, a new rover may have the
//! number of a removed one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use selene_observe::Interval;
use selene_sim::{EntityId, Model, RoverKind};

/// The rovers in the latest interval that a node has seen.
#[derive(Debug)]
pub struct CurrentRovers {
    rovers: BTreeMap<EntityId, Arc<RoverKind>>,
}

impl CurrentRovers {
    /// The rovers of a model.
    #[must_use]
    pub fn of(model: &Model) -> Self {
        Self { rovers: model.rovers().clone() }
    }

    /// Takes in the world's next interval. Returns the numbers of removed rovers, including those whose number a new
    /// rover has now; their topics must be closed.
    pub fn gone(&mut self, interval: &Interval) -> BTreeSet<EntityId> {
        let kind = |id: EntityId| Some((id, Arc::clone(interval.model.rovers().get(&id)?)));
        let now: BTreeMap<_, _> = interval.next.rovers.iter().filter_map(|rover| kind(rover.id)).collect();
        let stays = |id: &EntityId, was: &Arc<RoverKind>| now.get(id).is_some_and(|is| Arc::ptr_eq(is, was));
        let gone = self.rovers.iter().filter(|(id, was)| !stays(id, was)).map(|(id, _)| *id).collect();
        self.rovers = now;
        gone
    }
}
