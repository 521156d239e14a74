//! Observers of a world that is stepped in the same process are fed from here.

use std::sync::Arc;

use selene_base::SimTime;
use selene_sim::{Recent, Snapshot, World, WorldError};
use selene_terrain::Edit;

use crate::interval::Interval;

/// Makes intervals of a world's heartbeats.
#[derive(Debug)]
pub struct Feed {
    last: Arc<Snapshot>,
    /// Edits that no interval has had yet.
    untold: Vec<Edit>,
    told_until: Option<SimTime>,
}

impl Feed {
    /// Begins with the world as it stands, and all that was done to its ground.
    ///
    /// # Errors
    /// When no snapshot can be taken.
    pub fn begin(world: &mut World) -> Result<Self, WorldError> {
        let untold = world.state().ruts.edits().collect();
        Ok(Self { last: Arc::new(world.first_snapshot()?), untold, told_until: None })
    }

    /// Goes on after the last while of the run before: the intervals of that while come first, and data that
    /// were due in it are not given again.
    #[must_use]
    pub fn resumed(world: &World, recent: &Recent) -> (Self, Vec<Interval>) {
        let told_until = Some(world.time());
        let mut snapshots = recent.snapshots.iter().cloned().map(Arc::new);
        let Some(first) = snapshots.next() else {
            let feed = Self { last: Arc::default(), untold: world.state().ruts.edits().collect(), told_until };
            return (feed, Vec::new());
        };
        let mut untold: Vec<_> = recent.ruts_before.edits().collect();
        untold.extend_from_slice(&first.edits);
        let mut feed = Self { last: first, untold, told_until };
        let intervals = snapshots.map(|next| feed.interval(world, next)).collect();
        (feed, intervals)
    }

    /// Steps the world one heartbeat. Where the world was reset or put into another state, all begins anew.
    ///
    /// # Errors
    /// When the world cannot go on.
    pub fn heartbeat(&mut self, world: &mut World) -> Result<Interval, WorldError> {
        if world.epoch() != self.last.epoch || world.state().sequence != self.last.sequence {
            *self = Self::begin(world)?;
        }
        let next = Arc::new(world.heartbeat()?);
        Ok(self.interval(world, next))
    }

    /// The world as it stands, as an interval without length, with all that was done to its ground: for those who
    /// look at a world whose time does not pass.
    #[must_use]
    pub fn standing(&self, world: &World) -> Interval {
        Interval {
            model: Arc::clone(world.model()),
            previous: Arc::clone(&self.last),
            next: Arc::clone(&self.last),
            edits: world.state().ruts.edits().collect(),
            told_until: self.told_until,
        }
    }

    /// The interval from the last snapshot to `next`.
    pub fn interval(&mut self, world: &World, next: Arc<Snapshot>) -> Interval {
        let mut edits = std::mem::take(&mut self.untold);
        edits.extend_from_slice(&next.edits);
        let previous = std::mem::replace(&mut self.last, Arc::clone(&next));
        Interval { model: Arc::clone(world.model()), previous, next, edits, told_until: self.told_until }
    }

    /// The latest snapshot.
    #[must_use]
    pub fn last(&self) -> &Arc<Snapshot> {
        &self.last
    }
}
