//! The input of observers: two consecutive snapshots and the changes between them.

use std::sync::Arc;

use selene_base::SimTime;
use selene_sensors::SensorSetting;
use selene_sim::{EntityId, Model, Snapshot};
use selene_terrain::Edit;

/// Two consecutive snapshots and the edits of the ground up to the second.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The model of the rovers, objects and rocks in the later snapshot.
    pub model: Arc<Model>,
    /// The earlier snapshot.
    pub previous: Arc<Snapshot>,
    /// The later one.
    pub next: Arc<Snapshot>,
    /// Edits to apply before anything in the interval is sampled.
    pub edits: Vec<Edit>,
    /// Data due up to here were published before the run was resumed and are not published again.
    pub published_until: Option<SimTime>,
}

impl Interval {
    /// The instant after which samples belong to this interval; they do so up to and including `next.time`. The very
    /// first interval also includes the start of the scenario.
    #[must_use]
    pub fn after(&self) -> SimTime {
        match self.previous.sequence {
            0 => self.previous.time - SimTime::from_nanos(1),
            _ => self.previous.time,
        }
    }

    /// The setting of a rover's sensor for a sample at `instant`.
    #[must_use]
    pub fn setting(&self, rover: EntityId, sensor: &str, instant: SimTime) -> SensorSetting {
        self.reported_for(instant).setting(rover, sensor)
    }

    /// Offset of the sky's time from `instant`.
    #[must_use]
    pub fn sky_offset(&self, instant: SimTime) -> SimTime {
        self.reported_for(instant).sky_offset
    }

    /// The first snapshot at or after an instant.
    fn reported_for(&self, instant: SimTime) -> &Snapshot {
        if instant <= self.previous.time { &self.previous } else { &self.next }
    }

    /// Whether data due at `due` were published before the run was resumed.
    #[must_use]
    pub fn was_reported(&self, due: SimTime) -> bool {
        self.published_until.is_some_and(|until| due <= until)
    }
}
