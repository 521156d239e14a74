//! Position receivers: where their antennas are on the lunar sphere.

use selene_dem::MapFrame;
use selene_sensors::{PositionSpec, Sample};
use selene_sim::RoverSetup;

use crate::instruments::{Told, View};
use crate::values::Measured;

/// One receiver.
#[derive(Debug)]
pub(crate) struct PositionObserver {
    spec: PositionSpec,
    link: usize,
    seed: u64,
}

impl PositionObserver {
    pub(crate) fn new(spec: &PositionSpec, link: usize, setup: &RoverSetup) -> Self {
        Self { spec: spec.clone(), link, seed: setup.sensor_seed }
    }

    pub(crate) fn measure(&self, view: &View<'_>, sample: Sample) -> Option<Told> {
        let antenna = view.link_at(self.link, sample.instant)?.translation.vector;
        let site = &view.interval.model.scenario().site;
        let map = MapFrame::new(site.latitude_deg, site.longitude_deg, site.datum_m);
        Some(Told {
            measured: Measured::Fix(self.spec.fix(&map, antenna, self.seed, sample)),
            truth: Measured::Fix(PositionSpec::exact(&map, antenna)),
        })
    }
}
