//! One observer for each rover that is there: rovers can come and go, and a world can begin anew.

use std::collections::BTreeMap;

use selene_sim::EntityId;
use selene_terrain::Ruts;

use crate::interval::Interval;

/// What observes each rover.
#[derive(Debug)]
pub(crate) struct PerRover<T> {
    of: BTreeMap<EntityId, T>,
    /// The latest heartbeat that was seen, and how many times the world was reset before it.
    sequence: u64,
    epoch: u32,
    /// All that was done to the ground, for the observers of rovers that come later; none where they need no
    /// ground.
    ruts: Option<Ruts>,
}

impl<T> PerRover<T> {
    /// Observers that look at the ground.
    pub(crate) fn on_ground() -> Self {
        Self { of: BTreeMap::new(), sequence: 0, epoch: 0, ruts: Some(Ruts::default()) }
    }

    /// Observers that do not.
    pub(crate) fn without_ground() -> Self {
        Self { of: BTreeMap::new(), sequence: 0, epoch: 0, ruts: None }
    }

    /// Makes what observes each new rover by `make`, on ground that has all edits but the interval's, and drops
    /// those of rovers that went; in a world that began anew all are new.
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

    /// All of them, in the order of the rovers' numbers.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.of.values_mut()
    }

    /// That of one rover.
    pub(crate) fn get(&self, rover: EntityId) -> Option<&T> {
        self.of.get(&rover)
    }
}
