//! The recent past that sensors need: its length, and a recorder that keeps it for a checkpoint. A run that resumes
//! from the checkpoint first passes these snapshots to its observers, which then have the same state as in the
//! original run.

use std::collections::VecDeque;
use std::sync::Arc;

use selene_base::SimTime;
use selene_sensors::{Lidar, SensorSpec};
use selene_sim::{Model, Recent, RoverSetup, Snapshot};
use selene_terrain::Ruts;

/// The longest time between joint states, whose rates use the previous readings.
const JOINT_STATES: SimTime = SimTime::from_nanos(20_000_000);

/// Length of the recent past that the sensors of all rovers of a model need.
#[must_use]
pub fn recall_span(model: &Model) -> SimTime {
    let heartbeat = model.scenario().heartbeat;
    let of_rovers = model.rovers().values().map(|kind| rover_span(kind.setup(), heartbeat)).max();
    of_rovers.unwrap_or(SimTime::ZERO).max(JOINT_STATES + heartbeat + heartbeat)
}

/// Length of the recent past that the sensors of a rover need: from the beginning of a measurement to its
/// publication, from one image to the next if flow refers back to it, and two heartbeats.
pub(crate) fn rover_span(setup: &RoverSetup, heartbeat: SimTime) -> SimTime {
    let span = |sensor: &SensorSpec| match sensor {
        SensorSpec::Camera(spec) => {
            let shutter = spec.shutter(spec.exposure_max_s());
            let exposed = shutter.opens_before() + shutter.closes_after();
            let between = if spec.truth.flow { 1.0 / spec.rate_hz } else { 0.0 };
            exposed + spec.schedule().longest_lag() + SimTime::from_secs_f64(between)
        }
        SensorSpec::Lidar(spec) => Lidar::new(spec.clone()).schedule().longest_lag(),
        _ => SimTime::from_secs_f64(sensor.looks_back_s()) + sensor.schedule().longest_lag(),
    };
    let with_jitter = |sensor: &SensorSpec| span(sensor) + SimTime::from_secs_f64(sensor.augments().longest_jitter_s());
    let longest = setup.sensors.iter().map(|sensor| with_jitter(&sensor.spec)).max().unwrap_or(SimTime::ZERO);
    longest + heartbeat + heartbeat
}

/// Keeps the recent past of a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    snapshots: VecDeque<Arc<Snapshot>>,
    ruts_before: Ruts,
}

impl Recorder {
    /// Begins on ground with the edits `ruts_before`.
    #[must_use]
    pub fn new(ruts_before: Ruts) -> Self {
        Self { snapshots: VecDeque::new(), ruts_before }
    }

    /// Continues from the recent past of the run before.
    #[must_use]
    pub fn resumed(recent: &Recent) -> Self {
        Self {
            snapshots: recent.snapshots.iter().cloned().map(Arc::new).collect(),
            ruts_before: recent.ruts_before.clone(),
        }
    }

    /// Adds the next snapshot and drops everything older than `span` before it.
    pub fn push(&mut self, snapshot: Arc<Snapshot>, span: SimTime) {
        let oldest = snapshot.time - span;
        self.snapshots.push_back(snapshot);
        while self.snapshots.get(1).is_some_and(|second| second.time <= oldest) {
            if let Some(forgotten) = self.snapshots.pop_front() {
                self.ruts_before.apply(&forgotten.edits);
            }
        }
    }

    /// The recent past, with epoch 0, because a resumed run counts its own resets.
    #[must_use]
    pub fn recent(&self) -> Recent {
        Recent {
            snapshots: self
                .snapshots
                .iter()
                .map(|snapshot| Snapshot { epoch: 0, ..Snapshot::clone(snapshot) })
                .collect(),
            ruts_before: self.ruts_before.clone(),
        }
    }
}
