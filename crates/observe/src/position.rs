//! Position receivers: where their antennas are on the lunar sphere.

use std::convert::Infallible;

use selene_dem::MapFrame;
use selene_sensors::{PositionSpec, Sample, Schedule};
use selene_sim::{EntityId, Model, Mounted};

use crate::interval::Interval;
use crate::outbox::Outbox;
use crate::per_rover::PerRover;
use crate::values::{PositionSample, SensorId};

/// The position receivers of all rovers.
#[derive(Debug)]
pub struct Positions {
    rovers: PerRover<Vec<Receiver>>,
}

#[derive(Debug)]
struct Receiver {
    sensor: SensorId,
    spec: PositionSpec,
    link: usize,
    frame: String,
    seed: u64,
    schedule: Schedule,
    outbox: Outbox<PositionSample>,
}

impl Default for Positions {
    fn default() -> Self {
        Self { rovers: PerRover::without_ground() }
    }
}

impl Positions {
    /// Takes in the world's next interval; the fixes that are due in it, in the order of rovers and of each
    /// one's receivers.
    pub fn take(&mut self, interval: &Interval) -> Vec<PositionSample> {
        let Ok(()) = self.rovers.follow(interval, |id, _| Ok::<_, Infallible>(receivers(&interval.model, id)));
        let site = &interval.model.scenario().site;
        let map = MapFrame::new(site.latitude_deg, site.longitude_deg, site.datum_m);
        let mut due = Vec::new();
        for receiver in self.rovers.values_mut().flatten() {
            receiver.take(interval, &map);
            let at = |sample: &PositionSample| receiver.schedule.handed_over(sample.stamp);
            due.extend(receiver.outbox.due(interval.next.time).filter(|sample| !interval.was_told(at(sample))));
        }
        due
    }
}

fn receivers(model: &Model, rover: EntityId) -> Vec<Receiver> {
    let Some(setup) = model.rovers().get(&rover).map(|kind| kind.setup()) else { return Vec::new() };
    let receiver = |Mounted { spec, link }: Mounted<'_, PositionSpec>| Receiver {
        sensor: SensorId { rover, name: spec.name.clone() },
        spec: spec.clone(),
        link,
        frame: setup.frame(&spec.link),
        seed: setup.sensor_seed,
        schedule: spec.schedule(),
        outbox: Outbox::default(),
    };
    setup.positions().map(receiver).collect()
}

impl Receiver {
    fn take(&mut self, interval: &Interval, map: &MapFrame) {
        let (previous, next) = (&interval.previous, &interval.next);
        for sample in self.schedule.measured_in(interval.after(), next.time) {
            if let Some(antenna) = previous.link_at(next, self.sensor.rover, self.link, sample.instant) {
                let fix = self.spec.fix(map, antenna.translation.vector, self.seed, sample);
                self.outbox.put(self.schedule.handed_over(sample.instant), self.sample(sample, fix));
            }
        }
    }

    fn sample(&self, sample: Sample, fix: selene_sensors::Fix) -> PositionSample {
        PositionSample {
            sensor: self.sensor.clone(),
            frame: self.frame.clone(),
            stamp: sample.instant,
            index: sample.index,
            fix,
        }
    }
}
