//! One observer for each existing rover: rovers can come and go, and the world can be reset.

use std::collections::BTreeMap;

use selene_sim::EntityId;
use selene_terrain::Ruts;

use crate::interval::Interval;

/// The observers, by rover.
#[derive(Debug)]
pub(crate) struct PerRover<T> {
    of: BTreeMap<EntityId, T>,
    /// Number of the latest heartbeat seen; `epoch` counts the resets of the world before it.
    sequence: u64,
    epoch: u32,
    /// All edits of the ground, for the observers of rovers that appear later; `None` if they need no ground.
    ruts: Option<Ruts>,
}

impl<T> PerRover<T> {
    /// An empty collection of observers that need the ground.
    pub(crate) fn on_ground() -> Self {
        Self { of: BTreeMap::new(), sequence: 0, epoch: 0, ruts: Some(Ruts::default()) }
    }

    /// An empty collection of observers that do not need the ground.
    pub(crate) fn without_ground() -> Self {
        Self { of: BTreeMap::new(), sequence: 0, epoch: 0, ruts: None }
    }

    /// Makes an observer for each new rover with `make`, on ground with all edits except the interval's, and drops the
    /// observers of rovers that are gone; after a reset of the world all observers are new.
    pub(crate) fn follow<E>(
        &mut self,
        interval: &Interval,
        mut make: impl FnMut(EntityId, &Ruts) -> Result<T, E>,
    ) -> Result<(), E> {
        if interval.next.epoch != self.epoch || interval.previous.sequence < self.sequence {
            self.of.clear();
            self.ruts = self.ruts.take().map(|_| Ruts::default());
        }
        (self.epoch, self.sequence) = (interval.next.epoch, interval.next.sequence);
        self.of.retain(|id, _| interval.next.rover(*id).is_some());
        let untouched = Ruts::default();
        for rover in &interval.next.rovers {
            if !self.of.contains_key(&rover.id) && interval.model.rovers().contains_key(&rover.id) {
                self.of.insert(rover.id, make(rover.id, self.ruts.as_ref().unwrap_or(&untouched))?);
            }
        }
        if let Some(ruts) = &mut self.ruts {
            ruts.apply(&interval.edits);
        }
        Ok(())
    }

    /// All observers, in the order of the rovers' numbers.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.of.values_mut()
    }

    /// The observer of one rover.
    pub(crate) fn get(&self, rover: EntityId) -> Option<&T> {
        self.of.get(&rover)
    }
}
