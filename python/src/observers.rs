//! The sensors of a world: each heartbeat is shown to them, and the latest datum of each is kept until it is read.

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

/// Which sensors are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// All whose datum is a reading.
    pub(crate) instruments: bool,
    /// Cameras.
    pub(crate) cameras: bool,
    /// Lidars, radars, time-of-flight cameras, sensors of one distance.
    pub(crate) lidars: bool,
}

/// The sensors of a world.
pub(crate) struct Observers {
    wanted: Wanted,
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
    /// Nobody has read it.
    Unread(Box<Datum>),
    /// As it was told: arrays own their numbers from then on.
    Told(Py<PyDict>),
}

/// Why a world with its sensors cannot go on.
pub(crate) enum Halt {
    World(WorldError),
    Observe(ObserveError),
}

impl From<Halt> for PyErr {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::World(what) => fault::error(&what),
            Halt::Observe(what) => fault::error(&what),
        }
    }
}

impl Observers {
    /// Those of a world that begins.
    pub(crate) fn begin(world: &mut World, wanted: Wanted) -> Result<Self, Halt> {
        let recorder = Recorder::new(world.state().ruts.clone());
        let feed = Feed::begin(world).map_err(Halt::World)?;
        let mut observers = Self::of(world, wanted, feed, recorder);
        observers.recorder.push(Arc::clone(observers.feed.last()), observers.span);
        Ok(observers)
    }

    /// Those of a world that goes on after the last while of another run; of one that had not begun, from its start.
    pub(crate) fn go_on(world: &mut World, wanted: Wanted, recent: &Recent) -> Result<Self, Halt> {
        if recent.snapshots.is_empty() {
            return Self::begin(world, wanted);
        }
        let (feed, intervals) = Feed::resumed(world, recent);
        let mut observers = Self::of(world, wanted, feed, Recorder::resumed(recent));
        intervals.iter().try_for_each(|interval| observers.look(interval))?;
        Ok(observers)
    }

    fn of(world: &World, wanted: Wanted, feed: Feed, recorder: Recorder) -> Self {
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

    /// Which sensors are looked through.
    pub(crate) fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// The latest snapshot.
    pub(crate) fn now(&self) -> &Arc<Snapshot> {
        self.feed.last()
    }

    /// What sensors need of the last while, for a checkpoint.
    pub(crate) fn recent(&self) -> Recent {
        self.recorder.recent()
    }

    /// Steps the world one heartbeat and shows it to all sensors.
    pub(crate) fn heartbeat(&mut self, world: &mut World) -> Result<(), Halt> {
        let interval = self.feed.heartbeat(world).map_err(Halt::World)?;
        self.recorder.push(Arc::clone(&interval.next), self.span);
        self.look(&interval)
    }

    fn look(&mut self, interval: &Interval) -> Result<(), Halt> {
        if let Some((instruments, sky)) = &mut self.instruments {
            let readings = instruments.take(interval).into_iter();
            let readings = readings.chain(sky.take(interval).map_err(Halt::Observe)?);
            self.latest.extend(readings.map(|of| (of.sensor.clone(), unread(Datum::Reading(Box::new(of))))));
        }
        if let Some(cameras) = &mut self.cameras {
            let images = cameras.take(interval).map_err(Halt::Observe)?.into_iter();
            self.latest.extend(images.map(|of| (of.sensor.clone(), unread(Datum::Image(Box::new(of))))));
        }
        if let Some((lidars, ranging)) = &mut self.lidars {
            let scans = lidars.take(interval).map_err(Halt::Observe)?.into_iter();
            self.latest.extend(scans.map(|of| (of.sensor.clone(), unread(Datum::Scan(of)))));
            let ranged = ranging.take(interval).map_err(Halt::Observe)?.into_iter();
            self.latest.extend(ranged.map(|of| (of.sensor.clone(), unread(Datum::Ranged(of)))));
        }
        Ok(())
    }

    /// The latest datum of a sensor; none before its first.
    pub(crate) fn read<'py>(&mut self, py: Python<'py>, sensor: &SensorId) -> PyResult<Option<Bound<'py, PyDict>>> {
        let told = match self.latest.remove(sensor) {
            None => return Ok(None),
            Some(Latest::Told(told)) => told.into_bound(py),
            Some(Latest::Unread(datum)) => datum::tell(py, *datum)?,
        };
        self.latest.insert(sensor.clone(), Latest::Told(told.clone().unbind()));
        Ok(Some(told))
    }
}

fn unread(datum: Datum) -> Latest {
    Latest::Unread(Box::new(datum))
}
