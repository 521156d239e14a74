//! How much of the time before sensors need, and that much of it kept for a checkpoint: a run that goes on
//! from it feeds its observers with these snapshots first, and they are as they would have been.

use std::collections::VecDeque;
use std::sync::Arc;

use selene_base::SimTime;
use selene_sensors::{Lidar, SensorSpec};
use selene_sim::{Model, Recent, RoverSetup, Snapshot};
use selene_terrain::Ruts;

/// Joint states are told this often at least, and take their rates from the readings before.
const JOINT_STATES: SimTime = SimTime::from_nanos(20_000_000);

/// How much of the time before the sensors of a model's rovers need.
#[must_use]
pub fn recall_span(model: &Model) -> SimTime {
    let heartbeat = model.scenario().heartbeat;
    let of_rovers = model.rovers().values().map(|kind| rover_span(kind.setup(), heartbeat)).max();
    of_rovers.unwrap_or(SimTime::ZERO).max(JOINT_STATES + heartbeat + heartbeat)
}

/// How much of the time before the sensors of a rover need: from the beginning of a measurement to its
/// hand-over, from one image to the next where flow leads back to it, and two heartbeats.
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

/// Keeps the last while of a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    snapshots: VecDeque<Arc<Snapshot>>,
    ruts_before: Ruts,
}

impl Recorder {
    /// Begins on ground to which `ruts_before` was done.
    #[must_use]
    pub fn new(ruts_before: Ruts) -> Self {
        Self { snapshots: VecDeque::new(), ruts_before }
    }

    /// Goes on from the last while of the run before.
    #[must_use]
    pub fn resumed(recent: &Recent) -> Self {
        Self {
            snapshots: recent.snapshots.iter().cloned().map(Arc::new).collect(),
            ruts_before: recent.ruts_before.clone(),
        }
    }

    /// Takes in the next snapshot and forgets what is older than `span` before it.
    pub fn push(&mut self, snapshot: Arc<Snapshot>, span: SimTime) {
        let oldest = snapshot.time - span;
        self.snapshots.push_back(snapshot);
        while self.snapshots.get(1).is_some_and(|second| second.time <= oldest) {
            if let Some(forgotten) = self.snapshots.pop_front() {
                self.ruts_before.apply(&forgotten.edits);
            }
        }
    }

    /// The last while, as of a world that was not reset: a run that goes on from it counts its own resets.
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
