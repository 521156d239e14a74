//! Intervals for the observers of a world that is stepped in the same process.

use std::sync::Arc;

use selene_base::SimTime;
use selene_sim::{Recent, Snapshot, World, WorldError};
use selene_terrain::Edit;

use crate::interval::Interval;

/// Makes the intervals of a world's heartbeats.
#[derive(Debug)]
pub struct Feed {
    last: Arc<Snapshot>,
    /// Edits that no interval contained yet.
    unreported: Vec<Edit>,
    published_until: Option<SimTime>,
}

impl Feed {
    /// Begins with the current state of the world, including all edits of its ground.
    pub fn begin(world: &mut World) -> Result<Self, WorldError> {
        let unreported = world.state().ruts.edits().collect();
        Ok(Self { last: Arc::new(world.first_snapshot()?), unreported, published_until: None })
    }

    /// Continues a run that was resumed from a checkpoint. The returned intervals repeat the checkpoint's recent past
    /// and come first; data that were due in them are not published again.
    #[must_use]
    pub fn resumed(world: &World, recent: &Recent) -> (Self, Vec<Interval>) {
        let published_until = Some(world.time());
        let mut snapshots = recent.snapshots.iter().cloned().map(Arc::new);
        let Some(first) = snapshots.next() else {
            let feed = Self { last: Arc::default(), unreported: world.state().ruts.edits().collect(), published_until };
            return (feed, Vec::new());
        };
        let mut unreported: Vec<_> = recent.ruts_before.edits().collect();
        unreported.extend_from_slice(&first.edits);
        let mut feed = Self { last: first, unreported, published_until };
        let intervals = snapshots.map(|next| feed.interval(world, next)).collect();
        (feed, intervals)
    }

    /// Steps the world one heartbeat. If the world was reset or its state was replaced, the feed begins anew.
    ///
    /// # Errors
    /// When the world cannot continue.
    pub fn heartbeat(&mut self, world: &mut World) -> Result<Interval, WorldError> {
        if world.epoch() != self.last.epoch || world.state().sequence != self.last.sequence {
            *self = Self::begin(world)?;
        }
        let next = Arc::new(world.heartbeat()?);
        Ok(self.interval(world, next))
    }

    /// The current state of the world as an interval of zero length, with all edits of its ground: for observers of a
    /// world whose time stands still.
    #[must_use]
    pub fn standing(&self, world: &World) -> Interval {
        Interval {
            model: Arc::clone(world.model()),
            previous: Arc::clone(&self.last),
            next: Arc::clone(&self.last),
            edits: world.state().ruts.edits().collect(),
            published_until: self.published_until,
        }
    }

    /// The interval from the last snapshot to `next`.
    pub fn interval(&mut self, world: &World, next: Arc<Snapshot>) -> Interval {
        let mut edits = std::mem::take(&mut self.unreported);
        edits.extend_from_slice(&next.edits);
        let previous = std::mem::replace(&mut self.last, Arc::clone(&next));
        Interval { model: Arc::clone(world.model()), previous, next, edits, published_until: self.published_until }
    }

    /// The latest snapshot.
    #[must_use]
    pub fn last(&self) -> &Arc<Snapshot> {
        &self.last
    }
}
