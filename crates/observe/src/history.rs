//! The recent past of the world, for measurements that take longer than a heartbeat or are published later than they
//! are measured: a spinning lidar looks up its pose at each beam's own instant.

use std::collections::VecDeque;
use std::sync::Arc;

use selene_base::{Pose, SimTime};
use selene_sensors::SensorSetting;
use selene_sim::{EntityId, Snapshot};

use crate::interval::Interval;

/// Snapshots of at least the last `span`.
#[derive(Clone, Debug)]
pub struct History {
    span: SimTime,
    snapshots: VecDeque<Arc<Snapshot>>,
}

impl History {
    /// An empty history that keeps at least the last `span`.
    #[must_use]
    pub fn new(span: SimTime) -> Self {
        Self { span, snapshots: VecDeque::new() }
    }

    /// Keeps at least the last `span` from now on.
    pub fn widen(&mut self, span: SimTime) {
        self.span = self.span.max(span);
    }

    /// Adds the world's next interval for the sensors of a rover. Snapshots from before the rover existed are left out.
    pub fn take(&mut self, interval: &Interval, rover: EntityId) {
        let Interval { previous, next, .. } = interval;
        if !self.reaches_back_to(previous.time) && previous.rover(rover).is_some() {
            self.push(Arc::clone(previous));
        }
        self.push(Arc::clone(next));
    }

    /// Adds the next snapshot and drops those that are no longer needed.
    pub fn push(&mut self, snapshot: Arc<Snapshot>) {
        let oldest = snapshot.time - self.span;
        self.snapshots.push_back(snapshot);
        while self.snapshots.get(1).is_some_and(|second| second.time <= oldest) {
            self.snapshots.pop_front();
        }
    }

    /// Whether everything from `time` to the latest snapshot is known. Before its first snapshot the world is at rest.
    #[must_use]
    pub fn reaches_back_to(&self, time: SimTime) -> bool {
        self.snapshots.front().is_some_and(|first| first.time <= time || first.sequence == 0)
    }

    /// The latest snapshot.
    #[must_use]
    pub fn latest(&self) -> Option<&Arc<Snapshot>> {
        self.snapshots.back()
    }

    /// The snapshots in (`after`, `until`].
    pub fn within(&self, after: SimTime, until: SimTime) -> impl Iterator<Item = &Snapshot> {
        let is_within = move |snapshot: &&Arc<Snapshot>| after < snapshot.time && snapshot.time <= until;
        self.snapshots.iter().filter(is_within).map(|snapshot| &**snapshot)
    }

    /// Pose of a rover's link in the map frame at `time`, interpolated; outside the known time, the nearest known
    /// pose. `None` if a snapshot next to `time` lacks the rover.
    #[must_use]
    pub fn link_at(&self, rover: EntityId, link: usize, time: SimTime) -> Option<Pose> {
        let (previous, next) = self.around(time)?;
        previous.link_at(next, rover, link, time)
    }

    /// Pose of the loose rock of this number in the map frame at `time`, interpolated in the same way.
    #[must_use]
    pub fn rock_at(&self, rock: u32, time: SimTime) -> Option<Pose> {
        let (previous, next) = self.around(time)?;
        previous.rock_at(next, rock, time)
    }

    /// The setting of a rover's sensor for a sample at `time`.
    #[must_use]
    pub fn setting(&self, rover: EntityId, sensor: &str, time: SimTime) -> SensorSetting {
        self.around(time).map(|(_, reported)| reported.setting(rover, sensor)).unwrap_or_default()
    }

    /// The snapshots before and after an instant; outside the known time, the nearest one twice.
    #[must_use]
    pub fn around(&self, time: SimTime) -> Option<(&Snapshot, &Snapshot)> {
        let after = self.snapshots.partition_point(|snapshot| snapshot.time < time);
        let next = self.snapshots.get(after).or(self.snapshots.back())?;
        Some((self.snapshots.get(after.saturating_sub(1))?, next))
    }
}
