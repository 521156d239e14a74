//! The sensors of a world: they observe each heartbeat, and the latest datum of each is kept until Python reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use selene_base::SimTime;
use selene_observe::{
    Cameras, Device, Feed, Instruments, Interval, Lidars, ObserveError, Ranging, Recorder, SensorId, SkyInstruments,
    recall_span,
};
use selene_sim::{Recent, Snapshot, World, WorldError};

use crate::datum::{self, Datum};
use crate::fault;

/// The kinds of sensors that are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SimulatedSensors {
    /// Sensors whose datum is a `Reading`, such as inertial units and encoders.
    pub(crate) instruments: bool,
    /// Cameras.
    pub(crate) cameras: bool,
    /// Lidars, radars, time-of-flight cameras and single-beam range sensors.
    pub(crate) lidars: bool,
}

/// The sensors of a world.
pub(crate) struct Observers {
    wanted: SimulatedSensors,
    feed: Feed,
    recorder: Recorder,
    span: SimTime,
    instruments: Option<(Instruments, SkyInstruments)>,
    cameras: Option<Cameras>,
    lidars: Option<(Lidars, Ranging)>,
    latest: BTreeMap<SensorId, Latest>,
}

/// The latest datum of a sensor.
enum Latest {
    /// Not read yet.
    Unread(Box<Datum>),
    /// The dictionary that was returned to Python, whose arrays own the numbers.
    Converted(Py<PyDict>),
}

/// Why a world with its sensors cannot be stepped.
pub(crate) enum StepFailure {
    World(WorldError),
    Observe(ObserveError),
}

impl From<StepFailure> for PyErr {
    fn from(halt: StepFailure) -> Self {
        match halt {
            StepFailure::World(what) => fault::error(&what),
            StepFailure::Observe(what) => fault::error(&what),
        }
    }
}

impl Observers {
    /// The sensors of a world at its start.
    pub(crate) fn begin(world: &mut World, wanted: SimulatedSensors) -> Result<Self, StepFailure> {
        let recorder = Recorder::new(world.state().ruts.clone());
        let feed = Feed::begin(world).map_err(StepFailure::World)?;
        let mut observers = Self::of(world, wanted, feed, recorder);
        observers.recorder.push(Arc::clone(observers.feed.last()), observers.span);
        Ok(observers)
    }

    /// The sensors of a world that continues from the recent snapshots of another run; as at a start if there are none.
    pub(crate) fn go_on(world: &mut World, wanted: SimulatedSensors, recent: &Recent) -> Result<Self, StepFailure> {
        if recent.snapshots.is_empty() {
            return Self::begin(world, wanted);
        }
        let (feed, intervals) = Feed::resumed(world, recent);
        let mut observers = Self::of(world, wanted, feed, Recorder::resumed(recent));
        intervals.iter().try_for_each(|interval| observers.look(interval))?;
        Ok(observers)
    }

    fn of(world: &World, wanted: SimulatedSensors, feed: Feed, recorder: Recorder) -> Self {
        let device = Device::cpu;
        Self {
            wanted,
            feed,
            recorder,
            span: recall_span(world.model()),
            instruments: wanted.instruments.then(Default::default),
            cameras: wanted.cameras.then(|| Cameras::new(device(), Default::default())),
            lidars: wanted.lidars.then(|| (Lidars::new(device()), Ranging::new(device()))),
            latest: BTreeMap::new(),
        }
    }

    /// The kinds of sensors that are simulated.
    pub(crate) fn wanted(&self) -> SimulatedSensors {
        self.wanted
    }

    /// The latest snapshot.
    pub(crate) fn now(&self) -> &Arc<Snapshot> {
        self.feed.last()
    }

    /// The recent snapshots that sensors need in a checkpoint.
    pub(crate) fn recent(&self) -> Recent {
        self.recorder.recent()
    }

    /// Steps the world by one heartbeat and lets all sensors observe it.
    pub(crate) fn heartbeat(&mut self, world: &mut World) -> Result<(), StepFailure> {
        let interval = self.feed.heartbeat(world).map_err(StepFailure::World)?;
        self.recorder.push(Arc::clone(&interval.next), self.span);
        self.look(&interval)
    }

    fn look(&mut self, interval: &Interval) -> Result<(), StepFailure> {
        if let Some((instruments, sky)) = &mut self.instruments {
            let readings = instruments.take(interval).into_iter();
            let readings = readings.chain(sky.take(interval).map_err(StepFailure::Observe)?);
            self.latest.extend(readings.map(|of| (of.sensor.clone(), unread(Datum::Reading(Box::new(of))))));
        }
        if let Some(cameras) = &mut self.cameras {
            let images = cameras.take(interval).map_err(StepFailure::Observe)?.into_iter();
            self.latest.extend(images.map(|of| (of.sensor.clone(), unread(Datum::Image(Box::new(of))))));
        }
        if let Some((lidars, ranging)) = &mut self.lidars {
            let scans = lidars.take(interval).map_err(StepFailure::Observe)?.into_iter();
            self.latest.extend(scans.map(|of| (of.sensor.clone(), unread(Datum::Scan(of)))));
            let ranged = ranging.take(interval).map_err(StepFailure::Observe)?.into_iter();
            self.latest.extend(ranged.map(|of| (of.sensor.clone(), unread(Datum::Ranged(of)))));
        }
        Ok(())
    }

    /// The latest datum of a sensor; `None` before its first.
    pub(crate) fn read<'py>(&mut self, py: Python<'py>, sensor: &SensorId) -> PyResult<Option<Bound<'py, PyDict>>> {
        let reported = match self.latest.remove(sensor) {
            None => return Ok(None),
            Some(Latest::Converted(reported)) => reported.into_bound(py),
            Some(Latest::Unread(datum)) => datum::to_dict(py, *datum)?,
        };
        self.latest.insert(sensor.clone(), Latest::Converted(reported.clone().unbind()));
        Ok(Some(reported))
    }
}

fn unread(datum: Datum) -> Latest {
    Latest::Unread(Box::new(datum))
}
