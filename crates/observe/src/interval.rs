//! What observers are fed with: two snapshots in a row and what changed between them.

use std::sync::Arc;

use selene_base::SimTime;
use selene_sensors::SensorSetting;
use selene_sim::{EntityId, Model, Snapshot};
use selene_terrain::Edit;

/// Two snapshots in a row and the ground that changed up to the second.
#[derive(Clone, Debug)]
pub struct Interval {
    /// What rovers, objects and rocks of the later snapshot are.
    pub model: Arc<Model>,
    /// The earlier snapshot.
    pub previous: Arc<Snapshot>,
    /// The later one.
    pub next: Arc<Snapshot>,
    /// Edits to apply before anything in the interval is sampled.
    pub edits: Vec<Edit>,
    /// Data that were due up to here were told before the run was resumed; they are not told again.
    pub told_until: Option<SimTime>,
}

impl Interval {
    /// The instant after which samples belong to this interval; they belong up to and
    /// with `next.time`. The very first interval has the scenario's start as well.
    #[must_use]
    pub fn after(&self) -> SimTime {
        match self.previous.sequence {
            0 => self.previous.time - SimTime::from_nanos(1),
            _ => self.previous.time,
        }
    }

    /// How a rover's sensor is set for a sample at `instant`.
    #[must_use]
    pub fn setting(&self, rover: EntityId, sensor: &str, instant: SimTime) -> SensorSetting {
        self.told_for(instant).setting(rover, sensor)
    }

    /// How much later the sky stands where it stands than `instant` says.
    #[must_use]
    pub fn sky_offset(&self, instant: SimTime) -> SimTime {
        self.told_for(instant).sky_offset
    }

    /// The first snapshot at or after an instant.
    fn told_for(&self, instant: SimTime) -> &Snapshot {
        if instant <= self.previous.time { &self.previous } else { &self.next }
    }

    /// Whether a datum that is due at `due` was told before the run was resumed.
    #[must_use]
    pub fn was_told(&self, due: SimTime) -> bool {
        self.told_until.is_some_and(|until| due <= until)
    }
}
